"""Edges of functions that PyTorch's own tests look at: types of errors, warnings, old constructors. Expected values were taken from PyTorch 2.13."""

import importlib.util
import io
import os
import pickle
import unittest
import unittest.mock
import warnings

import numpy as np

import cresset as torch
from cresset import functorch


class Operators(unittest.TestCase):
    def test_arguments_that_fit_no_schema_are_a_runtime_error(self):
        one, add = torch.ones(1), torch.ops.aten.add
        for call in (
            lambda: add.Tensor(one, one, out=one),
            lambda: add.Tensor("x", one),
            lambda: add.Tensor(one),
            lambda: add(one),
            lambda: add("x", 1),
            lambda: torch.ops.aten.sum.dim_IntList(one, "a"),
        ):
            with self.assertRaisesRegex(RuntimeError, "fit no form"):
                call()
        with self.assertRaises(TypeError):
            torch.add("x", one)

    def test_a_tensor_in_place_of_a_list_of_indices_is_its_rows(self):
        x, places, aten = torch.arange(6.0).view(2, 3), torch.tensor([[1, 0], [0, 1]]), torch.ops.aten
        for call in (aten.index, aten.index.Tensor):
            self.assertEqual([call(x, places).tolist(), call(x, places[0]).item(), call(x, indices=places).tolist()], [[3, 1], 3, [3, 1]])
        self.assertEqual(aten.index_put(x, places[0, :1], torch.tensor(9.0)).tolist(), [[0, 1, 2], [9, 9, 9]])
        for wrong in (torch.tensor(1), "x"):
            self.assertRaisesRegex(RuntimeError, "fit no form", aten.index, x, wrong)
        self.assertRaisesRegex(RuntimeError, "fit no form", aten.cat, x)

    def test_complex_numbers_have_no_order(self):
        x = torch.tensor([1 + 2j, -3j])
        none = "complex numbers have no order, got dtype complex64"
        for call in (
            torch.max, torch.min, torch.median, torch.nanmedian, torch.mode, torch.unique, torch.unique_consecutive,
            lambda x: x.cummax(0), lambda x: x.kthvalue(1), lambda x: torch.bucketize(x, x),
        ):  # fmt: skip
            self.assertRaisesRegex(NotImplementedError, none, call, x)
        for call in (
            torch.argmin,
            torch.amax,
            torch.sort,
            torch.msort,
            lambda x: x.topk(1),
            lambda x: x.max(0),
            lambda x: torch.searchsorted(x, torch.ones(2)),
        ):
            with self.assertRaisesRegex(RuntimeError, none) as raised:
                call(x)
            self.assertIs(type(raised.exception), RuntimeError)
        for name in ("sort", "median", "nanmedian", "mode", "cummin"):  # a dimension that is not there comes first
            self.assertRaises(IndexError, getattr(x, name), 1)
        self.assertRaisesRegex(NotImplementedError, "bincount: expected an integral dtype, got bool", torch.tensor([True]).bincount)

    def test_dtypes_without_a_factorization_are_not_implemented(self):
        half, whole = torch.eye(3).half(), torch.eye(3).long()
        for call in (
            torch.linalg.cholesky,
            torch.linalg.eigh,
            torch.linalg.qr,
            torch.linalg.svd,
            torch.linalg.lu_factor,
            torch.linalg.inv,
            torch.linalg.det,
            torch.geqrf,
        ):
            self.assertRaisesRegex(NotImplementedError, "got dtype float16", call, half)
            with self.assertRaisesRegex(RuntimeError, "expected a floating or complex dtype, got int64") as raised:
                call(whole)
            self.assertIs(type(raised.exception), RuntimeError)
        self.assertRaisesRegex(NotImplementedError, "int64 or int32, got float32", torch.repeat_interleave, torch.ones(2))
        self.assertRaisesRegex(NotImplementedError, "polar: not implemented for dtype float16", torch.polar, half, half)

    def test_polygamma_does_not_cut_off_its_result(self):
        x = torch.tensor([1, 2])
        with self.assertRaisesRegex(RuntimeError, "polygamma_: result type float32 does not fit the output's dtype int64"):
            x.polygamma_(1)
        self.assertEqual(x.tolist(), [1, 2])

    def test_old_constructors_make_sparse_tensors(self):
        x = torch.eye(2).to_sparse()
        self.assertTrue(torch.equal(x.new(x.indices(), x.values(), x.size()).to_dense(), torch.eye(2)))
        self.assertTrue(torch.equal(x.new(x.indices(), x.values()).to_dense(), torch.eye(2)))

    def test_storages_take_sizes_of_numpy(self):
        self.assertEqual([torch.FloatStorage(np.int64(3)).size(), torch.UntypedStorage(np.int16(3)).nbytes()], [3, 3])

    def test_functions_applied_to_elements_return_numbers(self):
        for result in ("str", None, 1j, [1]):
            with self.assertRaises(TypeError):
                torch.zeros(2).apply_(lambda x, result=result: result)
            with self.assertRaises(TypeError):
                torch.zeros(2).map_(torch.ones(2), lambda x, y, result=result: result)
        self.assertEqual(torch.zeros(2).apply_(lambda x: True).tolist(), [1, 1])
        self.assertEqual(torch.zeros(2).map_(torch.ones(2), lambda x, y: x + 2 * y).tolist(), [2, 2])

    def test_old_types_are_not_subclassed(self):
        for base in (torch.FloatTensor, torch.LongTensor):
            with self.assertRaises(TypeError):
                type("Mine", (base,), {})

    def test_principal_components_of_a_sparse_matrix(self):
        x = torch.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
        torch.testing.assert_close(torch.pca_lowrank(x.to_sparse(), q=1)[1], torch.pca_lowrank(x, q=1)[1])


class Warnings(unittest.TestCase):
    def said(self, function):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function()
        return [(w.category.__name__, str(w.message)) for w in caught]

    def test_whole_numbers_that_a_dtype_rounds(self):
        for dtype, low, high, expected in (
            (torch.bfloat16, -1000, 10, ["from"]),
            (torch.bfloat16, 0, 1000, ["to - 1"]),
            (torch.bfloat16, 0, 257, []),
            (torch.float32, -(2**30), 2**31, ["from", "to - 1"]),
            (torch.float16, 0, 5000, ["to - 1"]),
            (torch.int64, -(2**60), 2**60, []),
        ):
            said = self.said(lambda dtype=dtype, low=low, high=high: torch.empty(3, dtype=dtype).random_(low, high))
            self.assertEqual([text.split(": ")[1].split(" is out")[0] for _, text in said], expected, (dtype, low, high))

    def test_transforms_under_their_older_names(self):
        for name in ("vmap", "grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "functionalize", "grad_and_value"):
            arguments = {"vjp": (torch.sin, torch.ones(1)), "jvp": (torch.sin, (torch.ones(1),), (torch.ones(1),))}.get(name, (torch.sin,))
            kinds = [kind for kind, _ in self.said(lambda name=name, arguments=arguments: getattr(functorch, name)(*arguments))]
            self.assertEqual(kinds, ["FutureWarning"], name)


class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        out = 3 * a
        ctx.mark_dirty(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        return 3 * grad


class CustomFunctions(unittest.TestCase):
    def test_marking_what_is_no_input_warns(self):
        a = torch.ones(2, requires_grad=True)
        with self.assertWarnsRegex(UserWarning, "no input of forward"):
            Function.apply(a).sum().backward()
        self.assertEqual(a.grad.tolist(), [3, 3])

    def test_an_output_without_derivative_has_no_tangent(self):
        class Marked(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                out = y.clone()
                ctx.mark_non_differentiable(out)
                return x.clone(), out

            @staticmethod
            def jvp(ctx, x, y):
                return x, x.clone()

        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(torch.tensor(2.0), torch.tensor(1.0))
            for y in (torch.tensor(3.0), torch.tensor(3)):
                with self.assertRaisesRegex(RuntimeError, "output 1, which is not differentiable"):
                    Marked.apply(dual, y)

    def test_aux_is_made_of_tensors(self):
        for aux in (1, 1.0, "abc"):
            with self.assertRaises(RuntimeError):
                torch.func.vjp(lambda x, aux=aux: (x, aux), torch.ones(1), has_aux=True)
            with self.assertRaises(RuntimeError):
                torch.func.jvp(lambda x, aux=aux: (x, [x, aux]), (torch.ones(1),), (torch.ones(1),), has_aux=True)


class Loading(unittest.TestCase):
    def setUp(self):
        self.file = io.BytesIO()
        torch.save(torch.nn.Linear(1, 1), self.file)

    def load(self, **kwargs):
        self.file.seek(0)
        return torch.load(self.file, **kwargs)

    def test_the_environment_asks_for_weights_only(self):
        with unittest.mock.patch.dict(os.environ, TORCH_FORCE_WEIGHTS_ONLY_LOAD="1"), self.assertRaises(pickle.UnpicklingError):
            self.load(weights_only=False)

    def test_the_environment_allows_whole_objects_where_the_program_says_nothing(self):
        with unittest.mock.patch.dict(os.environ, TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD="1"):
            with self.assertWarnsRegex(UserWarning, "forcing weights_only=False"):
                self.assertIsInstance(self.load(), torch.nn.Linear)
            with self.assertRaises(pickle.UnpicklingError):
                self.load(weights_only=True)

    def test_the_environment_may_not_ask_for_both(self):
        with (
            unittest.mock.patch.dict(os.environ, TORCH_FORCE_WEIGHTS_ONLY_LOAD="1", TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD="1"),
            self.assertRaisesRegex(RuntimeError, "both set"),
        ):
            self.load()


class Futures(unittest.TestCase):
    def test_none_is_no_future(self):
        for call in (lambda: torch.jit.wait(None), lambda: torch.futures.wait_all((None,)), lambda: torch.futures.collect_all((torch.futures.Future(), None))):
            with self.assertRaisesRegex(RuntimeError, "Future can't be None"):
                call()


class Numbers(unittest.TestCase):
    def test_zeros_of_two_signs_are_the_second_operand_in_whole_vectors(self):
        zeros = torch.zeros(64)
        for call in (torch.maximum, torch.minimum):
            self.assertTrue(call(zeros, -zeros).signbit().all() and not call(-zeros, zeros).signbit().any())
            self.assertFalse(call(zeros[:1], -zeros[:1]).signbit().item())

    def test_the_slope_of_copysign_is_one_of_signs(self):
        x = torch.tensor([2.0, 0.0, -3.0], requires_grad=True)
        x.copysign(torch.tensor([-1.0, 1.0, 1.0])).backward(torch.tensor([float("inf"), 1.0, 1.0]))
        self.assertEqual(x.grad.tolist(), [-float("inf"), 0, -1])

    def test_operators_save_what_those_of_pytorch_save(self):
        index = torch.tensor([0, 1])
        for call in (
            lambda x: x.gather(0, index), lambda x: x.take(index), lambda x: x.cummax(0)[0], lambda x: torch.addcdiv(torch.ones(2, requires_grad=True), torch.ones(2), x.detach()),
        ):  # fmt: skip
            x = torch.ones(2, requires_grad=True).clone()
            out = call(x)
            x.detach().add_(1)
            self.assertRaisesRegex(RuntimeError, "modified by an inplace operation", out.sum().backward)

    def test_windows_follow_their_cosines_to_three_units(self):
        for length in (5, 12, 29, 1000):
            for window in (torch.hann_window, torch.hamming_window, torch.blackman_window):
                expected = window(length, dtype=torch.float64)
                self.assertLess((window(length).double() - expected).abs().max().item(), 3e-7)
        self.assertEqual(torch.hann_window(4).tolist(), [0, 0.5, 1, 0.5])

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_windows_are_those_of_pytorch_to_the_bit(self):
        import torch as peer

        for length in (5, 12, 29, 257):
            for name in ("hann_window", "hamming_window", "blackman_window"):
                self.assertEqual(getattr(torch, name)(length).tolist(), getattr(peer, name)(length).tolist(), (name, length))

    def test_complex_numbers_fill_single_precision_unless_the_default_is_double(self):
        before = torch.get_default_dtype()
        try:
            for default, expected in ((torch.float16, torch.complex64), (torch.bfloat16, torch.complex64), (torch.float64, torch.complex128)):
                torch.set_default_dtype(default)
                self.assertIs(torch.full((2,), 1j).dtype, expected)
        finally:
            torch.set_default_dtype(before)
