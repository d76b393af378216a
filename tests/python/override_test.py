"""__torch_function__ on classes and modes, as far as calls of operators see it."""

import unittest

import _cresset
import cresset as torch


class Follows(torch.Tensor):
    """Operators keep the class."""


class Logs(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.calls.append(function)
        return super().__torch_function__(function, types, args, kwargs or {})


class Foreign:
    """No tensor, but takes calls over."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function.__name__, types, len(args), kwargs


class Declines:
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return NotImplemented


class Classes(unittest.TestCase):
    def test_results_have_the_class(self):
        x = Follows([1.0, 2.0])
        for got in (x + 1, 1 - x, torch.exp(x), x.sum(), x.detach(), x[0], x.T, torch.ones(2) * x, x.max(0).values, x.split(1)[0], x.requires_grad_()):
            self.assertIs(type(got), Follows)
        self.assertIs(type(x.shape), torch.Size)

    def test_calls_arrive_with_the_function(self):
        x = Logs([1.0])
        Logs.calls.clear()
        torch.add(x, x)
        x.exp()
        x.shape
        self.assertEqual(Logs.calls, [torch.add, torch.Tensor.exp, torch.Tensor.shape.__get__])

    def test_other_objects_take_calls_over(self):
        self.assertEqual(torch.add(Foreign(), 2, alpha=3), ("add", (Foreign,), 2, {"alpha": 3}))
        self.assertEqual(torch.cat([torch.ones(1), Foreign()])[1], (Foreign,))
        with self.assertRaises(TypeError):
            torch.add(Declines(), 2)


class Modes(unittest.TestCase):
    def test_a_mode_sees_every_call_and_its_own_calls_pass_it_by(self):
        seen = []

        class Mode:
            def __torch_function__(self, function, types, args=(), kwargs=None):
                seen.append(function.__name__)
                return function(*args, **(kwargs or {}))

        mode = Mode()
        _cresset._push_mode(mode)
        try:
            result = torch.ones(2) + 1
        finally:
            self.assertIs(_cresset._pop_mode(), mode)
        self.assertEqual((result.tolist(), seen), ([2, 2], ["ones", "add"]))


if __name__ == "__main__":
    unittest.main()
