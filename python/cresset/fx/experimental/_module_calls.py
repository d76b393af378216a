"""Where in a module a program is while it is traced: which submodules are running, and which function of the front end."""

import collections
import contextlib

from ... import nn
from ...overrides import TorchFunctionMode


def type_name(cls):
    """The name of a class as files have it: PyTorch's for its own."""
    module = cls.__module__
    return f"{'torch' + module[7:] if module == 'cresset' or module.startswith('cresset.') else module}.{cls.__qualname__}"


@contextlib.contextmanager
def calls_noted(root, around):
    """In its scope `around(path, number of earlier calls, module, args, kwargs, call)` gives the result of a call of a module within `root`, by `call()`."""
    paths = {}
    for path, module in root.named_modules():
        paths.setdefault(module, path)
    calls, original = {}, nn.Module.__call__

    def noted(module, *args, **kwargs):
        path = paths.get(module)
        if path is None:
            return original(module, *args, **kwargs)
        earlier = calls.get(path, 0)
        calls[path] = earlier + 1
        return around(path, earlier, module, args, kwargs, lambda: original(module, *args, **kwargs))

    nn.Module.__call__ = noted
    try:
        yield
    finally:
        nn.Module.__call__ = original


class _Functions(TorchFunctionMode):
    """Notes the outermost function of the front end that runs, and its number among those of its name."""

    def __init__(self, place):
        super().__init__()
        self.place, self.counts = place, collections.Counter()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = func.__name__
        self.counts[name] += 1
        kind = _KINDS.get(type(func).__name__, type(func).__name__)
        self.place.function = f"{name}_{self.counts[name]}", f"{kind}.{name}"
        return func(*args, **(kwargs or {}))


_KINDS = {"Op": "builtin_function_or_method", "OpMethod": "method_descriptor"}  # PyTorch's classes of functions and methods


class Place:
    """The modules and the function that are running, which nodes are noted with.

    Args:
        root: the module whose parts are noted.
        functions: whether functions are, too.
    """

    def __init__(self, root, functions):
        self.root, self.functions = root, functions
        self.stack, self.function = [], None

    @contextlib.contextmanager
    def followed(self):
        """In its scope the place is where the program is."""
        with calls_noted(self.root, self._around), _Functions(self) if self.functions else contextlib.nullcontext():
            yield

    def _around(self, path, earlier, module, args, kwargs, call):
        self.stack.append((path if not earlier else f"{path}@{earlier}", (path, type_name(type(module)))))
        try:
            return call()
        finally:
            self.stack.pop()

    def note(self, node):
        """Notes a node of a call or an attribute."""
        if node.op not in ("call_function", "get_attr"):
            return
        node.meta["nn_module_stack"] = collections.OrderedDict(self.stack)
        if node.op == "call_function" and self.function is not None:
            node.meta["torch_fn"] = self.function
