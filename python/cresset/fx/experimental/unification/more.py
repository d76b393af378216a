"""Objects as terms."""

__all__ = ["unifiable"]


def unifiable(cls):
    """A decorator that lets objects of a class be terms, whose parts are their attributes.

    >>> unification = torch.fx.experimental.unification
    >>> @unification.unifiable
    ... class Point:
    ...     def __init__(self, x):
    ...         self.x = x
    >>> v = unification.Var("v")
    >>> unification.unify(Point(v), Point(3))
    {~v: 3}
    """
    cls._as_tuple = lambda self: tuple(value for _, value in sorted(self.__dict__.items()))
    return cls
