"""The order in which `torch.einsum` contracts its operands: from left to right; the opt_einsum package is not used.

>>> torch.backends.opt_einsum.is_available()
False
"""


def is_available():
    """Whether the opt_einsum package chooses the order: always False.

    >>> torch.backends.opt_einsum.is_available()
    False
    """
    return False


def get_opt_einsum():
    """The opt_einsum package, or None where it is not used.

    >>> torch.backends.opt_einsum.get_opt_einsum() is None
    True
    """
    return None


enabled, strategy = False, None
