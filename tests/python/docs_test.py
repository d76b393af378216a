"""Every public name has a docstring with an example, and every example gives what it shows."""

import contextlib
import doctest
import importlib
import inspect
import io
import pkgutil
import re
import types
import unittest
import warnings
from pathlib import Path

import cresset as torch
from cresset import distributed as dist
from cresset import nn, optim
from cresset.nn import functional as F

SCOPE = {"torch": torch, "dist": dist, "nn": nn, "F": F, "optim": optim, "io": io, "warnings": warnings}
# Old spellings say what they stand for instead of showing it; so do variants that return the places of values too.
POINTERS = ("old name", "old kind", "with the places of the values")
# Bases of other classes, which are not called themselves.
PARTS = {"cresset.autograd.function.BackwardCFunction", "cresset.nn.modules.module.BackwardHook", "cresset.nn.modules.module.StateMixin",
         "cresset.distributed.elastic.agent.server.ElasticAgent", "cresset.distributed.elastic.agent.server.SimpleElasticAgent",
         "cresset.distributed.elastic.rendezvous.RendezvousHandler", "cresset.nn.parameter.UninitializedTensorMixin", "cresset.utils.checkpoint.CheckpointFunction"}  # fmt: skip


def public_modules():
    yield torch
    for info in pkgutil.walk_packages(torch.__path__, "cresset."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            yield importlib.import_module(info.name)


def public_names():
    """(full name, object) of every public function and class, once each."""
    seen = set()
    for module in public_modules():
        for name in vars(module).get("__all__") or [n for n in vars(module) if not n.startswith("_")]:
            thing = getattr(module, name)
            ours = str(getattr(thing, "__module__", "")).partition(".")[0] in ("cresset", "_cresset", "torch")
            if callable(thing) and ours and not isinstance(thing, types.ModuleType) and id(thing) not in seen:
                seen.add(id(thing))
                yield f"{module.__name__}.{name}", thing


def is_operator(thing):
    """Whether it comes from a row: an operator, or the type of its named results, which exists from its first use on."""
    return type(thing).__name__ in ("Op", "OpMethod") or thing.__module__ == "cresset.return_types"


def text_of(thing):
    """The docstring that is the object's own."""
    return thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__


@contextlib.contextmanager
def process_group_of_one(wanted):
    if wanted:
        dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def failures(name, text):
    """Faults of the examples in a text; empty where all is well."""
    test = doctest.DocTestParser().get_doctest(text, dict(SCOPE), name, None, 0)
    said = []
    with warnings.catch_warnings(), process_group_of_one("dist." in text and "init_process_group(" not in text):
        warnings.simplefilter("ignore")
        doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    return "".join(said), len(test.examples)


class Operators(unittest.TestCase):
    def test_each_has_a_description_and_an_example_that_runs(self):
        count, texts = 0, {}
        for name, op in [*torch._operators.items(), *torch._methods.items()]:
            if not name.startswith("_"):
                texts.setdefault(op.__doc__.partition("\n\n")[2], f"{name}")
        for text, name in texts.items():
            with self.subTest(name):
                self.assertIn(">>> ", text, "no `example` in the rows")
                said, examples = failures(name, text)
                self.assertEqual(said, "")
                count += examples
        self.assertGreater(count, 500)

    def test_signatures_come_first(self):
        self.assertTrue(torch.add.__doc__.startswith("add(input: Tensor | Number, other: Tensor, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor\n"))
        self.assertTrue(torch.Tensor.add_.__doc__.startswith("add_("))


class Records(unittest.TestCase):
    def test_every_target_of_the_fuzzers_has_a_row(self):
        root = Path(__file__).resolve().parents[2]
        targets = re.search(r"TARGET\.\.\. +of (.*) \(all\)", (root / "scripts/fuzz").read_text())[1].split(", ")
        rows = re.findall(r"^\| (\w+)[^|]*\| [\d.]+ million", (root / "docs/fuzzing.md").read_text(), re.MULTILINE)
        self.assertEqual(sorted(rows), sorted(targets))


class Package(unittest.TestCase):
    """Functions and classes that are written by hand."""

    def test_each_has_a_docstring_and_an_example_that_runs(self):
        counts = {"names": 0, "examples": 0, "pointers": 0, "exceptions": 0, "parts": 0}
        for name, thing in public_names():
            if is_operator(thing):
                continue
            counts["names"] += 1
            text = text_of(thing)
            with self.subTest(name):
                self.assertTrue(text, "no docstring")
                if ">>> " in text:
                    said, examples = failures(name, text)
                    self.assertEqual(said, "")
                    counts["examples"] += examples
                elif inspect.isclass(thing) and issubclass(thing, BaseException):
                    counts["exceptions"] += 1
                elif any(pointer in text.lower() for pointer in POINTERS):
                    counts["pointers"] += 1
                else:
                    self.assertIn(name, PARTS, "no example")
                    counts["parts"] += 1
        self.assertGreater(counts["names"], 600, counts)
        self.assertGreater(counts["examples"], 1100, counts)
        self.assertLessEqual(counts["pointers"], 30, counts)


if __name__ == "__main__":
    unittest.main()
