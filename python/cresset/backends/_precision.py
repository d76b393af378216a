"""How exactly products of float32 numbers are asked to be: for everything, for a library, or for one kind of operator of it.

The nearest choice that is not "none" counts. They keep their values; Cresset computes in float32 whatever they are.
"""

_PRECISIONS = {"generic": ("ieee", "tf32", "bf16"), "cuda": ("ieee", "tf32"), "mkldnn": ("ieee", "tf32", "bf16")}
_chosen = {}
_unless_chosen = {("cuda", "conv"): "tf32", ("cuda", "rnn"): "tf32"}


def read(library, kind="all"):
    """The precision that counts for a kind of operator of a library."""
    for place in ((library, kind), (library, "all"), ("generic", "all")):
        found = _chosen.get(place, "none")
        if found != "none":
            return found if found in _PRECISIONS[library] else "none"
    return _unless_chosen.get((library, kind), "none")


def write(library, kind, precision):
    """Chooses one. RuntimeError for a precision that the library has not."""
    allowed = ("none", *_PRECISIONS[library])
    if precision not in allowed:
        raise RuntimeError(f"torch.backends: fp32_precision of {library} is one of {', '.join(allowed)}, got {precision!r}")
    _chosen[library, kind] = precision
    _unless_chosen.pop((library, kind), None)


def setting(library, kind="all"):
    """The property `fp32_precision` of a module or an object."""
    return property(lambda self: read(library, kind), lambda self, value: write(library, kind, value))


class Operators:
    """The operators of a kind, as `torch.backends.cudnn.conv`; its `fp32_precision` is "none", "ieee", "tf32" or "bf16"."""

    def __init__(self, library, kind):
        object.__setattr__(self, "_place", (library, kind))

    def __setattr__(self, name, value):
        if name != "fp32_precision":
            raise AttributeError(f"{'.'.join(self._place)}: there is no setting {name}, only fp32_precision")
        write(*self._place, value)

    @property
    def fp32_precision(self):
        """The precision that counts here."""
        return read(*self._place)


def matmul_precision(name):
    """Chooses for each library as `set_float32_matmul_precision` does."""
    write("cuda", "matmul", "ieee" if name == "highest" else "tf32")
    write("mkldnn", "matmul", {"highest": "ieee", "high": "tf32", "medium": "bf16"}[name])
