"""The questions that a `ShapeEnv` was asked, written down, so that it can be asked again of another one."""

import dataclasses
import functools

import cresset as torch

from ...utils._pytree import tree_map

__all__ = ["ShapeEnvEvent", "record_shapeenv_event", "replay_shape_env_events", "FakeTensorMeta", "shape_env_check_state_equal", "NotEqualError"]


@dataclasses.dataclass
class ShapeEnvEvent:
    """A call of a method of a `ShapeEnv`, or of its class.

    Args:
        f: the function that was called.
        args, kwargs: of the call, the environment included; of tensors their sizes, as `FakeTensorMeta`.
        tracked_fakes: the fake tensors that the environment tracked then, where the method looks at these.
        name: of the event.

    >>> env = torch.fx.experimental.symbolic_shapes.ShapeEnv(should_record_events=True)
    >>> u = env.create_unbacked_symint()
    >>> torch._check(u >= 2)
    >>> [event.name or "the class" for event in env.events]
    ['the class', 'create_unbacked_symint', 'guard_or_defer_runtime_assert']
    """

    f: object
    args: list | None = None
    kwargs: dict | None = None
    tracked_fakes: list | None = None
    name: str | None = None

    def run(self, shape_env=None):
        """The call again, of another environment. AssertionError without one, but for the event that makes one."""
        from ._shape_env import ShapeEnv

        if self.f is ShapeEnv:
            return ShapeEnv(**self.kwargs)
        if shape_env is None:
            raise AssertionError(f"ShapeEnvEvent.run: {self.name} needs the environment that it is asked of")

        def moved(value):
            if isinstance(value, ShapeEnv):
                return shape_env
            return shape_env.wrap(value.node.expr) if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else value

        return self.f(*tree_map(moved, self.args or []), **tree_map(moved, self.kwargs or {}))

    def __str__(self):
        return f"event: {self.name or getattr(self.f, '__name__', self.f)} ({self.args}, {self.kwargs})"

    __repr__ = __str__

    def _asks(self, method):
        return self.name == method

    def is_create_fx_call_function(self):
        """Never: an environment makes no graph of its conditions."""
        return self._asks("_create_fx_call_function")

    def is_evaluate_expr(self):
        """Whether the number of an expression was asked for."""
        return self._asks("evaluate_expr")

    def is_defer_runtime_assert(self):
        """Whether a condition was stated that is to hold at run time."""
        return self._asks("guard_or_defer_runtime_assert")


@dataclasses.dataclass
class FakeTensorMeta:
    """The geometry of a fake tensor.

    >>> with torch._subclasses.fake_tensor.FakeTensorMode():
    ...     x = torch.ones(2, 3)
    >>> meta = torch.fx.experimental.recording.FakeTensorMeta.from_fake(x)
    >>> meta.size(), meta.stride(), meta.dim()
    (torch.Size([2, 3]), (3, 1), 2)
    """

    tensor_size: tuple
    tensor_stride: tuple
    tensor_storage_offset: object
    is_nested: bool

    def size(self):
        """The sizes."""
        return self.tensor_size

    shape = property(size)

    def stride(self, dim=None):
        """The strides, or one of them."""
        return self.tensor_stride if dim is None else self.tensor_stride[dim]

    def storage_offset(self):
        """Where in its memory the tensor begins."""
        return self.tensor_storage_offset

    def dim(self):
        """The number of dimensions."""
        return len(self.tensor_size)

    @staticmethod
    def from_fake(fake):
        """That of a tensor."""
        sizes, strides = fake.size(), fake.stride()
        return FakeTensorMeta(sizes, strides, fake.storage_offset(), fake.is_nested)


def _environment(args, kwargs):
    """The environment among the arguments of a call, or that of a symbolic number; None where there is none. AssertionError for several."""
    from ._shape_env import ShapeEnv

    found = []

    def look(value):
        env = value if isinstance(value, ShapeEnv) else value.node.shape_env if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else None
        if env is not None:
            found.append(env)

    tree_map(look, (list(args), dict(kwargs)))
    if any(env is not found[0] for env in found):
        raise AssertionError("record_shapeenv_event: expected the symbols of one ShapeEnv, got those of several")
    return found[0] if found else None


def record_shapeenv_event(*, save_tracked_fakes=False, name=None):
    """A decorator for functions of a `ShapeEnv`: their calls become events of one that records, but for those within another such call.

    Args:
        save_tracked_fakes: keep with the event which fake tensors the environment tracks.
        name: of the event; that of the function if None.

    >>> @torch.fx.experimental.recording.record_shapeenv_event()
    ... def ask(env):
    ...     return env.create_unbacked_symint()
    >>> env = torch.fx.experimental.symbolic_shapes.ShapeEnv(should_record_events=True)
    >>> u = ask(env)
    >>> env.events[-1].name
    'ask'
    """

    def decorator(function):
        title = name or function.__name__

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if args and getattr(args[0], "should_record_events", None) is False:  # a method of an environment that does not record, as most
                return function(*args, **kwargs)
            env = _environment(args, kwargs)
            if env is None or not env.should_record_events or env.is_recording:
                return function(*args, **kwargs)
            tracked = list(env.tracked_fakes) if save_tracked_fakes and env.tracked_fakes is not None else None
            with env._recorded(ShapeEnvEvent(function, list(args), dict(kwargs), tracked, title)):
                return function(*args, **kwargs)

        return wrapper

    return decorator


def replay_shape_env_events(events):
    """A new `ShapeEnv` that was asked the same. The first event is the one that made the environment.

    Errors: ValueError for no events; RuntimeError where an event fails.

    >>> recording = torch.fx.experimental.recording
    >>> env = torch.fx.experimental.symbolic_shapes.ShapeEnv(should_record_events=True)
    >>> torch._check(env.create_unbacked_symint() >= 2)
    >>> recording.replay_shape_env_events(env.events).deferred_runtime_asserts.keys()
    dict_keys([u0])
    """
    if not events or events[0].f is not torch.fx.experimental.symbolic_shapes.ShapeEnv:
        raise ValueError("replay_shape_env_events: expected events that begin with the one that made the environment")
    env = events[0].run()
    for event in events[1:]:
        try:
            event.run(env)
        except Exception as error:
            raise RuntimeError(f"failed when running {event}") from error
    return env


class NotEqualError(Exception):
    """Two environments differ.

    Args:
        msg: in what way.
        mismatched: [(name, what the first has, what the second has)].
    """

    def __init__(self, msg, mismatched):
        lines = [f"==> {name}\n  >  Left: {left}\n  > Right: {right}" for name, left, right in mismatched]
        super().__init__("ShapeEnv not equal: " + msg + "\n\n" + "\n".join(lines) + "\n")


def shape_env_check_state_equal(env1, env2, non_state_variable_names, map_value):
    """NotEqualError where two environments differ in a field that is not among `non_state_variable_names`.

    Args:
        env1, env2: environments, or other objects with fields.
        non_state_variable_names: the fields that may differ.
        map_value: a function of (name, value) that gives what is compared.

    >>> from types import SimpleNamespace as Some
    >>> torch.fx.experimental.recording.shape_env_check_state_equal(Some(a=1, b=2), Some(a=1, b=3), ("b",), lambda name, value: value)
    """
    from ._shape_env import ShapeEnv

    states = [dict(env._state() if isinstance(env, ShapeEnv) else vars(env)) for env in (env1, env2)]
    for state in states:
        for name in non_state_variable_names:
            state.pop(name, None)
    if states[0].keys() != states[1].keys():
        only = [(name, repr(states[0].get(name, "missing")), repr(states[1].get(name, "missing"))) for name in sorted(states[0].keys() ^ states[1].keys())]
        raise NotEqualError("field set mismatch:", only)
    values = [(name, map_value(name, states[0][name]), map_value(name, states[1][name])) for name in sorted(states[0])]
    wrong = [(f"{name}: values don't match.", str(left), str(right)) for name, left, right in values if left != right]
    if wrong:
        raise NotEqualError("field values don't match:", wrong)
