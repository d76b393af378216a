"""torch.optim.adam.adam and its kin: a step on lists that the program keeps is the step of the class."""

import importlib
import unittest

import numpy as np

import cresset as torch
from cresset.optim import _functional

BETAS = {"betas": (0.9, 0.99)}
BETA_NUMBERS = {"beta1": 0.9, "beta2": 0.99}
# module: (class, options of the class, names of the states in the order of the function, numbers of the function)
RULES = {
    "adam": ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1, **BETAS}, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"),
             {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1, "eps": 1e-8, "maximize": False, **BETA_NUMBERS}),
    "adamw": ("AdamW", {"lr": 0.1, "weight_decay": 0.1, **BETAS}, ("exp_avg", "exp_avg_sq", None),
              {"lr": 0.1, "amsgrad": False, "weight_decay": 0.1, "eps": 1e-8, "maximize": False, **BETA_NUMBERS}),
    "adagrad": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}, ("sum",), {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0, "eps": 1e-10, "maximize": False}),
    "rmsprop": ("RMSprop", {"lr": 0.1, "momentum": 0.5, "centered": True}, ("square_avg", "grad_avg", "momentum_buffer"),
                {"lr": 0.1, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0, "momentum": 0.5, "centered": True}),
    "adadelta": ("Adadelta", {"lr": 0.5, "rho": 0.8}, ("square_avg", "acc_delta"), {"lr": 0.5, "rho": 0.8, "eps": 1e-6, "weight_decay": 0, "maximize": False}),
    "adamax": ("Adamax", {"lr": 0.1, **BETAS}, ("exp_avg", "exp_inf"), {"lr": 0.1, "eps": 1e-8, "weight_decay": 0, **BETA_NUMBERS}),
    "nadam": ("NAdam", {"lr": 0.1, **BETAS}, ("exp_avg", "exp_avg_sq", "mu_product"),
              {"lr": 0.1, "eps": 1e-8, "weight_decay": 0, "momentum_decay": 4e-3, **BETA_NUMBERS}),
    "radam": ("RAdam", {"lr": 0.1, **BETAS}, ("exp_avg", "exp_avg_sq"), {"lr": 0.1, "eps": 1e-8, "weight_decay": 0, **BETA_NUMBERS}),
    "rprop": ("Rprop", {"lr": 0.1}, ("prev", "step_size"), {"step_size_min": 1e-6, "step_size_max": 50, "etaminus": 0.5, "etaplus": 1.2}),
    "asgd": ("ASGD", {"lr": 0.1, "t0": 1}, ("ax", "mu", "eta"), {"lr": 0.1, "t0": 1, "lambd": 1e-4, "alpha": 0.75, "weight_decay": 0}),
}  # fmt: skip


def values(shape, seed):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


def started(kind, options, shapes=((3,), (2, 4))):
    """An optimizer whose parameters have states, and a gradient each."""
    optimizer = getattr(torch.optim, kind)([values(shape, i).requires_grad_() for i, shape in enumerate(shapes)], **options)
    for seed in (10, 20):
        for i, p in enumerate(optimizer.param_groups[0]["params"]):
            p.grad = values(p.shape, seed + i)
        if seed == 10:
            optimizer.step()
    return optimizer


def lists_of(optimizer, names):
    params = optimizer.param_groups[0]["params"]
    states = [[optimizer.state[p][name].clone() for p in params] if name else [] for name in names]
    return [p.detach().clone() for p in params], [p.grad.clone() for p in params], states


class Functions(unittest.TestCase):
    def same(self, optimizer, names, params, states):
        kept = optimizer.param_groups[0]["params"]
        for p, q in zip(params, kept, strict=True):
            torch.testing.assert_close(p, q.detach(), rtol=0, atol=0)
        for name, tensors in zip(names, states, strict=True):
            for state, p in zip(tensors, kept, strict=False):
                torch.testing.assert_close(state, optimizer.state[p][name], rtol=0, atol=0)

    def test_a_step_on_lists_is_the_step_of_the_class(self):
        for module, (kind, options, names, numbers) in RULES.items():
            with self.subTest(module=module):
                optimizer = started(kind, options)
                params, grads, states = lists_of(optimizer, names)
                steps = [torch.tensor(1.0) for _ in params]
                function = getattr(importlib.import_module(f"cresset.optim.{module}"), module)
                self.assertIsNone(function(params, grads, *states, steps, **numbers))
                optimizer.step()
                self.same(optimizer, names, params, states)
                self.assertEqual([step.item() for step in steps], [2, 2])

    def test_sgd_makes_the_buffers_that_are_missing(self):
        optimizer = started("SGD", {"lr": 0.1, "momentum": 0.9})
        params, grads, (buffers,) = lists_of(optimizer, ("momentum_buffer",))
        optimizer.state[optimizer.param_groups[0]["params"][1]]["momentum_buffer"] = None
        buffers[1] = None
        torch.optim.sgd.sgd(params, grads, buffers, weight_decay=0, momentum=0.9, lr=0.1, dampening=0, nesterov=False, maximize=False)
        torch.testing.assert_close(buffers[1], grads[1])
        torch.testing.assert_close(params[1], optimizer.param_groups[0]["params"][1].detach() - 0.1 * grads[1])

    def test_adafactor_takes_matrices_and_others_in_one_call(self):
        optimizer = started("Adafactor", {"lr": 0.1})
        vector, matrix = optimizer.param_groups[0]["params"]
        params, grads, _ = lists_of(optimizer, ())
        rows, columns = [None, optimizer.state[matrix]["row_var"].clone()], [None, optimizer.state[matrix]["col_var"].clone()]
        variances, steps = [optimizer.state[vector]["variance"].clone(), None], [torch.tensor(1.0), torch.tensor(1.0)]
        torch.optim._adafactor.adafactor(
            params, grads, rows, columns, variances, steps, d=1.0, lr=0.1, beta2_decay=-0.8, weight_decay=0, eps1=None, eps2=1e-3, maximize=False
        )
        optimizer.step()
        self.same(optimizer, (), params, ())
        torch.testing.assert_close(rows[1], optimizer.state[matrix]["row_var"])

    def test_muon(self):
        optimizer = started("Muon", {"lr": 0.1}, ((3, 4), (4, 2)))
        params, grads, (buffers,) = lists_of(optimizer, ("momentum_buffer",))
        torch.optim._muon.muon(params, grads, buffers, lr=0.1, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315),
                               ns_steps=5, eps=1e-7, adjust_lr_fn=None, has_complex=False)  # fmt: skip
        optimizer.step()
        self.same(optimizer, ("momentum_buffer",), params, (buffers,))

    def test_sparse_adam_counts_by_numbers(self):
        p, grad = torch.ones(3), torch.sparse_coo_tensor([[1]], [1.0], (3,)).coalesce()
        _functional.sparse_adam([p], [grad], [torch.zeros(3)], [torch.zeros(3)], [1], eps=0, beta1=0.9, beta2=0.99, lr=0.5, maximize=False)
        torch.testing.assert_close(p, torch.tensor([1, 0.5, 1]))

    def test_rates_have_derivatives_where_the_step_is_differentiable(self):
        lr = torch.tensor(0.5, requires_grad=True)
        p, step = torch.ones(2) * 1, torch.tensor(0.0)
        numbers = {"beta1": 0.9, "beta2": 0.99, "weight_decay": 0, "eps": 0, "amsgrad": False, "maximize": False}
        torch.optim.adam.adam([p], [torch.ones(2)], [torch.zeros(2)], [torch.zeros(2)], [], [step], differentiable=True, lr=lr, **numbers)
        p.sum().backward()
        self.assertAlmostEqual(lr.grad.item(), -2, 5)

    def test_scaled_gradients(self):
        p, step = torch.ones(2), torch.tensor(0.0)
        numbers = {"lr": 0.5, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0, "eps": 0, "amsgrad": False, "maximize": False}
        lists = [p], [torch.ones(2)], [torch.zeros(2)], [torch.zeros(2)], [], [step]
        torch.optim.adam.adam(*lists, fused=True, grad_scale=torch.tensor(2.0), found_inf=torch.tensor(1.0), **numbers)
        self.assertEqual((p.tolist(), step.item()), ([1, 1], 0))
        torch.optim.adam.adam(*lists, fused=True, grad_scale=torch.tensor(2.0), found_inf=torch.tensor(0.0), **numbers)
        self.assertEqual((p.tolist(), step.item()), ([0.5, 0.5], 1))

    def test_a_refused_step_moves_nothing(self):
        numbers = {**BETA_NUMBERS, "lr": 0.1, "weight_decay": 0, "eps": 0, "amsgrad": False, "maximize": False}
        p, step = torch.ones(2), torch.tensor(3.0)
        for lists in (
            ([p], [torch.ones(3)], [torch.zeros(2)], [torch.zeros(2)], [], [step]),
            ([p], [torch.ones(2).to_sparse()], [torch.zeros(2)], [torch.zeros(2)], [], [step]),
            ([p], [torch.ones(2)], [torch.zeros(2)], [torch.zeros(2)], [], [3]),
        ):
            with self.assertRaises(RuntimeError):
                torch.optim.adam.adam(*lists, **numbers)
            self.assertEqual((p.tolist(), step.item()), ([1, 1], 3))
        with self.assertRaises(RuntimeError):
            torch.optim.adam.adam([p], [p.clone()], [p.clone()], [p.clone()], [], [step], foreach=True, fused=True, **numbers)
        torch.optim.adam.adam([], [], [], [], [], [], **numbers)
