"""Effects of operators: things that their calls do beside giving results."""

import enum


class EffectType(enum.Enum):
    """Effects: ORDERED calls stay, in their order."""

    ORDERED = "Ordered"


_OF_THE_TABLE = {"aten::_print": EffectType.ORDERED}


def of_the_table(name):
    """The effect of an operator of the library, by its name; None for nothing."""
    return _OF_THE_TABLE.get(name)
