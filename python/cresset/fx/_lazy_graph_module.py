"""How passes make graph modules. Each is compiled when it is made."""

import contextlib

from ._compatibility import compatibility
from .graph_module import GraphModule


class _LazyGraphModule(GraphModule):
    """A GraphModule under the name that compilers ask for."""

    @classmethod
    def from_graphmodule(cls, gm):
        """The same module."""
        return gm

    @staticmethod
    def force_recompile(gm):
        """Compiles a module's graph."""
        gm.recompile()

    def real_recompile(self):
        """`recompile`."""
        return self.recompile()

    def _needs_recompile(self):
        return False


@compatibility(is_backward_compatible=False)
def _get_graph_module_cls():
    return GraphModule


def _make_graph_module(*args, graph_module_cls=None, **kwargs):
    return (graph_module_cls or GraphModule)(*args, **kwargs)


@contextlib.contextmanager
def _use_lazy_graph_module(should_use):
    yield


@contextlib.contextmanager
def _force_skip_lazy_graph_module():
    yield
