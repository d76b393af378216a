"""Collectives of Python objects. They travel as data (`_wire.py`): what comes from another process can never call anything here."""

import cresset as torch

from . import _wire
from ._collectives import recv, send
from ._groups import _peer, _resolve


def _packed(value):
    return torch.frombuffer(bytearray(_wire.dumps(value)), dtype=torch.uint8)


def _unpacked(row, size):
    return _wire.loads(bytes(memoryview(row[: int(size)].contiguous())))


def _all_gather(g, outputs, tensor):
    g.allgather([outputs], [tensor]).wait()


def _broadcast(g, tensor, root):
    g.broadcast([tensor], root).wait()


def _gathered(value, g):
    """The objects of all ranks."""
    data = _packed(value)
    sizes = torch.empty(g.size(), dtype=torch.int64)
    _all_gather(g, list(sizes.split(1)), torch.tensor([data.numel()]))
    longest = int(sizes.max())
    rows = torch.empty(g.size(), longest, dtype=torch.uint8)
    own = torch.zeros(longest, dtype=torch.uint8)
    own[: data.numel()] = data
    _all_gather(g, list(rows.unbind(0)), own)
    return [_unpacked(row, size) for row, size in zip(rows, sizes)]


def all_gather_object(object_list, obj, group=None):
    """Writes the objects of all ranks to the list, in their order. They travel as data: numbers, text, containers, tensors, and
    objects of the program's own classes as their attributes. Errors: ValueError for one that cannot, a function say.

    >>> objects = [None]; dist.all_gather_object(objects, {'loss': 0.5}); objects
    [{'loss': 0.5}]
    """
    g = _resolve(group)
    if g is not None:
        object_list[:] = _gathered(obj, g)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """As `all_gather_object`, for rank `dst` (0) alone; others pass no list.

    >>> objects = [None]; dist.gather_object('mine', objects); objects
    ['mine']
    """
    g = _resolve(group)
    if g is None:
        return
    receives = g.rank() == _peer(g, dst, group_dst, "dst", 0)
    if receives and object_gather_list is None:
        raise ValueError("gather_object: expected a list for the objects on the destination rank, got None")
    if not receives and object_gather_list:
        raise ValueError("gather_object: expected no list for the objects but on the destination rank")
    objects = _gathered(obj, g)
    if receives:
        object_gather_list[:] = objects


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Gives all ranks the objects of rank `src` (0), in lists of equal length.

    >>> objects = ['seed', 7]; dist.broadcast_object_list(objects, src=0); objects
    ['seed', 7]
    """
    g = _resolve(group)
    if g is None:
        return
    source = _peer(g, src, group_src, "src", 0)
    sends = g.rank() == source
    rows = [_packed(o) for o in object_list] if sends else []
    sizes = torch.tensor([r.numel() for r in rows]) if sends else torch.empty(len(object_list), dtype=torch.int64)
    _broadcast(g, sizes, source)
    data = torch.cat(rows) if sends and rows else torch.empty(int(sizes.sum()), dtype=torch.uint8)
    _broadcast(g, data, source)
    if not sends:
        object_list[:] = [_unpacked(row, row.numel()) for row in data.split([int(n) for n in sizes])]


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
    """Writes to the first place of the output list this rank's object of the list of rank `src` (0).

    >>> own = [None]; dist.scatter_object_list(own, ['yours'], src=0); own
    ['yours']
    """
    g = _resolve(group)
    if g is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("scatter_object_list: expected a list of one place or more as output.")
    source = _peer(g, src, group_src, "src", 0)
    objects = list(scatter_object_input_list) if g.rank() == source else [None] * g.size()
    if len(objects) != g.size():
        raise ValueError(f"scatter_object_list: expected {g.size()} objects, one for each rank, got {len(objects)}")
    packed = [_wire.dumps(o) for o in objects]
    broadcast_object_list(packed, group=group, group_src=source)
    scatter_object_output_list[0] = _wire.loads(packed[g.rank()])


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False):
    """Sends objects to a rank, which gets them with `recv_object_list`.

    >>> if dist.get_world_size() > 1:
    ...     dist.send_object_list(['hello'], dst=1)
    """
    if _resolve(group) is None:
        return
    rows = [_packed(o) for o in object_list]
    send(torch.tensor([r.numel() for r in rows]), dst, group, 0, group_dst)
    send(torch.cat(rows), dst, group, 0, group_dst)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False):
    """Receives as many objects as the list is long; the sender's rank.

    >>> if dist.get_world_size() > 1:
    ...     dist.recv_object_list([None], src=1)
    """
    if _resolve(group) is None:
        return -1
    sizes = torch.empty(len(object_list), dtype=torch.int64)
    source = recv(sizes, src, group, 0, group_src)
    data = torch.empty(int(sizes.sum()), dtype=torch.uint8)
    recv(data, source, group, 0)
    object_list[:] = [_unpacked(row, row.numel()) for row in data.split([int(n) for n in sizes])]
    return source
