"""Meta tensors like real ones: sizes and dtypes without data, with the memory that tensors share."""

import weakref

import cresset as torch


class MetaConverter:
    """Makes meta tensors like given ones: the same for the same tensor, in shared memory for tensors that share theirs. Parameters stay parameters.

    >>> x = torch.ones(2, 3)
    >>> convert = torch._subclasses.meta_utils.MetaConverter()
    >>> row = convert(x[1])
    >>> row.device, row.shape, row.storage_offset(), row.untyped_storage()._cdata == convert(x).untyped_storage()._cdata
    (device(type='meta'), torch.Size([3]), 3, True)
    """

    def __init__(self, *, copy_data=False):
        if copy_data:
            raise NotImplementedError("MetaConverter: copy_data is not supported; meta tensors hold no data")
        self._known, self._storages = {}, {}  # id of a tensor -> (reference to it, its meta tensor); id of a storage -> (it, its meta storage)

    def successful(self):
        """Whether it has made a tensor."""
        return bool(self._known)

    def __call__(self, t, shape_env=None, *, callback=None, source=None, symbolic_context=None, trace=True):
        """The meta tensor like `t`; anything but a tensor as it is.

        `callback(make, device=...)` gets a function that makes the tensor and the device of `t`, and gives what takes its place.

        Errors: NotImplementedError for a `shape_env`, and for tensors that are not strided.
        """
        if not isinstance(t, torch.Tensor):
            return t
        if shape_env is not None or symbolic_context is not None:
            raise NotImplementedError("MetaConverter: sizes stay numbers; FakeTensorMode(shape_env=...).from_tensor makes tensors of symbolic sizes")
        if t.layout is not torch.strided:
            raise NotImplementedError(f"MetaConverter: expected a strided tensor, got {t.layout}")
        known, made = self._known.get(id(t), (None, None))
        if known is None or known() is not t:
            made = self._like(t) if callback is None else callback(lambda: self._like(t), device=t.device)
            self._known[id(t)] = weakref.ref(t), made
        return made

    def _like(self, t):
        with torch.no_grad():
            out = torch.empty((0,), dtype=t.dtype, device="meta").set_(self._storage(t), t.storage_offset(), t.shape, t.stride())
        if isinstance(t, torch.nn.Parameter):
            return torch.nn.Parameter(out, requires_grad=t.requires_grad)
        if not t.requires_grad:
            return out
        out.requires_grad_(True)
        return out if t.is_leaf else out.view_as(out)

    def _storage(self, t):
        """The memory that stands for that of a tensor, as long as the converter lives."""
        storage = t.untyped_storage()
        if storage._cdata not in self._storages:
            self._storages[storage._cdata] = storage, torch.empty((storage.nbytes(),), dtype=torch.uint8, device="meta").untyped_storage()
        return self._storages[storage._cdata][1]
