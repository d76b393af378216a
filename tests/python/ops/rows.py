"""The rows of ops/*.toml with what their `test` entries name: functions to call, references, arguments, and conversions between the two sides.

    test = { ref = "numpy.add", samples = "binary", dtypes = "all", domain = [0.1, 3], grad = false, name = "...", atol = 1e-6 }
    test = { ref = "nn.conv2d", samples = "nn.conv2d" }     # references_nn.py, samples_nn.py; and numpy.linalg.inv is NumPy's
    test = { skip = "why there is nothing to compare" }

A row has a reference, or a reason why not, or fails. Before every call the default generator is seeded, so that random ops have references too.
"""

import collections
import functools
import importlib
import json
import os

import _cresset
import numpy as np
from samples import Conjugated, Format, Seed

import cresset as torch

SEED = 20
OPTIONS = ("dtype", "layout", "device", "pin_memory")


def module(kind, home):
    if home.split(".")[0] == "numpy":
        return importlib.import_module(home)
    return importlib.import_module(kind if home in ("", kind) else f"{kind}_{home}")


def find(kind, name):
    home, _, own = name.rpartition(".")
    return getattr(module(kind, home), own)


def tree(function, value):
    if isinstance(value, (list, tuple)):
        return type(value)([tree(function, item) for item in value]) if type(value) in (list, tuple) else tuple(tree(function, v) for v in value)
    if isinstance(value, dict):
        return {key: tree(function, item) for key, item in value.items()}
    return function(value)


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (list, tuple)) else [value]


def is_expanded(array):
    return bool(array.size) and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True))


def to_copy(value):
    """Memory of its own, of the same strides where no element has several places."""
    if not isinstance(value, np.ndarray):
        return value
    if value.flags.c_contiguous or is_expanded(value) or any(s < 0 for s in value.strides):
        return value.copy()
    memory = np.zeros(1 + sum((n - 1) * (s // value.itemsize) for n, s in zip(value.shape, value.strides, strict=True)) if value.size else 0, value.dtype)
    own = np.lib.stride_tricks.as_strided(memory, value.shape, value.strides)
    own[...] = value
    return own.view(type(value))


def to_tensor(value):
    """A tensor of its own memory with the array's strides, an expanded one included."""
    if isinstance(value, np.dtype):
        return getattr(torch, value.name)
    if isinstance(value, Format):
        return getattr(torch, value)
    if isinstance(value, Seed):
        return torch.Generator().manual_seed(value)
    if not isinstance(value, np.ndarray):
        return value
    if isinstance(value, Conjugated):
        return torch.from_numpy(np.conj(np.asarray(value))).conj()
    if is_expanded(value) or (value.size and any(s < 0 for s in value.strides)):
        core = value[tuple(slice(0, 1) if s == 0 else slice(None) for s in value.strides)]
        return torch.from_numpy(core.copy()).expand(value.shape)
    return torch.from_numpy(to_copy(value))


def to_meta(value):
    if not isinstance(value, torch.Tensor):
        return "meta" if isinstance(value, str) and value == "cpu" else value
    out = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return out.conj() if value.is_conj() else out


def to_array(value):
    return value.detach().resolve_conj().resolve_neg().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


def floating(value):
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def seeded(function):
    """The call after its generators, the default one included, are as they were at the beginning."""

    def call(*args, **kwargs):
        torch.manual_seed(SEED)
        for generator in leaves((args, kwargs)):
            if isinstance(generator, torch.Generator):
                generator.manual_seed(generator.initial_seed())
        return function(*args, **kwargs)

    return call


class Case:
    """One call of a row: `arrays` for the reference, fresh tensors at each `tensors()`."""

    def __init__(self, row, args, kwargs):
        whole = lambda v: np.asarray(v) if isinstance(v, np.generic) else v  # noqa: E731
        self.row, self.args, self.kwargs = row, tree(whole, tuple(args)), tree(whole, kwargs)

    def __repr__(self):
        return f"{self.args} {self.kwargs}"

    def tensors(self):
        return tree(to_tensor, tuple(self.args)), tree(to_tensor, self.kwargs)

    def expected(self, args=None, kwargs=None):
        with np.errstate(all="ignore"):
            return self.row.reference(*(self.args if args is None else args), **(self.kwargs if kwargs is None else kwargs))

    @property
    def expanded(self):
        return any(isinstance(a, np.ndarray) and is_expanded(a) for a in leaves((self.args, self.kwargs)))

    def named(self, args, kwargs):
        """Pairs of an argument's name and value."""
        names = [a["name"] for a in self.row.row["arguments"]]
        return {**dict(zip(names, args, strict=False)), **kwargs}


class Row:
    def __init__(self, row, forms):
        self.row, self.forms, self.test = row, forms, row["test"]
        self.name = row["name"] + ("." + row["overload"] if row["overload"] else "")
        self.writes = row["form"] == "inplace"
        self.function = seeded(_cresset.make_op(row["name"], [self.name]))
        self.reference, self.generate = find("references", self.test["ref"]), find("samples", self.test["samples"])
        self.dtypes = module("samples", "").DTYPES[self.test.get("dtypes", "all")]

    def cases(self, dtype, limit=None):
        source = module("samples", "").Source(dtype, self.test.get("domain"), seed=sum(map(ord, self.name)))
        count = 0
        for args, kwargs in self.generate(source):
            case = Case(self, args, kwargs)
            if self.writes and isinstance(args[0], np.ndarray) and is_expanded(args[0]):
                continue  # several elements of one address cannot be written
            if limit is not None and count >= limit:
                return
            count += 1
            yield case

    def same_call(self, other):
        """Whether `other` takes this row's arguments, written ones and, where it has them not, dtype and device left out."""
        own = [a["name"] for a in self.row["arguments"]]
        rest = [a["name"] for a in other["arguments"] if not (a["writes"] and a["keyword_only"])]
        return rest in (own, [name for name in own if name not in OPTIONS], [name for name in own if name not in (*OPTIONS, "memory_format")])

    def named(self, form):
        """The in-place or out= form of this row, or None."""
        wanted = {"inplace": self.row["name"] + "_", "out": self.row["name"]}[form]
        for other in self.forms[form]:
            if other["name"] == wanted and other["base"] == self.row["base"] and self.same_call(other):
                return seeded(_cresset.make_op(wanted, [f"{wanted}.{other['overload']}" if other["overload"] else wanted])), other
        return None, None


@functools.cache
def table():
    """All rows: those with a reference, reasons of those that have none on purpose, and names of those that have neither."""
    with open(os.path.join(os.path.dirname(_cresset.__file__), "schemas.json")) as file:
        everything = json.load(file)
    forms = collections.defaultdict(list)
    for row in everything:
        forms[row["form"]].append(row)
    tested, skipped, without = [], collections.Counter(), []
    for row in everything:
        full = row["name"] + ("." + row["overload"] if row["overload"] else "")
        if row["base"] != full:
            continue
        if set(row["test"]) == {"skip"}:
            skipped[row["test"]["skip"]] += 1
        elif "ref" in row["test"]:
            tested.append(Row(row, forms))
        else:
            without.append(full)
    return tested, skipped, without
