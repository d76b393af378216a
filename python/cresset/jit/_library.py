"""The TorchScript of layers of `torch.nn` whose Python is no TorchScript, over operators and the functions of `_functional`."""

import functools
import math
import re

import _cresset_graph as _graph

from ._functional import FLAGS, FUNCTIONAL

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
# Of a packed sequence: the states in the order of the caller, whose longest sequence need not be first.
_PACKED = """
def forward__packed(self, input: PackedSequence, hx: Optional[{state}] = None) -> Tuple[PackedSequence, {state}]:
    x, sizes, order, back = input
{packed_state}
    weights = [{weights}]
    result = torch.{op}(x, sizes, {given}, weights, {bias}, {layers}, {dropout}, self.training, {bidirectional})
    return PackedSequence(result[0], sizes, order, back), {packed_final}
"""
_LSTM_PACKED = """    if hx is None:
        h = torch.zeros([{count}, int(sizes[0]), {out}], dtype=x.dtype, device=x.device)
        c = torch.zeros([{count}, int(sizes[0]), {hidden}], dtype=x.dtype, device=x.device)
    else:
        h, c = hx
        h, c = _permuted(h, order), _permuted(c, order)"""
_RNN_PACKED = """    if hx is None:
        h = torch.zeros([{count}, int(sizes[0]), {out}], dtype=x.dtype, device=x.device)
    else:
        h = _permuted(hx, order)"""
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
    fields["packed_state"] = (_LSTM_PACKED if lstm else _RNN_PACKED).format(**fields)
    fields["packed_final"] = "(_permuted(result[1], back), _permuted(result[2], back))" if lstm else "_permuted(result[1], back)"
    return {"forward": _RNN.format(**fields), "forward__packed": _PACKED.format(**fields)}


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
    # The batch comes second in memory as in the layer itself: dropout goes by it.
    back = "\n    if batched:\n        out = out.transpose(0, 1)" if batch_first else ""
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
        m = _added_mask(attn_mask, q.dtype)
        mask = m.reshape([n, {module.num_heads}, t, s]) if m.dim() == 3 else m
    if key_padding_mask is not None:
        p = _added_mask(key_padding_mask, q.dtype).reshape([n, 1, 1, s])
        mask = p if mask is None else mask + p{widen}
    rate = {float(module.dropout)} if self.training else 0.0
    out, weights = _attended(q, k, v, mask, rate, need_weights, average_attn_weights, is_causal and mask is None)
    if weights is not None and not batched:
        weights = weights.squeeze(0)
    out = out.permute([2, 0, 1, 3]).reshape([t, n, {e}])
    out = torch.linear(out, self.out_proj.weight, {out_bias}){back}
    if not batched:
        out = out.squeeze(1)
    return out, weights
'''}  # fmt: skip


def _attend(layer, dropout, keys, mask, padding, causal):
    return f"self.{dropout}(self.{layer}(x, {keys}, {keys}, key_padding_mask={padding}, need_weights=False, attn_mask={mask}, is_causal={causal})[0])"


def _layers(module, steps):
    """The lines of a layer of a transformer that adds `steps`, (norm, text of x), to its input, which is called y."""
    lines = []
    for norm, step in steps:
        lines += [f"x = self.{norm}(y)", f"y = y + {step}"] if module.norm_first else ["x = y", f"y = self.{norm}(y + {step})"]
    return "\n    ".join([*lines, "return y"])


def _feed(module, dropout):
    activation = getattr(module.activation, "__name__", type(module.activation).__name__).lower()
    activate = f"torch.{activation}" if activation in ("relu", "gelu") and getattr(module.activation, "approximate", "none") == "none" else "self.activation"
    return f"self.{dropout}(self.linear2(self.dropout({activate}(self.linear1(x)))))"


def _encoder_layer(module):
    steps = [
        ("norm1", _attend("self_attn", "dropout1", "x", "src_mask", "src_key_padding_mask", "is_causal")),
        ("norm2", _feed(module, "dropout2")),
    ]
    return {"forward": f'''
def forward(self, src: Tensor, src_mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None, is_causal: bool = False) -> Tensor:
    y = src
    {_layers(module, steps)}
'''}  # fmt: skip


_DECODED = """tgt: Tensor, memory: Tensor, tgt_mask: Optional[Tensor] = None, memory_mask: Optional[Tensor] = None,
            tgt_key_padding_mask: Optional[Tensor] = None, memory_key_padding_mask: Optional[Tensor] = None"""
_MASKS = "tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask"


def _decoder_layer(module):
    steps = [
        ("norm1", _attend("self_attn", "dropout1", "x", "tgt_mask", "tgt_key_padding_mask", "tgt_is_causal")),
        ("norm2", _attend("multihead_attn", "dropout2", "memory", "memory_mask", "memory_key_padding_mask", "memory_is_causal")),
        ("norm3", _feed(module, "dropout3")),
    ]
    return {"forward": f'''
def forward(self, {_DECODED}, tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
    y = tgt
    {_layers(module, steps)}
'''}  # fmt: skip


def _normed(module, name):
    return f"self.norm({name})" if module.norm is not None else name


def _encoder(module):
    return {"forward": f'''
def forward(self, src: Tensor, mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None, is_causal: Optional[bool] = None) -> Tensor:
    causal = False if is_causal is None else is_causal
    y = src
    for layer in self.layers:
        y = layer(y, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
    return {_normed(module, "y")}
'''}  # fmt: skip


def _decoder(module):
    return {"forward": f'''
def forward(self, {_DECODED}, tgt_is_causal: Optional[bool] = None, memory_is_causal: bool = False) -> Tensor:
    causal = False if tgt_is_causal is None else tgt_is_causal
    y = tgt
    for layer in self.layers:
        y = layer(y, memory, {_MASKS}, tgt_is_causal=causal, memory_is_causal=memory_is_causal)
    return {_normed(module, "y")}
'''}  # fmt: skip


def _transformer(module):
    return {"forward": f'''
def forward(self, src: Tensor, tgt: Tensor, src_mask: Optional[Tensor] = None, tgt_mask: Optional[Tensor] = None, memory_mask: Optional[Tensor] = None,
            src_key_padding_mask: Optional[Tensor] = None, tgt_key_padding_mask: Optional[Tensor] = None, memory_key_padding_mask: Optional[Tensor] = None,
            src_is_causal: Optional[bool] = None, tgt_is_causal: Optional[bool] = None, memory_is_causal: bool = False) -> Tensor:
    if src.dim() == 3 and src.size({0 if module.batch_first else 1}) != tgt.size({0 if module.batch_first else 1}):
        raise RuntimeError("src and tgt differ in their batch, got sizes {{}} and {{}}".format(src.size(), tgt.size()))
    if src.size(-1) != {module.d_model} or tgt.size(-1) != {module.d_model}:
        raise RuntimeError("src and tgt need {module.d_model} features, got {{}} and {{}}".format(src.size(-1), tgt.size(-1)))
    memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
    return self.decoder(tgt, memory, {_MASKS}, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)
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
    def text(m):
        result = "Tuple[Tensor, Tensor]" if getattr(m, "return_indices", False) else "Tensor"
        return {"forward": f"\ndef forward(self, {signature}) -> {result}:\n    return {body(m)}\n"}

    return text


def _pool(op, n, maximum):
    def text(m):
        k, p = _pair(m.kernel_size, n), _pair(m.padding, n)
        s = _pair(m.stride, n) if m.stride is not None else k
        if maximum:
            return f"torch.{op}{'_with_indices' if m.return_indices else ''}(input, {k}, {s}, {p}, {_pair(m.dilation, n)}, {m.ceil_mode})"
        tail = f", {m.divisor_override}" if n > 1 else ""
        return f"torch.{op}(input, {k}, {s}, {p}, {m.ceil_mode}, {m.count_include_pad}{tail})"

    return _one(text)


def _adaptive(op, n):
    def text(m):
        size = _pair(m.output_size, n)
        sizes = ", ".join(f"input.size({i - n})" if v is None else str(v) for i, v in enumerate(size))
        return f"torch.{op}(input, [{sizes}]){'[0]' if 'max' in op and not m.return_indices else ''}"

    return _one(text)


def _pad(m):
    value = f", {float(m.value)}" if hasattr(m, "value") else ""
    return f'torch.pad(input, {list(m.padding)}, "{m._mode}"{value})'


_RESIZING = {
    "area": ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"),
    "nearest": ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
    "nearest-exact": ("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"),
    "linear": ("upsample_linear1d", None, None),
    "bilinear": (None, "upsample_bilinear2d", None),
    "bicubic": (None, "upsample_bicubic2d", None),
    "trilinear": (None, None, "upsample_trilinear3d"),
}


def _upsample(m):
    """A branch for each number of dimensions that the mode has."""

    def spread(value, kind):
        return value if value is None else list(map(kind, value)) if isinstance(value, (tuple, list)) else kind(value)

    size, factors = spread(m.size, int), spread(m.scale_factor, float)
    lines = []
    for n, op in enumerate(_RESIZING[m.mode], start=1):
        fits = all(not isinstance(v, list) or len(v) == n for v in (size, factors))
        if op is None or not fits or (size is None) == (factors is None):
            continue
        wanted, by = (None if v is None else _pair(v, n) for v in (size, factors))
        if by is not None and (m.recompute_scale_factor or m.mode == "area"):
            wanted, by = f"[{', '.join(f'int(float(input.size({d + 2})) * {factor})' for d, factor in enumerate(by))}]", None
        corners = f", {bool(m.align_corners)}" if m.mode in ("linear", "bilinear", "bicubic", "trilinear") else ""
        rest = "" if m.mode == "area" else f"{corners}, {by}"
        lines.append(f"    if input.dim() == {n + 2}:\n        return torch.{op}(input, {wanted}{rest})\n")
    error = f'    raise NotImplementedError("Upsample: mode {m.mode}, {m.extra_repr()} does not go with an input of {{}} dimensions".format(input.dim()))\n'
    return {"forward": f"\ndef forward(self, input: Tensor) -> Tensor:\n{''.join(lines)}{error}"}


def _fractional(n):
    def text(m):
        name = f"fractional_max_pool{n}d{'_with_indices' if m.return_indices else ''}"
        size, ratio = (None if v is None else _pair(v, n) for v in (m.output_size, m.output_ratio))
        samples = "None" if m._random_samples is None else "self._random_samples"
        return f"{name}(input, {_pair(m.kernel_size, n)}, {size}, {ratio}, {m.return_indices}, {samples})"

    return _one(text)


def _unpool(n):
    def text(m):
        return f"max_unpool{n}d(input, indices, {_pair(m.kernel_size, n)}, {_pair(m.stride, n)}, {_pair(m.padding, n)}, output_size)"

    return _one(text, "input: Tensor, indices: Tensor, output_size: Optional[List[int]] = None")


def _lp_pool(n):
    def text(m):
        stride = None if m.stride is None else _pair(m.stride, n)
        return f"lp_pool{n}d(input, {float(m.norm_type)}, {_pair(m.kernel_size, n)}, {stride}, {m.ceil_mode})"

    return _one(text)


def _instance_norm(n):
    def text(m):
        affine = "self.weight, self.bias" if m.weight is not None else "None, None"
        tracks = m.track_running_stats and m.running_mean is not None
        stats = "self.running_mean, self.running_var" if tracks else "None, None"
        of_input = "self.training" if tracks else "True"
        channels = f"""
    if x.size(1) != {m.num_features}:
        raise ValueError("expected {m.num_features} channels, got {{}}".format(x.size(1)))""" if m.weight is not None else ""  # fmt: skip
        return {"forward": f"""
def forward(self, input: Tensor) -> Tensor:
    if input.dim() != {n + 1} and input.dim() != {n + 2}:
        raise ValueError("expected {n + 1} or {n + 2} dimensions, got {{}}".format(input.dim()))
    x = input if input.dim() == {n + 2} else input.unsqueeze(0){channels}
    y = torch.instance_norm(x, {affine}, {stats}, {of_input}, {0.0 if m.momentum is None else float(m.momentum)}, {float(m.eps)!r}, True)
    return y if input.dim() == {n + 2} else y.squeeze(0)
"""}  # fmt: skip

    return text


def _triplet(m):
    swap = "\n    far = torch.minimum(far, self.distance_function(positive, negative))" if m.swap else ""
    return {"forward": f"""
def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    far = self.distance_function(anchor, negative){swap}
    losses = torch.clamp_min({float(m.margin)} + self.distance_function(anchor, positive) - far, 0)
    return _reduced(losses, _reduction("{m.reduction}"))
"""}  # fmt: skip


def _embedding_bag(m):
    return (
        f"embedding_bag(input, self.weight, offsets, {m.max_norm}, {float(m.norm_type)}, {m.scale_grad_by_freq}, '{m.mode}', {m.sparse}, "
        f"per_sample_weights, {m.include_last_offset}, {m.padding_idx})"
    )


_CTC = "log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor"

MODULES = {
    **{f"{kind}Pad{n}d": _one(_pad) for kind in ("Constant", "Zero", "Reflection", "Replication", "Circular") for n in (1, 2, 3)},
    "Upsample": _upsample,
    "Fold": _one(lambda m: f"torch.col2im(input, {', '.join(str(_pair(v, 2)) for v in (m.output_size, m.kernel_size, m.dilation, m.padding, m.stride))})"),
    "Unfold": _one(lambda m: f"torch.im2col(input, {', '.join(str(_pair(v, 2)) for v in (m.kernel_size, m.dilation, m.padding, m.stride))})"),
    "CTCLoss": _one(lambda m: f"torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, {m.blank}, {('none', 'mean', 'sum').index(m.reduction)}, "
                              f"{m.zero_infinity})", _CTC),
    "EmbeddingBag": _one(_embedding_bag, "input: Tensor, offsets: Optional[Tensor] = None, per_sample_weights: Optional[Tensor] = None"),
    "FractionalMaxPool2d": _fractional(2), "FractionalMaxPool3d": _fractional(3),
    "MaxUnpool1d": _unpool(1), "MaxUnpool2d": _unpool(2), "MaxUnpool3d": _unpool(3),
    "LPPool1d": _lp_pool(1), "LPPool2d": _lp_pool(2), "LPPool3d": _lp_pool(3),
    "InstanceNorm1d": _instance_norm(1), "InstanceNorm2d": _instance_norm(2), "InstanceNorm3d": _instance_norm(3),
    "TripletMarginWithDistanceLoss": _triplet,
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
    "Softmax": _one(lambda m: f"torch.softmax(input, {m.dim if m.dim is not None else '_last_dim(None, input.dim())'})"),
    "LogSoftmax": _one(lambda m: f"torch.log_softmax(input, {m.dim if m.dim is not None else '_last_dim(None, input.dim())'})"),
    "Softmin": _one(lambda m: f"softmin(input, {m.dim})"),
    "Dropout": _one(lambda m: f"torch.dropout{'_' if m.inplace else ''}(input, {float(m.p)}, self.training)"),
    "Dropout2d": _one(lambda m: f"torch.feature_dropout{'_' if m.inplace else ''}(input, {float(m.p)}, self.training)"),
    "Dropout3d": _one(lambda m: f"torch.feature_dropout{'_' if m.inplace else ''}(input, {float(m.p)}, self.training)"),
    "AlphaDropout": _one(lambda m: f"torch.alpha_dropout{'_' if m.inplace else ''}(input, {float(m.p)}, self.training)"),
    "FeatureAlphaDropout": _one(lambda m: f"torch.feature_alpha_dropout{'_' if m.inplace else ''}(input, {float(m.p)}, self.training)"),
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
    "MultiheadAttention": _attention, "TransformerEncoderLayer": _encoder_layer, "TransformerDecoderLayer": _decoder_layer,
    "TransformerEncoder": _encoder, "TransformerDecoder": _decoder, "Transformer": _transformer,
    "PixelShuffle": _one(lambda m: f"torch.pixel_shuffle(input, {m.upscale_factor})"),
}  # fmt: skip


@functools.cache
def _texts():
    """Name -> text of each function above."""
    parts = re.split(r"\n(?=def )", FUNCTIONAL)
    return {re.match(r"def (\w+)", part)[1]: part + "\n" for part in parts if part.startswith("def ")}


class Names:
    """The names that the texts here see: `torch` and the functions."""

    def value(self, name):
        if name == "torch":
            return ("torch", None)
        if name == "math":
            return ("namespace", math, "math")
        from ..nn import functional as home

        if name == "PackedSequence":
            return ("type", self.type(name))
        return functional(getattr(home, name, None)) or ("function", function(name)) if name in _texts() else None

    def type(self, expression):
        from ..nn.utils.rnn import PackedSequence
        from ._resolve import named_tuple_text

        return named_tuple_text(PackedSequence) if expression == "PackedSequence" else None


@functools.cache
def function(name):
    """The compiled function of `torch.nn.functional`, `torch.functional`, `torch.nn.init`, `torch.nn.utils.rnn` or `torch.nn.modules.utils`."""
    from ._resolve import unit

    return _graph.script_unit_define(unit, f"__torch__.torch.nn.functional.{name}", _texts()[name], "torch/nn/functional.py", 1, Names(), None, {})


def _homes():
    import cresset as torch

    return torch.nn.functional, torch.functional, torch.nn.init, torch.nn.utils.rnn, torch.nn.modules.utils


def functional(fn):
    """The meaning of a function for the compiler that has a text here; None for others."""
    name = getattr(fn, "__name__", "")
    if name not in _texts() or not any(fn is getattr(home, name, None) for home in _homes()):
        return None
    flags = FLAGS.get(name, ("return_indices",) if f"{name}_with_indices" in _texts() else ())
    if flags:
        chosen = [[flag for i, flag in enumerate(flags) if choice >> i & 1] for choice in range(2 ** len(flags))]
        return ("flags", (flags, tuple(function("_with_".join([name, *(flag.removeprefix("return_") for flag in on)])) for on in chosen)))
    if f"{name}__1" in _texts():
        forms = [name, *(form for i in range(1, 6) if (form := f"{name}__{i}") in _texts())]
        return ("overloads", tuple(map(function, forms)))
    return ("function", function(name))


def method_text(module, name, form=None):
    """The text of a method of a layer of `torch.nn`, or of a form of it; None where its Python is compiled."""
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
            return MODULES[owner.__name__](module).get(form or name)
    return None
