"""The signature of an exported program: what each input and output of its graph is.

>>> from torch.export.graph_signature import InputKind, InputSpec, TensorArgument
>>> InputSpec(InputKind.PARAMETER, TensorArgument("p_weight"), "weight").target
'weight'
"""

import dataclasses
import enum
import types

__all__ = [
    "ConstantArgument",
    "CustomObjArgument",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "SymBoolArgument",
    "SymFloatArgument",
    "SymIntArgument",
    "TensorArgument",
    "TokenArgument",
]


# ---- arguments ------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class TensorArgument:
    """A tensor, the value of the node of this name.

    >>> signature = torch.export.graph_signature
    >>> signature.TensorArgument("x")
    TensorArgument(name='x')
    """

    name: str


@dataclasses.dataclass
class TokenArgument:
    """An order between effects, the value of the node of this name.

    >>> signature = torch.export.graph_signature
    >>> signature.TokenArgument("token")
    TokenArgument(name='token')
    """

    name: str


@dataclasses.dataclass
class SymIntArgument:
    """An integer that the graph computes.

    >>> signature = torch.export.graph_signature
    >>> signature.SymIntArgument("sym_size_int")
    SymIntArgument(name='sym_size_int')
    """

    name: str


@dataclasses.dataclass
class SymFloatArgument:
    """A number that the graph computes.

    >>> signature = torch.export.graph_signature
    >>> signature.SymFloatArgument("truediv")
    SymFloatArgument(name='truediv')
    """

    name: str


@dataclasses.dataclass
class SymBoolArgument:
    """A truth value that the graph computes.

    >>> signature = torch.export.graph_signature
    >>> signature.SymBoolArgument("eq")
    SymBoolArgument(name='eq')
    """

    name: str


@dataclasses.dataclass
class CustomObjArgument:
    """An object of a class that a program registered.

    >>> signature = torch.export.graph_signature
    >>> signature.CustomObjArgument("table", "shop::Table")
    CustomObjArgument(name='table', class_fqn='shop::Table', fake_val=None)
    """

    name: str
    class_fqn: str
    fake_val: object = None


@dataclasses.dataclass
class ConstantArgument:
    """A value that belongs to the program.

    >>> signature = torch.export.graph_signature
    >>> signature.ConstantArgument("flag", True)
    ConstantArgument(name='flag', value=True)
    """

    name: str
    value: int | float | bool | str | None


ArgumentSpec = TensorArgument | SymIntArgument | SymFloatArgument | SymBoolArgument | ConstantArgument | CustomObjArgument | TokenArgument


# ---- inputs and outputs ---------------------------------------------------------------------------------------------------

InputKind = enum.Enum("InputKind", "USER_INPUT PARAMETER BUFFER CONSTANT_TENSOR CUSTOM_OBJ TOKEN", module=__name__)
InputKind.__doc__ = """Where an input of the graph comes from.

>>> torch.export.graph_signature.InputKind.BUFFER.name
'BUFFER'
"""
OutputKind = enum.Enum(
    "OutputKind",
    "USER_OUTPUT LOSS_OUTPUT BUFFER_MUTATION PARAMETER_MUTATION GRADIENT_TO_PARAMETER GRADIENT_TO_USER_INPUT USER_INPUT_MUTATION TOKEN",
    module=__name__,
)
OutputKind.__doc__ = """Where an output of the graph goes to.

>>> torch.export.graph_signature.OutputKind.BUFFER_MUTATION.name
'BUFFER_MUTATION'
"""


def _expect_argument(arg):
    if not isinstance(arg, ArgumentSpec):
        raise AssertionError(f"expected a TensorArgument or one of its kind, got {type(arg).__name__}")


@dataclasses.dataclass
class InputSpec:
    """An input of the graph: its kind, its node, and the path of what it is in the module.

    Errors: AssertionError for a buffer that does not say whether it is persistent, and for another argument than those of this module.

    >>> signature = torch.export.graph_signature
    >>> print(signature.InputSpec(signature.InputKind.PARAMETER, signature.TensorArgument("p_weight"), "weight"))
    p_weight: PARAMETER target='weight'
    """

    kind: InputKind
    arg: ArgumentSpec
    target: str | None
    persistent: bool | None = None

    def __post_init__(self):
        if self.kind is InputKind.BUFFER and self.persistent is None:
            raise AssertionError(f"InputSpec: the buffer {self.target!r} needs persistent=True or False")
        _expect_argument(self.arg)

    def __str__(self):
        persistent = f" persistent={self.persistent}" if self.persistent is not None else ""
        return f"{self.arg.name}: {self.kind.name}{_target(self)}{persistent}"


@dataclasses.dataclass
class OutputSpec:
    """An output of the graph: its kind, its node, and the path of what it changes.

    >>> signature = torch.export.graph_signature
    >>> print(signature.OutputSpec(signature.OutputKind.USER_OUTPUT, signature.TensorArgument("add"), None))
    add: USER_OUTPUT
    """

    kind: OutputKind
    arg: ArgumentSpec
    target: str | None

    def __post_init__(self):
        _expect_argument(self.arg)

    def __str__(self):
        return f"{self.arg.name}: {self.kind.name}{_target(self)}"


def _target(spec):
    return f" target={spec.target!r}" if spec.target is not None else ""


@dataclasses.dataclass
class ExportBackwardSignature:
    """Which outputs are gradients, and which is the loss.

    >>> torch.export.ExportBackwardSignature({"getitem": "weight"}, {}, "loss").loss_output
    'loss'
    """

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


def _value(arg):
    """A user's argument as lists show it: the name of its node, or the value itself."""
    return arg.value if isinstance(arg, ConstantArgument) else arg.name


@dataclasses.dataclass
class ExportGraphSignature:
    """Kinds, nodes and targets of a graph's inputs and outputs, in their order. Properties tell the same by path and by name of the node.

    >>> program = torch.export.export(nn.Linear(2, 3), (torch.ones(1, 2),))
    >>> dict(program.graph_signature.inputs_to_parameters)
    {'p_weight': 'weight', 'p_bias': 'bias'}
    """

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _inputs(self, kind):
        return [s for s in self.input_specs if s.kind is kind]

    def _outputs(self, kind):
        return [s for s in self.output_specs if s.kind is kind]

    def _paths(self, kind):
        return tuple(s.target for s in self._inputs(kind) if isinstance(s.target, str))

    def _names(self, specs):
        return types.MappingProxyType({s.arg.name: s.target for s in specs if isinstance(s.target, str)})

    @property
    def parameters(self):
        """The paths of the parameters."""
        return self._paths(InputKind.PARAMETER)

    @property
    def buffers(self):
        """The paths of the buffers."""
        return self._paths(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self):
        """The paths of the buffers that the state does not have."""
        return tuple(s.target for s in self._inputs(InputKind.BUFFER) if s.persistent is False)

    @property
    def lifted_tensor_constants(self):
        """The names of the constant tensors."""
        return self._paths(InputKind.CONSTANT_TENSOR)

    @property
    def lifted_custom_objs(self):
        """The names of the constant objects."""
        return self._paths(InputKind.CUSTOM_OBJ)

    @property
    def user_inputs(self):
        """The nodes of the arguments, or their values where these are constant."""
        return tuple(_value(s.arg) for s in self._inputs(InputKind.USER_INPUT))

    @property
    def user_outputs(self):
        """The nodes of the results, or their values where these are constant."""
        return tuple(_value(s.arg) for s in self.output_specs if s.kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT))

    @property
    def inputs_to_parameters(self):
        """Node to path of each parameter."""
        return self._names(self._inputs(InputKind.PARAMETER))

    @property
    def inputs_to_buffers(self):
        """Node to path of each buffer."""
        return self._names(self._inputs(InputKind.BUFFER))

    @property
    def inputs_to_lifted_tensor_constants(self):
        """Node to name of each constant tensor."""
        return self._names(self._inputs(InputKind.CONSTANT_TENSOR))

    @property
    def inputs_to_lifted_custom_objs(self):
        """Node to name of each constant object."""
        return self._names(self._inputs(InputKind.CUSTOM_OBJ))

    @property
    def buffers_to_mutate(self):
        """Output node to the path of the buffer that it is written to."""
        return self._names(self._outputs(OutputKind.BUFFER_MUTATION))

    @property
    def parameters_to_mutate(self):
        """Output node to the path of the parameter that it is written to."""
        return self._names(self._outputs(OutputKind.PARAMETER_MUTATION))

    @property
    def user_inputs_to_mutate(self):
        """Output node to the name of the argument that it is written to."""
        return self._names(self._outputs(OutputKind.USER_INPUT_MUTATION))

    @property
    def input_tokens(self):
        """The nodes of the tokens that come in."""
        return tuple(s.arg.name for s in self._inputs(InputKind.TOKEN))

    @property
    def output_tokens(self):
        """The nodes of the tokens that go out."""
        return tuple(s.arg.name for s in self._outputs(OutputKind.TOKEN))

    @property
    def assertion_dep_token(self):
        """None: assertions are nodes in their order."""
        return None

    @property
    def backward_signature(self):
        """Which outputs are gradients, for a graph that has a loss; else None."""
        losses = self._outputs(OutputKind.LOSS_OUTPUT)
        if not losses:
            return None
        gradients = [dict(self._names(self._outputs(k))) for k in (OutputKind.GRADIENT_TO_PARAMETER, OutputKind.GRADIENT_TO_USER_INPUT)]
        return ExportBackwardSignature(*gradients, losses[0].arg.name)

    def replace_all_uses(self, old, new):
        """Puts the name of another node in place of one. Errors: AssertionError for names that are no str."""
        if not isinstance(old, str) or not isinstance(new, str):
            raise AssertionError(f"replace_all_uses: expected two names, got {old!r} and {new!r}")
        for spec in (*self.output_specs, *self.input_specs):
            if getattr(spec.arg, "name", None) == old and not isinstance(spec.arg, ConstantArgument):
                spec.arg.name = new

    def get_replace_hook(self, replace_inputs=False):
        """A function (old node, new name, user) that keeps the signature true where passes replace nodes."""

        def replaced(old, new, user):
            if user.op == "output" or (replace_inputs and old.op == "placeholder"):
                self.replace_all_uses(old.name, new)

        return replaced

    def __str__(self):
        lines = ["", "# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs), ""]
        return "\n".join(lines)
