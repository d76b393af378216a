"""The type stubs: mypy accepts them and correct uses, rejects wrong uses; they name what is there, with its arguments."""

import ast
import importlib
import importlib.util
import inspect
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import _cresset
from cresset._core import absent as _absent
from cresset._core import paths as _paths

import cresset as torch

PYTHON = Path(_cresset.__file__).parent
PACKAGE = Path(torch.__file__).parent
USES = Path(__file__).parent / "typing" / "uses.py"
STUBS = sorted(PACKAGE.rglob("*.pyi"))


def mypy_command():
    """How to run mypy here, or None."""
    if importlib.util.find_spec("mypy"):
        return [sys.executable, "-m", "mypy"]
    found = shutil.which("mypy")
    return [found] if found else None


def run_mypy(*arguments):
    with tempfile.TemporaryDirectory() as cache:
        command = [*mypy_command(), "--strict", "--no-error-summary", "--follow-imports=silent", f"--cache-dir={cache}", *map(str, arguments)]
        found = subprocess.run(command, cwd=PYTHON, capture_output=True, text=True, timeout=600, check=False)
    return found.stdout + found.stderr


@unittest.skipIf(mypy_command() is None, "mypy is not installed")
class Mypy(unittest.TestCase):
    def test_the_stubs_are_consistent(self):
        files = [Path("cresset") / path.relative_to(PACKAGE) for path in STUBS] + sorted(p.relative_to(PYTHON) for p in (PYTHON / "_cresset").glob("*.pyi"))
        self.assertGreater(len(files), 12)
        self.assertEqual(run_mypy(*files), "")

    def test_correct_uses_pass_and_wrong_uses_fail(self):
        lines = USES.read_text().splitlines()
        wrong = {i for i, line in enumerate(lines, 1) if line.endswith("# wrong")}
        self.assertGreater(len(wrong), 55)
        said = run_mypy(USES)
        errors = {}
        for line in said.splitlines():
            match = re.match(r".*uses\.py:(\d+): error: (.*)", line)
            if match:
                errors.setdefault(int(match[1]), match[2])
        self.assertTrue(errors, said)
        self.assertEqual({i: f"{lines[i - 1]}: {text}" for i, text in errors.items() if i not in wrong}, {}, "errors in correct uses")
        self.assertEqual([lines[i - 1] for i in sorted(wrong - set(errors))], [], "wrong uses that passed")


def defined(body):
    """Names of a stub's body with what defines each: functions as lists of overloads."""
    names = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            names.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.ClassDef):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = node
        elif isinstance(node, ast.Assign):
            names[node.targets[0].id] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.name == "*":
                    source = PYTHON / (node.module.replace(".", "/") + ".pyi") if node.level == 0 else None
                    if source and source.exists():
                        names.update(defined(ast.parse(source.read_text()).body))
                elif alias.asname:
                    names[alias.asname] = node
    return names


class Names(unittest.TestCase):
    maxDiff = None

    """Names of the stubs exist, and all names have stubs."""

    def test_tensor(self):
        tree = ast.parse((PYTHON / "_cresset" / "__init__.pyi").read_text())
        tensor = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
        stub = {name for name in defined(tensor.body) if not name.startswith("_")}
        there = {name for name in vars(torch.Tensor) if not name.startswith("_")}
        self.assertEqual(sorted(stub - there), [], "only in the stub")
        self.assertEqual(sorted(there - stub), [], "missing from the stub")

    def test_package(self):
        stub = {name for name in defined(ast.parse((PACKAGE / "__init__.pyi").read_text()).body) if not name.startswith("_")}
        absent = {name for name in vars(torch) if (_absent.is_module(name) or _paths.is_module(name)) and name not in torch._lazy}
        there = {name for name in vars(torch) if not name.startswith("_")} - absent | {name for name in torch._lazy if not name.startswith("_")}
        self.assertEqual(sorted(stub - there), [], "only in the stub")
        self.assertEqual(sorted(there - stub), [], "missing from the stub")

    def test_submodules(self):
        for path in STUBS:
            parts = path.relative_to(PACKAGE).with_suffix("").parts
            module = importlib.import_module(".".join(("cresset", *parts)).removesuffix(".__init__"))
            for name in defined(ast.parse(path.read_text()).body):
                if not name.startswith("_"):
                    self.assertTrue(hasattr(module, name), f"{module.__name__} has no {name}")


def parameters(node):
    """(name, kind, whether it has a default) of a stub's function; without the receiver of methods."""
    a = node.args
    plain = [*a.posonlyargs, *a.args]
    optional = len(plain) - len(a.defaults)
    found = [(p.arg, "plain", i >= optional) for i, p in enumerate(plain)]
    found += [(p.arg, "named", d is not None) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
    return [p for p in found if p[0] not in ("self", "cls")]


class Signatures(unittest.TestCase):
    """Functions and constructors written in Python take what their stubs say."""

    def check(self, name, function, node):
        there = list(inspect.signature(function).parameters.values())
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in there):
            return 0
        kinds = {inspect.Parameter.KEYWORD_ONLY: "named"}
        real = [(p.name, kinds.get(p.kind, "plain"), p.default is not p.empty) for p in there if p.name not in ("self", "cls")]
        self.assertEqual(parameters(node), real, name)
        return 1

    def test_arguments(self):
        count = 0
        for path in STUBS:
            parts = path.relative_to(PACKAGE).with_suffix("").parts
            module = importlib.import_module(".".join(("cresset", *parts)).removesuffix(".__init__"))
            for node in ast.parse(path.read_text()).body:
                if node.__class__ is ast.FunctionDef and not node.decorator_list and inspect.isfunction(getattr(module, node.name, None)):
                    count += self.check(f"{module.__name__}.{node.name}", getattr(module, node.name), node)
                elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    cls = getattr(module, node.name)
                    for method in node.body:
                        if isinstance(method, ast.FunctionDef) and not method.decorator_list and inspect.isfunction(getattr(cls, method.name, None)):
                            count += self.check(f"{module.__name__}.{node.name}.{method.name}", getattr(cls, method.name), method)
        self.assertGreater(count, 500)


if __name__ == "__main__":
    unittest.main()
