"""Module, the base of every layer: its parameters, buffers and children, its hooks, its state, and how it is called."""

import warnings
from collections import OrderedDict, namedtuple
from typing import Any, TypeVar

import cresset as torch
from cresset import Tensor
from cresset import __future__ as _future

from ...utils._python_dispatch import is_traceable_wrapper_subclass
from ...utils.hooks import BackwardHook, RemovableHandle
from ..parameter import Buffer, Parameter, is_lazy
from ._state import StateMixin

_global_backward_pre_hooks = OrderedDict()
_global_backward_hooks = OrderedDict()
_global_is_full_backward_hook = None
_global_forward_pre_hooks = OrderedDict()
_global_forward_hooks = OrderedDict()
_global_forward_hooks_always_called = OrderedDict()
_global_forward_hooks_with_kwargs = OrderedDict()
_global_buffer_registration_hooks = OrderedDict()
_global_module_registration_hooks = OrderedDict()
_global_parameter_registration_hooks = OrderedDict()


_EXTRA_STATE_KEY_SUFFIX = "_extra_state"  # of the name that get_extra_state has in a state_dict


def _register(table, hook, *, prepend=False, marks=()):
    """Put a hook into a table, and its number into the tables of `marks` that are wanted."""
    handle = RemovableHandle(table, extra_dict=[mark for mark, _ in marks])
    table[handle.id] = hook
    for mark, wanted in marks:
        if wanted:
            mark[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook):
    """Call `hook(module, name, buffer)` whenever any module registers a buffer; what it returns takes the buffer's place.

    >>> from cresset.nn.modules import module
    >>> handle = module.register_module_buffer_registration_hook(lambda m, name, b: print(name))
    >>> norm = nn.BatchNorm1d(2)
    running_mean
    running_var
    num_batches_tracked
    >>> handle.remove()
    """
    return _register(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    """Call `hook(module, name, submodule)` whenever any module registers a child; what it returns takes the child's place.

    >>> from cresset.nn.modules import module
    >>> handle = module.register_module_module_registration_hook(lambda m, name, child: print(name))
    >>> model = nn.Sequential(nn.ReLU())
    0
    >>> handle.remove()
    """
    return _register(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """Call `hook(module, name, parameter)` whenever any module registers a parameter; what it returns takes its place.

    >>> from cresset.nn.modules import module
    >>> handle = module.register_module_parameter_registration_hook(lambda m, name, p: print(name))
    >>> layer = nn.Linear(2, 2)
    weight
    bias
    >>> handle.remove()
    """
    return _register(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook):
    """Call `hook(module, args)` before the forward of every module; what it returns are the arguments instead.

    >>> from cresset.nn.modules import module
    >>> handle = module.register_module_forward_pre_hook(lambda m, args: print(args))
    >>> y = nn.Identity()(torch.ones(1))
    (tensor([1.]),)
    >>> handle.remove()
    """
    return _register(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call `hook(module, args, output)` after the forward of every module; what it returns is the output instead.

    With `with_kwargs` the hook takes (module, args, kwargs, output); with `always_call` it also runs when forward raises.

    >>> from cresset.nn.modules import module
    >>> handle = module.register_module_forward_hook(lambda m, args, out: print(type(m).__name__))
    >>> y = nn.Identity()(torch.ones(1))
    Identity
    >>> handle.remove()
    """
    marks = ((_global_forward_hooks_with_kwargs, with_kwargs), (_global_forward_hooks_always_called, always_call))
    return _register(_global_forward_hooks, hook, marks=marks)


def _global_backward(full):
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError("hooks on the backward of every module are either all full ones or all of the old kind")
    _global_is_full_backward_hook = full


def register_module_backward_hook(hook):
    """The old kind of `register_module_full_backward_hook`: it sees the gradients of the last operator of the module only."""
    _global_backward(False)
    return _register(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook):
    """Call `hook(module, grad_output)` before the backward of every module.

    >>> from cresset.nn.modules import module
    >>> handle = module.register_module_full_backward_pre_hook(lambda m, out: print(out[0]))
    >>> nn.Identity()(torch.ones(1, requires_grad=True)).sum().backward()
    tensor([1.])
    >>> handle.remove()
    """
    return _register(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook):
    """Call `hook(module, grad_input, grad_output)` when the gradients of every module's inputs are known.

    >>> from cresset.nn.modules import module
    >>> handle = module.register_module_full_backward_hook(lambda m, into, out: print(out[0]))
    >>> nn.Identity()(torch.ones(1, requires_grad=True)).sum().backward()
    tensor([1.])
    >>> handle.remove()
    """
    _global_backward(True)
    return _register(_global_backward_hooks, hook)


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self):
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


_Forward = namedtuple("_Forward", "hook id")


def _forward_unimplemented(self, *input):
    """The computation of the module; every subclass defines it."""
    raise NotImplementedError(f"Module [{type(self).__name__}] has no forward")


def _indented(text, by=2):
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * by + line for line in rest)])


_TABLES = ("_parameters", "_buffers", "_modules")
_HOOK_TABLES = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
    "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip


class Module(StateMixin):
    """The base of layers and models. Subclasses call `super().__init__()`, assign parameters and modules as attributes, define `forward`.

    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.gain = nn.Parameter(torch.tensor(2.0))
    ...     def forward(self, x):
    ...         return x * self.gain
    >>> Scale()(torch.ones(2)).tolist()
    [2.0, 2.0]
    """

    T_destination = TypeVar("T_destination", bound=dict[str, Any])
    training: bool
    dump_patches: bool = False
    _version: int = 1
    call_super_init: bool = False
    _compiled_call_impl = None

    def __init__(self, *args, **kwargs):
        name = type(self).__name__
        if not self.call_super_init and kwargs:
            raise TypeError(f"{name}: no such keyword argument: '{next(iter(kwargs))}'")
        if not self.call_super_init and args:
            raise TypeError(f"{name}: expected no positional arguments, got {len(args) + 1} were given")
        own = self.__dict__
        own["training"] = True
        for table in _TABLES:
            own[table] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_is_full_backward_hook"] = None
        for table in _HOOK_TABLES:
            own[table] = OrderedDict()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward = _forward_unimplemented

    # ---- what a module holds ----------------------------------------------------------------------------------------

    def _fresh_name(self, kind, name, table):
        """The table to register `name` in, once it is known to be a name that a new `kind` can have."""
        holder = self.__dict__.get(table)
        if holder is None:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call: {type(self).__name__}.__init__ must call super().__init__()")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name: expected a string, got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in holder and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        return holder

    def register_parameter(self, name, param):
        """Add a parameter, or None for one that this instance does without.

        Raises AttributeError before `super().__init__()`, KeyError for a name that is taken, empty or has a dot, TypeError for what
        is no Parameter, ValueError for one that is the result of a computation.
        """
        holder = self._fresh_name("parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{type(param).__name__}' object to parameter '{name}', expected a Parameter or None")
            if param.grad_fn is not None:
                raise ValueError(f"cannot assign a computed tensor to parameter '{name}': parameters are leaves; compute it in forward instead")
            for hook in _global_parameter_registration_hooks.values():
                replaced = hook(self, name, param)
                param = param if replaced is None else replaced
        holder[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Add a tensor that is state but no parameter; `persistent=False` leaves it out of `state_dict`.

        >>> net = nn.Module()
        >>> net.register_buffer("mean", torch.zeros(3))
        >>> net.mean.shape
        torch.Size([3])
        """
        holder = self._fresh_name("buffer", name, "_buffers")
        if tensor is not None:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (torch Tensor or None required)")
            for hook in _global_buffer_registration_hooks.values():
                replaced = hook(self, name, tensor)
                tensor = tensor if replaced is None else replaced
        holder[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name, module):
        """Add a child, or None, under a name. Raises TypeError for what is no module, KeyError for a name that is taken or has a dot."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        holder = self._fresh_name("module", name, "_modules")
        for hook in _global_module_registration_hooks.values():
            replaced = hook(self, name, module)
            module = module if replaced is None else replaced
        holder[name] = module

    register_module = add_module

    def __getattr__(self, name):
        own = self.__dict__
        if "_modules" in own:  # the last table that __init__ makes
            for held in (own["_parameters"], own["_modules"], own["_buffers"]):
                if name in held:
                    return held[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def _without(self, name):
        """Forget `name` wherever it is."""
        own = self.__dict__
        own.pop(name, None)
        for table in _TABLES:
            own.get(table, {}).pop(name, None)
        own.get("_non_persistent_buffers_set", set()).discard(name)

    def __setattr__(self, name, value):
        own = self.__dict__
        if isinstance(value, (Parameter, Module)):
            kind, table = ("parameters", "_parameters") if isinstance(value, Parameter) else ("module", "_modules")
            if own.get(table) is None:
                raise AttributeError(f"cannot assign {kind} before Module.__init__() call: {type(self).__name__}.__init__ must call super().__init__()")
            if name not in own[table]:
                self._without(name)
            if kind == "parameters":
                self.register_parameter(name, value)
                return
            for hook in _global_module_registration_hooks.values():
                replaced = hook(self, name, value)
                value = value if replaced is None else replaced
            own[table][name] = value
            return
        if name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{type(value).__name__}' as parameter '{name}', expected a Parameter or None")
            own["_parameters"][name] = None
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{type(value).__name__}' as child module '{name}', expected a Module or None")
            for hook in _global_module_registration_hooks.values():
                hook(self, name, value)
            own["_modules"][name] = None
        elif name in own.get("_buffers", ()) or isinstance(value, Buffer):
            if own.get("_buffers") is None:
                raise AttributeError("cannot assign buffers before Module.__init__() call")
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{type(value).__name__}' as buffer '{name}', expected a Buffer, a Tensor or None")
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name, value):
        if isinstance(value, Buffer):
            # A subclass may have a register_buffer of its own that knows of no other buffers.
            if getattr(value, "persistent", True):
                self.register_buffer(name, value)
            else:
                self.register_buffer(name, value, persistent=False)
            return
        if name not in self._buffers:
            self._without(name)
        if value is not None:
            for hook in _global_buffer_registration_hooks.values():
                replaced = hook(self, name, value)
                value = value if replaced is None else replaced
        self._buffers[name] = value

    def __delattr__(self, name):
        own = self.__dict__
        for table in _TABLES:
            if name in own.get(table, ()):
                del own[table][name]
                if table == "_buffers":
                    self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        own = self.__dict__
        names = {*dir(type(self)), *own, *own["_parameters"], *own["_modules"], *own["_buffers"]}
        return sorted(name for name in names if not name[:1].isdigit())

    def __setstate__(self, state):
        self.__dict__.update(state)
        for table in (*_TABLES, *_HOOK_TABLES):
            self.__dict__.setdefault(table, {} if table in _TABLES else OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # ---- looking up by path -----------------------------------------------------------------------------------------

    def get_submodule(self, target):
        """The module at a dotted path from here; "" is the module itself. Raises AttributeError when there is none.

        >>> net = nn.Sequential(nn.Sequential(nn.ReLU()))
        >>> net.get_submodule("0.0")
        ReLU()
        """
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`, looking up '{target}'")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module, looking up '{target}'")
        return module

    def set_submodule(self, target, module, strict=False):
        """Put a module at a dotted path; with `strict` there must be one already. Raises ValueError for no path or no module."""
        if not target:
            raise ValueError("set_submodule: the path is empty")
        if not isinstance(module, Module):
            raise ValueError(f"set_submodule: expected a module, got {type(module).__name__}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`, setting '{target}'")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module, setting '{target}'")
        setattr(parent, name, module)

    def _tensor_at(self, target, table, kind):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`, looking up '{target}'")
        if name not in getattr(module, table):
            found = getattr(module, name)
            if table == "_buffers" or not isinstance(found, Parameter):
                raise AttributeError(f"`{name}` is not {kind}, looking up '{target}'")
            return found
        return getattr(module, name)

    def get_parameter(self, target):
        """The parameter at a dotted path; AttributeError when there is none."""
        return self._tensor_at(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target):
        """The buffer at a dotted path; AttributeError when there is none."""
        return self._tensor_at(target, "_buffers", "a buffer")

    # ---- walks ------------------------------------------------------------------------------------------------------

    def _named_members(self, members, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        for path, module in self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]:
            for name, value in members(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Names and parameters of this module and, with `recurse`, of those below; shared ones once unless told otherwise.

        >>> [name for name, _ in nn.Sequential(nn.Linear(2, 1)).named_parameters(prefix="net")]
        ['net.0.weight', 'net.0.bias']
        """
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters, each once: what an optimizer takes."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Names and buffers, as `named_parameters`."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self):
        """Names and modules one level down, each module once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """The modules one level down, each once."""
        for _, module in self.named_children():
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Paths and modules, this one first under `prefix`; each module once unless `remove_duplicate` is off.

        >>> [name for name, _ in nn.Sequential(nn.ReLU(), nn.Tanh()).named_modules()]
        ['', '0', '1']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate=True):
        """This module and all below it, each once unless told otherwise."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    # ---- changes ----------------------------------------------------------------------------------------------------

    def apply(self, fn):
        """Call `fn` on every module below and on this one, children first; returns self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replace the memory of every parameter, gradient and buffer by what `fn` makes of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        swap, overwrite = _future.get_swap_module_params_on_conversion(), _future.get_overwrite_module_params_on_conversion()
        for name, param in self._parameters.items():
            if param is None:
                continue
            with torch.no_grad():
                made = fn(param)
            grad = param.grad
            if swap or is_traceable_wrapper_subclass(made):
                self._swap(name, param, Parameter(made, param.requires_grad))
            elif (made.device.type == param.device.type and not overwrite) or is_lazy(param):
                param.data = made
            else:
                param = self._parameters[name] = Parameter(made, param.requires_grad)
            if grad is None:
                continue
            with torch.no_grad():
                moved = fn(grad)
            if swap or is_traceable_wrapper_subclass(moved):
                moved.requires_grad_(grad.requires_grad)
                self._swap(f"{name}.grad", grad, moved)
                moved = grad
            param.grad = None  # the old one does not fit the new memory
            param.grad = moved.requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if is_lazy(buffer):
                buffer.data = fn(buffer.data)
            elif buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _swap(self, name, tensor, made):
        try:
            torch.utils.swap_tensors(tensor, made)
        except Exception as error:
            raise RuntimeError(f"{type(self).__name__}: cannot swap {name} with what the conversion made of it") from error

    def to(self, *args, **kwargs):
        """Move and convert in place: `to(device)`, `to(dtype)`, `to(device, dtype)`, `to(tensor)`, `to(memory_format=...)`.

        Only floating-point and complex parameters and buffers change their dtype. Raises TypeError for a dtype that is neither.

        >>> nn.Linear(2, 2).to(torch.float64).weight.dtype
        torch.float64
        """
        if "copy" in kwargs:
            raise RuntimeError("Module.to: there is no `copy`, a module is converted in place; deepcopy() it first")
        device, dtype, non_blocking, memory_format = _destination(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"Module.to: expected a floating or complex dtype, got {dtype}")
        if dtype is not None and dtype.is_complex:
            warnings.warn("Module.to: not every module computes with complex parameters; where one refuses them, write it with operators that take them", UserWarning, stacklevel=2)  # fmt: skip

        def convert(tensor):
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            if memory_format is not None and tensor.dim() in (4, 5):
                return tensor.to(device=device or tensor.device, dtype=wanted or tensor.dtype, non_blocking=non_blocking, memory_format=memory_format)
            return tensor.to(device=device or tensor.device, dtype=wanted or tensor.dtype, non_blocking=non_blocking)

        return self._apply(convert)

    def to_empty(self, *, device, recurse=True):
        """Give every parameter and buffer fresh memory on a device, without values."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def type(self, dst_type):
        """Convert every parameter and buffer to a dtype, integers too."""
        return self._apply(lambda t: t.type(dst_type))

    def _floats(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self):
        """Convert floating-point parameters and buffers to float32."""
        return self._floats(torch.float32)

    def double(self):
        """Convert floating-point parameters and buffers to float64."""
        return self._floats(torch.float64)

    def half(self):
        """Convert floating-point parameters and buffers to float16."""
        return self._floats(torch.float16)

    def bfloat16(self):
        """Convert floating-point parameters and buffers to bfloat16."""
        return self._floats(torch.bfloat16)

    def cpu(self):
        """Move everything to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        """Move everything to a CUDA device."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device=None):
        """Move everything to an XPU device; there is none: RuntimeError."""
        return self._apply(lambda t: t.to(torch.device("xpu", device or 0)))

    def ipu(self, device=None):
        """Move everything to an IPU device; there is none: RuntimeError."""
        return self._apply(lambda t: t.to(torch.device("ipu", device or 0)))

    def mtia(self, device=None):
        """Move everything to an MTIA device; there is none: RuntimeError."""
        return self._apply(lambda t: t.to(torch.device("mtia", device or 0)))

    def share_memory(self):
        """Move the memory of everything to where other processes can see it."""
        return self._apply(lambda t: t.share_memory_())

    def train(self, mode=True):
        """Set `training` here and below: dropout and batch normalisation look at it. Raises ValueError unless `mode` is a bool."""
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, got {type(mode).__name__}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """The same as `train(False)`."""
        return self.train(False)

    def compile(self, *args, **kwargs):
        """Compile the module in place: from now on a call of it is one of what `torch.compile` makes of it with these arguments.

        >>> layer = nn.ReLU()
        >>> layer.compile()
        >>> layer(torch.tensor([-1.0, 1.0]))
        tensor([0., 1.])
        """
        compiled = torch.compile(self, *args, **kwargs)
        self.__dict__["_compiled_call_impl"] = None if compiled is self else compiled.forward

    def requires_grad_(self, requires_grad=True):
        """Set whether gradients are wanted of every parameter."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forget the gradients of every parameter, or fill them with zeros."""
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                param.grad = param.grad.detach().zero_()

    # ---- text -------------------------------------------------------------------------------------------------------

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """Extra text for the module's repr."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        body = "".join(f"\n  {line}" for line in (*lines, *children))
        return f"{self._get_name()}({body}\n)" if body else f"{self._get_name()}()"

    # ---- hooks ------------------------------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call `hook(module, args)` before forward; what it returns takes the place of the arguments.

        With `with_kwargs` it is `hook(module, args, kwargs)`, which may return (args, kwargs).

        >>> layer = nn.Identity()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        >>> layer(1)
        2
        """
        return _register(self._forward_pre_hooks, hook, prepend=prepend, marks=((self._forward_pre_hooks_with_kwargs, with_kwargs),))

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call `hook(module, args, output)` after forward; what it returns takes the place of the output.

        With `with_kwargs` it is `hook(module, args, kwargs, output)`; with `always_call` it also runs when forward raises.
        """
        marks = ((self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call))
        return _register(self._forward_hooks, hook, prepend=prepend, marks=marks)

    def _backward_kind(self, full):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError("a module's backward hooks are either all full ones or all of the old kind")
        self._is_full_backward_hook = full

    def register_backward_hook(self, hook):
        """The old kind of `register_full_backward_hook`: it sees the gradients of the last operator only."""
        self._backward_kind(False)
        return _register(self._backward_hooks, hook)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call `hook(module, grad_output)` before gradients go into the module; it may return others."""
        return _register(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known; it may return other ones."""
        self._backward_kind(True)
        return _register(self._backward_hooks, hook, prepend=prepend)

    # ---- calling ----------------------------------------------------------------------------------------------------

    def __call__(self, *args, **kwargs):
        own = self.__dict__
        if self._compiled_call_impl is not None and not own.get("_in_compiled_call"):
            return self._call_compiled(args, kwargs)
        try:
            if not (
                own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]
                or _global_forward_pre_hooks or _global_forward_hooks or _global_backward_hooks or _global_backward_pre_hooks
            ):  # fmt: skip
                return self.forward(*args, **kwargs)
            return self._call_with_hooks(args, kwargs)
        except Exception as error:
            if "_forward_hooks" not in own:
                raise AttributeError(f"{type(self).__name__}: the module was called before super().__init__() in its __init__") from None
            self._note_path(error)
            raise

    _call_impl = __call__
    _wrapped_call_impl = __call__

    def _call_compiled(self, args, kwargs):
        own = self.__dict__
        own["_in_compiled_call"] = True
        try:
            return own["_compiled_call_impl"](*args, **kwargs)
        finally:
            del own["_in_compiled_call"]

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        state.pop("_in_compiled_call", None)
        return state

    def _note_path(self, error):
        """Say in a note of an error which module it came from: the path grows as the error rises through the parents."""
        known = error.__dict__.get("_module_path")
        if known is None:
            path, failed = type(self).__name__, self
        else:
            at, path = known
            if at is self:
                return
            name = next((name for name, module in self.named_modules() if module is at), None)
            if name:
                first, dot, rest = path.partition(".")
                path = f"{type(self).__name__}.{name}{dot}{rest}"
            failed = self if name else at
        error._module_path = failed, path
        notes = [note for note in getattr(error, "__notes__", ()) if not note.startswith("in module ")]
        error.__notes__ = [*notes, f"in module {path}"]

    def _call_with_hooks(self, args, kwargs):
        full, old = [], []
        pre = [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        (full if _global_is_full_backward_hook else old).extend(_global_backward_hooks.values())
        (full if self._is_full_backward_hook else old).extend(self._backward_hooks.values())
        after = [(_Forward(hook, i), _global_forward_hooks_with_kwargs, _global_forward_hooks_always_called) for i, hook in _global_forward_hooks.items()]
        after += [(_Forward(hook, i), self._forward_hooks_with_kwargs, self._forward_hooks_always_called) for i, hook in self._forward_hooks.items()]
        called, result = set(), None
        try:
            args, kwargs = self._run_forward_pre_hooks(args, kwargs)
            backward = BackwardHook(self, full, pre) if full or pre else None
            if backward:
                args = backward.setup_input_hook(args)
            result = self.forward(*args, **kwargs)
            for (hook, number), keywords, always in after:
                if number in always:
                    called.add(number)
                out = hook(self, args, kwargs, result) if number in keywords else hook(self, args, result)
                result = result if out is None else out
            if backward:
                result = backward.setup_output_hook(result)
            if old:
                self._watch_last_operator(args, result, old)
            return result
        except Exception:
            for (hook, number), keywords, always in after:
                if number not in always or number in called:
                    continue
                try:
                    out = hook(self, args, kwargs, result) if number in keywords else hook(self, args, result)
                    result = result if out is None else out
                except Exception as error:
                    warnings.warn(f"a forward hook of {type(self).__name__} raised after forward had: {error}", stacklevel=3)
            raise

    def _run_forward_pre_hooks(self, args, kwargs):
        for number, hook in (*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
            if number in self._forward_pre_hooks_with_kwargs:
                out = hook(self, args, kwargs)
                if out is not None:
                    if not (isinstance(out, tuple) and len(out) == 2):
                        raise RuntimeError(f"a forward pre-hook returns None or (args, kwargs), got {out}.")
                    args, kwargs = out
            else:
                out = hook(self, args)
                if out is not None:
                    args = out if isinstance(out, tuple) else (out,)
        return args, kwargs

    def _watch_last_operator(self, args, result, hooks):
        tensor = result
        while not isinstance(tensor, Tensor):
            tensor = next((v for v in tensor.values() if isinstance(v, Tensor)), None) if isinstance(tensor, dict) else tensor[0]
        if tensor.grad_fn is not None:
            for hook in hooks:
                tensor.grad_fn.register_hook(lambda grad_input, grad_output, hook=hook: hook(self, grad_input, grad_output))
            missed = _missed_by_old_hooks(args, result, tensor.grad_fn)
            if missed:
                text = f"backward hooks of {type(self).__name__}: {missed}; register_full_backward_hook sees them all, this kind is deprecated"
                warnings.warn(text, FutureWarning, stacklevel=4)


def _missed_by_old_hooks(args, result, last):
    """Why a hook on the last operator of a module does not see the gradients of its inputs and outputs; "" where it does."""
    outputs, inputs = (value if isinstance(value, tuple) else (value,) for value in (result, args))
    if not all(isinstance(v, Tensor) for v in outputs):
        return "its result is neither a tensor nor a tuple of them, gradients are missed"
    if not all(isinstance(v, Tensor) for v in inputs):
        return "its arguments are not all tensors, gradients are missed"
    if len({v.grad_fn for v in outputs if v.grad_fn is not None}) > 1:
        return "its results come from different operators, of which one is watched"
    if {v.grad_fn for v in inputs if v.grad_fn is not None} != {node for node, _ in last.next_functions}:
        return "it runs several operators, of which the last is watched"
    return ""


def _destination(*args, **kwargs):
    """Device, dtype, non_blocking and memory format out of the arguments of `to`."""
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    non_blocking, memory_format = kwargs.pop("non_blocking", False), kwargs.pop("memory_format", None)
    other = kwargs.pop("tensor", kwargs.pop("other", None))
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and isinstance(rest[0], torch.dtype):
        dtype = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], (str, int, torch.device)) and not isinstance(rest[0], bool)):
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], torch.dtype)):
            dtype = rest.pop(0)
    if rest and isinstance(rest[0], bool):
        non_blocking = rest.pop(0)
    if rest and isinstance(rest[0], bool):
        rest.pop(0)
    if rest:
        raise TypeError(f"to(): expected a device, a dtype or a tensor, got {type(rest[0]).__name__}")
    if other is not None:
        device, dtype = other.device, other.dtype
    return None if device is None else torch.device(device), dtype, non_blocking, memory_format
