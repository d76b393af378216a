"""Reports of compiled functions."""

import xml.etree.ElementTree

import pytest

import cresset as torch
from cresset import nn


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def test_graphs_breaks_kernels_and_bytes():
    def f(x):
        x = (x.exp() * 2 + x).tanh()
        torch._dynamo.graph_break()
        return x @ x

    compiled = torch.compile(f)
    compiled(torch.ones(64, 64))
    told = torch.compiler.report(compiled)
    assert len(told.graphs) == 2 and len(told.breaks) == 1
    first, second = (graph.parts[0] for graph in told.graphs)
    size = 64 * 64 * 4
    assert (first.num_operators, first.bytes_before, first.bytes_after) == (4, 9 * size, 2 * size)
    assert len(first.rows) == 1 and len(first.rows[0].operators) == 4 and 0 < first.rows[0].limit and 0 < first.rows[0].seconds
    assert [row.flops for row in second.rows] == [2 * 64**3]
    text = str(told)
    assert text.startswith("2 graphs, 1 break\n") and "graph_break" in text and "1 fused kernels of 4; 147.5 kB to move, 32.8 kB fused" in text


def test_backward_is_a_part_of_its_own():
    net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8))
    compiled = torch.compile(net)
    compiled(torch.ones(16, 32)).sum().backward()
    (graph,) = torch.compiler.report(compiled).graphs
    assert [part.name for part in graph.parts] == ["forward", "backward"] and all(part.rows for part in graph.parts)


def test_random_numbers_are_left_as_they_were():
    compiled = torch.compile(lambda x: torch.rand_like(x) + x)
    compiled(torch.ones(1024))
    state = torch.get_rng_state()
    torch.compiler.report(compiled)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_drawing_is_svg(tmp_path):
    compiled = torch.compile(lambda x: (x < 2) & (x.exp() > 1))
    compiled(torch.ones(4096))
    file = tmp_path / "report.svg"
    torch.compiler.report(compiled).svg(file)
    root = xml.etree.ElementTree.parse(file).getroot()
    assert root.tag.endswith("svg") and len(root.findall("{http://www.w3.org/2000/svg}rect")) >= 2


def test_functions_that_are_not_compiled_are_refused():
    with pytest.raises(TypeError, match="torch.compile gave"):
        torch.compiler.report(len)


def test_operators_that_refuse_made_up_numbers_have_no_row():
    compiled = torch.compile(lambda x, y: nn.functional.binary_cross_entropy(x * 2 + 1, y) + x.sum())
    compiled(torch.full((16, 32), -0.3), torch.ones(16, 32))
    (graph,) = torch.compiler.report(compiled).graphs
    names = [row.name for row in graph.parts[0].rows]
    assert names and not any("binary_cross_entropy" in name for name in names)
