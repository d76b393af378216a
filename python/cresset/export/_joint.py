"""Forward and backward of an exported program in one graph: its results, and the gradients of one of them, the loss."""

import cresset as torch

from .._functorch import _capture
from ._decompose import _batch_norms
from ._tokens import without_tokens
from .exported_program import ExportedProgram, Verifier, default_decompositions
from .graph_signature import ConstantArgument, ExportGraphSignature, InputKind, OutputKind, OutputSpec, TensorArgument


def with_backward(program, loss=0):
    """The program of core operators that gives, after its own results, the gradients of the result `loss` by the parameters and inputs that require them.

    Errors: RuntimeError for a loss that is no number with a gradient, and for other results with one, which the graph would leave out.

    >>> from cresset.export.experimental import with_backward
    >>> class Loss(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = nn.Parameter(torch.ones(2))
    ...     def forward(self, x):
    ...         return (x * self.weight).sum()
    >>> joint = with_backward(torch.export.export(Loss(), (torch.ones(2),)))
    >>> [spec.kind.name for spec in joint.graph_signature.output_specs]
    ['LOSS_OUTPUT', 'GRADIENT_TO_PARAMETER']
    """
    _check(program, loss)
    core = without_tokens(program.run_decompositions())
    nodes, specs = core.graph.find_nodes(op="placeholder"), core.graph_signature.output_specs
    flat = [_as_given(program, node, spec) for node, spec in zip(nodes, core.graph_signature.input_specs, strict=True)]
    number = [i for i, spec in enumerate(specs) if spec.kind is OutputKind.USER_OUTPUT][loss]

    def forward(*inputs):
        return torch.fx.Interpreter(core.graph_module, graph=core.graph).run(*inputs)

    with torch.enable_grad():
        facts = _capture.look(forward, flat)
        module = _capture.without_detach(_capture.trace_joint(forward, facts, flat, dict(default_decompositions()), loss=number, tokens=False))
    graph = module.graph
    for node, old in zip(graph.find_nodes(op="placeholder"), nodes, strict=True):
        node.name, node.target, node.meta["val"] = old.name, old.target, old.meta["val"]
    _batch_norms(graph)
    outputs = _outputs(core, graph, number)
    graph.eliminate_dead_code()
    return ExportedProgram(
        module, graph, ExportGraphSignature(list(core.graph_signature.input_specs), outputs), core.state_dict, core.range_constraints,
        core.module_call_graph, core.example_inputs, core.constants, verifiers=[Verifier], guards=core._guards,
    )  # fmt: skip


def _as_given(program, node, spec):
    """The value of an input, which requires a gradient where the weight or the argument does."""
    value = node.meta["val"]
    if spec.kind is not InputKind.PARAMETER:
        return value
    return value.detach().requires_grad_(program.state_dict[spec.target].requires_grad)


def _check(program, loss):
    """The loss is the only result with a gradient."""
    values = [node.meta["val"] if isinstance(node, torch.fx.Node) else node for node in program.graph.output_node().args[0]]
    if not 0 <= loss < len(values):
        raise RuntimeError(f"joint graph: expected the number of one of {len(values)} results as the loss, got {loss}")
    for i, value in enumerate(values):
        has = isinstance(value, torch.Tensor) and value.requires_grad
        if i == loss and not (has and value.numel() == 1):
            raise RuntimeError(f"joint graph: expected result {i}, the loss, to be one number that requires a gradient, got {value}")
        if i != loss and has:
            raise RuntimeError(f"joint graph: result {i} requires a gradient, expected that of the loss, {loss}, alone; detach the others")


def _outputs(core, graph, loss):
    """Takes missing gradients out of the results; the specs of those that stay."""
    output, specs = graph.output_node(), core.graph_signature.output_specs
    values, gradients = output.args[0][: len(specs)], output.args[0][len(specs) :]
    found = [OutputSpec(OutputKind.LOSS_OUTPUT if i == loss else spec.kind, _argument(values[i]), spec.target) for i, spec in enumerate(specs)]
    for value, spec in zip(gradients, core.graph_signature.input_specs, strict=True):
        if value is not None:
            kind = OutputKind.GRADIENT_TO_PARAMETER if spec.kind is InputKind.PARAMETER else OutputKind.GRADIENT_TO_USER_INPUT
            found.append(OutputSpec(kind, _argument(value), spec.target or spec.arg.name))
    output.args = ((*values, *(value for value in gradients if value is not None)),)
    return found


def _argument(value):
    return TensorArgument(value.name) if isinstance(value, torch.fx.Node) else ConstantArgument("", value)
