"""Warnings that PyTorch gives in deprecated uses: of the right category, and none where nothing is wrong."""

import unittest
import warnings

import numpy

import cresset as torch
from cresset import nn


def given(call):
    """The categories of the warnings of a call."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return [w.category for w in seen]


class Results(unittest.TestCase):
    def test_out_of_another_shape_with_elements(self):
        for call in (
            lambda out: torch.add(torch.ones(3), 1, out=out), lambda out: torch.mm(torch.ones(3, 3), torch.ones(3, 3), out=out),
            lambda out: torch.sum(torch.ones(3, 3), 0, out=out), lambda out: torch.cat([torch.ones(3), torch.ones(3)], out=out),
            lambda out: torch.normal(torch.zeros(3), 1.0, out=out), lambda out: torch.normal(0.0, torch.ones(3), out=out),
            lambda out: torch.normal(torch.zeros(3), torch.ones(3), out=out), lambda out: torch.fft.fftfreq(3, out=out), lambda out: torch.fft.rfftfreq(5, out=out),
            lambda out: torch.linalg.svdvals(torch.eye(3), out=out), lambda out: torch.index_select(torch.eye(3), 0, torch.tensor([0]), out=out),
        ):  # fmt: skip
            self.assertEqual(given(lambda: call(torch.ones(2))), [UserWarning])
            self.assertEqual(given(lambda: call(torch.empty(0))), [])

    def test_factories_resize_quietly(self):
        self.assertEqual(given(lambda: (torch.eye(2, out=torch.ones(3)), torch.zeros(2, out=torch.ones(3)), torch.rand(2, out=torch.ones(3)))), [])

    def test_a_warning_that_is_an_error_stops_the_call(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(UserWarning):
                torch.add(torch.ones(3), 1, out=torch.ones(2))

    def test_spectra_without_a_window(self):
        x = torch.ones(16)
        spectrum = torch.stft(x, 4, window=torch.ones(4), return_complex=True)
        self.assertEqual(given(lambda: torch.stft(x, 4, return_complex=True)), [UserWarning])
        self.assertEqual(given(lambda: torch.istft(spectrum, 4)), [UserWarning])
        self.assertEqual(given(lambda: torch.istft(spectrum, 4, window=torch.ones(4))), [])

    def test_masks_of_bytes(self):
        self.assertEqual(given(lambda: torch.arange(3)[torch.tensor([1, 0, 1], dtype=torch.uint8)]), [UserWarning])

    def test_masks_of_bytes_in_a_function(self):
        mask, x = torch.tensor([1, 0, 1], dtype=torch.uint8), torch.arange(3)
        self.assertEqual(given(lambda: x.index_put_((mask,), x[:2].clone(), accumulate=True)), [UserWarning])

    def test_once_for_each_process_unless_always(self):
        make = lambda: torch.zeros(2, dtype=torch.complex32)  # noqa: E731
        make()
        self.assertEqual(given(make), [])
        torch.set_warn_always(True)
        self.addCleanup(torch.set_warn_always, False)
        self.assertEqual((given(make), torch.is_warn_always_enabled()), ([UserWarning], True))


class Deprecated(unittest.TestCase):
    def setUp(self):
        torch.set_warn_always(True)
        self.addCleanup(torch.set_warn_always, False)

    def test_functions(self):
        eye = torch.eye(2)
        for call in (
            lambda: torch.meshgrid(torch.ones(2), torch.ones(2)), lambda: torch.chain_matmul(eye, eye), lambda: torch.lu(eye), lambda: torch.range(0, 3),
            lambda: torch.cross(torch.ones(3), torch.ones(3)), lambda: torch.qr(eye), lambda: torch.cholesky(eye), lambda: torch.triangular_solve(eye, eye),
            lambda: torch.tensor(eye), lambda: eye.new_tensor(eye), lambda: torch.set_default_tensor_type(torch.FloatTensor),
            lambda: torch.ones(2, 2, 2).T, lambda: torch.ones(()).mT, lambda: torch.ones(()).H,
        ):  # fmt: skip
            self.assertEqual(given(call), [UserWarning])

    def test_what_takes_their_place_is_quiet(self):
        eye = torch.eye(2)
        for call in (
            lambda: torch.meshgrid(torch.ones(2), indexing="ij"),
            lambda: torch.linalg.qr(eye),
            lambda: eye.T,
            lambda: eye.mT,
            lambda: torch.tensor([1.0]),
        ):
            self.assertEqual(given(call), [])

    def test_no_degrees_of_freedom(self):
        for call in (lambda: torch.ones(1).var(), lambda: torch.ones(3, 1).std(1), lambda: torch.var_mean(torch.ones(1))):
            self.assertEqual(given(call), [UserWarning])
        self.assertEqual(given(lambda: torch.ones(1).var(correction=0)), [])

    def test_functions_that_are_gone_say_what_to_call(self):
        for name in ("eig", "symeig", "lstsq", "solve", "matrix_rank"):
            with self.assertRaisesRegex(RuntimeError, "torch.linalg"):
                getattr(torch, name)(torch.eye(2), torch.eye(2))


class Gradients(unittest.TestCase):
    def test_of_what_is_no_leaf(self):
        x = torch.ones(1, requires_grad=True)
        y = x * 2
        self.assertEqual(given(lambda: y.grad), [UserWarning])
        y.retain_grad()
        self.assertEqual((given(lambda: y.grad), given(lambda: x.grad)), ([], []))

    def test_backward_that_is_recorded(self):
        torch.set_warn_always(True)
        self.addCleanup(torch.set_warn_always, False)
        x = torch.ones(1, requires_grad=True)
        self.assertEqual(given(lambda: (x * x).backward(create_graph=True)), [UserWarning])
        self.assertEqual(given(lambda: torch.autograd.grad(x * x, x, create_graph=True)), [])


class Modules(unittest.TestCase):
    def test_old_hooks_that_miss_gradients(self):
        layer = nn.Linear(1, 1)
        layer.register_backward_hook(lambda *_: None)
        self.assertEqual(given(lambda: layer(torch.ones(1, 1, requires_grad=True))), [FutureWarning])

    def test_old_hooks_that_miss_nothing(self):
        layer = nn.Tanh()
        layer.register_backward_hook(lambda *_: None)
        x = torch.ones(1, requires_grad=True) * 2
        self.assertEqual(given(lambda: layer(x)), [])

    def test_full_hooks_without_an_input_that_requires_gradients(self):
        layer = nn.Linear(1, 1)
        layer.register_full_backward_hook(lambda *_: None)
        self.assertEqual(given(lambda: layer(torch.ones(1, 1)).sum().backward()), [UserWarning])

    def test_state_for_parameters_without_memory(self):
        layer = nn.Linear(1, 1, device="meta")
        self.assertEqual(given(lambda: layer.load_state_dict(nn.Linear(1, 1).state_dict())), [UserWarning] * 2)
        self.assertEqual(given(lambda: layer.load_state_dict(nn.Linear(1, 1).state_dict(), assign=True)), [])

    def test_old_functions(self):
        self.assertEqual(given(lambda: nn.utils.weight_norm(nn.Linear(1, 1))), [FutureWarning])
        self.assertEqual(given(lambda: nn.utils.stateless.functional_call(nn.Identity(), {}, torch.ones(1))), [FutureWarning])

    def test_encoders_that_cannot_use_nested_tensors(self):
        self.assertEqual(given(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 1)), [UserWarning])
        self.assertEqual(given(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, batch_first=True), 1)), [])

    def test_a_decorated_class(self):
        self.assertEqual(given(lambda: torch.no_grad()(type("A", (), {}))), [FutureWarning])


class Streams(torch.utils.data.IterableDataset):
    def __len__(self):
        return 2

    def __iter__(self):
        return iter(range(3))


class Loaders(unittest.TestCase):
    def test_a_length_that_was_not_asked_for_is_not_compared(self):
        self.assertEqual(given(lambda: list(torch.utils.data.DataLoader(Streams()))), [])

    def test_more_samples_than_the_length_that_was_told(self):
        loader = torch.utils.data.DataLoader(Streams())
        self.assertEqual(len(loader), 2)
        self.assertEqual(given(lambda: list(loader)), [UserWarning])


class OncePerProcess(unittest.TestCase):
    def setUp(self):
        torch.set_warn_always(True)
        self.addCleanup(torch.set_warn_always, False)

    def test_lists_of_arrays(self):
        arrays = [numpy.array([0]), numpy.array([1])]
        self.assertEqual(given(lambda: torch.tensor(arrays)), [UserWarning])
        for call in (lambda: torch.tensor(numpy.array(arrays)), lambda: torch.tensor([numpy.float32(1)]), lambda: torch.as_tensor([1, 2])):
            self.assertEqual(given(call), [])

    def test_imaginary_parts_that_are_lost(self):
        z, real = torch.ones(2, dtype=torch.complex64), torch.zeros(2)
        for call in (lambda: z.to(torch.float32), lambda: z.to(torch.int8), lambda: real.copy_(z), lambda: z.float()):
            self.assertEqual(given(call), [UserWarning])
        for call in (lambda: z.real.to(torch.float64), lambda: z.to(torch.bool), lambda: z.to(torch.complex128), lambda: z.abs()):
            self.assertEqual(given(call), [])
        w = torch.ones(2, requires_grad=True)
        for call in (lambda: (w * z).sum().abs().backward(), lambda: (w.to(z.dtype) * z).sum().abs().backward()):
            self.assertEqual(given(call), [])
        self.assertEqual((w.grad.tolist(), w.grad.stride()), ([2, 2], (1,)))

    def test_searches_in_memory_with_gaps(self):
        x, gaps = torch.arange(4.0), torch.arange(8.0)[::2]
        for call in (lambda: torch.bucketize(x, gaps), lambda: torch.bucketize(gaps, x), lambda: torch.searchsorted(gaps, x)):
            self.assertEqual(given(call), [UserWarning])
        self.assertEqual(given(lambda: torch.bucketize(x, x)), [])

    def test_covariances_without_degrees_of_freedom(self):
        self.assertEqual(given(lambda: torch.cov(torch.ones(2, 3), correction=3)), [UserWarning])
        self.assertEqual(given(lambda: torch.cov(torch.ones(2, 3), correction=2)), [])


if __name__ == "__main__":
    unittest.main()
