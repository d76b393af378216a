"""Every example in the documentation of torch.nn runs, and every public class and function is documented."""

import doctest
import importlib
import inspect
import pkgutil
import unittest
import warnings

import cresset as torch
from cresset import nn
from cresset.nn import functional as F

_GLOBALS = {"torch": torch, "nn": nn, "F": F}


def _modules():
    yield nn
    for info in pkgutil.walk_packages(nn.__path__, nn.__name__ + "."):
        yield importlib.import_module(info.name)
    yield importlib.import_module("cresset.utils.hooks")


class Examples(unittest.TestCase):
    def test_every_example_gives_what_it_shows(self):
        finder, examples = doctest.DocTestFinder(), 0
        for module in _modules():
            for test in finder.find(module, globs=dict(_GLOBALS)):
                examples += len(test.examples)
                said = []
                with self.subTest(test.name), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
                    self.assertEqual(failed, 0, "".join(said))
        self.assertGreater(examples, 250)

    def test_examples_of_functions_made_in_loops_run_too(self):
        runner = doctest.DocTestRunner(verbose=False)
        for name, function in vars(F).items():
            if inspect.isfunction(function) and not name.startswith("_"):
                said = []
                with self.subTest(name), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    for test in doctest.DocTestFinder(recurse=False).find(function, name, module=False, globs=dict(_GLOBALS)):
                        self.assertEqual(runner.run(test, out=said.append).failed, 0, "".join(said))


class Documented(unittest.TestCase):
    def test_layers_and_functions_say_what_they_are(self):
        for home in (nn, F, nn.init, nn.utils, nn.utils.rnn, nn.utils.prune, nn.utils.parametrize, nn.utils.parametrizations, nn.utils.stateless):
            for name, thing in vars(home).items():
                ours = getattr(thing, "__module__", "").startswith("cresset.nn")
                if ours and not name.startswith("_") and (inspect.isclass(thing) or inspect.isfunction(thing)):
                    self.assertTrue(thing.__doc__, name)
                    old_or_part = "old name" in thing.__doc__.lower() or "places" in thing.__doc__ or name.endswith("Mixin")
                    self.assertTrue(">>>" in thing.__doc__ or old_or_part, f"{home.__name__}.{name} has no example")

    def test_methods_of_module_say_what_they_do(self):
        for cls in nn.Module.__mro__[:-1]:
            for name, method in vars(cls).items():
                if inspect.isfunction(method) and not name.startswith("_"):
                    self.assertTrue(method.__doc__, name)


if __name__ == "__main__":
    unittest.main()
