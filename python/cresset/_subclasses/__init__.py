"""Tensor classes that stand for others: fake tensors, which have everything but data."""

from .fake_tensor import DynamicOutputShapeException, FakeTensor, FakeTensorMode, UnsupportedFakeTensorException

__all__ = ["DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]


def __getattr__(name):
    if name == "CrossRefFakeMode":
        from .fake_utils import CrossRefFakeMode

        return CrossRefFakeMode
    if name in ("fake_utils", "functional_tensor", "meta_utils", "schema_check_mode"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
