"""XNNPACK, a library of kernels for phones: not built in.

>>> torch.backends.xnnpack.enabled
False
"""

enabled = False
