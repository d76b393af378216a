"""The order of einsum, the default backend of the compiler, and names of devices that are not built in."""

import sys
import types

import pytest

import cresset as torch


@pytest.fixture
def chooser(monkeypatch):
    """A stand-in of opt_einsum that contracts from right to left."""
    asked = []

    def contract_path(equation, *given, shapes, optimize):
        assert shapes
        asked.append((equation, given, optimize))
        return [(n - 2, n - 1) for n in range(len(given), 1, -1)], None

    module = types.ModuleType("opt_einsum")
    module.contract_path = contract_path
    monkeypatch.setitem(sys.modules, "opt_einsum", module)
    settings = torch.backends.opt_einsum
    settings.get_opt_einsum.cache_clear()
    yield asked
    settings.get_opt_einsum.cache_clear()


def test_einsum_asks_opt_einsum_for_the_order(chooser):
    a, b, c = torch.randn(2, 3), torch.randn(3, 4), torch.randn(4, 5)
    expected = torch.einsum("ij,jk->ik", torch.einsum("ij,jk->ik", a, b), c)
    with torch.backends.opt_einsum.flags(enabled=True, strategy="greedy"):
        assert torch.allclose(torch.einsum("ij,jk,kl->il", a, b, c), expected, atol=1e-5)
        torch.einsum("ij,jk->ik", a, b)  # has one order
    assert chooser == [("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5)), "greedy")]
    with torch.backends.opt_einsum.flags(enabled=False):
        torch.einsum("ij,jk,kl->il", a, b, c)
    assert len(chooser) == 1


def test_without_the_package_the_order_cannot_be_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "opt_einsum", None)
    settings = torch.backends.opt_einsum
    settings.get_opt_einsum.cache_clear()
    try:
        assert not settings.is_available()
        with pytest.raises(ValueError, match="enabled: got True, but the package opt_einsum is not installed"):
            settings.set_flags(True)
        with pytest.raises(ValueError, match="expected one of auto, greedy, optimal, got 'best'"):
            settings.strategy = "best"
    finally:
        settings.get_opt_einsum.cache_clear()


def test_the_backend_of_compile_where_none_is_named():
    called = []

    def mine(graph, example_inputs):
        called.append(graph)
        return graph

    torch.compiler.set_default_backend(mine)
    try:
        assert torch.compiler.get_default_backend() is mine
        assert torch.compile(lambda x: x * 3)(torch.ones(1)).tolist() == [3]
        assert len(called) == 1
    finally:
        torch.compiler.set_default_backend(None)
    assert torch.compiler.get_default_backend() == "inductor"
    with pytest.raises(TypeError, match="got int"):
        torch.compiler.set_default_backend(3)


def test_cuda_refuses_with_one_error():
    q = torch.ones(1, 1, 2, 4)
    params = torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, False, True)
    assert not torch.backends.cuda.can_use_efficient_attention(params) and params.enable_gqa
    with pytest.warns(UserWarning, match="no CUDA device"):
        torch.backends.cuda.can_use_cudnn_attention(params, debug=True)
    for call in (torch.cuda.FloatStorage, torch.cuda.MemPool, torch.cuda.nccl.version, torch.cuda.memory_usage, torch.cuda.Stream.query,
                 torch.sparse.SparseSemiStructuredTensor, lambda: torch.sparse.to_sparse_semi_structured(q)):  # fmt: skip
        with pytest.raises(RuntimeError, match="not compiled with CUDA enabled"):
            call()
    with pytest.raises(RuntimeError, match="there is no CUDA device"):
        torch.backends.cuda.cufft_plan_cache.max_size = 3
    with pytest.raises(torch.cuda.CudaError, match="100"):
        torch.cuda.check_error(100)


def test_generators_of_the_cpu_have_no_offset():
    g = torch.Generator()
    for call in (g.get_offset, lambda: g.set_offset(1)):
        with pytest.raises(RuntimeError, match="no offset"):
            call()
    for call in (g.graphsafe_get_state, lambda: g.graphsafe_set_state(g)):
        with pytest.raises(NotImplementedError, match="get_state"):
            call()
