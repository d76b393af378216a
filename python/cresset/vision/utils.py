"""torchvision.utils: many images as one, and files of them.

>>> torch.vision.utils.make_grid(torch.ones(4, 3, 5, 5), nrow=2).shape
torch.Size([3, 16, 16])
"""

import math
import os

import cresset as torch

from ._drawing import draw_bounding_boxes, draw_keypoints, draw_segmentation_masks, flow_to_image
from .io.image import codecs_found, encode_jpeg

__all__ = ["draw_bounding_boxes", "draw_keypoints", "draw_segmentation_masks", "flow_to_image", "make_grid", "save_image"]


def _scaled(images, low, high):
    images.clamp_(low, high).sub_(low).div_(max(high - low, 1e-5))


def make_grid(tensor, nrow=8, padding=2, normalize=False, value_range=None, scale_each=False, pad_value=0.0):
    """Images side by side in one.

    Args:
        tensor: (N, C, H, W), an image (C, H, W) or (H, W), or a list of images of one size. One channel becomes three.
        nrow: how many images stand in a row.
        padding: how many pixels lie between them.
        normalize: whether values are scaled to 0 to 1.
        value_range: (low, high) that become 0 and 1; None: the least and the greatest value.
        scale_each: whether each image has its own range.
        pad_value: the value of the pixels between.

    >>> torch.vision.utils.make_grid(torch.tensor([[[[1.0]]], [[[3.0]]]]), padding=1, normalize=True)[0]
    tensor([[0., 0., 0., 0., 0.],
            [0., 0., 0., 1., 0.],
            [0., 0., 0., 0., 0.]])
    """
    if isinstance(tensor, (list, tuple)) and all(isinstance(image, torch.Tensor) for image in tensor):
        tensor = torch.stack(list(tensor))
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"make_grid: expected a tensor or a list of tensors, got {type(tensor).__name__}")
    if tensor.dim() not in (2, 3, 4):
        raise ValueError(f"make_grid: expected images (N, C, H, W), got {tuple(tensor.shape)}")
    if value_range is not None and not isinstance(value_range, tuple):
        raise TypeError(f"make_grid: value_range is a tuple (low, high), got {type(value_range).__name__}")
    images = tensor.reshape((1,) * (4 - tensor.dim()) + tuple(tensor.shape))
    if images.shape[1] == 1:
        images = torch.cat([images] * 3, 1)
    if normalize:
        images = images.clone()
        for part in images if scale_each else [images]:
            _scaled(part, *(value_range or (float(part.min()), float(part.max()))))
    count, channels, height, width = images.shape
    if count == 1:
        return images[0]
    columns = min(nrow, count)
    rows, height, width = math.ceil(count / columns), height + padding, width + padding
    grid = images.new_full((channels, height * rows + padding, width * columns + padding), pad_value)
    for i, image in enumerate(images):
        top, left = i // columns * height + padding, i % columns * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = image
    return grid


def save_image(tensor, fp, format=None, **kwargs):
    """Writes images, values 0 to 1, to one file: a grid of them.

    Args:
        tensor: as `make_grid` takes it.
        fp: a path or a file that is open for bytes.
        format: "png", "jpeg", or another format of PIL where that is there; None: as the path ends, and png for a file.
        kwargs: for `make_grid`.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.vision.utils.save_image(torch.ones(2, 3, 4, 4), file)
    >>> file.getvalue()[:4]
    b'\\x89PNG'
    """
    with torch.no_grad():
        grid = make_grid(tensor, **kwargs)
        pixels = grid.mul(255).add_(0.5).clamp_(0, 255).permute(1, 2, 0).to("cpu", torch.uint8).numpy()
    is_path = isinstance(fp, (str, os.PathLike))
    kind = (format or (os.path.splitext(os.fspath(fp))[1][1:] if is_path else "png")).lower()
    if kind in ("jpg", "jpeg") and codecs_found():
        _write(fp, bytes(encode_jpeg(torch.from_numpy(pixels).permute(2, 0, 1)).numpy()))
        return
    if kind != "png":
        _save_by_pil(pixels, fp, format, kind)
        return
    from cresset.utils.tensorboard._images import png

    _write(fp, png(pixels[None]))


def _write(fp, data):
    if hasattr(fp, "write"):
        fp.write(data)
        return
    with open(fp, "wb") as file:
        file.write(data)


def _save_by_pil(pixels, fp, format, kind):
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(f"save_image: files of the format {kind!r} need PIL (pip install pillow); png and jpeg do not") from None
    Image.fromarray(pixels).save(fp, format=format)
