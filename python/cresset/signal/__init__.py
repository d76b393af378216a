"""Signal processing: window functions."""

from . import windows  # noqa: F401
