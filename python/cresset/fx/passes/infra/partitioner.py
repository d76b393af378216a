"""Partitions of a graph: groups of supported nodes, as large as can be, each of which can become one node."""

import collections
import itertools
import operator

from ..._compatibility import compatibility
from ...node import Node, _get_qualified_name
from ..utils.fuser_utils import fuse_by_partitions

__all__ = ["Partition", "CapabilityBasedPartitioner"]


@compatibility(is_backward_compatible=False)
class Partition:
    """A group of nodes.

    Args:
        id: its number.
        nodes: the nodes.
        node_orders: their places in the graph.

    >>> torch.fx.passes.infra.partitioner.Partition(0).size()
    0
    """

    def __init__(self, id=None, nodes=None, node_orders=None):  # noqa: A002
        self.id = id
        nodes = [] if nodes is None else list(nodes)
        orders = [None] * len(nodes) if node_orders is None else list(node_orders)
        if len(orders) != len(nodes):
            raise AssertionError(f"Partition: got {len(nodes)} nodes and {len(orders)} places")
        self.nodes = dict(zip(nodes, orders, strict=True))

    def __repr__(self):
        return str(list(self.nodes))

    def add_node(self, node, node_order=None):
        """Add a node."""
        self.nodes[node] = node_order

    def remove_node(self, node):
        """Take a node out."""
        del self.nodes[node]

    def size(self):
        """How many nodes there are."""
        return len(self.nodes)


class _DependencyViewer:
    """For every node those that use its value, directly or not."""

    def __init__(self, graph_module):
        self.downstreams = collections.defaultdict(set)
        for node in reversed(graph_module.graph.nodes):
            for user in node.users:
                self.downstreams[node].add(user)
                self.downstreams[node].update(self.downstreams[user])

    def downstreams_of(self, node):
        return self.downstreams[node]


@compatibility(is_backward_compatible=False)
class CapabilityBasedPartitioner:
    """Finds partitions of the nodes that a backend supports, and makes submodules of them.

    Args:
        graph_module: the module.
        operator_support: says which nodes are supported.
        allows_single_node_partition: keep partitions of one computing node too.
        non_compute_ops: functions, by their paths, that count for nothing in a partition.
        allowed_single_node_partition_ops: functions that may stand alone nevertheless.
        skip_horizontal_fusion: leave nodes apart that do not depend on each other.

    >>> import operator
    >>> traced = torch.fx.symbolic_trace(lambda x: ((x + 1) + 2).sin() + 3)
    >>> support = torch.fx.passes.operator_support.create_op_support(lambda submodules, node: node.target is operator.add)
    >>> partitioner = torch.fx.passes.infra.partitioner.CapabilityBasedPartitioner(traced, support)
    >>> [sorted(map(str, partition.nodes)) for partition in partitioner.propose_partitions()]
    [['add', 'add_1']]
    """

    def __init__(
        self, graph_module, operator_support, allows_single_node_partition=False, non_compute_ops=None, allowed_single_node_partition_ops=None,
        skip_horizontal_fusion=False,
    ):  # fmt: skip
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = () if non_compute_ops is None else non_compute_ops
        self.allowed_single_node_partition_ops = () if allowed_single_node_partition_ops is None else allowed_single_node_partition_ops
        self.skip_horizontal_fusion = skip_horizontal_fusion
        self.dependency_viewer = _DependencyViewer(graph_module)

    def _is_node_supported(self, node):
        return self.operator_support.is_node_supported(dict(self.graph_module.named_modules()), node)

    def propose_partitions(self):
        """The partitions, from the end of the graph to its beginning."""
        modules = dict(self.graph_module.named_modules())
        self._owner, self._parts, self._numbers = {}, {}, itertools.count()
        self._below = {}  # partition: the nodes outside that use its values, directly or not
        order = {node: i for i, node in enumerate(self.graph_module.graph.nodes)}
        for node in reversed(self.graph_module.graph.nodes):
            if not self.operator_support.is_node_supported(modules, node) or node.op in ("placeholder", "output"):
                continue
            own = next(self._numbers)
            self._parts[own] = Partition(own, [node], [order[node]])
            self._owner[node] = own
            self._below[own] = set(self.dependency_viewer.downstreams_of(node))
            near = dict.fromkeys(self._owner[user] for user in node.users if user in self._owner)
            others = [] if self.skip_horizontal_fusion else [number for number in self._parts if number not in near]
            for other in [*near, *others]:
                self._merge(self._owner[node], other)
        self._move_getitems()
        return self._kept()

    def _merge(self, number, other):
        """Makes two partitions one, unless a node outside would stand between them."""
        if number == other or other not in self._parts:
            return
        nodes = {**self._parts[number].nodes, **self._parts[other].nodes}
        below = (self._below[number] | self._below[other]) - nodes.keys()
        if any(not nodes.keys().isdisjoint(self.dependency_viewer.downstreams_of(node)) for node in below):
            return
        if self._between_partitions(number, other, below, nodes):
            return
        self._parts[number].nodes.update(self._parts[other].nodes)
        for node in self._parts[other].nodes:
            self._owner[node] = number
        self._below[number] = below
        del self._parts[other], self._below[other]

    def _between_partitions(self, number, other, below, nodes):
        """Whether a third partition would both use values of the new one and give values to it, once each is a single node."""
        todo, seen = list({self._owner[n] for n in below if n in self._owner} - {number, other}), set()
        while todo:
            part = todo.pop()
            if part in seen:
                continue
            seen.add(part)
            further = self._below[part]
            if not nodes.keys().isdisjoint(further):
                return True
            todo += [self._owner[n] for n in further if n in self._owner and self._owner[n] not in (number, other)]
        return False

    def _move_getitems(self):
        """Items belong where that is made of which they are taken: what crosses to other partitions are values then, not tuples."""
        for node in self.graph_module.graph.nodes:
            now = self._owner.get(node)
            if now is None or node.op != "call_function" or node.target is not operator.getitem or not isinstance(node.args[0], Node):
                continue
            home = self._owner.get(node.args[0])
            if home == now or len(node.all_input_nodes) != 1:
                continue
            self._parts[now].remove_node(node)
            del self._owner[node]
            if home is not None:
                self._parts[home].add_node(node)
                self._owner[node] = home

    def _kept(self):
        kept = []
        for part in self._parts.values():
            if self.allows_single_node_partition:
                if part.size():
                    kept.append(part)
                continue
            computing = 0
            for node in part.nodes:
                name = _get_qualified_name(node.target) if node.op == "call_function" and callable(node.target) else None
                if name is not None and name not in ("_operator.getitem", *self.non_compute_ops):
                    computing += 1
                if name is not None and name in self.allowed_single_node_partition_ops:
                    computing += 2
                if node.op in ("call_module", "call_method"):
                    computing += 1
            if computing > 1:
                kept.append(part)
        return kept

    def fuse_partitions(self, partitions, prefix="fused_"):
        """Make a submodule of every partition; returns the module."""
        return fuse_by_partitions(self.graph_module, [list(part.nodes) for part in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions):
        """Take the nodes of `non_compute_ops` that stand at the beginning or the end out of partitions."""
        for part in partitions:
            inside, out = set(part.nodes), set()

            def idle(node):
                return node.op == "call_function" and _get_qualified_name(node.target) in self.non_compute_ops

            for neighbours in (lambda n: n.all_input_nodes, lambda n: list(n.users)):
                changed = True
                while changed:
                    found = {n for n in inside - out if idle(n) and all(m in out or m not in inside for m in neighbours(n))}
                    changed = bool(found)
                    out |= found
            for node in out:
                part.remove_node(node)

    def partition_and_fuse(self, prefix="fused_"):
        """Find partitions and make submodules of them."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)
