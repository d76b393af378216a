"""PyTorch's primitives: each one, under its schema, gives what the operators give that it is made of."""

import pytest

import cresset as torch

prims = torch.ops.prims
X, Y = torch.tensor([[0.3, 0.7], [0.2, 0.9]]), torch.tensor([[0.5, 0.1], [0.8, 0.4]])
MADE = {"dtype": torch.float32, "device": torch.device("cpu"), "requires_grad": False}


@pytest.mark.parametrize("name", ["abs", "cos", "erf", "exp", "lgamma", "log1p", "neg", "reciprocal", "round", "rsqrt", "sign", "tanh", "trunc"])
def test_those_of_one_tensor(name):
    assert torch.equal(getattr(prims, name)(X), getattr(torch, name)(X))


@pytest.mark.parametrize("name", ["add", "atan2", "eq", "fmod", "hypot", "igamma", "le", "maximum", "mul", "nextafter", "pow", "sub"])
def test_those_of_two_tensors(name):
    assert torch.equal(getattr(prims, name).default(X, Y), getattr(torch, name)(X, Y))
    assert str(getattr(prims, name).default._schema).endswith("(Tensor self, Tensor other) -> Tensor")


def test_quotients_of_integers_are_truncated():
    assert prims.div(torch.tensor([-7, 7]), torch.tensor([2, 2])).tolist() == [-3, 3]
    assert torch.equal(prims.div(X, Y), X / Y)


def test_shapes():
    assert prims.broadcast_in_dim(X[0], [3, 2], [1]).tolist() == [X[0].tolist()] * 3
    assert prims.split_dim(torch.arange(6), 0, 2).shape == (2, 3)
    assert prims.collapse_view(torch.zeros(2, 3, 4), 1, 2).shape == (2, 12)
    assert torch.equal(prims.transpose(X, [1, 0]), X.t())
    assert prims.squeeze(X[None], [0]).shape == (2, 2)
    assert torch.equal(prims.rev(X, [0]), X.flip(0))
    with pytest.raises(ValueError, match="a size that 4 divides, got 6"):
        prims.split_dim(torch.arange(6), 0, 4)


def test_reductions():
    assert torch.equal(prims.sum(X, [1]), X.sum(1))
    assert torch.equal(prims.amax(X, [0, 1]), X.max())
    torch.testing.assert_close(prims.prod(X, None, output_dtype=torch.float64), X.prod(0).prod(0).double())
    assert torch.equal(prims.var(X, [1], 0), X.var(1, correction=0))
    assert prims.xor_sum(torch.tensor([[1, 2, 4], [3, 3, 1]]), [1]).tolist() == [7, 1]


def test_tensors_that_are_made():
    assert prims.iota(4, start=2, step=3, dtype=torch.int64, device=torch.device("cpu"), requires_grad=False).tolist() == [2, 5, 8, 11]
    assert prims.full([2], 3.0, **MADE).tolist() == [3.0, 3.0]
    assert prims.empty_permuted([2, 3], [1, 0], **MADE).stride() == (1, 2)
    torch.manual_seed(0)
    drawn = prims.normal([3], mean=0.0, std=1.0, **MADE)
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.randn(3))
    assert prims.minimum_value(torch.int8) == -128
    assert prims.maximum_value(torch.float32) == torch.finfo(torch.float32).max


def test_writes_and_views():
    x = X.clone()
    assert prims.copy_to(x, Y) is x
    assert torch.equal(x, Y)
    assert prims.view_of(x).data_ptr() == x.data_ptr()
    assert prims.convert_element_type(x, torch.float32).data_ptr() != x.data_ptr()
    assert prims.copy_strided(x, [1, 2]).stride() == (1, 2)
    with pytest.raises(RuntimeError, match="expected a complex tensor, got one of torch.float32"):
        prims.conj_physical(x)


def test_the_module_has_the_same_names():
    assert torch._prims.cbrt(torch.tensor([-8.0])).tolist() == pytest.approx([-2.0])
    assert not hasattr(torch._prims, "no_such")
    assert len(list(prims)) >= 120


def test_graphs_hold_them():
    graph = torch.fx.experimental.proxy_tensor.make_fx(lambda x: prims.add(prims.sin(x), x))(X).graph
    assert [str(n.target) for n in graph.nodes if n.op == "call_function"] == ["prims.sin.default", "prims.add.default"]
