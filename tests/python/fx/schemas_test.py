"""Signatures of operators from their schemas, and operators as functions of C."""

import copy
import inspect
import numbers
import pickle
import types
import typing
import unittest

from cresset.fx.operator_schemas import _torchscript_type_to_python_type, get_signature_for_torch_op, normalize_function

import cresset as torch
from cresset import fx

X = torch.ones(2, 2)


class FunctionsOfC(unittest.TestCase):
    def test_operators_are_functions_of_c_for_isinstance(self):
        for op in (torch.add, torch.nn.functional.linear, torch.linalg.inv):
            self.assertIsInstance(op, types.BuiltinFunctionType)
            self.assertTrue(inspect.isbuiltin(op) and inspect.isroutine(op))
            self.assertIsNone(op.__self__)
            self.assertRaises(ValueError, inspect.signature, op)

    def test_methods_are_methods_of_c(self):
        self.assertIsInstance(torch.Tensor.add, types.MethodDescriptorType)
        self.assertTrue(inspect.isroutine(torch.Tensor.add))
        self.assertFalse(inspect.isbuiltin(torch.Tensor.add))

    def test_copies_and_files_still_give_the_operator(self):
        for op in (torch.add, torch.Tensor.add):
            self.assertIs(copy.deepcopy(op), op)
            for protocol in (0, 2, 5):
                self.assertIs(pickle.loads(pickle.dumps(op, protocol)), op)

    def test_what_reaches_outside_is_no_dead_code(self):
        graph, library = fx.Graph(), torch.library.Library("schemas_test", "DEF")
        library.define("write(Tensor(a!) x) -> ()")
        x = graph.placeholder("x")
        collectives = torch.ops._c10d_functional
        for target in (collectives.wait_tensor, collectives.wait_tensor.default, torch.ops.schemas_test.write, torch.ops.schemas_test.write.default,
                       torch.amp._enter_autocast, torch._C._set_grad_enabled, torch.ops.aten.add.out):  # fmt: skip
            self.assertTrue(graph.call_function(target, (x,)).is_impure(), target)
        self.assertFalse(graph.call_function(collectives.all_reduce.default, (x, "sum", "0")).is_impure())

    def test_random_operators_are_known_in_graphs(self):
        traced = fx.symbolic_trace(lambda x: torch.rand_like(x))
        self.assertTrue([n for n in traced.graph.nodes if n.op == "call_function"][0].is_impure())


class Signatures(unittest.TestCase):
    def test_defaults_are_those_of_the_schema(self):
        for op, name, default in ((torch.rot90, "dims", [0, 1]), (torch.fft.fft2, "dim", [-2, -1]), (torch.roll, "dims", [])):
            self.assertEqual(get_signature_for_torch_op(op)[0].parameters[name].default, default)
        self.assertIn("out_int32", get_signature_for_torch_op(torch.bucketize)[0].parameters)

    def test_every_overload_has_a_signature_and_a_schema(self):
        signatures, schemas = get_signature_for_torch_op(torch.ops.aten.add, return_schemas=True)
        self.assertEqual(list(map(str, schemas))[:2], ["aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                                                      "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"])  # fmt: skip
        self.assertEqual(len(signatures), len(schemas))
        self.assertEqual(signatures[0].parameters["alpha"].annotation, numbers.Number)
        self.assertEqual(len(get_signature_for_torch_op(torch.ops.aten.add.Tensor)), 1)

    def test_functions_written_in_python_here_have_the_schemas_of_their_operators(self):
        self.assertEqual(len(get_signature_for_torch_op(torch.einsum)), 1)
        self.assertIsNone(get_signature_for_torch_op(torch.nn.functional.relu))

    def test_arguments_of_one_overload_have_a_normal_form(self):
        found = normalize_function(torch.ops.aten.add.Tensor, (X, X), normalize_to_only_use_kwargs=True)
        self.assertEqual(list(found.kwargs), ["input", "other", "alpha"])
        self.assertEqual(normalize_function(torch.rot90, (X,)).kwargs, {"k": 1, "dims": [0, 1]})


class InferredTypes(unittest.TestCase):
    def test_values_have_types(self):
        infer = torch._C._jit_try_infer_type
        for value, text, kind in (
            (1, "int", int), (None, "NoneType", type(None)), (X, "Tensor", torch.Tensor), ([1, None], "List[Optional[int]]", typing.List[typing.Optional[int]]),
            ((1, "a"), "Tuple[int, str]", typing.Tuple[int, str]), ({"a": X}, "Dict[str, Tensor]", typing.Dict[str, torch.Tensor]), (torch.float32, "int", int),
            (torch.device("cpu"), "Device", torch.device), ((), "Tuple[()]", typing.Tuple[()]),
        ):  # fmt: skip
            found = infer(value)
            self.assertTrue(found.success())
            self.assertEqual(str(found.type()), text)
            self.assertEqual(_torchscript_type_to_python_type(found.type()), kind)

    def test_values_without_a_type_have_a_reason(self):
        for value, reason in ([1, "a"], "the types int and str"), ([], "empty list"), (object(), "of type 'object'"):
            found = torch._C._jit_try_infer_type(value)
            self.assertFalse(found.success())
            self.assertIn(reason, found.reason())
            self.assertRaises(RuntimeError, found.type)


if __name__ == "__main__":
    unittest.main()
