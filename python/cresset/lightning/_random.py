"""The states of all generators of random numbers that a training step may draw from."""

import contextlib
import os
import random

import numpy as np

import cresset as torch


def captured():
    """The states, as plain data and tensors."""
    version, numbers, gauss = random.getstate()
    _, keys, place, has_gauss, cached = np.random.get_state()
    return {
        "torch": torch.get_rng_state(),
        "python": [version, list(numbers), gauss],
        "numpy": [torch.from_numpy(keys.astype(np.int64)), int(place), int(has_gauss), float(cached)],
    }


def restored(states):
    """Sets the states."""
    torch.set_rng_state(states["torch"])
    version, numbers, gauss = states["python"]
    random.setstate((version, tuple(numbers), gauss))
    keys, place, has_gauss, cached = states["numpy"]
    np.random.set_state(("MT19937", keys.numpy().astype(np.uint32), place, has_gauss, cached))


@contextlib.contextmanager
def left_alone():
    """Random numbers that are drawn inside change nothing outside."""
    states = captured()
    try:
        yield
    finally:
        restored(states)


def seed_everything(seed=None, workers=False, verbose=True):
    """Seeds torch, NumPy and `random`, and returns the seed; None: that of the environment's PL_GLOBAL_SEED, or 0.

    Args:
        workers: whether worker processes of loaders are to be seeded from it: they are, from the state of torch, in any case.
        verbose: whether the seed is printed.

    >>> torch.lightning.seed_everything(7, verbose=False)
    7
    """
    seed = int(os.environ.get("PL_GLOBAL_SEED", 0)) if seed is None else int(seed)
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed_everything: the seed is from 0 to {2**32 - 1}, got {seed}")
    os.environ["PL_GLOBAL_SEED"], os.environ["PL_SEED_WORKERS"] = str(seed), str(int(workers))
    if verbose:
        print(f"Seed set to {seed}")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return seed
