"""Types of arguments and results of schemas: objects of PyTorch's classes."""

import unittest

import cresset as torch


class Types(unittest.TestCase):
    def test_types_of_schemas(self):
        schema = torch.ops.aten.sum.dim_IntList._schema
        self.assertIsInstance(schema, torch.FunctionSchema)
        self.assertEqual([type(a.type).__name__ for a in schema.arguments], ["TensorType", "OptionalType", "BoolType", "OptionalType"])
        self.assertEqual([str(a.real_type) for a in schema.arguments], ["Tensor", "Optional[List[int]]", "bool", "Optional[ScalarType]"])
        tensor, integer = torch.TensorType.get(), torch.IntType.get()
        listed = torch._C.ListType(tensor)
        self.assertEqual((str(listed), str(torch.OptionalType(integer)), listed.getElementType()), ("List[Tensor]", "Optional[int]", tensor))
        self.assertEqual(torch.ops.aten.cat.default._schema.arguments[0].type, listed)
        self.assertTrue(tensor.isSubtypeOf(torch.OptionalType(tensor)) and tensor.isSubtypeOf(torch.AnyType.get()))
        self.assertFalse(tensor.isSubtypeOf(integer))
        self.assertRaises(RuntimeError, torch.ListType.get)


if __name__ == "__main__":
    unittest.main()
