"""Layers that pad the trailing dimensions; a negative size cuts instead."""

from .. import functional as F
from .module import Module
from .utils import _ntuple


class _Pad(Module):
    """`padding` is one number for all sides, or (left, right, top, bottom, front, back) as far as there are dimensions."""

    __constants__ = ["padding"]
    _mode, _n = "constant", 1

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple(2 * self._n)(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad:
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    extra_repr = _Pad.extra_repr


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class _CircularPadNd(_Pad):
    _mode = "circular"

    def forward(self, input):
        if input.dim() not in (self._n + 1, self._n + 2):
            raise ValueError(f"expected {self._n + 1}D or {self._n + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


def _classes():
    kinds = {
        "ConstantPad": (_ConstantPadNd, "with a constant", "(1, 0.5)"), "ZeroPad": (_ZeroPad, "with zeros", "(1)"),
        "ReflectionPad": (_ReflectionPadNd, "with the reflection of the inside at the border", "(1)"),
        "ReplicationPad": (_ReplicationPadNd, "with the values at the border", "(1)"), "CircularPad": (_CircularPadNd, "with what lies at the other end", "(1)"),
    }  # fmt: skip
    made = {}
    shapes = {1: ("(N, C, W) or (C, W)", "2, 3"), 2: ("(N, C, H, W) or (C, H, W)", "2, 3, 3"), 3: ("(N, C, D, H, W) or (C, D, H, W)", "2, 3, 3, 3")}
    for name, (base, what, arguments) in kinds.items():
        for n, (shape, example) in shapes.items():
            result = [2, *[5] * n]
            text = f"""Pads {shape} {what}. `padding` is one number or a tuple of {2 * n}, the last dimension first.

    >>> nn.{name}{n}d{arguments}(torch.ones({example})).shape
    torch.Size({result})
    """
            body = {"__doc__": text, "_n": n, "__module__": __name__, "__qualname__": f"{name}{n}d"}
            bases = (base, made[f"ConstantPad{n}d"]) if base is _ZeroPad else (base,)
            made[f"{name}{n}d"] = type(f"{name}{n}d", bases, body)
    return made


globals().update(_classes())
