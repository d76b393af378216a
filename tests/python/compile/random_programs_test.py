"""Random programs, compiled, give what they give in eager mode: results to the bit, gradients, random numbers, and writes to arguments.

CRESSET_FUZZ_PROGRAMS sets how many there are, CRESSET_FUZZ_SEED the first seed.
"""

import os
import random
import unittest

import cresset as torch
from cresset.nn import functional as F

PROGRAMS = int(os.environ.get("CRESSET_FUZZ_PROGRAMS", "240"))
FIRST = int(os.environ.get("CRESSET_FUZZ_SEED", "0"))

UNARY = {
    name: getattr(torch, name) for name in "sin cos tanh sigmoid exp abs neg square relu sign floor round erf expm1 log1p atan sinh isnan isfinite".split()
} | {
    "gelu": F.gelu, "silu": F.silu, "softplus": F.softplus, "half": lambda x: x * 0.5, "shift": lambda x: x + 1, "power": lambda x: x**2,
    "clamp": lambda x: x.clamp(-0.7, 0.9), "root": lambda x: (x.abs() + 0.1).sqrt(), "detach": lambda x: x.detach() * 2, "double": lambda x: x.double(),
    "single": lambda x: x.float(), "low": lambda x: x.to(torch.bfloat16).to(torch.float32), "whole": lambda x: (x * 3).to(torch.int64) % 5,
    "positive": lambda x: x > 0, "clone": lambda x: x.clone(), "written": lambda x: x.clone().mul_(2).add_(1), "part": lambda x: x.narrow(-1, 0, max(1, x.shape[-1] // 2)),
}  # fmt: skip
BINARY = {
    "add": torch.add, "sub": lambda x, y: x - y * 0.3, "mul": torch.mul, "div": lambda x, y: x / (y.abs() + 1), "max": torch.maximum, "min": torch.minimum,
    "where": lambda x, y: torch.where(x > y, x, y * 2), "masked": lambda x, y: x.masked_fill(y > 0, 0.25), "lerp": lambda x, y: x + (y - x) * 0.3,
    "less": lambda x, y: x < y, "atan2": lambda x, y: torch.atan2(x, y + 1.5), "eq": lambda x, y: (x == y) | (x > 0.3),
}  # fmt: skip
SHAPED = {
    "sum": lambda x: x.sum(-1, keepdim=True), "mean": lambda x: x.mean(-1, keepdim=True), "amax": lambda x: x.amax(-1, keepdim=True), "total": lambda x: x.sum(),
    "first": lambda x: x.sum(0), "softmax": lambda x: x.softmax(-1), "logsumexp": lambda x: x.logsumexp(-1, keepdim=True), "var": lambda x: x.var(-1, keepdim=True),
    "norm": lambda x: F.layer_norm(x, x.shape[-1:]), "rows": lambda x: x - x.mean(-1, keepdim=True), "argmax": lambda x: x.argmax(-1, keepdim=True),
    "cumsum": lambda x: x.cumsum(-1), "flip": lambda x: x.flip(-1), "roll": lambda x: x.roll(1, -1), "transpose": lambda x: x.transpose(0, -1),
    "flat": lambda x: x.reshape(-1), "cat": lambda x: torch.cat([x, x * 2], -1), "stack": lambda x: torch.stack([x, x + 1]).sum(0), "chunk": lambda x: x.chunk(2, 0)[0] + 1,
    "square": lambda x: x.reshape(-1, x.shape[-1]) @ x.reshape(-1, x.shape[-1]).t(), "expand": lambda x: x.unsqueeze(0).expand(2, *x.shape).sum(0),
    "index": lambda x: x[..., torch.arange(x.shape[-1] - 1, -1, -1)], "pad": lambda x: F.pad(x, (1, 2)), "dropout": lambda x: F.dropout(x, 0.3, True),
    "noise": lambda x: x + torch.rand_like(x), "tril": lambda x: x.tril(),
}  # fmt: skip


def invented(seed):
    """A program of a seed, its arguments, and a text of it."""
    generator = random.Random(seed)
    shape = generator.choice([(40, 40), (8, 96), (3, 20, 64), (700,), (5,), (33, 130), (2, 3, 4), (1, 512)])
    count = generator.randint(1, 3)
    others = [shape, shape[-1:], (*shape[:-1], 1), (1,)]
    shapes = [shape, *(generator.choice(others) for _ in range(count - 1))]
    plan, size = [], count
    for _ in range(generator.randint(2, 14)):
        table = generator.choices([UNARY, BINARY, SHAPED], [5, 4, 2])[0]
        name = generator.choice(list(table))
        plan.append((table[name], name, [generator.randrange(max(0, size - 4), size) for _ in range(2 if table is BINARY else 1)]))
        size += 1
    results = sorted(generator.sample(range(count, size), min(generator.randint(1, 3), size - count)))
    write = generator.random() < 0.15

    def program(*args):
        values = list(args)
        for function, _, inputs in plan:
            values.append(function(*(values[i] for i in inputs)))
        if write:
            args[0].add_(1)
        return tuple(values[i] for i in results)

    text = f"seed {seed}: {shapes}, " + ", ".join(f"{name}({', '.join(map(str, inputs))})" for _, name, inputs in plan) + f" -> {results}"
    return program, shapes, write, text


def run(function, shapes, gradients, seed):
    """Results, gradients, arguments afterwards, and the next random number."""
    torch.manual_seed(seed)
    args = [torch.randn(s, requires_grad=gradients) for s in shapes]
    found = function(*args)
    wanted = [t for t in found if t.requires_grad]
    grads = []
    if wanted:
        sum((t * torch.linspace(0.5, 1.5, t.numel()).reshape(t.shape).to(t.dtype)).sum().double() for t in wanted).backward()
        grads = [a.grad for a in args]
    return [t.detach() for t in found], grads, [a.detach() for a in args], torch.rand(2)


def same(a, b):
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def close(a, b):
    # An argument that no result depends on may have a gradient of zeros.
    if a is None or b is None:
        return a is b or not (a if b is None else b).any()
    return a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)


class RandomPrograms(unittest.TestCase):
    def compare(self, seed):
        """Whether the program runs in eager mode; then the compiled one is held against it, twice."""
        program, shapes, write, text = invented(seed)
        gradients = not write and seed % 2 == 0
        try:
            expected = run(program, shapes, gradients, seed)
        except (RuntimeError, TypeError, IndexError, ValueError):
            torch._dynamo.reset()
            with self.assertRaises((RuntimeError, TypeError, IndexError, ValueError), msg=text):
                run(torch.compile(program), shapes, gradients, seed)
            return False
        torch._dynamo.reset()
        compiled = torch.compile(program)
        for _ in range(2):
            found = run(compiled, shapes, gradients, seed)
            for what, test, which in (("result", same, 0), ("gradient", close, 1), ("argument", same, 2)):
                self.assertEqual(len(found[which]), len(expected[which]), text)
                for i, (got, wanted) in enumerate(zip(found[which], expected[which], strict=True)):
                    self.assertTrue(test(got, wanted), f"{what} {i} of {text}: expected {wanted}, got {got}")
            self.assertTrue(torch.equal(found[3], expected[3]), f"random numbers of {text}")
        return True

    def test_random_programs_give_what_eager_mode_gives(self):
        ran = sum(self.compare(seed) for seed in range(FIRST, FIRST + PROGRAMS))
        self.assertGreater(ran, PROGRAMS // 2)


if __name__ == "__main__":
    unittest.main()
