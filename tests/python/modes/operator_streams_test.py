"""The operators that a mode sees, by name and in order, are those that PyTorch's programs are made of, forward and backward."""

import pytest
from cresset.utils._python_dispatch import TorchDispatchMode

import cresset as torch

F, nn = torch.nn.functional, torch.nn


class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func).removeprefix("aten.").removesuffix(".default"))
        return func(*args, **(kwargs or {}))


def leaf(*shape):
    n = torch.Size(shape).numel()
    return (torch.arange(float(n)).sin() + 1.5).reshape(shape).requires_grad_()


def streams(function, *inputs):
    """The names seen in the call and in its gradient, without detach, which is saving."""
    with Names() as forward:
        out = function(*inputs)
    out = out[0] if isinstance(out, tuple) else out
    with Names() as backward:
        torch.autograd.grad(out, [t for t in inputs if t.requires_grad], torch.ones_like(out))
    return tuple(" ".join(name for name in mode.seen if name not in ("detach", "ones_like")) for mode in (forward, backward))


def cell(kind, gates):
    weights = leaf(2 * gates, 3), leaf(2 * gates, 2), leaf(2 * gates), leaf(2 * gates)
    if kind == "lstm_cell":
        return lambda x, h, c: torch.lstm_cell(x, (h, c), *weights)
    return lambda x, h: getattr(torch, kind)(x, h, *weights)


def layers():
    weights = [leaf(6, 3), leaf(6, 2), leaf(6), leaf(6)]
    return lambda x, h: torch.gru(x, h, weights, True, 1, 0.0, False, False, False)


def long_memory(hidden=2, biases=True, layers=1, ways=1, cells=2, dtype=torch.float32):
    weights = []
    for i in range(layers * ways):
        weights += [leaf(4 * cells, 3 if i < ways else ways * hidden), leaf(4 * cells, hidden), *([leaf(4 * cells)] * 2 if biases else [])]
        weights += [leaf(hidden, cells)] if hidden != cells else []
    weights = [w.detach().to(dtype) for w in weights]
    return lambda x, h, c: torch.lstm(x, [h, c], weights, biases, layers, 0.0, False, ways == 2, False)


def ctc(x):
    return F.ctc_loss(x, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))


GATES = (
    "unsafe_split.Tensor t addmm unsafe_split.Tensor add_.Tensor sigmoid_ add_.Tensor sigmoid_ clone mul_.Tensor add.Tensor tanh_ sub.Tensor clone mul_.Tensor "
)
LSTM_STEP = "unsafe_split.Tensor sigmoid_ sigmoid_ tanh_ sigmoid_ mul.Tensor mul.Tensor add_.Tensor tanh mul.Tensor "
LSTM_SLOPE = "mul.Tensor mul.Tensor mul.Tensor mul.Tensor sigmoid_backward tanh_backward sigmoid_backward sigmoid_backward cat t mm "
LAYER, OF_LAYER = "select.int select.int mkldnn_rnn_layer ", "mkldnn_rnn_layer_backward "
STATES = leaf(4, 1, 2)
MASK = torch.ones(3, 3).tril().bool()
CASES = {
    "unsafe_view": (lambda x, y: torch.matmul(x, y), [leaf(2, 2, 3), leaf(3, 2)], "view mm _unsafe_view", "view t mm t mm view"),
    "columns": (F.linear, [leaf(2, 3), leaf(4, 3), leaf(4)], "t addmm", "t mm t mm t sum.dim_IntList view t"),
    "std": (lambda x: x.std(1), [leaf(2, 3)], "std.correction",
            "mul.Scalar div.Tensor eq.Scalar masked_fill_.Scalar unsqueeze mean.dim sub.Tensor mul.Scalar mul.Tensor"),
    "amax": (lambda x: x.amax(1), [leaf(2, 3)], "amax", "view eq.Tensor view sum.dim_IntList div.Tensor mul.Tensor"),
    "sum to a number": (lambda x: x[0, 0] + x, [leaf(2, 3)], "select.int select.int add.Tensor", "sum select_backward select_backward add.Tensor"),
    "maximum": (torch.maximum, [leaf(2), leaf(2)], "maximum",
                "div.Scalar eq.Tensor where.self gt.Tensor masked_fill_.Scalar div.Scalar eq.Tensor where.self lt.Tensor masked_fill_.Scalar"),
    "clamp": (lambda x: x.clamp(0, 2), [leaf(2)], "clamp", "scalar_tensor ge.Scalar le.Scalar logical_and_ where.self"),
    "sort": (lambda x: x.sort(1).values, [leaf(2, 3)], "sort", "new_zeros scatter.src"),
    "stack": (lambda x, y: torch.stack([x, y]), [leaf(2), leaf(2)], "stack", "select.int select.int"),
    "mse": (F.mse_loss, [leaf(2), leaf(2)], "mse_loss", "mse_loss_backward mse_loss_backward"),
    "smooth": (F.smooth_l1_loss, [leaf(2), leaf(2)], "smooth_l1_loss", "smooth_l1_loss_backward smooth_l1_loss_backward"),
    "logits": (lambda x: F.binary_cross_entropy_with_logits(x, torch.ones_like(x)), [leaf(2)], "binary_cross_entropy_with_logits",
               "sigmoid sub.Tensor mul.Tensor div_.Scalar"),
    "glu": (F.glu, [leaf(2, 4)], "glu", "glu_backward"),
    "prelu": (F.prelu, [leaf(2, 4), leaf(1)], "view _prelu_kernel", "_prelu_kernel_backward sum.dim_IntList view"),
    "grid": (F.grid_sample, [leaf(1, 1, 3, 3), leaf(1, 2, 2, 2)], "grid_sampler_2d", "grid_sampler_2d_backward"),
    "batch norm": (lambda x: F.batch_norm(x, None, None, training=True), [leaf(3, 2)], "empty.memory_format native_batch_norm", "native_batch_norm_backward"),
    "dropout": (F.dropout, [leaf(3)], "empty_like bernoulli_.float div_.Scalar mul.Tensor", "mul.Tensor"),
    "mask": (lambda q: F.scaled_dot_product_attention(q, q, q, MASK), [leaf(1, 1, 3, 2)],
             "scalar_tensor scalar_tensor where.self _scaled_dot_product_flash_attention_for_cpu",
             "_scaled_dot_product_flash_attention_for_cpu_backward add.Tensor add.Tensor"),
    "cholesky": (torch.linalg.cholesky, [(torch.eye(3) * 3).requires_grad_()], "linalg_cholesky_ex _linalg_check_errors",
                 "transpose.int mm tril tril transpose.int add.Tensor mul.Scalar transpose.int linalg_solve_triangular linalg_solve_triangular"),
    "inverse": (torch.linalg.inv, [(torch.eye(3) * 3).requires_grad_()], "linalg_inv_ex _linalg_check_errors", "transpose.int mm transpose.int mm neg"),
    "rfft": (torch.fft.rfft, [leaf(4)], "_fft_r2c", "new_zeros slice.Tensor copy_ _fft_c2c view_as_real select.int"),
    "rnn cell": (cell("rnn_tanh_cell", 1), [leaf(2, 3), leaf(2, 2)], "t addmm t addmm add_.Tensor tanh", "tanh_backward t mm t mm"),
    "gru": (layers(), [leaf(1, 1, 3), leaf(1, 1, 2)], "unbind.int view t addmm view unbind.int " + GATES + "add_.Tensor stack stack",
            "select.int mul.Tensor mul.Tensor neg add.Tensor tanh_backward mul.Tensor mul.Tensor sigmoid_backward sigmoid_backward cat t mm add.Tensor cat "
            "stack view t mm view stack"),
    "lstm": (long_memory(), [leaf(2, 1, 3), leaf(1, 1, 2), leaf(1, 1, 2)], LAYER + "stack stack", OF_LAYER + "select_backward select_backward"),
    "lstm without biases": (long_memory(biases=False), [leaf(2, 1, 3), leaf(1, 1, 2), leaf(1, 1, 2)],
                            "select.int select.int zeros zeros mkldnn_rnn_layer stack stack", OF_LAYER + "select_backward select_backward"),
    "lstm both ways": (long_memory(layers=2, ways=2), [leaf(2, 1, 3), STATES.detach(), STATES.detach()], (LAYER * 2 + "cat ") * 2 + "stack stack",
                       f"slice.Tensor slice.Tensor {OF_LAYER * 2}add.Tensor slice.Tensor slice.Tensor {OF_LAYER * 2}add.Tensor"),
    "lstm of doubles": (long_memory(dtype=torch.float64), [t.detach().double().requires_grad_() for t in (leaf(2, 1, 3), leaf(1, 1, 2), leaf(1, 1, 2))],
                        f"unbind.int unbind.int view t addmm view unbind.int {('t addmm add_.Tensor ' + LSTM_STEP) * 2}stack stack stack",
                        f"select.int select.int mul.Tensor mul.Tensor tanh_backward {LSTM_SLOPE}add.Tensor mul.Tensor mul.Tensor tanh_backward add.Tensor "
                        f"{LSTM_SLOPE}stack view t mm view stack stack"),
    "lstm projected": (long_memory(cells=3), [leaf(1, 1, 3), leaf(1, 1, 2), leaf(1, 1, 3)],
                       f"unbind.int unbind.int view t addmm view unbind.int t addmm add_.Tensor {LSTM_STEP}t mm stack stack stack",
                       f"select.int t mm mul.Tensor mul.Tensor tanh_backward {LSTM_SLOPE}stack view t mm view stack stack"),
    "ctc": (ctc, [leaf(4, 1, 3)], "lift_fresh lift_fresh lift_fresh _ctc_loss.Tensor clamp_min div.Tensor mean",
            "expand div.Scalar div.Tensor _ctc_loss_backward.Tensor"),
    "product": (lambda x: x.prod(1), [leaf(2, 3)], "prod.dim_int",
                "unsqueeze unsqueeze ones slice.Tensor cat cumprod slice.Tensor flip cat cumprod flip mul.Tensor mul.Tensor"),
    "einsum": (lambda x, y: torch.einsum("ij,kj->ik", x, y), [leaf(2, 3), leaf(4, 3)],
               "unsqueeze permute unsqueeze permute permute view permute view bmm view permute view",
               "view permute view transpose.int bmm transpose.int bmm view permute view permute permute squeeze.dim permute squeeze.dim"),
    "determinant": (torch.linalg.det, [(torch.eye(3) * 3 + 0.1).requires_grad_()], "_linalg_det",
                    "mul.Tensor unsqueeze expand diag_embed transpose.int diagonal eq.Scalar scalar_tensor scalar_tensor where.self diag_embed add.Tensor "
                    "linalg_lu_solve"),
    "solve": (lambda x: torch.linalg.solve(x, x), [(torch.eye(3) * 3 + 0.1).requires_grad_()], "_linalg_solve_ex _linalg_check_errors",
              "linalg_lu_solve transpose.int mm neg add.Tensor"),
    "conjugates": (lambda x: torch.view_as_real(torch.complex(x, x) * 1j).sum(-1), [leaf(2)], "complex mul.Tensor view_as_real sum.dim_IntList",
                   "unsqueeze expand clone view_as_complex _conj clone mul.Tensor view_as_real select.int view_as_real select.int add.Tensor"),
    "checkpoint": (lambda x: torch.utils.checkpoint.checkpoint(lambda y: y.sin().exp(), x, use_reentrant=False), [leaf(2)], "sin exp",
                   "sin exp mul.Tensor cos mul.Tensor"),
    "cosine": (lambda x, y: F.cosine_similarity(x, y), [leaf(2, 3), leaf(2, 3)],
               "linalg_vector_norm clone linalg_vector_norm clone scalar_tensor clamp_min_.Tensor clamp_min_.Tensor div.Tensor div.Tensor mul.Tensor "
               "sum.dim_IntList",
               "unsqueeze expand mul.Tensor mul.Tensor div.Tensor div.Tensor neg mul.Tensor div.Tensor sum.dim_IntList div.Tensor div.Tensor neg mul.Tensor "
               "div.Tensor sum.dim_IntList div.Tensor eq.Scalar masked_fill_.Scalar mul.Tensor add.Tensor div.Tensor eq.Scalar masked_fill_.Scalar mul.Tensor "
               "add.Tensor"),
    "pairwise": (lambda x, y: F.pairwise_distance(x, y), [leaf(2, 3), leaf(3, 1)[:1]], "sub.Tensor add.Scalar norm.ScalarOpt_dim",
                 "unsqueeze unsqueeze div.Tensor eq.Scalar masked_fill_.Scalar mul.Tensor neg sum.dim_IntList"),
    "distances": (lambda x, y: torch.cdist(x, y), [leaf(2, 3), leaf(4, 3)], "_cdist_forward",
                  "_cdist_backward transpose.int clone transpose.int clone _cdist_backward"),
    "lstm cell": (cell("lstm_cell", 4), [leaf(2, 3), leaf(2, 2), leaf(2, 2)],
                  "t addmm t addmm add_.Tensor unsafe_split.Tensor sigmoid_ sigmoid_ tanh_ sigmoid_ mul.Tensor mul.Tensor add_.Tensor tanh mul.Tensor",
                  "mul.Tensor mul.Tensor tanh_backward mul.Tensor mul.Tensor mul.Tensor mul.Tensor sigmoid_backward tanh_backward sigmoid_backward "
                  "sigmoid_backward cat t mm t mm"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_streams(name):
    function, inputs, forward, backward = CASES[name]
    assert streams(function, *inputs) == (forward, backward)


@pytest.mark.parametrize("name", CASES)
def test_results_are_the_same_without_a_mode(name):
    function, inputs, *_ = CASES[name]
    found = []
    for seen in (True, False):
        torch.manual_seed(0)
        mode = Names()
        if seen:
            mode.__enter__()
        try:
            out = function(*inputs)
            out = out[0] if isinstance(out, tuple) else out
            found.append([out, *torch.autograd.grad(out, [t for t in inputs if t.requires_grad], torch.ones_like(out))])
        finally:
            if seen:
                mode.__exit__(None, None, None)
    torch.testing.assert_close(found[0], found[1])


@pytest.mark.parametrize("name", ["mse", "smooth", "glu", "prelu", "logits", "grid"])
def test_second_derivatives_under_a_mode(name):
    function, inputs, *_ = CASES[name]
    inputs = [t.detach().double().requires_grad_() for t in inputs]
    with Names():
        assert torch.autograd.gradgradcheck(function, inputs)


def test_layers_of_gates_are_the_same_under_a_mode():
    torch.manual_seed(0)
    net = nn.GRU(3, 2, num_layers=2, bidirectional=True, batch_first=True)
    x = leaf(2, 4, 3)
    plain = net(x)
    with Names() as mode:
        seen = net(x)
    torch.testing.assert_close(seen, plain)
    assert mode.seen.count("tanh_") == 2 * 2 * 4
    grads = [torch.autograd.grad(out[0].sin().sum(), [x, *net.parameters()]) for out in (plain, seen)]
    torch.testing.assert_close(*grads)


def test_attention_projects_its_inputs_at_once():
    attention, x = nn.MultiheadAttention(4, 2, batch_first=True), leaf(1, 2, 4)
    with Names() as mode:
        attention(x, x, x)
    assert " ".join(mode.seen).startswith(
        "transpose.int view t addmm view view unsqueeze transpose.int squeeze.dim clone select.int select.int select.int view"
    )


EQUATIONS = {
    "bij,bjk->bik": [(5, 2, 3), (5, 3, 4)], "i,j->ij": [(2,), (3,)], "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)], "ii->i": [(3, 3)], "ij->ji": [(2, 3)],
    "ij,j": [(2, 3), (3,)], "...ij,...jk->...ik": [(2, 2, 3), (2, 3, 4)], "ij->j": [(2, 3)], "ij,ij->ij": [(2, 3), (2, 3)], "ij,ij->": [(2, 3), (2, 3)],
    "ij,k->k": [(2, 3), (4,)], "...i,ij": [(2, 1, 3), (3, 4)], "ij,jk->ik": [(2, 1), (1, 4)],
}  # fmt: skip


@pytest.mark.parametrize("equation", EQUATIONS)
def test_contractions_are_the_same_under_a_mode(equation):
    operands = [leaf(*shape) for shape in EQUATIONS[equation]]
    plain = torch.einsum(equation, *operands)
    with Names() as mode:
        seen = torch.einsum(equation, *operands)
    torch.testing.assert_close(seen, plain)
    assert not any(name.startswith("einsum") for name in mode.seen)
    torch.testing.assert_close(*[torch.autograd.grad(out.sin().sum(), operands) for out in (plain, seen)])


ADAM = "add_.Tensor lerp_.Scalar mul_.Tensor addcmul_ _local_scalar_dense {} div.Tensor add_.Tensor addcdiv_"
LISTS = (
    "_foreach_lerp_.Scalar _foreach_mul_.Scalar _foreach_addcmul_.Scalar _local_scalar_dense _local_scalar_dense _foreach_sqrt _foreach_div_.ScalarList "
    "_foreach_add_.Scalar _foreach_addcdiv_.ScalarList"
)
STEPS = {
    "sgd": (torch.optim.SGD, {}, "add_.Tensor"),
    "nesterov": (torch.optim.SGD, {"momentum": 0.5, "nesterov": True, "weight_decay": 0.1, "maximize": True},
                 "neg add.Tensor mul_.Tensor add_.Tensor add.Tensor add_.Tensor"),
    "sgd of lists": (torch.optim.SGD, {"momentum": 0.5, "weight_decay": 0.1, "dampening": 0.5, "foreach": True},
                     "_foreach_add.List _foreach_mul_.Scalar _foreach_add_.List _foreach_add_.List"),
    "adam": (torch.optim.Adam, {"amsgrad": True}, ADAM.format("maximum.out sqrt")),
    "adamw": (torch.optim.AdamW, {}, ADAM.format("sqrt").replace("add_.Tensor", "add_.Tensor mul_.Tensor", 1)),
    "adam of lists": (torch.optim.Adam, {"foreach": True, "weight_decay": 0.1}, "lift_fresh _foreach_add_.Tensor _foreach_add.List " + LISTS),
    "adamw of lists": (torch.optim.AdamW, {"foreach": True}, "lift_fresh _foreach_add_.Tensor _foreach_mul_.Scalar " + LISTS),
    "fused": (torch.optim.SGD, {"fused": True}, "_fused_sgd_"),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_optimizers_are_theirs_and_give_the_same_numbers(name):
    kind, options, expected = STEPS[name]
    plain, heard = (nn.Parameter(torch.tensor([1.0, -2.0, 0.5])) for _ in range(2))
    ours, theirs = kind([plain], lr=0.1, **options), kind([heard], lr=0.1, **options)
    for _ in range(3):
        for p in (plain, heard):
            p.grad = (p * 3).detach()
        ours.step()
        with Names() as mode:
            theirs.step()
    part = "profiler._record_function_enter_new {} profiler._record_function_exit._RecordFunction"
    assert " ".join(mode.seen) == part.format(expected)
    torch.testing.assert_close(heard, plain)
    assert set(ours.state[plain]) == set(theirs.state[heard])


def test_named_parts_of_a_program_are_heard_and_traced():
    from cresset.fx.experimental.proxy_tensor import make_fx

    def program(x):
        with torch.autograd.profiler.record_function("part"):
            return x.sin()

    with Names() as mode:
        program(X)
    names = ["profiler._record_function_enter_new", "sin", "profiler._record_function_exit._RecordFunction"]
    assert mode.seen == names
    graph = make_fx(program)(X)
    assert [str(node.target).removeprefix("aten.").removesuffix(".default") for node in graph.graph.nodes if node.op == "call_function"] == names
    torch.testing.assert_close(graph(X), X.sin())


def test_shifts_have_the_names_of_their_operators():
    x = torch.arange(3)
    with Names() as mode:
        x << 1
        x >> x
        torch.bitwise_left_shift(x, 1)
    assert mode.seen == ["__lshift__.Scalar", "__rshift__.Tensor", "bitwise_left_shift.Tensor_Scalar"]


def test_factories_say_device_and_pinned_memory():
    seen = []

    class Named(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), kwargs))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Named():
        torch.ones(2, dtype=torch.float64), torch.empty_like(x), x.to(torch.float64), x.std(0)
    cpu = torch.device("cpu")
    assert seen == [
        ("aten.ones.default", {"dtype": torch.float64, "device": cpu, "pin_memory": False}),
        ("aten.empty_like.default", {"pin_memory": False}),
        ("aten._to_copy.default", {"dtype": torch.float64}),
        ("aten.std.correction", {"correction": 1}),
    ]


def test_parameters_and_histories_of_views_are_not_seen():
    with Names() as mode:
        nn.Parameter(X)
        y = leaf(3) * 1
        y[0].mul_(2)
    assert "detach" not in mode.seen and "as_strided" not in mode.seen


X = torch.ones(2)
