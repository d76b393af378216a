"""Summaries as TensorBoard reads them: each function gives the bytes of one, for `FileWriter.add_summary`.

>>> from cresset.utils.tensorboard.summary import scalar
>>> scalar("loss", 0.5).hex()
'0a0b0a046c6f7373150000003f'
"""

import io as _io
import json as _json
import math as _math
import time as _time
import wave as _wave

import numpy as _np

import cresset as _torch

from . import _images, _wire
from ._images import make_np as _make_np

__all__ = ["audio", "custom_scalars", "histogram", "histogram_raw", "hparams", "image", "image_boxes", "mesh", "pr_curve", "pr_curve_raw", "scalar",
           "tensor_proto", "text", "video"]  # fmt: skip

# ---- parts of messages ----------------------------------------------------------------------------------------------------

_DTYPES = {
    "float16": (19, None), "float32": (1, (5, _wire.singles)), "float64": (2, (6, _wire.doubles)), "int8": (6, (7, _wire.integers)),
    "int16": (5, (7, _wire.integers)), "int32": (3, (7, _wire.integers)), "uint8": (4, (7, _wire.integers)), "int64": (9, (10, _wire.integers)),
    "bool": (10, (11, _wire.integers)), "complex64": (8, None), "complex128": (18, None), "uint16": (17, (7, _wire.integers)),
}  # fmt: skip
_STRING = 7


def _shape(sizes):
    return _wire.each(2, (_wire.integer(1, n) for n in sizes))


def _tensor(array):
    """A TensorProto of an array."""
    code, field = _DTYPES[array.dtype.name]
    if field is None:
        content = _wire.data(4, array.astype(array.dtype.newbyteorder("<")).tobytes())
    else:
        content = field[1](field[0], array.reshape(-1).tolist())
    return _wire.integer(1, code) + _wire.data(2, _shape(array.shape)) + content


def _strings(texts, sizes):
    return _wire.integer(1, _STRING) + _wire.data(2, _shape(sizes)) + _wire.each(8, texts)


def _metadata(plugin, content=None):
    return _wire.data(9, _wire.data(1, _wire.data(1, plugin) + _wire.data(2, content)))


def _value(tag, *parts):
    return _wire.data(1, _wire.data(1, tag) + b"".join(parts))


# ---- numbers --------------------------------------------------------------------------------------------------------------


def _number(tensor):
    if isinstance(tensor, str):
        tensor = float(tensor)
    array = _np.squeeze(_make_np(tensor))
    if array.ndim:
        raise AssertionError(f"scalar: expected one number without dimensions, got {array.size} in {array.ndim} dimensions")
    return float(array)


def scalar(name, tensor, collections=None, new_style=False, double_precision=False):
    """A number under a name, as a plain number or (`new_style`) as a tensor of one. AssertionError for more than one element.

    >>> from cresset.utils.tensorboard import summary
    >>> len(summary.scalar("a", 1.0, new_style=True)) > len(summary.scalar("a", 1.0))
    True
    """
    number = _number(tensor)
    if not new_style:
        return _value(name, _wire.single(2, number))
    code, content = (2, _wire.doubles(6, [number])) if double_precision else (1, _wire.singles(5, [number]))
    return _value(name, _wire.data(8, _wire.integer(1, code) + content), _metadata("scalars"))


def tensor_proto(tag, tensor):
    """A whole tensor. ValueError for dtypes that the format has none for.

    >>> from cresset.utils.tensorboard import summary
    >>> b"weights" in summary.tensor_proto("weights", torch.ones(2))
    True
    """
    if not isinstance(tensor, _torch.Tensor):
        raise TypeError(f"add_tensor: expected a tensor, got {type(tensor).__name__}")
    array = _make_np(tensor)
    if array.dtype.name not in _DTYPES:
        raise ValueError(f"add_tensor: {tensor.dtype} has no counterpart in TensorBoard's files")
    return _value(tag, _wire.data(8, _tensor(array)), _metadata("tensor"))


def histogram_raw(name, min, max, num, sum, sum_squares, bucket_limits, bucket_counts):
    """A histogram that is counted already: `bucket_counts[i]` values up to `bucket_limits[i]`. ValueError for lists of different lengths.

    >>> from cresset.utils.tensorboard import summary
    >>> b"h" in summary.histogram_raw("h", 0.0, 1.0, 2, 1.0, 1.0, [0.5, 1.0], [1, 1])
    True
    """
    if len(bucket_limits) != len(bucket_counts):
        raise ValueError(f"histogram_raw: expected a limit for each count, got {len(bucket_limits)} and {len(bucket_counts)}")
    parts = b"".join(_wire.double(i, float(v) or None) for i, v in enumerate((min, max, num, sum, sum_squares), 1))
    return _value(name, _wire.data(5, parts + _wire.doubles(6, map(float, bucket_limits)) + _wire.doubles(7, map(float, bucket_counts))))


def histogram(name, values, bins, max_bins=None):
    """How many of the values lie in each bin; bins without values at both ends are left out.

    `bins` is what `numpy.histogram` takes. ValueError for no values.

    >>> from cresset.utils.tensorboard import summary
    >>> b"h" in summary.histogram("h", torch.arange(10.0), "auto")
    True
    """
    values = _make_np(values).astype(float).reshape(-1)
    if not values.size:
        raise ValueError("The input has no element.")
    counts, edges = _np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        counts = _np.pad(counts, (0, -len(counts) % step)).reshape(-1, step).sum(-1)
        edges = _np.append(edges[:-1][::step], edges[-1])
    filled = _np.flatnonzero(counts)
    first, last = (filled[0], filled[-1]) if len(filled) else (0, len(counts) - 1)
    counts, limits = [0, *counts[first : last + 1]], edges[first : last + 2]
    return histogram_raw(name, values.min(), values.max(), len(values), values.sum(), values.dot(values), limits, counts)


def compute_curve(labels, predictions, num_thresholds=127, weights=None):
    """(6, thresholds): true positives, false positives, true negatives, false negatives, precision and recall."""
    labels, predictions = _make_np(labels).reshape(-1).astype(float), _make_np(predictions).reshape(-1).astype(float)
    weights = _np.ones_like(labels) if weights is None else _np.broadcast_to(_make_np(weights).astype(float), labels.shape)
    if len(labels) != len(predictions):
        raise ValueError(f"add_pr_curve: expected as many labels as predictions, got {len(labels)} and {len(predictions)}")
    places = _np.int32(_np.floor(predictions * (num_thresholds - 1)))
    spread = {"bins": num_thresholds, "range": (0, num_thresholds - 1)}
    tp = _np.histogram(places, weights=labels * weights, **spread)[0][::-1].cumsum()[::-1]
    fp = _np.histogram(places, weights=(1 - labels) * weights, **spread)[0][::-1].cumsum()[::-1]
    least = 1e-7  # so that nothing is divided by zero
    return _np.stack([tp, fp, fp[0] - fp, tp[0] - tp, tp / _np.maximum(least, tp + fp), tp / _np.maximum(least, tp[0])])


def _curve(tag, data, num_thresholds):
    content = _wire.integer(2, num_thresholds)
    return _value(tag, _wire.data(8, _tensor(data.astype(_np.float32))), _metadata("pr_curves", content))


def pr_curve(tag, labels, predictions, num_thresholds=127, weights=None):
    """Precision and recall at thresholds from 0 to 1, of labels 0 and 1 and predictions from 0 to 1.

    >>> from cresset.utils.tensorboard import summary
    >>> b"pr_curves" in summary.pr_curve("c", torch.tensor([0, 1]), torch.tensor([0.2, 0.9]))
    True
    """
    thresholds = min(num_thresholds, 127)  # more give wrong numbers in the reader
    return _curve(tag, compute_curve(labels, predictions, thresholds, weights), thresholds)


def pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds=127, weights=None):
    """`pr_curve` of counts that are there already.

    >>> from cresset.utils.tensorboard import summary
    >>> b"pr_curves" in summary.pr_curve_raw("c", *[[1.0, 0.0]] * 6, num_thresholds=2)
    True
    """
    return _curve(tag, _np.stack([_make_np(part) for part in (tp, fp, tn, fn, precision, recall)]), min(num_thresholds, 127))


# ---- text and pictures ----------------------------------------------------------------------------------------------------


def text(tag, text):
    """Text, which is shown as Markdown.

    >>> from cresset.utils.tensorboard import summary
    >>> b"a/text_summary" in summary.text("a", "some *text*")
    True
    """
    if not isinstance(text, str):
        raise AttributeError(f"add_text: expected a str, got {type(text).__name__}")
    return _value(tag + "/text_summary", _wire.data(8, _strings([text], (1,))), _metadata("text"))


def _picture(tag, frames, fps=None):
    _, height, width, channels = frames.shape
    if channels not in (1, 3, 4):
        raise TypeError(f"tensorboard: images have 1, 3 or 4 channels, got {channels}")
    return _value(tag, _wire.data(4, _wire.integer(1, height) + _wire.integer(2, width) + _wire.integer(3, channels) + _wire.data(4, _images.png(frames, fps))))


def image(tag, tensor, rescale=1, dataformats="NCHW"):
    """A picture of numbers from 0 to 1, or of bytes; several are put side by side. `dataformats` names the dimensions.

    >>> from cresset.utils.tensorboard import summary
    >>> b"PNG" in summary.image("a", torch.rand(3, 4, 4), dataformats="CHW")
    True
    """
    pixels = _images.to_bytes(_images.to_hwc(_make_np(tensor), dataformats))
    return _picture(tag, _images.rescaled(pixels, rescale)[None])


def image_boxes(tag, tensor_image, tensor_boxes, rescale=1, dataformats="CHW", labels=None):
    """A picture with boxes (left, top, right, bottom) drawn into it.

    >>> from cresset.utils.tensorboard import summary
    >>> b"PNG" in summary.image_boxes("a", torch.rand(3, 9, 9), torch.tensor([[1, 1, 5, 5]]))
    True
    """
    boxes = _make_np(tensor_boxes).reshape(-1, 4)
    if labels is not None:
        labels = [labels] if isinstance(labels, str) else labels
        if len(labels) != len(boxes):
            labels = None
    pixels = _images.to_bytes(_images.to_hwc(_make_np(tensor_image), dataformats))
    pixels = _images.with_boxes(pixels, boxes, labels)
    return _picture(tag, _images.rescaled(pixels, rescale)[None])


def video(tag, tensor, fps=4):
    """Videos (N, T, C, H, W) side by side, as an animated PNG.

    >>> from cresset.utils.tensorboard import summary
    >>> b"acTL" in summary.video("a", torch.rand(1, 2, 3, 4, 4))
    True
    """
    array = _make_np(tensor)
    if array.ndim != 5:
        raise AssertionError(f"add_video: expected (N, T, C, H, W), got {array.shape}")
    columns = 2 ** _math.ceil(_math.log2(max(1, len(array))) / 2)
    frames = [_images.make_grid(array[:, t], columns).transpose(1, 2, 0) for t in range(array.shape[1])]
    return _picture(tag, _images.to_bytes(_np.stack(frames)), fps)


def audio(tag, tensor, sample_rate=44100):
    """Sound of numbers from -1 to 1, one channel. AssertionError for more than one.

    >>> from cresset.utils.tensorboard import summary
    >>> b"RIFF" in summary.audio("a", torch.zeros(1, 100))
    True
    """
    array = _np.squeeze(_make_np(tensor))
    if array.ndim != 1:
        raise AssertionError(f"audio: expected one dimension, got {array.ndim}")
    if _np.abs(array).max(initial=0) > 1:
        print("warning: audio: values outside of [-1, 1] are clipped")
        array = array.clip(-1, 1)
    file = _io.BytesIO()
    with _wave.open(file, "wb") as wave:
        wave.setnchannels(1)
        wave.setsampwidth(2)
        wave.setframerate(sample_rate)
        wave.writeframes((array * 32767).astype("<i2").tobytes())
    parts = _wire.single(1, sample_rate) + _wire.integer(2, 1) + _wire.integer(3, len(array)) + _wire.data(4, file.getvalue()) + _wire.data(5, "audio/wav")
    return _value(tag, _wire.data(6, parts))


def mesh(tag, vertices, colors, faces, config_dict, display_name=None, description=None):
    """Points (B, N, 3), their colours (B, N, 3) of 0 to 255, and triangles (B, M, 3) of numbers of points.

    >>> from cresset.utils.tensorboard import summary
    >>> b"a_VERTEX" in summary.mesh("a", torch.zeros(1, 4, 3), None, None, None)
    True
    """
    config = _json.dumps(config_dict or {}, sort_keys=True)
    there = [(kind, code, _make_np(part)) for kind, code, part in (("VERTEX", 1, vertices), ("FACE", 2, faces), ("COLOR", 3, colors)) if part is not None]
    components = sum(1 << code for _, code, _ in there)
    out = b""
    for kind, code, array in there:
        content = _wire.data(2, tag) + _wire.integer(3, code) + _wire.data(5, config) + _wire.integers(6, array.shape) + _wire.integer(7, components)
        described = _wire.data(9, _wire.data(1, _wire.data(1, "mesh") + _wire.data(2, content)) + _wire.data(2, display_name) + _wire.data(3, description))
        out += _value(f"{tag}_{kind}", _wire.data(8, _tensor(array.astype(_np.float32))), described)
    return out


# ---- whole pages ----------------------------------------------------------------------------------------------------------


def custom_scalars(layout):
    """Which scalars are drawn in one chart: {category: {chart: ["Multiline" or "Margin", [tags]]}}; a margin has three tags.

    >>> from cresset.utils.tensorboard import summary
    >>> b"lower" in summary.custom_scalars({"Loss": {"all": ["Margin", ["mean", "lower", "upper"]]}})
    True
    """
    categories = b""
    for title, charts in layout.items():
        parts = b""
        for name, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"custom_scalars: a margin has three tags, got {len(tags)}")
                series = _wire.data(3, _wire.data(1, b"".join(_wire.data(i, tag) for i, tag in enumerate(tags, 1))))
            else:
                series = _wire.data(2, _wire.each(1, tags))
            parts += _wire.data(2, _wire.data(1, name) + series)
        categories += _wire.data(2, _wire.data(1, title) + parts)
    return _value("custom_scalars__config__", _wire.data(8, _strings([categories], ())), _metadata("custom_scalars"))


def _plain(value):
    """A google.protobuf.Value of a parameter, with the number of its kind; bools are numbers."""
    if isinstance(value, (int, float)):
        return _wire.double(2, value), 3
    if isinstance(value, str):
        return _wire.data(3, value), 1
    raise ValueError(f"hparams: expected numbers, texts, truth values or tensors, got {type(value).__name__}")


def _parameter(name, value, domain):
    code = _plain(value)[1]
    described = _wire.data(1, name) + _wire.integer(4, code)
    if domain is None:
        return described
    kinds = (int, float) if isinstance(value, (int, float)) else (str,)
    if not all(isinstance(d, kinds) for d in domain):
        raise TypeError(f"hparams: expected hparam_domain_discrete[{name!r}] to be a list of values like hparam_dict's")
    return described + _wire.data(5, _wire.each(1, (_plain(d)[0] for d in domain)))


def hparams(hparam_dict, metric_dict, hparam_domain_discrete=None):
    """Three summaries of a run with its hyperparameters: the experiment, its start, its end. Metrics are named; scalars hold their values.

    Errors: TypeError for other than dictionaries and domains of other types, ValueError for values that are neither numbers, texts nor tensors.

    >>> from cresset.utils.tensorboard import summary
    >>> experiment, start, end = summary.hparams({"lr": 0.1}, {"accuracy": 0.9})
    >>> b"accuracy" in experiment
    True
    """
    if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
        raise TypeError("hparams: expected two dictionaries, got something else")
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("hparam_domain_discrete should be a dictionary.")
    for name, domain in domains.items():
        if name not in hparam_dict or not isinstance(domain, list):
            raise TypeError(f"hparams: expected hparam_domain_discrete[{name!r}] to be a list of values like hparam_dict's")
    given = {k: _make_np(v).reshape(-1)[0].item() if isinstance(v, _torch.Tensor) else v for k, v in hparam_dict.items() if v is not None}
    infos = _wire.each(4, (_parameter(k, v, domains.get(k)) for k, v in given.items()))
    metrics = _wire.each(5, (_wire.data(1, _wire.data(2, name)) for name in metric_dict))
    start = _wire.mapped(1, ((k, _plain(v)[0]) for k, v in given.items())) + _wire.double(5, _time.time())
    end = _wire.integer(1, 1)
    messages = (("experiment", 2, infos + metrics), ("session_start_info", 3, start), ("session_end_info", 4, end))
    return tuple(_value(f"_hparams_/{name}", _metadata("hparams", _wire.data(field, message))) for name, field, message in messages)
