"""Names beside the table of operators: what is asked of tensors, old methods, numbers that may be symbols, storages. Numbers come from PyTorch 2.13."""

import os
import tempfile
import unittest

import _cresset

import cresset as torch


class Dimensions(unittest.TestCase):
    def test_order(self):
        x = torch.ones(2, 3)
        self.assertEqual(x.dim_order(), (0, 1))
        self.assertEqual(x.t().dim_order(), (1, 0))
        self.assertEqual(torch.ones(1, 2, 1).dim_order(), (0, 1, 2))
        self.assertEqual(torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last).dim_order(), (0, 2, 3, 1))
        self.assertEqual(x.expand(4, 2, 3).dim_order(), (0, 1, 2))
        self.assertEqual(torch.ones(()).dim_order(), ())

    def test_several_orders(self):
        self.assertEqual(torch.ones(2, 3).dim_order(ambiguity_check=[torch.contiguous_format]), (0, 1))
        for x, check in (
            (torch.ones(1, 2, 1), True),
            (torch.ones(2, 3).expand(4, 2, 3), True),
            (torch.ones(2, 1, 3, 3), [torch.contiguous_format, torch.channels_last]),
        ):
            self.assertRaises(RuntimeError, x.dim_order, ambiguity_check=check)
        self.assertRaises(TypeError, torch.ones(1).dim_order, ambiguity_check=3)


class OldMethods(unittest.TestCase):
    def test_removed(self):
        x = torch.eye(2)
        for call in (x.eig, x.symeig, lambda: x.lstsq(x), lambda: x.solve(x), lambda: x.reinforce(1)):
            with self.assertRaisesRegex(RuntimeError, "removed"):
                call()

    def test_shapes(self):
        x = torch.arange(6.0).view(2, 3)
        with self.assertWarns(UserWarning):
            self.assertEqual(x.resize(3, 2).tolist(), [[0, 1], [2, 3], [4, 5]])
        with self.assertWarns(UserWarning):
            self.assertEqual(x.resize_as(torch.ones(6)).shape, (6,))
        with self.assertWarns(UserWarning), self.assertRaises(RuntimeError):
            x.resize(7)

    def test_operators(self):
        x = torch.tensor([3.0])
        self.assertEqual((x.__div__(2).item(), x.__long__(), x.__nonzero__(), x.clone().__idiv__(2).item()), (1.5, 3, True, 1.5))
        self.assertRaises(AttributeError, lambda: x.__cuda_array_interface__)
        self.assertEqual(x.const_data_ptr(), x.data_ptr())

    def test_diagonals(self):
        self.assertEqual(torch.zeros(2, 3).fill_diagonal_(5).tolist(), [[5, 0, 0], [0, 5, 0]])
        self.assertEqual(torch.zeros(5, 2).fill_diagonal_(5, wrap=True).tolist(), [[5, 0], [0, 5], [0, 0], [5, 0], [0, 5]])
        self.assertEqual(torch.zeros(2, 2, 2).fill_diagonal_(1).flatten().tolist(), [1, 0, 0, 0, 0, 0, 0, 1])
        self.assertEqual(torch.zeros(3, 2).t().fill_diagonal_(1).tolist(), [[1, 0, 0], [0, 1, 0]])
        self.assertRaises(RuntimeError, torch.zeros(3).fill_diagonal_, 5)
        self.assertRaises(RuntimeError, torch.zeros(2, 3, 2).fill_diagonal_, 1)
        x = torch.ones(2, 2, requires_grad=True)
        (x * 3).fill_diagonal_(0).sum().backward()
        self.assertEqual(x.grad.tolist(), [[0, 3], [3, 0]])

    def test_elements(self):
        self.assertEqual(torch.ones(2).map_(torch.tensor([1.0, 2.0]), lambda a, b: a + b).tolist(), [2, 3])
        self.assertEqual(torch.ones(2, 2).map_(torch.tensor([1.0, 2.0]), max).tolist(), [[1, 2], [1, 2]])
        self.assertEqual(torch.ones(2).map2_(torch.ones(2), torch.tensor([1.0, 2.0]), lambda a, b, c: a + b * c).tolist(), [2, 3])
        self.assertRaises(RuntimeError, torch.ones(2, requires_grad=True).map_, torch.ones(2), max)
        self.assertRaises(TypeError, torch.ones(2).map_, torch.ones(2).int(), max)

    def test_loading(self):
        old, new = torch.ones(2), torch.zeros(2)
        self.assertEqual(old.module_load(new).data_ptr(), old.data_ptr())
        self.assertEqual(old.tolist(), [0, 0])
        self.assertEqual(torch.nn.Parameter(torch.ones(2)).module_load(new, assign=True).data_ptr(), new.data_ptr())

    def test_devices(self):
        x = torch.ones(1)
        self.assertFalse(x.is_xla or x.is_ipu or x.is_maia or x.is_mtia or x.is_vulkan or x.is_distributed() or torch.is_distributed(x))
        for move in (x.xpu, x.ipu, x.mtia):
            self.assertRaises(RuntimeError, move)

    def test_names_of_arguments(self):
        x = torch.arange(4.0)
        self.assertEqual(len(x.split(split_size=2)), 2)
        self.assertEqual(x.norm(p=1).item(), 6)
        self.assertEqual(x.unique(return_counts=True)[1].tolist(), [1, 1, 1, 1])
        self.assertEqual(len(torch.eye(2).lu(get_infos=True)), 3)
        self.assertEqual(torch.tensor([1, 1, 2]).unique_consecutive().tolist(), [1, 2])


class Functions(unittest.TestCase):
    def test_questions(self):
        x = torch.ones(2)
        answers = [torch.get_device(x), torch.is_inference(x), torch.is_neg(x), torch.is_signed(x), torch.is_same_size(x, x), torch.is_same_size(x, x[None])]
        self.assertEqual(answers, [-1, False, False, True, True, False])
        self.assertTrue(torch.has_lapack and torch.has_spectral and torch.compiled_with_cxx11_abi())
        y = torch.ones(1, requires_grad=True) * 2
        self.assertIs(torch.detach_(y), y)
        self.assertFalse(y.requires_grad)

    def test_norms_of_slices(self):
        self.assertEqual([round(v, 4) for v in torch.norm_except_dim(torch.ones(2, 3), 2, 0).flatten().tolist()], [1.7321, 1.7321])
        self.assertEqual(torch.norm_except_dim(torch.ones(2, 3), 2, -1).shape, ())

    def test_numbers(self):
        self.assertEqual([torch.sym_int(2.7), torch.sym_int(-2.7), torch.sym_min(2, 3), torch.sym_sum([1, 2, 3]), torch.sym_ite(True, 1, 2)], [2, -2, 2, 6, 1])
        self.assertEqual(
            [repr(torch.sym_max(2, 3.0)), repr(torch.sym_min(2, 3.0)), repr(torch.sym_float(2)), repr(torch.sym_sqrt(4))], ["3.0", "2.0", "2.0", "2.0"]
        )
        self.assertEqual((torch.sym_not(3), torch.sym_fresh_size(3)), (False, 3))
        torch.sym_constrain_range(3, min=1, max=4)
        self.assertRaises(RuntimeError, torch.sym_constrain_range, 3, min=4)
        self.assertRaises(RuntimeError, torch.sym_constrain_range_for_size, -1)
        self.assertRaises(AssertionError, torch.sym_max, "a", 1)
        self.assertRaises(AssertionError, torch.sym_ite, 1, 2, 3)

    def test_modes(self):
        class Mine(torch.Tensor):
            pass

        with torch.DisableTorchFunctionSubclass():
            self.assertIs(type(Mine([1.0]) + 1), torch.Tensor)
        self.assertIs(type(Mine([1.0]) + 1), Mine)
        seen = []

        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                seen.append(function)
                return function(*args, **(kwargs or {}))

        with Mode(), torch.DisableTorchFunction():
            torch.ones(1)
        self.assertEqual(seen, [])
        with torch.no_grad():
            self.assertTrue(torch.enable_grad(orig_func=torch.is_grad_enabled)())
        self.assertEqual((torch.inference_mode(False).clone().mode, torch.set_grad_enabled(True).clone().mode), (False, True))

    def test_limits_are_listed_by_the_classes(self):
        self.assertTrue(all(hasattr(torch.finfo, name) for name in "bits dtype eps max min resolution smallest_normal tiny".split()))
        self.assertEqual((torch.finfo(torch.float32).bits, torch.iinfo(torch.int16).max), (32, 32767))


class Spellings(unittest.TestCase):
    def test_of_nn_functional(self):
        F = torch.nn.functional
        x, w, b = torch.rand(5, 2, 3), torch.rand(2, 3, 4), torch.rand(4)
        self.assertTrue(torch.equal(torch.conv_tbc(x, w, b, 1), F.conv_tbc(x, w, b, 1)))
        scores = torch.rand(4, 2, 3).log_softmax(2)
        args = (scores, torch.tensor([[1, 2], [2, 1]]), torch.tensor([4, 4]), torch.tensor([2, 1]))
        for code, name in enumerate(("none", "mean", "sum")):
            self.assertTrue(torch.equal(torch.ctc_loss(*args, reduction=code), F.ctc_loss(*args, reduction=name)))
        self.assertRaises(ValueError, torch.ctc_loss, *args, reduction=3)
        self.assertTrue(
            torch.equal(
                torch.affine_grid_generator(torch.eye(2, 3)[None], (1, 1, 2, 2), False), F.affine_grid(torch.eye(2, 3)[None], (1, 1, 2, 2), align_corners=False)
            )
        )

    def test_renormalised_rows(self):
        weight = torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
        self.assertIs(torch.embedding_renorm_(weight, torch.tensor([[0, 1], [0, 1]]), 1.0, 2.0), weight)
        self.assertEqual([round(v, 5) for v in weight.flatten().tolist()], [0.6, 0.8, 0.3, 0.4, 6, 8])

    def test_copies_of_views(self):
        z = torch.tensor([1 + 2j])
        real = torch.view_as_real_copy(z)
        real.zero_()
        self.assertEqual((z.item(), torch.view_as_complex_copy(torch.tensor([[1.0, 2.0]])).item()), (1 + 2j, 1 + 2j))
        self.assertEqual(torch.view_as_real_copy(z, out=torch.empty(0)).tolist(), [[1, 2]])

    def test_control_flow(self):
        x = torch.ones(1, requires_grad=True)
        torch.cond(torch.tensor(True), lambda t: t * 3, lambda t: t * 5, (x,)).backward()
        self.assertEqual(x.grad.item(), 3)
        for args in (("yes", abs, abs), (True, 3, abs), (True, abs, abs, x), (torch.ones(2).bool(), abs, abs)):
            self.assertRaises(RuntimeError, torch.cond, *args)
        i, total = torch.while_loop(lambda i, t: i < 4, lambda i, t: (i + 1, t + i), (torch.tensor(0), torch.tensor(0)))
        self.assertEqual((i.item(), total.item()), (4, 6))
        self.assertRaises(RuntimeError, torch.while_loop, lambda t: t.sum() < 9, lambda t: torch.cat([t, t]), (torch.ones(1),))

    def test_modes_of_autograd(self):
        torch.set_anomaly_enabled(True, False)
        self.assertEqual((torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()), (True, False))
        torch.set_anomaly_enabled(False)
        with torch.autograd.set_multithreading_enabled(False) as _:
            self.assertFalse(torch.autograd.is_multithreading_enabled())
            self.assertFalse(_cresset.set_multithreading_enabled(False))
        self.assertTrue(_cresset.set_multithreading_enabled(True))

    def test_old_assertions(self):
        with self.assertWarns(FutureWarning):
            torch.testing.assert_allclose(torch.tensor([1.0]), torch.tensor([1.00009]))
        with self.assertWarns(FutureWarning), self.assertRaises(AssertionError):
            torch.testing.assert_allclose(torch.tensor([1.0]), torch.tensor([1.0002]))


class Storages(unittest.TestCase):
    def test_classes(self):
        self.assertEqual((torch.FloatStorage(3).size(), torch.FloatStorage([1, 2]).tolist(), torch.LongStorage(2).dtype), (3, [1.0, 2.0], torch.int64))
        self.assertIsInstance(torch.ones(2).storage(), torch.FloatStorage)
        self.assertNotIsInstance(torch.ones(2).storage(), torch.LongStorage)
        self.assertRaises(RuntimeError, torch.FloatStorage, 2, dtype=torch.int64)

    def test_members(self):
        s = torch.tensor([1.0, 2.0]).storage()
        self.assertEqual((s.pickle_storage_type(), s.is_pinned(), s.is_hpu, s.filename), ("FloatStorage", False, False, None))
        self.assertIs(s.to(device="cpu"), s)
        self.assertEqual((s.float8_e5m2().dtype, s.type("torch.DoubleStorage").dtype), (torch.float8_e5m2, torch.float64))
        self.assertRaises(RuntimeError, s.cuda)
        self.assertRaises(ValueError, s.type, "torch.NoStorage")

    def test_buffers(self):
        self.assertEqual(torch.FloatStorage.from_buffer(b"\0\0\x80?", "little").tolist(), [1.0])
        self.assertEqual(torch.TypedStorage.from_buffer(b"?\x80\0\0", dtype=torch.float32, byte_order="big").tolist(), [1.0])
        self.assertEqual(torch.ByteStorage.from_buffer(b"abc", count=2, offset=1).tolist(), [98, 99])
        self.assertRaises(RuntimeError, torch.FloatStorage.from_buffer, b"\0\0\x80?")
        self.assertRaises(ValueError, torch.FloatStorage.from_buffer, b"\0\0\x80?", "middle")
        self.assertRaises(ValueError, torch.ByteStorage.from_buffer, b"abc", count=9)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x")
            torch.from_file(path, shared=True, size=3).copy_(torch.tensor([1.0, 2.0, 3.0]))
            private = torch.from_file(path, size=2)
            private.fill_(9)
            self.assertEqual(torch.from_file(path, size=3).tolist(), [1, 2, 3])
            self.assertEqual(torch.FloatStorage.from_file(path, False, 2).tolist(), [1, 2])
            self.assertEqual(torch.from_file(path, size=0).shape, (0,))
            self.assertRaises(RuntimeError, torch.from_file, path, size=4)
            self.assertRaises(RuntimeError, torch.from_file, path + "no", size=1)


class Switches(unittest.TestCase):
    def test_onednn(self):
        mkldnn = torch.backends.mkldnn
        with mkldnn.flags(enabled=True, deterministic=True, allow_tf32=False):
            self.assertEqual((mkldnn.deterministic, mkldnn.allow_tf32, mkldnn.fp32_precision), (True, False, "none"))
        self.assertEqual((mkldnn.deterministic, mkldnn.allow_tf32), (False, True))
        with self.assertRaises(TypeError):
            mkldnn.deterministic = 1
        self.assertFalse(mkldnn.is_acl_available())


if __name__ == "__main__":
    unittest.main()
