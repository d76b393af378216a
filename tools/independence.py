#!/usr/bin/env python3
"""How much of our text is PyTorch's, measured against the PyTorch of the interpreter that runs this: statements, tokens, texts.

Of each Python file under python/cresset the statements are compared with those of the file of the same module in PyTorch, and of all its
files. A statement counts if the public API does not dictate it. Dictated are:
- imports, `__all__`, `pass`, docstrings, and `def` and `class` lines, which are names, arguments and bases;
- assignments of constants, names and attributes to public names of a class or module (`has_rsample = True`, `support = constraints.real`), and
  to `__constants__`, which lists attributes that programs read;
- the head of a check of an argument's type (`if not isinstance(index, slice):`), and of a loop over a public attribute of a public object or
  over what a public method without arguments returns (`for group in optimizer.param_groups:`);
- a bare hand-over of the arguments (`return function(*args, **kwargs)`);
- in `__init__`: an argument kept under its own name (`self.padding = padding`), what is passed on to `super().__init__`, and the
  registration of a parameter or buffer under a public name;
- a `return` or `raise` of a bare name, constant or attribute (`return self.loc`, `raise NotImplementedError`), of one call of a public
  function on such (`return F.fold(input, self.output_size, ...)`), and what a `__repr__` or `extra_repr` returns, which programs see;
- statements shorter than MIN_CHARACTERS characters.
A file fails when more than LIMIT of its other statements, and more than MIN_EQUAL of them, stand in PyTorch. Shingles of SHINGLE tokens are
shown beside, without a limit: they count signatures too.

Texts are literals of errors and warnings, of Python and C++: those of MIN_CHARACTERS_OF_TEXT characters and MIN_WORDS words that stand in PyTorch's Python
literals or in the strings of its libraries as a whole, and those with LONG_RUN words in a row in common with them.

tools/independence.toml lists what is above these limits today: the share of a file, the number of texts of a file. Nothing may rise, and what falls is to
be taken out: `--write` does it. Its table [looked_for] has the phrases of errors that LibTorch's own tests search for, each with the test: they do not count.
"""

import argparse
import ast
import hashlib
import marshal
import os
import re
import sys
import textwrap
import tokenize
import tomllib
from collections import Counter
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 0.12
MIN_EQUAL = 3
MIN_CHARACTERS = 28
SHINGLE = 14
MIN_CHARACTERS_OF_TEXT = 35
MIN_WORDS = 5
LONG_RUN = 10
SCHEMA = ") -> "  # in the schema of an operator, which the public API dictates
KNOWN = ROOT / "tools/independence.toml"
SOURCES = ("python/bind", "python/bind_compile", "python/bind_dist", "python/bind_graph", "python/bind_profile", "python/common")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cresset"


def is_simple(node):
    """A constant, a name, an attribute of one, or a container of those."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return all(map(is_simple, node.elts))
    if isinstance(node, ast.UnaryOp):
        return is_simple(node.operand)
    if isinstance(node, ast.Dict):
        return all(map(is_simple, [k for k in node.keys if k] + node.values))
    if isinstance(node, ast.Subscript):
        return is_simple(node.value) and is_simple(node.slice)
    return isinstance(node, (ast.Constant, ast.Name)) or (isinstance(node, ast.Attribute) and is_simple(node.value))


def is_dictated(node, function, arguments):
    """Whether the public API leaves no choice about a statement. `function`: the name of the function around it, or None."""
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal)):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        if "__all__" in names:
            return True
        if names == ["__constants__"]:
            return True
        if function is None and len(names) == len(targets) and not any(n.startswith("_") for n in names):
            return node.value is None or is_simple(node.value)
        kept = [t.attr for t in targets if isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) and t.value.id == "self"]
        return function == "__init__" and len(kept) == 1 and isinstance(node.value, ast.Name) and node.value.id in arguments
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = ast.unparse(node.value.func)
        if called in ("self.register_parameter", "self.register_buffer"):
            return isinstance(node.value.args[0], ast.Constant) and not node.value.args[0].value.startswith("_")
        return function == "__init__" and called == "super().__init__"
    if isinstance(node, ast.If):
        return is_type_check(node.test, arguments)
    if isinstance(node, ast.For):
        return isinstance(node.target, ast.Name) and is_public_member(node.iter)
    if isinstance(node, (ast.Return, ast.Raise)):
        value = node.value if isinstance(node, ast.Return) else node.exc
        if isinstance(node, ast.Return) and re.fullmatch(r"return \w+\(\*args, \*\*kwargs\)", ast.unparse(node)):
            return True
        if isinstance(node, ast.Return) and (function in ("__repr__", "__str__", "extra_repr") or is_public_call(value)):
            return True
        return value is None or is_simple(value)
    return False


def is_type_check(node, arguments):
    """isinstance of an argument and named classes, or its negation."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node = node.operand
    if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"):
        return False
    return isinstance(node.args[0], ast.Name) and node.args[0].id in arguments and is_simple(node.args[1])


def is_public_member(node):
    """An attribute of a name, or what its method returns without arguments."""
    if isinstance(node, ast.Call):
        if node.args or node.keywords:
            return False
        node = node.func
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and not node.attr.startswith("_")


def is_public_call(node):
    """F.name(...) or torch.name(...) on names, attributes and constants."""
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func)
    given = [*node.args, *(k.value for k in node.keywords)]
    return bool(re.fullmatch(r"(F|torch)(\.[a-z]\w*)+", called)) and all(map(is_simple, given))


def programs_within(tree):
    """The trees of literals that hold functions: TorchScript is written so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\ndef " in node.value:
            try:
                yield ast.parse(textwrap.dedent(node.value))
            except SyntaxError:
                pass


def statements(path):
    """The text of each statement that is neither a definition nor dictated; of compound ones the head."""
    found = []

    def walk(body, function, arguments):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names = {a.arg for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]}
                walk(node.body, node.name, names)
                continue
            if isinstance(node, ast.ClassDef):
                walk(node.body, None, set())
                continue
            parts = [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
            inner = [part for part in parts if part] + [h.body for h in getattr(node, "handlers", [])]
            if inner:
                text = ast.unparse(node).splitlines()[0]
            else:
                text = ast.unparse(node)
            if not is_dictated(node, function, arguments) and len(text) >= MIN_CHARACTERS:
                found.append(" ".join(text.split()))
            for part in inner:
                walk(part, function, arguments)

    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return []
    for program in (tree, *programs_within(tree)):
        walk(program.body, None, set())
    return found


def shingles(path):
    """Digests of the runs of SHINGLE tokens of code, without comments and texts."""
    skip = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
    try:
        tokens = [t.string if t.type != tokenize.STRING else "''" for t in tokenize.generate_tokens(StringIO(path.read_text(encoding="utf-8")).readline)
                  if t.type not in skip]  # fmt: skip
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError):
        return set()
    return {digest(tokens[i : i + SHINGLE]) for i in range(len(tokens) - SHINGLE + 1)}


def digest(parts):
    """A number of eight bytes that is the same in every run."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).digest()


def words(text):
    return re.findall(r"[A-Za-z0-9_]+", text.lower())


def python_texts(path):
    """Literals of a file, without docstrings; pieces of an f-string apart."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return
    trees = [tree, *programs_within(tree)]
    documentation = {id(n.body[0].value) for each in trees for n in ast.walk(each)
                     if isinstance(n, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
                     and n.body and isinstance(n.body[0], ast.Expr)}  # fmt: skip
    for node in (node for each in trees for node in ast.walk(each)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


def cpp_texts(path):
    """Literals of a file, adjacent ones joined."""
    text = re.sub(r"//[^\n]*", lambda m: " " * len(m[0]), path.read_text(encoding="utf-8"))
    for match in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text):
        joined = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match[0]))
        yield text.count("\n", 0, match.start()) + 1, joined.replace('\\"', '"').replace("\\n", "\n")


def library_texts(folder):
    """Printable runs of PyTorch's libraries that are long enough to be texts."""
    for path in sorted(p for name in ("torch_cpu", "torch_python", "c10") for p in folder.glob(f"lib/lib{name}.so")):
        data = path.read_bytes()
        for match in re.finditer(rb"[\x20-\x7e\n\t]{24,}", data):
            run = match[0].decode("ascii")
            if run.count(" ") >= MIN_WORDS - 1:
                yield run


def runs(text, length):
    w = words(text)
    return [digest(w[i : i + length]) for i in range(len(w) - length + 1)]


def facts_of(folder):
    """The facts to compare with: PyTorch's statements, shingles, texts in one, and their runs of MIN_WORDS and LONG_RUN words."""
    everywhere, tokens, theirs, long_runs, short_runs = set(), set(), [], set(), set()
    for path in folder.rglob("*.py"):
        everywhere.update(statements(path))
        tokens.update(shingles(path))
        theirs += [text for _, text in python_texts(path) if len(text) >= MIN_CHARACTERS_OF_TEXT]
    theirs += library_texts(folder)
    for text in theirs:
        long_runs.update(runs(text, LONG_RUN))
        short_runs.update(runs(text, MIN_WORDS))
    return everywhere, tokens, "\x01".join(" ".join(text.split()) for text in theirs), long_runs, short_runs


def kept_facts(folder, version):
    """The same, kept in the user's cache for one PyTorch and one state of this tool: reading two thousand files takes minutes."""
    key = hashlib.blake2b(f"{folder} {version} {sys.version} {Path(__file__).read_text()}".encode(), digest_size=8).hexdigest()
    path = CACHE / f"independence-{key}"
    try:
        return marshal.loads(path.read_bytes())
    except (OSError, EOFError, ValueError, TypeError):
        facts = facts_of(folder)
    try:
        CACHE.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(marshal.dumps(facts))
        part.replace(path)
    except OSError:
        pass  # a cache that cannot be written is only slow
    return facts


def texts_in_common(facts, looked_for):
    """Our texts that are PyTorch's, the phrases of `looked_for` apart: file, line, text."""
    _, _, corpus, long_runs, short_runs = facts
    ours = [(path, python_texts) for path in sorted((ROOT / "python/cresset").rglob("*.py"))]
    ours += [(path, cpp_texts) for folder in ("cresset", *SOURCES) for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".h", ".cpp")]
    for path, read in ours:
        for line, text in read(path):
            if SCHEMA in text:
                continue
            for phrase in looked_for:
                text = text.replace(phrase, "; ")
            plain, pieces = " ".join(text.split()), runs(text, MIN_WORDS)
            whole = len(plain) >= MIN_CHARACTERS_OF_TEXT and pieces and all(run in short_runs for run in pieces) and plain in corpus
            if whole or any(run in long_runs for run in runs(text, LONG_RUN)):
                yield str(path.relative_to(ROOT)), line, text


def equal_statements(facts):
    """By file: the share of its statements that are PyTorch's, how many these are, of how many, and the share of its shingles."""
    everywhere, tokens, *_ = facts
    table = {}
    for path in sorted((ROOT / "python/cresset").rglob("*.py")):
        own, pieces = statements(path), shingles(path)
        equal = sum(s in everywhere for s in own)
        table[str(path.relative_to(ROOT))] = equal / max(1, len(own)), equal, len(own), sum(p in tokens for p in pieces) / max(1, len(pieces))
    return table


def report_statements(table, known):
    """Prints the table; how many files are over their limit."""
    equal, count = sum(row[1] for row in table.values()), sum(row[2] for row in table.values())
    print(f"{equal} of {count} statements are equal ({100 * equal / count:.1f} %); limit {100 * LIMIT:.0f} % a file, {len(known)} files have their own")
    failed = 0
    for path, (share, equal, count, shared) in sorted(table.items(), key=lambda item: -item[1][0]):
        over = equal > MIN_EQUAL and share > LIMIT
        worse = over and 100 * share > known.get(path, 0) + 0.05
        failed += worse
        if equal > MIN_EQUAL and share > LIMIT / 2:
            print(f"{100 * share:5.1f} % of {count:4} statements, {100 * shared:4.1f} % of shingles  {path}{'  OVER ITS LIMIT' if worse else ''}")
    return failed


def report_texts(found, known, show):
    """Prints the texts; how many files have more than they may."""
    counts = Counter(path for path, _, _ in found)
    print(f"{len(found)} texts are PyTorch's; {sum(known.values())} are known")
    failed = 0
    for path, count in counts.most_common():
        worse = count > known.get(path, 0)
        failed += worse
        if worse or show:
            print(f"{path}: {count} texts, known are {known.get(path, 0)}")
            for where, line, text in found:
                if where == path:
                    print(f"  {where}:{line}: {text!r}")
    return failed


def write(table, found, looked_for):
    lines = [
        "# Today's figures above the limits of tools/independence.py, written by its --write: they may only fall.",
        "",
        "[statements]  # percent of a file",
    ]
    lines += [f'"{path}" = {100 * share:.1f}' for path, (share, equal, *_) in table.items() if equal > MIN_EQUAL and share > LIMIT]
    lines += ["", "[texts]  # of a file"]
    lines += [f'"{path}" = {count}' for path, count in sorted(Counter(path for path, _, _ in found).items())]
    lines += ["", "[looked_for]  # phrases of errors that LibTorch's tests search for = the test"]
    lines += [f'"{phrase}" = "{test}"' for phrase, test in looked_for.items()]
    KNOWN.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", action="store_true", help="print all texts, the known ones too")
    parser.add_argument("--show", metavar="FILE", help="print the equal statements of one file")
    parser.add_argument("--write", action="store_true", help="write today's figures to tools/independence.toml")
    options = parser.parse_args()
    import torch

    folder = Path(torch.__file__).parent
    facts = kept_facts(folder, torch.__version__)
    if options.show:
        everywhere = facts[0]
        print("\n".join(s for s in statements(Path(options.show)) if s in everywhere))
        return 0
    print(f"against PyTorch {torch.__version__}")
    known = tomllib.loads(KNOWN.read_text())
    table, found = equal_statements(facts), list(texts_in_common(facts, known["looked_for"]))
    if options.write:
        write(table, found, known["looked_for"])
        known = tomllib.loads(KNOWN.read_text())
    failed = report_statements(table, known["statements"]) + report_texts(found, known["texts"], options.texts)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
