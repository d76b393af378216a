"""The order of einsum, the default backend of the compiler, and names of devices that are not built in."""

import sys
import types

import pytest

import cresset as torch


@pytest.fixture
def chooser(monkeypatch):
    """A stand-in of opt_einsum that contracts from right to left."""
    settings, asked = torch.backends.opt_einsum, []  # loaded while the stand-in is not there yet

    def contract_path(equation, *given, shapes, optimize):
        assert shapes
        asked.append((equation, given, optimize))
        return [(n - 2, n - 1) for n in range(len(given), 1, -1)], None

    module = types.ModuleType("opt_einsum")
    module.contract_path = contract_path
    paths = types.ModuleType("opt_einsum.paths")
    paths.get_path_fn = {"auto-hq": contract_path}.__getitem__
    monkeypatch.setitem(sys.modules, "opt_einsum", module)
    monkeypatch.setitem(sys.modules, "opt_einsum.paths", paths)
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


def test_strategies_of_the_package_are_taken(chooser):
    settings = torch.backends.opt_einsum
    with settings.flags(enabled=True, strategy="auto-hq"):
        assert settings.strategy == "auto-hq"
        torch.einsum("i,i,i->", *[torch.ones(2)] * 3)
    assert chooser[0][-1] == "auto-hq"
    for wrong in ("none", 3):
        with pytest.raises(ValueError, match="another strategy of opt_einsum"):
            settings.set_flags(_strategy=wrong)


def test_without_the_package_the_order_cannot_be_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "opt_einsum", None)
    settings = torch.backends.opt_einsum
    settings.get_opt_einsum.cache_clear()
    try:
        assert not settings.is_available()
        with pytest.raises(ValueError, match="enabled: got True, but the package opt_einsum is not installed"):
            settings.set_flags(True)
        with pytest.raises(ValueError, match="another strategy of opt_einsum, got 'best'"):
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


@pytest.fixture
def precisions():
    """The settings of fp32_precision as they are at the start, and as they were afterwards."""
    from cresset.backends import _precision

    chosen, unless = dict(_precision._chosen), dict(_precision._unless_chosen)
    _precision._chosen.clear()
    _precision._unless_chosen.update({("cuda", "conv"): "tf32", ("cuda", "rnn"): "tf32"})
    yield torch.backends
    _precision._chosen.clear()
    _precision._chosen.update(chosen)
    _precision._unless_chosen.clear()
    _precision._unless_chosen.update(unless)


def read(backends):
    places = (backends, backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn, backends.mkldnn, backends.mkldnn.matmul)
    return " ".join(place.fp32_precision for place in places)


def test_the_nearest_choice_of_precision_counts(precisions):
    b = precisions
    assert read(b) == "none none tf32 tf32 none none"
    b.fp32_precision = "ieee"
    assert read(b) == "ieee ieee ieee ieee ieee ieee"
    b.cudnn.fp32_precision = "tf32"
    b.cudnn.rnn.fp32_precision = "ieee"
    assert read(b) == "ieee tf32 tf32 ieee ieee ieee"
    b.cudnn.fp32_precision = b.cudnn.rnn.fp32_precision = "none"
    with b.flags(fp32_precision="bf16"):  # CUDA's libraries have none
        assert read(b) == "bf16 none none none bf16 bf16"
    b.fp32_precision = "none"
    assert read(b) == "none none tf32 none none none"
    for place, value in ((b.cuda.matmul, "bf16"), (b, "half"), (b.mkldnn.conv, "x")):
        with pytest.raises(RuntimeError, match="fp32_precision of .* is one of none, ieee"):
            place.fp32_precision = value
    with pytest.raises(AttributeError, match="no setting fp32_prescision"):
        b.cudnn.conv.fp32_prescision = "ieee"


def test_the_older_settings_choose_the_same_precisions(precisions):
    b = precisions
    b.cuda.matmul.allow_tf32 = True
    assert b.cuda.matmul.fp32_precision == "tf32" and b.cuda.matmul.allow_tf32
    b.cudnn.allow_tf32 = False
    assert (b.cudnn.conv.fp32_precision, b.cudnn.rnn.fp32_precision, b.cudnn.allow_tf32) == ("none", "none", False)
    b.cudnn.allow_tf32 = True
    assert b.cudnn.conv.fp32_precision == "tf32"
    for name, cuda, cpu in (("medium", "tf32", "bf16"), ("high", "tf32", "tf32"), ("highest", "ieee", "ieee")):
        torch.set_float32_matmul_precision(name)
        assert (b.cuda.matmul.fp32_precision, b.mkldnn.matmul.fp32_precision) == (cuda, cpu)
    a = torch.tensor([[1.0 + 2**-20]])
    torch.set_float32_matmul_precision("medium")
    assert (a @ torch.ones(1, 1)).item() == a.item()  # computed in float32 all the same
    torch.set_float32_matmul_precision("highest")


def test_the_preferred_libraries_are_members_of_enumerations():
    cuda = torch.backends.cuda
    before = cuda.preferred_linalg_library("default")
    assert str(before) == "_LinalgBackend.Default"
    assert cuda.preferred_linalg_library("MAGMA").value == 2
    assert cuda.preferred_linalg_library(before) is before
    with pytest.raises(RuntimeError, match="expected one of default, cublas"):
        cuda.preferred_blas_library("mkl")


def test_no_engine_for_quantised_tensors_is_built_in():
    quantized = torch.backends.quantized
    assert quantized.engine == "none" and quantized.engine in quantized.supported_engines
    quantized.engine = "none"
    with pytest.raises(RuntimeError, match="'fbgemm' is not supported"):
        quantized.engine = "fbgemm"
