"""Operators that are another form of what is there: names, schemas and values, against PyTorch where it is installed."""

import importlib.util

import numpy as np
import pytest
from cresset._core.aten_forms import TABLE as FORMS

import cresset as torch

aten = torch.ops.aten
rng = np.random.default_rng(3)
X, Y, IMAGE = rng.standard_normal((4, 6)).astype("float32"), rng.standard_normal((4, 6)).astype("float32"), rng.standard_normal((2, 3, 5, 5)).astype("float32")
INTS, FLAGS, ROWS = rng.integers(0, 50, (3, 4)), X > 0, np.array([3, 0, 2])
KERNEL, TABLE = rng.standard_normal((6, 3, 2, 2)).astype("float32"), rng.standard_normal((7, 5)).astype("float32")
# Calls that PyTorch computes on the CPU, too. Lists of arrays are lists of tensors.
CALLS = {
    "__and__.Tensor": (INTS, INTS.T.reshape(3, 4)), "__or__.Scalar": (INTS, 6), "__xor__.Tensor": (FLAGS, ~FLAGS), "__lshift__.Scalar": (INTS, 2),
    "__rshift__.Tensor": (INTS, INTS % 3), "__iand__.Scalar": (INTS, 12), "__ilshift__.Tensor": (INTS, INTS % 4),
    "_unsafe_index.Tensor": (X, [None, ROWS]), "_unsafe_index_put": (X, [ROWS], Y[:3], True), "_stack": ([X, Y], 1), "where": (FLAGS,),
    "_index_put_impl": (X, [ROWS], Y[:3]), "_index_put_impl_": (X, [ROWS], Y[:3], False, True), "meshgrid": ([X[0], Y[:, 0]],),
    "masked_scatter_backward": (X, FLAGS, [3, 8]),
    "_convolution": (IMAGE, KERNEL, X[0], [1, 2], [1, 0], [1, 1], False, [0, 0], 1, False, False, True, True),
    "_convolution.deprecated": (IMAGE, KERNEL[:3], None, [2], [1], [1], True, [1], 1, False, False, True),
    "_convolution_mode": (IMAGE, KERNEL, None, [1, 1], "same", [1, 1], 1),
    "_embedding_bag": (TABLE, np.array([1, 2, 4, 5, 4, 3]), np.array([0, 2, 5]), False, 1), "linear_backward": None,
    "_embedding_bag_forward_only": (TABLE, np.array([1, 2, 4]), np.array([0, 1]), False, 2, False, None, False, 2),
    "embedding_renorm": (TABLE, ROWS, 1.0, 2.0), "resize": (X, [2, 3]), "float_power_.Scalar": (X.astype("float64"), 2),
    "float_power_.Tensor": (X.astype("float64"), np.float64(3)),
    "view_as_real_copy": (X + 1j * Y,), "view_as_complex_copy": (X.reshape(4, 3, 2),), "_conj_copy": (X + 1j * Y,), "_conj_physical": (X + 1j * Y,),
    "_neg_view_copy": (X,), "matrix_H": (X + 1j * Y,), "mH": (IMAGE,), "numpy_T": (IMAGE,), "linalg_diagonal": (IMAGE,),
    "tensor_split.tensor_indices_or_sections": (X, np.array([1, 3])), "is_same_size": (X, Y), "is_set_to": (X, X),
    "_cast_Byte": (INTS,), "_cast_Char": (INTS,), "_cast_Double": (X,), "_cast_Float": (INTS,), "_cast_Int": (X,), "_cast_Long": (X,), "_cast_Short": (X,),
    "_cast_Half": (X,), "unique_dim_consecutive": (INTS % 2, 0, True, True), "_aminmax": (X,), "_aminmax.dim": (X, 1, True), "_unique": (INTS % 5, True, True), "_euclidean_dist": (X, Y),
    "_add_relu.Tensor": (X, Y), "_addmm_activation": (X[0], X[:, :4], Y),
}  # fmt: skip


def _overload(ops, title):
    name, _, overload = title.partition(".")
    return getattr(getattr(ops.aten, name), overload or "default")


def _given(module, value):
    if isinstance(value, list) and any(isinstance(v, np.ndarray) for v in value):
        return [_given(module, v) for v in value]
    return (
        module.from_numpy(value.copy()) if isinstance(value, np.ndarray) else module.tensor(value.item()).double() if isinstance(value, np.generic) else value
    )


def _flat(value):
    return [part for item in value for part in _flat(item)] if isinstance(value, (list, tuple)) else [value]


@pytest.fixture
def pytorch():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    import torch as module

    return module


@pytest.mark.parametrize("title", list(FORMS))
def test_schemas_are_those_of_pytorch(title, pytorch):
    assert str(_overload(torch.ops, title)._schema) == str(_overload(pytorch.ops, title)._schema)


@pytest.mark.parametrize("title", [title for title, call in CALLS.items() if call])
def test_values_are_those_of_pytorch(title, pytorch):
    found, expected = (_overload(m.ops, title)(*(_given(m, v) for v in CALLS[title])) for m in (torch, pytorch))
    for a, b in zip(_flat(found), _flat(expected), strict=True):
        if not isinstance(a, torch.Tensor):
            assert a == b
            continue
        assert (str(a.dtype), tuple(a.shape)) == (str(b.dtype), tuple(b.shape))
        a, b = (t.resolve_conj().numpy() for t in (a, b))
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_gradients_of_a_linear_layer():
    x, w, b = (torch.from_numpy(a.copy()).requires_grad_() for a in (X, Y, X[:, 0]))
    y = torch.nn.functional.linear(x, w, b)
    grad = torch.randn(y.shape)
    y.backward(grad)
    for found, leaf in zip(aten.linear_backward(x.detach(), grad, w.detach(), [True] * 3), (x, w, b), strict=True):
        assert torch.allclose(found, leaf.grad)
    assert aten.linear_backward(x.detach(), grad, w.detach(), [False] * 3) == (None, None, None)


@pytest.mark.parametrize("name, more", [("random", ()), ("random.from", (2, 9)), ("random.to", (9,)), ("uniform", (1.0, 2.0)), ("exponential", (2.0,)), ("geometric", (0.5,)), ("log_normal", ()), ("cauchy", ()), ("normal_functional", (1.0,)), ("bernoulli.Tensor", (torch.full((3,), 0.5),))])  # fmt: skip
def test_samples_come_in_a_new_tensor(name, more):
    base, _, overload = name.partition(".")
    before = torch.zeros(3)
    torch.manual_seed(4)
    found = _overload(torch.ops, name)(before, *more)
    torch.manual_seed(4)
    assert torch.equal(found, getattr(before.clone(), f"{base.removesuffix('_functional')}_")(*more))
    assert before.tolist() == [0, 0, 0]
    assert found.shape == (3,)


@pytest.mark.parametrize("view", ["values", "indices"])
def test_copies_of_the_parts_of_sparse_tensors(view):
    sparse = torch.eye(3).to_sparse().coalesce()
    part = _overload(torch.ops, f"{view}_copy")(sparse)
    assert torch.equal(part, getattr(sparse, view)())
    assert part.data_ptr() != getattr(sparse, view)().data_ptr()


def test_questions_and_settings():
    x = torch.ones(2)
    before = aten._version(x)
    x.add_(1)
    assert aten._version(x) == before + 1
    assert aten.requires_grad_(x).requires_grad
    y = x * 2
    aten.retain_grad(y)
    y.sum().backward()
    assert y.grad.tolist() == [1, 1]
