"""Optimizers that work on other parameters for a while, and methods of one's own between the hooks."""

import copy
import unittest

import cresset as torch
from cresset import nn, optim


class Swap(unittest.TestCase):
    def setUp(self):
        self.own = nn.Parameter(torch.ones(2))
        self.optimizer = optim.Adam([self.own], lr=0.1)
        self.own.grad = torch.ones(2)
        self.optimizer.step()
        self.state = copy.deepcopy(self.optimizer.state_dict())
        self.other = nn.Parameter(torch.full((2,), 5.0))
        self.other.grad = torch.ones(2)

    def swap(self, parameters=None, state=None):
        return optim.swap_in_optimizer_params_and_state(self.optimizer, parameters or {"w": self.other}, state or self.state)

    def test_the_others_are_updated(self):
        before = self.own.detach().clone()
        self.state["param_groups"][0]["lr"] = 1.0
        with self.swap():
            self.assertIs(self.optimizer.param_groups[0]["params"][0], self.other)
            self.optimizer.step()
            self.optimizer.param_groups[0]["lr"] = 7.0
            self.optimizer.state[self.other]["new"] = 1
        self.assertTrue(torch.equal(self.own, before))
        self.assertTrue(torch.allclose(self.other, torch.full((2,), 4.0)))
        self.assertIs(self.optimizer.param_groups[0]["params"][0], self.own)
        self.assertEqual(self.optimizer.param_groups[0]["lr"], 0.1)
        self.assertEqual(self.optimizer.state[self.own]["step"], 1)
        self.assertEqual(self.state["state"][0]["step"], 2)  # changed in place
        self.assertNotIn("new", self.state["state"][0])

    def test_the_own_ones_come_back_after_an_error(self):
        with self.assertRaises(KeyError), self.swap():
            raise KeyError
        self.assertIs(self.optimizer.param_groups[0]["params"][0], self.own)

    def test_refusals(self):
        for state in ({"param_groups": self.state["param_groups"]}, {"state": {}, "param_groups": []}, {"state": {}, "param_groups": [{"params": [0, 1]}]}):
            with self.assertRaises(RuntimeError), self.swap(state=state):
                pass
        self.optimizer = optim.Adam([self.own])
        with self.assertRaisesRegex(RuntimeError, "initialized"), self.swap():
            pass


class Hooks(unittest.TestCase):
    def test_methods_between_hooks(self):
        seen = []

        class Mine(optim.Optimizer):
            @optim.Optimizer.profile_hook_step
            def run(self, x):
                seen.append(x)
                return x

        mine = Mine([nn.Parameter(torch.ones(1))], {})
        mine.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
        mine.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))
        self.assertEqual(mine.run(3), 3)
        self.assertEqual(seen, ["before", 3, "after"])


if __name__ == "__main__":
    unittest.main()
