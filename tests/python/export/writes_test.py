"""Programs that write their buffers and inputs, decomposed once and twice: the same values and signatures, and a copy over a whole buffer is what was copied."""

import copy
import tempfile

import pytest

import cresset as torch


class Writer(torch.nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body
        self.register_buffer("b", torch.zeros(4))
        self.bn = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return self.body(self, x)


BODIES = {
    "copy": lambda m, x: (m.b.copy_(x.sum(0)), x * 1)[1],
    "broadcast copy": lambda m, x: (m.b.copy_(x.sum()), m.b * 2)[1],
    "copy of another dtype": lambda m, x: (m.b.copy_(x.sum(0).double()), m.b * 2)[1],
    "copy, then add": lambda m, x: (m.b.copy_(x.sum(0)), m.b.add_(1), m.b * 2)[2],
    "input": lambda m, x: (x.copy_(x.sum(0)), x + 1)[1],
    "part of an input": lambda m, x: (x[0].copy_(x[1]), x + 1)[1],
    "fill": lambda m, x: (m.b.fill_(2), m.b + x)[1],
    "zero": lambda m, x: (m.b.zero_(), m.b + x)[1],
    "returned buffer": lambda m, x: m.b.mul_(2),
    "returned input": lambda m, x: x.add_(1),
    "batch norm": lambda m, x: m.bn(x),
    "batch norm twice": lambda m, x: m.bn(m.bn(x) * 2),
    "copy over a copy": lambda m, x: x.clone().copy_(x.t().reshape(3, 4)),
    "data": lambda m, x: (m.b.data.copy_(x[0]), m.b + 1)[1],
    "parts": lambda m, x: (m.b.add_(x[0], alpha=2), m.b[1:3].mul_(3), m.b.sum())[2],
}


def ran(module, x):
    x = x.clone()
    return [module(x), x, *(value for _, value in sorted(module.named_buffers()))]


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("table", [{}, None], ids=["no table", "core"])
def test_programs_that_write_decompose_again_and_again(name, table):
    x = torch.arange(12.0).reshape(3, 4)
    program = torch.export.export(Writer(BODIES[name]), (x.clone(),))
    expected = ran(Writer(BODIES[name]), x)
    once = program.run_decompositions(table)
    for p in (program, once, once.run_decompositions(table)):
        for found, value in zip(ran(copy.deepcopy(p).module(), x), expected, strict=True):
            torch.testing.assert_close(found, value)
    again = once.run_decompositions(table)
    assert [(s.kind, s.target) for s in again.graph_signature.output_specs] == [(s.kind, s.target) for s in once.graph_signature.output_specs]
    assert [str(n.target) for n in again.graph.nodes] == [str(n.target) for n in once.graph.nodes] or name == "copy over a copy"


def operators(program):
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


def test_a_copy_over_a_whole_buffer_is_what_was_copied():
    program = torch.export.export(Writer(BODIES["copy"]), (torch.ones(3, 4),)).run_decompositions({})
    assert operators(program) == ["aten.sum.dim_IntList", "aten.mul.Tensor"]
    assert program.graph_signature.buffers_to_mutate == {"sum_1": "b"}


def test_other_copies_are_nodes_of_their_own():
    for name in ("broadcast copy", "copy of another dtype", "copy, then add", "input", "part of an input"):
        program = torch.export.export(Writer(BODIES[name]), (torch.ones(3, 4),)).run_decompositions({})
        assert operators(program).count("aten.copy.default") == 1, name


def test_statistics_of_batch_norms_are_results_of_the_operator():
    program = torch.export.export(Writer(BODIES["batch norm twice"]), (torch.ones(3, 4),)).run_decompositions()
    assert operators(program).count("aten._native_batch_norm_legit_functional.default") == 2
    assert not {"aten.clone.default", "aten.copy.default", "aten.expand.default"} & set(operators(program))
    assert program.graph_signature.buffers_to_mutate == {"getitem_8": "bn.running_mean", "getitem_9": "bn.running_var", "add_1": "bn.num_batches_tracked"}


def test_statistics_that_an_operator_writes_unsaid_are_results():
    class Norm(torch.nn.Module):
        def forward(self, x, mean, var):
            return torch.ops.aten.native_batch_norm(x, None, None, mean, var, True, 0.1, 1e-5)[0]

    args = torch.randn(3, 4), torch.zeros(4), torch.ones(4)
    program = torch.export.export(Norm(), args).run_decompositions()
    assert program.graph_signature.user_inputs_to_mutate == {"getitem_3": "mean", "getitem_4": "var"}
    ours, eager = [[t.clone() for t in args] for _ in range(2)]
    torch.testing.assert_close(program.module()(*ours), Norm()(*eager))
    torch.testing.assert_close(ours, eager)


def test_parameters_that_gradients_do_not_see_written_are_written():
    net, ids = torch.nn.Embedding(5, 3, max_norm=1.0), torch.tensor([1, 2])
    program = torch.export.export(net, (ids,)).run_decompositions()
    assert program.graph_signature.parameters_to_mutate == {"embedding_renorm": "weight"}
    module = program.module()
    torch.testing.assert_close(module(ids), net(ids))
    torch.testing.assert_close(module.weight, net.weight)


def test_asserts_of_casts_stay():
    program = torch.export.export(Writer(BODIES["copy of another dtype"]), (torch.ones(3, 4),)).run_decompositions()
    assert "aten._assert_tensor_metadata.default" in operators(program)


@pytest.mark.parametrize("strict", [False, True])
def test_data_of_a_tensor_is_the_tensor_and_no_constant(strict):
    class Reads(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.p = torch.nn.Parameter(torch.ones(4))

        def forward(self, x):
            return self.p.data * x.data

    program = torch.export.export(Reads(), (torch.ones(3, 4),), strict=strict)
    assert not program.constants
    x = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(program.module()(x), x)


def test_make_fx_records_data_as_detach():
    def f(x):
        x.data.add_(1)
        return x * 2

    graph = torch.fx.experimental.proxy_tensor.make_fx(f)(torch.ones(2)).graph
    assert [str(n.target) for n in graph.nodes if n.op == "call_function"] == ["aten.detach.default", "aten.add_.Tensor", "aten.mul.Tensor"]


def test_writes_to_parts_with_gaps_are_values():
    class Cell(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = torch.nn.GRUCell(4, 3)

        def forward(self, x, h):
            return self.cell(x, h)

    cell, args = Cell(), (torch.randn(2, 4), torch.randn(2, 3))
    program = torch.export.export(cell, args).run_decompositions()
    assert not [name for name in operators(program) if "_." in name or "empty" in name]
    torch.testing.assert_close(program.module()(*args), cell(*args))


class Plain(torch.nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return self.body(x)


def test_divergences_by_the_batch_are_a_sum_and_a_quotient():
    functional = torch.nn.functional
    body = Plain(lambda x: functional.kl_div(x, x.exp(), reduction="batchmean"))
    x = torch.randn(3, 4)
    program = torch.export.export(body, (x,))
    assert operators(program)[-2:] == ["aten.kl_div.default", "aten.div.Tensor"]
    assert program.graph.find_nodes(op="call_function", target=torch.ops.aten.kl_div.default)[0].args[2] == 2
    torch.testing.assert_close(program.module()(x), body(x))


def test_the_order_of_coordinates_is_written():
    program = torch.export.export(Plain(lambda x: torch.meshgrid(x, x, indexing="ij")), (torch.randn(3),))
    (node,) = program.graph.find_nodes(op="call_function", target=torch.ops.aten.meshgrid.indexing)
    assert node.kwargs == {"indexing": "ij"}


@pytest.mark.parametrize("table", [{}, None], ids=["no table", "core"])
def test_numbers_of_data_have_ranges_when_decomposed(table):
    x = torch.tensor([1.0, -2.0, 3.0])
    for body in (lambda x: torch.ones(x.int().abs().sum().item() + 1), lambda x: x.nonzero(), lambda x: x[x > 0] * 2):
        program = torch.export.export(Plain(body), (x,)).run_decompositions(table)
        known = {str(symbol) for symbol in program.range_constraints}
        sizes = [s for n in program.graph.nodes if isinstance(n.meta.get("val"), torch.Tensor) for s in n.meta["val"].shape if isinstance(s, torch.SymInt)]
        assert sizes
        assert {str(symbol) for s in sizes for symbol in torch.fx.experimental.symbolic_shapes.free_symbols(s)} <= known
        assert torch.equal(program.module()(x), body(x))


@pytest.mark.parametrize(
    "body", [lambda x: torch.block_diag(x, x), lambda x: x + torch.eye(3), lambda x: x.rot90(), lambda x: x * torch.hann_window(3), lambda x: torch.kron(x, torch.eye(2))],
    ids=["block_diag", "eye", "rot90", "window", "kron"],
)  # fmt: skip
@pytest.mark.parametrize("table", [{}, None], ids=["no table", "core"])
def test_writes_of_bodies_are_values(body, table):
    x = torch.randn(3, 3)
    program = torch.export.export(Plain(body), (x,)).run_decompositions(table)
    assert not [name for name in operators(program) if "_." in name]
    torch.testing.assert_close(program.module()(x), body(x))


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrent_layers_are_steps_in_core_programs(kind, bidirectional):
    net = getattr(torch.nn, kind)(4, 5, 2, batch_first=True, bidirectional=bidirectional)
    x = torch.randn(2, 3, 4)
    program = torch.export.export(net, (x,)).run_decompositions()
    assert "aten.addmm.default" in operators(program)
    assert "aten._rnn_layer.default" not in operators(program)
    leaves = torch.utils._pytree.tree_leaves
    for found, expected in zip(leaves(program.module()(x)), leaves(net(x)), strict=True):
        torch.testing.assert_close(found, expected)


# ---- operators that write arguments as they run: normalization, embeddings, optimizers --------------------------------------


class Holder(torch.nn.Module):
    """A module whose forward is a function of it and `x`, with buffers."""

    def __init__(self, body, **buffers):
        super().__init__()
        self.body = body
        for name, value in buffers.items():
            self.register_buffer(name, value.clone())

    def forward(self, x):
        return self.body(self, x)


def _statistics():
    return {"mean": torch.zeros(3), "var": torch.ones(3)}


def _optimizer():
    values = torch.linspace(-1, 1, 12).reshape(3, 4)
    return {"p": values, "g": values + 2, "m": torch.zeros(3, 4), "v": torch.zeros(3, 4), "q": torch.zeros(3, 4), "step": torch.tensor(3.0)}


def _stepped(name, lists, **options):
    def body(module, x):
        getattr(torch.ops.aten, name).default(*([getattr(module, n)] if n else [] for n in lists), **options)
        return x + 0

    return body


_aten = torch.ops.aten
_ADAM = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-8, "maximize": False}
_SGD = {"weight_decay": 0.0, "momentum": 0.9, "lr": 0.1, "dampening": 0.0, "nesterov": False, "maximize": False, "is_first_step": False}
WRITERS = {
    "batch_norm": (lambda m, x: _aten.batch_norm(x[None], None, None, m.mean, m.var, True, 0.1, 1e-5, False), _statistics()),
    "native_batch_norm": (lambda m, x: _aten.native_batch_norm(x[None], None, None, m.mean, m.var, True, 0.1, 1e-5)[0], _statistics()),
    "_native_batch_norm_legit": (lambda m, x: _aten._native_batch_norm_legit(x[None], None, None, m.mean, m.var, True, 0.1, 1e-5)[0], _statistics()),
    "_batch_norm_with_update": (lambda m, x: _aten._batch_norm_with_update(x[None], None, None, m.mean, m.var, 0.1, 1e-5)[0], _statistics()),
    "instance_norm": (lambda m, x: _aten.instance_norm(x[None], None, None, m.mean, m.var, True, 0.1, 1e-5, False), _statistics()),
    "embedding": (lambda m, x: torch.nn.functional.embedding(torch.tensor([0, 2]), m.p, max_norm=0.5), {"p": _optimizer()["p"]}),
    "embedding_bag": (lambda m, x: torch.nn.functional.embedding_bag(torch.tensor([[0, 2]]), m.p, max_norm=0.5), {"p": _optimizer()["p"]}),
    "embedding_renorm_": (lambda m, x: _aten.embedding_renorm_(m.p, torch.tensor([0, 2]), 0.5, 2.0), {"p": _optimizer()["p"]}),
    "renorm_": (lambda m, x: m.p.renorm_(2, 0, 0.5), {"p": _optimizer()["p"]}),
    "_fused_adam_": (_stepped("_fused_adam_", ("p", "g", "m", "v", "", "step"), amsgrad=False, **_ADAM), _optimizer()),
    "_fused_adam_ amsgrad": (_stepped("_fused_adam_", ("p", "g", "m", "v", "q", "step"), amsgrad=True, **_ADAM), _optimizer()),
    "_fused_adamw_": (_stepped("_fused_adamw_", ("p", "g", "m", "v", "", "step"), amsgrad=False, **_ADAM), _optimizer()),
    "_fused_sgd_": (_stepped("_fused_sgd_", ("p", "g", "m"), **_SGD), _optimizer()),
    "_fused_adagrad_": (
        _stepped("_fused_adagrad_", ("p", "g", "m", "step"), lr=0.1, lr_decay=0.0, weight_decay=0.0, eps=1e-8, maximize=False), _optimizer(),
    ),
    "_amp_foreach_non_finite_check_and_unscale_": (
        lambda m, x: (_aten._amp_foreach_non_finite_check_and_unscale_([m.g], m.found, m.scale), x + 0)[1],
        {"g": torch.tensor([1.0, float("inf")]), "found": torch.zeros(1), "scale": torch.tensor([2.0])},
    ),
    "_amp_update_scale_": (
        lambda m, x: _aten._amp_update_scale_(m.scale, m.steps, m.found, 2.0, 0.5, 2),
        {"scale": torch.tensor([4.0]), "steps": torch.zeros(1, dtype=torch.int32), "found": torch.zeros(1)},
    ),
    "_foreach_add_": (lambda m, x: (_aten._foreach_add_.Scalar([m.p, m.m], 2.0), x + 0)[1], _optimizer()),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_operators_that_write_as_they_run_have_results_in_core_programs(name):
    body, buffers = WRITERS[name]
    x = torch.linspace(-1, 2, 12).reshape(3, 4)
    module = Holder(body, **buffers)
    program = torch.export.export(copy.deepcopy(module), (x,)).run_decompositions()
    expected, run = module(x), program.module()
    torch.testing.assert_close(run(x), expected)
    changed = {key for key, value in module.named_buffers() if not torch.equal(value, buffers[key])}
    assert changed and changed <= set(program.graph_signature.buffers_to_mutate.values())
    for key, value in module.named_buffers():
        torch.testing.assert_close(run.get_buffer(key), value)


def test_instance_normalization_that_is_tracked_is_batches_of_one():
    """The nodes of PyTorch's program, by name."""
    module = torch.nn.InstanceNorm1d(3, track_running_stats=True).train()
    program = torch.export.export(module, (torch.randn(2, 3, 4),)).run_decompositions()
    nodes = "repeat repeat_1 view _native_batch_norm_legit_functional getitem getitem_3 getitem_4 alias view_2 mean copy alias_1 alias_3 view_4 mean_1 copy_1 alias_4 view_5"
    assert [n.name for n in program.graph.nodes if n.op == "call_function"] == nodes.split()
    assert program.graph_signature.buffers_to_mutate == {"alias_1": "running_mean", "alias_4": "running_var"}
    assert program.graph_signature.user_outputs == ("view_5",)


def test_drawn_slopes_are_an_operator_of_core_programs():
    x = torch.linspace(-1, 1, 6)
    program = torch.export.export(torch.nn.RReLU(0.1, 0.3).train(), (x,)).run_decompositions()
    assert operators(program) == ["aten.empty.memory_format", "aten.rrelu_with_noise_functional.default", "<built-in function getitem>"]
    with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
        torch.export.save(program, file.name)
        runs = [program.module(), torch.export.load(file.name).module(), torch.graph.load_program(file.name)]
        for run in runs:
            torch.manual_seed(0)
            found = run(x)
            torch.manual_seed(0)
            assert torch.equal(found, torch.rrelu(x, 0.1, 0.3, True))


def test_rectifiers_that_keep_their_slopes():
    x, aten = torch.linspace(-1, 1, 6), torch.ops.aten
    noise = torch.zeros(6)
    torch.manual_seed(0)
    result = aten.rrelu_with_noise(x, noise, 0.1, 0.3, True)
    assert torch.equal(result, x * noise) and bool((noise[3:] == 1).all()) and bool(((noise[:3] > 0.1) & (noise[:3] < 0.3)).all())
    torch.manual_seed(0)
    for found, expected in zip(aten.rrelu_with_noise_functional(x, noise, 0.1, 0.3, True), (result, noise), strict=True):
        assert torch.equal(found, expected)
    assert torch.equal(aten.rrelu_with_noise_backward(torch.ones(6), x, noise, 0.1, 0.3, True, False), noise)
    written = x.clone()
    torch.manual_seed(0)
    assert aten.rrelu_with_noise_(written, torch.zeros(6), 0.1, 0.3, True) is written and torch.equal(written, result)
    assert torch.equal(aten.rrelu_with_noise(x, noise, 0.1, 0.3), torch.nn.functional.leaky_relu(x, 0.2))
