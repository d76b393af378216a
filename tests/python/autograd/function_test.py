"""Custom functions: both styles of forward, what the context keeps, mistakes, second derivatives, cycles and leaks."""

import gc
import threading
import unittest
import warnings
import weakref

import cresset as torch

Function = torch.autograd.Function


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


def function(forward, backward, **more):
    return type("Made", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward), **more})


class Product(Function):
    @staticmethod
    def forward(ctx, x, y, scale=1):
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return x * y * scale

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * ctx.scale, g * x * ctx.scale, None


class Exp(Function):
    @staticmethod
    def forward(x, k=1):
        return (x * k).exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * ctx.k, None


class Forward(unittest.TestCase):
    def test_context_first(self):
        x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
        out = Product.apply(x, y, 10)
        self.assertEqual(out.tolist(), [30, 80])
        out.sum().backward()
        self.assertEqual((x.grad.tolist(), y.grad.tolist()), ([30, 40], [10, 20]))

    def test_setup_context_with_defaults_and_names(self):
        for call in (lambda x: Exp.apply(x), lambda x: Exp.apply(x, 1), lambda x: Exp.apply(x, k=1)):
            x = leaf(0.0)
            call(x).sum().backward()
            self.assertEqual(x.grad.tolist(), [1])
        with self.assertRaises(TypeError):
            Product.apply(leaf(1.0), leaf(1.0), scale=2)

    def test_forward_is_not_recorded_and_backward_is_where_asked(self):
        seen = []

        def forward(ctx, x):
            seen.append((torch.is_grad_enabled(), (x * 2).requires_grad))
            return x * 2

        def backward(ctx, g):
            seen.append(torch.is_grad_enabled())
            return g * 2

        x = leaf(1.0)
        y = function(forward, backward).apply(x)
        torch.autograd.grad(y.sum(), x, retain_graph=True)
        torch.autograd.grad(y.sum(), x, create_graph=True)
        self.assertEqual(seen, [(False, False), False, True])

    def test_second_derivatives(self):
        x = leaf(0.5)
        (g,) = torch.autograd.grad(Exp.apply(x, 2).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        (i,) = torch.autograd.grad(h.sum(), x)
        e = x.detach().mul(2).exp()
        for got, expected in ((g, 2 * e), (h, 4 * e), (i, 8 * e)):
            self.assertTrue(torch.allclose(got.detach(), expected))

    def test_values_that_are_no_tensors_pass(self):
        seen = []

        def backward(ctx, *grads):
            seen.append([g if g is None else g.tolist() for g in grads])
            return grads[0], None, None

        cls = function(lambda ctx, x, text, nothing: (x * 1, text, nothing, [x * 2], x * 3), backward)
        x = leaf(1.0)
        out = cls.apply(x, "text", None)
        self.assertEqual((out[1], out[2], out[3][0].requires_grad, out[4].requires_grad), ("text", None, False, True))
        out[0].sum().backward()
        self.assertEqual(seen, [[[1], None, None, None, [0]]])
        self.assertEqual(function(lambda ctx, x: 5, lambda ctx, g: g).apply(x), 5)

    def test_nothing_is_recorded_without_need(self):
        with torch.no_grad():
            self.assertIsNone(Exp.apply(leaf(1.0)).grad_fn)
        self.assertIsNone(Exp.apply(torch.ones(2)).grad_fn)


class Context(unittest.TestCase):
    def test_the_node_is_the_context(self):
        kept = []

        def forward(ctx, x):
            kept.append(weakref.ref(ctx))
            ctx.note = "note"
            return x * 2

        y = function(forward, lambda ctx, g: g * 2).apply(leaf(1.0))
        self.assertIs(kept[0](), y.grad_fn)
        self.assertEqual((y.grad_fn.note, y.grad_fn.name(), type(y.grad_fn).__name__), ("note", "MadeBackward", "MadeBackward"))
        self.assertEqual(y.grad_fn.next_functions[0][0].name(), "torch::autograd::AccumulateGrad")
        self.assertIsInstance(y.grad_fn, torch.autograd.graph.Node)
        self.assertEqual(function(forward, lambda ctx, g: g * 2).apply(leaf(1.0)).grad_fn.name(), "MadeBackward")  # the result is gone by then
        self.assertEqual((y * 2).grad_fn.next_functions[0], (y.grad_fn, 0))
        del y
        self.assertIsNone(kept[0]())

    def test_needs_input_grad(self):
        seen = []

        def forward(ctx, x, y, n):
            seen.append(ctx.needs_input_grad)
            return x * y

        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g, None, None

        function(forward, backward).apply(leaf(1.0), torch.ones(1), 3).sum().backward()
        self.assertEqual(seen, [(True, False, False)] * 2)

    def test_the_old_name_of_saved_tensors_warns(self):
        class Old(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad + ctx.saved_variables[0]

        x = torch.ones(1, requires_grad=True)
        with self.assertWarns(DeprecationWarning):
            Old.apply(x).backward()
        self.assertEqual(x.grad.item(), 2)

    def test_saved_tensors_are_checked_and_freed(self):
        x, y = leaf(1.0), leaf(2.0)
        z = x * 1
        out = Product.apply(z, y)
        self.assertIs(out.grad_fn.saved_tensors[1], y)
        z.mul_(2)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace"):
            out.sum().backward()
        out = Product.apply(x, y)
        out.sum().backward()
        for call in (lambda: out.sum().backward(), lambda: out.grad_fn.saved_tensors):
            with self.assertRaisesRegex(RuntimeError, "freed"):
                call()

    def test_none_and_intermediates_can_be_saved(self):
        def forward(ctx, x):
            ctx.save_for_backward(None, x * 3, x)
            return x * 2

        def backward(ctx, g):
            nothing, triple, x = ctx.saved_tensors
            self.assertIsNone(nothing)
            return g * triple

        x = leaf(2.0)
        function(forward, backward).apply(x).sum().backward()
        self.assertEqual(x.grad.tolist(), [6])

    def test_non_differentiable_outputs_get_zeros_or_none(self):
        for materialize, expected in ((True, [[1], [0], [0]]), (False, [[1], None, None])):
            seen = []

            def forward(ctx, x, m=materialize):
                mask = x > 0
                ctx.mark_non_differentiable(mask)
                ctx.set_materialize_grads(m)
                return x * mask, mask, x * 2

            def backward(ctx, *grads, out=seen):
                out.extend(g if g is None else g.tolist() for g in grads)
                return grads[0]

            x = leaf(1.0)
            y, mask, z = function(forward, backward).apply(x)
            self.assertEqual((y.requires_grad, mask.requires_grad, z.requires_grad), (True, False, True))
            y.sum().backward()
            self.assertEqual(seen, expected)

    def test_hooks_on_the_node(self):
        x, seen = leaf(1.0), []
        y = Exp.apply(x * 0)
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].item(), outputs[0].item())))
        handle = y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 3,))
        y.sum().backward(retain_graph=True)
        handle.remove()
        y.sum().backward()
        self.assertEqual(seen, [(3, 3), (1, 1)])


class InPlace(unittest.TestCase):
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def test_a_dirty_input_is_the_output(self):
        x = leaf(1.0, 2.0)
        y = x * 1
        z = self.Double.apply(y)
        self.assertIs(z, y)
        self.assertEqual((z.tolist(), z.grad_fn.name(), z._version), ([2, 4], "DoubleBackward", 2))
        z.sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 2])

    def test_a_dirty_view_changes_its_base(self):
        x = leaf(1.0, 2.0, 3.0)
        y = x * 1
        self.Double.apply(y[1:])
        y.sum().backward()
        self.assertEqual((y.tolist(), x.grad.tolist()), ([1, 4, 6], [1, 2, 2]))

    def test_mistakes(self):
        never = function(lambda ctx, x: (ctx.mark_dirty(x), x * 2)[1], lambda ctx, g: g)
        both = function(lambda ctx, x: (ctx.mark_dirty(x), (x.mul_(2), x * 1))[1], lambda ctx, a, b: a)
        for call in (
            lambda: self.Double.apply(leaf(1.0)),
            lambda: never.apply(leaf(1.0) * 1),
            lambda: both.apply((leaf(1.0, 2.0) * 1)[1:]),
        ):
            with self.assertRaises(RuntimeError):
                call()

    def test_an_input_returned_as_it_is_becomes_a_view_with_the_functions_gradient(self):
        cls = function(lambda ctx, x: x, lambda ctx, g: g * 5)
        x = torch.ones(1, requires_grad=True)
        y = cls.apply(x)
        self.assertIsNot(y, x)
        self.assertIs(y._base, x)
        with self.assertRaisesRegex(RuntimeError, "custom function"):
            y.mul_(2)
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [5])
        view = function(lambda ctx, x: x.view(-1), lambda ctx, g: g).apply(x)
        with self.assertRaisesRegex(RuntimeError, "custom function"):
            view.add_(1)


class Mistakes(unittest.TestCase):
    def test_gradients_of_the_wrong_kind(self):
        for result in (100, "a", [torch.ones(1)], (), (torch.ones(1), torch.ones(1)), torch.ones(7)):
            with self.assertRaises(RuntimeError):
                function(lambda ctx, x: x * 2, lambda ctx, g, r=result: r).apply(leaf(1.0, 2.0)).sum().backward()
        with self.assertRaisesRegex(RuntimeError, "position 2"):
            function(lambda ctx, x, n: x * 2, lambda ctx, g: (g, g)).apply(leaf(1.0), 3).sum().backward()

    def test_none_at_the_end_does_not_count(self):
        x = leaf(1.0)
        function(lambda ctx, x: x * 2, lambda ctx, g: (g, None, None)).apply(x).sum().backward()
        self.assertEqual(x.grad.tolist(), [1])

    def test_what_cannot_be_kept(self):
        for method, error in (("save_for_backward", TypeError), ("mark_dirty", RuntimeError), ("mark_non_differentiable", RuntimeError)):
            cls = function(lambda ctx, x, m=method: (getattr(ctx, m)("text"), x * 2)[1], lambda ctx, g: g)
            with self.assertRaises(error):
                cls.apply(leaf(1.0))

    def test_missing_or_doubled_methods(self):
        with self.assertRaises(NotImplementedError):
            Function.apply(leaf(1.0))
        bare = type("Bare", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
        with self.assertRaises(NotImplementedError):
            bare.apply(leaf(1.0)).sum().backward()
        both = function(lambda ctx, x: x * 2, lambda ctx, g: g, vjp=staticmethod(lambda ctx, g: g))
        with self.assertRaises(RuntimeError):
            both.apply(leaf(1.0)).sum().backward()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            Function()
        self.assertEqual(seen[0].category, DeprecationWarning)

    def test_vjp_is_backward(self):
        x = leaf(1.0)
        cls = type("Vjp", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2), "vjp": staticmethod(lambda ctx, g: g * 3)})
        cls.apply(x).sum().backward()
        self.assertEqual(x.grad.tolist(), [3])

    def test_once_differentiable(self):
        backward = torch.autograd.function.once_differentiable(lambda ctx, g: g * 2)
        x = leaf(1.0)
        y = function(lambda ctx, x: x * 2, backward).apply(x)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        self.assertEqual((g.tolist(), g.requires_grad), ([8], True))
        with self.assertRaisesRegex(RuntimeError, "once_differentiable"):
            g.sum().backward()

    def test_exceptions_pass(self):
        def backward(ctx, g):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            function(lambda ctx, x: x * 2, backward).apply(leaf(1.0)).sum().backward()
        with self.assertRaises(ZeroDivisionError):
            function(lambda ctx, x: 1 // 0, backward).apply(leaf(1.0))


class Kept(unittest.TestCase):
    def test_a_context_kept_beyond_its_graph_has_no_tensors(self):
        kept = []

        def backward(ctx, g):
            kept.append(ctx)
            return g * ctx.saved_tensors[0]

        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        y = function(forward, backward).apply(leaf(1.0))
        y.backward(retain_graph=True)
        self.assertEqual(len(kept[0].saved_tensors), 1)
        del y
        with self.assertRaisesRegex(RuntimeError, "freed"):
            kept[0].saved_tensors


class Returned(unittest.TestCase):
    """An argument that forward returns as it is, where setup_context saves it."""

    def made(self, save, dirty):
        class Made(Function):
            @staticmethod
            def forward(x):
                return x

            @staticmethod
            def setup_context(ctx, inputs, output):
                if dirty:
                    ctx.mark_dirty(inputs[0])
                getattr(ctx, save)(output)

            @staticmethod
            def backward(ctx, g):
                return g

        return Made

    def test_is_refused(self):
        for save in ("save_for_backward", "save_for_forward"):
            with self.assertRaisesRegex(RuntimeError, "returned as it is"):
                self.made(save, False).apply(leaf(1.0))

    def test_passes_where_it_is_marked_as_changed(self):
        x = leaf(1.0).clone()
        self.assertIs(self.made("save_for_backward", True).apply(x), x)


class VmapRules(unittest.TestCase):
    def results(self, output, out_dims):
        class Made(Function):
            @staticmethod
            def forward(x):
                return output(x)

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def vmap(info, in_dims, x):
                return output(x), out_dims

        return torch.vmap(Made.apply)(torch.ones(2, 3))

    def test_one_dimension_stands_for_all_results(self):
        self.assertEqual([r.tolist() for r in self.results(lambda x: (x.sum(1), [x.sum(1)])[:1], 0)], [[3, 3]])
        self.assertEqual(self.results(lambda x: x.sum(1), 0).tolist(), [3, 3])

    def test_lists_of_inputs_have_lists_of_dimensions(self):
        seen = []

        class Pair(Function):
            @staticmethod
            def forward(x, more):
                raise NotImplementedError

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def vmap(info, in_dims, x, more):
                seen.append(in_dims)
                return x + more[0] + more[1]["k"], 0

        x = torch.ones(2)
        self.assertEqual(torch.vmap(lambda x: Pair.apply(x, [x, {"k": torch.ones(())}]))(x).tolist(), [3, 3])
        self.assertEqual(torch.vmap(lambda x: Pair.apply(torch.ones(()), [x, {"k": x}]))(x).tolist(), [3, 3])
        self.assertEqual(seen, [(0, [0, {"k": None}]), (None, [0, {"k": 0}])])

    def test_dimensions_of_another_structure_are_refused(self):
        for output, out_dims in (
            (lambda x: x, (0,)),
            (lambda x: [x], (0,)),
            (lambda x: (x, x), (0,)),
        ):
            with self.assertRaisesRegex(RuntimeError, "structure"):
                self.results(output, out_dims)


class Memory(unittest.TestCase):
    def count(self, run):
        """How many contexts are alive after the third and the hundredth call of `run`."""
        gc.collect()
        alive = []
        for n in (3, 100):
            for _ in range(n):
                run()
            gc.collect()
            alive.append(sum(isinstance(o, torch.autograd.function.BackwardCFunction) for o in gc.get_objects()))
        return alive

    def test_graphs_are_freed_without_collection(self):
        gone = []

        def forward(ctx, x):
            gone.append(weakref.ref(ctx))
            out = x * 2
            ctx.save_for_backward(x, out)
            return out

        gc.disable()
        try:
            cls = function(forward, lambda ctx, g: g)
            for _ in range(5):
                cls.apply(leaf(1.0)).sum().backward()
                cls.apply(leaf(1.0))
        finally:
            gc.enable()
        self.assertEqual([r() for r in gone], [None] * 10)

    def test_cycles_through_the_context_are_collected(self):
        def own_output(ctx, x):
            ctx.output = x * 2
            return ctx.output

        def own_self(ctx, x):
            ctx.me = [ctx]
            return x * 2

        def unrecorded():
            function(own_output, lambda ctx, g: g).apply(torch.ones(1))

        def hooked():
            y = function(lambda ctx, x: x * 2, lambda ctx, g: g).apply(leaf(1.0))
            y.grad_fn.register_hook(lambda *_: y)
            y.register_hook(lambda g: y)

        def behind():
            y = function(lambda ctx, x: x * 2, lambda ctx, g: g).apply(leaf(1.0))
            y.grad_fn.later = (y * 3).sum()

        for run in (lambda: function(own_output, lambda ctx, g: g).apply(leaf(1.0)), lambda: function(own_self, lambda ctx, g: g).apply(leaf(1.0)),
                    unrecorded, hooked, behind):  # fmt: skip
            self.assertEqual(*self.count(run))

    def test_failing_calls_leave_nothing(self):
        def fails():
            for forward in (lambda ctx, x: 1 // 0, lambda ctx, x: (ctx.save_for_backward(3), x)[1]):
                try:
                    function(forward, lambda ctx, g: g).apply(leaf(1.0))
                except (ZeroDivisionError, TypeError):
                    pass

        self.assertEqual(*self.count(fails))

    def test_long_chains_and_deep_nests(self):
        x = leaf(1.0)
        y = x
        identity = function(lambda ctx, x: x * 1, lambda ctx, g: g)
        for _ in range(20000):
            y = identity.apply(y)
        y.sum().backward()
        del y
        self.assertEqual(x.grad.tolist(), [1])

        class Deep(Function):
            @staticmethod
            def forward(ctx, x, n):
                ctx.n = n
                return x * 1

            @staticmethod
            def backward(ctx, g):
                if ctx.n:
                    with torch.enable_grad():
                        t = leaf(1.0)
                        Deep.apply(t, ctx.n - 1).sum().backward()
                    g = g + t.grad
                return g, None

        z = leaf(1.0)
        Deep.apply(z, 150).sum().backward()
        self.assertEqual(z.grad.tolist(), [151])

    def test_from_several_threads(self):
        x, failures = leaf(1.0), []

        def work():
            try:
                for _ in range(100):
                    Product.apply(x, Exp.apply(x)).sum().backward()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])
        self.assertAlmostEqual(x.grad.item(), 800 * 2.718281828, delta=0.05)


if __name__ == "__main__":
    unittest.main()
