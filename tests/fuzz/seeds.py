"""Writes the seeds of every fuzz target, from the files that the tests have: `python3 seeds.py FOLDER` fills FOLDER/zip, FOLDER/pickle and so on.

Archives come once more without checksums, for a mutant whose checksum is wrong goes no further.
"""

import ast
import base64
import io
import json
import re
import struct
import sys
import zipfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "io" / "data"
sys.path[:0] = [str(DATA), str(HERE.parent / "python")]

import hostile_pickles  # noqa: E402
import images  # noqa: E402

WORDS = {
    "zip": ["PK\\x03\\x04", "PK\\x01\\x02", "PK\\x05\\x06", "PK\\x06\\x06", "PK\\x06\\x07", "PK\\x07\\x08", "data.pkl", "archive/", "\\xff\\xff\\xff\\xff"],
    "pickle": ["ctorch._utils\\x0a_rebuild_tensor_v2\\x0a", "ctorch\\x0aFloatStorage\\x0a", "ccollections\\x0aOrderedDict\\x0a", "ctorch.serialization\\x0a_get_layout\\x0a", "ctorch._utils\\x0a_rebuild_sparse_tensor\\x0a",
               "ctorch._utils\\x0a_rebuild_parameter\\x0a", "ctorch._tensor\\x0a_rebuild_from_type_v2\\x0a", "c_codecs\\x0aencode\\x0a", "ccollections\\x0adefaultdict\\x0a", "cbuiltins\\x0aset\\x0a",
               "X\\x07\\x00\\x00\\x00storage", "(tQ", "R.", "\\x85", "\\x86", "h\\x00", "q\\x00", "ctorch\\x0afloat32\\x0a"],
    "checkpoint": ["PK\\x01\\x02", "data/0", "\\x80\\x02", "storage", "ustar", "0000001", "byteorder", "big"],
    "safetensors": ["\\\"dtype\\\":\\\"F32\\\"", "\\\"shape\\\":[", "\\\"data_offsets\\\":[0,", "__metadata__", "weight_map", "{", "}", "[[", "9223372036854775807", "-1", "1e400"],
    "npy": ["\\x93NUMPY", "'descr':", "'fortran_order': True", "'shape': (", "'>f8'", "'|b1'", "<c16", "PK\\x01\\x02", ".npy", "L,"],
    "png": ["IHDR", "PLTE", "IDAT", "IEND", "tRNS", "eXIf", "gAMA", "zTXt", "iCCP", "sBIT", "acTL", "\\x00\\x00\\x00\\x00", "\\x78\\x01\\x01", "\\x10\\x02", "\\x01\\x03", "MM\\x00\\x2a"],
    "jpeg": ["\\xff\\xc0\\x00\\x11", "\\xff\\xc1", "\\xff\\xc2", "\\xff\\xc3", "\\xff\\xc9", "\\xff\\xca", "\\xff\\xc4", "\\xff\\xda", "\\xff\\xdb", "\\xff\\xdc", "\\xff\\xdd\\x00\\x04", "\\xff\\xd0", "\\xff\\xd9",
             "\\xff\\xe1", "\\xff\\xee\\x00\\x0eAdobe", "Exif\\x00\\x00MM\\x00\\x2a", "\\x01\\x22\\x00\\x02\\x11\\x01", "\\xff\\xff\\xff\\xff"],
    "graph": ["graph @", "%x: Tensor", "ir::if(", "ir::loop(", "float32[s0, 4]", "{strides=[", "dim s0 in [", "tensor @w: ", "return ", "foreign \\\"", "number[", "List[", "NamedTuple[", "at \\\"f\\\":1:2"],
    "script": ["def f(x: Tensor) -> Tensor:\\x0a", "    return ", "for i in range(", "while ", "if x is not None:", "Optional[int]", "List[", "Dict[str, ", "isinstance(x, int)", "torch.", "aten", " in ", "lambda",
               "f'{x}'", "**", "//=", "-> Tuple[int, str]:", "raise ValueError(", "assert ", "continue", "break", "\\x0a    "],
    "torchscript": ["PK\\x01\\x02", "class M(Module):\\x0a", "  __parameters__ = [\\\"", "  def forward(self: __torch__.M,\\x0a", "CONSTANTS.c0", "ops.prim.", "fork(", "c__torch__\\x0aM\\x0a", "restore_type_tag",
                    "List[int]", ")\\x81}(", "ub."],
    "lite": ["bytecode.pkl", "instructions", "operators", "register_size", "STOREN", "LOADC", "LOOP", "JF", "JMP", "OPN", "GET_ATTR", "LIST_CONSTRUCT", "aten::add", "prim::TupleUnpack", "K\\xff", "J\\xff\\xff\\xff\\xff"],
    "pt2": ["as_tensor", "as_tensors", "as_expr", "as_sym_int", "as_graph", "expr_str", "torch.ops.higher_order.cond", "Mul(Integer(2), ", "use_pickle", "storage_offset", "9223372036854775807", "PK\\x01\\x02"],
    "gguf": ["GGUF", "\\x08\\x00\\x00\\x00", "\\x09\\x00\\x00\\x00", "general.alignment", "\\x0e\\x00\\x00\\x00", "\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00"],
    "store": ["\\x01\\x00\\x00\\x00a", "\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x7f", "\\x08", "\\x0c", "\\x0f", "9223372036854775807", "=all here"],
    "rpc": ["l\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00", "s\\x04\\x00\\x00\\x00\\x00\\x00\\x00\\x00call", "remote", "fetch", "adopt", "fork", "drop", "@echo", "rpc.PyRRef", "T\\x00\\x01", "float32", "i\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00"],
}  # fmt: skip


def without_checksums(content):
    content = bytearray(content)
    at = content.find(b"PK\x01\x02")
    while at >= 0:
        content[at + 16 : at + 20] = bytes(4)
        at = content.find(b"PK\x01\x02", at + 4)
    return bytes(content)


def archive(entries, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return out.getvalue()


def safetensors(header, data=b""):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def npy(descr, shape, data, version=1, fortran=False):
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


def tar(files):
    out = b""
    for name, content in files.items():
        head = bytearray(512)
        head[: len(name)] = name.encode()
        head[124:136] = f"{len(content):011o}\0".encode()
        head[148:156] = b" " * 8
        head[148:156] = f"{sum(head):06o}\0 ".encode()
        out += bytes(head) + content + bytes(-len(content) % 512)
    return out + bytes(1024)


def gguf_pieces():
    """The golden file is larger than mutants are: one of its kinds each."""
    content = (DATA / "quantised.gguf").read_bytes()
    yield content[:3000]
    for kind, block, size in (
        (0, 1, 4),
        (1, 1, 2),
        (2, 32, 18),
        (3, 32, 20),
        (6, 32, 22),
        (7, 32, 24),
        (8, 32, 34),
        (10, 256, 84),
        (11, 256, 110),
        (12, 256, 144),
        (13, 256, 176),
        (14, 256, 210),
        (15, 256, 292),
        (30, 1, 2),
    ):
        facts = struct.pack("<Q1sIIQ2iQ1sIIQQ1sQ1sII", 1, b"n", 9, 5, 2, 1, -1, 1, b"t", 9, 8, 1, 1, b"x", 1, b"u", 4, 7)
        head = struct.pack("<4sIQQ", b"GGUF", 3, 2, 3) + facts
        for number in range(2):
            head += struct.pack("<Q1sIQQIQ", 1, b"ab"[number : number + 1], 2, block, 2, kind, number * 1024)
        yield head + bytes(-len(head) % 32) + bytes(range(256)) * 4 + bytes(2 * size)


def images_with_choices():
    """Images of every kind; the byte behind each chooses how it is read."""
    extras = {0: (images.chunk(b"tRNS", b"\0\5"), images.chunk(b"eXIf", images.exif(6, ">"))), 2: (images.chunk(b"tRNS", bytes(6)), images.chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(200)))),
              3: (images.chunk(b"tRNS", bytes(9)), images.chunk(b"bKGD", b"\1")), 4: (images.chunk(b"eXIf", images.exif(3)),), 6: (images.chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(99))),)}  # fmt: skip
    number = 0
    for kind, depths in ((0, (1, 2, 4, 8, 16)), (2, (8, 16)), (3, (1, 2, 4)), (4, (8, 16)), (6, (8, 16))):
        for depth in depths:
            for interlaced, extra in ((False, b""), (True, b""), *((False, extra) for extra in extras[kind])):
                extra = images.chunk(b"PLTE", bytes(range(3 << depth))) + extra if kind == 3 else extra
                number += 1
                yield "png", images.some_png(9, 7, depth, kind, extra, interlaced, number % 2) + bytes([number % 20])
    yield "png", images.png_of(1000, 1000, 1, 0, zlib.compress(bytes(126000), 9)) + b"\xf1"
    module = ast.parse((HERE.parent / "python" / "vision" / "io_test.py").read_text())
    texts = [node.value.value for node in module.body if isinstance(node, ast.Assign) and node.targets[0].id in ("COLOR", "PROGRESSIVE", "GRAY")]
    jpegs = [zlib.decompress(base64.b85decode(text)) for text in texts]
    for count in (1, 2, 3, 4):
        for adobe in (None, 0, 1, 2):
            jpegs.append(images.flat_jpeg(19, 9, lambda i, count=count: [(50 * i + 60 * c) % 256 for c in range(count)], adobe, restart=2 * (adobe or 0)))
    exif = images.segment(0xE1, b"Exif\0\0" + images.exif(8, ">"))
    jpegs += [jpeg[:2] + exif + jpeg[2:] for jpeg in jpegs[:2]]
    for jpeg in jpegs:
        for choice in (0, 1, 3, 16, 18):
            yield "jpeg", jpeg + bytes([choice])


def seeds():
    yield from images_with_choices()
    pickles = {title: code for title, code in hostile_pickles.zoo() if len(code) < 4096}
    checkpoints = [path.read_bytes() for path in sorted(DATA.glob("*.pt"))]
    for content in checkpoints:
        yield from (("zip", content), ("checkpoint", content), ("zip", without_checksums(content)), ("checkpoint", without_checksums(content)))
        if content.startswith(b"PK"):
            file = zipfile.ZipFile(io.BytesIO(content))
            yield "pickle", next(file.read(name) for name in file.namelist() if name.endswith("data.pkl"))
    for title, code in pickles.items():
        yield "pickle", code
        if title.startswith(("size", "stride", "offset", "reference", "sparse", "view", "meta", "conj")):
            yield "checkpoint", without_checksums(archive({"a/data.pkl": code, "a/data/0": bytes(16)}))
    whole = hostile_pickles.tensor() + b"."
    yield "pickle", whole
    yield "checkpoint", without_checksums(archive({"a/data.pkl": whole, "a/data/0": bytes(16), "a/byteorder": b"big", "a/version": b"3"}))
    floats = hostile_pickles.Raw(hostile_pickles.name("torch", "FloatStorage"))
    tables = {
        "sys_info": b"\x80\x02}.", "pickle": b"\x80\x02" + hostile_pickles.data("1") + b"Q.",
        "storages": b"\x80\x02K\x01.\x80\x02" + hostile_pickles.data((10, "cpu", floats)) + b"." + struct.pack("<q4f", 4, 1, 2, 3, 4) + b"\x80\x02](" + hostile_pickles.data((11, 10, 1, 2)) + b"e.",
        "tensors": b"\x80\x02K\x01.\x80\x02" + hostile_pickles.data((1, 11, floats)) + b"." + struct.pack("<i4xqqq", 1, 2, 1, 0),
    }  # fmt: skip
    yield "checkpoint", tar(tables)
    for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        arrays = {"a.npy": npy("<f4", (2, 3), bytes(24)), "b.npy": npy(">i8", (), bytes(8), 2), "c.npy": npy("|b1", (0, 3), b"", 3, True)}
        yield "zip", archive(arrays, packing)
        yield "npy", archive(arrays, packing)
        yield "npy", without_checksums(archive(arrays, packing))
    for descr, size in (("<f4", 24), (">f8", 48), ("|b1", 6), ("<c16", 96), ("<u2", 12), ("=i8", 48)):
        yield "npy", npy(descr, (2, 3), bytes(size))
        yield "npy", npy(descr, (3, 2), bytes(size), 2, True)
    yield (
        "safetensors",
        safetensors(
            {
                "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
                "b": {"dtype": "BF16", "shape": [], "data_offsets": [24, 26]},
                "__metadata__": {"format": "pt"},
            },
            bytes(26),
        ),
    )
    for kind, size in (("BOOL", 1), ("U8", 1), ("I16", 2), ("U32", 4), ("F64", 8), ("C64", 8), ("F16", 2)):
        yield "safetensors", safetensors({"a": {"dtype": kind, "shape": [2], "data_offsets": [0, 2 * size]}}, bytes(2 * size))
    yield "safetensors", json.dumps({"metadata": {"total_size": 1}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}).encode()
    for content in gguf_pieces():
        yield "gguf", content
    for path in sorted((HERE.parent / "graph" / "data").glob("*.pt2")):
        yield "pt2", path.read_bytes()
        yield "pt2", without_checksums(path.read_bytes())
    tests = (HERE.parent / "graph" / "ir_test.cpp").read_text() + (HERE.parent / "graph" / "program_test.cpp").read_text()
    for text in re.findall(r'R"\((graph.*?)\)"', tests, re.DOTALL):
        yield "graph", text.encode()


SCRIPTS = (
    "def f(x: Tensor, n: int = 2) -> Tensor:\n    for i in range(n):\n        if i % 2 == 0 and x.sum() > 0:\n            continue\n        x = x * i\n    return x\n",
    "def f(xs: List[int], o: Optional[int] = None):\n    if o is not None:\n        xs.append(o)\n    return [x + 1 for x in xs], {str(x): x for x in xs}, xs[1:-1]\n",
    "def f(a: float, s: str):\n    while a > 1:\n        a /= 2\n        if a < 0.5: break\n    assert a > 0, 'text'\n    return f'{a}-{s}', 'x %d' % 3, s.split(','), -a ** 2\n",
    "def g(x, k: int):\n    return x[0], x[..., k], x[:, 1:k], x[None]\ndef f(x):\n    a, (b, c), *d = g(x, 1)[0], (1, 'a'), 2, 3\n    return a if b > 0 else a + 1\n",
    "def f(n: int) -> int:\n    for i in range(n):\n        for j in range(i, 0, -1):\n            if j == 3: return i\n    raise ValueError('no ' + str(n))\n",
)


def torchscript(code, state, constants=b"\x80\x02)."):
    """An archive of a module M with one method."""
    pickle = b"\x80\x02c__torch__\nM\nq\x00)\x81}(" + state + b"ubq\x01."
    return archive({"a/data.pkl": pickle, "a/constants.pkl": constants, "a/version": b"3\n", "a/code/__torch__.py": code})


def script_seeds():
    for text in SCRIPTS:
        yield "script", text.encode()
    head = b"class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n  names : List[int]\n"
    body = b"  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    _0 = torch.add(x, torch.len(self.names))\n    return _0\n"
    training = b"X\x08\x00\x00\x00training\x88"
    names = b"X\x05\x00\x00\x00namesctorch.jit._pickle\nrestore_type_tag\n](K\x01K\x02eX\x09\x00\x00\x00List[int]\x86R"
    for whole in (torchscript(head + body, training + names), torchscript(head, training), torchscript(b"class M(Enum):\n  A = 1\n", training)):
        yield "torchscript", whole
        yield "torchscript", without_checksums(whole)


def lite_seeds():
    for path in sorted((HERE.parent / "graph" / "data" / "lite").glob("*.ptl")):
        yield "lite", path.read_bytes()
        yield "lite", without_checksums(path.read_bytes())


def store_seeds():
    """Requests to a store's server, and rows of them with their lengths."""
    rows = []
    for code, number, texts in ((0, 0, ()), (1, 0, ("a", "1")), (2, 5, ("a", "b")), (3, 1 << 62, ("n",)), (3, 1 << 62, ("n",)), (4, 0, ("a", "", "x")), (5, 0, ("a",)), (6, 0, ("a",)),
                                (8, 1 << 62, ("c",)), (9, 0, ("a", "more")), (10, 0, ("a", "1", "b", "2")), (11, 0, ("q", "v")), (12, 3, ("q",)), (14, 0, ()), (15, 1 << 62, ("l", "me")), (16, 0, ("l", "me"))):  # fmt: skip
        row = struct.pack("<BqI", code, number, len(texts)) + b"".join(struct.pack("<I", len(t)) + t.encode() for t in texts)
        rows.append(struct.pack("<I", len(row)) + row)
        yield "store", row
        yield "store", rows[-1]
    yield "store", b"".join(rows)


def rpc_seeds():
    """Values between workers, requests, and frames around them."""

    def sized(kind, content):
        return kind + struct.pack("<Q", len(content)) + content

    def many(kind, *values):
        return kind + struct.pack("<Q", len(values)) + b"".join(values)

    def whole(n):
        return sized(b"i", n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True))

    tensor = b"T\0\1" + sized(b"", b"float32") + many(b"p", whole(2), whole(3)) + sized(b"", bytes(24))
    pair, text = many(b"l", whole(0), whole(1)), sized(b"s", "\u00e4b".encode())
    value = many(
        b"p", tensor, text, many(b"d", whole(1), b"0", text, b"t"), b"f" + bytes(8), sized(b"y", b"bfloat16"), sized(b"b", b"\xff"), many(b"R", whole(0))
    )
    yield "rpc", value
    calls = [(b"call", many(b"l", sized(b"s", b"@echo"), many(b"p", value), many(b"d"), whole(0))),
             (b"remote", many(b"l", sized(b"s", b"@echo"), many(b"p", text), many(b"d"), whole(0), pair)),
             (b"fetch", many(b"l", b"0", many(b"p", pair), many(b"d"), whole(0)))]  # fmt: skip
    requests = [many(b"l", sized(b"s", kind), many(b"l", whole(0), whole(0), sized(b"b", body))) for kind, body in calls]
    requests += [many(b"l", sized(b"s", kind), many(b"l", pair, many(b"l", *(whole(0),) * n))) for kind, n in ((b"fork", 1), (b"adopt", 2), (b"drop", 1))]
    rows = [struct.pack("<QQ", 16, 0) + bytes(8)] + [struct.pack("<QQ", len(r) + 8, n + 1) + r for n, r in enumerate(requests)]
    for content in (*requests, *rows, b"".join(rows)):
        yield "rpc", content


def main(folder):
    for target, words in WORDS.items():
        place = Path(folder) / target
        place.mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{target}.dict").write_text("".join(f'"{word}"\n' for word in words))
        for number, content in enumerate(
            content for wanted, content in (*seeds(), *script_seeds(), *lite_seeds(), *store_seeds(), *rpc_seeds()) if wanted == target
        ):
            (place / f"seed-{number:04}").write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1])
