"""Boxes, masks, points and flows drawn into images, by tensors alone; names beside boxes need PIL, which has the letters."""

import colorsys
import math
import warnings

import cresset as torch

_NAMES = {"black": "#000000", "silver": "#c0c0c0", "gray": "#808080", "grey": "#808080", "white": "#ffffff", "maroon": "#800000", "red": "#ff0000",
          "purple": "#800080", "fuchsia": "#ff00ff", "magenta": "#ff00ff", "green": "#008000", "lime": "#00ff00", "olive": "#808000", "yellow": "#ffff00",
          "navy": "#000080", "blue": "#0000ff", "teal": "#008080", "aqua": "#00ffff", "cyan": "#00ffff", "orange": "#ffa500", "pink": "#ffc0cb",
          "brown": "#a52a2a"}  # fmt: skip


def _rgb(color):
    """Three numbers from 0 to 255 of a name, of "#rrggbb" or of such a tuple."""
    if isinstance(color, str):
        code = _NAMES.get(color.lower(), color)
        if len(code) != 7 or code[0] != "#":
            raise ValueError(f"unknown color {color!r}: expected '#rrggbb', a tuple of three numbers, or one of {', '.join(_NAMES)}")
        return tuple(int(code[i : i + 2], 16) for i in (1, 3, 5))
    if isinstance(color, (tuple, list)) and len(color) == 3:
        return tuple(color)
    raise ValueError(f"expected a color as a name, '#rrggbb' or a tuple of three numbers, got {color!r}")


def _colors(colors, count, what):
    """One for each of `count` things; by default hues that lie far apart."""
    if colors is None:
        return [tuple(round(255 * c) for c in colorsys.hsv_to_rgb(i * 0.6180339887 % 1, 0.9, 1.0)) for i in range(count)]
    if isinstance(colors, list):
        if len(colors) < count:
            raise ValueError(f"expected a color for each of the {what}, got {len(colors)} for {count}")
        return [_rgb(color) for color in colors[:count]]
    return [_rgb(colors)] * count


def _canvas(name, image):
    """A copy of an image with three channels, and the value of full light."""
    if not isinstance(image, torch.Tensor):
        raise TypeError(f"{name}: expected a tensor, got {type(image).__name__}")
    if image.dtype != torch.uint8 and not image.is_floating_point():
        raise ValueError(f"{name}: expected an image of bytes or floats, got {image.dtype}")
    if image.dim() != 3 or image.shape[0] not in (1, 3):
        raise ValueError(f"{name}: expected one image (1 or 3, H, W), got {tuple(image.shape)}")
    return image.expand(3, -1, -1).clone(), 1 if image.dtype == torch.uint8 else 255


def _filled(canvas, where, color, full):
    canvas[:, where] = torch.tensor(color, dtype=torch.float32).div(full).to(canvas.dtype)[:, None]


def draw_bounding_boxes(image, boxes, labels=None, colors=None, fill=False, width=1, font=None, font_size=None, label_colors=None,
                        label_background_colors=None, fill_labels=False):  # fmt: skip
    """A copy of an image with boxes in it.

    Args:
        image: (C, H, W), bytes or floats from 0 to 1; one channel becomes three.
        boxes: (N, 4), left, top, right and bottom of each; the border lies within, both ends belong to it.
        labels: a text or None for each box; needs PIL.
        colors: one or a list of names, "#rrggbb" or tuples of three numbers to 255; None: hues that lie far apart.
        fill: whether boxes are half filled.
        width: of the border.
        font, font_size: a file of a TrueType font and its size; None: PIL's own.
        label_colors, label_background_colors, fill_labels: of the texts (by default those of their boxes), and whether they stand on a plate.

    >>> torch.vision.utils.draw_bounding_boxes(torch.zeros(1, 4, 5), torch.tensor([[1, 0, 3, 2]]), colors="white")[0]
    tensor([[0., 1., 1., 1., 0.],
            [0., 1., 0., 1., 0.],
            [0., 1., 1., 1., 0.],
            [0., 0., 0., 0., 0.]])
    """
    canvas, full = _canvas("draw_bounding_boxes", image)
    if boxes.numel() == 0:
        warnings.warn("draw_bounding_boxes: there are no boxes", stacklevel=2)
        return image
    if boxes.dim() != 2 or boxes.shape[1] != 4 or bool((boxes[:, 0] > boxes[:, 2]).any() or (boxes[:, 1] > boxes[:, 3]).any()):
        raise ValueError("draw_bounding_boxes: expected boxes (N, 4) of left, top, right, bottom, left and top being the lesser ones")
    count = len(boxes)
    if labels is not None and len(labels) != count:
        raise ValueError(f"draw_bounding_boxes: expected a label for each box, got {len(labels)} for {count}")
    shades = _colors(colors, count, "boxes")
    rows, columns = torch.arange(canvas.shape[1])[:, None], torch.arange(canvas.shape[2])
    for (left, top, right, bottom), color in zip(boxes.long().tolist(), shades):
        inside = (columns >= left) & (columns <= right) & (rows >= top) & (rows <= bottom)
        core = (columns >= left + width) & (columns <= right - width) & (rows >= top + width) & (rows <= bottom - width)
        if fill:
            light = torch.tensor(color, dtype=torch.float32).div(full)[:, None]
            canvas[:, inside] = (canvas[:, inside].float() + light).div(2).to(canvas.dtype)
        _filled(canvas, inside & ~core, color, full)
    if labels is None:
        return canvas
    texts = _colors(label_colors, count, "labels") if label_colors is not None else shades
    plates = _colors(label_background_colors, count, "labels") if label_background_colors is not None else shades
    if fill_labels and label_colors is None:
        texts = [(0, 0, 0)] * count
    return _labelled(canvas, full, boxes, labels, texts, plates if fill_labels else None, width, font, font_size)


def _labelled(canvas, full, boxes, labels, texts, plates, width, font, font_size):
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise ImportError("draw_bounding_boxes: labels are drawn by PIL, which is not installed: pip install pillow") from None
    letters = ImageFont.load_default() if font is None else ImageFont.truetype(font, font_size or 10)
    pixels = canvas.mul(full).round().to(torch.uint8) if full != 1 else canvas
    picture = Image.fromarray(pixels.permute(1, 2, 0).contiguous().numpy())
    draw = ImageDraw.Draw(picture)
    for number, ((left, top, *_), label) in enumerate(zip(boxes.long().tolist(), labels)):
        if label is None:
            continue
        at = (left + width, top + width)
        if plates is not None:
            draw.rectangle(draw.textbbox(at, label, font=letters), fill=tuple(plates[number]))
        draw.text(at, label, fill=tuple(texts[number]), font=letters)
    import numpy

    drawn = torch.from_numpy(numpy.array(picture)).permute(2, 0, 1).contiguous()
    return drawn if full == 1 else torch.where(drawn == pixels, canvas, drawn.to(canvas.dtype).div(full))


def draw_segmentation_masks(image, masks, alpha=0.8, colors=None):
    """A copy of an image with masks of colors over it; where masks lie over each other the last one is seen.

    Args:
        image: (C, H, W), bytes or floats from 0 to 1; one channel becomes three.
        masks: (N, H, W) or (H, W) of bool.
        alpha: how much of the color is seen, 0 to 1.
        colors: as of `draw_bounding_boxes`.

    >>> masks = torch.tensor([[True, False]])
    >>> torch.vision.utils.draw_segmentation_masks(torch.full((3, 1, 2), 100, dtype=torch.uint8), masks, alpha=0.5, colors="red")[:, 0]
    tensor([[177, 100],
            [ 50, 100],
            [ 50, 100]], dtype=torch.uint8)
    """
    canvas, full = _canvas("draw_segmentation_masks", image)
    masks = masks[None] if masks.dim() == 2 else masks
    if masks.dim() != 3 or masks.dtype != torch.bool or masks.shape[1:] != image.shape[1:]:
        raise ValueError(f"draw_segmentation_masks: expected masks of bool (N, {image.shape[1]}, {image.shape[2]}), got {masks.dtype} {tuple(masks.shape)}")
    if not masks.shape[0]:
        warnings.warn("draw_segmentation_masks: there are no masks", stacklevel=2)
        return image
    painted = canvas.clone()
    for mask, color in zip(masks, _colors(colors, len(masks), "masks")):
        _filled(painted, mask, color, full)
    return torch.where(masks.any(0), canvas.float() * (1 - alpha) + painted.float() * alpha, canvas.float()).to(image.dtype)


def draw_keypoints(image, keypoints, connectivity=None, colors=None, radius=2, width=3, visibility=None):
    """A copy of an image with points as disks, and lines between them.

    Args:
        image: (C, H, W), bytes or floats from 0 to 1; one channel becomes three.
        keypoints: (N, K, 2), x and y of K points of each of N things.
        connectivity: pairs of numbers of points with a line between them.
        colors: a color of all, as of `draw_bounding_boxes`; None: one for each thing.
        radius: of a point.
        width: of a line.
        visibility: (N, K) of bool: which points are there; lines to others are left out.

    >>> torch.vision.utils.draw_keypoints(torch.zeros(1, 3, 4), torch.tensor([[[1, 1]]]), colors="white", radius=1)[0]
    tensor([[0., 1., 0., 0.],
            [1., 1., 1., 0.],
            [0., 1., 0., 0.]])
    """
    canvas, full = _canvas("draw_keypoints", image)
    if keypoints.dim() != 3 or keypoints.shape[2] != 2:
        raise ValueError(f"draw_keypoints: expected points (N, K, 2), got {tuple(keypoints.shape)}")
    seen = torch.ones(keypoints.shape[:2], dtype=torch.bool) if visibility is None else visibility.reshape(visibility.shape[:2]).bool()
    if seen.shape != keypoints.shape[:2]:
        raise ValueError(f"draw_keypoints: expected visibility {tuple(keypoints.shape[:2])}, got {tuple(seen.shape)}")
    y, x = torch.arange(canvas.shape[1], dtype=torch.float32)[:, None], torch.arange(canvas.shape[2], dtype=torch.float32)
    shades = _colors(colors, len(keypoints), "things")
    for points, there, color in zip(keypoints.tolist(), seen.tolist(), shades):
        for first, second in connectivity or ():
            if there[first] and there[second]:
                _filled(canvas, _distance(x, y, points[first], points[second]) <= width / 2, color, full)
        for point, is_there in zip(points, there):
            if is_there:
                _filled(canvas, _distance(x, y, point, point) <= radius, color, full)
    return canvas


def _distance(x, y, start, end):
    """Of every pixel from a line between two points."""
    along = (end[0] - start[0], end[1] - start[1])
    length = along[0] ** 2 + along[1] ** 2
    share = ((x - start[0]) * along[0] + (y - start[1]) * along[1]).div(length or 1).clamp(0, 1)
    return (x - start[0] - share * along[0]).square().add((y - start[1] - share * along[1]).square()).sqrt()


def _wheel():
    """The colors of directions: six arcs from hue to hue (Baker et al., A Database and Evaluation Methodology for Optical Flow, 2007)."""
    wheel = []
    for count, rising, falling, full in ((15, 1, None, 0), (6, None, 0, 1), (4, 2, None, 1), (11, None, 1, 2), (13, 0, None, 2), (6, None, 2, 0)):
        for i in range(count):
            color, part = [0.0, 0.0, 0.0], math.floor(255 * i / count)
            color[full] = 255.0
            color[rising if rising is not None else falling] = float(part if rising is not None else 255 - part)
            wheel.append(color)
    return torch.tensor(wheel)


def flow_to_image(flow):
    """Flows as colors: the hue is the direction, the strongest of all flows has full colors, none is white.

    Args:
        flow: (N, 2, H, W) or (2, H, W) floats, the ways along x and y.

    >>> torch.vision.utils.flow_to_image(torch.tensor([[[0.0, 1.0]], [[0.0, 0.0]]]))[:, 0].T
    tensor([[255, 255, 255],
            [255,   0,   0]], dtype=torch.uint8)
    """
    if not flow.is_floating_point():
        raise ValueError(f"flow_to_image: expected floats, got {flow.dtype}")
    flows = flow[None] if flow.dim() == 3 else flow
    if flows.dim() != 4 or flows.shape[1] != 2:
        raise ValueError(f"flow_to_image: expected flows (N, 2, H, W) or (2, H, W), got {tuple(flow.shape)}")
    flows = flows / (flows.square().sum(1).sqrt().max() + torch.finfo(flows.dtype).eps)
    strength, wheel = flows.square().sum(1).sqrt(), _wheel().to(flows.dtype) / 255
    place = (torch.atan2(-flows[:, 1], -flows[:, 0]) / math.pi + 1) / 2 * (len(wheel) - 1)
    low = place.floor().long()
    share = (place - low)[..., None]
    color = wheel[low] * (1 - share) + wheel[(low + 1) % len(wheel)] * share
    image = (255 * (1 - strength[..., None] * (1 - color))).floor().to(torch.uint8).permute(0, 3, 1, 2)
    return image[0] if flow.dim() == 3 else image
