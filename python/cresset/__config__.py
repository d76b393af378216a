"""How the library was built."""

import _cresset


def show():
    """Version, compiler and providers, a line each.

    >>> torch.__config__.show().startswith("cresset")
    True
    """
    from .__main__ import info

    return info()


def parallel_info():
    """How many threads compute.

    >>> "threads" in torch.__config__.parallel_info()
    True
    """
    return f"threads that compute: {_cresset.get_num_threads()}\n"
