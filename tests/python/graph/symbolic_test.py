"""Symbolic numbers, their environment, and fake tensors whose sizes are symbols."""

import copy
import pickle

import pytest
from cresset._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from cresset.fx.experimental import _shape_env
from cresset.fx.experimental import symbolic_shapes as shapes

import cresset as torch


def setting(*sizes, **options):
    """An environment and fake tensors of these sizes."""
    mode = FakeTensorMode(shape_env=shapes.ShapeEnv(**options))
    return mode.shape_env, *(mode.from_tensor(torch.ones(s)) for s in sizes)


def guards(env):
    return [str(g.expr) for g in env.guards]


def test_sizes_of_fake_tensors_are_symbols():
    _, x = setting((4, 6, 4, 1))
    assert repr(x.shape) == "torch.Size([s0, s1, s0, 1])"
    assert [type(s) for s in x.shape] == [torch.SymInt] * 3 + [int]
    assert [str(s) for s in x.stride()] == ["s0*s1", "s0", "1", "1"]
    assert str(x.numel()) == "s0**2*s1" and len(x) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [("s * 2 + 1", "2*s0 + 1"), ("s // 2", "(s0//2)"), ("s % 3", "Mod(s0, 3)"), ("s / 2", "IntTrueDiv(s0, 2)"), ("-s", "-s0"), ("3 - s", "3 - s0"),
     ("s == t", "Eq(s0, s1)"), ("s < t", "s0 < s1"), ("torch.sym_max(s, t)", "Max(s0, s1)"), ("s << 1", "2*s0"), ("s ** 2", "s0**2"),
     ("s * t // t", "s0"), ("torch.sym_sum([s, t, 1])", "s0 + s1 + 1")],
)  # fmt: skip
def test_operators_give_expressions(text, expected):
    env, x = setting((4, 6))
    assert str(eval(text, {"torch": torch, "s": x.shape[0], "t": x.shape[1]})) == expected
    assert not env.guards


def test_conditions_become_guards_with_the_line_of_the_user():
    env, x = setting((4, 6))
    assert x.shape[0] > 3
    assert guards(env) == ["s0 > 3"]
    assert "symbolic_test.py" in str(env.guards[0].sloc)
    assert x.shape[0] > 2  # follows
    assert len(env.guards) == 1


def test_an_int_of_a_size_makes_it_a_number():
    env, x = setting((4, 6))
    assert int(x.shape[0] * 2) == 8
    assert guards(env) == ["Eq(2*s0, 8)"]
    assert repr(x.shape) == "torch.Size([4, s1])"


def test_operators_compute_with_symbols():
    _, x = setting((4, 6))
    s, t = x.shape
    assert repr(torch.cat([x, x]).shape) == "torch.Size([2*s0, s1])"
    assert repr(x.reshape(-1).shape) == "torch.Size([s0*s1])"
    assert repr((x @ x.t()).shape) == "torch.Size([s0, s0])"
    assert repr(x.view(s * t).shape) == "torch.Size([s0*s1])"
    assert repr(x.expand(3, s, t).shape) == "torch.Size([3, s0, s1])"
    assert repr(x[: s - 1].shape) == "torch.Size([s0 - 1, s1])"
    with x.fake_mode:
        assert repr(torch.zeros(s * 2, t + 1).shape) == "torch.Size([2*s0, s1 + 1])"


def test_a_convolution_has_the_size_of_its_formula():
    env, x = setting((2, 3, 33, 35))
    mode = x.fake_mode
    w = mode.from_tensor(torch.ones(8, 3, 3, 3), static_shapes=True)
    y = torch.nn.functional.conv2d(x, w, stride=2, padding=1)
    assert [s.node.expr.evaluate({"s0": 2, "s1": 3, "s2": 50, "s3": 51}) if isinstance(s, torch.SymInt) else s for s in y.shape] == [2, 8, 25, 26]
    assert guards(env) == ["Eq(s1, 3)"]


def test_sizes_that_must_be_equal_become_one_symbol():
    env, x, y = setting((4, 6), (4, 6), duck_shape=False)
    assert repr((x + y).shape) == "torch.Size([s0, s1])"
    assert guards(env) == ["Eq(s0, s2)", "Eq(s1, s3)"]
    assert repr(y.shape) == "torch.Size([s0, s1])"


def test_errors_speak_of_the_sizes_of_the_example():
    _, x = setting((4, 6))
    with pytest.raises(RuntimeError, match="4"):
        x @ x


def test_unbacked_symbols_answer_what_is_stated_of_them():
    env, x = setting((4, 6))
    with x.fake_mode:
        n = x.fake_mode.from_tensor(torch.tensor(3)).item()
    assert str(n) == "u0"
    with pytest.raises(shapes.GuardOnDataDependentSymNode, match="u0 > 5"):
        bool(n > 5)
    torch._check(n >= 2)
    assert bool(n >= 1)
    assert shapes.guard_or_false(n > 5) is False
    assert repr(x.nonzero().shape) == "torch.Size([u1, 2])"
    assert repr(x[x > 0].shape) == "torch.Size([u2])"
    assert repr(x.masked_select(x > 0).shape) == "torch.Size([u3])"


def test_without_the_options_data_dependence_is_an_error():
    _, x = setting((4, 6), allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False)
    with pytest.raises(DynamicOutputShapeException):
        x.nonzero()
    with pytest.raises(DataDependentOutputException):
        x.sum().item()


def test_numbers_are_lifted_to_what_they_stand_for():
    env, x = setting((4, 6))
    raw = _shape_env.number(x.shape[0] * 2)
    assert isinstance(raw, int) and str(env.lift(raw)) == "2*s0"
    assert env.lift([3, raw])[0] == 3 and env.lift(7) == 7


def test_symbols_copy_and_are_not_hashable():
    _, x = setting((4, 6))
    s = x.shape[0]
    assert copy.deepcopy(s) is s
    with pytest.raises(TypeError, match="unhashable"):
        hash(s)
    assert pickle.loads(pickle.dumps((s * 2).node.expr)) == (s * 2).node.expr


def test_guards_as_an_expression_of_the_inputs():
    env, x = setting((4, 6, 4))
    code = env.produce_guards_expression([x])
    assert env.evaluate_guards_expression(code, [torch.ones(5, 2, 5)])
    assert not env.evaluate_guards_expression(code, [torch.ones(5, 2, 6)])
    assert env.bind_symbols([x], [torch.ones(5, 2, 5)]) == {x.shape[0].node.expr: 5, x.shape[1].node.expr: 2}


def test_backward_has_symbolic_sizes():
    mode = FakeTensorMode(shape_env=shapes.ShapeEnv())
    x = mode.from_tensor(torch.ones(4, 6, requires_grad=True))
    (x.view(-1).sin().sum() + (x @ x.t()).mean()).backward()
    assert repr(x.grad.shape) == "torch.Size([s0, s1])"


def traced(function, *args):
    return torch.fx.experimental.proxy_tensor.make_fx(function, tracing_mode="symbolic")(*args)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.reshape(x.shape[0] * x.shape[1]) + x.shape[0],
        lambda x: torch.cat([x, x]).view(-1, 2).sum(0) / x.shape[1],
        lambda x: torch.nn.functional.softmax(x @ x.t() / x.shape[-1] ** 0.5, -1),
        lambda x: x.unfold(0, 2, 1).mean(-1)[: x.shape[0] // 2],
        lambda x: x.new_zeros(x.shape[0] * 2 + 1, x.shape[1] // 2),
        lambda x: torch.nn.functional.layer_norm(x, [x.shape[1]]),
    ],
)
def test_graphs_run_at_other_sizes(function):
    graph = traced(function, torch.randn(4, 6))
    for sizes in ((4, 6), (6, 8), (10, 12)):
        x = torch.randn(sizes)
        torch.testing.assert_close(graph(x), function(x))


def test_graphs_of_gradients_run_at_other_sizes():
    def function(x):
        return torch.autograd.grad((x.view(-1).sin().sum() + (x @ x.t()).mean()), x)[0]

    graph = traced(function, torch.randn(4, 6, requires_grad=True))
    for sizes in ((4, 6), (3, 5)):
        x = torch.randn(sizes, requires_grad=True)
        torch.testing.assert_close(graph(x), function(x))


def test_numbers_of_the_data_are_nodes():
    def function(x):
        n = x.sum().to(torch.int64).item()
        torch._check(n >= 0)
        return torch.zeros(n), x.nonzero()

    graph = traced(function, torch.ones(4, 3))
    assert [tuple(t.shape) for t in graph(torch.ones(5, 7))] == [(35,), (35, 2)]
    with pytest.raises(shapes.GuardOnDataDependentSymNode):
        traced(lambda x: x * 2 if x.sum() > 0 else x, torch.ones(2))


@pytest.mark.parametrize("name", ["gelu", "mse", "clamp", "power", "norm", "per-sample"])
def test_batches_of_vmap_stay_open(name):
    functional = torch.nn.functional
    function = {
        "gelu": functional.gelu, "mse": lambda v: functional.mse_loss(v, 2 * v), "clamp": lambda v: v.clamp(-1, 1), "power": lambda v: v**2,
        "norm": torch.func.grad(lambda v: functional.layer_norm(v, (3,)).pow(3).sum()), "per-sample": torch.func.grad(lambda v: functional.gelu(v).square().sum()),
    }[name]  # fmt: skip
    graph = traced(torch.vmap(function), torch.randn(5, 3))
    x = torch.randn(7, 3)
    assert graph.shape_env.evaluate_guards_for_args(shapes.fx_placeholder_vals(graph), [x], ignore_static=False)
    torch.testing.assert_close(graph(x), torch.vmap(function)(x))


def test_operators_without_a_rule_fix_the_number_of_elements():
    graph = traced(torch.vmap(torch.median), torch.randn(5, 3))
    holds = [graph.shape_env.evaluate_guards_for_args(shapes.fx_placeholder_vals(graph), [torch.randn(n, 3)], ignore_static=False) for n in (4, 5, 6, 8)]
    assert holds == [False, True, False, False]
    x = torch.randn(5, 3)
    torch.testing.assert_close(graph(x), torch.vmap(torch.median)(x))


def test_lists_of_lengths_fix_the_number_of_sequences():
    def function(scores, targets):
        return torch.nn.functional.ctc_loss(scores, targets, [5, 4], [2, 3])

    scores, targets = torch.randn(5, 2, 4).log_softmax(2), torch.randint(1, 4, (2, 3))
    graph = traced(function, scores, targets)
    longer = torch.randn(7, 2, 6).log_softmax(2)
    torch.testing.assert_close(graph(longer, targets), function(longer, targets))
    assert [str(guard.expr) for guard in graph.shape_env.guards if "2" in str(guard.expr)]
    with pytest.raises(RuntimeError, match="expected 2 lengths, got 3 of inputs"):
        torch.ops.aten._ctc_loss.Tensor(scores, targets, torch.tensor([5, 4, 3]), torch.tensor([2, 3]))


def test_copies_of_fake_tensors_are_fake():
    _, x = setting((4, 6))
    other = copy.copy(x)
    assert other is not x and repr(other.shape) == repr(x.shape)


TABLE = torch.arange(600.0).reshape(30, 20)


@pytest.mark.parametrize(
    ("function", "expected"),
    [(lambda x: torch.ones(20)[: x.shape[0]], ["s0 <= 20"]), (lambda x: x[:, : x.shape[0]], ["s0 <= s1"]), (lambda x: x[:, None, :10], ["10 > s1"]),
     (lambda x: torch.ones(20)[2 : x.shape[0]], ["s0 <= 20"]), (lambda x: torch.ones(20).narrow(0, 0, x.shape[0]), None),
     (lambda x: torch.zeros(50, 50).tril()[: x.shape[0], : x.shape[0]].repeat(2, 1), ["s0 <= 50"]),
     (lambda x: torch.arange(20)[x.shape[0]], ["Eq(s0, 3)"]), (lambda x: torch.ones(20)[x.shape[0] :], None), (lambda x: x[: x.shape[0] - 1], []),
     (lambda x: torch.arange(100)[1 : x.shape[0] * 2 : x.shape[1]], None), (lambda x: torch.ones(20)[-x.shape[0] :], None),
     (lambda x: x[:-1] if x.shape[0] > 1 else x, [])],
)  # fmt: skip
def test_parts_that_sizes_bound_are_as_long_as_in_the_example(function, expected):
    """Of tensors that are smaller than the numbers that stand for the symbols."""
    make_fx = torch.fx.experimental.proxy_tensor.make_fx
    traced = make_fx(function, tracing_mode="symbolic")(torch.ones(3, 4))
    if expected is not None:
        assert guards(traced.shape_env) == expected
    inputs = shapes.fx_placeholder_vals(traced)
    for x in (torch.rand(3, 4), torch.rand(7, 4), torch.rand(7, 9), torch.rand(25, 4)):
        if traced.shape_env.evaluate_guards_for_args(inputs, [x], ignore_static=False):
            torch.testing.assert_close(traced(x), function(x), rtol=0, atol=0)


def test_real_tensors_are_indexed_by_the_numbers_of_the_example():
    env, x = setting((3, 4))
    assert TABLE[: x.shape[0]].shape == (3, 20) and TABLE[x.shape[0]].tolist() == TABLE[3].tolist()
    assert guards(env) == ["Eq(s0, 3)"]


def test_only_the_symbols_that_an_operator_needs_become_numbers():
    env, x = setting((3, 4))
    assert str(x.view(x.shape[0] * 2, 2).shape) == "torch.Size([2*s0, 2])"
    assert guards(env) == ["Eq(s1, 4)"]


def test_slices_whose_length_only_the_data_tells():
    _, x = setting((5,))
    part = x[: torch.sym_max(x.to(torch.int64).sum().item(), 0)]
    assert str(part.shape[0]).startswith("u")


def test_lists_of_numbers_of_the_data_are_symbols():
    _, x = setting((3, 4))
    assert [[str(n) for n in row] for row in x[:2, :2].to(torch.int64).tolist()] == [["u0", "u1"], ["u2", "u3"]]


def test_sizes_that_only_the_data_tells_are_refused_with_two_ways_out():
    _, x = setting((6,))
    n = x.to(torch.int64).sum().item()
    place = r"symbolic_test.py:\d+ in test"
    with pytest.raises(
        shapes.GuardOnDataDependentSymNode,
        match=rf"reshape: it depends on u0 \(taken at .*{place}.*\), .*{place}.*: `x.reshape\(n, 2\)`. Two ways out: .*torch._check\(u0 == ",
    ):
        x.reshape(n, 2)
    with pytest.raises(
        shapes.GuardOnDataDependentSymNode, match=rf"u0 \(taken at .*{place}.*\); asked at .*{place}.*: `if n > 2:`. Two ways out: .*torch.cond"
    ):
        if n > 2:
            x.sum()


def test_results_whose_sizes_only_the_data_tells():
    functional = torch.nn.functional
    _, x, counts = setting((4, 3), (3,))
    counts = counts.to(torch.int64)
    for made, expected in (
        (torch.repeat_interleave(counts), "[u0]"), (torch.bincount(counts), "[u1]"), (functional.one_hot(counts), "[s1, u2 + 1]"),
        (torch.combinations(counts, 2), "[u3, 2]"), (torch.narrow(x, 0, counts.sum(), 2), "[2, s1]"),
    ):  # fmt: skip
        assert str(made.shape) == f"torch.Size({expected})"


def test_checks_of_values_are_left_out_without_data():
    _, x, v = setting((10, 2), (10, 2), duck_shape=False)
    assert torch.nn.functional.gaussian_nll_loss(x, x, v).shape == ()
    counts, edges = torch.histogramdd(x, [2, 3])
    assert counts.shape == (2, 3) and [e.shape for e in edges] == [(3,), (4,)]
    assert torch.quantile(x, 0.5).shape == ()


def test_sizes_stay_symbols_where_a_guard_makes_them_numbers():
    env, x = setting((4, 6))
    assert bool(x.shape[0] == 4) and isinstance(x.shape[0], torch.SymInt)
    assert int(x.shape[0]) == 4 and x.shape[0] + 1 == 5 and guards(env) == ["Eq(s0, 4)"]


def test_quotients_within_composites_are_found_at_other_points():
    _, x, w = setting((2, 1, 10, 11), (1, 1, 4, 4), duck_shape=False)
    assert torch.nn.functional.conv2d(x, w, padding="same").shape == (2, 1, 10, 11)


def test_lists_of_parts_settle_one_symbol_after_another():
    _, x = setting((6, 4), duck_shape=False)
    assert len(x.split(4)) == 2 and [tuple(t.shape) for t in x.split(4)][1] == (2, 4)


def test_numbers_that_composites_compute_are_expressions_in_graphs():
    make_fx = torch.fx.experimental.proxy_tensor.make_fx
    function = lambda x: torch.nn.functional.interpolate(x, scale_factor=0.6)  # noqa: E731
    traced = make_fx(function, tracing_mode="symbolic")(torch.rand(2, 3, 4, 5))
    for x in (torch.rand(2, 3, 4, 5), torch.rand(2, 3, 6, 9)):
        torch.testing.assert_close(traced(x), function(x))


def test_a_body_that_goes_another_way_at_the_point_is_traced_again():
    make_fx = torch.fx.experimental.proxy_tensor.make_fx
    x = torch.rand(4, 6)
    traced = make_fx(lambda x: torch.fft.fft(x, n=10), tracing_mode="symbolic")(x)
    torch.testing.assert_close(traced(x), torch.fft.fft(x, n=10))
    with pytest.raises(RuntimeError, match="narrow: start 0 \\+ length 10 exceeds the size 6"):
        make_fx(lambda x: x.narrow(1, 0, 10), tracing_mode="symbolic")(x)


def check_graph(function, examples, *others):
    """A graph made with symbolic sizes computes as the function at the sizes of the example and at others."""
    traced = torch.fx.experimental.proxy_tensor.make_fx(function, tracing_mode="symbolic")(*examples)
    for args in (examples, *others):
        torch.testing.assert_close(traced(*args), function(*args))
    return traced.shape_env


def test_factorisations_and_their_checks_are_operators_of_the_graph():
    matrix = lambda n: torch.rand(2, n, n) + n * torch.eye(n)  # noqa: E731
    for function in (torch.linalg.inv, torch.linalg.cholesky_ex, lambda a: torch.linalg.matrix_power(a, -2)):
        check_graph(function, (matrix(4),), (matrix(5),))
    check_graph(torch.linalg.solve, (matrix(4), torch.rand(2, 4, 3)), (matrix(5), torch.rand(2, 5, 6)))
    check_graph(lambda a, b: torch.linalg.solve_ex(a, b)[0], (matrix(4), torch.rand(2, 4, 3)), (matrix(6), torch.rand(2, 6, 2)))


def test_a_lazy_conjugate_before_an_operator_hides_no_number():
    check_graph(torch.fft.hfft, (torch.randn(5, 7, dtype=torch.complex64),), (torch.randn(3, 4, dtype=torch.complex64),))


def test_sizes_that_a_view_infers_divide_the_number_of_elements():
    env = check_graph(lambda x: x.reshape(5, -1, 5), (torch.rand(125),), (torch.rand(50),))
    assert guards(env) == ["Eq(Mod(s0, 25), 0)"]
    env = check_graph(lambda x: x.reshape(5, -1, 5), (torch.rand(25, 5),), (torch.rand(5, 10),))
    assert guards(env) == ["Eq(Mod(s0*s1, 25), 0)"]
    assert not guards(check_graph(lambda x: x.reshape(x.shape[0], -1), (torch.rand(4, 3, 2),), (torch.rand(2, 5, 6),)))
    check_graph(lambda x: x.unflatten(1, (2, -1)), (torch.rand(3, 8),), (torch.rand(2, 6),))


def test_floats_that_follow_from_sizes_are_expressions():
    def attention(q, k):
        return torch.nn.functional.scaled_dot_product_attention(q, k, k, is_causal=True)

    check_graph(attention, (torch.rand(4, 3, 8), torch.rand(4, 6, 8)), (torch.rand(2, 5, 6), torch.rand(2, 7, 6)))
    check_graph(lambda x: torch.func.grad(lambda t: t.std())(x), (torch.rand(6, 5),), (torch.rand(3, 9),))


def test_a_composite_that_goes_by_sizes_is_right_at_all_of_them():
    check_graph(torch.kron, (torch.rand(5, 6), torch.rand(10, 20)))
    check_graph(lambda x, w: torch.nn.functional.conv3d(x, w, padding="same", dilation=3), (torch.rand(1, 8, 9, 10), torch.rand(1, 1, 4, 4, 4)))


def test_products_of_sizes_do_not_depend_on_strides():
    check_graph(lambda x: torch.ones(x.shape[1] * x.shape[2]), (torch.rand(4, 3, 2),), (torch.rand(6, 5, 2).transpose(0, 2),))


def test_places_that_only_the_data_tells():
    x = torch.rand(6, 2)
    check_graph(lambda x, i: torch.narrow(x, 0, i, 2), (x, torch.tensor(-2)), (torch.rand(9, 3), torch.tensor(4)))
    check_graph(lambda x, i: torch.tensor_split(x, i), (x, torch.tensor([1, 3])), (torch.rand(9, 2), torch.tensor([2, 8])))


def test_sizes_of_a_convolution_stay_symbols():
    _, x, w = setting((2, 4, 9, 10), (3, 4, 5, 6), duck_shape=False)
    assert str(torch.nn.functional.conv2d(x, w).shape) == "torch.Size([s0, s4, s2 - s6 + 1, s3 - s7 + 1])"
