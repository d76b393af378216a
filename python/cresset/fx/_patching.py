"""Names that stand for something else while a function is traced."""

import builtins
import functools
import types

from .proxy import Proxy


class _Patcher:
    """Puts functions in the place of others, and the others back at the end of a `with` block."""

    def __init__(self):
        self.undone, self.visited = [], set()

    def patch(self, frame_dict, name, new_fn, deduplicate=True):
        """Replaces an entry of a dictionary of globals; a builtin that is not among them is hidden by a new entry."""
        self._mark(new_fn, deduplicate)
        if name in frame_dict:
            before = frame_dict[name]
            self.undone.append(lambda: frame_dict.__setitem__(name, before))
        else:
            self.undone.append(lambda: frame_dict.pop(name, None))
        frame_dict[name] = new_fn

    def patch_method(self, cls, name, new_fn, deduplicate=True):
        """Replaces an attribute of a class."""
        self._mark(new_fn, deduplicate)
        before = cls.__dict__.get(name)
        self.undone.append((lambda: delattr(cls, name)) if before is None else (lambda: setattr(cls, name, before)))
        setattr(cls, name, new_fn)

    def _mark(self, function, deduplicate):
        function.__fx_already_patched = deduplicate

    def visit_once(self, thing):
        """Whether this is the first call with a thing."""
        if id(thing) in self.visited:
            return False
        self.visited.add(id(thing))
        return True

    def revert_all_patches(self):
        """Puts everything back."""
        while self.undone:
            self.undone.pop()()
        self.visited.clear()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.revert_all_patches()


def _find_proxy(*values):
    """A proxy among arguments and what they contain; None where there is none."""
    for value in values:
        if isinstance(value, Proxy):
            return value
        if isinstance(value, (tuple, list)):
            found = _find_proxy(*value)
        elif isinstance(value, dict):
            found = _find_proxy(*value.values())
        else:
            continue
        if found is not None:
            return found
    return None


def _noted_with_proxies(function, op, target):
    """The function, which calls with proxies do not run: they add a node."""

    @functools.wraps(function)
    def noted(*args, **kwargs):
        found = _find_proxy(args, kwargs)
        if found is None:
            return function(*args, **kwargs)
        made = found.tracer.create_proxy(op, target, args, kwargs)
        if op == "call_function":
            made.node.meta["is_wrapped"] = True
        return made

    return noted


_noted_builtin = functools.lru_cache(None)(_noted_with_proxies)  # those of Python's own modules, of which each trace needs all


def _create_wrapped_func(orig_fn):
    make = _noted_builtin if type(orig_fn) is types.BuiltinFunctionType else _noted_with_proxies
    return make(orig_fn, "call_function", orig_fn)


def _create_wrapped_method(cls, name):
    return _noted_with_proxies(getattr(cls, name), "call_method", name)


def _patch_all(patcher, functions, methods):
    for (_, name), space in list(functions.items()):
        present = space.get(name, vars(builtins).get(name))  # None where the module has forgotten the name
        if present is not None and not getattr(present, "__fx_already_patched", False):
            patcher.patch(space, name, _create_wrapped_func(present))
    for owner, name in methods:
        patcher.patch_method(owner, name, _create_wrapped_method(owner, name))


def _autowrap_check(patcher, frame_dict, function_ids):
    """Makes calls of the functions with these ids nodes wherever a dictionary of globals has them."""
    if patcher.visit_once(frame_dict):
        meant = {name: value for name, value in frame_dict.items() if id(value) in function_ids and callable(value) and not name.startswith("_")}
        for name, function in meant.items():
            patcher.patch(frame_dict, name, _create_wrapped_func(function))
