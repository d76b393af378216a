"""torch.fft: operators of the rows under their fft names."""

from . import Tensor, _operators  # noqa: F401

__all__ = sorted(name.removeprefix("fft_") for name in _operators if name.startswith("fft_"))
globals().update({name: _operators["fft_" + name] for name in __all__})
