"""Which parts of a module can be exported."""

from .. import export as _export

__all__ = ["report_exportability"]


def report_exportability(mod, args, kwargs=None, *, strict=True, pre_dispatch=False):
    """Exports a module, and where that fails each submodule that it calls, on the arguments of its first call: path -> the exception, or None.

    Args:
        mod, args, kwargs, strict: as `torch.export.export` takes them.
        pre_dispatch: not supported; graphs are captured above all layers anyway.

    Errors: NotImplementedError for `pre_dispatch`; whatever the module itself raises.

    >>> class Branch(nn.Module):
    ...     def forward(self, x):
    ...         return x + 1 if x.sum() > 0 else x
    >>> report = torch._export.tools.report_exportability(nn.Sequential(nn.ReLU(), Branch()), (torch.ones(2),), strict=False)
    >>> {path: error is None for path, error in report.items()}
    {'': False, '0': True, '1': False}
    """
    if pre_dispatch:
        raise NotImplementedError("report_exportability: pre_dispatch=True is not supported")
    calls, hooks = {}, []
    for path, module in mod.named_modules():
        hooks.append(module.register_forward_pre_hook(lambda _, args, kwargs, path=path: calls.setdefault(path, (args, kwargs)) and None, with_kwargs=True))
    try:
        mod(*args, **(kwargs or {}))
    finally:
        for hook in hooks:
            hook.remove()
    report = {}
    _visit(mod, "", calls, strict, report)
    return report


def _visit(module, path, calls, strict, report):
    args, kwargs = calls[path]
    try:
        _export.export(module, args, kwargs, strict=strict)
    except Exception as error:
        report[path] = error
    else:
        report[path] = None
        return
    for name, child in module.named_children():
        inner = f"{path}.{name}" if path else name
        if inner in calls:
            _visit(child, inner, calls, strict, report)
