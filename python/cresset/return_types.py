"""The types of results with named fields.

>>> isinstance(torch.max(torch.ones(2), 0), torch.return_types.max)
True
"""

import _cresset

from . import _missing


def __getattr__(name):
    entries = [f"{op}.{overload}" if overload else op for op, overload, *_ in _cresset.operators() if op == name]
    for found in map(_cresset.named_result, entries):
        if found is not None:
            globals()[name] = found
            return found
    return _missing.found(__name__, name)
