"""Transforms of derivatives in steps that captured programs hold as nodes (cresset/_functorch/predispatch.py): functions of lists, as the library has them."""

import _cresset

import cresset as torch

from .._functorch import predispatch
from ._vmap import vmap


def jvp(function, primals, tangents, strict):
    """Results, their tangents, and aux of a function of lists that returns (results, aux). RuntimeError with `strict` for a result without a tangent."""
    before = _cresset.is_forward_mode_enabled()
    _cresset.set_forward_mode_enabled(True)
    outermost = not predispatch.has_dual_level()
    level = predispatch._jvp_increment_nesting()
    try:
        if outermost:
            predispatch._enter_dual_level()
        return _along(function, primals, tangents, strict, level)
    finally:
        if outermost:
            predispatch._exit_dual_level(level=0)
        predispatch._jvp_decrement_nesting()
        _cresset.set_forward_mode_enabled(before)


def _along(function, primals, tangents, strict, level):
    duals = [predispatch._make_dual(primal, tangent, level=0) for primal, tangent in zip(primals, tangents, strict=True)]
    results, aux = function(*duals)
    aux = [predispatch._unwrap_for_grad(tensor, level) for tensor in aux]
    values, along = [], []
    for result in results:
        value, tangent = predispatch._unpack_dual(result, level=0)
        if tangent is None and strict:
            raise RuntimeError("jvp: the output is independent of the inputs, which strict=True does not allow")
        values.append(value)
        along.append(torch.zeros_like(value) if tangent is None else tangent)
    values, along = [[predispatch._unwrap_for_grad(tensor, level) for tensor in tensors] for tensors in (values, along)]
    return values, along, aux


def jacobian(function, primals, forward, chunk_size, preallocate, randomness):
    """The blocks of each result with respect to each primal, and aux. Chunks are joined at the end, whatever `preallocate` says.

    Errors: RuntimeError for complex primals or results.
    """
    what = "jacfwd" if forward else "jacrev"
    _check_real(what, "input", primals)
    return _forward(function, primals, randomness) if forward else _reverse(function, primals, chunk_size)


def _check_real(what, kind, tensors):
    for i, tensor in enumerate(tensors):
        if tensor.is_complex():
            raise RuntimeError(f"{what}: expected all {kind}s to be real, got a complex tensor as {kind} {i}; use view_as_real() and view_as_complex()")


def _units(tensors):
    """Unit vectors of all numbers of tensors: for each tensor its part of them, the vectors first; and how many numbers each tensor has."""
    counts = [tensor.numel() for tensor in tensors]
    total, parts = sum(counts), []
    for i, (tensor, count) in enumerate(zip(tensors, counts, strict=True)):
        part = tensor.new_zeros(total, count)
        (part.narrow(0, sum(counts[:i]), count) if len(tensors) > 1 else part).diagonal().fill_(1)
        parts.append(part.view(total, *tensor.shape))
    return parts, counts


def _reverse(function, primals, chunk_size):
    results, aux, pull = predispatch.of_transform(_cresset.func_vjp, function, primals)
    _check_real("jacrev", "output", results)
    units, counts = _units(results)

    def of_vectors(*vectors):
        return tuple(predispatch.of_transform(pull, list(vectors), True, None))

    # One at a time there is no batch: a function without a rule for batches runs, too.
    rows = _one_by_one(of_vectors, units) if chunk_size == 1 else vmap(of_vectors, chunk_size=chunk_size or None)(*units)
    split = [row.split(counts) for row in rows]
    columns = [
        [part.reshape(*result.shape, *primal.shape) for part, result in zip(parts, results, strict=True)] for parts, primal in zip(split, primals, strict=True)
    ]
    return list(zip(*columns, strict=True)), aux


def _one_by_one(function, units):
    found = [function(*(part[i] for part in units)) for i in range(len(units[0]))]
    return [torch.stack(parts) for parts in zip(*found, strict=True)]


def _forward(function, primals, randomness):
    units, counts = _units(primals)
    number = []

    def along(*directions):
        values, tangents, aux = jvp(function, primals, directions, False)
        _check_real("jacfwd", "output", values)
        number[:] = [len(tangents)]
        return (*tangents, *aux)

    rows = vmap(along, randomness=randomness)(*units)
    blocks = [
        [
            part.reshape(*row.shape[1:], *primal.shape)
            for part, primal in zip((row.movedim(0, -1) if row.dim() > 1 else row).split(counts, -1), primals, strict=True)
        ]
        for row in rows[: number[0]]
    ]
    return blocks, [row[0] for row in rows[number[0] :]]
