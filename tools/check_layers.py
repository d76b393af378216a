#!/usr/bin/env python3
"""Fails when a room includes a room below it in the order of data flow (ARCHITECTURE.md, "Rooms"), or when a Python module imports one of a
higher tier while it is loaded, or is part of a circle of such imports, or when a folder has more than 40 files."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

# Top to bottom; rooms on one line may not include each other either.
ROOMS = [
    ["base"],
    ["core"],
    ["dispatch"],
    ["kernels"],
    ["ops"],
    ["autograd"],
    ["transform"],
    ["profile"],
    ["io"],
    ["graph"],
    ["quant"],
    ["nn", "optim", "data", "distributions"],
    ["dist"],
    ["train"],
    ["serve", "small"],
    ["python"],
]
# kernels know bytes and strides, never a tensor.
FORBIDDEN = {"kernels": {"core", "dispatch"}}
# optim and data may look at modules.
SIBLINGS = {("optim", "nn"), ("data", "nn")}
INCLUDE = re.compile(r'^\s*#\s*include\s+"cresset/([a-z_]+)/([^"]+)"')
# Python, bottom to top: names of modules and packages below cresset, of which the longest that fits counts. All others are the core.
TIERS = [
    ["utils.hooks", "utils._pytree", "utils._python_dispatch"],
    ["autograd", "amp", "backends"],
    ["nn", "nested", "cpu", "cuda", "profiler"],
    [
        "optim",
        "distributions",
        "func",
        "library",
        "multiprocessing",
        "io",
        "jit",
        "hub",
        "functorch",
        "fx",
        "_decomp",
        "_functorch",
        "_higher_order_ops",
        "_library",
        "_subclasses.fake_utils",
        "_subclasses.functional_tensor",
        "_subclasses.schema_check_mode",
    ],
    ["utils"],
    ["distributed", "export", "_export", "lightning", "vision"],
    ["graph"],
    [
        "_inductor",
        "_dynamo._capture",
        "_dynamo._export",
        "_dynamo.backends",
        "_dynamo.decorators",
        "_dynamo.eval_frame",
        "_dynamo.test_case",
        "_dynamo.testing",
    ],
]

# functional.py gives the names of the other two, whose functions use its helpers.
KNOWN_CIRCLES = [["vision.transforms._geometry", "vision.transforms._tones", "vision.transforms.functional"]]


MAX_FILES = 40
# Their files are named after PyTorch's headers and modules.
CROWDED = {"compat/include/ATen", "compat/include/c10/util", "python/cresset/distributions"}


def edges(root: Path):
    """Yields (file, line number, room of the file, included room, included path)."""
    for path in sorted((root / "cresset").rglob("*")):
        if path.suffix not in {".h", ".cpp", ".inc", ".cu"} or len(path.relative_to(root).parts) < 3:
            continue
        room = path.relative_to(root).parts[1]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := INCLUDE.match(line):
                yield path.relative_to(root), number, room, match[1], match[2]


def violations(root: Path) -> list[str]:
    rank = {room: i for i, rooms in enumerate(ROOMS) for room in rooms}
    found = []
    for path, number, room, target, included in edges(root):
        if room not in rank or target not in rank:
            found.append(f"{path}:{number}: unknown room in {room} -> {target}; add it to tools/check_layers.py")
            continue
        # The op declarations of Tensor are generated text, not a use of the ops room.
        if included == "tensor_methods.inc":
            continue
        same_rank = rank[room] == rank[target] and room != target and (room, target) not in SIBLINGS
        if rank[target] > rank[room] or same_rank or target in FORBIDDEN.get(room, ()):
            found.append(f"{path}:{number}: {room} must not include {target} (cresset/{target}/{included})")
    return found


def loaded(tree):
    """The imports of a module that run when it is loaded: not those within functions and classes, nor for type checkers."""
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, (ast.If, ast.Try, ast.With)) and "TYPE_CHECKING" not in ast.unparse(node).split("\n")[0]:
            yield from loaded(node)


def python_imports(root: Path) -> dict[str, dict[str, int]]:
    """For each module below python/cresset those that it imports when it is loaded, with the line; the package itself is left out."""
    folder = root / "python/cresset"
    files = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    found: dict[str, dict[str, int]] = {}
    for module, path in files.items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in loaded(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [a.name for a in node.names]
            else:
                home = ["cresset", *filter(None, package.split("."))]
                above = home[: len(home) - node.level + 1] if node.level else []
                names = [".".join([*above, *filter(None, [node.module]), a.name]) for a in node.names]
            for name in names:
                target = name.removeprefix("cresset.") if name.startswith("cresset.") else ""
                while target and target not in files:
                    target = target.rpartition(".")[0]
                if target and target != module and module:
                    found.setdefault(module, {}).setdefault(target, node.lineno)
    return found


def tier(module: str) -> int:
    fitting = [(len(name), i) for i, names in enumerate(TIERS, 1) for name in names if module == name or module.startswith(name + ".")]
    return max(fitting)[1] if fitting else 0


def circles(imports: dict[str, dict[str, int]]) -> list[list[str]]:
    """Sets of modules that import each other, found by leaving out again and again those that import, or are imported by, none of the rest."""
    left = {module: set(targets) for module, targets in imports.items()}
    while True:
        kept = {m: {t for t in targets if t in left} for m, targets in left.items()}
        used = set().union(*kept.values()) if kept else set()
        kept = {m: targets for m, targets in kept.items() if targets and m in used}
        if kept == left:
            break
        left = kept

    def reached(start):
        seen, todo = set(), [start]
        while todo:
            for target in left.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    reach = {m: reached(m) for m in left}
    groups = {tuple(sorted(o for o in left if o in reach[m] and m in reach[o])) for m in left if m in reach[m]}
    return [list(group) for group in sorted(groups)]


def python_violations(root: Path) -> list[str]:
    imports = python_imports(root)
    found = [f"python/cresset: circle of imports: {', '.join(group)}" for group in circles(imports) if group not in KNOWN_CIRCLES]
    for module, targets in imports.items():
        found += [f"python/cresset: {module}:{line}: must not import {target}, which is of a higher tier (TIERS)"
                  for target, line in targets.items() if tier(target) > tier(module)]  # fmt: skip
    return found


def crowded(root: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True, text=True)
    paths = [root / line for line in listed.stdout.splitlines()] or [p for p in root.rglob("*") if "build" not in p.parts]
    files = Counter(str(p.parent.relative_to(root)) for p in paths if p.is_file() and p.name != "README.md")
    return [
        f"{folder}: {n} files, expected at most {MAX_FILES}; sort them into folders by subject"
        for folder, n in files.items()
        if n > MAX_FILES and folder not in CROWDED
    ]


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    found = violations(root) + python_violations(root) + crowded(root)
    print("\n".join(found) if found else "layers: no room includes a lower one, no module imports a higher one or itself, no folder is crowded")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
