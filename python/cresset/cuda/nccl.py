"""NCCL, which CUDA devices exchange tensors by. It is not built in; processes on the CPU use `torch.distributed`.

>>> torch.cuda.nccl.is_available([torch.ones(2)])
False
"""

from .._core.devices import refusing as _refusing

__all__ = ["all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter"]


def is_available(tensors):
    """Whether NCCL can exchange the tensors: those of the CPU it cannot.

    >>> torch.cuda.nccl.is_available([])
    False
    """
    return False


for _name in (*__all__, "version", "unique_id", "init_rank"):
    globals()[_name] = _refusing("CUDA", _name, "A function of NCCL.")
