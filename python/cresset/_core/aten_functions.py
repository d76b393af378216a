"""Operators of PyTorch's table that are functions here, not rows: their schemas, and functions that compute them. Graphs and `.pt2` files name them."""

import _cresset

import cresset as torch

from .operator_table import Table


def _assert_tensor_metadata(a, size=None, stride=None, dtype=None, *, device=None, layout=None):
    facts = {"size": size and list(size), "stride": stride and list(stride), "dtype": dtype, "device": device, "layout": layout}
    found = {"size": list(a.shape), "stride": list(a.stride()), "dtype": a.dtype, "device": a.device, "layout": a.layout}
    for name, wanted in facts.items():
        if wanted is not None and found[name] != wanted and not (name == "device" and torch.device(wanted).type == a.device.type):
            raise RuntimeError(f"_assert_tensor_metadata: expected {name} {wanted}, got {found[name]}")


def _assert_scalar(value, text):
    if isinstance(value, torch.SymBool):  # holds from now on, where only the data tells
        value.node.expect_true()
    elif not value:
        raise RuntimeError(text)


def _resized(mode, has_corners=False, antialias=False):
    def resized(input, output_size, *rest):
        corners = {"align_corners": rest[0]} if has_corners and mode not in ("nearest", "nearest-exact") else {}
        scales = rest[-1]
        return torch.nn.functional.interpolate(input, output_size, None if output_size is not None else list(scales), mode, antialias=antialias, **corners)

    return resized


def _normalized(input, weight, bias, running_mean, running_var, training, momentum, eps):
    mean, var = running_mean.clone(), running_var.clone()
    return (*torch.ops.aten.native_batch_norm.default(input, weight, bias, mean, var, training, momentum, eps), mean, var)


def _copied(self, src, non_blocking=False):
    return src.to(self.dtype, copy=True).expand_as(self).clone()


_NEAREST = "(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"
_CORNERS = "(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"


def _spread(name):
    def spread(self, dim, unbiased=True, keepdim=False):
        return getattr(torch, name)(self, dim, correction=int(unbiased), keepdim=keepdim)

    return spread


# Rectifiers whose slopes below 0 are drawn; the noise is what each element is multiplied by.
_SLOPES = _cresset._entry("rrelu")[0].partition("self, ")[2].rpartition(")")[0]


def _of_slopes(result, tensor="Tensor", noise="Tensor"):
    return f"({tensor} self, {noise} noise, {_SLOPES}) -> {result}"


def _rectified(self, noise, lower=0.125, upper=1 / 3, training=False, generator=None):
    if not training:
        return torch.ops.aten.leaky_relu.default(self, (lower + upper) / 2), noise.clone()
    drawn = torch.ops.aten._rrelu_noise.default(self, float(lower), float(upper), generator)
    return self * drawn, drawn


def _rectified_with_noise(self, noise, *options):
    result, drawn = _rectified(self, noise, *options)
    noise.copy_(drawn)
    return result


def _rectified_gradient(grad_output, self, noise, lower, upper, training, self_is_result):
    if training:
        return grad_output * noise
    return torch.ops.aten.leaky_relu_backward.default(grad_output, self, (lower + upper) / 2, self_is_result)


FUNCTIONS = {
    "rrelu_with_noise_functional": (_of_slopes("(Tensor, Tensor noise_out)"), _rectified),
    "rrelu_with_noise": (_of_slopes("Tensor", noise="Tensor(b!)"), _rectified_with_noise),
    "rrelu_with_noise_": (
        _of_slopes("Tensor(a!)", "Tensor(a!)", "Tensor(b!)"),
        lambda self, noise, *options: self.copy_(_rectified_with_noise(self, noise, *options)),
    ),
    "rrelu_with_noise_backward": (
        "(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor",
        _rectified_gradient,
    ),
    "_native_batch_norm_legit_functional": (
        "(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) "
        "-> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
        _normalized,
    ),
    "_native_batch_norm_legit_no_training": (
        "(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
        lambda x, weight, bias, mean, var, momentum, eps: torch.ops.aten.native_batch_norm.default(x, weight, bias, mean, var, False, momentum, eps),
    ),
    "_native_batch_norm_legit.no_stats": (
        "(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
        lambda x, weight, bias, training, momentum, eps: torch.ops.aten.native_batch_norm.default(x, weight, bias, None, None, training, momentum, eps),
    ),
    "_assert_tensor_metadata": (
        "(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
        _assert_tensor_metadata,
    ),
    "_assert_scalar": ("(Scalar self, str assert_msg) -> ()", _assert_scalar),
    "copy": ("(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", _copied),
    "item": ("(Tensor self) -> Scalar", lambda self: self.item()),
    "sym_constrain_range": ("(Scalar size, *, int? min=None, int? max=None) -> ()", lambda size, *, min=None, max=None: None),
    "sym_constrain_range_for_size": ("(Scalar size, *, int? min=None, int? max=None) -> ()", lambda size, *, min=None, max=None: None),
    **{f"upsample_nearest{n}d.vec": (_NEAREST, _resized("nearest")) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d.vec": (_NEAREST, _resized("nearest-exact")) for n in (1, 2, 3)},
    **{
        f"{name}.dim": (f"(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> {result}", _spread(name))
        for name, result in (("var", "Tensor"), ("std", "Tensor"), ("var_mean", "(Tensor, Tensor)"), ("std_mean", "(Tensor, Tensor)"))
    },
    "upsample_linear1d.vec": (_CORNERS, _resized("linear", True)),
    "upsample_bilinear2d.vec": (_CORNERS, _resized("bilinear", True)),
    "upsample_trilinear3d.vec": (_CORNERS, _resized("trilinear", True)),
    "upsample_bicubic2d.vec": (_CORNERS, _resized("bicubic", True)),
    "_upsample_bilinear2d_aa.vec": (_CORNERS, _resized("bilinear", True, True)),
    "_upsample_bicubic2d_aa.vec": (_CORNERS, _resized("bicubic", True, True)),
    "_upsample_lanczos2d_aa.vec": (_CORNERS, _resized("lanczos", True, True)),
}

TABLE = Table()
for _title, (_arguments, _function) in FUNCTIONS.items():
    TABLE.add(_title + _arguments)(_function)
