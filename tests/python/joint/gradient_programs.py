"""Expressions of a tensor x of sizes (4, 6), and the operators of the graphs of their gradients: the same for Cresset and for PyTorch.

python tests/python/joint/gradient_programs.py   # with PyTorch: writes gradient_streams.txt
"""

import sys

UN = "tanh sigmoid exp sqrt rsqrt reciprocal log sin cos relu abs neg square expm1 log1p log2 log10 exp2 tan atan asin acos sinh cosh asinh acosh atanh erf erfc erfinv lgamma digamma sigmoid_ tanh_ exp_ sqrt_ floor trunc sign frac sinc i0 logit erfcx nan_to_num".split()
PROGRAMS = {name: f"torch.{name}(x)" for name in UN if not name.endswith("_") and name != "erfcx"}
for _name in ("sigmoid", "tanh", "exp", "sqrt", "relu", "sin"):
    PROGRAMS[_name + "_inplace"] = f"(x * 1).{_name}_()"
PROGRAMS.update(
    {
        "softmax": "torch.softmax(x, 1)",
        "log_softmax": "torch.log_softmax(x, 1)",
        "F_softmax": "F.softmax(x, -1)",
        "logsumexp": "torch.logsumexp(x, 1)",
        "softmin": "F.softmin(x, 1)",
        "gelu": "F.gelu(x)",
        "gelu_tanh": 'F.gelu(x, approximate="tanh")',
        "silu": "F.silu(x)",
        "mish": "F.mish(x)",
        "softplus": "F.softplus(x)",
        "elu": "F.elu(x)",
        "selu": "F.selu(x)",
        "celu": "F.celu(x)",
        "leaky": "F.leaky_relu(x)",
        "hardtanh": "F.hardtanh(x)",
        "hardswish": "F.hardswish(x)",
        "hardsigmoid": "F.hardsigmoid(x)",
        "relu6": "F.relu6(x)",
        "logsigmoid": "F.logsigmoid(x)",
        "glu": "F.glu(x)",
        "tanhshrink": "F.tanhshrink(x)",
        "softshrink": "F.softshrink(x)",
        "hardshrink": "F.hardshrink(x)",
        "threshold": "F.threshold(x, 0.1, 0.0)",
        "prelu": "F.prelu(x, torch.tensor([0.25]))",
        "rrelu": "F.rrelu(x, training=False)",
        "pow2": "x ** 2",
        "pow3": "x ** 3",
        "pow05": "x ** 0.5",
        "powt": "x ** (x + 1)",
        "rpow": "2 ** x",
        "mul": "x * x",
        "div": "1 / x",
        "divt": "x / (x + 1)",
        "add": "x + x",
        "sub": "3 - x",
        "sum": "x.sum(0)",
        "mean": "x.mean(1)",
        "var": "x.var(1)",
        "std": "x.std(1)",
        "prod": "x.prod(1)",
        "amax": "x.amax(1)",
        "max": "x.max(1)[0]",
        "min": "x.min(1).values",
        "median": "x.median(1)[0]",
        "norm": "x.norm()",
        "norm1": "x.norm(p=1)",
        "lnorm": "torch.linalg.norm(x)",
        "vnorm": "torch.linalg.vector_norm(x, 3)",
        "cumsum": "x.cumsum(1)",
        "cumprod": "x.cumprod(1)",
        "cummax": "x.cummax(1)[0]",
        "logcumsumexp": "x.logcumsumexp(1)",
        "topk": "x.topk(2, 1)[0]",
        "sort": "x.sort(1)[0]",
        "kthvalue": "x.kthvalue(2, 1)[0]",
        "mm": "x @ x.t()",
        "matmul3": "torch.matmul(x.expand(2, 4, 6), x.t())",
        "bmm": "torch.bmm(x.view(2, 2, 6), x.view(2, 6, 2))",
        "addmm": "torch.addmm(x[:, :4], x, x.t())",
        "dot": "torch.dot(x[0], x[1])",
        "mv": "x @ x[0]",
        "outer": "torch.outer(x[0], x[1])",
        "einsum": 'torch.einsum("ij,kj->ik", x, x)',
        "linear": "F.linear(x, x[:3], x[0, :3])",
        "bilinear": "F.bilinear(x, x, x.view(4, 6, 1).expand(4, 6, 6))",
        "layer_norm": "F.layer_norm(x, (6,), x[0], x[1])",
        "group_norm": "F.group_norm(x.view(2, 4, 3), 2)",
        "batch_norm": "F.batch_norm(x, None, None, x[0], x[1], True)",
        "batch_norm_eval": "F.batch_norm(x, torch.zeros(6), torch.ones(6), x[0], x[1], False)",
        "instance_norm": "F.instance_norm(x.view(1, 4, 6))",
        "rms_norm": "F.rms_norm(x, (6,), x[0])",
        "normalize": "F.normalize(x)",
        "lrn": "F.local_response_norm(x.view(1, 4, 6), 2)",
        "conv1d": "F.conv1d(x.view(1, 4, 6), x[:, :4].reshape(2, 4, 2))",
        "conv2d": "F.conv2d(x.view(1, 1, 4, 6), x[:2, :2].reshape(1, 1, 2, 2))",
        "convt": "F.conv_transpose1d(x.view(1, 4, 6), x[:, :4].reshape(4, 2, 2))",
        "avg_pool": "F.avg_pool1d(x.view(1, 4, 6), 2)",
        "max_pool": "F.max_pool1d(x.view(1, 4, 6), 2)",
        "max_pool2": "F.max_pool2d(x.view(1, 1, 4, 6), 2)",
        "adaptive": "F.adaptive_avg_pool1d(x.view(1, 4, 6), 2)",
        "amaxp": "F.adaptive_max_pool1d(x.view(1, 4, 6), 2)",
        "interp": "F.interpolate(x.view(1, 4, 6), scale_factor=2)",
        "interpl": 'F.interpolate(x.view(1, 1, 4, 6), size=(3, 3), mode="bilinear")',
        "pad": "F.pad(x, (1, 1))",
        "padr": 'F.pad(x.view(1, 4, 6), (1, 1), mode="reflect")',
        "unfold": "F.unfold(x.view(1, 1, 4, 6), 2)",
        "pixel": "F.pixel_shuffle(x.view(1, 4, 3, 2), 2)",
        "grid": "F.grid_sample(x.view(1, 1, 4, 6), x[:2, :2].reshape(1, 1, 2, 2), align_corners=False)",
        "ce": "F.cross_entropy(x, torch.tensor([0, 1, 2, 3]))",
        "nll": "F.nll_loss(x, torch.tensor([0, 1, 2, 3]))",
        "mse": "F.mse_loss(x, x.detach() * 2)",
        "l1": "F.l1_loss(x, x.detach() * 2)",
        "smooth": "F.smooth_l1_loss(x, x.detach() * 2)",
        "huber": "F.huber_loss(x, x.detach() * 2)",
        "bce": "F.binary_cross_entropy(torch.sigmoid(x), torch.ones(4, 6))",
        "bcel": "F.binary_cross_entropy_with_logits(x, torch.ones(4, 6))",
        "kl": 'F.kl_div(x, torch.ones(4, 6), reduction="batchmean")',
        "cos": "F.cosine_similarity(x, x + 1)",
        "triplet": "F.triplet_margin_loss(x, x + 1, x - 1)",
        "hinge": "F.hinge_embedding_loss(x, torch.ones(4, 6))",
        "softmargin": "F.soft_margin_loss(x, torch.ones(4, 6))",
        "gnll": "F.gaussian_nll_loss(x, torch.zeros(4, 6), x * x)",
        "pnll": "F.poisson_nll_loss(x, torch.ones(4, 6))",
        "pdist": "F.pdist(x)",
        "cdist": "torch.cdist(x, x + 1)",
        "pairwise": "F.pairwise_distance(x, x + 1)",
        "multimargin": "F.multi_margin_loss(x, torch.tensor([0, 1, 2, 3]))",
        "sdpa": "F.scaled_dot_product_attention(x.view(1, 4, 6), x.view(1, 4, 6), x.view(1, 4, 6))",
        "sdpac": "F.scaled_dot_product_attention(x.view(1, 1, 4, 6), x.view(1, 1, 4, 6), x.view(1, 1, 4, 6), is_causal=True)",
        "embedding": "F.embedding(torch.tensor([0, 1]), x)",
        "embbag": "F.embedding_bag(torch.tensor([[0, 1]]), x)",
        "index": "x[torch.tensor([0, 1])]",
        "gather": "x.gather(1, torch.tensor([[0], [1], [2], [3]]))",
        "select": "x.index_select(0, torch.tensor([0, 1]))",
        "masked": "x.masked_fill(x > 0.5, 0.0)",
        "where": "torch.where(x > 0.5, x, x * 2)",
        "clamp": "x.clamp(0.2, 0.8)",
        "clampmin": "x.clamp(min=0.2)",
        "minimum": "torch.minimum(x, x * 2)",
        "maximum": "torch.maximum(x, x * 2)",
        "atan2": "torch.atan2(x, x + 1)",
        "hypot": "torch.hypot(x, x)",
        "lerp": "torch.lerp(x, x * 2, 0.5)",
        "addcmul": "torch.addcmul(x, x, x)",
        "addcdiv": "torch.addcdiv(x, x, x + 2)",
        "fmod": "torch.fmod(x, 0.3)",
        "remainder": "torch.remainder(x, 0.3)",
        "cross": "torch.linalg.cross(x.view(8, 3), x.view(8, 3) + 1)",
        "cat": "torch.cat([x, x * 2])",
        "stack": "torch.stack([x, x])",
        "flip": "x.flip(0)",
        "roll": "x.roll(1)",
        "tril": "x.tril()",
        "diag": "x.diagonal()",
        "diag_embed": "torch.diag_embed(x[0])",
        "expand": "x.expand(2, 4, 6)",
        "repeat": "x.repeat(2, 1)",
        "permute": "x.permute(1, 0)",
        "split": "x.split(2)[0]",
        "unbind": "x.unbind(0)[1]",
        "chunk": "x.chunk(2)[1]",
        "scatter": "x.scatter(1, torch.tensor([[0]]), 1.0)",
        "scatter_add": "x.scatter_add(0, torch.zeros(1, 6, dtype=torch.long), x[:1])",
        "index_add": "x.index_add(0, torch.tensor([0]), x[:1])",
        "index_copy": "x.index_copy(0, torch.tensor([0]), x[1:2])",
        "index_put": "x.index_put((torch.tensor([0]),), x[1])",
        "take": "x.take(torch.tensor([0, 5]))",
        "kron": "torch.kron(x[:2, :2], x[:2, :2])",
        "trace": "x.trace()",
        "renorm": "x.renorm(2, 0, 1.0)",
        "dropout": "F.dropout(x, 0.0)",
        "dropout_eval": "F.dropout(x, training=False)",
        "to": "x.double()",
        "half": "x.to(torch.bfloat16)",
        "clone": "x.clone()",
        "detach": "x.detach() * x",
        "inplace": "(x * 2).mul_(x)",
        "inplace_view": "torch.zeros(4, 6).copy_(x)[0]",
        "write": "(lambda t: (t[0].mul_(2), t)[1])(x * 1)",
        "cholesky": "torch.linalg.cholesky(x @ x.t() + 4 * torch.eye(4))",
        "inv": "torch.linalg.inv(x @ x.t() + 4 * torch.eye(4))",
        "det": "torch.linalg.det(x @ x.t() + 4 * torch.eye(4))",
        "solve": "torch.linalg.solve(x @ x.t() + 4 * torch.eye(4), x)",
        "svdvals": "torch.linalg.svdvals(x)",
        "eigvalsh": "torch.linalg.eigvalsh(x @ x.t())",
        "qr": "torch.linalg.qr(x)[1]",
        "complex": "torch.abs(torch.complex(x, x))",
        "fft": "torch.fft.rfft(x).abs()",
        "polar": "torch.polar(x, x).real",
        "angle": "torch.view_as_complex(x.view(4, 3, 2)).angle()",
        "chain": "torch.tanh(torch.sigmoid(x).exp())",
        "chain2": "(torch.exp(x) * torch.tanh(x)).sqrt()",
        "twice": "torch.sigmoid(x) * torch.sigmoid(x)",
        "mlp": "torch.tanh(x @ x.t()).relu() @ x",
        "attention": "torch.softmax(x @ x.t(), -1) @ x",
        "returned": "torch.exp(x)",
    }
)


def _ops(gm):
    return " ".join(str(n.target).removeprefix("aten.").removesuffix(".default") for n in gm.graph.nodes if n.op not in ("placeholder", "output"))


def streams(torch, name):
    """{way: operators in order}: gradients by `torch.func.grad`, by `vjp` and by autograd, and forward and backward apart; ways that fail are left out."""
    from functorch.compile import aot_function, make_boxed_func
    from torch.fx.experimental.proxy_tensor import make_fx

    F = torch.nn.functional
    function = eval(f"lambda x: {PROGRAMS[name]}", {"torch": torch, "F": F})
    x = (torch.arange(24.0) / 16).sin().view(4, 6) * 0.4 + 0.45

    def by_autograd(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(function(x).sum(), x)

    def pulled(x, v):
        return torch.func.vjp(function, x)[1](v)

    def apart():
        graphs = []

        def compiler(gm, inputs):
            graphs.append(_ops(gm))
            return make_boxed_func(gm.forward)

        aot_function(function, fw_compiler=compiler, bw_compiler=compiler)(x.clone().requires_grad_()).sum().backward()
        return " | ".join(graphs)

    ways = {
        "grad": lambda: _ops(make_fx(torch.func.grad(lambda x: function(x).sum()))(x.clone())),
        "vjp": lambda: _ops(make_fx(pulled)(x.clone(), torch.ones_like(function(x)))),
        "autograd": lambda: _ops(make_fx(by_autograd)(x.clone())),
        "apart": apart,
    }
    found = {}
    for way, run in ways.items():
        try:
            found[way] = run()
        except Exception:
            pass
    return found


def record(path):
    """Writes PyTorch's streams."""
    import torch

    with open(path, "w") as f:
        for name in PROGRAMS:
            f.writelines(f"{name}/{way}\t{stream}\n" for way, stream in streams(torch, name).items())


if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else __file__.replace("programs.py", "streams.txt"))
