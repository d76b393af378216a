"""Layers, losses and functions of `torch.nn` as exported programs."""

import torch
import torch.nn.functional as F
from programs import function, i, layer, program, r
from torch import nn
from torch.export import Dim

BATCH = ({0: Dim("batch")},)


def more(*sizes):
    """The same call with another batch."""
    return lambda: (r(*sizes),)


# ---- linear, convolutions -------------------------------------------------------------------------------------------------
layer("linear", lambda: nn.Linear(4, 3), more(2, 4), more(5, 4), shapes=BATCH)
layer("linear without bias", lambda: nn.Linear(4, 3, bias=False), more(2, 5, 4))
layer("bilinear", lambda: nn.Bilinear(3, 4, 5), lambda: (r(2, 3), r(2, 4)))
layer("conv1d", lambda: nn.Conv1d(4, 6, 3, padding="same", groups=2), more(2, 4, 9))
layer("conv2d", lambda: nn.Conv2d(3, 4, 3, stride=2, padding=1, dilation=2), more(2, 3, 9, 9), more(4, 3, 9, 9), shapes=BATCH)
layer("conv2d valid", lambda: nn.Conv2d(3, 3, (2, 3), padding="valid", groups=3, bias=False), more(1, 3, 6, 6))
layer("conv2d circular", lambda: nn.Conv2d(2, 2, 3, padding=1, padding_mode="circular"), more(1, 2, 5, 5))
layer("conv2d reflect", lambda: nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect"), more(1, 2, 5, 5))
layer("conv3d", lambda: nn.Conv3d(2, 3, 2, padding=1), more(1, 2, 4, 4, 4))
layer("conv transpose1d", lambda: nn.ConvTranspose1d(3, 4, 3, stride=2, output_padding=1), more(2, 3, 5))
layer("conv transpose2d", lambda: nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, groups=2), more(2, 4, 4, 4))
layer("conv transpose3d", lambda: nn.ConvTranspose3d(2, 2, 2), more(1, 2, 3, 3, 3))
layer("conv unbatched", lambda: nn.Conv2d(3, 4, 3), more(3, 6, 6))
layer("channels last", lambda: nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last), lambda: (r(2, 3, 6, 6).contiguous(memory_format=torch.channels_last),))
layer("fold", lambda: nn.Fold((4, 5), 2), more(1, 8, 12))
layer("unfold", lambda: nn.Unfold((2, 3), padding=1), more(2, 3, 5, 5))
layer("pixel shuffle", lambda: nn.Sequential(nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2)), more(1, 8, 3, 3))

# ---- norms ----------------------------------------------------------------------------------------------------------------
layer("batch norm1d", lambda: nn.BatchNorm1d(3), more(4, 3), more(6, 3), shapes=BATCH, both=True)
layer("batch norm2d", lambda: nn.BatchNorm2d(3, momentum=0.3), more(4, 3, 2, 2), more(4, 3, 2, 2), both=True)
layer("batch norm3d", lambda: nn.BatchNorm3d(2, affine=False), more(2, 2, 2, 2, 2), both=True)
layer("batch norm untracked", lambda: nn.BatchNorm1d(3, track_running_stats=False), more(4, 3), both=True)
layer("instance norm", lambda: nn.InstanceNorm2d(3, affine=True), more(2, 3, 4, 4), both=True)
layer("instance norm tracked", lambda: nn.InstanceNorm1d(3, track_running_stats=True), more(2, 3, 4), both=True)
layer("layer norm", lambda: nn.LayerNorm(4), more(2, 3, 4), more(5, 3, 4), shapes=BATCH)
layer("layer norm plain", lambda: nn.LayerNorm((3, 4), elementwise_affine=False), more(2, 3, 4))
layer("group norm", lambda: nn.GroupNorm(2, 4), more(2, 4, 3))
layer("rms norm", lambda: nn.RMSNorm(4), more(2, 4))
layer("local response norm", lambda: nn.LocalResponseNorm(3), more(2, 5, 3, 3))
layer("cross map lrn", lambda: nn.Sequential(nn.LocalResponseNorm(2, k=2.0)), more(2, 5, 3))
layer("weight norm", lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), more(2, 4), both=True)
layer("spectral norm", lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), more(2, 4), both=True)
layer("orthogonal", lambda: nn.utils.parametrizations.orthogonal(nn.Linear(3, 3)), more(2, 3))

# ---- dropout --------------------------------------------------------------------------------------------------------------
layer("dropout", lambda: nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)), more(3, 4), both=True)
layer("dropout2d", lambda: nn.Dropout2d(0.3), more(3, 4, 2, 2), both=True)
layer("alpha dropout", lambda: nn.AlphaDropout(0.4), more(3, 4), both=True)
layer("feature alpha dropout", lambda: nn.FeatureAlphaDropout(0.4), more(3, 4, 2), both=True)
layer("rrelu", lambda: nn.RReLU(), more(3, 4), both=True)

# ---- activations ----------------------------------------------------------------------------------------------------------
_ACTIVATIONS = "ELU Hardshrink Hardsigmoid Hardtanh Hardswish LeakyReLU LogSigmoid ReLU ReLU6 SELU CELU GELU Sigmoid SiLU Mish Softplus Softshrink Softsign Tanh Tanhshrink GLU"


class Activations(nn.Module):
    """Every activation, side by side."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([getattr(nn, name)() for name in _ACTIVATIONS.split()] + [nn.Threshold(0.1, -2.0), nn.GELU("tanh"), nn.PReLU(4)])
        self.parts.extend([nn.Softmax(-1), nn.Softmin(0), nn.LogSoftmax(1), nn.Softmax2d()])

    def forward(self, x):
        return [part(x) for part in self.parts]


layer("activations", Activations, more(2, 4, 2, 2))
layer("activations in place", lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU(True), nn.ELU(inplace=True), nn.Hardswish(True), nn.SiLU(True)), more(2, 4))
layer("prelu", lambda: nn.PReLU(3), more(2, 3, 4))
function("gumbel softmax", lambda m, x: F.gumbel_softmax(x, 0.7), more(3, 4))
function("gumbel softmax hard", lambda m, x: F.gumbel_softmax(x, 0.7, hard=True), more(3, 4))
function("normalize", lambda m, x: (F.normalize(x), F.normalize(x, 1, 0), F.cosine_similarity(x, x + 1), F.pairwise_distance(x, x * 2)), more(3, 4))

# ---- pools ----------------------------------------------------------------------------------------------------------------
layer("max pool1d", lambda: nn.MaxPool1d(2), more(2, 3, 8))
layer("max pool2d", lambda: nn.MaxPool2d(3, 2, 1), more(2, 3, 8, 8), more(3, 3, 8, 8), shapes=BATCH)
layer("max pool2d indices", lambda: nn.MaxPool2d(2, return_indices=True), more(2, 3, 8, 8))
layer("max pool3d", lambda: nn.MaxPool3d(2, ceil_mode=True), more(1, 2, 5, 5, 5))
layer("avg pool1d", lambda: nn.AvgPool1d(3, 2, 1), more(2, 3, 8))
layer("avg pool2d", lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), more(2, 3, 8, 8))
layer("avg pool3d", lambda: nn.AvgPool3d(2), more(1, 2, 4, 4, 4))
layer("lp pool", lambda: nn.Sequential(nn.LPPool2d(2, 2)), more(1, 2, 4, 4))
layer("adaptive avg pool2d", lambda: nn.AdaptiveAvgPool2d((3, None)), more(2, 3, 7, 5))
layer("adaptive avg pool3d", lambda: nn.AdaptiveAvgPool3d(2), more(1, 2, 4, 4, 4))
layer("adaptive max pool1d", lambda: nn.AdaptiveMaxPool1d(3), more(2, 3, 7))
layer("adaptive max pool2d", lambda: nn.AdaptiveMaxPool2d(2, return_indices=True), more(2, 3, 7, 5))
layer("fractional pool", lambda: nn.FractionalMaxPool2d(2, output_size=3), more(2, 3, 7, 7))
function("max unpool", lambda m, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), more(1, 2, 4, 4))

# ---- padding, upsampling --------------------------------------------------------------------------------------------------
layer("padding", lambda: nn.Sequential(nn.ZeroPad2d(1), nn.ConstantPad2d((1, 0, 2, 0), 3.5), nn.ReflectionPad2d(2), nn.ReplicationPad2d(1), nn.CircularPad2d(1)),
      more(1, 2, 4, 4))  # fmt: skip
layer("padding1d", lambda: nn.Sequential(nn.ReflectionPad1d(2), nn.ReplicationPad1d((0, 2)), nn.CircularPad1d(1), nn.ZeroPad1d((-1, 1))), more(2, 2, 5))
layer("padding3d", lambda: nn.Sequential(nn.ReflectionPad3d(1), nn.ReplicationPad3d(1), nn.ConstantPad3d(1, -1.0)), more(1, 2, 3, 3, 3))
function("upsampling", lambda m, x: [F.interpolate(x, scale_factor=2.0, mode=mode) for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")],
         more(1, 2, 4, 3))  # fmt: skip
function("upsampling to a size", lambda m, x: [F.interpolate(x, (5, 7), mode=mode, align_corners=a) for mode, a in (("nearest", None), ("bilinear", True), ("bicubic", False))],
         more(1, 2, 4, 3))  # fmt: skip
function("upsampling of lines and volumes", lambda m, x, v: (F.interpolate(x, 7, mode="linear"), F.interpolate(x, scale_factor=1.5), F.interpolate(v, scale_factor=2, mode="trilinear"), F.interpolate(v, (3, 4, 5))),
         lambda: (r(1, 2, 5), r(1, 1, 2, 3, 3)))  # fmt: skip
function("upsampling smoothly", lambda m, x: [F.interpolate(x, (3, 4), mode=mode, antialias=True) for mode in ("bilinear", "bicubic")], more(1, 2, 7, 9))
function("upsampling of open sizes", lambda m, x: (F.interpolate(x, scale_factor=2.0), F.interpolate(x, scale_factor=(2.0, 1.5), mode="bilinear", recompute_scale_factor=True)),
         more(1, 2, 4, 6), more(1, 2, 6, 8), shapes=({2: Dim.AUTO, 3: Dim.AUTO},))  # fmt: skip
layer("upsample", lambda: nn.Sequential(nn.Upsample(scale_factor=2), nn.UpsamplingBilinear2d(scale_factor=2), nn.UpsamplingNearest2d((5, 5))), more(1, 2, 3, 3))
function("grid sample", lambda m, x, t: [F.grid_sample(x, F.affine_grid(t, (2, 3, 4, 5), align_corners=False), mode, pad, align_corners=False)
         for mode, pad in (("bilinear", "zeros"), ("nearest", "border"), ("bicubic", "reflection"))], lambda: (r(2, 3, 6, 6), r(2, 2, 3)))  # fmt: skip

# ---- embeddings -----------------------------------------------------------------------------------------------------------
layer("embedding", lambda: nn.Embedding(10, 3, padding_idx=0), lambda: (i(10, 2, 4),), lambda: (i(10, 5, 4),), shapes=BATCH)
layer("embedding of unit length", lambda: nn.Embedding(10, 3, max_norm=1.0), lambda: (i(10, 2, 4),))
for _mode in ("sum", "mean", "max"):
    layer(f"embedding bag {_mode}", lambda mode=_mode: nn.EmbeddingBag(10, 3, mode=mode), lambda: (i(10, 6), torch.tensor([0, 2, 4])))
layer("embedding bag rows", lambda: nn.EmbeddingBag(10, 3, padding_idx=1), lambda: (i(10, 3, 4),))
layer("embedding bag weighted", lambda: nn.EmbeddingBag(10, 3, mode="sum", include_last_offset=True), lambda: (i(10, 6), torch.tensor([0, 2, 6]), r(6)))
function(
    "embedding bag of unit length",
    lambda m, w, x, o: F.embedding_bag(x, w, o, max_norm=1.0),
    lambda: (r(5, 3), i(5, 6), torch.tensor([0, 3])),
)
function("one hot", lambda m, x: F.one_hot(x, 7), lambda: (i(7, 2, 3),))

# ---- recurrent layers -----------------------------------------------------------------------------------------------------
for _kind in ("RNN", "LSTM", "GRU"):
    layer(f"{_kind.lower()}", lambda kind=_kind: getattr(nn, kind)(4, 3), more(5, 2, 4))
    layer(f"{_kind.lower()} deep", lambda kind=_kind: getattr(nn, kind)(4, 3, 2, batch_first=True, bidirectional=True), more(2, 5, 4))
    layer(f"{_kind.lower()} without bias", lambda kind=_kind: getattr(nn, kind)(4, 3, bias=False), more(5, 4))
    layer(f"{_kind.lower()} cell", lambda kind=_kind: getattr(nn, kind + "Cell")(4, 3), more(2, 4))
layer("rnn relu", lambda: nn.RNN(4, 3, nonlinearity="relu"), lambda: (r(5, 2, 4), r(1, 2, 3)))
layer("lstm with a state", lambda: nn.LSTM(4, 3), lambda: (r(5, 2, 4), (r(1, 2, 3), r(1, 2, 3))))
layer("lstm projected", lambda: nn.LSTM(4, 3, proj_size=2), more(5, 2, 4))
layer("gru with dropout", lambda: nn.GRU(4, 3, 2, dropout=0.5), more(5, 2, 4), training=True)
layer("lstm of any batch", lambda: nn.LSTM(4, 3, batch_first=True), more(2, 5, 4), more(6, 5, 4), shapes=BATCH)


@program(lambda: (r(3, 5, 4), torch.tensor([5, 3, 2])))
class PackedSequence(nn.Module):
    """Sequences of several lengths."""

    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(4, 3, batch_first=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return packed.data.sum(0), packed.batch_sizes


# ---- attention ------------------------------------------------------------------------------------------------------------
function("attention", lambda m, q, k, v: F.scaled_dot_product_attention(q, k, v), lambda: (r(2, 2, 5, 4), r(2, 2, 6, 4), r(2, 2, 6, 4)))
function("attention causal", lambda m, q: F.scaled_dot_product_attention(q, q, q, is_causal=True, scale=0.3), more(2, 2, 5, 4))
function("attention with a mask", lambda m, q, mask: (F.scaled_dot_product_attention(q, q, q, mask > 0), F.scaled_dot_product_attention(q, q, q, mask)),
         lambda: (r(2, 2, 5, 4), r(5, 5)))  # fmt: skip
function("attention of groups", lambda m, q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True), lambda: (r(2, 4, 5, 4), r(2, 2, 5, 4)))
function("attention with dropout", lambda m, q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.5), more(2, 2, 5, 4))
function("attention of one head", lambda m, q: F.scaled_dot_product_attention(q, q, q), more(5, 4))
layer("multihead", lambda: nn.MultiheadAttention(8, 2), lambda: (r(5, 2, 8),) * 3, both=True)
layer(
    "multihead with weights",
    lambda: nn.MultiheadAttention(8, 2, kdim=4, vdim=6, batch_first=True, add_bias_kv=True),
    lambda: (r(2, 5, 8), r(2, 3, 4), r(2, 3, 6)),
    training=True,
)
layer("multihead masked", lambda: nn.MultiheadAttention(8, 2, batch_first=True),
      lambda: {"args": (x := r(2, 5, 8), x, x), "kwargs": {"key_padding_mask": torch.tensor([[False] * 5, [False] * 3 + [True] * 2]), "need_weights": False,
                                                           "attn_mask": nn.Transformer.generate_square_subsequent_mask(5) < 0}})  # fmt: skip
layer("encoder layer", lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True), more(2, 5, 8), both=True)
layer(
    "encoder",
    lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, norm_first=True, activation="gelu"), 2, enable_nested_tensor=False),
    more(5, 2, 8),
)
layer("decoder layer", lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), lambda: (r(2, 5, 8), r(2, 6, 8)))
layer("transformer", lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True), lambda: (r(2, 5, 8), r(2, 4, 8)))

# ---- losses ---------------------------------------------------------------------------------------------------------------
_LOSSES = {
    "L1Loss MSELoss SmoothL1Loss HuberLoss SoftMarginLoss": lambda: (r(3, 4), r(3, 4)),
    "BCELoss": lambda: (torch.rand(3, 4), torch.rand(3, 4)), "BCEWithLogitsLoss": lambda: (r(3, 4), torch.rand(3, 4)),
    "KLDivLoss": lambda: (r(3, 4).log_softmax(-1), r(3, 4).softmax(-1)), "PoissonNLLLoss": lambda: (r(3, 4), torch.rand(3, 4)),
    "CrossEntropyLoss NLLLoss MultiMarginLoss": lambda: (r(3, 4), i(4, 3)),
    "HingeEmbeddingLoss": lambda: (r(3, 4), i(2, 3, 4) * 2.0 - 1), "MultiLabelSoftMarginLoss": lambda: (r(3, 4), i(2, 3, 4).float()),
    "MultiLabelMarginLoss": lambda: (r(3, 4), i(4, 3, 4)), "CosineEmbeddingLoss": lambda: (r(3, 4), r(3, 4), i(2, 3) * 2 - 1),
    "MarginRankingLoss": lambda: (r(3), r(3), i(2, 3) * 2.0 - 1), "TripletMarginLoss TripletMarginWithDistanceLoss": lambda: (r(3, 4), r(3, 4), r(3, 4)),
}  # fmt: skip


class Reductions(nn.Module):
    """A loss with its reductions."""

    def __init__(self, name):
        super().__init__()
        self.losses = nn.ModuleList([getattr(nn, name)(reduction=reduction) for reduction in ("mean", "sum", "none")])

    def forward(self, *args):
        return [loss(*args) for loss in self.losses]


for _names, _arguments in _LOSSES.items():
    for _name in _names.split():
        layer(f"{_name}", lambda name=_name: Reductions(name), _arguments)
layer(
    "cross entropy of images",
    lambda: nn.CrossEntropyLoss(torch.tensor([0.2, 0.5, 0.3]), ignore_index=1, label_smoothing=0.1),
    lambda: (r(2, 3, 4, 4), i(3, 2, 4, 4)),
)
layer("cross entropy of shares", lambda: nn.CrossEntropyLoss(label_smoothing=0.1), lambda: (r(2, 3), r(2, 3).softmax(-1)))
layer("weighted logits", lambda: nn.BCEWithLogitsLoss(torch.tensor([0.3, 0.5]), pos_weight=torch.tensor([2.0, 3.0])), lambda: (r(4, 2), torch.rand(4, 2)))
layer("nll of images", lambda: nn.NLLLoss(ignore_index=0), lambda: (r(2, 3, 4, 4).log_softmax(1), i(3, 2, 4, 4)))

# ---- networks -------------------------------------------------------------------------------------------------------------
layer("container", lambda: nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.Unflatten(1, (2, 3)), nn.Identity()), more(2, 3, 4), more(5, 3, 4), shapes=BATCH)
layer("convolutional network", lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(), nn.Flatten(), nn.Linear(36, 5), nn.LogSoftmax(-1)),
      more(2, 1, 8, 8), both=True)  # fmt: skip


@program(more(2, 4), shapes=BATCH)
class SharedWeights(nn.Module):
    """One weight under two names."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x).relu())
