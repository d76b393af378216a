"""Where the names live that PyTorch has under another module path: modules that hold such names alone, and names beside those of a file.

>>> from cresset.nn.modules.activation import MultiheadAttention
>>> MultiheadAttention is torch.nn.MultiheadAttention
True
"""

import importlib
import types

# PyTorch's module -> home in Cresset -> names; `name=ours` where it is called otherwise.
HOMES = {
    "_C": {"_core.archive": "PyTorchFileReader PyTorchFileWriter", "_core.tag": "Tag", "": "DisableTorchFunction DisableTorchFunctionSubclass StorageBase=UntypedStorage TensorBase=Tensor _TensorBase=Tensor", "nn": "_nn=functional"},
    "_C._distributed_c10d": {"distributed": "DistBackendError DistError DistNetworkError DistStoreError FileStore HashStore PrefixStore ProcessGroup ReduceOp Store TCPStore Work"},
    "": {"_C": "FutureType RRefType TupleType Type", "_core.archive": "PyTorchFileReader PyTorchFileWriter", "_core.functions": "_has_compatible_shallow_copy_type", "compiler": "_disable_dynamo=disable", "futures": "Future", "jit": "JITException=Error ScriptFunction ScriptModule", "": "StorageBase=UntypedStorage bit=uint1"},
    "_custom_ops": {"_library.piecewise": "custom_op impl impl_abstract impl_backward impl_save_for_backward _destroy _libraries"},
    "_functorch.batch_norm_replacement": {"func": "replace_all_batch_norm_modules_"},
    "_functorch.deprecated": {"functorch": "combine_state_for_ensemble functionalize grad grad_and_value hessian jacfwd jacrev jvp make_functional make_functional_with_buffers vjp vmap"},
    "_functorch.eager_transforms": {"func": "functionalize hessian jacfwd jacrev jvp linearize vjp"},
    "_functorch.einops": {"functorch.einops": "rearrange"},
    "_functorch.functional_call": {"func": "functional_call stack_module_state"},
    "_dynamo.utils": {"_subclasses.fake_tensor": "detect_fake_mode"},
    "_guards": {"_subclasses.fake_tensor": "active_fake_mode=active_mode detect_fake_mode"},
    "_inductor.decomposition": {"_decomp": "register_decomposition"},
    "_tensor": {"": "Tensor", "overrides": "handle_torch_function has_torch_function has_torch_function_unary has_torch_function_variadic", "_utils": "_rebuild_from_type_v2"},
    "_classes": {"_core.script_classes": "ScriptObject classes"},
    "_ops": {"_core.operators": "OpOverload OpOverloadPacket OperatorBase", "_core.dispatch_keys": "DispatchKey", "_higher_order_ops": "HigherOrderOperator", "": "ops"},
    "_library.custom_ops": {"library": "CustomOpDef OPDEFS=_of_functions _maybe_get_opdef=_definition_of custom_op"},
    "_library.fake_impl": {"_library.operators": "FakeImplCtx=FakeContext"},
    "_library.triton": {"library": "capture_triton=wrap_triton triton_op wrap_triton"},
    "_tensor_str": {"_tensor_str": "_str_intern=tensor_str"},
    "autograd.grad_mode": {"utils._contextlib": "_DecoratorContextManager _NoParamDecoratorContextManager"},
    "cuda.memory": {"cuda": "empty_cache max_memory_allocated max_memory_reserved mem_get_info memory_allocated memory_reserved memory_snapshot memory_stats memory_summary "
                            "reset_peak_memory_stats"},
    "cuda.random": {"cuda": "get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all set_rng_state set_rng_state_all"},
    "cuda.streams": {"cuda": "Event Stream"},
    "distributed": {"nn.parallel.distributed": "GradBucket"},
    "distributed.constants": {"distributed": "default_pg_timeout"},
    "distributed.utils": {},
    "distributed._tensor": {"distributed.tensor": "Partial Placement Replicate Shard"},
    "distributed._tensor.placement_types": {"distributed.tensor": "Partial Placement Replicate Shard"},
    "distributed._composable.fsdp": {"distributed.fsdp": "CPUOffloadPolicy MixedPrecisionPolicy OffloadPolicy"},
    "distributed.fsdp.fully_sharded_data_parallel": {
        "distributed.fsdp": "BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision OptimStateDictConfig "
                            "OptimStateKeyType ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictConfig StateDictSettings StateDictType"
    },
    "export": {"fx.passes.infra.pass_base": "PassResult", "export.pt2_archive._package": "DEFAULT_PICKLE_PROTOCOL"},
    "export._remove_effect_tokens_pass": {"export._tokens": "_remove_effect_tokens=without_tokens"},
    "export._unlift": {"export._module": "GuardsFn _unlift_exported_program_lifted_states=module_of"},
    "export.dynamic_shapes": {"export.exported_program": "ExportedProgram", "utils._pytree": "MappingKey SequenceKey TreeSpec keystr tree_iter tree_map tree_map_with_path tree_structure"},
    "export.exported_program": {"export.graph_signature": "ConstantArgument CustomObjArgument ExportGraphSignature InputKind InputSpec OutputKind OutputSpec SymBoolArgument SymFloatArgument SymIntArgument TensorArgument TokenArgument", "_subclasses.fake_tensor": "FakeTensorMode unset_fake_temporarily", "fx.passes.infra.pass_manager": "PassManager", "fx.passes.infra.pass_base": "PassResult", "fx._compatibility": "compatibility", "_guards": "detect_fake_mode", "fx._utils": "first_call_function_nn_module_stack", "fx.immutable_collections": "immutable_dict immutable_list", "fx.passes.runtime_assert": "insert_deferred_runtime_asserts"},
    "export.graph_signature": {"_subclasses.fake_tensor": "is_fake"},
    "export.passes": {"export.exported_program": "ExportedProgram"},
    "export.pt2_archive._package": {"export.pt2_archive.constants": "AOTINDUCTOR_DIR ARCHIVE_FORMAT_PATH ARCHIVE_FORMAT_VALUE ARCHIVE_VERSION_PATH ARCHIVE_VERSION_VALUE CONSTANTS_CONFIG_FILENAME_FORMAT CONSTANTS_DIR CUSTOM_OBJ_FILENAME_PREFIX EXECUTORCH_DIR EXTRA_DIR MODELS_DIR MODELS_FILENAME_FORMAT OPAQUE_OBJ_FILENAME_PREFIX SAMPLE_INPUTS_FILENAME_FORMAT TENSOR_CONSTANT_FILENAME_PREFIX WEIGHTS_CONFIG_FILENAME_FORMAT WEIGHTS_DIR WEIGHT_FILENAME_PREFIX"},
    "export.unflatten": {"export.graph_signature": "ConstantArgument ExportGraphSignature SymBoolArgument SymFloatArgument SymIntArgument TensorArgument", "export.exported_program": "ExportedProgram ModuleCallSignature", "utils._pytree": "GetAttrKey SequenceKey", "fx._symbolic_trace": "is_fx_symbolic_tracing"},
    "functional": {"": "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul einsum istft lu meshgrid norm pca_lowrank split "
                       "stft svd_lowrank tensordot unique unique_consecutive unravel_index"},
    "functorch": {"fx.experimental.proxy_tensor": "make_fx"},
    "fx": {"fx.subgraph_rewriter": "replace_pattern"},
    "fx._symbolic_trace": {"_core.script_classes": "ScriptObject", "fx.proxy": "Proxy", "fx.node": "map_aggregate"},
    "fx.experimental.accelerator_partitioner": {"fx.experimental.partitioner_utils": "Device NodeLatency PartitionerConfig", "fx.node": "Node map_arg", "fx.passes.graph_manipulation": "get_size_of_all_nodes"},
    "fx.experimental.const_fold": {"fx.node": "map_arg", "fx.passes.split_module": "split_module"},
    "fx.experimental.graph_gradual_typechecker": {"nn.modules.batchnorm": "BatchNorm2d", "nn.modules.conv": "Conv2d", "fx.experimental.refinement_types": "Equality", "fx.experimental.unification.variable": "Var"},
    "fx.experimental.meta_tracer": {"fx.node": "Node"},
    "fx.experimental.normalize": {"fx.node": "Node", "fx.proxy": "Proxy"},
    "fx.experimental.optimization": {"fx.passes.shape_prop": "ShapeProp"},
    "fx.experimental.partitioner_utils": {"fx.node": "map_arg"},
    "fx.experimental.rewriter": {"fx.graph": "Graph"},
    "fx.experimental.schema_type_annotation": {"fx.graph_module": "GraphModule", "fx.proxy": "Proxy"},
    "fx.experimental.sym_node": {"": "sym_float sym_ite sym_max sym_min sym_not"},
    "fx.experimental.unification.more": {"fx.experimental.unification.core": "reify"},
    "fx.experimental.unify_refinements": {"fx.experimental.refinement_types": "Equality"},
    "fx.experimental.validator": {"_dynamo.exc": "TorchDynamoException"},
    "fx.graph": {"fx.node": "_get_qualified_name _type_repr", "fx.tensor_type": "TensorType", "fx.immutable_collections": "immutable_dict"},
    "fx.graph_module": {"fx.graph": "PythonCode"},
    "fx.immutable_collections": {"fx._compatibility": "compatibility", "utils._pytree": "register_pytree_node"},
    "fx.interpreter": {"fx.graph_module": "GraphModule", "fx.node": "Node"},
    "fx.node": {"fx.operator_schemas": "ArgsKwargsPair normalize_function normalize_module"},
    "fx.operator_schemas": {"_ops": "OpOverload OpOverloadPacket"},
    "fx.passes.dialect.common.cse_pass": {"utils._pytree": "tree_flatten"},
    "fx.passes.fake_tensor_prop": {"_subclasses.fake_tensor": "FakeTensor FakeTensorMode", "fx.node": "Node", "fx.experimental.proxy_tensor": "snapshot_fake"},
    "fx.passes.graph_drawer": {"fx.passes.shape_prop": "TensorMetadata", "fx.operator_schemas": "normalize_function"},
    "fx.passes.graph_manipulation": {"fx.graph": "Graph", "fx.graph_module": "GraphModule", "fx.node": "Node map_arg", "fx.passes.shape_prop": "TensorMetadata"},
    "fx.passes.graph_transform_observer": {"fx.passes.graph_drawer": "FxGraphDrawer", "fx.graph": "Graph", "fx.graph_module": "GraphModule", "fx.node": "Node", "fx.traceback": "NodeSource NodeSourceAction"},
    "fx.passes.infra.partitioner": {"fx.graph_module": "GraphModule", "fx.passes.operator_support": "OperatorSupportBase"},
    "fx.passes.infra.pass_base": {"fx.graph_module": "GraphModule"},
    "fx.passes.net_min_base": {"fx.node": "map_arg"},
    "fx.passes.operator_support": {"fx.passes.shape_prop": "TensorMetadata"},
    "fx.passes.reinplace": {"_subclasses.fake_tensor": "FakeTensor FakeTensorMode", "utils._pytree": "tree_map_only"},
    "fx.passes.runtime_assert": {"fx.experimental.sym_node": "SymNode", "fx._utils": "lazy_format_graph_code"},
    "fx.passes.shape_prop": {"fx.node": "Node", "_guards": "detect_fake_mode"},
    "fx.passes.split_module": {"fx.node": "Node", "fx._utils": "lazy_format_graph_code"},
    "fx.passes.splitter_base": {"fx.passes.graph_drawer": "FxGraphDrawer", "fx.passes.shape_prop": "ShapeProp", "fx.passes.graph_manipulation": "get_size_of_node", "fx.node": "map_arg"},
    "fx.passes.utils": {"fx.passes.utils.common": "HolderModule compare_graphs lift_subgraph_as_module"},
    "fx.passes.utils.common": {"fx.graph": "Graph", "nn.modules.module": "Module"},
    "fx.passes.utils.fuser_utils": {"fx.passes.tools_common": "legalize_graph", "fx.graph_module": "GraphModule", "fx.node": "Node"},
    "fx.passes.utils.matcher_utils": {"fx.graph": "Graph"},
    "fx.passes.utils.matcher_with_name_node_map_utils": {"fx.graph": "Graph"},
    "fx.passes.utils.source_matcher_utils": {"fx.graph": "Graph", "fx.node": "Node"},
    "fx.proxy": {"fx.operator_schemas": "check_for_mutable_operation", "utils._pytree": "tree_map_"},
    "fx.tensor_type": {"fx.experimental.unification.variable": "Var"},
    "fx.traceback": {"fx.graph": "Graph", "fx.graph_module": "GraphModule"},
    "jit": {"jit": "_script_if_tracing=script_if_tracing", "jit._api": "_overload _overload_method"},
    "jit._script": {"jit": "RecursiveScriptModule ScriptFunction ScriptModule script"},
    "jit._passes": {},
    "jit._passes._property_propagation": {"jit._ir": "apply_input_props_using_example"},
    "jit._recursive": {"jit._builder": "concrete_type_store create_script_module infer_methods_to_compile"},
    "jit.frontend": {"jit._api": "NotSupportedError UnsupportedNodeError=NotSupportedError"},
    "_jit_internal": {"jit": "Final Future _copy_to_script_wrapper=export export ignore is_scripting unused", "jit._api": "_overload _overload_method"},
    "lightning": {"lightning.fabric": "Fabric"},
    "lightning.utilities.rank_zero": {"lightning.utilities": "rank_zero_debug rank_zero_deprecation rank_zero_info rank_zero_only rank_zero_warn"},
    "nn.functional": {"nn": "grad", "nn.modules.module": "_parse_to=_destination"},
    "nn.init": {"nn.init": "_no_grad_fill_=constant_ _no_grad_normal_=normal_ _no_grad_trunc_normal_=trunc_normal_ _no_grad_uniform_=uniform_ _no_grad_zero_=zeros_"},
    "nn.modules.activation": {"nn.modules.attention": "MultiheadAttention"},
    "nn.modules.linear": {"nn.modules.linear": "NonDynamicallyQuantizableLinear=Linear"},
    "nn.modules.linear_cross_entropy_options": {"nn.modules.loss": "LinearCrossEntropyOptions"},
    "nn.parameter": {"nn.parameter": "_BufferMeta=_Marked _ParameterMeta=_Marked"},
    "nn.modules.module": {"nn.modules.module": "_addindent=_indented"},
    "nn.modules.transformer": {"nn.modules.transformer": "_get_activation_fn=_activation _get_clones=_clones"},
    "nn.parallel.data_parallel": {"nn.parallel": "DataParallel data_parallel"},
    "nn.parallel.parallel_apply": {"nn.parallel": "parallel_apply"},
    "nn.parallel.scatter_gather": {"nn.parallel": "gather scatter"},
    "utils": {"utils.model_summary": "summary", "utils.throughput_benchmark": "ThroughputBenchmark"},
    "utils.benchmark.utils": {},
    "utils.benchmark.utils.common": {"utils.benchmark": "Measurement TaskSpec ordered_unique select_unit set_torch_threads trim_sigfig unit_to_english"},
    "utils.benchmark.utils.compare": {"utils.benchmark": "Colorize Compare"},
    "utils.benchmark.utils.fuzzer": {"utils.benchmark": "FuzzedParameter FuzzedTensor Fuzzer ParameterAlias"},
    "utils.benchmark.utils.timer": {"utils.benchmark": "Language Timer timer"},
    "utils.cpp_backtrace": {"utils": "get_cpp_backtrace"},
    "utils.data.datapipes.iter.callable": {"utils.data.datapipes.iter": "CollatorIterDataPipe MapperIterDataPipe"},
    "utils.data.datapipes.iter.combinatorics": {"utils.data.datapipes.iter": "SamplerIterDataPipe ShufflerIterDataPipe"},
    "utils.data.datapipes.iter.combining": {"utils.data.datapipes.iter": "ConcaterIterDataPipe DemultiplexerIterDataPipe ForkerIterDataPipe MultiplexerIterDataPipe ZipperIterDataPipe"},
    "utils.data.datapipes.iter.filelister": {"utils.data.datapipes.iter": "FileListerIterDataPipe"},
    "utils.data.datapipes.iter.fileopener": {"utils.data.datapipes.iter": "FileOpenerIterDataPipe"},
    "utils.data.datapipes.iter.grouping": {"utils.data.datapipes.iter": "BatcherIterDataPipe GrouperIterDataPipe UnBatcherIterDataPipe"},
    "utils.data.datapipes.iter.selecting": {"utils.data.datapipes.iter": "FilterIterDataPipe"},
    "utils.data.datapipes.iter.streamreader": {"utils.data.datapipes.iter": "StreamReaderIterDataPipe"},
    "utils.data.datapipes.iter.utils": {"utils.data.datapipes.iter": "IterableWrapperIterDataPipe"},
    "utils.data.datapipes.map.callable": {"utils.data.datapipes.map": "MapperMapDataPipe"},
    "utils.data.datapipes.map.combinatorics": {"utils.data.datapipes.map": "ShufflerIterDataPipe"},
    "utils.data.datapipes.map.combining": {"utils.data.datapipes.map": "ConcaterMapDataPipe ZipperMapDataPipe"},
    "utils.data.datapipes.map.grouping": {"utils.data.datapipes.map": "BatcherMapDataPipe"},
    "utils.data.datapipes.map.utils": {"utils.data.datapipes.map": "SequenceWrapperMapDataPipe"},
    "utils.data.dataloader": {"utils.data": "get_worker_info"},
    "_export.verifier": {"export.exported_program": "TrainingIRVerifier Verifier load_verifier"},
    "_functorch.make_functional": {"functorch": "FunctionalModule FunctionalModuleWithBuffers combine_state_for_ensemble make_functional make_functional_with_buffers"},
    "_functorch.python_key": {"fx.experimental.proxy_tensor": "PythonKeyTracer dispatch_trace make_fx"},
    "_functorch.pytree_hacks": {"utils._pytree": "tree_map_ treespec_pprint"},
}  # fmt: skip

_PLACES = {module: {name.partition("=")[0]: (home, name.partition("=")[2] or name) for home, names in homes.items() for name in names.split()}
           for module, homes in HOMES.items()}  # fmt: skip


def is_module(inner):
    """Whether PyTorch has a module of this name, as in "nn.modules.activation", that Cresset has not as a file."""
    return inner in _PLACES


def found(module, name):
    """PyTorch's object `name` in a module of Cresset, from its home; None where the table has none."""
    inner = module.partition(".")[2]
    if (f"{inner}.{name}" if inner else name) in _PLACES:
        return importlib.import_module(f"{module}.{name}")
    if name not in _PLACES.get(inner, ()):
        return None
    home, ours = _PLACES[inner][name]
    return getattr(importlib.import_module(f"cresset.{home}" if home else "cresset"), ours)


class _Module(types.ModuleType):
    def __getattr__(self, name):
        from . import missing as _missing

        return _missing.found(self.__name__, name)


def make_module(spec):
    """A module of names that live elsewhere."""
    module = _Module(spec.name, f"{spec.name}: names that live elsewhere in Cresset.")
    module.__all__ = [name for name in _PLACES[spec.name.partition(".")[2]] if not name.startswith("_")]
    return module
