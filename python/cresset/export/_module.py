"""An exported program as a module that can be called: weights are attributes again, writes go where they belong, arguments are checked."""

import cresset as torch

from .. import nn
from .._functorch import predispatch
from ..fx.graph import _PyTreeCodeGen, _PyTreeInfo
from ..utils import _pytree as pytree
from . import _paths
from ._shapes import SymbolCheck
from ._tokens import without_tokens
from .graph_signature import ConstantArgument, InputKind, OutputKind


class GuardsFn(nn.Module):
    """Checks the arguments of an exported program, and returns nothing. Errors: AssertionError with the fact that does not hold."""

    _is_impure = True  # it stays, though nothing uses its result

    def __init__(self, checks):
        super().__init__()
        self.checks = checks

    def forward(self, *args):
        if not any(isinstance(a, torch.Tensor) and type(a).__name__ == "FakeTensor" for a in args):
            for check in self.checks:
                check(args)


class _Size:
    """A dimension that has one size, or symbols in it."""

    def __init__(self, name, index, dim, expected):
        self.name, self.index, self.dim, self.expected = name, index, dim, expected

    def __call__(self, args):
        tensor = args[self.index]
        if tensor.dim() <= self.dim or tensor.size()[self.dim] != self.expected:
            found = tensor.size()[self.dim] if tensor.dim() > self.dim else "no such dimension"
            raise AssertionError(f"Guard failed: {self.name}.size()[{self.dim}] == {self.expected}, got {found}")


class _Constant:
    """An argument that is part of the program."""

    def __init__(self, name, index, expected):
        self.name, self.index, self.expected = name, index, expected

    def __call__(self, args):
        if args[self.index] != self.expected:
            raise AssertionError(f"Guard failed: {self.name} == {self.expected!r}, got {args[self.index]!r}")


class _Rank:
    """The number of dimensions of a tensor."""

    def __init__(self, name, index, rank):
        self.name, self.index, self.rank = name, index, rank

    def __call__(self, args):
        if args[self.index].dim() != self.rank:
            raise AssertionError(f"Guard failed: {self.name} has {self.rank} dimensions, got {args[self.index].dim()}")


def module_of(program, check_guards):
    """The module of a program."""
    program = without_tokens(program)
    graph, attributes = torch.fx.Graph(), nn.Module()
    mapped = _inputs(program, graph, attributes)
    user_nodes = [n for n in graph.nodes if n.op == "placeholder"]
    if check_guards:
        attributes._guards_fn = GuardsFn(_checks(program))
        graph.create_node("call_module", "_guards_fn", tuple(user_nodes), name="_guards_fn")
    for node in program.graph.nodes:
        if node.op == "get_attr":
            _paths.put(_paths.get(program.graph_module, node.target), attributes, node.target)
        if node.op not in ("placeholder", "output"):
            mapped[node] = graph.node_copy(node, mapped.__getitem__)
    _outputs(program, graph, mapped)
    signature = program.module_call_graph[0].signature
    names = signature.forward_arg_names or _default_names(signature.in_spec)
    graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, signature.in_spec, signature.out_spec)))
    made = torch.fx.GraphModule(attributes, graph, "GraphModule")
    for path in sorted({path for path, _ in program.state_dict.items()}):
        if not _paths.has(made, path):
            _place(made, path, program.state_dict[path])
    made.meta.update(program.graph_module.meta)
    made.register_forward_pre_hook(_Nesting(signature.in_spec), with_kwargs=True)
    if any(predispatch.is_step(node.target) for node in graph.nodes):
        made.register_forward_pre_hook(_RunBegins(), prepend=True)  # also where the arguments are refused
        made.register_forward_hook(_RunEnds(), always_call=True)
    made.train, made.eval = _Refusal("train"), _Refusal("eval")
    return made


class _RunBegins:
    """Notes which levels of transforms are around a run."""

    def __call__(self, module, args):
        predispatch.begin_run()


class _RunEnds:
    """Ends levels of transforms that a run leaves open, since an operator failed."""

    def __call__(self, module, args, result):
        predispatch.end_run()


class _Refusal:
    """The mode of an exported program was chosen when it was exported."""

    def __init__(self, name):
        self.name = name

    def __call__(self, *args):
        raise NotImplementedError(f"{self.name}() does not change an exported program; export the module in that mode")


class _Nesting:
    """Checks how arguments are nested, and gives keyword arguments the order that they were exported in."""

    def __init__(self, spec):
        self.spec = spec

    def __call__(self, module, args, kwargs):
        names = self.spec.child(1).context
        if set(kwargs) == set(names):
            kwargs = {name: kwargs[name] for name in names}
        _, found = pytree.tree_flatten((tuple(args), kwargs))
        if not same_nesting(found, self.spec):
            raise ValueError(f"the program was exported for arguments nested as {self.spec}, got {found}")
        return args, kwargs


def same_nesting(found, spec):
    """Whether two structures are the same, but for the order of keys in dictionaries."""
    if found.type is not spec.type or found.num_children != spec.num_children:
        return False
    if spec.type is dict:
        if set(found.context) != set(spec.context):
            return False
        places = {key: i for i, key in enumerate(found.context)}
        return all(same_nesting(found.child(places[key]), spec.child(i)) for i, key in enumerate(spec.context))
    if spec.type is not None and found.context != spec.context:
        return False
    return all(same_nesting(a, b) for a, b in zip(found.children(), spec.children(), strict=True))


def _default_names(in_spec):
    return [f"arg_{i}" for i in range(in_spec.child(0).num_children)] + list(in_spec.child(1).context)


def _place(root, path, tensor):
    """Sets a parameter or buffer at a path."""
    _paths.put(tensor, root, path)


def _inputs(program, graph, attributes):
    mapped = {}
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
    pairs = list(zip(placeholders, program.graph_signature.input_specs, strict=True))
    for node, spec in pairs:
        if spec.kind is InputKind.USER_INPUT:
            mapped[node] = graph.create_node("placeholder", node.name, name=node.name)
            mapped[node].meta = dict(node.meta)
            continue
        is_constant = spec.kind is not InputKind.PARAMETER and (spec.kind is InputKind.CONSTANT_TENSOR or not spec.persistent)
        tensor = (program.constants if is_constant else program.state_dict)[spec.target]
        if not _paths.has(attributes, spec.target):
            _place(attributes, spec.target, tensor)
            if is_constant:
                *prefix, name = spec.target.split(".")
                _paths.holder(attributes, prefix)._non_persistent_buffers_set.add(name)
        mapped[node] = graph.create_node("get_attr", spec.target, name=spec.target.replace(".", "_"))
        mapped[node].meta = dict(node.meta)
    return mapped


def _checks(program):
    checks, symbolic, index = [], [], -1
    for node, spec in zip((n for n in program.graph.nodes if n.op == "placeholder"), program.graph_signature.input_specs, strict=True):
        if spec.kind is not InputKind.USER_INPUT:
            continue
        index += 1
        if isinstance(spec.arg, ConstantArgument):
            if spec.arg.value is None or isinstance(spec.arg.value, (int, float, bool, str)):
                checks.append(_Constant(node.name, index, spec.arg.value))
            continue
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            symbolic.append((node.name, index, None, value.node.expr))
        if isinstance(value, torch.Tensor):
            checks.append(_Rank(node.name, index, value.dim()))
            for d, n in enumerate(value.shape):
                if type(n) is int:
                    checks.append(_Size(node.name, index, d, n))
                else:
                    symbolic.append((node.name, index, d, n.node.expr))
    if symbolic:
        checks.append(SymbolCheck(symbolic, program.range_constraints, program._guards))
    return checks


def _outputs(program, graph, mapped):
    """Writes what is written, and returns the rest."""
    nodes = program.graph.output_node().args[0]
    pairs = zip(program.graph.find_nodes(op="placeholder"), program.graph_signature.input_specs, strict=True)
    inputs = {s.target: n for n, s in pairs if s.target is not None}
    by_name = {n.name: m for n, m in mapped.items()}
    results = []
    for node, spec in zip(nodes, program.graph_signature.output_specs, strict=True):
        value = mapped[node] if isinstance(node, torch.fx.Node) else node
        if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
            written = mapped[inputs[spec.target]]
            if spec.kind is OutputKind.PARAMETER_MUTATION and program.state_dict[spec.target].requires_grad:  # written without gradients, or not at all
                written = graph.call_function(torch.ops.aten.detach.default, (written,))
            graph.call_function(torch.ops.aten.copy_.default, (written, value))
        elif spec.kind is OutputKind.USER_INPUT_MUTATION:
            graph.call_function(torch.ops.aten.copy_.default, (by_name[spec.target], value))
        else:
            results.append(value)
    graph.output(tuple(results))
