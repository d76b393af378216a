"""torch.nn: so far the functions."""

from . import functional  # noqa: F401
