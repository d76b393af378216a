"""The error of a program whose graph is not as its dialect has it."""


class SpecViolationError(Exception):
    """A node that the graph of an exported program may not have."""
