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
# `name=value` is a function that gives the value; `name=itself` and `name=@` marks of functions, without and with arguments; `Name()` a
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
        "onnx.symbolic_opset9": "",
        "onnx.symbolic_opset11": "",
        "onnx.symbolic_opset12": "",
        "onnx.utils": "export",
    },
    "graph export": {
        "_export": "aot_compile aot_load",
    },
    "TorchScript": {
        "_C": "Argument Block CompilationUnit FunctionSchema Graph Node ScriptFunction ScriptMethod ScriptModule "
              "TensorType Type Value",
        "jit.mobile": "",
        "utils.bundled_inputs": "augment_model_with_bundled_inputs bundle_inputs",
        "utils.mobile_optimizer": "optimize_for_mobile",
    },
    "compiler": {
        "_dynamo": "replay",
        "_inductor": "compile standalone_compile",
        "_dynamo._trace_wrapped_higher_order_op": "TransformGetItemToIndex",
    },
    "CUDA profiler": {
        "cuda.profiler": "profile start stop",
        "cuda.nvtx": "mark range range_end range_pop range_push range_start",
    },
    "tensor parallelism": {
        "distributed.tensor": "DTensor Partial() Placement Replicate() Shard() distribute_module distribute_tensor empty full "
                              "ones rand randn zeros",
        "distributed.tensor._utils": "compute_local_shape_and_global_offset",
        "distributed.tensor.api": "DTensor",
        "distributed.tensor.experimental": "context_parallel implicit_replication local_map",
        "distributed.tensor.experimental._attention": "context_parallel_unshard set_rotate_method",
        "distributed.tensor.parallel": "ColwiseParallel() ParallelStyle PrepareModuleInput() PrepareModuleInputOutput() "
                                       "PrepareModuleOutput() RowwiseParallel() SequenceParallel() loss_parallel "
                                       "parallelize_module",
        "distributed.tensor.parallel.style": "ColwiseParallel() ParallelStyle PrepareModuleInput() PrepareModuleOutput() "
                                             "RowwiseParallel() SequenceParallel()",
        "distributed.tensor.placement_types": "DTensorSpec _StridedShard() Partial() Placement Replicate() Shard() TensorMeta",
        "distributed._tensor": "DTensor DeviceMesh Partial() Placement Replicate() Shard() distribute_module distribute_tensor "
                               "empty full ones rand randn zeros",
        "distributed._tensor.experimental": "implicit_replication local_map",
        "distributed._tensor.placement_types": "DTensorSpec Partial() Placement Replicate() Shard()",
    },
    "fully sharded parallelism": {
        "distributed.fsdp": "BackwardPrefetch CPUOffload CPUOffloadPolicy FSDPModule FullOptimStateDictConfig FullStateDictConfig "
                            "FullyShardedDataParallel LocalOptimStateDictConfig "
                            "LocalStateDictConfig MixedPrecision MixedPrecisionPolicy OffloadPolicy OptimStateDictConfig "
                            "OptimStateKeyType ShardedOptimStateDictConfig "
                            "ShardedStateDictConfig ShardingStrategy StateDictConfig StateDictSettings StateDictType "
                            "UnshardHandle fully_shard register_fsdp_forward_method",
        "distributed.fsdp.api": "BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig MixedPrecision "
                                "ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictType",
        "distributed.fsdp.fully_sharded_data_parallel": "BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig "
                                                        "FullyShardedDataParallel MixedPrecision "
                                                        "OptimStateKeyType ShardedOptimStateDictConfig ShardedStateDictConfig "
                                                        "ShardingStrategy StateDictType",
        "distributed.fsdp.sharded_grad_scaler": "ShardedGradScaler",
        "distributed.fsdp.wrap": "CustomPolicy ModuleWrapPolicy _or_policy always_wrap_policy enable_wrap lambda_auto_wrap_policy "
                                 "size_based_auto_wrap_policy transformer_auto_wrap_policy wrap",
        "distributed._composable": "checkpoint contract",
        "distributed._composable.fsdp": "CPUOffloadPolicy FSDPModule MixedPrecisionPolicy OffloadPolicy fully_shard",
        "distributed._shard": "",
        "distributed._shard.sharded_tensor": "ShardedTensor",
    },
    "distributed checkpoints": {
        "distributed.checkpoint": "BytesStorageMetadata CheckpointException ChunkStorageMetadata DefaultLoadPlanner "
                                  "DefaultSavePlanner FileSystemReader FileSystemWriter "
                                  "HuggingFaceStorageReader HuggingFaceStorageWriter LoadPlan LoadPlanner Metadata ReadItem "
                                  "SavePlan SavePlanner StorageReader StorageWriter "
                                  "TensorStorageMetadata WriteItem async_save load load_state_dict save save_state_dict",
        "distributed.checkpoint._consolidate_hf_safetensors": "consolidate_safetensors_files",
        "distributed.checkpoint.hf_storage": "HuggingFaceStorageReader HuggingFaceStorageWriter",
        "distributed.checkpoint.state_dict_loader": "_load_state_dict load",
        "distributed.checkpoint.default_planner": "DefaultLoadPlanner DefaultSavePlanner",
        "distributed.checkpoint.filesystem": "FileSystemReader FileSystemWriter",
        "distributed.checkpoint.format_utils": "_EmptyStateDictLoadPlanner _load_state_dict dcp_to_torch_save torch_save_to_dcp",
        "distributed.checkpoint.metadata": "Metadata",
        "distributed.checkpoint.optimizer": "load_sharded_optimizer_state_dict",
        "distributed.checkpoint.planner": "LoadPlanner SavePlanner",
        "distributed.checkpoint.state_dict": "StateDictOptions get_model_state_dict get_optimizer_state_dict get_state_dict "
                                             "set_model_state_dict set_optimizer_state_dict set_state_dict",
        "distributed.checkpoint.stateful": "Stateful",
        "distributed.checkpoint.storage": "StorageReader StorageWriter",
    },
    "pipeline parallelism": {
        "distributed.pipelining": "Pipe PipelineStage Schedule1F1B ScheduleGPipe ScheduleInterleaved1F1B "
                                  "ScheduleInterleavedZeroBubble ScheduleLoopedBFS ScheduleZBVZeroBubble SplitPoint "
                                  "build_stage pipe_split pipeline",
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
        "ao.nn.quantized": "Conv1d Conv2d Conv3d Dropout Embedding EmbeddingBag FloatFunctional LSTM Linear Quantize DeQuantize "
                           "QFunctional",
        "ao.nn.intrinsic": "BNReLU2d ConvBn2d ConvBnReLU2d ConvReLU2d LinearReLU",
        "ao.nn.qat": "Conv1d Conv2d Conv3d Embedding Linear",
        "ao.nn.quantized.dynamic": "GRU LSTM Linear",
        "ao.pruning": "BaseScheduler BaseSparsifier WeightNormSparsifier",
        "ao.quantization.fx": "",
        "ao.quantization.fx._decomposed": "",
        "ao.quantization": "DeQuantStub FakeQuantize FakeQuantizeBase HistogramObserver MinMaxObserver "
                           "MovingAverageMinMaxObserver ObserverBase PerChannelMinMaxObserver PlaceholderObserver "
                           "QConfig QConfigMapping QuantStub QuantType QuantWrapper convert disable_fake_quant disable_observer "
                           "enable_fake_quant enable_observer fuse_modules "
                           "fuse_modules_qat get_default_qat_qconfig get_default_qconfig get_default_qconfig_mapping prepare "
                           "prepare_qat quantize quantize_dynamic quantize_qat",
        "ao.quantization.observer": "HistogramObserver MinMaxObserver ObserverBase PerChannelMinMaxObserver",
        "ao.quantization.qconfig": "QConfig get_default_qconfig",
        "ao.quantization.quantize_fx": "convert_fx fuse_fx prepare_fx prepare_qat_fx",
        "ao.quantization.stubs": "DeQuantStub QuantStub QuantWrapper",
        "nn.intrinsic": "BNReLU2d ConvBn2d ConvBnReLU2d ConvReLU2d LinearReLU",
        "nn.qat": "Conv1d Conv2d Conv3d Embedding Linear",
        "nn.quantized": "Conv1d Conv2d Conv3d Dropout Embedding EmbeddingBag FloatFunctional LSTM Linear Quantize DeQuantize "
                        "QFunctional",
        "nn.quantized.dynamic": "GRU LSTM Linear",
        "quantization": "DeQuantStub HistogramObserver ObserverBase QConfig QuantStub QuantType QuantWrapper convert fuse_modules "
                        "get_default_qat_qconfig get_default_qconfig prepare prepare_qat "
                        "quantize quantize_dynamic quantize_qat",
        "quantization.quantize_fx": "convert_fx fuse_fx prepare_fx prepare_qat_fx",
    },
    "torch.package": {
        "package": "PackageExporter PackageImporter is_from_package=False",
    },
    "Lightning's strategies, tuners and profilers": {
        "lightning.profilers": "AdvancedProfiler Profiler PyTorchProfiler SimpleProfiler",
        "lightning.strategies": "DDPStrategy DeepSpeedStrategy FSDPStrategy ModelParallelStrategy SingleDeviceStrategy Strategy",
        "lightning.tuner": "Tuner",
        "lightning.plugins": "MixedPrecision",
    },
}  # fmt: skip

_HOLDS = {module: (wing, dict(name.replace("()", "=()").partition("=")[::2] for name in names.split()))
          for wing, modules in WINGS.items() for module, names in modules.items()}  # fmt: skip
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
    if name.lstrip("_")[0].isupper():
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
    if is_module(f"{inner}.{name}" if inner else name):
        return importlib.import_module(f"{module}.{name}")
    wing, names = _HOLDS.get(inner, ("", {}))
    if name not in names:
        return None
    if (inner, name) not in _made:
        _made[inner, name] = _make(inner, name, wing, names[name])
    return _made[inner, name]


class _Module(types.ModuleType):
    def __getattr__(self, name):
        from . import missing as _missing

        return _missing.found(self.__name__, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *self.__all__})


def is_module(inner):
    """Whether the table has a module of this name, as in "onnx.utils"."""
    return inner in _HOLDS and inner != ""


def make_module(spec):
    """The module of an absent wing; its names are made when asked for."""
    wing, names = _HOLDS[spec.name.partition(".")[2]]
    doc = f"{spec.name}, which is not there: Cresset has no {wing}. Its names can be imported; calls raise NotImplementedError."
    module = _Module(spec.name, doc)
    module.__all__ = sorted(names)
    return module


def table():
    """The wings that are not there and their modules, as text."""
    lines = ["Not in this build of Cresset. The modules can be imported, calls raise NotImplementedError:"]
    for wing, modules in WINGS.items():
        lines.append(f"  {wing}: {', '.join(f'torch.{module}' if module else 'torch' for module in modules)}")
    return "\n".join(lines) + "\n"
