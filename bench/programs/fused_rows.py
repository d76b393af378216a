"""A call of every fused row: the arguments that tests/python/ops/fused_test.py compares with the decomposition, and bench/fused.py times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Call = tuple[tuple[Any, ...], dict[str, Any]]
ADAM = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-8, "amsgrad": True, "maximize": False}
SGD = {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.2, "nesterov": False, "maximize": True, "is_first_step": False}
ADAGRAD = {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "eps": 1e-10, "maximize": False}
RMSPROP = {"lr": 0.1, "alpha": 0.9, "eps": 1e-8, "weight_decay": 0.1, "momentum": 0.5, "maximize": False}


def calls(m: Any, n: int, dtype: Any) -> dict[str, Callable[[], Call]]:
    """For each fused row a function that makes its arguments, of about n numbers, the same at each call."""
    side = max(4, int(n**0.5) // 4 * 4)

    def dense(*shape: int) -> Any:
        m.manual_seed(len(shape) + sum(shape))
        return m.rand(shape, dtype=dtype) + 0.1

    def holey(*shape: int) -> Any:
        t = dense(*shape)
        return m.where(t > 1.05, t, 0)

    def coo(*shape: int) -> Any:
        return holey(*shape).to_sparse()

    def repeated() -> Any:
        positions = m.arange(2 * side).reshape(1, -1) % side
        return m.sparse_coo_tensor(positions, dense(2 * side, side), (side, side))

    def step(states: int, counts: bool, numbers: dict[str, Any]) -> Call:
        lists = [[dense(side, side) + k, dense(side) + k] for k in range(2 + states)]
        return (*lists, *([[m.tensor(3.0), m.tensor(8.0)]] if counts else [])), numbers

    pair = lambda: (dense(side, side), dense(side, side) * 2)
    return {
        "mse_loss": lambda: (pair(), {}),
        "smooth_l1_loss": lambda: (pair(), {"beta": 0.5}),
        "huber_loss": lambda: (pair(), {"delta": 0.5}),
        "cdist": lambda: ((dense(side // 4, 16), dense(side // 2, 16)), {"p": 1.0}),
        "pdist": lambda: ((dense(side // 2, 16),), {"p": 1.0}),
        "logsumexp": lambda: ((dense(side, side), [1]), {}),
        "_fused_adam_": lambda: step(3, True, ADAM),
        "_fused_adamw_": lambda: step(3, True, ADAM),
        "_fused_sgd_": lambda: step(1, False, SGD),
        "_fused_adagrad_": lambda: step(1, True, ADAGRAD),
        "_fused_rmsprop_": lambda: step(3, False, RMSPROP),
        "_coalesce": lambda: ((repeated(),), {}),
        "_to_dense": lambda: ((coo(side, side),), {}),
        "_to_sparse.sparse_dim": lambda: ((holey(side, side), 1), {}),
        "_to_sparse": lambda: ((holey(side, side),), {}),
        "to_sparse_csr": lambda: ((holey(side, side),), {}),
        "to_sparse_csc": lambda: ((holey(side, side),), {}),
        "to_sparse_bsr": lambda: ((holey(side, side), (2, 2)), {}),
        "to_sparse_bsc": lambda: ((holey(side, side), (2, 2)), {}),
        "sparse_mask": lambda: ((dense(side, side), coo(side, side)), {}),
        "_sparse_addmm": lambda: ((dense(side, side), coo(side, side), dense(side, side)), {"beta": 2, "alpha": 3}),
        "_sparse_sparse_matmul": lambda: ((coo(side, side), coo(side, side)), {}),
        "sparse_sampled_addmm": lambda: ((holey(side, side).to_sparse_csr(), dense(side, 16), dense(16, side)), {"beta": 2, "alpha": 3}),
        "_sparse_sum.dim": lambda: ((coo(side, side), [0]), {}),
        "_sparse_softmax": lambda: ((coo(side, side), 1, False), {}),
        "_sparse_log_softmax": lambda: ((coo(side, side), 1, False), {}),
    }
