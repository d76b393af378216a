"""torch.nn.parallel: one model on several devices."""

from ..modules.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """A module on several devices, each with a part of the batch. Where there is only the CPU, as here, it calls the module.

    `device_ids` and `output_device` are those of accelerators: without any they name nothing, as in PyTorch. Names in `state_dict` begin with
    "module.".

    >>> net = nn.DataParallel(nn.Linear(2, 2))
    >>> list(net.state_dict()), net(torch.ones(1, 2)).shape
    (['module.weight', 'module.bias'], torch.Size([1, 2]))
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids = []

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def __getattr__(name):
    from cresset import _missing

    raise _missing.error(__name__, name)
