"""The Transformer and its layers: attention and a small network, each added to its input and normalised."""

import copy
import warnings

import cresset as torch

from .. import functional as F
from .. import init
from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm


def _activation(name):
    if name not in ("relu", "gelu"):
        raise RuntimeError(f"expected relu or gelu as activation, got {name}")
    return F.relu if name == "relu" else F.gelu


def _clones(module, count):
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _square_mask(size, device=None, dtype=None):
    return torch.full((size, size), float("-inf"), dtype=dtype or torch.get_default_dtype(), device=device).triu(1)


def _is_causal(mask, told, length):
    """Whether a mask is the causal one: as told, or found out."""
    if told is not None:
        return bool(told)
    if mask is None or mask.size(-2) != mask.size(-1) or (length is not None and mask.size(-1) != length):
        return False
    causal = _square_mask(mask.size(-1), mask.device, mask.dtype if mask.is_floating_point() else torch.float32)
    causal = causal if mask.is_floating_point() else causal != 0
    return bool((mask == causal).all())


def _masks(mask, padding, like, mask_name="src_mask", padding_name="src_key_padding_mask"):
    padding = F._canonical_mask(padding, padding_name, F._none_or_dtype(mask), mask_name, like.dtype)
    return F._canonical_mask(mask, mask_name, None, "", like.dtype, False), padding


class _Layer(Module):
    """Base of both kinds of layer: the small network, its dropouts and norms, in the order in which they are listed."""

    def _network(self, d_model, dim_feedforward, dropout, bias, like):
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **like)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **like)

    def _norms(self, count, d_model, eps, bias, like, dropout, norm_first, activation):
        self.norm_first = norm_first
        for i in range(count):
            setattr(self, f"norm{i + 1}", LayerNorm(d_model, eps=eps, bias=bias, **like))
        for i in range(count):
            setattr(self, f"dropout{i + 1}", Dropout(dropout))
        self.activation = _activation(activation) if isinstance(activation, str) else activation

    def __setstate__(self, state):
        super().__setstate__(state)
        if "activation" not in self.__dict__ and "activation" not in self._modules:
            self.activation = F.relu

    def _feed(self, x, last):
        return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a network of two Linear layers: (S, N, d_model), or (N, S, d_model) with batch_first, shape kept.

    `norm_first` normalises before each part and not after; `activation` is relu, gelu or a function.

    >>> nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)(torch.rand(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    __constants__ = ["norm_first"]

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):  # fmt: skip
        super().__init__()
        like = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **like)
        self._network(d_model, dim_feedforward, dropout, bias, like)
        self._norms(2, d_model, layer_norm_eps, bias, like, dropout, norm_first, activation)
        is_relu, is_gelu = (self.activation is f or isinstance(self.activation, kind) for f, kind in ((F.relu, ReLU), (F.gelu, GELU)))
        self.activation_relu_or_gelu = 1 if is_relu else 2 if is_gelu else 0

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        mask, padding = _masks(src_mask, src_key_padding_mask, src)

        def attend(x):
            return self.dropout1(self.self_attn(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False, is_causal=is_causal)[0])

        if self.norm_first:
            x = src + attend(self.norm1(src))
            return x + self._feed(self.norm2(x), self.dropout2)
        x = self.norm1(src + attend(src))
        return self.norm2(x + self._feed(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to `memory` and a network: targets (T, N, d_model), memory (S, N, d_model), to (T, N, d_model).

    >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> layer(torch.rand(3, 4, 8), torch.rand(3, 6, 8)).shape
    torch.Size([3, 4, 8])
    """

    __constants__ = ["norm_first"]

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):  # fmt: skip
        super().__init__()
        like = {"device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn"):
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **like))
        self._network(d_model, dim_feedforward, dropout, bias, like)
        self._norms(3, d_model, layer_norm_eps, bias, like, dropout, norm_first, activation)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False, memory_is_causal=False):  # fmt: skip
        def attend(x):
            return self.dropout1(self.self_attn(x, x, x, attn_mask=tgt_mask, key_padding_mask=tgt_key_padding_mask, need_weights=False,
                                                is_causal=tgt_is_causal)[0])  # fmt: skip

        def recall(x):
            return self.dropout2(self.multihead_attn(x, memory, memory, attn_mask=memory_mask, key_padding_mask=memory_key_padding_mask,
                                                     need_weights=False, is_causal=memory_is_causal)[0])  # fmt: skip

        if self.norm_first:
            x = tgt + attend(self.norm1(tgt))
            x = x + recall(self.norm2(x))
            return x + self._feed(self.norm3(x), self.dropout3)
        x = self.norm1(tgt + attend(tgt))
        x = self.norm2(x + recall(x))
        return self.norm3(x + self._feed(x, self.dropout3))


def _why_not_nested(layer):
    """Reason why an encoder layer rules nested tensors out in PyTorch; "" where nothing does."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "the layer is no TransformerEncoderLayer"
    if layer.norm_first:
        return "norm_first of the layer is True"
    if not layer.self_attn.batch_first:
        return "batch_first of the layer's attention is False"
    if layer.self_attn.in_proj_bias is None:
        return "the layer's attention has no bias"
    if layer.self_attn.num_heads % 2:
        return "the number of heads is odd"
    return "" if layer.norm1.eps == layer.norm2.eps else "the eps of the layer's two norms differ"


class TransformerEncoder(Module):
    """`num_layers` copies of an encoder layer, one after the other, and a norm if given. All copies start with the same weights.

    Whether `mask` is the causal one is found out unless `is_causal` says so.

    >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> nn.TransformerEncoder(layer, num_layers=2)(torch.rand(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    __constants__ = ["norm"]

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = False
        self.mask_check = mask_check
        obstacle = enable_nested_tensor and _why_not_nested(encoder_layer)
        if obstacle:
            warnings.warn(f"TransformerEncoder: enable_nested_tensor has no effect, since {obstacle}", stacklevel=2)

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        mask, padding = _masks(mask, src_key_padding_mask, src, "mask")
        batch_first = bool(getattr(self.layers[0].self_attn, "batch_first", False)) if len(self.layers) else False
        causal = _is_causal(mask, is_causal, src.size(1 if batch_first and src.dim() == 3 else 0))
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """`num_layers` copies of a decoder layer, one after the other, and a norm if given.

    >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> nn.TransformerDecoder(layer, num_layers=2)(torch.rand(4, 3, 8), torch.rand(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=None, memory_is_causal=False):  # fmt: skip
        batch_first = bool(getattr(self.layers[0].self_attn, "batch_first", False)) if len(self.layers) else False
        causal = _is_causal(tgt_mask, tgt_is_causal, tgt.size(1 if batch_first and tgt.dim() == 3 else 0))
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal, memory_is_causal=memory_is_causal)  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of the source and a decoder of the target: (S, N, d_model) and (T, N, d_model) to (T, N, d_model).

    RuntimeError for another d_model and for batches of different sizes.

    >>> model = nn.Transformer(8, 2, 1, 1, 16)
    >>> model(torch.rand(5, 3, 8), torch.rand(4, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1, activation=F.relu,
                 custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None,
                 dtype=None):  # fmt: skip
        super().__init__()
        like = {"device": device, "dtype": dtype}
        shape = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm():
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **like)

        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*shape, **like), num_encoder_layers, norm())
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*shape, **like), num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None, memory_is_causal=False):  # fmt: skip
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError(f"src and tgt differ in their batch, got {src.size(batch)} and {tgt.size(batch)}")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(f"src and tgt need d_model features, {self.d_model}, got {src.size(-1)} and {tgt.size(-1)}")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """The causal mask: minus infinity above the diagonal, zero elsewhere.

        >>> nn.Transformer.generate_square_subsequent_mask(2).tolist()
        [[0.0, -inf], [0.0, 0.0]]
        """
        return _square_mask(sz, device, dtype)
