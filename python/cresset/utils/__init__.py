"""torch.utils: hook handles and data loading; submodules load at first use."""

import _cresset

_SUBMODULES = ("_contextlib", "_foreach_utils", "_mode_utils", "_pytree", "benchmark", "checkpoint", "collect_env", "data", "deterministic", "dlpack", "hooks", "mkldnn", "model_summary", "model_zoo", "serialization",
               "tensorboard", "throughput_benchmark")  # fmt: skip


def set_module(obj, mod):
    """Says which module a function or class belongs to. TypeError for what is no text.

    >>> def f():
    ...     pass
    >>> torch.utils.set_module(f, "elsewhere")
    >>> f.__module__
    'elsewhere'
    """
    if not isinstance(mod, str):
        raise TypeError("expected a str as mod")
    obj.__module__ = mod


def swap_tensors(t1, t2):
    """Exchange two tensors: every reference to one is to the other afterwards, with its class, attributes and gradient.

    Errors: RuntimeError for tensors that have weak references, or slots of different names.

    >>> a, b = torch.zeros(1), torch.ones(2)
    >>> torch.utils.swap_tensors(a, b); a, b
    (tensor([1., 1.]), tensor([0.]))
    """
    import copyreg
    import weakref

    if t1 is t2:
        return
    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(t):
            raise RuntimeError(f"swap_tensors: cannot swap {name}, which has weak references")
        if _cresset._holders(t) > 1:
            raise RuntimeError(f"swap_tensors: cannot swap {name}, which views or gradients refer to")
    names = set(copyreg._slotnames(type(t1)))
    if names != set(copyreg._slotnames(type(t2))):
        raise RuntimeError(f"swap_tensors: cannot swap a {type(t1).__name__} and a {type(t2).__name__}, whose slots differ")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for name in names:
        values = [getattr(t, name, None) for t in (t1, t2)]
        setattr(t1, name, values[1])
        setattr(t2, name, values[0])
    _cresset._swap_tensors(t1, t2)


def get_cpp_backtrace(frames_to_skip=0, maximum_number_of_frames=64):
    """The functions of C and C++ that this thread is in, innermost first, a line each.

    >>> "frame #0" in torch.utils.get_cpp_backtrace(maximum_number_of_frames=2)
    True
    """
    return _cresset._cpp_backtrace(frames_to_skip, maximum_number_of_frames)


def __getattr__(name):
    if name in ("generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"):
        from . import backend_registration

        return getattr(backend_registration, name)
    from .._core import missing

    return missing.found(__name__, name)
