"""torch.nn.functional: layers as functions. Functions without Python around them are operators of the table themselves."""

import enum
from collections.abc import Callable, Sequence
from typing import Any

from _cresset import Tensor as Tensor, _bool, _dtype, _float, _int, _Size, _str
from _cresset.all_functions import (
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    bilinear as bilinear,
    celu_ as celu_,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
    cosine_similarity as cosine_similarity,
    elu_ as elu_,
    gelu as gelu,
    glu as glu,
    hardshrink as hardshrink,
    hardtanh_ as hardtanh_,
    leaky_relu_ as leaky_relu_,
    linear as linear,
    log_sigmoid as logsigmoid,
    one_hot as one_hot,
    pairwise_distance as pairwise_distance,
    pdist as pdist,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
    prelu as prelu,
    relu_ as relu_,
    rms_norm as rms_norm,
    scaled_dot_product_attention as scaled_dot_product_attention,
    selu_ as selu_,
    sigmoid as sigmoid,
    softplus as softplus,
    softshrink as softshrink,
    softsign as softsign,
    tanh as tanh,
    tanhshrink as tanhshrink,
    threshold_ as threshold_,
)

def adaptive_avg_pool1d(input: Tensor, output_size: _int | _Size | Sequence[_int | None]) -> Tensor: ...
def adaptive_avg_pool2d(input: Tensor, output_size: _int | _Size | Sequence[_int | None]) -> Tensor: ...
def adaptive_avg_pool3d(input: Tensor, output_size: _int | _Size | Sequence[_int | None]) -> Tensor: ...
def adaptive_max_pool1d(input: Tensor, output_size: _int | _Size | Sequence[_int | None], return_indices: _bool = False) -> Any: ...
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: _int | _Size | Sequence[_int | None], return_indices: _bool = False,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def adaptive_max_pool2d(input: Tensor, output_size: _int | _Size | Sequence[_int | None], return_indices: _bool = False) -> Any: ...
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: _int | _Size | Sequence[_int | None], return_indices: _bool = False,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def adaptive_max_pool3d(input: Tensor, output_size: _int | _Size | Sequence[_int | None], return_indices: _bool = False) -> Any: ...
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: _int | _Size | Sequence[_int | None], return_indices: _bool = False,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor: ...
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None,
    training: _bool = False, momentum: _float = 0.1, eps: _float = 1e-05,
) -> Tensor: ...  # fmt: skip
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor: ...  # fmt: skip
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None,
    reduction: _str = 'mean', pos_weight: Tensor | None = None,
) -> Tensor: ...  # fmt: skip
def celu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor: ...
def channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | _Size = 1, padding: _int | _Size | _str = 0,
    dilation: _int | _Size = 1, groups: _int = 1,
) -> Tensor: ...  # fmt: skip
def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | _Size = 1, padding: _int | _Size | _str = 0,
    dilation: _int | _Size = 1, groups: _int = 1,
) -> Tensor: ...  # fmt: skip
def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | _Size = 1, padding: _int | _Size | _str = 0,
    dilation: _int | _Size = 1, groups: _int = 1,
) -> Tensor: ...  # fmt: skip
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor: ...
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor: ...  # fmt: skip
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100,
    reduce: _bool | None = None, reduction: _str = 'mean', label_smoothing: _float = 0.0,
) -> Tensor: ...  # fmt: skip
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: _int = 0, reduction: _str = 'mean',
    zero_infinity: _bool = False,
) -> Tensor: ...  # fmt: skip
def dropout(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor: ...
def dropout1d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor: ...
def dropout2d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor: ...
def dropout3d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor: ...
def elu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor: ...
def embedding(
    input: Tensor, weight: Tensor, padding_idx: _int | None = None, max_norm: _float | None = None, norm_type: _float = 2.0,
    scale_grad_by_freq: _bool = False, sparse: _bool = False,
) -> Tensor: ...  # fmt: skip
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: _float | None = None, norm_type: _float = 2,
    scale_grad_by_freq: _bool = False, mode: _str = 'mean', sparse: _bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: _bool = False, padding_idx: _int | None = None,
) -> Tensor: ...  # fmt: skip
def feature_alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor: ...
def fold(
    input: Tensor, output_size: _int | _Size | Sequence[_int | None], kernel_size: _int | _Size, dilation: _int | _Size = 1,
    padding: _int | _Size | _str = 0, stride: _int | _Size = 1,
) -> Tensor: ...  # fmt: skip
def fractional_max_pool2d(
    input: Tensor, kernel_size: _int | _Size, output_size: _int | _Size | Sequence[_int | None] | None = None,
    output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None,
) -> Any: ...  # fmt: skip
def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: _int | _Size, output_size: _int | _Size | Sequence[_int | None] | None = None,
    output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def fractional_max_pool3d(
    input: Tensor, kernel_size: _int | _Size, output_size: _int | _Size | Sequence[_int | None] | None = None,
    output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None,
) -> Any: ...  # fmt: skip
def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: _int | _Size, output_size: _int | _Size | Sequence[_int | None] | None = None,
    output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: _bool = False, eps: _float = 1e-06, reduction: _str = "mean") -> Tensor: ...
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor: ...
def gumbel_softmax(logits: Tensor, tau: _float = 1, hard: _bool = False, eps: _float = 1e-10, dim: _int = -1) -> Tensor: ...
def hardsigmoid(input: Tensor, inplace: _bool = False) -> Tensor: ...
def hardswish(input: Tensor, inplace: _bool = False) -> Tensor: ...
def hardtanh(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False) -> Tensor: ...
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: _float = 1.0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean',
) -> Tensor: ...  # fmt: skip
def huber_loss(input: Tensor, target: Tensor, reduction: _str = "mean", delta: _float = 1.0, weight: Tensor | None = None) -> Tensor: ...
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None,
    use_input_stats: _bool = True, momentum: _float = 0.1, eps: _float = 1e-05,
) -> Tensor: ...  # fmt: skip
def grid_sample(input: Tensor, grid: Tensor, mode: _str = "bilinear", padding_mode: _str = "zeros", align_corners: _bool | None = None) -> Tensor: ...
def interpolate(
    input: Tensor, size: _int | _Size | None = None, scale_factor: _float | Sequence[_float] | None = None, mode: _str = 'nearest',
    align_corners: _bool | None = None, recompute_scale_factor: _bool | None = None, antialias: _bool = False,
) -> Tensor: ...  # fmt: skip
def kl_div(
    input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean',
    log_target: _bool = False,
) -> Tensor: ...  # fmt: skip
def l1_loss(
    input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean',
    weight: Tensor | None = None,
) -> Tensor: ...  # fmt: skip
def layer_norm(input: Tensor, normalized_shape: _Size, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor: ...
def leaky_relu(input: Tensor, negative_slope: _float = 0.01, inplace: _bool = False) -> Tensor: ...
def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None,
    reduction: _str = 'mean', ignore_index: _int | None = None, label_smoothing: _float = 0.0, options: Any = None,
) -> Tensor: ...  # fmt: skip
def local_response_norm(input: Tensor, size: _int | _Size, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0) -> Tensor: ...
def log_softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor: ...
def lp_pool1d(
    input: Tensor, norm_type: _float, kernel_size: _int | _Size, stride: _int | _Size | None = None, ceil_mode: _bool = False,
) -> Tensor: ...  # fmt: skip
def lp_pool2d(
    input: Tensor, norm_type: _float, kernel_size: _int | _Size, stride: _int | _Size | None = None, ceil_mode: _bool = False,
) -> Tensor: ...  # fmt: skip
def lp_pool3d(
    input: Tensor, norm_type: _float, kernel_size: _int | _Size, stride: _int | _Size | None = None, ceil_mode: _bool = False,
) -> Tensor: ...  # fmt: skip
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor: ...  # fmt: skip
def max_pool1d(
    input: Tensor, kernel_size: _int | _Size, stride: _int | _Size | None = None, padding: _int | _Size = 0, dilation: _int | _Size = 1,
    ceil_mode: _bool = False, return_indices: _bool = False,
) -> Any: ...  # fmt: skip
def max_pool1d_with_indices(
    input: Tensor, kernel_size: _int | _Size, stride: _int | _Size | None = None, padding: _int | _Size = 0, dilation: _int | _Size = 1,
    ceil_mode: _bool = False, return_indices: _bool = False,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def max_pool2d(
    input: Tensor, kernel_size: _int | _Size, stride: _int | _Size | None = None, padding: _int | _Size = 0, dilation: _int | _Size = 1,
    ceil_mode: _bool = False, return_indices: _bool = False,
) -> Any: ...  # fmt: skip
def max_pool2d_with_indices(
    input: Tensor, kernel_size: _int | _Size, stride: _int | _Size | None = None, padding: _int | _Size = 0, dilation: _int | _Size = 1,
    ceil_mode: _bool = False, return_indices: _bool = False,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def max_pool3d(
    input: Tensor, kernel_size: _int | _Size, stride: _int | _Size | None = None, padding: _int | _Size = 0, dilation: _int | _Size = 1,
    ceil_mode: _bool = False, return_indices: _bool = False,
) -> Any: ...  # fmt: skip
def max_pool3d_with_indices(
    input: Tensor, kernel_size: _int | _Size, stride: _int | _Size | None = None, padding: _int | _Size = 0, dilation: _int | _Size = 1,
    ceil_mode: _bool = False, return_indices: _bool = False,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: _int | _Size, stride: _int | _Size | None = None, padding: _int | _Size | _str = 0,
    output_size: _int | _Size | Sequence[_int | None] | None = None,
) -> Tensor: ...  # fmt: skip
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: _int | _Size, stride: _int | _Size | None = None, padding: _int | _Size | _str = 0,
    output_size: _int | _Size | Sequence[_int | None] | None = None,
) -> Tensor: ...  # fmt: skip
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: _int | _Size, stride: _int | _Size | None = None, padding: _int | _Size | _str = 0,
    output_size: _int | _Size | Sequence[_int | None] | None = None,
) -> Tensor: ...  # fmt: skip
def mish(input: Tensor, inplace: _bool = False) -> Tensor: ...
def mse_loss(
    input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean',
    weight: Tensor | None = None,
) -> Tensor: ...  # fmt: skip
def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: _int, num_heads: _int, in_proj_weight: Tensor, in_proj_bias: Tensor | None,
    bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: Any, dropout_p: _float, out_proj_weight: Tensor, out_proj_bias: Tensor | None,
    training: _bool = True, key_padding_mask: Tensor | None = None, need_weights: _bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: _bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: _bool = True,
    is_causal: _bool = False,
) -> tuple[Tensor, Tensor | None]: ...  # fmt: skip
def multi_margin_loss(
    input: Tensor, target: Tensor, p: _float = 1, margin: _float = 1.0, weight: Tensor | None = None, size_average: _bool | None = None,
    reduce: _bool | None = None, reduction: _str = 'mean',
) -> Tensor: ...  # fmt: skip
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean',
) -> Tensor: ...  # fmt: skip
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None,
    reduction: _str = 'mean',
) -> Tensor: ...  # fmt: skip
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100,
    reduce: _bool | None = None, reduction: _str = 'mean',
) -> Tensor: ...  # fmt: skip
def normalize(input: Tensor, p: _float = 2.0, dim: _int = 1, eps: _float = 1e-12, out: Tensor | None = None) -> Tensor: ...
def pad(input: Tensor, pad: _Size, mode: _str = "constant", value: _float | None = None) -> Tensor: ...
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: _bool = True, full: _bool = False, size_average: _bool | None = None, eps: _float = 1e-08,
    reduce: _bool | None = None, reduction: _str = 'mean',
) -> Tensor: ...  # fmt: skip
def relu(input: Tensor, inplace: _bool = False) -> Tensor: ...
def relu6(input: Tensor, inplace: _bool = False) -> Tensor: ...
def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False) -> Tensor: ...
def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False) -> Tensor: ...
def selu(input: Tensor, inplace: _bool = False) -> Tensor: ...
def silu(input: Tensor, inplace: _bool = False) -> Tensor: ...
def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', beta: _float = 1.0,
) -> Tensor: ...  # fmt: skip
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean',
) -> Tensor: ...  # fmt: skip
def softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor: ...
def softmin(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor: ...
def threshold(input: Tensor, threshold: _float, value: Tensor, inplace: _bool = False) -> Tensor: ...
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = 1.0, p: _float = 2, eps: _float = 1e-06, swap: _bool = False,
    size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean',
) -> Tensor: ...  # fmt: skip
def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: _float = 1.0,
    swap: _bool = False, reduction: _str = 'mean',
) -> Tensor: ...  # fmt: skip
def unfold(
    input: Tensor, kernel_size: _int | _Size, dilation: _int | _Size = 1, padding: _int | _Size | _str = 0, stride: _int | _Size = 1,
) -> Tensor: ...  # fmt: skip
def upsample(
    input: Tensor, size: _int | _Size | None = None, scale_factor: _float | Sequence[_float] | None = None, mode: _str = 'nearest',
    align_corners: _bool | None = None,
) -> Tensor: ...  # fmt: skip
def upsample_bilinear(input: Tensor, size: _int | _Size | None = None, scale_factor: _float | Sequence[_float] | None = None) -> Tensor: ...
def upsample_nearest(input: Tensor, size: _int | _Size | None = None, scale_factor: _float | Sequence[_float] | None = None) -> Tensor: ...

# Products of several matrices, and grids.
class ScalingType(enum.Enum):
    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5

class SwizzleType(enum.Enum):
    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1

def assert_int_or_pair(arg: Any, arg_name: _str, message: _str) -> None: ...
def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: _dtype | None = None) -> Tensor: ...
def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Any,
    scale_recipe_a: Any,
    scale_b: Any,
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: Tensor | None = None,
    output_dtype: _dtype | None = ...,
    contraction_dim: Sequence[_int] = (),
    use_fast_accum: _bool = False,
) -> Tensor: ...
def scaled_grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Any,
    scale_recipe_a: Any,
    scale_b: Any,
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: Tensor | None = None,
    offs: Tensor | None = None,
    output_dtype: _dtype | None = ...,
    contraction_dim: Sequence[_int] = (),
    use_fast_accum: _bool = False,
) -> Tensor: ...
def affine_grid(theta: Tensor, size: Sequence[_int], align_corners: _bool | None = None) -> Tensor: ...
