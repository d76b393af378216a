"""One side of the exchange of `.pt2` files. PyTorch and Cresset run this file in processes of their own:

    python side.py torch|cresset write FOLDER [NAMES...]   exports programs: FOLDER/NAME.FORM.pt2, and beside each its inputs and results, .values
    python side.py torch|cresset read FOLDER               runs what is there

Prints as JSON in one line: file -> "" or what is wrong. --quick takes every tenth of them, in turn of each form. Cresset also runs each file in C++, and
compares the results of the two to the bit.
"""

import argparse
import json
import logging
import pathlib
import sys
import warnings

FORMS = ("captured", "functional", "core")


def bind(side):
    """Makes `torch` the framework of this side."""
    if side == "cresset":
        import cresset

        cresset.compat.install()
    import torch

    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    import layers
    import operators
    import structure  # noqa: F401
    from programs import PROGRAMS

    assert layers and operators
    return torch, PROGRAMS


def file_of(folder, name, form):
    return folder / f"{name.replace(' ', '_').replace('/', '-')}.{form}.pt2"


def copied(torch, tree):
    return torch.utils._pytree.tree_map(lambda leaf: leaf.detach().clone(memory_format=torch.preserve_format) if isinstance(leaf, torch.Tensor) else leaf, tree)


def leaves(torch, tree):
    return [leaf.detach().resolve_conj() if isinstance(leaf, torch.Tensor) else leaf for leaf in torch.utils._pytree.tree_leaves(tree)]


def run(torch, function, calls):
    """Results and what becomes of the arguments, as leaves, of each call; the same random numbers each time."""
    found = []
    for args, kwargs in calls:
        args, kwargs = copied(torch, (args, kwargs))
        torch.manual_seed(2)
        results = function(*args, **kwargs)
        found.append(copied(torch, leaves(torch, (results, args, kwargs))))
    return found


def first_line(error):
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:400]}"


def exported(torch, program, form):
    """The program in a form."""
    args, kwargs = program.calls()[0]
    made = torch.export.export(program.made(), args, kwargs, dynamic_shapes=program.shapes, strict=program.strict)
    if form == "captured":
        return made
    return made.run_decompositions({}) if form == "functional" else made.run_decompositions()


def write(torch, chosen, folder):
    """Writes the files; what could not be written."""
    faults = {}
    for program, form in chosen:
        file = file_of(folder, program.name, form)
        try:
            made = exported(torch, program, form)
            torch.export.save(made, file)
            calls = program.calls()
            results, eager = run(torch, made.module(), calls), run(torch, program.made(), calls)
            values = [{"inputs": leaves(torch, call), "results": result, "eager": plain} for call, result, plain in zip(calls, results, eager, strict=True)]
            torch.save(values, file.with_suffix(".values"))
        except Exception as error:
            file.unlink(missing_ok=True)
            faults[file.stem] = first_line(error)
    return faults


TOLERANCES = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "complex32": 4e-3,
    "float8_e4m3fn": 0.13,
    "float8_e5m2": 0.26,
    "float8_e4m3fnuz": 0.13,
    "float8_e5m2fnuz": 0.26,
}


def difference(torch, got, expected, exact):
    """The first result that differs, or ""."""
    if len(got) != len(expected):
        return f"{len(got)} results, expected {len(expected)}"
    for n, (a, b) in enumerate(zip(got, expected)):
        if isinstance(b, torch.Tensor) != isinstance(a, torch.Tensor):
            return f"result {n} is {type(a).__name__}, expected {type(b).__name__}"
        if not isinstance(b, torch.Tensor):
            if type(a) is not type(b) or not (a == b or isinstance(a, float) and abs(a - b) <= 1e-4 * max(1, abs(b)) and not exact or a != a and b != b):
                return f"result {n} is {a!r}, expected {b!r}"
            continue
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"result {n} is {a.dtype} {tuple(a.shape)}, expected {b.dtype} {tuple(b.shape)}"
        if not equal(torch, a, b, exact):
            return f"result {n} ({a.dtype} {tuple(a.shape)}) has other values: {values(a)}, expected {values(b)}"
    return ""


def values(tensor):
    return " ".join(str(tensor.flatten()[:6].tolist()).split())


def equal(torch, a, b, exact):
    kind = str(a.dtype).rpartition(".")[2]
    inexact = a.dtype.is_floating_point or a.dtype.is_complex
    if not inexact or exact and kind in ("float32", "float64"):
        return torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) and torch.equal(a.isnan(), b.isnan()) if inexact else torch.equal(a, b)
    wide = torch.complex128 if a.dtype.is_complex else torch.float64
    tolerance = 0 if exact else TOLERANCES.get(kind, 2e-4)
    return torch.allclose(a.to(wide), b.to(wide), rtol=tolerance, atol=tolerance, equal_nan=True)


def calls_of(torch, program, saved):
    """The calls of a program on the inputs of a file."""
    found = []
    for call, value in zip(program.calls(), saved):
        _, spec = torch.utils._pytree.tree_flatten(call)
        found.append(torch.utils._pytree.tree_unflatten(value["inputs"], spec))
    return found


def read(torch, programs, folder, own):
    """file -> "" or what is wrong, for the files of a folder; `own`: this side wrote them."""
    by_file = {file_of(folder, name, form).stem: program for name, program in programs.items() for form in FORMS}
    return {file.stem: check(torch, by_file[file.stem], file, own) for file in sorted(folder.glob("*.pt2"))}


def check(torch, program, file, own):
    """ "" or what is wrong with one file."""
    try:
        saved = torch.load(file.with_suffix(".values"), weights_only=True)
        calls = calls_of(torch, program, saved)
        expected = [value["results"] for value in saved]
    except Exception as error:
        return f"values: {first_line(error)}"
    try:
        got = run(torch, torch.export.load(file).module(), calls)
    except Exception as error:
        return f"python: {first_line(error)}"
    said = [difference(torch, a, b, own) for a, b in zip(got, expected)]
    if any(said):
        return f"python: {next(filter(None, said))}"
    if own and file.stem.endswith(".captured"):
        said = [difference(torch, a, value["eager"], True) for a, value in zip(got, saved)]
        if any(said):
            return f"eager: {next(filter(None, said))}"
    if not hasattr(torch, "graph"):
        return ""
    try:
        in_cpp = run(torch, torch.graph.load_program(file), calls)
    except Exception as error:
        return f"c++: {first_line(error)}"
    said = [difference(torch, a, b, True) for a, b in zip(in_cpp, got)]
    return f"c++: {next(filter(None, said))}" if any(said) else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("side", choices=("torch", "cresset"))
    parser.add_argument("what", choices=("write", "read"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch, programs = bind(options.side)
    logging.disable(logging.CRITICAL)
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.what == "read":
        return print(json.dumps(read(torch, programs, options.folder, options.folder.name == options.side)))
    named = [programs[name] for name in options.names or programs]
    chosen = [(program, form) for program in named for form in FORMS]
    print(json.dumps(write(torch, chosen[::10] if options.quick else chosen, options.folder)))


if __name__ == "__main__":
    main()
