"""Modules as functions of their parameters and buffers."""

from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.utils.stateless import _call_with


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call `module` with the tensors of a dictionary, or of several, in place of its parameters and buffers.

    Tied tensors are replaced together unless `tie_weights` is off. `args` is a tuple, or the one argument.

    Errors: ValueError for a name in several dictionaries or something else than dictionaries; with `strict`, RuntimeError for missing and
    unexpected names.

    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.tensor([3., 4.])).tolist()
    [7.0]
    """
    several = isinstance(parameter_and_buffer_dicts, (list, tuple))
    if not several and not isinstance(parameter_and_buffer_dicts, dict):
        raise ValueError(f"functional_call: expected a dictionary, or a list or tuple of them, got {type(parameter_and_buffer_dicts).__name__}")
    if several and not all(isinstance(part, dict) for part in parameter_and_buffer_dicts):
        raise ValueError(f"functional_call: expected dictionaries, got {[type(part).__name__ for part in parameter_and_buffer_dicts]}")
    return _call_with(module, parameter_and_buffer_dicts, args, kwargs, tie_weights, strict)


def stack_module_state(models):
    """Return the parameters and the buffers of modules of one kind, as two dictionaries of tensors stacked along a new first dimension.

    Stacked parameters are leaves, and require grad where the modules' do.

    Errors: RuntimeError for no modules, or ones of different classes, modes or requirements of gradients.

    >>> parameters, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 3) for _ in range(4)])
    >>> parameters["weight"].shape, buffers
    (torch.Size([4, 3, 2]), {})
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: expected at least one model, got 0")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: expected all models to be in the same mode, got some in training and some in evaluation mode")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError(f"stack_module_state: expected models of one class, got {sorted({type(model).__name__ for model in models})}")
    return (_stacked([dict(model.named_parameters()) for model in models]), _stacked([dict(model.named_buffers()) for model in models]))


def _stacked(tables):
    from .. import no_grad, stack

    result = {}
    for name in tables[0]:
        column = [table[name] for table in tables]
        if len({t.requires_grad for t in column}) > 1:
            raise RuntimeError(f"stack_module_state: expected {name} to require grad in all models or in none")
        with no_grad():
            result[name] = stack(column).requires_grad_(column[0].requires_grad)
    return result


def replace_all_batch_norm_modules_(root):
    """Make every batch norm below `root` (included) use the statistics of the batch, always, and keep none of its own; return `root`.

    >>> net = torch.func.replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))
    >>> net[0].running_mean is None
    True
    """
    if not isinstance(root, Module):
        raise TypeError(f"replace_all_batch_norm_modules_: expected a module, got {type(root).__name__}")
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
