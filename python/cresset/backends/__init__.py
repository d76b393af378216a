"""Switches of the libraries that compute, and what is there of them.

>>> torch.backends.mkldnn.is_available() in (True, False)
True
"""

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
_SUBMODULES = __all__
