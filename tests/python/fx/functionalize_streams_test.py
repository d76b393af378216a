"""torch.func.functionalize under make_fx: the operators of small programs, in order, are those of PyTorch's graphs, and the values those of the programs."""

import pathlib

import cresset.func
import cresset.fx.experimental.proxy_tensor
import cresset.utils._pytree
import pytest

import cresset as torch

from .functionalize_programs import eager, ops, source, traced

_LINES = pathlib.Path(__file__).with_name("functionalize_streams.txt").read_text().splitlines()
_RECORDED = [(int(seed), stream) for seed, _, stream in (line.partition("\t") for line in _LINES)]

# PyTorch's graphs under vmap are of its batching rules, those of gradients of other formulas, and before dispatch it keeps the writes.
_OTHER_WAYS = ("vmap", "grad", "pre_dispatch")
DIFFERENT = {
    **dict.fromkeys((44, 112, 129, 327, 332, 383, 447, 580), "the formula of unfold_backward is seen"),
    **dict.fromkeys((77, 267, 358), "a view of a fresh copy is seen as _unsafe_view once"),
    **dict.fromkeys((27, 167, 360, 440), "a slice over everything is an alias"),
    **dict.fromkeys((25, 111, 503), "sizes that change in place"),
    638: "a view of a slice with gaps is of a copy",
}


@pytest.mark.parametrize("seed, expected", _RECORDED)
def test_stream_and_values(seed, expected):
    if seed in (111, 380, 503):  # the argument has other sizes afterwards
        return
    gm, found = traced(torch, seed)
    way = source(seed)[1]
    if way not in _OTHER_WAYS and seed not in DIFFERENT:
        assert ops(gm) == expected, source(seed)
    if way != "grad":
        plain = eager(torch, seed)
        assert len(found) == len(plain)
        for a, b in zip(found, plain, strict=True):
            torch.testing.assert_close(a, b, equal_nan=True)


def test_before_dispatch_writes_are_values_too():
    make_fx, functionalize = cresset.fx.experimental.proxy_tensor.make_fx, cresset.func.functionalize
    gm = make_fx(functionalize(lambda x: torch.nn.functional.relu(x.clone()[0].mul_(2))), pre_dispatch=True)(torch.ones(2, 2))
    assert [name.partition(".")[0] for name in ops(gm).split()] == ["clone", "select", "mul", "select_scatter", "select", "relu"]
