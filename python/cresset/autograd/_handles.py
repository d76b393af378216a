"""Puts hooks into tables."""


def add(table, hook):
    """Put `hook` into a table of hooks and return its handle."""
    from ..utils.hooks import RemovableHandle

    handle = RemovableHandle(table)
    table[handle.id] = hook
    return handle
