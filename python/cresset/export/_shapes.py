"""Sizes of the arguments of an exported program: which are symbols, what is known of them."""

import cresset as torch

MAX_RESTARTS = 32
WRAPPERS = ()


class _NoRestart(Exception):
    pass


class Shapes:
    """The sizes of one export."""

    restart = _NoRestart

    def __init__(self, module, args, kwargs, dynamic_shapes, names, leaves):
        self.are_dynamic = False

    def new_environment(self):
        return None

    def fake(self, recorder, name, leaf, node):
        """The stand-in of an argument while the module runs."""
        if not isinstance(leaf, torch.Tensor):
            return leaf
        fake = recorder.mode.from_tensor(leaf)
        if id(fake) in recorder.nodes:  # the example has it twice; the program may be called with two
            fake = recorder.mode.from_tensor(leaf.detach().requires_grad_(leaf.requires_grad))
        recorder.know(fake, node)
        return fake

    def ran(self, recorder): ...

    def check(self): ...

    def constraints(self):
        return {}

    def guards(self):
        return []


# ---- programs that are loaded -----------------------------------------------------------------------------------------------


def ranges_from(place):
    """The ranges of the symbols of a file."""
    return {}


def loaded_mode(ranges):
    """The mode of the fake tensors of a program that is loaded."""
    from .._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode(allow_non_fake_inputs=True)


def loaded_size(mode, place):
    """A size of a file: a number; of an expression the example's."""
    kind, value = place.choice()
    if kind == "as_int":
        return value.of(int)
    hint = value.get("hint")
    return hint.at("as_int").of(int) if hint is not None else 2


def loaded_real(mode, place):
    """A symbolic number of a file."""
    return 0.0


def loaded_truth(mode, place):
    """A symbolic truth value of a file."""
    return True


def loaded_guards(graph, signature, ranges):
    """Checks of the arguments of a program that was loaded."""
    return []
