"""Numbers and texts that are made anew for each call of a compiled function: one may get the address that another had, and is another all the same."""

import unittest

import cresset as torch


class ChangingConstants(unittest.TestCase):
    def assert_as_plain(self, function, values):
        torch._dynamo.reset()
        with torch._dynamo.config.patch(recompile_limit=1000, accumulated_recompile_limit=1000):
            compiled, x = torch.compile(function, backend="eager", dynamic=False), torch.ones(1)
            for _ in range(3):
                for i in range(60):
                    self.assertEqual(compiled(x, values(i)).item(), function(x, values(i)).item(), i)

    def test_floats(self):
        self.assert_as_plain(lambda x, v: x * v, lambda i: i % 7 + 0.5)

    def test_integers(self):
        self.assert_as_plain(lambda x, v: x * v, lambda i: 1000 + i % 7)

    def test_texts(self):
        self.assert_as_plain(lambda x, text: x * len(text), lambda i: "a" * (i % 5) + str(i % 3))

    def test_classes_of_arguments(self):
        self.assert_as_plain(lambda x, v: x * (2 if type(v) is float else 3), lambda i: i % 3 + 0.5 if i % 2 else object())

    def test_variables_of_another_function(self):
        w = 0.5

        def function(x):
            return x * w

        torch._dynamo.reset()
        with torch._dynamo.config.patch(recompile_limit=1000, accumulated_recompile_limit=1000):
            compiled, x = torch.compile(function, backend="eager", dynamic=False), torch.ones(1)
            for i in range(200):
                w = i % 7 + 0.5
                self.assertEqual(compiled(x).item(), i % 7 + 0.5)


if __name__ == "__main__":
    unittest.main()
