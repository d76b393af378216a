"""Anomaly mode: finding where a wrong gradient comes from."""

import warnings

import _cresset

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class detect_anomaly:
    """A context in which every node remembers the stack of the forward call that recorded it, and gradients are searched for NaN.

    An error in backward then comes with a warning that shows that stack, and, with `check_nan`, a NaN is an error (RuntimeError)
    that names its node. Slow; for debugging only.

    >>> x = torch.tensor(-1.0, requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with torch.autograd.detect_anomaly():
    ...         try:
    ...             x.sqrt().backward()
    ...         except RuntimeError as error:
    ...             print("nan" in str(error))
    True
    """

    def __init__(self, check_nan=True):
        self.check_nan = check_nan
        self._before = _cresset.anomaly()
        warnings.warn("anomaly detection has been enabled: it slows programs down and should only be enabled for debugging", UserWarning, stacklevel=2)

    def __enter__(self):
        self._before = _cresset.anomaly()
        _cresset.set_anomaly(True, self.check_nan)

    def __exit__(self, *_):
        _cresset.set_anomaly(*self._before)


class set_detect_anomaly:
    """Turn anomaly mode on or off at once; as a context, until its end. See `detect_anomaly`.

    >>> with torch.autograd.set_detect_anomaly(True):
    ...     torch.is_anomaly_enabled()
    True
    """

    def __init__(self, mode, check_nan=True):
        self._before = _cresset.anomaly()
        _cresset.set_anomaly(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *_):
        _cresset.set_anomaly(*self._before)


def is_anomaly_enabled():
    """Whether anomaly mode is on."""
    return _cresset.anomaly()[0]


def is_anomaly_check_nan_enabled():
    """Whether anomaly mode, if it is on, searches gradients for NaN."""
    return _cresset.anomaly()[1]
