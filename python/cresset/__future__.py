"""torch.__future__: how modules convert their parameters.

By default `Module.to` and the like give a parameter other memory, and make a new parameter where that cannot be.

    >>> torch.__future__.set_swap_module_params_on_conversion(True)
    >>> torch.__future__.get_swap_module_params_on_conversion()
    True
    >>> torch.__future__.set_swap_module_params_on_conversion(False)
"""

_settings = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value):
    """Whether converting a module makes new parameters, where it would otherwise give those there are other memory.

    >>> torch.__future__.set_overwrite_module_params_on_conversion(False)
    """
    _settings["overwrite"] = value


def get_overwrite_module_params_on_conversion():
    """The value given to `set_overwrite_module_params_on_conversion`.

    >>> torch.__future__.get_overwrite_module_params_on_conversion()
    False
    """
    return _settings["overwrite"]


def set_swap_module_params_on_conversion(value):
    """Whether converting a module, and loading a state into it, exchanges its parameters with the new tensors by `utils.swap_tensors`.

    References to the parameters, those of optimizers for instance, then see the new ones. It goes before `overwrite`.

    >>> torch.__future__.set_swap_module_params_on_conversion(False)
    """
    _settings["swap"] = value


def get_swap_module_params_on_conversion():
    """The value given to `set_swap_module_params_on_conversion`.

    >>> torch.__future__.get_swap_module_params_on_conversion()
    False
    """
    return _settings["swap"]
