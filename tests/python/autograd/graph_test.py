"""Hooks on saved tensors, multi-tensor hooks, anomaly mode."""

import gc
import unittest
import warnings
import weakref

import cresset as torch

graph = torch.autograd.graph


def leaf(*values):
    return torch.tensor(list(values)).clone().requires_grad_()


class SavedTensors(unittest.TestCase):
    def test_hooks_see_what_is_saved_and_give_it_back(self):
        seen = []

        def pack(t):
            seen.append((t.tolist(), t.requires_grad, torch.is_grad_enabled()))
            return t.numpy() * 10

        x = leaf(1.0, 2.0)
        with graph.saved_tensors_hooks(pack, lambda packed: torch.from_numpy(packed)):
            y = x * x
        y.sum().backward()
        self.assertEqual(seen, [([1, 2], False, False)] * 2)
        self.assertEqual(x.grad.tolist(), [20, 40])

    def test_the_innermost_counts_and_functions_take_part(self):
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return ctx.saved_tensors[0]

        x = leaf(1.0)
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t + 5):
            with graph.saved_tensors_hooks(lambda t: t, lambda t: t + 7):
                a = Double.apply(x)
            b = Double.apply(x)
        c = Double.apply(x)
        self.assertEqual([torch.autograd.grad(t, x)[0].item() for t in (a, b, c)], [8, 6, 1])

    def test_second_derivatives_go_through(self):
        x = leaf(2.0)
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = x * x * x
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        self.assertEqual(torch.autograd.grad(g.sum(), x)[0].tolist(), [12])

    def test_mistakes(self):
        x = leaf(1.0)
        with self.assertRaises(ZeroDivisionError), graph.saved_tensors_hooks(lambda t: 1 // 0, lambda t: t):
            x.exp()
        with self.assertRaises(RuntimeError), graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
            x * x
        with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
            y = x * x
        with self.assertRaises(TypeError):
            y.sum().backward()
        with graph.saved_tensors_hooks(lambda t: t, lambda t: {}[0]):
            y = x * x
        with self.assertRaises(KeyError):
            y.sum().backward()

    def test_disabled(self):
        @graph.disable_saved_tensors_hooks("not here")
        def outer():
            with graph.disable_saved_tensors_hooks("nor here"):
                pass
            with self.assertRaisesRegex(RuntimeError, "not here"):
                graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()

        outer()
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t), self.assertRaises(RuntimeError):
            graph.disable_saved_tensors_hooks("late").__enter__()

    def test_save_on_cpu(self):
        x = leaf(1.0, 2.0)
        with graph.save_on_cpu():
            y = x * x
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 4])

    def test_mutation_of_saved_tensors(self):
        with graph.allow_mutation_on_saved_tensors() as context:
            x = leaf(3.0)
            y = x.clone()
            z = y * y
            self.assertEqual(len(context.copies), 2)
            y.zero_()
            z.sum().backward()
            self.assertEqual((x.grad.tolist(), len(context.copies)), ([6], 0))
            late = x * x
            with self.assertRaises(RuntimeError), graph.allow_mutation_on_saved_tensors():
                pass
        with self.assertRaisesRegex(AssertionError, "outside"):
            late.sum().backward()


class UnevenHooks(unittest.TestCase):
    """Hooks that enter or leave contexts while backward runs: the contexts of the thread are afterwards what they were."""

    def test_a_context_entered_by_an_unpack_hook_ends_with_the_pass(self):
        entered = graph.saved_tensors_hooks(lambda t: t * 100, lambda t: t)

        def unpack(t):
            entered.__enter__()
            return t

        x = leaf(1.0)
        with graph.saved_tensors_hooks(lambda t: t, unpack):
            y = x.sin()
        y.backward()
        saved = x.sin().grad_fn._raw_saved_self
        saved.register_hooks(lambda t: t, lambda t: t)  # refuses a tensor that hooks have packed

    def test_a_context_left_by_an_unpack_hook_is_there_after_the_pass(self):
        outer = graph.saved_tensors_hooks(lambda t: t, lambda t: t)

        def unpack(t):
            inner.__exit__()
            return t

        inner = graph.saved_tensors_hooks(lambda t: t, unpack)
        for _ in range(3):
            with outer:
                inner.__enter__()
                leaf(1.0).sin().backward()
                inner.__exit__()


class MultiGrad(unittest.TestCase):
    def test_all(self):
        a, b, c = leaf(1.0), leaf(1.0), leaf(1.0)
        seen = []
        handle = graph.register_multi_grad_hook((a, b, c), lambda grads: seen.append([g if g is None else g.item() for g in grads]))
        (a * 2 + b * 3).sum().backward()
        (a * 2 + b).sum().backward(inputs=[b])
        handle.remove()
        a.sum().backward()
        self.assertEqual(seen, [[2, 3, None], [None, 1, None]])

    def test_any(self):
        a, b = leaf(1.0), leaf(1.0)
        seen = []
        with graph.register_multi_grad_hook((a, b), lambda grad: seen.append(grad.item()), mode="any"):
            (a * 2 + b * 2).sum().backward()
            (a * 3).sum().backward()
        self.assertEqual(seen, [2, 3])
        with self.assertRaises(ValueError):
            graph.register_multi_grad_hook((a, b), print, mode="some")
        with self.assertRaises(RuntimeError):
            graph.register_multi_grad_hook((torch.ones(1),), print)


class HooksOfNodes(unittest.TestCase):
    def test_cycles_of_a_hook_and_its_node_end_with_the_graph(self):
        for leaf_node in (False, True):
            x = torch.ones(1, requires_grad=True)
            y = x.clone()
            node = y.grad_fn.next_functions[0][0] if leaf_node else y.grad_fn
            held = Held()
            node.register_hook(lambda *_, node=node, held=held: held.seen.append(node))
            ref, out = weakref.ref(held), y.clone()
            del x, y, node, held
            gc.collect()
            out.backward()
            gc.collect()
            self.assertEqual(len(ref().seen), 1)  # the rest of the graph holds the node
            del out
            gc.collect()
            self.assertIsNone(ref())


class Held:
    def __init__(self):
        self.seen = []


class Anomaly(unittest.TestCase):
    def run_with(self, call):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            with torch.autograd.detect_anomaly():
                self.assertTrue(torch.autograd.anomaly_mode.is_anomaly_enabled())
                try:
                    call()
                except Exception as error:
                    return error, [str(w.message) for w in seen[1:]]
        self.fail("no error")

    def test_nan_names_the_node_and_shows_where_it_ran(self):
        def compute():
            (leaf(1.0) * 0 - 1).sqrt().sum().backward()

        error, shown = self.run_with(compute)
        self.assertRegex(str(error), "SqrtBackward0.*returned nan values")
        self.assertEqual(len(shown), 1)
        self.assertRegex(shown[0], r"(?s)SqrtBackward0.*graph_test.py.*in compute")

    def test_exceptions_stay_as_they_are(self):
        class Fails(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, g):
                raise LookupError("mine")

        error, shown = self.run_with(lambda: Fails.apply(leaf(1.0)).sum().backward())
        self.assertEqual((type(error), str(error)), (LookupError, "mine"))
        self.assertIn("FailsBackward", shown[0])

    def test_the_pass_in_which_a_node_was_recorded_is_shown(self):
        def compute():
            x = leaf(0.0)
            (g,) = torch.autograd.grad(x.sqrt().sum(), x, create_graph=True)
            (g * 0).sum().backward()

        error, shown = self.run_with(compute)
        self.assertEqual(len(shown), 2)  # one for each place
        self.assertRegex(shown[0], "(?s)error detected in .*in compute")
        self.assertRegex(shown[1], "(?s)made by the backward of SqrtBackward0.*in compute")

    def test_state(self):
        self.assertFalse(torch.autograd.anomaly_mode.is_anomaly_enabled())
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            self.assertFalse(torch.autograd.anomaly_mode.is_anomaly_check_nan_enabled())
            leaf(-1.0).sqrt().sum().backward()
        self.assertFalse(torch.autograd.anomaly_mode.is_anomaly_enabled())


if __name__ == "__main__":
    unittest.main()
