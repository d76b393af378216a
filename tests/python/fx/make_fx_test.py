"""`make_fx`: graphs of operators, their inputs and outputs, constants, mutation, gradients, and what is refused."""

import unittest

from cresset.fx.experimental import proxy_tensor
from cresset.fx.experimental.proxy_tensor import make_fx

import cresset as torch
from cresset import nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)


def targets(graph):
    return [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]


class Graphs(unittest.TestCase):
    def same(self, f, *args, **options):
        graph = make_fx(f, **options)(*args)
        torch.testing.assert_close(graph(*args), f(*args))
        return graph

    def test_operators_are_nodes_named_after_them(self):
        graph = self.same(lambda x, y: (x + y).sin(), X, X.clone())
        self.assertEqual([n.name for n in graph.graph.nodes], ["x_1", "y_1", "add", "sin", "output"])
        self.assertIs(graph.graph.find_nodes(op="call_function", target=torch.ops.aten.sin.default)[0].target, torch.ops.aten.sin.default)
        graph.graph.lint()

    def test_the_annotation_of_the_result_stays(self):
        def f(x) -> torch.Tensor:
            return x.sin()

        for made in (make_fx(f), make_fx(torch.func.functionalize(f))):
            module = made(torch.ones(2))
            self.assertIs([*module.graph.nodes][-1].type, torch.Tensor)
            self.assertIn("(self, x_1) -> torch.Tensor:", module.code)
        self.assertIsNone([*make_fx(lambda x: x.sin())(torch.ones(2)).graph.nodes][-1].type)

    def test_the_graph_computes_anew(self):
        graph = make_fx(lambda x: x * 2)(X)
        torch.testing.assert_close(graph(X + 1), (X + 1) * 2)

    def test_nested_inputs_and_outputs(self):
        self.same(lambda d: {"a": d["x"] + 1, "b": (d["y"][0], [d["y"][1] * 2])}, {"x": X, "y": (X.clone(), X.clone())})

    def test_outputs_that_are_no_tensors_stay(self):
        self.assertEqual(make_fx(lambda x: (x, 3, None, "s"))(X)(X)[1:], (3, None, "s"))

    def test_results_that_are_tuples_are_taken_apart(self):
        graph = self.same(lambda x: x.max(0)[0] + x.split(1)[0], X)
        self.assertEqual(targets(graph).count("<built-in function getitem>"), 4)

    def test_tensors_from_elsewhere_are_constants(self):
        c, p = torch.ones(3), nn.Parameter(torch.ones(3))
        graph = self.same(lambda x: x + c + p + c, X)
        self.assertEqual([n.target for n in graph.graph.find_nodes(op="get_attr")], ["_tensor_constant0", "_param_constant0"])
        self.assertIs(graph._param_constant0, p)

    def test_tensors_made_of_numbers_are_copied_constants(self):
        graph = make_fx(lambda x: x + torch.tensor([1.0, 2, 3]).add_(1))(X)
        graph(X)
        torch.testing.assert_close(graph(X), X + torch.tensor([2.0, 3, 4]))

    def test_items_of_constants_are_numbers(self):
        self.same(lambda x: x * torch.tensor(3.0).item(), X)

    def test_numbers_of_traced_tensors_are_refused(self):
        for f in (lambda x: x * x.sum().item(), lambda x: x if x.sum() > 0 else -x, lambda x: x[: int(x.sum())]):
            with self.assertRaisesRegex(RuntimeError, "make_fx: got a call of aten._local_scalar_dense.default"):
                make_fx(f)(X)

    def test_in_place_operators_are_followed(self):
        def f(x):
            y = x.clone()
            v = y.view(-1)[1:4]
            v.add_(10)
            y.t()[0].mul_(2)
            return y, v

        self.same(f, X)

    def test_mutated_inputs(self):
        graph = make_fx(lambda x: x.add_(1))(X.clone())
        x = X.clone()
        graph(x)
        torch.testing.assert_close(x, X + 1)

    def test_out(self):
        graph = make_fx(lambda x, o: torch.add(x, x, out=o))(X, X.clone())
        o = X.clone()
        torch.testing.assert_close(graph(X, o), o)
        torch.testing.assert_close(o, 2 * X)

    def test_gradients_are_part_of_the_graph(self):
        def f(x):
            return torch.autograd.grad((x * x).tanh().sum(), x)

        graph = make_fx(f)(X.clone().requires_grad_())
        torch.testing.assert_close(graph(X)[0], 2 * X / X.square().cosh().square())
        self.assertFalse(graph(X)[0].requires_grad)

    def test_transforms_within(self):
        self.same(torch.func.grad(lambda x: x.tanh().pow(2).sum()), X)
        self.same(torch.func.vmap(lambda x: torch.dot(x, x) + x.sum()), X)
        self.same(torch.func.hessian(lambda x: (x**3).sum()), X)

    def test_tangents_beside_numbers(self):
        for mode in ("real", "fake", "symbolic"):
            self.same(lambda x: torch.func.jvp(lambda x: (x + 1).sin() * 2 - 1 / (x + 2), (x,), (x,)), X, tracing_mode=mode)

    def test_modules_and_their_training_step(self):
        m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 2))
        self.same(m, X)

        def step(parameters, x):
            loss = torch.func.functional_call(m, parameters, (x,)).pow(2).sum()
            return torch.autograd.grad(loss, list(parameters.values()))

        parameters = {name: p.detach().requires_grad_() for name, p in m.named_parameters()}
        graph = make_fx(step)(parameters, X)
        torch.testing.assert_close(graph({k: v.detach() for k, v in parameters.items()}, X), step(parameters, X))

    def test_random_operators_draw_at_each_run(self):
        graph = make_fx(lambda x: x + torch.randn(2, 3))(X)
        torch.manual_seed(1)
        a = graph(X)
        torch.manual_seed(1)
        torch.testing.assert_close(a, X + torch.randn(2, 3))

    def test_decompositions_take_the_place_of_operators(self):
        graph = make_fx(lambda x: torch.relu(x) * x, {torch.ops.aten.relu.default: lambda x: torch.clamp(x, min=0)})(X)
        self.assertEqual(targets(graph), ["aten.clamp.default", "aten.mul.Tensor"])

    def test_fake_mode_computes_nothing(self):
        graph = make_fx(lambda x: x.relu().sum(), tracing_mode="fake")(X)
        torch.testing.assert_close(graph(X), X.relu().sum())
        for node in graph.graph.nodes:
            if node.op != "output":
                self.assertIsInstance(node.meta["val"], torch._subclasses.FakeTensor)
        c = torch.ones(3)
        with self.assertRaises(AssertionError):
            make_fx(lambda x: x + c, tracing_mode="fake")(X)
        torch.testing.assert_close(make_fx(lambda x: x + c, tracing_mode="fake", _allow_non_fake_inputs=True)(X)(X), X + c)

    def test_fake_mode_has_symbols_for_what_the_data_tells(self):
        graph = make_fx(lambda x: (x.nonzero(), x.sum().item() * x), tracing_mode="fake")(X)
        found, scaled = graph(2 * X)
        torch.testing.assert_close((found, scaled), (X.nonzero(), (2 * X).sum() * 2 * X))
        self.assertEqual(graph.graph.find_nodes(op="placeholder")[0].meta["val"].shape, X.shape)  # numbers, these

    def test_meta_tells_shapes_and_dtypes(self):
        node = make_fx(lambda x: x.t().sum(0, dtype=torch.float64))(X).graph.find_nodes(op="call_function", target=torch.ops.aten.t.default)[0]
        self.assertEqual((node.meta["val"].shape, node.meta["tensor_meta"].stride), ((3, 2), (1, 3)))

    def test_pre_dispatch_keeps_composites(self):
        graph = self.same(lambda x: nn.functional.linear(x, X), X.clone(), pre_dispatch=True)
        self.assertEqual(targets(graph), ["aten.linear.default"])

    def test_disabled_tracing_and_isolated_graphs(self):
        def f(x):
            with proxy_tensor.disable_proxy_modes_tracing():
                torch.ones(1).sin()
            self.assertIsNotNone(proxy_tensor.get_proxy_mode())
            return x.cos()

        self.assertEqual(targets(make_fx(f)(X)), ["aten.cos.default"])
        self.assertIsNone(proxy_tensor.get_proxy_mode())
        self.assertEqual(targets(proxy_tensor.get_isolated_graphmodule(torch.cos, (X,), {})), ["aten.cos.default"])

    def test_errors(self):
        with self.assertRaisesRegex(AssertionError, "expected tracing_mode real, fake or symbolic, got 'quick'"):
            make_fx(lambda x: x, tracing_mode="quick")
        with self.assertRaises(ZeroDivisionError):
            make_fx(lambda x: 1 / 0)(X)
        self.assertIsNone(proxy_tensor.get_proxy_mode())


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.last = nn.Linear(3, 3), nn.ReLU()

    def forward(self, x):
        return self.last(self.linear(x)) + 1


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.scale = Part(), nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.part(self.part(x) * self.scale)


class Places(unittest.TestCase):
    def traced(self, **options):
        module = Whole()

        def run(x):
            return module(x)

        run._orig_mod = module
        return make_fx(run, _allow_non_fake_inputs=True, **options)(X)

    def notes(self, note, **options):
        return [(n.name, n.meta.get(note)) for n in self.traced(record_module_stack=True, **options).graph.nodes if n.op == "call_function"]

    def test_nodes_name_the_modules_that_were_running(self):
        for options in ({"pre_dispatch": True}, {"pre_dispatch": True, "tracing_mode": "fake"}, {"pre_dispatch": True, "proxy_module_inputs": True}):
            stacks = {name: list(stack.items()) for name, stack in self.notes("nn_module_stack", **options)}
            top, kind = ("", ("", f"{__name__}.Whole")), f"{__name__}.Part"
            self.assertEqual(stacks["linear"], [top, ("part", ("part", kind)), ("part.linear", ("part.linear", "torch.nn.modules.linear.Linear"))])
            self.assertEqual(stacks["mul"], [top])
            self.assertEqual(stacks["relu_1"][1:], [("part@1", ("part", kind)), ("part.last@1", ("part.last", "torch.nn.modules.activation.ReLU"))])

    def test_and_the_functions_that_were_called(self):
        notes = dict(self.notes("torch_fn"))
        self.assertEqual((notes["t"], notes["addmm"]), (("linear_1", "builtin_function_or_method.linear"),) * 2)
        self.assertEqual((notes["relu_1"], notes["add_1"]), (("relu_2", "function.relu"), ("add_2", "method_descriptor.add")))
        self.assertEqual({note for _, note in self.notes("torch_fn", _disable_torch_fn_metadata_mode=True)}, {None})

    def test_attributes_have_the_modules_alone(self):
        weight = self.traced(record_module_stack=True).graph.find_nodes(op="get_attr")[0]
        self.assertEqual((list(weight.meta["nn_module_stack"]), "torch_fn" in weight.meta), (["", "part", "part.linear"], False))

    def test_nothing_is_noted_else(self):
        module = Whole()
        for graph in (self.traced(), make_fx(module, record_module_stack=True)(X), make_fx(lambda x: module(x), record_module_stack=True)(X)):
            self.assertFalse(any("nn_module_stack" in n.meta or "torch_fn" in n.meta for n in graph.graph.nodes))


def test_operators_that_look_at_values_inside_are_one_call():
    """As far as no gradient of them is recorded."""
    functional, a = torch.nn.functional, torch.rand(3, 3)
    table, bags = torch.rand(4, 2), torch.tensor([[0, 1], [2, 1]])
    sparse = torch.tensor([[1.0, 0, 2], [0, 3, 0]]).to_sparse_csr()
    targets = torch.tensor([[0, 1, -1], [2, -1, 0], [1, 0, -1]])
    for function, inputs in (
        (torch.matrix_exp, (a,)), (lambda a, q: torch.quantile(a, q, dim=0), (a, torch.tensor([0.1, 0.5]))), (lambda a: torch.histogramdd(a, [2, 2, 2])[0], (a,)),
        (lambda a, t: functional.multilabel_margin_loss(a, t), (a, targets)), (lambda i, w: functional.embedding_bag(i, w), (bags, table)), (lambda s, d: torch.sparse.mm(s, d, "amax"), (sparse, a)),
        (lambda p, t: functional.ctc_loss(p, t, (5, 5), (2, 2)), (torch.rand(5, 2, 4).log_softmax(-1), torch.tensor([[1, 2], [2, 3]]))),
        (lambda x, v: functional.gaussian_nll_loss(x, x, v), (a, a + 1)),
    ):  # fmt: skip
        traced = make_fx(function)(*inputs)
        torch.testing.assert_close(traced(*inputs), function(*inputs), rtol=0, atol=0)


def test_assignments_are_fills_of_tensors_and_masks_stay_masks():
    def f(x):
        y = x.clone()
        y[0] = 5.0
        y[x > 0] = 1.0
        return y, x[x > 0]

    x = torch.linspace(-1, 1, 6).reshape(2, 3)
    traced = make_fx(f)(x)
    names = [str(n.target) for n in traced.graph.nodes if n.op == "call_function"]
    assert names.count("aten.lift_fresh_copy.default") == 2 and "aten.fill_.Tensor" in names
    assert "aten.index_put_.default" in names and "aten.index.Tensor" in names and "aten.nonzero.default" not in names
    for a, b in zip(traced(x), f(x), strict=True):
        torch.testing.assert_close(a, b)
    functional = make_fx(torch.func.functionalize(lambda x: x + torch.tensor(5.0)))(x)
    assert "aten.lift_fresh_copy.default" in [str(n.target) for n in functional.graph.nodes]


def test_views_without_gradients_are_seen_in_whole_composites():
    x = torch.ones(6).reshape(2, 3)
    assert [str(n.target) for n in make_fx(lambda x: torch.stack([x, x]))(x).graph.nodes if n.op == "call_function"] == ["aten.stack.default"]


def test_symbols_for_dimensions_and_counts_are_their_numbers():
    x = torch.rand(3, 4)
    for f, args in (
        (lambda x, n, d: torch.chunk(x, n, d), (2, 1)),
        (lambda x, n, d: torch.unsafe_chunk(x, n, d), (2, 1)),
        (lambda x, d: torch.unbind_copy(x, d), (1,)),
        (lambda x, s: x.sum_to_size(s), (4,)),
        (lambda x, d: torch.masked.var(x, dim=d), (1,)),
        (lambda x, s: torch.nn.functional.interpolate(x[None], size=s, mode="area"), ((2,),)),
    ):
        graph = make_fx(f, tracing_mode="symbolic")(x, *args)
        torch.testing.assert_close(graph(x, *args), f(x, *args))


def test_several_results_are_written_by_name():
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    for mode in ("real", "symbolic"):
        graph = make_fx(lambda x, v, i: torch.kthvalue(x, 1, out=(v, i)), tracing_mode=mode)(X, values, indices)
        assert [n.target for n in graph.graph.nodes if n.op == "call_function"][0] is torch.ops.aten.kthvalue.values
    found = torch.ops.aten.kthvalue.values(X, 1, values=values, indices=indices)
    assert found[0] is values and values.tolist() == X.min(1).values.tolist()


if __name__ == "__main__":
    unittest.main()
