"""Each construct of a program is captured, and broken off, alike in all versions of Python, whose bytecodes differ."""

import gc
import inspect
import sys
import threading
import traceback
import unittest
import weakref

from cresset._dynamo.testing import CompileCounter

import cresset as torch

X = torch.linspace(-1, 1, 6).reshape(2, 3)


@torch.compiler.disable
def outside(x):
    return x * 2


@torch.compiler.disable
def failing(x):
    raise KeyError("k")


class Base:
    scale = 3

    def run(self, x, y=1):
        return x * self.scale + y

    @property
    def size(self):
        return 2


class Derived(Base):
    def run(self, x, y=2):
        return super().run(x, y=y) + super().size + super(Derived, self).scale

    def taken(self, x):
        method = super().run
        return method(x)


class Case(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.counter = CompileCounter()

    def same(self, function, *args, graphs=None):
        """The function gives the same compiled, twice, in one whole graph or in so many parts."""
        compiled = torch.compile(function, backend=self.counter, fullgraph=graphs is None)
        for _ in range(2):
            expected, got = function(*args), compiled(*args)
            for a, b in zip(expected if isinstance(expected, tuple) else (expected,), got if isinstance(got, tuple) else (got,), strict=True):
                self.assertTrue(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b, f"{a} {b}")
        self.assertEqual(self.counter.frame_count, graphs or 1)


class Constructs(Case):
    def test_super(self):
        self.same(lambda x: Derived().run(x) + Derived().taken(x), X)

    def test_slices(self):
        def f(x, items):
            items = items[:]
            items[1:2] = [x[0:1], 5]
            x = x.clone()
            x[:, 1:] = items[2]
            return x + items[1] + len(items[1:])

        self.same(f, X, [1, 2, 3])

    def test_comparisons(self):
        def f(x, a, b):
            low = 1 < a < b
            return x + (not a < b) + low + (1 if a <= b else 2) + (a is b) + (a not in (b,)) + (3 if not (a and b) else 4)

        self.same(f, X, 2, 3)

    def test_texts(self):
        self.same(lambda x, a: (x + 1, f"{a} {a!r:>4} {a!s:{a}} {{}} {x.dim()=}", f"{1.5:.2f}"), X, 7)

    def test_comprehensions_share_and_restore_variables(self):
        def f(x):
            i = 5
            parts = [x * i for i in range(3)]
            table = {i: [j + i for j in range(i)] for i in range(3)}
            late = [lambda: i * x for i in range(3)]
            marks = {i for i in range(3) if i != 1}
            return sum(parts) + i + len(table[2]) + late[0]() + len(marks) + sum(k * k for k in range(i))

        self.same(f, X)

    def test_functions_made_inside(self):
        def f(x, n):
            def g(y: int, z=n, *, w=2) -> int:
                nonlocal n
                n += 1
                return y * z + w + n + x

            return g(x) + g(x, w=3) + n + len(g.__annotations__) + g.__defaults__[0] + g.__kwdefaults__["w"]

        self.same(f, X, 2)

    def test_calls(self):
        def g(*args, a=1, **words):
            return sum(args) + a + sum(words.values())

        def f(x):
            args, words = (x, 2), {"b": 4}
            return g(x, 1, a=2, c=3) + g(*args, **words) + g(*args, a=x, **words, d=1) + dict(a=x)["a"]

        self.same(f, X)

    def test_variables_that_may_be_unbound(self):
        def f(x, flag):
            if flag:
                y = x + 1
            try:
                z = y * 2
            except UnboundLocalError:
                z = x * 3
            del z
            try:
                return z  # noqa: F821
            except UnboundLocalError:
                return x - 1

        self.same(f, X, False)
        self.counter.clear()
        self.same(f, X, True)

    def test_unpacking(self):
        def f(x):
            a, *b = x, 1, 2
            (c, d), e = b, a
            c, d, e = d, e, c
            return a + c + d + e

        self.same(f, X)

    def test_generators(self):
        def inner(x):
            got = yield x
            yield got
            return x + 3

        def f(x):
            def outer():
                last = yield from inner(x)
                yield last

            g = outer()
            first = next(g)
            second = g.send(x * 5)
            third = next(g)
            h = inner(x)
            next(h)
            h.close()
            return first + second + third

        self.same(f, X)

    def test_errors_and_contexts(self):
        def f(x):
            try:
                try:
                    raise ValueError("a")
                except ValueError as error:
                    x = x + len(error.args)
                    raise KeyError from error
                finally:
                    x = x * 2
            except (KeyError, TypeError):
                x = x + 1
            else:
                x = x + 100
            with torch.no_grad():
                x = x + 1
            assert x is not None, "never"
            return x

        self.same(f, X)

    def test_loops(self):
        def f(x, n):
            while n > 0:
                n -= 1
                if n == 3:
                    continue
                if n == 1:
                    break
                x = x + n
            else:
                x = x * 100
            for i, item in enumerate(reversed([1, 2])):
                x = x * item + i
            else:
                x = x - 1
            return x if (m := n) is not None else x + m

        self.same(f, X, 6)

    def test_newer_syntax(self):
        if sys.version_info < (3, 12):
            self.skipTest("generic functions came with Python 3.12")
        space = {}
        exec("def f(x):\n    def g[T](y: T) -> T:\n        return y * 2\n    return g(x)", space)
        compiled = torch.compile(space["f"], backend=self.counter)
        for _ in range(2):
            self.assertTrue(torch.equal(compiled(X), X * 2))


class Breaks(Case):
    def test_within_comprehensions(self):
        def f(x):
            i = 7
            x = x.sin()
            parts = [outside(x) * i for i in range(3)]
            x = x + sum(parts)
            table = {k: outside(v) for k, v in (("a", x), ("b", 2))}
            return x + table["a"] + i

        self.same(f, X, graphs=3)

    def test_within_comprehensions_of_comprehensions(self):
        def f(x):
            return sum([sum([outside(x + i) for i in range(j)]) for j in range(1, 3)]) + x.sin()

        self.same(f, X, graphs=1)  # behind it

    def test_on_truth(self):
        def f(x):
            y = x + 1 if x.sum() > 0 else x - 1
            if not y.sum() < 0 and x.mean() < 5:
                y = y * 2
            return y + (x.max() or 2)

        compiled = torch.compile(f, backend=self.counter)
        for x in (X + 1, X - 1, X + 1, X):
            self.assertTrue(torch.equal(compiled(x), f(x)))

    def test_at_operators(self):
        class Odd:
            def __getitem__(self, key):
                torch._dynamo.graph_break()
                return len(range(*key.indices(10)))

            def __setitem__(self, key, value):
                torch._dynamo.graph_break()
                self.value = value

            def __enter__(self):
                torch._dynamo.graph_break()
                return 4

            def __exit__(self, *error):
                torch._dynamo.graph_break()

            def __add__(self, other):
                torch._dynamo.graph_break()
                return other + 1

            def __lt__(self, other):
                torch._dynamo.graph_break()
                return True

            def __format__(self, spec):
                torch._dynamo.graph_break()
                return "odd" + spec

            def __neg__(self):
                torch._dynamo.graph_break()
                return 6

        def f(x, odd):
            x = x + odd[1:4]
            odd[2:3] = 5
            x = x + odd.value
            with odd as four:
                x = x + four
            x = (odd + x) * 2
            if odd < 3:
                x = x + 1
            text = f"{odd:>3} {odd}"
            return x + (-odd), text

        compiled = torch.compile(f, backend=self.counter)
        for _ in range(3):
            (a, s), (b, t) = compiled(X, Odd()), f(X, Odd())
            self.assertTrue(torch.equal(a, b))
            self.assertEqual(s, t)

    def test_handlers_of_the_same_frame(self):
        def f(x):
            y = x + 1
            try:
                y = failing(y)
            except KeyError as error:
                y = y * len(error.args)
            try:
                y = y + outside(y)
            finally:
                y = y - 1
            return y.cos()

        compiled = torch.compile(f, backend=self.counter)
        for _ in range(3):
            self.assertTrue(torch.equal(compiled(X), f(X)))

    def test_tracebacks_show_the_function(self):
        def f(x):
            y = x + 1
            z = failing(y)
            return z + 1

        compiled = torch.compile(f, backend=self.counter)
        for _ in range(2):
            try:
                compiled(X)
            except KeyError as error:
                frame, line = next((each, n) for each, n in traceback.walk_tb(error.__traceback__) if each.f_code.co_name == "f")
            self.assertIs(frame.f_code, f.__code__)
            self.assertEqual(line, f.__code__.co_firstlineno + 2)
            self.assertTrue(torch.equal(frame.f_locals["y"], X + 1))

    def test_frames_that_are_kept(self):
        kept = []

        @torch.compiler.disable
        def keep():
            kept.append(sys._getframe(2))
            kept.append([one.function for one in inspect.stack(0)][:3])

        def f(x):
            y = x + 1
            keep()
            z = y * 2
            keep()
            return z + 1

        compiled = torch.compile(f, backend=self.counter)
        for _ in range(2):
            kept.clear()
            self.assertTrue(torch.equal(compiled(X), (X + 1) * 2 + 1))
            self.assertEqual(kept[1], ["keep", "plain", "f"])
            self.assertIs(kept[0], kept[2])
            self.assertIs(kept[0].f_code, f.__code__)
            self.assertTrue(torch.equal(kept[0].f_locals["z"], (X + 1) * 2))


class Frames(Case):
    def test_values_live_no_longer_than_the_frame(self):
        def f(x):
            y = outside(x + 1)
            return y.sum() + 1

        compiled = torch.compile(f, backend=self.counter)
        for _ in range(3):
            x = torch.ones(3)
            alive = weakref.ref(x)
            compiled(x)
            del x
            gc.collect()
            self.assertIsNone(alive())

    def test_many_breaks_and_deep_calls(self):
        def f(x, n):
            y = x + 1
            outside(y)
            return y if n == 0 else compiled(y, n - 1)

        compiled = torch.compile(f, backend=self.counter)
        for _ in range(3000):
            compiled(X, 0)
        self.assertTrue(torch.equal(compiled(X, 20), f(X, 0) + 20))
        with self.assertRaises(RecursionError):
            compiled(X, 100000)
        self.assertTrue(torch.equal(compiled(X, 3), X + 4))

    def test_functions_that_return_constants_alone(self):
        seen = []

        def f(x):
            seen.append(x + 1)

        def g(x):
            seen.append(x + 2)
            raise ValueError(3)

        def h(x, n):
            y = x + 1
            if n:
                return 1
            seen.append(y)
            return None

        for _ in range(2):
            self.assertIsNone(torch.compile(f, backend=self.counter)(X))
            self.assertRaises(ValueError, torch.compile(g, backend=self.counter), X)
            self.assertEqual(torch.compile(h, backend=self.counter)(X, 1), 1)
            self.assertIsNone(torch.compile(h, backend=self.counter)(X, 0))
        self.assertEqual(len(seen), 6)

    def test_threads(self):
        def f(x):
            y = outside(x + 1)
            return y.sin() + [outside(y) for _ in range(2)][1]

        compiled = torch.compile(f, backend="eager")
        results = []

        def work():
            results.extend(torch.equal(compiled(X), f(X)) for _ in range(50))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [True] * 150)

    def test_traced_by_a_debugger(self):
        def f(x):
            y = x + 1
            outside(y)
            return y * 2

        compiled = torch.compile(f, backend=self.counter)
        lines = []

        def tracer(frame, event, arg):
            lines.append(frame.f_lineno)
            return tracer

        before = sys.gettrace()
        compiled(X)
        sys.settrace(tracer)
        try:
            results = [compiled(X) for _ in range(3)]
        finally:
            sys.settrace(before)
        self.assertTrue(all(torch.equal(result, f(X)) for result in results))
        self.assertTrue(torch.equal(compiled(X), f(X)))


if __name__ == "__main__":
    unittest.main()
