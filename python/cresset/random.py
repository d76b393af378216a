"""The state of the CPU's generator: seeding, reading, setting, and forking it."""

import contextlib as _contextlib

from . import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state", "default_generator", "thread_safe_generator"]


@_contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type=None):
    """Draws inside do not move the generator outside. The state is put back at the end, also after an error.

    >>> before = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(1), torch.rand(3)
    >>> torch.equal(before, torch.get_rng_state())
    True
    """
    if not enabled:
        yield
        return
    for device in devices or ():
        from ._core.devices import refuse

        refuse(str(device_type or "cuda").upper() if isinstance(device, int) else str(device).split(":")[0].upper())
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


def thread_safe_generator():
    """The generator of a loader's worker thread; None elsewhere, where the default generator serves.

    >>> torch.random.thread_safe_generator() is None
    True
    """
    return None
