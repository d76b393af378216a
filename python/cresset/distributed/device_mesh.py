"""Processes as an array with named dimensions, each of whose rows is a group."""

import math
import os
import threading

import cresset as torch

from . import _groups
from ._group import ProcessGroup
from ._stores import _ArgumentError

__all__ = ["DeviceMesh", "init_device_mesh"]

_entered = threading.local()


def _numbers(mesh):
    tensor = mesh.detach().to("cpu", torch.int32) if isinstance(mesh, torch.Tensor) else torch.tensor(mesh, dtype=torch.int32)
    return tensor.reshape(1) if tensor.dim() == 0 else tensor


class DeviceMesh:
    """Ranks in an array: `mesh[i, j]` is the rank at that place, `mesh_dim_names` names the dimensions.

    Every process of the world makes the same mesh; the ranks that differ in one coordinate alone form a group.

    Args:
        device_type: of the tensors, "cpu".
        mesh: ranks as a tensor or nested lists.
        mesh_dim_names: a name for each dimension.

    Errors: RuntimeError for ranks that are not in the world, and for names that do not fit.

    >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore()) if not dist.is_initialized() else None
    >>> from cresset.distributed.device_mesh import DeviceMesh
    >>> DeviceMesh("cpu", [[0]], mesh_dim_names=("dp", "tp"))["tp"].size()
    1
    """

    def __init__(self, device_type, mesh, *, mesh_dim_names=None, backend_override=None, _init_backend=True, _rank=None):
        if not isinstance(device_type, str) or ":" in device_type:
            raise RuntimeError(f"DeviceMesh: expected a type of devices without a number, got {device_type!r}")
        self._begin(device_type, _numbers(mesh), mesh_dim_names)
        _start_world(self.mesh.numel())
        world = _groups.get_world_size()
        if int(self.mesh.max()) >= world or int(self.mesh.min()) < 0:
            raise RuntimeError(f"DeviceMesh: expected ranks in [0, {world}), got {self.mesh.tolist()}")
        self._locate(_groups.get_rank() if _rank is None else _rank)
        self._groups = _made_groups(self.mesh, self._coordinate, self.mesh_dim_names) if _init_backend else [None] * self.mesh.dim()

    def _begin(self, device_type, mesh, names):
        if names is not None:
            names = tuple(names)
            if len(set(names)) != len(names):
                raise RuntimeError(f"DeviceMesh: expected names that differ, got {names}")
            if len(names) != mesh.dim():
                raise RuntimeError(f"DeviceMesh: expected a name for each of {mesh.dim()} dimensions, got {names}")
        self._device_type, self._mesh, self._names, self._root, self._flattened = device_type, mesh, names, None, {}

    def _locate(self, rank):
        self._rank = rank
        found = (self.mesh == rank).nonzero()
        if len(found) > 1:
            raise _ArgumentError(f"DeviceMesh: expected every rank once, got {self.mesh.tolist()}")
        self._coordinate = found[0].tolist() if len(found) else None

    @property
    def device_type(self):
        """The type of the devices."""
        return self._device_type

    @property
    def mesh(self):
        """The ranks, a tensor of integers."""
        return self._mesh

    @property
    def mesh_dim_names(self):
        """The names of the dimensions, or None."""
        return self._names

    @property
    def ndim(self):
        """The number of dimensions."""
        return self.mesh.dim()

    @property
    def shape(self):
        """The sizes of the dimensions, a tuple."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim=None):
        """The number of ranks, or the size of a dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(self._dimension(mesh_dim))

    def get_rank(self):
        """This process's rank in the world."""
        return self._rank

    def get_coordinate(self):
        """This process's place, a list; None outside of the mesh."""
        return None if self._coordinate is None else list(self._coordinate)

    def _dimension(self, which):
        if isinstance(which, str):
            if self._names is None or which not in self._names:
                raise KeyError(f"DeviceMesh: no dimension is named {which!r}; there are {self._names}")
            return self._names.index(which)
        if not -self.ndim <= which < self.ndim:
            raise IndexError(f"DeviceMesh: expected a dimension below {self.ndim}, got {which}")
        return which % self.ndim

    def _only(self, mesh_dim, what):
        if mesh_dim is None and self.ndim != 1:
            raise RuntimeError(f"DeviceMesh: {what} of a mesh with {self.ndim} dimensions: say of which one")
        return 0 if mesh_dim is None else self._dimension(mesh_dim)

    def get_group(self, mesh_dim=None):
        """The group of this process along a dimension. Errors: RuntimeError where the mesh has several and none is given."""
        return self._groups[self._only(mesh_dim, "the group")]

    def get_all_groups(self):
        """The groups of this process along all dimensions."""
        return [self.get_group(i) for i in range(self.ndim)]

    def get_local_rank(self, mesh_dim=None):
        """This process's rank in `get_group(mesh_dim)`."""
        return _groups.get_rank(self._groups[self._only(mesh_dim, "the rank")])

    def _get_root_mesh(self):
        return self if self._root is None else self._root

    def __getitem__(self, names):
        """The mesh of some dimensions, by name and in their order, in which this process lies. Errors: KeyError, RuntimeError."""
        if self._names is None:
            raise RuntimeError("DeviceMesh: a mesh without names has no slices")
        names = (names,) if isinstance(names, str) else tuple(names)
        root = self._get_root_mesh()
        for name in names:
            if name not in self._names and name not in root._flattened:
                raise KeyError(f"DeviceMesh: no dimension is named {name!r}; there are {self._names}")
        if len(names) == 1 and names[0] not in self._names:
            return root._flattened[names[0]]
        dims = [self._names.index(name) for name in names]
        if dims != sorted(dims) or len(set(dims)) != len(dims):
            raise KeyError(f"DeviceMesh: expected names in the order of {self._names}, got {names}")
        if names == self._names:
            return self
        return self._part(dims, names)

    def _part(self, dims, names):
        mesh = self.mesh
        for dim in reversed(range(self.ndim)):
            if dim not in dims:
                mesh = mesh.select(dim, self._coordinate[dim] if self._coordinate else 0)
        made = object.__new__(DeviceMesh)
        made._begin(self._device_type, mesh, names)
        made._locate(self._rank)
        made._groups, made._root = [self._groups[dim] for dim in dims], self._get_root_mesh()
        return made

    def _flatten(self, mesh_dim_name=None, backend_override=None):
        """A mesh with one dimension of the ranks of this one. All processes call this."""
        root = self._get_root_mesh()
        name = mesh_dim_name or "_".join(self._names or ())
        if name in root._flattened:
            return root._flattened[name]
        if self.ndim == 1 and (mesh_dim_name is None or self._names == (name,)):
            return self
        mine, made = self.mesh.flatten().tolist(), None
        for ranks in root._same_dimensions(self):
            group = _groups.new_group(ranks, sort_ranks=False, group_desc=f"mesh_{name}")
            if ranks == mine:
                made = group
        flat = object.__new__(DeviceMesh)
        flat._begin(self._device_type, self.mesh.flatten(), (name,))
        flat._locate(self._rank)
        flat._groups, flat._root = [made], root
        root._flattened[name] = flat
        return flat

    def _same_dimensions(self, part):
        """The ranks of all meshes of the same dimensions as a part of this one."""
        if part is self or part.mesh.numel() == self.mesh.numel():
            return [self.mesh.flatten().tolist()]
        dims = [self._names.index(name) for name in part._names]
        others = [dim for dim in range(self.ndim) if dim not in dims]
        return self.mesh.permute(*others, *dims).reshape(-1, part.mesh.numel()).tolist()

    @staticmethod
    def from_group(group, device_type, mesh=None, *, mesh_dim_names=None):
        """The mesh of a group, or of a list of groups, one a dimension, beside the array of ranks."""
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        if not groups:
            raise ValueError("DeviceMesh: from_group: expected a group, got none")
        if mesh is None and len(groups) > 1:
            raise ValueError("DeviceMesh: from_group: expected the array of ranks beside several groups")
        ranks = torch.tensor(_groups.get_process_group_ranks(groups[0]), dtype=torch.int32) if mesh is None else _numbers(mesh)
        if ranks.dim() != len(groups):
            raise ValueError(f"DeviceMesh: from_group: expected a group for each of {ranks.dim()} dimensions, got {len(groups)}")
        made = object.__new__(DeviceMesh)
        made._begin(device_type, ranks, mesh_dim_names)
        made._locate(_groups.get_rank())
        made._groups = groups
        return made

    def __enter__(self):
        _entered.__dict__.setdefault("meshes", []).append(self)
        return self

    def __exit__(self, kind, value, traceback):
        _entered.meshes.pop()

    def __eq__(self, other):
        if not isinstance(other, DeviceMesh):
            return NotImplemented
        return self is other or (self._device_type, self._names, self.mesh.tolist()) == (other._device_type, other._names, other.mesh.tolist())

    def __hash__(self):
        return hash((self._device_type, self._names, tuple(self.mesh.flatten().tolist()), self.shape))

    def __repr__(self):
        if self._names is None:
            return f"DeviceMesh('{self._device_type}', {self.mesh.tolist()})"
        sizes = ", ".join(f"{name}={size}" for name, size in zip(self._names, self.shape))
        return f"DeviceMesh(({sizes}), '{self._device_type}', stride={tuple(self.mesh.stride())})"


def _made_groups(mesh, coordinate, names):
    """The groups along all dimensions in which this process lies."""
    own = []
    for dim in range(mesh.dim()):
        if mesh.dim() == 1 and mesh.numel() == _groups.get_world_size():
            own.append(_groups._world())
            continue
        mine = None
        for ranks in mesh.movedim(dim, -1).reshape(-1, mesh.size(dim)).tolist():
            made = _groups.new_group(ranks, sort_ranks=False, group_desc=f"mesh_{names[dim] if names else dim}")
            if _groups.get_rank() in ranks:
                mine = made
        own.append(mine)
    return own


def _start_world(count):
    if not _groups.is_initialized():
        if "RANK" not in os.environ and count == 1:
            os.environ.update(RANK="0", WORLD_SIZE="1")
        _groups.init_process_group()


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None):
    """A mesh of the ranks 0, 1, ... in the shape given; begins the default group where there is none.

    Errors: RuntimeError for names that do not fit, a shape with more ranks than there are, or a type with a number.

    >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore()) if not dist.is_initialized() else None
    >>> torch.distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp")).shape
    (1, 1)
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(f"init_device_mesh: expected names that differ, got {mesh_dim_names}")
        if len(mesh_dim_names) != len(mesh_shape):
            raise RuntimeError(f"init_device_mesh: expected a name for each of {len(mesh_shape)} dimensions, got {mesh_dim_names}")
    shape = tuple(mesh_shape)
    return DeviceMesh(device_type, torch.arange(math.prod(shape), dtype=torch.int32).view(shape), mesh_dim_names=mesh_dim_names)
