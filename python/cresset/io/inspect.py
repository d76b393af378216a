"""Content of a file without loading it: names, shapes, dtypes, bytes and facts of checkpoints, safetensors, npy, npz and GGUF files.

`python -m cresset.io inspect FILE` prints it. Nothing that a file says is run or looked up; names of classes are shown as text.

>>> import io
>>> buffer = io.BytesIO()
>>> torch.save({"weight": torch.ones(2, 3), "epoch": 4}, buffer)
>>> content = torch.io.inspect.inspect(buffer.getvalue())
>>> [(t["name"], t["dtype"], t["shape"], t["nbytes"]) for t in content["tensors"]]
[('weight', 'float32', [2, 3], 24)]
>>> content["values"]
[{'name': 'epoch', 'type': 'int', 'value': 4}]
"""

import os

import _cresset
import cresset as torch
from cresset import serialization  # noqa: F401  it tells the extension the types of errors

from ._files import source
from .gguf import GGUFFile
from .safetensors import _read as read_safetensors

__all__ = ["inspect", "report"]

MAX_DEPTH = 100


def inspect(f):
    """A dict about a file, a path or its bytes: file, format, nbytes, metadata, tensors, values beside them, names of classes and functions.

    Raises FileNotFoundError and its kin; RuntimeError, pickle.UnpicklingError or SafetensorError for damaged files and unknown formats.

    >>> torch.io.inspect.inspect(torch.io.safetensors.save({"a": torch.zeros(2)}, {"by": "me"}))["metadata"]
    {'by': 'me'}
    """
    with source(f) as (data, name):
        if isinstance(data, int):
            size, start = os.fstat(data).st_size, os.pread(data, 512, 0)
        else:
            size, start = len(data), bytes(data[:512])
        if size == 0:
            raise RuntimeError(f"inspect: '{name}' is empty")
        content = {"file": name, "format": "", "nbytes": size, "metadata": {}, "tensors": [], "values": [], "names": []}
        if start.startswith(b"\x93NUMPY"):
            return _arrays(content, data, name, False)
        if start.startswith(b"GGUF"):
            return _gguf(content, f)
        if start.startswith(b"PK\x03\x04"):
            entries = _cresset._io_inspect_zip(data, name)
            if entries and all(entry[0].endswith(".npy") for entry in entries):
                return _arrays(content, data, name, True)
            return _Checkpoint(content, data, name, entries).read()
        if start[8:9] == b"{" or name.endswith((".safetensors", ".safetensors.index.json")):
            return _safetensors(content, f)
        return _Checkpoint(content, data, name, None).read()


def _tensor(name, dtype, shape, nbytes, **more):
    return {"name": name, "dtype": dtype, "shape": list(shape), "nbytes": nbytes, **{key: value for key, value in more.items() if value}}


def _arrays(content, data, name, archive):
    content["format"] = "npz" if archive else "npy"
    for key, dtype, shape, nbytes, fortran, big, compressed in _cresset._io_inspect_arrays(data, name, archive):
        content["tensors"].append(_tensor(key, dtype, shape, nbytes, fortran_order=fortran, big_endian=big, compressed=compressed))
    return content


def _gguf(content, f):
    file = GGUFFile(f)
    content["format"] = "gguf"
    content["metadata"] = {key: value.tolist() if isinstance(value, torch.Tensor) else value for key, value in file.metadata.items()}
    for name in file.keys():
        info = file.info(name)
        content["tensors"].append(_tensor(name, info.type, info.shape, info.nbytes))
    return content


def _safetensors(content, f):
    tensors, facts = read_safetensors(f, True)
    content["format"], content["metadata"] = "safetensors", facts or {}
    content["tensors"] = [_tensor(name, str(t.dtype).removeprefix("torch."), t.shape, t.nbytes) for name, t in tensors.items()]
    return content


class _Checkpoint:
    """Walks the nodes of a pickle. Each container is shown where it first comes, so that cycles end and shared ones are shown once."""

    def __init__(self, content, data, name, entries):
        self.content, self.entries = content, entries
        self.root, self.nodes, self.storages, self.tensors = _cresset._io_inspect_checkpoint(data, name)
        self.first, self.holders = {}, {}
        start = os.pread(data, 2, 0) if isinstance(data, int) else bytes(data[:2])
        self.format = "checkpoint" if entries is not None else "checkpoint before zip archives" if start == b"\x80\x02" else "checkpoint in a tar archive"

    def read(self):
        content = self.content
        content["format"] = self.format
        if self.entries is not None:
            names = [name for name, _, _ in self.entries]
            script = any(name.endswith("/constants.pkl") for name in names)
            content["format"] = "TorchScript archive" if script else self.format
            content["entries"] = [{"name": name, "nbytes": nbytes} for name, nbytes, _ in self.entries]
        content["storages"] = [{"key": key, "location": location, "nbytes": nbytes} for key, location, nbytes in self.storages]
        content["names"] = sorted({what.replace("\n", ".") for kind, what in self.nodes if kind == "global"})
        todo = [("", self.root, 0)]
        while todo:
            todo.extend(reversed(self.visit(*todo.pop())))
        return content

    def visit(self, name, number, depth):
        """Notes what a node is and returns its children with their names."""
        kind, what = self.nodes[number]
        if kind == "tensor":
            return self.visit_tensor(name, number, what, depth)
        if not isinstance(what, list):
            if kind == "storage":
                key, _, nbytes = self.storages[what]
                self.value(name, "storage", f"{nbytes} bytes, key {key}")
            elif kind in ("bytes", "bytearray"):
                self.value(name, kind, f"{what} bytes")
            else:
                self.value(name, type(what).__name__ if kind == "value" else kind, what.replace("\n", ".") if kind == "global" else what)
            return []
        if kind == "tuple" and not what:
            self.value(name, kind, "empty")
            return []
        if number in self.first:
            self.value(name, kind, f"the same as {self.first[number] or 'the whole'}")
            return []
        self.first[number] = name
        if depth >= MAX_DEPTH:
            self.value(name, kind, "nests deeper than is shown")
            return []
        if kind == "object":
            return self.parts_of_object(name, what, depth + 1)
        if not what:
            self.value(name, kind, "empty")
        if kind in ("dict", "OrderedDict", "defaultdict", "Counter"):
            return [(_join(name, self.key(key)), value, depth + 1) for key, value in zip(what[::2], what[1::2])]
        return [(f"{name}[{i}]", child, depth + 1) for i, child in enumerate(what)]

    def visit_tensor(self, name, number, place, depth):
        if number in self.first:
            self.value(name, "tensor", f"the same as {self.first[number] or 'the whole'}")
            return []
        self.first[number] = name
        dtype, shape, strides, storage, offset, requires_grad, parameter, layout, parts = self.tensors[place]
        count = 1
        for size in shape:
            count *= size
        nbytes = count * getattr(torch, dtype).itemsize if parts is None else 0
        shared = self.holders.setdefault(storage, name) if storage is not None else name
        self.content["tensors"].append(
            _tensor(
                name, dtype, shape, nbytes, stride=strides, offset=offset, storage=None if storage is None else self.storages[storage][0],
                shares_with=None if shared == name else shared or "the whole", location=None if storage is None else self.storages[storage][1],
                requires_grad=requires_grad, parameter=parameter, layout=layout, meta=storage is None and parts is None,
            )
        )  # fmt: skip
        return [(f"{name}.parts[{i}]", part, depth + 1) for i, part in enumerate(parts or [])]

    def parts_of_object(self, name, what, depth):
        """Of an object: the callable, its arguments, then changes: 0 state, 1 element, 2 key and value."""
        kind, function = self.nodes[what[0]]
        self.value(name, "object", function.replace("\n", ".") if kind == "global" else "made by what is not a name")
        children, at, element = [], 2, 0
        if self.nodes[what[1]][1]:
            children.append((_join(name, "(arguments)"), what[1], depth))
        while at < len(what):
            if what[at] == 2:
                children.append((_join(name, self.key(what[at + 1])), what[at + 2], depth))
                at += 3
                continue
            children.append((name if what[at] == 0 else f"{name}[{element}]", what[at + 1], depth))
            element += what[at] == 1
            at += 2
        return children

    def key(self, number):
        kind, what = self.nodes[number]
        return str(what) if kind == "value" else f"({kind})"

    def value(self, name, kind, what):
        if isinstance(what, complex):
            what = str(what)
        self.content["values"].append({"name": name, "type": kind, "value": what})


def _join(name, key):
    return f"{name}.{key}" if name else key


def _printable(value, limit=80):
    """A text of the file without anything that could steer a terminal."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in str(value))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def report(content):
    """The lines that `python -m cresset.io inspect` prints for what `inspect` returned.

    >>> content = torch.io.inspect.inspect(torch.io.safetensors.save({"a": torch.zeros(2)}))
    >>> print("\\n".join(torch.io.inspect.report(content)))
    <bytes>: safetensors, 72 bytes
      name  dtype    shape  bytes
      a     float32  [2]        8
      1 tensor, 8 bytes
    """
    lines = [f"{_printable(content['file'], 200)}: {content['format']}, {content['nbytes']:,} bytes"]
    for key, value in content["metadata"].items():
        shown = f"{len(value)} values: {value[:4]}" if isinstance(value, list) and len(value) > 4 else value
        lines.append(f"  {_printable(key)} = {_printable(shown)}")
    rows = [("name", "dtype", "shape", "bytes", "")]
    for t in content["tensors"]:
        notes = [key.replace("_", " ") for key in ("parameter", "requires_grad", "meta", "fortran_order", "big_endian", "compressed") if t.get(key)]
        notes += [f"{t['layout']}"] if t.get("layout") else []
        notes += [f"on {t['location']}"] if t.get("location", "cpu") != "cpu" else []
        notes += [f"shares memory with {t['shares_with']}"] if t.get("shares_with") else []
        rows.append((_printable(t["name"] or "(the whole)"), t["dtype"], str(t["shape"]), f"{t['nbytes']:,}", _printable(", ".join(notes))))
    if content["tensors"]:
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        for name, dtype, shape, nbytes, notes in rows:
            lines.append(f"  {name:{widths[0]}}  {dtype:{widths[1]}}  {shape:{widths[2]}}  {nbytes:>{widths[3]}}  {notes}".rstrip())
    for value in content["values"]:
        lines.append(f"  {_printable(value['name'] or '(the whole)')}: {value['type']} {_printable(value['value'])}")
    outside = [name for name in content["names"] if not name.startswith(("torch.", "builtins.", "collections.", "_codecs."))]
    if outside:
        lines.append(f"  names of code: {', '.join(_printable(name) for name in outside)}")
    stored = content.get("storages")
    total = sum(s["nbytes"] for s in stored) if stored else sum(t["nbytes"] for t in content["tensors"])
    number = len(content["tensors"])
    lines.append(f"  {number} tensor{'' if number == 1 else 's'}, {total:,} bytes" + (f" in {len(stored)} storages" if stored else ""))
    return lines
