"""Writes down the calls that arrive above all layers as nodes of a graph: the training IR of exported programs."""

import contextlib
import linecache
import operator
import os
import sys

import _cresset

import cresset as torch

from .. import fx, nn
from .._modes import stack as _stack
from .._modes.stack import ABOVE_LAYERS
from . import _spellings

_tensor = torch.tensor  # the function itself: another stands in its place while a module runs
PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_MODULES = os.path.join(PACKAGE, "nn", "modules") + os.sep


class Recorder:
    """Listens while a module runs on fake tensors. `nodes` tells the node of a tensor by its identity; tensors are kept alive for that."""

    def __init__(self, mode):
        self.mode, self.graph = mode, fx.Graph()
        self.nodes, self.kept, self.fakes = {}, [], {}
        self.constants, self.names = {}, {}  # name -> tensor; identity of a module's own tensor -> its path
        self.stack, self.counts = [], {}  # the modules that are running: (key, (path, class))
        self.first_user_input = None
        self.grad_modes = {}  # node -> whether gradients were recorded when it ran
        self._root = None
        self._where = {}

    # ---- tensors and nodes ------------------------------------------------------------------------------------------------

    def know(self, tensor, node):
        """From now on the node stands for the tensor."""
        self.nodes[id(tensor)] = node
        self.kept.append(tensor)

    def node_of(self, value):
        """The node of a tensor; numbers, strings and the like stand for themselves."""
        if isinstance(value, torch.Tensor):
            node = self.nodes.get(id(value))
            return node if node is not None else self.nodes[id(self.faked(value))]
        if isinstance(value, (list, tuple)):
            return type(value)(self.node_of(v) for v in value) if type(value) in (list, tuple) else [self.node_of(v) for v in value]
        symbol = getattr(value, "node", None)
        return self.symbols(value) if symbol is not None and isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) else value

    def symbols(self, value):
        """The node that computes a symbolic number."""
        raise NotImplementedError(f"export: a symbolic number {value} in a call")

    def faked(self, tensor):
        """The fake tensor of a real one that the program holds, which becomes a constant of the graph."""
        fake = self.fakes.get(id(tensor))
        if fake is not None:
            return fake
        if id(tensor) in self.nodes:
            return tensor
        name = self.names.get(id(tensor))
        return self.lift(tensor, name, fresh=name is None and not self._is_held(tensor))

    @staticmethod
    def _is_held(tensor):
        # Besides the listener's own references, a fresh result of torch.tensor is held by the frame that made it alone.
        return True

    def lift(self, tensor, name=None, *, fresh=False):
        """Makes a tensor with data an input of the graph, in front of the program's arguments; returns its fake."""
        if name is None:
            name = f"lifted_tensor_{sum(n.startswith('lifted_tensor_') for n in self.constants)}"
        self.constants[name] = tensor.detach() if not isinstance(tensor, nn.Parameter) else tensor
        fake = self.mode.from_tensor(tensor)
        with self.graph.inserting_before(self.first_user_input):
            node = self.graph.create_node("placeholder", "c_" + name.replace(".", "_"), name="c_" + name.replace(".", "_"))
        node.meta["val"] = fake
        self.fakes[id(tensor)] = fake
        self.kept.append(tensor)
        self.know(fake, node)
        if fresh:
            return self.write(torch.ops.aten.lift_fresh_copy.default, (fake,), {}, self._run(torch.ops.aten.clone.default, (fake,), {}))
        return fake

    def lifted(self, number, dtype):
        """The constant tensor of a number, as PyTorch makes it for an assignment."""
        kind = torch.bool if isinstance(number, bool) else torch.int64 if isinstance(number, int) else torch.get_default_dtype()
        return self.lift(_tensor(number, dtype=kind if not isinstance(number, complex) else dtype), fresh=True)

    @contextlib.contextmanager
    def paused(self):
        """In its scope nothing is written down."""
        before = _cresset._listen(ABOVE_LAYERS, None)
        try:
            yield
        finally:
            _cresset._listen(ABOVE_LAYERS, before)

    # ---- calls ------------------------------------------------------------------------------------------------------------

    def __call__(self, func, args, kwargs):
        args, kwargs = self._all_fake(args), {k: self._all_fake(v) for k, v in kwargs.items()}
        spelling = _spellings.of(func)
        said = (spelling(self, func, args, kwargs) if spelling is not None else None) or (func, args, kwargs)
        result = self._run(func, args, kwargs)
        return self.write(*said, result)

    def _run(self, func, args, kwargs):
        with self.mode:
            return func(*args, **kwargs)

    def _all_fake(self, value):
        if isinstance(value, torch.Tensor):
            return value if id(value) in self.nodes else self.faked(value)
        if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
            return type(value)(self._all_fake(v) for v in value) if type(value) in (list, tuple) else [self._all_fake(v) for v in value]
        return value if not isinstance(value, tuple) or not value or type(value) is not tuple else tuple(self._all_fake(v) for v in value)

    def write(self, func, args, kwargs, result, listed=False):
        """Adds the node of a call, and those that take its result apart; returns the result, or with `listed` these nodes."""
        name = getattr(func, "_opname", None) or func.__name__
        node = self.graph.create_node("call_function", func, self.node_of(tuple(args)), {k: self.node_of(v) for k, v in kwargs.items()}, name=name)
        self._note(node, name)
        if isinstance(result, torch.Tensor):
            self._result(node, result)
        elif isinstance(result, (list, tuple)):
            node.meta["val"] = result
            parts = [self._part(node, i, item) for i, item in enumerate(result) if isinstance(item, torch.Tensor)]
            return parts if listed else result
        else:
            node.meta["val"] = result
        return result

    def _part(self, node, index, tensor):
        part = self.graph.create_node("call_function", operator.getitem, (node, index), name="getitem")
        self._note(part, None, node)
        self._result(part, tensor)
        return part

    def _result(self, node, tensor):
        node.meta["val"] = tensor
        self.know(tensor, node)

    def _note(self, node, name, like=None):
        self.grad_modes[node] = torch.is_grad_enabled()
        if like is not None:
            node.meta.update({k: like.meta[k] for k in ("nn_module_stack", "stack_trace", "torch_fn") if k in like.meta})
            return
        node.meta["nn_module_stack"] = dict(self.stack)
        trace = self._trace()
        if trace:
            node.meta["stack_trace"] = trace
        self.counts[name] = self.counts.get(name, 0) + 1
        node.meta["torch_fn"] = f"{name}_{self.counts[name]}", f"builtin_function_or_method.{name}"

    # ---- places in the program --------------------------------------------------------------------------------------------

    def _trace(self):
        lines, frame = [], sys._getframe(3)
        while frame is not None and frame is not self._root:
            code = frame.f_code
            place = code, frame.f_lineno
            text = self._where.get(place)
            if text is None:
                text = self._where[place] = self._line(*place)
            if text:
                lines.append(text)
            frame = frame.f_back
        return "\n".join(reversed(lines))

    @staticmethod
    def _line(code, number):
        file = code.co_filename
        if file.startswith("<") or (file.startswith(PACKAGE) and (not file.startswith(_MODULES) or code.co_name in ("__call__", "_call_with_hooks"))):
            return ""
        return f'  File "{file}", line {number}, in {code.co_name}\n    {linecache.getline(file, number).strip()}'

    def caller(self):
        """The frame of the program that makes the call."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
            frame = frame.f_back
        return frame

    def says(self, word):
        """Whether the line of the program that makes the call has a word."""
        frame = self.caller()
        return frame is not None and word in linecache.getline(frame.f_code.co_filename, frame.f_lineno)

    def default_device(self):
        """The device of factories that name none."""
        return torch.get_default_device()

    @contextlib.contextmanager
    def recording(self):
        """In its scope the calls of this thread are written down."""
        _stack._loaded()
        self._root = sys._getframe(2)
        before = _cresset._listen(ABOVE_LAYERS, self)
        try:
            yield
        finally:
            _cresset._listen(ABOVE_LAYERS, before)


@contextlib.contextmanager
def modules_noted(recorder, root, observers):
    """In its scope the recorder knows which modules are running. `observers`: path -> function (args, kwargs, result, how many modules ran)."""
    paths = {}
    for path, module in root.named_modules():
        paths.setdefault(module, path)
    calls, original = {}, nn.Module.__call__

    def noted(module, *args, **kwargs):
        path = paths.get(module)
        if path is None:
            return original(module, *args, **kwargs)
        times = calls[path] = calls.get(path, 0) + 1
        key = "L__self__" + path.replace(".", "_") + (f"@{times - 1}" if times > 1 else "")
        recorder.stack.append((key, (path, type_name(type(module)))))
        try:
            result = original(module, *args, **kwargs)
        finally:
            recorder.stack.pop()
        if path in observers and times == 1:
            observers[path](args, kwargs, result)
        return result

    nn.Module.__call__ = noted
    try:
        yield
    finally:
        nn.Module.__call__ = original


def type_name(cls):
    """The name of a class as files have it: PyTorch's for its own."""
    module = cls.__module__
    return f"{'torch' + module[7:] if module == 'cresset' or module.startswith('cresset.') else module}.{cls.__qualname__}"
