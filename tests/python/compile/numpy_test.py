"""NumPy within captured functions: its functions run on values that are known, and tensors take its numbers."""

import numpy as np
import pytest

import cresset as torch

TABLE = np.arange(3.0)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def filled(x):
    a = np.zeros(3)
    a[1] = 2
    return x + float(a.sum())


WHOLE = {
    "a_root_of_a_size": lambda x: x / np.sqrt(x.shape[-1]),
    "a_number_on_the_left": lambda x: np.sqrt(4.0) * x - np.float32(0.1) * x,
    "arithmetic_in_single_precision": lambda x: x * (np.float32(0.1) * 3),
    "the_sum_of_an_array": lambda x: x + np.array([1.0, 2.0]).sum(),
    "an_array_that_is_filled": filled,
    "a_shape": lambda x: x.reshape(np.prod(x.shape)),
    "an_index": lambda x: x[np.int64(1)],
    "a_keyword": lambda x: x.clamp(min=np.float64(0.5)),
    "a_condition": lambda x: x + 1 if np.max([1, 2]) > 1 else x - 1,
    "a_list": lambda x: x + torch.tensor(np.linspace(0, 1, 4).tolist()),
}


@pytest.mark.parametrize("name", WHOLE)
def test_known_values_stay_in_the_graph(name):
    function, x = WHOLE[name], torch.arange(4.0)
    compiled = torch.compile(function, fullgraph=True)
    for _ in range(2):
        got, expected = compiled(x), function(x)
        assert got.dtype == expected.dtype and torch.equal(got, expected)


@pytest.mark.parametrize(
    "function",
    [lambda x: x + TABLE.sum(), lambda x: x + np.sum(x.numpy()), lambda x: x + np.random.RandomState(0).rand(), lambda x: (x + 1, np.sqrt(4.0))],
    ids=["an_array_outside", "a_tensor", "random_numbers", "a_number_that_is_returned"],
)
def test_others_run_between_graphs(function):
    x = torch.arange(4.0)
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(function, fullgraph=True)(x)
    got, expected = torch.compile(function)(x), function(x)
    for a, b in zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]:
        assert type(a) is type(b) and bool((a == b).all())


def test_random_numbers_are_drawn_at_each_call():
    compiled = torch.compile(lambda x: x + np.random.rand())
    x = torch.zeros(1)
    assert compiled(x).item() != compiled(x).item()


def test_sizes_that_change():
    compiled = torch.compile(lambda x: x / np.sqrt(x.shape[0]))
    for n in (4, 5, 9, 16):
        x = torch.ones(n)
        torch.testing.assert_close(compiled(x), x / np.sqrt(n))
