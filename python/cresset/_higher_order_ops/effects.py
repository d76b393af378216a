"""Calls with effects as values: `with_effects` takes a token and gives a new one beside the results, so that graphs keep the calls in their order.

>>> from cresset._higher_order_ops.effects import new_token_tensor, with_effects
>>> with_effects(new_token_tensor(), torch.ops.aten.sin.default, torch.zeros(2))
(tensor([]), tensor([0., 0.]))
"""

from _cresset import Tensor

import cresset as torch

from .._core.operators import OpOverload
from .._library.effects import EffectType
from .._library.utils import RegistrationHandle
from ._capture import unheard
from ._operator import HigherOrderOperator

__all__ = ["handle_effects", "has_aliasing", "has_effects", "new_token_tensor", "with_effects", "WithEffects"]

_EffectType = EffectType


def has_aliasing(op):
    """Whether an operator writes an argument, or gives a result that shares memory with one."""
    return isinstance(op, OpOverload) and any(a.alias_info is not None for a in (*op._schema.arguments, *op._schema.returns))


def _get_effect(op):
    """The effect of calls of an operator beside their results: a member of EffectType, or None.

    Args:
        op: an overload, a custom operator, an operator over functions, or a name such as "shop::buy".

    Errors: ValueError for anything else.
    """
    if isinstance(op, str):
        namespace, _, name = op.partition("::")
        name, _, overload = name.partition(".")
        packet = getattr(getattr(torch.ops, namespace, None), name, None)
        op = getattr(packet, overload or "default", None)
        return getattr(op, "_effect", None)
    op = getattr(op, "_opoverload", op)
    if not isinstance(op, (OpOverload, HigherOrderOperator)):
        raise ValueError(f"_get_effect: expected an overload, a custom operator or a name, got {op!r}")
    return getattr(op, "_effect", None)


def has_effects(op):
    """Whether calls of an operator do something beside their results.

    >>> from cresset._higher_order_ops.effects import has_effects
    >>> has_effects(torch.ops.aten._print.default), has_effects(torch.ops.aten.sin.default)
    (True, False)
    """
    return isinstance(op, (OpOverload, HigherOrderOperator)) and getattr(op, "_effect", None) is not None


def _register_effectful_op(op, effect):
    """Says what calls of an operator do beside their results. The handle's `destroy` undoes it.

    Errors: ValueError for what is no effect.
    """
    from .. import library

    before = _get_effect(op)
    library._register_effectful_op(op, effect)
    return RegistrationHandle(lambda: library._register_effectful_op(op, before))


def new_token_tensor():
    """A token: an empty tensor, whose place among the values of a graph says the order.

    >>> from cresset._higher_order_ops.effects import new_token_tensor
    >>> new_token_tensor()
    tensor([])
    """
    return torch.empty(0)


class WithEffects(HigherOrderOperator):
    """`with_effects(token, op, *args, **kwargs)`: a new token, then the results of the operator, None where it has none.

    Errors: AssertionError for an operator that writes its arguments or gives views of them, and for a token that is no tensor.
    """

    def __init__(self):
        super().__init__("with_effects")

    def __call__(self, token, op, /, *args, **kwargs):
        """The token and the results."""
        if not isinstance(token, Tensor):
            raise AssertionError(f"with_effects: expected a token, which is a tensor, got {type(token).__name__}")
        if has_aliasing(op):
            raise AssertionError(f"with_effects: expected an operator without aliasing, {op} writes an argument or gives a view of one")
        return super().__call__(token, op, *args, **kwargs)

    def run(self, token, op, *args, **kwargs):
        """The operator itself, and a new token."""
        results = op(*args, **kwargs)
        several = isinstance(op, OpOverload) and len(op._schema.returns) > 1
        return (new_token_tensor(), *results) if several else (new_token_tensor(), results)

    def trace(self, mode, token, op, *args, **kwargs):
        """The same, and the node of the call."""
        tracer = mode.tracer
        results = unheard(lambda: self.run(token, op, *args, **kwargs))
        node = tracer.create_node("call_function", self, tuple(tracer.create_arg(a) for a in (token, op, *args)), tracer.create_arg(kwargs), self.name())
        tracer.record_outputs(node, results)
        return results


with_effects = WithEffects()


def handle_effects(allow_token_discovery, tokens, op, args, kwargs):
    """The results of an operator with an effect on FunctionalTensors; the effect's token goes in, and that which comes out stands in `tokens` from then on.

    Args:
        allow_token_discovery: make a token for an effect that has none yet.
        tokens: effect -> its token.
        op, args, kwargs: the call.

    Errors: AssertionError for an operator without an effect, and for an effect without a token.
    """
    from .._subclasses.functional_tensor import PythonFunctionalizeAPI

    effect = _get_effect(op)
    if effect is None:
        raise AssertionError(f"handle_effects: {op} has no effect")
    if effect not in tokens and not allow_token_discovery:
        raise AssertionError(f"handle_effects: there is no token for {effect}, which {op} has; there are tokens for {list(tokens)}")
    api = PythonFunctionalizeAPI()
    with api.redispatch_to_next():
        token = api.unwrap_tensors(tokens[effect]) if effect in tokens else new_token_tensor()
        token, *results = with_effects(token, op, *api.unwrap_tensors(args), **api.unwrap_tensors(kwargs))
    tokens[effect], results = api.wrap_tensors((token, results))
    return results[0] if len(results) == 1 else tuple(results)
