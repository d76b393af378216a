"""Exported programs with the modules that they were exported from: each module that ran is a module again, and can be put in the place of another.

>>> program = torch.export.export(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), (torch.ones(1, 2),))
>>> [name for name, _ in torch.export.unflatten(program).named_children()]
['0', '1']
"""

import abc
import enum
import itertools
import operator

import cresset as torch

from .. import nn
from ..fx._symbolic_trace import is_fx_tracing
from ..utils import _pytree as pytree
from . import _paths
from ._module import _checks, same_nesting
from ._tokens import without_tokens
from .graph_signature import InputKind, OutputKind

__all__ = ["FlatArgsAdapter", "InterpreterModule", "InterpreterModuleDispatcher", "UnflattenedModule", "unflatten"]


class _AttrKind(enum.Enum):
    """The kind of an attribute that a module gets."""

    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"
    MODULE = "module"


def _assign_attr(from_obj, to_module, target, attr_kind, persistent=True):
    """Gives a module an object under a path, as in "layers.weight"; modules of the path that are not there are made."""
    *path, name = target.split(".")
    for part in path:
        if not hasattr(to_module, part):
            setattr(to_module, part, nn.Module())
        to_module = getattr(to_module, part)
    if attr_kind is _AttrKind.BUFFER:
        to_module.register_buffer(name, from_obj, persistent=persistent)
    elif attr_kind is _AttrKind.PARAMETER:
        to_module.register_parameter(name, from_obj)
    else:
        setattr(to_module, name, from_obj)


class FlatArgsAdapter(abc.ABC):
    """Makes the leaves of arguments that are nested otherwise into those that a program takes.

    >>> class Pairs(torch.export.FlatArgsAdapter):
    ...     def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
    ...         return input_args[:1]
    >>> program = torch.export.export(nn.ReLU(), (torch.ones(2),))
    >>> torch.export.unflatten(program, Pairs())(torch.tensor([-1.0, 1.0]), torch.ones(3))
    tensor([0., 1.])
    """

    @abc.abstractmethod
    def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
        """The leaves in the order of `target_spec`, from those in the order of `input_spec`."""

    def get_flat_arg_paths(self):
        """The paths of the arguments in a module, where they are attributes of it."""
        return []


class InterpreterModule(nn.Module):
    """A part of a program as a module: it runs its graph node by node. `signature`: how its arguments and results are nested, where that is kept.

    >>> part = torch.export.unflatten(torch.export.export(nn.Sequential(nn.ReLU()), (torch.ones(2),)))
    >>> type(getattr(part, "0")).__name__
    'InterpreterModule'
    """

    def __init__(self, graph, signature=None):
        super().__init__()
        self.graph, self.signature = graph, signature

    def forward(self, *args, **kwargs):
        if self.signature is None:
            return torch.fx.Interpreter(self, graph=self.graph).run(*args)
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if not same_nesting(spec, self.signature.in_spec):
            raise ValueError(f"the module was exported for arguments nested as {self.signature.in_spec}, got {spec}")
        results = torch.fx.Interpreter(self, graph=self.graph).run(*leaves)
        return pytree.tree_unflatten(results if isinstance(results, (tuple, list)) else [results], self.signature.out_spec)

    def finalize(self):
        """Checks the graph."""
        self.graph.lint()

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False):
        """Prints the graph as code, and returns it."""
        return torch.fx.GraphModule(self, self.graph).print_readable(print_output, include_stride, include_device, colored)


class InterpreterModuleDispatcher(nn.Module):
    """A module that a program calls several times with a signature that is kept: each call runs the part that was exported for it.

    >>> class Twice(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.inner = nn.ReLU()
    ...     def forward(self, x):
    ...         return self.inner(self.inner(x) - 1)
    >>> program = torch.export.export(Twice(), (torch.ones(2),), preserve_module_call_signature=("inner",))
    >>> type(torch.export.unflatten(program).inner).__name__
    'InterpreterModuleDispatcher'
    """

    def __init__(self, call_modules):
        super().__init__()
        first = call_modules[0]
        self._parameters, self._buffers, self._modules = first._parameters, first._buffers, first._modules
        self._non_persistent_buffers_set = first._non_persistent_buffers_set
        self._call_modules, self._next = tuple(call_modules), 0

    def forward(self, *args, **kwargs):
        part = self._call_modules[self._next]
        self._next = (self._next + 1) % len(self._call_modules)
        return part(*args, **kwargs)

    def call_modules(self):
        """The parts, in the order of the calls."""
        return list(self._call_modules)


def _in_order(root, paths):
    """Puts submodules into the order in which the program lists them."""
    order = {}
    for path in paths:
        parts = path.partition("@")[0].split(".")
        for i in range(len(parts)):
            order.setdefault(".".join(parts[: i + 1]), len(order))
    for prefix, module in list(root.named_modules()):
        names = sorted(module._modules, key=lambda name: order.get(f"{prefix}.{name}".lstrip(".").partition("@")[0], len(order)))
        for name in names:
            module._modules[name] = module._modules.pop(name)


class UnflattenedModule(InterpreterModule):
    """A program as a tree of modules, with the names and the state of the module that was exported.

    >>> program = torch.export.export(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), (torch.ones(1, 2),))
    >>> list(torch.export.UnflattenedModule(program).state_dict())
    ['0.weight', '0.bias']
    """

    def __init__(self, export_module, flat_args_adapter=None):
        export_module = without_tokens(export_module)
        signature = export_module.module_call_graph[0].signature
        super().__init__(torch.fx.Graph(), signature)
        self.flat_args_adapter, self._program_signature = flat_args_adapter, export_module.graph_signature
        self._place_state(export_module)
        _Builder(export_module).build(self)
        _in_order(self, [entry.fqn for entry in export_module.module_call_graph])
        self._checks = _checks(export_module)

    def _place_state(self, program):
        others = program.graph_signature.non_persistent_buffers
        for path, tensor in (*program.state_dict.items(), *program.constants.items()):
            tensor = nn.Parameter(tensor.detach().clone(), tensor.requires_grad) if isinstance(tensor, nn.Parameter) else tensor.clone()
            _paths.put(tensor, self, path)
            if path in others or path in program.constants:
                *prefix, name = path.split(".")
                _paths.get(self, ".".join(prefix))._non_persistent_buffers_set.add(name) if prefix else self._non_persistent_buffers_set.add(name)
        _share(self, program.state_dict)

    def process_forward_inputs(self, *args, **kwargs):
        """The leaves of the arguments, as the program takes them."""
        return pytree.tree_leaves((args, kwargs))

    def forward(self, *args, **kwargs):
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if is_fx_tracing() and len(leaves) == self.signature.in_spec.num_leaves:  # a placeholder for each, of which nothing is known
            args, kwargs = pytree.tree_unflatten(leaves, self.signature.in_spec)
            return super().forward(*args, **kwargs)
        if not same_nesting(spec, self.signature.in_spec):
            if self.flat_args_adapter is None:
                raise TypeError(f"the program was exported for arguments nested as {self.signature.in_spec}, got {spec}; a flat_args_adapter could change them")
            leaves = self.flat_args_adapter.adapt(self.signature.in_spec, spec, leaves)
            args, kwargs = pytree.tree_unflatten(leaves, self.signature.in_spec)
        kwargs = {k: kwargs[k] for k in self.signature.in_spec.child(1).context if k in kwargs} | kwargs
        leaves = pytree.tree_leaves((args, kwargs))
        try:
            for check in self._checks:
                check(leaves)
        except AssertionError as error:
            raise RuntimeError(f"the program was not exported for these arguments: {error}") from error
        return super().forward(*args, **kwargs)


def _share(root, state):
    """Parameters that were one are one again."""
    seen = {}
    for path, tensor in state.items():
        first = seen.setdefault(id(tensor), path)
        if first != path:
            *prefix, name = path.split(".")
            setattr(_paths.get(root, ".".join(prefix)) if prefix else root, name, _paths.get(root, first))


class _Box:
    """Holds a value from the module that computes it to one that uses it."""

    value = None

    def put(self, value):
        """Keeps a value."""
        self.value = value

    def take(self):
        """The value that was kept last."""
        return self.value


class _Call:
    """One call of a module: what ran in it, and the calls within."""

    def __init__(self, key, path, depth):
        self.key, self.path, self.depth, self.parts = key, path, depth, []


class _Builder:
    """Takes the nodes of a program apart by the modules that they ran in."""

    def __init__(self, program):
        self.program = program
        self.signatures = {e.fqn: e.signature for e in program.module_call_graph}
        pairs = list(zip(program.graph.find_nodes(op="placeholder"), program.graph_signature.input_specs, strict=True))
        self.weights = {node: spec.target for node, spec in pairs if spec.kind is not InputKind.USER_INPUT}
        self.arguments = [node for node, spec in pairs if spec.kind is InputKind.USER_INPUT]
        self.makers = {}  # node -> the module that computes it, and the node there
        self.parts, self.places = {}, {}  # path of a module -> its calls; the modules and names where they stand

    def build(self, root):
        whole = _Call("", "", 0)
        for node in self.program.graph.nodes:
            if node.op not in ("placeholder", "output", "get_attr"):
                self._add(whole, node)
        output = self.program.graph.output_node().args[0]
        mapped = self._filled(root, whole, self.arguments)
        results = []
        for node, spec in zip(output, self.program.graph_signature.output_specs, strict=True):
            value = self._mapped(root, "", mapped, node) if isinstance(node, torch.fx.Node) else node
            if spec.kind is OutputKind.USER_OUTPUT:
                results.append(value)
            elif spec.kind is OutputKind.USER_INPUT_MUTATION:
                root.graph.call_function(torch.ops.aten.copy_.default, (next(m for n, m in mapped.items() if n.name == spec.target), value))
            else:
                root.graph.call_function(torch.ops.aten.copy_.default, (root.graph.create_node("get_attr", spec.target), value))
        root.graph.output(tuple(results))
        for path, parts in self.parts.items():
            if len(parts) > 1 and self.signatures.get(path) is not None:
                dispatcher = InterpreterModuleDispatcher(parts)
                for owner, name in self.places[path]:
                    owner._modules[name] = dispatcher

    def _add(self, whole, node):
        call = whole
        for key, (path, _) in list(node.meta.get("nn_module_stack", {}).items()):
            if not path:
                continue
            last = call.parts[-1] if call.parts else None
            if not (isinstance(last, _Call) and last.key == key):
                last = _Call(key, path, call.depth + 1)
                call.parts.append(last)
            call = last
        call.parts.append(node)

    # ---- graphs -----------------------------------------------------------------------------------------------------------

    def _nodes(self, call):
        for part in call.parts:
            if isinstance(part, _Call):
                yield from self._nodes(part)
            else:
                yield part

    def _ports(self, call):
        """The values that come into a call, and those that come out."""
        inside = set(self._nodes(call))
        inputs, outputs = {}, []
        for node in self._nodes(call):
            for used in node.all_input_nodes:
                owner = self.weights.get(used)
                if used not in inside and used.op != "get_attr" and (owner is None or not owner.startswith(call.path + ".")):
                    inputs.setdefault(used)
            if any(user not in inside for user in node.users):
                outputs.append(node)
        return list(inputs), outputs

    def _mapped(self, module, path, mapped, node):
        """The node in a module's graph that stands for one of the program."""
        if node in mapped:
            return mapped[node]
        if node.op == "get_attr":
            setattr(module, node.target, _paths.get(self.program.graph_module, node.target))
            mapped[node] = module.graph.create_node("get_attr", node.target)
        elif isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool)):
            mapped[node] = module.graph.node_copy(node, lambda n: self._mapped(module, path, mapped, n))
        elif self._written(node) not in self.weights:
            mapped[node] = self._handed_over(module, node)
        else:
            target = self.weights[self._written(node)]
            mapped[node] = module.graph.create_node("get_attr", target[len(path) + 1 :] if path else target)
        mapped[node].meta = dict(node.meta)
        return mapped[node]

    def _written(self, node):
        """The weight or buffer that a node writes and returns."""
        while node not in self.weights and node.op == "call_function" and getattr(getattr(node.target, "_schema", None), "is_mutable", False):
            node = node.args[0]
        return node

    def _handed_over(self, module, node):
        """A value that another module computes, such as a buffer between two writes, and that no signature has: it leaves it in a box."""
        name = f"_value_{node.name}"
        maker, made = self.makers[node]
        if name not in vars(maker):
            setattr(maker, name, _Box())
            with maker.graph.inserting_after(made):
                box = maker.graph.create_node("get_attr", name)
            with maker.graph.inserting_after(box):
                maker.graph.call_function(_Box.put, (box, made))
        setattr(module, name, vars(maker)[name])
        return module.graph.call_function(_Box.take, (module.graph.create_node("get_attr", name),))

    def _filled(self, module, call, inputs):
        """Writes the graph of a call into its module; returns what stands for each node."""
        mapped = {}
        for node in inputs:
            mapped[node] = module.graph.create_node("placeholder", node.name, name=node.name)
            mapped[node].meta = dict(node.meta)
        for part in call.parts:
            if isinstance(part, _Call):
                self._called(module, call.path, part, mapped)
            else:
                mapped[part] = module.graph.node_copy(part, lambda n: self._mapped(module, call.path, mapped, n))
                self.makers[part] = module, mapped[part]
        return mapped

    def _called(self, module, path, part, mapped):
        again = part.key.rpartition("@")[2] if "@" in part.key else ""
        signature = self.signatures.get(f"{part.path}@{again}" if again else part.path)
        inputs, outputs = self._ports(part)
        if signature is not None:
            by_name = {n.name: n for n in self.program.graph.nodes}
            inputs = [by_name.get(getattr(a, "name", None), a) for a in signature.inputs]
            outputs = [by_name.get(getattr(a, "name", None), a) for a in signature.outputs]
        name = part.path[len(path) + 1 :] if path else part.path
        child, owner, last = self._child(module, name, again, signature)
        inner = self._filled(child, part, inputs if signature is None else self._leaves(inputs))
        results = [self._mapped(child, part.path, inner, n) if isinstance(n, torch.fx.Node) else getattr(n, "value", None) for n in outputs]
        child.graph.output(results[0] if len(results) == 1 and signature is None else tuple(results))
        title = self._settled(part.path, child, owner, last, again)
        given = [self._mapped(module, path, mapped, n) if isinstance(n, torch.fx.Node) else getattr(n, "value", None) for n in inputs]
        args, kwargs = self._nested(module, given, signature.in_spec) if signature is not None else (tuple(given), {})
        place = f"{name}_{again}" if again else name
        place = place.replace(".", "_")
        target = ".".join((*name.split(".")[:-1], title))
        node = module.graph.create_node("call_module", target, tuple(args), kwargs, name=f"_{place}" if place[0].isdigit() else place)
        self._results(module, node, outputs, signature, mapped)

    @staticmethod
    def _nested(module, given, spec):
        """The arguments of a call. Containers are built while it runs: those within nodes are none that programs know."""
        if all(child.is_leaf() for part in spec.children() for child in part.children()):
            return pytree.tree_unflatten(given, spec)
        name = next(name for name in (f"_spec_{i}" for i in itertools.count()) if name not in vars(module))
        setattr(module, name, spec)
        graph = module.graph
        whole = graph.call_function(pytree.tree_unflatten, (given, graph.create_node("get_attr", name)))
        args, kwargs = (graph.call_function(operator.getitem, (whole, i)) for i in (0, 1))
        plain = tuple(graph.call_function(operator.getitem, (args, i)) for i in range(spec.child(0).num_children))
        return plain, {key: graph.call_function(operator.getitem, (kwargs, key)) for key in spec.child(1).context}

    @staticmethod
    def _leaves(inputs):
        return [n if isinstance(n, torch.fx.Node) else torch.fx.Graph().placeholder(f"constant_{i}") for i, n in enumerate(inputs)]

    @staticmethod
    def _child(module, name, again, signature):
        """A module for a call, the one that is to hold it, and its name there. A later call shares the state of the first."""
        *prefix, last = name.split(".")
        owner = _paths.holder(module, prefix)
        first = owner._modules.get(last)
        made = InterpreterModule(torch.fx.Graph(), signature)
        if first is not None:
            made._parameters, made._buffers, made._non_persistent_buffers_set = first._parameters, first._buffers, first._non_persistent_buffers_set
            made._modules = dict(first._modules) if again and isinstance(first, InterpreterModule) else first._modules
        return made, owner, last

    def _settled(self, path, child, owner, last, again):
        """Puts the module of a call into its place, and returns its name there: that of an earlier call which does the same, or whose place it shares
        because its signature is kept."""
        first = owner._modules.get(last)
        self.parts.setdefault(path, []).append(child)
        if (owner, last) not in self.places.setdefault(path, []):
            self.places[path].append((owner, last))
        if not isinstance(first, InterpreterModule):
            owner._modules[last] = child
            return last
        if child.signature is not None:
            return last
        titles = [t for t in owner._modules if t == last or t.startswith(f"{last}@")]
        same = next((t for t in titles if isinstance(owner._modules[t], InterpreterModule) and _do_the_same(owner._modules[t], child)), None)
        title = same or (f"{last}@{again}" if again else last)
        if same is None:
            owner._modules[title] = child
        return title

    @staticmethod
    def _results(module, node, outputs, signature, mapped):
        values = [n.meta.get("val") if isinstance(n, torch.fx.Node) else getattr(n, "value", None) for n in outputs]
        if signature is None and len(outputs) == 1:
            mapped[outputs[0]] = node
            node.meta["val"] = values[0]
            return
        node.meta["val"] = tuple(values) if signature is None else pytree.tree_unflatten(values, signature.out_spec)
        for i, output in enumerate(outputs):
            if isinstance(output, torch.fx.Node):
                function, args = (operator.getitem, (node, i)) if signature is None else (_leaf, (node, i))
                mapped[output] = module.graph.create_node("call_function", function, args)
                mapped[output].meta["val"] = values[i]


def _do_the_same(first, second):
    """Whether two modules run the same operators and modules on the same values."""
    if len(first.graph.nodes) != len(second.graph.nodes) or first.signature is not None:
        return False
    known = {}

    def settled(value):
        return known.get(value, value) if isinstance(value, torch.fx.Node) else value

    for a, b in zip(first.graph.nodes, second.graph.nodes, strict=True):
        if a.op != b.op or a.op != "placeholder" and not _have_the_same_target(first, a, second, b):
            return False
        if a.op != "placeholder" and torch.fx.node.map_arg((b.args, b.kwargs), settled) != (a.args, a.kwargs):
            return False
        known[b] = a
    return True


def _have_the_same_target(first, a, second, b):
    if a.op in ("call_module", "get_attr") and _paths.has(first, a.target) and _paths.has(second, b.target):
        return _paths.get(first, a.target) is _paths.get(second, b.target)
    return a.target == b.target


def _leaf(result, index):
    """One of the leaves of a module's result."""
    return pytree.tree_leaves(result)[index]


def unflatten(module, flat_args_adapter=None):
    """A program with the modules that it was exported from.

    Args:
        module: the exported program.
        flat_args_adapter: for arguments that are nested otherwise than those that the program was exported for.

    >>> program = torch.export.export(nn.Sequential(nn.ReLU()), (torch.ones(2),))
    >>> tree = torch.export.unflatten(program)
    >>> setattr(tree, "0", nn.Tanh())
    >>> tree(torch.zeros(2))
    tensor([0., 0.])
    """
    return UnflattenedModule(module, flat_args_adapter)
