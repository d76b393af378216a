"""Effects of operators: things that their calls do beside giving results."""

import enum


class EffectType(enum.Enum):
    """Effects: ORDERED calls stay, in their order."""

    ORDERED = "Ordered"
