"""A state that cannot be an optimizer's or a model's is refused as a whole, by name; nothing is half-loaded or half-stepped."""

import copy
import unittest

import cresset as torch
from cresset import nn, optim

KINDS = {
    "Adam": {}, "AdamW": {"amsgrad": True}, "SGD": {"momentum": 0.9}, "RMSprop": {"momentum": 0.5, "centered": True}, "Adagrad": {}, "Adadelta": {},
    "Adamax": {}, "NAdam": {}, "RAdam": {}, "ASGD": {}, "Rprop": {}, "Adafactor": {}, "Muon": {}, "LBFGS": {},
}  # fmt: skip


def trained(name, inputs=3):
    model = nn.Linear(inputs, 2, bias=name not in ("Muon",))
    optimizer = getattr(optim, name)(model.parameters(), **KINDS[name])

    def closure():
        optimizer.zero_grad()
        loss = model(torch.ones(4, inputs)).square().sum()
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)
    return model, optimizer, closure


def frozen(optimizer):
    return repr(optimizer.state_dict())


class OptimizerStates(unittest.TestCase):
    def test_another_models_state_is_refused_whole(self):
        for name in KINDS:
            with self.subTest(name):
                torch.manual_seed(0)
                state = trained(name, inputs=5)[1].state_dict()
                model, optimizer, closure = trained(name)
                before, weight = frozen(optimizer), model.weight.detach().clone()
                with self.assertRaisesRegex(ValueError, "of another shape: .* instead of"):
                    optimizer.load_state_dict(state)
                self.assertEqual(frozen(optimizer), before)
                self.assertTrue(torch.equal(model.weight, weight))
                optimizer.step(closure)

    def test_its_own_state_is_taken(self):
        for name in KINDS:
            with self.subTest(name):
                torch.manual_seed(0)
                _, optimizer, _ = trained(name)
                state = copy.deepcopy(optimizer.state_dict())
                _, other, closure = trained(name)
                other.load_state_dict(state)
                self.assertEqual(frozen(other), repr(state))
                other.step(closure)

    def test_missing_and_unexpected_entries_are_listed(self):
        _, sgd, _ = trained("SGD")
        _, adam, closure = trained("Adam")
        state = {**adam.state_dict(), "state": sgd.state_dict()["state"]}
        before = frozen(adam)
        with self.assertRaisesRegex(ValueError, "parameter 0: missing: step, exp_avg, exp_avg_sq; unexpected: momentum_buffer. parameter 1"):
            adam.load_state_dict(state)
        self.assertEqual(frozen(adam), before)
        adam.step(closure)
        # PyTorch takes the state of Adam for SGD, and makes the momentum anew; so does an option that was switched on in between.
        sgd.load_state_dict({**sgd.state_dict(), "state": trained("Adam")[1].state_dict()["state"]})
        late = trained("Adam")[1].state_dict()
        late["param_groups"][0]["amsgrad"] = True
        self.assertRaisesRegex(ValueError, "missing: max_exp_avg_sq", adam.load_state_dict, late)

    def test_other_groups(self):
        _, adam, _ = trained("Adam")
        state = adam.state_dict()
        for groups in ([], state["param_groups"] * 2, [{**state["param_groups"][0], "params": [0]}]):
            self.assertRaises(ValueError, adam.load_state_dict, {**state, "param_groups": groups})


class Options(unittest.TestCase):
    def test_parameters_twice_or_that_are_no_leaves(self):
        w = torch.ones(2, requires_grad=True)
        for name in KINDS:
            with self.subTest(name):
                kind = getattr(optim, name)
                if name != "Muon":
                    self.assertRaises(ValueError, kind, [w * 2])
                    with self.assertWarns(UserWarning):
                        kind([w, w])
                self.assertRaises(ValueError, kind, [])
                self.assertRaises(TypeError, kind, w)
        self.assertRaises(ValueError, optim.SGD, [{"params": [w]}, {"params": [w]}])
        optimizer = optim.SGD([w])
        self.assertRaises(ValueError, optimizer.add_param_group, {"params": [w]})
        self.assertEqual(len(optimizer.param_groups), 1)

    def test_ranges(self):
        w = [torch.ones(2, 2, requires_grad=True)]
        for name in KINDS:
            with self.subTest(name):
                self.assertRaises(ValueError, getattr(optim, name), w, lr=-1.0)
        for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam"):
            for betas in ((1.0, 0.9), (0.9, -0.1)):
                with self.subTest(name, betas=betas):
                    self.assertRaises(ValueError, getattr(optim, name), w, betas=betas)


class Scaler(unittest.TestCase):
    def test_a_step_with_non_finite_gradients_moves_nothing(self):
        for bad in (float("inf"), float("nan")):
            for name in ("Adam", "SGD", "Adagrad", "Rprop"):
                with self.subTest(name, bad=bad):
                    model, optimizer, _ = trained(name)
                    before, weight = frozen(optimizer), model.weight.detach().clone()
                    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
                    optimizer.zero_grad()
                    scaler.scale(model(torch.full((1, 3), bad)).sum()).backward()
                    self.assertIsNone(scaler.step(optimizer))
                    scaler.update()
                    self.assertEqual(frozen(optimizer), before)
                    self.assertTrue(torch.equal(model.weight, weight))
                    self.assertEqual(scaler.get_scale(), 4.0)


class LazyModules(unittest.TestCase):
    def test_before_the_first_input(self):
        for make in (lambda: nn.LazyLinear(2), lambda: nn.LazyConv2d(2, 3), lambda: nn.LazyBatchNorm1d()):
            layer = make()
            with self.subTest(type(layer).__name__):
                self.assertRaises(ValueError, lambda: layer.weight + 1)
                self.assertRaises(RuntimeError, lambda: layer.weight.shape)
                self.assertRaises(RuntimeError, copy.deepcopy(layer).share_memory)
        layer = nn.LazyLinear(2)
        layer(torch.ones(1, 3))
        self.assertIs(type(layer), nn.Linear)


class ModelStates(unittest.TestCase):
    def test_another_models_state_changes_nothing(self):
        source, target = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)), nn.Sequential(nn.Linear(3, 2), nn.Linear(4, 1), nn.ReLU(), nn.Linear(1, 1))
        state = {**source.state_dict(), "extra": torch.ones(1)}
        before = repr(target.state_dict())
        with self.assertRaises(RuntimeError) as caught:
            target.load_state_dict(state)
        for part in ('"3.weight"', '"3.bias"', '"extra"', "1.weight", "torch.Size([1, 2])", "torch.Size([1, 4])"):
            self.assertIn(part, str(caught.exception))
        self.assertEqual(repr(target.state_dict()), before)
        kept = target[0].weight
        self.assertRaises(RuntimeError, target.load_state_dict, state, assign=True)
        self.assertIs(target[0].weight, kept)
        # Loading that is not strict takes the entries that fit; a wrong shape refuses it all.
        self.assertRaises(RuntimeError, target.load_state_dict, state, strict=False)
        self.assertEqual(repr(target.state_dict()), before)
        del state["1.weight"]
        self.assertEqual(target.load_state_dict(state, strict=False).unexpected_keys, ["extra"])
        self.assertTrue(torch.equal(target[0].weight, source[0].weight))


if __name__ == "__main__":
    unittest.main()
