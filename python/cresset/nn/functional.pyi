"""torch.nn.functional: layers as functions. Functions without Python around them are operators of the table themselves."""

import enum

from _cresset import Tensor as Tensor
from _cresset.all_functions import (
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    bilinear as bilinear,
    celu_ as celu_,
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_tbc as conv_tbc,
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
from _cresset.nn_functional import *

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
