"""Tensor classes with __torch_dispatch__: their calls, gradients, views and sizes."""

import copy

import pytest
from cresset.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from cresset.utils._pytree import tree_map_only

import cresset as torch


def wrapped(correct=False):
    """A fresh class around a tensor; `seen` lists the operators that it got."""

    class Wrapped(torch.Tensor):
        seen = []

        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.size(), strides=inner.stride(), dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.seen.append(str(func).removeprefix("aten."))
            plain, named = tree_map_only(Wrapped, lambda w: w.inner, (args, kwargs or {}))
            out = tree_map_only(torch.Tensor, Wrapped, func(*plain, **named))
            return return_and_correct_aliasing(func, args, kwargs or {}, out) if correct else out

    return Wrapped


def test_operators_reach_the_class_below_autograd_under_pytorchs_names():
    W = wrapped()
    y = (W(torch.ones(2, 3)) * 2 + 1).sum(1)
    assert isinstance(y, W)
    assert y.inner.tolist() == [9.0, 9.0]
    assert W.seen == ["mul.Tensor", "add.Tensor", "sum.dim_IntList"]


LOOKS = {
    "index": lambda s: s[0],
    "text": repr,
    "list": lambda s: s.tolist(),
    "bytes": bytes,
    "write": lambda s: s.fill_(1),
    "copy to": lambda s: s.copy_(torch.ones(3).untyped_storage()),
    "copy from": lambda s: torch.ones(3).untyped_storage().copy_(s),
    "clone": lambda s: s.clone(),
    "pickle": lambda s: s.__reduce__(),
}


@pytest.mark.parametrize("look", LOOKS)
def test_the_memory_that_a_wrapper_does_not_have_is_an_error(look):
    with pytest.raises(RuntimeError, match="no memory"):
        LOOKS[look](wrapped()(torch.ones(3)).untyped_storage())


def test_gradients_are_of_the_class():
    W = wrapped()
    w = W(torch.tensor([1.0, 2.0])).requires_grad_()
    (w.sin() * w).sum().backward()
    assert isinstance(w.grad, W)
    x = torch.tensor([1.0, 2.0])
    torch.testing.assert_close(w.grad.inner, x.sin() + x * x.cos())
    assert W.seen[-1] == "detach.default"  # which gives .grad without a graph


def test_views_and_writes_count_versions_of_the_base():
    W = wrapped()
    w = W(torch.zeros(4))
    v = w.view(2, 2)
    w.add_(1)
    v[0].mul_(3)
    assert v._is_view()
    assert w._version == 2
    assert w.inner.tolist() == [3.0, 3.0, 1.0, 1.0]


def test_written_arguments_are_returned_and_views_share_storage_where_the_class_corrects_them():
    W = wrapped(correct=True)
    x = W(torch.zeros(4))
    v = x.view(2, 2)
    assert x.add_(1) is x
    assert x.untyped_storage()._cdata == v.untyped_storage()._cdata


def test_a_mode_gets_the_call_before_the_class():
    W, order = wrapped(), []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append((str(func), [t.__name__ for t in types], list(W.seen)))
            return func(*args, **(kwargs or {}))

    w = W(torch.ones(2))
    with Log():
        w.exp()
    assert order == [("aten.exp.default", ["Wrapped"], [])]
    assert W.seen == ["exp.default"]


def test_strides_and_offset_may_follow_the_sizes():
    class Plain(torch.Tensor):
        __torch_dispatch__ = classmethod(lambda cls, *args: NotImplemented)

    made = torch.Tensor._make_wrapper_subclass(Plain, (2, 3), (1, 2), 4, dtype=torch.float64)
    assert (made.shape, made.stride(), made.storage_offset(), made.dtype) == ((2, 3), (1, 2), 4, torch.float64)


def test_a_class_that_takes_nothing_over_is_an_error_that_names_it():
    class Refuses(torch.Tensor):
        @staticmethod
        def __new__(cls):
            return torch.Tensor._make_wrapper_subclass(cls, (2,))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match=r"aten.mul.Tensor.*NotImplemented: Refuses"):
        torch.mul(Refuses(), 2)


def test_a_class_without_the_hook_is_refused():
    class Plain(torch.Tensor):
        pass

    with pytest.raises(TypeError, match="must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Plain, (2,))


def test_a_class_may_answer_for_its_sizes():
    class Sized(torch.Tensor):
        @staticmethod
        def __new__(cls):
            return torch.Tensor._make_wrapper_subclass(cls, (1,), dispatch_sizes_strides_policy="sizes")

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return {torch.ops.aten.sym_size.default: (7, 5), torch.ops.aten.dim.default: 2}.get(func, NotImplemented)

    assert (list(Sized().shape), Sized().dim(), Sized().size(0)) == ([7, 5], 2, 7)
    with pytest.raises(TypeError, match="sym_stride"):
        Sized().stride()


def test_a_class_that_calls_itself_without_end_is_a_recursion_error():
    class Endless(torch.Tensor):
        @staticmethod
        def __new__(cls):
            return torch.Tensor._make_wrapper_subclass(cls, (2,))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RecursionError):
        Endless().sin()


def test_subclasses_derive_before_their_bases():
    class Base(torch.Tensor):
        order = []

        @staticmethod
        def __new__(cls):
            return torch.Tensor._make_wrapper_subclass(cls, (2,))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            Base.order.append(cls.__name__)
            return NotImplemented

    class Derived(Base):
        pass

    with pytest.raises(TypeError):
        torch.add(Base(), Derived())
    assert Base.order == ["Derived", "Base"]


def test_dispatch_can_be_turned_off_for_a_scope():
    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Log():
        with torch._C._DisableTorchDispatch():
            torch.ones(1)
    assert seen == []


def test_results_kept_for_backward_are_heard_as_detached():
    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func).removeprefix("aten.").removesuffix(".default"))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    with Log():
        y = x.exp()
        torch.autograd.grad(y, x, torch.ones_like(y))
    assert seen == ["exp", "detach", "ones_like", "detach", "mul.Tensor"]


def test_sizes_that_a_class_answers_for_leave_the_methods_of_tensor():
    class Sized(torch.Tensor):
        @staticmethod
        def __new__(cls):
            return torch.Tensor._make_wrapper_subclass(cls, (1,), dispatch_sizes_strides_policy="strides")

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return {torch.ops.aten.sym_stride.default: (5,)}.get(func, NotImplemented)

    assert Sized().stride() == (5,) and Sized().stride(0) == 5
    assert Sized.stride is torch.Tensor.stride and Sized.size is torch.Tensor.size


def test_a_class_without_a_hook_for_functions_gets_no_results_of_its_own():
    class Plain(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.size())

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*tree_map_only(Plain, lambda p: p.inner, args), **(kwargs or {}))

    class Functions(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs)

    class Both(Functions):
        __torch_dispatch__ = Plain.__torch_dispatch__

    assert type(Plain(torch.ones(2)) + 1) is torch.Tensor
    assert "__torch_function__" in Plain.__dict__
    assert Both.__torch_function__.__func__ is Functions.__torch_function__.__func__
    with pytest.raises(RuntimeError, match="detach.. of a Plain gave a Tensor"):
        torch.nn.Parameter(Plain(torch.ones(2)))


def test_detached_tensors_of_a_class_are_of_it_and_require_no_gradient():
    Wrapped = wrapped()
    x = Wrapped(torch.ones(2)).requires_grad_()
    for plain in (x.detach(), x.data):
        assert type(plain) is Wrapped and not plain.requires_grad and not plain._is_view() and plain.inner.tolist() == [1, 1]
    version = x._version
    x.data.add_(1)
    assert x._version == version and x.inner.tolist() == [2, 2]
    parameter = torch.nn.Parameter(x, requires_grad=False)
    assert type(parameter) is Wrapped and not parameter.requires_grad


def test_forward_mode_goes_through_a_class():
    Wrapped = wrapped()
    x = Wrapped(torch.tensor([0.5, 2.0]))
    value, tangent = torch.func.jvp(torch.exp, (x,), (Wrapped(torch.ones(2)),))
    assert type(value) is type(tangent) is Wrapped
    torch.testing.assert_close(tangent.inner, x.inner.exp())


def test_gradcheck_reads_the_numbers_of_a_class_without_memory():
    Wrapped = wrapped()
    x = Wrapped(torch.rand(2, 2, dtype=torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(lambda a: a.pow(3).sum(), (x,))

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(Wrong.apply, (x,))


def test_deepcopies_of_wrappers():
    Wrapped = wrapped()
    x = Wrapped(torch.ones(2)).requires_grad_()
    x.note = ["kept"]
    copied = copy.deepcopy(x)
    assert type(copied) is Wrapped and copied.requires_grad and copied.inner is not x.inner
    assert copied.note == ["kept"] and copied.note is not x.note
    assert copied.inner.tolist() == [1, 1] and copied.inner.data_ptr() != x.inner.data_ptr()


def test_a_mode_that_knows_no_class_leaves_its_calls_to_it():
    W, heard = wrapped(), []

    class Plain(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            heard.append((str(func), len(types)))
            return NotImplemented if W in types else func(*args, **(kwargs or {}))

    w = W(torch.ones(2))
    with Plain():
        assert isinstance(w * 2, W)
    assert heard == [("aten.mul.Tensor", 1), ("aten.mul.Tensor", 0)]

    class Nothing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    with Nothing(), pytest.raises(TypeError, match="returned NotImplemented"):
        torch.ones(2) * 2


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_graphs_are_of_what_a_class_calls(mode):
    W = wrapped()

    def f(a, y):
        return (W(a) * y).inner, y + y

    graph = torch.fx.experimental.proxy_tensor.make_fx(f, tracing_mode=mode)(torch.zeros(4), torch.ones(4))
    assert [str(node.target) for node in graph.graph.nodes if node.op == "call_function"] == ["aten.mul.Tensor", "aten.add.Tensor"]
    assert graph(torch.ones(4), torch.full((4,), 3.0))[0].tolist() == [3.0] * 4


class Counted(torch.Tensor):
    """With memory of its own; the call itself is left to the base."""

    seen = []

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        return super().__torch_dispatch__(func, types, list(args), kwargs)


def test_the_base_computes_on_the_memory_of_the_class():
    for x in (Counted(torch.ones(2)), torch.Tensor._make_subclass(Counted, torch.ones(2))):
        Counted.seen.clear()
        y = x + x
        assert (type(y), y.tolist(), Counted.seen) == (torch.Tensor, [2.0, 2.0], ["aten.add.Tensor"])
        version = x._version
        x.add_(1)
        assert x.as_subclass(torch.Tensor).tolist() == [2.0, 2.0] and x._version == version + 1
        x.resize_(3)
        assert x.shape == (3,)
    x = torch.Tensor._make_subclass(Counted, torch.ones(2), True)
    assert x.neg().requires_grad


def test_calls_that_no_class_takes_need_memory():
    from cresset.utils._mode_utils import no_dispatch

    w = wrapped()(torch.ones(2))
    for call in (lambda: w + 1, lambda: w.add_(1), lambda: w.clone(), lambda: w.sum(), lambda: torch.stack([w, w]), lambda: w[0].item()):
        with no_dispatch(), pytest.raises(RuntimeError, match="no memory"):
            call()


@pytest.mark.parametrize("recorded", [False, True])
def test_calls_that_no_class_takes_know_shapes(recorded):
    from cresset.utils._mode_utils import no_dispatch

    w = wrapped()(torch.arange(6.0).reshape(2, 3).requires_grad_(recorded))
    views = {
        lambda: w.view(3, 2): ((3, 2), (2, 1)), lambda: w.t(): ((3, 2), (1, 3)), lambda: w[:, 1:]: ((2, 2), (3, 1)), lambda: w[0]: ((3,), (1,)),
        lambda: w.reshape(-1): ((6,), (1,)), lambda: w.flatten(): ((6,), (1,)), lambda: w.expand(4, 2, 3): ((4, 2, 3), (0, 3, 1)),
        lambda: w.split(1)[1]: ((1, 3), (3, 1)), lambda: w.unfold(1, 2, 1): ((2, 2, 2), (3, 1, 1)), lambda: w.movedim(0, 1): ((3, 2), (1, 3)),
        lambda: w.swapaxes(0, 1): ((3, 2), (1, 3)), lambda: w.as_strided((2,), (1,)): ((2,), (1,)), lambda: w.diagonal(): ((2,), (4,)),
        lambda: w.unsqueeze(0).squeeze(0): ((2, 3), (3, 1)), lambda: w.view_as(w): ((2, 3), (3, 1)), lambda: w.detach(): ((2, 3), (3, 1)),
    }  # fmt: skip
    for call, (sizes, strides) in views.items():
        with no_dispatch():
            view = call()
        assert (type(view), tuple(view.shape), view.stride()) == (torch.Tensor, sizes, strides)
        for read in (lambda view=view: view + 1, view.clone, view.tolist, view.sum, lambda view=view: torch.ones(sizes).copy_(view)):
            with pytest.raises(RuntimeError):  # a view of no memory has none
                read()
    with no_dispatch():
        made = [torch.zeros_like(w), w.new_full((2, 3), 0.0), torch.full_like(w, 0), w.new_zeros(2, 3)]
        assert w.contiguous() is w and w.to(torch.float32) is w and torch.empty_like(w).shape == w.shape and w.new_empty(4).shape == (4,)
    assert all(type(t) is torch.Tensor and t.tolist() == [[0.0] * 3] * 2 for t in made)


def test_a_class_has_no_numbers_of_its_own():
    w = wrapped()(torch.ones(2))
    assert repr(w) == "Wrapped(..., size=(2,))"
    for read in (w.tolist, w.numpy, w.untyped_storage().data_ptr):
        with pytest.raises(RuntimeError, match="no numbers of its own|no memory"):
            read()
    with pytest.raises(RuntimeError, match="has no memory"):
        torch.empty(2).set_(w.untyped_storage(), 0, (2,), (1,))


def test_a_tensor_has_one_object():
    class Other(torch.Tensor):
        pass

    w = wrapped()(torch.ones(2))
    for make in (lambda: torch.Tensor._make_subclass(Other, w), lambda: w.as_subclass(Other)):
        with pytest.raises(RuntimeError, match="already"):
            make()
    assert type(w * 2) is type(w)


@pytest.mark.parametrize("returned", ["text", 3, 2.5, [1]])
def test_wrong_results_are_errors(returned):
    class Wrong(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return returned

    x = Wrong(torch.zeros(1))
    for call in (x.neg, x.detach, lambda: x.add_(1), lambda: torch.max(x, 0), lambda: torch.split(x, 1)):
        with pytest.raises(RuntimeError, match="__torch_dispatch__ returned"):
            call()


@pytest.mark.parametrize("wrapper", [True, False])
def test_classes_answer_for_what_they_say(wrapper):
    def made(answers, **options):
        class Answering(torch.Tensor):
            @staticmethod
            def __new__(cls):
                if wrapper:
                    return torch.Tensor._make_wrapper_subclass(cls, (3, 3), **options)
                return torch.Tensor._make_subclass(cls, torch.zeros(3, 3), False, **options)

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                return answers.get(func.overloadpacket, NotImplemented)

        return Answering()

    prim, aten = torch.ops.prim, torch.ops.aten
    assert made({prim.device: torch.device("meta")}, dispatch_device=True).device == torch.device("meta")
    assert made({prim.layout: torch.sparse_csr}, dispatch_layout=True).layout is torch.sparse_csr
    x = made({aten.sym_size: (5, 6), aten.dim: 2, aten.sym_storage_offset: 3}, dispatch_sizes_strides_policy="sizes")
    assert (x.size(), x.dim(), x.storage_offset()) == ((5, 6), 2, 3)
    for ask in (lambda x: x.device, lambda x: x.layout, lambda x: x.size(), lambda x: x.storage_offset()):
        with pytest.raises(TypeError, match="NotImplemented"):
            ask(made({}, dispatch_device=True, dispatch_layout=True, dispatch_sizes_strides_policy="sizes"))


def test_gradients_of_what_a_class_holds():
    class Inside(wrapped()):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            plain = tree_map_only(Inside, lambda w: w.inner, args)
            with torch.overrides.enable_reentrant_dispatch():
                return tree_map_only(torch.Tensor, Inside, func(*plain, **(kwargs or {})))

    inner = torch.ones(2, requires_grad=True)
    out = Inside(inner) * 2
    assert not out.requires_grad and out.inner.requires_grad
    out.inner.sum().backward()
    assert inner.grad.tolist() == [2.0, 2.0]


def test_a_list_of_tensors_that_take_over_is_an_index():
    class Taking(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "taken"

    a, t = torch.rand(3), Taking()
    assert [a[[t, t]], a[[0, t]], a[t], a[(t,)]] == ["taken"] * 4


@pytest.mark.parametrize(
    "make", [lambda W: W(torch.zeros(3)), lambda W: torch.nn.Parameter(W(torch.zeros(3))), lambda W: torch.nn.Parameter(W(torch.zeros(3)), requires_grad=False)]
)
@pytest.mark.parametrize("data", [lambda W, w: w, lambda W, w: W(torch.zeros(3)), lambda W, w: torch.zeros(3)])
def test_new_data_leaves_calls_to_the_class(make, data):
    W = wrapped()
    w = make(W)
    w.inner = torch.ones(3)
    w.data = data(W, w)
    W.seen.clear()
    assert type(w) is W
    assert (-w).inner.tolist() == [-1.0] * 3
    assert W.seen == ["neg.default"]
    assert isinstance(w.data, W)


def test_no_answer_to_a_question_on_sizes_is_the_tensors_own():
    class Silent(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.size(), strides=inner.stride(), dispatch_sizes_strides_policy="sizes", dispatch_device=True)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return None

    s = Silent(torch.ones(3, 2).t())
    assert (s.size(), s.shape, s.size(1), s.stride(), s.dim(), s.numel(), len(s)) == ((2, 3), (2, 3), 3, (1, 2), 2, 6, 2)
    assert not s.is_contiguous()
    assert s.storage_offset() == 0
    assert s.device.type == "cpu"


def test_what_a_wrapper_is_may_be_given_by_place():
    class Mine(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError

    w = torch.Tensor._make_wrapper_subclass(Mine, (2, 3), (1, 2), 4, None, torch.float64, torch.strided, torch.device("meta"), False, True)
    assert (tuple(w.shape), w.stride(), w.storage_offset(), w.dtype, w.device.type, w.requires_grad) == ((2, 3), (1, 2), 4, torch.float64, "meta", True)


def test_neither_classes_nor_modes_hear_calls_where_functions_are_off():
    class Mine(torch.Tensor):
        pass

    with torch._C.DisableTorchFunction():
        assert type(Mine([1.0]) + 1) is torch.Tensor


def test_a_tensor_of_a_class_that_answers_gets_no_second_object():
    class Plain(torch.Tensor):
        pass

    W = wrapped()
    for make in (Plain, lambda w: w.as_subclass(Plain), lambda w: torch.Tensor._make_subclass(Plain, w)):
        with pytest.raises(RuntimeError, match="one object"):
            make(W(torch.ones(2)))
    plain = Plain(torch.ones(2))
    assert type(Plain(plain)) is Plain


def test_a_class_made_of_its_own_tensor_gives_what_the_class_gives():
    class Own(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return super().__torch_dispatch__(func, types, args, kwargs)

    own = Own(torch.ones(2))
    again = Own(own)
    assert type(again) is Own
    del own
    assert again.numel() == 2
