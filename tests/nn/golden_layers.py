"""Writes golden_layers.inc: parameters, outputs and gradients of PyTorch's layers, for layers_test.cpp.

For each case: seed 0, the layer is made, then the inputs are drawn with randn (or randint where a bound is given). The gradients are those
of sum(output * weights) with weights 1/n, 2/n, ... n/n. Run with an interpreter that has torch 2.13:  python golden_layers.py
"""

import pathlib

import torch
from torch import nn

F = nn.functional


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def labels(high, *shape):
    return ("int", high, shape)


CASES = {
    # name: (make, shapes of the inputs)
    "Linear": (lambda: nn.Linear(5, 3), [(2, 5)]),
    "LinearNoBias": (lambda: nn.Linear(5, 3, bias=False), [(2, 2, 5)]),
    "Bilinear": (lambda: nn.Bilinear(3, 4, 2), [(5, 3), (5, 4)]),
    "Flatten": (lambda: nn.Flatten(), [(2, 2, 3)]),
    "Unflatten": (lambda: nn.Unflatten(1, (2, 3)), [(2, 6)]),
    "Conv1d": (lambda: nn.Conv1d(2, 3, 3, padding=1), [(2, 2, 6)]),
    "Conv2d": (lambda: nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2), [(2, 2, 5, 5)]),
    "Conv2dSame": (lambda: nn.Conv2d(1, 2, (2, 3), padding="same", dilation=2), [(1, 1, 5, 5)]),
    "Conv2dCircular": (lambda: nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular", bias=False), [(1, 1, 4, 4)]),
    "Conv2dReflect": (lambda: nn.Conv2d(1, 1, 3, padding="same", padding_mode="reflect"), [(1, 1, 4, 4)]),
    "Conv3d": (lambda: nn.Conv3d(1, 2, 2), [(1, 1, 3, 3, 3)]),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(2, 3, 3, stride=2, output_padding=1), [(1, 2, 4)]),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(2, 2, 3, stride=2, padding=1, bias=False), [(1, 2, 3, 3)]),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(2, 2, 2, groups=2), [(1, 2, 2, 2, 2)]),
    "MaxPool1d": (lambda: nn.MaxPool1d(2), [(1, 2, 6)]),
    "MaxPool2d": (lambda: nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), [(1, 2, 6, 5)]),
    "AvgPool1d": (lambda: nn.AvgPool1d(3, stride=1, padding=1), [(1, 2, 5)]),
    "AvgPool2d": (lambda: nn.AvgPool2d(2, count_include_pad=False, padding=1), [(1, 2, 4, 5)]),
    "LPPool1d": (lambda: nn.LPPool1d(2, 2), [(1, 2, 6)]),
    "LPPool2d": (lambda: nn.LPPool2d(2, 2), [(1, 2, 4, 4)]),
    "AdaptiveAvgPool1d": (lambda: nn.AdaptiveAvgPool1d(3), [(1, 2, 7)]),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((2, None)), [(1, 2, 5, 3)]),
    "AdaptiveMaxPool1d": (lambda: nn.AdaptiveMaxPool1d(3), [(1, 2, 7)]),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d(2), [(1, 2, 5, 3)]),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), [(4, 3)]),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(2, momentum=None), [(2, 2, 3, 3)]),
    "BatchNorm3d": (lambda: nn.BatchNorm3d(2, affine=False), [(2, 2, 2, 2, 2)]),
    "BatchNormEval": (lambda: nn.BatchNorm1d(3).eval(), [(4, 3)]),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(2), [(2, 2, 5)]),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(2, affine=True, track_running_stats=True), [(2, 2, 3, 3)]),
    "LayerNorm": (lambda: nn.LayerNorm((3, 4)), [(2, 3, 4)]),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), [(2, 4, 3)]),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(3, alpha=0.1), [(1, 5, 2, 2)]),
    "Dropout": (lambda: nn.Dropout(0.3), [(4, 6)]),
    "Dropout2d": (lambda: nn.Dropout2d(0.5), [(2, 4, 2, 2)]),
    "AlphaDropout": (lambda: nn.AlphaDropout(0.3), [(4, 6)]),
    "FeatureAlphaDropout": (lambda: nn.FeatureAlphaDropout(0.4), [(2, 4, 3)]),
    "DropoutEval": (lambda: nn.Dropout(0.3).eval(), [(4, 6)]),
    "ELU": (lambda: nn.ELU(0.7), [(3, 4)]),
    "SELU": (lambda: nn.SELU(), [(3, 4)]),
    "GLU": (lambda: nn.GLU(), [(3, 4)]),
    "GELU": (lambda: nn.GELU(), [(3, 4)]),
    "GELUTanh": (lambda: nn.GELU("tanh"), [(3, 4)]),
    "Hardshrink": (lambda: nn.Hardshrink(0.4), [(3, 4)]),
    "Hardtanh": (lambda: nn.Hardtanh(-0.5, 0.8), [(3, 4)]),
    "LeakyReLU": (lambda: nn.LeakyReLU(0.2), [(3, 4)]),
    "ReLU": (lambda: nn.ReLU(), [(3, 4)]),
    "ReLU6": (lambda: nn.ReLU6(), [(3, 4)]),
    "RReLU": (lambda: nn.RReLU(), [(3, 4)]),
    "CELU": (lambda: nn.CELU(0.7), [(3, 4)]),
    "Softplus": (lambda: nn.Softplus(2.0, 1.0), [(3, 4)]),
    "Softshrink": (lambda: nn.Softshrink(0.4), [(3, 4)]),
    "Threshold": (lambda: nn.Threshold(0.1, -2.0), [(3, 4)]),
    "PReLU": (lambda: nn.PReLU(3), [(2, 3, 2)]),
    "LogSigmoid": (lambda: nn.LogSigmoid(), [(3, 4)]),
    "SiLU": (lambda: nn.SiLU(), [(3, 4)]),
    "Mish": (lambda: nn.Mish(), [(3, 4)]),
    "Sigmoid": (lambda: nn.Sigmoid(), [(3, 4)]),
    "Softsign": (lambda: nn.Softsign(), [(3, 4)]),
    "Tanh": (lambda: nn.Tanh(), [(3, 4)]),
    "Tanhshrink": (lambda: nn.Tanhshrink(), [(3, 4)]),
    "Softmax2d": (lambda: nn.Softmax2d(), [(1, 3, 2, 2)]),
    "Softmax": (lambda: nn.Softmax(1), [(3, 4)]),
    "Softmin": (lambda: nn.Softmin(0), [(3, 4)]),
    "LogSoftmax": (lambda: nn.LogSoftmax(-1), [(3, 4)]),
    "GumbelSoftmax": (lambda: Call(lambda x: F.gumbel_softmax(x, tau=0.5)), [(3, 4)]),
    "Embedding": (lambda: nn.Embedding(6, 3, padding_idx=2), [labels(6, 2, 3)]),
    "EmbeddingMaxNorm": (lambda: nn.Embedding(6, 3, max_norm=1.0), [labels(6, 2, 3)]),
    "EmbeddingBagMean": (lambda: nn.EmbeddingBag(6, 3), [labels(6, 2, 3)]),
    "EmbeddingBagSum": (lambda: nn.EmbeddingBag(6, 3, mode="sum", padding_idx=1), [labels(6, 2, 3)]),
    "EmbeddingBagMax": (lambda: nn.EmbeddingBag(6, 3, mode="max"), [labels(6, 2, 3)]),
    "CosineSimilarity": (lambda: nn.CosineSimilarity(), [(3, 4), (3, 4)]),
    "PairwiseDistance": (lambda: nn.PairwiseDistance(3.0, keepdim=True), [(3, 4), (3, 4)]),
    "Pdist": (lambda: Call(F.pdist), [(4, 3)]),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), [(1, 8, 2, 3)]),
    "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), [(1, 2, 4, 6)]),
    "UpsampleNearest": (lambda: nn.Upsample(scale_factor=2.0), [(1, 2, 2, 3)]),
    "UpsampleBilinear": (lambda: nn.Upsample(size=(4, 5), mode="bilinear"), [(1, 2, 2, 3)]),
    "UpsampleBilinearAligned": (lambda: nn.Upsample(scale_factor=1.7, mode="bilinear", align_corners=True), [(1, 1, 3, 3)]),
    "InterpolateNearestExact": (lambda: Call(lambda x: F.interpolate(x, size=5, mode="nearest-exact")), [(1, 2, 3)]),
    "InterpolateArea": (lambda: Call(lambda x: F.interpolate(x, size=(2, 3), mode="area")), [(1, 2, 5, 4)]),
    "Unfold": (lambda: nn.Unfold((2, 3), dilation=(2, 1), padding=1, stride=(1, 2)), [(2, 2, 4, 5)]),
    "Fold": (lambda: nn.Fold((4, 5), (2, 2), stride=2, padding=(0, 1)), [(2, 8, 6)]),
    "ReflectionPad1d": (lambda: nn.ReflectionPad1d((2, 1)), [(1, 2, 4)]),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d(1), [(1, 1, 3, 3)]),
    "ReplicationPad2d": (lambda: nn.ReplicationPad2d((1, 2, 0, 1)), [(1, 1, 3, 3)]),
    "ZeroPad2d": (lambda: nn.ZeroPad2d((1, 0, 2, -1)), [(1, 1, 3, 3)]),
    "ConstantPad1d": (lambda: nn.ConstantPad1d(2, 3.5), [(1, 2, 3)]),
    "ConstantPad3d": (lambda: nn.ConstantPad3d(1, -1.5), [(1, 1, 2, 2, 2)]),
    "Normalize": (lambda: Call(F.normalize), [(3, 4)]),
    "L1Loss": (lambda: nn.L1Loss(), [(3, 4), (3, 4)]),
    "MSELoss": (lambda: nn.MSELoss(reduction="sum"), [(3, 4), (3, 4)]),
    "MSELossNone": (lambda: nn.MSELoss(reduction="none"), [(3, 4), (3, 4)]),
    "KLDivLoss": (lambda: nn.KLDivLoss(reduction="batchmean", log_target=True), [(3, 4), (3, 4)]),
    "SmoothL1Loss": (lambda: nn.SmoothL1Loss(beta=0.5), [(3, 4), (3, 4)]),
    "HuberLoss": (lambda: nn.HuberLoss(delta=0.7), [(3, 4), (3, 4)]),
    "BCEWithLogitsLoss": (lambda: nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 3.0, 0.5])), [(3, 4), (3, 4)]),
    "BCELoss": (lambda: Call(lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid())), [(3, 4), (3, 4)]),
    "NLLLoss": (lambda: nn.NLLLoss(weight=torch.tensor([1.0, 2.0, 0.5, 3.0]), ignore_index=1), [(5, 4), labels(4, 5)]),
    "CrossEntropyLoss": (lambda: nn.CrossEntropyLoss(label_smoothing=0.1), [(5, 4), labels(4, 5)]),
    "CrossEntropyLossWeighted": (
        lambda: nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5, 3.0]), reduction="sum"),
        [(3, 4, 2), labels(4, 3, 2)],
    ),
    "CrossEntropyProbabilities": (lambda: Call(lambda x, y: F.cross_entropy(x, y.softmax(1))), [(3, 4), (3, 4)]),
    "HingeEmbeddingLoss": (lambda: Call(lambda x, y: F.hinge_embedding_loss(x, y.sign(), margin=0.8)), [(3, 4), (3, 4)]),
    "CosineEmbeddingLoss": (
        lambda: Call(lambda x, y, t: F.cosine_embedding_loss(x, y, t.sign(), margin=0.1)),
        [(3, 4), (3, 4), (3,)],
    ),
    "MarginRankingLoss": (
        lambda: Call(lambda x, y, t: F.margin_ranking_loss(x, y, t.sign(), margin=0.1)),
        [(3, 4), (3, 4), (3, 4)],
    ),
    "MultiMarginLoss": (lambda: nn.MultiMarginLoss(p=2, margin=0.7, weight=torch.tensor([1.0, 2.0, 0.5])), [(4, 3), labels(3, 4)]),
    "MultiLabelMarginLoss": (
        lambda: Call(lambda x: F.multilabel_margin_loss(x, torch.tensor([[3, 0, -1, 1], [2, -1, 0, 0]]))),
        [(2, 4)],
    ),
    "SoftMarginLoss": (lambda: Call(lambda x, y: F.soft_margin_loss(x, y.detach().sign())), [(3, 4), (3, 4)]),
    "MultiLabelSoftMarginLoss": (lambda: Call(lambda x, y: F.multilabel_soft_margin_loss(x, y.sigmoid().round())), [(3, 4), (3, 4)]),
    "TripletMarginLoss": (lambda: nn.TripletMarginLoss(margin=0.5, swap=True), [(3, 4), (3, 4), (3, 4)]),
    "TripletMarginWithDistanceLoss": (lambda: nn.TripletMarginWithDistanceLoss(), [(3, 4), (3, 4), (3, 4)]),
    "PoissonNLLLoss": (lambda: Call(lambda x, y: F.poisson_nll_loss(x, y.exp(), full=True)), [(3, 4), (3, 4)]),
    "RNN": (lambda: Recurrent(nn.RNN(3, 4, num_layers=2)), [(5, 2, 3)]),
    "RNNReLU": (lambda: Recurrent(nn.RNN(3, 4, nonlinearity="relu", bias=False)), [(5, 3)]),
    "LSTM": (lambda: Recurrent(nn.LSTM(3, 4)), [(5, 2, 3)]),
    "LSTMBidirectional": (lambda: Recurrent(nn.LSTM(3, 4, num_layers=2, batch_first=True, bidirectional=True)), [(2, 5, 3)]),
    "LSTMProjected": (lambda: Recurrent(nn.LSTM(3, 4, num_layers=2, proj_size=2)), [(5, 2, 3)]),
    "LSTMDropout": (lambda: Recurrent(nn.LSTM(3, 4, num_layers=2, dropout=0.5)), [(5, 2, 3)]),
    "GRU": (lambda: Recurrent(nn.GRU(3, 4, num_layers=2, bidirectional=True)), [(5, 2, 3)]),
    "GRUGivenState": (lambda: Recurrent(nn.GRU(3, 4, batch_first=True)), [(2, 5, 3), (1, 2, 4)]),
    "RNNCell": (lambda: nn.RNNCell(3, 4), [(2, 3), (2, 4)]),
    "RNNCellReLU": (lambda: nn.RNNCell(3, 4, nonlinearity="relu"), [(2, 3), (2, 4)]),
    "LSTMCell": (lambda: Recurrent(nn.LSTMCell(3, 4)), [(2, 3)]),
    "GRUCell": (lambda: nn.GRUCell(3, 4, bias=False), [(3,), (4,)]),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0), [(3, 2, 4)]),
    "TransformerEncoderLayerGELU": (lambda: nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, activation="gelu"), [(3, 2, 4)]),
    "TransformerDecoderLayer": (lambda: nn.TransformerDecoderLayer(4, 2, 6, dropout=0.0), [(3, 2, 4), (5, 2, 4)]),
    "MultiheadAttention": (lambda: Attention(), [(3, 2, 4), (5, 2, 4), (5, 2, 4)]),
    "MultiheadAttentionSeparate": (lambda: Attention(kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True), [(3, 2, 4), (5, 2, 3), (5, 2, 5)]),
}


class Attention(nn.MultiheadAttention):
    """Output and averaged weights in one tensor."""

    def __init__(self, **kwargs):
        super().__init__(4, 2, **kwargs)

    def forward(self, query, key, value):
        output, weights = super().forward(query, key, value)
        return torch.cat([output.reshape(-1), weights.reshape(-1)])


class Recurrent(nn.Module):
    """All outputs and states of a recurrent layer in one tensor; the parameters keep their names."""

    def __init__(self, layer):
        super().__init__()
        self.layer = [layer]
        for name, parameter in layer.named_parameters():
            self.register_parameter(name, parameter)

    def forward(self, *inputs):
        def flat(values):
            return [values.reshape(-1)] if isinstance(values, torch.Tensor) else [one for value in values for one in flat(value)]

        return torch.cat(flat(self.layer[0](*inputs)))


def numbers(tensor):
    return [float(f"{v:.9g}") for v in tensor.detach().reshape(-1).to(torch.float32).tolist()]


def run(make, shapes):
    torch.manual_seed(0)
    module = make()
    initial = {name: parameter.detach().clone() for name, parameter in module.named_parameters()}
    inputs = []
    for shape in shapes:
        if shape[0] == "int":
            inputs.append(torch.randint(0, shape[1], shape[2]))
        else:
            inputs.append(torch.randn(shape, requires_grad=True))
    output = module(*inputs)
    rows = {"parameter " + name: value for name, value in initial.items()}
    rows["output"] = output
    weights = torch.arange(1, output.numel() + 1, dtype=torch.float32).reshape(output.shape) / output.numel()
    (output * weights).sum().backward()
    for i, value in enumerate(inputs):
        if value.requires_grad and value.grad is not None:
            rows[f"grad of input {i}"] = value.grad
    for name, parameter in module.named_parameters():
        if parameter.grad is not None:
            rows["grad of " + name] = parameter.grad
    for name, buffer in module.named_buffers():
        if buffer.is_floating_point() and "running" in name:
            rows["buffer " + name] = buffer
    return rows


def main():
    torch.set_num_threads(1)
    lines = [f"// From PyTorch {torch.__version__.split('+')[0]} by golden_layers.py."]
    for case, (make, shapes) in CASES.items():
        for row, value in run(make, shapes).items():
            lines.append(f'{{"{case}: {row}", {{{", ".join(f"{v:.9g}" for v in numbers(value))}}}}},')
    pathlib.Path(__file__).with_name("golden_layers.inc").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
