"""The operators of one run of a model, as a graph that TensorBoard draws."""

import cresset as torch
from cresset.overrides import TorchFunctionMode, redispatch_function

from . import _wire

_DT = {torch.float32: 1, torch.float64: 2, torch.int32: 3, torch.uint8: 4, torch.int16: 5, torch.int8: 6, torch.complex64: 8, torch.int64: 9, torch.bool: 10,
       torch.bfloat16: 14, torch.complex128: 18, torch.float16: 19}  # fmt: skip


def _attribute(name, message):
    return _wire.data(5, _wire.data(1, name) + _wire.data(2, message))


def _shapes(tensors):
    shapes = (_wire.each(2, (_wire.integer(1, n) for n in t.shape)) for t in tensors)
    return _attribute("_output_shapes", _wire.data(1, _wire.each(7, shapes)))


class _Recorder(TorchFunctionMode):
    """Makes a node of each operator that gives tensors; tensors are known by the node that gave them."""

    def __init__(self, model):
        super().__init__()
        self.nodes, self.givers, self.kept = [], {}, []
        self.names = {}
        top = type(model).__name__
        self.scopes = {id(m): "/".join([top, *(f"{type(part).__name__}[{key}]" for key, part in _path(model, name))]) for name, m in model.named_modules()}
        self.open = [top]

    def name(self, wanted):
        count = self.names[wanted] = self.names.get(wanted, -1) + 1
        return f"{wanted}_{count}" if count else wanted

    def add(self, name, op, inputs, tensors):
        name = self.name(name)
        kind = _DT.get(tensors[0].dtype) if tensors else None
        attributes = _attribute("dtype", _wire.integer(6, kind)) if kind else b""
        self.nodes.append((name, op, inputs, _wire.data(1, name) + _wire.data(2, op) + _wire.each(3, inputs) + _shapes(tensors) + attributes))
        for i, tensor in enumerate(tensors):
            self.givers[id(tensor)] = f"{name}:{i}" if i else name
            self.kept.append(tensor)  # so that no other tensor gets its id

    def giver(self, tensor):
        if id(tensor) not in self.givers:
            self.add(f"{self.open[-1]}/constant", "Const", [], [tensor])
        return self.givers[id(tensor)]

    def __torch_function__(self, function, types, args=(), kwargs=None):
        out = redispatch_function(function, types, args, kwargs)
        made = [t for t in _tensors(out) if id(t) not in self.givers or any(t is a for a in _tensors((args, kwargs)))]
        if made:
            name = getattr(function, "__name__", type(function).__name__)
            inputs = [self.giver(t) for t in _tensors((args, kwargs))]
            self.add(f"{self.open[-1]}/{name}", f"aten::{name}", inputs, made)
        return out

    def enter(self, module, args):
        self.open.append(self.scopes.get(id(module), self.open[-1]))

    def leave(self, module, args, result):
        self.open.pop()


def _path(model, name):
    at = model
    for key in name.split(".") if name else ():
        at = at._modules[key]
        yield key, at


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def recorded(model, inputs):
    """The bytes of the graph of model(*inputs), and a line of text for each of its nodes."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"add_graph: expected a module, got {type(model).__name__}")
    args = inputs if isinstance(inputs, (tuple, list)) else () if inputs is None else (inputs,)
    recorder = _Recorder(model)
    for i, tensor in enumerate(_tensors(list(args))):
        recorder.add(f"input/input.{i + 1}", "IO Node", [], [tensor])
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        owner, _, last = name.rpartition(".")
        recorder.add(f"{recorder.scopes[id(model.get_submodule(owner))]}/{last}", "Parameter", [], [tensor])
    handles = [m.register_forward_pre_hook(recorder.enter) for m in model.modules()]
    handles += [m.register_forward_hook(recorder.leave, always_call=True) for m in model.modules()]
    training = {m: m.training for m in model.modules()}
    try:
        model.eval()  # so that the run leaves statistics as they are
        with torch.no_grad(), recorder:
            out = model(*args)
    finally:
        for module, mode in training.items():
            module.training = mode
        for handle in handles:
            handle.remove()
    for i, tensor in enumerate(_tensors(out)):
        recorder.nodes.append((f"output/output.{i + 1}", "IO Node", [recorder.giver(tensor)], b""))
        name, op, given, _ = recorder.nodes[-1]
        recorder.nodes[-1] = (name, op, given, _wire.data(1, name) + _wire.data(2, op) + _wire.each(3, given) + _shapes([tensor]))
    graph = _wire.each(1, (node for *_, node in recorder.nodes)) + _wire.data(4, _wire.integer(1, 22))
    return graph, "\n".join(f"{name} = {op}({', '.join(given)})" for name, op, given, _ in recorder.nodes)


def of_onnx(path):
    """The bytes of the graph of an ONNX file."""
    try:
        import onnx
    except ImportError as error:
        raise ModuleNotFoundError(f"add_onnx_graph: ONNX files are read by the package onnx, which cannot be imported: {error}", name="onnx") from None

    graph = onnx.load(path).graph
    nodes = [_wire.data(1, v.name) + _wire.data(2, "Variable") for v in [*graph.input, *graph.output]]
    for node in graph.node:
        text = ", ".join(f"{a.name}: {onnx.helper.get_attribute_value(a)}" for a in node.attribute)
        nodes.append(_wire.data(1, node.output[0]) + _wire.data(2, node.op_type) + _wire.each(3, node.input) + _attribute("parameters", _wire.data(2, text)))
    return _wire.each(1, nodes)
