"""Utilities around modules and their parameters."""

from . import rnn  # noqa: F401
