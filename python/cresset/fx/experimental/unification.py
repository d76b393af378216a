"""Unification: values for variables that make two terms equal."""

import contextlib
import itertools

__all__ = ["Var", "var", "vars", "variables", "isvar", "unify", "reify", "unifiable"]

_numbers = itertools.count(1)
_values = set()  # values that are variables within a `variables` block


class Var:
    """A variable. Those of one token are one.

    >>> Var = torch.fx.experimental.unification.Var
    >>> Var("x"), Var("x") == Var("x"), Var() == Var()
    (~x, True, False)
    """

    def __init__(self, *token):
        if len(token) > 1:
            raise TypeError(f"Var: expected one token, got {len(token)}")
        self.token = token[0] if token else f"_{next(_numbers)}"

    def __repr__(self):
        return f"~{self.token}"

    def __eq__(self, other):
        return type(self) is type(other) and self.token == other.token

    def __hash__(self):
        return hash((Var, self.token))


def var(*token):
    """A variable.

    >>> torch.fx.experimental.unification.var("x")
    ~x
    """
    return Var(*token)


def vars(n):  # noqa: A001  PyTorch's name
    """A list of new variables.

    >>> len(torch.fx.experimental.unification.vars(2))
    2
    """
    return [Var() for _ in range(n)]


def isvar(v):
    """Whether a value is a variable.

    >>> torch.fx.experimental.unification.isvar(torch.fx.experimental.unification.Var())
    True
    """
    if isinstance(v, Var):
        return True
    try:
        return v in _values
    except TypeError:
        return False


@contextlib.contextmanager
def variables(*values):
    """Take values for variables within a `with` block.

    >>> unification = torch.fx.experimental.unification
    >>> with unification.variables("?"):
    ...     unification.unify("?", 1)
    {'?': 1}
    """
    new = set(values) - _values
    _values.update(new)
    try:
        yield
    finally:
        _values.difference_update(new)


def _value(term, s):
    """The term that a variable stands for in the end."""
    while isvar(term) and term in s:
        term = s[term]
    return term


def _parts(term):
    """(kind, parts) of a term that has parts; None of others."""
    if isinstance(term, (tuple, list)):
        return type(term), list(term)
    if isinstance(term, dict):
        return dict, [*sorted(term, key=repr), *(term[key] for key in sorted(term, key=repr))]
    if isinstance(term, slice):
        return slice, [term.start, term.stop, term.step]
    taken_apart = getattr(type(term), "_as_tuple", None)
    return (type(term), list(taken_apart(term))) if taken_apart else None


def unify(u, v, s=None):
    """The values of variables, as a dictionary, for which two terms are equal; False where there are none.

    Args:
        u, v: terms: variables, values, and tuples, lists, dictionaries and slices of terms.
        s: values that are known.

    >>> unification = torch.fx.experimental.unification
    >>> x = unification.Var("x")
    >>> unification.unify((1, x), (1, 2)), unification.unify((x, x), (1, 2))
    ({~x: 2}, False)
    """
    s = {} if s is None else s
    todo = [(u, v)]
    while todo:
        a, b = todo.pop()
        a, b = _value(a, s), _value(b, s)
        if a is b or (not isvar(a) and not isvar(b) and type(a) is type(b) and _parts(a) is None and a == b):
            continue
        if isvar(a) or isvar(b):
            if isvar(a) and isvar(b) and a == b:
                continue
            name, term = (a, b) if isvar(a) else (b, a)
            s = {**s, name: term}
            continue
        one, other = _parts(a), _parts(b)
        if one is None or other is None:
            if one is None and other is None and a == b:
                continue
            return False
        if one[0] is not other[0] or len(one[1]) != len(other[1]):
            return False
        todo += reversed(list(zip(one[1], other[1], strict=True)))
    return s


def reify(e, s):
    """A term with the values of its variables.

    >>> unification = torch.fx.experimental.unification
    >>> x = unification.Var("x")
    >>> unification.reify((1, [x]), {x: 2})
    (1, [2])
    """
    e = _value(e, s)
    if isvar(e):
        return e
    if isinstance(e, (tuple, list)):
        return type(e)(reify(part, s) for part in e) if not hasattr(e, "_fields") else type(e)(*[reify(part, s) for part in e])
    if isinstance(e, dict):
        return {key: reify(value, s) for key, value in e.items()}
    if isinstance(e, slice):
        return slice(reify(e.start, s), reify(e.stop, s), reify(e.step, s))
    if hasattr(type(e), "_as_tuple"):
        made = object.__new__(type(e))
        made.__dict__.update({name: reify(value, s) for name, value in e.__dict__.items()})
        return made
    return e


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
