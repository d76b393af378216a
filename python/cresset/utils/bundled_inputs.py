"""Sample inputs that are part of a compiled model, so that benchmarks and coverage tools can run any model.

>>> class Doubled(torch.nn.Module):
...     def forward(self, x):
...         return 2 * x
>>> model = torch.utils.bundled_inputs.bundle_inputs(torch.jit.script(Doubled()), [(torch.ones(2),)])
>>> [model(*inputs) for inputs in model.get_all_bundled_inputs()]
[tensor([2., 2.])]
"""

import textwrap
import typing

import cresset as torch

# Tensors of more bytes than this are not stored as they are.
MAX_RAW_TENSOR_SIZE = 16


class InflatableArg(typing.NamedTuple):
    """An input that is stored as something smaller, `value`, of the type of the argument. `fmt` is an expression that makes the input, in which {} stands
    for the value; `fmt_fn` is the text of a method that does, whose name is {}, and then `fmt` is applied to its result.

    >>> torch.utils.bundled_inputs.InflatableArg(value=torch.zeros(1), fmt="{}.expand(3)").fmt.format("x")
    'x.expand(3)'
    """

    value: typing.Any
    fmt: str = "{}"
    fmt_fn: str = ""


def bundle_randn(*size, dtype=None):
    """An input of random numbers, of which one is stored.

    >>> torch.utils.bundled_inputs.bundle_randn(100).value.shape
    torch.Size([100])
    """
    return InflatableArg(value=torch.zeros(1, dtype=dtype).expand(*size), fmt="torch.randn_like({})")


def bundle_large_tensor(t):
    """A tensor that is stored whole, however large it is.

    >>> torch.utils.bundled_inputs.bundle_large_tensor(torch.ones(3)).fmt
    '{}'
    """
    return InflatableArg(value=t, fmt="{}")


def bundle_inputs(model, inputs, info=None, *, _receive_inflate_expr=None):
    """A copy of a compiled model with inputs: a list of tuples of arguments for `forward`, or such lists by methods, None for methods whose inputs
    `_generate_bundled_inputs_for_NAME` makes. `info` has lists of texts in the same form. Inputs that the model has already are replaced.

    Errors: TypeError for inputs of another form, ValueError where there are none, RuntimeError for tensors that are neither small nor InflatableArg.

    >>> class Doubled(torch.nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> model = torch.utils.bundled_inputs.bundle_inputs(torch.jit.script(Doubled()), [(torch.ones(2),), (torch.ones(3),)])
    >>> model.get_num_bundled_inputs()
    2
    """
    if not isinstance(model, torch.jit.ScriptModule):
        raise TypeError(f"bundle_inputs: expected a compiled module, got {type(model).__name__}")
    methods, attributes = _get_bundled_inputs_attributes_and_methods(model)
    if isinstance(inputs, dict):
        # Methods are named by what the caller's model has.
        inputs = {_name_of(f): rows for f, rows in inputs.items()}
        info = {_name_of(f): texts for f, texts in (info or {}).items()}
    else:
        inputs, info = {"forward": inputs}, {"forward": info} if info else {}
    clone = _without(model, methods, attributes)
    _augment(clone, inputs, info, _receive_inflate_expr, skip_size_check=False)
    return clone


def augment_model_with_bundled_inputs(model, inputs=None, _receive_inflate_expr=None, info=None, skip_size_check=False):
    """Gives a compiled model inputs for `forward`, once: a list of tuples of arguments, or None where `_generate_bundled_inputs_for_forward` makes them.

    Errors: as `bundle_inputs`; RuntimeError for a model that has inputs.

    >>> class Doubled(torch.nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> model = torch.jit.script(Doubled())
    >>> torch.utils.bundled_inputs.augment_model_with_bundled_inputs(model, [(torch.ones(2),)])
    >>> model.get_all_bundled_inputs()
    [(tensor([1., 1.]),)]
    """
    if not isinstance(model, torch.jit.ScriptModule):
        raise TypeError(f"augment_model_with_bundled_inputs: expected a compiled module, got {type(model).__name__}")
    _augment(model, {"forward": inputs}, {"forward": info} if info else {}, _receive_inflate_expr, skip_size_check)


def augment_many_model_functions_with_bundled_inputs(model, inputs, _receive_inflate_expr=None, info=None, skip_size_check=False):
    """Gives several methods of a compiled model inputs, once: lists of tuples of arguments by methods.

    Errors: as `augment_model_with_bundled_inputs`.

    >>> class Doubled(torch.nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> model = torch.jit.script(Doubled())
    >>> torch.utils.bundled_inputs.augment_many_model_functions_with_bundled_inputs(model, {model.forward: [(torch.ones(2),)]})
    >>> model.get_all_bundled_inputs_for_forward()
    [(tensor([1., 1.]),)]
    """
    if not isinstance(model, torch.jit.ScriptModule):
        raise TypeError(f"augment_many_model_functions_with_bundled_inputs: expected a compiled module, got {type(model).__name__}")
    if not inputs:
        raise TypeError("augment_many_model_functions_with_bundled_inputs: expected inputs of at least one method")
    info = {_name_of(f): texts for f, texts in (info or {}).items()}
    _augment(model, {_name_of(f): rows for f, rows in inputs.items()}, info, _receive_inflate_expr, skip_size_check)


def _name_of(function):
    return function if isinstance(function, str) else function.__name__ if hasattr(function, "__name__") else function.name


def _has(model, method):
    return model._find_method(method) is not None


def _augment(model, inputs, info, expressions, skip_size_check):
    if _has(model, "get_bundled_inputs_functions_and_info"):
        raise RuntimeError("bundled inputs: the model has inputs already; bundle_inputs makes a copy with others")
    rows_of_info = ""
    for function, rows in inputs.items():
        _add_inputs(model, function, rows, expressions, skip_size_check)
        texts = ", ".join(map(repr, info.get(function) or []))
        texts = f"[{texts}]" if texts else "torch.jit.annotate(List[str], [])"
        rows_of_info += f"""
    row: Dict[str, List[str]] = {{"get_inputs_function_name": ["get_all_bundled_inputs_for_{function}"], "info": {texts}}}
    all_rows[{function!r}] = row"""
    model.define(f"""
def get_bundled_inputs_functions_and_info(self) -> Dict[str, Dict[str, List[str]]]:
    all_rows: Dict[str, Dict[str, List[str]]] = {{}}{rows_of_info}
    return all_rows
""")
    if "forward" in inputs:
        model.define("""
def get_all_bundled_inputs(self):
    return self.get_all_bundled_inputs_for_forward()
def get_num_bundled_inputs(self) -> int:
    return len(self.get_all_bundled_inputs_for_forward())
""")


def _add_inputs(model, function, rows, expressions, skip_size_check):
    if rows is not None and not isinstance(rows, (list, tuple)):
        raise TypeError(f"bundled inputs: expected a list of tuples of arguments for '{function}', got {type(rows).__name__}")
    generator, stored = f"_generate_bundled_inputs_for_{function}", f"_bundled_inputs_deflated_{function}"
    method = model._find_method(function)
    if method is None:
        raise ValueError(f"bundled inputs: the model has no method '{function}'")
    types = [a.type.annotation_str for a in getattr(model, function).schema.arguments[1:]]
    row_type = f"Tuple[{', '.join(types)}]"
    if _has(model, generator):
        if rows is not None:
            raise ValueError(f"bundled inputs: the model makes inputs of '{function}' itself; expected none, got {len(rows)}")
    else:
        if not rows:
            raise ValueError(f"bundled inputs: expected inputs of '{function}', or a method {generator} that makes them")
        deflated, made = [], []
        for i, row in enumerate(rows):
            if not isinstance(row, tuple):
                raise TypeError(f"bundled inputs: expected a tuple of arguments as each of the inputs of '{function}', got {type(row).__name__}")
            values, texts = [], []
            for k, argument in enumerate(row):
                helper = f"_inflate_helper_for_{function}_input_{i}_arg_{k}"
                value, text = _inflate_expr(argument, f"deflated[{i}][{k}]", helper, model, skip_size_check)
                values.append(value)
                texts.append(text)
            deflated.append(tuple(values))
            made.append(f"({', '.join(texts)},)")
        model._add_attribute(stored, f"List[{row_type}]", deflated)
        expression = f"[{', '.join(made)}]"
        if expressions is not None:
            expressions.append(expression)
        model.define(f"""
def {generator}(self):
    deflated = self.{stored}
    return {expression}
""")
    model.define(f"""
def get_all_bundled_inputs_for_{function}(self):
    rows = self.{generator}()
    assert rows is not None
    return rows
""")


def _inflate_expr(argument, place, helper, model, skip_size_check):
    """The stored form of an argument, and the expression that makes the argument of it."""
    if isinstance(argument, InflatableArg):
        if argument.fmt_fn:
            if argument.fmt not in ("{}", ""):
                raise ValueError(f"bundled inputs: expected fmt='{{}}' beside fmt_fn, got {argument.fmt!r}")
            model.define(textwrap.dedent(argument.fmt_fn.format(helper)))
            return argument.value, f"self.{helper}({place})"
        return argument.value, argument.fmt.format(place)
    if not isinstance(argument, torch.Tensor):
        return argument, place
    if argument.numel() * argument.element_size() <= MAX_RAW_TENSOR_SIZE and argument.untyped_storage().nbytes() <= MAX_RAW_TENSOR_SIZE or skip_size_check:
        return argument, place
    if argument.is_contiguous() and argument.numel() <= MAX_RAW_TENSOR_SIZE:
        return argument.clone(), place
    # One value for all elements, in a common order of them.
    for memory_format, name in ((torch.contiguous_format, "contiguous_format"), (torch.channels_last, "channels_last")):
        if argument.is_contiguous(memory_format=memory_format) and argument.numel() and bool((argument == argument.flatten()[0]).all()):
            return argument.flatten()[0].clone().expand(argument.size()), f"{place}.contiguous(memory_format=torch.{name})"
    if argument.untyped_storage().nbytes() <= MAX_RAW_TENSOR_SIZE * argument.element_size():
        return argument, place  # few elements in memory, many in sight
    raise RuntimeError(
        f"bundled inputs: expected small tensors, tensors of one value, or InflatableArg; Bundled input argument {place} has shape "
        f"{tuple(argument.shape)} and strides {argument.stride()}"
    )


def _get_bundled_inputs_attributes_and_methods(model):
    """The methods and the attributes that inputs have added to a model."""
    methods, attributes = [], []
    if _has(model, "get_all_bundled_inputs"):
        methods += ["get_all_bundled_inputs", "get_num_bundled_inputs", "run_on_bundled_input"]
    if _has(model, "get_bundled_inputs_functions_and_info"):
        methods.append("get_bundled_inputs_functions_and_info")
        for function in model.get_bundled_inputs_functions_and_info():
            methods += [f"get_all_bundled_inputs_for_{function}", f"_generate_bundled_inputs_for_{function}"]
            stored = f"_bundled_inputs_deflated_{function}"
            if not hasattr(model, stored):
                continue
            attributes.append(stored)
            for i, row in enumerate(getattr(model, stored)):
                for k in range(len(row)):
                    if _has(model, helper := f"_inflate_helper_for_{function}_input_{i}_arg_{k}"):
                        methods.append(helper)
    return methods, attributes


def _without(model, methods, attributes):
    """A copy of a model that lacks methods and attributes."""
    from ..jit._module import copy_without

    return copy_without(model, methods, attributes)
