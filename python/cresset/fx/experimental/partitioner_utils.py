"""Partitions of a graph's nodes: what they hold, and how long they take."""

import enum
from typing import NamedTuple

from ..node import Node

__all__ = [
    "Device", "NodeLatency", "Partition", "PartitionLatency", "PartitionMode", "PartitionerConfig", "get_comm_latency_between", "get_extra_size_of",
    "get_latency_of_one_partition", "get_latency_of_partitioned_graph", "get_partition_to_latency_mapping",
]  # fmt: skip

_GIVEN = ("placeholder", "get_attr")


class Device(NamedTuple):
    """A device with its memory in bytes and its number.

    >>> torch.fx.experimental.partitioner_utils.Device("dev_0", 1024, 0).logical_id
    0
    """

    name: str
    available_mem_bytes: int
    logical_id: int


class NodeLatency(NamedTuple):
    """Seconds that a node takes for its memory and for its arithmetic, which run beside each other.

    >>> torch.fx.experimental.partitioner_utils.NodeLatency(1.0, 2.0).mem_latency_sec
    1.0
    """

    mem_latency_sec: float
    computer_latency_sec: float


class PartitionLatency(NamedTuple):
    """Seconds on the longest way through a partition: for memory, for arithmetic, and over all.

    >>> torch.fx.experimental.partitioner_utils.PartitionLatency(1.0, 2.0, 2.0).overall_latency_sec
    2.0
    """

    mem_latency_sec: float
    computer_latency_sec: float
    overall_latency_sec: float


class PartitionMode(enum.Enum):
    """How partitions are chosen: by memory, with embeddings apart, by latency, by exchange of nodes, or as given.

    >>> torch.fx.experimental.partitioner_utils.PartitionMode.kl_based.value
    3
    """

    size_based = 0
    sparse_nn = 1
    cost_aware = 2
    kl_based = 3
    aot_based = 4


class PartitionerConfig(NamedTuple):
    """Devices and choices of a partitioner.

    `transfer_rate_bytes_per_sec` and `node_to_latency_mapping` serve the modes cost_aware and kl_based, `node_to_partition_mapping` and
    `partition_to_logical_device_mapping` serve aot_based, and `saturate_host` lets further devices run copies of the partitions.

    >>> utils = torch.fx.experimental.partitioner_utils
    >>> utils.PartitionerConfig([utils.Device("dev_0", 1024, 0)]).mode.name
    'size_based'
    """

    devices: list[Device]
    mode: PartitionMode = PartitionMode.size_based
    transfer_rate_bytes_per_sec: float = 0.0
    node_to_latency_mapping: dict[Node, NodeLatency] = {}
    node_to_partition_mapping: dict[Node, int] = {}
    partition_to_logical_device_mapping: dict[int, list[int]] = {}
    saturate_host: bool = False


class Partition:
    """Nodes that run on one device, with the parameters and arguments that they use.

    >>> torch.fx.experimental.partitioner_utils.Partition(0).used_mem_bytes
    0
    """

    def __init__(self, partition_id):
        self.partition_id, self.bfs_level, self.used_mem_bytes = partition_id, -1, 0
        self.nodes, self.parents, self.children, self.logical_device_ids = set(), set(), set(), []

    def __repr__(self):
        return str(self.partition_id)

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return hash(self.partition_id)

    def leave_devices(self):
        """Take the devices off."""
        self.logical_device_ids = []

    def recalculate_mem_size(self):
        """Find the bytes of the nodes anew."""
        self.used_mem_bytes = sum(get_extra_size_of(node, self.nodes) for node in self.nodes)

    def add_node(self, node):
        """Add a node with the arguments and attributes that it uses."""
        self.nodes.update([node, *(n for n in node.all_input_nodes if n.op in _GIVEN)])
        self.recalculate_mem_size()

    def remove_node(self, node):
        """Remove a node with the arguments and attributes that no other node of the partition uses. Nothing where it is not in it."""
        if node in self.nodes:
            self.nodes.remove(node)
            self.nodes -= {n for n in node.all_input_nodes if n.op in _GIVEN and self.nodes.isdisjoint(n.users)}
            self.recalculate_mem_size()


def get_extra_size_of(node, nodes):
    """The bytes that a node needs beside other nodes: its own, and those of values that come from elsewhere. Needs `size_bytes` on the nodes.

    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> torch.fx.passes.graph_manipulation.get_size_of_all_nodes(traced, [torch.ones(2)])
    >>> torch.fx.experimental.partitioner_utils.get_extra_size_of(list(traced.graph.nodes)[1], set())
    16
    """
    try:
        return node.size_bytes.total_size + sum(used.size_bytes.output_size for used in node.all_input_nodes if used not in nodes)
    except AttributeError:
        raise RuntimeError(f"get_extra_size_of: {node} or a node that it uses has no size_bytes; graph_manipulation.get_size_of_all_nodes notes them") from None


def get_latency_of_one_partition(partition, node_to_latency_mapping):
    """The PartitionLatency of the longest way through a partition.

    Args:
        partition: the Partition.
        node_to_latency_mapping: {node: NodeLatency}.

    >>> utils = torch.fx.experimental.partitioner_utils
    >>> utils.get_latency_of_one_partition(utils.Partition(0), {})
    PartitionLatency(mem_latency_sec=0.0, computer_latency_sec=0.0, overall_latency_sec=0.0)
    """
    zero = PartitionLatency(0.0, 0.0, 0.0)
    until = {}
    for node in sorted(n for n in partition.nodes if n.op not in _GIVEN and n.op != "output"):
        before = max((until[n] for n in node.all_input_nodes if n in until), key=_overall, default=zero)
        memory, arithmetic = node_to_latency_mapping[node]
        until[node] = PartitionLatency(before[0] + memory, before[1] + arithmetic, before[2] + max(memory, arithmetic))
    return max(until.values(), key=_overall, default=zero)


def _overall(latency):
    return latency.overall_latency_sec


def get_partition_to_latency_mapping(partitions, node_to_latency_mapping):
    """{partition: its PartitionLatency}.

    >>> torch.fx.experimental.partitioner_utils.get_partition_to_latency_mapping([], {})
    {}
    """
    return {partition: get_latency_of_one_partition(partition, node_to_latency_mapping) for partition in partitions}


def get_comm_latency_between(parent_partition, child_partition, transfer_rate_bytes_per_sec):
    """The seconds for the values that go from one partition to another; 0 where both are on the same devices.

    >>> utils = torch.fx.experimental.partitioner_utils
    >>> utils.get_comm_latency_between(utils.Partition(0), utils.Partition(1), 8.0)
    0.0
    """
    ids = parent_partition.logical_device_ids
    if ids and ids == child_partition.logical_device_ids:
        return 0.0
    sent = {used for node in child_partition.nodes for used in node.all_input_nodes} & parent_partition.nodes
    return sum(node.size_bytes.output_size for node in sent) / transfer_rate_bytes_per_sec


def get_latency_of_partitioned_graph(partitions, partition_to_latency_mapping, transfer_rate_bytes_per_sec):
    """The seconds of the longest way through all partitions, with the transfers on it.

    >>> torch.fx.experimental.partitioner_utils.get_latency_of_partitioned_graph([], {}, 8.0)
    0.0
    """
    known = {}

    def from_here(partition):
        if partition not in known:
            later = (get_comm_latency_between(partition, child, transfer_rate_bytes_per_sec) + from_here(child) for child in partition.children)
            known[partition] = partition_to_latency_mapping[partition].overall_latency_sec + max(later, default=0.0)
        return known[partition]

    return max((from_here(p) for p in partitions if not p.parents), default=0.0)
