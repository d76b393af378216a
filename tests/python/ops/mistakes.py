"""Calls that must be refused, on tensors with and without data: (args, kwargs) for each row."""

import numpy as np


def f(*shape):
    return np.ones(shape, np.float32)


def i(*values):
    return np.array(values)


def each(*calls):
    return [(call, {}) for call in calls]


def _convolutions(n):
    space = (5,) * n
    return each(
        (f(1, 3, *space), f(4, 2, *[2] * n)),  # channels
        (f(1, 2, *space), f(4, 2, *[6] * n)),  # a kernel greater than the input
        (f(1, 2, *space), f(4, 2, *[2] * n), f(3)),  # a bias of another size
        (f(1, 2, *space), f(4, 2, *[2] * n), None, 0),  # a step of nothing
        (f(1, 2, *space), f(4, 2, *[2] * n), None, 1, -1),
        (f(1, 4, *space), f(3, 2, *[2] * n), None, 1, 0, 1, 2),  # groups that do not divide the outputs
        (f(5), f(4, 2, *[2] * n)),
    )


def _transposed(n):
    space = (3,) * n
    return each(
        (f(1, 3, *space), f(2, 4, *[2] * n)),
        (f(1, 2, *space), f(2, 4, *[2] * n), f(3)),
        (f(1, 2, *space), f(2, 4, *[2] * n), None, 0),
        (f(1, 2, *space), f(2, 4, *[2] * n), None, 1, 0, 1),  # an output padding of a whole step
    )


def _max_pools(n):
    space = (5,) * n
    return each((f(1, 2, *space), (6,) * n), (f(1, 2, *space), (2,) * n, (1,) * n, 2), (f(1, 2, *space), (0,) * n), (f(2), (2,) * n))


def _avg_pools(n):
    space = (5,) * n
    return each(
        (f(1, 2, *space), (6,) * n), (f(1, 2, *space), (2,) * n, (1,) * n, 2), (f(1, 2, *space), (2,) * n, (1,) * n, 0, False, True, 0), (f(2), (2,) * n)
    )


def _adaptive(n):
    return each((f(1, 2, *(5,) * n), (-1,) * n), (f(2), (2,) * n))


CALLS = {
    "mm": each((f(2, 3), f(2, 3)), (f(3), f(3, 2))),
    "bmm": each((f(2, 2, 3), f(3, 3, 2)), (f(2, 3), f(3, 2))),
    "mv": each((f(2, 3), f(2)),),
    "dot": each((f(2), f(3)), (f(2, 2), f(2, 2))),
    "matmul": each((f(2, 3), f(2, 3)), (f(), f(3))),
    "addmm": each((f(2, 2), f(2, 3), f(2, 3)), (f(3, 3), f(2, 3), f(3, 2))),
    "linear": each((f(2, 3), f(4, 2)), (f(2, 3), f(4, 3), f(3))),
    "einsum": each(("ij,jk->ik", [f(2, 3), f(2, 3)]), ("ij->ik", [f(2, 3)]), ("i", [f(2, 3)]), ("ij,jk", [f(2, 3)])),
    "bilinear": each((f(2, 3), f(2, 4), f(5, 3, 3)), (f(2, 3), f(3, 4), f(5, 3, 4))),
    "cat": each(([f(2, 3), f(3, 2)], 0), ([f(2, 3)], 2)),
    "stack": each(([f(2, 3), f(3, 2)], 0), ([], 0)),
    "reshape": each((f(2, 3), (4, 2)), (f(2, 3), (-1, -1)), (f(2, 3), (4, -1))),
    "permute": each((f(2, 3), (0, 0)), (f(2, 3), (0,)), (f(2, 3), (0, 2))),
    "expand": each((f(2, 3), (2, 4)), (f(2, 3), (3,))),
    "narrow": each((f(5), 0, 3, 3), (f(5), 0, -6, 1)),
    "select.int": each((f(5), 0, 5), (f(), 0, 0)),
    "unfold": each((f(5), 0, 6, 1), (f(5), 0, 2, 0)),
    "gather": each((f(2, 3), 0, i(0, 1)),),
    "index_select": each((f(2, 3), 2, i(0)), (f(2, 3), 0, np.zeros((2, 2), np.int64)), (f(2, 3), 0, f(1))),
    "topk": each((f(3), 4), (f(3), -1)),
    "kthvalue": each((f(3), 4), (f(3), 0)),
    "glu": each((f(3),), (f(), 0)),
    "constant_pad_nd": each((f(2), (1,)), (f(2), (1, 1, 1, 1)), (f(2), (-3, 0))),
    "pad": each((f(1, 3), (3, 0), "reflect"), (f(1, 3), (4, 0), "circular"), (f(1, 3), (1, 1), "nothing")),
    "pixel_shuffle": each((f(3, 2, 2), 2), (f(2, 2), 1), (f(4, 2, 2), 0)),
    "pixel_unshuffle": each((f(1, 3, 4), 2), (f(2, 2), 1)),
    "im2col": each((f(1, 1, 2, 2), (3, 3), (1, 1), (0, 0), (1, 1)), (f(2, 2), (1, 1), (1, 1), (0, 0), (1, 1))),
    "col2im": each((f(1, 4, 3), (3, 3), (2, 2), (1, 1), (0, 0), (1, 1)), (f(1, 5, 4), (3, 3), (2, 2), (1, 1), (0, 0), (1, 1))),
    "layer_norm": each((f(2, 3), (2,)), (f(2, 3), (3,), f(2)), (f(3), (2, 3))),
    "group_norm": each((f(2, 3), 2), (f(2, 4), 2, f(3)), (f(4), 2)),
    "batch_norm": each((f(2, 3), f(2), None, None, None, True, 0.1, 1e-5, False), (f(2, 3), None, None, None, None, False, 0.1, 1e-5, False),
                       (f(1, 3), None, None, None, None, True, 0.1, 1e-5, False)),
    "nll_loss": each((f(2, 3), i(0)), (f(2, 3), i(0, 1), f(2)), (f(2, 3), i(0, 1), None, 5)),
    "cross_entropy_loss": each((f(2, 3), i(0)), (f(2, 3), i(0, 1), f(2)), (f(2, 3), i(0, 1), None, 1, -100, 2.0)),
    "binary_cross_entropy_with_logits": each((f(2), f(3)),),
    "cosine_embedding_loss": each((f(2, 3), f(2, 3), f(2, 1)), (f(3), f(3), f(2))),
    "huber_loss": each((f(2), f(2), 1, 0.0),),
    "smooth_l1_loss": each((f(2), f(2), 1, -1.0),),
    "triplet_margin_loss": each((f(2, 3), f(2, 3), f(3)),),
    "embedding": each((f(2, 3), f(1)), (f(3), i(0))),
    "take_along_dim": each((f(2, 3), i(0), 0),),
    "dropout": each((f(2), 1.5, True), (f(2), -0.5, True)),
    "feature_dropout": each((f(2), 0.5, True),),
    "uniform_": each((f(2), 2.0, 1.0), (i(1, 2), 0.0, 1.0)),
    "normal_": each((f(2), 0.0, -1.0),),
    "exponential_": each((f(2), 0.0),),
    "cauchy_": each((f(2), 0.0, 0.0),),
    "geometric_": each((f(2), 0.0), (f(2), 1.0)),
    "bernoulli_.float": each((f(2), 1.5),),
    "random_.from": each((f(2), 3, 3),),
    "multinomial": each((f(3), 4), (f(3), 0), (f(2, 2, 2), 1), (i(1, 2), 1)),
    "randperm": each((-1,),),
    "linspace": each((0, 1, -1),),
    "arange.start_step": each((0, 1, 0), (0, 1, -1)),
    "tril_indices": each((-1, 2),),
    "empty.memory_format": each(((-1,),),),
    "chain_matmul": each(([f(2, 3), f(2, 3)],),),
    "max_pool1d": _max_pools(1), "max_pool2d": _max_pools(2), "max_pool3d": _max_pools(3),
    "avg_pool1d": _avg_pools(1), "avg_pool2d": _avg_pools(2), "avg_pool3d": _avg_pools(3),
    "adaptive_avg_pool1d": _adaptive(1), "adaptive_avg_pool2d": _adaptive(2), "adaptive_avg_pool3d": _adaptive(3),
    "adaptive_max_pool1d": _adaptive(1), "adaptive_max_pool2d": _adaptive(2), "adaptive_max_pool3d": _adaptive(3),
    "conv1d": _convolutions(1), "conv2d": _convolutions(2), "conv3d": _convolutions(3),
    "conv_transpose1d": _transposed(1), "conv_transpose2d.input": _transposed(2), "conv_transpose3d.input": _transposed(3),
    "upsample_nearest2d": each((f(1, 2, 3), (2, 2)), (f(1, 1, 2, 2), (0, 2))),
    "scaled_dot_product_attention": each((f(2, 3, 4), f(2, 5, 3), f(2, 5, 3)), (f(2, 3, 4), f(2, 5, 4), f(2, 4, 4)), (f(3), f(3), f(3))),
}  # fmt: skip
