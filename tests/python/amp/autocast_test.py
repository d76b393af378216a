"""Regions of mixed precision: what they do to operators, gradients, custom functions and checkpoints."""

import threading
import unittest
import warnings

from cresset.utils.checkpoint import checkpoint

import cresset as torch
from cresset import nn
from cresset.nn import functional as F

BF16, HALF, SINGLE, DOUBLE = torch.bfloat16, torch.float16, torch.float32, torch.float64


def ones(*size, dtype=SINGLE, **options):
    return torch.ones(*size, dtype=dtype, **options)


def net_in_region(net, x):
    with torch.autocast("cpu"):
        return net(x)[0].float()


class Lists(unittest.TestCase):
    """Which operators a region changes; PyTorch's choices, as its documentation and its results have them."""

    def result(self, function, *args, dtype=None, **kwargs):
        with torch.autocast("cpu", dtype=dtype):
            out = function(*args, **kwargs)
        return (out[0] if isinstance(out, tuple) else out).dtype

    def test_products_are_in_the_lower_precision(self):
        a, b, v = ones(2, 2), ones(1, 2, 2), ones(2)
        image = ones(1, 1, 4, 4)
        for function, args in (
            (torch.mm, (a, a)), (torch.matmul, (a, v)), (torch.bmm, (b, b)), (torch.addmm, (a, a, a)), (torch.baddbmm, (b, b, b)), (torch.addbmm, (a, b, b)),
            (F.linear, (a, a, v)), (F.conv1d, (b, b)), (F.conv2d, (image, image)), (F.conv3d, (image[None], image[None])),
            (F.conv_transpose2d, (image, image)), (F.prelu, (a, v)), (F.scaled_dot_product_attention, (b, b, b)), (torch.linalg.vecdot, (a, a)),
        ):  # fmt: skip
            self.assertIs(self.result(function, *args), BF16, function)
            self.assertIs(self.result(function, *args, dtype=HALF), HALF, function)
            mixed = (args[0].to(HALF), *args[1:])
            self.assertIs(self.result(function, *mixed), BF16, function)
        self.assertIs(self.result(lambda: a @ a), BF16)
        self.assertIs(self.result(torch.einsum, "ij,jk->ik", a, a), BF16)
        self.assertIs(self.result(nn.MultiheadAttention(2, 1), b, b, b), BF16)

    def test_vectors_and_the_rest_follow_their_inputs(self):
        a, v = ones(2, 2), ones(2)
        for dtype in (SINGLE, BF16, DOUBLE):
            for function, args in (
                (torch.mv, (a, v)), (torch.dot, (v, v)), (torch.add, (a, a)), (torch.exp, (a,)), (torch.sum, (a,)), (torch.softmax, (a, 0)), (torch.relu, (a,)),
                (F.layer_norm, (a, (2,))), (torch.pow, (a, 2)), (torch.tensordot, (v, v, 1)), (F.gelu, (a,)), (torch.matrix_exp, (a,)),
            ):  # fmt: skip
                cast = [x.to(dtype) if isinstance(x, torch.Tensor) else x for x in args]
                self.assertIs(self.result(function, *cast), dtype, (function, dtype))

    def test_losses_and_decompositions_are_in_float32(self):
        a, labels = ones(2, 2, dtype=BF16), torch.tensor([0, 1])
        for function, args in (
            (F.mse_loss, (a, a)), (F.cross_entropy, (a, labels)), (F.nll_loss, (a, labels)), (F.binary_cross_entropy, (a, a)), (F.kl_div, (a, a)),
            (F.binary_cross_entropy_with_logits, (a, a)), (F.smooth_l1_loss, (a, a)), (F.multi_margin_loss, (a, labels)), (torch.prod, (a,)),
            (torch.cdist, (a, a)), (torch.linalg.inv, (torch.eye(2, dtype=BF16),)), (torch.linalg.svdvals, (a,)), (torch.trace, (a,)), (torch.quantile, (a, 0.5)),
            (F.avg_pool3d, (ones(1, 2, 2, 2, dtype=BF16), 2)), (F.max_unpool1d, (ones(1, 1, dtype=BF16), torch.tensor([[0]]), 2)),
        ):  # fmt: skip
            self.assertIs(self.result(function, *args), SINGLE, function)
        self.assertIs(self.result(torch.fft.rfft, a), torch.complex64)
        self.assertIs(self.result(lambda: torch.prod(a, dtype=BF16)), BF16)
        self.assertIs(self.result(F.pad, ones(1, 4, dtype=BF16), (1, 1), "reflect"), SINGLE)
        self.assertIs(self.result(F.pad, ones(1, 4, dtype=BF16), (1, 1), "circular"), BF16)

    def test_joining_takes_the_widest_dtype(self):
        a, b = ones(2), ones(2, dtype=BF16)
        self.assertIs(self.result(torch.cat, [a, b]), SINGLE)
        self.assertIs(self.result(torch.stack, [b, a]), SINGLE)
        self.assertIs(self.result(torch.cat, [b, b]), BF16)
        self.assertIs(self.result(torch.cat, [b, a.double()]), DOUBLE)
        with self.assertRaisesRegex(RuntimeError, "expected tensors of float32 or of the region's .*, got one of "):
            self.result(torch.cat, [b, a.half()])

    def test_what_is_not_a_narrow_floating_tensor_stays(self):
        d, c = ones(2, 2, dtype=DOUBLE), ones(2, 2, dtype=torch.complex64)
        self.assertIs(self.result(torch.mm, d, d), DOUBLE)
        self.assertIs(self.result(torch.mm, c, c), torch.complex64)
        self.assertIs(self.result(torch.mm, torch.ones(2, 2, dtype=torch.int64), torch.ones(2, 2, dtype=torch.int64)), torch.int64)
        self.assertIs(self.result(torch.mm, ones(2, 2, device="meta"), ones(2, 2, device="meta")), SINGLE)

    def test_in_place_and_out_forms_are_left_alone(self):
        a = ones(2, 2)
        self.assertIs(self.result(torch.mm, a, a, out=ones(2, 2)), SINGLE)
        self.assertIs(self.result(a.addmm_, a, a), SINGLE)
        with self.assertRaises(RuntimeError):
            self.result(a.addmm_, a, a.bfloat16())

    def test_recurrent_networks(self):
        x, row = ones(3, 2, 4), ones(2, 4)
        for name, dtypes in (("LSTM", [BF16] * 3), ("GRU", [SINGLE] * 2), ("RNN", [BF16] * 2)):
            net = getattr(nn, name)(4, 4, 2)
            for given in (x, x.bfloat16()):
                with torch.autocast("cpu"):
                    out, last = net(given)
                last = last if isinstance(last, tuple) else (last,)
                expected = [BF16] * len(dtypes) if given.dtype is BF16 else dtypes
                self.assertEqual([t.dtype for t in (out, *last)], expected, name)
            full, _ = net(x)
            self.assertLess((net_in_region(net, x) - full).abs().max().item(), 0.02)
            net_in_region(net, x).sum().backward()
            self.assertIs(net.weight_hh_l0.grad.dtype, SINGLE)
        for name, dtype in (("LSTMCell", SINGLE), ("GRUCell", SINGLE), ("RNNCell", BF16)):
            with torch.autocast("cpu"):
                out = getattr(nn, name)(4, 4)(row)
            self.assertIs((out[0] if isinstance(out, tuple) else out).dtype, dtype)

    def test_values_are_those_of_the_cast_inputs(self):
        torch.manual_seed(0)
        a, b = torch.randn(8, 8), torch.randn(8, 8)
        with torch.autocast("cpu"):
            got = a @ b
        self.assertTrue(torch.equal(got, a.bfloat16() @ b.bfloat16()))


class Regions(unittest.TestCase):
    def dtype(self):
        return torch.mm(ones(1, 1), ones(1, 1)).dtype

    def test_nested_disabled_and_after_errors(self):
        with torch.autocast("cpu"):
            with torch.autocast("cpu", enabled=False):
                self.assertIs(self.dtype(), SINGLE)
                with torch.autocast("cpu", dtype=HALF):
                    self.assertIs(self.dtype(), HALF)
            self.assertIs(self.dtype(), BF16)
        with self.assertRaises(ZeroDivisionError), torch.autocast("cpu"):
            raise ZeroDivisionError
        self.assertIs(self.dtype(), SINGLE)
        self.assertFalse(torch.is_autocast_enabled("cpu"))
        self.assertIs(torch.get_autocast_dtype("cpu"), BF16)

    def test_as_a_decorator_and_again_within_itself(self):
        @torch.autocast("cpu", dtype=HALF)
        def function(depth):
            return function(depth - 1) if depth else self.dtype()

        self.assertIs(function(3), HALF)
        self.assertIs(self.dtype(), SINGLE)

        class Net(nn.Module):
            @torch.autocast("cpu")
            def forward(self, x):
                return x @ x

        self.assertIs(Net()(ones(1, 1)).dtype, BF16)

    def test_one_thread_does_not_see_anothers(self):
        seen = []
        with torch.autocast("cpu"):
            thread = threading.Thread(target=lambda: seen.append(self.dtype()))
            thread.start()
            thread.join()
            self.assertIs(self.dtype(), BF16)
        self.assertEqual(seen, [SINGLE])

    def test_devices_that_are_not_there_and_dtypes_that_do_not_fit_leave_it_off(self):
        for args, words in ((("cuda",), "CUDA is not available"), (("xpu",), "XPU is not available"), (("cpu", SINGLE), "which stays off")):
            with self.subTest(args), self.assertWarnsRegex(UserWarning, words), torch.autocast(*args):
                self.assertIs(self.dtype(), SINGLE)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.autocast("cuda", enabled=False)
        for args, error in ((("meta",), RuntimeError), (("foo",), RuntimeError), ((3,), ValueError), (("cpu", "bf16"), TypeError)):
            with self.subTest(args), self.assertRaises(error):
                torch.autocast(*args)
            self.assertFalse(torch.is_autocast_enabled("cpu"))

    def test_the_state_of_the_thread(self):
        self.assertEqual((torch.is_autocast_enabled(), torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("mps")), (False, False, False))
        torch.set_autocast_enabled(True)
        self.assertEqual((torch.is_autocast_enabled(), torch.is_autocast_enabled("cpu"), self.dtype()), (True, False, SINGLE))
        torch.set_autocast_enabled(False)
        torch.set_autocast_enabled("cpu", True)
        self.assertIs(self.dtype(), BF16)
        torch.set_autocast_enabled("cpu", False)
        with self.assertWarns(DeprecationWarning):
            torch.set_autocast_cpu_dtype(HALF)
        with self.assertWarns(DeprecationWarning):
            self.assertIs(torch.get_autocast_cpu_dtype(), HALF)
        torch.set_autocast_dtype("cpu", BF16)
        for wrong in (lambda: torch.set_autocast_enabled("cpu", 1), lambda: torch.set_autocast_dtype("cpu", "x"), lambda: torch.set_autocast_cache_enabled(2)):
            self.assertRaises(TypeError, wrong)
        self.assertRaises(RuntimeError, torch.is_autocast_enabled, "foo")
        self.assertRaises(RuntimeError, torch.get_autocast_dtype, "meta")
        self.assertEqual([torch.amp.is_autocast_available(d) for d in ("cpu", "cuda", "meta")], [True, True, False])
        self.assertEqual((torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()), (1, 0))

    def test_older_names(self):
        with self.assertWarns(FutureWarning):
            region = torch.cpu.amp.autocast()
        with region:
            self.assertIs(self.dtype(), BF16)
        with self.assertWarns(FutureWarning):
            self.assertIs(torch.cuda.amp.autocast(enabled=False).fast_dtype, HALF)
        self.assertTrue(torch.cuda.amp.amp_definitely_not_available())
        self.assertIs(torch.amp.autocast, torch.autocast)


class Casts(unittest.TestCase):
    """A weight is cast once in a region, and never stale."""

    def history(self, w):
        return torch.mm(ones(1, 1), w).grad_fn.next_functions[1][0]

    def test_kept_until_the_outermost_region_ends(self):
        w = ones(1, 1, requires_grad=True)
        with torch.autocast("cpu"):
            first = self.history(w)
            with torch.autocast("cpu"):
                self.assertIs(self.history(w), first)
            self.assertIs(self.history(w), first)
            torch.clear_autocast_cache()
            self.assertIsNot(self.history(w), first)
        with torch.autocast("cpu"):
            self.assertIsNot(self.history(w), first)
        with torch.autocast("cpu", cache_enabled=False):
            self.assertIsNot(self.history(w), self.history(w))
        self.assertTrue(torch.is_autocast_cache_enabled())

    def test_not_of_what_has_a_history(self):
        w = ones(1, 1, requires_grad=True) * 2
        with torch.autocast("cpu"):
            self.assertIsNot(self.history(w), self.history(w))

    def test_a_weight_that_has_changed_is_cast_again(self):
        w = ones(1, 1, requires_grad=True)
        with torch.autocast("cpu"):
            torch.mm(w, w)
            with torch.no_grad():
                w.mul_(3)
            self.assertEqual(torch.mm(ones(1, 1), w).item(), 3)

    def test_a_cast_without_history_does_not_serve_where_gradients_are_recorded(self):
        w = ones(1, 1, requires_grad=True)
        for quiet in (torch.no_grad, torch.inference_mode):
            with self.subTest(quiet), torch.autocast("cpu"):
                with quiet():
                    torch.mm(ones(1, 1), w)
                torch.mm(ones(1, 1), w).sum().backward()
                self.assertEqual(w.grad.item(), 1)
                w.grad = None


class Gradients(unittest.TestCase):
    def test_have_the_dtype_of_what_they_are_gradients_of(self):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3))
        x = torch.randn(5, 4, requires_grad=True)
        with torch.autocast("cpu"):
            out = net(x)
            loss = F.cross_entropy(out, torch.tensor([0, 1, 2, 0, 1]))
        self.assertEqual((out.dtype, loss.dtype), (BF16, SINGLE))
        loss.backward()
        got = [p.grad for p in (*net.parameters(), x)]
        self.assertTrue(all(g.dtype is SINGLE for g in got))
        net.zero_grad()
        x.grad = None
        F.cross_entropy(net(x), torch.tensor([0, 1, 2, 0, 1])).backward()
        for mixed, full in zip(got, (p.grad for p in (*net.parameters(), x))):
            self.assertLess((mixed - full).abs().max().item(), 0.02)
            self.assertGreater((mixed - full).abs().max().item(), 0)

    def test_a_module_trains(self):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(8, 1, 6, 6), torch.tensor([0, 1] * 4)
        losses = []
        for _ in range(10):
            optimizer.zero_grad()
            with torch.autocast("cpu"):
                loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0] / 2)

    def test_checkpoints_compute_again_in_the_same_precision(self):
        w = torch.tensor([[1.01]], requires_grad=True)
        x = torch.tensor([[3.0]], requires_grad=True)
        seen = []

        def function(x):
            y = torch.mm(x, w)
            seen.append(y.dtype)
            return y * y

        for reentrant in (False, True):
            seen.clear()
            with torch.autocast("cpu"):
                y = checkpoint(function, x, use_reentrant=reentrant)
            y.sum().backward()
            self.assertEqual(seen, [BF16, BF16])
            self.assertIs(x.grad.dtype, SINGLE)
            with torch.autocast("cpu"):  # a backward pass inside of a region of its own
                seen.clear()
                with torch.autocast("cpu", enabled=False):
                    y = checkpoint(function, x, use_reentrant=reentrant)
                y.sum().backward()
            self.assertEqual(seen, [SINGLE, SINGLE])


class CustomFunctions(unittest.TestCase):
    def test_backward_runs_as_forward_did(self):
        seen = []

        class Product(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cpu")
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                return a.mm(b)

            @staticmethod
            @torch.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                a, b = ctx.saved_tensors
                seen.append((torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")))
                return grad.mm(b.t()), a.t().mm(grad)

        a = ones(2, 2, requires_grad=True)
        with torch.autocast("cpu", dtype=HALF):
            out = Product.apply(a, a)
        self.assertIs(out.dtype, HALF)
        out.sum().backward()
        with torch.autocast("cpu"):
            with torch.autocast("cpu", enabled=False):
                out = Product.apply(a, a)
            out.sum().backward()
        self.assertEqual([on for on, _ in seen], [True, False])
        self.assertIs(seen[0][1], HALF)
        self.assertIs(a.grad.dtype, SINGLE)

    def test_inputs_are_cast_inside_of_regions_only(self):
        seen = []

        class Keep(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cpu", cast_inputs=SINGLE)
            def forward(ctx, x, others, d):
                seen.append((x.dtype, others[0].dtype, others[1], d.dtype, torch.is_autocast_enabled("cpu")))
                return x * 2

            @staticmethod
            @torch.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                return grad * 2, None, None

        b, d = ones(1, dtype=BF16, requires_grad=True), ones(1, dtype=DOUBLE)
        with torch.autocast("cpu"):
            Keep.apply(b, [b, "text"], d).sum().backward()
        Keep.apply(b, [b, "text"], d)
        self.assertEqual(seen, [(SINGLE, SINGLE, "text", DOUBLE, False), (BF16, BF16, "text", DOUBLE, False)])
        self.assertIs(b.grad.dtype, BF16)
        for wrong in (torch.amp.custom_fwd, torch.amp.custom_bwd):
            self.assertRaises(ValueError, wrong, device_type=torch.device("cpu"))


if __name__ == "__main__":
    unittest.main()
