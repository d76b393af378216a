"""Programs without writes, their operators replaced by those of a table: the graph runs again on fake tensors, functionalized, below autograd."""

import functools
import operator

import _cresset

import cresset as torch

from .._core.operators import OpOverload
from ..fx.experimental.proxy_tensor import get_proxy_mode, handle_sym_dispatch, make_fx
from ..fx.experimental.symbolic_shapes import statically_known_true, sym_eq
from .._functorch._writes import without_writes
from .._functorch.predispatch import levels_kept
from .._subclasses.fake_tensor import maybe_get_fake_mode
from ..fx.traceback import preserve_node_meta
from ..utils._pytree import tree_leaves, tree_map_only
from ._bodies import bodies
from ._shapes import constraints_of
from ._tokens import put_in, without_tokens
from .exported_program import ExportedProgram, Verifier, default_decompositions, renamed_calls
from .graph_signature import ConstantArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument

_aten = torch.ops.aten
_COPY = _aten.copy_.default


def decomposed(program, table):
    """The functional program. `table`: operator -> function; None for the core operators."""
    program = without_tokens(program)
    core = default_decompositions()
    whole = set() if table is None else {n.target for n in program.graph.nodes if n.target in core and n.target not in table and _stays_whole(n.target)}
    own = {op: function for op, function in (table or {}).items() if function is not core.get(op) and _is_composite(op)}
    root, graph, named = _traced(program, dict(core if table is None else table), own, whole)
    placeholders = graph.find_nodes(op="placeholder")
    inputs = []
    for node, old, spec in zip(placeholders, program.graph.find_nodes(op="placeholder"), program.graph_signature.input_specs, strict=True):
        node.target = old.target
        node.name = old.name
        node.meta["val"] = old.meta["val"]
        inputs.append(InputSpec(spec.kind, _renamed(spec.arg, node.name), spec.target, spec.persistent))
    _name_operands(root, graph)
    _batch_norms(graph)
    _out_of_place(graph)
    _numbers_as_operands(graph, {n.target for n in program.graph.nodes})
    outputs = _outputs(root, placeholders, program.graph_signature)
    tokens_in, tokens_out = put_in(graph, outputs, named)
    _tidy(graph)
    return ExportedProgram(
        torch.fx.GraphModule(root, graph), graph, ExportGraphSignature([*tokens_in, *inputs], [*tokens_out, *outputs]), program.state_dict, _constraints(program, graph),
        renamed_calls(program.module_call_graph, named), program.example_inputs, program.constants, verifiers=[Verifier], guards=program._guards,
    )  # fmt: skip


# These give back their argument, or write statistics, in some modes.
_TAKEN_APART = frozenset(
    "dropout alpha_dropout feature_dropout feature_alpha_dropout batch_norm native_batch_norm atleast_1d atleast_2d atleast_3d unsafe_chunk".split()
)


def _stays_whole(target):
    """Whether an operator that the table leaves out is a node of its own: it writes nothing, and its result shares no memory."""
    return target._opname not in _TAKEN_APART and all(a.alias_info is None for a in target._schema.arguments)


def _is_composite(op):
    """Whether what is heard of an operator is what its body calls."""
    return hasattr(op, "has_kernel_for_dispatch_key") and op.has_kernel_for_dispatch_key("CompositeImplicitAutograd")


class _Functional(torch.fx.Interpreter):
    """Runs the graph on wrappers whose values are exchanged where they would be written. Operators that write statistics without saying so in their schema
    do it by `copy_`; tensors made from nothing are made outside of it."""

    def __init__(self, program, own, whole, named):
        super().__init__(program.graph_module, graph=program.graph)
        self.own, self.whole, self.named = own, whole, named
        signatures = [e.signature for e in program.module_call_graph if e.signature is not None]
        self.asked = {a.name for s in signatures for a in (*s.inputs, *s.outputs)}  # names that signatures of modules have
        self.writes = any(isinstance(n.target, OpOverload) and n.target._schema.is_mutable for n in program.graph.nodes)

    def flat(self, arguments):
        """The results; arguments that were written are written once, at the end."""
        self._scope = _cresset.enter_functional(False)
        try:
            wrappers = [_cresset.to_functional(a) if isinstance(a, torch.Tensor) else a for a in arguments]
            given = {id(w): a for w, a in zip(wrappers, arguments, strict=True) if isinstance(a, torch.Tensor)}
            results = self.run(*wrappers)
        finally:
            _cresset.exit_functional(self._scope)
        results = tree_map_only(torch.Tensor, lambda t: given[id(t)] if id(t) in given else _cresset.from_functional(t), results)
        for wrapper, argument in zip(wrappers, arguments, strict=True):
            if isinstance(argument, torch.Tensor) and _cresset.is_changed(wrapper):
                argument.copy_(_cresset.from_functional(wrapper))
        return results

    def run_node(self, n):
        value = super().run_node(n)
        if n.op == "call_function" and n.name in self.asked and isinstance(value, torch.Tensor):
            slot = get_proxy_mode().tracer.slot_of(_cresset.from_functional(value))
            if slot is not None:
                self.named[n.name] = slot.node
        return value

    def call_function(self, target, args, kwargs):
        if target in self.own:
            return self.own[target](*args, **kwargs)
        if any(isinstance(v, torch.Tensor) and v._is_batched for v in tree_leaves((args, kwargs))):  # a wrapper around those of this run
            return super().call_function(target, args, kwargs)
        if target is _aten._assert_scalar.default and isinstance(args[0], torch.SymBool):
            torch._check(args[0])
            return handle_sym_dispatch(target, args, kwargs)
        if target in self.whole or target in (_aten.copy.default, _aten._assert_tensor_metadata.default, _aten._pack_padded_sequence.default):
            return self._whole(target, args, kwargs)
        if (found := self._without_writes(target, args, kwargs)) is not None:
            return found[0]
        if target is _aten.detach.default:  # the program has no gradients
            target = _aten.alias.default
            if not self.writes:
                return self._outside(target, (_cresset.from_functional(args[0]),), kwargs)
        if target in _like() or target in (_aten.item.default, _aten._local_scalar_dense.default):
            return self._outside(target, (_cresset.from_functional(args[0]), *args[1:]), kwargs)
        if isinstance(target, OpOverload) and not any(isinstance(v, torch.Tensor) for v in tree_leaves((args, kwargs))) and target._schema.returns:
            return self._outside(target, args, kwargs)
        if any(isinstance(v, torch.fx.GraphModule) for v in tree_leaves((args, kwargs))):
            return self._outside(target, *tree_map_only(torch.Tensor, _cresset.from_functional, (args, kwargs)))
        body = bodies().get(target)
        if body is not None and (found := body(*args, **kwargs)) is not None:
            return found
        return super().call_function(target, args, kwargs)

    def _without_writes(self, target, args, kwargs):
        """The result of an operator that writes, or draws, by the one that returns what would be written: in a tuple; None for other operators."""
        if target is _aten.dropout.default and args[2] and args[1]:
            return (self._whole(_aten.native_dropout.default, args, kwargs)[0],)
        if target in (_aten.batch_norm.default, _aten.native_batch_norm.default, _aten._native_batch_norm_legit.default) and args[5] and args[3] is not None:
            results = self._batch_norm(*args[:8])
            return (results[0] if target is _aten.batch_norm.default else results,)
        if target is _aten._batch_norm_with_update.default:
            return (self._written(_aten._batch_norm_with_update_functional.default, args, args[3:5]),)
        if target is _aten.embedding_renorm_.default:
            self._written(_aten.embedding_renorm.default, args, args[:1])
            return (args[0],)
        if target is _aten.rrelu.default and len(args) > 3 and args[3]:
            facts = {"dtype": args[0].dtype, "layout": torch.strided, "device": args[0].device, "pin_memory": False, "memory_format": torch.contiguous_format}
            noise = self._outside(_aten.empty.memory_format, (list(args[0].shape),), facts)
            return (self._whole(_aten.rrelu_with_noise_functional.default, (args[0], noise, *args[1:]), kwargs)[0],)
        if target in (_aten.rrelu_with_noise.default, _aten.rrelu_with_noise_.default):
            (result,) = self._written(_aten.rrelu_with_noise_functional.default, args, args[1:2])
            return (result if target is _aten.rrelu_with_noise.default else self._assigned(args[0], result),)
        if target in _written_forms():
            found = self._whole(_written_forms()[target], args, kwargs)
            for tensor, value in zip(tree_leaves(args[: len(found)]), tree_leaves(found), strict=True):
                _cresset.set_functional(tensor, _cresset.from_functional(value))
            return (args[0] if target._schema.returns else None,)
        if target is _aten.instance_norm.default:
            return (self._instance_norm(*args),)
        return None

    def _outside(self, target, args, kwargs):
        _cresset.exit_functional(self._scope)
        try:
            made = target(*args, **kwargs)
        finally:  # the run ends the scope that there is
            self._scope = _cresset.enter_functional(False)
        return tree_map_only(torch.Tensor, _cresset.to_functional, made)

    def _whole(self, target, args, kwargs):
        """The call as one node."""
        args, kwargs = tree_map_only(torch.Tensor, _cresset.from_functional, (args, kwargs))
        return self._outside(lambda *a, **k: handle_sym_dispatch(target, a, k), args, kwargs)

    def _written(self, functional, args, written):
        """The results of a call as one node of the form without writes, whose last results are what `written` becomes."""
        found = self._whole(functional, args, {})
        found = found if isinstance(found, tuple) else (found,)
        results, values = found[: len(found) - len(written)], found[len(found) - len(written) :]
        for tensor, value in zip(written, values, strict=True):
            _cresset.set_functional(tensor, _cresset.from_functional(value))
        return results

    @staticmethod
    def _assigned(tensor, value):
        """The tensor, which has another value from now on."""
        _cresset.set_functional(tensor, _cresset.from_functional(value))
        return tensor

    def _batch_norm(self, *args):
        return self._written(_aten._native_batch_norm_legit_functional.default, args, args[3:5])

    def _instance_norm(self, x, weight, bias, mean, var, training, momentum, eps, *_):
        """Normalization of each sample by itself: by batches of one, whose channels are those of all samples. Statistics become the means of theirs."""
        batch, channels = x.shape[:2]
        weight, bias, means, variances = (None if t is None else t.repeat(batch) for t in (weight, bias, mean, var))
        rows = x.contiguous().view(1, batch * channels, *x.shape[2:])
        normal = self.call_function(_aten.batch_norm.default, (rows, weight, bias, means, variances, training, momentum, eps, False), {})
        for statistic, new in ((mean, means), (var, variances)) if training and mean is not None else ():
            old = self._whole(_aten.alias.default, (statistic,), {})
            written = self._whole(_aten.copy.default, (old, new.view(batch, channels).mean(0)), {})
            self._written(_aten.alias.default, (written,), (statistic,))
            self._whole(_aten.alias.default, (written,), {})  # which nothing uses, and PyTorch's names count
        return normal.view(x.shape)


@functools.cache
def _written_forms():
    """Operators that write lists and several tensors -> those that return them."""
    names = "_fused_adam _fused_adamw _fused_sgd _fused_adagrad _amp_foreach_non_finite_check_and_unscale _amp_update_scale".split()
    return {getattr(_aten, f"{name}_").default: getattr(_aten, name).default for name in names}


@functools.cache
def _like():
    return {getattr(_aten, name).default for name in "ones_like zeros_like full_like empty_like new_zeros new_ones new_full new_empty".split()}


def _numbers_as_operands(graph, own):
    """Bodies of rows call the forms of numbers, decompositions of PyTorch those of tensors, but for sums (the epsilon of rms_norm); forms that
    the program has itself stay."""
    forms = {packet.Scalar: packet.Tensor for packet in (_aten.sub, _aten.mul) if packet.Scalar not in own}
    for node in graph.nodes:
        if node.op == "call_function" and node.target in forms:
            node.target = forms[node.target]


def _renamed(arg, name):
    return arg if isinstance(arg, ConstantArgument) else type(arg)(name)


def _constraints(program, graph):
    """The ranges of the program's symbols, and of those that stand for numbers of data where the graph ran again."""
    found = dict(program.range_constraints)
    mode = next((maybe_get_fake_mode(v) for v in (n.meta["val"] for n in graph.find_nodes(op="placeholder")) if isinstance(v, torch.Tensor)), None)
    if mode is not None and mode.shape_env is not None:
        return constraints_of(mode.shape_env, graph) | found
    return found


def _traced(program, table, own, whole):
    values = [n.meta["val"] for n in program.graph.find_nodes(op="placeholder")]
    inputs = [v for v in values if isinstance(v, (torch.Tensor, torch.SymInt))]
    mode = next((torch._subclasses.fake_tensor.maybe_get_fake_mode(v) for v in inputs if isinstance(v, torch.Tensor)), None)

    named = {}

    def run(*given):
        given = iter(given)
        arguments = [next(given) if isinstance(v, (torch.Tensor, torch.SymInt)) else v for v in values]
        return _Functional(program, own, whole, named).flat(arguments)

    detached = [v.detach() if isinstance(v, torch.Tensor) else v for v in inputs]
    with levels_kept(), torch.no_grad(), preserve_node_meta(), mode if mode is not None else torch.no_grad():
        made = make_fx(run, decomposition_table=table, _error_on_data_dependent_ops=False)(*detached)
    graph = made.graph
    input_nodes = iter(graph.find_nodes(op="placeholder"))
    first = next((n for n in graph.nodes if n.op != "placeholder"), None)
    # Constants are placeholders, too, in their places.
    last = None
    for value in values:
        if isinstance(value, (torch.Tensor, torch.SymInt)):
            last = next(input_nodes)
            continue
        with graph.inserting_after(last) if last is not None else graph.inserting_before(next(iter(graph.nodes), first)):
            last = graph.create_node("placeholder", f"constant_{len(graph.nodes)}")
    return made, graph, named


def _outputs(module, placeholders, signature):
    """Writes to inputs become outputs, in front of the results; those to what bodies of operators have made become values."""
    graph = module.graph
    output = graph.output_node()
    written = {}
    for node in list(graph.nodes):
        if node.target is _COPY and node.args[0] in placeholders:
            written[node.args[0]] = node.args[1]
            node.replace_all_uses_with(node.args[1])
            graph.erase_node(node)
    plain, user = _user_outputs(output, placeholders, signature, written)
    kinds = {
        InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
        InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
        InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
    }
    results, specs = [], []
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        if node in written:
            value = written[node]
            if spec.kind is InputKind.BUFFER and _is_plain_copy(value, node):
                written[node] = value.args[1]
                value.replace_all_uses_with(value.args[1])
                graph.erase_node(value)
            results.append(written[node])
            specs.append((kinds[spec.kind], spec.target if spec.kind is not InputKind.USER_INPUT else node.name))
    output.args = (tuple(results + plain),)
    without_writes(module)
    results, plain = output.args[0][: len(results)], output.args[0][len(results) :]
    made = [OutputSpec(kind, TensorArgument(node.name), target) for node, (kind, target) in zip(results, specs, strict=True)]
    for value, spec in zip(plain, user, strict=True):
        made.append(OutputSpec(spec.kind, _renamed(spec.arg, value.name) if isinstance(value, torch.fx.Node) else spec.arg, spec.target))
    return made


def _is_plain_copy(value, target):
    """Whether `value` is what a copy over all of `target` gives, and what was copied is of its shape and dtype."""
    if value.target is not _aten.copy.default or value.args[0] is not target:
        return False
    source, old = value.args[1].meta["val"], target.meta["val"]
    return source.dtype == old.dtype and statically_known_true(sym_eq(tuple(source.shape), tuple(old.shape)))


def _user_outputs(output, placeholders, signature, written):
    """The results that are no writes, and their specs. Writes that an earlier run has made results go to `written`."""
    values = output.args[0]
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    targets = {spec.target or node.name: node for node, spec in zip(placeholders, signature.input_specs, strict=True)}
    plain, user = [], []
    for value, spec in zip(values, signature.output_specs, strict=True):
        if spec.kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT):
            plain.append(value)
            user.append(spec)
        else:
            written.setdefault(targets[spec.target], value)
    return plain, user


def _name_operands(root, graph):
    """Inputs of the functions of `cond` and `map` have the names of the operands."""
    for node in graph.find_nodes(op="call_function"):
        if getattr(node.target, "namespace", None) == "higher_order" and node.target.name() in ("cond", "map_impl"):
            operands = [v for group in node.args for v in (group if isinstance(group, (list, tuple)) else ())]
            for function in (getattr(root, n.target) for n in node.args if isinstance(n, torch.fx.Node) and n.op == "get_attr"):
                for inner, operand in zip(function.graph.find_nodes(op="placeholder"), operands, strict=True):
                    inner.target = inner.name = operand.name
                function.recompile()


def _out_of_place(graph):
    """A write to a fresh copy, which nothing else reads, is the operator without the write."""
    for node in list(graph.nodes):
        copy = node.args[0] if node.op == "call_function" and node.args else None
        if not isinstance(copy, torch.fx.Node) or copy.target is not _aten.clone.default or len(copy.users) != 1 or copy.kwargs:
            continue
        found = _functional(node.target)
        if found is not None:
            node.target, node.args = found, (copy.args[0], *node.args[1:])
            node._rename(found._opname)
            graph.erase_node(copy)


@functools.cache
def _functional(target):
    """The overload without the write of one that writes its first argument; None where there is none."""
    name, overload = getattr(target, "_opname", ""), getattr(target, "_overloadname", "")
    if not name.endswith("_") or name.endswith("__") or not hasattr(_aten, name[:-1]):
        return None
    return getattr(getattr(_aten, name[:-1]), overload, None)


def _batch_norms(graph):
    """Normalization by batches under the names of its parts: with statistics given, made new, or neither."""
    for node in [n for n in graph.nodes if n.target is _aten.native_batch_norm.default]:
        x, weight, bias, mean, var, training, momentum, eps = node.args
        if not training:
            node.target, node.args = _aten._native_batch_norm_legit_no_training.default, (x, weight, bias, mean, var, momentum, eps)
        elif mean is None:
            node.target, node.args = _aten._native_batch_norm_legit.no_stats, (x, weight, bias, True, momentum, eps)
        elif mean.target is _aten.clone.default and var.target is _aten.clone.default:
            node.target, node.args = _aten._native_batch_norm_legit_functional.default, (x, weight, bias, mean.args[0], var.args[0], True, momentum, eps)
            node.meta["val"] = (*node.meta["val"], mean.meta["val"], var.meta["val"])
            last = max(node.users, key=list(graph.nodes).index)
            for i, old in ((3, mean), (4, var)):
                with graph.inserting_after(last):
                    new = last = graph.create_node("call_function", operator.getitem, (node, i), name="getitem")
                new.meta["val"] = old.meta["val"]
                old.replace_all_uses_with(new)
                graph.erase_node(old)
        node._rename(node.target._opname)


def _tidy(graph):
    """Drops copies of constants and nodes without users."""
    for node in list(graph.nodes):
        if node.op == "call_function" and str(node.target) in ("aten.detach.default", "aten.lift_fresh_copy.default"):
            node.replace_all_uses_with(node.args[0])
    graph.eliminate_dead_code()
    graph.lint()
