"""The TorchScript of `torch.nn.functional` and of layers whose Python is no TorchScript: signatures as users know them, over operators."""

import functools
import re

import _cresset_graph as _graph

FUNCTIONAL = """
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.relu_(input) if inplace else torch.relu(input)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.hardtanh_(input, 0.0, 6.0) if inplace else torch.hardtanh(input, 0.0, 6.0)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.hardtanh_(input, min_val, max_val) if inplace else torch.hardtanh(input, min_val, max_val)
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.elu_(input, alpha) if inplace else torch.elu(input, alpha)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.selu_(input) if inplace else torch.selu(input)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    return torch.leaky_relu_(input, negative_slope) if inplace else torch.leaky_relu(input, negative_slope)
def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor:
    return torch.rrelu(input, lower, upper, training)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.silu_(input) if inplace else torch.silu(input)
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.mish_(input) if inplace else torch.mish(input)
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.hardswish_(input) if inplace else torch.hardswish(input)
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.hardsigmoid_(input) if inplace else torch.hardsigmoid(input)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)
def softsign(input: Tensor) -> Tensor:
    return input / (input.abs() + 1)
def tanhshrink(input: Tensor) -> Tensor:
    return input - input.tanh()
def softmin(input: Tensor, dim: int, _stacklevel: int = 3, dtype: Optional[dtype] = None) -> Tensor:
    return torch.softmax(-input, dim, dtype=dtype)
def softmax(input: Tensor, dim: int, _stacklevel: int = 3, dtype: Optional[dtype] = None) -> Tensor:
    return torch.softmax(input, dim, dtype=dtype)
def log_softmax(input: Tensor, dim: int, _stacklevel: int = 3, dtype: Optional[dtype] = None) -> Tensor:
    return torch.log_softmax(input, dim, dtype=dtype)
def sigmoid(input: Tensor) -> Tensor:
    return input.sigmoid()
def tanh(input: Tensor) -> Tensor:
    return input.tanh()
def glu(input: Tensor, dim: int = -1) -> Tensor:
    return torch.glu(input, dim)
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    return input / input.norm(p, [dim], True).clamp_min(eps).expand_as(input)
def _check_rate(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError("dropout probability has to be between 0 and 1, but got {}".format(p))
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_rate(p)
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    _check_rate(p)
    return torch.alpha_dropout(input, p, training)
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    _check_rate(p)
    return torch.feature_alpha_dropout(input, p, training)
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_rate(p)
    batched = input.dim() == 3
    x = input if batched else input.unsqueeze(0)
    y = torch.feature_dropout(x, p, training)
    return y if batched else y.squeeze(0)
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_rate(p)
    return torch.feature_dropout(input, p, training)
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_rate(p)
    return torch.feature_dropout(input, p, training)
def batch_norm(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor] = None,
               bias: Optional[Tensor] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)
def instance_norm(input: Tensor, running_mean: Optional[Tensor] = None, running_var: Optional[Tensor] = None, weight: Optional[Tensor] = None,
                  bias: Optional[Tensor] = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)
def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05) -> Tensor:
    return torch.layer_norm(input, normalized_shape, weight, bias, eps)
def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05) -> Tensor:
    return torch.group_norm(input, num_groups, weight, bias, eps)
def embedding(input: Tensor, weight: Tensor, padding_idx: Optional[int] = None, max_norm: Optional[float] = None, norm_type: float = 2.0,
              scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    index = -1
    if padding_idx is not None:
        index = padding_idx if padding_idx >= 0 else weight.size(0) + padding_idx
    if max_norm is not None:
        torch.embedding_renorm_(weight.detach(), input.contiguous(), max_norm, norm_type)
    return torch.embedding(weight, input, index, scale_grad_by_freq, sparse)
def max_pool2d(input: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None, padding: BroadcastingList2[int] = 0,
               dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    return torch.max_pool2d(input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)
def adaptive_avg_pool2d(input: Tensor, output_size: BroadcastingList2[int]) -> Tensor:
    return torch.adaptive_avg_pool2d(input, output_size)
def _reduction(reduction: str) -> int:
    if reduction == "none":
        return 0
    if reduction == "mean":
        return 1
    if reduction == "sum":
        return 2
    raise ValueError("reduction: expected 'none', 'mean' or 'sum', got " + reduction)
def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100,
                  reduce: Optional[bool] = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    return torch.cross_entropy_loss(input, target, weight, _reduction(reduction), ignore_index, label_smoothing)
def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100,
             reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.nll_loss_nd(input, target, weight, _reduction(reduction), ignore_index)
def mse_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.mse_loss(input, target, _reduction(reduction))
def l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.l1_loss(input, target, _reduction(reduction))
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean",
                   beta: float = 1.0) -> Tensor:
    return torch.smooth_l1_loss(input, target, _reduction(reduction), beta)
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None,
                         reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.binary_cross_entropy(input, target, weight, _reduction(reduction))
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None,
                                     reduce: Optional[bool] = None, reduction: str = "mean", pos_weight: Optional[Tensor] = None) -> Tensor:
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _reduction(reduction))
def kl_div(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean",
           log_target: bool = False) -> Tensor:
    if reduction == "batchmean":
        return torch.kl_div(input, target, 2, log_target=log_target) / input.size(0)
    return torch.kl_div(input, target, _reduction(reduction), log_target=log_target)
"""

_RNN = """
def forward(self, input: Tensor, hx: Optional[{state}] = None) -> Tuple[Tensor, {state}]:
    batched = input.dim() == 3
    x = input if batched else input.unsqueeze({batch_dim})
{initial}
    weights = [{weights}]
    result = torch.{op}(x, {given}, weights, {bias}, {layers}, {dropout}, self.training, {bidirectional}, {batch_first})
    output = result[0] if batched else result[0].squeeze({batch_dim})
{final}
"""
_LSTM_INITIAL = """    if hx is None:
        h = torch.zeros([{count}, x.size({batch_dim}), {out}], dtype=x.dtype, device=x.device)
        c = torch.zeros([{count}, x.size({batch_dim}), {hidden}], dtype=x.dtype, device=x.device)
    else:
        h, c = hx
        if not batched:
            h, c = h.unsqueeze(1), c.unsqueeze(1)"""
_RNN_INITIAL = """    if hx is None:
        h = torch.zeros([{count}, x.size({batch_dim}), {out}], dtype=x.dtype, device=x.device)
    else:
        h = hx if batched else hx.unsqueeze(1)"""


def _rnn(module):
    mode = module.mode
    lstm = mode == "LSTM"
    names = [n for n, _ in module.named_parameters()]
    fields = {
        "state": "Tuple[Tensor, Tensor]" if lstm else "Tensor", "batch_dim": 0 if module.batch_first else 1,
        "count": module.num_layers * (2 if module.bidirectional else 1), "out": getattr(module, "proj_size", 0) or module.hidden_size,
        "hidden": module.hidden_size, "op": mode.lower(), "given": "[h, c]" if lstm else "h", "bias": bool(module.bias), "layers": module.num_layers,
        "dropout": float(module.dropout), "bidirectional": bool(module.bidirectional), "batch_first": bool(module.batch_first),
        "weights": ", ".join(f"self.{n}" for n in names),
    }  # fmt: skip
    fields["initial"] = (_LSTM_INITIAL if lstm else _RNN_INITIAL).format(**fields)
    fields["final"] = (
        "    if batched:\n        return output, (result[1], result[2])\n    return output, (result[1].squeeze(1), result[2].squeeze(1))"
        if lstm
        else "    return output, result[1] if batched else result[1].squeeze(1)"
    )
    return {"forward": _RNN.format(**fields)}


def _cell(module):
    kind = type(module).__name__
    lstm = "LSTM" in kind
    op = "lstm_cell" if lstm else "gru_cell" if "GRU" in kind else f"rnn_{module.nonlinearity}_cell"
    state = "Tuple[Tensor, Tensor]" if lstm else "Tensor"
    bias = "self.bias_ih, self.bias_hh" if module.bias_ih is not None else "None, None"
    zeros = f"torch.zeros([x.size(0), {module.hidden_size}], dtype=x.dtype, device=x.device)"
    first = f"h, c = {zeros}, {zeros}" if lstm else f"h = {zeros}"
    given = "h, c = hx" if lstm else "h = hx"
    lift = "h, c = h.unsqueeze(0), c.unsqueeze(0)" if lstm else "h = h.unsqueeze(0)"
    end = "    return r if batched else (r[0].squeeze(0), r[1].squeeze(0))" if lstm else "    return r if batched else r.squeeze(0)"
    return {"forward": f'''
def forward(self, input: Tensor, hx: Optional[{state}] = None) -> {state}:
    batched = input.dim() == 2
    x = input if batched else input.unsqueeze(0)
    if hx is None:
        {first}
    else:
        {given}
        if not batched:
            {lift}
    r = torch.{op}(x, {"[h, c]" if lstm else "h"}, self.weight_ih, self.weight_hh, {bias})
{end}
'''}  # fmt: skip


def _attention(module):
    same = module.in_proj_weight is not None
    e = module.embed_dim
    bias = module.in_proj_bias is not None
    weights = [f"self.in_proj_weight[{i * e}:{(i + 1) * e}]" for i in range(3)] if same else [f"self.{c}_proj_weight" for c in "qkv"]
    biases = [f"self.in_proj_bias[{i * e}:{(i + 1) * e}]" if bias else "None" for i in range(3)]
    out_bias = "self.out_proj.bias" if module.out_proj.bias is not None else "None"
    # A place of attention behind those of the keys, learned or of zeros; masks leave it open.
    more = ""
    if module.bias_k is not None:
        more = f"\n    k = torch.cat([k, self.bias_k.expand([n, 1, {e}])], 1)\n    v = torch.cat([v, self.bias_v.expand([n, 1, {e}])], 1)"
    if module.add_zero_attn:
        zeros = f"torch.zeros([n, 1, {e}], dtype=k.dtype, device=k.device)"
        more += f"\n    k = torch.cat([k, {zeros}], 1)\n    v = torch.cat([v, {zeros}], 1)"
    open_places = int(module.bias_k is not None) + int(module.add_zero_attn)
    widen = f"\n    if mask is not None:\n        mask = torch.pad(mask, [0, {open_places}])" if open_places else ""
    batch_first = bool(getattr(module, "batch_first", False))
    turn = "\n        q, k, v = q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)" if not batch_first else ""
    back = "\n    if batched:\n        out = out.transpose(0, 1)" if not batch_first else ""
    return {"forward": f'''
def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor] = None, need_weights: bool = True,
            attn_mask: Optional[Tensor] = None, average_attn_weights: bool = True, is_causal: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
    batched = query.dim() == 3
    q, k, v = query, key, value
    if batched:
        q, k, v = q, k, v{turn}
    else:
        q, k, v = q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0)
    q = torch.linear(q, {weights[0]}, {biases[0]})
    k = torch.linear(k, {weights[1]}, {biases[1]})
    v = torch.linear(v, {weights[2]}, {biases[2]})
    n, t, s = q.size(0), q.size(1), k.size(1){more}
    q = q.reshape([n, t, {module.num_heads}, {module.head_dim}]).transpose(1, 2)
    k = k.reshape([n, k.size(1), {module.num_heads}, {module.head_dim}]).transpose(1, 2)
    v = v.reshape([n, v.size(1), {module.num_heads}, {module.head_dim}]).transpose(1, 2)
    mask: Optional[Tensor] = None
    if attn_mask is not None:
        m = attn_mask
        if m.dtype == torch.bool:
            m = torch.zeros_like(m, dtype=q.dtype).masked_fill(m, float("-inf"))
        mask = m.reshape([n, {module.num_heads}, t, s]) if m.dim() == 3 else m
    if key_padding_mask is not None:
        p = key_padding_mask
        if p.dtype == torch.bool:
            p = torch.zeros_like(p, dtype=q.dtype).masked_fill(p, float("-inf"))
        p = p.reshape([n, 1, 1, s])
        mask = p if mask is None else mask + p{widen}
    weights: Optional[Tensor] = None
    rate = {float(module.dropout)} if self.training else 0.0
    if need_weights:
        scores = torch.matmul(q * {1.0 / module.head_dim**0.5}, k.transpose(-2, -1))
        if mask is not None:
            scores = scores + mask
        w = torch.softmax(scores, -1)
        if rate > 0.0:
            w = torch.dropout(w, rate, True)
        out = torch.matmul(w, v)
        weights = w.mean([1]) if average_attn_weights else w
        if not batched:
            weights = weights.squeeze(0)
    else:
        out = torch.scaled_dot_product_attention(q, k, v, mask, rate, is_causal and mask is None)
    out = out.transpose(1, 2).reshape([n, t, {e}])
    out = torch.linear(out, self.out_proj.weight, {out_bias}){back}
    if not batched:
        out = out.squeeze(0)
    return out, weights
'''}  # fmt: skip


def _encoder_layer(module):
    activation = getattr(module.activation, "__name__", type(module.activation).__name__).lower()
    activate = f"torch.{activation}" if activation in ("relu", "gelu") else "self.activation"
    attend = "self.dropout1(self.self_attn(x, x, x, key_padding_mask=src_key_padding_mask, need_weights=False, attn_mask=src_mask, is_causal=is_causal)[0])"
    feed = f"self.dropout2(self.linear2(self.dropout({activate}(self.linear1(x)))))"
    if module.norm_first:
        lines = [
            "y = src", f"x = self.norm1(y)\n    y = y + {attend}", f"x = self.norm2(y)\n    return y + {feed}",
        ]  # fmt: skip
    else:
        lines = [f"x = src\n    x = self.norm1(x + {attend})", f"return self.norm2(x + {feed})"]
    body = "\n    ".join(lines)
    return {"forward": f'''
def forward(self, src: Tensor, src_mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None, is_causal: bool = False) -> Tensor:
    {body}
'''}  # fmt: skip


def _pair(value, n):
    return list(value) if isinstance(value, (tuple, list)) else [value] * n


def _conv(module):
    n = int(type(module).__mro__[0].__name__[-2]) if re.search(r"\d[dD]$", type(module).__name__) else module.weight.dim() - 2
    stride, dilation = _pair(module.stride, n), _pair(module.dilation, n)
    bias = "self.bias" if module.bias is not None else "None"
    padding = module.padding if isinstance(module.padding, str) else _pair(module.padding, n)
    x = "input"
    if module.padding_mode != "zeros":
        both = (
            [p for pair in reversed(module._reversed_padding_repeated_twice[::2]) for p in (pair, pair)]
            if hasattr(module, "_reversed_padding_repeated_twice")
            else []
        )
        both = both or [p for v in reversed(padding) for p in (v, v)]
        x, padding = f'torch.pad(input, {both}, "{module.padding_mode}")', [0] * n
    return {"forward": f'''
def forward(self, input: Tensor) -> Tensor:
    return torch.conv{n}d({x}, self.weight, {bias}, {stride}, {repr(padding)}, {dilation}, {module.groups})
'''}  # fmt: skip


def _conv_transpose(module):
    n = module.weight.dim() - 2
    bias = "self.bias" if module.bias is not None else "None"
    stride, padding, extra = (_pair(v, n) for v in (module.stride, module.padding, module.output_padding))
    dilation, kernel = _pair(module.dilation, n), _pair(module.kernel_size, n)
    spread = [d * (k - 1) + 1 - 2 * p for d, k, p in zip(dilation, kernel, padding)]
    return {"forward": f'''
def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
    extra = {extra}
    if output_size is not None:
        lead, stride, spread = input.dim() - {n}, {stride}, {spread}
        wanted = output_size[lead:] if len(output_size) == input.dim() else output_size
        if len(wanted) != {n}:
            raise ValueError("output_size must have {n} or {{}} elements for an input of {{}} dimensions, got {{}}".format(input.dim(), input.dim(), len(wanted)))
        for d in range({n}):
            least = (input.size(d + lead) - 1) * stride[d] + spread[d]
            if wanted[d] < least or wanted[d] > least + stride[d] - 1:
                raise ValueError("output_size {{}}: dimension {{}} can be {{}} to {{}}".format(output_size, d, least, least + stride[d] - 1))
            extra[d] = wanted[d] - least
    return torch.conv_transpose{n}d(input, self.weight, {bias}, {stride}, {padding}, extra, {module.groups}, {dilation})
'''}  # fmt: skip


def _batch_norm(module):
    affine = ("self.weight", "self.bias") if module.weight is not None else ("None", "None")
    tracks = module.track_running_stats and module.running_mean is not None
    stats = ("self.running_mean", "self.running_var") if tracks else ("None", "None")
    dims = {"1": (2, 3), "2": (4,), "3": (5,)}.get(re.sub(r"\D", "", type(module).__name__)[:1], ())
    check = " and ".join(f"input.dim() != {d}" for d in dims)
    lines = [f'if {check}:\n        raise ValueError("expected {" or ".join(map(str, dims))} dimensions, got {{}}".format(input.dim()))'] if check else []
    momentum = "0.0" if module.momentum is None else float(module.momentum)
    if tracks and module.num_batches_tracked is not None:
        lines.append("if self.training:\n        self.num_batches_tracked.add_(1)")
    factor = momentum
    if tracks and module.momentum is None:
        lines.append("factor = 1.0 / float(self.num_batches_tracked) if self.training else 0.0")
        factor = "factor"
    training = "self.training" if tracks else "True"
    lines.append(f"return torch.batch_norm(input, {affine[0]}, {affine[1]}, {stats[0]}, {stats[1]}, {training}, {factor}, {float(module.eps)!r}, True)")
    return {"forward": "\ndef forward(self, input: Tensor) -> Tensor:\n    " + "\n    ".join(lines) + "\n"}


def _layer_norm(module):
    weight = "self.weight" if module.weight is not None else "None"
    bias = "self.bias" if getattr(module, "bias", None) is not None else "None"
    return {
        "forward": f"\ndef forward(self, input: Tensor) -> Tensor:\n    return torch.layer_norm(input, {list(module.normalized_shape)}, {weight}, {bias}, {module.eps!r})\n"
    }


def _embedding(module):
    index = -1 if module.padding_idx is None else module.padding_idx
    shorten = ""
    if module.max_norm is not None:
        shorten = f"    torch.embedding_renorm_(self.weight.detach(), input.contiguous(), {float(module.max_norm)}, {float(module.norm_type)})\n"
    return {
        "forward": f"\ndef forward(self, input: Tensor) -> Tensor:\n{shorten}    return torch.embedding(self.weight, input, {index}, {module.scale_grad_by_freq}, {module.sparse})\n"
    }


def _one(body, signature="input: Tensor"):
    return lambda m: {"forward": f"\ndef forward(self, {signature}) -> Tensor:\n    return {body(m)}\n"}


def _pool(op, n, maximum):
    def text(m):
        k, p = _pair(m.kernel_size, n), _pair(m.padding, n)
        s = _pair(m.stride, n) if m.stride is not None else k
        if maximum:
            return f"torch.{op}(input, {k}, {s}, {p}, {_pair(m.dilation, n)}, {m.ceil_mode})"
        tail = f", {m.divisor_override}" if n > 1 else ""
        return f"torch.{op}(input, {k}, {s}, {p}, {m.ceil_mode}, {m.count_include_pad}{tail})"

    return _one(text)


def _adaptive(op, n):
    def text(m):
        size = _pair(m.output_size, n)
        sizes = ", ".join(f"input.size({i - n})" if v is None else str(v) for i, v in enumerate(size))
        return f"torch.{op}(input, [{sizes}]){'[0]' if 'max' in op else ''}"

    return _one(text)


def _pad(m):
    value = f", {float(m.value)}" if hasattr(m, "value") else ""
    return f'torch.pad(input, {list(m.padding)}, "{m._mode}"{value})'


_UPSAMPLING = {"nearest": (("upsample_nearest", 1), ("upsample_nearest", 2), ("upsample_nearest", 3)),
               "linear": (("upsample_linear", 1),), "bilinear": (("upsample_bilinear", 2),), "bicubic": (("upsample_bicubic", 2),),
               "trilinear": (("upsample_trilinear", 3),)}  # fmt: skip


def _upsample(m):
    """A branch for each number of dimensions of space that the mode has."""
    kinds = _UPSAMPLING.get(m.mode)
    if kinds is None or m.recompute_scale_factor:
        return {}
    lines = []
    for op, n in kinds:
        factors = [] if m.scale_factor is None else [float(f) for f in _pair(m.scale_factor, n)]
        size = ", ".join(f"int(input.size({i + 2}) * {f})" for i, f in enumerate(factors)) if factors else ", ".join(map(str, _pair(m.size, n)))
        tail = ["" if "nearest" in op else f", {bool(m.align_corners)}", *(f", {f}" for f in factors)]
        lines += [f"    if input.dim() == {n + 2}:", f"        return torch.{op}{n}d(input, [{size}]{''.join(tail)})"]
    dims = " or ".join(str(n + 2) for _, n in kinds)
    lines.append(f'    raise ValueError("Upsample: expected an input of {dims} dimensions for mode {m.mode}, got {{}}".format(input.dim()))')
    return {"forward": "\ndef forward(self, input: Tensor) -> Tensor:\n" + "\n".join(lines) + "\n"}


def _embedding_bag(m):
    if m.max_norm is not None:
        return {}
    tail = f"{m.scale_grad_by_freq}, {('sum', 'mean', 'max').index(m.mode)}, {m.sparse}"
    return {
        "forward": f"""
def forward(self, input: Tensor, offsets: Optional[Tensor] = None, per_sample_weights: Optional[Tensor] = None) -> Tensor:
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("EmbeddingBag: expected no offsets for bags of one length, which are the rows of a 2-D input")
        offsets = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        input = input.reshape([-1])
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape([-1])
    if offsets is None:
        raise ValueError("EmbeddingBag: expected offsets, where the bags begin, for a 1-D input")
    return torch.embedding_bag(self.weight, input, offsets, {tail}, per_sample_weights, {m.include_last_offset}, {m.padding_idx})[0]
"""
    }


_CTC = "log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor"

MODULES = {
    **{f"{kind}Pad{n}d": _one(_pad) for kind in ("Constant", "Zero", "Reflection", "Replication", "Circular") for n in (1, 2, 3)},
    "Upsample": _upsample,
    "Fold": _one(lambda m: f"torch.col2im(input, {', '.join(str(_pair(v, 2)) for v in (m.output_size, m.kernel_size, m.dilation, m.padding, m.stride))})"),
    "Unfold": _one(lambda m: f"torch.im2col(input, {', '.join(str(_pair(v, 2)) for v in (m.kernel_size, m.dilation, m.padding, m.stride))})"),
    "CTCLoss": _one(lambda m: f"torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, {m.blank}, {('none', 'mean', 'sum').index(m.reduction)}, "
                              f"{m.zero_infinity})", _CTC),
    "EmbeddingBag": _embedding_bag,
    "Linear": _one(lambda m: f"torch.linear(input, self.weight, {'self.bias' if m.bias is not None else 'None'})"),
    "NonDynamicallyQuantizableLinear": _one(lambda m: f"torch.linear(input, self.weight, {'self.bias' if m.bias is not None else 'None'})"),
    "Bilinear": _one(lambda m: f"torch.bilinear(input1, input2, self.weight, {'self.bias' if m.bias is not None else 'None'})", "input1: Tensor, input2: Tensor"),
    "Identity": _one(lambda m: "input"),
    "Flatten": _one(lambda m: f"input.flatten({m.start_dim}, {m.end_dim})"),
    "Unflatten": _one(lambda m: f"input.unflatten({m.dim}, {list(m.unflattened_size)})"),
    "ReLU": _one(lambda m: "torch.relu_(input)" if m.inplace else "torch.relu(input)"),
    "ReLU6": _one(lambda m: "torch.hardtanh_(input, 0.0, 6.0)" if m.inplace else "torch.hardtanh(input, 0.0, 6.0)"),
    "Hardtanh": _one(lambda m: f"torch.hardtanh{'_' if m.inplace else ''}(input, {float(m.min_val)}, {float(m.max_val)})"),
    "ELU": _one(lambda m: f"torch.elu{'_' if m.inplace else ''}(input, {float(m.alpha)})"),
    "CELU": _one(lambda m: f"torch.celu{'_' if m.inplace else ''}(input, {float(m.alpha)})"),
    "SELU": _one(lambda m: f"torch.selu{'_' if m.inplace else ''}(input)"),
    "SiLU": _one(lambda m: f"torch.silu{'_' if m.inplace else ''}(input)"),
    "Mish": _one(lambda m: f"torch.mish{'_' if m.inplace else ''}(input)"),
    "Hardswish": _one(lambda m: f"torch.hardswish{'_' if m.inplace else ''}(input)"),
    "Hardsigmoid": _one(lambda m: f"torch.hardsigmoid{'_' if m.inplace else ''}(input)"),
    "LeakyReLU": _one(lambda m: f"torch.leaky_relu{'_' if m.inplace else ''}(input, {float(m.negative_slope)})"),
    "GELU": _one(lambda m: f'torch.gelu(input, approximate="{m.approximate}")'),
    "Sigmoid": _one(lambda m: "torch.sigmoid(input)"),
    "LogSigmoid": _one(lambda m: "torch.log_sigmoid(input)"),
    "Tanh": _one(lambda m: "torch.tanh(input)"),
    "Softplus": _one(lambda m: f"torch.softplus(input, {float(m.beta)}, {float(m.threshold)})"),
    "Softsign": _one(lambda m: "input / (input.abs() + 1)"),
    "Tanhshrink": _one(lambda m: "input - input.tanh()"),
    "Softshrink": _one(lambda m: f"torch.softshrink(input, {float(m.lambd)})"),
    "Hardshrink": _one(lambda m: f"torch.hardshrink(input, {float(m.lambd)})"),
    "Threshold": _one(lambda m: f"torch.threshold{'_' if m.inplace else ''}(input, {m.threshold}, {m.value})"),
    "PReLU": _one(lambda m: "torch.prelu(input, self.weight)"),
    "GLU": _one(lambda m: f"torch.glu(input, {m.dim})"),
    "Softmax": _one(lambda m: f"torch.softmax(input, {m.dim if m.dim is not None else 'int(input.dim() != 0 and input.dim() != 1 and input.dim() != 3)'})"),
    "LogSoftmax": _one(lambda m: f"torch.log_softmax(input, {m.dim if m.dim is not None else 'int(input.dim() != 0 and input.dim() != 1 and input.dim() != 3)'})"),
    "Softmin": _one(lambda m: f"torch.softmax(-input, {m.dim})"),
    "Dropout": _one(lambda m: f"torch.dropout{'_' if m.inplace else ''}(input, {float(m.p)}, self.training)"),
    "Dropout2d": _one(lambda m: f"torch.feature_dropout(input, {float(m.p)}, self.training)"),
    "Dropout3d": _one(lambda m: f"torch.feature_dropout(input, {float(m.p)}, self.training)"),
    "AlphaDropout": _one(lambda m: f"torch.alpha_dropout(input, {float(m.p)}, self.training)"),
    "FeatureAlphaDropout": _one(lambda m: f"torch.feature_alpha_dropout(input, {float(m.p)}, self.training)"),
    "BatchNorm1d": _batch_norm, "BatchNorm2d": _batch_norm, "BatchNorm3d": _batch_norm,
    "LayerNorm": _layer_norm,
    "GroupNorm": _one(lambda m: f"torch.group_norm(input, {m.num_groups}, {'self.weight, self.bias' if m.weight is not None else 'None, None'}, {float(m.eps)!r})"),
    "Embedding": _embedding,
    "Conv1d": _conv, "Conv2d": _conv, "Conv3d": _conv,
    "ConvTranspose1d": _conv_transpose, "ConvTranspose2d": _conv_transpose, "ConvTranspose3d": _conv_transpose,
    "MaxPool1d": _pool("max_pool1d", 1, True), "MaxPool2d": _pool("max_pool2d", 2, True), "MaxPool3d": _pool("max_pool3d", 3, True),
    "AvgPool1d": _pool("avg_pool1d", 1, False), "AvgPool2d": _pool("avg_pool2d", 2, False), "AvgPool3d": _pool("avg_pool3d", 3, False),
    "AdaptiveAvgPool1d": _adaptive("adaptive_avg_pool1d", 1), "AdaptiveAvgPool2d": _adaptive("adaptive_avg_pool2d", 2), "AdaptiveAvgPool3d": _adaptive("adaptive_avg_pool3d", 3),
    "AdaptiveMaxPool1d": _adaptive("adaptive_max_pool1d", 1), "AdaptiveMaxPool2d": _adaptive("adaptive_max_pool2d", 2), "AdaptiveMaxPool3d": _adaptive("adaptive_max_pool3d", 3),
    "LSTM": _rnn, "GRU": _rnn, "RNN": _rnn, "LSTMCell": _cell, "GRUCell": _cell, "RNNCell": _cell,
    "MultiheadAttention": _attention, "TransformerEncoderLayer": _encoder_layer,
    "PixelShuffle": _one(lambda m: f"torch.pixel_shuffle(input, {m.upscale_factor})"),
}  # fmt: skip


@functools.cache
def _texts():
    """Name -> text of each function above."""
    parts = re.split(r"\n(?=def )", FUNCTIONAL)
    return {re.match(r"def (\w+)", part)[1]: part + "\n" for part in parts if part.startswith("def ")}


class _Names:
    def value(self, name):
        if name == "torch":
            return ("torch", None)
        return ("function", function(name)) if name in _texts() else None

    def type(self, expression):
        return None


@functools.cache
def function(name):
    """The compiled function of `torch.nn.functional`."""
    from ._resolve import unit

    return _graph.script_unit_define(unit, f"__torch__.torch.nn.functional.{name}", _texts()[name], "torch/nn/functional.py", 1, _Names(), None, {})


def functional(fn):
    """The compiled form of a function of `torch.nn.functional`; None where there is none here."""
    from ..nn import functional as home

    name = getattr(fn, "__name__", "")
    return function(name) if name in _texts() and getattr(home, name, None) is fn else None


def method_text(module, name):
    """The text of a method of a layer of `torch.nn`; None where its Python is compiled."""
    for cls in type(module).__mro__:
        if name in vars(cls):
            known = (
                cls.__module__.startswith("cresset.nn.")
                and cls.__name__ in MODULES
                or (
                    cls.__module__.startswith("cresset.nn.")
                    and next((c for c in type(module).__mro__ if c.__name__ in MODULES and c.__module__.startswith("cresset.nn.")), None)
                )
            )
            if not known:
                return None
            owner = (
                cls if cls.__name__ in MODULES else next(c for c in type(module).__mro__ if c.__name__ in MODULES and c.__module__.startswith("cresset.nn."))
            )
            return MODULES[owner.__name__](module).get(name)
    return None
