"""Which modules a program is in, forward and backward."""

import weakref

import cresset as torch

from ..autograd import Variable
from ..autograd.graph import register_multi_grad_hook
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_flatten

__all__ = ["ModuleTracker"]


def _recorded(tree):
    return [t for t in tree_flatten(tree)[0] if isinstance(t, torch.Tensor) and t.requires_grad]


class ModuleTracker:
    """A context in which `parents` is the set of the names of the modules that are running, with "Global", and `is_bw` tells whether backward is.

    The module called first has the name of its class, those within it the paths from there. In backward a module is entered when the gradients of its
    results are there, and left when those of its arguments are.

    >>> class Inner(nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents))
    ...         return x
    >>> with torch.utils.module_tracker.ModuleTracker() as tracker:
    ...     _ = nn.Sequential(Inner())(torch.ones(1))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self):
        self.parents, self.is_bw = {"Global"}, False
        self._names, self._visited = weakref.WeakKeyDictionary(), weakref.WeakSet()
        self._handles, self._waits_for_end = [], False

    def _name_of(self, module):
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._visited:
            self._visited.add(module)
            for part, child in module.named_children():
                self._names[child] = f"{name}.{part}"
                self._name_of(child)  # lists and dictionaries of modules are entered by no call
        return name

    def _reset(self):
        self.parents, self.is_bw, self._waits_for_end = {"Global"}, False, False

    def _entered_in_backward(self, name):
        def enter(*_):
            if not self._waits_for_end:
                self._waits_for_end = True
                Variable._execution_engine.queue_callback(self._reset)
            if not self.is_bw:
                self.parents, self.is_bw = {"Global"}, True
            self.parents.add(name)

        return enter

    def _before(self, module, args):
        name = self._name_of(module)
        self.parents.add(name)
        if torch.is_grad_enabled() and (tensors := _recorded(args)):
            self._handles.append(register_multi_grad_hook(tensors, lambda *_: self.parents.discard(name)))

    def _after(self, module, args, output):
        name = self._name_of(module)
        self.parents.discard(name)
        if torch.is_grad_enabled() and (tensors := _recorded(output)):
            self._handles.append(register_multi_grad_hook(tensors, self._entered_in_backward(name)))

    def __enter__(self):
        self._modules = register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after, always_call=True)
        return self

    def __exit__(self, *error):
        for handle in (*self._modules, *self._handles):
            handle.remove()
        self._handles = []
