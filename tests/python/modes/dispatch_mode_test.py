"""`TorchDispatchMode`: the stack, nesting, what a mode sees and returns, and the functions over the stack."""

import unittest

from cresset.utils import _python_dispatch as dispatch
from cresset.utils._python_dispatch import TorchDispatchMode

import cresset as torch

X = torch.tensor([1.0, 2.0])


class Log(TorchDispatchMode):
    def __init__(self, name="", log=None):
        super().__init__()
        self.name, self.log = name, [] if log is None else log

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.log.append(f"{self.name}{func.overloadpacket.__name__}")
        return func(*args, **(kwargs or {}))


class Modes(unittest.TestCase):
    def test_inner_modes_first_and_each_sees_what_the_inner_one_calls(self):
        log = []
        with Log("outer ", log), Log("inner ", log):
            X.exp()
        self.assertEqual(log, ["inner exp", "outer exp"])
        X.exp()
        self.assertEqual(len(log), 2)

    def test_replaced_operators_go_to_outer_modes(self):
        class Swap(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return torch.cos(*args) if func is torch.ops.aten.sin.default else func(*args, **(kwargs or {}))

        log = []
        with Log("", log), Swap():
            y = X.sin()
        torch.testing.assert_close(y, X.cos())
        self.assertEqual(log, ["cos"])

    def test_backward_is_seen(self):
        x = X.clone().requires_grad_()
        y = x.tanh().sum()
        with Log() as mode:
            y.backward()
        self.assertIn("tanh_backward", mode.log)

    def test_a_mode_may_be_entered_again_and_within_itself(self):
        mode = Log()
        with mode, mode:
            X.neg()
        self.assertEqual(mode.log, ["neg", "neg"])

    def test_errors_leave_the_stack_as_it_was(self):
        class Fails(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                raise ValueError("no")

        with Log() as mode:
            with self.assertRaises(ValueError), Fails():
                X.neg()
            X.neg()
        self.assertEqual(mode.log, ["neg"])
        self.assertEqual(dispatch._get_current_dispatch_mode_stack(), [])

    def test_functions_over_the_stack(self):
        self.assertIsNone(dispatch._get_current_dispatch_mode())
        with Log() as outer, Log() as inner:
            self.assertIs(dispatch._get_current_dispatch_mode(), inner)
            self.assertEqual(dispatch._get_current_dispatch_mode_stack(), [outer, inner])
            with dispatch._pop_mode_temporarily() as mode:
                self.assertIs(mode, inner)
                X.neg()
            with dispatch._disable_current_modes() as modes:
                self.assertEqual(modes, [outer, inner])
                self.assertFalse(dispatch.is_in_torch_dispatch_mode())
                X.neg()
            self.assertTrue(dispatch.is_in_torch_dispatch_mode())
        self.assertEqual((outer.log, inner.log), (["neg"], []))
        with self.assertRaisesRegex(RuntimeError, "no dispatch mode is active"):
            dispatch._pop_mode()

    def test_pre_dispatch_modes_see_composites_whole(self):
        class Above(Log):
            _dispatch_key = "PreDispatch"

        w = torch.ones(3, 2)
        with Above() as mode:
            torch.nn.functional.linear(X, w)
        self.assertEqual(mode.log, ["linear"])

    def test_return_and_correct_aliasing_returns_what_was_written(self):
        x = X.clone()
        self.assertIs(dispatch.return_and_correct_aliasing(torch.ops.aten.add_.Tensor, (x, 1), {}, X.clone()), x)


if __name__ == "__main__":
    unittest.main()
