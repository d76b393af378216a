"""Names of PyTorch's private package of operators, which libraries import."""

import unittest

from cresset._library import custom_ops, fake_impl, triton, utils

from cresset import library, ops


class Names(unittest.TestCase):
    def setUp(self):
        self.plus = library.custom_op("names_test::plus", lambda x, n=1.0: x + n, mutates_args=(), schema="(Tensor x, float n=1.0) -> Tensor")
        self.both = library.custom_op("names_test::both", lambda x, y: x.add_(y) * 2, mutates_args={"x"}, schema="(Tensor(a!) x, Tensor y) -> Tensor")

    def test_names(self):
        self.assertIs(custom_ops._maybe_get_opdef("names_test::plus"), self.plus)
        self.assertIs(custom_ops._maybe_get_opdef(self.plus._opoverload), self.plus)
        self.assertIsNone(custom_ops._maybe_get_opdef("aten::add"))
        self.assertIs(triton.triton_op, library.triton_op)
        self.assertIs(triton.capture_triton, library.wrap_triton)
        with self.assertRaisesRegex(AttributeError, "torch.ops.aten.add has no overload 'sideways', it has Tensor"):
            ops.aten.add.sideways  # noqa: B018
        with self.assertRaisesRegex(AttributeError, "torch.ops.names_test.plus has no overload 'sideways', it has default"):
            ops.names_test.plus.sideways  # noqa: B018
        self.assertTrue(callable(fake_impl.FakeImplCtx.new_dynamic_size))
        add_, schema = ops.aten.add_.Tensor, self.both._opoverload._schema
        self.assertEqual((utils.mutates_and_returns_first_arg(add_), utils.mutates_and_returns_first_arg(self.both._opoverload)), (True, False))
        self.assertEqual([utils.is_functional_schema(s) for s in (schema, self.plus._opoverload._schema, "f(Tensor x) -> ()")], [False, True, False])
        self.assertEqual((utils.mutated_args_kwargs(schema), utils.has_tensor_arg(schema), utils.has_kwarg_only_tensors(schema)), (([0], []), True, False))
        self.assertEqual([(a.name, v) for a, v in utils.zip_schema(self.plus._opoverload._schema, (1,), {"n": 2})], [("x", 1), ("n", 2)])
        self.assertEqual(utils.fill_defaults(self.plus._opoverload._schema, (1,), {}), ((1, 1.0), {}))
        self.assertIs(utils.lookup_op("aten::add.Tensor"), ops.aten.add.Tensor)
        self.assertEqual((utils.is_builtin(add_), utils.is_builtin(self.plus._opoverload)), (True, False))
        self.assertIsNone(utils.get_device_arg_index(schema))


if __name__ == "__main__":
    unittest.main()
