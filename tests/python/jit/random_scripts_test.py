"""Random programs give as scripts, and as archives of them, what Python gives."""

import copy
import importlib.util
import io
import math
import pathlib
import sys

import pytest

import cresset as torch

GENERATOR = pathlib.Path(__file__).with_name("script_programs.py")


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


programs = load("script_programs", GENERATOR)


def same(a, b):
    """Whether two plain values are equal, numbers of either type."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    try:
        x, y = float(a), float(b)
    except (TypeError, ValueError):
        return a == b
    return x == y or (math.isnan(x) and math.isnan(y))


def outcome(f, which):
    try:
        return programs.plain(f(*copy.deepcopy(programs.arguments(torch, which))))
    except Exception as error:
        return error


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_scripts_give_what_python_gives(first, tmp_path):
    path = tmp_path / "programs.py"
    path.write_text(programs.module_text(range(first, first + 20), "cresset"))
    module, refused = load(f"random_programs_{first}", path), []
    for seed in range(first, first + 20):
        f = getattr(module, f"f{seed}")
        try:
            compiled = torch.jit.script(f)
        except RuntimeError as error:  # a variable that changes its type, as far as the generator does not know it
            refused.append(str(error))
            continue
        file = io.BytesIO(compiled.save_to_buffer())
        loaded = torch.jit.load(file)
        for which in range(2):
            expected = outcome(f, which)
            if isinstance(expected, Exception):  # what nothing reads is not computed in a script
                continue
            for made in (compiled, compiled, loaded):
                got = outcome(made, which)
                assert same(got, expected), f"program {seed}, arguments {which}: {got!r}, Python gives {expected!r}"
    assert len(refused) < 5, refused
