"""Runs the `test` entry of every row (rows.py): values against NumPy in every layout, out=, in-place, method, meta, mistakes and derivatives.

Where PyTorch can be imported, dtypes, shapes, strides and values are compared with it as well.
"""

import collections
import contextlib
import os
import unittest

import _cresset
import mistakes
import numpy as np
from rows import SEED, Format, Seed, floating, leaves, seeded, table, to_array, to_copy, to_meta, to_tensor, tree

import cresset as torch
from cresset.autograd import forward_ad

try:
    import torch as peer
except ImportError:
    peer = None

TOLERANCES = {"float32": (2e-5, 2e-5), "float64": (1e-11, 1e-11), "complex64": (1e-4, 1e-4), "complex128": (1e-10, 1e-10)}
NUMPY_2 = int(np.__version__.split(".")[0]) >= 2  # before, arrays of no dimension did not keep their dtype beside numbers
ONLY = os.environ.get("CRESSET_ROWS", "").split()  # names, or families, of the rows to run
STRIDES = bool(os.environ.get("CRESSET_STRIDES"))  # compare strides with PyTorch's, too
COUNTS, SKIPPED = collections.Counter(), collections.Counter()
SUMMARY = []  # lines that conftest.py prints at the end


def near(one, other, rtol, atol):
    """A quick yes; what is not a plain number near another is left to NumPy's own comparison."""
    if one.dtype == other.dtype and one.tobytes() == other.tobytes():
        return True
    with np.errstate(all="ignore"):
        return one.dtype.kind in "fc" and other.dtype.kind in "fc" and bool(np.all(np.abs(one - other) <= atol + rtol * np.abs(other)))


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rows, cls.reasons, cls.without = table()
        cls.rows = [row for row in rows if not ONLY or row.name in ONLY or row.row["name"] in ONLY or row.row["family"] in ONLY]

    @classmethod
    def tearDownClass(cls):
        counts = ", ".join(f"{n} {what}" for what, n in sorted(COUNTS.items()))
        SUMMARY.append(f"rows: {len(cls.rows)} with a reference, {cls.reasons.total()} with a reason for none, {len(cls.without)} with neither; {counts}")
        SUMMARY.extend(f"skipped: {n} {reason}" for reason, n in sorted((cls.reasons + SKIPPED).items()))

    def each(self, check):
        for row in self.rows:
            with self.subTest(row=row.name):
                check(row)

    def agree(self, got, expected, dtype, row, what, dtypes=False, tolerance=None):
        got, expected = leaves(got), leaves(expected)
        self.assertEqual(len(got), len(expected), what)
        for one, other in zip(got, expected, strict=True):
            if isinstance(other, np.dtype):
                self.assertEqual(str(one).removeprefix("torch."), other.name, what)
                continue
            one, other = to_array(one), to_array(other)
            self.assertEqual(one.shape, other.shape, what)
            precision = one.dtype.name if one.dtype.name in ("float32", "complex64") else dtype
            rtol, atol = tolerance or TOLERANCES.get(precision, (1e-5, 1e-5))
            atol = max(atol, row.test.get("atol", 0) if precision in ("float32", "complex64") else 0)
            if dtypes and (other.ndim or NUMPY_2):
                self.assertEqual(one.dtype, other.dtype, what)
            if row.test.get("strides") and dtypes and other.size:
                steps = [[s for s, n in zip(side.strides, side.shape, strict=True) if n > 1] for side in (one, other)]
                self.assertEqual(*steps, what)
            if row.test.get("values") is False:
                continue
            if one.dtype.kind in "biu" and other.dtype.kind in "biu":
                other = other.astype(one.dtype)  # wraps round as ours does
            if not near(one, other, rtol, atol):
                np.testing.assert_allclose(one, other.astype(np.result_type(one, other)), rtol, atol, err_msg=str(what))
        COUNTS["comparisons"] += 1

    def test_every_row_has_a_reference_or_a_reason(self):
        self.assertEqual(self.without, [], 'a row needs test = { ref = ..., samples = ... } or test = { skip = "reason" }, see ops/README.md')

    def test_mistakes_are_of_rows(self):
        names = {row.name for row in table()[0]}
        self.assertLessEqual(set(mistakes.CALLS), names)

    def test_values_in_every_layout(self):
        def check(row):
            for dtype in row.dtypes:
                for case in row.cases(dtype):
                    given = tree(to_copy, case.args), tree(to_copy, case.kwargs)
                    expected = case.expected(*given)
                    args, kwargs = case.tensors()
                    result = row.function(*args, **kwargs)
                    self.agree(result, expected, dtype, row, (dtype, case), dtypes=row.test.get("dtype", True))
                    if row.writes:
                        self.assertIs(result, args[0])
                    arrays = [a for a in leaves(given) if isinstance(a, np.ndarray)]  # what the reference wrote, and nothing else, has changed
                    self.agree([a for a in leaves((args, kwargs)) if isinstance(a, torch.Tensor)], arrays, dtype, row, ("arguments of", dtype, case))

        self.each(check)

    def test_method(self):
        def check(row):
            if not row.row["method"]:
                SKIPPED["rows have no method"] += 1
                return
            names = [a["name"] for a in row.row["arguments"]]
            at = names.index("self")
            for case in row.cases(row.dtypes[-1], 2):
                args, kwargs = case.tensors()
                method = getattr(args[at], row.row["name"])
                got = seeded(method)(*args[:at], *args[at + 1 :], **kwargs) if callable(method) else method
                expected = row.function(*case.tensors()[0], **kwargs)
                self.agree(got, leaves(expected) if isinstance(expected, torch.Tensor) else expected, row.dtypes[-1], row, "method")

        self.each(check)

    def test_out(self):
        def check(row):
            function, form = row.named("out")
            if function is None:
                SKIPPED["rows have no out="] += 1
                return
            names = [a["name"] for a in form["arguments"] if a["writes"]]
            taken = [a["name"] for a in form["arguments"]]
            for case in row.cases(row.dtypes[-1], 12):
                args, kwargs = case.tensors()
                expected = leaves(row.function(*args, **kwargs))
                kwargs = {name: value for name, value in kwargs.items() if name in taken}
                wide = [torch.ones(tuple(2 * n for n in t.shape), dtype=t.dtype) for t in expected]
                strided = [base[tuple([slice(0, None, 2)] * base.dim())] for base in wide]
                for outs in ([torch.empty(0, dtype=t.dtype) for t in expected], [torch.ones(3, 7, dtype=t.dtype) for t in expected], strided):
                    given = {names[0]: outs[0]} if len(names) == 1 else {"out": tuple(outs)}
                    got = leaves(function(*args, **kwargs, **given))
                    for out, returned in zip(outs, got, strict=True):
                        self.assertIs(out, returned)
                    if row.row["family"] == "random" and outs is strided:
                        continue  # drawn in another order
                    self.agree(outs, expected, row.dtypes[-1], row, ("out=", case))
                for base, out in zip(wide, strided, strict=True):  # between the elements of a view nothing is written
                    around = torch.ones_like(base)
                    out.fill_(1)
                    self.assertTrue(torch.equal(base, around), ("out=", case))
                self.overlapping(function, args, kwargs, expected, names)

        self.each(check)

    def overlapping(self, function, args, kwargs, expected, names):
        """Several elements of an `out` at one address: an error, or that address alone is written."""
        if any(t.numel() < 2 or t.dim() != 1 for t in expected):
            return
        around = [torch.ones(3, dtype=t.dtype) for t in expected]
        outs = [base[1:2].expand(t.shape) for base, t in zip(around, expected, strict=True)]
        given = {names[0]: outs[0]} if len(names) == 1 else {"out": tuple(outs)}
        with contextlib.suppress(RuntimeError):
            function(*args, **kwargs, **given)
        for base in around:
            self.assertTrue(torch.equal(base[::2], torch.ones_like(base[::2])))

    def test_bools_of_any_byte(self):
        """Bools that were written as bytes: any but 0 is true."""

        def spoiled(value):
            if not (isinstance(value, torch.Tensor) and value.dtype == torch.bool):
                return value
            numbers = value.view(torch.uint8)
            overlapping = any(s == 0 and n > 1 for s, n in zip(value.stride(), value.shape, strict=True))
            return (numbers.mul(37) if overlapping else numbers.mul_(37)).view(torch.bool)

        def check(row):
            # The last dtype stands for all whose masks are bool.
            for dtype in {"bool" if "bool" in row.dtypes else row.dtypes[-1], row.dtypes[-1]}:
                for case in row.cases(dtype, 6):
                    plain = case.tensors()
                    if not any(isinstance(t, torch.Tensor) and t.dtype == torch.bool for t in leaves(plain)):
                        continue
                    args, kwargs = tree(spoiled, case.tensors()[0]), tree(spoiled, case.tensors()[1])
                    expected = row.function(*plain[0], **plain[1])
                    got = row.function(*args, **kwargs)
                    self.agree(got, leaves(expected) if isinstance(expected, torch.Tensor) else expected, dtype, row, ("bools of any byte", dtype, case))

        self.each(check)

    def test_inplace(self):
        def check(row):
            function, _ = row.named("inplace")
            if function is None:
                SKIPPED["rows have no in-place form"] += 1
                return
            for case in row.cases(row.dtypes[-1], 12):
                args, kwargs = case.tensors()
                expected = row.function(*args, **kwargs)
                first = args[0]
                if first.shape != expected.shape or not torch.can_cast(expected.dtype, first.dtype):
                    SKIPPED["samples whose result does not fit in place"] += 1
                    continue
                if first.is_complex() and row.name == "abs":  # PyTorch refuses to keep real results in a complex tensor
                    with self.assertRaises(RuntimeError):
                        function(first.clone())
                    continue
                target = first.clone()
                if first.is_complex() and expected.is_floating_point():
                    with self.assertRaisesRegex(RuntimeError, "in place it is not supported for complex tensors"):
                        function(target, *args[1:], **kwargs)
                    continue
                version, address = target._version, target.data_ptr()
                self.assertIs(function(target, *args[1:], **kwargs), target)
                self.assertEqual((target.data_ptr(), target._version > version), (address, True))
                self.agree(target, expected.to(target.dtype), row.dtypes[-1], row, ("in-place", case))

        self.each(check)

    def test_meta(self):
        """Shape, dtype and strides of a call on tensors without data are those of the call with data."""

        def check(row):
            has_device = any(a["name"] == "device" for a in row.row["arguments"])
            for dtype in row.dtypes:
                for case in row.cases(dtype, 16):
                    args, kwargs = case.tensors()
                    tensors = [t for t in leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
                    on_meta = tree(to_meta, args), tree(to_meta, kwargs)
                    if has_device and not tensors:
                        on_meta[1]["device"] = "meta"
                    if "data" in row.test and (
                        row.test["data"] != "mask" or any(t.dtype is torch.bool for t in leaves(args[1:]) if isinstance(t, torch.Tensor))
                    ):
                        with self.assertRaises(RuntimeError, msg=case):
                            row.function(*on_meta[0], **on_meta[1])
                        SKIPPED[f"calls whose {row.test['data']} depends on data"] += 1
                        continue
                    real, meta = leaves(row.function(*args, **kwargs)), leaves(row.function(*on_meta[0], **on_meta[1]))
                    if not isinstance(real[0], torch.Tensor):
                        self.assertEqual(real, meta)
                        continue
                    if row.name == "native_batch_norm" and not args[5]:  # on meta as on an accelerator, which saves statistics here too
                        real, meta = real[:1], meta[:1]
                    # On meta by steps, as on PyTorch: the CPU's kernel alone gives its result in the memory order of the query.
                    has_order = row.name != "scaled_dot_product_attention"
                    facts = [[(t.shape, t.dtype, has_order and t.stride()) for t in side] for side in (real, meta)]
                    self.assertEqual(facts[0], facts[1], (dtype, case))
                    self.assertTrue(all(str(t.device) == "meta" for t in meta))
                    COUNTS["meta calls"] += 1

        self.each(check)

    def test_errors(self):
        def check(row):
            args, kwargs = next(row.cases(row.dtypes[-1])).tensors()
            with self.assertRaises(TypeError):
                row.function(object(), *args[1:], **kwargs)
            with self.assertRaises(TypeError):
                row.function(*args, **kwargs, no_such_argument=1)
            COUNTS["mistakes"] += 2
            kind = row.test["samples"]
            if kind in ("binary", "ternary"):
                with self.assertRaises(RuntimeError):
                    row.function(*[torch.ones(2, 3 + i, dtype=t.dtype) for i, t in enumerate(args)])
            if kind in ("along", "reduce"):
                with self.assertRaises(IndexError):
                    row.function(args[0], 9)
            for i, (wrong, kwargs) in enumerate(mistakes.CALLS.get(row.name, [])):
                args = tree(to_tensor, wrong)
                for side in (args,) if row.writes else (args, tree(to_meta, args)):  # in place, arguments are checked where data is
                    with self.assertRaises((RuntimeError, IndexError, ValueError), msg=f"mistake {i} of {row.name} {side}"):
                        row.function(*side, **kwargs)
                COUNTS["mistakes"] += 1

        self.each(check)

    def test_derivatives(self):
        """First and second derivatives along random directions against central differences, in double; complex numbers are pairs."""

        def check(row):
            reason = row.test.get("grad", True)
            if reason is not True or not ({"float64", "complex128"} & set(row.dtypes)):
                SKIPPED[reason if isinstance(reason, str) else "rows have no derivative"] += 1
                return
            for dtype, limit in (("float64", 24), ("complex128", 5)):
                for case in row.cases(dtype, limit) if dtype in row.dtypes else ():
                    if not case.expanded:  # equal values may have no derivative
                        self.differentiate(row, case)

        self.each(check)

    def differentiate(self, row, case):
        args, kwargs = case.tensors()
        fixed = row.test.get("fixed", [])
        held = [id(t) for name, value in case.named(args, kwargs).items() if name in fixed for t in leaves(value)]
        moves = lambda v: floating(v) and id(v) not in held  # noqa: E731
        pairs = lambda v: torch.view_as_real(v.resolve_conj()) if v.is_complex() else v  # noqa: E731
        inputs = [pairs(t).contiguous().clone() for t in leaves((args, kwargs)) if moves(t)]
        if not inputs or not all(t.numel() for t in inputs):
            return

        def function(*xs):
            rest = iter(xs)

            def pick(v):
                if not moves(v):
                    return v.clone() if isinstance(v, torch.Tensor) else v
                x = next(rest)
                x = torch.view_as_complex(x) if v.is_complex() else x
                return x.clone() if row.writes else x

            picked = tree(pick, (args, kwargs))
            return [pairs(t) for t in leaves(row.function(*picked[0], **picked[1])) if floating(t)]

        outputs = function(*inputs)
        if any(t.dtype is not torch.float64 for t in outputs) or not outputs:
            return  # too few digits for differences, or whole numbers
        self.slope(function, inputs, case)
        outputs = function(*[x.requires_grad_() for x in inputs])
        used = [i for i, t in enumerate(outputs) if t.requires_grad]
        if not used:
            self.fail(f"no result of {case} requires a gradient")
        cotangents = [outputs[i].detach() + 0.5 for i in used]

        def first(*xs, n=len(inputs)):
            with torch.enable_grad():
                xs, cotangents = [x if x.requires_grad else _cresset.without_history(x).requires_grad_() for x in xs[:n]], list(xs[n:])
                results = function(*xs)
                grads = torch.autograd.grad([results[i] for i in used], xs, cotangents, create_graph=True, allow_unused=True)
                return [torch.zeros_like(x) if g is None else g for g, x in zip(grads, xs, strict=True)]

        inputs = [x.detach() for x in inputs]
        self.slope(first, inputs + cotangents, ("second order", case))
        COUNTS["derivatives"] += 2

    def slope(self, function, inputs, what):
        random, eps = np.random.default_rng(3), 1e-6
        like = lambda t: torch.from_numpy(np.asarray(random.standard_normal(tuple(t.shape))))  # noqa: E731
        directions = [like(t) for t in inputs]
        moved = [[t.detach() for t in function(*(x + s * d for x, d in zip(inputs, directions, strict=True)))] for s in (eps, -eps)]
        weights = [like(t) for t in moved[0]]
        leaf = [x.detach().clone().requires_grad_() for x in inputs]
        outputs = [(i, t) for i, t in enumerate(function(*leaf)) if t.requires_grad]
        # Results without a gradient are not compared: that there is one which has is asked for elsewhere.
        numeric = sum(((moved[0][i] - moved[1][i]) * weights[i]).sum().item() for i, _ in outputs) / (2 * eps)
        grads = torch.autograd.grad([t for _, t in outputs], leaf, [weights[i] for i, _ in outputs], allow_unused=True) if outputs else []
        analytic = sum((g.detach() * d).sum().item() for g, d in zip(grads, directions, strict=False) if g is not None)
        self.assertAlmostEqual(numeric, analytic, delta=1e-5 + 1e-5 * max(abs(numeric), abs(analytic)), msg=what)
        if outputs:
            self.forward_mode(function, inputs, directions, [i for i, _ in outputs], weights, analytic, what)

    def forward_mode(self, function, inputs, directions, used, weights, analytic, what):
        """weights . (J directions) in forward mode is (weights J) . directions in reverse mode."""
        with forward_ad.dual_level():
            results = function(*[forward_ad.make_dual(x.detach(), d) for x, d in zip(inputs, directions, strict=True)])
            tangents = [forward_ad.unpack_dual(results[i]).tangent for i in used]
        along = sum((t.detach() * weights[i]).sum().item() for i, t in zip(used, tangents, strict=True) if t is not None)
        self.assertAlmostEqual(along, analytic, delta=1e-9 + 1e-9 * abs(analytic), msg=("forward mode", what))
        COUNTS["forward-mode derivatives"] += 1

    @unittest.skipIf(peer is None, "PyTorch is not installed")
    def test_dtypes_and_shapes_of_pytorch(self):
        def to_peer(value):
            if isinstance(value, np.dtype):
                return getattr(peer, value.name)
            if isinstance(value, Format):
                return getattr(peer, value)
            if isinstance(value, Seed):
                return peer.Generator().manual_seed(value)
            if not isinstance(value, np.ndarray):
                return value
            strides = to_tensor(value).stride()
            memory = peer.zeros(1 + sum((n - 1) * s for n, s in zip(value.shape, strides, strict=True)) if value.size else 0, dtype=to_peer(value.dtype))
            if value.size:
                keep = tuple(slice(0, 1) if s == 0 else slice(None) for s in strides)  # elements of one address are written once
                memory.as_strided(value.shape, strides)[keep].copy_(peer.from_numpy(np.asarray(np.array(value)[keep])))
            return memory.as_strided(value.shape, strides)

        def check(row):
            name = row.test.get("name", row.row["name"])
            owners = (peer, peer.Tensor, peer.nn.functional, peer.special, peer.ops.aten)
            if row.test.get("peer") == "aten":
                owners = (peer.ops.aten,)
            elif not row.row["function"]:
                owners = (peer.Tensor, peer.ops.aten) if row.row["method"] else (peer.ops.aten,)
            owner = next((o for o in owners if hasattr(o, name)), None)
            if owner is None or row.test.get("peer", not name.startswith("_")) is False:
                SKIPPED["rows under another name in PyTorch"] += 1
                return
            for dtype in row.dtypes:
                for case in row.cases(dtype, 30):
                    args, kwargs = tree(to_peer, (tuple(case.args), case.kwargs))
                    peer.manual_seed(SEED)
                    try:
                        theirs = leaves(getattr(owner, name)(*args, **kwargs))
                    except NotImplementedError:
                        SKIPPED["calls that PyTorch has not implemented"] += 1
                        continue
                    except RuntimeError as error:
                        # Of strided arguments, and of windows that stand half an element off the middle.
                        if not any(words in str(error) for words in ("view size is not compatible", "are out of bounds for storage")):
                            raise
                        SKIPPED["calls that PyTorch refuses for the layout it gives their tensors itself"] += 1
                        continue
                    args, kwargs = case.tensors()
                    ours = leaves(row.function(*args, **kwargs))
                    for a, b in zip(ours, theirs, strict=True):
                        if not isinstance(b, peer.Tensor):
                            self.assertEqual(str(a), str(b))
                            continue
                        facts = [(tuple(t.shape), str(t.dtype), t.stride() if STRIDES else ()) for t in (a, b)]
                        self.assertEqual(*facts, (dtype, case))
                    if isinstance(theirs[0], peer.Tensor):
                        values = [t.resolve_conj().resolve_neg().numpy() for t in theirs]
                        self.agree(ours, values, dtype, row, ("PyTorch", dtype, case), tolerance=(1e-7, 1e-8) if dtype == "float64" else None)

        self.each(check)


if __name__ == "__main__":
    unittest.main()
