"""Versions that compare with strings and tuples, as `torch.__version__` does."""

import re

__all__ = ["TorchVersion"]

_RELEASE = re.compile(r"\s*v?(\d+(?:\.\d+)*)\s*[-_.]?(?:(a|alpha|b|beta|c|rc|pre|preview)[-_.]?(\d*))?(?:[-_.]?(post)[-_.]?(\d*))?(?:[-_.]?(dev)[-_.]?(\d*))?(?:\+([a-z0-9.]+))?\s*$",
                      re.IGNORECASE)  # fmt: skip
_PRE = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}


def _key(version):
    """Sort key of PEP 440; None where there is no such version."""
    if isinstance(version, (tuple, list)):
        version = ".".join(str(part) for part in version)
    found = _RELEASE.match(str(version))
    if found is None:
        return None
    release, pre, pre_number, post, post_number, dev, dev_number, local = found.groups()
    numbers = [int(part) for part in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    stage = (_PRE[pre.lower()], int(pre_number or 0)) if pre else (-1, 0) if dev and not post else (3, 0)
    labels = tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in local.lower().split(".")) if local else ()
    return numbers, stage, int(post_number or 0) if post else -1, int(dev_number or 0) if dev else float("inf"), labels


class TorchVersion(str):
    """A version that is a string, and orders as versions do (PEP 440) beside strings and tuples of numbers. Other strings compare as text.

    >>> torch.torch_version.TorchVersion("2.13.0") > (2, 9)
    True
    >>> torch.torch_version.TorchVersion("2.13.0") >= "2.9.1"
    True
    """

    def _compared(self, other, name):
        mine, theirs = _key(self), _key(other)
        if mine is None or theirs is None:
            return getattr(str, name)(self, other)
        return getattr(tuple, name)(mine, theirs)

    def __lt__(self, other):
        return self._compared(other, "__lt__")

    def __le__(self, other):
        return self._compared(other, "__le__")

    def __gt__(self, other):
        return self._compared(other, "__gt__")

    def __ge__(self, other):
        return self._compared(other, "__ge__")

    def __eq__(self, other):
        return self._compared(other, "__eq__")

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__
