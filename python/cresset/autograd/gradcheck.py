"""Comparison of gradients with finite differences. The checks are C++ (cresset/transform/gradcheck.h)."""

import warnings

import _cresset
from _cresset import Tensor

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
    (`check_batched_grad`, in forward mode `check_batched_forward_grad`); derivatives in forward mode along random directions equal finite differences (`check_forward_ad`, with or
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
    switches = check_backward_ad, check_forward_ad, check_undefined_grad, check_grad_dtypes, check_batched_grad, check_batched_forward_grad, fast_mode, False
    return _checked(func, _listed(inputs), None, False, (eps, atol, rtol, nondet_tol), switches, raise_exception)


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
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("gradgradcheck: expected check_fwd_over_rev or check_rev_over_rev, got neither")
    grads = None if grad_outputs is None else _listed(grad_outputs)
    switches = (
        check_rev_over_rev,
        check_fwd_over_rev,
        check_undefined_grad,
        check_grad_dtypes,
        check_batched_grad,
        False,
        fast_mode,
        gen_non_contig_grad_outputs,
    )
    return _checked(func, _listed(inputs), grads, True, (eps, atol, rtol, nondet_tol), switches, raise_exception)


def _listed(values):
    return (values,) if isinstance(values, Tensor) else tuple(values)


def _checked(func, inputs, grads, second, numbers, switches, raise_exception):
    kinds = []

    def of_tensors(*tensors):
        outputs = func(*(given if t is None else t for t, given in zip(tensors, inputs, strict=True)))
        found = [o for o in _listed(outputs) if isinstance(o, Tensor)]
        kinds.append([(o.numel() if o.is_nested else o.shape, o.dtype) for o in found])
        if kinds[-1] != kinds[0]:
            raise AssertionError(f"gradcheck: the shapes and dtypes of outputs depend on the values of inputs, got {kinds[0]}, then {kinds[-1]}")
        return found

    problem = _cresset.gradcheck(of_tensors, [x if isinstance(x, Tensor) else None for x in inputs], grads, second, *numbers, *switches)
    if problem is not None and raise_exception:
        raise GradcheckError(problem)
    return problem is None


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
    inputs = _listed(inputs)
    outputs = _listed(fn(inputs))
    if any(o.is_complex() for o in outputs):
        raise ValueError("get_numerical_jacobian: expected a real output, got a complex one.")
    places = [
        next(i for i, x in enumerate(inputs) if x is t) for t in _listed(inputs if target is None else target) if isinstance(t, Tensor) and t.requires_grad
    ]
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
    found = [j.T.contiguous() for j in _cresset.numerical_jacobian(lambda: _listed(fn(*inputs)), x, eps)]
    if x.is_complex():
        return tuple(torch.complex(j[0::2], j[1::2]) for j in found)
    return tuple(torch.view_as_complex(j.view(len(j), -1, 2)) if o.is_complex() else j for o, j in zip(outputs, found, strict=True))


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
    sources = [x for x in _listed(inputs) if isinstance(x, Tensor) and x.requires_grad]

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
