"""What stands for a compiler until there is one."""

import functools


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False, name=None, recompile_limit=None,
            isolate_recompiles=None, shapes_spec=None):  # fmt: skip
    """A function or module that computes what the given one does: with ``backend="eager"`` or ``disable=True``, by calling it.

    There is no compiler in this build: RuntimeError for other backends. Without `model` it returns a decorator. Errors: RuntimeError for `mode` and
    `options` together.

    >>> doubled = torch.compile(lambda x: 2 * x, backend="eager")
    >>> doubled(torch.ones(1))
    tensor([2.])
    """
    if model is not None and not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    backend = "inductor" if backend is None else backend
    if not disable and backend != "eager":
        raise RuntimeError(f"torch.compile: this build has no compiler for the backend {backend!r}; backend='eager' runs the function as it is")
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable)
    return model
