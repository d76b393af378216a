"""Handles of hooks."""

from cresset.utils.hooks import RemovableHandle


def add(table, hook):
    """Put `hook` into a table of hooks and return its handle."""
    handle = RemovableHandle(table)
    table[handle.id] = hook
    return handle
