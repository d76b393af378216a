"""Handles of registered hooks."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict

_numbers = itertools.count()


class RemovableHandle:
    """Removes a hook from the table it was put in.

    Args:
        hooks_dict: the table (an ordered dictionary) that maps the handle's ``id`` to the hook.
        extra_dict: further tables keyed by ``id``, or a list of them, from which ``remove`` also deletes.

    A handle is a context manager: the hook is removed at its end. It keeps the table alive only weakly.

    Example::

        >>> from collections import OrderedDict
        >>> from cresset.utils.hooks import RemovableHandle
        >>> hooks = OrderedDict()
        >>> handle = RemovableHandle(hooks)
        >>> hooks[handle.id] = print
        >>> handle.remove()
        >>> len(hooks)
        0
    """

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = next(_numbers)
        extra = extra_dict if isinstance(extra_dict, (list, tuple)) else () if extra_dict is None else (extra_dict,)
        self.extra_dict_ref = tuple(weakref.ref(table) for table in extra)

    def remove(self):
        """Takes the hook out of its tables; does nothing the second time."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, *(reference() for reference in self.extra_dict_ref)

    def __setstate__(self, state):
        tables = [OrderedDict() if table is None else table for table in (state[0], *state[2:])]
        self.id = state[1]
        self.hooks_dict_ref, *rest = (weakref.ref(table) for table in tables)
        self.extra_dict_ref = tuple(rest)
        global _numbers
        _numbers = itertools.count(max(next(_numbers), self.id + 1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
