"""Averages of a model's weights over training, and the schedule and statistics that go with them."""

from __future__ import annotations

import copy
import itertools

import _cresset

import cresset as torch
from cresset.nn import Module
from cresset.nn.modules.batchnorm import _BatchNorm

from .lr_scheduler import LRScheduler, _check_anneal, _check_optimizer, _like, _one_per_group

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]


def _check_decay(decay):
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay}, expected a value within [0, 1].")


def get_ema_avg_fn(decay=0.999):
    """The function (average, value, count) -> decay average + (1 - decay) value. Errors: ValueError for a decay not in [0, 1].

    >>> optim.swa_utils.get_ema_avg_fn(0.5)(torch.tensor(0.0), torch.tensor(1.0), 1)
    tensor(0.5000)
    """
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn():
    """The function (average, value, count) -> the mean of count + 1 values.

    >>> optim.swa_utils.get_swa_avg_fn()(torch.tensor(0.0), torch.tensor(1.0), torch.tensor(1))
    tensor(0.5000)
    """

    @torch.no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        step = current_param - averaged_param
        return averaged_param + step / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay=0.999):
    """`get_ema_avg_fn` for lists of tensors, in place.

    >>> average = [torch.zeros(1)]
    >>> optim.swa_utils.get_ema_multi_avg_fn(0.5)(average, [torch.ones(1)], 1)
    >>> average
    [tensor([0.5000])]
    """
    _check_decay(decay)
    return _in_place(lambda count: 1 - decay, get_ema_avg_fn(decay))


def get_swa_multi_avg_fn():
    """`get_swa_avg_fn` for lists of tensors, in place.

    >>> average = [torch.zeros(1)]
    >>> optim.swa_utils.get_swa_multi_avg_fn()(average, [torch.ones(1)], torch.tensor(1))
    >>> average
    [tensor([0.5000])]
    """
    return _in_place(lambda count: 1 / (count + 1), get_swa_avg_fn())


def _in_place(weight_of, general):
    @torch.no_grad()
    def update(averaged_param_list, current_param_list, num_averaged):
        weight = weight_of(float(num_averaged))
        for average, value in zip(averaged_param_list, current_param_list):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(value.to(average.dtype), weight)
            else:
                average.copy_(general(average, value, num_averaged))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's (Izmailov et al., "Averaging weights leads to wider optima and
    better generalization", UAI 2018).

    Args:
        model: which is copied.
        device: of the copy; by default the model's.
        avg_fn: (average, value, count) -> new average; by default the mean.
        multi_avg_fn: the same for lists of tensors, in place; only one of the two.
        use_buffers: whether buffers are averaged, too, and not just copied.

    Errors: AssertionError for both functions.

    Example::

        >>> import cresset as torch
        >>> model = torch.nn.Linear(1, 1, bias=False)
        >>> averaged = torch.optim.swa_utils.AveragedModel(model)
        >>> for value in (1.0, 3.0):
        ...     model.weight.data.fill_(value)  # doctest: +ELLIPSIS
        ...     averaged.update_parameters(model)
        tensor(...)
        tensor(...)
        >>> averaged.module.weight.item(), averaged.n_averaged.item()
        (2.0, 2)
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if None not in (avg_fn, multi_avg_fn):
            raise AssertionError("AveragedModel: expected avg_fn or multi_avg_fn, got both")
        copied = copy.deepcopy(model)
        self.module = copied if device is None else copied.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        """The averaged model's result."""
        return self.module(*args, **kwargs)

    def _tensors(self, model):
        return itertools.chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()

    @torch.no_grad()
    def update_parameters(self, model):
        """Takes the model's parameters into the averages.

        Args:
            model: of the same structure.
        """
        averages = [t.detach() for t in self._tensors(self.module)]
        values = [v.detach().to(a.device) for a, v in zip(averages, self._tensors(model))]
        if self.n_averaged == 0:
            for average, value in zip(averages, values):
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in zip(averages, values):
                average.copy_(self.avg_fn(average, value, self.n_averaged.to(average.device)))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, values, self.n_averaged)
        if not self.use_buffers:
            for mine, theirs in zip(self.module.buffers(), model.buffers()):
                mine.detach().copy_(theirs.detach().to(mine.device))
        self.n_averaged += 1


@torch.no_grad()
def update_bn(loader, model, device=None):
    """Computes the running statistics of batch normalisations anew, as means over all batches.

    Args:
        loader: batches, tensors or sequences that begin with the model's input.
        model: is called in training mode, and then set back.
        device: to which the inputs are moved.

    >>> model = nn.BatchNorm1d(1)
    >>> optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    was_training, momenta = model.training, [norm.momentum for norm in norms]
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a mean with equal weights
    try:
        for batch in loader:
            data = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(data if device is None else data.to(device))
    finally:
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """The rate goes from where it is to ``swa_lr`` within ``anneal_epochs``, and stays there.

    Args:
        optimizer: whose groups are written.
        swa_lr: the final rate; a number, or a list with one for each group.
        anneal_epochs: how long it takes.
        anneal_strategy: "cos" or "linear".
        last_epoch: the number of steps already taken, less one.

    Errors: ValueError for an unknown strategy, a negative number of epochs, a list of another length than the groups.

    Example::

        >>> import cresset as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        _check_optimizer(optimizer)
        for rate, group in zip(_one_per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        _check_anneal(anneal_strategy)
        if type(anneal_epochs) is not int or anneal_epochs < 0:
            raise ValueError(f"SWALR: expected anneal_epochs of at least 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The groups' rates, from those now set."""
        self._warn_outside_step()
        place = (self.anneal_epochs, self._anneal_strategy == "linear", self._step_count - 1)
        return [_like(group["lr"], _cresset.learning_rate("swa", (group["swa_lr"], *place), group["lr"])) for group in self.optimizer.param_groups]
