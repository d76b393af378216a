"""The absent wings of PyTorch: modules that can be imported, hold the names that programs ask for, and raise when one is called.

A program that needs such a wing only behind an option runs without it. `python -m cresset --absent` prints the table.

    >>> import cresset.onnx
    >>> cresset.onnx.export(None)
    Traceback (most recent call last):
    NotImplementedError: torch.onnx.export: Cresset has no ONNX export (python -m cresset --absent lists what is not there)
    >>> isinstance(torch.ones(1), torch.onnx.JitScalarType)
    False
"""

import importlib
import types

from .missing import WHERE

# wing -> module -> names. Names in capitals are classes, of which there are no objects; "Error" at the end: exceptions; others are
# functions.
# `name=value` is a function that gives the value; `name=itself` and `name=@` marks of functions, without and with arguments; `name=class` a class in small letters; `Name()` a
# class of plans, of which there are objects that hold their arguments. A module with a file of its own has these names beside the file's.
WINGS = {
    "ONNX export": {
        "onnx": "ExportableModule InputObserver JitScalarType ONNXProgram OnnxExporterError OperatorExportTypes TrainingMode "
                "dynamo_export export is_in_onnx_export=False "
                "register_custom_op_symbolic select_model_mode_for_export unregister_custom_op_symbolic",
        "onnx.errors": "OnnxExporterError SymbolicValueError UnsupportedOperatorError",
        "onnx.ops": "",
        "onnx.operators": "reshape_from_tensor_shape shape_as_tensor",
        "onnx.symbolic_helper": "parse_args=@",
        "onnx.symbolic_opset9": "masked_fill softmax",
        "onnx.symbolic_opset11": "",
        "onnx.symbolic_opset12": "",
        "onnx.utils": "export",
    },
    "graph export": {
        "_export": "aot_compile aot_load",
    },
    "TorchScript": {
        "_C": "ScriptModule Type",
        "utils.mobile_optimizer": "optimize_for_mobile",
    },
    "compiler": {
        "_dynamo": "replay",
        "_inductor": "compile standalone_compile",
        "_inductor.codegen": "",
        "_inductor.codegen.cpp_flex_attention_template": "CppFlexAttentionTemplate",
        "_inductor.codegen.cpp_template": "CppTemplate",
        "_inductor.codegen.cpp_template_kernel": "CppTemplateKernel parse_expr_with_index_symbols wrap_with_tensorbox",
        "_inductor.codegen.triton": "TritonOverrides",
        "_inductor.constant_folding": "constant_fold",
        "_inductor.custom_graph_pass": "CustomGraphModulePass CustomGraphPass get_hash_for_files",
        "_inductor.freezing_utils": "maybe_set_is_frozen_param",
        "_inductor.fx_passes": "",
        "_inductor.fx_passes.freezing_patterns": "freezing_passes register_freezing_graph_pattern=@",
        "_inductor.fx_passes.mkldnn_fusion": "_gelu_fusion_1 _gelu_fusion_2 _get_remaining_users _hardswish_fusion _hardtanh_fusion _silu_fusion",
        "_inductor.ir": "Buffer ChoiceCaller CppTemplateBuffer FixedLayout InsertionPoint IRNode Layout Pointwise TensorBox get_fill_order",
        "_inductor.kernel": "",
        "_inductor.kernel.flex": "",
        "_inductor.kernel.flex.common": "construct_strides maybe_realize",
        "_inductor.lowering": "lowerings register_lowering=@ to_dtype",
        "_inductor.pattern_matcher": "Arg CallFunction KeywordArg Match PatternMatcherPass filter_nodes register_lowering_pattern=@",
        "_inductor.select_algorithm": "DataProcessorTemplateWrapper ExternKernelChoice autotune_select_algorithm",
        "_inductor.utils": "parallel_num_threads",
        "_inductor.virtualized": "V ops",
    },
    "CUDA profiler": {
        "cuda.profiler": "profile start stop",
        "cuda.nvtx": "mark range range_end range_pop range_push range_start",
    },
    "tensor parallelism": {
        "distributed.tensor": "DTensor distribute_module distribute_tensor empty full ones rand randn zeros",
        "distributed.tensor._utils": "compute_local_shape_and_global_offset",
        "distributed.tensor.api": "DTensor",
        "distributed.tensor.experimental": "context_parallel implicit_replication local_map register_sharding",
        "distributed.tensor.experimental._attention": "context_parallel_unshard set_rotate_method",
        "distributed.tensor.parallel": "ColwiseParallel() ParallelStyle PrepareModuleInput() PrepareModuleInputOutput() "
                                       "PrepareModuleOutput() RowwiseParallel() SequenceParallel() loss_parallel "
                                       "parallelize_module",
        "distributed.tensor.parallel.style": "ColwiseParallel() ParallelStyle PrepareModuleInput() PrepareModuleOutput() "
                                             "RowwiseParallel() SequenceParallel()",
        "distributed.tensor.placement_types": "DTensorSpec _StridedShard() TensorMeta",
        "distributed._tensor": "DTensor DeviceMesh distribute_module distribute_tensor empty full ones rand randn zeros",
        "distributed._tensor.experimental": "implicit_replication local_map",
        "distributed._tensor.placement_types": "DTensorSpec",
    },
    "fully sharded parallelism": {
        "distributed.fsdp": "FSDPModule fully_shard FullyShardedDataParallel register_fsdp_forward_method share_comm_ctx UnshardHandle",
        "distributed.fsdp.fully_sharded_data_parallel": "FullyShardedDataParallel",
        "distributed.fsdp.sharded_grad_scaler": "ShardedGradScaler",
        "distributed.fsdp.wrap": "CustomPolicy ModuleWrapPolicy _or_policy always_wrap_policy enable_wrap lambda_auto_wrap_policy "
                                 "size_based_auto_wrap_policy transformer_auto_wrap_policy wrap",
        "distributed._composable": "checkpoint contract",
        "distributed._composable.fsdp": "FSDPModule fully_shard",
        "distributed._shard": "",
        "distributed._shard.sharded_tensor": "ShardedTensor",
    },
    "distributed checkpoints of Hugging Face's files": {
        "distributed.checkpoint": "HuggingFaceStorageReader HuggingFaceStorageWriter load_sharded_optimizer_state_dict "
                                  "QuantizedHuggingFaceStorageReader",
        "distributed.checkpoint._consolidate_hf_safetensors": "consolidate_safetensors_files",
        "distributed.checkpoint.hf_storage": "HuggingFaceStorageReader HuggingFaceStorageWriter",
        "distributed.checkpoint.optimizer": "load_sharded_optimizer_state_dict",
    },
    "attention of quantised tensors": {
        "nn.attention.experimental": "",
        "nn.attention.experimental._scaled_dot_product_attention_quantized": "_scaled_dot_product_attention_quantized",
    },
    "symmetric memory": {
        "distributed._symmetric_memory": "empty enable_symm_mem_for_group get_symm_mem_workspace is_symm_mem_enabled_for_group=False rendezvous",
    },
    "pipeline parallelism": {
        "distributed.pipelining": "build_stage Pipe pipe_split pipeline PipelineStage Schedule1F1B ScheduleDualPipeV "
                                  "ScheduleGPipe ScheduleInterleaved1F1B ScheduleInterleavedZeroBubble "
                                  "ScheduleLoopedBFS ScheduleZBVZeroBubble SplitPoint",
    },
    "sharded optimizers and gradient compression": {
        "distributed.algorithms._checkpoint": "",
        "distributed.algorithms._checkpoint.checkpoint_wrapper": "ActivationWrapper CheckpointImpl CheckpointWrapper "
                                                                 "OffloadWrapper apply_activation_checkpointing "
                                                                 "checkpoint_wrapper "
                                                                 "offload_wrapper",
        "distributed.algorithms.ddp_comm_hooks.optimizer_overlap_hooks": "",
    },
    "binding of processes to processors": {
        "numa": "",
        "numa.binding": "AffinityMode NumaOptions",
    },
    "quantisation": {
        "ao": "",
        "ao.nn": "",
        "ao.nn.quantized": "BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d "
                           "ConvTranspose3d DeQuantize Dropout ELU Embedding EmbeddingBag FloatFunctional "
                           "FXFloatFunctional GroupNorm Hardswish InstanceNorm1d InstanceNorm2d InstanceNorm3d "
                           "LayerNorm LeakyReLU Linear LSTM MultiheadAttention PReLU QFunctional Quantize ReLU6 Sigmoid "
                           "Softmax",
        "ao.nn.intrinsic": "BNReLU2d BNReLU3d ConvAdd2d ConvAddReLU2d ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d "
                           "ConvBnReLU2d ConvBnReLU3d ConvReLU1d ConvReLU2d ConvReLU3d LinearBn1d LinearLeakyReLU "
                           "LinearReLU LinearTanh",
        "ao.nn.qat": "Conv1d Conv2d Conv3d Embedding Linear",
        "ao.nn.quantized.dynamic": "GRU LSTM Linear",
        "ao.pruning": "BaseScheduler BaseSparsifier CubicSL FakeSparsity fqn_to_module get_arg_info_from_tensor_fqn "
                      "get_dynamic_sparse_quantized_mapping get_static_sparse_quantized_mapping LambdaSL module_to_fqn "
                      "NearlyDiagonalSparsifier WeightNormSparsifier",
        "ao.quantization.fx": "",
        "ao.ns": "",
        "ao.ns.fx": "",
        "ao.ns.fx.utils": "compute_sqnr",
        "ao.quantization.backend_config": "BackendConfig get_executorch_backend_config get_native_backend_config",
        "ao.quantization.backend_config.utils": "get_fused_module_classes get_pattern_to_dtype_configs get_qat_module_classes "
                                                "get_root_module_to_quantized_reference_module",
        "ao.quantization.fx._decomposed": "_per_token_quant_qparam_dim_check quantize_per_channel_group quantized_decomposed_lib",
        "ao.quantization.fx._equalize": "convert_eq_obs update_obs_for_equalization",
        "ao.quantization.fx.custom_config": "ConvertCustomConfig PrepareCustomConfig",
        "ao.quantization.fx.graph_module": "_is_observed_module _is_observed_standalone_module",
        "ao.quantization.fx.lower_to_fbgemm": "lower_to_fbgemm",
        "ao.quantization.fx.prepare": "_insert_obs_or_fq _save_state",
        "ao.quantization.fx.qconfig_mapping_utils": "_compare_prepare_convert_qconfig_mappings _generate_node_name_to_qconfig "
                                                    "_is_qconfig_supported_by_dtype_configs _update_qconfig_for_fusion _update_qconfig_for_qat",
        "ao.quantization.fx.utils": "_get_module graph_module_from_producer_nodes node_arg_is_weight",
        "ao.quantization": "add_quant_dequant AffineQuantizedObserverBase convert convert_dynamic_jit convert_jit "
                           "default_affine_fixed_qparams_fake_quant default_affine_fixed_qparams_observer "
                           "default_debug_observer=class default_dynamic_fake_quant default_dynamic_quant_observer "
                           "default_embedding_fake_quant default_embedding_fake_quant_4bit default_eval_fn "
                           "default_fake_quant default_fixed_qparams_range_0to1_fake_quant "
                           "default_fixed_qparams_range_0to1_observer default_fixed_qparams_range_neg1to1_fake_quant "
                           "default_fixed_qparams_range_neg1to1_observer default_float_qparams_observer "
                           "default_float_qparams_observer_4bit default_fused_act_fake_quant "
                           "default_fused_per_channel_wt_fake_quant default_fused_wt_fake_quant "
                           "default_histogram_fake_quant default_histogram_observer default_observer "
                           "default_per_channel_weight_fake_quant default_per_channel_weight_observer "
                           "default_placeholder_observer=class default_reuse_input_observer=class "
                           "default_symmetric_fixed_qparams_fake_quant default_symmetric_fixed_qparams_observer "
                           "default_weight_fake_quant default_weight_observer DeQuantStub disable_fake_quant "
                           "disable_observer enable_fake_quant enable_observer FakeQuantize FakeQuantizeBase "
                           "FixedQParamsFakeQuantize FixedQParamsObserver fuse_conv_bn fuse_conv_bn_jit "
                           "fuse_conv_bn_relu fuse_convtranspose_bn fuse_linear_bn fuse_modules fuse_modules_qat "
                           "fused_per_channel_wt_fake_quant_range_neg_127_to_127 "
                           "fused_wt_fake_quant_range_neg_127_to_127 FusedMovingAvgObsFakeQuantize get_block_size "
                           "get_default_compare_output_module_list get_default_custom_config_dict "
                           "get_default_dynamic_quant_module_mappings get_default_dynamic_sparse_quant_module_mappings "
                           "get_default_float_to_quantized_operator_mappings get_default_qat_module_mappings "
                           "get_default_qat_qconfig get_default_qat_qconfig_dict get_default_qat_qconfig_mapping "
                           "get_default_qconfig get_default_qconfig_dict get_default_qconfig_mapping "
                           "get_default_qconfig_propagation_list get_default_static_quant_module_mappings "
                           "get_default_static_quant_reference_module_mappings "
                           "get_default_static_sparse_quant_module_mappings get_dynamic_quant_module_class "
                           "get_embedding_qat_module_mappings get_embedding_static_quant_module_mappings "
                           "get_fuser_method get_fuser_method_new get_observer_state_dict get_quantized_operator "
                           "get_static_quant_module_class Granularity HistogramObserver load_observer_state_dict "
                           "MappingType MinMaxObserver MovingAverageMinMaxObserver "
                           "MovingAveragePerChannelMinMaxObserver no_observer_set NoopObserver ObserverBase "
                           "ObserverOrFakeQuantize per_channel_weight_observer_range_neg_127_to_127 PerAxis PerBlock "
                           "PerChannelMinMaxObserver PerGroup PerRow PerTensor PerToken PlaceholderObserver prepare "
                           "prepare_dynamic_jit prepare_jit prepare_qat propagate_qconfig_ QConfig qconfig_equals "
                           "QConfigAny QConfigDynamic QConfigMapping quantize quantize_dynamic quantize_dynamic_jit "
                           "quantize_jit quantize_qat QuantStub QuantType QuantWrapper RecordingObserver "
                           "ReuseInputObserver script_qconfig script_qconfig_dict swap_module TorchAODType "
                           "UniformQuantizationObserverBase weight_observer_range_neg_127_to_127 ZeroPointDomain",
        "ao.quantization.observer": "HistogramObserver MinMaxObserver MovingAverageMinMaxObserver MovingAveragePerChannelMinMaxObserver ObserverBase "
                                    "PerChannelMinMaxObserver PlaceholderObserver UniformQuantizationObserverBase",
        "ao.quantization.qconfig": "QConfig QConfigAny get_default_qconfig qconfig_equals",
        "ao.quantization.qconfig_mapping": "QConfigMapping",
        "ao.quantization.quantize": "_remove_qconfig",
        "ao.quantization.quantize_fx": "_convert_to_reference_decomposed_fx convert_fx fuse_fx prepare_fx prepare_qat_fx",
        "ao.quantization.stubs": "DeQuantStub QuantStub QuantWrapper",
        "ao.quantization.utils": "MatchAllNode _parent_name get_qparam_dict is_per_channel to_underlying_dtype weight_is_quantized",
        "nn.intrinsic": "BNReLU2d ConvBn2d ConvBnReLU2d ConvReLU2d LinearReLU",
        "nn.qat": "Conv1d Conv2d Conv3d Embedding Linear",
        "nn.quantized": "Conv1d Conv2d Conv3d Dropout Embedding EmbeddingBag FloatFunctional LSTM Linear Quantize DeQuantize "
                        "QFunctional",
        "nn.quantized.dynamic": "GRU LSTM Linear",
        "quantization": "add_quant_dequant convert default_dynamic_qconfig default_eval_fn default_fake_quant "
                        "default_fixed_qparams_range_0to1_fake_quant default_fixed_qparams_range_neg1to1_fake_quant "
                        "default_histogram_fake_quant default_observer default_per_channel_weight_fake_quant "
                        "default_per_channel_weight_observer default_placeholder_observer=class default_qat_qconfig "
                        "default_qconfig default_weight_fake_quant default_weight_observer DeQuantStub "
                        "float16_dynamic_qconfig float_qparams_weight_only_qconfig fuse_modules "
                        "get_default_compare_output_module_list get_default_dynamic_quant_module_mappings "
                        "get_default_qat_module_mappings get_default_qat_qconfig get_default_qconfig "
                        "get_default_qconfig_propagation_list get_default_static_quant_module_mappings get_fuser_method "
                        "get_quantized_operator get_static_quant_module_class HistogramObserver ObserverBase prepare "
                        "prepare_qat propagate_qconfig_ QConfig quantize quantize_dynamic quantize_dynamic_jit "
                        "quantize_jit quantize_qat QuantStub QuantType QuantWrapper swap_module",
        "quantization.quantize_fx": "convert_fx fuse_fx prepare_fx prepare_qat_fx",
        "": "choose_qparams_optimized dequantize empty_quantized fake_quantize_per_channel_affine "
            "fake_quantize_per_tensor_affine fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation "
            "fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight "
            "fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix fused_moving_avg_obs_fake_quant int_repr "
            "per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine "
            "per_tensor_symmetric q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale "
            "q_zero_point QInt32Storage QInt8Storage qscheme=class quantize_per_channel quantize_per_tensor "
            "quantize_per_tensor_dynamic quantized_batch_norm quantized_gru_cell quantized_lstm_cell "
            "quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell "
            "quantized_rnn_tanh_cell QUInt2x4Storage QUInt4x2Storage QUInt8Storage",
    },
    "CUDA and ROCm kernels": {
        "": "batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats "
            "batch_norm_gather_stats_with_counts batch_norm_stats cudnn_affine_grid_generator cudnn_batch_norm "
            "cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose "
            "cudnn_grid_sampler cudnn_is_acceptable miopen_batch_norm miopen_convolution miopen_convolution_add_relu "
            "miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution "
            "miopen_rnn",
        "cuda.graphs": "CUDAGraph graph graph_pool_handle is_current_stream_capturing make_graphed_callables",
        "cuda.jiterator": "",
        "cuda.sparse": "",
        "cuda.tunable": "enable get_filename get_max_tuning_duration get_max_tuning_iterations get_results get_validators is_enabled=False "
                        "read_file set_filename set_max_tuning_duration set_max_tuning_iterations tune_gemm_in_file tuning_enable tuning_is_enabled=False "
                        "write_file",
    },
    "Triton kernels": {
        "sparse._triton_ops": "broadcast_batch_dims launch_kernel prepare_inputs ptr_stride_extractor tile_to_blocksize",
        "sparse._triton_ops_meta": "get_meta minimize update",
    },
    "measuring with Valgrind": {
        "utils.benchmark": "CallgrindStats CopyIfCallgrind FunctionCount FunctionCounts",
    },
    "torch.package": {
        "package": "Directory EmptyMatchError GlobGroup Importer is_from_package=False ObjMismatchError "
                   "ObjNotFoundError OrderedImporter PackageExporter PackageImporter PackagingError",
    },
    "Lightning's strategies, tuners and profilers": {
        "lightning.profilers": "AdvancedProfiler Profiler PyTorchProfiler SimpleProfiler",
        "lightning.strategies": "DDPStrategy DeepSpeedStrategy FSDPStrategy ModelParallelStrategy SingleDeviceStrategy Strategy",
        "lightning.tuner": "Tuner",
        "lightning.plugins": "MixedPrecision",
    },
}  # fmt: skip

_HOLDS = {}  # module -> name -> (wing, value)
_WING_OF = {module: wing for wing, modules in WINGS.items() for module in modules}
for _wing, _modules in WINGS.items():
    for _module, _names in _modules.items():
        for _name, _, _value in (name.replace("()", "=()").partition("=") for name in _names.split()):
            _HOLDS.setdefault(_module, {})[_name] = (_wing, _value)
_VALUES = {"True": True, "False": False, "None": None}
_made = {}


def _error(what, wing):
    return NotImplementedError(f"torch.{what}: Cresset has no {wing} ({WHERE})")


class _Class(type):
    """Of classes of an absent wing: they can be named, derived from and tested against."""

    def __call__(cls, *args, **kwargs):
        raise _error(cls._absent, cls._wing)

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"torch.{cls._absent}.{name}: Cresset has no {cls._wing} ({WHERE})", name=name, obj=cls)


class _Plan:
    """Plan for an absent wing: holds its arguments, which compare and print."""

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs

    def __eq__(self, other):
        return type(self) is type(other) and (self.args, self.kwargs) == (other.args, other.kwargs)

    def __hash__(self):
        return hash((type(self), self.args, tuple(self.kwargs.items())))

    def __repr__(self):
        given = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"{type(self).__name__}({', '.join(given)})"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        text = f"torch.{self._absent}: Cresset has no {self._wing}, and so no {name!r} ({WHERE})"
        raise AttributeError(text, name=name, obj=self)


def _make(module, name, wing, value):
    where = f"{module}.{name}".lstrip(".")
    doc = f"torch.{where}, which is not there: Cresset has no {wing}."
    if name.endswith(("Error", "Exception")):
        return type(name, (RuntimeError,), {"__module__": f"cresset.{module}".rstrip("."), "__doc__": doc})
    if value == "()":
        return type(name, (_Plan,), {"__module__": f"cresset.{module}", "__doc__": doc, "_absent": where, "_wing": wing})
    if value == "class" or name.lstrip("_")[0].isupper():
        home = f"cresset.{module}".rstrip(".")
        return _Class(name, (), {"__module__": home, "__doc__": doc, "_absent": where, "_wing": wing})

    def function(*args, **kwargs):
        if value == "itself":
            return args[0]
        if value == "@":
            return lambda marked: marked
        if value:
            return _VALUES[value]
        raise _error(where, wing)

    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = f"cresset.{module}", doc
    function._absent = where
    return function


def found(module, name):
    """The stand-in for `name` of a module of Cresset: a module, class or function; None where the table has none."""
    inner = module.partition(".")[2]
    held = _HOLDS.get(inner, {}).get(name)
    if held is None:
        return importlib.import_module(f"{module}.{name}") if is_module(f"{inner}.{name}" if inner else name) else None
    if (inner, name) not in _made:
        _made[inner, name] = _make(inner, name, *held)
    return _made[inner, name]


class _Module(types.ModuleType):
    def __getattr__(self, name):
        from . import missing as _missing

        return _missing.found(self.__name__, name)

    def __setattr__(self, name, value):
        is_held = isinstance(value, types.ModuleType) and name in _HOLDS.get(self.__name__.partition(".")[2], ())
        if not is_held:  # a function keeps the name that it shares with a module, which importing that would bind
            super().__setattr__(name, value)

    def __dir__(self):
        return sorted({*super().__dir__(), *self.__all__})


def is_module(inner):
    """Whether the table has a module of this name, as in "onnx.utils"."""
    return inner in _WING_OF and inner != ""


def make_module(spec):
    """The module of an absent wing; its names are made when asked for."""
    inner = spec.name.partition(".")[2]
    doc = f"{spec.name}, which is not there: Cresset has no {_WING_OF[inner]}. Its names can be imported; calls raise NotImplementedError."
    module = _Module(spec.name, doc)
    module.__all__ = sorted(_HOLDS.get(inner, {}))
    return module


def table():
    """The wings that are not there and their modules, as text."""
    lines = ["Not in this build of Cresset. The modules can be imported, calls raise NotImplementedError:"]
    for wing, modules in WINGS.items():
        lines.append(f"  {wing}: {', '.join(f'torch.{module}' if module else 'torch' for module in modules)}")
    return "\n".join(lines) + "\n"
