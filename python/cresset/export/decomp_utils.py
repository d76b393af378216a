"""Tables of decompositions for `ExportedProgram.run_decompositions`."""

from .. import ops
from . import _bodies

__all__ = ["CustomDecompTable"]


def _of_libraries():
    """Operators of libraries that have a function of other operators."""
    found = (op for names in ops._defined.values() for packet in names.values() for op in getattr(packet, "_overloads", {}).values())
    return {op: op._kernels["CompositeImplicitAutograd"] for op in found if "CompositeImplicitAutograd" in op._kernels}


class CustomDecompTable(dict):
    """Operator to the function that computes it from others; made with the operators that are no core ones, those of libraries among them.

    >>> table = torch.export.CustomDecompTable()
    >>> _ = table.pop(torch.ops.aten.addcmul.default, None)
    """

    def __init__(self):
        from .._decomp import core_aten_decompositions

        self._listed = False
        super().__init__({**core_aten_decompositions(), **_bodies.table(), **_of_libraries()})

    @property
    def has_materialized(self):
        """Whether the entries were asked for as a whole."""
        return self._listed

    def _whole(self):
        self._listed = True
        return super()

    def copy(self):
        """Another table of the same entries."""
        made = CustomDecompTable.__new__(CustomDecompTable)
        made._listed = self._listed
        dict.update(made, self)
        return made

    def items(self):
        """Pairs of operator and function."""
        return self._whole().items()

    def keys(self):
        """The operators."""
        return self._whole().keys()

    def pop(self, *args):
        """Removes an operator and returns its function, or the default."""
        return super().pop(*args)

    def update(self, other_dict):
        """Adds the entries of another table, in place of those that are there."""
        super().update(other_dict)

    def materialize(self):
        """The same entries as a plain dictionary."""
        return dict(self._whole().items())
