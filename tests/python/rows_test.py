"""Runs the `test` entry of every row: values against NumPy in every layout, out=, in-place, method, meta, errors and derivatives.

    test = { ref = "numpy.add", samples = "binary", dtypes = "all", domain = [0.1, 3], grad = false, name = "...", atol = 1e-6 }

`ref` is a function of numpy or of references.py, `samples` a generator of samples.py. Where PyTorch can be imported, dtypes, shapes and
values are compared with it as well.
"""

import collections
import json
import os
import unittest

import _cresset
import numpy as np

import cresset as torch
import references
import samples

try:
    import torch as peer
except ImportError:
    peer = None

TOLERANCES = {"float32": (2e-5, 2e-5), "float64": (1e-11, 1e-11), "complex64": (1e-4, 1e-4), "complex128": (1e-10, 1e-10)}
COUNTS, SKIPPED = collections.Counter(), collections.Counter()


def rows():
    with open(os.path.join(os.path.dirname(_cresset.__file__), "schemas.json")) as file:
        return json.load(file)


def tree(function, value):
    if isinstance(value, (list, tuple)):
        return type(value)([tree(function, item) for item in value]) if type(value) in (list, tuple) else tuple(tree(function, v) for v in value)
    return function(value)


def to_tensor(value):
    """A tensor with the array's own strides, an expanded one included."""
    if not isinstance(value, np.ndarray):
        return value
    if value.size and any(s < 0 or (s == 0 and n > 1) for s, n in zip(value.strides, value.shape, strict=True)):
        core = value[tuple(slice(0, 1) if s == 0 else slice(None) for s in value.strides)]
        return torch.from_numpy(core.copy()).expand(value.shape)
    return torch.from_numpy(value if value.flags.writeable else value.copy())


def to_meta(value):
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def leaves(value):
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (list, tuple)) else [value]


class Row:
    def __init__(self, row, forms):
        self.row, self.forms, self.test = row, forms, row["test"]
        self.name = row["name"] + ("." + row["overload"] if row["overload"] else "")
        home, _, name = self.test["ref"].rpartition(".")
        self.reference = getattr(np if home == "numpy" else references, name)
        self.function = _cresset.make_op(row["name"], [self.name])
        self.generate = getattr(samples, self.test["samples"])
        self.dtypes = samples.DTYPES[self.test.get("dtypes", "all")]

    def cases(self, dtype, limit=None):
        source = samples.Source(dtype, self.test.get("domain"), seed=sum(map(ord, self.name)))
        for i, (args, kwargs) in enumerate(self.generate(source)):
            if limit is not None and i >= limit:
                return
            yield args, kwargs

    def named(self, form):
        """The in-place or out= form of this row, or None."""
        wanted = {"inplace": self.row["name"] + "_", "out": self.row["name"]}[form]
        own = [a["name"] for a in self.row["arguments"]]
        for other in self.forms[form]:
            rest = [a["name"] for a in other["arguments"] if not (form == "out" and a["writes"])]
            if other["name"] == wanted and other["base"] == self.row["base"] and rest == own:
                return _cresset.make_op(wanted, [f"{wanted}.{other['overload']}" if other["overload"] else wanted]), other
        return None, None


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        everything = rows()
        forms = collections.defaultdict(list)
        for row in everything:
            forms[row["form"]].append(row)
        own = [row for row in everything if row["form"] == "function" or row["base"] == row["name"] + "." + row["overload"]]
        cls.rows = [Row(row, forms) for row in everything if row["form"] == "function" and row["test"]]
        cls.without = len([row for row in own if not row["test"]])

    @classmethod
    def tearDownClass(cls):
        counts = ", ".join(f"{n} {what}" for what, n in sorted(COUNTS.items()))
        print(f"\nrows: {len(cls.rows)} with a test, {cls.without} without one; {counts}")
        for reason, n in sorted(SKIPPED.items()):
            print(f"skipped: {n} {reason}")

    def each(self, check):
        for row in self.rows:
            with self.subTest(row=row.name):
                check(row)

    def agree(self, got, expected, dtype, row, what):
        got, expected = leaves(got), leaves(expected)
        self.assertEqual(len(got), len(expected), what)
        rtol, atol = TOLERANCES.get(dtype, (1e-5, 1e-5))
        atol = max(atol, row.test.get("atol", 0))
        for one, other in zip(got, expected, strict=True):
            one, other = (t.detach().resolve_conj().numpy() if isinstance(t, torch.Tensor) else np.asarray(t) for t in (one, other))
            self.assertEqual(one.shape, other.shape, what)
            if one.dtype.kind in "biu" and other.dtype.kind in "biu":
                other = other.astype(one.dtype)  # wraps round as ours does
            np.testing.assert_allclose(one, other.astype(np.result_type(one, other)), rtol, atol, err_msg=what)
        COUNTS["comparisons"] += 1

    def test_values_in_every_layout(self):
        def check(row):
            for dtype in row.dtypes:
                for args, kwargs in row.cases(dtype):
                    with np.errstate(all="ignore"):
                        expected = row.reference(*args, **kwargs)
                    self.agree(row.function(*tree(to_tensor, args), **kwargs), expected, dtype, row, f"{dtype} {args} {kwargs}")

        self.each(check)

    def test_method(self):
        def check(row):
            if not row.row["method"]:
                SKIPPED["rows have no method"] += 1
                return
            method = getattr(torch.Tensor, row.row["name"])
            for args, kwargs in row.cases(row.dtypes[-1], 2):
                tensors = tree(to_tensor, args)
                at = [a["name"] for a in row.row["arguments"]].index("self")
                self.agree(method(tensors[at], *tensors[:at], *tensors[at + 1 :], **kwargs), leaves(row.function(*tensors, **kwargs)),
                           row.dtypes[-1], row, "method")  # fmt: skip

        self.each(check)

    def test_out(self):
        def check(row):
            function, form = row.named("out")
            if function is None:
                SKIPPED["rows have no out="] += 1
                return
            names = [a["name"] for a in form["arguments"] if a["writes"]]
            for args, kwargs in row.cases(row.dtypes[-1], 12):
                tensors = tree(to_tensor, args)
                expected = leaves(row.function(*tensors, **kwargs))
                strided = [torch.ones(tuple(2 * n for n in t.shape), dtype=t.dtype)[tuple([slice(0, None, 2)] * t.dim())] for t in expected]
                for outs in ([torch.empty(0, dtype=t.dtype) for t in expected], strided):
                    given = {names[0]: outs[0]} if len(names) == 1 else {"out": tuple(outs)}
                    got = leaves(function(*tensors, **kwargs, **given))
                    for out, returned in zip(outs, got, strict=True):
                        self.assertIs(out, returned)
                    self.agree(outs, expected, row.dtypes[-1], row, f"out= {args} {kwargs}")

        self.each(check)

    def test_inplace(self):
        def check(row):
            function, _ = row.named("inplace")
            if function is None:
                SKIPPED["rows have no in-place form"] += 1
                return
            for args, kwargs in row.cases(row.dtypes[-1], 12):
                tensors = tree(to_tensor, args)
                expected = row.function(*tensors, **kwargs)
                first = tensors[0]
                if first.shape != expected.shape or not torch.can_cast(expected.dtype, first.dtype):
                    SKIPPED["samples whose result does not fit in place"] += 1
                    continue
                target = first.clone()
                version, address = target._version, target.data_ptr()
                self.assertIs(function(target, *tensors[1:], **kwargs), target)
                self.assertEqual((target.data_ptr(), target._version > version), (address, True))
                self.agree(target, expected.to(target.dtype), row.dtypes[-1], row, f"in-place {args} {kwargs}")

        self.each(check)

    def test_meta(self):
        def check(row):
            if row.test.get("meta") is False:
                SKIPPED["rows whose shape depends on data"] += 1
                return
            for dtype in row.dtypes:
                for args, kwargs in row.cases(dtype, 20):
                    tensors = tree(to_tensor, args)
                    real, meta = leaves(row.function(*tensors, **kwargs)), leaves(row.function(*tree(to_meta, tensors), **kwargs))
                    facts = [[(t.shape, t.dtype, t.stride()) for t in side] for side in (real, meta)]
                    self.assertEqual(facts[0], facts[1], f"{dtype} {args} {kwargs}")
                    self.assertTrue(all(str(t.device) == "meta" for t in meta))
                    COUNTS["meta calls"] += 1

        self.each(check)

    def test_errors(self):
        def check(row):
            args, kwargs = next(row.cases(row.dtypes[-1]))
            tensors = list(tree(to_tensor, args))
            with self.assertRaises(TypeError):
                row.function("text", *tensors[1:], **kwargs)
            with self.assertRaises(TypeError):
                row.function(*tensors, **kwargs, no_such_argument=1)
            if row.test["samples"] in ("binary", "ternary"):
                with self.assertRaises(RuntimeError):
                    row.function(to_tensor(np.ones((2, 3), args[0].dtype)), to_tensor(np.ones((2, 4), args[0].dtype)), *tensors[2:])
            if row.test["samples"] in ("along", "reduce"):
                with self.assertRaises(IndexError):
                    row.function(tensors[0], 9)
            COUNTS["mistakes"] += 2

        self.each(check)

    def test_derivatives(self):
        """First and second derivatives along random directions against central differences, in double."""

        def check(row):
            if row.test.get("grad") is False or not ({"float64", "complex128"} & set(row.dtypes)):
                SKIPPED["rows have no derivative"] += 1
                return
            for args, kwargs in row.cases("float64", 40):
                if not all(a.flags.writeable for a in leaves(args) if isinstance(a, np.ndarray)):
                    continue  # expanded: equal values may have no derivative
                tensors = tree(to_tensor, args)
                inputs = [t.contiguous().clone() for t in leaves(tensors) if isinstance(t, torch.Tensor) and t.is_floating_point()]
                if not inputs or not all(t.numel() for t in inputs):
                    continue

                def function(*xs, tensors=tensors, kwargs=kwargs):
                    rest = iter(xs)
                    pick = lambda v: next(rest) if isinstance(v, torch.Tensor) and v.is_floating_point() else v  # noqa: E731
                    return [t for t in leaves(row.function(*tree(pick, tensors), **kwargs)) if t.is_floating_point()]

                self.slope(function, inputs, f"{args} {kwargs}")
                cotangents = [t.detach() + 0.5 for t in function(*inputs)]

                def first(*xs, n=len(inputs), function=function):
                    with torch.enable_grad():
                        return self.pull(function, xs[:n], xs[n:])

                self.slope(first, inputs + cotangents, f"second order {args} {kwargs}")
                COUNTS["derivatives"] += 2

        self.each(check)

    @staticmethod
    def pull(function, xs, cotangents):
        xs = [x if x.requires_grad else x.detach().requires_grad_() for x in xs]
        grads = torch.autograd.grad(function(*xs), xs, list(cotangents), create_graph=True, allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for g, x in zip(grads, xs, strict=True)]

    def slope(self, function, inputs, what):
        random, eps = np.random.default_rng(3), 1e-6
        like = lambda t: torch.tensor(random.standard_normal(tuple(t.shape)))  # noqa: E731
        directions = [like(t) for t in inputs]
        moved = [[t.detach() for t in function(*(x + s * d for x, d in zip(inputs, directions, strict=True)))] for s in (eps, -eps)]
        weights = [like(t) for t in moved[0]]
        numeric = sum(((a - b) * w).sum().item() for a, b, w in zip(*moved, weights, strict=True)) / (2 * eps)
        leaf = [x.detach().clone().requires_grad_() for x in inputs]
        outputs = [(t, w) for t, w in zip(function(*leaf), weights, strict=True) if t.requires_grad]
        grads = torch.autograd.grad([t for t, _ in outputs], leaf, [w for _, w in outputs], allow_unused=True) if outputs else []
        analytic = sum((g.detach() * d).sum().item() for g, d in zip(grads, directions, strict=False) if g is not None)
        self.assertAlmostEqual(numeric, analytic, delta=1e-5 + 1e-5 * max(abs(numeric), abs(analytic)), msg=what)

    @unittest.skipIf(peer is None, "PyTorch is not installed")
    def test_dtypes_and_shapes_of_pytorch(self):
        def check(row):
            name = row.test.get("name", row.row["name"])
            owner = next((o for o in (peer, peer.Tensor, peer.nn.functional, peer.special) if hasattr(o, name)), None)
            if owner is None:
                SKIPPED["rows under another name in PyTorch"] += 1
                return
            for dtype in row.dtypes:
                for args, kwargs in row.cases(dtype, 30):
                    theirs = leaves(getattr(owner, name)(*tree(lambda v: peer.tensor(v) if isinstance(v, np.ndarray) else v, args), **kwargs))
                    ours = leaves(row.function(*tree(to_tensor, args), **kwargs))
                    for a, b in zip(ours, theirs, strict=True):
                        self.assertEqual((tuple(a.shape), str(a.dtype)), (tuple(b.shape), str(b.dtype)), f"{dtype} {args} {kwargs}")
                    self.agree(ours, [t.resolve_conj().numpy() for t in theirs], dtype, row, f"PyTorch: {dtype} {args} {kwargs}")

        self.each(check)


if __name__ == "__main__":
    unittest.main()
