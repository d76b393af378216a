"""PyTorch's behaviour in corners that programs rarely meet: memory that is read and written at once, dtypes without a kernel, odd arguments."""

import unittest
import zlib

import cresset as torch

GOLDEN_A = [
    0.8032760620117188, 0.17483338713645935, 0.08897809684276581, -0.6137180328369141, 0.04618244990706444, -1.3682591915130615,
    0.3374950885772705, 1.0111159086227417, -1.435179352760315, 0.9774317741394043, 0.5220499634742737, 1.2379167079925537,
]  # fmt: skip
GOLDEN_Q = [
    -0.5554810762405396, 0.2077864408493042, 0.7943891882896423, 0.4243980050086975, -0.3499893546104431, 0.257091224193573,
    -0.23338444530963898, -0.9102317094802856, 0.12732422351837158, -0.6759132146835327, -0.07622621208429337,
    -0.5353864431381226,
]  # fmt: skip
GOLDEN_R = [
    -1.4460906982421875, -0.666356086730957, -1.1318877935409546, 0.0, -0.9399790167808533, 1.709348201751709, 0.0, 0.0,
    -1.126580834388733,
]  # fmt: skip


class SharedMemory(unittest.TestCase):
    def test_gather_refuses_memory_that_it_reads_even_of_an_empty_out(self):
        m = torch.arange(6.0)
        with self.assertRaisesRegex(RuntimeError, "shares no memory|memory of their own"):
            torch.gather(m[:1], 0, torch.zeros(1, dtype=torch.int64), out=m[:0])
        torch.index_select(m[1:2], 0, torch.zeros(1, dtype=torch.int64), out=m[:0])
        self.assertEqual(m.tolist(), [1, 1, 2, 3, 4, 5])

    def test_a_product_into_one_of_its_operands(self):
        m = torch.ones(2, 2)
        with self.assertRaisesRegex(IndexError, "shares no memory|memory of their own"):
            torch.matmul(m, torch.ones(2), out=m)
        self.assertEqual(torch.matmul(m, m.t(), out=m).tolist(), [[2, 2], [2, 2]])


class Refusals(unittest.TestCase):
    def test_batch_norm_of_integers(self):
        norm = torch.nn.functional.batch_norm
        for x, error in (
            (torch.ones(4, dtype=torch.uint8), IndexError),
            (torch.ones(1, dtype=torch.uint8).expand(4), RuntimeError),
            (torch.ones(2, 8, dtype=torch.int64)[:, ::2], RuntimeError),
            (torch.ones(2, 4, dtype=torch.int64), NotImplementedError),
        ):
            with self.subTest(x=x), self.assertRaises(error) as raised:
                norm(x, None, None, training=True)
            self.assertIs(type(raised.exception), error)

    def test_the_range_of_a_histogram_of_whole_numbers(self):
        for value, dtype in ((0, torch.uint8), (255, torch.uint8), (127, torch.int8), (-128, torch.int8), (32767, torch.int16), (2**31 - 1, torch.int32)):
            with self.subTest(value=value, dtype=dtype), self.assertRaisesRegex(RuntimeError, "without overflow"):
                torch.full((2,), value, dtype=dtype).histc(1)
        with self.assertRaisesRegex(RuntimeError, "larger than min"):  # a double cannot tell the ends apart
            torch.full((2,), 2**63 - 1).histc(1)

    def test_a_number_counts_as_out_where_it_counts_as_an_operand(self):
        with self.assertRaisesRegex(RuntimeError, "does not fit"):
            torch.add(torch.ones(2), 1, out=0)
        self.assertEqual(torch.mul(torch.ones(2), 2, out=1.5).tolist(), [2, 2])
        for call in (lambda: torch.exp(torch.ones(2), out=1.0), lambda: torch.sum(torch.ones(2), 0, out=3), lambda: torch.add(torch.ones(2), 1, out="a")):
            with self.assertRaises(TypeError):
                call()

    def test_a_device_without_a_backend_is_a_runtime_error(self):
        for call in (lambda: torch.zeros(2, device="cuda:99"), lambda: torch.ones(2).cuda(0)):
            with self.assertRaises(RuntimeError) as raised:
                call()
            self.assertIs(type(raised.exception), RuntimeError)


class NarrowAndUnsigned(unittest.TestCase):
    def test_float8_is_stored_and_moved_but_computes_nothing(self):
        for name in ("float8_e4m3fn", "float8_e5m2"):
            x = torch.tensor([[1.0, -2.0], [0.0, 4.0]]).to(getattr(torch, name))
            for kernel, call in (
                ("add_stub", lambda: x + x), ("add_stub", lambda: 1 - x), ("mul_cpu_reduced_float", lambda: x * 2), ("neg_cpu", lambda: -x),
                ("sum_cpu", lambda: x.sum()), ("exp_vml_cpu", lambda: x.exp()), ("exp_vml_cpu", lambda: x.clone().exp_()),
                ("nonzero_count_cpu", lambda: x.to_sparse()), ("index_add_", lambda: x.to_sparse_csr().to_dense()),
                ("softmax_kernel_impl", lambda: x.softmax(0)), ("sorting_kernel_method_name", lambda: x.sort()),
            ):  # fmt: skip
                with self.subTest(name, kernel=kernel), self.assertRaises(NotImplementedError) as raised:
                    call()
                self.assertEqual(str(raised.exception), f"\"{kernel}\" not implemented for '{name.replace('f', 'F', 1)}'")
            self.assertEqual((x * x).float().tolist(), [[1, 4], [0, 16]])
            self.assertEqual(torch.cat([x.abs(), x[1:]]).float().tolist(), [[1, 2], [0, 4], [0, 4]])
            self.assertEqual((x == x).all().item(), True)
            self.assertEqual((torch.ones(2, dtype=x.dtype, device="meta") + 1).dtype, x.dtype)
            self.assertEqual(x[:0].sum().item(), 0)

    def test_unsigned_integers_wider_than_a_byte_have_no_negative_and_no_sparse_form(self):
        for name in ("uint16", "uint32", "uint64"):
            x = torch.ones(2, 2, dtype=getattr(torch, name))
            for kernel, call in (
                ("neg_cpu", lambda: -x),
                ("nonzero_count_cpu", x.to_sparse),
                ("index_select", x.to_sparse_csr),
                ("index_select", x.to_sparse_csc),
            ):
                with self.subTest(name), self.assertRaisesRegex(NotImplementedError, f'"{kernel}" not implemented for \'UI'):
                    call()
            self.assertEqual((x * 2).tolist(), [[2, 2], [2, 2]])
        self.assertEqual((-torch.ones(1, dtype=torch.uint8)).tolist(), [255])


class Texts(unittest.TestCase):
    def test_a_buffer_is_formatted_as_a_tensor(self):
        self.assertEqual(f"{torch.nn.Buffer(torch.tensor(1.5))} {torch.nn.Buffer(torch.tensor(1.5)):.2f}", "1.5 1.50")


class Histories(unittest.TestCase):
    def test_the_sparse_form_of_complex_numbers_has_no_history(self):
        with self.assertRaisesRegex(RuntimeError, "complex results"):
            torch.ones(2, dtype=torch.complex64, requires_grad=True).to_sparse()
        self.assertTrue(torch.ones(2, requires_grad=True).to_sparse().requires_grad)

    def test_inference_tensors_record_nothing_by_themselves(self):
        with torch.inference_mode():
            t = torch.ones(2).requires_grad_()
        self.assertTrue(t.requires_grad)
        for result in (t * t, t.view(2, 1), torch.cat([t, t])):
            self.assertFalse(result.requires_grad)
        self.assertFalse((t * t).is_inference())
        x = torch.ones(2, requires_grad=True)
        (t + x).sum().backward()
        self.assertEqual(t.grad.tolist(), [1, 1])

    def test_inference_mode_leaves_histories_alone(self):
        x = torch.ones(2, 1, requires_grad=True)
        product, view = x * 2, x.view(2)
        with torch.inference_mode():
            for t in (x, product, view):
                t.detach_()
        self.assertTrue(x.requires_grad and product.requires_grad and view.requires_grad)
        self.assertIsNotNone(product.grad_fn)

    def test_views_of_a_batched_tensor_that_outlived_its_vmap_are_refused(self):
        x = torch.ones(3, requires_grad=True)
        y, kept = x * 2, []
        y.register_hook(kept.append)
        torch.autograd.grad(y, [x], torch.ones(2, 3), is_grads_batched=True)
        for use in (lambda t: t.detach(), lambda t: t.view(-1)):
            with self.assertRaisesRegex(RuntimeError, "^Batching rule not implemented for aten::\\w+; the fallback path doesn't work on out= or view ops\\.$"):
                use(kept[0])


class Roundings(unittest.TestCase):
    def test_qr_of_up_to_twenty_rows_in_single_precision_is_that_of_pytorch_to_the_bit(self):
        # checksums of torch.linalg.qr of PyTorch 2.13, three matrices each
        for (m, n), sums in {
            (12, 3): [3203265028, 4253547795, 1960382835, 1439214632],
            (16, 16): [4057932570, 1847774083, 4057932570, 1847774083],
            (17, 2): [1991354750, 1025812800, 2927936180, 79902605],
            (20, 17): [1648965512, 3062349795, 3274668456, 4230254999],
        }.items():
            torch.manual_seed(m * 50 + n)
            a = torch.randn(3, m, n)
            found = [zlib.crc32(t.mT.contiguous().numpy().tobytes()) for mode in ("reduced", "complete") for t in torch.linalg.qr(a, mode)]
            with self.subTest(m=m, n=n):
                self.assertEqual(found, sums)

    def test_small_qr_in_single_precision_is_that_of_pytorch_to_the_bit(self):
        # torch.linalg.qr of PyTorch 2.13
        a = torch.tensor(GOLDEN_A).view(4, 3)
        q, r = torch.linalg.qr(a)
        self.assertEqual(q.flatten().tolist(), GOLDEN_Q)
        self.assertEqual(r.flatten().tolist(), GOLDEN_R)


class Arguments(unittest.TestCase):
    def test_an_index_of_another_dtype_is_a_runtime_error(self):
        m = torch.arange(4.0).reshape(2, 2)
        for dtype in (torch.float32, torch.int16):
            index = torch.tensor([0, 1], dtype=dtype)
            with self.assertRaisesRegex(RuntimeError, f"int64 or int32, got {str(dtype)[6:]}"):
                torch.index_select(m, 0, index)
            with self.assertRaisesRegex(RuntimeError, "int64 or int32"):
                m.index_add(0, index, m)
        with self.assertRaisesRegex(RuntimeError, "embedding_bag: .*float32"):
            torch.nn.functional.embedding_bag(torch.tensor([0.0, 1.0]), m, torch.tensor([0, 1]))

    def test_selecting_from_a_dimension_without_elements(self):
        index = torch.tensor([0, 1])
        self.assertEqual(torch.index_select(torch.zeros(3, 0), 0, index).shape, (2, 0))
        with self.assertRaises(RuntimeError):
            torch.index_select(torch.zeros(3, 0), 1, index)
        with self.assertRaises(IndexError):
            torch.index_select(torch.zeros(0), 0, index)

    def test_adjoint_of_few_dimensions(self):
        self.assertEqual(torch.tensor(1j).adjoint(), torch.tensor(-1j))
        self.assertEqual(torch.tensor(2).adjoint(), torch.tensor(2))
        with self.assertRaisesRegex(RuntimeError, "adjoint: expected a matrix"):
            torch.ones(3).adjoint()

    def test_sums_of_many_halves_into_one_slice(self):
        for dtype in (torch.float16, torch.bfloat16):
            for shape in ((40000, 1), (40000, 4), (2, 3)):
                out = torch.zeros(shape, dtype=dtype).index_add(0, torch.zeros(4096, dtype=torch.long), torch.ones(4096, *shape[1:], dtype=dtype))
                self.assertEqual((out[0, 0].item(), out[1].sum().item()), (4096, 0))
            out = torch.zeros(40, dtype=dtype)
            self.assertEqual(out.index_add(0, torch.tensor([1, 1], dtype=torch.int32), torch.ones(2, dtype=dtype), alpha=2).sum().item(), 4)
            for place in (-1, 40):
                with self.assertRaisesRegex(IndexError, f"index_add: .*{place}"):
                    out.index_add_(0, torch.tensor([0, place]), torch.ones(2, dtype=dtype))
                self.assertEqual(out.count_nonzero(), 0)

    def test_norms_of_the_elements_of_a_vector(self):
        self.assertEqual(torch.norm_except_dim(torch.tensor([0.0, -3.0]), 0).tolist(), [0, 1])
        self.assertEqual(torch.norm_except_dim(torch.tensor([0.0, -3.0]), 2).tolist(), [0, 3])

    def test_properties_that_exchange_dimensions(self):
        x = torch.tensor([[[1 + 1j, 2], [3, 4 - 1j], [5, 6j]]])
        for name in ("mH", "mT"):
            expected = x.transpose(-2, -1).conj() if name == "mH" else x.transpose(-2, -1)
            self.assertTrue(torch.equal(getattr(x, name), expected))
            self.assertTrue(torch.equal(getattr(torch.ops.aten, name)(x), expected))
            with self.assertRaisesRegex(RuntimeError, f"{name}: expected a matrix"):
                getattr(torch.ones(3), name)
        self.assertTrue(torch.equal(x[0].H, x[0].t().conj()) and torch.equal(torch.ops.aten.matrix_H(x[0]), x[0].H))
        self.assertTrue(torch.equal(x.T, x.permute(2, 1, 0)) and torch.equal(torch.ops.aten.numpy_T(x), x.T))
        self.assertEqual(torch.tensor(1j).H, torch.tensor(-1j))
        with self.assertRaisesRegex(RuntimeError, "H: expected a matrix, got 3 dimensions"):
            x.H
        y = torch.zeros(2, 3)
        y.T[0, 1] = 1
        self.assertEqual(y.tolist(), [[0, 0, 0], [1, 0, 0]])

    def test_broadcast_shapes_refuses_negative_sizes(self):
        for shapes in ((-1,), ((2, -1),), (3, (1, -2))):
            with self.assertRaisesRegex(ValueError, "sizes of at least 0"):
                torch.broadcast_shapes(*shapes)
        self.assertEqual(torch.broadcast_shapes(0, (3, 1)), (3, 0))

    def test_norm_except_no_dimension_is_a_number(self):
        v = torch.tensor([[3.0, 4.0], [0.0, 12.0]])
        norm = torch.norm_except_dim(v, 2, -1)
        self.assertEqual((norm.shape, norm.item()), ((), 13))
        self.assertEqual(torch.norm_except_dim(v, 2, 1).shape, (1, 2))

    def test_means_of_complex_numbers_are_those_of_a_division(self):
        torch.manual_seed(0)
        s, index = torch.randn(210, dtype=torch.complex64), torch.arange(210) % 7
        for self_counts in (False, True):
            base = torch.zeros(7, dtype=torch.complex64)
            mean = base.scatter_reduce(0, index, s, "mean", include_self=self_counts)
            self.assertTrue(torch.equal(mean, base.scatter_add(0, index, s) / (30 + self_counts)))

    def test_windows_of_too_few_numbers(self):
        x, aten = torch.randn(2, 7, 7), torch.ops.aten
        F, blocks = torch.nn.functional, torch.ones(1, 4, 9)
        for call in (
            lambda k: F.fractional_max_pool2d(x, k, output_size=(3, 3)),
            lambda k: F.fractional_max_pool2d(x, (2, 2), output_size=k),
            lambda k: aten.fractional_max_pool2d(x, (2, 2), k, torch.rand(1, 2, 2)),
            lambda k: F.fractional_max_pool3d(x[None], k, output_size=(1, 3, 3)),
            lambda k: F.unfold(x, k),
            lambda k: F.unfold(x, 2, stride=k),
            lambda k: F.fold(blocks, (4, 4), k),
            lambda k: aten.im2col(x, (2, 2), (1, 1), k, (1, 1)),
            lambda k: aten.col2im(blocks, (4, 4), (2, 2), k, (0, 0), (1, 1)),
        ):
            for wrong in ((), (1, 1, 1, 1)):
                with self.assertRaisesRegex((RuntimeError, ValueError), "values|dimensions|list|int|a number or"):
                    call(wrong)

    def test_fractional_pooling_of_and_to_sizes_without_elements(self):
        F = torch.nn.functional
        self.assertEqual(F.fractional_max_pool2d(torch.randn(4, 5, 6, 7), 2, output_size=(0, 1)).shape, (4, 5, 0, 1))
        self.assertEqual(F.fractional_max_pool3d(torch.randn(5, 6, 7, 8), 2, output_size=(1, 0, 2)).shape, (5, 1, 0, 2))
        self.assertEqual(F.fractional_max_pool2d(torch.randn(0, 5, 6, 7), 2, output_size=(2, 2)).shape, (0, 5, 2, 2))
        with self.assertRaisesRegex(RuntimeError, "other than the batch"):
            F.fractional_max_pool2d(torch.randn(1, 0, 6, 7), 2, output_size=(2, 2))
        with self.assertRaisesRegex(RuntimeError, "random samples of shape"):
            F.fractional_max_pool2d(torch.randn(1, 5, 6, 7), 2, output_size=(2, 2), _random_samples=torch.zeros(1, 5, 1))

    def test_positions_for_each_dimension_go_to_no_out(self):
        with self.assertRaisesRegex(RuntimeError, "as_tuple=True"):
            torch.nonzero(torch.ones(2), as_tuple=True, out=torch.ones(2, dtype=torch.int64))

    def test_all_and_any_keep_dimensions_that_are_not_named(self):
        x = torch.tensor([[1, 0], [1, 1]])
        self.assertEqual(torch.any(x, keepdim=True).tolist(), [[True]])
        self.assertEqual(x.all(keepdim=True).tolist(), [[False]])
        self.assertEqual(x.all(keepdim=False).shape, ())


if __name__ == "__main__":
    unittest.main()
