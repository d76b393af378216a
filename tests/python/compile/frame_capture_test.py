"""Frames are captured as graphs, which compute what the functions compute."""

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import math
import typing
import unittest

from cresset._dynamo.testing import CompileCounter

import cresset as torch
from cresset import nn
from cresset.nn import functional as F

X = torch.linspace(-1, 1, 6).reshape(2, 3)


class Case(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def same(self, a, b):
        if isinstance(a, torch.Tensor):
            self.assertTrue(torch.equal(a, b), f"{a} {b}")
        elif isinstance(a, (list, tuple)):
            self.assertIs(type(a), type(b))
            self.assertEqual(len(a), len(b))
            for x, y in zip(a, b, strict=True):
                self.same(x, y)
        elif isinstance(a, dict):
            self.assertEqual(list(a), list(b))
            for key in a:
                self.same(a[key], b[key])
        else:
            self.assertEqual(a, b)

    def whole(self, function, *args, graphs=1):
        """The function compiles as one graph, twice used, and gives what it gives as it is."""
        counter = CompileCounter()
        compiled = torch.compile(function, backend=counter, fullgraph=True)
        for _ in range(2):
            self.same(function(*args), compiled(*args))
        self.assertEqual(counter.frame_count, graphs)
        return counter


class Functions(Case):
    def test_a_pointwise_function_is_one_graph(self):
        self.assertEqual(self.whole(lambda x, y: torch.relu(x) + y.sigmoid() * 2, X, X).op_count, 4)

    def test_operators_are_functions_of_operator(self):
        seen = []

        def backend(module, inputs):
            seen.extend(node.target for node in module.graph.nodes if node.op.startswith("call"))
            return module.forward

        torch.compile(lambda x: (-x @ x.t())[0] + 1, backend=backend)(X)
        self.assertEqual([getattr(t, "__name__", t) for t in seen], ["neg", "t", "matmul", "getitem", "add"])

    def test_backends_get_a_graph_module_and_inputs(self):
        got = {}

        def backend(module, inputs):
            got.update(type=type(module).__name__, shapes=[tuple(i.shape) for i in inputs])
            return module.forward

        torch.compile(lambda x, y: x + y, backend=backend)(X, X[0])
        self.assertEqual(got, {"type": "GraphModule", "shapes": [(2, 3), (3,)]})

    def test_results_keep_their_containers(self):
        self.whole(lambda x: {"a": [x + 1, (x, 3, None)], "b": "text"}, X)

    def test_defaults_and_keywords(self):
        def f(x, *args, k=2, **rest):
            return x * k + sum(args) + rest.get("z", 0)

        self.whole(lambda x: f(x) + f(x, 1, 2, k=3, z=4), X)

    def test_methods_partials_and_callables(self):
        class Scale:
            def __init__(self, k):
                self.k = k

            def by(self, x):
                return x * self.k

            def __call__(self, x):
                return x - self.k

        scale = Scale(3)
        self.whole(scale.by, X)
        self.whole(scale, X)
        self.whole(functools.partial(torch.add, X), X)

    def test_inference_gives_the_input_itself_where_it_is_the_result(self):
        out = torch.compile(lambda x: (x, x + 1), backend="eager")(X)
        self.assertIs(out[0], X)


class Python(Case):
    def test_generators_and_comprehensions(self):
        def squares(x):
            for i in range(3):
                got = yield x * i
                assert got is None

        self.whole(lambda x: sum(squares(x)) + sum([x * i for i in range(4) if i % 2]), X)

    def test_generators_delegate_and_return(self):
        def inner(x):
            yield x
            return x + 1

        def outer(x):
            last = yield from inner(x)
            yield last * 2

        self.whole(lambda x: list(outer(x)), X)

    def test_contexts_enter_and_leave(self):
        @contextlib.contextmanager
        def scaled(log):
            log.append("in")
            try:
                yield 3
            finally:
                log.append("out")

        def f(x, log):
            with scaled(log) as k:
                y = x * k
            return y, list(log)

        log = []
        out = torch.compile(f, backend="eager", fullgraph=True)(X, log)
        self.same(out, (X * 3, ["in", "out"]))
        self.assertEqual(log, ["in", "out"])

    def test_errors_are_caught_by_handlers(self):
        def f(x, k):
            try:
                if k:
                    raise ValueError("k")
                y = x + 1
            except ValueError:
                y = x * 2
            else:
                y = y + 10
            finally:
                y = y + 100
            return y

        self.whole(lambda x: f(x, True) + f(x, False), X)

    def test_classes_with_inheritance_and_operators(self):
        class Base:
            scale = 2

            def __init__(self, k):
                self.k = k

            def go(self, x):
                return x * self.k

            @property
            def more(self):
                return self.k + 1

        class Sub(Base):
            def go(self, x):
                return super().go(x) + self.scale

            def __add__(self, other):
                return Sub(self.k + other.k)

            def __len__(self):
                return 4

        def f(x):
            s = Sub(3) + Sub(1)
            return s.go(x) + s.more + len(s), isinstance(s, Base), hasattr(s, "none")

        self.whole(f, X)

    def test_data_classes_named_tuples_enums(self):
        @dataclasses.dataclass
        class Pair:
            a: object
            n: int = 2

        Point = collections.namedtuple("Point", "x y")

        class Kind(enum.Enum):
            A = 1

        def f(x):
            pair = Pair(x)
            pair.n += Kind.A.value
            point = Point(x, pair.n)
            return point._replace(y=5).x * point.y, Kind.A.name

        self.whole(f, X)

    def test_objects_made_inside_leave_the_graph(self):
        class Box:
            pass

        def f(x):
            box = Box()
            box.value, box.itself = x + 1, box
            return box

        box = torch.compile(f, backend="eager", fullgraph=True)(X)
        self.assertIs(type(box), Box)
        self.assertIs(box.itself, box)
        self.same(box.value, X + 1)

    def test_closures_share_variables(self):
        def f(x):
            k = 2

            def g(y):
                nonlocal k
                k += 1
                return y * k

            return g(x), g(x), k

        self.whole(f, X)

    def test_functions_made_inside_leave_the_graph(self):
        def f(x):
            y = x + 1
            return lambda z: z * y

        self.same(torch.compile(f, backend="eager", fullgraph=True)(X)(X), X * (X + 1))

    def test_match_statements(self):
        def f(x, k):
            match k:
                case 1:
                    return x + 1
                case [a, b]:
                    return x + a + b
                case {"n": n}:
                    return x * n
            return x - 1

        for k in (1, [1, 2], {"n": 4}, None):
            self.same(torch.compile(f, backend="eager")(X, k), f(X, k))

    def test_the_standard_library(self):
        def f(x):
            pairs = list(itertools.product([1, 2], "a")) + sorted([(2, "b"), (1, "c")], key=lambda p: -p[0])
            total = functools.reduce(lambda a, b: a + b, [1, 2, 3]) + math.floor(2.7) + len(f"{x.shape[0]:>3}")
            return x * total, pairs, max([1, 5]), {**{"a": 1}, "b": 2}

        self.whole(f, X)

    def test_loops_with_else_and_break(self):
        def f(x):
            for i in range(3):
                x = x + i
            else:
                x = x * 2
            while True:
                if x.dim() == 2:
                    break
            return x

        self.whole(f, X)


class Modules(Case):
    def test_a_module_is_one_graph_with_its_parameters_as_inputs(self):
        module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        self.assertEqual(self.whole(module, X).op_count, 3)

    def test_the_compiled_module_is_a_module(self):
        module = nn.Linear(3, 2)
        compiled = torch.compile(module, backend="eager")
        self.assertIsInstance(compiled, nn.Module)
        self.assertEqual(list(compiled.state_dict()), ["_orig_mod.weight", "_orig_mod.bias"])
        self.assertIs(compiled.weight, module.weight)
        compiled.eval()
        self.assertFalse(module.training)

    def test_compile_in_place(self):
        module, counter = nn.Linear(3, 2), CompileCounter()
        module.compile(backend=counter)
        module(X)
        self.assertEqual((counter.frame_count, list(module.state_dict())), (1, ["weight", "bias"]))

    def test_hooks_run(self):
        module = nn.Sequential(nn.Linear(3, 3))
        module[0].register_forward_hook(lambda m, a, o: o * 2)
        module.register_forward_pre_hook(lambda m, a: (a[0] + 1,))
        self.whole(module, X)

    def test_containers_of_modules(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
                self.table = nn.ModuleDict({"a": nn.Tanh()})

            def forward(self, x):
                for i, layer in enumerate(self.layers):
                    x = self.table["a"](layer(x)) + i
                return x + len(self.layers) + sum(p.sum() for p in self.parameters())

        self.whole(Net(), X)

    def test_batch_norm_counts(self):
        module = nn.BatchNorm1d(3)
        compiled = torch.compile(module, backend="aot_eager")
        compiled(X)
        compiled(X)
        self.assertEqual(module.num_batches_tracked.item(), 2)


class Torch(Case):
    def test_gradients(self):
        for backend in ("eager", "aot_eager", "inductor"):
            with self.subTest(backend):
                a, b = (X.clone().requires_grad_() for _ in range(2))
                torch.compile(lambda x: (x.sin() * x.exp()).sum(), backend=backend)(a).backward()
                (b.sin() * b.exp()).sum().backward()
                self.assertTrue(torch.allclose(a.grad, b.grad))

    def test_grad_mode_inside(self):
        def f(x):
            with torch.no_grad():
                y = x * 2
            return y.requires_grad, x * 3 + y

        leaf = X.clone().requires_grad_()
        out = torch.compile(f, backend="eager", fullgraph=True)(leaf)
        self.assertFalse(out[0])
        self.assertTrue(out[1].requires_grad and torch.is_grad_enabled())

    def test_random_numbers_are_those_of_eager_mode(self):
        def f(x):
            return x + torch.rand(2, 3), F.dropout(x, 0.5), torch.randn_like(x)

        for backend in ("eager", "aot_eager", "inductor"):
            with self.subTest(backend):
                compiled = torch.compile(f, backend=backend)
                torch.manual_seed(3)
                compiled(X)
                got = compiled(X)
                torch.manual_seed(3)
                f(X)
                self.same(got, f(X))

    def test_custom_functions_keep_their_backward(self):
        class Odd(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 100

        for backend in ("eager", "aot_eager"):
            leaf = X.clone().requires_grad_()
            torch.compile(lambda x: Odd.apply(x).sum(), backend=backend, fullgraph=True)(leaf).backward()
            self.same(leaf.grad, torch.full((2, 3), 100.0))

    def test_transforms_of_functions(self):
        self.whole(lambda x: (torch.vmap(lambda v: (v * v).sum())(x), torch.func.grad(lambda v: v.sin().sum())(x)), X)

    def test_both_branches_of_cond_are_kept(self):
        compiled = torch.compile(lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)), backend="eager", fullgraph=True)
        for x in (X + 1, X - 1):
            self.same(compiled(x), x.sin() if x.sum() > 0 else x.cos())

    def test_optimizers_step(self):
        for make in (torch.optim.Adam, functools.partial(torch.optim.SGD, momentum=0.9)):
            nets = [nn.Linear(3, 2) for _ in range(2)]
            nets[1].load_state_dict(nets[0].state_dict())
            optimizers = [make(net.parameters(), lr=0.1) for net in nets]
            counter = CompileCounter()
            steps = [torch.compile(optimizers[0].step, backend=counter), optimizers[1].step]
            for _ in range(3):
                for net, optimizer, step in zip(nets, optimizers, steps, strict=True):
                    optimizer.zero_grad()
                    net(X).pow(2).sum().backward()
                    step()
            self.same(list(nets[0].parameters()), list(nets[1].parameters()))
            self.assertGreater(counter.frame_count, 0)

    def test_what_reads_classes_or_says_types_stays_in_the_graph(self):
        class Kind:
            pass

        class Second(Kind):
            pass

        number = typing.TypeVar("number")
        self.whole(lambda x: typing.cast(number, x) + len(Kind.__subclasses__()) + len(Second.mro()), X)

    def test_strides_that_are_powers_of_sizes_are_guarded(self):
        counter = CompileCounter()
        made = torch.compile(lambda x: x + 1, backend=counter, dynamic=True, fullgraph=True)
        for n in (4, 4, 5, 6):
            x = torch.arange(float(n * n * n * 2)).reshape(n, 2, n, n).transpose(0, 1)
            self.same(made(x), x + 1)
        x = torch.arange(600.0).as_strided((3, 2, 3, 3), (150, 40, 10, 1))
        self.same(made(x), x + 1)  # other strides: captured anew

    def test_is_compiling_is_true_inside(self):
        self.same(torch.compile(lambda x: x + (1 if torch.compiler.is_compiling() else 2), backend="eager", fullgraph=True)(X), X + 1)


if __name__ == "__main__":
    unittest.main()
