"""The examples in the docstrings run."""

import doctest
import importlib.util
import pkgutil
import unittest

import cresset as torch


class Examples(unittest.TestCase):
    def test_docstrings(self):
        for package in (torch.optim, torch.utils):
            for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
                if info.name == "cresset.utils._cxx_pytree" and importlib.util.find_spec("optree") is None:
                    continue
                module = importlib.import_module(info.name)
                with self.subTest(module=info.name):
                    self.assertEqual(doctest.testmod(module, extraglobs={"torch": torch, "nn": torch.nn, "optim": torch.optim}).failed, 0)


if __name__ == "__main__":
    unittest.main()
