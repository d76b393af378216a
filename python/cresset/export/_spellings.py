"""How PyTorch's export spells calls that arrive in our spelling: numbers where a tensor may stand, factories, `var`, weighted views of arguments.

A spelling is a function of (recorder, operator, args, kwargs) that gives the call to be written down, or None for the call as it is.
"""

import dis
import threading

from .. import SymFloat, SymInt, ops

_aten = ops.aten


class _Settings(threading.local):
    asserts_casts = True  # graphs assert the dtype and device of what they cast


settings = _Settings()


def _number_as_tensor(recorder, func, args, kwargs):
    return getattr(func.overloadpacket, "Tensor"), args, kwargs


def _factory(recorder, func, args, kwargs):
    return func, args, {**{k: v for k, v in kwargs.items() if k == "dtype"}, "device": kwargs.get("device") or recorder.default_device(), **_rest(kwargs)}


def _like(recorder, func, args, kwargs):
    return func, args, {**{k: v for k, v in kwargs.items() if k in ("dtype", "layout", "device")}, **_rest(kwargs)}


def _rest(kwargs):
    return {"pin_memory": False, **{k: v for k, v in kwargs.items() if k not in ("dtype", "device", "layout")}}


def _spread(recorder, func, args, kwargs):
    """Variance over given dimensions is the overload `dim` in PyTorch, unless a correction is asked for."""
    if "correction" in kwargs and kwargs["correction"] not in (None, 1, 0) or len(args) < 2 or args[1] is None or recorder.says("correction"):
        return None
    rest = []
    if kwargs.get("keepdim") or kwargs.get("correction") == 0:
        rest.append(kwargs.get("correction") != 0)
    if kwargs.get("keepdim"):
        rest.append(True)
    return func.overloadpacket.dim, (*args, *rest), {}


def _without_cudnn(recorder, func, args, kwargs):
    """Whether cuDNN may be used is always written, and it may not here."""
    given = (*args, *[a.default_value for a in func._schema.arguments[len(args) :]])
    given = (*given[:-1], False)
    return func, tuple(kwargs.get(a.name, v) for a, v in zip(func._schema.arguments[:-1], given, strict=False)) + (False,), {}


def _split(recorder, func, args, kwargs):
    return _aten.split_with_sizes.default, args, kwargs


def _loss(recorder, func, args, kwargs):
    """Losses of two tensors broadcast them first, and the program goes on with what came out of that."""
    nodes = recorder.write(_aten.broadcast_tensors.default, ([args[0], args[1]],), {}, (args[0], args[1]), listed=True)
    recorder.know(args[0], nodes[0])
    if args[1] is not args[0]:
        recorder.know(args[1], nodes[1])
    return func, args, kwargs


def _divergence(recorder, func, args, kwargs):
    """The sum by the size of the batch, which is no reduction of PyTorch's operator."""
    reduction = args[2] if len(args) > 2 else kwargs.get("reduction")
    if reduction != 3:
        return None
    summed = {"log_target": True} if kwargs.get("log_target") else {}
    with recorder.paused():
        total = func(*args[:2], 2, **summed)
    recorder.write(func, (*args[:2], 2), summed, total)
    return _aten.div.Tensor, (total, args[0].shape[0]), {}


def _indices(recorder, func, args, kwargs):
    """The order of coordinates is always written."""
    return func, args, {"indexing": "ij", **kwargs}


def _cast(recorder, func, args, kwargs):
    tensor = args[0]
    if settings.asserts_casts:
        recorder.write(_aten._assert_tensor_metadata.default, (tensor,), {"dtype": tensor.dtype, "device": tensor.device, "layout": tensor.layout}, None)
    return None


def _fill(recorder, func, args, kwargs):
    """`x[i] = 5.0` fills from a constant tensor, `fill_` and a symbolic number from the number."""
    if recorder.env is not None and isinstance(recorder.env.lift(args[1]), (SymInt, SymFloat)):
        return None
    frame = recorder.caller()
    if frame is None or dis.opname[frame.f_code.co_code[frame.f_lasti]] != "STORE_SUBSCR":
        return None
    with recorder.paused():
        constant = recorder.lifted(args[1], args[0].dtype)
    return _aten.fill_.Tensor, (args[0], constant), {}


_RESIZED = ["nearest", "nearest_exact", "linear", "cubic", "lanczos"]


def _resize(recorder, func, args, kwargs):
    """Images of another size: one operator here, one for each number of dimensions there."""
    image, size, mode, align, antialias, scales = args
    rank = image.dim() - 2
    title = {"nearest": f"upsample_nearest{rank}d", "nearest_exact": f"_upsample_nearest_exact{rank}d"}.get(_RESIZED[mode])
    if title is None:
        title = (
            {1: "upsample_linear1d", 2: "upsample_bilinear2d", 3: "upsample_trilinear3d"}[rank]
            if _RESIZED[mode] == "linear"
            else f"upsample_{'bicubic' if mode == 3 else 'lanczos'}2d"
        )
    if antialias:
        title = f"_{title}_aa"
    size = None if scales is not None else size
    given = (image, size, scales) if "nearest" in title else (image, size, align, scales)
    return getattr(_aten, title).vec, given, {}


def _table():
    found = {}
    for name in "add add_ sub sub_ mul mul_ div div_".split():
        found[getattr(getattr(_aten, name), "Scalar")] = _number_as_tensor
    for name in "ones zeros full eye arange linspace logspace rand randn randint randperm empty scalar_tensor".split():
        packet = getattr(_aten, name)
        found.update({getattr(packet, o): _factory for o in packet.overloads() if not o.endswith("out")})
    for name in "ones_like zeros_like full_like rand_like randn_like randint_like empty_like new_zeros new_ones new_full new_empty".split():
        packet = getattr(_aten, name)
        found.update({getattr(packet, o): _like for o in packet.overloads() if not o.endswith("out")})
    for name in "var std var_mean std_mean".split():
        found[getattr(_aten, name).correction] = _spread
    for name in "mse_loss l1_loss smooth_l1_loss huber_loss".split():
        found[getattr(_aten, name).default] = _loss
    found.update({getattr(_aten, name).default: _without_cudnn for name in ("batch_norm", "instance_norm", "layer_norm")})
    found[_aten.kl_div.default] = _divergence
    found[_aten.meshgrid.indexing] = _indices
    packet = _aten.to
    found.update({getattr(packet, o): _cast for o in packet.overloads()})
    found[_aten.split.sizes] = _split
    found[_aten.fill_.Scalar] = _fill
    found[_aten._resize_images.default] = _resize
    return found


_known = None


def of(func, in_formula):
    """The spelling of an operator, or None. Numbers in formulas of gradients are numbers."""
    global _known
    if _known is None:
        _known = _table()
    found = _known.get(func)
    return None if in_formula and found is _number_as_tensor else found
