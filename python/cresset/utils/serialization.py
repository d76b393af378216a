"""Settings of `torch.save` and `torch.load`, as attributes: `config.save` and `config.load`.

>>> torch.utils.serialization.config.load.mmap
False
"""

import cresset as torch


class _Settings:
    """Named values; those of `torch.serialization` are read and set there."""

    def __init__(self, own, shared):
        vars(self).update(_own=own, _shared=shared)

    def __getattr__(self, name):
        if name in self._shared:
            return self._shared[name][0]()
        if name in self._own:
            return self._own[name]
        raise AttributeError(f"no setting is called {name!r}; there are {', '.join(sorted({*self._own, *self._shared}))}")

    def __setattr__(self, name, value):
        getattr(self, name)
        if name in self._shared:
            self._shared[name][1](value)
        else:
            self._own[name] = value


class _Config:
    """Both groups of settings."""

    def __init__(self):
        from cresset import serialization

        options = serialization._options

        def shared(key):
            return (lambda: options[key]), (lambda value: options.__setitem__(key, value))

        self.save = _Settings(
            {"use_pinned_memory_for_d2h": False, "storage_alignment": 64},
            {"compute_crc32": (torch.serialization.get_crc32_options, torch.serialization.set_crc32_options)},
        )
        self.load = _Settings(
            {"calculate_storage_offsets": False},
            {"mmap": shared("use_mmap"), "endianness": (torch.serialization.get_default_load_endianness, torch.serialization.set_default_load_endianness), "mmap_flags": shared("mmap")},
        )  # fmt: skip

    def patch(self, changes):
        """A context in which settings, by their full names as in "load.mmap", have other values.

        >>> with torch.utils.serialization.config.patch({"load.mmap": True}):
        ...     torch.utils.serialization.config.load.mmap
        True
        """
        return _Patch(self, changes)


class _Patch:
    def __init__(self, config, changes):
        self.config, self.changes = config, changes

    def _exchange(self, values):
        before = {}
        for name, value in values.items():
            group, _, setting = name.partition(".")
            before[name] = getattr(getattr(self.config, group), setting)
            setattr(getattr(self.config, group), setting, value)
        return before

    def __enter__(self):
        self.before = self._exchange(self.changes)
        return self

    def __exit__(self, *_):
        self._exchange(self.before)


config = _Config()
