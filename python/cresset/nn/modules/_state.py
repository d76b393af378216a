"""How a module's state goes into a dictionary and comes back."""

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Mapping

import cresset as torch
from cresset import Tensor
from cresset import __future__ as _future

from ..parameter import Parameter, is_lazy

_EXTRA, _METADATA, _PUBLIC = "_extra_state", "_metadata", "_from_public_api"


def _with_metadata(values, metadata):
    """An ordered copy of a dictionary that carries what states carry beside their tensors."""
    state = OrderedDict(values)
    if metadata is not None:
        state.__dict__[_METADATA] = metadata
    return state


def _run(hooks, *args):
    for hook in hooks.values():
        hook(*args)


def _loaded_as(param, value, assign):
    """The tensor that a parameter or buffer is swapped with."""
    made = param.module_load(value, assign=assign)
    if made is param or made is value:
        raise RuntimeError("module_load returned one of its arguments; return a new tensor, their detach() for instance")
    if isinstance(param, Parameter):
        made = made if isinstance(made, Parameter) else Parameter(made, requires_grad=param.requires_grad)
        made.requires_grad_(param.requires_grad)
    return made


class StateMixin:
    """`state_dict`, `load_state_dict` and their hooks, for Module."""

    def get_extra_state(self):
        """Value saved beside tensors under "_extra_state"; modules that define it define `set_extra_state` too."""
        raise RuntimeError(f"{type(self).__name__}: get_extra_state is called but not defined; define both it and set_extra_state")

    def set_extra_state(self, state):
        """Take back what `get_extra_state` gave."""
        raise RuntimeError(f"{type(self).__name__}: set_extra_state is called but not defined; define both it and get_extra_state")

    def _has(self, method):
        return getattr(type(self), method) is not getattr(StateMixin, method)

    def _saved(self):
        """The module's own tensors that its state holds."""
        kept = {n: b for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set}
        return {n: v for n, v in (*self._parameters.items(), *kept.items()) if v is not None}

    # ---- saving -----------------------------------------------------------------------------------------------------

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Put this module's own tensors into `destination`; classes with other state override it."""
        for name, tensor in self._saved().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._has("get_extra_state"):
            destination[prefix + _EXTRA] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """An ordered dictionary of every parameter and persistent buffer, sharing their memory; with `keep_vars` the objects themselves.

        >>> list(nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn("state_dict: positional arguments are deprecated; give destination=, prefix= and keep_vars= by name", FutureWarning, stacklevel=2)
        for name, value in zip(("destination", "prefix", "keep_vars"), args, strict=False):
            destination = value if name == "destination" and destination is None else destination
            prefix = value if name == "prefix" and prefix == "" else prefix
            keep_vars = value if name == "keep_vars" and keep_vars is False else keep_vars
        if destination is None:
            destination = _with_metadata({}, OrderedDict())
        facts = {"version": self._version}
        getattr(destination, _METADATA, {})[prefix[:-1]] = facts
        _run(self._state_dict_pre_hooks, self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars=keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for post in self._state_dict_hooks.values():
            out = post(self, destination, prefix, facts)
            if out is not None and getattr(post, _PUBLIC, False):
                raise RuntimeError("a post-hook of state_dict returns None")
            destination = destination if out is None else out
        return destination

    # ---- loading ----------------------------------------------------------------------------------------------------

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Take this module's own tensors out of `state_dict`; classes that changed their layout override it."""
        _run(self._load_state_dict_pre_hooks, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        local = self._saved()
        for name, param in local.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_one(name, key, param, state_dict[key], assign)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA
        if self._has("set_extra_state"):
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, dot, _ = key[len(prefix) :].partition(".")
                    if first not in (self._modules if dot else local):
                        unexpected_keys.append(key)

    def _load_one(self, name, key, param, value, assign):
        """Put a value into a parameter or buffer; what is wrong with it, if it does not go."""
        if not isinstance(value, Tensor):
            return f'load_state_dict: copying the parameter "{key}", expected a tensor from the checkpoint, got {type(value).__name__}'
        lazy = is_lazy(param)
        if not lazy and param.dim() == 0 and value.dim() == 1 and value.shape[0] == 1:
            value = value[0]  # numbers were once saved with one dimension
        if not lazy and value.shape != param.shape:
            return f"size mismatch for {key}: got {value.shape} in the checkpoint, expected {param.shape} as in the model."
        if not lazy and not assign and param.is_meta and not value.is_meta:
            warnings.warn(
                f"for {key}: the parameter is on the meta device and has no memory to copy the checkpoint's values to; "
                "load_state_dict(assign=True) takes the checkpoint's tensors, to_empty(device=...) makes memory",
                stacklevel=2,
            )
        try:
            with torch.no_grad():
                if _future.get_swap_module_params_on_conversion() and not lazy:
                    self._swap(name, param, _loaded_as(param, value, assign))
                elif assign:
                    if isinstance(param, Parameter):
                        value = value if isinstance(value, Parameter) else Parameter(value, requires_grad=param.requires_grad)
                        value.requires_grad_(param.requires_grad)
                    setattr(self, name, value)
                else:
                    param.copy_(value)
        except Exception as error:
            return f'load_state_dict: copying the parameter "{key}" of shape {param.shape} from one of {value.shape}: {error}'
        return None

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy tensors out of a dictionary like that of `state_dict` into this module and those below it.

        With `strict` every key must be here and there. `assign=True` takes the tensors themselves instead of copying. Returns the
        missing and the unexpected keys. Raises TypeError for what is no mapping, RuntimeError that lists every missing, unexpected
        and wrongly shaped key; nothing has been loaded then.

        >>> nn.Linear(2, 1).load_state_dict(nn.Linear(2, 1).state_dict())
        <All keys matched successfully>
        """
        from .module import _IncompatibleKeys

        if not isinstance(state_dict, Mapping):
            raise TypeError(f"expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, errors = [], [], []
        metadata = getattr(state_dict, _METADATA, None)
        state_dict = _with_metadata(state_dict, metadata)
        undo = self._way_back() if self._looks_wrong(state_dict, strict) else None
        self._load_below(state_dict, "", metadata, assign, (missing, unexpected, errors))
        if strict:
            for keys, what in ((unexpected, "Unexpected"), (missing, "Missing")):
                if keys:
                    errors.insert(0, f"{what} key(s) in state_dict: {', '.join(f'{chr(34)}{k}{chr(34)}' for k in keys)}.")
        if errors:
            if undo:
                undo()
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return _IncompatibleKeys(missing, unexpected)

    def _load_below(self, state, prefix, metadata, assign, problems):
        """Load this module and those below it; what is wrong goes into the three lists of `problems`."""
        from .module import _IncompatibleKeys

        facts = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
        if assign:
            facts["assign_to_params_buffers"] = True
        self._load_from_state_dict(state, prefix, facts, True, *problems)
        for name, child in self._modules.items():
            if child is not None:
                path = f"{prefix}{name}."
                child._load_below({key: value for key, value in state.items() if key.startswith(path)}, path, metadata, assign, problems)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, _IncompatibleKeys(*problems[:2])) is not None:
                raise AssertionError("load_a post-hook of state_dict returns None: change the lists of keys in place")

    def _looks_wrong(self, state_dict, strict):
        """Whether loading will, as far as names and shapes tell, end in an error."""
        own = {**dict(self.named_parameters(remove_duplicate=False)), **dict(self.named_buffers(remove_duplicate=False))}
        if strict and own.keys() != state_dict.keys():
            return True
        pairs = ((own.get(key), value) for key, value in state_dict.items() if isinstance(value, torch.Tensor))
        return any(t is not None and not is_lazy(t) and not is_lazy(value) and t.shape != value.shape for t, value in pairs)

    def _way_back(self):
        """A function that makes every parameter and buffer what it is now."""
        tables = [(table, dict(table)) for module in self.modules() for table in (module._parameters, module._buffers)]
        values = [(t, t.detach().clone()) for _, names in tables for t in names.values() if t is not None and not is_lazy(t)]

        def undo():
            for table, names in tables:
                if list(table) != list(names):  # compiled modules keep theirs
                    table.clear()
                table.update(names)
            for t, value in values:
                t.detach().copy_(value)

        return undo

    # ---- hooks ------------------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook):
        """Call `hook(module, prefix, keep_vars)` before `state_dict` collects."""
        from .module import _register

        return _register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict` has collected; it may change the dictionary."""
        from .module import _register

        setattr(hook, _PUBLIC, True)
        return _register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        """As `register_state_dict_post_hook`, for hooks that may return another dictionary."""
        from .module import _register

        if getattr(hook, _PUBLIC, False):
            raise RuntimeError("the hook was registered as a post-hook already: use another function")
        return _register(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` before loading."""
        return self._register_load_state_dict_pre_hook(hook, True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        from .module import _register

        return _register(self._load_state_dict_pre_hooks, _Bound(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook):
        """Call `hook(module, incompatible_keys)` after loading; it may change the two lists in place."""
        from .module import _register

        return _register(self._load_state_dict_post_hooks, hook)


class _Bound:
    """A hook with its module, which it does not keep alive, in front; copies of the module get a hook of their own."""

    def __init__(self, hook, module):
        self.hook, self.module = hook, weakref.ref(module)

    def __call__(self, *args):
        module = self.module()
        if module is None:
            raise RuntimeError("load_state_dict: the module of a hook is gone")
        return self.hook(module, *args)

    def __getstate__(self):
        return {"hook": self.hook, "module": self.module()}

    def __setstate__(self, state):
        self.__init__(state["hook"], state["module"])
