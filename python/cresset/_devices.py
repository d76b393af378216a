"""What devices other than the CPU say while none of them is built in."""


class NotBuiltError(AssertionError, RuntimeError):
    """A device was used that this build has no backend for."""


def refuse(device):
    """Raises RuntimeError for CUDA, as PyTorch does where there is no driver, else NotBuiltError: `device` is the name to write."""
    raise (RuntimeError if device == "CUDA" else NotBuiltError)(
        f"Torch not compiled with {device} enabled: this build of Cresset runs on the CPU; "
        f"ask torch.{device.lower()}.is_available() before using the device"
    )


def _refusal(device, text):
    return f"""{text} Raises a RuntimeError while no {device} backend is built in.

    >>> torch.{device.lower()}.is_available()
    False
    """


def refusing(device, name, text):
    """A function `name` that refuses, whatever it is given."""

    def function(*args, **kwargs):
        refuse(device)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _refusal(device, text)
    return function


def refusing_class(device, name, module, text):
    """A class that can be named and tested against, and of which there are no objects."""

    def __new__(cls, *args, **kwargs):
        refuse(device)

    return type(name, (), {"__new__": __new__, "__module__": module, "__doc__": _refusal(device, text)})
