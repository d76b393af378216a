"""PassManager, which runs passes in an order that their constraints allow."""

import inspect
import itertools
from functools import wraps

from cresset import nn

from ..._compatibility import compatibility
from ...graph_module import GraphModule
from .pass_base import PassResult

__all__ = ["pass_result_wrapper", "this_before_that_pass_constraint", "PassManager"]


@compatibility(is_backward_compatible=False)
def pass_result_wrapper(fn):
    """A function of a module as a pass that returns a PassResult: where it returns nothing the module has changed in place.

    >>> wrapped = torch.fx.passes.infra.pass_manager.pass_result_wrapper(lambda gm: None)
    >>> wrapped(torch.fx.symbolic_trace(lambda x: x)).modified
    True
    """
    if fn is None:
        return None

    @wraps(fn)
    def wrapped(gm):
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        if isinstance(result, PassResult):
            return result
        if isinstance(result, nn.Module):
            return PassResult(result, True)
        raise TypeError(f"pass {_title(fn)}: expected a PassResult, a module or None, got {type(result).__name__}")

    wrapped.__name__ = _title(fn)
    return wrapped


def _title(thing):
    return getattr(thing, "__name__", None) or type(thing).__name__


def _validate_pass_schedule_constraint(constraint, passes):
    for (i, first), (j, second) in itertools.combinations(enumerate(passes), 2):
        if not constraint(first, second):
            raise RuntimeError(f"schedule of passes: {_title(first)} (place {i}) may not run before {_title(second)} (place {j}); a constraint forbids it")


def _topological_sort_passes(passes, constraints):
    """The passes in an order that the constraints allow: of those that may be next the one that waits longest."""
    if not constraints:
        return passes
    needs = {p: [q for q in passes if q is not p and not all(allows(p, q) for allows in constraints)] for p in passes}
    found, turn = [], list(passes)
    while turn:
        free = [p for p in turn if all(q in found for q in needs[p])]
        if not free:
            raise RuntimeError(f"constraints on the order of passes go in a circle, among {passes}")
        found += free
        turn = [p for p in turn if p not in free]
    return found


@compatibility(is_backward_compatible=False)
def this_before_that_pass_constraint(this, that):
    """A constraint: one pass runs before another.

    >>> constraint = torch.fx.passes.infra.pass_manager.this_before_that_pass_constraint(len, abs)
    >>> constraint(len, abs), constraint(abs, len)
    (True, False)
    """

    return lambda a, b: (a, b) != (that, this)


class _Schedule:
    """Passes with the constraints on their order."""

    def __init__(self, passes, constraints):
        self.passes, self.constraints = ([] if given is None else given for given in (passes, constraints))
        self._validated = False

    def add_pass(self, _pass):
        """Add a pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """Add a constraint: a function of two passes that says whether the first may run before the second."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """RuntimeError where the passes are not in an order that the constraints allow."""
        for allows in () if self._validated else self.constraints:
            _validate_pass_schedule_constraint(allows, self.passes)
        self._validated = True


@compatibility(is_backward_compatible=False)
class PassManager(_Schedule):
    """Runs passes until none of them changes anything more, or for a number of rounds.

    Args:
        passes: functions of a module that return a PassResult.
        constraints: functions of two passes that say whether the first may run before the second.
        steps: how many rounds at most.
        run_checks_after_each_pass: check after each pass, by `check`.
        suppress_check_failures: go on where a check fails.

    >>> infra = torch.fx.passes.infra
    >>> def swapped(gm):
    ...     for node in gm.graph.find_nodes(op="call_function", target=torch.sin):
    ...         node.target = torch.cos
    ...     return infra.pass_base.PassResult(gm, True)
    >>> result = infra.pass_manager.PassManager([swapped])(torch.fx.symbolic_trace(lambda x: torch.sin(x)))
    >>> result.graph_module(torch.zeros(1))
    tensor([1.])
    """

    def __init__(self, passes=None, constraints=None, steps=None, run_checks_after_each_pass=False, suppress_check_failures=False):
        super().__init__(passes, constraints)
        self.steps = steps or 1
        self.run_checks_after_each_pass, self.suppress_check_failures = run_checks_after_each_pass, suppress_check_failures

    def solve_constraints(self):
        """Put the passes into an order that the constraints allow. RuntimeError where there is none."""
        self.passes, self._validated = _topological_sort_passes(self.passes, self.constraints), True

    def add_checks(self, check):
        """Let a function of a module check what passes have done."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError(f"add_checks: expected a function of one argument, the module, got {_title(check)}{inspect.signature(check)}")
        self.check = check

    def check(self, module):
        """Raises where a module is not as it should be."""

    def __call__(self, module):
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            round_changed = False
            for i, each in enumerate(self.passes):
                module, modified = self._run(i, each, module)
                round_changed = round_changed or modified
            changed = changed or round_changed
            if not round_changed:
                break
        return PassResult(module, changed)

    def _run(self, i, each, module):
        try:
            result = each(module)
            if not hasattr(result, "graph_module"):
                raise TypeError(f"expected a PassResult, got {type(result).__name__}; pass_result_wrapper makes one of what a function of a module returns")
            made = result.graph_module
            if isinstance(made, GraphModule):
                made.recompile()
            if self.run_checks_after_each_pass:
                self.check(made)
        except Exception as error:
            before = ", ".join(map(_title, self.passes[:i])) or "no other"
            raise Exception(f"the '{_title(each)}' pass failed after {before}: {error}") from error  # noqa: TRY002  PyTorch's type
        return made, result.modified
