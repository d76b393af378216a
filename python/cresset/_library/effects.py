"""What calls of operators do beside their results."""

import enum


class EffectType(enum.Enum):
    """Effects: ORDERED calls stay, in their order."""

    ORDERED = "Ordered"
