"""Operators over functions: their names, the rules that modes have for them, and functions of trees as functions of tensors."""

from _cresset import Tensor, float32, from_functional, has_tangent, is_changed, is_functional, set_control_flow_error, to_functional, with_functional

from .._modes import stack as _stack
from .._subclasses import fake_tensor as _fake
from .._core.operators import OperatorBase
from .._dynamo.exc import UncapturedHigherOrderOpError, Unsupported
from ..utils._python_dispatch import _get_current_dispatch_mode
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

set_control_flow_error(UncapturedHigherOrderOpError)

_ALONE = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "CPU")  # keys of the rule that computes

operators = {}  # `torch.ops.higher_order`, by name


class HigherOrderOperator(OperatorBase):
    """An operator whose arguments are functions, too; `torch.ops.higher_order` has it by its name, the first of that name.

    A subclass for a program's own operator calls `super().__call__`, which takes the rule of `py_impl` for what is active: a class of modes, fake
    tensors, or, with `DispatchKey.CompositeExplicitAutograd`, nothing.

    >>> class Twice(torch._ops.HigherOrderOperator):
    ...     def __call__(self, x):
    ...         return super().__call__(x)
    >>> twice = Twice("twice")
    >>> @twice.py_impl(torch._C.DispatchKey.CompositeExplicitAutograd)
    ... def compute(x):
    ...     return x * 2
    >>> twice(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, name, *, cacheable=False):
        self._name = self.__name__ = self.__qualname__ = name
        self.__module__ = "torch.ops.higher_order"
        self._rules, self._cacheable = {}, cacheable
        operators.setdefault(name, self)

    def name(self):
        """The name under which `torch.ops.higher_order` has it."""
        return self._name

    @property
    def namespace(self):
        """Always "higher_order"."""
        return "higher_order"

    def cacheable(self):
        """Whether graphs that hold it may be cached."""
        return self._cacheable

    def py_impl(self, key):
        """A decorator: the function runs in place of this operator where `key`, a class of modes, is the innermost mode, which it gets first and does not hear it.

        `FakeTensorMode` is for fake tensors, `DispatchKey.CompositeExplicitAutograd` for where no other rule is in force.
        """

        def register(rule):
            self._rules[key] = rule
            return rule

        return register

    def fallthrough(self, key):
        """Nothing: where there is no rule for a key, that of the next is taken anyway."""

    def __str__(self):
        return self._name

    def __repr__(self):
        return f"<HigherOrderOperator {self._name}>"

    def __call__(self, *args, **kwargs):
        """The innermost mode's rule for it, or a node of the graph that is being traced, or its result."""
        from . import _capture

        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        is_batched = any(t._is_batched for t in tensors)
        if not is_batched and any(map(is_functional, tensors)):
            return self._of_values(args, kwargs)
        mode = _get_current_dispatch_mode()
        own = getattr(mode, "_call_higher_order", None)
        if own is not None:
            with _stack.without(lambda other: other is mode):
                return own(self, args, kwargs)
        rule = self._rule_of(type(mode))
        if rule is not None:
            with _stack.without(lambda other: other is mode):
                return rule(mode, *args, **kwargs)
        tracing = _capture.tracing_mode()
        if tracing is not None and (is_batched or any(map(has_tangent, tensors))):
            return self._of_transform(*args, **kwargs)
        if tracing is not None:
            return self.trace(tracing, *args, **kwargs)
        rule = self._rule_of(_fake.FakeTensorMode) if self._rules else None
        if rule is not None:
            mode = next((found for found in map(_fake.maybe_get_fake_mode, tensors) if found is not None), None) or _fake.active_mode()
            if mode is not None:
                return rule(mode, *args, **kwargs)
        return self.run(*args, **kwargs)

    def _of_transform(self, *args, **kwargs):
        raise Unsupported(f"{self._name}: cannot be traced within vmap or jvp; trace the transform's own function, or export it")

    def _rule_of(self, kind):
        return next((self._rules[base] for base in kind.__mro__ if base in self._rules), None)

    def _of_values(self, args, kwargs):
        """Under functionalize: the operator on values, with functions that change nothing in place; its results are wrappers."""

        def value(arg):
            return from_functional(arg) if isinstance(arg, Tensor) else self._without_changes(arg) if is_function(arg) else arg

        values, named = tree_map(value, (args, kwargs))
        results = with_functional(False, lambda: self(*values, **named))
        return tree_map(lambda r: to_functional(r) if isinstance(r, Tensor) else r, results)

    def _without_changes(self, function):
        def call(*inputs):
            wrappers = [to_functional(t) if isinstance(t, Tensor) else t for t in inputs]
            results = with_functional(True, lambda: function(*wrappers))
            for i, wrapper in enumerate(wrappers):
                if isinstance(wrapper, Tensor) and is_changed(wrapper):
                    raise UncapturedHigherOrderOpError(f"{self}: a function writes its input {i}; clone it there, and return what it became")
            return tree_map(lambda r: from_functional(r) if isinstance(r, Tensor) else r, results)

        return call

    def run(self, *args, **kwargs):
        """The result, by the operators of its functions."""
        for key, rule in self._rules.items():
            if getattr(key, "name", None) in _ALONE:
                return rule(*args, **kwargs)
        raise NotImplementedError(f"{self}: has no rule for what is active, and does not run by itself")

    def trace(self, mode, *args, **kwargs):
        """The result, with what the graph of `mode` gets for it; by default the operators of its functions."""
        return self.run(*args, **kwargs)

    def __reduce__(self):
        return _by_name, (self._name,)


def is_function(value):
    """Whether an argument of such an operator is a function of tensors; overloads and dtypes are values."""
    return callable(value) and not isinstance(value, (OperatorBase, type(float32)))


def _by_name(name):
    return operators[name]


_of_results = object()  # the place of a tensor among what a function returned


class Body:
    """A function of trees as one of tensors: what C++ calls. It keeps how the last result was built, so that results can be built like it."""

    def __init__(self, who, name, function, spec, *, allows=()):
        self.who, self.name, self.function, self.spec, self.allows = who, name, function, spec, allows
        self.out_spec = self.constants = None

    def __call__(self, *tensors):
        return self.flat(self.function(*tree_unflatten(list(tensors), self.spec)))

    def flat(self, output):
        """Tensors of an output of the function, in order."""
        leaves, self.out_spec = tree_flatten(output)
        for leaf in leaves:
            if not isinstance(leaf, (Tensor, *self.allows)):
                wanted = " and ".join(("tensors", *("None" if kind is type(None) else f"{kind.__name__}s" for kind in self.allows)))
                raise UncapturedHigherOrderOpError(f"{self.who}: expected {self.name} to return {wanted} in containers, got {type(leaf).__name__}")
        self.constants = [_of_results if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        return [leaf for leaf in leaves if isinstance(leaf, Tensor)]

    def rebuilt(self, results):
        """Tensors in the structure of the last output."""
        results = iter(results)
        return tree_unflatten([next(results) if constant is _of_results else constant for constant in self.constants], self.out_spec)


def same_structure(who, first, second):
    """Errors: UncapturedHigherOrderOpError where two bodies that have run gave other structures."""
    if None not in (first.out_spec, second.out_spec) and first.out_spec != second.out_spec:
        raise UncapturedHigherOrderOpError(
            f"{who}: expected {first.name} and {second.name} to return the same structure, got {first.out_spec} and {second.out_spec}"
        )


def check_callable(who, error, **functions):
    """Errors: of the class `error`, for what cannot be called."""
    for name, function in functions.items():
        if not callable(function):
            raise error(f"{who}: expected {name} to be callable, got {type(function).__name__}")
