"""The examples in the docstrings."""

import doctest
import io
import unittest

import cresset as torch
import cresset.io.npy
import cresset.io.safetensors
import cresset.serialization


def load_tests(loader, tests, pattern):
    for module in (cresset.serialization, cresset.io.npy, cresset.io.safetensors):
        tests.addTests(doctest.DocTestSuite(module, extraglobs={"torch": torch, "io": io}))
    return tests


if __name__ == "__main__":
    unittest.main()
