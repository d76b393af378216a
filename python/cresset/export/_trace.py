"""Runs a module on fake tensors and makes an exported program of what was heard."""

import contextlib
import inspect
import re
import warnings

import cresset as torch

from .. import nn
from .._core.creation import _has_symbols
from .._dynamo.exc import Unsupported, UserError, UserErrorType
from .._subclasses.fake_tensor import DataDependentOutputException
from ..fx.experimental._shape_env import fixed_by
from ..fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from ..fx.graph import _PyTreeCodeGen
from ..utils import _pytree as pytree
from . import _regions, _shapes
from ._recorder import PACKAGE as _PACKAGE, VIEWS, Recorder, Unseen, modules_noted
from .dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

_CONSTANTS = (int, float, bool, str, complex, torch.dtype, torch.device, torch.layout, torch.memory_format, type(None))


def exported(module, args, kwargs, dynamic_shapes, strict, preserved, deferred=False, draft=None):
    """The exported program of a module on example arguments."""
    from .exported_program import ExportedProgram, ModuleCallEntry

    kwargs = _ordered(module, args, kwargs or {})
    names, leaves, in_spec = _inputs(module, args, kwargs, strict)
    shapes = _shapes.Shapes(module, args, kwargs, dynamic_shapes, names, leaves, deferred, strict)
    shapes.env.draft = draft
    views = iter(VIEWS)
    view = next(views)
    for _ in range(_shapes.MAX_RESTARTS):
        recorder = Recorder(shapes.mode, is_strict=strict, view=view)
        run = _Run(module, recorder, strict, preserved)
        if draft is not None:
            draft.begin(run)
        known = len(shapes.env.guards)
        try:
            run.trace(names, leaves, in_spec, shapes)
            break
        except shapes.restart:
            continue
        except Unseen:
            if (view := next(views, None)) is None:
                raise
        except RuntimeError as error:
            # Gradients of a size were under way that was found to be a number; or a size has to be one.
            if len(shapes.env.guards) == known and not fixed_by(shapes.env, error):
                raise
    _regions.wrap(recorder, run)
    graph_module = torch.fx.GraphModule(run.root, recorder.graph)
    shapes.assert_conditions(graph_module)
    if isinstance(module, torch.fx.GraphModule) and "custom" in module.meta:
        graph_module.meta["custom"] = module.meta["custom"]
    signature = ExportGraphSignature(run.input_specs(), run.output_specs())
    entries = [ModuleCallEntry("", run.signature(in_spec, list(names)))]
    entries += [ModuleCallEntry(path, run.signatures.get(path)) for path in run.paths_that_ran() if path]
    state, constants = run.state()
    shapes.check()
    return ExportedProgram(
        graph_module, recorder.graph, signature, state, shapes.constraints(recorder.graph), entries, (tuple(args), dict(kwargs)), constants,
        guards=shapes.guards(),
    )  # fmt: skip


def drafted(module, args, kwargs, dynamic_shapes, *rest):
    """The exported program with a report of what had to be assumed: sizes that it fixes or limits are what it makes of them, conditions on data those of
    the example."""
    from ._draft_export import Draft, FailureReport, FailureType

    draft = Draft(module, args, kwargs)
    try:
        program = exported(module, args, kwargs, dynamic_shapes, *rest, draft=draft)
    except UserError as error:
        if "Suggested fixes:" not in str(error) or not isinstance(dynamic_shapes, (dict, tuple, list)):
            raise
        fixed = refine_dynamic_shapes_from_suggested_fixes(str(error), dynamic_shapes)
        draft.report.failures.append(FailureReport(FailureType.GUARD_ADDED, {"reason": str(error)}))
        program = exported(module, args, kwargs, fixed, *rest, draft=draft)
    program._report = draft.report
    if not draft.report.successful():
        warnings.warn(str(draft.report), stacklevel=3)
    return program


# ---- arguments ------------------------------------------------------------------------------------------------------------


def _ordered(module, args, kwargs):
    """Keyword arguments in the order of the signature. Errors: TypeError where they do not fit it."""
    given = inspect.signature(module.forward).bind(*args, **kwargs)
    return {k: kwargs[k] for k in [*[k for k in given.arguments if k in kwargs], *[k for k in kwargs if k not in given.arguments]]}


def _inputs(module, args, kwargs, strict):
    """The leaves of the arguments by the names of their nodes, and the structure."""
    leaves, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
    parameters = inspect.signature(module.forward).parameters
    plain = [p.name for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters.values() if p.kind is p.VAR_POSITIONAL), "args")
    paths, _ = pytree.tree_flatten_with_path((tuple(args), dict(kwargs)))
    names = {}
    for (path, _), leaf in zip(paths, leaves, strict=True):
        index, inner = path[1], path[2:]
        if path[0].idx == 0:
            head = plain[index.idx] if index.idx < len(plain) else f"{rest}_{index.idx - len(plain)}"
        else:
            head = str(index.key)
        name = "_".join([head, *(_key(k) for k in inner)])
        name = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
        while name in names:
            name += "_1"
        names[name] = path
        if not isinstance(leaf, (torch.Tensor, *_CONSTANTS)):
            text = f"export: expected inputs that are tensors, numbers, strings or None, got {type(leaf)} for {name}"
            raise UserError(UserErrorType.INVALID_INPUT, text) if strict else ValueError(text)
    return names, leaves, spec


def _key(key):
    return str(next(v for v in (getattr(key, "idx", None), getattr(key, "key", None), getattr(key, "name", None)) if v is not None))


# ---- one run --------------------------------------------------------------------------------------------------------------


class _Run:
    """One run of a module under a recorder."""

    def __init__(self, module, recorder, strict, preserved):
        self.module, self.recorder, self.strict, self.preserved = module, recorder, strict, preserved
        self.root, self.signatures = recorder.root, {}
        self.inputs, self.outputs, self.ran = [], [], []
        self.fakes = {}  # path of a parameter or buffer -> its fake

    def trace(self, names, leaves, in_spec, shapes):
        recorder = self.recorder
        self._lift_state(shapes)
        fakes = []
        for name, leaf in zip(names, leaves, strict=True):
            node = recorder.graph.create_node("placeholder", name, name=name)
            node.name = name  # also where Python has a function of this name
            recorder.first_user_input = recorder.first_user_input or node
            node.meta["val"] = fake = shapes.fake(recorder, name, leaf, node)
            self.inputs.append((node, leaf))
            fakes.append(fake)
        mark = recorder.graph.create_node("placeholder", "end_of_inputs", name="end_of_inputs")
        recorder.mark = mark
        recorder.first_user_input = recorder.first_user_input or mark
        args, kwargs = pytree.tree_unflatten(fakes, in_spec)
        with self._swapped(), _replayed(self.module, recorder), modules_noted(recorder, self.module, self._observers()), _fresh_constants(recorder):
            result = self._called(args, kwargs)
            self._written_buffers()
        shapes.ran(recorder)
        self._finish(result)
        recorder.graph.erase_node(mark)

    def _called(self, args, kwargs):
        with self.recorder.recording():
            try:
                return self.module(*args, **kwargs)
            except DataDependentOutputException as error:
                raise _refusal(self.strict)(_advice(error)) from error
            except GuardOnDataDependentSymNode as error:
                if not self.strict:
                    raise
                if re.search(r"expression Eq\(u\d+, 1\)", str(error)):  # the truth of a tensor
                    raise Unsupported(str(error)) from error
                raise UserError(UserErrorType.ANTI_PATTERN, str(error)) from error
            except RuntimeError as error:
                text, found, _ = str(error).rpartition("RuntimeError: DataDependentOutputException")
                if not found:  # else an error within TorchScript, whose text is all that is left of it
                    raise
                advice = "the script needs a number that depends on data; give it as an argument that is no tensor, or compute with torch.where"
                raise _refusal(self.strict)(f"{text}{advice}") from error

    def _lift_state(self, shapes):
        """Parameters and buffers are the first inputs of the graph, whether they are used or not."""
        recorder = self.recorder
        shared = {}
        kinds = [("p", "named_parameters"), ("b", "named_buffers")]
        for prefix, listing in kinds:
            for path, tensor in getattr(self.module, listing)(remove_duplicate=False):
                title = f"{prefix}_{path.replace('.', '_')}"
                node = recorder.graph.create_node("placeholder", title, name=title)
                fake = shapes.like(tensor)
                node.meta["val"] = fake
                recorder.know(fake, node)
                recorder.fakes[id(tensor)] = fake
                recorder.kept.append(tensor)
                self.fakes[path] = fake
                self.inputs.append((node, (prefix, path, tensor)))
                shared[path] = node
        for path, module in self.module.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, torch.Tensor):
                    recorder.names.setdefault(id(value), f"{path}.{name}" if path else name)

    @contextlib.contextmanager
    def _swapped(self):
        """In its scope parameters and buffers of the module are fake. Tensors that the program assigns to attributes are taken away again."""
        before = []
        for path, module in self.module.named_modules():
            own = _own_tensors(module)
            before.append((module, dict(module._parameters), dict(module._buffers), own))
            for held in (module._parameters, module._buffers):
                for name, tensor in held.items():
                    if tensor is not None:
                        held[name] = self.fakes[f"{path}.{name}" if path else name]
        try:
            yield
        finally:
            assigned = []
            for module, parameters, buffers, own in before:
                _put_back(module._parameters, parameters)
                _put_back(module._buffers, buffers)
                for name in [k for k, v in _own_tensors(module).items() if v is not own.get(k)]:
                    assigned.append(f"{type(module).__name__}.{name}")
                    if name in own or name not in vars(module):
                        setattr(module, name, own[name])
                    else:
                        del vars(module)[name]
        if assigned:
            warnings.warn(
                f"export: the tensors {assigned} were assigned to attributes while the module ran; register them as buffers", UserWarning, stacklevel=6
            )

    def _written_buffers(self):
        """A buffer that the program replaced is written at the end."""
        recorder = self.recorder
        for path, module in self.module.named_modules():
            for name, tensor in module._buffers.items():
                fake = self.fakes.get(f"{path}.{name}" if path else name)
                if tensor is not None and fake is not None and tensor is not fake and id(tensor) in recorder.nodes:
                    recorder.write(torch.ops.aten.copy_.default, (fake, tensor), {}, fake)
                    next(iter(reversed(recorder.graph.nodes)))._rename("copy__default")

    def _observers(self):
        """For the modules whose calls are kept: they note arguments and results."""

        def observer(path):
            def note(call, args, kwargs, result):
                from .exported_program import ModuleCallSignature

                leaves, in_spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
                results, out_spec = pytree.tree_flatten(result)
                title = f"{path}@{call}" if call else path
                self.signatures[title] = ModuleCallSignature([self._argument(v) for v in leaves], [self._argument(v) for v in results], in_spec, out_spec)

            return note

        known = dict(self.module.named_modules())
        for path in self.preserved:
            if path not in known:
                raise AttributeError(f"export: preserve_module_call_signature names {path!r}, which is no submodule")
        return {path: observer(path) for path in self.preserved}

    def _argument(self, value):
        node = self.recorder.node_of(value) if isinstance(value, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)) else None
        return argument_of(node, value)

    def _finish(self, result):
        leaves, self.out_spec = pytree.tree_flatten(result)
        for leaf in leaves:
            if not isinstance(leaf, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool, *_CONSTANTS)):
                raise RuntimeError(f"export: expected results that are tensors, numbers, strings or None, got {type(leaf)}")
        nodes = [self.recorder.node_of(leaf) for leaf in leaves]
        self.outputs = list(zip(nodes, leaves, strict=True))
        self.recorder.graph.output(tuple(nodes))

    # ---- what the program says of itself ----------------------------------------------------------------------------------

    def input_specs(self):
        specs = {}
        persistent = self._persistent()
        for node, what in self.inputs:
            if isinstance(what, tuple) and len(what) == 3 and what[0] in ("p", "b"):
                prefix, path, _ = what
                kind = InputKind.PARAMETER if prefix == "p" else InputKind.BUFFER
                specs[node] = InputSpec(kind, TensorArgument(node.name), path, None if prefix == "p" else path in persistent)
            else:
                specs[node] = InputSpec(InputKind.USER_INPUT, argument_of(node, node.meta["val"], node.name), None)
        constants = {"c_" + name.replace(".", "_"): name for name in self.recorder.constants}
        found = []
        for node in self.recorder.graph.nodes:
            if node.op == "placeholder":
                found.append(specs.get(node) or InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), constants[node.target]))
        return found

    def _persistent(self):
        return {
            f"{path}.{name}" if path else name
            for path, module in self.module.named_modules()
            for name in module._buffers
            if name not in module._non_persistent_buffers_set
        }

    def output_specs(self):
        output = self.recorder.graph.output_node()
        return [OutputSpec(OutputKind.USER_OUTPUT, argument_of(node, leaf), None) for node, (_, leaf) in zip(output.args[0], self.outputs, strict=True)]

    def signature(self, in_spec, names):
        from .exported_program import ModuleCallSignature

        return ModuleCallSignature([], [], in_spec, self.out_spec, forward_arg_names=_argument_names(self.module, in_spec))

    def paths_that_ran(self):
        seen = {}
        for node in self.recorder.graph.nodes:
            for path, _ in node.meta.get("nn_module_stack", {}).values():
                seen[path] = True
        known = list(self.module.named_modules(remove_duplicate=False))
        ran = {id(module) for path, module in known if path in seen}  # which may be there under other paths too
        again = [title for title in self.signatures if "@" in title]
        return [path for path, module in known if id(module) in ran or path in self.signatures] + again

    def state(self):
        """The state by path, as the module's `state_dict`, and what else the graph needs."""
        persistent = self._persistent()
        state = dict(self.module.named_parameters(remove_duplicate=False))
        state.update({path: tensor for path, tensor in self.module.named_buffers(remove_duplicate=False) if path in persistent})
        constants = {path: tensor for _, what in self.inputs if isinstance(what, tuple) and len(what) == 3 for _, path, tensor in [what] if path not in state}
        return state, {**constants, **self.recorder.constants}


class _Replay(torch.fx.Interpreter):
    """Runs a graph so that the recorder knows which node it is at."""

    def __init__(self, module, recorder):
        super().__init__(module)
        self.recorder, self.extra_traceback = recorder, False

    def run_node(self, n):
        self.recorder.origin = n
        try:
            return super().run_node(n)
        finally:
            self.recorder.origin = None


@contextlib.contextmanager
def _replayed(module, recorder):
    """In its scope a module that is a graph runs node by node, so that what is noted on its nodes stays."""
    if not isinstance(module, torch.fx.GraphModule):
        yield
        return
    cls, code = type(module), type(module).forward

    def forward(self, *args, **kwargs):
        if isinstance(self.graph._codegen, _PyTreeCodeGen):
            results = _Replay(self, recorder).run(*pytree.tree_leaves((args, kwargs)), enable_io_processing=False)
            return self.graph.process_outputs(results)
        return _Replay(self, recorder).run(*args) if not kwargs else code(self, *args, **kwargs)

    cls.forward = forward
    try:
        yield
    finally:
        cls.forward = code


def _own_tensors(module):
    """Tensors that are attributes, but no parameters and no buffers."""
    if isinstance(module, torch.jit.RecursiveScriptModule):
        return module._other_tensors()
    return {k: v for k, v in vars(module).items() if isinstance(v, torch.Tensor)}


def _put_back(held, saved):
    """Makes tensors by name those that were saved. A compiled module has the same names always."""
    if list(held) != list(saved):
        held.clear()
    for name, tensor in saved.items():
        held[name] = tensor


def _argument_names(module, in_spec):
    parameters = [p.name for p in inspect.signature(module.forward).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in inspect.signature(module.forward).parameters.values() if p.kind is p.VAR_POSITIONAL), "args")
    count = in_spec.child(0).num_children
    return [*parameters[:count], *[f"{rest}_{i}" for i in range(count - len(parameters))], *in_spec.child(1).context]


def argument_of(node, value, name=""):
    """How a signature names a value: its node, or itself where it is constant."""
    for kind, argument in (
        (torch.Tensor, TensorArgument),
        (torch.SymInt, SymIntArgument),
        (torch.SymFloat, SymFloatArgument),
        (torch.SymBool, SymBoolArgument),
    ):
        if isinstance(value, kind):
            return argument(node.name)
    return ConstantArgument(name, value)


def _refusal(strict):
    return Unsupported if strict else GuardOnDataDependentSymNode


def _advice(error):
    """The number that the program asked for, the line, and two ways out."""
    import traceback

    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_PACKAGE)]
    place = f' at "{frames[-1].filename}", line {frames[-1].lineno}: {frames[-1].line}' if frames else ""
    return f"the program needs a number that depends on data ({error}){place}; use torch.cond or torch.where, or export what comes before and after it"


@contextlib.contextmanager
def _fresh_constants(recorder):
    """In its scope functions that make tensors of Python's data make constants of the graph."""
    originals = {name: getattr(torch, name) for name in ("tensor", "as_tensor", "from_numpy", "_as_index", "_fresh")}

    def lifting(original, detaches):
        def made(data, *args, **kwargs):
            if isinstance(data, torch.Tensor) or _has_symbols(data):
                return original(data, *args, **kwargs)
            with recorder.innermost().paused():
                value = original(data, *args, **kwargs)
            if not isinstance(value, torch.Tensor):
                return value
            with recorder.innermost().paused():
                made = recorder.innermost().lift(value, fresh=True)
                return recorder.innermost().write(torch.ops.aten.detach_.default, (made,), {}, made) if detaches else made

        return made

    for name, original in originals.items():
        setattr(torch, name, lifting(original, name == "tensor"))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(torch, name, original)
