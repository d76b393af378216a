"""Overloads of PyTorch's table that write the results of another one to tensors that are given: `out` beside the overload without a name, `Scalar_out`
beside `Scalar`, and `grad_input`, `output` beside the formulas and losses that name their results so.

>>> out = torch.empty(0)
>>> torch.ops.aten.masked_fill.Scalar_out(torch.ones(3), torch.tensor([True, False, True]), 7.0, out=out)
tensor([7., 1., 7.])
>>> torch.ops.aten.masked_fill.Scalar_out._schema
aten::masked_fill.Scalar_out(Tensor self, Tensor mask, Scalar value, *, Tensor(a!) out) -> Tensor(a!)
"""

import functools

import _cresset

from .operators import OpOverload

# Name.overload; "=" and the names of the results where they are not `out`, or `out0`, `out1`.
_OF_KERNELS = """
_addmm_activation.out _conv_depthwise2d.out _convert_indices_from_coo_to_csr.out _convert_indices_from_csr_to_coo.out _log_softmax.out _softmax.out
_stack.out _upsample_bicubic2d_aa_backward.grad_input=grad_input _upsample_bilinear2d_aa_backward.grad_input=grad_input
_upsample_lanczos2d_aa_backward.grad_input=grad_input _upsample_nearest_exact1d_backward.grad_input=grad_input
_upsample_nearest_exact2d_backward.grad_input=grad_input _upsample_nearest_exact3d_backward.grad_input=grad_input
adaptive_max_pool2d_backward.grad_input=grad_input adaptive_max_pool3d_backward.grad_input=grad_input avg_pool2d_backward.grad_input=grad_input
avg_pool3d_backward.grad_input=grad_input binary_cross_entropy.out binary_cross_entropy_backward.grad_input=grad_input col2im.out concat.out
concatenate.out cudnn_batch_norm.out glu_backward.grad_input=grad_input hardsigmoid_backward.grad_input=grad_input hspmm.out huber_loss.out
huber_loss_backward.out=grad_input im2col.out index.Tensor_out logit_backward.grad_input=grad_input max_pool2d_with_indices.out=out,indices
max_pool3d_with_indices.out=out,indices max_pool3d_with_indices_backward.grad_input=grad_input mse_loss.out mse_loss_backward.grad_input=grad_input
multi_margin_loss.out multilabel_margin_loss.out multilabel_margin_loss_forward.output=output,is_target nll_loss2d.out
nll_loss2d_backward.grad_input=grad_input nll_loss2d_forward.output=output,total_weight nll_loss_backward.grad_input=grad_input
nll_loss_forward.output=output,total_weight nonzero_static.out reflection_pad1d.out reflection_pad1d_backward.grad_input=grad_input reflection_pad2d.out
reflection_pad2d_backward.grad_input=grad_input reflection_pad3d.out reflection_pad3d_backward.grad_input=grad_input replication_pad1d.out
replication_pad1d_backward.grad_input=grad_input replication_pad2d.out replication_pad2d_backward.grad_input=grad_input replication_pad3d.out
replication_pad3d_backward.grad_input=grad_input slow_conv3d.out smooth_l1_loss.out smooth_l1_loss_backward.grad_input=grad_input soft_margin_loss.out
soft_margin_loss_backward.grad_input=grad_input sparse_sampled_addmm.out split_copy.Tensor_out split_with_sizes_copy.out sspaddmm.out thnn_conv2d.out
unbind_copy.int_out upsample_bicubic2d_backward.grad_input=grad_input upsample_bilinear2d_backward.grad_input=grad_input
upsample_linear1d_backward.grad_input=grad_input upsample_nearest1d_backward.grad_input=grad_input upsample_nearest2d_backward.grad_input=grad_input
upsample_nearest3d_backward.grad_input=grad_input upsample_trilinear3d_backward.grad_input=grad_input
"""
_GENERATED = """
__lshift__.Scalar_out __lshift__.Tensor_out __rshift__.Scalar_out __rshift__.Tensor_out _adaptive_avg_pool2d.out _adaptive_avg_pool2d_backward.out
_adaptive_avg_pool3d.out _adaptive_avg_pool3d_backward.out _add_relu.Scalar_out _aminmax.dim_out _aminmax.out _cdist_backward.out _cdist_forward.out
_coalesce.out _conj_copy.out _conj_physical.out _convolution.out _ctc_loss.Tensor_out _dirichlet_grad.out _embedding_bag.out
_embedding_bag_forward_only.out _euclidean_dist.out _foreach_abs.out _foreach_acos.out _foreach_add.List_out _foreach_add.ScalarList_out
_foreach_add.Scalar_out _foreach_add.Tensor_out _foreach_addcdiv.ScalarList_out _foreach_addcdiv.Scalar_out _foreach_addcdiv.Tensor_out
_foreach_addcmul.ScalarList_out _foreach_addcmul.Scalar_out _foreach_addcmul.Tensor_out _foreach_asin.out _foreach_atan.out _foreach_ceil.out
_foreach_clamp_max.List_out _foreach_clamp_max.ScalarList_out _foreach_clamp_max.Scalar_out _foreach_clamp_min.List_out _foreach_clamp_min.ScalarList_out
_foreach_clamp_min.Scalar_out _foreach_clone.out _foreach_cos.out _foreach_cosh.out _foreach_div.List_out _foreach_div.ScalarList_out
_foreach_div.Scalar_out _foreach_div.Tensor_out _foreach_erf.out _foreach_erfc.out _foreach_exp.out _foreach_expm1.out _foreach_floor.out _foreach_frac.out
_foreach_lerp.List_out _foreach_lerp.ScalarList_out _foreach_lerp.Scalar_out _foreach_lgamma.out _foreach_log.out _foreach_log10.out _foreach_log1p.out
_foreach_log2.out _foreach_max.out _foreach_maximum.List_out _foreach_maximum.ScalarList_out _foreach_maximum.Scalar_out _foreach_minimum.List_out
_foreach_minimum.ScalarList_out _foreach_minimum.Scalar_out _foreach_mul.List_out _foreach_mul.ScalarList_out _foreach_mul.Scalar_out
_foreach_mul.Tensor_out _foreach_neg.out _foreach_norm.Scalar_out _foreach_pow.List_out _foreach_pow.ScalarList_out _foreach_pow.Scalar_out
_foreach_powsum.Scalar_out _foreach_reciprocal.out _foreach_round.out _foreach_rsqrt.out _foreach_sigmoid.out _foreach_sign.out _foreach_sin.out
_foreach_sinh.out _foreach_sqrt.out _foreach_sub.List_out _foreach_sub.ScalarList_out _foreach_sub.Scalar_out _foreach_tan.out _foreach_tanh.out
_foreach_trunc.out _index_put_impl.out _indices_copy.out _native_batch_norm_legit_no_training.out _neg_view_copy.out _pin_memory.out
_reshape_alias_copy.out _sample_dirichlet.out _sparse_addmm.out _sparse_coo_tensor_with_dims.out _sparse_coo_tensor_with_dims_and_tensors.out
_sparse_log_softmax.out _sparse_softmax.out _sparse_sparse_matmul.out _sparse_sum.dim_out _spdiags.out _standard_gamma.out _standard_gamma_grad.out
_to_copy.out _to_dense.out _to_sparse.out _to_sparse.sparse_dim_out _unique.out _unique2.out _unsafe_view.out _values_copy.out adaptive_avg_pool1d.out
as_strided_scatter.out bartlett_window.out bartlett_window.periodic_out batch_norm_update_stats.out bernoulli.Tensor_out
binary_cross_entropy_with_logits.out bincount.out binomial.out bitwise_and.Scalar_Tensor_out bitwise_left_shift.Scalar_Tensor_out
bitwise_or.Scalar_Tensor_out bitwise_right_shift.Scalar_Tensor_out bitwise_xor.Scalar_Tensor_out blackman_window.out blackman_window.periodic_out
block_diag.out cauchy.out ccol_indices_copy.out celu.out channel_shuffle.out clone.out col_indices_copy.out constant_pad_nd.out conv_depthwise3d.out
convolution.out convolution_backward.out copy.out count_nonzero.dim_IntList_out count_nonzero.out crow_indices_copy.out cudnn_batch_norm_backward.out
diag_embed.out diagonal_backward.out diagonal_scatter.out dist.out embedding.out embedding_dense_backward.out embedding_renorm.out empty_like.out
empty_permuted.out empty_strided.out exponential.out fake_quantize_per_channel_affine_cachemask.out fake_quantize_per_tensor_affine_cachemask.out
fill.Scalar_out fill.Tensor_out flip.out full_like.out geometric.out grid_sampler_2d.out grid_sampler_2d_backward.out grid_sampler_3d.out
grid_sampler_3d_backward.out hamming_window.out hamming_window.periodic_alpha_beta_out hamming_window.periodic_alpha_out hamming_window.periodic_out
hann_window.out hann_window.periodic_out hardswish_backward.out index_fill.int_Scalar_out index_fill.int_Tensor_out index_put.out indices_copy.out
isinf.out isnan.out kaiser_window.beta_out kaiser_window.out kaiser_window.periodic_out lift.out lift_fresh_copy.out linalg_matrix_exp.out
linear_backward.out log_normal.out masked_fill.Scalar_out masked_fill.Tensor_out masked_scatter.out median.out miopen_batch_norm_backward.out
mkldnn_rnn_layer.out mkldnn_rnn_layer_backward.out nanmedian.out native_batch_norm_backward.out native_dropout.out native_group_norm.out
native_group_norm_backward.out native_layer_norm.out native_layer_norm_backward.out new_empty.out new_empty_strided.out new_full.out new_ones.out
new_zeros.out ones_like.out pixel_shuffle.out pixel_unshuffle.out poisson.out prod.out put.out rand_like.generator_out rand_like.out
randint_like.Tensor_generator_out randint_like.Tensor_out randint_like.generator_out randint_like.low_dtype_out randint_like.low_generator_dtype_out
randint_like.out randn_like.generator_out randn_like.out random.from_out random.out random.to_out relu.out remainder.Scalar_Tensor_out repeat.out
repeat_interleave.Tensor_out resize.out resize_as.out roll.out rot90.out row_indices_copy.out rsub.Scalar_out rsub.Tensor_out scalar_tensor.out
select_backward.out select_scatter.out slice_backward.out sparse_coo_tensor.size_out sparse_mask.out std_mean.correction_out trace.out tril_indices.out
triu_indices.out unfold_backward.out uniform.out unique_consecutive.out unique_dim.out unsafe_split.Tensor_out unsafe_split_with_sizes.out
upsample_bilinear2d.vec_out upsample_nearest2d.vec_out values_copy.out var_mean.correction_out view_as_complex_copy.out view_as_real_copy.out zero.out
zeros_like.out
"""
NAMES = _OF_KERNELS + _GENERATED
_OF_CREATION = {"dtype", "layout", "device", "pin_memory"}  # given by the tensor that is written


def _beside(overload):
    """The name of the overload that computes the results."""
    return overload.removesuffix("_out") if overload.endswith("_out") else "default"


def _creates(base):
    """Whether the overload takes what a new tensor is to be: the tensor that is written tells."""
    return {a.name for a in base._schema.arguments if a.kwarg_only} >= _OF_CREATION


def _schema(base, title, names):
    """The text of the schema, from that of the overload that computes."""
    schema = base._schema
    listed = len(schema.returns) == 1 and "[]" in str(schema.returns[0])
    count = len(schema.returns)
    names = names or (["out"] if count == 1 else [f"out{i}" for i in range(count)])
    marks = [f"Tensor({chr(ord('a') + i)}!)" for i in range(count)]
    kept = [a for a in schema.arguments if not (_creates(base) and a.name in _OF_CREATION)]
    plain, named = ([str(a) for a in kept if a.kwarg_only == keyword] for keyword in (False, True))
    written = [f"{mark}{'[]' if listed else ''} {name}" for mark, name in zip(marks, names, strict=True)]
    results = "()" if listed else marks[0] if count == 1 else f"({', '.join(marks)})"
    return f"{title}({', '.join([*plain, '*', *named, *written])}) -> {results}", names


def _store(out, found):
    if tuple(out.shape) != tuple(found.shape):
        out.resize_(found.shape)
    out.copy_(found)


def _call(base, names, creates, listed, *args, **kwargs):
    import cresset as torch
    from .._library.operators import tensors_of

    missing = [name for name in names if name not in kwargs]
    if missing:
        raise TypeError(f"{base}: expected {', '.join(missing)} by keyword, to be written")
    outs = [kwargs.pop(name) for name in names]
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors_of([*args, *kwargs.values(), *outs])):
        raise RuntimeError(f"{base.name()}: results that are written to {', '.join(names)} have no gradients; call it within torch.no_grad()")
    if creates:
        first = outs[0]
        kwargs.update(dtype=first.dtype, layout=first.layout, device=first.device)
    found = base(*args, **kwargs)
    found = [found] if len(names) == 1 else found
    pairs = list(zip(outs[0], found[0], strict=True)) if listed else list(zip(outs, found, strict=True))
    for out, value in pairs:
        if value is not None:
            _store(out, value)
    return None if listed else outs[0] if len(outs) == 1 else tuple(outs)


class Written(OpOverload):
    """An overload that writes the results of another one. Modes see it as a whole."""

    base = None  # of a generated one: the overload that computes

    def __call__(self, /, *args, **kwargs):
        if _cresset._is_heard():
            from .._modes.stack import present

            return present(self, *args, **kwargs)
        return super().__call__(*args, **kwargs)


Written.__name__ = Written.__qualname__ = "OpOverload"  # as graphs and programs know the class


def _made(names, is_generated, packet, overload):
    base = getattr(packet, _beside(overload))
    text, names = _schema(base, f"{packet.__name__}.{overload}", names)
    found = Written(packet, overload, call=functools.partial(_call, base, names, _creates(base), text.endswith("-> ()")), schema=text)
    if is_generated:
        found.base = base
    return found


def install(made):
    """Adds them to the namespace's table: name -> overload -> a function (packet, overload) that makes it."""
    generated = set(_GENERATED.split())
    for title in NAMES.split():
        name, _, overload = title.partition("=")[0].partition(".")
        names = title.partition("=")[2].split(",") if "=" in title else None
        made.setdefault(name, {}).setdefault(overload, functools.partial(_made, names, title in generated))
