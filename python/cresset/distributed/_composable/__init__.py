"""Ways of running a module in several processes that change it where it stands, in place of wrapping it."""

from .replicate import replicate

__all__ = ["replicate"]
