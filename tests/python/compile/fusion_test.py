"""The default backend gives the bits of eager mode, with fewer passes over memory, and gradients by a compiled backward."""

import functools
import unittest
import warnings

import _cresset_compile
from cresset._inductor.compile_fx import Compiled
from cresset._inductor.fusion import fuse
from cresset.fx.experimental.proxy_tensor import make_fx

import cresset as torch
from cresset import nn
from cresset.nn import functional as F


def waves(*shape, dtype=torch.float32):
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count, dtype=torch.float64) * 0.37).sin().reshape(shape).to(dtype)


def kernels(function, *args):
    """The operators of each fused kernel of a function."""
    return [[name.partition(".")[0] for name in names] for names in fuse(make_fx(function)(*args)).operators]


class Fusion(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def equal(self, function, *args):
        """Compiled and eager results are equal to the bit."""
        compiled = torch.compile(function)
        for _ in range(2):
            for got, expected in zip(as_tuple(compiled(*args)), as_tuple(function(*args)), strict=True):
                self.assertEqual((got.dtype, got.shape, got.stride()), (expected.dtype, expected.shape, expected.stride()))
                self.assertTrue(torch.equal(got, expected) or bool(((got == expected) | (got.isnan() & expected.isnan())).all()))

    def test_a_chain_is_one_kernel(self):
        self.assertEqual(kernels(lambda x: (x * 2 + 1).sin() * x, waves(4096)), [["mul", "add", "sin", "mul"]])

    def test_chains_have_the_bits_of_eager_mode(self):
        def f(x):
            return ((((x * 2 + 1).sin() * 0.5 - x).abs() + 0.1).sqrt() * x).tanh() + x.exp().log1p() - x.sigmoid()

        for count in (1, 511, 512, 2047, 2049, 100003):
            self.equal(f, waves(count))

    def test_dtypes(self):
        for dtype in (torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8, torch.complex64):
            self.equal(lambda x: (x * 3 + 1) * x - x, waves(3000).mul(9).to(dtype))

    def test_comparisons_masks_and_choices(self):
        self.equal(lambda x, y: torch.where(x > y, x * 2, y - 1).clamp(-0.5, 0.5).masked_fill(x < 0, 3.0), waves(50, 40), waves(50, 40).cos())

    def test_broadcasting(self):
        x = waves(64, 33, 20)
        for other in (waves(20), waves(33, 1), waves(64, 1, 1), waves(64, 1, 20), waves(1), torch.tensor(0.5)):
            self.equal(lambda x, y: (x * y + y) * x, x, other)

    def test_several_results(self):
        self.equal(lambda x: (x.sin(), x.cos() * x.sin(), (x.sin() + 1) * 2), waves(3000))

    def test_other_layouts_are_left_alone(self):
        self.equal(lambda x: (x * 2 + 1).sin(), waves(100, 60).t())
        self.equal(lambda x: (x * 2 + 1).sin(), waves(100, 60)[:, ::2])
        self.equal(lambda x: (x * 2 + 1).sin(), waves(2, 3, 40, 50).to(memory_format=torch.channels_last))

    def test_reductions_between_kernels(self):
        def norm(x, w, b):
            mean = x.mean(-1, keepdim=True)
            centred = x - mean
            return centred * (centred.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() * w + b

        self.equal(norm, waves(100, 64), waves(64), waves(64).cos())

    def test_rows_are_normed_in_one_kernel(self):
        def norm(x, w, b):
            centred = x - x.mean(-1, keepdim=True)
            return centred * (centred.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() * w + b

        def softmax(x):
            e = (x - x.amax(-1, keepdim=True)).exp()
            return e / e.sum(-1, keepdim=True)

        x, w = waves(100, 96), waves(96)
        self.assertEqual(len(kernels(norm, x, w, w)), 1)
        self.assertEqual(kernels(softmax, x), [["amax", "sub", "exp", "sum", "div"]])
        for rows in (1, 2, 7, 64, 513):
            for columns in (64, 65, 127, 768, 5000):
                x, w = waves(rows, columns), waves(columns)
                self.equal(norm, x, w, w.cos())
                self.equal(softmax, x)
        self.equal(norm, waves(3, 5, 7, 80), waves(80), waves(1, 80))
        self.equal(softmax, waves(9, 80, dtype=torch.float64))
        self.equal(softmax, waves(9, 80, dtype=torch.bfloat16))

    def test_reductions_of_rows_keep_their_bits(self):
        reductions = [
            lambda x: x.sum(-1, keepdim=True), lambda x: x.mean(1, keepdim=True), lambda x: x.amin(-1, True), lambda x: x.prod(-1, keepdim=True),
            lambda x: x.var(-1, keepdim=True), lambda x: x.std(dim=1, correction=0, keepdim=True), lambda x: x.logsumexp(-1, keepdim=True),
            lambda x: torch.linalg.vector_norm(x, dim=-1, keepdim=True), lambda x: x.argmax(-1, keepdim=True), lambda x: x.sum(0, keepdim=True),
        ]  # fmt: skip
        for reduce in reductions:
            for rows in (1, 3, 300):
                self.equal(lambda x, reduce=reduce: (x * 2 + reduce(x.cos() * 1.5) * x).tanh(), waves(rows, 200))

    def test_rows_beyond_the_second_level_cache_keep_their_bits(self):
        """From 4 MiB on they go one by one, the next on its way; the last block has no next."""

        def norm(x, y):
            centred = x - x.mean(-1, keepdim=True)
            return centred * (centred.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() + y

        compiled = torch.compile(norm)
        for rows, columns in ((1501, 701), (4099, 257), (3, 400003)):
            x, y = torch.randn(rows, columns), torch.randn(rows, columns)
            self.assertTrue(torch.equal(compiled(x, y), norm(x, y)), (rows, columns))

    def test_columns_between_rows(self):
        def f(x, y):
            mean = (x * y).mean(-1, keepdim=True)
            scale = (mean * 2 + 1).sqrt() + y.amax(-1, keepdim=True)
            return x * scale + mean, scale, mean.squeeze(-1)

        self.equal(f, waves(70, 90).abs(), waves(70, 90).abs())
        self.equal(lambda x, c: (x * c + 1) * x.sum(-1, keepdim=True), waves(70, 90), waves(70, 1))

    def test_a_kernel_does_not_run_before_what_it_needs(self):
        # The second product needs a reduction of the first, and both the same input.
        self.equal(lambda x: (x * 2 + x) * (x * 2).sum() + x * 3, waves(2000))

    def test_small_tensors_stay_operators(self):
        self.assertEqual(kernels(lambda x: x.sin() + 1, waves(8)), [])

    def test_threads_do_not_change_results(self):
        before, x = torch.get_num_threads(), waves(300000)
        try:
            results = []
            for threads in (1, 2, 3):
                torch.set_num_threads(threads)
                results.append(torch.compile(lambda x: (x * 2 + 1).sin() * x)(x))
        finally:
            torch.set_num_threads(before)
        self.assertTrue(torch.equal(results[0], results[1]) and torch.equal(results[0], results[2]))

    def test_empty_tensors(self):
        self.equal(lambda x: (x * 2 + 1).sin(), torch.zeros(0, 5))

    def test_random_programs(self):
        operators = [torch.sin, torch.tanh, torch.relu, torch.abs, torch.neg, torch.exp, torch.sigmoid, torch.square, F.gelu, F.silu, torch.floor, torch.sign]
        pairs = [torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, torch.atan2]
        for seed in range(25):
            state = seed * 7919 + 1

            def draw(n):
                nonlocal state
                state = (state * 1103515245 + 12345) % 2**31
                return state // 65536 % n

            plan = [(draw(3), draw(len(operators)), draw(len(pairs)), draw(1000), draw(1000)) for _ in range(12)]

            def program(x, y, plan=plan):
                values = [x, y]
                for kind, one, two, a, b in plan:
                    a, b = values[a % len(values)], values[b % len(values)]
                    values.append(operators[one](a) if kind == 0 else pairs[two](a, b) if kind == 1 else a * 0.5 + b)
                return values[-1], values[-3].sum(), values[-2]

            self.equal(program, waves(40, 50), waves(50) if seed % 2 else waves(40, 50).cos())


class Graphs(unittest.TestCase):
    """Programs that random ones have led to."""

    def setUp(self):
        torch._dynamo.reset()

    def alike(self, function, *args):
        for backend in ("eager", "aot_eager", "inductor"):
            with self.subTest(backend):
                compiled = torch.compile(function, backend=backend)
                for _ in range(2):
                    torch.manual_seed(1)
                    got = compiled(*args)
                    torch.manual_seed(1)
                    self.assertTrue(all(map(torch.equal, as_tuple(got), as_tuple(function(*args)))))

    def test_constants_of_the_program(self):
        self.alike(lambda x: x * torch.tensor([1.5, 2.5]) + torch.tensor(3), torch.ones(2))
        self.alike(lambda: torch.tensor([[1, 2], [3, 4]]) / 2)

    def test_numbers_that_are_assigned(self):
        def f(x):
            y = x + 1
            y[0] = 5.0
            y[1, 1:] = 7
            return y * 2

        self.alike(f, torch.ones(3, 3))

    def test_seeds_and_states_of_generators(self):
        def seeded():
            torch.manual_seed(5)
            with torch.random.fork_rng():
                torch.rand(3)
            return torch.rand(3), torch.rand(2)

        generator = torch.Generator()

        def own():
            generator.manual_seed(3)
            return torch.rand(3, generator=generator)

        self.alike(seeded)
        self.alike(own)

    def test_leaves_made_inside(self):
        def f(x):
            w = torch.ones(3).requires_grad_()
            (w * x).sum().backward()
            return w.grad

        self.alike(f, torch.arange(3.0))

    def test_gradients_through_histories_from_outside(self):
        w = torch.ones(3, requires_grad=True)
        y = w * 2
        z = y.exp()
        self.alike(lambda: torch.autograd.grad((z * 3).sum(), y, retain_graph=True)[0])

    def test_named_results(self):
        out = torch.compile(lambda x: x.aminmax())(torch.arange(4.0))
        self.assertEqual((type(out), out.min.item(), out.max.item()), (torch.return_types.aminmax, 0, 3))

    def test_checkpoints_between_graphs(self):
        from cresset.utils.checkpoint import checkpoint

        def f(x):
            torch._dynamo.graph_break()
            return functools.reduce(lambda a, _: checkpoint(lambda t: t.sin().exp(), a, use_reentrant=False), range(2), x).sum()

        ours, plain = (torch.ones(3, requires_grad=True) for _ in range(2))
        torch.compile(f, backend="eager")(ours).backward()
        f(plain).backward()
        self.assertTrue(torch.equal(ours.grad, plain.grad))

    def test_a_graph_that_cannot_be_taken_apart_runs_as_it_was_captured(self):
        def refused(graph, inputs):
            raise ValueError("no such operator")

        from cresset._inductor import steps

        before, steps.compile_fx_inner = steps.compile_fx_inner, refused
        try:
            with self.assertWarnsRegex(UserWarning, "runs as it was captured: ValueError: no such operator"):
                self.assertTrue(torch.equal(torch.compile(lambda x: x + 1)(torch.ones(2)), torch.full((2,), 2.0)))
        finally:
            steps.compile_fx_inner = before


class Gradients(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def test_networks_train_alike(self):
        def build():
            torch.manual_seed(0)
            return nn.Sequential(
                nn.Linear(32, 64), nn.LayerNorm(64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 4)
            )

        nets = [build(), build()]
        steps = [torch.compile(nets[0]), nets[1]]
        optimizers = [torch.optim.AdamW(net.parameters(), lr=0.01) for net in nets]
        x, y = waves(48, 32), torch.arange(48) % 4
        for i in range(5):
            losses = []
            for step, optimizer in zip(steps, optimizers, strict=True):
                torch.manual_seed(i)
                optimizer.zero_grad()
                loss = F.cross_entropy(step(x), y)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            self.assertAlmostEqual(*losses, places=5)
        for a, b in zip(nets[0].state_dict().values(), nets[1].state_dict().values(), strict=True):
            self.assertTrue(torch.allclose(a, b, rtol=1e-4, atol=1e-6))

    def test_losses(self):
        x, y = waves(1024), waves(1024).sigmoid()
        losses = [F.binary_cross_entropy_with_logits, F.mse_loss, F.smooth_l1_loss, F.l1_loss, lambda a, b: -(F.logsigmoid(a) * b).sum(), F.huber_loss]
        for loss in losses:
            ours, plain = (x.clone().requires_grad_() for _ in range(2))
            got, expected = torch.compile(loss)(ours, y), loss(plain, y)
            self.assertTrue(torch.equal(got, expected))
            got.backward()
            expected.backward()
            self.assertTrue(torch.allclose(ours.grad, plain.grad))

    def test_a_program_that_fails_is_replaced_by_its_graph(self):
        from cresset._inductor.steps import compiled_step

        step = compiled_step(lambda x: (x.exp() * 2,), [torch.ones(600, requires_grad=True)])
        for part in step.parts:
            for number in part.fused.numbers:
                _cresset_compile.drop(number)  # as if it could not run
        w = waves(600).requires_grad_()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            out = step(w)[0]
            out.sum().backward()
            step(w)
        self.assertTrue(torch.equal(out, w.exp() * 2) and torch.allclose(w.grad, w.exp() * 2))
        self.assertEqual(len([t for t in told if "has failed" in str(t.message)]), 1)

    def test_a_transpose_of_a_transpose_is_left_out(self):
        from cresset._inductor.fusion import without_idle_views

        module = without_idle_views(make_fx(lambda x: x.t().t().view(3, 4) * 2)(waves(3, 4)))
        self.assertEqual([node.target for node in module.graph.nodes if node.op == "call_function"], [torch.ops.aten.mul.Tensor])

    def test_random_numbers_that_nothing_reads_are_drawn(self):
        def f(w):
            F.dropout(w, 0.3, True)
            return F.dropout(w, 0.5, True)

        compiled, found = torch.compile(f), []
        for call in (compiled, f):
            torch.manual_seed(3)
            found.append((call(waves(600).requires_grad_()), torch.rand(2)))
        self.assertTrue(torch.equal(found[0][0], found[1][0]) and torch.equal(found[0][1], found[1][1]))

    def test_values_in_cells_of_the_function_are_no_results(self):
        def f(w):
            values = [w * 2]
            values.append(values[0].exp())
            return tuple(values[i] * 1 for i in (0,))

        # Were exp a result, its gradient would be zero times infinity.
        w = (waves(600) * 500).requires_grad_()
        torch.compile(f)(w)[0].sum().backward()
        self.assertTrue(torch.equal(w.grad, torch.full((600,), 2.0)))

    def test_only_wanted_gradients(self):
        x, w = waves(40, 30), waves(30, 20).requires_grad_()
        torch.compile(lambda x, w: (x @ w).tanh().sum())(x, w).backward()
        self.assertIsNone(x.grad)
        expected = waves(30, 20).requires_grad_()
        (x @ expected).tanh().sum().backward()
        self.assertTrue(torch.allclose(w.grad, expected.grad))

    def test_no_history_without_gradients(self):
        f, w = torch.compile(lambda w: w * 2), torch.ones(3, requires_grad=True)
        self.assertTrue(f(w).requires_grad)
        with torch.no_grad():
            self.assertFalse(f(w).requires_grad)

    def test_results_without_a_gradient(self):
        w = waves(600).requires_grad_()
        top, where = torch.compile(lambda w: (w * 2, (w * 2).argmax()))(w)
        self.assertTrue(top.requires_grad and not where.requires_grad)

    def test_values_kept_for_backward_are_checked(self):
        w, scale = waves(600).requires_grad_(), waves(600)
        out = torch.compile(lambda w, s: w * s)(w, scale)
        scale.mul_(2)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            out.sum().backward()

    def test_a_second_backward_needs_the_graph(self):
        w = waves(600).requires_grad_()
        out = torch.compile(lambda w: (w * w).sum())(w)
        out.backward(retain_graph=True)
        out.backward()
        self.assertTrue(torch.allclose(w.grad, 4 * w.detach()))
        with self.assertRaisesRegex(RuntimeError, "freed"):
            out.backward()

    def test_second_derivatives_are_refused(self):
        w = waves(600).requires_grad_()
        (g,) = torch.autograd.grad(torch.compile(lambda w: (w**3).sum())(w), w, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "second derivatives"):
            g.sum().backward()

    def test_the_history_is_released(self):
        import gc
        import weakref

        w = waves(600).requires_grad_()
        out = torch.compile(lambda w: w.exp())(w)
        gone = weakref.ref(out)
        del out
        gc.collect()
        self.assertIsNone(gone())

    def test_graphs_run_as_programs(self):
        seen = []

        def backend(module, inputs):
            from cresset._inductor.steps import compiled_step

            step = compiled_step(module.forward, inputs)
            seen.extend(step.parts)
            return step

        w = waves(600).requires_grad_()
        torch.compile(lambda w: (w.sin() * w).sum(), backend=backend)(w).backward()
        self.assertTrue(len(seen) == 2 and all(isinstance(part, Compiled) for part in seen))


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


if __name__ == "__main__":
    unittest.main()
