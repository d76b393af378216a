"""Interpreter, which runs a graph node by node, and Transformer, which makes a new graph that way."""

import contextlib
import inspect
import itertools

from . import _lazy_graph_module, config
from . import traceback as fx_traceback
from ._compatibility import compatibility
from ._symbolic_trace import Tracer
from .graph import Graph
from .node import map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


@compatibility(is_backward_compatible=True)
class Interpreter:
    """Runs a GraphModule node by node. Subclasses change what a kind of node does, by the method of its name.

    Args:
        module: the module.
        garbage_collect_values: forget values after their last use.
        graph: another graph to run in place of the module's.

    >>> class Doubled(torch.fx.Interpreter):
    ...     def call_method(self, target, args, kwargs):
    ...         return 2 * super().call_method(target, args, kwargs)
    >>> Doubled(torch.fx.symbolic_trace(lambda x: x.neg())).run(torch.ones(1))
    tensor([-2.])
    """

    @compatibility(is_backward_compatible=True)
    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = module.graph if graph is None else graph
        self.env = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        if garbage_collect_values:
            self.user_to_last_uses = _last_uses(self.graph)

    @compatibility(is_backward_compatible=True)
    def run(self, *args, initial_env=None, enable_io_processing=True):
        """Run the graph.

        Args:
            args: the arguments, in order.
            initial_env: {node: value} of nodes that are not to run.
            enable_io_processing: take arguments apart and put the result together as the graph's code does.

        Returns the result. Errors: RuntimeError where arguments lack; an error of a node tells in a note which node it was.
        """
        graph, env = self.graph, {} if initial_env is None else initial_env
        self.env = env
        self.args_iter = iter(graph.process_inputs(*args) if enable_io_processing else args)
        done = self.user_to_last_uses if self.garbage_collect_values else {}
        for node in graph.nodes:
            if node in env:
                continue
            env[node] = value = self._run_with_note(node)
            if node.op == "output":
                return graph.process_outputs(value) if enable_io_processing else value
            for used in done.get(node, ()):
                env.pop(used, None)
        return None

    def _run_with_note(self, node):
        try:
            return self.run_node(node)
        except Exception as error:
            if self.extra_traceback:
                _add_note(error, node)
            raise

    @compatibility(is_backward_compatible=True)
    def boxed_run(self, args_list):
        """Run the graph with a list of arguments, which is emptied, so that they are freed after their last use."""
        given = dict(zip(self.graph.nodes.of("placeholder"), args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=given)

    def _set_current_node(self, node):
        """The node's `meta` is the present one within a `with` block."""
        return fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}")

    @compatibility(is_backward_compatible=True)
    def run_node(self, n):
        """The value of one node, whose arguments are known."""
        with self._set_current_node(n) if fx_traceback._state.preserving else contextlib.nullcontext():
            return getattr(self, n.op)(n.target, *self.fetch_args_kwargs_from_env(n))

    @compatibility(is_backward_compatible=True)
    def placeholder(self, target, args, kwargs):
        """The next argument, or the default. Errors: RuntimeError where there is neither."""
        if target[0] == "*":
            return [*self.args_iter]
        for given in (*itertools.islice(self.args_iter, 1), *args[:1]):
            return given
        raise RuntimeError(f"run: no argument is left for the parameter {target}, which has no default")

    @compatibility(is_backward_compatible=True)
    def get_attr(self, target, args, kwargs):
        """An attribute of the module."""
        return self.fetch_attr(target)

    @compatibility(is_backward_compatible=True)
    def call_function(self, target, args, kwargs):
        """The result of a function."""
        return target(*args, **kwargs)

    @compatibility(is_backward_compatible=True)
    def call_method(self, target, args, kwargs):
        """The result of a method of the first argument."""
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    @compatibility(is_backward_compatible=True)
    def call_module(self, target, args, kwargs):
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    @compatibility(is_backward_compatible=True)
    def output(self, target, args, kwargs):
        """The result of the graph."""
        return args[0]

    @compatibility(is_backward_compatible=True)
    def fetch_attr(self, target):
        """The attribute of the module at a path. Errors: RuntimeError where there is none."""
        value = self.module
        for i, part in enumerate(parts := target.split(".")):
            if not hasattr(value, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}")
            value = getattr(value, part)
        return value

    @compatibility(is_backward_compatible=True)
    def fetch_args_kwargs_from_env(self, n):
        """The values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), dict(self.map_nodes_to_values(n.kwargs, n))

    @compatibility(is_backward_compatible=True)
    def map_nodes_to_values(self, args, n):
        """Arguments with values in the place of nodes. Errors: RuntimeError for a node that has not run."""
        env = self.env

        def value(used):
            if used not in env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {used}: Graph.lint() tells what is wrong with the graph")
            return env[used]

        return map_arg(args, value)


def _last_uses(graph):
    """{node: the nodes whose values nothing uses after it}."""
    last = {used: node for node in graph.nodes for used in node._input_nodes}
    found = {}
    for used, node in last.items():
        found.setdefault(node, []).append(used)
    return found


def _add_note(error, node):
    text = f"While executing {node.format_node()}"
    if node.stack_trace:
        text += f"\nOriginal traceback:\n{node.stack_trace}"
    if config.verbose_progress:
        text += f"\nGraph: {node.graph}"
    known = error.args[0] if len(error.args) == 1 and isinstance(error.args[0], str) else None
    if known is not None and type(error) is not KeyError:
        error.args = (f"{known}\n\n{text}" if known else text,)
    elif hasattr(error, "add_note"):
        error.add_note(text)


class _WholeModules(Tracer):
    """The tracer of a Transformer, which looks into no module."""

    def __init__(self, module, graph):
        super().__init__()
        self.root, self.graph, self.tensor_attrs = module, graph, {}

    def is_leaf_module(self, m, module_qualified_name):
        return True


@compatibility(is_backward_compatible=True)
class Transformer(Interpreter):
    """Makes a new module of a GraphModule, node by node. Subclasses return other proxies for a kind of node.

    >>> class Positive(torch.fx.Transformer):
    ...     def call_method(self, target, args, kwargs):
    ...         return args[0].abs() if target == "neg" else super().call_method(target, args, kwargs)
    >>> Positive(torch.fx.symbolic_trace(lambda x: x.neg())).transform()(torch.ones(1))
    tensor([1.])
    """

    @compatibility(is_backward_compatible=True)
    def __init__(self, module):
        super().__init__(module)
        graph = self.new_graph = Graph()
        graph._codegen = module.graph._codegen
        self.tracer = _WholeModules(module, graph)

    @compatibility(is_backward_compatible=True)
    def placeholder(self, target, args, kwargs):
        """The proxy of a new parameter of this name."""
        default = args[0] if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    @compatibility(is_backward_compatible=True)
    def get_attr(self, target, args, kwargs):
        """The proxy of an attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    @compatibility(is_backward_compatible=True)
    def call_module(self, target, args, kwargs):
        """The proxy of a submodule's result."""
        return self.tracer.call_module(self.fetch_attr(target), self.submodules[target].forward, args, kwargs)

    @compatibility(is_backward_compatible=True)
    def call_function(self, target, args, kwargs):
        """The proxy of a function's result."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    @compatibility(is_backward_compatible=True)
    def transform(self):
        """The new module."""
        with fx_traceback.preserve_node_meta():
            value = super().run(enable_io_processing=False)
        if value is not None:
            old = self.graph.output_node()
            new = self.new_graph.output(map_aggregate(value, lambda leaf: leaf.node if isinstance(leaf, Proxy) else leaf), old.type)
            new.meta.update(old.meta)
        return _lazy_graph_module._make_graph_module(self.module, self.new_graph)
