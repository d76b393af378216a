// PyTorch's lists for mixed precision, by what it does on the CPU and on accelerators; tests/python/amp compares with it.

#include "cresset/transform/autocast_table.h"

#include "cresset/kernels/layout/layout.h"

namespace cresset {
namespace amp {

namespace {
constexpr CastPolicy A = CastPolicy::absent, N = CastPolicy::none, L = CastPolicy::lower, S = CastPolicy::single;
constexpr CastPolicy P = CastPolicy::promote, R = CastPolicy::refuse;

bool is_not_circular(const dispatch::Stack& arguments) { return arguments.back().to_int() != static_cast<int64_t>(kernels::PadMode::circular); }

}  // namespace

const CastRow kCastRows[] = {
    {"conv1d", L, L}, {"conv2d", L, L}, {"conv3d", L, L}, {"convolution", L, L}, {"conv_transpose1d", L, L},
    {"conv_transpose2d", L, L}, {"conv_transpose3d", L, L}, {"bmm", L, L}, {"mm", L, L}, {"baddbmm", L, L}, {"addmm", L, L},
    {"addbmm", L, L}, {"linear", L, L}, {"matmul", L, L}, {"linalg_vecdot", L, L}, {"prelu", L, L},
    {"scaled_dot_product_attention", L, L},
    {"addmv", A, L}, {"addr", A, L}, {"mv", A, L}, {"chain_matmul", A, L}, {"linalg_multi_dot", A, L}, {"lstm_cell", A, L},
    {"gru_cell", A, L}, {"rnn_tanh_cell", A, L}, {"rnn_relu_cell", A, L}, {"lstm", L, L}, {"gru", A, L}, {"rnn_tanh", A, L},
    {"rnn_relu", A, L},
    {"binary_cross_entropy_with_logits", S, S}, {"cosine_embedding_loss", S, S}, {"cross_entropy_loss", S, S},
    {"hinge_embedding_loss", S, S}, {"huber_loss", S, S}, {"kl_div", S, S}, {"multi_margin_loss", S, S},
    {"multilabel_margin_loss", S, S}, {"ctc_loss", S, S}, {"l1_loss", S, S}, {"margin_ranking_loss", S, S},
    {"mse_loss", S, S}, {"nll_loss", S, S}, {"nll_loss2d", S, S}, {"nll_loss_nd", S, S}, {"poisson_nll_loss", S, S},
    {"smooth_l1_loss", S, S}, {"soft_margin_loss", S, S}, {"triplet_margin_loss", S, S}, {"cdist", S, S}, {"prod", S, S},
    {"avg_pool3d", S, A}, {"grid_sampler_2d", S, A}, {"grid_sampler_3d", S, A}, {"max_pool3d", S, A}, {"adaptive_avg_pool3d", S, A},
    {"max_unpool2d", S, S}, {"max_unpool3d", S, S}, {"fractional_max_pool2d", S, S}, {"fractional_max_pool3d", S, S},
    {"adaptive_max_pool3d", S, A}, {"polar", S, A}, {"quantile", S, A},
    {"nanquantile", S, A}, {"stft", S, A}, {"trace", S, A}, {"view_as_complex", S, A}, {"cholesky", S, A},
    {"cholesky_inverse", S, A}, {"cholesky_solve", S, A}, {"inverse", S, A}, {"lu_solve", S, A}, {"orgqr", S, A}, {"ormqr", S, A},
    {"pinverse", S, A}, {"geqrf", S, A}, {"_lu_with_info", S, A}, {"qr", S, A}, {"svd", S, A}, {"triangular_solve", S, A},
    {"fft_fft", S, A}, {"fft_ifft", S, A}, {"fft_fft2", S, A}, {"fft_ifft2", S, A}, {"fft_fftn", S, A}, {"fft_ifftn", S, A},
    {"fft_rfft", S, A}, {"fft_irfft", S, A}, {"fft_rfft2", S, A}, {"fft_irfft2", S, A}, {"fft_rfftn", S, A}, {"fft_irfftn", S, A},
    {"fft_hfft", S, A}, {"fft_ihfft", S, A}, {"linalg_cond", S, A}, {"linalg_matrix_rank", S, A}, {"linalg_solve", S, A},
    {"linalg_cholesky", S, A}, {"linalg_cholesky_ex", S, A}, {"linalg_svd", S, A}, {"linalg_svdvals", S, A}, {"linalg_eig", S, A},
    {"linalg_eigvals", S, A}, {"linalg_eigh", S, A}, {"linalg_eigvalsh", S, A}, {"linalg_inv", S, A}, {"linalg_inv_ex", S, A},
    {"linalg_householder_product", S, A}, {"linalg_tensorinv", S, A}, {"linalg_tensorsolve", S, A}, {"linalg_qr", S, A},
    {"linalg_lstsq", S, A},
    {"acos", A, S}, {"asin", A, S}, {"cosh", A, S}, {"erfinv", A, S}, {"exp", A, S}, {"expm1", A, S}, {"log", A, S},
    {"log10", A, S}, {"log2", A, S}, {"log1p", A, S}, {"reciprocal", A, S}, {"rsqrt", A, S}, {"sinh", A, S}, {"tan", A, S},
    {"pow", A, S}, {"softplus", A, S}, {"layer_norm", A, S}, {"native_layer_norm", A, S}, {"group_norm", A, S},
    {"frobenius_norm", A, S}, {"nuclear_norm", A, S}, {"cosine_similarity", A, S}, {"pdist", A, S}, {"dist", A, S},
    {"renorm", A, S}, {"logsumexp", A, S}, {"softmax", A, S}, {"log_softmax", A, S}, {"cumprod", A, S}, {"cumsum", A, S},
    {"sum", A, S}, {"norm", A, S}, {"upsample_nearest1d", A, S}, {"upsample_nearest2d", A, S}, {"upsample_nearest3d", A, S},
    {"upsample_linear1d", A, S}, {"upsample_bilinear2d", A, S}, {"upsample_bicubic2d", A, S}, {"upsample_trilinear3d", A, S},
    {"stack", P, P}, {"cat", P, P}, {"index_copy", P, P},
    {"addcdiv", A, P}, {"addcmul", A, P}, {"atan2", A, P}, {"bilinear", A, P}, {"cross", A, P}, {"dot", A, P},
    {"grid_sampler", S, P}, {"index_put", A, P}, {"tensordot", A, P}, {"scatter_add", A, P}, {"vdot", A, P},
    {"binary_cross_entropy", S, R},
    // Of its modes, circular padding is a composite of PyTorch's.
    {"_pad_mode", S, A, is_not_circular},
    {"matrix_exp", N, N},
};
const int kNumCastRows = sizeof(kCastRows) / sizeof(CastRow);

}  // namespace amp
}  // namespace cresset
