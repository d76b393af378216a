"""NumPy within captured functions: its functions run on values that are known, are operators on arrays made of tensors, and tensors take its numbers."""

import functools
import random

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


def same(a, b):
    """Whether two values are alike: classes, dtypes, sizes, and numbers up to the last bits."""
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b)
    return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b)


def written(a):
    a[0] = 7
    a *= 2
    return a[1:].sum()


MADE_OF_TENSORS = {
    "numbers": lambda x: x + np.sum(x.numpy()), "an_array": lambda x: x.numpy() + 1, "and_back": lambda x: torch.from_numpy(np.sin(x.numpy())),
    "a_known_number_is_returned": lambda x: (x + 1, np.sqrt(4.0)), "a_known_array_is_returned": lambda x: (x + 1, np.ones(3)),
    "joined": lambda x: np.concatenate([x.numpy(), np.zeros(4, np.float32)]).reshape(2, 4).T, "chosen": lambda x: np.where(x.numpy() > 1, x.numpy(), 0.0),
    "statistics": lambda x: torch.as_tensor(x.numpy().mean() + x.numpy().std(ddof=1)) * x, "products": lambda x: np.einsum("i,j->ij", x.numpy(), x.numpy()) @ x.numpy(),
    "a_copy_is_written": lambda x: (lambda a: (a.__setitem__(0, 7), a)[1])(x.clone().numpy()), "backwards": lambda x: x.numpy()[::-1].cumsum(),
    "single_and_double": lambda x: x.numpy() * np.float64(2) + np.arange(4), "a_number_as_python_has_it": lambda x: x + float(x.numpy().sum()),
    "integers_by_zero": lambda x: np.arange(4) // x.numpy().astype(np.int64), "a_mask": lambda x: x.numpy()[x.numpy() > 1], "of_a_tensor": lambda x: np.sin(x),
    "an_array_outside": lambda x: x + TABLE.sum(), "a_list_of_parts": lambda x: np.split(x.numpy(), 2), "a_class": lambda x: x + isinstance(x.numpy(), np.ndarray),
    "a_dtype": lambda x: (x.numpy().dtype, x)[1], "norms": lambda x: np.linalg.norm(x.numpy()), "transforms": lambda x: np.abs(np.fft.fft(x.numpy())),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE_OF_TENSORS)
def test_arrays_made_of_tensors_are_part_of_the_graph(name):
    function, x = MADE_OF_TENSORS[name], torch.arange(4.0)
    compiled = torch.compile(function, fullgraph=True)
    with np.errstate(divide="ignore"):
        for _ in range(2):
            assert same(compiled(x), function(x))


def test_arrays_are_arguments():
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(lambda a, b: np.sqrt(a) * b.max() + 1, backend=counter, fullgraph=True)
    for scale in (1, 2):
        a, b = np.arange(6.0).reshape(2, 3) * scale, np.arange(3, dtype=np.float32)
        assert same(compiled(a, b), np.sqrt(a) * b.max() + 1)
    assert counter.frame_count == 1
    assert same(compiled(np.ones(2, np.float32), b), np.sqrt(np.ones(2, np.float32)) * b.max() + 1)
    assert counter.frame_count == 2


def test_an_argument_is_written():
    for backend in ("inductor", "eager"):
        torch._dynamo.reset()
        a, b = np.arange(4.0), np.arange(4.0)
        assert same(torch.compile(written, backend=backend)(a), written(b))
        assert same(a, b)


def test_an_array_and_the_tensor_over_its_memory():
    def f(a, x):
        x.mul_(2)
        return a + 1

    for function in (f, torch.compile(f)):
        a = np.arange(3.0)
        assert function(a, torch.from_numpy(a)).tolist() == [1.0, 3.0, 5.0]


def test_gradients_of_a_wrapped_function():
    @torch.compile(fullgraph=True)
    @torch.compiler.wrap_numpy
    def total(a, *, scale):
        return np.sum(a * a) * scale

    x = torch.arange(3.0, requires_grad=True)
    total(x, scale=2).backward()
    assert x.grad.tolist() == [0.0, 4.0, 8.0]


def test_a_wrapped_function_elsewhere_is_numpys():
    @torch.compiler.wrap_numpy
    def both(a):
        return {"sum": a.sum(), "array": np.flip(a).copy()}

    found = both(torch.arange(3.0))
    assert found["sum"].item() == 3.0 and found["array"].tolist() == [2.0, 1.0, 0.0]
    with pytest.raises(TypeError, match="expected a function, got int"):
        torch.compiler.wrap_numpy(3)


def test_arrays_stay_numpys_without_trace_numpy():
    with torch._dynamo.config.patch(trace_numpy=False), pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(lambda x: x.numpy() + 1, fullgraph=True)(torch.ones(2))


def test_a_function_that_tensors_lack_breaks_the_graph():
    def f(x):
        return torch.from_numpy(np.interp(x.numpy(), [0.0, 4.0], [0.0, 1.0])) + x

    x = torch.arange(4.0)
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"numpy.interp, which tensors do not do"):
        torch.compile(f, fullgraph=True)(x)
    assert same(torch.compile(f)(x), f(x))


UNARY = [np.sin, np.exp, np.sqrt, np.square, np.sign, np.floor, np.isnan, np.logical_not, np.negative, np.absolute, np.arctan, np.rint, np.reciprocal]
BINARY = [np.add, np.multiply, np.true_divide, np.floor_divide, np.remainder, np.maximum, np.hypot, np.power, np.arctan2, np.less, np.equal, np.logical_and]
WHOLES = [np.sum, np.prod, np.mean, np.std, np.var, np.max, np.any, np.argmax, np.cumsum, np.median, np.ptp, np.count_nonzero]
SHAPES = [np.ravel, np.flip, lambda a: np.roll(a, 1), lambda a: np.sort(a, axis=0), lambda a: np.stack([a, a], -1), lambda a: a.T, lambda a: a[::-1], lambda a: a * 2.5,
          lambda a: np.clip(a, -0.5, 0.5), lambda a: np.where(a > 0, a, 0), lambda a: a.astype(np.float64), lambda a: a[0], lambda a: a.sum(-1, keepdims=True)]  # fmt: skip


def invented(seed):
    """A function of an array, and an array."""
    generator, steps = random.Random(seed), []
    for _ in range(generator.randint(1, 4)):
        kind, axis = generator.choice("ubwss"), generator.choice([None, 0, -1])
        function = generator.choice({"u": UNARY, "b": BINARY, "w": WHOLES, "s": SHAPES}[kind])
        steps.append({"u": function, "s": function, "b": lambda a, f=function: f(a, 2), "w": lambda a, f=function, axis=axis: f(a, axis=axis)}[kind])
    dtype, shape = generator.choice([np.float32, np.float64, np.int64, np.int32, bool]), generator.choice([(4,), (4, 6), (2, 3, 4)])
    array = (np.random.RandomState(seed).randn(*shape) * 2).astype(dtype)
    return lambda a: functools.reduce(lambda value, step: step(value), steps, a), array


def test_made_up_programs_give_what_numpy_gives():
    ran = 0
    for seed in range(160):
        function, array = invented(seed)
        with np.errstate(all="ignore"):
            try:
                expected = function(array.copy())
            except (TypeError, ValueError, IndexError):
                continue
            torch._dynamo.reset()
            found = torch.compile(function, backend="eager")(array.copy())
            a, b = np.asarray(found), np.asarray(expected)
            assert type(found) is type(expected) and a.dtype == b.dtype and a.shape == b.shape, seed
            assert np.allclose(a, b, rtol=2e-3, atol=1e-4, equal_nan=True), seed
        ran += 1
    assert ran > 100


def test_others_run_between_graphs():
    function, x = lambda x: x + np.random.RandomState(0).rand(), torch.arange(4.0)
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(function, fullgraph=True)(x)
    assert same(torch.compile(function)(x), function(x))


def test_random_numbers_are_drawn_at_each_call():
    compiled = torch.compile(lambda x: x + np.random.rand())
    x = torch.zeros(1)
    assert compiled(x).item() != compiled(x).item()


def test_sizes_that_change():
    compiled = torch.compile(lambda x: x / np.sqrt(x.shape[0]))
    for n in (4, 5, 9, 16):
        x = torch.ones(n)
        torch.testing.assert_close(compiled(x), x / np.sqrt(n))
