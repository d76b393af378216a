"""Exported programs of compiled modules and functions."""

import cresset as torch

from .. import nn
from ..export._trace import exported


class _Called(nn.Module):
    """A compiled function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


class TS2EPConverter:
    """Makes an exported program of TorchScript, by running it on fake tensors: branches and loops go as for the example.

    Args:
        ts_model: a `ScriptModule` or `ScriptFunction`.
        sample_args: its arguments.
        sample_kwargs: those that are given by name.

    >>> from cresset._export.converter import TS2EPConverter
    >>> script = torch.jit.script(nn.ReLU())
    >>> TS2EPConverter(script, (torch.tensor([-1.0, 2.0]),)).convert().module()(torch.tensor([-3.0, 3.0]))
    tensor([0., 3.])
    """

    def __init__(self, ts_model, sample_args, sample_kwargs=None):
        if not isinstance(ts_model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
            raise TypeError(f"TS2EPConverter: expected a ScriptModule or a ScriptFunction, got {type(ts_model)}")
        self.ts_model, self.sample_args, self.sample_kwargs = ts_model, tuple(sample_args), dict(sample_kwargs or {})

    def convert(self):
        """The exported program.

        Errors: GuardOnDataDependentSymNode where the script branches on data, ValueError where it assigns tensors to attributes, whatever it raises itself.
        """
        module = self.ts_model if isinstance(self.ts_model, nn.Module) else _Called(self.ts_model)
        return exported(module, self.sample_args, self.sample_kwargs, None, False, ())
