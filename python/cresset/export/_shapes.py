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
        """What stands for an argument while the module runs."""
        if not isinstance(leaf, torch.Tensor):
            return leaf
        fake = recorder.mode.from_tensor(leaf)
        recorder.know(fake, node)
        return fake

    def ran(self, recorder): ...

    def check(self): ...

    def constraints(self):
        return {}

    def guards(self):
        return []
