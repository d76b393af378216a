"""Exported programs with the modules that they were exported from: each module that ran is a module again, and can be put in the place of another.

>>> program = torch.export.export(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), (torch.ones(1, 2),))
>>> [name for name, _ in torch.export.unflatten(program).named_children()]
['0', '1']
"""

import abc
import operator

import cresset as torch

from .. import nn
from ..utils import _pytree as pytree
from . import _paths
from ._module import same_nesting
from .graph_signature import InputKind, OutputKind

__all__ = ["FlatArgsAdapter", "InterpreterModule", "UnflattenedModule", "unflatten"]


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


class UnflattenedModule(InterpreterModule):
    """A program as a tree of modules, with the names and the state of the module that was exported.

    >>> program = torch.export.export(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), (torch.ones(1, 2),))
    >>> list(torch.export.UnflattenedModule(program).state_dict())
    ['0.weight', '0.bias']
    """

    def __init__(self, export_module, flat_args_adapter=None):
        signature = export_module.module_call_graph[0].signature
        super().__init__(torch.fx.Graph(), signature)
        self.flat_args_adapter, self._program_signature = flat_args_adapter, export_module.graph_signature
        self._place_state(export_module)
        _Builder(export_module).build(self)

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
        if self.flat_args_adapter is not None:
            leaves, spec = pytree.tree_flatten((args, kwargs))
            if not same_nesting(spec, self.signature.in_spec):
                leaves = self.flat_args_adapter.adapt(self.signature.in_spec, spec, leaves)
            args, kwargs = pytree.tree_unflatten(leaves, self.signature.in_spec)
        kwargs = {k: kwargs[k] for k in self.signature.in_spec.child(1).context if k in kwargs} | kwargs
        return super().forward(*args, **kwargs)


def _share(root, state):
    """Parameters that were one are one again."""
    seen = {}
    for path, tensor in state.items():
        first = seen.setdefault(id(tensor), path)
        if first != path:
            *prefix, name = path.split(".")
            setattr(_paths.get(root, ".".join(prefix)) if prefix else root, name, _paths.get(root, first))


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
        self.made = {}

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
        else:
            target = self.weights[node]
            mapped[node] = module.graph.create_node("get_attr", target[len(path) + 1 :] if path else target)
        return mapped[node]

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
        return mapped

    def _called(self, module, path, part, mapped):
        signature = self.signatures.get(part.path)
        inputs, outputs = self._ports(part)
        if signature is not None:
            by_name = {n.name: n for n in self.program.graph.nodes}
            inputs = [by_name.get(getattr(a, "name", None), a) for a in signature.inputs]
            outputs = [by_name.get(getattr(a, "name", None), a) for a in signature.outputs]
        name = part.path[len(path) + 1 :] if path else part.path
        child, name = self._child(module, name, part.key, signature)
        if not len(child.graph.nodes):
            inner = self._filled(
                child, part, [n if isinstance(n, torch.fx.Node) else None for n in inputs] if signature is None else self._leaves(child, inputs)
            )
            results = [self._mapped(child, part.path, inner, n) if isinstance(n, torch.fx.Node) else n.value for n in outputs]
            child.graph.output(results[0] if len(results) == 1 and signature is None else tuple(results))
        given = [self._mapped(module, path, mapped, n) if isinstance(n, torch.fx.Node) else n.value for n in inputs]
        args, kwargs = pytree.tree_unflatten(given, signature.in_spec) if signature is not None else (tuple(given), {})
        node = module.graph.create_node(
            "call_module", name, tuple(args), kwargs, name="_" + name.replace(".", "_") if name[0].isdigit() else name.replace(".", "_")
        )
        self._results(module, node, outputs, signature, mapped)

    @staticmethod
    def _leaves(child, inputs):
        return [n if isinstance(n, torch.fx.Node) else torch.fx.Graph().placeholder(f"constant_{i}") for i, n in enumerate(inputs)]

    def _child(self, module, name, key, signature):
        """The module of a call; later calls of one that ran before are modules of their own that share its state."""
        again = key.rpartition("@")[2] if "@" in key else ""
        first = _paths.get(module, name) if _paths.has(module, name) else None
        title = f"{name}@{again}" if again and isinstance(first, InterpreterModule) else name
        made = InterpreterModule(torch.fx.Graph(), signature)
        if first is not None:
            made._parameters, made._buffers, made._non_persistent_buffers_set = first._parameters, first._buffers, first._non_persistent_buffers_set
            made._modules = dict(first._modules) if title != name else first._modules
        *prefix, last = title.split(".")
        owner = _paths.holder(module, prefix)
        owner._modules[last] = made
        return made, title

    @staticmethod
    def _results(module, node, outputs, signature, mapped):
        if signature is None and len(outputs) == 1:
            mapped[outputs[0]] = node
            return
        for i, output in enumerate(outputs):
            if isinstance(output, torch.fx.Node):
                function, args = (operator.getitem, (node, i)) if signature is None else (_leaf, (node, i))
                mapped[output] = module.graph.create_node("call_function", function, args)


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
