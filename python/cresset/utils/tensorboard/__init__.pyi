"""Results of training as event files of TensorBoard."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from _cresset import Tensor, _bool, _float, _int, _str

_Path = _str | os.PathLike[_str]

class FileWriter:
    def __init__(self, log_dir: _Path, max_queue: _int = 10, flush_secs: _float = 120, filename_suffix: _str = "") -> None: ...
    def get_logdir(self) -> _str: ...
    def add_event(self, event: Any, step: _int | None = None, walltime: _float | None = None) -> None: ...
    def add_summary(self, summary: Any, global_step: _int | None = None, walltime: _float | None = None) -> None: ...
    def add_graph(self, graph_profile: Any, walltime: _float | None = None) -> None: ...
    def add_onnx_graph(self, graph: Any, walltime: _float | None = None) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
    def reopen(self) -> None: ...

class RecordWriter:
    def __init__(self, writer: Any) -> None: ...
    def write(self, data: Any) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> _bool: ...

class SummaryWriter:
    def __init__(
        self, log_dir: _Path | None = None, comment: _str = "", purge_step: _int | None = None, max_queue: _int = 10,
        flush_secs: _float = 120, filename_suffix: _str = "",
    ) -> None: ...  # fmt: skip
    def get_logdir(self) -> _str: ...
    def add_scalar(
        self, tag: _str, scalar_value: Any, global_step: _int | None = None, walltime: _float | None = None,
        new_style: _bool = False, double_precision: _bool = False,
    ) -> None: ...  # fmt: skip
    def add_scalars(
        self, main_tag: _str, tag_scalar_dict: Mapping[_str, Any], global_step: _int | None = None,
        walltime: _float | None = None,
    ) -> None: ...  # fmt: skip
    def add_tensor(self, tag: _str, tensor: Tensor, global_step: _int | None = None, walltime: _float | None = None) -> None: ...
    def add_histogram(
        self, tag: _str, values: Any, global_step: _int | None = None, bins: Any = "tensorflow", walltime: _float | None = None,
        max_bins: _int | None = None,
    ) -> None: ...  # fmt: skip
    def add_histogram_raw(
        self, tag: _str, min: _float, max: _float, num: _float, sum: _float, sum_squares: _float, bucket_limits: Any,
        bucket_counts: Any, global_step: _int | None = None, walltime: _float | None = None,
    ) -> None: ...  # fmt: skip
    def add_image(
        self, tag: _str, img_tensor: Any, global_step: _int | None = None, walltime: _float | None = None,
        dataformats: _str = "CHW",
    ) -> None: ...  # fmt: skip
    def add_images(
        self, tag: _str, img_tensor: Any, global_step: _int | None = None, walltime: _float | None = None,
        dataformats: _str = "NCHW",
    ) -> None: ...  # fmt: skip
    def add_image_with_boxes(
        self, tag: _str, img_tensor: Any, box_tensor: Any, global_step: _int | None = None, walltime: _float | None = None,
        rescale: _float = 1, dataformats: _str = "CHW", labels: Any = None,
    ) -> None: ...  # fmt: skip
    def add_figure(
        self, tag: _str, figure: Any, global_step: _int | None = None, close: _bool = True, walltime: _float | None = None,
    ) -> None: ...  # fmt: skip
    def add_video(
        self, tag: _str, vid_tensor: Any, global_step: _int | None = None, fps: _float = 4, walltime: _float | None = None,
    ) -> None: ...  # fmt: skip
    def add_audio(
        self, tag: _str, snd_tensor: Any, global_step: _int | None = None, sample_rate: _int = 44100,
        walltime: _float | None = None,
    ) -> None: ...  # fmt: skip
    def add_text(self, tag: _str, text_string: _str, global_step: _int | None = None, walltime: _float | None = None) -> None: ...
    def add_graph(self, model: Any, input_to_model: Any = None, verbose: _bool = False, use_strict_trace: _bool = True) -> None: ...
    def add_onnx_graph(self, prototxt: _Path) -> None: ...
    def add_embedding(
        self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: _int | None = None, tag: _str = "default",
        metadata_header: Any = None,
    ) -> None: ...  # fmt: skip
    def add_pr_curve(
        self, tag: _str, labels: Any, predictions: Any, global_step: _int | None = None, num_thresholds: _int = 127,
        weights: Any = None, walltime: _float | None = None,
    ) -> None: ...  # fmt: skip
    def add_pr_curve_raw(
        self, tag: _str, true_positive_counts: Any, false_positive_counts: Any, true_negative_counts: Any,
        false_negative_counts: Any, precision: _int | _str, recall: Any, global_step: _int | None = None,
        num_thresholds: _int = 127, weights: Any = None, walltime: _float | None = None,
    ) -> None: ...  # fmt: skip
    def add_custom_scalars_multilinechart(
        self, tags: Sequence[_str], category: _str = "default", title: _str = "untitled",
    ) -> None: ...  # fmt: skip
    def add_custom_scalars_marginchart(
        self, tags: Sequence[_str], category: _str = "default", title: _str = "untitled",
    ) -> None: ...  # fmt: skip
    def add_custom_scalars(self, layout: Any) -> None: ...
    def add_mesh(
        self, tag: _str, vertices: Any, colors: Any = None, faces: Any = None, config_dict: Any = None,
        global_step: _int | None = None, walltime: _float | None = None,
    ) -> None: ...  # fmt: skip
    def add_hparams(
        self, hparam_dict: Mapping[_str, Any], metric_dict: Mapping[_str, Any], hparam_domain_discrete: Any = None,
        run_name: _str | None = None, global_step: _int | None = None,
    ) -> None: ...  # fmt: skip
    def flush(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> SummaryWriter: ...
    def __exit__(self, *_: Any) -> None: ...
