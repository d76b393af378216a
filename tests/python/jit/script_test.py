"""torch.jit.script: functions, classes and modules of Python as TorchScript, saved and loaded."""

import cmath
import enum
import io
import unittest
import zipfile
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union
from typing import List as Row
from typing import Optional as Maybe
from typing import Tuple as Several

import pytest

import cresset as torch
from cresset import nn

X = torch.linspace(-1, 1, 6).reshape(2, 3)


def again(compiled):
    """The same, saved and loaded."""
    file = io.BytesIO()
    torch.jit.save(compiled, file)
    file.seek(0)
    return torch.jit.load(file)


def several(x: torch.Tensor) -> Several[torch.Tensor, Maybe[int]]:
    torch._assert(x.shape[-1] == 3, "three columns")
    y: Row[torch.Tensor] = [x[(Ellipsis, slice(None, 1, None))], x[(0, slice(1, None, None))], x[slice(1)], x[Ellipsis, slice(0, 3, 2)]]
    return torch.cat([t.reshape(-1) for t in y]), y[1].size(0)


def test_generic_types_and_indices_under_the_names_of_generated_programs():
    compiled = torch.jit.script(several)
    for program in (compiled, again(compiled)):
        result, count = program(X)
        assert count == 2
        assert result.equal(torch.cat([X[:, :1].reshape(-1), X[0, 1:], X[:1].reshape(-1), X[:, ::2].reshape(-1)]))
    with pytest.raises(Exception, match="three columns"):
        compiled(X.t())


def together(x: torch.Tensor, y: torch.Tensor) -> List[torch.Tensor]:
    a, b = torch.broadcast_tensors(x, y)
    c, d = torch.meshgrid(x[0], y[0], indexing="ij")
    return [a, b, c, d, torch.cartesian_prod(x[0], y[0]), torch.block_diag(x, y)]


def test_tensors_one_after_another_make_the_list_that_is_asked_for():
    y = torch.ones(1, 3)
    for a, b in zip(again(torch.jit.script(together))(X, y), together(X, y), strict=True):
        assert a.equal(b)


def contracted(x: torch.Tensor, y: torch.Tensor) -> List[torch.Tensor]:
    a = torch.functional.tensordot(x, y, dims=1)
    return [a, torch.functional.tensordot(x, y, ([1], [0]), out=None), torch.functional.tensordot(x, y, [[0, 1], [1, 0]])]


def test_tensordot_takes_every_form_of_dimensions():
    y = torch.arange(6.0).reshape(3, 2)
    for a, b in zip(again(torch.jit.script(contracted))(X, y), contracted(X, y), strict=True):
        assert a.equal(b)


class Path(NamedTuple):
    count: int
    shape: tuple


class Odd(nn.Module):
    paths: List[Any]

    def __init__(self):
        super().__init__()
        self.paths = [Path(1, (2, 3)), Path(2, ())]
        self.helper = lambda n: [n] * 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + len(self.paths)


def test_attributes_that_are_no_torchscript_harm_only_where_they_are_used():
    for program in (torch.jit.script(Odd()), torch.jit.trace(Odd(), X), again(torch.jit.script(Odd()))):
        assert program(X).equal(X + 2)

    class Uses(Odd):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.helper(1)[0]

    with pytest.raises(torch.jit.frontend.NotSupportedError, match="lambda"):
        torch.jit.script(Uses())


def filled(x: torch.Tensor, weight: Optional[torch.Tensor] = None, loud: bool = False) -> torch.Tensor:
    if weight is None:
        if loud:
            raise RuntimeError("a weight is missing")
        weight = torch.full([3], 2.0)
        if x.dim() == 0:
            weight = weight[0]
    return x * weight


def test_a_name_narrowed_by_a_condition_takes_its_own_type_behind_a_raise():
    for program in (torch.jit.script(filled), again(torch.jit.script(filled))):
        assert program(X, None, False).equal(X * 2)
        assert program(X, X, False).equal(X * X)
        with pytest.raises(Exception, match="a weight is missing"):
            program(X, None, True)


class Slices(nn.Module):
    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        return x[..., :2], x.sum(-1, keepdim=True)[:, None]


def test_a_graph_module_of_fx_is_compiled():
    traced = torch.fx.symbolic_trace(Slices())
    assert "typing_Tuple" in traced.code
    for a, b in zip(again(torch.jit.script(traced))(X), Slices()(X), strict=True):
        assert a.equal(b)


def test_an_entry_outside_of_the_folder_is_passed_over():
    file, other = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.script(nn.ReLU()), file)
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(other, "w") as target:
        for entry in source.infolist():
            target.writestr(entry.filename, source.read(entry))
        target.writestr("x", b"")
    assert torch.jit.load(io.BytesIO(other.getvalue()))(X).equal(X.relu())


class Pair(NamedTuple):
    first: torch.Tensor
    count: int = 2


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Shade(enum.Enum):
    GREEN = 2


@torch.jit.script
class Counter:
    def __init__(self, n: int):
        self.n = n
        self.log: List[int] = []

    def add(self, k: int = 1) -> int:
        self.n += k
        self.log.append(k)
        return self.n


def takes(k: int) -> Tuple[int, List[int]]:
    c = Counter(10)
    c.add()
    c.add(k)
    return c.n, c.log


def kind(x: Union[int, str, float]) -> str:
    if isinstance(x, int):
        return "int" + str(x + 1)
    elif isinstance(x, str):
        return "str" + x
    return "float"


def any_of(x: Any) -> int:
    if isinstance(x, torch.Tensor):
        return x.numel()
    if isinstance(x, str):
        return len(x)
    return -1


def doubled(p: Pair, c: Color) -> Pair:
    return Pair(p.first * 2, p.count + c.value)


def containers(d: Dict[str, List[int]], o: Optional[float] = None) -> Tuple[Dict[str, int], List[str], bool]:
    out: Dict[str, int] = {}
    for k, v in d.items():
        out[k] = sum(v)
    return out, [k.upper() + "!" for k in d.keys()], o is None


class Layers(nn.Module):
    k: Final[int]

    def __init__(self):
        super().__init__()
        self.k = 3
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
        self.named = nn.ModuleDict({"a": nn.ReLU(), "n": nn.LayerNorm(3)})
        self.register_buffer("calls", torch.zeros(()))
        self.scale: Optional[float] = 0.5

    def forward(self, x):
        self.calls += 1
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for name, part in self.named.items():
            x = part(x)
            if name == "a":
                x = x * self.k
        scale = self.scale
        return x * scale if scale is not None else x

    @torch.jit.export
    def count(self) -> torch.Tensor:
        return self.calls


def divided(a: int, b: int) -> Tuple[int, int]:
    return a // b, a % b


class Functions(unittest.TestCase):
    def test_division_of_the_least_int_wraps_and_by_zero_is_an_error(self):
        f, least = torch.jit.script(divided), -(2**63)
        self.assertEqual([f(-7, 2), f(7, -2), f(7, -1), f(least, -1)], [(-4, 1), (-4, -1), (-7, 0), (least, 0)])
        with self.assertRaisesRegex(RuntimeError, "division by zero"):
            f(1, 0)

    def check(self, fn, *arguments):
        compiled = torch.jit.script(fn)
        for one in (compiled, again(compiled)):
            for args in arguments:
                self.assertEqual(one(*args), fn(*args))

    def test_unions_and_any_are_told_apart(self):
        self.check(kind, (1,), ("a",), (1.5,))
        self.check(any_of, (X,), ("abc",), (2.5,))

    def test_containers_come_back_from_files(self):
        self.check(containers, ({"a": [1, 2], "b": []}, None), ({}, 0.5))

    def test_objects_of_classes(self):
        self.check(takes, (5,))

    def test_named_tuples_and_enums_are_those_of_python(self):
        result = torch.jit.script(doubled)(Pair(X), Color.GREEN)
        self.assertIs(type(result), Pair)
        self.assertTrue(torch.equal(result.first, X * 2))
        self.assertEqual(result.count, 4)

    def test_a_type_error_shows_the_line(self):
        def wrong(x: int) -> str:
            return x

        with self.assertRaisesRegex(RuntimeError, r"The annotation of the result is str(?s:.*)return x\n.*<--- HERE"):
            torch.jit.script(wrong)

    def test_python_that_is_no_torchscript(self):
        def with_lambda(x):
            return (lambda y: y)(x)

        def with_try(x: int) -> int:
            try:
                return x
            except Exception:
                return 0

        for fn in (with_lambda, with_try):
            with self.assertRaises(torch.jit.frontend.NotSupportedError):
                torch.jit.script(fn)

    def test_arguments_are_checked_against_the_signature(self):
        def scaled(x: torch.Tensor, n: int = 2) -> torch.Tensor:
            return x * n

        s = torch.jit.script(scaled)
        self.assertTrue(torch.equal(s(n=3, x=X), X * 3))
        for call in (lambda: s(1, 2), lambda: s(X, 1.5), lambda: s(), lambda: s(X, 1, 2), lambda: s(X, z=1)):
            with self.assertRaisesRegex(RuntimeError, "scaled"):
                call()

    def test_gradients_are_those_of_eager_mode(self):
        def f(x: torch.Tensor, n: int) -> torch.Tensor:
            for i in range(n):
                x = x.sin() if i % 2 == 0 else x * 2
            return x.sum()

        for one in (f, torch.jit.script(f)):
            x = X.clone().requires_grad_()
            one(x, 3).backward()
            if one is f:
                expected = x.grad
        self.assertTrue(torch.equal(x.grad, expected))


class Modules(unittest.TestCase):
    def test_functions_that_call_each_other_twice_are_refused_in_time(self):
        texts = ["def f0(x: Tensor) -> Tensor:\n  return x + 1\n", *(f"def f{i}(x: Tensor) -> Tensor:\n  return f{i - 1}(f{i - 1}(x))\n" for i in range(1, 41))]
        unit = torch.jit.CompilationUnit("".join(texts))
        with self.assertRaisesRegex(RuntimeError, "expected at most 131072 nodes"):
            unit.f40(torch.ones(1))
        self.assertEqual(unit.f10(torch.ones(1)).item(), 1025)

    def test_containers_are_unrolled_and_state_is_shared(self):
        torch.manual_seed(0)
        m = Layers()
        s = torch.jit.script(m)
        expected = Layers()
        expected.load_state_dict(m.state_dict())
        self.assertTrue(torch.allclose(s(X), expected(X)))
        self.assertEqual(m.calls.item(), 1)  # the buffer is the module's own
        self.assertEqual(s.count().item(), 1)
        loaded = again(s)
        self.assertTrue(torch.allclose(loaded(X), expected(X)))
        self.assertEqual([n for n, _ in loaded.named_parameters()], [n for n, _ in m.named_parameters()])

    def test_frozen_modules_hold_constants(self):
        m = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval()
        m[1].running_mean.copy_(torch.tensor([0.3, -0.2]))
        x = torch.randn(2, 1, 5, 5)
        f = torch.jit.freeze(torch.jit.script(m))
        self.assertEqual(list(f.state_dict()), [])
        self.assertNotIn("batch_norm", f.code)
        for one in (f, again(f)):
            self.assertTrue(torch.allclose(one(x), m(x), atol=1e-6))
        with self.assertRaisesRegex(RuntimeError, "trains"):
            torch.jit.freeze(torch.jit.script(m.train()))

    def test_what_python_must_run_cannot_be_saved(self):
        class Calls(nn.Module):
            def forward(self, x):
                return self.python(x) + 1

            @torch.jit.ignore
            def python(self, x: torch.Tensor) -> torch.Tensor:
                return x * len([c for c in "abc" if c != "b"])

        s = torch.jit.script(Calls())
        self.assertTrue(torch.equal(s(X), X * 2 + 1))
        with self.assertRaisesRegex(RuntimeError, "Python function"):
            again(s)

    def test_operators_defined_in_python(self):
        library = torch.library.Library("script_test", "DEF")
        library.define("shifted(Tensor x, int[] n, float? a=None, *, ScalarType? dtype=None) -> (Tensor, Tensor[])")
        library.impl("shifted", lambda x, n, a=None, dtype=None: (x.to(dtype or x.dtype) + (a or 1), [x] * len(n)), "CompositeImplicitAutograd")

        @torch.library.custom_op("script_test::scaled", mutates_args=())
        def scaled(x: torch.Tensor, k: int = 2) -> torch.Tensor:
            return x * k

        def f(x: torch.Tensor):
            y, listed = torch.ops.script_test.shifted(x, [1, 2, 3], dtype=torch.float64)
            return y, len(listed), torch.ops.script_test.scaled(x, 3), torch.ops.script_test.scaled(x)

        y, n, three, two = torch.jit.script(f)(X)
        self.assertTrue(y.dtype == torch.float64 and torch.equal(y, X.double() + 1) and n == 3)
        self.assertTrue(torch.equal(three, X * 3) and torch.equal(two, X * 2))

    def test_members_of_enums_are_iterated_and_go_into_loaded_programs(self):
        @torch.jit.script
        def values() -> List[int]:
            return [c.value for c in Color]

        @torch.jit.script
        def name_of(c: Color) -> str:
            return c.name

        self.assertEqual(values(), [1, 2])
        self.assertEqual(again(name_of)(Color.GREEN), "GREEN")
        with self.assertRaisesRegex(RuntimeError, "Expected a value of type"):
            again(name_of)(Shade.GREEN)

    def test_complex_functions(self):
        @torch.jit.script
        def f(z: complex) -> Tuple[complex, float]:
            return cmath.sqrt(z) + cmath.exp(z) * cmath.sin(z), cmath.phase(z)

        z = 1.5 - 2j
        self.assertAlmostEqual(f(z)[0], cmath.sqrt(z) + cmath.exp(z) * cmath.sin(z))
        self.assertAlmostEqual(f(z)[1], cmath.phase(z))

    def test_new_dimensions_behind_an_ellipsis(self):
        @torch.jit.script
        def f(x):
            return x[..., None], x[..., None, 0], x[None, ..., 0, None], x[0, ..., None, :]

        for made, expected in zip(f(X), (X[..., None], X[..., None, 0], X[None, ..., 0, None], X[0, ..., None, :])):
            self.assertTrue(made.shape == expected.shape and torch.equal(made, expected))

    def test_properties_are_set_before_they_are_read(self):
        class Doubled(nn.Module):
            def __init__(self):
                super().__init__()
                self.n = 1

            @property
            def twice(self) -> int:
                return self.n * 2

            @twice.setter
            def twice(self, v: int) -> None:
                self.n = v

            def forward(self, x):
                self.twice = 5
                return x * self.twice

        self.assertTrue(torch.equal(torch.jit.script(Doubled())(X), X * 10))

    def test_comments_behind_parameters_are_types(self):
        @torch.jit.script
        def f(
            x,  # type: int
            y=2,  # type: int
        ):
            # type: (...) -> List[int]
            return [x, y]

        self.assertEqual((f(1), str(f.schema)), ([1, 2], "f(int x, int y=2) -> int[]"))

    def test_keys_of_module_dicts_are_known(self):
        class Chosen(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleDict({"a": nn.ReLU()})

            def forward(self, x):
                if "b" in self.parts:
                    return self.missing(x)
                return self.parts["a"](x) + int("a" in self.parts)

        self.assertTrue(torch.equal(torch.jit.script(Chosen())(X), torch.relu(X) + 1))

    def test_attributes_keep_their_types(self):
        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.n = 1

            def forward(self, x):
                return x * self.n

        m = torch.jit.script(Counts())
        m.n = 3
        self.assertTrue(torch.equal(m(X), X * 3))
        with self.assertRaisesRegex(RuntimeError, "attribute 'n' of Counts"):
            m.n = "text"
        self.assertEqual(m.n, 3)

    def test_layers_with_texts_of_their_own(self):
        torch.manual_seed(0)
        line, image, volume = torch.randn(1, 2, 6), torch.randn(1, 2, 6, 6), torch.randn(1, 2, 4, 4, 4)
        bags = torch.tensor([1, 2, 0, 4])
        scores = torch.randn(5, 1, 4).log_softmax(2)
        for m, *inputs in (
            (nn.ReflectionPad1d(1), line), (nn.ReflectionPad2d((1, 2, 0, 1)), image), (nn.ReplicationPad3d(1), volume), (nn.CircularPad2d(1), image),
            (nn.ConstantPad2d(1, 2.5), image), (nn.Upsample(scale_factor=2.0), line), (nn.Upsample(scale_factor=(2.0, 1.5), mode="bicubic", align_corners=True), image),
            (nn.Upsample(size=(3, 5), mode="bilinear"), image), (nn.Upsample(scale_factor=2, mode="trilinear"), volume), (nn.UpsamplingNearest2d(size=4), image),
            (nn.Fold((4, 4), (2, 2), stride=2), torch.randn(1, 4, 4)), (nn.Unfold(2, padding=1), image), (nn.EmbeddingBag(5, 3), bags.view(2, 2)),
            (nn.EmbeddingBag(5, 3, mode="sum"), bags, torch.tensor([0, 3]), torch.randn(4)), (nn.EmbeddingBag(5, 3, mode="max", padding_idx=1), bags, torch.tensor([0, 3])),
            (nn.CTCLoss(), scores, torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])),
        ):  # fmt: skip
            scripted = torch.jit.script(m)
            for made in (scripted, again(scripted)):
                self.assertTrue(torch.allclose(made(*inputs), m(*inputs), atol=1e-5), m)

    def test_recurrent_layers(self):
        for m in (nn.LSTM(3, 4, 2), nn.GRU(3, 4, bidirectional=True), nn.RNN(3, 4, batch_first=True)):
            x = torch.randn(5, 2, 3)
            ours, theirs = again(torch.jit.script(m))(x), m(x)
            self.assertTrue(torch.allclose(ours[0], theirs[0], atol=1e-6))

    def test_attention(self):
        m = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
        x = torch.randn(2, 3, 4)
        self.assertTrue(torch.allclose(torch.jit.script(m)(x), m(x), atol=1e-5))

    def test_attention_with_open_places(self):
        x = torch.randn(3, 2, 4)
        masks = [{}, {"attn_mask": torch.ones(3, 3).triu(1).bool()}, {"key_padding_mask": torch.tensor([[False, False, True], [False, True, True]])}]
        for kwargs in ({"add_bias_kv": True}, {"add_zero_attn": True}, {"add_bias_kv": True, "add_zero_attn": True}):
            m = nn.MultiheadAttention(4, 2, **kwargs).eval()
            compiled = again(torch.jit.script(m))
            for mask in masks:
                for need in (True, False):
                    ours, theirs = compiled(x, x, x, need_weights=need, **mask), m(x, x, x, need_weights=need, **mask)
                    self.assertTrue(torch.allclose(ours[0], theirs[0], atol=1e-6), (kwargs, mask, need))
                    self.assertTrue(not need or torch.allclose(ours[1], theirs[1], atol=1e-6), (kwargs, mask))

    def test_embedding_shortens_long_rows(self):
        m = nn.Embedding(5, 3, max_norm=1.0)
        compiled = again(torch.jit.script(m))
        rows = torch.tensor([1, 3])
        self.assertTrue(torch.equal(compiled(rows), m(rows)))
        self.assertLessEqual(float(compiled.weight[rows].norm(dim=1).max()), 1.0001)

        def f(i: torch.Tensor, w: torch.Tensor):
            return torch.nn.functional.embedding(i, w, max_norm=0.5)

        w = torch.ones(4, 3)
        self.assertTrue(torch.equal(torch.jit.script(f)(rows, w.clone()), f(rows, w.clone())))

    def test_equal_modules_share_their_class(self):
        def names(m):
            return [torch.jit.script(p)._info["name"] for p in m.children()]

        first, second, third, wide = names(torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2, bias=False), nn.Linear(2, 3))))
        self.assertEqual(first, second)
        self.assertNotEqual(first, third)
        self.assertNotEqual(first, wide)  # another constant
        apart = torch.jit._builder.create_script_module(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), share_types=False)
        self.assertNotEqual(*names(apart))
        x, m = torch.randn(3, 2), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        self.assertTrue(torch.equal(again(torch.jit.script(m))(x), m(x)))

    def test_transposed_convolutions_of_a_wanted_size(self):
        m = nn.ConvTranspose2d(2, 3, 3, stride=(2, 3), padding=1)
        compiled = again(torch.jit.script(m))
        x = torch.randn(1, 2, 4, 5)
        for size in (None, [7, 13], [8, 15], [1, 3, 8, 14]):
            self.assertTrue(torch.allclose(compiled(x, size), m(x, size), atol=1e-6), size)
        for size in ([9, 13], [7], [6, 13]):
            with self.assertRaisesRegex(Exception, "output_size"):
                compiled(x, size)


@torch.jit.ignore
def in_python(x: torch.Tensor) -> torch.Tensor:
    if float(x.sum()) > 100:
        raise KeyError("too much")
    return x + 1


@torch.jit.script
def double(x: torch.Tensor):
    return x * 2


@torch.jit.script
def endless(n: int) -> int:
    while n > 0:
        n += 1
    return n


class Forks(unittest.TestCase):
    def test_functions_of_python_run_in_forked_calls(self):
        @torch.jit.script
        def f(x):
            parts = [torch.jit.fork(in_python, x) for i in range(8)]
            total = torch.zeros_like(x)
            for p in parts:
                total = total + torch.jit.wait(p)
            return total

        for _ in range(20):
            self.assertTrue(torch.allclose(f(X), 8 * (X + 1)))
        with self.assertRaisesRegex(RuntimeError, "(?s)wait.*HERE.*KeyError.*too much"):
            f(X + 1000)

    def test_futures_reach_python(self):
        @torch.jit.script
        def f(x):
            return torch.jit.fork(double, x)

        future = f(X)
        self.assertIsInstance(future, torch.futures.Future)
        self.assertTrue(torch.equal(future.wait(), X * 2))

    def test_awaitables_run_when_they_are_waited_for(self):
        @torch.jit.script
        def add(xs: List[int]) -> int:
            xs.append(1)
            return len(xs)

        @torch.jit.script
        def f() -> Tuple[int, int]:
            xs: List[int] = []
            a = torch.jit._awaitable(add, xs)
            before = len(xs)
            return before, torch.jit._awaitable_wait(a)

        self.assertEqual(f(), (0, 1))

    def test_profiles_show_functions_and_forked_calls(self):
        @torch.jit.script
        def f(x):
            return torch.jit.wait(torch.jit.fork(double, x)) + 1

        with torch.profiler.profile() as p:
            f(X)
        parents = {e.name: e.cpu_parent and e.cpu_parent.name for e in p.events()}
        self.assertEqual((parents["f"], parents["aten::mul"], parents["aten::add"]), (None, "<forked function>", "f"))


class Limits(unittest.TestCase):
    def test_runs_stop_at_the_limits_of_their_scope(self):
        with torch.jit.limits(instructions=1000), self.assertRaisesRegex(RuntimeError, "1000 instructions"):
            endless(1)
        with torch.jit.limits(trips=50), self.assertRaisesRegex(RuntimeError, "50 trips"):
            endless(1)

        @torch.jit.script
        def grow(n: int) -> int:
            return len([0] * n)

        with torch.jit.limits(memory=1 << 20):
            self.assertEqual(grow(100), 100)
            with self.assertRaisesRegex(torch.OutOfMemoryError, "limit of this run"):
                grow(1 << 24)
            with torch.jit.limits(memory=1 << 40), self.assertRaises(torch.OutOfMemoryError):
                grow(1 << 24)  # an inner scope does not widen the outer one
        self.assertEqual(grow(1 << 17), 1 << 17)


if __name__ == "__main__":
    unittest.main()


def test_a_packed_weight_may_be_a_lazy_negation():
    layer = nn.Linear(256, 512).eval()
    layer.weight = nn.Parameter(torch._neg_view(layer.weight.detach()), requires_grad=False)
    x = torch.randn(64, 256)
    packed = torch.jit.optimize_for_inference(torch.jit.script(layer))
    for _ in range(3):
        torch.testing.assert_close(packed(x), layer(x))


def test_divisions_of_whole_numbers_are_saved_as_they_are_today():
    @torch.jit.script
    def half(x: torch.Tensor):
        return x / 2

    file = io.BytesIO()
    torch.jit.save(half, file)
    file.seek(0)
    assert torch.jit.load(file)(torch.tensor([3, 5])).tolist() == [1.5, 2.5]


@torch.jit.interface
class _Map(nn.Module):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        pass


class _ThroughAnInterface(nn.Module):
    part: _Map

    def __init__(self):
        super().__init__()
        self.part = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.part(x) + 1


def test_a_frozen_module_keeps_a_part_that_is_known_by_its_interface():
    module = _ThroughAnInterface().eval()
    frozen = torch.jit.freeze(torch.jit.script(module))
    assert torch.equal(frozen(X), module(X))


def test_a_map_location_that_is_no_device_is_refused():
    file = io.BytesIO(torch.jit.script(nn.ReLU()).save_to_buffer())
    with pytest.raises(ValueError, match="expected a device, its name or None for map_location, got dict"):
        torch.jit.load(file, map_location={"cpu": "cpu"})


class _Doubles(nn.Module):
    def forward(self, x: torch.Tensor):
        return x * self.factor

    @property
    def factor(self) -> int:
        return 2


def test_a_property_that_stands_after_its_use_is_found():
    assert torch.jit.script(_Doubles())(torch.ones(1)).item() == 2


def test_an_archive_loads_from_a_path_and_its_weights_do_not_follow_the_file(tmp_path):
    path = tmp_path / "linear.pt"
    module = torch.jit.script(torch.nn.Linear(3, 2))
    module.save(path)
    loaded = torch.jit.load(path)
    path.write_bytes(b"\0" * path.stat().st_size)
    assert torch.equal(loaded.weight, module.weight)
    for damaged in (b"", b"PK", b"no archive at all"):
        path.write_bytes(damaged)
        with pytest.raises(RuntimeError, match="is no archive of TorchScript"):
            torch.jit.load(path)


def added(x):
    return x + 1


class Defines(torch.jit.ScriptModule):
    def __init__(self, number):
        super().__init__()
        self.weight = nn.Parameter(torch.full((2,), 2.0))
        self.define(f"""
            def scaled(self, x):
                return torch.mul(self.weight, self.moved(x))
            def number(self) -> int:
                return {number}
        """)
        self.define("def moved(self, x):\n    return added(x)")

    @torch.jit.script_method
    def forward(self, x):
        return self.scaled(x) + self.number()


def test_methods_are_defined_while_an_object_is_made():
    one, two = Defines(1), Defines(2)
    assert (one(torch.ones(2)).tolist(), two(torch.ones(2)).tolist()) == ([5, 5], [6, 6])
    assert (one.number(), two.number(), one.scaled(torch.zeros(2)).tolist()) == (1, 2, [2, 2])
    one.define("def twice(self, x):\n    return 2 * added(x)")
    assert one.twice(torch.ones(1)).item() == 4


class Attributed(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.rate = torch.jit.Attribute(0.5, float)
        self.seen = torch.jit.Attribute([], List[int])
        self.held = torch.jit.Attribute({}, Dict[str, torch.Tensor])
        assert self.rate < 1 and self.seen == [] and self.held == {}

    @torch.jit.script_method
    def forward(self, x):
        self.seen.append(len(self.seen))
        self.held["x"] = x
        return x * self.rate


def test_attributes_are_their_values_while_an_object_is_made():
    module = Attributed()
    assert module(torch.ones(1)).item() == 0.5 and module(torch.ones(1)).item() == 0.5
    assert (module.rate, list(module.seen), list(module.held)) == (0.5, [0, 1], ["x"])
