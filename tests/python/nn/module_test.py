"""Module: what it holds, its state, its hooks, how it is called, copied and printed."""

import copy
import pickle
import typing
import unittest
from collections import OrderedDict

import cresset as torch
from cresset import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("count", torch.zeros(2))
        self.register_buffer("scratch", torch.ones(1), persistent=False)
        self.gain = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.linear(x) * self.gain


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.tied = self.blocks[0].linear

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.tied(x)


class Holding(unittest.TestCase):
    def test_names_are_in_order_of_assignment_and_shared_ones_come_once(self):
        names = [name for name, _ in Net().named_parameters()]
        self.assertEqual(names, [f"blocks.{i}.{n}" for i in (0, 1) for n in ("gain", "linear.weight", "linear.bias")])
        self.assertEqual(len(list(Net().named_parameters(remove_duplicate=False))), 8)
        self.assertEqual([n for n, _ in Net().named_buffers()], ["blocks.0.count", "blocks.0.scratch", "blocks.1.count", "blocks.1.scratch"])

    def test_a_parameter_stays_the_same_object(self):
        block = Block()
        gain = block.gain
        block.double()
        self.assertIs(block.gain, gain)
        self.assertIs(gain.dtype, torch.float64)

    def test_names_move_between_tables_and_attributes(self):
        m = nn.Module()
        m.x = 3
        m.x = nn.Parameter(torch.ones(1))
        self.assertNotIn("x", m.__dict__)
        m.x = nn.ReLU()
        self.assertEqual((list(m._parameters), list(m._modules)), ([], ["x"]))
        del m.x
        self.assertFalse(hasattr(m, "x"))

    def test_mistakes(self):
        class Early(nn.Module):
            def __init__(self):
                self.layer = nn.Linear(1, 1)

        block = Block()
        for error, call in (
            (AttributeError, Early),
            (TypeError, lambda: setattr(block, "gain", torch.ones(3))),
            (TypeError, lambda: setattr(block, "count", "text")),
            (TypeError, lambda: setattr(block, "linear", torch.ones(1))),
            (KeyError, lambda: block.register_buffer("a.b", torch.ones(1))),
            (KeyError, lambda: block.register_buffer("gain", torch.ones(1))),
            (ValueError, lambda: block.register_parameter("p", _computed())),
            (AttributeError, lambda: block.get_submodule("linear.weight")),
            (AttributeError, lambda: block.get_parameter("count")),
            (NotImplementedError, lambda: nn.Module()(1)),
            (TypeError, lambda: block.to(torch.int32)),
            (ValueError, lambda: block.train("yes")),
        ):
            with self.assertRaises(error):
                call()
        with self.assertRaisesRegex(AttributeError, "super\\(\\).__init__"):
            Early()


def _computed():
    """The result of an operator that claims to be a parameter."""
    tensor = nn.Parameter(torch.ones(1)) * 2
    tensor._is_param = True
    return tensor


class State(unittest.TestCase):
    def test_layout_shares_memory_and_leaves_out_what_is_not_persistent(self):
        block = Block()
        state = block.state_dict()
        self.assertEqual(list(state), ["gain", "count", "linear.weight", "linear.bias"])
        self.assertIsInstance(state, OrderedDict)
        self.assertEqual(state["gain"].data_ptr(), block.gain.data_ptr())
        self.assertFalse(state["gain"].requires_grad)
        self.assertIs(block.state_dict(keep_vars=True, prefix="p.")["p.gain"], block.gain)

    def test_a_refusal_lists_everything(self):
        net = Net()
        state = dict(net.state_dict())
        del state["blocks.0.gain"], state["blocks.1.linear.weight"]
        state["zebra"] = torch.ones(1)
        state["tied.bias"] = torch.ones(4)
        with self.assertRaises(RuntimeError) as caught:
            net.load_state_dict(state)
        for text in ('"blocks.0.gain"', '"blocks.1.linear.weight"', '"zebra"', "size mismatch for tied.bias", "[4]", "[3]"):
            self.assertIn(text, str(caught.exception))
        self.assertNotIn('"blocks.0.linear.weight"', str(caught.exception))

    def test_not_strict_returns_the_keys(self):
        result = Block().load_state_dict({"gain": torch.full((3,), 2.0), "more": torch.ones(1)}, strict=False)
        self.assertEqual(result.missing_keys, ["count", "linear.weight", "linear.bias"])
        self.assertEqual(result.unexpected_keys, ["more"])

    def test_assign_takes_the_tensor_itself(self):
        block = Block()
        block.gain.requires_grad_(False)
        state = {k: v.double() for k, v in block.state_dict().items()}
        block.load_state_dict(state, assign=True)
        self.assertEqual(block.gain.data_ptr(), state["gain"].data_ptr())
        self.assertIsInstance(block.gain, nn.Parameter)
        self.assertFalse(block.gain.requires_grad)

    def test_extra_state_goes_along(self):
        class Extra(nn.Module):
            note = "first"

            def get_extra_state(self):
                return self.note

            def set_extra_state(self, state):
                self.note = state

        a, b = nn.Sequential(Extra()), nn.Sequential(Extra())
        a[0].note = "second"
        b.load_state_dict(a.state_dict())
        self.assertEqual(b[0].note, "second")
        with self.assertRaises(RuntimeError):
            b.load_state_dict({})

    def test_copies_are_apart(self):
        net = Net()
        for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            self.assertIs(other.tied, other.blocks[0].linear)
            self.assertEqual(list(other.state_dict()), list(net.state_dict()))
            self.assertNotEqual(other.tied.weight.data_ptr(), net.tied.weight.data_ptr())
            self.assertEqual(other.tied.weight.tolist(), net.tied.weight.tolist())
            self.assertIsInstance(other.tied.weight, nn.Parameter)


class Calling(unittest.TestCase):
    def test_order_of_hooks(self):
        events = []
        layer = nn.Linear(2, 2)
        layer.register_forward_pre_hook(lambda m, a: events.append("pre"))
        layer.register_forward_pre_hook(lambda m, a: events.append("pre first"), prepend=True)
        layer.register_forward_hook(lambda m, a, o: events.append("after"))
        layer.register_full_backward_pre_hook(lambda m, g: events.append("backward pre"))
        layer.register_full_backward_hook(lambda m, i, o: events.append("backward"))
        layer(torch.ones(1, 2).requires_grad_()).sum().backward()
        self.assertEqual(events, ["pre first", "pre", "after", "backward pre", "backward"])

    def test_hooks_replace_what_they_see(self):
        layer = nn.Identity()
        layer.register_forward_pre_hook(lambda m, a: (a[0] * 2,))
        handle = layer.register_forward_hook(lambda m, a, out: out + 1)
        layer.register_full_backward_pre_hook(lambda m, g: (g[0] * 3,))
        layer.register_full_backward_hook(lambda m, gi, go: (gi[0] + 10 * go[0] / 3,))
        x = torch.ones(2).requires_grad_()
        out = layer(x)
        out.sum().backward()
        self.assertEqual((out.tolist(), x.grad.tolist()), ([3, 3], [26, 26]))
        handle.remove()
        self.assertEqual(layer(x).tolist(), [2, 2])

    def test_keywords_reach_hooks_that_ask(self):
        seen = []
        layer = nn.Flatten()
        layer.register_forward_pre_hook(lambda m, args, kwargs: ((kwargs["x"],), {}), with_kwargs=True)
        layer.register_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True)
        self.assertEqual(layer(x=torch.ones(2, 3, 1)).shape, (2, 3))
        self.assertEqual(seen, [{}])

    def test_hooks_that_always_run_run_after_an_error(self):
        events = []
        layer = nn.Linear(2, 2)
        layer.register_forward_hook(lambda *_: events.append("plain"))
        layer.register_forward_hook(lambda *_: events.append("always"), always_call=True)
        with self.assertRaises(RuntimeError):
            layer(torch.ones(3, 5))
        self.assertEqual(events, ["always"])

    def test_an_error_says_where_it_came_from(self):
        net = nn.Sequential(OrderedDict(body=nn.Sequential(nn.ReLU(), nn.Linear(3, 4))))
        with self.assertRaises(RuntimeError) as caught:
            net(torch.ones(1, 2))
        self.assertIn("in module Sequential.body.1", caught.exception.__notes__)

    def test_global_hooks_see_every_module(self):
        seen = []
        handle = nn.modules.module.register_module_forward_hook(lambda m, a, o: seen.append(type(m).__name__))
        net = nn.Sequential(nn.ReLU(), nn.Tanh())
        net(torch.ones(1))
        handle.remove()
        net(torch.ones(1))
        self.assertEqual(seen, ["ReLU", "Tanh", "Sequential"])


class Changes(unittest.TestCase):
    def test_mode_and_gradients(self):
        net = Net()
        self.assertTrue(all(m.training for m in net.modules()))
        net.blocks[0].eval()
        self.assertEqual([m.training for m in net.blocks], [False, True])
        net(torch.ones(2, 3)).sum().backward()
        net.zero_grad(set_to_none=False)
        self.assertEqual(net.blocks[1].gain.grad.tolist(), [0, 0, 0])
        net.zero_grad()
        self.assertIsNone(net.blocks[1].gain.grad)
        net.requires_grad_(False)
        self.assertFalse(any(p.requires_grad for p in net.parameters()))

    def test_integers_keep_their_dtype(self):
        norm = nn.BatchNorm1d(2).to(torch.float16)
        self.assertIs(norm.weight.dtype, torch.float16)
        self.assertIs(norm.num_batches_tracked.dtype, torch.int64)

    def test_meta_and_back(self):
        layer = nn.Linear(3, 2, device="meta")
        self.assertTrue(layer.weight.is_meta)
        layer = layer.to_empty(device="cpu")
        self.assertEqual(layer.weight.device.type, "cpu")
        self.assertIsInstance(layer.weight, nn.Parameter)

    def test_text(self):
        net = nn.Sequential(nn.Linear(2, 3), nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Dropout(0.1)]))
        self.assertEqual(repr(net).splitlines(), [
            "Sequential(", "  (0): Linear(in_features=2, out_features=3, bias=True)", "  (1): ModuleList(", "    (0-1): 2 x ReLU()",
            "    (2): Dropout(p=0.1, inplace=False)", "  )", ")",
        ])  # fmt: skip


class Lazy(unittest.TestCase):
    def test_shapes_come_with_the_first_input_or_a_file(self):
        net = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2)).double()
        self.assertEqual(net(torch.ones(2, 3, 5, 5, dtype=torch.float64)).shape, (2, 2))
        self.assertEqual([type(m) for m in net], [nn.Conv2d, nn.BatchNorm2d, nn.Flatten, nn.Linear])
        self.assertEqual((net[0].in_channels, net[1].num_features, net[3].in_features), (3, 4, 36))
        other = nn.LazyLinear(2)
        other.load_state_dict(nn.Linear(5, 2).state_dict())
        self.assertEqual(other(torch.ones(1, 5)).shape, (1, 2))

    def test_waiting_tensors_refuse_operators(self):
        layer = nn.LazyLinear(2)
        with self.assertRaises(ValueError):
            layer.weight + 1
        with self.assertRaises(RuntimeError):
            layer.weight.shape


class Compiled(unittest.TestCase):
    def test_a_module_stays_as_it_is(self):
        net = nn.Linear(2, 1)
        net.compile(backend="eager")
        self.assertEqual(list(net.state_dict()), ["weight", "bias"])
        self.assertRaises(RuntimeError, net.compile, mode="a", options={}, backend="eager")


class Wrapped(torch.Tensor):
    """A tensor that holds another, which its calls go to."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner, meta, size, stride):
        return Wrapped(inner["inner"])

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        made = function(*(a.inner if isinstance(a, Wrapped) else a for a in args), **(kwargs or {}))
        return Wrapped(made) if isinstance(made, torch.Tensor) else made


class Unwrap(nn.Module):
    def forward(self, x):
        return x.inner


class Wrap(nn.Module):
    def forward(self, x):
        return x

    def right_inverse(self, x):
        return Wrapped(x)


class Conversions(unittest.TestCase):
    """torch.__future__: what becomes of parameters that are converted."""

    def tearDown(self):
        torch.__future__.set_overwrite_module_params_on_conversion(False)
        torch.__future__.set_swap_module_params_on_conversion(False)

    def test_overwriting_makes_new_parameters(self):
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        layer = nn.Linear(1, 1)
        before = layer.weight
        layer.double()
        self.assertEqual((layer.weight is before, before.dtype), (False, torch.float32))

    def test_swapping_keeps_the_objects(self):
        torch.__future__.set_swap_module_params_on_conversion(True)
        layer = nn.Linear(1, 1)
        before = layer.weight
        layer.double()
        layer(torch.ones(1, 1, dtype=torch.float64)).sum().backward()
        grad = before.grad
        layer.float()
        self.assertTrue(layer.weight is before and before.grad is grad)
        self.assertEqual((before.dtype, grad.dtype, type(before)), (torch.float32, torch.float32, nn.Parameter))

    def test_swapping_loads_states(self):
        torch.__future__.set_swap_module_params_on_conversion(True)
        layer, state = nn.Linear(1, 1), nn.Linear(1, 1).double().state_dict()
        before = layer.weight
        layer.load_state_dict(state, assign=True)
        self.assertTrue(layer.weight is before and before.dtype is torch.float64)

    def test_swapped_tensors_exchange_all_they_have(self):
        a, b = torch.ones(2), nn.Parameter(torch.zeros(3))
        a.note = 1
        torch.utils.swap_tensors(a, b)
        self.assertEqual((type(a), a.shape, type(b), b.note, hasattr(a, "note")), (nn.Parameter, (3,), torch.Tensor, 1, False))

    def test_tensors_whose_graph_is_alive_are_swapped_unless_it_saves_them(self):
        a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(3))
        address, graph = a._cdata, a * 2
        torch.utils.swap_tensors(a, b)
        self.assertEqual((a.shape, b._cdata), ((3,), address))
        graph.sum().backward()
        self.assertEqual(b.grad.tolist(), [2, 2])
        graph = a * a
        with self.assertRaisesRegex(RuntimeError, "refer to"):
            torch.utils.swap_tensors(a, b)

    def test_wrappers_take_the_place_of_parameters_and_back(self):
        layer = nn.Linear(2, 2, bias=False)
        weight = layer.weight
        layer._apply(Wrapped)
        self.assertEqual((layer.weight is weight, type(weight), isinstance(weight, nn.Parameter)), (True, Wrapped, True))
        nn.utils.parametrize.register_parametrization(layer, "weight", Unwrap())
        self.assertEqual((type(layer.weight), type(layer.parametrizations.weight.original)), (torch.Tensor, Wrapped))
        nn.utils.parametrize.remove_parametrizations(layer, "weight")
        self.assertEqual((layer.weight is weight, type(weight)), (True, nn.Parameter))

    def test_inverses_of_parametrizations_change_the_class_where_tensors_are_swapped(self):
        for swap, kinds in ((False, (nn.Parameter, torch.Tensor)), (True, (Wrapped, Wrapped))):
            torch.__future__.set_swap_module_params_on_conversion(swap)
            layer = nn.Linear(2, 2, bias=False)
            layer.kept = nn.Buffer(torch.ones(2))
            both = layer.weight, layer.kept
            for name in ("weight", "kept"):
                nn.utils.parametrize.register_parametrization(layer, name, Wrap())
                nn.utils.parametrize.remove_parametrizations(layer, name)
            self.assertEqual(tuple(type(t) for t in both), kinds)
            self.assertTrue(layer.weight is both[0] and layer.kept is both[1] and isinstance(both[0], nn.Parameter))

    def test_a_tensor_is_swapped_with_itself(self):
        torch.__future__.set_swap_module_params_on_conversion(True)
        layer = nn.Linear(2, 2)
        layer(torch.ones(1, 2)).sum().backward()
        grad = layer.weight.grad
        for dtype in (torch.float32, torch.float64, torch.float64, torch.float32):  # conversions to the same dtype give the gradient itself
            layer.to(dtype)
        torch.utils.swap_tensors(grad, grad)
        self.assertTrue(layer.weight.grad is grad and grad.tolist() == [[1, 1], [1, 1]])

    def test_tensors_with_weak_references_are_not_swapped(self):
        import weakref

        a, b = torch.ones(2), torch.ones(3)
        kept = weakref.ref(a)
        with self.assertRaises(RuntimeError):
            torch.utils.swap_tensors(a, b)
        self.assertIs(kept(), a)

    def test_there_is_no_copy(self):
        with self.assertRaises(RuntimeError):
            nn.Linear(1, 1).to(torch.float64, copy=True)


class States(unittest.TestCase):
    def test_loading_leaves_no_cycles(self):
        import gc

        layer = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
        state = layer.state_dict()
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        layer.load_state_dict(state)
        self.assertEqual(gc.collect(), 0)

    def test_the_old_weight_norm_into_the_new(self):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            old = nn.utils.weight_norm(nn.Linear(2, 3))
        new = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
        new.load_state_dict(old.state_dict())
        self.assertTrue(torch.equal(new.weight, old.weight))

    def test_a_prefix_is_taken_off(self):
        state = nn.Sequential(nn.Linear(1, 1)).state_dict()
        nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "0.")
        self.assertEqual((list(state), "" in state._metadata, "0" in state._metadata), (["weight", "bias"], True, False))


class BackwardHooks(unittest.TestCase):
    def test_a_gradient_of_a_gradient_runs_them_once(self):
        layer, calls = nn.Tanh(), []
        layer.register_full_backward_hook(lambda *_: calls.append(1))
        x = torch.ones(2, requires_grad=True)
        (first,) = torch.autograd.grad(layer(x).sum(), x, create_graph=True)
        torch.autograd.grad(first.sum(), x)
        self.assertEqual(len(calls), 1)


class ConvolutionGradients(unittest.TestCase):
    def test_are_those_of_autograd(self):
        for dims in (1, 2, 3):
            x = torch.randn(2, 4, *[5] * dims, requires_grad=True)
            weight = torch.randn(6, 2, *[3] * dims, requires_grad=True)
            y = getattr(nn.functional, f"conv{dims}d")(x, weight, None, 2, 1, 1, 2)
            grad = torch.randn(y.shape)
            wanted = torch.autograd.grad(y, (x, weight), grad)
            found = (
                getattr(nn.grad, f"conv{dims}d_input")(x.shape, weight, grad, 2, 1, 1, 2),
                getattr(nn.grad, f"conv{dims}d_weight")(x, weight.shape, grad, 2, 1, 1, 2),
            )
            for a, b in zip(wanted, found):
                torch.testing.assert_close(a, b)


class Assigned(unittest.TestCase):
    def test_a_buffer_takes_no_name_of_another_kind(self):
        module = nn.Module()
        for taken in (5, torch.ones(1)):
            module.taken = taken
            with self.assertRaises(KeyError):
                module.taken = nn.Buffer(torch.ones(1))
            del module.taken
        module.kept = nn.Buffer(torch.ones(1), persistent=False)
        module.kept = torch.zeros(1)
        self.assertEqual((module.kept.item(), list(module.state_dict())), (0.0, []))

    def test_a_subclass_may_register_buffers_without_persistence(self):
        class Plain(nn.Module):
            def register_buffer(self, name, tensor):
                super().register_buffer(name, tensor)

        module = Plain()
        module.bar = nn.Buffer(torch.ones(1))
        self.assertEqual(list(module.state_dict()), ["bar"])

    def test_conversion_to_complex_warns(self):
        with self.assertWarnsRegex(UserWarning, "complex"):
            module = nn.Linear(1, 1).to(torch.complex64)
        self.assertEqual(module.weight.dtype, torch.complex64)

    def test_annotations_say_what_modules_have(self):
        for module in (nn.Linear(1, 1), nn.CrossEntropyLoss(), nn.Sequential()):
            self.assertIs(typing.get_type_hints(type(module))["training"], bool)

    def test_padding_and_pooling_have_a_class_for_each_kind(self):
        from cresset.nn.modules import padding, pooling

        self.assertIsInstance(nn.ZeroPad2d(1), nn.ConstantPad2d)
        self.assertEqual(str(nn.ZeroPad2d(1)), "ZeroPad2d((1, 1, 1, 1))")
        for kind in ("Constant", "Reflection", "Replication", "Circular"):
            base = getattr(padding, f"_{kind}PadNd")
            for n in (1, 2, 3):
                self.assertTrue(issubclass(getattr(nn, f"{kind}Pad{n}d"), base))
                self.assertEqual(issubclass(getattr(nn, f"ReflectionPad{n}d"), base), kind == "Reflection")
        self.assertTrue(issubclass(nn.AdaptiveAvgPool2d, pooling._AdaptiveAvgPoolNd))
        self.assertFalse(issubclass(nn.AdaptiveMaxPool2d, pooling._AdaptiveAvgPoolNd))


if __name__ == "__main__":
    unittest.main()
