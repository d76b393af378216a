"""Exported programs: a graph of operators whose inputs are the weights and the arguments, and what is known of it."""

import copy
import dataclasses

import cresset as torch

from .._core.operators import OperatorBase
from .._export.verifier import SpecViolationError
from .._functorch.predispatch import is_step
from ..utils import _pytree as pytree
from .decomp_utils import CustomDecompTable
from .graph_signature import ArgumentSpec

__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "default_decompositions"]


@dataclasses.dataclass
class ModuleCallSignature:
    """Arguments and results of a module's call: their nodes and how they are nested.

    >>> program = torch.export.export(nn.ReLU(), (torch.ones(2),))
    >>> program.module_call_graph[0].signature.in_spec.num_leaves
    1
    """

    inputs: list[ArgumentSpec]
    outputs: list[ArgumentSpec]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    forward_arg_names: list[str] | None = None

    def replace_all_uses_with(self, original_node, new_node):
        """Puts the name of another node in place of one."""
        for arg in (*self.inputs, *self.outputs):
            if arg.name == original_node.name:
                arg.name = new_node.name


@dataclasses.dataclass
class ModuleCallEntry:
    """A module that ran, by its path, with the signature of its call where that is kept.

    >>> program = torch.export.export(nn.Sequential(nn.ReLU()), (torch.ones(2),))
    >>> [entry.fqn for entry in program.module_call_graph]
    ['', '0']
    """

    fqn: str
    signature: ModuleCallSignature | None = None


def renamed_calls(entries, named):
    """The calls of modules, their signatures with the nodes that the old ones have become. `named`: name -> node."""
    made = copy.deepcopy(entries)
    for entry in made:
        for argument in (*entry.signature.inputs, *entry.signature.outputs) if entry.signature is not None else ():
            if argument.name in named:
                argument.name = named[argument.name].name
    return made


@dataclasses.dataclass
class CallSpec:
    """How arguments and results of a program are nested."""

    in_spec: pytree.TreeSpec | None
    out_spec: pytree.TreeSpec | None


def default_decompositions():
    """The table of decompositions that `run_decompositions` uses: operators to functions of others.

    >>> len(torch.export.default_decompositions()) > 100
    True
    """
    return CustomDecompTable()


class Verifier:
    """Checks that the graph of a program agrees with its signature."""

    dialect = "ATEN"

    def check(self, program):
        """Errors: ValueError for inputs and outputs that are not those of the signature, RuntimeError for a graph that is none, SpecViolationError for a
        call of anything but operators and functions of numbers, and one whose value is not known."""
        program.graph.lint()
        for node in program.graph.nodes:
            self._check_call(node)
        inputs = [n.name for n in program.graph.nodes if n.op == "placeholder"]
        listed = [s.arg.name for s in program.graph_signature.input_specs]
        if inputs != listed:
            raise ValueError(f"the signature lists the inputs {listed}, the graph has {inputs}")
        outputs = program.graph.output_node().args[0]
        specs = program.graph_signature.output_specs
        if len(outputs) != len(specs):
            raise ValueError(f"the signature lists {len(specs)} outputs, the graph has {len(outputs)}")
        for node, spec in zip(outputs, specs, strict=True):
            if isinstance(node, torch.fx.Node) and node.name != spec.arg.name:
                raise ValueError(f"the signature names an output {spec.arg.name!r}, the graph has {node.name!r}")

    @staticmethod
    def _check_call(node):
        if node.op in ("call_module", "call_method"):
            raise SpecViolationError(f"{node.op} is no part of an exported graph: {node.format_node()}")
        if node.op != "call_function":
            return
        module = getattr(node.target, "__module__", None)
        of_numbers = module in ("_operator", "math", "builtins") or getattr(node.target, "__name__", "").lstrip("_").startswith("sym_")
        if not of_numbers and not isinstance(node.target, OperatorBase) and not is_step(node.target):
            raise SpecViolationError(f"expected calls of operators, of functions of numbers and of steps of transforms, got {node.format_node()}")
        if "val" not in node.meta:
            raise SpecViolationError(f"the value of {node.name} is not known: its meta has no 'val'")


class TrainingIRVerifier(Verifier):
    """The same for graphs as they were captured, where operators may write to their arguments."""

    dialect = "TRAINING"


def load_verifier(dialect):
    """The class that checks graphs of a dialect, "ATEN" or "TRAINING"; a subclass of `Verifier` may have another. Errors: ValueError for one that none has.

    >>> torch._export.verifier.load_verifier("TRAINING").__name__
    'TrainingIRVerifier'
    """
    known, kinds = {}, [Verifier]
    for kind in kinds:
        known.setdefault(kind.dialect, kind)
        kinds += kind.__subclasses__()
    if dialect not in known:
        raise ValueError(f"load_verifier: expected one of the dialects {sorted(known)}, got {dialect!r}")
    return known[dialect]


_FIXED = frozenset("graph graph_module graph_signature state_dict call_spec range_constraints verifier constants module_call_graph dialect tensor_constants verifiers".split())  # fmt: skip


class ExportedProgram:
    """A program as a graph: made by `torch.export.export` or `torch.export.load`, run through `module()`.

    The graph's inputs are parameters, buffers, constants and then the program's own; `graph_signature` says which is which.

    >>> program = torch.export.export(nn.ReLU(), (torch.ones(2),))
    >>> [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    ['aten.relu.default']
    >>> program.module()(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """

    def __init__(
        self, root, graph, graph_signature, state_dict, range_constraints, module_call_graph, example_inputs=None, constants=None, *, verifiers=None,
        guards=(),
    ):  # fmt: skip
        graph_module = root if isinstance(root, torch.fx.GraphModule) and root.graph is graph else torch.fx.GraphModule(root, graph)
        graph_module.meta.setdefault("inline_constraints", {})
        self._graph_module, self._graph_signature = graph_module, graph_signature
        self._state_dict, self._constants = dict(state_dict), dict(constants or {})
        self._range_constraints, self._module_call_graph = dict(range_constraints), list(module_call_graph)
        self._example_inputs = example_inputs
        self._verifiers = list(verifiers or [TrainingIRVerifier])
        self._guards = list(guards)
        self.validate()

    def __setattr__(self, name, value):
        if name in _FIXED:
            raise RuntimeError(f"Unable to set ExportedProgram's {name}: a program is made as a whole")
        super().__setattr__(name, value)

    # ---- parts ------------------------------------------------------------------------------------------------------------

    @property
    def graph_module(self):
        """The graph as a module; to run the program take `module()`."""
        return self._graph_module

    @property
    def graph(self):
        """The graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self):
        """Kinds, nodes and targets of the graph's inputs and outputs."""
        return self._graph_signature

    @property
    def state_dict(self):
        """Parameters and persistent buffers by path."""
        return self._state_dict

    @property
    def constants(self):
        """Constant tensors, and buffers that the state does not have, by path."""
        return self._constants

    @property
    def tensor_constants(self):
        """The same as `constants`."""
        return self._constants

    @property
    def range_constraints(self):
        """The values that each symbol may have."""
        return self._range_constraints

    @property
    def module_call_graph(self):
        """The modules that ran."""
        return self._module_call_graph

    @property
    def example_inputs(self):
        """The example arguments: a tuple and a dictionary."""
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value):
        if value is not None and not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], dict)):
            raise ValueError(f"example_inputs: expected a pair of a tuple and a dict, got {value!r}")
        if value is None:
            self._example_inputs = None
            return
        from ._module import same_nesting

        spec = self._module_call_graph[0].signature.in_spec
        args, kwargs = value
        names = spec.child(1).context
        if set(kwargs) != set(names):
            raise ValueError(f"example_inputs: expected the keyword arguments {list(names)}, got {list(kwargs)}")
        _, found = pytree.tree_flatten((args, {name: kwargs[name] for name in names}))
        if not same_nesting(found, spec):
            raise ValueError(f"example_inputs: the program was exported for arguments nested as {spec}, got {found}")
        self._example_inputs = value

    @property
    def call_spec(self):
        """How arguments and results are nested."""
        signature = self._module_call_graph[0].signature
        return CallSpec(signature.in_spec, signature.out_spec)

    @property
    def verifier(self):
        """The class that checks the graph."""
        return self._verifiers[0]

    @property
    def verifiers(self):
        """The classes that check the graph."""
        return self._verifiers

    @property
    def dialect(self):
        """TRAINING for a graph as it was captured, ATEN for a functional one."""
        return self._verifiers[0].dialect

    def parameters(self):
        """The parameters, in the order of the inputs."""
        return (tensor for _, tensor in self.named_parameters())

    def named_parameters(self):
        """Pairs of path and parameter."""
        return ((path, self._state_dict[path]) for path in self._graph_signature.parameters)

    def buffers(self):
        """The buffers, in the order of the inputs."""
        return (tensor for _, tensor in self.named_buffers())

    def named_buffers(self):
        """Pairs of path and buffer."""
        other = self._graph_signature.non_persistent_buffers
        return ((path, (self._constants if path in other else self._state_dict)[path]) for path in self._graph_signature.buffers)

    # ---- running and changing ---------------------------------------------------------------------------------------------

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ExportedProgram: the program cannot be called as it is; call what module() returns")

    def module(self, check_guards=True):
        """A module that computes the program, with its parameters and buffers. It checks its arguments unless `check_guards` is False.

        Errors, when it is called: ValueError for arguments that are nested otherwise, AssertionError for sizes and constants that the program does
        not fit.
        """
        from ._module import module_of

        return module_of(self, check_guards)

    def run_decompositions(self, decomp_table=None, decompose_custom_triton_ops=False):
        """The same program without writes to arguments and buffers (they are outputs), its operators replaced by a table.

        Args:
            decomp_table: operator to function; `default_decompositions()` where it is None. An empty one leaves operators that are whole.
        """
        from ._decompose import decomposed

        return decomposed(self, decomp_table)

    def _transform_do_not_use(self, *passes):
        graph_module = copy.deepcopy(self._graph_module)
        for run in passes:
            result = run(graph_module)
            graph_module = graph_module if result is None else result.graph_module
        graph_module.recompile()
        return self._update(graph_module, copy.deepcopy(self._graph_signature))

    def _update(self, graph_module, graph_signature, *, state_dict=None, constants=None, verifiers=None):
        names = [n.name for n in graph_module.graph.nodes if n.op == "placeholder"]
        for spec, name in zip(graph_signature.input_specs, names, strict=True):
            spec.arg.name = name
        for spec, node in zip(graph_signature.output_specs, graph_module.graph.output_node().args[0], strict=True):
            if isinstance(node, torch.fx.Node):
                spec.arg.name = node.name
        return ExportedProgram(
            graph_module, graph_module.graph, graph_signature, self._state_dict if state_dict is None else state_dict, dict(self._range_constraints),
            copy.deepcopy(self._module_call_graph), self._example_inputs, self._constants if constants is None else constants,
            verifiers=self._verifiers if verifiers is None else verifiers, guards=self._guards,
        )  # fmt: skip

    def validate(self):
        """Checks the graph against the signature. Errors: ValueError, RuntimeError."""
        for verifier in self._verifiers:
            verifier().check(self)

    _validate = validate

    def __deepcopy__(self, memo):
        made = self._update(
            copy.deepcopy(self._graph_module, memo), copy.deepcopy(self._graph_signature, memo), state_dict=copy.deepcopy(self._state_dict, memo),
            constants=copy.deepcopy(self._constants, memo),
        )  # fmt: skip
        made._example_inputs = copy.deepcopy(self._example_inputs, memo)
        return made

    def __str__(self):
        code = self._graph_module.print_readable(print_output=False, colored=False).replace("\n", "\n    ")
        signature = str(self._graph_signature).replace("\n", "\n    ")
        return f"ExportedProgram:\n    {code}\nGraph signature: {signature}\nRange constraints: {self._range_constraints}\n"
