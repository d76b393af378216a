"""Parts of steps that streams and steps read by index have in common."""

import importlib.util
import random
import warnings

import cresset as torch

from .datapipe import DataChunk


def warn_of_unpicklable(function):
    """Warns of a function that no name leads to, which processes cannot send, unless dill is there, which can."""
    name = getattr(function, "__qualname__", "")
    kind = "Lambda" if name.endswith("<lambda>") else "Local" if "<locals>" in name else None
    if kind and importlib.util.find_spec("dill") is None:
        warnings.warn(
            f"{kind} functions cannot be sent to other processes, which find functions by name: take one of a module, or install dill",
            UserWarning,
            stacklevel=4,
        )


class OfOne:
    """A step with as many items as the one before it."""

    def __len__(self):
        return len(self.datapipe)


class Batches:
    """Lists of items of the step before it."""

    def __init__(self, datapipe, batch_size, drop_last=False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("batch: expected batch_size above 0")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = datapipe, batch_size, drop_last, wrapper_class

    def __len__(self):
        full, rest = divmod(len(self.datapipe), self.batch_size)
        return full + (rest > 0 and not self.drop_last)


class Shuffled(OfOne):
    """The random order of a step."""

    def _begin(self):
        self._enabled, self._seed, self._rng = True, None, random.Random()

    def set_shuffle(self, shuffle=True):
        """Whether to shuffle at all."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed):
        """The seed of the next order."""
        self._seed = seed
        return self

    def reset(self):
        if self._enabled:
            seed = int(torch.empty((), dtype=torch.int64).random_().item()) if self._seed is None else self._seed
            self._rng.seed(seed)
            self._seed = None
