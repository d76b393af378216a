"""Answers of devices other than the CPU while none of them is built in."""


class NotBuiltError(AssertionError, RuntimeError):
    """A device was used that this build has no backend for."""


def refuse(device):
    """Raises RuntimeError for CUDA, as PyTorch does where there is no driver, else NotBuiltError: `device` is the name to write."""
    raise (RuntimeError if device == "CUDA" else NotBuiltError)(
        f"Torch not compiled with {device} enabled: this build of Cresset runs on the CPU; ask torch.{device.lower()}.is_available() before using the device"
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


def refusing_class(device, name, module, text, members=""):
    """A class that can be named and tested against, and of which there are no objects. `members` are its methods, in one text."""

    def __new__(cls, *args, **kwargs):
        if str(kwargs.get("device", args[0] if args else "")) == "cpu":
            raise RuntimeError(f"{name}: the CPU has none beside the program itself, expected the device of an accelerator")
        refuse(device)

    methods = {member: refusing(device, member, f"A method of {name}.") for member in members.split()}
    return type(name, (), methods | {"__new__": __new__, "__module__": module, "__doc__": _refusal(device, text)})


QUEUE = "device query record_event synchronize wait_event wait_stream"
MARK = "elapsed_time from_ipc_handle ipc_handle query record synchronize wait"


def answering(device, name, text, value):
    """A function `name` that says what holds where there is no such device."""

    def function(*args, **kwargs):
        return value() if callable(value) else value

    function.__name__ = function.__qualname__ = name
    shown = "" if value is None else f"    {value() if callable(value) else value!r}\n"
    function.__doc__ = f"{text}\n\n    >>> torch.{device.lower()}.{name}({'0' if name.startswith('manual_seed') else ''})\n{shown}    "
    return function


_ANSWERS = {
    "is_available": ("Whether there is such a device to compute on.", False),
    "is_initialized": ("Whether the device has been started in this process.", False),
    "is_bf16_supported": ("Whether the device computes in bfloat16.", False),
    "device_count": ("How many such devices there are.", 0),
    "empty_cache": ("Gives cached memory of the device back; there is none.", None),
    "manual_seed": ("Seeds the device's generator, if there is one.", None),
    "manual_seed_all": ("Seeds the generators of all such devices.", None),
    "seed": ("Seeds the device's generator, if there is one, with a random number.", None),
    "seed_all": ("Seeds the generators of all such devices with random numbers.", None),
    "memory_allocated": ("Memory in bytes that tensors on the device use.", 0),
    "max_memory_allocated": ("The most memory in bytes that tensors on the device used.", 0),
    "memory_reserved": ("Memory in bytes that the device's allocator holds.", 0),
    "max_memory_reserved": ("The most memory in bytes that the device's allocator held.", 0),
    "get_rng_state_all": ("The states of the generators of all such devices.", list),
}


def namespace(device, module, answers, refusals, classes):
    """The functions and classes of a module for a device that is not built in: names by kind, each list in one text."""
    made = {name: answering(device, name, *_ANSWERS[name]) for name in answers.split()}
    made |= {name: refusing(device, name, f"A function of {device} devices.") for name in refusals.split()}
    made |= {name: refusing_class(device, name, module, f"A class of {device} devices.") for name in classes.split()}
    for name, thing in made.items():
        thing.__module__ = module
    return made


Stream = refusing_class("accelerator", "Stream", "cresset", "An ordered queue of work on the accelerator.",
                        f"{QUEUE} device_index device_type is_capturing native_handle stream_id")  # fmt: skip
Event = refusing_class("accelerator", "Event", "cresset", "A mark in a stream of the accelerator.", f"{MARK} device event_id")
