"""torch._dynamo: the capture behind `torch.compile`, and what programs tell it (docs/records/0027-compile.md).

>>> def f(x):
...     return x.sin() + 1
>>> torch._dynamo.explain(f)(torch.zeros(2)).graph_count
1
"""

import importlib as _importlib

from . import config, exc

_lazy = {
    "OptimizedModule": "eval_frame", "explain": "eval_frame", "export": "eval_frame", "optimize": "eval_frame", "optimize_assert": "eval_frame",
    "run": "eval_frame", "disable": "eval_frame", "reset": "eval_frame", "is_dynamo_supported": "eval_frame", "register_backend": "backends.registry",
    "list_backends": "backends.registry", "lookup_backend": "backends.registry", "allow_in_graph": "decorators", "assume_constant_result": "decorators",
    "disallow_in_graph": "decorators", "error_on_graph_break": "decorators", "forbid_in_graph": "decorators", "graph_break": "decorators",
    "mark_dynamic": "decorators", "mark_static": "decorators", "mark_static_address": "decorators", "mark_unbacked": "decorators",
    "maybe_mark_dynamic": "decorators", "nonstrict_trace": "decorators", "substitute_in_graph": "decorators", "is_compiling": "decorators",
    "skip_frame": "decorators", "patch_dynamo_config": "decorators", "dont_skip_tracing": "decorators",
}  # fmt: skip
_modules = ("backends", "decorators", "eval_frame", "test_case", "testing", "utils")


def __getattr__(name):
    if name in _lazy:
        return getattr(_importlib.import_module(f"{__name__}.{_lazy[name]}"), name)
    if name in _modules:
        return _importlib.import_module(f"{__name__}.{name}")
    from .._core import missing

    return missing.found(__name__, name)


def __dir__():
    return sorted({*globals(), *_lazy, *_modules})
