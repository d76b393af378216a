"""Schemas made of annotations: which types parameters and results may have, as with PyTorch 2.13."""

import collections.abc
import typing
import unittest
from typing import Dict, List, Optional, Sequence, Tuple, Union

from cresset.library import infer_schema

import cresset as torch
from cresset import Tensor

PLAIN = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    torch.dtype: "ScalarType",
    torch.device: "Device",
    Union[int, float, bool]: "Scalar",
}


def of(kind, returned=Tensor, mutates_args=(), **default):
    def f(x: Tensor, d): ...

    if default:
        f.__defaults__ = (default["default"],)
    f.__annotations__.update(d=kind, **{"return": returned})
    return infer_schema(f, mutates_args=mutates_args)


class Parameters(unittest.TestCase):
    def test_lists_are_of_tensors_and_numbers(self):
        for kind, text in PLAIN.items():
            for listed in (List[kind], Sequence[kind], list[kind], collections.abc.Sequence[kind]):
                if kind in (str, torch.dtype, torch.device):
                    self.assertRaises(ValueError, of, listed)
                else:
                    self.assertEqual(of(listed), f"(Tensor x, {text}[] d) -> Tensor")

    def test_plain_types_and_lists_of_numbers_may_be_none(self):
        for kind, text in PLAIN.items():
            self.assertEqual(of(Optional[kind]), f"(Tensor x, {text}? d) -> Tensor")
            if kind in (int, float, bool):
                self.assertEqual(of(Optional[List[kind]]), f"(Tensor x, {text}[]? d) -> Tensor")
            else:
                self.assertRaises(ValueError, of, Optional[List[kind]])
        self.assertEqual(of(List[Optional[Tensor]]), "(Tensor x, Tensor?[] d) -> Tensor")

    def test_other_types_are_errors(self):
        kinds = (Union[int, float], Union[int, float, complex], Union[int, float, None], Union[Tensor, int], int | float, complex, dict, Dict[str, int], Tuple[int, int], tuple, list,
                 List[Optional[int]], List[List[int]], Optional[List[Optional[Tensor]]], typing.Annotated[int, 3], typing.Any, torch.Size, None)  # fmt: skip
        for kind in kinds:
            with self.subTest(kind=kind):
                self.assertRaises(ValueError, of, kind)
        self.assertRaisesRegex(ValueError, "schemas have no tuples, use a list", of, Tuple[int, int])
        self.assertRaises(ValueError, of, "not valid")

    def test_a_text_that_is_not_unknown_names_no_arguments(self):
        for text in ("x", "xd", ""):
            with self.assertRaisesRegex(ValueError, "a sequence of names of arguments, or 'unknown'"):
                of(int, mutates_args=text)
        self.assertEqual(of(int, mutates_args="unknown"), "(Tensor(a0!) x, SymInt d) -> Tensor")


class Results(unittest.TestCase):
    def test_results(self):
        for kind, text in ((Tuple[()], "()"), (Tuple[List[Tensor], int], "(Tensor[], SymInt)"), (list[Tensor], "Tensor[]"), (int | float | bool, "Scalar")):
            self.assertEqual(of(int, kind), f"(Tensor x, SymInt d) -> {text}")
        for kind in (
            Sequence[Tensor],
            Optional[Tensor],
            Tuple[Optional[Tensor], Tensor],
            Tuple[Tensor, str],
            str,
            List[int],
            Union[int, float],
            torch.dtype,
            Tuple[Tensor, ...],
        ):
            with self.subTest(kind=kind):
                self.assertRaises(ValueError, of, int, kind)


if __name__ == "__main__":
    unittest.main()
