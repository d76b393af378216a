"""Drawing into images: pixels by hand, and wrong arguments."""

import importlib.util
import math
import unittest

from cresset.vision import utils

import cresset as torch


class Drawing(unittest.TestCase):
    def test_boxes(self):
        image = torch.full((3, 8, 9), 10, dtype=torch.uint8)
        boxes = torch.tensor([[1.0, 1.0, 5.0, 6.0], [4.0, 0.0, 8.0, 3.0]])
        drawn = utils.draw_bounding_boxes(image, boxes, colors=["red", (0, 7, 255)], width=2)
        self.assertTrue(bool((image == 10).all()))
        for y in range(8):
            for x in range(9):
                expected = [10, 10, 10]
                for (left, top, right, bottom), color in zip(boxes.int().tolist(), ([255, 0, 0], [0, 7, 255])):
                    within = left <= x <= right and top <= y <= bottom
                    core = left + 2 <= x <= right - 2 and top + 2 <= y <= bottom - 2
                    expected = color if within and not core else expected
                self.assertEqual(drawn[:, y, x].tolist(), expected, (x, y))
        half = utils.draw_bounding_boxes(torch.zeros(1, 4, 4), torch.tensor([[0, 0, 3, 3]]), colors="#ff0000", fill=True)
        self.assertEqual((half[:, 0, 0].tolist(), half[:, 1, 1].tolist()), ([1, 0, 0], [0.5, 0, 0]))
        both = utils.draw_bounding_boxes(image, boxes)
        self.assertNotEqual(both[:, 6, 1].tolist(), both[:, 0, 8].tolist())
        with self.assertWarns(UserWarning):
            self.assertIs(utils.draw_bounding_boxes(image, torch.zeros(0, 4)), image)

    @unittest.skipIf(importlib.util.find_spec("PIL"), "PIL is installed")
    def test_labels_need_letters(self):
        with self.assertRaisesRegex(ImportError, "pip install pillow"):
            utils.draw_bounding_boxes(torch.zeros(3, 4, 4), torch.tensor([[0, 0, 3, 3]]), labels=["cat"])

    @unittest.skipUnless(importlib.util.find_spec("PIL"), "PIL is not installed")
    def test_labels(self):
        image, boxes = torch.zeros(3, 40, 60), torch.tensor([[2, 2, 50, 30], [10, 10, 55, 38]])
        plain, drawn = (utils.draw_bounding_boxes(image, boxes, labels=labels, colors="red", label_colors="blue") for labels in (None, ["cat", None]))
        self.assertGreater(int((plain != drawn).any(0)[:, :30].sum()), 5)
        plate = utils.draw_bounding_boxes(image, boxes, labels=["cat", None], colors="red", fill_labels=True)
        self.assertGreater(float(plate.sum()), float(drawn.sum()))

    def test_masks(self):
        image = torch.tensor([[[0, 100, 200]]], dtype=torch.uint8)
        masks = torch.tensor([[[True, True, False]], [[False, True, False]]])
        drawn = utils.draw_segmentation_masks(image, masks, alpha=0.25, colors=["white", "#000000"])
        self.assertEqual(drawn[0, 0].tolist(), [63, 75, 200])
        floats = utils.draw_segmentation_masks(image.float() / 255, masks[0], alpha=1.0, colors=(255, 0, 51))
        self.assertEqual(floats[:, 0].tolist(), torch.tensor([[1, 1, 200 / 255], [0, 0, 200 / 255], [0.2, 0.2, 200 / 255]]).tolist())

    def test_points(self):
        points = torch.tensor([[[2, 2], [2, 7], [6, 4]]])
        drawn = utils.draw_keypoints(torch.zeros(3, 10, 9), points, [(0, 1), (0, 2)], "lime", radius=1, width=1, visibility=torch.tensor([[True, True, False]]))
        lit = {(x, y) for y in range(10) for x in range(9) if drawn[1, y, x]}
        disks = {(x + dx, y + dy) for x, y in ((2, 2), (2, 7)) for dx, dy in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))}
        self.assertEqual(lit, disks | {(2, y) for y in range(2, 8)})
        self.assertEqual((drawn[0].sum().item(), drawn[2].sum().item()), (0, 0))

    def test_flows(self):
        # Directions of pure colors on the wheel of Baker et al. stand at these parts of its 55 colors.
        directions = {0: (255, 0, 0), 15: (255, 255, 0), 21: (0, 255, 0), 25: (0, 255, 255), 36: (0, 0, 255), 49: (255, 0, 255)}
        for place, color in directions.items():
            angle = (place / 54 * 2 - 1) * math.pi
            flow = torch.tensor([-math.cos(angle), -math.sin(angle)], dtype=torch.float64).view(2, 1, 1)
            found = utils.flow_to_image(flow).flatten().tolist()
            self.assertTrue(all(abs(a - b) <= 1 for a, b in zip(found, color)), (place, found))
        batch = utils.flow_to_image(torch.tensor([3.0, 0.0, 0.0, 0.0]).view(2, 2, 1, 1))
        self.assertEqual((batch.shape, batch[1].flatten().tolist(), batch.dtype), ((2, 3, 1, 1), [255, 255, 255], torch.uint8))

    def test_mistakes(self):
        image, box = torch.zeros(3, 4, 4), torch.tensor([[0, 0, 3, 3]])
        boxes = utils.draw_bounding_boxes
        for error, call in (
            (TypeError, lambda: boxes([1], box)), (ValueError, lambda: boxes(image.long(), box)), (ValueError, lambda: boxes(image[None], box)),
            (ValueError, lambda: boxes(image, torch.tensor([[3, 0, 0, 3]]))), (ValueError, lambda: boxes(image, box[0])),
            (ValueError, lambda: boxes(image, box, labels=["a", "b"])), (ValueError, lambda: boxes(image, box, colors="no color")),
            (ValueError, lambda: boxes(image, box, colors=[])), (ValueError, lambda: utils.draw_segmentation_masks(image, torch.zeros(3, 3, dtype=torch.bool))),
            (ValueError, lambda: utils.draw_segmentation_masks(image, image[0])), (ValueError, lambda: utils.draw_keypoints(image, torch.zeros(3, 2))),
            (ValueError, lambda: utils.draw_keypoints(image, torch.zeros(1, 3, 2), visibility=torch.ones(1, 2))),
            (ValueError, lambda: utils.flow_to_image(torch.zeros(2, 1, 1, dtype=torch.int64))), (ValueError, lambda: utils.flow_to_image(torch.zeros(3, 1, 1))),
        ):  # fmt: skip
            self.assertRaises(error, call)


if __name__ == "__main__":
    unittest.main()
