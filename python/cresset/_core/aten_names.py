"""PyTorch's names for entries of the table, where they differ, and what PyTorch's table says of operators: facts that modes and graphs need."""

# Entry -> PyTorch's name of the overload.
RENAMED = dict(
    pair.split("=")
    for pair in """
div.Tensor_mode_out=div.out_mode slice_copy.out=slice_copy.Tensor_out triangular_solve.out=triangular_solve.X linalg_inv_ex.out=linalg_inv_ex.inverse
qr.out=qr.Q geqrf.out=geqrf.a linalg_eigh.out=linalg_eigh.eigvals linalg_svd.out=linalg_svd.U svd.out=svd.U
linalg_pinv.rcond_tensor_out=linalg_pinv.out_rcond_tensor linalg_matrix_rank.tol_tensor_out=linalg_matrix_rank.out_tol_tensor
frobenius_norm.dim_out=frobenius_norm.out ldexp_.Tensor=ldexp_ var.dim_out=var.out std.dim_out=std.out norm.ScalarOpt_dim_out=norm.out
bucketize.out=bucketize.Tensor_out sort.out=sort.values median.dim_out=median.dim_values nanmedian.dim_out=nanmedian.dim_values
floor_divide_=floor_divide_.Tensor remainder.out=remainder.Tensor_out fmod.out=fmod.Tensor_out pow_.Tensor_Tensor=pow_.Tensor
pow_.Tensor_Scalar=pow_.Scalar lerp.out=lerp.Tensor_out eq.out=eq.Tensor_out ne.out=ne.Tensor_out lt.out=lt.Tensor_out le.out=le.Tensor_out
gt.out=gt.Tensor_out ge.out=ge.Tensor_out bitwise_and.out=bitwise_and.Tensor_out bitwise_or.out=bitwise_or.Tensor_out
bitwise_xor.out=bitwise_xor.Tensor_out bitwise_left_shift.out=bitwise_left_shift.Tensor_out bitwise_right_shift.out=bitwise_right_shift.Tensor_out
empty.memory_format_out=empty.out arange.start_step_out=arange.start_out range.step_out=range.out linalg_cholesky_ex.out=linalg_cholesky_ex.L
xlogy.out=xlogy.OutTensor xlogy.Scalar_Self_out=xlogy.OutScalar_Self xlogy.Scalar_Other_out=xlogy.OutScalar_Other sum.dim_IntList_out=sum.IntList_out
prod.dim_int_out=prod.int_out searchsorted.out=searchsorted.Tensor_out sort.stable_out=sort.values_stable topk.out=topk.values
kthvalue.out=kthvalue.values mode.out=mode.values transpose_.int=transpose_ max.out=max.unary_out max.other_out=max.out max.dim_out=max.dim_max
min.out=min.unary_out min.other_out=min.out min.dim_out=min.dim_min all.out=all.all_out all.dim_out=all.out any.out=any.all_out any.dim_out=any.out
mean.dim_out=mean.out mean.out=mean.dtype_out _fused_adam_.Tensor=_fused_adam_.tensor_lr _fused_adamw_.Tensor=_fused_adamw_.tensor_lr
_fused_sgd_.Tensor=_fused_sgd_.tensor_lr _fused_adagrad_.Tensor=_fused_adagrad_.tensor_lr threshold_backward.out=threshold_backward.grad_input
hardtanh_backward.out=hardtanh_backward.grad_input leaky_relu_backward.out=leaky_relu_backward.grad_input elu_backward.out=elu_backward.grad_input
gelu_backward.out=gelu_backward.grad_input silu_backward.out=silu_backward.grad_input hardshrink_backward.out=hardshrink_backward.grad_input
softshrink_backward.out=softshrink_backward.grad_input softplus_backward.out=softplus_backward.grad_input
log_sigmoid_backward.out=log_sigmoid_backward.grad_input tanh_backward.out=tanh_backward.grad_input sigmoid_backward.out=sigmoid_backward.grad_input

""".split()
)

# Composites here that PyTorch computes by a kernel, or differentiates, as a whole: an entry, or all overloads of a name.
WHOLE = """
celu celu_ glu div div_ masked_fill masked_fill_ allclose conv_tbc alias_copy as_strided_copy diagonal_copy expand_copy permute_copy squeeze_copy
t_copy transpose_copy unfold_copy unsqueeze_copy view_copy select_copy slice_copy detach_copy narrow_copy unbind_copy split_with_sizes_copy split_copy
diagonal_scatter select_scatter slice_scatter as_strided_scatter fill zeros ones full scalar_tensor empty_like zeros_like ones_like full_like
new_empty new_zeros new_ones new_full new_empty_strided arange linspace logspace eye tril_indices triu_indices fft_fftfreq fft_rfftfreq
bartlett_window blackman_window hann_window hamming_window kaiser_window _foreach_norm _foreach_powsum _amp_foreach_non_finite_check_and_unscale_
_amp_update_scale_ scatter scatter_ masked_select embedding_renorm_ block_diag unsafe_split unsafe_split_with_sizes rot90 diag_embed channel_shuffle unique_dim_consecutive
empty_permuted _chunk_cat cholesky cholesky_inverse cholesky_solve lu_unpack linalg_lu linalg_lu_solve triangular_solve linalg_inv_ex linalg_qr geqrf
linalg_householder_product ormqr linalg_eig linalg_eigvals.out linalg_pinv.atol_rtol_tensor linalg_pinv.atol_rtol_tensor_out linalg_lstsq
smooth_l1_loss_backward huber_loss_backward
soft_margin_loss binary_cross_entropy_with_logits binary_cross_entropy multi_margin_loss _scaled_mm _scaled_mm_v2 _grouped_mm _scaled_grouped_mm
resize_as_ _pin_memory _assert_async _print im2col col2im pixel_shuffle pixel_unshuffle linear.out upsample_nearest1d upsample_nearest2d upsample_nearest3d
upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d grid_sampler_2d grid_sampler_3d native_dropout_backward
_upsample_bilinear2d_aa _upsample_bilinear2d_aa.out _upsample_bicubic2d_aa _upsample_bicubic2d_aa.out _upsample_lanczos2d_aa _upsample_lanczos2d_aa.out affine_grid_generator _native_batch_norm_legit
batch_norm_update_stats _batch_norm_with_update trace vdot linalg_cross dist addbmm addbmm_ addr addr_ renorm renorm_ ldexp ldexp_ mvlgamma mvlgamma_
_safe_softmax _fused_adam_ _fused_adamw_ _fused_sgd_ _fused_adagrad_ index_fill index_fill_ index_reduce index_reduce_ nonzero_static
_unsafe_masked_index _unsafe_masked_index_put_accumulate polygamma_ deg2rad deg2rad_ rad2deg rad2deg_ complex polar avg_pool1d.out avg_pool2d
_adaptive_avg_pool2d adaptive_avg_pool2d.out adaptive_max_pool2d avg_pool3d _adaptive_avg_pool3d adaptive_avg_pool3d.out adaptive_max_pool3d
max_pool2d_with_indices_backward max_unpool2d max_unpool3d fractional_max_pool2d fractional_max_pool3d random_ rand rand.out rand.generator randn
randn.generator randint randperm rand_like randn_like randint_like normal bernoulli native_dropout poisson binomial _standard_gamma _sample_dirichlet
_standard_gamma_grad _dirichlet_grad sum mean aminmax all any std_mean.correction norm count_nonzero cummax cummin segment_reduce hash_tensor
searchsorted bucketize isin histogram stack softmax.int_out log_softmax.int_out sort median nanmedian sparse_coo_tensor.size
_sparse_coo_tensor_with_dims sparse_compressed_tensor sparse_dim dense_dim _dimI _dimV _nnz is_coalesced _coalesced_ indices _indices _values
crow_indices col_indices ccol_indices row_indices sparse_resize_ sparse_resize_and_clear_ resize_as_sparse_ copy_sparse_to_sparse_ hspmm _spdiags
_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo sinc sinc_ _foreach_add _foreach_add_ _foreach_sub _foreach_sub_ _foreach_mul
_foreach_mul_ _foreach_div _foreach_div_ _foreach_pow _foreach_pow_ _foreach_neg _foreach_neg_ _foreach_reciprocal _foreach_reciprocal_ _foreach_lerp
_foreach_lerp_ _foreach_addcmul _foreach_addcmul_ _foreach_addcdiv _foreach_addcdiv_ _foreach_clamp_min _foreach_clamp_min_ _foreach_maximum
_foreach_maximum_ _foreach_clamp_max _foreach_clamp_max_ _foreach_minimum _foreach_minimum_ _foreach_mm _foreach_copy_ _foreach_zero_ _foreach_clone
_foreach_abs _foreach_abs_ _foreach_sign _foreach_sign_ _foreach_floor _foreach_floor_ _foreach_ceil _foreach_ceil_ _foreach_trunc _foreach_trunc_
_foreach_round _foreach_round_ _foreach_frac _foreach_frac_ _foreach_sqrt _foreach_sqrt_ _foreach_rsqrt _foreach_rsqrt_ _foreach_exp _foreach_exp_
_foreach_expm1 _foreach_expm1_ _foreach_log _foreach_log_ _foreach_log1p _foreach_log1p_ _foreach_log2 _foreach_log2_ _foreach_log10 _foreach_log10_
_foreach_sin _foreach_sin_ _foreach_cos _foreach_cos_ _foreach_tan _foreach_tan_ _foreach_asin _foreach_asin_ _foreach_acos _foreach_acos_
_foreach_atan _foreach_atan_ _foreach_sinh _foreach_sinh_ _foreach_cosh _foreach_cosh_ _foreach_tanh _foreach_tanh_ _foreach_sigmoid _foreach_sigmoid_
_foreach_erf _foreach_erf_ _foreach_erfc _foreach_erfc_ _foreach_lgamma _foreach_lgamma_ _foreach_max matrix_exp multilabel_margin_loss histogramdd
embedding_bag ctc_loss _sparse_mm.reduce
""".split()

# Of these the ones through which no gradient passes, whatever the arguments require.
CONSTANT = """
zeros_like ones_like full_like empty_like rand_like randn_like randint_like new_empty new_zeros new_ones new_full new_empty_strided
""".split()

# Composites that PyTorch does not have.
UNKNOWN = """
softsign tanhshrink _bag_sums_backward _multilabel_soft_margin_loss _gaussian_nll_loss _triplet_hinge _weighted_loss _linear_cross_entropy
_join_cross_entropies upsample_nearest upsample_nearest_exact upsample_linear upsample_bicubic native_dropout_backward.out _interpolate
_multi_head_attention _normalize _normalize.out _local_response_norm _fused_rmsprop_.Tensor _fused_adamax_ _fused_adamax_.Tensor _fused_nadam_
_fused_nadam_.Tensor _fused_radam_ _fused_radam_.Tensor _fused_adadelta_ _fused_adadelta_.Tensor _fused_rprop_ _fused_asgd_ _fused_asgd_.Tensor
_fused_adafactor_ _fused_muon_ _fused_sparse_adam_ _fused_sparse_adam_.Tensor _pool_gather lp_pool _rrelu_noise _gumbel_softmax _rnn_layer_by_steps
softmin.int _cross_map_lrn _cross_map_lrn_backward _fuse_batch_norm _norm_except _scaled_direction _over_spectral_norm _power_iteration_
_orthogonal_of_skew _orthogonal_of_reflections _reflections_of _orthogonal_factor _orthogonalised _trunc_normal_ _clip_factor _lbfgs_direction
""".split()

# Tag -> operators: an overload, or all of a name.
TAGS = {
    "core": """
relu hardtanh leaky_relu elu gelu add.Tensor add.Scalar sub.Tensor sub.Scalar mul.Tensor mul.Scalar div.Tensor div.Scalar div.Tensor_mode
div.Scalar_mode remainder.Tensor remainder.Scalar fmod.Tensor fmod.Scalar pow.Tensor_Tensor pow.Tensor_Scalar pow.Scalar neg reciprocal eq.Tensor
eq.Scalar ne.Tensor ne.Scalar lt.Tensor lt.Scalar le.Tensor le.Scalar gt.Tensor gt.Scalar ge.Tensor ge.Scalar logical_and logical_or logical_xor
logical_not bitwise_and.Tensor bitwise_and.Scalar bitwise_or.Tensor bitwise_or.Scalar bitwise_xor.Tensor bitwise_xor.Scalar bitwise_not isnan isinf
maximum max.dim minimum min.dim clamp clamp.Tensor where.self convolution select_scatter slice_scatter fill.Scalar empty.memory_format empty_strided
full scalar_tensor full_like arange.start_step _fft_r2c _fft_c2r gather scatter.src scatter.value scatter_add index_select index index_put cat flip
repeat embedding embedding_dense_backward nonzero mm bmm addmm clone _to_copy resize_ constant_pad_nd col2im grid_sampler_2d native_layer_norm
native_layer_norm_backward native_group_norm native_group_norm_backward _native_batch_norm_legit _native_batch_norm_legit.no_stats masked_scatter
scatter_reduce.two abs sign floor ceil trunc round sqrt rsqrt exp expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh
atanh sigmoid erf view atan2.* avg_pool1d adaptive_avg_pool1d max_pool2d_with_indices avg_pool2d _adaptive_avg_pool2d max_pool3d_with_indices
avg_pool3d _adaptive_avg_pool3d max_pool2d_with_indices_backward rand randn randperm native_dropout sum.dim_IntList mean mean.dim prod prod.dim_int
amax amin argmax argmin any any.dim any.dims var.correction var.dim cumsum _softmax _log_softmax sort topk alias as_strided permute squeeze.dim
squeeze.dims unsqueeze expand select slice diagonal split_with_sizes
""".split(),
    "pointwise": """
relu relu_ threshold threshold_backward relu6 hardtanh hardtanh_ leaky_relu leaky_relu_ rrelu elu elu_ selu selu_ celu celu_ gelu gelu_backward silu.*
silu_ silu_backward.* mish hardsigmoid hardsigmoid_ hardshrink softshrink softplus tanh_backward.* sigmoid_backward.* add.Tensor add.out add.Scalar
add_.* sub.Tensor sub.out sub.Scalar sub_.* rsub.Scalar mul.Tensor mul.out mul.Scalar mul_.* div.Tensor div.out div.Scalar div.Tensor_mode
div.out_mode div.Scalar_mode div_.* remainder.* remainder_.* fmod.* fmod_.* pow.* pow_.* square.* square_ float_power.* neg.* neg_ positive
reciprocal.* reciprocal_ lerp.* lerp_.* addcmul.* addcmul_ addcdiv.* addcdiv_ eq.* ne.* lt.* le.* gt.* ge.* logical_and.* logical_and_ logical_or.*
logical_or_ logical_xor.* logical_xor_ logical_not.* logical_not_ bitwise_and.* bitwise_and_.* bitwise_or.* bitwise_or_.* bitwise_xor.* bitwise_xor_.*
bitwise_not.* bitwise_not_ bitwise_left_shift.* bitwise_left_shift_.* bitwise_right_shift.* bitwise_right_shift_.* gcd.* lcm.* isnan isfinite isinf
isposinf.* isneginf.* signbit.* maximum.* max.other max.out minimum.* min.other min.out fmax.* fmin.* clamp.* clamp_.* clamp_min.* clamp_min_.*
clamp_max.* clamp_max_.* where.self masked_fill.Scalar equal clone native_dropout_backward ldexp.* ldexp_ mvlgamma.* mvlgamma_ abs.* angle.* sgn.*
sgn_ sign.* sign_ conj_physical.* conj_physical_ floor.* floor_ ceil.* ceil_ trunc.* trunc_ round.* round_.* frac.* frac_ sqrt.* sqrt_ rsqrt.* rsqrt_
exp.* exp_ exp2.* exp2_ expm1.* expm1_ log.* log_ log1p.* log1p_ log2.* log2_ log10.* log10_ sin.* sin_ cos.* cos_ tan.* tan_ asin.* asin_ acos.*
acos_ atan.* atan_ sinh.* sinh_ cosh.* cosh_ tanh.* tanh_ asinh.* asinh_ acosh.* acosh_ atanh.* atanh_ sigmoid.* sigmoid_ erf.* erf_ erfc.* erfc_
erfinv.* erfinv_ lgamma.* lgamma_ digamma.* digamma_ polygamma.* polygamma_ deg2rad.* deg2rad_ rad2deg.* rad2deg_ logit.* logit_ nan_to_num.*
nan_to_num_ atan2.* atan2_ hypot.* hypot_ copysign.* heaviside.* nextafter.* nextafter_ xlogy.* xlogy_.Tensor logaddexp.* logaddexp2.* i0.* i0_
special_i0e.* special_i1.* special_i1e.* special_entr.* special_erfcx.* special_log_ndtr.* special_ndtri.* special_airy_ai.*
special_spherical_bessel_j0.* special_scaled_modified_bessel_k0.* special_scaled_modified_bessel_k1.* special_bessel_j0.* special_bessel_j1.*
special_bessel_y0.* special_bessel_y1.* special_modified_bessel_i0.* special_modified_bessel_i1.* special_modified_bessel_k0.*
special_modified_bessel_k1.* igamma.* igamma_ igammac.* igammac_ special_xlog1py.* special_zeta.* special_chebyshev_polynomial_t.*
special_chebyshev_polynomial_u.* special_chebyshev_polynomial_v.* special_chebyshev_polynomial_w.* special_shifted_chebyshev_polynomial_t.*
special_shifted_chebyshev_polynomial_u.* special_shifted_chebyshev_polynomial_v.* special_shifted_chebyshev_polynomial_w.*
special_hermite_polynomial_h.* special_hermite_polynomial_he.* special_laguerre_polynomial_l.* special_legendre_polynomial_p.* sinc.* sinc_ frexp.*
""".split(),
    "nondeterministic_seeded": """
random random.from random.to uniform exponential geometric log_normal cauchy normal_functional bernoulli.Tensor
rrelu rrelu_ scaled_dot_product_attention uniform_ normal_ log_normal_ exponential_ cauchy_ geometric_ bernoulli_.* random_.* rand.* randn.* randint.*
randperm.* rand_like.* randn_like.* randint_like.* normal.* bernoulli.* multinomial.* native_dropout dropout dropout_ feature_dropout feature_dropout_
alpha_dropout alpha_dropout_ feature_alpha_dropout feature_alpha_dropout_ poisson binomial _standard_gamma _sample_dirichlet lstm.* gru.* rnn_tanh.*
rnn_relu.*
""".split(),
    "generated": """
random random.from random.to uniform exponential geometric log_normal cauchy bernoulli.Tensor
""".split(),
    "data_dependent_output": """
allclose equal
""".split(),
    "dynamic_output_shape": """
index masked_select.* one_hot argwhere nonzero.* linalg_lstsq.* repeat_interleave.Tensor bincount _unique _unique2 unique_dim unique_consecutive
unique_dim_consecutive
""".split(),
    "inplace_view": """
resize_ resize_as_ as_strided_ transpose_ t_ squeeze_.* unsqueeze_
""".split(),
    "reduction": """
max max.unary_out max.dim max.dim_max min min.unary_out min.dim min.dim_min sum.* nansum.* mean.* prod.* amax.* amin.* aminmax.* argmax.* argmin.*
all.* any.* var.* std.* var_mean.* std_mean.* linalg_vector_norm.* norm.* count_nonzero.* logsumexp.*
""".split(),
    "maybe_aliasing_or_mutating": """
atleast_1d atleast_2d atleast_3d cartesian_prod unsafe_chunk batch_norm conj_physical dropout feature_dropout alpha_dropout feature_alpha_dropout
""".split(),
    "needs_exact_strides": """
_scaled_mm.* _scaled_mm_v2.* _scaled_grouped_mm
""".split(),
    "view_copy": """
alias_copy as_strided_copy diagonal_copy expand_copy permute_copy squeeze_copy squeeze_copy.dim squeeze_copy.dims t_copy transpose_copy.int
unfold_copy unsqueeze_copy view_copy view_copy.dtype select_copy.int slice_copy.Tensor detach_copy narrow_copy unbind_copy.int split_with_sizes_copy
split_copy.Tensor slice_scatter _reshape_alias_copy lift_fresh_copy values_copy indices_copy crow_indices_copy col_indices_copy ccol_indices_copy
row_indices_copy _values_copy _indices_copy view_as_real_copy view_as_complex_copy _conj_copy _neg_view_copy
""".split(),
}
