"""Partitions for backends."""

__all__ = []


def __getattr__(name):
    import importlib
    import importlib.util

    if not name.startswith("__") and importlib.util.find_spec(f"{__name__}.{name}"):
        return importlib.import_module(f"{__name__}.{name}")
    from cresset._core import missing as _missing

    return _missing.found(__name__, name)
