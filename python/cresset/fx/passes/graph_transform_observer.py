"""GraphTransformObserver, which notes what a pass does to a graph."""

import functools
import os

from .._compatibility import compatibility

__all__ = ["GraphTransformObserver"]


@compatibility(is_backward_compatible=False)
class GraphTransformObserver:
    """Notes the names of nodes that are created and erased within a `with` block.

    Args:
        gm: the module.
        passname: the name of the pass.
        subsystem: its group.
        log_url: a path; a drawing of the graph before and after the pass is written there where nodes have changed.

    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> with torch.fx.passes.graph_transform_observer.GraphTransformObserver(traced, "mine") as observer:
    ...     _ = traced.graph.call_method("relu", (next(iter(traced.graph.nodes)),))
    >>> sorted(observer.created_nodes)
    ['relu']
    """

    _passes = 0

    def __init__(self, gm, passname, subsystem=None, log_url=None):
        self.gm, self.passname, self.subsystem, self.log_url = gm, passname, subsystem, log_url
        self.created_nodes, self.erased_nodes = set(), set()
        self.name_to_node = {}

    @classmethod
    def get_current_pass_count(cls):
        """How many passes have been observed."""
        return cls._passes

    def apply_gm_pass(self, pass_fn):
        """Run a pass of a module under observation; returns its result."""
        return self._observed(pass_fn, self.gm)

    def apply_graph_pass(self, pass_fn):
        """Run a pass of a graph under observation; returns its result."""
        return self._observed(pass_fn, self.gm.graph)

    def _observed(self, pass_fn, thing):
        with self:
            return pass_fn(thing)

    def __enter__(self):
        GraphTransformObserver._passes += 1
        self._before = self._drawing()
        self._note = functools.partial(self._noted, self.created_nodes)
        self._forget = functools.partial(self._noted, self.erased_nodes)
        self.gm._register_create_node_hook(self._note)
        self.gm._register_erase_node_hook(self._forget)
        return self

    def __exit__(self, kind, value, traceback):
        self.gm._unregister_create_node_hook(self._note)
        self.gm._unregister_erase_node_hook(self._forget)
        if self.log_url is not None and (self.created_nodes or self.erased_nodes):
            stem = os.path.join(self.log_url, f"pass_{GraphTransformObserver._passes}_{self.passname}")
            for when, drawing in (("input", self._before), ("output", self._drawing())):
                with open(f"{stem}_{when}_graph.dot", "w") as file:
                    file.write(drawing)

    def _drawing(self):
        if self.log_url is None:
            return ""
        from .graph_drawer import FxGraphDrawer

        return FxGraphDrawer(self.gm, self.passname, ignore_getattr=True).get_dot_graph().to_string()

    def _noted(self, names, node):
        names.add(node.name)
        if names is self.created_nodes:
            self.name_to_node.update({node.name: node})
