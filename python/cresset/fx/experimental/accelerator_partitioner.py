"""A module split over devices with a memory each."""

import itertools
from collections import deque
from typing import NamedTuple

from cresset import nn

from ..graph_module import GraphModule
from ..passes.split_module import split_module
from ..passes.tools_common import CALLABLE_NODE_OPS
from .partitioner_utils import Partition, PartitionMode, get_extra_size_of, get_latency_of_partitioned_graph, get_partition_to_latency_mapping

__all__ = ["DAG", "DAGNode", "PartitionResult", "Partitioner"]


class DAGNode:
    """A partition of a split module: the node that calls it, the nodes around it, its devices and its bytes.

    >>> torch.fx.experimental.accelerator_partitioner.DAGNode("submod_0", [], [], [0], 64).logical_device_ids
    [0]
    """

    def __init__(self, submodule_node, input_nodes, output_nodes, logical_device_ids, size_bytes):
        self.submodule_node, self.input_nodes, self.output_nodes = submodule_node, input_nodes, output_nodes
        self.logical_device_ids, self.size_bytes = logical_device_ids, size_bytes

    def __str__(self):
        return str(self.submodule_node)


class DAG:
    """The partitions of a split module, in the order in which they run.

    >>> torch.fx.experimental.accelerator_partitioner.DAG().nodes
    []
    """

    def __init__(self):
        self.nodes = []

    def create_node(self, submodule_node, input_nodes, output_nodes, logical_devices, size_bytes):
        """Add a partition."""
        self.nodes.append(DAGNode(submodule_node, input_nodes, output_nodes, logical_devices, size_bytes))


class PartitionResult(NamedTuple):
    """The partitions as a DAG, and the module with a submodule for each.

    >>> torch.fx.experimental.accelerator_partitioner.PartitionResult._fields
    ('dag', 'module_with_submodules')
    """

    dag: DAG
    module_with_submodules: GraphModule


# ---- lists of partitions --------------------------------------------------------------------------------------------------


def reset_partition_device(partitions):
    """Take the devices off partitions."""
    for each in partitions:
        each.leave_devices()


def combine_two_partitions(partition_0, partition_1, partitions):
    """Put one partition in the place of two in a list."""
    made = Partition(len(partitions))
    made.nodes = partition_0.nodes | partition_1.nodes
    made.recalculate_mem_size()
    partitions[:] = [p for p in partitions if p is not partition_0 and p is not partition_1] + [made]
    reorganize_partitions(partitions)


def set_parents_and_children(partitions):
    """Note which partitions use values of which."""
    holders = {node: p for p in partitions for node in p.nodes if node.op in CALLABLE_NODE_OPS}
    for each in partitions:
        each.parents, each.children = set(), set()
    for node, child in holders.items():
        for parent in {holders[n] for n in node.all_input_nodes if n in holders} - {child}:
            parent.children.add(child)
            child.parents.add(parent)


def reorganize_partitions(partitions):
    """Number the partitions of a list by their places, and note which use values of which."""
    for number, each in enumerate(partitions):
        each.partition_id = number
    set_parents_and_children(partitions)


def get_bfs_level_partition(partitions):
    """Note as `bfs_level` of partitions how many others stand before them on the shortest way."""
    levels = {p: 0 for p in partitions if not p.parents}
    todo = deque(levels)
    while todo:
        partition = todo.popleft()
        for child in partition.children:
            if child not in levels:
                levels[child] = levels[partition] + 1
                todo.append(child)
    for partition, level in levels.items():
        partition.bfs_level = level


def get_node_to_partition_mapping(partitions):
    """{node: the number of its partition}."""
    return {node: p.partition_id for p in partitions for node in p.nodes}


def get_logical_id_to_device(devices):
    """{number: device}."""
    return {device.logical_id: device for device in devices}


def get_device_partition_stats(partitions, devices):
    """{device: its partitions}, {device: the bytes that are left}, and the partitions without a device."""
    held = {d: [p for p in partitions if d.logical_id in p.logical_device_ids] for d in devices}
    left = {d: d.available_mem_bytes - sum(p.used_mem_bytes for p in held[d]) for d in devices}
    return held, left, [p for p in partitions if not p.logical_device_ids]


def get_device_to_partitions_mapping(partitions, devices):
    """Give partitions without a device the first one that has room for them; returns whether all have got one.

    They are taken in their order, and where that does not work out the largest first.
    """
    waiting = get_device_partition_stats(partitions, devices)[2]
    for order in (waiting, sorted(waiting, key=lambda p: -p.used_mem_bytes)):
        reset_partition_device(waiting)
        held = get_device_partition_stats(partitions, devices)[0]
        if all(_put_on_first(partition, held) for partition in order):
            return True
    return False


def _put_on_first(partition, held):
    for device, present in held.items():
        together = partition.nodes.union(*(p.nodes for p in present))
        if sum(get_extra_size_of(node, together) for node in together) <= device.available_mem_bytes:
            partition.logical_device_ids = [device.logical_id]
            present.append(partition)
            return True
    return False


def check_dependency(partition):
    """Whether a partition depends on its own results, by way of others."""
    todo, seen = list(partition.children), set()
    while todo:
        current = todo.pop()
        if current is partition:
            return True
        if current not in seen:
            seen.add(current)
            todo += current.children
    return False


# ---- the partitioner ------------------------------------------------------------------------------------------------------


class Partitioner:
    """Splits a module over devices, so that each part fits into the memory of its device.

    >>> utils = torch.fx.experimental.partitioner_utils
    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> torch.fx.passes.graph_manipulation.get_size_of_all_nodes(traced, [torch.ones(2)])
    >>> config = utils.PartitionerConfig([utils.Device("dev_0", 20, 0), utils.Device("dev_1", 20, 1)])
    >>> result = torch.fx.experimental.accelerator_partitioner.Partitioner().partition_graph(traced, traced, config)
    >>> [node.logical_device_ids for node in result.dag.nodes]
    [[0], [1]]
    """

    def __init__(self):
        self.partitions, self.node_to_partition, self.devices = [], {}, []

    def partition_graph(self, fx_module, torch_module, partitioner_config):
        """Split a module; returns a PartitionResult.

        Args:
            fx_module: the GraphModule, whose nodes have `size_bytes` (`graph_manipulation.get_size_of_all_nodes`).
            torch_module: the module that was traced.
            partitioner_config: the devices, and how to split.

        Errors: RuntimeError without devices, for a module that calls nothing, and where the memory does not suffice.
        """
        config = partitioner_config
        self.graph_module, self.torch_module, self.devices = fx_module, torch_module, config.devices
        self.partitions = []
        if not self.devices:
            raise RuntimeError("partition_graph: expected at least one device, got none")
        self._steps = fx_module.graph.nodes.of(*CALLABLE_NODE_OPS)
        if not self._steps:
            raise RuntimeError("partition_graph: the module calls nothing, so that there is nothing to split")
        total = sum(node.size_bytes.total_size for node in fx_module.graph.nodes if node.op != "output")
        largest = max(self.devices, key=lambda d: d.available_mem_bytes)
        if config.mode is PartitionMode.aot_based:
            self.aot_based_partition(config.node_to_partition_mapping, config.partition_to_logical_device_mapping)
        elif total <= largest.available_mem_bytes:
            self.find_single_partition(total, logical_device_id=largest.logical_id)
        elif total > sum(d.available_mem_bytes for d in self.devices):
            raise RuntimeError(f"partition_graph: the module needs {total} bytes, which is more memory than all devices have together")
        else:
            self._split(config)
        if config.saturate_host:
            self.saturate_host()
        made = self.do_partition()
        return PartitionResult(self.dump_dag(made), made)

    def _split(self, config):
        match config.mode:
            case PartitionMode.sparse_nn:
                sizes = {d.available_mem_bytes for d in self.devices}
                if len(sizes) > 1:
                    raise RuntimeError(f"partition_graph: the mode sparse_nn takes devices of one size, got {sorted(sizes)} bytes")
                self.sparse_nn_partition(sizes.pop())
            case PartitionMode.cost_aware:
                self.cost_aware_partition(config.transfer_rate_bytes_per_sec, config.node_to_latency_mapping)
            case PartitionMode.kl_based:
                self.kl_based_partition(config.transfer_rate_bytes_per_sec, config.node_to_latency_mapping)
            case _:
                self.size_based_partition()

    def create_partition(self):
        """Add an empty partition."""
        self.partitions.append(Partition(len(self.partitions)))
        return self.partitions[-1]

    def create_single_node_partition(self, node):
        """Add a partition of one node."""
        self.create_partition().add_node(node)

    def find_single_partition(self, total_size_of_graph, logical_device_id=0):
        """Put all nodes into one partition."""
        partition = self.create_partition()
        partition.nodes = {node for node in self.graph_module.graph.nodes if node.op != "output"}
        partition.used_mem_bytes, partition.logical_device_ids = total_size_of_graph, [logical_device_id]
        self._settle()

    def size_based_partition(self):
        """Fill one device after the other with nodes in the order in which they run; what is left goes to devices that have room."""
        spare = list(self.devices)
        smallest, room, partition = min(d.available_mem_bytes for d in spare), 0, None
        for node in self._steps:
            if partition is None or partition.used_mem_bytes + get_extra_size_of(node, partition.nodes) > room:
                partition, device = self.create_partition(), spare.pop(0) if spare else None
                room = device.available_mem_bytes if device else smallest
                partition.logical_device_ids = [device.logical_id] if device else []
                if get_extra_size_of(node, set()) > room:
                    raise RuntimeError(f"{node} is too large for a device: it needs {get_extra_size_of(node, set())} bytes, the device has {room}")
            partition.add_node(node)
        self._settle()
        if any(not p.logical_device_ids for p in self.partitions):
            self._place()

    def sparse_nn_partition(self, available_mem_bytes):
        """Put embeddings into partitions of their own, as few as the memory allows; all other nodes are a further one."""
        modules = dict(self.graph_module.named_modules())
        tables = [n for n in self._steps if n.op == "call_module" and isinstance(modules[n.target], (nn.Embedding, nn.EmbeddingBag))]
        feeding = self._before(tables)
        self._fill(tables, available_mem_bytes)
        self._fill([n for n in self._steps if n in feeding])
        self._fill([n for n in self._steps if n not in feeding and n not in tables])
        self._settle()
        self._place()

    def _fill(self, nodes, room=float("inf")):
        """Adds partitions of nodes, each as large as the room allows."""
        last = None
        for node in nodes:
            if last is None or last.used_mem_bytes + get_extra_size_of(node, last.nodes) > room:
                last = self.create_partition()
            last.add_node(node)

    def _before(self, nodes):
        """The nodes on whose values some depend."""
        found, todo = set(), list(nodes)
        while todo:
            new = [n for n in todo.pop().all_input_nodes if n not in found]
            found.update(new)
            todo += new
        return found.difference(nodes)

    def cost_aware_partition(self, transfer_rate_bytes_per_sec, node_to_latency_mapping):
        """Begin with a partition for each node, and put two together as long as that lowers the latency."""
        for step in self._steps:
            self.create_single_node_partition(step)
        self._settle()

        def latency(partitions):
            """That of partitions which fit on the devices without circles; None of others."""
            reset_partition_device(partitions)
            if any(map(check_dependency, partitions)) or not get_device_to_partitions_mapping(partitions, self.devices):
                return None
            times = get_partition_to_latency_mapping(partitions, node_to_latency_mapping)
            return get_latency_of_partitioned_graph(partitions, times, transfer_rate_bytes_per_sec)

        best = latency(self.partitions)
        while True:
            options = []
            for i, j in itertools.combinations(range(len(self.partitions)), 2):
                trial = self._copied()
                combine_two_partitions(trial[i], trial[j], trial)
                if (cost := latency(trial)) is not None:
                    options.append((cost, len(options), trial))
            if not options or (best is not None and min(options)[0] > best):
                break
            best, _, self.partitions = min(options)
        reorganize_partitions(self.partitions)
        self._settle()
        self._place()

    def _copied(self):
        made = []
        for partition in self.partitions:
            made.append(Partition(len(made)))
            made[-1].nodes = set(partition.nodes)
            made[-1].recalculate_mem_size()
        return made

    def kl_based_partition(self, transfer_rate_bytes_per_sec, node_to_latency_mapping):
        """Begin with partitions by memory, and move nodes between them as long as that lowers the latency (after Kernighan and Lin)."""
        self.size_based_partition()
        rooms = {d.logical_id: d.available_mem_bytes for d in self.devices}

        def latency():
            set_parents_and_children(self.partitions)
            fits = all(p.used_mem_bytes <= rooms[i] for p in self.partitions for i in p.logical_device_ids)
            if not fits or any(map(check_dependency, self.partitions)):
                return float("inf")
            times = get_partition_to_latency_mapping(self.partitions, node_to_latency_mapping)
            return get_latency_of_partitioned_graph(self.partitions, times, transfer_rate_bytes_per_sec)

        best, improved = latency(), True
        while improved:
            improved = False
            for node, (source, target) in itertools.product(self._steps, itertools.permutations(self.partitions, 2)):
                if node not in source.nodes:
                    continue
                self._move(node, source, target)
                cost = latency()
                if cost < best:
                    best, improved = cost, True
                else:
                    self._move(node, target, source)
        self.partitions = [p for p in self.partitions if p.nodes]
        reorganize_partitions(self.partitions)
        self._settle()

    @staticmethod
    def _move(node, source, target):
        source.remove_node(node)
        target.add_node(node)

    def aot_based_partition(self, node_to_partition_mapping, partition_to_logical_device_mapping):
        """Take the partitions and devices that are given: {node: number}, {number: devices}."""
        numbers = sorted({node_to_partition_mapping[node] for node in self._steps})
        made = {number: self.create_partition() for number in numbers}
        for node in self._steps:
            made[node_to_partition_mapping[node]].add_node(node)
        for number, partition in made.items():
            partition.logical_device_ids = list(partition_to_logical_device_mapping[number])
        self._settle()

    def saturate_host(self):
        """Let devices that have no partition run copies: as often as there are devices with room for all partitions once more."""
        used = {i for p in self.partitions for i in p.logical_device_ids}
        spare = sorted((d for d in self.devices if d.logical_id not in used), key=lambda d: (d.available_mem_bytes, d.logical_id))
        while len(spare) >= len(self.partitions):
            chosen, rest = {}, list(spare)
            for partition in sorted(self.partitions, key=lambda p: -p.used_mem_bytes):
                fitting = [d for d in rest if d.available_mem_bytes >= partition.used_mem_bytes]
                if not fitting:
                    return
                chosen[partition] = fitting[0]
                rest.remove(fitting[0])
            for partition, device in chosen.items():
                partition.logical_device_ids.append(device.logical_id)
            spare = rest

    def _settle(self):
        set_parents_and_children(self.partitions)
        get_bfs_level_partition(self.partitions)
        self.node_to_partition = get_node_to_partition_mapping(self.partitions)

    def _place(self):
        if not get_device_to_partitions_mapping(self.partitions, self.devices):
            raise RuntimeError("partition_graph: the partitions do not fit on the devices")

    def do_partition(self):
        """The module with a submodule for each partition."""
        return split_module(self.graph_module, self.torch_module, lambda node: self.node_to_partition[node])

    def dump_dag(self, module_with_submodules):
        """The DAG of a split module."""
        dag = DAG()
        for node in module_with_submodules.graph.nodes.of("call_module"):
            partition = self.partitions[int(node.target.rpartition("_")[2])]
            results = list(node.users) if len(node.users) > 1 else [node]
            dag.create_node(node, node.all_input_nodes, results, partition.logical_device_ids, partition.used_mem_bytes)
        return dag
