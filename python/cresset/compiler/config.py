"""Settings of all parts of the compiler.

>>> with torch.compiler.config.patch(force_disable_caches=True):
...     torch.compiler.config.force_disable_caches
True
"""

import sys as _sys

from .._dynamo._settings import seal as _seal

#: Machine code is neither read from the cache on disk nor written there.
force_disable_caches = False
#: A text that machine code in caches is told apart by: code of one tag serves no other.
cache_key_tag = ""
#: Arguments, with commas between them, all of whose sizes may change from call to call: "L['x'],L['self'].weight".
dynamic_sources = ""

# Known by name, and without effect: a change warns.
_PROFILES = "sizes that have changed are not kept from one process to the next"
_without_effect = {
    **dict.fromkeys(("job_id", "pgo_extra_read_key", "pgo_extra_write_key"), _PROFILES),
    "dynamic_values": "integers become symbols once they have changed",
    "unbacked_sources": "torch._dynamo.decorators.mark_unbacked marks a dimension",
    "force_cudagraph_gc": "there are no CUDA graphs",
}
job_id = pgo_extra_read_key = pgo_extra_write_key = None
dynamic_values = unbacked_sources = ""
force_cudagraph_gc = False


def _set_caching(_):
    import _cresset_compile

    _cresset_compile.set_caching(not force_disable_caches, cache_key_tag)


_seal(_sys.modules[__name__], _without_effect, changed=dict.fromkeys(("force_disable_caches", "cache_key_tag"), _set_caching))
