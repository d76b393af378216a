"""The mark of names whose behaviour is kept from version to version."""

_MARKED_WITH_COMPATIBILITY = {}
_BACK_COMPAT_OBJECTS = {}


def compatibility(is_backward_compatible=False):
    """A decorator that marks a function or class as one that stays as it is, or as one that may change.

    >>> @torch.fx._compatibility.compatibility(is_backward_compatible=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(2)
    4
    """

    def marked(fn):
        _MARKED_WITH_COMPATIBILITY.setdefault(fn)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(fn)
        return fn

    return marked
