"""Pixels: arrays in the order of their letters, grids, boxes, and files of them."""

import math
import struct
import zlib

import numpy as np

import cresset as torch


def make_np(value):
    """An array of a tensor, a number, a list or an array."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype == torch.bfloat16 else value.resolve_conj()).numpy()
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (bool, int, float, list, tuple, np.generic)):
        return np.array(value)
    raise NotImplementedError(f"tensorboard: expected a tensor, an array or numbers, got {type(value).__name__}")


def make_grid(images, columns=8):
    """(N, C, H, W) side by side in rows of `columns`; one channel becomes three."""
    if images.ndim != 4 or images.shape[1] not in (1, 3, 4):
        raise AssertionError(f"tensorboard: expected images (N, C, H, W) with 1 or 3 channels, got {images.shape}")
    if images.shape[1] == 1:
        images = np.concatenate([images] * 3, 1)
    n, c, h, w = images.shape
    columns = min(n, columns)
    rows = math.ceil(n / columns)
    grid = np.zeros((c, h * rows, w * columns), dtype=images.dtype)
    for i, image in enumerate(images):
        y, x = i // columns * h, i % columns * w
        grid[:, y : y + h, x : x + w] = image
    return grid


def to_hwc(array, letters):
    """An image (H, W, 3) of an array whose dimensions the letters name."""
    if len(set(letters)) != len(letters):
        raise AssertionError(f"tensorboard: each dimension is named once, got dataformats={letters!r}")
    if array.ndim != len(letters):
        raise AssertionError(f"tensorboard: dataformats={letters!r} names {len(letters)} dimensions, got an image of shape {array.shape}")
    letters = letters.upper()
    if len(letters) == 4:
        return make_grid(array.transpose([letters.index(c) for c in "NCHW"])).transpose(1, 2, 0)
    if len(letters) == 3:
        image = array.transpose([letters.index(c) for c in "HWC"])
        return np.concatenate([image] * 3, 2) if image.shape[2] == 1 else image
    if len(letters) == 2:
        return np.stack([array.transpose([letters.index(c) for c in "HW"])] * 3, 2)
    raise AssertionError(f"tensorboard: images have 2, 3 or 4 dimensions, got {letters!r}")


def to_bytes(array):
    """Values of 0 to 1 as bytes; integers stay."""
    scale = 1 if array.dtype == np.uint8 else 255
    return (array.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


_COLOR = {1: 0, 2: 4, 3: 2, 4: 6}  # gray, gray and alpha, colours, colours and alpha


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _rows(image):
    """Rows as PNG packs them, each behind its filter: none."""
    flat = image.reshape(image.shape[0], -1)
    return zlib.compress(np.concatenate([np.zeros((len(flat), 1), np.uint8), flat], 1).tobytes(), 6)


def png(frames, fps=None):
    """A PNG file of bytes (T, H, W, C); an animated one where there are several frames, shown `fps` a second."""
    count, height, width, channels = frames.shape
    parts = [b"\x89PNG\r\n\x1a\n", _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _COLOR[channels], 0, 0, 0))]
    if count == 1:
        parts.append(_chunk(b"IDAT", _rows(frames[0])))
    else:
        parts.append(_chunk(b"acTL", struct.pack(">II", count, 0)))
        number = 0
        for i, frame in enumerate(frames):
            parts.append(_chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, 0, 0, 100, max(1, round(100 * fps)), 0, 0)))
            number += 1
            if i == 0:
                parts.append(_chunk(b"IDAT", _rows(frame)))
            else:
                parts.append(_chunk(b"fdAT", struct.pack(">I", number) + _rows(frame)))
                number += 1
    return b"".join([*parts, _chunk(b"IEND", b"")])


def rescaled(image, factor):
    """Bytes (H, W, C) resized by a factor, smoothly."""
    if factor == 1:
        return image
    size = [max(1, int(n * factor)) for n in image.shape[:2]]
    x = torch.from_numpy(np.ascontiguousarray(image)).permute(2, 0, 1).unsqueeze(0).float()
    out = torch.nn.functional.interpolate(x, size, mode="bilinear", antialias=True, align_corners=False)
    return out[0].permute(1, 2, 0).round().clamp(0, 255).to(torch.uint8).numpy()


def with_boxes(image, boxes, labels):
    """Bytes (H, W, 3) with red outlines of boxes (left, top, right, bottom), and their labels above them."""
    image = np.array(image)
    height, width = image.shape[:2]
    red = np.array([255, 0, 0, 255][: image.shape[2]], dtype=np.uint8)
    for box in boxes:
        left, top, right, bottom = (int(v) for v in box)
        for inset in range(2):
            x0, y0, x1, y1 = left + inset, top + inset, right - inset, bottom - inset
            for y in (y0, y1):
                if 0 <= y < height:
                    image[y, max(x0, 0) : max(x1 + 1, 0)] = red
            for x in (x0, x1):
                if 0 <= x < width:
                    image[max(y0, 0) : max(y1 + 1, 0), x] = red
    if labels is None:
        return image
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise ImportError("add_image_with_boxes: labels are drawn by the package Pillow, which is not installed") from None
    picture = Image.fromarray(image)
    draw = ImageDraw.Draw(picture)
    for box, label in zip(boxes, labels):
        draw.text((int(box[0]) + 3, max(int(box[1]) - 12, 0)), label, fill=(255, 0, 0))
    return np.array(picture)
