"""Files of the lite interpreter: archives that hold the bytecode of their methods. `ScriptModule._save_for_lite_interpreter` writes them.

>>> import io, torch.jit.mobile
>>> file = io.BytesIO(torch.jit.script(nn.ReLU())._save_to_buffer_for_lite_interpreter())
>>> module = torch.jit.mobile._load_for_lite_interpreter(file)
>>> module.forward(torch.tensor([-1.0, 1.0]))
tensor([0., 1.])
"""

import re

import _cresset_graph as _graph

from . import _files, _module


class _Operator:
    """An operator that a file calls: `num_schema_args`, how many arguments its calls give, or None."""

    def __init__(self, given):
        self.num_schema_args = given if given >= 0 else None


class LiteScriptModule:
    """A module whose methods run their bytecode.

    Errors of `forward` and `run_method`: AttributeError, there is no such method; those of the method.

    >>> import io
    >>> file = io.BytesIO(torch.jit.script(nn.ReLU())._save_to_buffer_for_lite_interpreter())
    >>> module = torch.jit.mobile._load_for_lite_interpreter(file)
    >>> module(torch.tensor([-1.0, 2.0])), module.find_method("forward")
    (tensor([0., 2.]), True)
    """

    def __init__(self, handle):
        self._c = handle

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def forward(self, *args, **kwargs):
        """Runs the method `forward`."""
        return self._method("forward")(*args, **kwargs)

    def run_method(self, method_name, *args, **kwargs):
        """Runs the method of the name.

        >>> import io
        >>> file = io.BytesIO(torch.jit.script(nn.ReLU())._save_to_buffer_for_lite_interpreter())
        >>> torch.jit.mobile._load_for_lite_interpreter(file).run_method("forward", torch.tensor([-2.0]))
        tensor([0.])
        """
        return self._method(method_name)(*args, **kwargs)

    def find_method(self, method_name):
        """Whether there is a method of the name."""
        return method_name in self._methods()

    def _methods(self):
        return _graph.script_class_info(_graph.script_object_class(self._c))["methods"]

    def _method(self, name):
        if name not in self._methods():
            raise AttributeError(f"Method '{name}' is not defined.", name=name, obj=self)
        return _module.ScriptMethod(_graph.script_class_method(_graph.script_object_class(self._c), name), self)


def _load_for_lite_interpreter(f, map_location=None):
    """The module in a file of the lite interpreter: a path, or an object with `read`. `map_location` is a device.

    Errors: ValueError for a path that is not there and a map_location that is no device, RuntimeError for a damaged file, one without bytecode or of a later
    version, or with operators that are lacking, all named.
    """
    what = "torch.jit.mobile._load_for_lite_interpreter"
    handle, _ = _graph.script_load(_files.source_of(f, what), _files.device_text(map_location, what), [], True)
    return LiteScriptModule(handle)


def _facts(f):
    return _graph.script_lite_facts(_files.source_of(f, "torch.jit.mobile"))


def _get_model_bytecode_version(f_input):
    """The version of the bytecode in a file: a path, or an object with `read`. Errors: as `_load_for_lite_interpreter`.

    >>> import io
    >>> torch.jit.mobile._get_model_bytecode_version(io.BytesIO(torch.jit.script(nn.ReLU())._save_to_buffer_for_lite_interpreter()))
    8
    """
    return _facts(f_input)[0]


def _get_model_ops_and_info(f_input):
    """The operators that a file calls, by name, each with the number of arguments that calls give. Errors: as `_load_for_lite_interpreter`.

    >>> import io
    >>> list(torch.jit.mobile._get_model_ops_and_info(io.BytesIO(torch.jit.script(nn.ReLU())._save_to_buffer_for_lite_interpreter())))
    ['aten::relu']
    """
    return {name: _Operator(given) for name, given in _facts(f_input)[1].items()}


def _get_mobile_model_contained_types(f_input):
    """The names of the types that a file makes lists, dicts and tests of, as a set. Errors: as `_load_for_lite_interpreter`.

    >>> import io
    >>> sorted(torch.jit.mobile._get_mobile_model_contained_types(io.BytesIO(torch.jit.script(nn.ReLU())._save_to_buffer_for_lite_interpreter())))
    []
    """
    return {word for text in _facts(f_input)[2] for word in re.findall(r"[\w.]+", text)}
