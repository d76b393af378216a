"""Translation validation: whether the guards of a program follow from what its trace asked. A solver (Z3) would say so, and there is none here."""

from . import _config

__all__ = ["translation_validation_enabled", "translation_validation_timeout", "ValidationException", "BisectValidationException"]


def translation_validation_enabled():
    """Whether guards are to be validated: the setting `translation_validation`. AssertionError where it is on.

    >>> torch.fx.experimental.validator.translation_validation_enabled()
    False
    """
    if _config.translation_validation:
        raise AssertionError(
            "translation validation needs the solver Z3, which Cresset does not use; set torch.fx.experimental._config.translation_validation to False"
        )
    return False


def translation_validation_timeout():
    """How long a solver may take, in milliseconds.

    >>> torch.fx.experimental.validator.translation_validation_timeout()
    600000
    """
    return _config.translation_validation_timeout


def _lines(title, items):
    return "\n".join([f"{title}:", *(f"  ==> {item}" for item in items)])


class ValidationException(RuntimeError):
    """Guards that do not follow from what a trace asked.

    Args:
        model: {symbol: number}, an example where they differ.
        assertions: what was assumed.
        target_exprs: the guards.
        failed_source_exprs: what does not follow.

    >>> print(torch.fx.experimental.validator.ValidationException({"s0": 3}, [], ["s0 > 2"], ["s0 > 4"]))
    translation validation failed.
    Model:
      ==> s0: 3
    Assertions:
    Target Expressions:
      ==> s0 > 2
    Failed Source Expressions:
      ==> s0 > 4
    """

    def __init__(self, model, assertions, target_exprs, failed_source_exprs):
        self.msg = "translation validation failed."
        parts = [
            _lines("Model", [f"{symbol}: {model[symbol]}" for symbol in model]),
            _lines("Assertions", assertions),
            _lines("Target Expressions", target_exprs),
            _lines("Failed Source Expressions", failed_source_exprs),
        ]
        self.details = "\n".join(parts)
        super().__init__(f"{self.msg}\n{self.details}")

    def __str__(self):
        return f"{self.msg}\n{self.details}"


class BisectValidationException(RuntimeError):
    """The first condition of a trace from which its guards no longer follow.

    Args:
        validation_exc: the ValidationException at that condition.
        expr: the condition.
        failed_action: what the trace did with it.
        traced_node: the node that asked.
    """

    def __init__(self, validation_exc, expr, failed_action, traced_node):
        self.msg = f"translation validation failed when {failed_action}: {expr}"
        self.details = f"asked by\n    {traced_node.format_node()}\n\n{validation_exc.details}"
        super().__init__(self.msg)

    def __str__(self):
        return f"{self.msg}\n\n{self.details}"
