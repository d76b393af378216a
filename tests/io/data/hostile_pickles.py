"""A zoo of pickles that try to run code, to reach into what is not theirs, or to exhaust the machine. Readers of data must refuse each.

`python3 hostile_pickles.py` writes them to hostile_pickles.txt, a line each: its name, a tab, its bytes as hexadecimal digits, with runs of a
repeated group written as (digits*count). The targets of the calls are harmless; tests look whether they were reached.
"""

import itertools
import os
import re
import struct

# Callables of the published attacks, with what they would be called with; in a test's folder each would leave a trace.
MADE = "cresset_was_here"
CALLS = {
    ("os", "mkdir"): (MADE,), ("posix", "mkdir"): (MADE,), ("os", "system"): (f"mkdir {MADE}",), ("posix", "system"): (f"mkdir {MADE}",),
    ("nt", "system"): (f"mkdir {MADE}",), ("os", "popen"): (f"mkdir {MADE}",), ("os", "execvp"): ("mkdir", ["mkdir", MADE]),
    ("subprocess", "Popen"): (["mkdir", MADE],), ("subprocess", "check_output"): (["mkdir", MADE],), ("commands", "getoutput"): (f"mkdir {MADE}",),
    ("builtins", "eval"): (f"__import__('os').mkdir('{MADE}')",), ("builtins", "exec"): (f"import os; os.mkdir('{MADE}')",),
    ("__builtin__", "eval"): (f"__import__('os').mkdir('{MADE}')",), ("__builtin__", "execfile"): (MADE,), ("__builtin__", "apply"): (MADE,),
    ("builtins", "compile"): ("1", "a", "eval"), ("builtins", "__import__"): ("antigravity",), ("builtins", "open"): (MADE, "w"),
    ("builtins", "getattr"): ("x", "upper"), ("builtins", "setattr"): ("x", "y", 1), ("builtins", "delattr"): ("x", "y"),
    ("builtins", "globals"): (), ("builtins", "vars"): (), ("builtins", "type"): ("A", (), {}), ("builtins", "object"): (),
    ("builtins", "memoryview"): (b"x",), ("builtins", "range"): (10**12,), ("builtins", "map"): (1, 2), ("builtins", "filter"): (1, 2),
    ("builtins", "print"): (MADE,), ("builtins", "input"): (), ("builtins", "breakpoint"): (), ("builtins", "iter"): ("x",), ("builtins", "pow"): (9, 10**9),
    ("io", "open"): (MADE, "w"), ("_io", "FileIO"): (MADE, "w"), ("codecs", "open"): (MADE, "w"), ("pathlib", "Path"): (MADE,), ("os", "open"): (MADE, 65),
    ("importlib", "import_module"): ("antigravity",), ("importlib._bootstrap", "_load"): (1,), ("runpy", "run_module"): ("antigravity",), ("runpy", "_run_code"): ("1", {}),
    ("pickle", "loads"): (b"N.",), ("_pickle", "loads"): (b"N.",), ("pickle", "Unpickler"): (1,), ("marshal", "loads"): (b"N",), ("dill", "loads"): (b"N.",),
    ("joblib", "load"): (MADE,), ("shelve", "open"): (MADE,), ("dbm", "open"): (MADE, "c"), ("sqlite3", "connect"): (MADE,), ("zipimport", "zipimporter"): (MADE,),
    ("types", "CodeType"): (0,) * 16, ("types", "FunctionType"): (1, {}), ("functools", "partial"): ("x",), ("functools", "reduce"): ("x", []),
    ("operator", "attrgetter"): ("system",), ("operator", "methodcaller"): ("mkdir", MADE), ("operator", "itemgetter"): (0,), ("operator", "call"): ("x",),
    ("copyreg", "_reconstructor"): ("x", "y", None), ("copy_reg", "_reconstructor"): ("x", "y", None), ("copyreg", "__newobj__"): ("x",), ("copyreg", "add_extension"): ("os", "mkdir", 1),
    ("timeit", "timeit"): ("1",), ("cProfile", "run"): ("1",), ("profile", "Profile.run"): ("1",), ("trace", "Trace.run"): ("1",), ("bdb", "Bdb.run"): ("1",),
    ("pdb", "set_trace"): (), ("pdb", "run"): ("1",), ("code", "InteractiveInterpreter.runcode"): ("1",), ("code", "interact"): (), ("codeop", "compile_command"): ("1",),
    ("pty", "spawn"): ("mkdir",), ("platform", "popen"): (f"mkdir {MADE}",), ("asyncio.unix_events", "_UnixSubprocessTransport._start"): (1,), ("multiprocessing.util", "spawnv_passfds"): ("mkdir", [MADE], []),
    ("ctypes", "CDLL"): ("libc.so.6",), ("_ctypes", "dlopen"): ("libc.so.6",), ("cffi", "FFI"): (), ("ctypes.util", "_findLib_gcc"): ("c",), ("shutil", "rmtree"): (MADE,), ("shutil", "copyfile"): (MADE, MADE),
    ("tempfile", "mkdtemp"): ("", MADE, "."), ("os", "remove"): (MADE,), ("os", "rename"): (MADE, MADE), ("os", "putenv"): (MADE, "1"), ("os", "kill"): (0, 0), ("os", "_exit"): (0,), ("sys", "exit"): (0,),
    ("signal", "raise_signal"): (9,), ("socket", "create_connection"): (("127.0.0.1", 1),), ("urllib.request", "urlopen"): ("http://127.0.0.1:1/",), ("http.client", "HTTPConnection"): ("127.0.0.1",),
    ("requests.api", "get"): ("http://127.0.0.1:1/",), ("ssl", "get_server_certificate"): (("127.0.0.1", 1),), ("smtplib", "SMTP"): ("127.0.0.1",), ("webbrowser", "open"): ("http://127.0.0.1:1/",),
    ("collections", "namedtuple"): ("A", "a"), ("collections", "UserDict"): (), ("collections", "ChainMap"): (), ("collections", "deque"): ([],), ("enum", "Enum"): ("A", "a"),
    ("numpy", "load"): (MADE,), ("numpy.core.multiarray", "_reconstruct"): (1, (0,), b"b"), ("numpy._core.multiarray", "scalar"): (1, b"x"), ("numpy.testing._private.utils", "runstring"): ("1", {}), ("numpy.f2py.crackfortran", "myeval"): ("1",),
    ("torch", "load"): (MADE,), ("torch.serialization", "load"): (MADE,), ("torch.serialization", "add_safe_globals"): ([],), ("torch.storage", "_load_from_bytes"): (b"N.",), ("torch.jit", "load"): (MADE,),
    ("torch.hub", "load"): (MADE, "a"), ("torch.hub", "_get_cache_or_reload"): (MADE,), ("torch.utils._config_module", "load_config"): (b"N.",), ("torch._inductor.codecache", "compile_file"): (MADE,), ("torch.utils.cpp_extension", "load"): ("a", MADE),
    ("torch.fx.graph_module", "reduce_graph_module"): ({}, ""), ("torch.fx.graph", "_parse_stack_trace"): ("x",), ("torch._dynamo.guards", "GuardBuilder.get"): ("1",), ("torch._tensor", "_rebuild_from_type"): (1, 2, 3, 4), ("torch", "classes.load_library"): (MADE,),
    ("torch.utils.bottleneck.__main__", "run_cprofile"): ("1", {}), ("torch.utils.collect_env", "run"): (f"mkdir {MADE}",), ("torch._utils", "_import_dotted_name"): ("os.mkdir",), ("torch.ops", "load_library"): (MADE,), ("torch.distributed.rpc.internal", "_internal_rpc_pickler.deserialize"): (b"N.",),
    ("cresset", "load"): (MADE,), ("cresset.serialization", "_find_global"): ("os", "mkdir"), ("_cresset", "_io_save"): (1, MADE, "a", 1, 1, 0), ("cresset.hub", "load"): (MADE, "a"), ("__main__", "x"): (), ("pydoc", "pipepager"): ("", f"mkdir {MADE}"),
    ("pip", "main"): (["--version"],), ("setuptools", "setup"): (), ("distutils.file_util", "write_file"): (MADE, []), ("test.support.script_helper", "assert_python_ok"): ("-c", "1"), ("idlelib.pyshell", "ModifiedInterpreter.runcode"): ("1",), ("lib2to3.pgen2.grammar", "Grammar.loads"): (b"N.",),
    ("doctest", "debug_script"): ("1",), ("venv", "create"): (MADE,), ("ensurepip", "_run_pip"): ([],), ("logging.config", "_resolve"): ("os.mkdir",), ("aiohttp", "web"): (), ("uuid", "_get_command_stdout"): ("mkdir", MADE), ("imaplib", "IMAP4_stream"): (f"mkdir {MADE}",),
    ("ast", "literal_eval"): ("1",), ("weakref", "finalize"): ("x", "y"), ("atexit", "register"): ("x",), ("threading", "Thread"): (), ("_thread", "start_new_thread"): ("x", ()), ("concurrent.futures", "ThreadPoolExecutor"): (), ("gc", "get_objects"): (), ("inspect", "currentframe"): (),
}  # fmt: skip
FIRST = (("os", "mkdir"), ("builtins", "eval"), ("builtins", "getattr"), ("subprocess", "Popen"))


def text(value):
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def data(value):
    """The operations that put a plain value on the stack."""
    if value is None:
        return b"N"
    if isinstance(value, bool):
        return b"\x88" if value else b"\x89"
    if isinstance(value, int):
        if 0 <= value < 256:
            return b"K" + bytes([value])
        size = value.bit_length() // 8 + 1
        return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bytes):
        return b"C" + bytes([len(value)]) + value
    if isinstance(value, tuple):
        return b"(" + b"".join(map(data, value)) + b"t"
    if isinstance(value, list):
        return b"](" + b"".join(map(data, value)) + b"e"
    if isinstance(value, dict):
        return b"}"
    return value.code


class Raw:
    """Operations as they are, for use within values."""

    def __init__(self, code):
        self.code = code


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def stack_name(module, attribute):
    return text(module) + text(attribute) + b"\x93"


def call(function, *arguments):
    return function + data(arguments) + b"R"


def storage(kind="FloatStorage", key="0", location="cpu", count=4, word="storage"):
    return data((word, Raw(name("torch", kind)), key, location, count)) + b"Q"


def rebuild(*arguments, function="_rebuild_tensor_v2"):
    return call(name("torch._utils", function), *arguments)


def tensor(size=(4,), stride=(1,), offset=0, grad=False, hooks=None, *more, of=None):
    hooks = Raw(call(name("collections", "OrderedDict"))) if hooks is None else hooks
    return rebuild(Raw(of or storage()), offset, size, stride, grad, hooks, *more)


def zoo():
    """Pairs of a name and a pickle."""
    # Names outside the list, by every operation that can say one.
    for (module, attribute), arguments in CALLS.items():
        yield f"call {module}.{attribute}", b"\x80\x02" + call(name(module, attribute), *arguments) + b"."
    for module, attribute in FIRST:
        arguments = CALLS[module, attribute]
        full = f"{module}.{attribute}"
        plain = name(module, attribute)
        put = data(arguments)
        yield f"name alone {full}", plain + b"."
        yield f"name in a container {full}", b"]" + plain + b"a."
        yield f"name dropped {full}", plain + b"0N."
        yield f"name dropped with a mark {full}", b"(" + plain + b"1N."
        yield f"name memoised and called {full}", plain + b"q\x00" + b"0h\x00" + put + b"R."
        yield f"name behind the end {full}", b"(" + call(plain, *arguments) + b"N.."
        yield f"by the stack {full}", b"\x80\x04" + stack_name(module, attribute) + put + b"R."
        yield (
            f"by the stack, short texts {full}",
            b"\x80\x04\x8c" + bytes([len(module)]) + module.encode() + b"\x8c" + bytes([len(attribute)]) + attribute.encode() + b"\x93" + put + b"R.",
        )
        yield f"by the stack, from the memo {full}", b"\x80\x04" + text(module) + b"\x940" + text(attribute) + b"\x940" + b"h\x00h\x01\x93" + put + b"R."
        yield f"instance {full}", b"(" + b"".join(map(data, arguments)) + f"i{module}\n{attribute}\n".encode() + b"."
        yield f"object {full}", b"(" + plain + b"".join(map(data, arguments)) + b"o."
        yield f"new object {full}", plain + put + b"\x81."
        yield f"new object with keywords {full}", plain + put + b"}\x92."
        yield f"within arguments {full}", call(name("collections", "OrderedDict"), [(1, Raw(call(plain, *arguments)))]) + b"."
        yield f"as hooks {full}", tensor(hooks=Raw(call(plain, *arguments))) + b"."
        yield f"as state of a dict {full}", call(name("collections", "OrderedDict")) + call(plain, *arguments) + b"b."
        yield f"as key {full}", b"}" + call(plain, *arguments) + b"Ns."
        yield f"in a reference {full}", data(("storage", Raw(call(plain, *arguments)), "0", "cpu", 4)) + b"Q."
        yield f"as a reference {full}", call(plain, *arguments) + b"Q."
        yield f"as a class with its source {full}", data(("module", Raw(plain), "a.py", "source")) + b"Q."
        yield f"as factory {full}", call(name("collections", "defaultdict"), Raw(plain)) + b"."
        yield (
            f"as class of a tensor {full}",
            call(
                name("torch._tensor", "_rebuild_from_type_v2"),
                Raw(name("torch._utils", "_rebuild_tensor_v2")),
                Raw(plain),
                (Raw(storage()), 0, (4,), (1,), False, None),
                {},
            )
            + b".",
        )
        yield (
            f"as function of a tensor {full}",
            call(name("torch._tensor", "_rebuild_from_type_v2"), Raw(plain), Raw(name("torch", "Tensor")), arguments, {}) + b".",
        )
        yield f"before an error {full}", call(plain, *arguments) + b"\xff"
        yield f"in an extension {full}", b"\x80\x02\x82\x01" + put + b"R."
        yield f"dots {full}", call(name("collections", f"OrderedDict.{attribute}"), *arguments) + b"."
        yield f"dots by the stack {full}", stack_name("torch", f"serialization.{module}.{attribute}") + put + b"R."
        yield f"after a carriage return {full}", f"c{module}\r\n{attribute}\r\n".encode() + put + b"R."
        yield f"with spaces {full}", f"c {module}\n {attribute}\n".encode() + put + b"R."
        yield f"with a zero {full}", f"c{module}\0\n{attribute}\0\n".encode() + put + b"R."
        yield f"in capitals {full}", name(module.upper(), attribute.upper()) + put + b"R."
    for module, attribute in (
        ("torch", "Tensor"),
        ("collections", "OrderedDict"),
        ("torch.nn.parameter", "Parameter"),
        ("torch", "FloatStorage"),
        ("torch", "float32"),
        ("builtins", "dict"),
    ):
        plain, full = name(module, attribute), f"{module}.{attribute}"
        for inner in ("__class__", "__init__.__globals__", "__subclasses__", "__dict__", "mro", "__reduce_ex__"):
            yield f"reach {full}.{inner}", name(module, f"{attribute}.{inner}") + b"."
        yield f"attributes of {full}", plain + b"}" + text("__setstate__") + b"N" + b"sb."
        yield f"slots of {full}", plain + data((None, {})) + b"b."
        yield f"items of {full}", plain + text("a") + b"Ns."
        yield f"elements of {full}", plain + b"Na."
        yield f"call of a call {full}", call(call(name("collections", "OrderedDict")), 1) + b"."

    # Calls that are allowed, with arguments that are not.
    yield "size is negative", tensor((-1,)) + b"."
    yield "size is text", tensor(("4",)) + b"."
    yield "size is none", tensor(None) + b"."
    yield "size is a number", tensor(4) + b"."
    yield "size is a dict", tensor({}) + b"."
    yield "size beyond the storage", tensor((5,)) + b"."
    yield "size wraps around", tensor((2**62, 4)) + b"."
    yield "size wraps around beside zero", tensor((0, 2**62, 2**62), (1, 1, 1)) + b"."
    yield "size is wide", tensor((2**64,)) + b"."
    yield "stride is negative", tensor((2,), (-1,)) + b"."
    yield "stride beyond the storage", tensor((2,), (4,)) + b"."
    yield "stride wraps around", tensor((3,), (2**62,)) + b"."
    yield "strides are fewer", tensor((2, 2), (1,)) + b"."
    yield "offset is negative", tensor((1,), (1,), -1) + b"."
    yield "offset beyond the storage", tensor((1,), (1,), 4) + b"."
    yield "offset wraps around", tensor((2,), (1,), 2**63 - 1) + b"."
    yield "offset is a tensor", tensor((1,), (1,), Raw(tensor())) + b"."
    yield "too many dimensions", tensor((1,) * 65, (1,) * 65) + b"."
    yield "gradient of integers", tensor((4,), (1,), 0, True, of=storage("LongStorage")) + b"."
    yield "property unknown", tensor((4,), (1,), 0, False, None, Raw(b"}" + text("evil") + b"\x88s")) + b"."
    yield "conjugate of floats", tensor((4,), (1,), 0, False, None, Raw(b"}" + text("conj") + b"\x88s")) + b"."
    yield "storage is a number", rebuild(1, 0, (1,), (1,), False, None) + b"."
    yield "storage is a tensor", rebuild(Raw(tensor()), 0, (1,), (1,), False, None) + b"."
    yield "tensor with too few arguments", rebuild(Raw(storage())) + b"."
    yield "tensor with too many arguments", tensor((4,), (1,), 0, False, None, None, 1, 2) + b"."
    yield "tensor without arguments", name("torch._utils", "_rebuild_tensor_v2") + b")R."
    yield "tensor with a list of arguments", name("torch._utils", "_rebuild_tensor_v2") + b"]R."
    yield (
        "dtype is a name",
        rebuild(Raw(storage("ByteStorage", count=16)), 0, (4,), (1,), False, None, Raw(name("torch", "FloatStorage")), function="_rebuild_tensor_v3") + b".",
    )
    yield "parameter of nothing", rebuild(None, True, None, function="_rebuild_parameter") + b"."
    yield "parameter of integers with gradient", rebuild(Raw(tensor(of=storage("LongStorage"))), True, None, function="_rebuild_parameter") + b"."
    yield (
        "meta tensor that wraps around",
        rebuild(Raw(name("torch", "float32")), (2**62, 2**62), (1, 1), False, function="_rebuild_meta_tensor_no_storage") + b".",
    )
    layout = Raw(call(name("torch.serialization", "_get_layout"), "torch.sparse_coo"))
    yield "layout is a function", call(name("torch.serialization", "_get_layout"), "torch.load") + b"."
    yield "layout is a path", call(name("torch.serialization", "_get_layout"), "torch.hub.load") + b"."
    yield "layout is a class", call(name("torch.serialization", "_get_layout"), "torch.__class__") + b"."
    yield "layout is a number", call(name("torch.serialization", "_get_layout"), 1) + b"."
    yield "sparse without parts", rebuild(layout, (), function="_rebuild_sparse_tensor") + b"."
    yield "sparse with parts that do not fit", rebuild(layout, (Raw(tensor()), Raw(tensor()), (2, 2)), function="_rebuild_sparse_tensor") + b"."
    yield (
        "sparse positions outside",
        rebuild(
            layout,
            (Raw(tensor((1, 4), (4, 1), of=storage("LongStorage"))), Raw(tensor(of=storage("FloatStorage", key="1"))), (-2,)),
            function="_rebuild_sparse_tensor",
        )
        + b".",
    )
    yield (
        "sparse of another layout",
        rebuild(Raw(call(name("torch.serialization", "_get_layout"), "torch.strided")), (Raw(tensor()), Raw(tensor()), (4,)), function="_rebuild_sparse_tensor")
        + b".",
    )
    for kind in ("device", "Size"):
        for arguments in ((1, 2, 3), (None,), ({},), (Raw(tensor()),), (("a",),)):
            yield f"{kind} of {len(arguments)} {type(arguments[0]).__name__}", call(name("torch", kind), *arguments) + b"."
    yield "device of nothing known", call(name("torch", "device"), "evil") + b"."
    for kind, arguments in itertools.product(("OrderedDict", "Counter", "defaultdict"), ((5,), ("text",), ([1],), ([(1, 2, 3)],), ({}, {}, {}), ([[]],))):
        yield f"{kind} of {arguments!r}", call(name("collections", kind), *arguments) + b"."
    yield "factory is a tensor", call(name("collections", "defaultdict"), Raw(tensor())) + b"."
    yield "factory is a layout", call(name("collections", "defaultdict"), layout) + b"."
    for kind in ("set", "frozenset", "list", "tuple", "dict"):
        for what, arguments in {"a number": (5,), "two": ([], []), "text": ("text",)}.items():
            yield f"{kind} of {what}", call(name("builtins", kind), *arguments) + b"."
    for kind in ("int", "float", "bool", "str"):
        yield f"{kind} is called", call(name("builtins", kind), "9" * 100) + b"."
    yield "bytearray of a size", call(name("builtins", "bytearray"), 10**10) + b"."
    yield "bytes of a size", call(name("builtins", "bytes"), 10**10) + b"."
    yield "complex of text", call(name("builtins", "complex"), "1j") + b"."
    for codec in ("rot13", "zlib", "idna", "unicode_escape", "bz2", "evil", "punycode"):
        yield f"encode with {codec}", call(name("_codecs", "encode"), "text", codec) + b"."
    yield "encode of a number", call(name("_codecs", "encode"), 1, "latin1") + b"."
    yield "encode beyond latin1", call(name("_codecs", "encode"), "\u20ac", "latin1") + b"."
    yield "storage class is called", call(name("torch", "FloatStorage"), 10**12) + b"."
    yield "storage class makes an object", name("torch", "FloatStorage") + data((10**12,)) + b"\x81."
    yield "tensor class is called", call(name("torch", "Tensor"), 10**6, 10**6) + b"."
    yield "parameter class is called", call(name("torch.nn.parameter", "Parameter"), 1) + b"."
    yield "list as key", b"}]Ns."
    yield "dict as key", b"}}Ns."
    yield "list in a set", b"\x8f(]\x90."
    yield "list in a frozen set", b"(]\x91."

    # References to storages.
    for what, reference in {
        "number": 1, "text": "0", "list": ["storage"], "none": None, "empty": (), "short": ("storage",), "word": ("evil", Raw(name("torch", "FloatStorage")), "0", "cpu", 1),
        "class": ("storage", "FloatStorage", "0", "cpu", 1), "dtype": ("storage", Raw(name("torch", "float32")), "0", "cpu", 1), "key": ("storage", Raw(name("torch", "FloatStorage")), 0, "cpu", 1),
        "location": ("storage", Raw(name("torch", "FloatStorage")), "0", None, 1), "count is negative": ("storage", Raw(name("torch", "FloatStorage")), "0", "cpu", -1),
        "count wraps around": ("storage", Raw(name("torch", "DoubleStorage")), "0", "cpu", 2**62), "count is text": ("storage", Raw(name("torch", "FloatStorage")), "0", "cpu", "4"),
        "count is wide": ("storage", Raw(name("torch", "FloatStorage")), "0", "cpu", 2**64), "view": ("storage", Raw(name("torch", "FloatStorage")), "0", "cpu", 4, ("1", -1, 1)),
        "view is text": ("storage", Raw(name("torch", "FloatStorage")), "0", "cpu", 4, "view"), "seven": ("storage", Raw(name("torch", "FloatStorage")), "0", "cpu", 4, None, None),
    }.items():  # fmt: skip
        yield f"reference: {what}", data(reference) + b"Q."
    yield "reference as text", b"P0\n."
    for key in ("../../../../etc/passwd", "/etc/passwd", "data.pkl", "../data.pkl", "1", "", "0\0", "0/", "./0"):
        yield f"reference to {key!r}", tensor(of=storage(key=key)) + b"."
    yield "reference larger than its bytes", tensor(of=storage(count=5)) + b"."
    yield "reference smaller than its bytes", tensor((3,), of=storage(count=3)) + b"."
    yield "reference of two sizes", b"](" + tensor((1,)) + tensor((1,), of=storage(count=2)) + b"e."
    yield "reference on a device that is not there", tensor(of=storage(location="evil:7")) + b"."
    yield "view beyond the storage", tensor(of=data(("storage", Raw(name("torch", "FloatStorage")), "0", "cpu", 4, ("1", 2, 2))) + b"Q") + b"."

    # Stack, marks, memo.
    allowed_alone = b".NK"
    for code in range(256):
        if bytes([code]) not in (b"N", b")", b"]", b"}", b"\x88", b"\x89", b"\x8f"):
            yield f"operation {code:#04x} alone", bytes([code]) + (b"." if bytes([code]) not in allowed_alone else b"")
    for code in b"0aesubRtQq\x81\x85\x86\x87\x90\x91\x92\x93\x94":
        if code != 0x30:  # which takes the mark away
            yield f"operation {code:#04x} over a mark", b"N(" + bytes([code]) + b"."
        yield f"operation {code:#04x} on a none", b"N" + bytes([code]) * 2 + b"("
    yield "marks without an end", b"(" * 1000 + b"N."
    yield "mark left over", b"(N."
    yield "objects left over", b"NN."
    yield "no end", b"\x80\x02N"
    yield "nothing", b""
    yield "protocol 6", b"\x80\x06N."
    yield "protocol 255", b"\x80\xffN."
    yield "memo that is not there", b"h\x07."
    yield "memo far away", b"Nr\xff\xff\xff\xff."
    yield "memo far away, asked", b"j\xff\xff\xff\xff."
    yield "memo of a mark", b"(q\x00."
    yield "memo as text", b"Np0\ng0\n."
    yield "memo as text far away", b"Np99999999999999999999\n."
    yield "memo replaced by a name", b"Nq\x00" + name("os", "mkdir") + b"q\x00h\x00."
    yield "items without a value", b"}(Nu."
    yield "text as a container", text("a") + b"Na."
    yield "none as a dict", b"NNNs."
    yield "attributes of a number", b"K\x01}b."
    yield "attributes of a tensor", tensor() + b"}" + text("data") + b"Nsb."
    yield "attributes of a list", b"]}b."
    yield "state that is no dict", call(name("collections", "OrderedDict")) + b"Nb."
    yield "elements of an ordered dict", call(name("collections", "OrderedDict")) + b"Na."

    # Lengths.
    for code, size in (
        (b"X", 4),
        (b"T", 4),
        (b"B", 4),
        (b"\x8d", 8),
        (b"\x8e", 8),
        (b"\x96", 8),
        (b"\x8b", 4),
        (b"U", 1),
        (b"C", 1),
        (b"\x8c", 1),
        (b"\x8a", 1),
    ):
        for length in (b"\xff" * size, b"\xff" * (size - 1) + b"\x7f", b"\2" + bytes(size - 1)):
            yield f"length of {code!r} is {int.from_bytes(length, 'little')}", code + length + b"a"
    yield "line without an end", b"cos" + b"a" * 1000
    yield "name without an end", b"cos\n" + b"a" * 1000
    yield "text that is not UTF-8", b"X\x02\x00\x00\x00\xff\xfe."
    yield "text that ends within a letter", b"X\x01\x00\x00\x00\xe2."
    yield "buffers from outside", b"\x97."
    yield "buffer read-only", b"\x97\x98."

    # Size and depth.
    double = b"(" + b"K\x01" * 2000 + b"t" + name("builtins", "list") + b"q\x010q\x02"
    yield "copies of copies", double + b"](" + b"h\x01h\x02\x85R" * 4000 + b"e."
    yield "deep tuple as key", b"})" + b"\x85" * 100_000 + b"Ns."
    yield "deep tuple in a set", b"\x8f()" + b"\x85" * 100_000 + b"\x90."
    yield "deep tuple in a frozen set", b"()" + b"\x85" * 100_000 + b"\x91."
    yield "many objects left over", b"N" * 100_000 + b"."
    yield "many marks", b"(" * 100_000 + b"."


def packed(code):
    """Hexadecimal digits, with long runs of up to eight bytes as (digits*count)."""
    out = []
    for run in re.finditer(rb"(?s)(.{1,8}?)\1{15,}|.", code):
        group = run[1]
        out.append(f"({group.hex()}*{len(run[0]) // len(group)})" if group else run[0].hex())
    return "".join(out)


def unpacked(line):
    code = re.sub(r"\(([0-9a-f]+)\*(\d+)\)", lambda run: run[1] * int(run[2]), line)
    return bytes.fromhex(code)


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "hostile_pickles.txt"), "w", encoding="utf-8") as file:
        for title, code in zoo():
            file.write(f"{title.encode('unicode_escape').decode()}\t{packed(code)}\n")
