"""Control flow in graphs: functions become modules of their own, tensors that they use from around them further inputs.

Above autograd (`pre_dispatch`) a call is one node. Below it, gradients are wanted of it: then its inputs go through `Recorded`, whose backward is a call of
the same operator over the pullbacks of these modules.
"""

from _cresset import Tensor

import cresset as torch

from .._modes import stack as _stack


def tracing_mode():
    """The innermost mode that writes operators into a graph; None where nothing is traced."""
    active = [*_stack.active(_stack.ABOVE_LAYERS), *_stack.active(_stack.BELOW_AUTOGRAD)]
    return next((mode for mode in reversed(active) if hasattr(mode, "tracer") and getattr(mode, "enable_tracing", False)), None)


def _place(mode):
    return _stack.ABOVE_LAYERS if mode in _stack.active(_stack.ABOVE_LAYERS) else _stack.BELOW_AUTOGRAD


def is_below_autograd(mode):
    """Whether a mode hears what autograd's formulas call."""
    return _place(mode) == _stack.BELOW_AUTOGRAD


def _tracer_class():
    from ..fx.experimental._proxy_symbols import asked
    from ..fx.experimental._proxy_tracer import PythonKeyTracer

    class BodyTracer(PythonKeyTracer):
        """Tracer of a function whose unknown tensors become inputs, in `lifted`; `around` is that of the graph which calls it."""

        def __init__(self, around):
            super().__init__()
            self.around, self.fake_mode = around, around.fake_mode
            self.lifted, self.num_inputs = {}, 0

        def constant_node(self, tensor):
            """An input for a tensor from around the function."""
            known = self.lifted.get(id(tensor))
            if known is None:
                known = self.lifted[id(tensor)] = (tensor, self.add_input(tensor))
            return known[1]

        def number_from_around(self, value):
            """A size of a tensor from around the function, which becomes an input."""
            tensor = self.tensor_of_size(value)
            if tensor is None:
                return None
            self.constant_node(tensor)
            return asked(self, value.node.expr)

        def tensor_of_size(self, value):
            """A tensor from around the function."""
            return self.around.tensor_of_size(value)

        def add_input(self, tensor):
            """A placeholder before all other nodes but placeholders."""
            first = next((node for node in self.graph.nodes if node.op != "placeholder"), None)
            name = f"arg{self.num_inputs}_1"
            self.num_inputs += 1
            if first is None:
                node = self.create_node("placeholder", name, (), {})
            else:
                with self.graph.inserting_before(first):
                    node = self.create_node("placeholder", name, (), {})
            self.record_outputs(node, tensor)
            return node

    return BodyTracer


class Traced:
    """A function as a graph: inputs first, then what it used from around it."""

    def __init__(self, mode, function, inputs, *, single=False):
        from ..fx.experimental.proxy_tensor import ProxyTorchDispatchMode

        self.tracer = _tracer_class()(mode.tracer)
        self.single = single
        for tensor in inputs:
            self.tracer.add_input(tensor)
        inner = ProxyTorchDispatchMode(self.tracer, mode.tracing_mode, mode.pre_dispatch)
        inner.decomposition_table = mode.decomposition_table
        outer = [m for m in (*_stack.active(_stack.ABOVE_LAYERS), *_stack.active(_stack.BELOW_AUTOGRAD)) if hasattr(m, "tracer")]
        with _stack.without(lambda m: m in outer), inner:
            found = function(*inputs)
        self.results = [found] if isinstance(found, Tensor) else list(found)

    @property
    def lifted(self):
        """Tensors from around the function that it uses."""
        return [tensor for tensor, _ in self.tracer.lifted.values()]

    def module(self, lifted):
        """The module, with an input for each of `lifted` in this order."""
        from ..fx import GraphModule

        tracer, known = self.tracer, self.tracer.lifted
        for tensor in lifted:
            if id(tensor) not in known:
                known[id(tensor)] = (tensor, tracer.add_input(tensor))
        first = next((node for node in tracer.graph.nodes if node.op != "placeholder"), None)
        nodes = [known[id(tensor)][1] for tensor in lifted]
        for node in nodes if first is not None else ():
            first.prepend(node)
        out = tuple(tracer.create_arg(result) for result in self.results)
        tracer.create_node("output", "output", (out[0] if self.single else out,), {})
        for i, node in enumerate(tracer.graph.find_nodes(op="placeholder")):
            node.name = node.target = f"arg{i}_1"
        return GraphModule(tracer.root, tracer.graph)


def modules_of(mode, functions, inputs, *, singles=()):
    """Modules of functions of the same inputs, and the tensors from around them that all of them get besides. In `singles` are numbers of functions that
    return one tensor."""
    traced = [Traced(mode, function, inputs, single=i in singles) for i, function in enumerate(functions)]
    lifted = {}
    for one in traced:
        lifted.update((id(tensor), tensor) for tensor in one.lifted)
    return [one.module(list(lifted.values())) for one in traced], list(lifted.values())


def add_modules(mode, names, modules):
    """Attributes of the root for modules: names with the first number that is free for all. Returns their nodes."""
    root, number = mode.tracer.root, 0
    while any(hasattr(root, f"{name}_{number}") for name in names):
        number += 1
    nodes = []
    for name, module in zip(names, modules, strict=True):
        setattr(root, f"{name}_{number}", module)
        nodes.append(mode.tracer.create_node("get_attr", f"{name}_{number}", (), {}))
    return nodes


def record(mode, op, names, modules, arguments, results):
    """Writes a node that calls `op` with modules, after `arguments[0]` leading ones, and other arguments; `results` are what it gives."""
    tracer = mode.tracer
    before, after = arguments
    nodes = add_modules(mode, names, modules)
    args = (*(tracer.create_arg(a) for a in before), *nodes, *(tracer.create_arg(a) for a in after))
    node = tracer.create_node("call_function", op, args, {})
    tracer.record_outputs(node, tuple(results))
    return results


def unheard(function, *args):
    """A call that no tracing mode hears."""
    with _stack.without(lambda mode: hasattr(mode, "tracer")):
        return function(*args)


def first_slices(tensors):
    """The first slice of each tensor, as an example for a function of slices."""
    return unheard(lambda: [t.detach().select(0, 0) for t in tensors])


def needs_gradient(tensors):
    """Whether autograd is to know of a call with these tensors."""
    return torch.is_grad_enabled() and any(isinstance(t, Tensor) and t.requires_grad for t in tensors)


class Recorded(torch.autograd.Function):
    """A traced call with a gradient: `call(*tensors)` writes the node of forward, `pullback(tensors, grads)` that of backward."""

    @staticmethod
    def forward(ctx, call, pullback, *tensors):
        ctx.pullback = pullback
        results = call(*tensors)
        ctx.mark_non_differentiable(*[r for r in results if not (r.is_floating_point() or r.is_complex())])
        ctx.save_for_backward(*tensors)
        return tuple(results)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, *grads):
        return (None, None, *ctx.pullback(list(ctx.saved_tensors), list(grads)))


def pullback_of(module, count):
    """The function of (inputs, gradients of results) that gives a gradient for each of the first `count` inputs, zeros where a result does not depend on it."""

    def pull(*tensors):
        inputs, grads = tensors[:count], tensors[count:]
        with torch.enable_grad():
            leaves = [t.detach().requires_grad_(t.is_floating_point() or t.is_complex()) for t in inputs]
            results = module(*leaves)
            results = [results] if isinstance(results, Tensor) else list(results)
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        pairs = [(r, g) for r, g in zip(results, grads, strict=True) if r.requires_grad]
        found = [None] * len(wanted)
        if pairs and wanted:
            found = torch.autograd.grad([r for r, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True)
        found = iter(found)
        gradients = [next(found) if leaf.requires_grad else None for leaf in leaves]
        return _apart([torch.zeros_like(leaf.detach()) if g is None else g for g, leaf in zip(gradients, leaves)], tensors)

    return pull


def _apart(results, inputs):
    """The results, copied where they lie in the memory of an input or of an earlier result."""
    found, apart = {_memory(t) for t in inputs}, []
    for result in results:
        apart.append(result.clone() if _memory(result) in found else result)
        found.add(_memory(apart[-1]))
    return apart


def _memory(tensor):
    return tensor.untyped_storage()._cdata if tensor.layout is torch.strided else id(tensor)
