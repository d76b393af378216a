"""Writes down the calls that arrive above all layers as nodes of a graph: the training IR of exported programs."""

import contextlib
import functools
import inspect
import linecache
import math
import operator
import os
import sys

import _cresset
import _cresset_graph

import cresset as torch

from .. import fx, nn
from .._core.operators import OpOverload
from .._dynamo.exc import UncapturedHigherOrderOpError, Unsupported
from .._functorch import predispatch
from .._modes import stack as _stack
from .._modes import translations
from .._modes.stack import ABOVE_LAYERS, BELOW_AUTOGRAD
from .._subclasses.fake_tensor import UnsupportedOperatorException, is_fake, maybe_get_fake_mode, unset_fake_temporarily
from ..fx.experimental._module_calls import calls_noted, type_name
from ..fx.experimental._proxy_tracer import geometry
from ..fx.experimental.symbolic_shapes import note_unbacked
from ..utils._pytree import tree_leaves
from . import _spellings

_tensor = torch.tensor  # the function itself: another stands in its place while a module runs
PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_MOST_KNOWN = 64  # elements of a constant tensor whose values answer questions of the program
_MODULES = os.path.join(PACKAGE, "nn", "modules") + os.sep


_TITLES = {"_assert_tensor_metadata": "_assert_tensor_metadata_default"}  # of nodes that PyTorch names otherwise than by their operators
_KEPT = ("nn_module_stack", "stack_trace", "torch_fn", "source_fn_stack", "quantization_tag")  # what nodes of graphs that run again hand on


# Rows without an argument that the operator of this name has: whether a result of half precision is float32.
_WITH_SWITCH = (torch.ops.aten._softmax.default, torch.ops.aten._log_softmax.default)


class _NoGradient(torch.autograd.Function):
    """The results of an operator of control flow: the program takes gradients through them when it runs, not within itself."""

    @staticmethod
    def forward(ctx, name, *results):
        ctx.name = name
        return tuple(r.view_as(r) for r in results)

    @staticmethod
    def backward(ctx, *grads):
        raise Unsupported(f"export: the program computes a gradient through {ctx.name}, of which one branch alone would be captured; compute it outside")


def _undifferentiated(op, results):
    wanting = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    made = iter(_NoGradient.apply(op.name(), *wanting) if wanting else ())
    return [next(made) if isinstance(r, torch.Tensor) and r.requires_grad else r for r in results]


class Unseen(RuntimeError):
    """Raised where a program reads what an operator computed within itself: autograd kept it. It is captured anew by the next of `VIEWS` then."""


# How much is seen of operators that are differentiated: calls as the program makes them; composites opened; in transforms, the operators below all layers.
AS_CALLED, OPENED, BELOW_LAYERS = VIEWS = range(3)


class Recorder:
    """Listens while a module runs on fake tensors. `nodes` tells the node of a tensor by its identity; tensors are kept alive for that."""

    def __init__(self, mode, outer=None, is_strict=False, view=AS_CALLED):
        self.is_strict, self.view = (outer.is_strict, outer.view) if outer is not None else (is_strict, view)
        self.mode, self.graph, self.outer = mode, fx.Graph(), outer
        self.root, self.lifted_from_outer = nn.Module(), {}
        self.nodes, self.kept, self.fakes = {}, [], {}
        self.constants, self.names = {}, {}  # name -> tensor; identity of a module's own tensor -> its path
        self.origin = None  # the node of a graph that runs again
        self.stack, self.counts = [], {}  # the modules that are running: (key, (path, class))
        self.first_user_input = self.mark = None
        self.results = []
        self.env, self.known = mode.shape_env, {}  # symbols; text of an expression -> its node, or (node, dimension)
        self.functions = {}  # symbol -> (node, dimension, factor, offset) of a size that is a linear function of it
        self.casts = {}  # node -> the dtype of autocast, where that was on
        self.grad_modes = {}  # node -> whether gradients were recorded when it ran
        self.grad_mode = None  # that around a torch.autograd.Function, which turns them off for its own operators
        self.levels = {}  # the library's number of a level of vmap -> its number in the graph
        self.tensors = {}  # a tensor's place in memory -> its node
        self.values = {}  # the same of the value below an element of vmap -> that element
        self.in_transform = False  # a part of a transform runs, and no function of the program
        self._root = None
        self._where = {}

    # ---- tensors and nodes ------------------------------------------------------------------------------------------------

    def know(self, tensor, node):
        """From now on the node stands for the tensor."""
        self.nodes[id(tensor)] = node
        self.kept.append(tensor)
        if tensor._is_batched:
            value = _cresset.batched_parts(tensor)[2]
            if (memory := _memory(value)) is not None:
                self.values.setdefault(memory, tensor)
            self.kept.append(value)
        elif (memory := _memory(tensor)) is not None:
            self.tensors[memory] = node

    def node_of(self, value):
        """The node of a tensor; numbers, strings and the like stand for themselves."""
        if isinstance(value, torch.Tensor):
            node = self.nodes.get(id(value))
            return node if node is not None else self.nodes[id(self.faked(value))]
        if isinstance(value, (list, tuple)):
            return type(value)(self.node_of(v) for v in value) if type(value) in (list, tuple) else [self.node_of(v) for v in value]
        symbol = getattr(value, "node", None)
        return self.symbols(value) if symbol is not None and isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) else value

    # ---- symbolic numbers -------------------------------------------------------------------------------------------------

    def learn(self, size, node, dim):
        """A size of a tensor, where it is a symbol, can be asked for there."""
        if not isinstance(size, torch.SymInt):
            return
        expr = size.node.expr
        if expr.is_symbol:
            self.known.setdefault(str(expr), (node, dim))
        elif len(expr.symbols) == 1:
            at_0, at_1, at_9 = (expr.evaluate({expr.symbols[0]: n}) for n in (0, 1, 9))
            if at_0 is not None and at_1 > at_0 and at_9 == at_0 + 9 * (at_1 - at_0):
                self.functions.setdefault(expr.symbols[0], (node, dim, at_1 - at_0, at_0))

    def symbols(self, value):
        """The node that computes a symbolic number."""
        return self._of_tree(value.node.expr.tree(), self.env)

    def _of_tree(self, tree, env):
        if not isinstance(tree, (str, tuple)):
            return tree
        key = tree if isinstance(tree, str) else str(_cresset_graph.expr_from_tree(tree))
        found = self.known.get(key)
        if isinstance(found, fx.Node):
            return found
        if isinstance(tree, str):
            made = self._of_symbol(tree, found)
        elif (equal := self._opposite(tree)) is not None:
            made = self._arithmetic("not", [equal], tree)
        else:
            op, *parts = tree
            made = self._arithmetic(op, [self._of_tree(p, env) for p in parts], tree)
        self.known[key] = made
        return made

    def _opposite(self, tree):
        """The node of `a == b`, of a tree that says `a != b`: truth values that the data gives are such comparisons, and have no node for `a`."""
        op, *parts = tree
        found = self.known.get(str(_cresset_graph.expr_from_tree(("eq", *parts)))) if op == "ne" else None
        return found if isinstance(found, fx.Node) else None

    def _of_symbol(self, name, found):
        if found is None and name not in self.functions and self.outer is not None:
            found = self._size_from_outer(name)
        if found is None and name in self.functions:
            source, dim, factor, offset = self.functions[name]
            size = self._size_node(source, dim)
            less = self._arithmetic("sub", [size, offset], ("mul", factor, name)) if offset else size
            return self._arithmetic("floordiv", [less, factor], name)
        if found is None:
            raise RuntimeError(f"export: no tensor of the graph has the size {name}")
        return self._size_node(*found)

    def _size_from_outer(self, name):
        """Where a size from around a function whose graph this is can be asked for: a tensor that has it becomes an input.

        Errors: UncapturedHigherOrderOpError for a number that is no size of a tensor.
        """
        recorder = self.outer
        while recorder.outer is not None and name not in recorder.known and name not in recorder.functions:
            recorder = recorder.outer
        source = recorder.known.get(name)
        if not isinstance(source, fx.Node):
            self._from_outer((source or recorder.functions[name])[0].meta["val"])
            return self.known.get(name)
        raise UncapturedHigherOrderOpError(
            f"export: a function of an operator of control flow uses the number {name} from around it, which is no size of a tensor; give it as a tensor, "
            "torch.scalar_tensor(number), among the operands"
        )

    def _size_node(self, source, dim):
        with self.graph.inserting_before(self.mark) if source.op == "placeholder" else self.graph.inserting_after(source):
            node = self.graph.create_node("call_function", torch.ops.aten.sym_size.int, (source, dim), name="sym_size_int")
        node.meta["val"] = source.meta["val"].shape[dim]
        return node

    def _arithmetic(self, op, parts, tree):
        functions = {"sub": operator.sub, "max": torch.sym_max, "min": torch.sym_min, "not": torch.sym_not, "float": torch.sym_float, "and": operator.and_,
                     "round": round, "trunc": torch.sym_int,
                     "or": operator.or_}  # fmt: skip
        function = functions.get(op) or getattr(operator, op, None) or getattr(torch, f"_sym_{op}", None) or getattr(math, op)
        node = parts[0]
        for part in parts[1:] or [None]:
            args = (node,) if part is None else (node, part)
            value = self.env.wrap(_cresset_graph.expr_from_tree(tree)) if part is parts[-1] or part is None else None
            node = self.graph.create_node("call_function", function, args, name=function.__name__)
            node.meta["val"] = value if value is not None else function(*[a.meta["val"] if isinstance(a, fx.Node) else a for a in args])
        return node

    def assert_number(self, name, number):
        """Adds the assertion that an integer from the data is the number that the program takes it for."""
        truth = f"Eq({name}, 1)"
        if name in self.known:
            self._assert_compared(name, operator.eq, "==", number)
        elif truth in self.known:
            self._assert_compared(truth, operator.eq, "==", bool(number), symbol=name)

    def _assert_compared(self, name, function, sign, number, symbol=None):
        # By the name of its node: the symbol itself may be known to be a number.
        known = self.known.get(name)
        left = known if isinstance(known, fx.Node) else self._of_tree(name, self.env)
        node = self.graph.create_node("call_function", function, (left, number), name=function.__name__)
        # A truth value is the comparison of its number with 1.
        tree = (function.__name__, name, number) if name.isidentifier() else ("eq" if number else "ne", symbol, 1)
        node.meta["val"] = self.env.wrap(_cresset_graph.expr_from_tree(tree))
        arguments = (node, f"expected {name} {sign} {number}")
        self.graph.create_node("call_function", torch.ops.aten._assert_scalar.default, arguments, name="_assert_scalar_default").meta["val"] = None

    def faked(self, tensor):
        """The fake tensor of a real one that the program holds, which becomes a constant of the graph."""
        if tensor._is_batched:
            return self._element(tensor)
        memory = _memory(tensor)
        if memory in self.tensors:  # what autograd kept of it
            self.know(tensor, self.tensors[memory])
            return tensor
        if memory in self.values:
            return self._value_below(tensor, self.values[memory])
        if self.outer is not None:
            return self._from_outer(tensor)
        fake = self.fakes.get(id(tensor))
        if fake is None and maybe_get_fake_mode(tensor) is self.mode and id(tensor) not in self.names:
            raise Unseen(
                f"export: the program uses a tensor of shape {tuple(tensor.shape)} that no operator of the graph gives: an operator keeps it for gradients"
            )
        return self.lift(tensor, self.names.get(id(tensor))) if fake is None else fake

    def _from_outer(self, tensor):
        """A tensor from around a function whose graph this is: one more input of it."""
        fake = self.outer._all_fake(tensor)
        if id(fake) not in self.nodes:
            with self.graph.inserting_before(self.first_user_input):
                node = self.graph.create_node("placeholder", self.outer.node_of(fake).name, name=self.outer.node_of(fake).name)
            node.meta["val"] = fake
            self._take(fake, node)
            self.lifted_from_outer[id(fake)] = fake
        return fake

    def _take(self, tensor, node):
        """An input of this graph, whose sizes can be asked for."""
        self.know(tensor, node)
        for d, size in enumerate(tensor.shape):
            self.learn(size, node, d)

    def _value_below(self, value, element):
        """The batch that a known element is one of: gradients are computed with it. Its node stands where the level of the element is open."""
        _, dim, _, number = _cresset.batched_parts(element)
        source = self.nodes[id(element)]
        arguments = (source, self._level(number), self.node_of(value.shape[dim]), dim)
        with self.graph.inserting_after(source):
            node = self.graph.create_node("call_function", predispatch._remove_batch_dim, arguments, name="_remove_batch_dim")
        self._note(node, None, source)
        self._result(node, value)
        return value

    def _element(self, tensor):
        """An element that a transform made of a batch."""
        _, dim, value, number = _cresset.batched_parts(tensor)
        value = self._all_fake(value)
        return self.write(predispatch._add_batch_dim, (value, dim, self._level(number)), {}, tensor)

    def _level(self, number):
        if number not in self.levels:
            raise Unseen("export: an operator runs a function under vmap by itself, and the program has no step that opens the level")
        return self.levels[number]

    def lift(self, tensor, name=None, *, fresh=False):
        """Makes a tensor with data an input of the graph, in front of the program's arguments; returns its fake."""
        if self.outer is not None:
            return self._copied(self._from_outer(self.outer.lift(tensor, name))) if fresh else self._from_outer(self.outer.lift(tensor, name))
        if name is None:
            name = f"lifted_tensor_{sum(n.startswith('lifted_tensor_') for n in self.constants)}"
        self.constants[name] = tensor.detach() if not isinstance(tensor, nn.Parameter) else tensor
        fake = self.mode.from_tensor(tensor, static_shapes=True)
        if tensor.numel() <= _MOST_KNOWN and tensor.is_cpu and tensor.layout is torch.strided and tensor.is_contiguous() and not tensor.requires_grad:
            if not (tensor.storage_offset() or tensor.is_conj() or tensor.is_neg() or torch._subclasses.fake_tensor.is_fake(tensor)):
                with self.innermost().paused():  # a copy: what the program writes does not show in the constant
                    _cresset._fake_know(fake, tensor.detach().clone())
        with self.graph.inserting_before(self.first_user_input):
            node = self.graph.create_node("placeholder", "c_" + name.replace(".", "_"), name="c_" + name.replace(".", "_"))
        node.meta["val"] = fake
        self.fakes[id(tensor)] = fake
        self.kept.append(tensor)
        self.know(fake, node)
        return self._copied(fake) if fresh else fake

    def _copied(self, fake):
        return self.write(torch.ops.aten.lift_fresh_copy.default, (fake,), {}, self._run(torch.ops.aten.clone.default, (fake,), {}))

    def lifted(self, number, dtype):
        """The constant tensor of a number, as PyTorch makes it for an assignment."""
        kind = torch.bool if isinstance(number, bool) else torch.int64 if isinstance(number, int) else torch.get_default_dtype()
        return self.lift(_tensor(number, dtype=kind if not isinstance(number, complex) else dtype), fresh=True)

    def innermost(self):
        """The recorder that listens now: this one, or that of a function within."""
        now = _cresset._listen(ABOVE_LAYERS, None)
        _cresset._listen(ABOVE_LAYERS, now)
        return now if isinstance(now, Recorder) else self

    @contextlib.contextmanager
    def paused(self):
        """In its scope nothing is written down."""
        before = _cresset._listen(ABOVE_LAYERS, None)
        try:
            with unset_fake_temporarily():
                yield
        finally:
            _cresset._listen(ABOVE_LAYERS, before)

    # ---- calls ------------------------------------------------------------------------------------------------------------

    def __call__(self, func, args, kwargs):
        if (self.in_transform and func in _HISTORIES) or (func is _CONJ and self.grad_mode is not None and not args[0].is_complex()):
            return self._without_history(func, *args)
        by_name = None if _fits(func, args, kwargs) else translations.renamed(_name_of(func))
        if by_name is not None:  # a row whose schema is another in PyTorch
            with self._listening(self._named_by_row, BELOW_AUTOGRAD):
                return by_name(*args, **kwargs)
        args, kwargs = self._all_fake(args), {k: self._all_fake(v) for k, v in kwargs.items()}
        if func in _WITH_SWITCH and len(args) == 2:
            args = (*args, False)
        body = self._body_of(func, args, kwargs)
        if body is not None:
            with self._heard():
                return body(*args, **kwargs)
        spelling = _spellings.of(func, self.in_transform)
        said = (spelling(self, func, args, kwargs) if spelling is not None else None) or (func, args, kwargs)
        try:
            result = self._run(func, args, kwargs)
        except UnsupportedOperatorException:
            if self.env is None or self.env.draft is None:
                raise
            result = self.env.draft.without_kernel(self, func, args, kwargs)
        else:
            if self.env is not None and self.env.draft is not None and func.namespace not in ("aten", "prims", "prim"):
                result = self.env.draft.compared(self, func, args, kwargs, result)
        return self.write(*said, result)

    def _body_of(self, func, args, kwargs):
        """The body of a composite that is differentiated, where what it computes is to be seen; else None."""
        if (
            self.view == AS_CALLED
            or self.in_transform
            or not torch.is_grad_enabled()
            or not any(t.requires_grad for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor))
        ):
            return None
        if not hasattr(func, "_entry") or not func.has_kernel_for_dispatch_key("CompositeImplicitAutograd"):
            return None
        return _cresset.body(func._entry)

    def _named_by_row(self, func, args, kwargs):
        with self._listening(None, BELOW_AUTOGRAD):
            return self(func, args, kwargs)

    def whole_transform(self, function, args, kwargs):
        """Runs a transform so that its operators are heard below all layers; None in place of the result where its steps are heard."""
        if self.view != BELOW_LAYERS:
            return None
        with self._not_heard(), self._listening(self._named_by_row, BELOW_AUTOGRAD):
            return (self.of_transform(functools.partial(function, **kwargs), args, True),)

    def _without_history(self, func, tensor):
        """The values of a tensor as a transform keeps them, which are the tensor's own to the program."""
        tensor = self._all_fake(tensor)
        kept = self._run(func, (tensor,), {})
        self.know(kept, self.node_of(tensor))
        return kept

    def step(self, target, function, args, kwargs):
        """A step of a transform, which is a node; the operators that it calls are not."""
        with self._not_heard():
            args = tuple(self._all_fake(a) for a in args)
            result = function(*args, **kwargs)
            if target is predispatch._vmap_increment_nesting:
                self.levels[_cresset.vmap_level()] = result
            written = None if isinstance(result, int) else result  # numbers of levels are told to later steps as they are
            self.write(target, args, kwargs, written)
        return result

    def _not_heard(self):
        return self._listening(None)

    def _heard(self):
        return self._listening(self)

    @contextlib.contextmanager
    def _listening(self, listener, place=ABOVE_LAYERS):
        before = _cresset._listen(place, listener)
        try:
            yield
        finally:
            _cresset._listen(place, before)

    def of_transform(self, function, args, is_part):
        """Runs a part of a transform, or a function that is transformed. Gradient modes of parts are not the program's."""
        before = self.in_transform, self.grad_mode
        self.in_transform, self.grad_mode = is_part, torch.is_grad_enabled() if self.grad_mode is None else self.grad_mode
        try:
            return function(*args)
        finally:
            self.in_transform, self.grad_mode = before

    @staticmethod
    def _run(func, args, kwargs):
        return func(*args, **kwargs)

    def _all_fake(self, value):
        if isinstance(value, torch.Tensor):
            return value if id(value) in self.nodes else self.faked(value)
        if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
            return type(value)(self._all_fake(v) for v in value) if type(value) in (list, tuple) else [self._all_fake(v) for v in value]
        return value if not isinstance(value, tuple) or not value or type(value) is not tuple else tuple(self._all_fake(v) for v in value)

    def write(self, func, args, kwargs, result, listed=False):
        """Adds the node of a call, and those that take its result apart; returns the result, or with `listed` these nodes."""
        if isinstance(result, torch.dtype):
            return result  # a number of the program, as sizes that are numbers
        name = _name_of(func)
        if self.env is not None:
            args, kwargs = self.env.lift(tuple(args)), {k: self.env.lift(v) for k, v in kwargs.items()}
        title = _TITLES.get(name, name)
        node = self.graph.create_node("call_function", func, self.node_of(tuple(args)), {k: self.node_of(v) for k, v in kwargs.items()}, name=title)
        self._note(node, name)
        if isinstance(func, OpOverload) and not func._schema.returns:
            result = None
        note_unbacked(node, self.env, result)
        if isinstance(result, torch.Tensor):
            self._result(node, result)
        elif isinstance(result, (list, tuple)):
            node.meta["val"] = result
            parts = [self._part(node, i, item) for i, item in enumerate(result) if isinstance(item, (torch.Tensor, list, tuple))]
            return parts if listed else result
        else:
            node.meta["val"] = result
            if isinstance(result, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                self.known[str(result.node.expr if result.node.expr.constant is None else result.node._expr)] = node
        return result

    def _part(self, node, index, tensor):
        part = self.graph.create_node("call_function", operator.getitem, (node, index), name="getitem")
        self._note(part, None, node)
        if isinstance(tensor, (list, tuple)):  # among several results
            part.meta["val"] = tensor
            for i, item in enumerate(tensor):
                self._part(part, i, item)
        else:
            self._result(part, tensor)
        return part

    def _result(self, node, tensor):
        node.meta["val"] = tensor if not tensor._is_batched else self._like(tensor)
        self.know(tensor, node)
        for d, size in enumerate(tensor.shape):
            self.learn(size, node, d)

    def _like(self, element):
        """A tensor without data of the facts of an element, which outlives its level."""
        with self._not_heard(), self.mode:
            return torch.empty_strided(element.shape, element.stride(), dtype=element.dtype, device=element.device)

    def _note(self, node, name, like=None):
        self.grad_modes[node] = torch.is_grad_enabled() if self.grad_mode is None else self.grad_mode
        if torch.is_autocast_enabled("cpu"):
            self.casts[node] = torch.get_autocast_dtype("cpu")
        if like is not None:
            node.meta.update({k: like.meta[k] for k in ("nn_module_stack", "stack_trace", "torch_fn") if k in like.meta})
            return
        self.counts[name] = self.counts.get(name, 0) + 1
        node.meta["nn_module_stack"] = dict(self.stack)
        kind = "builtin_function_or_method" if not inspect.isfunction(node.target) else "function"
        node.meta["torch_fn"] = f"{name}_{self.counts[name]}", f"{kind}.{name}"
        if self.origin is not None and "stack_trace" in self.origin.meta:
            node.meta.update({k: self.origin.meta[k] for k in _KEPT if k in self.origin.meta})
        elif trace := self._trace():
            node.meta["stack_trace"] = trace
        if self.origin is not None and "custom" in self.origin.meta:
            node.meta["custom"] = self.origin.meta["custom"]

    # ---- functions in calls -----------------------------------------------------------------------------------------------

    def higher_order(self, op, args):
        """A call of an operator over functions: each becomes a graph of its own, with the tensors that it uses from around it as further inputs."""
        count, names, inputs, rebuilt = _BODIES[op.name()](self, args)
        numbers = [sum(n.startswith(name) for n in self.root._modules) for name in names]
        titles = self._titles_of(op, args, inputs)
        bodies = [self._body(function, inputs, titles) for function in args[count : count + len(names)]]
        lifted = list({id(t): t for body in bodies for t in body.lifted_from_outer.values()}.values())
        nodes = []
        for name, number, body in zip(names, numbers, bodies, strict=True):
            setattr(self.root, f"{name}_{number}", body.module(lifted, is_test=name == "while_loop_cond_graph"))
            nodes.append(self.graph.create_node("get_attr", f"{name}_{number}"))
        given = rebuilt(lifted)
        modules = [getattr(self.root, n.target) for n in nodes]
        result = _undifferentiated(op, op.run(*args[:count], *modules, *given))
        node = self.graph.create_node("call_function", op, self.node_of((*args[:count], *nodes, *given)), {}, name=op.name())
        self._note(node, op.name())
        node.meta["val"] = tuple(result)
        for i, item in enumerate(result):
            self._part(node, i, item)
        return result

    def _titles_of(self, op, args, inputs):
        """Names for the inputs of a function: those of the operands of `cond` and `map`, numbers for what loops carry."""
        operands = {"cond": args[3:4], "map_impl": args[1:3]}.get(op.name())
        if operands is None:
            return [f"arg{i}_1" for i in range(len(inputs))]
        return [self.node_of(tensor).name for tensor in _known(self, [t for group in operands for t in group])]

    def _body(self, function, inputs, titles):
        body = Recorder(self.mode, self)
        body.levels = self.levels
        for title, tensor in zip(titles, inputs, strict=True):
            node = body.graph.create_node("placeholder", title, name=title)
            node.meta["val"] = tensor
            if isinstance(tensor, torch.Tensor):
                body._take(tensor, node)
            elif isinstance(tensor, torch.SymInt):
                body.known[str(tensor.node.expr)] = node
        mark = body.first_user_input = body.graph.create_node("placeholder", "end_of_inputs", name="end_of_inputs")
        body._root, body._where = self._root, self._where
        with body.recording(nested=True):
            found = function(*inputs)
            found = [found] if isinstance(found, torch.Tensor) else found
            body.results = [body._all_fake(t) if isinstance(t, torch.Tensor) else t for t in found]
        for tensor in body.results:
            body.node_of(tensor)
        body.first_user_input = None
        body.mark = mark
        return body

    def module(self, lifted, is_test):
        """The graph of a body with an input for each of the tensors from around, in this order. A loop's test returns its tensor alone."""
        mark = self.mark
        for tensor in lifted:
            if id(tensor) in self.lifted_from_outer:
                mark.prepend(self.nodes[id(tensor)])
            else:
                title = self.outer.node_of(tensor).name
                with self.graph.inserting_before(mark):
                    node = self.graph.create_node("placeholder", title, name=title)
                node.meta["val"] = tensor
        self.graph.erase_node(mark)
        out = tuple(self.node_of(t) for t in self.results)
        self.graph.output(out[0] if is_test and len(out) == 1 else out)
        return fx.GraphModule(self.root, self.graph)

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
    def recording(self, nested=False):
        """In its scope the calls of this thread are written down."""
        _stack._loaded()
        if not nested:
            self._root = sys._getframe(2)
        before = _cresset._listen(ABOVE_LAYERS, self)
        patched = [] if nested else _patched()
        try:
            with self.mode:
                yield
        finally:
            for cls, name, call in patched:
                setattr(cls, name, call)
            _cresset._listen(ABOVE_LAYERS, before)


_CONJ = torch.ops.aten.conj.default
_HISTORIES = (torch.ops.aten.detach.default, torch.ops.aten.alias.default)


def _memory(tensor):
    """The place of a tensor without data, which it shares with aliases alone; None for one with data, and for a wrapper."""
    if tensor._is_batched or tensor.layout is not torch.strided or not is_fake(tensor) or _cresset.is_functional(tensor):
        return None if not tensor._is_batched else id(tensor)
    return geometry(tensor)


def _fits(func, args, kwargs):
    """Whether a call has all arguments that the operator's schema wants."""
    schema = getattr(func, "_schema", None)
    return schema is None or all(a.has_default_value() or a.name in kwargs for a in schema.arguments[len(args) :])


def _name_of(func):
    if getattr(func, "namespace", None) == "higher_order":
        return func.name()
    return func.__name__ if inspect.isfunction(func) else getattr(func, "_opname", None) or func._schema.name


# ---- operators that are Python's --------------------------------------------------------------------------------------------


def _patched():
    """Operators that Python defines are heard like those of the dispatcher. Returns their own calls, to be put back."""
    from .._higher_order_ops._operator import HigherOrderOperator, is_function
    from .._library.operators import Defined as _Defined

    own = [
        (_Defined, "__call__", _Defined.__call__),
        (HigherOrderOperator, "__call__", HigherOrderOperator.__call__),
        (torch.Tensor, "item", torch.Tensor.item),
        (torch.autograd.Function, "apply", torch.autograd.Function.__dict__["apply"]),
        (_cresset, "run_backward", _cresset.run_backward),
        (_cresset, "functional_product", _cresset.functional_product),
        (_cresset, "functional_jacobian", _cresset.functional_jacobian),
        (torch, "get_rng_state", torch.get_rng_state),
    ]

    def defined(op, *args, **kwargs):
        heard = _cresset._listen(ABOVE_LAYERS, None)
        try:
            return own[0][2](op, *args, **kwargs) if not isinstance(heard, Recorder) else heard(op, args, kwargs)
        finally:
            _cresset._listen(ABOVE_LAYERS, heard)

    def higher_order(op, *args, **kwargs):
        heard = _cresset._listen(ABOVE_LAYERS, None)
        try:
            if isinstance(heard, Recorder) and op.name() in _BODIES:
                return heard.higher_order(op, args)
            if isinstance(heard, Recorder) and not any(map(is_function, tree_leaves((args, kwargs)))):
                args, kwargs = _known(heard, args), dict(zip(kwargs, _known(heard, kwargs.values()), strict=True))
                return heard.write(op, args, kwargs, own[1][2](op, *args, **kwargs))
            _cresset._listen(ABOVE_LAYERS, heard)
            return own[1][2](op, *args, **kwargs)
        finally:
            _cresset._listen(ABOVE_LAYERS, heard)

    def item(tensor):
        heard = _cresset._listen(ABOVE_LAYERS, None)
        try:
            value = own[2][2](tensor)
            symbolic = isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) and isinstance(heard, Recorder)
            return heard.write(torch.ops.aten.item.default, (tensor,), {}, value) if symbolic else value
        finally:
            _cresset._listen(ABOVE_LAYERS, heard)

    def apply(cls, *args, **kwargs):
        heard = _cresset._listen(ABOVE_LAYERS, None)
        _cresset._listen(ABOVE_LAYERS, heard)
        call = own[3][2].__get__(None, cls)
        if not isinstance(heard, Recorder):
            return call(*args, **kwargs)
        before = heard.grad_mode
        heard.grad_mode = torch.is_grad_enabled() if before is None else before
        try:
            return call(*args, **kwargs)
        finally:
            heard.grad_mode = before

    def differentiating(number, is_part):
        call = own[number][2]

        def differentiated(*args):
            recorder = predispatch.recorder()
            if recorder is not None and recorder.is_strict:
                raise Unsupported("a strict export has no gradients of torch.autograd within the program; use strict=False or torch.func")
            return call(*args) if recorder is None else recorder.of_transform(call, args, is_part)

        return differentiated

    def get_rng_state():
        recorder = predispatch.recorder()
        if recorder is None:
            return own[-1][2]()
        with recorder.paused():  # the state of the capture, which no operator makes
            return own[-1][2]()

    derivatives = differentiating(4, True), differentiating(5, False), differentiating(6, False)
    for (cls, name, _), function in zip(own, (defined, higher_order, item, classmethod(apply), *derivatives, get_rng_state), strict=True):
        setattr(cls, name, function)
    return own


def _slices(recorder, tensors):
    return [recorder._run(torch.ops.aten.select.int, (recorder._all_fake(t), 0, 0), {}) for t in tensors]


def _known(recorder, tensors):
    return [recorder._all_fake(t) if isinstance(t, torch.Tensor) else t for t in tensors]


def _of_cond(recorder, args):
    operands = _known(recorder, args[3])
    return 1, ("true_graph", "false_graph"), operands, lambda lifted: ((*operands, *lifted),)


def _of_while_loop(recorder, args):
    carried = _known(recorder, args[2])
    more = _known(recorder, args[3] if len(args) > 3 else ())
    return 0, ("while_loop_cond_graph", "while_loop_body_graph"), [*carried, *more], lambda lifted: (tuple(carried), (*more, *lifted))


def _of_map(recorder, args):
    over, fixed = _known(recorder, args[1]), _known(recorder, args[2])
    return 0, ("body_graph",), [*_slices(recorder, over), *fixed], lambda lifted: (over, [*fixed, *lifted])


def _of_scan(recorder, args):
    first, over, more = _known(recorder, args[1]), _known(recorder, args[2]), _known(recorder, args[3] if len(args) > 3 else ())
    return 0, ("scan_combine_graph",), [*first, *_slices(recorder, over), *more], lambda lifted: (first, over, [*more, *lifted])


# Name -> (recorder, arguments) -> how many arguments stand before the functions, names of their graphs, their inputs, the arguments behind them.
_BODIES = {"cond": _of_cond, "while_loop": _of_while_loop, "map_impl": _of_map, "scan": _of_scan}


def modules_noted(recorder, root, observers):
    """In its scope the recorder knows which modules are running. `observers`: path -> function (number of the call from 0, args, kwargs, result)."""

    def around(path, earlier, module, args, kwargs, call):
        key = f"L__self__{path}" + (f"@{earlier}" if earlier else "")
        recorder.stack.append((key, (path, type_name(type(module)))))
        try:
            result = call()
        finally:
            recorder.stack.pop()
        if path in observers:
            observers[path](earlier, args, kwargs, result)
        return result

    return calls_noted(root, around)
