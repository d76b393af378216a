"""Every example in the text of autograd runs."""

import doctest
import importlib
import unittest
import warnings

import cresset as torch

MODULES = ("", "._tensor", ".anomaly_mode", ".function", ".functional", ".gradcheck", ".graph", ".variable")


class Examples(unittest.TestCase):
    def test_examples(self):
        modules = [importlib.import_module("cresset.autograd" + name) for name in MODULES]
        scope = {"torch": torch, "warnings": warnings}
        finder, runner, count = doctest.DocTestFinder(recurse=True, exclude_empty=True), doctest.DocTestRunner(verbose=False), 0
        for module in modules:
            for test in finder.find(module, module.__name__, extraglobs=scope):
                with self.subTest(test.name):
                    result = runner.run(test, clear_globs=False)
                    count += result.attempted
                    self.assertEqual(result.failed, 0)
        self.assertGreater(count, 45)


if __name__ == "__main__":
    unittest.main()
