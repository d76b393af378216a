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


class _ConstantPad(_Pad):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input):
        if input.dim() not in (self._n + 1, self._n + 2):
            raise ValueError(f"expected {self._n + 1}D or {self._n + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


def _classes():
    kinds = {
        "ConstantPad": (_ConstantPad, "with a constant", "(1, 0.5)"), "ZeroPad": (_ZeroPad, "with zeros", "(1)"),
        "ReflectionPad": (_Pad, "with the reflection of the inside at the border", "(1)"),
        "ReplicationPad": (_Pad, "with the values at the border", "(1)"), "CircularPad": (_CircularPad, "with what lies at the other end", "(1)"),
    }  # fmt: skip
    modes = {"ReflectionPad": "reflect", "ReplicationPad": "replicate"}
    shapes = {1: ("(N, C, W) or (C, W)", "2, 3"), 2: ("(N, C, H, W) or (C, H, W)", "2, 3, 3"), 3: ("(N, C, D, H, W) or (C, D, H, W)", "2, 3, 3, 3")}
    for name, (base, what, arguments) in kinds.items():
        for n, (shape, example) in shapes.items():
            result = [2, *[5] * n]
            text = f"""Pads {shape} {what}. `padding` is one number or a tuple of {2 * n}, the last dimension first.

    >>> nn.{name}{n}d{arguments}(torch.ones({example})).shape
    torch.Size({result})
    """
            body = {"__doc__": text, "_n": n, "__module__": __name__, "__qualname__": f"{name}{n}d"}
            if name in modes:
                body["_mode"] = modes[name]
            yield f"{name}{n}d", type(f"{name}{n}d", (base,), body)


globals().update(_classes())
