"""Every layer of torch.nn as TorchScript: the numbers of the layer itself, in evaluation and in training, and an archive that loads."""

import io
import itertools
import zipfile

import pytest

import cresset as torch
from cresset import nn
from cresset.nn import functional as F

# A layer and its inputs: r draws normal numbers, p some between 0.1 and 0.9, ids whole ones below n.
ROWS = [
    ("AdaptiveAvgPool1d(3)", "r(2, 4, 7)"),
    ("AdaptiveAvgPool2d((2, None))", "r(2, 4, 7, 5)"),
    ("AdaptiveAvgPool3d(2)", "r(2, 4, 5, 6, 7)"),
    ("AdaptiveMaxPool1d(3)", "r(2, 4, 7)"),
    ("AdaptiveMaxPool2d(3)", "r(2, 4, 7, 8)"),
    ("AdaptiveMaxPool3d(2)", "r(2, 4, 5, 6, 7)"),
    ("AdaptiveMaxPool1d(3, return_indices=True)", "r(2, 4, 7)"),
    ("AdaptiveMaxPool2d(3, return_indices=True)", "r(2, 4, 7, 8)"),
    ("AdaptiveMaxPool3d(2, return_indices=True)", "r(2, 4, 5, 6, 7)"),
    ("AlphaDropout()", "r(3, 4)"),
    ("AvgPool1d(3)", "r(2, 4, 7)"),
    ("AvgPool2d(3, 2, 1)", "r(2, 4, 7, 8)"),
    ("AvgPool3d(2)", "r(2, 4, 5, 6, 7)"),
    ("BCELoss()", "p(4), p(4)"),
    ("BCELoss(weight=torch.tensor([.1, .2, .3, .4]), reduction='none')", "p(4), p(4)"),
    ("BCEWithLogitsLoss()", "r(4), p(4)"),
    ("BCEWithLogitsLoss(pos_weight=torch.tensor([2., 1., 1., 1.]))", "r(4), p(4)"),
    ("BatchNorm1d(4)", "r(3, 4)"),
    ("BatchNorm2d(4, momentum=None)", "r(3, 4, 2, 2)"),
    ("BatchNorm3d(4, affine=False)", "r(3, 4, 2, 2, 2)"),
    ("BatchNorm1d(4, track_running_stats=False)", "r(3, 4)"),
    ("Bilinear(3, 4, 2)", "r(5, 3), r(5, 4)"),
    ("CELU(inplace=True)", "r(3, 4)"),
    ("CTCLoss()", "r(6, 2, 5).log_softmax(2), torch.tensor([[1, 2, 3], [2, 3, 4]]), torch.tensor([6, 6]), torch.tensor([3, 3])"),
    ("ChannelShuffle(2)", "r(2, 4, 3, 3)"),
    ("CircularPad1d(1)", "r(2, 4, 5)"),
    ("CircularPad2d(1)", "r(2, 4, 5, 5)"),
    ("CircularPad3d(1)", "r(2, 4, 5, 5, 5)"),
    ("ConstantPad1d(1, 2.)", "r(2, 4, 5)"),
    ("ConstantPad2d((1, 2, 0, 1), 2.)", "r(2, 4, 5, 5)"),
    ("ConstantPad3d(1, 2)", "r(2, 4, 5, 5, 5)"),
    ("Conv1d(4, 2, 3, padding='same')", "r(2, 4, 5)"),
    ("Conv2d(4, 2, 3, padding=1, padding_mode='reflect')", "r(2, 4, 5, 5)"),
    ("Conv3d(4, 2, 3, stride=2)", "r(2, 4, 5, 5, 5)"),
    ("ConvTranspose1d(4, 2, 3)", "r(2, 4, 5)"),
    ("ConvTranspose2d(4, 2, 3, stride=2, output_padding=1)", "r(2, 4, 5, 5)"),
    ("ConvTranspose3d(4, 2, 3)", "r(2, 4, 5, 5, 5)"),
    ("CosineEmbeddingLoss(0.2)", "r(3, 4), r(3, 4), torch.tensor([1, -1, 1])"),
    ("CosineSimilarity()", "r(3, 4), r(3, 4)"),
    ("CrossEntropyLoss(label_smoothing=0.1)", "r(3, 4), ids(4, 3)"),
    ("CrossEntropyLoss(weight=torch.tensor([1., 2., 3., 4.]), ignore_index=1)", "r(3, 4), ids(4, 3)"),
    ("Dropout()", "r(3, 4)"),
    ("Dropout(inplace=True)", "r(3, 4)"),
    ("Dropout1d()", "r(3, 4, 5)"),
    ("Dropout2d()", "r(3, 4, 5, 5)"),
    ("Dropout3d()", "r(3, 4, 5, 5, 5)"),
    ("ELU()", "r(3, 4)"),
    ("Embedding(6, 3, padding_idx=1)", "ids(6, 4)"),
    ("Embedding(6, 3, max_norm=0.5)", "ids(6, 4)"),
    ("EmbeddingBag(6, 3)", "ids(6, 4).reshape(2, 2)"),
    ("EmbeddingBag(6, 3, max_norm=0.5)", "ids(6, 4).reshape(2, 2)"),
    ("EmbeddingBag(6, 3, mode='sum')", "ids(6, 4), torch.tensor([0, 2])"),
    ("FeatureAlphaDropout()", "r(3, 4, 5)"),
    ("Flatten()", "r(3, 4, 5)"),
    ("Fold((4, 5), (2, 2))", "r(1, 12, 12)"),
    ("FractionalMaxPool2d(2, output_size=3, _random_samples=torch.full((2, 4, 2), .4))", "r(2, 4, 7, 8)"),
    ("FractionalMaxPool3d(2, output_ratio=0.5, _random_samples=torch.full((2, 4, 3), .4))", "r(2, 4, 7, 8, 7)"),
    ("FractionalMaxPool2d(2, output_size=3, return_indices=True, _random_samples=torch.full((2, 4, 2), .4))", "r(2, 4, 7, 8)"),
    ("GELU('tanh')", "r(3, 4)"),
    ("GLU()", "r(3, 4)"),
    ("GRU(3, 4, 2, bidirectional=True)", "r(5, 2, 3)"),
    ("GRU(3, 4)", "r(5, 2, 3), r(1, 2, 4)"),
    ("GRUCell(3, 4)", "r(2, 3)"),
    ("GaussianNLLLoss()", "r(3, 4), r(3, 4), p(3, 4)"),
    ("GaussianNLLLoss(full=True)", "r(3, 4), r(3, 4), p(3, 4)"),
    ("GroupNorm(2, 4)", "r(2, 4, 5)"),
    ("Hardshrink()", "r(3, 4)"),
    ("Hardsigmoid()", "r(3, 4)"),
    ("Hardswish()", "r(3, 4)"),
    ("Hardtanh(-2, .5)", "r(3, 4)"),
    ("HingeEmbeddingLoss()", "r(3, 4), r(3, 4).sign()"),
    ("HuberLoss(delta=.5)", "r(3, 4), r(3, 4)"),
    ("Identity(3)", "r(3, 4)"),
    ("InstanceNorm1d(4)", "r(2, 4, 5)"),
    ("InstanceNorm1d(4, affine=True, track_running_stats=True)", "r(2, 4, 5)"),
    ("InstanceNorm2d(4)", "r(2, 4, 5, 5)"),
    ("InstanceNorm3d(4)", "r(2, 4, 5, 5, 5)"),
    ("KLDivLoss(reduction='batchmean')", "r(3, 4).log_softmax(1), p(3, 4)"),
    ("KLDivLoss(reduction='sum', log_target=True)", "r(3, 4).log_softmax(1), r(3, 4).log_softmax(1)"),
    ("L1Loss()", "r(3, 4), r(3, 4)"),
    ("LPPool1d(2, 3)", "r(2, 4, 7)"),
    ("LPPool2d(2, 3, stride=2)", "r(2, 4, 7, 7)"),
    ("LPPool3d(1, 2)", "r(2, 4, 7, 7, 7)"),
    ("LSTM(3, 4)", "r(5, 2, 3)"),
    ("LSTM(3, 4, 2, batch_first=True, proj_size=2)", "r(5, 2, 3)"),
    ("LSTM(3, 4)", "r(5, 3)"),
    ("LSTMCell(3, 4)", "r(2, 3)"),
    ("LayerNorm(4)", "r(3, 4)"),
    ("LeakyReLU(.2)", "r(3, 4)"),
    ("Linear(4, 3)", "r(3, 4)"),
    ("LocalResponseNorm(2)", "r(2, 4, 5, 5)"),
    ("LogSigmoid()", "r(3, 4)"),
    ("LogSoftmax(1)", "r(3, 4)"),
    ("MSELoss()", "r(3, 4), r(3, 4)"),
    ("MarginRankingLoss(.1)", "r(4), r(4), r(4).sign()"),
    ("MaxPool1d(2)", "r(2, 4, 7)"),
    ("MaxPool2d(2, ceil_mode=True)", "r(2, 4, 7, 7)"),
    ("MaxPool3d(2)", "r(2, 4, 7, 7, 7)"),
    ("MaxPool1d(2, return_indices=True)", "r(2, 4, 7)"),
    ("MaxPool2d(2, return_indices=True)", "r(2, 4, 7, 7)"),
    ("MaxPool3d(2, return_indices=True)", "r(2, 4, 7, 7, 7)"),
    ("MaxUnpool1d(2)", "r(2, 4, 3), 2*torch.arange(3).expand(2, 4, 3)"),
    ("MaxUnpool2d(2)", "r(2, 4, 2, 2), torch.tensor([[0, 2], [8, 10]]).expand(2, 4, 2, 2)"),
    ("MaxUnpool2d(2)", "r(2, 4, 2, 2), torch.tensor([[0, 2], [8, 10]]).expand(2, 4, 2, 2), [2, 4, 5, 5]"),
    ("MaxUnpool3d(2)", "r(2, 4, 1, 1, 1), torch.tensor([3]).reshape(1, 1, 1).expand(2, 4, 1, 1, 1)"),
    ("Mish()", "r(3, 4)"),
    ("MultiLabelMarginLoss()", "r(2, 4), torch.tensor([[1, 2, -1, 0], [3, -1, 0, 0]])"),
    ("MultiLabelSoftMarginLoss()", "r(2, 4), torch.tensor([[1., 0, 1, 0], [1, 1, 0, 0]])"),
    ("MultiMarginLoss(margin=.5)", "r(3, 4), ids(4, 3)"),
    ("MultiheadAttention(8, 2)", "r(3, 2, 8), r(3, 2, 8), r(3, 2, 8)"),
    ("MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True)", "r(3, 2, 8), r(3, 2, 8), r(3, 2, 8)"),
    ("NLLLoss()", "r(3, 4).log_softmax(1), ids(4, 3)"),
    ("NLLLoss2d()", "r(3, 4, 2, 2).log_softmax(1), ids(4, 12).reshape(3, 2, 2)"),
    ("PReLU()", "r(3, 4)"),
    ("PairwiseDistance()", "r(3, 4), r(3, 4)"),
    ("PixelShuffle(2)", "r(2, 4, 3, 3)"),
    ("PixelUnshuffle(2)", "r(2, 4, 4, 4)"),
    ("PoissonNLLLoss()", "r(3, 4), p(3, 4)"),
    ("PoissonNLLLoss(log_input=False, full=True)", "p(3, 4), p(3, 4)"),
    ("RMSNorm(4)", "r(3, 4)"),
    ("RNN(3, 4, nonlinearity='relu')", "r(5, 2, 3)"),
    ("RNNCell(3, 4)", "r(2, 3)"),
    ("RReLU()", "r(3, 4)"),
    ("ReLU()", "r(3, 4)"),
    ("ReLU6()", "r(3, 4)"),
    ("ReflectionPad1d(1)", "r(2, 4, 5)"),
    ("ReflectionPad2d(1)", "r(2, 4, 5, 5)"),
    ("ReflectionPad3d(1)", "r(2, 4, 5, 5, 5)"),
    ("ReplicationPad1d(1)", "r(2, 4, 5)"),
    ("ReplicationPad2d(1)", "r(2, 4, 5, 5)"),
    ("ReplicationPad3d(1)", "r(2, 4, 5, 5, 5)"),
    ("SELU()", "r(3, 4)"),
    ("Sequential(nn.Linear(4, 3), nn.ReLU())", "r(3, 4)"),
    ("SiLU()", "r(3, 4)"),
    ("Sigmoid()", "r(3, 4)"),
    ("SmoothL1Loss()", "r(3, 4), r(3, 4)"),
    ("SoftMarginLoss()", "r(3, 4), r(3, 4).sign()"),
    ("Softmax(1)", "r(3, 4)"),
    ("Softmax2d()", "r(2, 4, 3, 3)"),
    ("Softmin(1)", "r(3, 4)"),
    ("Softplus()", "r(3, 4)"),
    ("Softshrink()", "r(3, 4)"),
    ("Softsign()", "r(3, 4)"),
    ("Tanh()", "r(3, 4)"),
    ("Tanhshrink()", "r(3, 4)"),
    ("Threshold(.1, 2.)", "r(3, 4)"),
    ("Transformer(8, 2, 1, 1, 16)", "r(3, 2, 8), r(3, 2, 8)"),
    (
        "Transformer(8, 2, 1, 1, 16, batch_first=True, norm_first=True, activation='gelu')",
        "r(3, 2, 8), r(3, 4, 8), None, torch.nn.Transformer.generate_square_subsequent_mask(4)",
    ),
    ("TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2)", "r(3, 2, 8), r(3, 2, 8)"),
    (
        "TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2, nn.LayerNorm(8))",
        "r(3, 2, 8), r(3, 2, 8), torch.nn.Transformer.generate_square_subsequent_mask(3)",
    ),
    ("TransformerDecoderLayer(8, 2, 16)", "r(3, 2, 8), r(3, 2, 8)"),
    ("TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)", "r(3, 2, 8)"),
    ("TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, nn.LayerNorm(8))", "r(3, 2, 8)"),
    ("TransformerEncoderLayer(8, 2, 16)", "r(3, 2, 8)"),
    ("TripletMarginLoss()", "r(3, 4), r(3, 4), r(3, 4)"),
    ("TripletMarginLoss(swap=True, reduction='none')", "r(3, 4), r(3, 4), r(3, 4)"),
    ("TripletMarginWithDistanceLoss()", "r(3, 4), r(3, 4), r(3, 4)"),
    ("Unflatten(1, (2, 2))", "r(3, 4)"),
    ("Unfold(2)", "r(2, 4, 5, 5)"),
    ("Upsample(scale_factor=2)", "r(2, 4, 5)"),
    ("Upsample(size=7, mode='area')", "r(2, 4, 5)"),
    ("Upsample(scale_factor=1.7, mode='area')", "r(2, 4, 5, 5)"),
    ("Upsample(scale_factor=1.7, mode='area')", "r(2, 4, 5, 5, 5)"),
    ("Upsample(scale_factor=1.7, mode='nearest-exact')", "r(2, 4, 5)"),
    ("Upsample(scale_factor=1.7, mode='nearest-exact')", "r(2, 4, 5, 5)"),
    ("Upsample(size=(3, 4, 5), mode='nearest-exact')", "r(2, 4, 5, 5, 5)"),
    ("Upsample(scale_factor=1.7, mode='bilinear', recompute_scale_factor=True)", "r(2, 4, 5, 5)"),
    ("Upsample(scale_factor=1.7, mode='bicubic', align_corners=True)", "r(2, 4, 5, 5)"),
    ("Upsample(scale_factor=1.7, mode='linear')", "r(2, 4, 5)"),
    ("Upsample(scale_factor=1.7, mode='trilinear')", "r(2, 4, 5, 5, 5)"),
    ("UpsamplingBilinear2d(scale_factor=2)", "r(2, 4, 5, 5)"),
    ("UpsamplingNearest2d(size=7)", "r(2, 4, 5, 5)"),
    ("ZeroPad1d(1)", "r(2, 4, 5)"),
    ("ZeroPad2d(1)", "r(2, 4, 5, 5)"),
    ("ZeroPad3d(1)", "r(2, 4, 5, 5, 5)"),
    ("LazyLinear(3)", "r(2, 4)"),
    ("LazyConv1d(3, 2)", "r(2, 4, 5)"),
    ("LazyConv2d(3, 2)", "r(2, 4, 5, 5)"),
    ("LazyConv3d(3, 2)", "r(2, 4, 5, 5, 5)"),
    ("LazyConvTranspose1d(3, 2)", "r(2, 4, 5)"),
    ("LazyConvTranspose2d(3, 2)", "r(2, 4, 5, 5)"),
    ("LazyConvTranspose3d(3, 2)", "r(2, 4, 5, 5, 5)"),
    ("LazyBatchNorm1d()", "r(2, 4, 5)"),
    ("LazyBatchNorm2d()", "r(2, 4, 5, 5)"),
    ("LazyBatchNorm3d()", "r(2, 4, 5, 5, 5)"),
    ("LazyInstanceNorm1d()", "r(2, 4, 5)"),
    ("LazyInstanceNorm2d()", "r(2, 4, 5, 5)"),
    ("LazyInstanceNorm3d()", "r(2, 4, 5, 5, 5)"),
    ("TripletMarginWithDistanceLoss(swap=True)", "r(3, 4), r(3, 4), r(3, 4)"),
    ("Dropout2d(inplace=True)", "r(3, 4, 5, 5)"),
    ("Upsample(size=(3, 4), mode='bilinear')", "r(2, 4, 5, 5)"),
]
# Containers have no forward of their own; the others do things that TorchScript does not have, as in PyTorch.
OTHERS = {
    "Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNNBase", "RNNCellBase", "AdaptiveLogSoftmaxWithLoss", "CrossMapLRN2d",
    "DataParallel", "LinearCrossEntropyLoss", "SyncBatchNorm",
}  # fmt: skip


def _names(inputs):
    return {
        "nn": nn, "torch": torch, "r": torch.randn, "p": lambda *s: torch.rand(*s) * 0.8 + 0.1, "ids": lambda n, count: torch.arange(count) % n,
    }, f"[{inputs}]"  # fmt: skip


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for part in value for t in _tensors(part)] if isinstance(value, (tuple, list)) else []


def _copies(inputs):
    return [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("layer", "inputs"), ROWS, ids=[layer for layer, _ in ROWS])
def test_a_layer_compiles_and_computes_the_same(layer, inputs):
    names, inputs = _names(inputs)
    torch.manual_seed(0)
    module = eval(f"nn.{layer}", names)
    inputs = eval(inputs, names)
    module(*_copies(inputs))  # lazy ones get their sizes
    for training in (False, True):
        module.train(training)
        state = {name: value.clone() for name, value in module.state_dict().items()}
        torch.manual_seed(1)
        wanted = _tensors(module(*_copies(inputs)))
        module.load_state_dict(state)
        scripted = torch.jit.script(module)
        file = io.BytesIO()
        torch.jit.save(scripted, file)
        file.seek(0)
        for form in (scripted, torch.jit.load(file)):
            torch.manual_seed(1)
            torch.testing.assert_close(_tensors(form(*_copies(inputs))), wanted, rtol=1e-4, atol=1e-5)


def test_every_layer_is_in_the_table():
    there = {name for name in dir(nn) if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), nn.Module)}
    assert there - OTHERS == {layer.partition("(")[0] for layer, _ in ROWS}


def test_operators_that_resize_take_a_size_or_factors():
    unit = torch.jit.CompilationUnit("""
def by_factors(x, factors: List[float]):
    return torch.upsample_nearest2d(x, None, factors)
def by_size(x, size: List[int]):
    return torch._upsample_nearest_exact2d(x, size, None)
def by_number(x):
    return torch.upsample_bilinear2d(x, [4, 4], False)
""")
    x = torch.arange(4.0).reshape(1, 1, 2, 2)
    assert torch.equal(unit.by_factors(x, [2.0, 2.0]), F.interpolate(x, scale_factor=2.0))
    assert torch.equal(unit.by_size(x, [3, 5]), F.interpolate(x, [3, 5], mode="nearest-exact"))
    assert torch.equal(unit.by_number(x), F.interpolate(x, [4, 4], mode="bilinear"))


@pytest.mark.parametrize(
    ("mode", "operator"), [("nearest", "upsample_nearest2d"), ("nearest-exact", "_upsample_nearest_exact2d"), ("bilinear", "upsample_bilinear2d")]
)
def test_resizing_is_saved_under_the_operators_that_pytorch_has(mode, operator):
    layer = nn.Upsample(scale_factor=(2.0, 2.0), mode=mode).eval()
    x = torch.rand(1, 2, 3, 3)
    for made in (torch.jit.freeze(torch.jit.script(layer)), torch.jit.trace(layer, x)):
        file = io.BytesIO()
        torch.jit.save(made, file)
        with zipfile.ZipFile(file) as archive:
            code = b"".join(archive.read(name) for name in archive.namelist() if name.endswith(".py")).decode()
        assert f"torch.{operator}(" in code
        file.seek(0)
        assert torch.equal(torch.jit.load(file)(x), layer(x))


def _lanczos(x):
    return F.interpolate(x, size=[3, 7], mode="lanczos", antialias=True)


def test_lanczos_is_an_operator_of_programs_and_archives():
    x = torch.rand(1, 2, 5, 6)
    for made in (torch.jit.script(_lanczos), torch.jit.trace(_lanczos, x)):
        file = io.BytesIO()
        torch.jit.save(made, file)
        with zipfile.ZipFile(file) as archive:
            code = b"".join(archive.read(name) for name in archive.namelist() if name.endswith(".py")).decode()
        assert "torch._upsample_lanczos2d_aa(" in code
        file.seek(0)
        assert torch.equal(torch.jit.load(file)(x), _lanczos(x))


def test_layers_without_sizes_are_refused():
    for call in (torch.jit.script, lambda m: torch.jit.trace(m, torch.ones(1, 3))):
        with pytest.raises(RuntimeError, match="run a forward pass"):
            call(nn.Sequential(nn.LazyLinear(2)))


def _both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, places = F.max_pool2d(x, 2, return_indices=True)
    return F.max_pool2d(x, 2) - values, places


def _unknown(x: torch.Tensor, flag: bool):
    return F.max_pool2d(x, 2, return_indices=flag)


def test_return_indices_decides_the_type_of_the_result():
    difference, places = torch.jit.script(_both)(torch.arange(16.0).reshape(1, 4, 4))
    assert difference.tolist() == [[[0.0, 0.0], [0.0, 0.0]]]
    assert places.tolist() == [[[5, 7], [13, 15]]]
    with pytest.raises(RuntimeError, match="return_indices decides what type the result has: expected True, False or a constant"):
        torch.jit.script(_unknown)


def _old_names(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    return [F.mse_loss(x, y, reduce=False), F.mse_loss(x, y, size_average=False), F.mse_loss(x, y, weight=y)]


def test_reductions_under_their_old_names_and_weights_hold_in_scripts():
    x, y = torch.tensor([3.0, 5.0]), torch.tensor([1.0, 2.0])
    assert [t.tolist() for t in torch.jit.script(_old_names)(x, y)] == [[4.0, 9.0], 13.0, pytest.approx(22 / 3)]


ATTENTION = [
    case for case in itertools.product((0, 1), (0, 1), (0, 1), (0, 1), (0, 1, 2), (0, 1)) if not (case[3] and case[5])
]  # a bias of held keys is an error


@pytest.mark.parametrize(("batched", "need", "zero", "bias", "mask", "static"), ATTENTION)
def test_attention_is_a_function_of_programs(batched, need, zero, bias, mask, static):
    n = 2 if batched else 1
    query, key = torch.randn(3, n, 8), torch.randn(5, n, 8)
    padding = torch.randn(n, 5) > 1 if mask == 1 else None
    if not batched:
        query, key, padding = query.squeeze(1), key.squeeze(1), None if padding is None else padding.squeeze(0)
    learned = torch.randn(2, 1, 1, 8).unbind(0) if bias else (None, None)
    held = torch.randn(2, 2 * n, 5, 4).unbind(0) if static else (None, None)
    inputs = (query, key, key, 8, 2, torch.randn(24, 8), torch.randn(24), *learned, bool(zero), 0.0, torch.randn(8, 8), torch.randn(8), True, padding, bool(need),
              [None, torch.randn(3, 5), torch.randn(2 * n, 3, 5)][mask], bool(mask), *torch.randn(3, 8, 8).unbind(0), *held, bool(mask))  # fmt: skip
    expected, result = F.multi_head_attention_forward(*inputs), torch.jit.script(F.multi_head_attention_forward)(*inputs)
    torch.testing.assert_close(result[0], expected[0])
    assert (result[1] is None) == (not need)
    if need:
        torch.testing.assert_close(result[1], expected[1])
