"""Handles of hooks."""

import itertools
import weakref

_numbers = itertools.count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away, and so does leaving it as a context.

    >>> table = collections.OrderedDict()
    >>> handle = RemovableHandle(table)
    >>> table[handle.id] = print
    >>> handle.remove(); len(table)
    0
    """

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.id = next(_numbers)
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        extra = () if extra_dict is None else extra_dict if isinstance(extra_dict, (list, tuple)) else (extra_dict,)
        self.extra_dict_ref = tuple(weakref.ref(table) for table in extra)

    def remove(self):
        """Take the hook away; a second call does nothing."""
        for find in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = find()
            if table is not None:
                table.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def add(table, hook):
    """Put `hook` into a table of hooks and return its handle."""
    handle = RemovableHandle(table)
    table[handle.id] = hook
    return handle
