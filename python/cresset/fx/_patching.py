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


def _create_wrapped_func(orig_fn):
    return _wrapped_builtin(orig_fn) if type(orig_fn) is types.BuiltinFunctionType else _wrapped(orig_fn)


def _wrapped(orig_fn):
    @functools.wraps(orig_fn)
    def wrapped(*args, **kwargs):
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return wrapped


_wrapped_builtin = functools.lru_cache(None)(_wrapped)  # those of Python's own modules, of which each trace needs all


def _create_wrapped_method(cls, name):
    orig_fn = getattr(cls, name)

    @functools.wraps(orig_fn)
    def wrapped(*args, **kwargs):
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


def _patch_wrapped_functions(patcher, functions, methods):
    for (_, name), frame_dict in dict(functions).items():
        orig_fn = frame_dict[name] if name in frame_dict else getattr(builtins, name, None)
        if orig_fn is None:
            continue  # the module has forgotten the name
        if not getattr(orig_fn, "__fx_already_patched", False):
            patcher.patch(frame_dict, name, _create_wrapped_func(orig_fn))
    for cls, name in methods:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


def _autowrap_check(patcher, frame_dict, function_ids):
    """Makes calls of the functions with these ids nodes wherever a dictionary of globals has them."""
    if not patcher.visit_once(frame_dict):
        return
    for name, value in list(frame_dict.items()):
        if id(value) in function_ids and not name.startswith("_") and callable(value):
            patcher.patch(frame_dict, name, _create_wrapped_func(value))
