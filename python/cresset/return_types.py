"""The types of results with named fields.

>>> isinstance(torch.max(torch.ones(2), 0), torch.return_types.max)
True
"""

import _cresset

from ._core import missing as _missing


def _found():
    """Every type, by its name."""
    types = (_cresset.named_result(f"{op}.{overload}" if overload else op) for op, overload, *_ in _cresset.operators() if not op.startswith("_"))
    return {found.__name__: found for found in types if found is not None}


def __getattr__(name):
    if name == "all_return_types":
        found = globals()[name] = list(_found().values())
        return found
    op = name.removesuffix("_out")
    entries = [f"{op}.{overload}" if overload else op for known, overload, *_ in _cresset.operators() if known == op]
    for found in map(_cresset.named_result, entries):
        if found is not None and found.__name__ == name:
            globals()[name] = found
            return found
    return _missing.found(__name__, name)


def __dir__():
    return sorted([*globals(), *_found(), "all_return_types"])
