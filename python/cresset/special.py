"""torch.special: operators of the rows under their special names."""

from . import _operators
from ._tensor import ops as _ops

_names = {name.removeprefix("special_"): op for name, op in _operators.items() if name.startswith("special_") and not name.endswith("_")}
_same = {"round": "round", "log_softmax": "log_softmax", "softmax": "softmax", "logsumexp": "logsumexp", "sinc": "sinc", "i0": "i0",
         "log1p": "log1p", "expm1": "expm1", "exp2": "exp2", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "logit": "logit",
         "expit": "sigmoid", "gammaln": "lgamma", "digamma": "digamma", "psi": "digamma", "xlogy": "xlogy", "polygamma": "polygamma",
         "multigammaln": "mvlgamma"}  # fmt: skip
_names.update({name: _ops[op] for name, op in _same.items() if op in _ops and name not in _names})
globals().update(_names)
