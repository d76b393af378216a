"""PassManager, which runs passes in an order that their constraints allow."""

import inspect
from functools import wraps
from queue import Queue

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
        raise TypeError(f"pass {getattr(fn, '__name__', fn)}: expected a PassResult, a module or None, got {type(result).__name__}")

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def _validate_pass_schedule_constraint(constraint, passes):
    for i, first in enumerate(passes):
        for j, second in enumerate(passes[i + 1 :], i + 1):
            if not constraint(first, second):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {first} before {second} but found {first} at index {i} and {second} at index{j} in pass list."
                )


def _topological_sort_passes(passes, constraints):
    if not constraints:
        return passes
    after = {p: [] for p in passes}
    waiting = dict.fromkeys(passes, 0)
    for one in passes:
        for other in passes:
            if one is not other and not all(constraint(one, other) for constraint in constraints):
                after[other].append(one)
                waiting[one] += 1
    ready, found = Queue(), []
    for p in passes:
        if waiting[p] == 0:
            ready.put(p)
    while not ready.empty():
        p = ready.get()
        found.append(p)
        for later in after[p]:
            waiting[later] -= 1
            if waiting[later] == 0:
                ready.put(later)
    if len(found) < len(passes):
        raise RuntimeError(f"Circular dependency detected within the following passes: {[p for p in passes if p not in found]}")
    return found


@compatibility(is_backward_compatible=False)
def this_before_that_pass_constraint(this, that):
    """A constraint: one pass runs before another.

    >>> constraint = torch.fx.passes.infra.pass_manager.this_before_that_pass_constraint(len, abs)
    >>> constraint(len, abs), constraint(abs, len)
    (True, False)
    """

    def depends_on(a, b):
        return a != that or b != this

    return depends_on


@compatibility(is_backward_compatible=False)
class PassManager:
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
        self.passes = [] if passes is None else passes
        self.constraints = [] if constraints is None else constraints
        self.steps = 1 if not steps else steps
        self._validated = False
        self.run_checks_after_each_pass, self.suppress_check_failures = run_checks_after_each_pass, suppress_check_failures

    def add_pass(self, _pass):
        """Add a pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """Add a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """RuntimeError where the passes are not in an order that the constraints allow."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True

    def solve_constraints(self):
        """Put the passes into an order that the constraints allow. RuntimeError where there is none."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check):
        """Let a function of a module check what passes have done."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
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
        name = getattr(each, "__name__", type(each).__name__)
        try:
            result = each(module)
            if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                raise TypeError(f"The result of the pass {name} should be type PassResult. Please wrap it with pass_result_wrapper()")
            if isinstance(result.graph_module, GraphModule):
                result.graph_module.recompile()
            if self.run_checks_after_each_pass:
                self.check(result.graph_module)
        except Exception as error:
            before = [getattr(p, "__name__", type(p).__name__) for p in self.passes[:i]]
            raise Exception(f"An error occurred when running the '{name}' pass after the following passes: {before}") from error  # noqa: TRY002
        return result.graph_module, result.modified
