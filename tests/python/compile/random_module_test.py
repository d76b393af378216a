"""Random numbers of the module `random` within captured functions: those of eager mode, and the generator is left as eager mode leaves it."""

import random
import unittest

import cresset as torch

OWN = random.Random(7)


class Holder:
    def __init__(self):
        self.generator = random.Random(5)

    def __call__(self, x):
        return x * self.generator.uniform(1, 2)


HOLDER = Holder()
WHOLE = {
    "random": lambda x: x + random.random(), "uniform": lambda x: x * random.uniform(1, 3), "randint": lambda x: x * random.randint(1, 5),
    "randrange": lambda x: x * random.randrange(1, 9, 2), "a size": lambda x: x[: random.randint(1, 3)], "arithmetic": lambda x: x * (random.random() * 2 - 1),
    "returned": lambda x: (x + 1, random.random(), random.randint(0, 9)), "in a loop": lambda x: [x + random.random() for _ in range(3)],
    "a generator outside": lambda x: x + OWN.random() * OWN.randint(1, 4), "that of an object": HOLDER, "a seeded one": lambda x: x + random.Random(5).random(),
    "a seeded one in a condition": lambda x: x + 1 if random.Random(3).random() < 0.5 else x - 1,
    "a seeded one that is returned": lambda x: (lambda g: (x + g.random(), g.random(), g))(random.Random(5)),
    "of a seeded one anything": lambda x: (lambda g: x + g.choice([1, 2, 3]) + g.gauss(0, 1) + g.sample([1, 2, 3], 2)[0])(random.Random("a")),
}  # fmt: skip
BROKEN = {
    "a condition": lambda x: x + 1 if random.random() < 0.5 else x - 1, "a choice": lambda x: x + random.choice([1, 2, 3]), "a seed": lambda x: (random.seed(3), x + random.random())[1],
    "a list": lambda x: x + [1, 2, 3][random.randint(0, 2)], "a normal number": lambda x: x * 2 + random.gauss(0, 1), "a generator without a seed": lambda x: x + 0 * random.Random().random(),
}  # fmt: skip


def states():
    return random.getstate(), OWN.getstate(), HOLDER.generator.getstate()


def seeded():
    random.seed(1), OWN.seed(2), HOLDER.generator.seed(3)


class Draws(unittest.TestCase):
    def compare(self, function, **options):
        x, results = torch.arange(4.0), []
        for call in (function, torch.compile(function, **options)):
            seeded()
            found = [call(x) for _ in range(4)]
            results.append((found, states()))
        (wanted, before), (got, after) = results
        self.assertEqual(after, before)
        flat = lambda values: [
            v.getstate() if isinstance(v, random.Random) else v for one in values for v in (one if isinstance(one, (tuple, list)) else [one])
        ]  # noqa: E731
        for a, b in zip(flat(got), flat(wanted), strict=True):
            self.assertTrue(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b, (a, b))

    def test_one_graph(self):
        for name, function in WHOLE.items():
            for backend in ("eager", "aot_eager", "inductor"):
                with self.subTest(name, backend=backend):
                    torch._dynamo.reset()
                    self.compare(function, backend=backend, fullgraph=True)

    def test_graphs_break_where_a_number_decides(self):
        for name, function in BROKEN.items():
            with self.subTest(name):
                torch._dynamo.reset()
                self.compare(function, backend="eager")
                torch._dynamo.reset()
                with self.assertRaises((torch._dynamo.exc.Unsupported, torch._dynamo.exc.UserError)):
                    torch.compile(function, backend="eager", fullgraph=True)(torch.arange(4.0))

    def test_another_generator_is_compiled_for(self):
        compiled = torch.compile(lambda x, generator: x + generator.random(), backend="eager")
        for seed in (1, 2, 1):
            self.assertEqual(compiled(torch.zeros(1, dtype=torch.float64), random.Random(seed)).item(), random.Random(seed).random())


if __name__ == "__main__":
    unittest.main()
