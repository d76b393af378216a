"""From a frame to an entry of its region: capture, graph, backend, and the code around it."""

import contextlib
import functools
import gc
import inspect
import os
import linecache
import re
import sys
import types

import _cresset
import _cresset_compile
from _cresset import Tensor

import cresset as torch

from ... import fx
from ...compiler import config as settings
from ...fx.experimental.symbolic_shapes import ConstraintViolationError, RestartTrace
from .. import _logs, config, exc
from ..utils import counters
from . import guard_filter
from . import places as P
from .code import call_start, listing, with_return, with_trap
from .machine import Generator, Machine
from .rebuild import Rebuilder
from .record import Recorder, _modes_now
from .shapes import Shapes
from .signals import Break, Restart, Skip, Stop, Uninitialized
from .world import NULL, Raw, World

_JUMPS = {
    "POP_JUMP_IF_TRUE": (True, False), "POP_JUMP_IF_FALSE": (False, False), "JUMP_IF_TRUE_OR_POP": (True, True), "JUMP_IF_FALSE_OR_POP": (False, True),
}  # fmt: skip
#: Instructions that do not simply go on to the next one, beside jumps.
_NO_STEPS = frozenset(
    ("FOR_ITER", "SEND", "YIELD_VALUE", "RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS", "POP_EXCEPT", "PUSH_EXC_INFO", "CLEANUP_THROW")
)


class FrameFacts:
    """Facts of a frame and the settings around it."""

    def __init__(self, compiler, function, code):
        self.compiler, self.function, self.code = compiler, function, code
        self.names = listing(code).slots
        self.pending = {}  # what this capture says of sizes, kept once it has succeeded

    def open_sizes(self, tensor, name):
        """Dimensions of an argument whose sizes may differ from call to call, and those among them that the program has marked. One that is marked
        dynamic may be 0 or 1 in the example, and is that in its graph; nothing may depend on one that is marked unbacked."""
        unbacked = getattr(tensor, "_dynamo_unbacked_indices", ())
        strict = {*unbacked, *(d for d in getattr(tensor, "_dynamo_dynamic_indices", ()) if tensor.shape[d] > 1)}
        fixed = getattr(tensor, "_dynamo_static_indices", ())
        open_, dynamic = {*strict, *getattr(tensor, "_dynamo_weak_dynamic_indices", ())}, self.compiler.dynamic
        if not (isinstance(tensor, torch.nn.Parameter) and config.force_parameter_static_shapes):
            if dynamic or (dynamic is None and not config.assume_static_by_default):
                open_ |= set(range(tensor.dim()))
            elif dynamic is None and config.automatic_dynamic_shapes:
                open_ |= self._changed(tensor, name)
        if settings.dynamic_sources:
            source = re.sub(r"^local (\d+)", lambda m: f"L[{self.names[int(m[1])]!r}]", name)
            open_ |= set(range(tensor.dim())) if source in settings.dynamic_sources.split(",") else set()
        shape = tensor.shape
        return tuple(sorted(d for d in open_ if d in strict or (d not in fixed and shape[d] > 1))), tuple(sorted(strict))

    def _changed(self, tensor, name):
        """Dimensions whose sizes have differed between captures so far."""
        key, shape = (self.code, name), tuple(tensor.shape)
        known = self.compiler.sizes.get(key)
        if isinstance(known, tuple) and len(known) == len(shape):
            shape = tuple(a if a == b else None for a, b in zip(known, shape, strict=True))
        elif known is not None:
            shape = (None,) * len(shape) if not isinstance(known, tuple) else shape
        self.pending[key] = shape
        return {d for d, size in enumerate(shape) if size is None}

    def is_open_number(self, value, name):
        """Whether an integer argument has differed between captures so far."""
        if config.specialize_int or not name.startswith("local") or ".__dict__" in name and not config.allow_unspec_int_on_nn_module:
            return False
        if self.compiler.dynamic is not None or not config.automatic_dynamic_shapes:
            return bool(self.compiler.dynamic) and value not in (0, 1)
        key = (self.code, name, int)
        known = self.compiler.sizes.get(key, value)
        self.pending[key] = value if known == value else None
        return self.pending[key] is None and value not in (0, 1)


class Outcome:
    """How far a capture came: to the end with `value`, or to before the instruction `at` of `machine`."""

    def __init__(self, world, machine, at=None, value=None):
        self.world, self.machine, self.at, self.value = world, machine, at, value


def _capture(compiler, function, code, offset, slots, stack, stop_at, shapes):
    world = World(FrameFacts(compiler, function, code), shapes)
    world.stop_at = stop_at
    brought = [v if v is NULL else Raw(world.place(P.SLOT, -1, None, i), v) for i, v in enumerate(slots)]
    names = listing(code)
    for i in range(len(code.co_varnames), len(slots)):
        world.cells[id(slots[i])] = slots[i], world.place(P.SLOT, -1, None, i)
    for i, name in enumerate(code.co_varnames):
        if name in code.co_cellvars:
            world.cells[id(slots[i])] = slots[i], world.place(P.SLOT, -1, None, i)
    machine = Machine(world, code, function.__globals__, function.__builtins__, brought)
    machine.function = function
    machine.index = names.index[offset]
    handled = any(row.start <= offset < row.end and row.lasti for row in names.handlers)
    del handled
    try:
        with _inside(world):
            machine.stack = [v if v is NULL else world.bring(v, world.place(P.STACK, -1, None, i)) for i, v in enumerate(stack)]
            try:
                machine.run()
            except Stop:
                return Outcome(world, machine, at=machine.instructions[machine.index])
            return Outcome(world, machine, value=_exhausted(machine.result))
    except BaseException as error:
        if isinstance(error, Break):
            error.step, error.world = world.steps - 1 if machine.unit is None else machine.unit[0], world
        world.close()
        raise


def _exhausted(result):
    """A generator that is returned before it has begun, run to its end: what it gives is in the graph."""
    if not isinstance(result, Generator) or result.started:
        return result
    items = []
    for item in result:
        items.append(item)
        if len(items) > 1000:
            raise Break("a generator of more than 1000 items is returned")
    return iter(items)


@contextlib.contextmanager
def _inside(world):
    """The modes of a capture; afterwards those of before, and the states of random generators."""
    state = torch.get_rng_state()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20000))
    recorder = Recorder(world.tracer)
    depth = len(_cresset._modes())
    try:
        with world.fake_mode:
            _cresset._push_mode(recorder)
            _state.capturing += 1
            world.fake_mode._before_text = _no_text
            yield
            world.end_modes = _modes_now()
            world.modes_entered = len(_cresset._modes()) - depth - 1
    finally:
        world.fake_mode._before_text = None
        _state.capturing -= 1
        while len(_cresset._modes()) > depth:
            _cresset._pop_mode()
        sys.setrecursionlimit(limit)
        world.start_modes.apply()
        if not torch.equal(torch.get_rng_state(), state):
            torch.set_rng_state(state)


def _no_text():
    raise Break("the text of a tensor", "print it after the function, or with config.reorderable_logging_functions")


class _State:
    capturing = 0


_state = _State()


def is_capturing():
    """Whether a frame is being captured."""
    return _state.capturing > 0


# ---- which frames -----------------------------------------------------------------------------------------------------------


@functools.cache
def _stdlib():
    import sysconfig

    paths = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    return tuple(os.path.join(path, "") for path in paths if path)


@functools.cache
def _package():
    return os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "")


@functools.cache
def _is_program(filename):
    """Whether a file is one of the program: not of Python, of the package, or of a library that is known to have nothing to compile."""
    if filename.startswith("<"):
        return filename.startswith(("<stdin>", "<string>", "<ipython", "<torch", "<eval_with_key>", "<doctest"))
    real = os.path.realpath(filename)
    if real.startswith(_package()):
        return real.startswith((_package() + os.path.join("nn", "modules", ""), _package() + os.path.join("vision", "")))
    if "site-packages" in real or "dist-packages" in real:
        return not any(f"{os.sep}{name}{os.sep}" in real for name in ("numpy", "pytest", "_pytest", "pluggy"))
    return not real.startswith(_stdlib())


_WITH_CALLEES = frozenset(("cresset.utils.checkpoint",))


def _is_left(code):
    if code.co_name in ("<module>", "__setattr__", "__getattr__", "__getattribute__", "__repr__", "__str__", "__del__", "__hash__"):
        return True
    if not _is_program(code.co_filename):
        return True
    return _package() in os.path.realpath(code.co_filename) and code.co_name != "forward"


# ---- the miss ---------------------------------------------------------------------------------------------------------------


#: Names of code that is part of a function.
_PARTS = frozenset(("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"))


def miss(compiler, function, code, offset, slots, stack):
    """An entry for a frame at an offset of its code; None where the code is to run as it is from now on, False for this time."""
    if is_capturing() or _cresset._modes():
        return False
    if function.__globals__.get("__name__") in _WITH_CALLEES:
        return Ellipsis  # calls a function twice, and expects the same of it
    if config.disable or code in compiler.left or (_is_left(code) and code not in compiler.roots):
        return None
    if getattr(function, "_torchdynamo_disable", False):
        return None
    if compiler.fullgraph and code.co_name in _PARTS and code not in compiler.roots:
        return None  # of a frame without operators, which runs as it is
    fresh = offset == listing(code).instructions[_first(code)].offset
    if _over_limit(compiler, function, code, offset):
        return _plain()
    if fresh and compiler.region.count(code, offset):
        if config.error_on_recompile:
            raise exc.RecompileError(f"torch.compile: {function.__qualname__} would be compiled again, which config.error_on_recompile forbids")
        counters["stats"]["recompiles"] += 1
        _logs.recompile(compiler, function, code)
    try:
        return _entry(compiler, function, code, offset, slots, stack)
    except Skip as skip:
        if compiler.fullgraph:
            raise exc.Unsupported(_message(skip, function, code, None)) from None
        _note_break(compiler, skip, function, code, None)
        return _plain()


def _first(code):
    for i, instruction in enumerate(listing(code).instructions):
        if instruction.name == "RESUME":
            return i + 1
    return 0


def _plain():
    """An entry without guards: this code runs as it is from this offset on."""
    return _cresset_compile.Entry(_cresset_compile.Guards(), P.PLAIN, None, (), (), None)


def _over_limit(compiler, function, code, offset):
    limit, setting = compiler.recompile_limit or config.recompile_limit, "recompile_limit"
    if compiler.region.count(code, offset) < limit:
        limit, setting = config.accumulated_recompile_limit, "accumulated_recompile_limit, over all compiled functions"
        if _count_everywhere(code, offset) < limit:
            return False
        gc.collect()  # compiled functions that are of no more use
        if _count_everywhere(code, offset) < limit:
            return False
    text = f"torch.compile: {function.__qualname__} ({code.co_filename}:{code.co_firstlineno}) has been compiled {limit} times, its limit (config.{setting})"
    if compiler.fullgraph or config.fail_on_recompile_limit_hit:
        raise exc.FailOnRecompileLimitHit(f"{text}; with fullgraph=True that is an error")
    _logs.once(f"{text}; it runs as it is where no graph fits")
    return True


def _count_everywhere(code, offset):
    """How often a place was compiled anew in all compiled functions; what each compiles first counts once."""
    from ..eval_frame import compilers

    return 1 + sum(max(compiler.region.count(code, offset) - 1, 0) for compiler in compilers())


def _entry(compiler, function, code, offset, slots, stack):
    stop_at, reason = None, None
    scalars, outputs = config.capture_scalar_outputs or compiler.fullgraph, config.capture_dynamic_output_shape_ops or compiler.fullgraph
    equal = compiler.exporting is None  # sizes that are equal in the example share a symbol
    shapes = Shapes(scalars, outputs, equal) if scalars or outputs else None
    attempts = 64
    while attempts > 0:
        attempts -= 1
        try:
            outcome = _capture(compiler, function, code, offset, slots, stack, stop_at, shapes)
        except Restart:
            shapes = Shapes(scalars, outputs, equal)
            continue
        except RestartTrace:
            continue
        except Uninitialized as lazy:
            lazy.initialize()
            attempts += 1  # happens once for each module
            continue
        except Break as error:
            if (compiler.fullgraph or _errors_on_break()) and getattr(error, "on_data", False):
                raise exc.UserError(exc.UserErrorType.DYNAMIC_CONTROL_FLOW, _message(error, function, code, error.world)) from None
            if compiler.fullgraph or _errors_on_break():
                raise exc.Unsupported(_message(error, function, code, error.world)) from None
            if stop_at is not None and error.step >= stop_at:
                raise Skip(error.reason, error.hint) from None
            stop_at, reason = error.step, error
            continue
        except ConstraintViolationError:
            raise
        except Exception as error:
            return _raises(compiler, function, code, error, offset)
        try:
            outcome.offset = offset
            entry = _assemble(compiler, function, code, outcome)
        except Break as error:
            if compiler.fullgraph:
                raise exc.Unsupported(_message(error, function, code, outcome.world)) from None
            raise Skip(error.reason, error.hint) from None
        finally:
            outcome.world.close()
        compiler.sizes.update(outcome.world.frame.pending)
        if reason is not None:
            _note_break(compiler, reason, function, code, reason.world)
        return entry
    raise Skip("the capture does not come to an end")


def _errors_on_break():
    return config.error_on_graph_break


def _raises(compiler, function, code, error, offset):
    """The frame raises an error: it does so by running as it is."""
    if compiler.fullgraph and isinstance(error, exc.TorchDynamoException):
        raise error
    _logs.graph_break(f"{function.__qualname__} raises {type(error).__name__}: {error}")
    _logs.debug_error(error)
    return False


# ---- messages ---------------------------------------------------------------------------------------------------------------


def _where(error, code):
    return getattr(error, "lines", None) or f'  File "{code.co_filename}", line {code.co_firstlineno}, in {code.co_name}\n'


def _message(error, function, code, world):
    hint = f"\n  {error.hint}" if error.hint else ""
    return f"torch.compile: {function.__qualname__} cannot be captured as one graph: {error.reason}{hint}\n{_where(error, code)}"


def _note_break(compiler, error, function, code, world):
    counters["graph_break"][error.reason] += 1
    compiler.breaks.append((error.reason, error.hint, function.__qualname__))
    _logs.graph_break(f"{function.__qualname__}: {error.reason}\n{_where(error, code)}")


# ---- putting an entry together ----------------------------------------------------------------------------------------------


def _assemble(compiler, function, code, outcome):
    world, machine = outcome.world, outcome.machine
    world.check_writes()
    if world.modes_entered:
        raise Skip("the graph ends within a mode of the program")
    rebuilt = Rebuilder(world)
    if outcome.at is None:
        if compiler.exporting is not None:
            compiler.exporting(world, outcome.value)
        result = rebuilt.text(outcome.value)
    else:
        _must_continue(world, machine, outcome.at)
        result = _state_text(rebuilt, world, machine)
    rebuilt.effects(_own_cells(world, code) if outcome.at is None and outcome.offset == listing(code).instructions[_first(code)].offset else ())
    rebuilt.modes(world.start_modes, world.end_modes)
    tracer = world.tracer
    if outcome.at is None and tracer.num_ops == 0 and not world.told and not config.allow_empty_graphs:
        if not compiler.region.count(code, outcome.offset):
            return None  # nothing to compile, and likely never
        _finish_guards(compiler, world)
        return _cresset_compile.Entry(world.guards, P.PLAIN, None, (), (), None)
    unguarded = _finish_guards(compiler, world)
    graph = None
    if tracer.num_ops or config.allow_empty_graphs:
        graph = _compiled(compiler, world, rebuilt, function)
        fresh = outcome.offset == listing(code).instructions[_first(code)].offset
        if outcome.at is None and fresh and _does_the_same(code) and compiler.gains_nothing(tracer.graph):
            return Ellipsis  # guards alone cost more than the step
        if unguarded and compiler.makes_code():
            graph = guard_filter.checked(getattr(graph, "call", graph), _examples(world))
    simple = not rebuilt.lines or all(line.startswith("v") and " = o[" in line for line in rebuilt.lines)
    after, _ = rebuilt.finish(result)
    if outcome.at is None:
        shape = P.ONE if graph is not None and simple and result in rebuilt.names.values() and len(rebuilt.outputs) == 1 else P.GENERAL
        clone, leave = with_return(code)
        return _new_entry(world, P.RETURN, graph, rebuilt, after, shape=shape, at=leave, clone=clone)
    return _with_step(world, machine, outcome.at, graph, rebuilt, after, code)


def _finish_guards(compiler, world):
    """The last guards of a capture, less those that the program leaves out: whether one of a tensor is left out."""
    world.finish_guards()
    return compiler.guard_filter is not None and guard_filter.apply(world, compiler.guard_filter)


def _does_the_same(code):
    """Whether all calls of a function do what one of them does: the step of an optimizer, or a function without arguments and branches."""
    takes_none = not (code.co_argcount or code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
    straight = not any("JUMP" in instruction.name or instruction.name == "FOR_ITER" for instruction in listing(code).instructions)
    return (takes_none and straight) or _package() in os.path.realpath(code.co_filename)


def _own_cells(world, code):
    """Places of the cells that a frame has made: when it ends they are read by functions among its results alone."""
    own = {i for i, name in enumerate(listing(code).slots) if name in code.co_cellvars}
    return {place for _, place in world.cells.values() for i in own if place == world.place(P.SLOT, -1, None, i)}


def _new_entry(world, then, graph, rebuilt, after, **options):
    inputs = tuple(place for place, _, _ in world.tracer.inputs) if graph is not None else ()
    graph = getattr(graph, "call", graph) if type(graph).__name__ == "_Held" else graph
    return _cresset_compile.Entry(world.guards, then, graph, inputs, tuple(rebuilt.sources), after, **options)


def _state_text(rebuilt, world, machine):
    """The variables and the stack of a frame, as two tuples."""
    slots = []
    for i, value in enumerate(machine.slots):
        place = world.place(P.SLOT, -1, None, i)
        if type(value) is Raw or (isinstance(value, types.CellType) and id(value) in world.cells):
            slots.append(rebuilt.source(place))
        else:
            slots.append(rebuilt.text(value))
    stack = [rebuilt.text(value) for value in machine.stack]
    join = lambda items: "(" + "".join(f"{item}, " for item in items) + ")"  # noqa: E731
    return f"({join(slots)}, {join(stack)})"


def _must_continue(world, machine, at):
    """Whether the frame can go on after a graph break here."""
    around = machine.stack[:-1] if at.loop is not None else machine.stack  # a comprehension runs as a whole
    if any(type(value) in _LOOPS or type(value).__name__ == "Generator" for value in around):
        raise Skip("the graph breaks within a loop", "move what breaks it out of the loop, or compile the body")
    if world.handled:
        raise Skip("the graph breaks while an error is handled")
    if at.name in _NO_STEPS or ("JUMP" in at.name and at.name not in _JUMPS):
        raise Skip(f"the graph breaks at {at.name}")


def _with_step(world, machine, at, graph, rebuilt, after, code):
    instructions, index = machine.instructions, machine.index
    if at.name in _JUMPS:
        jump_if, keep = _JUMPS[at.name]
        following = instructions[index + 1]
        return _new_entry(
            world, P.JUMP, graph, rebuilt, after, at=at.offset, next=following.begin, target=instructions[at.jump].begin, jump_if=jump_if, keep=keep
        )
    begin = instructions[call_start(instructions, index)].begin if at.name == "CALL" else at.begin
    if at.loop is None:
        following = instructions[index + 1]
        depth = len(machine.stack) + (-at.arg - 1 if at.name == "CALL" else at.effect())
    else:
        following, depth = instructions[at.loop[0]], len(machine.stack) + at.loop[1]
    trapped = with_trap(code, following.begin, depth)
    if trapped is None:
        raise Skip("the graph breaks in a function of more than 255 constants")
    clone, trap, constant = trapped
    return _new_entry(world, P.STEP, graph, rebuilt, after, at=begin, trap=trap, next=following.begin, constant=constant, clone=clone, depth=depth)


_LOOPS = (
    type(iter([])),
    type(iter(())),
    type(iter(range(0))),
    type(iter({})),
    type(iter({}.values())),
    type(iter({}.items())),
    zip,
    enumerate,
    map,
    filter,
    reversed,
)


# ---- the graph --------------------------------------------------------------------------------------------------------------


def _compiled(compiler, world, rebuilt, function):
    tracer = world.tracer
    tracer.finish_modes()
    tracer.graph.output(tuple(tracer.argument(value) for value in rebuilt.outputs))
    module = fx.GraphModule(tracer.root, tracer.graph)
    module.meta["function"] = function.__qualname__
    examples = _examples(world)
    module.meta["shares_memory"], module.meta["whole"] = world.shares_memory, world.stays_whole
    module.meta["open"] = world.shapes is not None and bool(world.shapes.bound)
    counters["stats"]["calls_captured"] += tracer.num_ops
    counters["stats"]["unique_graphs"] += 1
    _logs.graph(module)
    compiler.graphs.append(module)
    with world.unwatched() if _cresset._modes() else contextlib.nullcontext():
        if world.has_subclass and isinstance(compiler._backend, str):
            return module.forward  # operators on objects of such a class are the class's
        made = call_backend(compiler, module, examples)
        compiler.made.append((module, made))
        return made


def _examples(world):
    """The inputs of the graph at this call."""
    outside = {id(fake): value for fake, value, _ in world.tensors}
    return [outside.get(id(value), value) for _, _, value in world.tracer.inputs]


def call_backend(compiler, module, examples):
    """The callable that a backend makes of a graph."""
    try:
        compiled = compiler.backend(module, examples)
    except exc.TorchDynamoException:
        raise
    except Exception as error:
        if config.suppress_errors:
            raise Skip(f"the backend raises {type(error).__name__}: {error}") from error
        raise exc.BackendCompilerFailed(compiler.backend, error) from error
    if not callable(compiled):
        raise exc.InvalidBackend(f"torch.compile: a backend returns a callable, got {type(compiled).__name__}")
    return compiled


del linecache, Tensor
