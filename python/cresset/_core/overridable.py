"""Functions written in Python, which classes and modes with `__torch_function__` take over as they do operators."""

import functools
import sys
import types

from _cresset import Tensor, _hand_over, _taken_over

# Operators of PyTorch that are functions of Python here: a hook gets their arguments as they were given.
_OPERATORS = {
    "cresset": (
        "detach detach_ get_device index_put is_complex is_conj is_distributed is_floating_point is_inference is_neg "
        "is_nonzero is_same_size is_signed nonzero numel split_copy split_with_sizes_copy tensor_split unbind_copy where"
    ).split(),
    "cresset.nn.functional": "adaptive_avg_pool1d channel_shuffle native_channel_shuffle rrelu_".split(),
    "cresset.linalg": ["vector_norm"],
}
# Methods that are functions of Python in PyTorch too, which spell their defaults out for a hook.
_SPELLED_OUT = (
    "__array__ __contains__ __dlpack__ __dlpack_device__ __repr__ __reversed__ __setstate__ backward dim_order eig is_shared lstsq lu module_load norm register_hook "
    "register_post_accumulate_grad_hook reinforce resize resize_as share_memory_ solve split stft storage storage_type symeig to_sparse_coo unique "
    "unique_consecutive"
).split()


def _spelled_out(function, args, kwargs):
    """The arguments as functions of PyTorch hand them over: those with defaults by their names, all of them."""
    import inspect  # which takes long to load

    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs
    bound.apply_defaults()
    placed, named = [], {}
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            placed += bound.arguments[name]
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(bound.arguments[name])
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            placed.append(bound.arguments[name])
        else:
            named[name] = bound.arguments[name]
    return tuple(placed), named


def overridable(function, home, spelled_out=False):
    """The function as one that may be taken over; it is known as one of the module `home`. A hook gets the arguments as they were given, or
    `spelled_out`: with the defaults by their names; or as its `_for_hooks` makes them. Pooling that returns indices is a function of its own for hooks."""

    for_hooks = getattr(function, "_for_hooks", None)

    @functools.wraps(function)
    def call(*args, **kwargs):
        if _taken_over(args, kwargs):
            if for_hooks is not None:
                args, kwargs = for_hooks(*args, **kwargs)
            elif spelled_out:
                args, kwargs = _spelled_out(function, args, kwargs)
            known = getattr(sys.modules[home], f"{function.__name__}_with_indices", call) if kwargs.get("return_indices") else call
            return _hand_over(known, args, kwargs)
        return function(*args, **kwargs)

    call.__module__ = home
    call._overridable = True
    if not spelled_out:
        call._is_operator = True
    return call


def _arguments(function, args, kwargs):
    import inspect

    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def all_named(function):
    """For `_for_hooks`: all arguments by their names."""
    return lambda *args, **kwargs: ((), _arguments(function, args, kwargs))


def all_placed(function):
    """For `_for_hooks`: all arguments in their places, as operators get them."""
    return lambda *args, **kwargs: (tuple(_arguments(function, args, kwargs).values()), {})


def replace(names, home, but=()):
    """Makes all public functions of Python among the names of a module overridable."""
    for name, value in list(names.items()):
        if isinstance(value, types.FunctionType) and not name.startswith("_") and name not in but and not hasattr(value, "_overridable"):
            names[name] = overridable(value, home, spelled_out=name not in _OPERATORS.get(home, ()))


def replace_methods():
    """The same for the methods of Tensor, also those with underscores, but for what reads the class itself."""
    for name, value in list(vars(Tensor).items()):
        if isinstance(value, types.FunctionType) and name not in ("__iter__", "__array_wrap__"):
            method = overridable(value, "cresset", spelled_out=name in _SPELLED_OUT)
            method.__name__, method.__qualname__ = name, f"Tensor.{name}"
            setattr(Tensor, name, method)
