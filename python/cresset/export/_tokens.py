"""Programs whose calls with effects stand in order by tokens: tokens are the first inputs and results of their graphs."""

import cresset as torch

from .._higher_order_ops._tokens import thread, unthread
from .exported_program import ExportedProgram, renamed_calls
from .graph_signature import ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, TokenArgument


def put_in(graph, outputs, named):
    """Threads tokens through a functional graph; the specs of the inputs and results that it gets. Those in `outputs`, of its results, get their new names;
    `named`, name -> node, the nodes that others have become."""
    forward, _, replaced = thread(graph)
    named.update({name: replaced[node] for name, node in named.items() if node in replaced})
    if not forward:
        return [], []
    for spec, value in zip(outputs, graph.output_node().args[0][1:], strict=True):
        spec.arg = _named(spec.arg, value)
    token, result = graph.find_nodes(op="placeholder")[0], graph.output_node().args[0][0]
    return [InputSpec(InputKind.TOKEN, TokenArgument(token.name), None)], [OutputSpec(OutputKind.TOKEN, TokenArgument(result.name), None)]


def without_tokens(program):
    """The program with its calls alone, in their order; itself where it has no tokens."""
    inputs, outputs = program.graph_signature.input_specs, program.graph_signature.output_specs
    if not any(spec.kind is InputKind.TOKEN for spec in inputs):
        return program
    graph, copies = torch.fx.Graph(), {}
    graph.output(graph.graph_copy(program.graph, copies))
    for node, copied in copies.items():
        copied.name = node.name
    renamed = unthread(graph)
    for node, spec in zip(graph.find_nodes(op="placeholder"), inputs, strict=True):
        if spec.kind is InputKind.TOKEN:
            graph.erase_node(node)
    output = graph.output_node()
    output.args = (tuple(value for value, spec in zip(output.args[0], outputs, strict=True) if spec.kind is not OutputKind.TOKEN),)
    rest = [
        OutputSpec(s.kind, _named(s.arg, value), s.target)
        for s, value in zip((s for s in outputs if s.kind is not OutputKind.TOKEN), output.args[0], strict=True)
    ]
    return ExportedProgram(
        torch.fx.GraphModule(program.graph_module, graph), graph, ExportGraphSignature([s for s in inputs if s.kind is not InputKind.TOKEN], rest),
        program.state_dict, program.range_constraints, renamed_calls(program.module_call_graph, renamed), program.example_inputs, program.constants,
        verifiers=program.verifiers, guards=program._guards,
    )  # fmt: skip


def _named(arg, value):
    """The argument of a result whose node has another name now."""
    return type(arg)(value.name) if isinstance(value, torch.fx.Node) else arg
