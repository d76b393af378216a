"""Tables of decompositions for `ExportedProgram.run_decompositions`."""

from . import _bodies

__all__ = ["CustomDecompTable"]


class CustomDecompTable(dict):
    """Operator to the function that computes it from others; made with the operators that are no core ones.

    >>> table = torch.export.CustomDecompTable()
    >>> _ = table.pop(torch.ops.aten.addcmul.default, None)
    """

    def __init__(self):
        from .._decomp import core_aten_decompositions

        super().__init__({**core_aten_decompositions(), **_bodies.table()})

    def copy(self):
        """Another table of the same entries."""
        made = CustomDecompTable.__new__(CustomDecompTable)
        dict.update(made, self)
        return made

    def items(self):
        """Pairs of operator and function."""
        return super().items()

    def keys(self):
        """The operators."""
        return super().keys()

    def pop(self, *args):
        """Removes an operator and returns its function, or the default."""
        return super().pop(*args)

    def update(self, other_dict):
        """Adds the entries of another table, in place of those that are there."""
        super().update(other_dict)

    def materialize(self):
        """The same entries as a plain dictionary."""
        return dict(self)
