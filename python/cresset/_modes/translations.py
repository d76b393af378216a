"""Where PyTorch's modes see something else than our rows: composites that they see whole, rows under another name or schema, rows whose parts they see."""

import _cresset

from .._core import aten_names as _names

_installed = False


def install():
    """Tells the dispatcher, once."""
    global _installed
    if _installed:
        return
    _installed = True
    for name in _names.UNKNOWN:
        _cresset._hear(name, "unknown")
    entries = {}
    for name, overload, *_ in _cresset.operators():
        entries.setdefault(name, []).append(f"{name}.{overload}" if overload else name)
    for name in _names.WHOLE:
        for entry in [name] if name not in entries or "." in name else entries[name]:
            _cresset._hear(entry, "whole")
