"""Edges of modules: marked buffers, hooks, wrong numbers of sizes, complex weights. Expected values were taken from PyTorch 2.13."""

import copy
import gc
import io
import unittest
import weakref

import cresset as torch
from cresset import nn


class Buffers(unittest.TestCase):
    def test_a_buffer_is_a_marked_tensor_of_the_class_of_its_data(self):
        buffer = nn.Buffer(torch.ones(2))
        self.assertIs(type(buffer), torch.Tensor)
        self.assertIsInstance(buffer, nn.Buffer)
        self.assertNotIsInstance(torch.ones(2), nn.Buffer)
        self.assertEqual(repr(buffer), "tensor([1., 1.])")
        self.assertIs(type(nn.Buffer()), torch.Tensor)
        self.assertTrue(nn.Buffer(torch.ones(1, requires_grad=True)).requires_grad)

    def test_copies_and_files_keep_the_mark(self):
        buffer, file = nn.Buffer(torch.ones(2), persistent=False), io.BytesIO()
        torch.save(buffer, file)
        file.seek(0)
        for other in (copy.deepcopy(buffer), torch.load(file)):
            self.assertIsInstance(other, nn.Buffer)
            self.assertFalse(other.persistent)

    def test_states_are_swapped_into_buffers(self):
        swaps = torch.__future__.get_swap_module_params_on_conversion()
        torch.__future__.set_swap_module_params_on_conversion(True)
        try:
            module = nn.Module()
            module.b = nn.Buffer(torch.zeros(2))
            module.load_state_dict({"b": torch.ones(2)})
            self.assertEqual((module.b.tolist(), type(module.b)), ([1, 1], torch.Tensor))
        finally:
            torch.__future__.set_swap_module_params_on_conversion(swaps)


class Hooks(unittest.TestCase):
    def test_a_backward_hook_may_return_the_missing_gradients_of_inputs(self):
        module, seen = nn.Linear(2, 3), []
        module.register_full_backward_hook(lambda m, inputs, outputs: seen.append(inputs) or inputs)
        module(torch.rand(1, 2)).sum().backward()
        self.assertEqual(seen, [(None,)])

    def test_it_may_not_return_a_gradient_for_them(self):
        module = nn.Linear(2, 3)
        module.register_full_backward_hook(lambda m, inputs, outputs: (torch.ones(1, 2),))
        with self.assertRaises(RuntimeError):
            module(torch.rand(1, 2)).sum().backward()

    def test_a_hook_of_loading_does_not_keep_its_module(self):
        gc.disable()
        try:
            module = nn.Linear(2, 2)
            module.register_load_state_dict_pre_hook(lambda *args: None)
            module = weakref.ref(module)
            self.assertIsNone(module())
        finally:
            gc.enable()

    def test_a_hook_of_loading_belongs_to_the_copy_of_its_module(self):
        module, seen = nn.Linear(2, 2), []
        module.register_load_state_dict_pre_hook(lambda m, *args: seen.append(m))
        other = copy.deepcopy(module)
        other.load_state_dict(module.state_dict())
        self.assertIs(seen[0], other)


class Calls(unittest.TestCase):
    def test_unpooling_refuses_kernels_of_other_dimensions(self):
        x = torch.ones(1, 3, 1, 1, 1)
        with self.assertRaisesRegex(RuntimeError, "expected 3 values each"):
            nn.functional.max_unpool3d(x, torch.zeros(x.shape, dtype=int), [1, 1])

    def test_spectral_norm_of_a_complex_weight(self):
        layer = nn.Linear(2, 2, dtype=torch.cdouble)
        entries = torch.tensor([3j, -1 + 1j], dtype=torch.cdouble)
        with torch.no_grad():
            layer.weight = nn.Parameter(torch.diag(entries))
            nn.utils.parametrizations.spectral_norm(layer)
            torch.testing.assert_close(layer.weight, torch.diag(entries / 3), rtol=1e-4, atol=1e-4)

    def test_functional_call_adds_parameters_that_the_module_lacks(self):
        class Counting(nn.Module):
            def forward(self):
                return len(list(self.parameters()))

        module = Counting()
        self.assertEqual(torch.func.functional_call(module, {"extra": nn.Parameter(torch.ones(1))}, ()), 1)
        self.assertEqual(torch.func.functional_call(module, {"extra": torch.ones(1)}, ()), 0)
        self.assertFalse(hasattr(module, "extra"))
