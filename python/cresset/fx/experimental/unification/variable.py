"""Variables of terms."""

import contextlib
import itertools

__all__ = ["Var", "var", "vars", "variables", "isvar"]

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
