"""Metal Performance Shaders, the accelerator of Apple's machines: not built in."""


def is_available():
    """Whether there is such a device to compute on.

    >>> torch.backends.mps.is_available()
    False
    """
    return False


def is_built():
    """Whether the library was built for it.

    >>> torch.backends.mps.is_built()
    False
    """
    return False


def is_macos_or_newer(major, minor):
    """Whether the system is macOS of at least this version.

    >>> torch.backends.mps.is_macos_or_newer(99, 0)
    False
    """
    import platform

    version = platform.mac_ver()[0]
    return bool(version) and tuple(int(part) for part in version.split(".")[:2]) >= (major, minor)
