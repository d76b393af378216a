"""The old kind of PassManager: its passes take a module and return one."""

import logging
from functools import wraps
from inspect import unwrap

from .infra.pass_manager import _Schedule, this_before_that_pass_constraint

__all__ = ["PassManager", "inplace_wrapper", "log_hook", "loop_pass", "these_before_those_pass_constraint", "this_before_that_pass_constraint"]

_logger = logging.getLogger(__name__)


def inplace_wrapper(fn):
    """A function that changes its argument, as one that returns it.

    >>> torch.fx.passes.pass_manager.inplace_wrapper(list.sort)([2, 1])
    [1, 2]
    """

    @wraps(fn)
    def wrapped(gm, *args, **kwargs):
        fn(gm, *args, **kwargs)
        return gm

    return wrapped


def log_hook(fn, level=logging.INFO):
    """A function whose results are logged.

    >>> torch.fx.passes.pass_manager.log_hook(abs)(-1)
    1
    """

    @wraps(fn)
    def wrapped(*args, **kwargs):
        value = fn(*args, **kwargs)
        _logger.log(level, "Ran pass %s\n Return value: %s", fn, value)
        return value

    return wrapped


def loop_pass(base_pass, n_iter=None, predicate=None):
    """A pass that runs another a number of times, or as long as a condition holds.

    Errors: AssertionError unless one of both is given.

    >>> torch.fx.passes.pass_manager.loop_pass(lambda x: 2 * x, n_iter=3)(1)
    8
    """
    if (n_iter is None) == (predicate is None):
        raise AssertionError("loop_pass: expected either n_iter or predicate")

    @wraps(base_pass)
    def looped(source):
        output = source
        if n_iter is not None:
            for _ in range(n_iter):
                output = base_pass(output)
            return output
        while predicate(output):
            output = base_pass(output)
        return output

    return looped


def these_before_those_pass_constraint(these, those):
    """A constraint: passes run before others, whatever wraps them.

    >>> constraint = torch.fx.passes.pass_manager.these_before_those_pass_constraint(len, abs)
    >>> constraint(abs, len)
    False
    """

    def depends_on(a, b):
        return unwrap(a) != those or unwrap(b) != these

    return depends_on


class PassManager(_Schedule):
    """Runs passes of a module one after the other.

    >>> manager = torch.fx.passes.pass_manager.PassManager(passes=[lambda x: x + 1, lambda x: 2 * x])
    >>> manager(1)
    4
    """

    def __init__(self, passes=None, constraints=None):
        super().__init__(passes, constraints)

    @classmethod
    def build_from_passlist(cls, passes):
        """A manager of a list of passes."""
        return cls(passes)

    def remove_pass(self, _passes):
        """Remove passes by their names."""
        self.passes = [p for p in self.passes if p.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target, _replacement):
        """Put a pass in the place of another."""
        self.passes = [_replacement if p.__name__ == _target.__name__ else p for p in self.passes]
        self._validated = False

    def validate(self):
        """RuntimeError where the passes are not in an order that the constraints allow."""
        self.validate_constraints()

    def __call__(self, source):
        self.validate()
        for each in self.passes:
            source = each(source)
        return source
