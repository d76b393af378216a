"""Sizes by tensor, by further examples and by the fixes that a failed export suggests; trees of modules with shared and written parts."""

import unittest

from cresset.export import AdditionalInputs, Dim, ShapesCollection, export, unflatten
from cresset.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

import cresset as torch
from cresset import nn

X = torch.linspace(-1, 1, 12).reshape(4, 3)


class Sum(nn.Module):
    def forward(self, x, pair, *, scale=None):
        return x + pair["a"] + pair["b"] if scale is None else (x + pair["a"]) * scale


class ByTensor(unittest.TestCase):
    def arguments(self):
        return X, {"a": X + 1, "b": X + 2}

    def test_sizes_reach_nested_arguments(self):
        x, pair = self.arguments()
        shapes, b = ShapesCollection(), Dim("b")
        shapes[x] = {0: b}
        shapes[pair["a"]] = (b, None)
        shapes[pair["b"]] = {0: b}
        self.assertEqual(len(shapes), 3)
        module = export(Sum(), (x, pair), dynamic_shapes=shapes).module()
        other = torch.ones(7, 3)
        self.assertTrue(torch.equal(module(other, {"a": other, "b": other}), other * 3))
        with self.assertRaisesRegex(AssertionError, "expected 7, got 6"):
            module(other, {"a": other, "b": other[1:]})

    def test_a_tensor_that_is_no_argument_is_refused(self):
        x, pair = self.arguments()
        shapes = ShapesCollection()
        shapes[x.clone()] = {0: Dim("b")}
        with self.assertRaisesRegex(ValueError, "1 of its tensors are no arguments"):
            export(Sum(), (x, pair), dynamic_shapes=shapes)

    def test_a_size_is_given_once(self):
        shapes = ShapesCollection()
        shapes[X] = {0: Dim.AUTO}
        shapes[X] = {0: Dim.AUTO, 1: Dim.STATIC}
        self.assertEqual(shapes[X], {0: Dim.AUTO, 1: Dim.STATIC})
        with self.assertRaisesRegex(AssertionError, r"dimension 1 is DimHint\(STATIC\) already, got 3"):
            shapes[X] = {1: 3}


class ByExample(unittest.TestCase):
    def test_sizes_that_differ_are_dynamic(self):
        more = AdditionalInputs()
        more.add((torch.ones(6, 3), torch.ones(3)))
        program = export(Add(), (X, torch.ones(3)), dynamic_shapes=more)
        more.verify(program)
        self.assertEqual(program.module()(torch.ones(9, 3), torch.ones(3)).shape, (9, 3))
        with self.assertRaisesRegex(AssertionError, "Guard failed"):
            program.module()(torch.ones(9, 4), torch.ones(4))

    def test_an_example_that_the_program_does_not_take_is_found(self):
        more = AdditionalInputs()
        more.add((torch.ones(6, 3), torch.ones(3)))
        program = export(Add(), (X, torch.ones(3)))
        with self.assertRaisesRegex(RuntimeError, "Guard failed"):
            more.verify(program)

    def test_examples_are_nested_alike(self):
        more = AdditionalInputs()
        more.add(([torch.ones(6, 3)], torch.ones(3)))
        with self.assertRaisesRegex(ValueError, "nested alike"):
            export(Add(), (X, torch.ones(3)), dynamic_shapes=more)


class Add(nn.Module):
    def forward(self, x, y):
        return x + y


class Fixes(unittest.TestCase):
    def test_the_suggestion_of_a_failed_export_makes_it_succeed(self):
        a, b = Dim("a"), Dim("b")
        shapes = {"x": {0: a}, "y": {0: b}}
        for function, example, other in (
            (lambda x, y: x[: y.shape[0]] + y, (torch.ones(5), torch.ones(5)), (torch.ones(8), torch.ones(8))),
            (lambda x, y: x + y[1:], (torch.ones(5), torch.ones(6)), (torch.ones(8), torch.ones(9))),
            (lambda x, y: x.reshape(4, -1).sum(1)[:3] + y.sum(), (torch.ones(8), torch.ones(3)), (torch.ones(12), torch.ones(7))),
        ):
            module = Pair(function)
            try:
                export(module, example, dynamic_shapes=shapes)
            except RuntimeError as error:
                refined = refine_dynamic_shapes_from_suggested_fixes(str(error), shapes)
            else:
                refined = shapes
            program = export(module, example, dynamic_shapes=refined)
            self.assertTrue(torch.equal(program.module()(*other), function(*other)))


class Largest(nn.Module):
    def forward(self, x, y):
        return torch.zeros(torch.sym_max(x.shape[0], y.shape[0])), y[:, 0].sum()


class First(nn.Module):
    """The first rows, as many as the data say."""

    def forward(self, x, n):
        k = n.item()
        torch._check(k >= 1)
        torch._check(k <= x.shape[0])
        return x[:k].sum(0), x.narrow(0, 0, k)


class Numbers(unittest.TestCase):
    def test_the_larger_of_two_sizes_is_that_of_the_example(self):
        # At the point both are the same number: sizes that turn it round are refused, and give no wrong result.
        program = export(Largest(), (torch.ones(3, 2), torch.ones(4, 2)), dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}))
        self.assertEqual(program.module()(torch.ones(5, 2), torch.ones(7, 2))[0].shape, (7,))
        with self.assertRaisesRegex(AssertionError, "Max"):
            program.module()(torch.ones(6, 2), torch.ones(2, 2))

    def test_programs_check_numbers_of_the_data_in_every_form(self):
        captured = export(First(), (torch.ones(5, 2), torch.tensor(3)))
        for program in (captured, captured.run_decompositions({}), captured.run_decompositions()):
            module = program.module()
            self.assertEqual(module(torch.ones(5, 2), torch.tensor(2))[1].shape, (2, 2))
            for wrong in (0, 9):
                with self.assertRaisesRegex(RuntimeError, "u0"):
                    module(torch.ones(5, 2), torch.tensor(wrong))


class Pair(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y):
        return self.function(x, y)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return x * self.calls


class Trees(unittest.TestCase):
    def test_a_module_that_is_called_twice(self):
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(3, 3)

            def forward(self, x):
                return self.inner(self.inner(x).relu())

        module = Twice()
        tree = unflatten(export(module, (X,)))
        torch.testing.assert_close(tree(X), module(X))
        self.assertEqual(sorted(dict(tree.named_parameters())), ["inner.bias", "inner.weight"])

    def test_weights_that_two_modules_share_stay_one(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
                self.b.weight = self.a.weight

            def forward(self, x):
                return self.b(self.a(x))

        module = Tied()
        tree = unflatten(export(module, (X,)))
        with torch.no_grad():
            tree.a.weight.mul_(2)
            module.a.weight.mul_(2)
        torch.testing.assert_close(tree(X), module(X))

    def test_buffers_are_written(self):
        module = nn.Sequential(Counter(), Counter())
        tree = unflatten(export(module, (X,)))
        for n in (1.0, 4.0):
            torch.testing.assert_close(tree(X), X * n)
        self.assertEqual([float(b) for b in tree.buffers()], [2.0, 2.0])

    def test_a_part_takes_another_ones_place(self):
        module = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
        tree = unflatten(export(module, (X,)))
        setattr(getattr(tree, "1"), "1", nn.Sigmoid())
        torch.testing.assert_close(tree(X), module[1][0](module[0](X)).sigmoid())

    def test_sizes_stay_dynamic(self):
        module = nn.Sequential(nn.Linear(3, 2), nn.Flatten(0))
        tree = unflatten(export(module, (X,), dynamic_shapes=({0: Dim("b")},)))
        other = torch.ones(9, 3)
        torch.testing.assert_close(tree(other), module(other))


if __name__ == "__main__":
    unittest.main()
