"""Steps: the calls that PyTorch makes within a call, in events, sums and files."""

import collections
import json

import pytest
from cresset.profiler import profile
from cresset.utils import bottleneck

import cresset as torch
from cresset.nn import functional as F


def counted(body):
    with profile() as p:
        body()
    return dict(collections.Counter(e.name.removeprefix("aten::") for e in p.events()))


def tree(event):
    return [event.name.removeprefix("aten::"), *map(tree, event.cpu_children)]


def test_the_tree_of_a_layer_is_pytorchs():
    x, w = torch.ones(2, 3), torch.ones(4, 3)
    with profile() as p:
        F.linear(x, w)
    views = ["t", ["transpose", ["as_strided"]]]
    assert tree(p.events()[0]) == ["linear", views, ["matmul", ["mm", ["resolve_conj"], ["resolve_conj"]]]]


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (lambda: torch.arange(3), {"arange": 2, "empty": 1, "resize_": 1}),
        (lambda: torch.ones(2) * 2, {"ones": 1, "empty": 1, "fill_": 1, "mul": 1, "to": 1, "_to_copy": 1, "empty_strided": 1, "copy_": 1}),
        (lambda: torch.tensor([1.0]).item(), {"empty": 1, "to": 1, "lift_fresh": 1, "detach_": 2, "item": 1, "_local_scalar_dense": 1}),
        (lambda: torch.empty(4).chunk(2), {"empty": 1, "chunk": 1, "split": 1, "narrow": 2, "slice": 2, "as_strided": 2}),
    ],
)
def test_names_and_counts(body, names):
    found = counted(body)
    found["detach_"] = found.get("detach_", 0)
    assert {name: count for name, count in found.items() if count} == names


def test_a_sum_of_gradients_has_the_nodes_of_pytorch():
    x = torch.ones(3, requires_grad=True)
    names = counted(lambda: F.cross_entropy(x * torch.ones(2, 3), torch.tensor([0, 1])).backward())
    nodes = [name.rpartition(" ")[2] for name in names if name.startswith("autograd::engine")]
    assert nodes == ["NllLossBackward0", "LogSoftmaxBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"]
    assert names["ones_like"] == 1


def test_steps_are_marked_and_only_the_one_that_works_has_time(tmp_path):
    x, w, b = torch.ones(64, 64), torch.ones(64, 64), torch.ones(64)
    with profile(record_shapes=True, with_flops=True) as p:
        F.linear(x, w, b)
    events = {e.name: e for e in p.events()}
    outer, product, turned = (events[f"aten::{name}"] for name in ("linear", "addmm", "t"))
    assert (outer.is_step, product.is_step, turned.is_step) == (False, True, True)
    assert (product.cpu_time_total, turned.cpu_time_total) == (outer.cpu_time_total, 0)
    assert product.flops == 2 * 64**3
    assert p.events().self_cpu_time_total == pytest.approx(outer.cpu_time_total)
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    rows = {row["name"]: row["args"] for row in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if row["ph"] == "X"}
    assert rows["aten::addmm"]["Step"] is True
    assert rows["aten::addmm"]["Input Dims"][:3] == [[64], [64, 64], [64, 64]]
    assert "Step" not in rows["aten::linear"]


def test_a_script_is_looked_at_without_a_change(tmp_path):
    script = tmp_path / "small.py"
    script.write_text("import sys, cresset\nassert sys.argv[1:] == ['--fast']\ncresset.ones(3).cos()\nsys.exit(3)\n")
    text = bottleneck.report(str(script), ["--fast"], rows=4)
    assert "aten::cos" in text
    assert "Ordered by: internal time" in text
    with pytest.raises(FileNotFoundError, match="there is no script"):
        bottleneck.report(str(tmp_path / "none.py"))
