"""Intel MKL, which Cresset never uses: its own kernels multiply matrices."""


def is_available():
    """Always False.

    >>> torch.backends.mkl.is_available()
    False
    """
    return False
