"""Names and types that functions of `torch.func` share."""

argnums_t = int | tuple[int, ...]


def exposed_in(module):
    """A decorator: the function says that it is of another module, where users find it.

    >>> torch._functorch.utils.exposed_in("torch.func")(lambda x: x).__module__
    'torch.func'
    """

    def named(function):
        function.__module__ = module
        return function

    return named
