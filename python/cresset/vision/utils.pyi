"""Many images as one, files of them, and what is drawn into them."""

from collections.abc import Sequence
from typing import Any

from _cresset import Tensor, _bool, _float, _int, _str

def draw_bounding_boxes(
    image: Tensor, boxes: Tensor, labels: Sequence[_str | None] | None = None, colors: Any = None, fill: _bool = False,
    width: _int = 1, font: _str | None = None, font_size: _float | None = None, label_colors: Any = None,
    label_background_colors: Any = None, fill_labels: _bool = False,
) -> Tensor: ...  # fmt: skip
def draw_keypoints(
    image: Tensor, keypoints: Tensor, connectivity: Sequence[tuple[_int, _int]] | None = None, colors: Any = None,
    radius: _int = 2, width: _int = 3, visibility: Tensor | None = None,
) -> Tensor: ...  # fmt: skip
def draw_segmentation_masks(image: Tensor, masks: Tensor, alpha: _float = 0.8, colors: Any = None) -> Tensor: ...
def flow_to_image(flow: Tensor) -> Tensor: ...
def make_grid(
    tensor: Tensor | Sequence[Tensor], nrow: _int = 8, padding: _int = 2, normalize: _bool = False,
    value_range: tuple[_float, _float] | None = None, scale_each: _bool = False, pad_value: _float = 0.0,
) -> Tensor: ...  # fmt: skip
def save_image(tensor: Tensor | Sequence[Tensor], fp: Any, format: _str | None = None, **kwargs: Any) -> None: ...
