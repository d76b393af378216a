"""Arguments that share memory, one of which a compiled function writes: values, histories and later calls are those of eager mode.

CRESSET_FUZZ_PROGRAMS sets how many programs are made up, CRESSET_FUZZ_SEED the first seed.
"""

import contextlib
import os
import random
import unittest

from cresset.functorch.compile import aot_function, nop

import cresset as torch
from cresset import nn

PROGRAMS = int(os.environ.get("CRESSET_FUZZ_PROGRAMS", "240"))
FIRST = int(os.environ.get("CRESSET_FUZZ_SEED", "0"))
BACKENDS = ("inductor", "aot_eager", "eager")

PAIRS = {
    "slices": lambda s: [s[0:6], s[2:8]], "a base and its view": lambda s: [s, s[3:9]], "columns": lambda s: [s.view(4, 6)[:, 0:3], s.view(4, 6)[:, 2:5]],
    "transposed": lambda s: [s.view(4, 6), s.view(4, 6).t()], "columns apart": lambda s: [s.view(4, 6)[:, 0:3], s.view(4, 6)[:, 3:6]],
    "two apart, and one over both": lambda s: [s[0:6], s[6:12], s[4:8]], "the same memory": lambda s: [s[0:6], s[0:6]],
    "rows of two shapes": lambda s: [s.view(2, 3, 4)[0], s.view(6, 4)[1:4], s[20:]], "every second": lambda s: [s[::2], s[1::2], s[3:9]],
}  # fmt: skip
READS = [lambda a: a.sin(), lambda a: a * 2, lambda a: a + 1, lambda a: a.relu()]
WRITES = [
    lambda a, v: a.mul_(2), lambda a, v: a.add_(v.sum()), lambda a, v: a.copy_(v.mean().expand_as(a)), lambda a, v: a.zero_(),
    lambda a, v: a.reshape(-1)[0:2].add_(1), lambda a, v: a.__setitem__(0, 3.0), lambda a, v: a.exp_().clamp_(max=3), lambda a, v: a.view_as(a).sub_(v.max()),
    lambda a, v: a.fill_(0.5),
]  # fmt: skip


def invented(seed):
    """A program of a seed: of a list of tensors and a weight."""
    generator = random.Random(seed)
    steps = [
        (generator.choice("wwrv"), generator.randrange(9), generator.randrange(4), generator.random(), generator.random())
        for _ in range(generator.randint(2, 5))
    ]
    weighted, given = generator.random() < 0.4, generator.choice(["values", "argument", "view", "both"])

    def program(args, w):
        values = []
        for what, write, read, first, second in steps:
            a, b = args[int(first * len(args))], args[int(second * len(args))]
            if what == "w":
                WRITES[write](a, b * w if weighted and write == 1 else b)
            else:
                values.append(READS[read](a) + b.sum() * w if what == "r" else READS[read](a.reshape(-1)[1:4]))
        values += [args[0]] if given in ("argument", "both") else []
        values += [args[-1].reshape(-1)[:2]] if given in ("view", "both") else []
        return [*values, sum(a.sum() for a in args) * w]

    return program


def run(program, make, seed, gradients, apart=False):
    """Results, arguments afterwards, gradients and what requires one."""
    torch.manual_seed(seed)
    args, w = make(torch.randn(24)), torch.tensor(1.5, requires_grad=gradients)
    args = [a.clone() for a in args] if apart else args
    outs = program(args, w)
    values = [t.detach().clone() for t in (*outs, *args)]
    wanted = [t.sum() for t in outs if t.requires_grad]
    if wanted:
        sum(wanted).backward()
    return values, [w.grad] if wanted else [], [t.requires_grad for t in (*outs, *args)]


class MadeUp(unittest.TestCase):
    def check(self, found, expected, text):
        self.assertEqual(found[2], expected[2], text)
        for which in (0, 1):
            torch.testing.assert_close(found[which], expected[which], rtol=1e-4, atol=1e-4, equal_nan=True, msg=text)

    def test_programs_give_what_eager_mode_gives(self):
        ran = 0
        for seed in range(FIRST, FIRST + PROGRAMS):
            generator = random.Random(f"settings {seed}")
            name, backend, dynamic = generator.choice(list(PAIRS)), generator.choice(BACKENDS), generator.choice([None, True, False])
            gradients, scope = generator.random() < 0.5, torch.no_grad if generator.random() < 0.2 else contextlib.nullcontext
            program, make = invented(seed), PAIRS[name]
            calls = [(1, False), (2, False), (3, True), (4, False)]  # of which the third has other memory
            with scope():
                try:
                    expected = [run(program, make, number, gradients, apart) for number, apart in calls]
                except RuntimeError:
                    continue  # eager mode refuses it
                torch._dynamo.reset()
                compiled = torch.compile(program, backend=backend, dynamic=dynamic)
                for (number, apart), wanted in zip(calls, expected, strict=True):
                    self.check(run(compiled, make, number, gradients, apart), wanted, f"seed {seed}, {name}, {backend}, call {number}")
            ran += 1
        self.assertGreater(ran, PROGRAMS // 2)


class Calls(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.addCleanup(torch._dynamo.reset)

    def test_a_write_reaches_a_view(self):
        def f(x, y):
            x.mul_(2)
            return y + 1

        for backend in BACKENDS:
            torch._dynamo.reset()
            s, compiled = torch.arange(4.0), torch.compile(f, backend=backend, fullgraph=True)
            self.assertEqual(compiled(s[0:3], s[1:4]).tolist(), [3.0, 5.0, 4.0])
            self.assertEqual(s.tolist(), [0.0, 2.0, 4.0, 3.0])

    def test_other_memory_at_a_later_call_is_compiled_again(self):
        counter = torch._dynamo.testing.CompileCounter()
        compiled = torch.compile(lambda x, y: (x.add_(1), y * 2)[1], backend=counter)
        s = torch.zeros(6)
        for x, y, frames in ((torch.zeros(3), torch.zeros(3), 1), (s[0:3], s[2:5], 2), (s[0:3], s[3:6], 2), (torch.zeros(3), torch.ones(3), 2)):
            compiled(x, y)
            self.assertEqual(counter.frame_count, frames)

    def test_tensors_apart_in_one_storage_are_one_graph_with_others(self):
        counter = torch._dynamo.testing.CompileCounter()
        compiled = torch.compile(lambda x, y: (x.add_(1), y * 2)[1], backend=counter)
        m = torch.zeros(4, 6)
        compiled(m[:, :3], m[:, 3:])
        compiled(torch.zeros(4, 6)[:, :3], torch.zeros(4, 6)[:, 3:])
        self.assertEqual(counter.frame_count, 1)

    def test_reads_alone_need_no_graph_of_their_own(self):
        counter, s = torch._dynamo.testing.CompileCounter(), torch.arange(6.0)
        compiled = torch.compile(lambda x, y: x + y, backend=counter)
        compiled(torch.zeros(3), torch.zeros(3)), compiled(s[0:3], s[1:4])
        self.assertEqual(counter.frame_count, 1)

    def test_the_view_of_a_leaf_gets_a_history(self):
        def f(x, y, w):
            x.mul_(w)
            return (y * y).sum()

        grads = []
        for function in (f, torch.compile(f), torch.compile(f, backend="aot_eager")):
            s, w = torch.arange(4.0), torch.tensor(3.0, requires_grad=True)
            x, y = s[0:3], s[1:4]
            function(x, y, w).backward()
            grads.append((w.grad, y.requires_grad, s.requires_grad))
        self.assertEqual(grads[1], grads[0])
        self.assertEqual(grads[2], grads[0])

    def test_a_module_with_a_buffer_that_is_a_view_of_its_argument(self):
        class Counts(nn.Module):
            def __init__(self, memory):
                super().__init__()
                self.register_buffer("seen", memory[2:5])

            def forward(self, x):
                self.seen += 1
                return x * 2

        results = []
        for compiled in (False, True):
            memory = torch.arange(6.0)
            model = Counts(memory)
            call = torch.compile(model) if compiled else model
            results.append((call(memory).tolist(), call(memory).tolist(), call(torch.arange(6.0)).tolist(), memory.tolist()))
        self.assertEqual(results[1], results[0])

    def test_a_tensor_of_another_dtype_over_the_same_memory(self):
        def f(x, y):
            x.copy_(torch.ones(2))
            return y + 1

        s = torch.zeros(2)
        self.assertEqual(torch.compile(f)(s, s.view(torch.int32)).tolist(), f(torch.zeros(2), torch.ones(2).view(torch.int32)).tolist())

    def test_views_without_gradients_of_what_is_written_after(self):
        def f(x, y):
            first = y[1:3].relu_()
            x.fill_(0.5)
            return first, y * 2

        results = []
        for call in (f, torch.compile(f), torch.compile(f, backend="aot_eager")):
            with torch.enable_grad():
                base = torch.arange(8.0) * torch.ones((), requires_grad=True)
                x, y = base[0:6], base[4:8]
            with torch.no_grad():
                results.append(([t.tolist() for t in call(x, y)], base.tolist()))
        self.assertEqual(results[1], results[0])
        self.assertEqual(results[2], results[0])

    def test_aot_function_has_graphs_for_each_relation(self):
        def f(x, y):
            x.mul_(2)
            return y + 1

        for dynamic in (False, True):
            compiled, s = aot_function(f, nop, dynamic=dynamic), torch.ones(6)
            with torch.no_grad():
                self.assertEqual(compiled(torch.ones(3), torch.ones(3)).tolist(), [2.0, 2.0, 2.0])
                self.assertEqual(compiled(s[0:3], s[1:4]).tolist(), [3.0, 3.0, 2.0])
                self.assertEqual(compiled(s[1:4], s[0:3]).tolist(), [3.0, 5.0, 5.0])
                same = torch.ones(2)
                self.assertEqual(compiled(same, same).tolist(), [3.0, 3.0])

    def test_a_write_keeps_the_gaps_of_an_argument(self):
        """A reshape of columns is a copy, before and after they are written."""

        def f(a):
            a.zero_()
            a.reshape(-1)[0:2].add_(1)
            return a + 1

        for backend in BACKENDS:
            torch._dynamo.reset()
            self.assertEqual(torch.compile(f, backend=backend)(torch.ones(4, 6)[:, 0:3]).tolist(), [[1.0] * 3] * 4)


if __name__ == "__main__":
    unittest.main()
