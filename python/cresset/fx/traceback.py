"""Facts that stay with nodes when a graph is traced again: where they come from, and what programs have noted on them.

>>> with torch.fx.traceback.preserve_node_meta(), torch.fx.traceback.annotate({"stage": 1}):
...     graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
>>> [node.meta.get("custom") for node in graph.nodes if node.op == "call_function"]
[{'stage': 1}]
"""

import contextlib
import copy
import enum
import functools
import threading
import traceback

from ._compatibility import compatibility
from .node import Node

__all__ = [
    "annotate", "annotate_fn", "preserve_node_meta", "has_preserved_node_meta", "set_stack_trace", "set_grad_fn_seq_nr", "reset_grad_fn_seq_nr",
    "format_stack", "set_current_meta", "get_current_meta", "NodeSource", "NodeSourceAction", "get_graph_provenance_json", "set_current_replay_node",
    "get_current_replay_node",
]  # fmt: skip


class _State(threading.local):
    """The facts noted on new nodes of this thread."""

    preserving = False
    replayed = None

    def __init__(self):
        self.meta = {}


_state = _State()


@compatibility(is_backward_compatible=False)
class NodeSourceAction(enum.Enum):
    """How a node came from another: it was made of it, or put in its place.

    >>> torch.fx.traceback.NodeSourceAction.CREATE.value
    'create'
    """

    CREATE = "create"
    REPLACE = "replace"


@compatibility(is_backward_compatible=False)
class NodeSource:
    """The node that another one comes from, with the pass that made it, and with the sources of that node in turn.

    Args:
        node: the node, or None for a pass alone.
        pass_name: the pass.
        action: a NodeSourceAction or several.

    >>> node = next(iter(torch.fx.symbolic_trace(lambda x: x).graph.nodes))
    >>> torch.fx.traceback.NodeSource(node, "mine").name
    'x'
    """

    def __init__(self, node, pass_name="", action=None):
        if action is not None and not isinstance(action, (NodeSourceAction, list)):
            raise AssertionError(f"NodeSource: expected an action or a list of them, got {type(action).__name__}")
        self.pass_name = pass_name
        self.action = [] if action is None else action if isinstance(action, list) else [action]
        self.node_info = NodeSource.NodeInfo(node.name, node.target if isinstance(node.target, str) else str(node.target), id(node.graph)) if node else None
        self.from_node = copy.deepcopy(node.meta.get("from_node", [])) if node else []

    class NodeInfo:
        """Name, target and graph of a node."""

        def __init__(self, name, target, graph_id):
            self.name, self.target, self.graph_id = name, target, graph_id

    name = property(lambda self: self.node_info.name if self.node_info else "")
    target = property(lambda self: self.node_info.target if self.node_info else "")
    graph_id = property(lambda self: self.node_info.graph_id if self.node_info else -1)

    def _get_action_string(self):
        return "+".join(action.name.lower() for action in self.action)

    def to_dict(self):
        """The source as a dictionary of plain values."""
        return {
            "name": self.name, "target": self.target, "graph_id": self.graph_id, "pass_name": self.pass_name,
            "action": self._get_action_string(), "from_node": [source.to_dict() for source in self.from_node],
        }  # fmt: skip

    def print_readable(self, indent=0):
        """The source and its own sources as text, a line each."""
        return "\n".join(
            [
                f"{' ' * indent}(name={self.name}, pass_name={self.pass_name}, action={self._get_action_string()}, graph_id={self.graph_id})",
                *(source.print_readable(indent + 4) for source in self.from_node),
            ]
        )

    def __repr__(self):
        return self.print_readable()

    def __eq__(self, other):
        return isinstance(other, NodeSource) and self.to_dict() == other.to_dict()

    def __hash__(self):
        return hash((self.name, self.target, self.graph_id, self.pass_name, self._get_action_string()))


@compatibility(is_backward_compatible=False)
@contextlib.contextmanager
def preserve_node_meta(enable=True):
    """Note on new nodes the present meta, within a `with` block.

    >>> with torch.fx.traceback.preserve_node_meta():
    ...     torch.fx.traceback.has_preserved_node_meta()
    True
    """
    before, meta = _state.preserving, _state.meta
    _state.preserving, _state.meta = enable, dict(meta)
    try:
        yield
    finally:
        _state.preserving, _state.meta = before, meta


@compatibility(is_backward_compatible=False)
def has_preserved_node_meta():
    """Whether new nodes get the present meta.

    >>> torch.fx.traceback.has_preserved_node_meta()
    False
    """
    return _state.preserving


@compatibility(is_backward_compatible=False)
@contextlib.contextmanager
def annotate(annotation_dict):
    """Put entries into `meta["custom"]` of the nodes that are made within a `with` block, under `preserve_node_meta`.

    Errors: TypeError for what is no dictionary.

    >>> with torch.fx.traceback.annotate({"stage": 1}):
    ...     torch.fx.traceback.get_current_meta()["custom"]
    {'stage': 1}
    """
    if not isinstance(annotation_dict, dict):
        raise TypeError(f"annotate: expected a dict, got {type(annotation_dict).__name__}")
    has = "custom" in _state.meta
    before = dict(_state.meta.get("custom", {}))
    _state.meta["custom"] = {**before, **annotation_dict}
    try:
        yield
    finally:
        if has:
            _state.meta["custom"] = before
        else:
            _state.meta.pop("custom", None)


@compatibility(is_backward_compatible=False)
def annotate_fn(annotation_dict):
    """A decorator: `annotate` around every call of a function.

    >>> @torch.fx.traceback.annotate_fn({"stage": 2})
    ... def noted():
    ...     return torch.fx.traceback.get_current_meta()["custom"]
    >>> noted()
    {'stage': 2}
    """

    def decorate(function):
        @functools.wraps(function)
        def annotated(*args, **kwargs):
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorate


@compatibility(is_backward_compatible=False)
def set_stack_trace(stack):
    """The lines that new nodes get as their stack trace.

    >>> with torch.fx.traceback.preserve_node_meta():
    ...     torch.fx.traceback.set_stack_trace(["line 1"])
    ...     torch.fx.traceback.format_stack()
    ['line 1']
    """
    if _state.preserving and stack:
        _state.meta["stack_trace"] = "".join(stack)


@compatibility(is_backward_compatible=False)
def set_grad_fn_seq_nr(seq_nr):
    """The number of the node of the autograd graph whose backward runs.

    >>> with torch.fx.traceback.preserve_node_meta():
    ...     torch.fx.traceback.set_grad_fn_seq_nr(3)
    ...     torch.fx.traceback.get_current_meta()["grad_fn_seq_nr"]
    [3]
    """
    if _state.preserving:
        _state.meta["grad_fn_seq_nr"] = [*_state.meta.get("grad_fn_seq_nr", []), seq_nr]
        _state.meta["in_grad_fn"] = _state.meta.get("in_grad_fn", 0) + 1


@compatibility(is_backward_compatible=False)
def reset_grad_fn_seq_nr():
    """The backward of the last `set_grad_fn_seq_nr` has ended.

    >>> with torch.fx.traceback.preserve_node_meta():
    ...     torch.fx.traceback.set_grad_fn_seq_nr(3)
    ...     torch.fx.traceback.reset_grad_fn_seq_nr()
    ...     "grad_fn_seq_nr" in torch.fx.traceback.get_current_meta()
    False
    """
    if not _state.preserving:
        return
    level = _state.meta.get("in_grad_fn", 0)
    if level > 1:
        _state.meta["in_grad_fn"] = level - 1
        _state.meta["grad_fn_seq_nr"] = _state.meta["grad_fn_seq_nr"][:-1]
    elif level == 1:
        del _state.meta["in_grad_fn"]
        _state.meta.pop("grad_fn_seq_nr", None)


@compatibility(is_backward_compatible=False)
def format_stack():
    """The lines that led here, or those that were set.

    >>> len(torch.fx.traceback.format_stack()) > 0
    True
    """
    if _state.preserving:
        return [_state.meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@compatibility(is_backward_compatible=False)
@contextlib.contextmanager
def set_current_meta(node, pass_name=""):
    """Give new nodes the meta of a node that is run again, within a `with` block, under `preserve_node_meta`.

    >>> node = next(iter(torch.fx.symbolic_trace(lambda x: x).graph.nodes))
    >>> node.meta["custom"] = "kept"
    >>> with torch.fx.traceback.preserve_node_meta(), torch.fx.traceback.set_current_meta(node):
    ...     torch.fx.traceback.get_current_meta()["custom"]
    'kept'
    """
    if not (_state.preserving and node.meta):
        yield
        return
    before = _state.meta
    _state.meta = dict(node.meta)
    _state.meta["from_node"] = [NodeSource(node, pass_name, NodeSourceAction.CREATE)]
    try:
        yield
    finally:
        _state.meta = before


@compatibility(is_backward_compatible=False)
def get_current_meta():
    """The entries that new nodes get.

    >>> torch.fx.traceback.get_current_meta()
    {}
    """
    return _state.meta


@compatibility(is_backward_compatible=False)
@contextlib.contextmanager
def set_current_replay_node(node):
    """Note the node that is run again, within a `with` block.

    >>> with torch.fx.traceback.set_current_replay_node(None):
    ...     torch.fx.traceback.get_current_replay_node()
    """
    before, _state.replayed = _state.replayed, node
    try:
        yield
    finally:
        _state.replayed = before


@compatibility(is_backward_compatible=False)
def get_current_replay_node():
    """The node that is run again, or None.

    >>> torch.fx.traceback.get_current_replay_node()
    """
    return _state.replayed


@compatibility(is_backward_compatible=False)
def get_graph_provenance_json(graph):
    """{name of a node: its sources as dictionaries} for the calls of a graph.

    >>> torch.fx.traceback.get_graph_provenance_json(torch.fx.symbolic_trace(lambda x: x + 1).graph)
    {'add': []}
    """
    found = {}
    for node in graph.nodes:
        if node.op in ("call_function", "call_module", "call_method"):
            found[node.name] = [source.to_dict() for source in node.meta.get("from_node", []) if not isinstance(source, Node)]
    return found
