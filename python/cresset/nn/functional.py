"""torch.nn.functional: layers as functions. Functions without Python around them are operators of the table themselves."""

from cresset import Tensor  # noqa: F401
from cresset._core import overridable as _overridable  # noqa: F401

from ._functional import activation, attention, layer, loss, products, vision
from ._functional.attention import _canonical_mask, _none_or_dtype  # noqa: F401
from ._functional.loss import _reduction_name  # noqa: F401

_HIDDEN = {"enum", "math", "warnings", "torch", "ops"}
for _home in (activation, attention, layer, loss, products, vision):
    globals().update({_name: _value for _name, _value in vars(_home).items() if not _name.startswith("_") and _name not in _HIDDEN})
del activation, attention, layer, loss, products, vision, _home
_overridable.replace(globals(), __name__)
del _overridable
