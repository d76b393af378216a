"""Random programs of views, writes in place and out= agree with NumPy, statement by statement; and with functionalised execution.

CRESSET_PROGRAMS=100000 runs as many (a thousand without it); CRESSET_PROGRAMS_SEED changes them. A failure prints the program.
"""

import os
import random
import unittest

import numpy

import cresset as torch

COUNT = int(os.environ.get("CRESSET_PROGRAMS", 1000))
SEED = int(os.environ.get("CRESSET_PROGRAMS_SEED", 0))
DTYPES = (("float64", 3), ("int64", 2), ("float32", 2), ("uint8", 1))
WRITES = {"add": "add_", "subtract": "sub_", "multiply": "mul_"}
BINARY = (*WRITES, "maximum", "minimum")


class Program:
    """Statements as text, each for both libraries, while it is being run: what comes next depends on the shapes that there are."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.arrays, self.tensors = [], [], []
        self.inputs = 0

    def choose(self, *options):
        return self.random.choice(options)

    def index(self, wanted=lambda array: True):
        """The number of a value that will do, or None."""
        found = [i for i, array in enumerate(self.arrays) if wanted(array)]
        return self.random.choice(found) if found else None

    def emit(self, torch_text, numpy_text, result):
        """Runs a statement in both; `result` says whether it makes a value."""
        x, n = self.tensors, self.arrays
        target = f"x{len(n)} = " if result else ""
        self.lines.append(target + torch_text)
        wanted = eval(numpy_text, {"numpy": numpy, "n": n, "view": numpy.lib.stride_tricks.as_strided})
        got = eval(torch_text, {"torch": torch, **{f"x{i}": t for i, t in enumerate(x)}})
        if result:
            n.append(numpy.asarray(wanted))
            x.append(got)

    def begin(self):
        for _ in range(self.random.randint(1, 3)):
            dtype = self.random.choices([d for d, _ in DTYPES], [w for _, w in DTYPES])[0]
            shape = tuple(self.random.randint(0 if self.random.random() < 0.05 else 1, 4) for _ in range(self.random.randint(0, 4)))
            low = 0 if dtype == "uint8" else -4
            data = numpy.array([self.random.randint(low, 4) for _ in range(int(numpy.prod(shape)))], dtype).reshape(shape)
            self.lines.append(f"x{len(self.arrays)} = torch.tensor({data.tolist()}, dtype=torch.{dtype}).reshape({shape})")
            self.arrays.append(data)
            self.tensors.append(torch.tensor(data.tolist(), dtype=getattr(torch, dtype)).reshape(shape))
        self.inputs = len(self.arrays)
        self.given = [array.copy() for array in self.arrays]

    # ---- views ----

    def view(self):
        i = self.index()
        array = self.arrays[i]
        dims = array.ndim
        kinds = ["unsqueeze", "slice", "reshape", "detach"]
        if dims:
            kinds += ["select", "narrow", "flatten", "movedim", "squeeze"]
        if dims > 1:
            kinds += ["transpose", "permute", "diagonal"]
        kind = self.choose(*kinds)
        d = self.random.randrange(dims) if dims else 0
        if kind == "unsqueeze":
            at = self.random.randint(0, dims)
            self.emit(f"x{i}.unsqueeze({at})", f"numpy.expand_dims(n[{i}], {at})", True)
        elif kind == "slice":
            text = ", ".join(self.choose(":", "1:", ":-1", "::2", "0:1", "None", "...") for _ in range(self.random.randint(1, dims + 1)))
            parts = text.split(", ")
            while parts.count("...") > 1 or sum(p not in ("None", "...") for p in parts) > dims:
                parts.pop()
            text = ", ".join(parts) or "..."
            self.emit(f"x{i}[{text}]", f"n[{i}][{text}]", True)
        elif kind == "reshape":
            self.emit(f"x{i}.reshape(-1)", f"n[{i}].reshape(-1)", True)
        elif kind == "detach":
            self.emit(f"x{i}.detach()", f"n[{i}][...]", True)
        elif kind == "select" and array.shape[d]:
            at = self.random.randrange(-array.shape[d], array.shape[d])
            self.emit(f"x{i}.select({d}, {at})", f"n[{i}][{':, ' * d}{at}, ...]", True)
        elif kind == "narrow" and array.shape[d]:
            begin = self.random.randrange(array.shape[d])
            length = self.random.randint(0 if self.random.random() < 0.1 else 1, array.shape[d] - begin)
            self.emit(f"x{i}.narrow({d}, {begin}, {length})", f"n[{i}][{':, ' * d}{begin}:{begin + length}]", True)
        elif kind == "flatten":
            self.emit(f"x{i}.flatten()", f"n[{i}].reshape(-1)", True)
        elif kind == "movedim":
            to = self.random.randrange(dims)
            self.emit(f"x{i}.movedim({d}, {to})", f"numpy.moveaxis(n[{i}], {d}, {to})", True)
        elif kind == "squeeze":
            self.emit(f"x{i}.squeeze()", f"n[{i}].squeeze()", True)
        elif kind == "transpose":
            other = self.random.randrange(dims)
            self.emit(f"x{i}.transpose({d}, {other})", f"n[{i}].swapaxes({d}, {other})", True)
        elif kind == "permute":
            order = self.random.sample(range(dims), dims)
            self.emit(f"x{i}.permute({order})", f"n[{i}].transpose({order})", True)
        elif kind == "diagonal":
            # NumPy's own diagonal cannot be written.
            a, b = self.random.sample(range(dims), 2)
            other = [k for k in range(dims) if k not in (a, b)]
            shape = [array.shape[k] for k in other] + [min(array.shape[a], array.shape[b])]
            strides = [array.strides[k] for k in other] + [array.strides[a] + array.strides[b]]
            self.emit(f"x{i}.diagonal(0, {a}, {b})", f"view(n[{i}], {shape}, {strides})", True)

    # ---- values and writes ----

    def apart(self, a, b):
        """Whether writing one while reading the other is defined: they are the same elements, or share none."""
        same = a.__array_interface__["data"] == b.__array_interface__["data"] and a.shape == b.shape and a.strides == b.strides
        # Dimensions of size 1 have strides of their own in each library, and equal ones are asked for.
        return a is b or (same and 1 not in a.shape) or not numpy.shares_memory(a, b)

    def operand(self, like, target=None):
        """A value of the same dtype that broadcasts to the shape, or a number."""
        array = self.arrays[like]

        def fits(other):
            try:
                fitting = other.dtype == array.dtype and numpy.broadcast_shapes(other.shape, array.shape) == array.shape
            except ValueError:
                return False
            return fitting and (target is None or self.apart(other, self.arrays[target]))

        other = self.index(fits) if self.random.random() < 0.7 else None
        if other is not None:
            return f"x{other}", f"n[{other}]"
        number = self.random.randint(0, 3)
        # NumPy 1 and 2 differ in how numbers promote; a 0-d array of the dtype does not.
        return str(number), f"numpy.array({number}, '{array.dtype}')"

    def compute(self):
        i = self.index()
        name = self.choose(*BINARY)
        a, b = self.operand(i)
        self.emit(f"torch.{name}(x{i}, torch.as_tensor({a}, dtype=x{i}.dtype))", f"numpy.{name}(n[{i}], {b})", True)

    def write(self):
        i = self.index()
        number = self.random.randint(0, 5)
        kind = self.choose("fill", "zero", "copy", "binary", "binary", "assign", "masked")
        a, b = self.operand(i, i)
        if kind == "fill":
            self.emit(f"x{i}.fill_({number})", f"n[{i}].fill({number})", False)
        elif kind == "zero":
            self.emit(f"x{i}.zero_()", f"n[{i}].fill(0)", False)
        elif kind == "copy":
            self.emit(f"x{i}.copy_(torch.as_tensor({a}))", f"numpy.copyto(n[{i}], {b})", False)
        elif kind == "binary":
            name = self.choose(*WRITES)
            self.emit(f"x{i}.{WRITES[name]}({a})", f"numpy.{name}(n[{i}], {b}, out=n[{i}])", False)
        elif kind == "assign":
            self.emit(f"x{i}.__setitem__(..., {a})", f"n[{i}].__setitem__(..., {b})", False)
        else:
            self.emit(f"x{i}.masked_fill_(x{i} > {number}, 1)", f"numpy.copyto(n[{i}], 1, where=n[{i}] > {number}, casting='unsafe')", False)

    def out(self):
        i = self.index()
        array = self.arrays[i]
        target = self.index(lambda other: other.dtype == array.dtype and other.shape == array.shape and self.apart(array, other))
        name = self.choose(*WRITES)
        a, b = self.operand(i, target)
        self.emit(f"torch.{name}(x{i}, {a}, out=x{target})", f"numpy.{name}(n[{i}], {b}, out=n[{target}])", False)

    def check(self):
        for i, (array, tensor) in enumerate(zip(self.arrays, self.tensors)):
            got = tensor.numpy()
            if got.dtype != array.dtype or got.shape != array.shape or not numpy.array_equal(got, array, equal_nan=array.dtype.kind == "f"):
                text = "\n".join(self.lines)
                raise AssertionError(f"x{i}: expected {array.tolist()} of {array.dtype}, got {tensor}\n{text}")

    def run(self):
        self.begin()
        for _ in range(self.random.randint(3, 14)):
            self.random.choices((self.view, self.write, self.out, self.compute), (5, 5, 2, 1))[0]()
            self.check()

    def again(self, transform):
        """The values at the end and the inputs after it, of the program run as one function."""
        first = [torch.tensor(a.tolist(), dtype=getattr(torch, str(a.dtype))).reshape(a.shape) for a in self.given]

        def function(*inputs):
            scope = {"torch": torch, **{f"x{i}": x for i, x in enumerate(inputs)}}
            for line in self.lines[self.inputs :]:
                exec(line, scope)
            return tuple(scope[f"x{i}"] for i in range(self.inputs, len(self.arrays)))

        return [*transform(function)(*first), *first]

    def check_functionalised(self):
        for i, (got, expected) in enumerate(zip(self.again(torch.func.functionalize), self.again(lambda f: f))):
            same = (
                got.dtype == expected.dtype
                and got.shape == expected.shape
                and numpy.array_equal(got.numpy(), expected.numpy(), equal_nan=got.is_floating_point())
            )
            if not same:
                raise AssertionError(f"value {i}: expected {expected}, got {got}\n" + "\n".join(self.lines))


class Programs(unittest.TestCase):
    def test_agree_with_numpy_and_functionalised(self):
        statements = 0
        for seed in range(SEED, SEED + COUNT):
            program = Program(seed)
            with self.subTest(seed=seed):
                try:
                    program.run()
                    program.check_functionalised()
                except AssertionError:
                    raise
                except Exception as error:
                    raise AssertionError(f"{type(error).__name__}: {error}\n" + "\n".join(program.lines)) from error
            statements += len(program.lines)
        self.assertGreater(statements, 5 * COUNT)


if __name__ == "__main__":
    unittest.main()
