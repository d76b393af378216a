"""The text of tensors, and the options that shape it."""

import contextlib as _contextlib
import math as _math

import _cresset
from _cresset import Tensor

from . import _utils

_options = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": _math.inf, "edgeitems": 3, "linewidth": 80},
}


class _PrintOptions:
    """The options as attributes, under the name that libraries read them by."""

    def __getattr__(self, name):
        if name not in _options:
            raise AttributeError(name)
        return _options[name]


PRINT_OPTS = _PrintOptions()


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """How tensors are printed: digits after the point, elements from which on a tensor is summarised, elements shown at each end of a
    dimension then, characters in a line, and whether numbers have exponents (None: where they need them).

    >>> torch.set_printoptions(precision=2); print(torch.tensor([1.12345])); torch.set_printoptions(profile="default")
    tensor([1.12])
    """
    if profile is not None:
        _options.update(_PROFILES.get(profile, {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in given.items() if value is not None})
    _options["sci_mode"] = sci_mode


def get_printoptions():
    """The options in force, by name.

    >>> torch.get_printoptions()["precision"]
    4
    """
    return dict(_options)


@_contextlib.contextmanager
def printoptions(**options):
    """Options for a scope."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        _options.update(before)


class _Formatter:
    """One width and one notation for all numbers of a tensor."""

    def __init__(self, values, floating):
        self.floating, self.whole, self.scientific, self.width = floating, True, False, 1
        precision = _options["precision"]
        if not floating:
            self.width = max((len(str(v)) for v in values), default=1)
            return
        shown = [v for v in values if v != 0 and _math.isfinite(v)]
        if not shown:
            return
        sizes = [abs(v) for v in shown]
        least, most = min(sizes), max(sizes)
        self.whole = all(v == _math.ceil(v) for v in shown)
        self.scientific = most / least > 1000.0 or most > 1.0e8 or (not self.whole and least < 1.0e-4)
        if _options["sci_mode"] is not None:
            self.scientific = _options["sci_mode"]
        if self.scientific:
            lengths = [len(f"{v:.{precision}e}") for v in shown]
        elif self.whole:
            lengths = [len(f"{v:.0f}") + 1 for v in shown]
        else:
            lengths = [len(f"{v:.{precision}f}") for v in shown]
        self.width = max(1, *lengths)

    def __call__(self, value):
        if not self.floating:
            text = str(value)
        elif self.scientific:
            text = f"{value:{self.width}.{_options['precision']}e}"
        elif self.whole:
            text = f"{value:.0f}" + ("." if _math.isfinite(value) else "")
        else:
            text = f"{value:.{_options['precision']}f}"
        return text.rjust(self.width)


class _Complex:
    def __init__(self, values):
        self.real, self.imag = _Formatter([v.real for v in values], True), _Formatter([v.imag for v in values], True)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value):
        imag = self.imag(value.imag).lstrip() + "j"
        return self.real(value.real) + (imag if imag[0] in "+-" else "+" + imag)


def _ends(length):
    """Positions of a dimension that are shown when a tensor is summarised."""
    edge = _options["edgeitems"]
    return list(range(length)) if length <= 2 * edge else [*range(edge), *range(length - edge, length)]


def _shown(tensor, summarise):
    """The part of a tensor that is shown, as nested lists, and its numbers in a row."""
    if summarise:
        for d in range(tensor.dim()):
            if tensor.shape[d] > 2 * _options["edgeitems"]:
                tensor = tensor.index_select(d, _cresset_index(_ends(tensor.shape[d])))
    data = tensor.tolist()
    flat = [data]
    for _ in range(tensor.dim()):
        flat = [item for row in flat for item in row]
    return data, flat


def _cresset_index(positions):
    return _cresset.from_nested(positions, _cresset.int64)


def _vector(data, length, indent, summarise, form):
    per_line = max(1, _math.floor((_options["linewidth"] - indent) / (form.width + 2)))
    edge = _options["edgeitems"]
    items = [form(v) for v in data]
    if summarise and not edge:
        items = ["..."]
    elif summarise and length > 2 * edge:
        items = [*items[:edge], " ...", *items[-edge:]]
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)] or [""]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(data, shape, indent, summarise, form):
    if not shape:
        return form(data)
    if len(shape) == 1:
        return _vector(data, shape[0], indent, summarise, form)
    rows = [_nested(row, shape[1:], indent + 1, summarise, form) for row in data]
    edge = _options["edgeitems"]
    if summarise and shape[0] > 2 * edge:
        rows = [*rows[:edge], "...", *rows[len(rows) - edge :]]
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(rows) + "]"


def _tensor_str(tensor, indent):
    if tensor.dtype in (_cresset.float16, _cresset.bfloat16):
        tensor = tensor.float()
    summarise = tensor.numel() > _options["threshold"]
    if tensor.dim() == 0:
        summarise = False
    data, flat = _shown(tensor, summarise)
    form = _Complex(flat) if tensor.is_complex() else _Formatter(flat, tensor.is_floating_point())
    return _nested(data, tuple(tensor.shape), indent, summarise, form)


def _add_suffixes(text, suffixes, indent, force_newline=False):
    parts = [text]
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or last + len(suffix) + 2 > _options["linewidth"]:
            force_newline = False
            parts.append(",\n" + " " * indent + suffix)
            last = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            last += len(suffix) + 2
    return "".join(parts) + ")"


def _sparse_text(self, indent):
    """The parts of a sparse tensor, each on lines of its own."""
    if self.layout is _cresset.sparse_coo:
        parts = {"indices": self._indices(), "values": self._values()}
    elif self.layout in (_cresset.sparse_csr, _cresset.sparse_bsr):
        parts = {"crow_indices": self.crow_indices(), "col_indices": self.col_indices(), "values": self.values()}
    else:
        parts = {"ccol_indices": self.ccol_indices(), "row_indices": self.row_indices(), "values": self.values()}
    texts = []
    for name, part in parts.items():
        head = name + "=tensor("
        part = part.detach()
        if part._lacks_data or part.numel() == 0:
            body = ("..." if part._lacks_data else "[]") + ", size=" + str(tuple(part.shape))
        else:
            body = _tensor_str(part, indent + len(head))
        texts.append(head + body + ")")
    return (",\n" + " " * indent).join(texts)


def _history(self):
    try:
        node = self.grad_fn
    except RuntimeError:
        return ["grad_fn=<Invalid>"]
    if node is not None:
        name = type(node).__name__
        if name == "CppFunction":
            name = node.name().rsplit("::", 1)[-1]
        return [f"grad_fn=<{name}>"]
    return ["requires_grad=True"] if self.requires_grad else []


def _tangent(self):
    if not _cresset.has_tangent(self):
        return []
    from .autograd.forward_ad import _open

    tangent = _cresset.unpack_dual(self, _open[-1])[1] if _open else None
    return [] if tangent is None else [f"tangent={tangent}"]


def _usual_dtypes():
    default = _cresset.get_default_dtype()
    return default, _cresset.int64, getattr(_cresset, "bool"), default.to_complex()


def fake_str(self):
    """`repr` of a fake tensor."""
    suffixes = [f"device='{self.device}'"] if self.device.type != "cpu" else []
    suffixes.append("size=" + str(tuple(self.shape)))
    strided, indent = self.layout is _cresset.strided, len("FakeTensor(")
    if self.dtype is not _cresset.get_default_dtype() and (strided or self.dtype not in _usual_dtypes()):
        suffixes.append(f"dtype={self.dtype}")
    if not strided:
        suffixes.append(f"layout={self.layout}")
    text = _add_suffixes("FakeTensor(" + ("..." if strided else _sparse_text(self, indent)), suffixes + _history(self), indent, force_newline=self.is_sparse)
    return f"Parameter({text})" if getattr(self, "_is_param", False) else text


def tensor_str(self, *, tensor_contents=None):
    """`repr` of a tensor, with other text in the place of its numbers where `tensor_contents` gives one."""
    before = _cresset._set_subclasses_off(True)
    try:
        text = _whole_text(self, tensor_contents)
        # A tensor of the user's class that was made a parameter.
        return f"Parameter({text})" if getattr(self, "_is_param", False) and type(self).__name__ not in ("Parameter", "UninitializedParameter") else text
    finally:
        _cresset._set_subclasses_off(before)


def _batched_str(depth, dim, value):
    lines = repr(value).split("\n")
    return "\n".join([f"BatchedTensor(lvl={depth}, bdim={dim}, value=", *("    " + line for line in lines), ")"])


def _whole_text(self, contents):
    if _cresset.is_functional(self):
        self = _cresset.from_functional(self)
    batched = _cresset.batched_parts(self)
    if batched is not None:
        return _batched_str(*batched[:3])
    plain = type(self) is Tensor or type(self).__name__ in ("Parameter", "Buffer")
    prefix = "tensor(" if plain else f"{type(self).__name__}("
    indent = len(prefix)
    default, usual = _cresset.get_default_dtype(), _usual_dtypes()
    suffixes = []
    if self.device.type != "cpu":
        suffixes.append(f"device='{self.device}'")
    size = "size=" + str(tuple(self.shape))
    if self.is_mkldnn:
        suffixes += [] if self.dtype in usual else [f"dtype={self.dtype}"]
        text = _tensor_str(self.to_dense(), indent) if contents is None else contents
        return _add_suffixes(prefix + text, [*suffixes, f"layout={self.layout}"], indent)
    if self.layout is not _cresset.strided:
        suffixes += [size] if self.is_meta else [size, f"nnz={self._nnz()}"]
        if self.dtype not in usual:
            suffixes.append(f"dtype={self.dtype}")
        suffixes.append(f"layout={self.layout}")
        text = _sparse_text(self, indent) if contents is None else contents
        return _add_suffixes(prefix + text, suffixes + _history(self) + _tangent(self), indent, force_newline=self.is_sparse)
    if self.is_meta or (contents is None and _utils._is_wrapper(self)):
        text = "..." if contents is None else contents
        suffixes.append(size)
        if self.dtype is not default:
            suffixes.append(f"dtype={self.dtype}")
    elif self.numel() == 0:
        text = "[]" if contents is None else contents
        if self.dim() != 1:
            suffixes.append(size)
        if self.dtype is not default:
            suffixes.append(f"dtype={self.dtype}")
    else:
        if self.dtype not in usual:
            suffixes.append(f"dtype={self.dtype}")
        with_no_grad = self.detach().resolve_conj().resolve_neg()
        text = _tensor_str(with_no_grad, indent) if contents is None else contents
    return _add_suffixes(prefix + text, suffixes + _history(self) + _tangent(self), indent)
