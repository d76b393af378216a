"""Whether two values are close, said so that a failing test tells where and by how much."""

import cmath
import collections.abc
import numbers
import warnings

import cresset as torch

_TOLERANCES = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-7),
}  # fmt: skip


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Raises AssertionError unless |actual - expected| <= atol + rtol * |expected| holds for every element.

    Args:
        actual, expected: tensors, numbers, arrays, None, or sequences and mappings of these.
        allow_subclasses: whether objects of different tensor classes may be compared.
        rtol, atol: given together or not at all; by default chosen for the dtype (for float32 1.3e-6 and 1e-5; 0 for integers).
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: whether these must agree too; without the check both are brought together.
        msg: the message of the error, or a function that makes it from the usual one.
    Raises:
        AssertionError: the values differ; the message says where and by how much.
        TypeError: values of kinds that cannot be compared.
        ValueError: only one of rtol and atol was given.

    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    >>> torch.testing.assert_close(torch.tensor(1), torch.tensor(2))
    Traceback (most recent call last):
    AssertionError: Scalars are not equal!
    <BLANKLINE>
    Expected 2 but got 1.
    Absolute difference: 1
    Relative difference: 0.5
    """
    if (rtol is None) != (atol is None):
        raise ValueError(f"assert_close: expected both rtol and atol, or neither, got no {'rtol' if rtol is None else 'atol'}")
    comparison = _Comparison(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    failure = comparison.difference(actual, expected, ())
    if failure is None:
        return
    text, place = failure
    if place:
        text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in place)}"
    if msg is not None:
        text = msg(text) if callable(msg) else msg
    raise AssertionError(text)


_OLD_TOLERANCES = {torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-5, 1e-8)}


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """An old form of `assert_close`, with other tolerances, which compares neither dtypes nor devices.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.testing.assert_allclose(torch.tensor([1.0]), [1])
    """
    warnings.warn("assert_allclose is deprecated; use assert_close", FutureWarning, stacklevel=2)
    actual = actual if isinstance(actual, torch.Tensor) else torch.tensor(actual)
    expected = expected if isinstance(expected, torch.Tensor) else torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = (max(pair) for pair in zip(*(_OLD_TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (actual, expected))))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=False, check_dtype=False, msg=msg or None)


class _Comparison:
    def __init__(self, allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride):
        self.allow_subclasses, self.rtol, self.atol, self.equal_nan = allow_subclasses, rtol, atol, equal_nan
        self.check_device, self.check_dtype, self.check_layout, self.check_stride = check_device, check_dtype, check_layout, check_stride

    def difference(self, actual, expected, place):
        """None, or the text of the first difference with the keys that lead to it."""
        text = (collections.abc.Sequence, str)
        if isinstance(actual, text[0]) and isinstance(expected, text[0]) and not (isinstance(actual, str) or isinstance(expected, str)):
            if len(actual) != len(expected):
                return f"The sequences differ in length: {len(actual)} != {len(expected)}", place
            keys = range(len(actual))
        elif isinstance(actual, collections.abc.Mapping) and isinstance(expected, collections.abc.Mapping):
            missing, additional = [k for k in expected if k not in actual], [k for k in actual if k not in expected]
            if missing or additional:
                return f"The mappings differ in their keys:\nmissing: {sorted(missing, key=str)}\nunexpected: {sorted(additional, key=str)}", place
            keys = expected
        else:
            found = self.of_values(actual, expected)
            return None if found is None else (found, place)
        for key in keys:
            failure = self.difference(actual[key], expected[key], (*place, key))
            if failure is not None:
                return failure
        return None

    def of_values(self, actual, expected):
        if actual is None or expected is None:
            return None if actual is expected else f"None mismatch: {actual} is not {expected}"
        if _is_bool(actual) and _is_bool(expected):
            return None if bool(actual) == bool(expected) else f"Booleans mismatch: {actual} is not {expected}"
        if _is_number(actual) and _is_number(expected):
            return self.of_numbers(actual, expected)
        if not (_is_tensor_like(actual) and _is_tensor_like(expected)) or not self.comparable(actual, expected):
            raise TypeError(f"assert_close: expected values of a kind that it compares, got {type(actual)} and {type(expected)}")
        return self.of_tensors(torch.as_tensor(actual), torch.as_tensor(expected))

    def comparable(self, actual, expected):
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        return type(actual) is type(expected) or self.allow_subclasses and related

    def tolerances(self, *dtypes):
        if self.rtol is not None:
            return self.rtol, self.atol
        pairs = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)

    def of_numbers(self, actual, expected):
        if self.check_dtype and type(actual) is not type(expected):
            return f"The (d)types do not match: {type(actual)} != {type(expected)}."
        kind = {int: torch.int64, float: torch.float64}
        rtol, atol = self.tolerances(*(kind.get(type(number), torch.complex128) for number in (actual, expected)))
        return self.of_scalars(actual, expected, rtol, atol)

    def of_scalars(self, actual, expected, rtol, atol):
        if actual == expected or self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
            return None
        difference = abs(actual - expected)
        if not cmath.isinf(expected) and difference <= atol + rtol * abs(expected):
            return None
        relative = difference / abs(expected) if expected != 0 else float("inf")
        exact = rtol == atol == 0
        allowed = "" if exact else " (up to {} allowed)"
        return (
            f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {difference}{allowed.format(atol)}\nRelative difference: {relative}{allowed.format(rtol)}"
        )

    def of_tensors(self, actual, expected):
        for name, wanted, value in (
            ("shape", True, lambda t: t.shape), ("layout", self.check_layout, lambda t: t.layout), ("device", self.check_device, lambda t: t.device),
            ("dtype", self.check_dtype, lambda t: t.dtype), ("stride()", self.check_stride, lambda t: t.stride()),
        ):  # fmt: skip
            if wanted and value(actual) != value(expected):
                return f"The values for attribute {name!r} do not match: {value(actual)} != {value(expected)}."
        if actual.is_meta or expected.is_meta:
            return None
        if actual.layout is not expected.layout:  # only without a check of layouts
            actual, expected = actual.to_dense(), expected.to_dense()
        if actual.layout is not torch.strided:
            return self.of_sparse_tensors(actual.detach(), expected.detach())
        return self.of_elements(actual, expected, "Tensor-likes")

    def of_sparse_tensors(self, actual, expected):
        name = str(actual.layout).rpartition("_")[2].upper()
        if actual._nnz() != expected._nnz() and actual.is_sparse:
            actual, expected = (t if actual.is_coalesced() == expected.is_coalesced() else t.coalesce() for t in (actual, expected))
        if actual._nnz() != expected._nnz():
            return f"The sparse {name} tensors hold different numbers of values: {actual._nnz()} != {expected._nnz()}"
        if actual.is_sparse and actual.is_coalesced() != expected.is_coalesced():
            actual, expected = actual.coalesce(), expected.coalesce()
        if actual.is_sparse:
            parts = ("_indices", "_values")
        elif name in ("CSR", "BSR"):
            parts = ("crow_indices", "col_indices", "values")
        else:
            parts = ("ccol_indices", "row_indices", "values")
        for part in parts:
            text = self.of_elements(getattr(actual, part)(), getattr(expected, part)(), f"Sparse {name} {part.removeprefix('_')}")
            if text:
                return text
        return None

    def of_elements(self, actual, expected, what):
        rtol, atol = self.tolerances(actual.dtype, expected.dtype)
        actual, expected = actual.detach().cpu(), expected.detach().cpu()
        if actual.dtype != expected.dtype:
            common = torch.promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(common), expected.to(common)
        if actual.dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32):
            actual, expected = actual.to(torch.int64), expected.to(torch.int64)
        matches = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        if bool(matches.all()):
            return None
        if matches.dim() == 0:
            return self.of_scalars(actual.item(), expected.item(), rtol, atol)

        def at(index):
            return tuple(int(i) for i in torch.unravel_index(index, matches.shape))

        difference = (actual - expected).abs()
        relative = difference / expected.abs()
        for figures in (difference, relative):  # what matches is no greatest mismatch
            figures[matches] = 0
        wrong, exact = int((~matches).sum()), rtol == atol == 0
        text = f"{what} are not {'equal' if exact else 'close'}!\n\nMismatched elements: {wrong} / {matches.numel()} ({100 * wrong / matches.numel():.1f}%)"
        for name, figures, allowed in (("absolute", difference, atol), ("relative", relative, rtol)):
            place = figures.argmax()
            text += f"\nGreatest {name} difference: {figures.flatten()[place].item()} at index {at(place)}"
            text += "" if exact else f" (up to {allowed} allowed)"
        return text


def _is_bool(value):
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool") and type(value).__module__ == "numpy"


def _is_number(value):
    return isinstance(value, numbers.Number)


def _is_tensor_like(value):
    return isinstance(value, torch.Tensor) or hasattr(value, "__array__") or isinstance(value, numbers.Number)
