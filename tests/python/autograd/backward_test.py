"""backward and grad: arguments, errors, hooks, nodes, exceptions of Python code, threads."""

import gc
import threading
import traceback
import unittest
import weakref

import cresset as torch


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


class Passes(unittest.TestCase):
    def test_gradients_accumulate_in_leaves(self):
        x = leaf(1.0, 2.0)
        y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward()
        self.assertEqual(x.grad.tolist(), [4, 8])
        with self.assertRaisesRegex(RuntimeError, "freed"):
            y.backward()

    def test_the_variance_of_too_few_numbers_has_a_constant_gradient(self):
        for values, correction, wanted in (([2.0], 1, ["nan"]), ([1.0, 5.0], 2, ["inf", "inf"]), ([3.0, 3.0], 3, ["nan", "nan"])):
            x = leaf(*values)
            (grad,) = torch.autograd.grad(x.var(correction=correction), x, create_graph=True)
            self.assertEqual([str(v) for v in grad.tolist()], wanted)
            self.assertFalse(grad.requires_grad)
        x = leaf(1.0, 5.0)
        (grad,) = torch.autograd.grad(x.var(), x, create_graph=True)
        self.assertEqual((grad.tolist(), grad.requires_grad), ([-4, 4], True))

    def test_a_product_keeps_only_what_its_gradients_need(self):
        F = torch.nn.functional
        image, kernel = torch.ones(1, 1, 3), torch.ones(1, 1, 2)
        calls = {
            "mm": (lambda x, w: x @ w, torch.ones(2, 2), torch.ones(2, 2)),
            "addmm": (lambda x, w: torch.addmm(torch.zeros(2), x, w), torch.ones(2, 2), torch.ones(2, 2)),
            "linear": (F.linear, torch.ones(2, 2), torch.ones(2, 2)),
            "conv1d": (F.conv1d, image, kernel),
            "conv_transpose1d": (F.conv_transpose1d, image, kernel),
        }
        for name, (call, first, second) in calls.items():
            for wanted in (0, 1):
                with self.subTest(name, wanted=wanted):
                    pair = [first.clone(), second.clone()]
                    whole = [t.clone().requires_grad_() for t in pair]
                    expected = torch.autograd.grad(call(*whole).sum(), whole)[wanted]
                    leaf = pair[wanted].requires_grad_()
                    pair[wanted] = leaf * 1
                    kept = []
                    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
                        call(*pair)
                    self.assertEqual(len(kept), 1)
                    out = call(*pair)
                    pair[wanted].zero_()  # it is not read again
                    (grad,) = torch.autograd.grad(out.sum(), leaf, retain_graph=True)
                    self.assertTrue(torch.equal(grad, expected))
                    pair[1 - wanted].zero_()
                    with self.assertRaisesRegex(RuntimeError, "modified"):
                        out.sum().backward()

    def test_losses_keep_their_inputs_and_logsumexp_its_result(self):
        F = torch.nn.functional
        for name in ("mse_loss", "smooth_l1_loss", "huber_loss"):
            for side in (0, 1):
                pair = [leaf(0.25, 3.0) * 1, leaf(1.0, 0.0) * 1]
                loss = getattr(F, name)(*pair)
                self.assertEqual(loss.grad_fn.name().lower(), name.replace("_", "") + "backward0")
                pair[side].add_(1)
                with self.subTest(name, side=side), self.assertRaisesRegex(RuntimeError, "modified"):
                    loss.backward()
        x = torch.tensor([[float("-inf"), 0.0], [0.0, 0.0]], requires_grad=True)
        y = x.logsumexp(1)
        self.assertEqual(y.grad_fn.name(), "LogsumexpBackward0")
        self.assertEqual(torch.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist(), [[0, 1], [0.5, 0.5]])
        y.unsqueeze_(0)
        with self.assertRaisesRegex(RuntimeError, "modified"):
            y.sum().backward()

    def test_each_hook_is_checked_before_the_next_one(self):
        for careless in (lambda g: g.sum(), lambda g: g.double()):
            x, seen = leaf(1.0) * 1, []
            x.register_hook(careless)
            x.register_hook(seen.append)
            with self.assertRaisesRegex(RuntimeError, "hook"):
                x.sum().backward()
            self.assertEqual(seen, [])

    def test_what_grad_returns_of_a_result_is_hooked_where_its_node_does_not_run(self):
        x = leaf(3.0)
        y = x * x
        y.register_hook(lambda g: g * 0)
        total = y.sum() + x.sum()
        self.assertEqual([g.item() for g in torch.autograd.grad(total, [y, x], retain_graph=True)], [1, 1])
        self.assertEqual(torch.autograd.grad(total, [y])[0].item(), 0)

    def test_given_gradients_weight_the_outputs(self):
        x = leaf(1.0, 2.0)
        torch.autograd.backward([x * 2, (x * 3).sum()], [torch.tensor([1.0, 10.0]), None])
        self.assertEqual(x.grad.tolist(), [5, 23])

    def test_inputs_limit_the_pass(self):
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        y = x * w
        z = y.sum()
        z.backward(inputs=[x, y])
        self.assertEqual((x.grad.tolist(), w.grad, y.grad.tolist()), ([3, 4], None, [1, 1]))

    def test_grad_differentiates_again(self):
        x = leaf(2.0)
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), [x])
        self.assertEqual((g.tolist(), h.tolist(), x.grad), ([12], [12], None))

    def test_unused_inputs(self):
        x, w = leaf(2.0), leaf(3.0)
        y = (x * 2).sum()
        with self.assertRaisesRegex(RuntimeError, "index 1 was not used"):
            torch.autograd.grad(y, [x, w], retain_graph=True)
        self.assertIsNone(torch.autograd.grad(y, [x, w], allow_unused=True, retain_graph=True)[1])
        g = torch.autograd.grad(y, [x, w], materialize_grads=True)[1]
        self.assertEqual((g.tolist(), g.requires_grad), ([0], False))
        with self.assertRaises(ValueError):
            torch.autograd.grad(y, x, allow_unused=False, materialize_grads=True)

    def test_zeros_in_place_of_gradients_require_grad_as_the_others_do(self):
        for create in (False, True):
            x, w = leaf(1.0), leaf(1.0)
            grads = torch.autograd.grad((x * x).sum(), [x, w, w * 2], materialize_grads=True, create_graph=create)
            self.assertEqual([g.requires_grad for g in grads], [create] * 3)

    def test_products_with_numbers_are_freed_too(self):
        for y in (leaf(1.0) * 2, leaf(1.0) / 2):
            z = y.sum()
            z.backward()
            with self.assertRaisesRegex(RuntimeError, "freed"):
                z.backward()

    def test_saved_tensors_must_not_be_detached_in_place(self):
        x = leaf(1.0)
        y = x * 3
        z = x * y
        y.detach_()
        with self.assertRaisesRegex(RuntimeError, "detach"):
            z.sum().backward()

    def test_shapes_of_views_change_in_place(self):
        x = leaf(1.0, 2.0)
        y = x * 1
        v = y[None]
        v.squeeze_(0)
        w = y.view(1, 2)
        w.t_()
        (v * torch.tensor([1.0, 10.0]) + w[:, 0] * torch.tensor([3.0, 5.0]) + y).sum().backward()
        self.assertEqual((tuple(w.shape), x.grad.tolist()), ((2, 1), [5, 16]))

    def test_the_hooks_of_a_root_run_although_it_is_not_needed(self):
        x, w, seen = leaf(1.0), leaf(2.0), []
        y = x * 2
        y.register_hook(seen.append)
        y.sum()
        y.backward(torch.ones(1), inputs=[w * 1])
        self.assertEqual(len(seen), 1)

    def test_a_dict_of_inputs_gives_a_dict(self):
        x = leaf(2.0)
        self.assertEqual(torch.autograd.grad((x * 5).sum(), {"x": x})["x"].tolist(), [5])

    def test_batched_gradients(self):
        x = leaf(1.0, 2.0)
        (g,) = torch.autograd.grad(x * x, x, torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), is_grads_batched=True)
        self.assertEqual(g.tolist(), [[2, 0], [0, 4], [2, 4]])
        with self.assertRaises(ValueError):
            torch.autograd.grad(x.sum(), x, torch.tensor(1.0), is_grads_batched=True)

    def test_a_gradient_that_is_the_same_for_the_batch_takes_part_in_sums(self):
        class Same(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, grad):
                return torch.full((2,), 10.0)

        x = leaf(1.0, 2.0)
        for y in (Same.apply(x) + x * x, x * x + Same.apply(x)):
            (g,) = torch.autograd.grad(y, x, torch.eye(2), is_grads_batched=True)
            self.assertEqual(g.tolist(), [[12, 10], [10, 14]])

    def test_edges_stand_for_tensors(self):
        x = leaf(1.0, 2.0)
        y = x * 3
        edge = torch.autograd.graph.get_gradient_edge(y)
        z = (y * y).sum()
        self.assertEqual(torch.autograd.grad(z, edge)[0].tolist(), [6, 12])
        self.assertEqual(torch.autograd.grad(edge, x, torch.ones(2))[0].tolist(), [3, 3])

    def test_mistakes(self):
        x = leaf(1.0, 2.0)
        for error, call in (
            (RuntimeError, lambda: x.backward()),
            (RuntimeError, lambda: torch.zeros(()).backward()),
            (RuntimeError, lambda: (x * 2).backward(torch.ones(3))),
            (RuntimeError, lambda: (x * 2).backward(torch.ones(2, dtype=torch.complex64))),
            (RuntimeError, lambda: torch.autograd.backward([x * 2], [])),
            (TypeError, lambda: torch.autograd.backward([x * 2], ["a"])),
            (RuntimeError, lambda: x.sum().backward(inputs=[])),
            (RuntimeError, lambda: torch.autograd.grad(x.sum(), [])),
            (RuntimeError, lambda: torch.autograd.grad(x.sum(), torch.zeros(2))),
            (RuntimeError, lambda: torch.autograd.grad(x.sum(), "x")),
        ):
            with self.assertRaises(error):
                call()


class Hooks(unittest.TestCase):
    def test_hooks_replace_gradients_in_order_until_removed(self):
        x = leaf(1.0)
        first = x.register_hook(lambda g: g + 1)
        x.register_hook(lambda g: g * 10)
        (x * 1).sum().backward()
        first.remove()
        first.remove()
        (x * 1).sum().backward()
        self.assertEqual(x.grad.tolist(), [30])
        self.assertEqual(type(first).__name__, "RemovableHandle")
        with x.register_hook(lambda g: g * 0):
            self.assertEqual(len(x._backward_hooks), 2)
        self.assertEqual(len(x._backward_hooks), 1)

    def test_a_hook_stays_with_the_value_before_a_change_in_place(self):
        x = leaf(1.0)
        y = x * 1
        seen = []
        y.register_hook(lambda g: seen.append(("before", g.item())))
        y.mul_(5)
        y.register_hook(lambda g: seen.append(("after", g.item())))
        y.sum().backward()
        self.assertEqual(seen, [("after", 1), ("before", 5)])

    def test_hooks_see_gradients_that_there_are_not(self):
        class First(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                return x * y

            @staticmethod
            def backward(ctx, grad):
                return grad, None

        seen = []
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        y = x.sin()
        y.register_hook(lambda g: seen.append(("tensor", g)))
        y.grad_fn.register_prehook(lambda outputs: seen.append(("before", outputs)))
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append(("after", inputs, outputs)))
        w.register_hook(lambda g: seen.append(("leaf", g)))
        (First.apply(x, y) + First.apply(x, w)).sum().backward()
        self.assertCountEqual(seen, [("tensor", None), ("before", (None,)), ("after", (None,), (None,)), ("leaf", None)])
        self.assertEqual((x.grad.tolist(), w.grad), ([2, 2], None))
        seen.clear()
        left, right = x.split(1)
        right.register_hook(seen.append)
        left.sum().backward()
        self.assertEqual(seen, [None])
        replaced = x.sin()
        replaced.register_hook(lambda g: torch.ones(2))
        with self.assertRaises(RuntimeError):
            First.apply(w, replaced).sum().backward()
        both = []
        with torch.autograd.graph.register_multi_grad_hook((x, w), both.append):
            First.apply(x, w).sum().backward()
        self.assertEqual([[g if g is None else g.tolist() for g in grads] for grads in both], [[[1, 1], None]])

    def test_post_accumulate(self):
        x = leaf(1.0, 2.0)
        seen = []
        x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.tolist())))
        (x * 3).sum().backward()
        self.assertEqual(seen, [(True, [3, 3])])
        with self.assertRaises(RuntimeError):
            (x * 2).register_post_accumulate_grad_hook(print)

    def test_hooks_of_nodes(self):
        x = leaf(1.0)
        y = x * 2
        seen = []
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].item(), outputs[0].item())))
        handle = y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 7,))
        y.sum().backward(retain_graph=True)
        handle.remove()
        y.sum().backward()
        self.assertEqual((seen, x.grad.tolist()), ([(14, 7), (2, 1)], [16]))

    def test_wrong_results(self):
        for hook, error in ((lambda g: 3, TypeError), (lambda g: g.expand(2, 1), RuntimeError), (lambda g: g.double(), RuntimeError)):
            x = leaf(1.0)
            x.register_hook(hook)
            with self.assertRaises(error):
                (x * 2).sum().backward()

    def test_exceptions_keep_type_value_and_traceback(self):
        class Mine(BaseException):
            pass

        def breaks(g):
            raise Mine(g.item())

        x = leaf(4.0)
        x.register_hook(breaks)
        try:
            x.sum().backward()
            self.fail("nothing was raised")
        except Mine as error:
            self.assertEqual(error.args, (1.0,))
            self.assertIn("breaks", "".join(traceback.format_tb(error.__traceback__)))

    def test_backward_within_a_hook(self):
        x, w = leaf(1.0), leaf(2.0)

        def hook(g):
            with torch.enable_grad():
                (w * w).sum().backward()

        x.register_hook(hook)
        (x * 2).sum().backward()
        self.assertEqual((x.grad.tolist(), w.grad.tolist()), ([2], [4]))

    def test_a_hook_on_its_own_tensor_is_collected(self):
        def cycle():
            x = leaf(1.0)
            x.register_hook(lambda g: x * g)
            x.register_post_accumulate_grad_hook(lambda p: x.sum())
            return weakref.ref(x)

        gc.collect()
        gone = cycle()
        self.assertIsNotNone(gone())
        gc.collect()
        self.assertIsNone(gone())


class Accumulators(unittest.TestCase):
    def test_a_callback_may_queue_another(self):
        called = []

        def first():
            called.append("first")
            torch.autograd.Variable._execution_engine.queue_callback(lambda: called.append("second"))

        x = leaf(1.0)
        y = x * 2
        y.register_hook(lambda g: torch.autograd.Variable._execution_engine.queue_callback(first))
        y.backward()
        self.assertEqual(called, ["first", "second"])

    def test_post_hooks_see_what_hooks_after_accumulation_did_to_the_gradient(self):
        x = leaf(1.0, 1.0)
        node = x.view_as(x).grad_fn.next_functions[0][0]
        seen = []

        def more(t):
            t.grad.add_(0.5)

        x.register_post_accumulate_grad_hook(more)
        node.register_hook(lambda inputs, outputs: seen.append(outputs[0].tolist()))
        (x * 2).sum().backward()
        self.assertEqual(seen, [[2.5, 2.5]])

    def test_a_hook_after_accumulation_returns_nothing(self):
        x = leaf(1.0)
        x.register_post_accumulate_grad_hook(lambda t: t.grad)
        with self.assertRaisesRegex(RuntimeError, "expected to return None"):
            x.sum().backward()

    def test_a_leaf_set_to_other_memory_has_an_accumulator_of_its_new_shape(self):
        x, kept = torch.nn.Parameter(torch.ones(4)), []
        for n in (3, 2):
            with torch.no_grad():
                x.set_(x[1:])
                x.grad = None
            kept.append(torch.cat((x, x)))
            kept[-1].sum().backward()
            self.assertEqual(x.grad.tolist(), [2.0] * n)

    def test_a_graph_of_the_memory_before_set_does_not_lead_to_the_leaf(self):
        x = leaf(1.0, 2.0)
        edge, y = torch.autograd.graph.get_gradient_edge(x), x.clone()
        with torch.no_grad():
            x.set_(torch.zeros(2))
        with self.assertRaisesRegex(RuntimeError, "not used"):
            torch.autograd.grad(y.sum(), x)
        self.assertEqual(torch.autograd.grad(x.new_ones(2).requires_grad_().sum() + y.sum(), edge)[0].tolist(), [1.0, 1.0])

    def test_an_edge_of_real_numbers_takes_real_gradients(self):
        x = leaf(1.0)
        edge = torch.autograd.graph.get_gradient_edge(x.sin())
        with self.assertRaisesRegex(RuntimeError, "dtype"):
            torch.autograd.grad(edge, x, torch.ones(1, dtype=torch.complex64))

    def test_data_cannot_be_deleted(self):
        with self.assertRaises(RuntimeError):
            del leaf(1.0).data


class Nodes(unittest.TestCase):
    def test_identity_names_and_edges(self):
        x = leaf(1.0, 2.0)
        y = (x * x).sin()
        node = y.grad_fn
        self.assertIs(node, y.grad_fn)
        self.assertEqual((node.name(), type(node).__name__), ("SinBackward0", "SinBackward0"))
        self.assertRegex(repr(node), "^<SinBackward0 object at 0x[0-9a-f]+>$")
        self.assertIsInstance(node, torch.autograd.graph.Node)
        product = node.next_functions[0][0]
        self.assertEqual([n.name() for n, _ in product.next_functions], ["torch::autograd::AccumulateGrad"] * 2)
        self.assertIs(product.next_functions[0][0], product.next_functions[1][0])
        self.assertIs(product.next_functions[0][0].variable, x)
        self.assertFalse(hasattr(product, "variable"))
        self.assertEqual((x * 2 + torch.ones(2)).grad_fn.next_functions[1], (None, 0))
        self.assertIsNone(x.grad_fn)

    def test_a_node_keeps_the_graph_behind_it(self):
        x = leaf(3.0)
        node = (x * x).sum().grad_fn
        gc.collect()
        self.assertEqual(torch.autograd.grad(torch.autograd.graph.GradientEdge(node, 0), x, torch.tensor(1.0))[0].tolist(), [6])

    def test_metadata_lives_with_the_node(self):
        y = leaf(1.0) * 2
        y.grad_fn.metadata["key"] = "value"
        gc.collect()
        self.assertEqual(y.grad_fn.metadata, {"key": "value"})

    def test_increment_version(self):
        x = leaf(1.0)
        y = x.exp()
        torch.autograd.graph.increment_version([y])
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace"):
            y.sum().backward()


class Threads(unittest.TestCase):
    def test_backward_from_several_threads_over_shared_leaves(self):
        x = leaf(1.0, 2.0)
        x.register_hook(lambda g: g * 1)
        failures = []

        def work():
            try:
                for _ in range(50):
                    (x * x).sum().backward()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((failures, x.grad.tolist()), ([], [400, 800]))


class Inputs(unittest.TestCase):
    def test_any_iterable_of_inputs(self):
        x = torch.ones(1, requires_grad=True)
        self.assertEqual(torch.autograd.grad(x * 2, (t for t in [x]))[0].item(), 2)
        self.assertEqual(torch.autograd.grad(x * 2, {"a": x}.values())[0].item(), 2)
        (x * 2).backward(inputs=iter([x]))
        self.assertEqual(x.grad.item(), 2)

    def test_the_node_of_an_inner_input_runs_and_frees_what_it_saved(self):
        x = torch.tensor([4.0], requires_grad=True)
        y = x.sqrt()
        seen = []
        y.grad_fn.register_prehook(lambda grads: seen.append(grads[0].item()))
        (y * 3).backward(inputs=[y])
        self.assertEqual((y.grad.item(), x.grad, seen), (3, None, [3]))
        with self.assertRaisesRegex(RuntimeError, "retain_graph"):
            (y * 2).sum().backward()

    def test_what_lies_below_an_inner_input_stays(self):
        x = torch.tensor([4.0], requires_grad=True)
        y = x.exp()
        z = y.sqrt()
        (z * 3).backward(inputs=[z])
        self.assertEqual(torch.autograd.grad(y, x)[0].item(), y.item())

    def test_grad_of_an_inner_input_leaves_its_node_alone(self):
        x = torch.tensor([4.0], requires_grad=True)
        y = x.sqrt()
        torch.autograd.grad(y * 3, [y])
        y.backward()
        self.assertEqual(x.grad.item(), 0.25)


class Subclasses(unittest.TestCase):
    def test_an_input_that_a_function_returns_keeps_its_class(self):
        class Mine(torch.Tensor):
            pass

        class Same(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, grad):
                return grad

        for requires_grad in (False, True):
            x = torch.ones(1, requires_grad=requires_grad).as_subclass(Mine)
            self.assertIs(type(Same.apply(x)), Mine)


class Names(unittest.TestCase):
    def test_the_module_does_not_hide_the_function(self):
        import cresset.autograd.gradcheck
        from cresset.autograd.gradcheck import GradcheckError  # noqa: F401

        self.assertTrue(cresset.autograd.gradcheck(lambda x: x * 2, torch.ones(1, dtype=torch.float64, requires_grad=True)))


if __name__ == "__main__":
    unittest.main()
