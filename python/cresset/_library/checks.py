"""`torch.library.opcheck`: tests of one operator with some arguments."""

import cresset as torch

from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from .operators import Defined, tensors_of
from .utils import zip_schema

_DEFAULT = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """Failure that `opcheck` found."""


def opcheck(op, args, kwargs=None, *, test_utils=_DEFAULT, raise_exception=True, rtol=None, atol=None):
    """Tests an operator with some arguments.

    Args:
        op: what `custom_op` made, or an OpOverload.
        args, kwargs: the arguments of a call; gradients are tested for tensors that require them.
        test_utils: a name, or several, of
            "test_schema": it writes to what the schema says, and its results share memory with what the schema says;
            "test_autograd_registration": operators of a library whose results require gradients have a function for the key Autograd;
            "test_faketensor": results without data have the sizes, strides, dtypes and devices of the real ones;
            "test_aot_dispatch_dynamic", "test_aot_dispatch_static": a program of it, traced with sizes as symbols or as numbers, gives the
            same results and gradients.
        rtol, atol: of the comparison of traced programs; both or none.

    Returns {test: "SUCCESS" or what went wrong}. Errors: OpCheckError for what went wrong, with `raise_exception`; ValueError for other tests and what is no
    operator.

    >>> op = torch.library.custom_op("example::cube", lambda x: x**3, mutates_args=(), schema="(Tensor x) -> Tensor")
    >>> torch.library.opcheck(op, (torch.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    from ..library import CustomOpDef, _found

    if not isinstance(op, (CustomOpDef, torch._core.operators.OpOverload, torch._core.operators.OpOverloadPacket)):
        raise ValueError(f"opcheck: expected an OpOverload, as torch.ops.aten.sin.default, or what custom_op made, got {type(op)}")
    if (rtol is None) != (atol is None):
        raise ValueError(f"opcheck: expected both of rtol and atol, or none, got rtol={rtol} and atol={atol}")
    tests = {
        "test_schema": _test_schema, "test_autograd_registration": _test_formula, "test_faketensor": _test_fake,
        "test_aot_dispatch_dynamic": _traced("symbolic", rtol, atol), "test_aot_dispatch_static": _traced("fake", rtol, atol),
    }  # fmt: skip
    chosen = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if unknown := [name for name in chosen if name not in tests]:
        raise ValueError(f"opcheck: expected tests out of {sorted(tests)}, got {', '.join(unknown)}")
    found, results = _found(op), {}
    for name in chosen:
        try:
            tests[name](found, tuple(args), dict(kwargs or {}))
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results


def _copied(values):
    return tree_map(lambda v: v.detach().clone().requires_grad_(v.requires_grad) if isinstance(v, torch.Tensor) else v, values)


def _alone(function, *args, **kwargs):
    """The call, after which random numbers are as before."""
    with torch.random.fork_rng(devices=[]):
        return function(*args, **kwargs)


# ---- memory ---------------------------------------------------------------------------------------------------------------


def _facts(tensor):
    return tuple(tensor.shape), tensor.stride() if tensor.layout is torch.strided else None, tensor.dtype


def _dense_parts(tensor):
    """The dense tensors whose numbers are those of a tensor; none where it has no numbers."""
    tensor = tensor.detach()
    if tensor.is_meta:
        return ()
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
    return (tensor,)


def _has_changed(tensor, before, facts):
    if _facts(tensor) != facts:
        return True
    return any(not torch.equal(torch.nan_to_num(now), torch.nan_to_num(old)) for now, old in zip(_dense_parts(tensor), _dense_parts(before), strict=True))


def _share(one, other):
    return one.layout is other.layout is torch.strided and one.untyped_storage()._cdata == other.untyped_storage()._cdata


def _sets(argument):
    """The names of the memory that an argument or a result shares."""
    return argument.alias_info.before_set | argument.alias_info.after_set if argument.alias_info is not None else frozenset()


def _is_running_statistic(schema, argument):
    """Whether it is written while a network is trained, which PyTorch's schemas do not say."""
    return schema.name.startswith("aten::") and argument.name in ("running_mean", "running_var")


def _is_unsafe(schema):
    """Whether its results are views that only autograd takes for copies."""
    return schema.name.startswith(("aten::_unsafe_", "aten::unsafe_"))


def check_memory(schema, call, args, kwargs):
    """The results of a call. RuntimeError where it writes to an argument, or shares memory, and the schema does not say so."""
    inputs = [(a, t) for a, v in zip_schema(schema, args, kwargs) for t in tensors_of([v])]
    before = [(t.detach().clone(), _facts(t)) for _, t in inputs]
    out = call()
    for (argument, tensor), (old, facts) in zip(inputs, before, strict=True):
        if not argument.is_write and not _is_running_statistic(schema, argument) and _has_changed(tensor, old, facts):
            raise RuntimeError(f"Argument {argument.name} was written, which the schema does not say")
    results = (out,) if len(schema.returns) == 1 else out or ()
    if _is_unsafe(schema):
        return out
    outputs = [(r, t) for r, value in zip(schema.returns, results, strict=True) for t in tensors_of([value])]
    for place, (result, tensor) in enumerate(outputs):
        for argument, given in inputs:
            if _share(given, tensor) and not _sets(argument) & _sets(result):
                raise RuntimeError(f"Argument {argument.name} shares memory with a result, which the schema does not say")
        for other, (another, second) in enumerate(outputs[:place]):
            if _share(tensor, second) and not _sets(result) & _sets(another):
                raise RuntimeError(f"Results {other} and {place} share memory, which the schema does not say")
    return out


def _test_schema(op, args, kwargs):
    args, kwargs = _copied((args, kwargs))
    schema = op._schema if isinstance(op, Defined) else op.overload._schema
    out = check_memory(schema, lambda: _alone(op, *args, **kwargs), args, kwargs)
    returned = {id(t) for t in tensors_of([out])} if isinstance(op, Defined) else ()
    for argument, value in zip_schema(schema, args, kwargs):
        if not argument.is_write and any(id(t) in returned for t in tensors_of([value])):
            raise RuntimeError(f"Argument {argument.name} is a result itself; return a view of it")


# ---- gradients and tensors without data -----------------------------------------------------------------------------------


def _test_formula(op, args, kwargs):
    if not isinstance(op, Defined) or op._checks_aliases or op._has_formula or op._can_decompose():
        return
    if any(key.startswith("Autograd") for key in op._kernels):
        return
    args, kwargs = _copied((args, kwargs))
    given = tensors_of([args, kwargs])
    if any(t.requires_grad for t in given) and any(t.requires_grad for t in tensors_of([_alone(op, *args, **kwargs)])):
        raise AssertionError(f"{op.name()}: results require gradients, and there is no function for the key Autograd; register a formula by register_autograd")


def _test_fake(op, args, kwargs):
    from .._subclasses.fake_tensor import FakeTensorMode
    from ..fx.experimental.symbolic_shapes import ShapeEnv

    with torch.no_grad():
        real_args = _copied((args, kwargs))
        real = _alone(op, *real_args[0], **real_args[1])
        mode = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True)
        fake_args = tree_map(lambda v: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v, (args, kwargs))
        with mode:
            fake = op(*fake_args[0], **fake_args[1])
    pairs = [_as_list(side) for side in (real, fake)]
    if len(pairs[0]) != len(pairs[1]):
        raise AssertionError(f"there are {len(pairs[0])} results, and {len(pairs[1])} on tensors without data")
    for place, (mine, theirs) in enumerate(zip(*pairs, strict=True)):
        if isinstance(mine, torch.Tensor) and isinstance(theirs, torch.Tensor):
            _compare(place, mine, theirs)
            shares = [any(t is v for v in tensors_of(given)) for t, given in ((mine, real_args), (theirs, fake_args))]
            if shares[0] != shares[1]:
                raise AssertionError(f"result {place} is an argument {'on tensors without data' if shares[1] else 'with data'} alone")


def _as_list(results):
    return tree_flatten(results)[0] if isinstance(results, (list, tuple)) else [results]


def _compare(place, mine, theirs):
    """AssertionError where a result without data is another than the real one. Sizes that only the data tells fit all."""

    def differs(real, fake):
        return not isinstance(fake, torch.SymInt) and real != fake

    if mine.dim() != theirs.dim() or any(map(differs, mine.shape, theirs.shape)):
        raise AssertionError(f"result {place} has the shape {tuple(mine.shape)}, and {tuple(theirs.shape)} without data")
    if mine.layout is torch.strided and mine.numel() and any(differs(r, f) for n, r, f in zip(mine.shape, mine.stride(), theirs.stride()) if n > 1):
        raise AssertionError(f"result {place} has the strides {mine.stride()}, and {theirs.stride()} without data")
    if mine.layout is torch.strided and differs(mine.storage_offset(), theirs.storage_offset()):
        raise AssertionError(f"result {place} begins at {mine.storage_offset()} of its memory, and at {theirs.storage_offset()} without data")
    for name in ("dtype", "device", "layout", "requires_grad"):
        if getattr(mine, name) != getattr(theirs, name):
            raise AssertionError(f"result {place} has the {name} {getattr(mine, name)}, and {getattr(theirs, name)} without data")


# ---- traced programs ------------------------------------------------------------------------------------------------------


def _traced(mode, rtol, atol):
    """The test that the operator in a program that was traced gives the same results, and the same gradients."""

    def test(op, args, kwargs):
        from ..fx.experimental.proxy_tensor import make_fx

        overload = op if isinstance(op, Defined) else op.overload
        if overload.namespace != "aten" and not overload._can_decompose() and any(r.alias_info is not None for r in overload._schema.returns):
            raise RuntimeError(
                f"{op.name()}: programs are traced without changes in place, and cannot hold an operator whose results share memory: {overload._schema}"
            )
        leaves, spec = tree_flatten((args, kwargs))
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        def run(*tensors):
            tensors = [t.detach().requires_grad_(leaves[i].requires_grad) for t, i in zip(tensors, places, strict=True)]
            if overload._schema.is_mutable:
                tensors = [t.clone() for t in tensors]
            filled = list(leaves)
            for place, tensor in zip(places, tensors, strict=True):
                filled[place] = tensor
            plain, named = tree_unflatten(filled, spec)
            results = tensors_of([op(*plain, **named)])
            wanted = [t for t in tensors if t.requires_grad and t.is_leaf]
            roots = [t.sum() for t in results if t.requires_grad]
            grads = torch.autograd.grad(sum(roots), wanted, allow_unused=True) if roots and wanted else ()
            return [t.detach() for t in results], [torch.zeros(()) if g is None else g for g in grads]

        given = [leaves[place].detach() for place in places]
        if mode == "fake":
            _run_without_data(run, given)
        expected = _alone(run, *_copied(given))
        traced = _alone(make_fx(run, tracing_mode=mode), *_copied(given))
        found = _alone(traced, *_copied(given))
        for theirs, mine in zip(tensors_of(expected), tensors_of(found), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=rtol, atol=atol, equal_nan=True)

    return test


def _run_without_data(run, tensors):
    """The program on tensors without data whose sizes are numbers. Raises where it needs data."""
    from .._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode()
    with mode:
        run(*[mode.from_tensor(t) for t in tensors])
