"""Machine code of compiled functions as bytes: kept by one process, taken by another."""

import collections
import dataclasses


@dataclasses.dataclass
class CacheInfo:
    """The contents of artifacts: names by kind."""

    artifacts: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))

    @property
    def inductor_artifacts(self):
        """Names of the programs that there is machine code of."""
        return self.artifacts["inductor"]

    @property
    def aot_autograd_artifacts(self):
        """None: graphs are captured anew, which takes milliseconds."""
        return self.artifacts["aot_autograd"]

    @property
    def autotune_artifacts(self):
        """None: nothing is tuned by trials."""
        return self.artifacts["autotune"]

    @property
    def pgo_artifacts(self):
        """None: sizes that have changed are not kept from one process to the next."""
        return self.artifacts["pgo"]

    @property
    def precompile_artifacts(self):
        """None: functions are saved one by one (`save_compiled_function`)."""
        return self.artifacts["precompile"]

    def empty(self):
        """Whether there is nothing."""
        return not any(self.artifacts.values())


def _info(names):
    return CacheInfo(collections.defaultdict(list, {"inductor": sorted(names)}))


def save_cache_artifacts():
    """The machine code that this process has compiled or loaded: bytes and a `CacheInfo`, or None where there is none.

    >>> _ = torch.compile(lambda x: (x.exp() * 2 + x).tanh())(torch.ones(4096))
    >>> found = torch.compiler.save_cache_artifacts()
    >>> found is None or isinstance(found[0], bytes)
    True
    """
    import _cresset_compile

    found, names = _cresset_compile.save_artifacts()
    return (found, _info(names)) if names else None


def load_cache_artifacts(serialized_artifacts):
    """Takes what `save_cache_artifacts` gave in another process: functions compiled from now on find their machine code there. Returns a `CacheInfo`.

    The bytes have checksums and are no pickle. They hold machine code all the same: load those that you trust. Code for other processors is kept and serves none here.

    Errors: RuntimeError for other bytes, cut and damaged ones, and those of another version: nothing of them is taken then; TypeError for what is no bytes.

    >>> try:
    ...     torch.compiler.load_cache_artifacts(b"other bytes")
    ... except RuntimeError as error:
    ...     print("expected bytes" in str(error))
    True
    """
    import _cresset_compile

    return _info(_cresset_compile.load_artifacts(serialized_artifacts))
