"""Values for variables that make two terms equal."""

from .variable import isvar

__all__ = ["reify", "unify", "walk"]


def walk(key, d):
    """The term that a variable stands for in the end; other terms as they are.

    >>> x, y = torch.fx.experimental.unification.vars(2)
    >>> torch.fx.experimental.unification.core.walk(x, {x: y, y: 1})
    1
    """
    while isvar(key) and key in d:
        key = d[key]
    return key


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
        a, b = walk(a, s), walk(b, s)
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
    e = walk(e, s)
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
