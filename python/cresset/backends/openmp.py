"""OpenMP, which Cresset never uses: it has a pool of threads of its own."""


def is_available():
    """Always False.

    >>> torch.backends.openmp.is_available()
    False
    """
    return False
