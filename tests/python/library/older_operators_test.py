"""Operators defined in the older way of torch._custom_ops: a name and a schema, then its functions one by one."""

import itertools

import pytest

import cresset as torch

_custom_ops = torch._custom_ops

counter = itertools.count()


@pytest.fixture
def qualname():
    name = f"older_test::op{next(counter)}"
    yield name
    if name in _custom_ops._libraries:
        _custom_ops._destroy(name)


def _op(qualname):
    return getattr(torch.ops.older_test, qualname.partition("::")[2])


def _sine(qualname, schema="(Tensor x, float by=1.) -> Tensor", save=lambda inputs, output: {"x": inputs.x, "by": inputs.by}):
    _custom_ops.custom_op(qualname, schema)
    _custom_ops.impl(qualname, func=lambda x, by=1.0: x.sin() * by)
    _custom_ops.impl_save_for_backward(qualname, func=save)


def test_pieces_make_an_operator_with_a_gradient(qualname):
    _sine(qualname)

    @_custom_ops.impl_backward(qualname)
    def gradient(ctx, saved, grad):
        return {"x": grad * saved["x"].cos() * saved["by"]}

    x = torch.tensor([0.0, 1.0], requires_grad=True)
    y = _op(qualname)(x, 3.0)
    y.sum().backward()
    assert torch.equal(y, x.sin() * 3)
    assert torch.allclose(x.grad, x.cos() * 3)


def test_a_function_gives_name_and_schema():
    @_custom_ops.custom_op("older_test::named")
    def named(x: torch.Tensor, sizes: list[int]) -> torch.Tensor:
        raise NotImplementedError

    assert str(torch.ops.older_test.named.default._schema) == "older_test::named(Tensor x, SymInt[] sizes) -> Tensor"
    _custom_ops._destroy("older_test::named")
    with pytest.raises(ValueError, match="name"):

        @_custom_ops.custom_op("older_test::named")
        def other(x: torch.Tensor) -> torch.Tensor:
            raise NotImplementedError


@pytest.mark.parametrize("schema", ["(Tensor(a!) x) -> Tensor", "(Tensor(a) x) -> Tensor(a)", "(Tensor x) -> ()", "(Tensor self) -> Tensor"])
def test_schemas_that_are_not_functional_are_refused(qualname, schema):
    with pytest.raises(ValueError, match="only returns something new"):
        _custom_ops.custom_op(qualname, schema)


@pytest.mark.parametrize("name", ["aten::mine", "prim::mine", "older_test::mine.Tensor"])
def test_names_that_are_refused(name):
    with pytest.raises(ValueError, match="reserved|overload"):
        _custom_ops.custom_op(name, "(Tensor x) -> Tensor")


def test_a_second_function_and_other_devices_are_refused(qualname):
    _custom_ops.custom_op(qualname, "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="expected devices among"):
        _custom_ops.impl(qualname, device_types=["cpu", "xla"], func=torch.sin)
    _custom_ops.impl(qualname, device_types="cpu", func=torch.sin)
    with pytest.raises(RuntimeError, match="already has an implementation"):
        _custom_ops.impl(qualname, func=torch.cos)


WRONG = {
    "no dict": (lambda ctx, saved, grad: grad, "dict"),
    "other names": (lambda ctx, saved, grad: {"x": grad, "y": None}, "keys"),
    "a number's": (lambda ctx, saved, grad: {"x": grad, "by": None}, "keys"),
    "no tensor": (lambda ctx, saved, grad: {"x": 3}, "None or Tensor"),
}


@pytest.mark.parametrize("case", WRONG)
def test_gradients_that_do_not_fit(qualname, case):
    backward, said = WRONG[case]
    _sine(qualname)
    _custom_ops.impl_backward(qualname, func=backward)
    with pytest.raises(RuntimeError, match=said):
        _op(qualname)(torch.ones(2, requires_grad=True)).sum().backward()


def test_lists_have_lists_of_gradients(qualname):
    _custom_ops.custom_op(qualname, "(Tensor[] xs) -> Tensor")
    _custom_ops.impl(qualname, func=lambda xs: xs[0] + 2 * xs[1])
    _custom_ops.impl_save_for_backward(qualname, func=lambda inputs, output: None)
    found = [[1], [None, None], [3 * torch.ones(2), None]]
    _custom_ops.impl_backward(qualname, func=lambda ctx, saved, grad: {"xs": found.pop()})
    xs = [torch.ones(2, requires_grad=True) for _ in range(2)]
    _op(qualname)(xs).sum().backward()
    assert xs[0].grad.tolist() == [3.0, 3.0]
    assert xs[1].grad is None
    _op(qualname)(xs).sum().backward()
    with pytest.raises(RuntimeError, match="of 2, got 1"):
        _op(qualname)(xs).sum().backward()


def test_outputs_without_a_gradient(qualname):
    _custom_ops.custom_op(qualname, "(Tensor x) -> (Tensor, Tensor)")
    _custom_ops.impl(qualname, func=lambda x: (x.clone(), x.clone()))
    _custom_ops.impl_save_for_backward(qualname, func=lambda inputs, output: None)
    with pytest.raises(RuntimeError, match="output_differentiability"):
        _custom_ops.impl_backward(qualname, output_differentiability=[True], func=lambda *args: None)
    _custom_ops.impl_backward(qualname, output_differentiability=[False, True], func=lambda ctx, saved, first, second: {"x": second})
    a, b = _op(qualname)(torch.ones(2, requires_grad=True))
    assert (a.requires_grad, b.requires_grad) == (False, True)


def test_half_a_formula_is_an_error_of_the_call(qualname):
    _custom_ops.custom_op(qualname, "(Tensor x) -> Tensor")
    _custom_ops.impl(qualname, func=torch.sin)
    _custom_ops.impl_backward(qualname, func=lambda ctx, saved, grad: {"x": grad})
    with pytest.raises(RuntimeError, match="lacks the function of impl_save_for_backward"):
        _op(qualname)(torch.ones(2, requires_grad=True))
