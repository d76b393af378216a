"""torchvision.ops.boxes: which of several overlapping boxes are kept."""

import cresset as torch

__all__ = ["nms"]


def nms(boxes, scores, iou_threshold):
    """The indices of the boxes that are kept, by falling score: each box removes those of lower score that overlap it too much.

    Args:
        boxes: (N, 4), each x1, y1, x2, y2.
        scores: (N,).
        iou_threshold: the greatest part, intersection over union, that two kept boxes share.

    >>> boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [3.0, 3.0, 4.0, 4.0]])
    >>> torch.vision.ops.nms(boxes, torch.tensor([0.8, 0.9, 0.1]), 0.5)
    tensor([1, 2])
    """
    if boxes.dim() != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise RuntimeError(f"nms: expected boxes (N, 4) and scores (N,), got shapes {tuple(boxes.shape)} and {tuple(scores.shape)}")
    with torch.no_grad():
        order = scores.sort(descending=True, stable=True).indices
        left, top, right, bottom = boxes[order].unbind(1)
        area = (right - left) * (bottom - top)
        alive = torch.ones(len(order), dtype=torch.bool)
        kept = []
        for i in range(len(order)):
            if not alive[i]:
                continue
            kept.append(i)
            width = (torch.minimum(right[i], right[i + 1 :]) - torch.maximum(left[i], left[i + 1 :])).clamp_min(0)
            height = (torch.minimum(bottom[i], bottom[i + 1 :]) - torch.maximum(top[i], top[i + 1 :])).clamp_min(0)
            shared = width * height
            alive[i + 1 :] &= ~(shared / (area[i] + area[i + 1 :] - shared) > iou_threshold)
        return order[torch.tensor(kept, dtype=torch.int64)]
