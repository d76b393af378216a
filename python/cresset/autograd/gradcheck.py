"""Comparison of gradients with finite differences."""

import itertools
import math
import warnings

import _cresset
from _cresset import Tensor

from .function import Function

__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input", "gradcheck",
           "gradgradcheck"]  # fmt: skip


class GradcheckError(RuntimeError):
    """A gradient that is not what finite differences say, or that breaks another promise of backward."""


def gradcheck(
    func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False,
    check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False, check_backward_ad=True, fast_mode=False, masked=None,
):  # fmt: skip
    """Return True where the Jacobian that backward gives for `func` at `inputs` equals the one of central differences.

    `func` takes the inputs, tensors or anything else, and returns a tensor or a tuple. Derivatives are taken by the tensors that require
    grad, which should be float64 or complex128 and must not overlap themselves. Compared is element by element,
    `|analytical - numerical| <= atol + rtol * |numerical|`, complex numbers as pairs of reals; with `fast_mode` one random projection of
    each pair of an output and an input. Further checks: two backward passes agree within `nondet_tol`; undefined gradients of outputs are
    accepted (`check_undefined_grad`); gradients have the dtype of their inputs (`check_grad_dtypes`); batched gradients equal single ones
    (`check_batched_grad`); derivatives in forward mode along random directions equal finite differences (`check_forward_ad`, with or
    without `check_backward_ad`). Of a sparse input the elements that it holds are moved and compared.

    Errors: GradcheckError (a RuntimeError) where a check fails, False without `raise_exception`; ValueError where no input requires grad.

    >>> x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("gradcheck: expected check_forward_ad or check_backward_ad, got neither")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("gradcheck: check_batched_grad=True needs check_backward_ad=True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("gradcheck: check_batched_forward_grad=True needs check_forward_ad=True")
    if masked not in (None, True, False):
        raise ValueError(f"gradcheck: expected masked to be a bool, got {masked!r}")
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    check = _Check(func, inputs, eps, atol, rtol)
    try:
        check.inputs_are_fit()
        outputs = check.outputs()
        if not outputs:
            return check.is_constant()
        if check_forward_ad:
            check.forward(outputs)
        if not check_backward_ad:
            return True
        check.jacobian(outputs, fast_mode, nondet_tol, check_grad_dtypes)
        if check_batched_grad:
            check.batched()
        if check_undefined_grad:
            check.undefined()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False, raise_exception=True, nondet_tol=0.0,
    check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False, check_fwd_over_rev=False, check_rev_over_rev=True,
    fast_mode=False, masked=False,
):  # fmt: skip
    """As `gradcheck`, of the gradients of `func` as functions of its inputs and of the gradients of its outputs.

    `grad_outputs` are random where left out, with gaps in memory if `gen_non_contig_grad_outputs`.

    >>> x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, (x,))
    True
    """
    import cresset as torch

    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("gradgradcheck: expected check_fwd_over_rev or check_rev_over_rev, got neither")
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*inputs))
        grad_outputs = tuple(_cotangent(torch, o, gen_non_contig_grad_outputs).requires_grad_() for o in outputs)
    else:
        grad_outputs = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    count = len(grad_outputs)

    def gradients(*args):
        given, cotangents = (args[:-count], args[-count:]) if count else (args, ())
        given = tuple(
            _cresset.without_history(x).requires_grad_() if isinstance(x, Tensor) and not x.requires_grad and _can_require(x, old) else x
            for x, old in zip(given, inputs, strict=True)
        )
        sources = tuple(x for x in given if isinstance(x, Tensor) and x.requires_grad)
        grads = torch.autograd.grad(_differentiable(func(*given)), sources, cotangents, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        gradients, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad, fast_mode=fast_mode,
        masked=masked, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
    )  # fmt: skip


def _can_require(tensor, like):
    return like.requires_grad and (tensor.is_floating_point() or tensor.is_complex())


def _differentiable(outputs):
    return tuple(o for o in ((outputs,) if isinstance(outputs, Tensor) else tuple(outputs)) if isinstance(o, Tensor) and o.requires_grad)


def _listed(outputs):
    return [o for o in ((outputs,) if isinstance(outputs, Tensor) else tuple(outputs)) if isinstance(o, Tensor)]


def _cotangent(torch, output, gaps):
    value = torch.randn(output.shape, dtype=output.dtype)
    return torch.stack([value, value], -1)[..., 0] if gaps else value


def _reals(t):
    """A vector of the real components of a tensor."""
    import cresset as torch

    t = t.detach()
    return (torch.view_as_real(t.resolve_conj().contiguous()) if t.is_complex() else t).reshape(-1)


def _parts(t):
    """The real components of a tensor, of a sparse one those it holds, to write to behind the back of its version."""
    import cresset as torch

    data = _held(t).data
    return torch.view_as_real(data) if t.is_complex() else data


def _held(t):
    """The elements in memory: of a sparse tensor its values."""
    import cresset as torch

    if t.layout == torch.strided:
        return t
    return t.detach()._values() if t.layout == torch.sparse_coo else t.detach().values()


def _places(t):
    """For each element that a sparse tensor holds its place in the dense one."""
    import cresset as torch

    values = _held(t)
    if t.layout == torch.sparse_coo:
        width = math.prod(t.shape[t.sparse_dim() :])
        strides = torch.tensor([math.prod(t.shape[d + 1 :]) for d in range(t.sparse_dim())], dtype=torch.int64)
        first = (t.detach()._indices() * strides[:, None]).sum(0)
        return (first[:, None] + torch.arange(width)).reshape(-1)
    rows = t.layout in (torch.sparse_csr, torch.sparse_bsr)
    plain, compressed = (t.crow_indices(), t.col_indices()) if rows else (t.ccol_indices(), t.row_indices())
    order = torch.arange(1, values.numel() + 1).reshape(values.shape)
    dense = torch.sparse_compressed_tensor(plain, compressed, order, t.shape, layout=t.layout).to_dense().reshape(-1)
    held = dense.nonzero().reshape(-1)
    return held[dense[held].argsort()]


def _of_input(grad, x):
    """A vector of the real components of a gradient of `x`, where `x` is sparse of the elements it holds."""
    import cresset as torch

    grad = grad.detach()
    if x.layout == torch.strided:
        return _reals(grad.to_dense() if grad.layout != torch.strided else grad)
    return _reals((grad.to_dense() if grad.layout != torch.strided else grad).reshape(-1)[_places(x)])


class _Undefined(Function):
    """Passes on what it is given, and no gradient back."""

    @staticmethod
    def forward(ctx, *tensors):
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return (None,) * len(grads)


class _Check:
    """One call of gradcheck."""

    def __init__(self, func, inputs, eps, atol, rtol):
        self.func, self.inputs, self.eps, self.atol, self.rtol = func, inputs, eps, atol, rtol
        self.places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        self.sources = [inputs[i] for i in self.places]

    def inputs_are_fit(self):
        import cresset as torch

        if not self.places:
            raise ValueError("gradcheck: expected an input with requires_grad=True, got none")
        for i, x in zip(self.places, self.sources, strict=True):
            if x.dtype not in (torch.float64, torch.complex128):
                warnings.warn(f"gradcheck: input {i} requires gradient and is not of double precision, got {x.dtype}; the check will likely fail", stacklevel=4)
            if x.layout == torch.strided and any(size > 1 and stride == 0 for size, stride in zip(x.shape, x.stride(), strict=True)):
                raise RuntimeError(f"gradcheck: input {i} has a dimension with stride 0, expected elements that do not share memory")
            x.retain_grad()

    def outputs(self):
        import cresset as torch

        outputs = _differentiable(self.func(*self.inputs))
        for o in outputs:
            if o.layout not in (torch.strided, torch._mkldnn):
                raise ValueError(f"gradcheck: a sparse output has to be made dense by to_dense(masked_grad=...) in the function, got {o.layout}")
        return outputs

    def values(self):
        """The outputs without their history."""
        import cresset as torch

        outputs = self.func(*self.inputs)
        outputs = (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
        chosen = [o for o in outputs if isinstance(o, Tensor) and o.requires_grad] or [o for o in outputs if isinstance(o, Tensor)]
        return [torch.clone(_reals(o)) for o in chosen]

    def moved(self, parts, k, step):
        """The outputs with one number of one input moved."""
        before = parts[k].item()
        parts[k] = before + step
        try:
            return self.values()
        finally:
            parts[k] = before

    def numerical(self, x):
        """For each output a matrix (its numbers, those of the input `x`)."""
        import cresset as torch

        parts = _parts(x)
        columns = [
            [(a - b) / (2 * self.eps) for a, b in zip(self.moved(parts, k, self.eps), self.moved(parts, k, -self.eps), strict=True)]
            for k in itertools.product(*map(range, parts.shape))
        ]
        if not columns:
            return [torch.zeros(v.numel(), 0, dtype=v.dtype) for v in self.values()]
        return [torch.stack(column, 1) for column in zip(*columns, strict=True)]

    def is_constant(self):
        for i, x in zip(self.places, self.sources, strict=True):
            for matrix in self.numerical(x):
                if matrix.abs().gt(self.atol).any():
                    raise GradcheckError(f"gradcheck: no output requires grad, but by finite differences one depends on input {i}")
        return True

    def vjp(self, output, cotangent, dtypes=False):
        import cresset as torch

        grads = torch.autograd.grad(output, self.sources, cotangent, retain_graph=True, allow_unused=True)
        for i, (g, x) in zip(self.places, zip(grads, self.sources, strict=True), strict=True):
            if g is None:
                continue
            if g.shape != x.shape or (dtypes and g.dtype != x.dtype):
                raise GradcheckError(
                    f"gradcheck: the gradient of input {i} has shape {tuple(g.shape)} and dtype {g.dtype}, expected {tuple(x.shape)}, {x.dtype}"
                )
        return [torch.zeros_like(x) if g is None else g for g, x in zip(grads, self.sources, strict=True)]

    def analytical(self, output, dtypes):
        """For each input a matrix (the numbers of the output, its numbers)."""
        import cresset as torch

        rows = [[] for _ in self.sources]
        units = (1, 1j) if output.is_complex() else (1,)
        cotangent = torch.zeros(output.shape, dtype=output.dtype)
        flat = cotangent.view(-1)
        for k in range(output.numel()):
            for unit in units:
                flat[k] = unit
                for place, g in zip(rows, self.vjp(output, cotangent.clone(), dtypes), strict=True):
                    place.append(g)
            flat[k] = 0
        return [
            torch.stack([_of_input(g, x) for g in place]) if place else torch.zeros(0, _parts(x).numel(), dtype=_parts(x).dtype)
            for place, x in zip(rows, self.sources, strict=True)
        ]

    def jacobian(self, outputs, fast, nondet_tol, dtypes):
        if fast:
            self.projected(outputs, nondet_tol, dtypes)
            return
        numerical = [self.numerical(x) for x in self.sources]
        for o, output in enumerate(outputs):
            matrices = self.analytical(output, dtypes)
            for a, again in zip(matrices, self.analytical(output, False), strict=True):
                if a.numel() and (a - again).abs().max().item() > nondet_tol:
                    raise GradcheckError(
                        f"gradcheck: backward is not reentrant: two passes with the same input gave gradients that differ by more than {nondet_tol}"
                    )
            for i, a, columns in zip(self.places, matrices, numerical, strict=True):
                n = columns[o].to(a.dtype)
                bad = (a - n).abs() > self.atol + self.rtol * n.abs()
                if (bad | a.isnan() | n.isnan()).any():
                    raise GradcheckError(f"gradcheck: Jacobian mismatch for output {o} with respect to input {i},\nnumerical:\n{n.t()}\nanalytical:\n{a.t()}\n")

    def projected(self, outputs, nondet_tol, dtypes):
        """u @ Jacobian @ v for random u and v, of each pair."""
        import cresset as torch

        directions = [torch.rand(_parts(x).numel(), dtype=torch.float64) + 0.1 for x in self.sources]
        directions = [u / u.norm() if u.numel() else u for u in directions]
        moved = []
        for x, u in zip(self.sources, directions, strict=True):
            parts = _parts(x)
            kept, sides = parts.clone(), []
            for step in (self.eps, -self.eps):
                parts.add_((u * step).to(parts.dtype).reshape(parts.shape))
                try:
                    sides.append(self.values())
                finally:
                    parts.copy_(kept)
            moved.append([(a - b) / (2 * self.eps) for a, b in zip(*sides, strict=True)])
        for o, output in enumerate(outputs):
            v = torch.randn(output.shape, dtype=output.dtype)
            grads, again = self.vjp(output, v, dtypes), self.vjp(output, v)
            for i, x, g, g2, u, columns in zip(self.places, self.sources, grads, again, directions, moved, strict=True):
                g, g2 = _of_input(g, x), _of_input(g2, x)
                if g.numel() and (g - g2).abs().max().item() > nondet_tol:
                    raise GradcheckError(
                        f"gradcheck: backward is not reentrant: two passes with the same input gave gradients that differ by more than {nondet_tol}"
                    )
                a = (g.double() * u).sum().item()
                n = (columns[o].double() * _reals(v).double()).sum().item()
                slack = self.atol * max(1.0, _reals(v).abs().sum().item() * u.abs().sum().item())
                if not abs(a - n) <= slack + self.rtol * abs(n) or math.isnan(a):
                    raise GradcheckError(
                        f"gradcheck: Jacobian mismatch for output {o} with respect to input {i} along random directions, numerical {n}, analytical {a}; "
                        "fast_mode=False shows the whole matrices"
                    )

    def forward(self, outputs):
        """The derivatives along random directions, of all outputs at once."""
        import cresset as torch

        directions = [torch.randn(x.shape, dtype=x.dtype) for x in self.sources]
        sides = []
        for step in (self.eps, -self.eps):
            moved = dict(zip(self.places, [x.detach() + step * d for x, d in zip(self.sources, directions, strict=True)], strict=True))
            sides.append(_listed(self.func(*(moved[i].requires_grad_() if i in moved else x for i, x in enumerate(self.inputs)))))
        level = _cresset.enter_dual_level()
        try:
            duals = {i: _cresset.make_dual(x.detach(), d, level) for i, x, d in zip(self.places, self.sources, directions, strict=True)}
            results = _listed(self.func(*(duals.get(i, x) for i, x in enumerate(self.inputs))))
            tangents = [_cresset.unpack_dual(t, level)[1] for t in results]
        finally:
            _cresset.exit_dual_level(level)
        for o, (t, plus, minus) in enumerate(zip(tangents, *sides, strict=True)):
            if not plus.requires_grad:
                continue
            n = (_reals(plus) - _reals(minus)) / (2 * self.eps)
            a = torch.zeros_like(n) if t is None else _reals(t)
            bad = (a - n).abs() > self.atol + self.rtol * n.abs()
            if (bad | a.isnan() | n.isnan()).any():
                raise GradcheckError(f"gradcheck: forward mode mismatch for output {o} along a random direction,\nnumerical:\n{n}\nanalytical:\n{a}\n")

    def batched(self):
        import cresset as torch

        for o, output in enumerate(self.outputs()):
            cotangents = torch.randn((2, *output.shape), dtype=output.dtype)
            single = [self.vjp(output, c) for c in cotangents]
            batch = torch.autograd.grad(output, self.sources, cotangents, is_grads_batched=True, retain_graph=True, allow_unused=True)
            for i, g, *ones in zip(self.places, batch, *single, strict=True):
                if g is not None and not torch.allclose(g, torch.stack(ones)):
                    raise GradcheckError(f"gradcheck: the batched gradient of output {o} by input {i} is not that of single passes")

    def undefined(self):
        """Backward gets no gradient for all, then for each of the outputs."""
        import cresset as torch

        count = len(self.outputs())
        for chosen in [range(count), *([k] for k in range(count) if count > 1)]:
            outputs = list(self.outputs())
            hidden = _Undefined.apply(*(outputs[k] for k in chosen))
            for k, t in zip(chosen, hidden, strict=True):
                outputs[k] = t
            cotangents = [torch.zeros_like(o.detach()) for o in outputs]
            try:
                grads = torch.autograd.grad(outputs, self.sources, cotangents, allow_unused=True)
            except RuntimeError as error:
                raise GradcheckError(
                    "gradcheck: expected the backward function to handle undefined output gradients; take care of None with set_materialize_grads(False)"
                ) from error
            if any(g is not None and (g if g.layout == torch.strided else g.to_dense()).ne(0).any() for g in grads):
                raise GradcheckError("gradcheck: expected all input gradients to be undefined or zero when all output gradients are")


def _deprecated(name, grad_out):
    warnings.warn(f"{name} is an old function that will go; use gradcheck", FutureWarning, stacklevel=3)
    if grad_out != 1.0:
        raise ValueError(f"{name}: expected grad_out of 1.0, got {grad_out}")


def get_numerical_jacobian(fn, inputs, target=None, eps=1e-3, grad_out=1.0):
    """By central differences, for each of `target` that requires grad a matrix (its numbers, those of the first output of `fn(inputs)`).

    Args:
        fn: takes the tuple of inputs.
        target: some of the inputs; all by default.
        grad_out: 1.0; nothing else is supported any more.

    Errors: ValueError for complex outputs, whose numbers are not those of a real function.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> from cresset.autograd.gradcheck import get_numerical_jacobian
    >>> get_numerical_jacobian(lambda inputs: inputs[0] * 3, (x,), eps=1e-6)[0].round()
    tensor([[3., 0.],
            [0., 3.]], dtype=torch.float64)
    """
    _deprecated("get_numerical_jacobian", grad_out)
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    target = inputs if target is None else (target,) if isinstance(target, Tensor) else target
    outputs = fn(inputs)
    outputs = (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
    if any(o.is_complex() for o in outputs):
        raise ValueError("get_numerical_jacobian: expected a real output, got a complex one.")
    places = [next(i for i, x in enumerate(inputs) if x is t) for t in target if isinstance(t, Tensor) and t.requires_grad]
    return [get_numerical_jacobian_wrt_specific_input(lambda *args: fn(args), i, inputs, outputs, eps)[0] for i in places]


def get_numerical_jacobian_wrt_specific_input(fn, input_idx, inputs, outputs, eps, input=None, is_forward_ad=False):
    """By central differences, for each of `outputs`, what `fn(*inputs)` gives, a matrix (numbers of one input, its numbers).

    That of a complex input holds ds/dx + i ds/dy. Errors: AssertionError for complex outputs, but those of a real input with `is_forward_ad`.

    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> from cresset.autograd.gradcheck import get_numerical_jacobian_wrt_specific_input
    >>> get_numerical_jacobian_wrt_specific_input(torch.sum, 0, (x,), (x.sum(),), 1e-6)[0].round()
    tensor([[1.],
            [1.]], dtype=torch.float64)
    """
    import cresset as torch

    x = inputs[input_idx] if input is None else input
    if any(o.is_complex() for o in outputs) and (x.is_complex() or not is_forward_ad):
        raise AssertionError("gradcheck: expected a real ds_dx, got a complex one")
    parts = _parts(x)

    def values():
        found = fn(*inputs)
        return [torch.clone(o.detach()).reshape(-1) for o in ((found,) if isinstance(found, Tensor) else found)]

    def difference(k):
        before, sides = parts[k].item(), []
        for step in (eps, -eps):
            parts[k] = before + step
            sides.append(values())
        parts[k] = before
        return [(a - b) / (2 * eps) for a, b in zip(*sides, strict=True)]

    columns = [difference(k) for k in itertools.product(*map(range, parts.shape))]
    if not columns:
        return tuple(torch.zeros(0, o.numel(), dtype=o.dtype) for o in outputs)
    found = [torch.stack(rows) for rows in zip(*columns, strict=True)]
    return tuple(torch.complex(j[0::2], j[1::2]) if x.is_complex() else j for j in found)


def get_analytical_jacobian(inputs, output, nondet_tol=0.0, grad_out=1.0):
    """By backward: (for each input that requires grad a matrix (its numbers, those of the output), whether two passes agree within
    `nondet_tol`, whether gradients have the inputs' shapes, whether they have their dtypes).

    >>> import warnings; warnings.simplefilter("ignore")
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> from cresset.autograd.gradcheck import get_analytical_jacobian
    >>> get_analytical_jacobian((x,), x * 3)[0][0]
    tensor([[3., 0.],
            [0., 3.]], dtype=torch.float64)
    """
    import cresset as torch

    _deprecated("get_analytical_jacobian", grad_out)
    if output.is_complex():
        raise ValueError("get_analytical_jacobian: expected a real output, got a complex one.")
    sources = [x for x in ((inputs,) if isinstance(inputs, Tensor) else inputs) if isinstance(x, Tensor) and x.requires_grad]

    def rows():
        units = torch.eye(output.numel(), dtype=output.dtype)
        return [torch.autograd.grad(output, sources, unit.view(output.shape), retain_graph=True, allow_unused=True) for unit in units]

    first, second = rows(), rows()
    pairs = [(g, h, x) for a, b in zip(first, second, strict=True) for g, h, x in zip(a, b, sources, strict=True) if g is not None]
    agree = all((g - h).abs().max() <= nondet_tol for g, h, _ in pairs if g.numel())
    found = [
        torch.stack([torch.zeros(x.numel(), dtype=x.dtype) if g is None else g.reshape(-1) for g in column], 1)
        for x, column in zip(sources, zip(*first, strict=True), strict=True)
    ]
    return tuple(found), agree, all(g.shape == x.shape for g, _, x in pairs), all(g.dtype == x.dtype for g, _, x in pairs)
