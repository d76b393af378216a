"""torch._subclasses.fake_tensor: tensors without data, on devices that need not be there; and examples/python/memory_estimator.py."""

import copy
import doctest
import os
import sys
import unittest

from cresset._subclasses import FakeTensorMode as SameMode
from cresset._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeCopyMode,
    FakeTensor,
    FakeTensorDeviceMismatchError,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    maybe_get_fake_mode,
    unset_fake_temporarily,
)
from cresset.fx.experimental.proxy_tensor import make_fx
from cresset.fx.experimental.symbolic_shapes import ShapeEnv
from cresset.utils._pytree import tree_map_only

import cresset as torch
from cresset import nn

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Making(unittest.TestCase):
    def setUp(self):
        self.mode = FakeTensorMode()
        with self.mode:
            self.x = torch.randn(2, 3, device="cuda")
            self.y = torch.ones(3)

    def test_factories_that_write_a_fake_tensor(self):
        out = self.mode.from_tensor(torch.zeros(4))
        for make in (
            lambda: torch.arange(4, out=out),
            lambda: torch.range(1, 4, out=out),
            lambda: torch.linspace(0, 1, 4, out=out),
            lambda: torch.logspace(0, 1, 4, out=out),
            lambda: torch.ones(4, out=out),
        ):
            self.assertIs(make(), out)
        self.assertRaises(RuntimeError, lambda: torch.arange(4, out=self.mode.from_tensor(torch.eye(2).to_sparse())))

    def test_factories_in_the_scope_are_fake_on_devices_that_are_not_there(self):
        x, y = self.x, self.y
        self.assertIs(type(x), FakeTensor)
        self.assertEqual((x.device, x.shape, x.dtype), (torch.device("cuda", 0), (2, 3), torch.float32))
        self.assertTrue(x.is_cuda and y.is_cpu and not x.is_meta)
        self.assertEqual((repr(x), repr(y)), ("FakeTensor(..., device='cuda:0', size=(2, 3))", "FakeTensor(..., size=(3,))"))
        self.assertEqual(repr(y.double().requires_grad_()), "FakeTensor(..., size=(3,), dtype=torch.float64, requires_grad=True)")
        self.assertIs(x.fake_mode, self.mode)
        self.assertIs(maybe_get_fake_mode(torch.ones(1)), None)
        self.assertIs(type(torch.ones(1)), torch.Tensor)
        self.assertIs(SameMode, FakeTensorMode)
        with self.mode:
            made = [torch.tensor([[1, 2]]), torch.empty(2, device="cuda:1"), torch.arange(4), torch.eye(2), torch.randperm(5), torch.full((), 2.0),
                    torch.linspace(0, 1, 3), torch.as_tensor([1.0]), torch.frombuffer(bytearray(4), dtype=torch.uint8), torch.zeros(2, device="meta")]  # fmt: skip
            self.assertTrue(all(isinstance(t, FakeTensor) for t in made))
            self.assertEqual(made[1].device, torch.device("cuda", 1))
            self.assertEqual(len(torch.get_rng_state()), 5056)

    def test_scopes_nest_and_end_with_errors(self):
        inner = FakeTensorMode()
        with self.mode:
            with inner:
                self.assertIs(torch.ones(1).fake_mode, inner)
            self.assertIs(torch.ones(1).fake_mode, self.mode)
            with unset_fake_temporarily() as before:
                self.assertIs(before, self.mode)
                self.assertEqual(torch.ones(2).sum().item(), 2)
            with self.assertRaises(KeyError), inner:
                raise KeyError
            self.assertIs(torch.ones(1).fake_mode, self.mode)
        self.assertNotIsInstance(torch.ones(1), FakeTensor)

    def test_operators_work_in_and_out_of_the_scope(self):
        x = self.x
        for t, shape in ((x.t(), (3, 2)), (x @ x.t(), (2, 2)), (x + 1, (2, 3)), (x[0], (3,)), (x.sum(0, keepdim=True), (1, 3)),
                         (torch.cat([x, x]), (4, 3)), (torch.nn.functional.softmax(x, 1), (2, 3)), (torch.zeros_like(x), (2, 3)), (x.new_ones(4), (4,)),
                         (x.topk(2)[1], (2, 2)), (torch.linalg.svd(x)[0], (2, 2)), (x.half(), (2, 3)), (torch.fft.rfft(x), (2, 2)), (x.clone().mul_(2), (2, 3))):  # fmt: skip
            self.assertIs(type(t), FakeTensor)
            self.assertEqual((t.shape, t.device), (shape, x.device))
        self.assertEqual(x.t().stride(), (1, 3))
        self.assertEqual((x.cpu().device.type, x.to("meta").device.type, self.y.cuda().device.type), ("cpu", "meta", "cuda"))
        self.assertEqual(copy.deepcopy(x).device, x.device)
        with self.mode:
            self.assertEqual(x[torch.tensor([0, 1])].shape, (2, 3))  # positions on the CPU go with any device
            self.assertEqual(x[torch.tensor(1)].shape, (3,))
            self.assertEqual((x + torch.tensor(1.0)).device, x.device)
            self.assertEqual(x[:, [0, 2]].shape, (2, 2))
            x[x > 0] = 0.0
            x[:, self.x[0] > 0] = x.sum()

    def test_fake_tensors_of_meta_tensors(self):
        x = FakeTensor(self.mode, torch.empty(2, 3, device="meta").t(), torch.device("cuda"))
        self.assertEqual((x.stride(), x.device), ((1, 3), torch.device("cuda", 0)))
        with self.assertRaisesRegex(AssertionError, "expected a meta tensor, got device cpu"):
            FakeTensor(self.mode, torch.empty(2), "cuda")

    def test_from_tensor(self):
        real = torch.ones(4, 4)
        fake, row = self.mode.from_tensor(real), self.mode.from_tensor(real[1])
        self.assertIs(self.mode.from_tensor(real), fake)
        self.assertEqual(row.untyped_storage()._cdata, fake.untyped_storage()._cdata)
        p = nn.Parameter(torch.ones(2))
        p.grad = torch.zeros(2)
        f = self.mode.from_tensor(p)
        self.assertTrue(isinstance(f, FakeTensor) and isinstance(f, nn.Parameter) and f.requires_grad and f.is_leaf)
        self.assertIsInstance(f.grad, FakeTensor)
        self.assertEqual(repr(f), "Parameter(FakeTensor(..., size=(2,), requires_grad=True))")
        self.assertFalse(self.mode.from_tensor(p * 2).is_leaf)
        self.assertEqual(p.sum().item(), 2)

    def test_from_a_fake_tensor_of_another_mode(self):
        other = FakeTensorMode()
        first, column = other.from_tensor(self.x.t()), other.from_tensor(self.x[:, 1])
        self.assertIs(first.fake_mode, other)
        self.assertEqual((first.stride(), column.storage_offset()), ((1, 3), 1))
        self.assertEqual(first.untyped_storage()._cdata, column.untyped_storage()._cdata)
        # sizes that are symbols stay so, where both modes know them
        env = ShapeEnv()
        symbolic = FakeTensorMode(shape_env=env).from_tensor(torch.ones(7, 3))
        again = FakeTensorMode(shape_env=env).from_tensor(symbolic)
        self.assertEqual(str(again.shape), str(symbolic.shape))
        with self.assertRaisesRegex(AssertionError, "symbols of another ShapeEnv"):
            FakeTensorMode().from_tensor(symbolic)

    def test_a_copy_of_a_module(self):
        module = nn.BatchNorm1d(3)
        with FakeCopyMode(self.mode):
            made = copy.deepcopy(module)
        for (_, real), (_, fake) in zip(module.state_dict().items(), made.state_dict().items(), strict=True):
            self.assertIsInstance(fake, FakeTensor)
            self.assertEqual((fake.shape, fake.dtype), (real.shape, real.dtype))
        self.assertTrue(isinstance(made.weight, nn.Parameter) and made.weight.requires_grad)

    def test_a_trace_of_open_sizes(self):
        x = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(7, 3))
        graph = make_fx(lambda x: x * x.shape[0])(x)
        self.assertTrue(torch.equal(graph(torch.ones(4, 3)), torch.full((4, 3), 4.0)))

    def test_open_sizes_within_transforms(self):
        def f(x):
            self.assertIsInstance(x.shape[0], torch.SymInt)
            self.assertEqual([type(n) for n in (x.size(0), x.numel(), x.stride(0), *x.stride()[:1])], [torch.SymInt] * 4)
            return x * 2 if x.shape[0] == 3 else x * x.numel()  # the number of the example decides

        vmap, functionalize = torch.vmap, torch.func.functionalize
        x = torch.ones(3, 3, 3, 5)
        for function in (f, functionalize(f), vmap(f), vmap(functionalize(f)), functionalize(vmap(f)), vmap(vmap(f))):
            self.assertTrue(torch.equal(make_fx(function, tracing_mode="symbolic")(x)(x), x * 2))

    def test_known_values_are_forgotten_by_resize(self):
        with self.mode:
            x = torch.tensor([1])
            self.assertIsNotNone(x.constant)
            self.assertEqual(x.resize_([2]).shape, (2,))
        self.assertIsNone(x.constant)

    def test_storages_have_a_text(self):
        self.assertEqual(str(self.x.untyped_storage()).split("\n")[0], "...")

    def test_bags_of_a_table_on_meta(self):
        with self.mode:
            table = nn.EmbeddingBag(10, 3, mode="sum", device="meta")
            self.assertEqual(table(torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2])).shape, (2, 3))


class Refusals(unittest.TestCase):
    def setUp(self):
        Making.setUp(self)

    def test_real_tensors_beside_fake_ones(self):
        real = torch.ones(2, 3)
        calls = [lambda: self.x + real, lambda: real + self.x, lambda: self.y + real[0], lambda: self.x.copy_(real), lambda: real.copy_(self.x)]
        for call in calls:
            with self.assertRaisesRegex(AssertionError, "allow_non_fake_inputs"):
                call()
            with self.assertRaisesRegex(AssertionError, "expected fake ones only"), self.mode:
                call()
        for call in (lambda: real + real, lambda: real.view(-1), lambda: real.sum()):
            with self.assertRaisesRegex(AssertionError, "allow_non_fake_inputs"), self.mode:
                call()
        self.assertEqual(real.sum().item(), 6)

    def test_allow_non_fake_inputs(self):
        real, leaf = torch.ones(2, 3), torch.ones(2, requires_grad=True)
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            self.assertIsInstance(real + real, FakeTensor)
            self.assertIsInstance(real.view(-1), FakeTensor)
            self.assertIsInstance(real + torch.ones(3), FakeTensor)
            (leaf * 2).sum().backward()
        self.assertIs(leaf.grad.fake_mode, mode)

    def test_writes_to_real_tensors_leave_their_data(self):
        real = torch.ones(2)
        with FakeTensorMode(allow_non_fake_inputs=True):
            fake = torch.zeros(2)
            for write in (
                lambda: real.add_(1),
                lambda: real.copy_(fake),
                lambda: torch.add(fake, 1, out=real),
                real.zero_,
                lambda: torch._foreach_add_([real], 1),
            ):
                found = write()
                self.assertIs(found if isinstance(found, torch.Tensor) else found[0], real)
            with self.assertRaises(RuntimeError):
                real.add_(torch.ones(3))
        self.assertEqual(real.tolist(), [1, 1])

    def test_real_modules_that_count_calls(self):
        layer = torch.nn.BatchNorm1d(3)
        with FakeTensorMode(allow_non_fake_inputs=True):
            y = layer(torch.ones(2, 3))
            y.sum().backward()
        self.assertIsInstance(y, FakeTensor)
        self.assertEqual((layer.running_mean.tolist(), layer.running_var.tolist()), ([0, 0, 0], [1, 1, 1]))

    def test_other_modes_and_devices(self):
        with FakeTensorMode():
            z = torch.ones(2, 3, device="cuda")
        with self.assertRaisesRegex(AssertionError, "Mixing fake modes NYI"):
            self.x + z
        with self.assertRaisesRegex(FakeTensorDeviceMismatchError, "got cuda:0 and cpu"):
            self.x + self.y
        self.assertTrue(issubclass(FakeTensorDeviceMismatchError, RuntimeError))

    def test_what_depends_on_data(self):
        x, y = self.x, self.y
        for call in (x.sum().item, lambda: bool(x.sum() > 0), lambda: float(y[0]), lambda: int(y[0]), y.tolist):
            with self.assertRaises(DataDependentOutputException) as caught:
                call()
            self.assertEqual(str(caught.exception), "aten._local_scalar_dense.default")
        with self.assertRaises(DataDependentOutputException) as caught:
            torch.equal(y, y)
        self.assertEqual(str(caught.exception), "aten.equal.default")
        for call, name in ((x.nonzero, "aten.nonzero.default"), (x.unique, "aten._unique2.default"), (lambda: x[x > 0], "aten.nonzero.default")):
            with self.assertRaises(DynamicOutputShapeException) as caught:
                call()
            self.assertEqual(str(caught.exception), name)
        self.assertTrue(issubclass(DynamicOutputShapeException, UnsupportedFakeTensorException) and issubclass(UnsupportedFakeTensorException, RuntimeError))
        with self.assertRaises(RuntimeError):
            y.numpy()
        self.assertEqual(y.data_ptr(), 0)

    def test_single_numbers_that_are_known(self):
        with self.mode:
            self.assertEqual((torch.tensor(3.0).item(), (torch.tensor(3.0) * 2 + 1).item(), int(torch.tensor(7))), (3, 7, 7))
            step = torch.tensor(0.0)
            step += 1
            self.assertEqual(step.item(), 1)
            self.assertEqual((step.constant.item(), self.y.constant), (1, None))
            step += self.y.sum()
            for t in (step, torch.tensor([1, 2])[1], torch.full((), 2.0)):
                with self.assertRaises(DataDependentOutputException):
                    t.item()


class BodiesThatLookAtMemory(unittest.TestCase):
    """Operators whose bodies fill or read memory themselves give the geometry alone."""

    def check(self, function, *real):
        expected = function(*real)
        with FakeTensorMode() as mode:
            found = function(*map(mode.from_tensor, real))
        facts = [[(t.shape, t.dtype, t.stride()) for t in (r if isinstance(r, (tuple, list)) else [r])] for r in (expected, found)]
        self.assertEqual(*facts)
        for t in found if isinstance(found, (tuple, list)) else [found]:
            self.assertIsInstance(t, FakeTensor)

    def test_permutations_of_rows(self):
        s, v = torch.eye(3) * 2, torch.ones(3)
        for function in (torch.linalg.inv, torch.linalg.lu, lambda s: torch.linalg.matrix_power(s, -2), torch.linalg.inv_ex):
            self.check(function, s)
        self.check(torch.linalg.solve, s, v)
        self.check(lambda s, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(s), b), s, torch.ones(3, 2))
        self.check(lambda s: torch.lu_unpack(*torch.linalg.lu_factor(s)), s)

    def test_distances(self):
        self.check(lambda a: torch.cdist(a, a), torch.ones(4, 3))
        self.check(nn.functional.pdist, torch.ones(4, 3))

    def test_indices_of_triangles(self):
        self.check(lambda _: torch.tril_indices(3, 3), torch.ones(1))
        self.check(lambda _: torch.triu_indices(3, 4, 1), torch.ones(1))

    def test_dtypes_that_are_only_stored(self):
        x = torch.ones(2, 3)
        self.check(lambda a: a.to(torch.float8_e4m3fn).float(), x)
        self.check(lambda a: a.chalf(), torch.ones(2, dtype=torch.complex64))
        self.check(lambda a: a.clone().to(torch.float32), x.to(torch.float8_e5m2))


class _Wrapper(torch.Tensor):
    """A tensor around another, which runs operators on that one."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        args, kwargs = tree_map_only(_Wrapper, lambda t: t.inner, (args, kwargs or {}))
        return tree_map_only(torch.Tensor, _Wrapper, func(*args, **kwargs))


class ClassesWithOperators(unittest.TestCase):
    def test_they_are_asked_before_rules_for_fake_tensors(self):
        with SameMode():
            plain = torch.ones(2, 3)
            wrapped = _Wrapper(torch.ones(2, 3))
            for found in (wrapped * plain, plain + wrapped, plain @ wrapped.t(), torch.cat([plain, wrapped]), torch.where(plain > 0, wrapped, plain)):
                self.assertIs(type(found), _Wrapper)
                self.assertEqual(found.shape, found.inner.shape)
                self.assertIsNotNone(maybe_get_fake_mode(found.inner))


class Training(unittest.TestCase):
    def test_a_step_of_a_module_made_in_the_scope(self):
        with FakeTensorMode():
            net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Dropout(), nn.Linear(8 * 36, 5)).cuda().half().float()
            self.assertTrue(all(isinstance(p, FakeTensor) and isinstance(p, nn.Parameter) and p.is_cuda for p in net.parameters()))
            self.assertEqual(repr(net[0].bias), "Parameter(FakeTensor(..., device='cuda:0', size=(8,), requires_grad=True))")
            for make in (torch.optim.Adam, torch.optim.SGD, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.AdamW):
                optimizer = make(net.parameters(), lr=0.1)
                for _ in range(2):
                    optimizer.zero_grad()
                    loss = torch.nn.functional.cross_entropy(net(torch.randn(2, 3, 8, 8, device="cuda")), torch.zeros(2, dtype=torch.int64, device="cuda"))
                    loss.backward()
                    optimizer.step()
            self.assertTrue(all(p.grad.shape == p.shape and p.grad.is_cuda for p in net.parameters()))
            self.assertEqual(sorted(net.state_dict()), sorted(nn.Sequential(*net).state_dict()))

    def test_backward_outside_of_the_scope_and_twice(self):
        with FakeTensorMode():
            layer, x = nn.Linear(3, 4, device="cuda"), torch.randn(2, 3, device="cuda", requires_grad=True)
        layer(x).tanh().sum().backward()
        self.assertEqual((layer.weight.grad.shape, layer.weight.grad.device), ((4, 3), x.device))
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        self.assertEqual((h.shape, type(h)), ((2, 3), FakeTensor))

    def test_a_real_model_converted(self):
        mode, net = FakeTensorMode(), nn.LSTM(4, 8, batch_first=True)
        params = {name: mode.from_tensor(p) for name, p in net.named_parameters()}
        x = mode.from_tensor(torch.ones(2, 5, 4))
        with mode:
            out, (h, _) = torch.func.functional_call(net, params, (x,))
        self.assertEqual((out.shape, h.shape, type(out)), ((2, 5, 8), (1, 2, 8), FakeTensor))
        out.sum().backward()
        self.assertIsInstance(params["weight_ih_l0"].grad, FakeTensor)
        self.assertIsNone(net.weight_ih_l0.grad)


class Documentation(unittest.TestCase):
    def test_examples(self):
        finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
        for test in finder.find(torch._subclasses.fake_tensor, globs={"torch": torch, "nn": nn}):
            runner.run(test)
        self.assertEqual(runner.failures, 0)
        self.assertGreater(runner.tries, 25)


class Memory(unittest.TestCase):
    def test_the_mode_counts(self):
        with FakeTensorMode() as mode:
            x = torch.empty(256, 1024)
            y = x * 2 + 1
            self.assertEqual(mode.memory_stats(), {"allocated_bytes": 2 << 20, "peak_allocated_bytes": 3 << 20})
            del x, y
            mode.reset_peak_memory_stats()
            self.assertEqual(mode.memory_stats("cpu"), {"allocated_bytes": 0, "peak_allocated_bytes": 0})
            huge = nn.Linear(10**6, 10**6, device="cuda")
            self.assertEqual(mode.memory_stats("cuda")["allocated_bytes"], 4 * 10**12 + 4 * 10**6)
            del huge

    # The estimate leaves out the work memory of kernels (packed weights, columns of convolutions), which is at most this part of the whole.
    BOUND = 0.10

    def test_the_estimate_is_close_to_what_the_allocator_hands_out(self):
        if "torch" in sys.modules:
            self.skipTest("the name torch is taken in this process")
        sys.path.insert(0, os.path.join(ROOT, "examples", "python"))
        torch.compat.install()
        try:
            import memory_estimator as example
        finally:
            torch.compat.uninstall()
            sys.path.pop(0)
        for name, batch, optimizer in (("perceptron", 512, "adam"), ("convnet", 32, "momentum"), ("transformer", 4, "adam"), ("transformer", 4, "sgd")):
            with self.subTest(name, optimizer=optimizer):
                guess = example.estimate(name, batch, optimizer)
                there = example.estimate(name, batch, optimizer, "cuda")  # whose kernels keep other activations
                for what in ("parameters", "buffers", "gradients", "optimizer state", "batch"):
                    self.assertEqual(guess[what], there[what])
                self.assertGreater(there["peak"], guess["parameters"])
                before = torch.cpu.memory_stats()["allocated_bytes"]
                model = example.MODELS[name]()
                stepping = example.OPTIMIZERS[optimizer](model.parameters())
                inputs, targets = example.MODELS[name].batch(batch, "cpu")
                example.step(model, stepping, inputs, targets)
                torch.cpu.reset_peak_memory_stats()
                example.step(model, stepping, inputs, targets)
                peak = torch.cpu.memory_stats()["peak_allocated_bytes"] - before
                self.assertLess(abs(guess["peak"] - peak) / peak, self.BOUND, f"estimate {guess['peak']}, in truth {peak}")
                parameters = sum(p.numel() * 4 for p in model.parameters())
                self.assertEqual((guess["parameters"], guess["gradients"]), (parameters, parameters))
                self.assertGreaterEqual(guess["optimizer state"], {"adam": 2, "momentum": 1, "sgd": 0}[optimizer] * parameters)


if __name__ == "__main__":
    unittest.main()
