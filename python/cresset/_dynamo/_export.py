"""`torch._dynamo.export`: one graph of a function's own arguments."""

import collections
import functools

from ..fx import GraphModule, Interpreter
from ..fx import traceback as fx_traceback
from ..fx.experimental.proxy_tensor import make_fx
from ..utils._pytree import tree_flatten, tree_unflatten
from . import config, eval_frame

ExportResult = collections.namedtuple("ExportResult", "graph_module guards")


class _Exported(GraphModule):
    pass


def exported(function, args, kwargs, aten_graph, static, tracing_mode, decompositions):
    """The graph of a function for example arguments, as a module of the same arguments; sizes are open unless `static`."""
    made = {}

    def keep(module, inputs):
        made["graph"], made["inputs"] = module, list(inputs)

        def run(*given):
            made["results"] = module(*given)
            return made["results"]

        return run

    compiler = eval_frame.Compiler(keep, fullgraph=True)
    function = function._orig_mod if isinstance(function, eval_frame.OptimizedModule) else eval_frame.innermost_fn(function)
    with config.patch(assume_static_by_default=static):
        result = eval_frame.compiled(function, compiler)(*args, **kwargs)
    if "graph" not in made:
        raise RuntimeError("torch._dynamo.export: the function has no operators")
    given, _ = tree_flatten((args, kwargs))
    flat, spec = tree_flatten(result)
    inputs = [next((i for i, leaf in enumerate(given) if leaf is value), None) for value in made["inputs"]]
    outputs = [next((i for i, leaf in enumerate(made["results"]) if leaf is value), None) for value in flat]
    graph = made["graph"]

    def forward(*args, run=graph, **kwargs):
        leaves, _ = tree_flatten((args, kwargs))
        found = run(*[value if i is None else leaves[i] for i, value in zip(inputs, made["inputs"], strict=True)])
        return tree_unflatten([value if i is None else found[i] for i, value in zip(outputs, flat, strict=True)], spec)

    module = GraphModule(graph, graph.graph)
    module.forward = forward
    guards = [line for *_, entry in compiler.region.entries() for line in entry.guards.text().splitlines()]
    if aten_graph:
        # Nodes of operators keep what is noted on the nodes that they come from.
        with fx_traceback.preserve_node_meta():
            run = functools.partial(forward, run=Interpreter(graph).run)
            mode = "real" if static else tracing_mode
            module = make_fx(run, decomposition_table=decompositions, tracing_mode=mode, _allow_non_fake_inputs=True)(*args, **kwargs)
    return ExportResult(module, guards)
