"""torch.optim: optimizers, learning-rate schedules and averages of weights.

Example::

    >>> import cresset as torch
    >>> w = torch.tensor([4.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.5)
    >>> loss = (w * w).sum()
    >>> optimizer.zero_grad()
    >>> loss.backward()
    >>> optimizer.step()
    >>> w.item()
    0.0
"""

from .optimizer import Optimizer  # noqa: I001  first: the others build on it
from . import lr_scheduler  # noqa: F401
from ._adafactor import Adafactor
from ._muon import Muon
from ._swap import swap_in_optimizer_params_and_state
from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .lbfgs import LBFGS
from .nadam import NAdam
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .sparse_adam import SparseAdam

_SUBMODULES = ("swa_utils",)  # needs torch.nn, which most optimizers do without
__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SparseAdam",
           "swap_in_optimizer_params_and_state"]  # fmt: skip
