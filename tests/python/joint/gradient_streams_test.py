"""Graphs of gradients: their operators, what nodes keep (`detach`) included, are PyTorch's, in torch.func, autograd, and forward and backward apart."""

import pathlib
import warnings

import pytest
from gradient_programs import PROGRAMS, streams

import cresset

# Ways whose streams differ, by program: our formula of a gradient, or of an operator, has other steps.
DIFFERENT = {
    "asin": "grad vjp autograd apart",
    "acos": "grad vjp autograd apart",
    "asinh": "grad vjp autograd apart",
    "acosh": "grad vjp autograd apart",
    "atanh": "grad vjp autograd apart",
    "erf": "grad vjp autograd apart",
    "erfc": "grad vjp autograd apart",
    "erfinv": "grad vjp autograd apart",
    "sinc": "grad vjp autograd apart",
    "logit": "grad vjp autograd apart",
    "nan_to_num": "grad vjp autograd apart",
    "sigmoid_inplace": "apart",
    "tanh_inplace": "apart",
    "exp_inplace": "apart",
    "sqrt_inplace": "apart",
    "relu_inplace": "apart",
    "sin_inplace": "apart",
    "logsumexp": "grad vjp autograd apart",
    "silu": "grad vjp",
    "mish": "grad vjp",
    "celu": "grad vjp autograd apart",
    "logsigmoid": "grad vjp autograd apart",
    "softshrink": "apart",
    "hardshrink": "apart",
    "rrelu": "grad vjp autograd apart",
    "powt": "grad vjp autograd apart",
    "rpow": "grad vjp autograd apart",
    "vnorm": "grad vjp autograd apart",
    "cumprod": "grad vjp autograd apart",
    "logcumsumexp": "grad vjp autograd apart",
    "bilinear": "grad vjp autograd apart",
    "group_norm": "grad vjp autograd",
    "batch_norm": "apart",
    "batch_norm_eval": "apart",
    "instance_norm": "grad vjp autograd apart",
    "normalize": "grad vjp autograd apart",
    "lrn": "grad vjp autograd apart",
    "conv1d": "grad vjp autograd",
    "conv2d": "grad vjp autograd",
    "convt": "grad vjp autograd",
    "amaxp": "grad vjp autograd apart",
    "interp": "apart",
    "interpl": "apart",
    "padr": "grad vjp autograd apart",
    "pixel": "grad vjp autograd apart",
    "bcel": "grad vjp",
    "kl": "grad vjp autograd apart",
    "triplet": "grad vjp autograd apart",
    "hinge": "grad vjp autograd apart",
    "softmargin": "grad vjp autograd apart",
    "pdist": "grad vjp autograd apart",
    "pairwise": "apart",
    "multimargin": "grad vjp autograd apart",
    "sdpa": "grad vjp autograd apart",
    "sdpac": "apart",
    "embbag": "grad vjp autograd apart",
    "select": "grad vjp autograd apart",
    "atan2": "grad vjp autograd apart",
    "hypot": "grad vjp autograd apart",
    "addcdiv": "grad vjp autograd apart",
    "cross": "grad vjp autograd apart",
    "diag": "apart",
    "diag_embed": "grad vjp autograd apart",
    "expand": "apart",
    "permute": "apart",
    "split": "apart",
    "unbind": "grad vjp autograd apart",
    "chunk": "apart",
    "index_add": "grad vjp autograd apart",
    "index_copy": "grad vjp autograd apart",
    "take": "grad vjp autograd apart",
    "kron": "grad vjp autograd apart",
    "trace": "grad vjp autograd apart",
    "renorm": "grad vjp autograd apart",
    "dropout": "apart",
    "dropout_eval": "apart",
    "inplace": "apart",
    "inplace_view": "apart",
    "write": "apart",
    "cholesky": "apart",
    "inv": "apart",
    "det": "grad vjp",
    "solve": "grad vjp apart",
    "eigvalsh": "grad vjp autograd apart",
    "qr": "grad vjp autograd apart",
    "polar": "grad vjp autograd apart",
    "angle": "grad vjp autograd apart",
}


def _recorded():
    found = {name: {} for name in PROGRAMS}
    for line in pathlib.Path(__file__).with_name("gradient_streams.txt").read_text().splitlines():
        key, _, stream = line.partition("\t")
        name, _, way = key.rpartition("/")
        found[name][way] = stream
    return found


_RECORDED = _recorded()


@pytest.fixture(autouse=True)
def _bound():
    was_installed = cresset.compat.is_installed()
    cresset.compat.install()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    if not was_installed:
        cresset.compat.uninstall()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if len(DIFFERENT.get(name, "").split()) < 4])
def test_streams(name):
    found = streams(cresset, name)
    for way, stream in _RECORDED[name].items():
        if way not in DIFFERENT.get(name, "").split():
            assert found.get(way) == stream, way
