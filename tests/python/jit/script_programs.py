"""Random programs in the language of TorchScript, the same for the same seed: texts that Python runs, too."""

import random

HEAD = """import math
import torch
from typing import Dict, List, Optional, Tuple


class Box:
    def __init__(self, count: int, items: List[int]):
        self.count = count
        self.items = items

    def grow(self, by: int) -> int:
        self.count += by
        self.items.append(self.count)
        return self.count

    def most(self) -> int:
        if len(self.items) == 0:
            return self.count
        return max(self.items)


def helper(n: int, scale: float = 0.5) -> float:
    if n > 3:
        return n * scale
    for i in range(n):
        if i == 2:
            return float(i)
    return scale - n
"""
ARGUMENTS = "x: torch.Tensor, n: int, f: float, s: str, l: List[int], d: Dict[str, int], o: Optional[int]"
TEXTS = ("", "a", "b,c", "Abc", "x y", " z ", "12", "b-b")
TYPES = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "ints": "List[int]",
    "floats": "List[float]",
    "strs": "List[str]",
    "dict": "Dict[str, int]",
    "pair": "Tuple[int, float]",
    "opt": "Optional[int]",
    "tensor": "torch.Tensor",
    "box": "Box",
}


def quoted(text):
    return f'"{text}"'


class Program:
    """One function `name`, whose result is everything that lives at its end."""

    def __init__(self, seed, name="f"):
        self.random, self.name = random.Random(seed), name
        self.scopes = [{"x": "tensor", "n": "int", "f": "float", "s": "str", "l": "ints", "d": "dict", "o": "opt"}]
        self.count, self.loops, self.fixed, self.result = 0, 0, set(), None
        self.result = self.pick("int float str ints pair tensor".split()) if self.chance(0.3) else None

    def chance(self, p):
        return self.random.random() < p

    def pick(self, of):
        return of[self.random.randrange(len(of))]

    def names(self, kind, writable=False):
        return [n for scope in self.scopes for n, k in scope.items() if k == kind and not (writable and n in self.fixed)]

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    # ---- expressions

    def expr(self, kind, depth=2):
        known = self.names(kind)
        if known and self.chance(0.35 if depth > 0 else 0.75):
            return self.pick(known)
        return getattr(self, kind)(depth if depth > 0 else 0)

    def int(self, depth):
        r = self.random
        if depth == 0:
            return str(r.randint(-4, 9)) if r.random() < 0.9 else f"({r.randint(-4, 4)})"
        a = lambda kind="int": self.expr(kind, depth - 1)  # noqa: E731
        return self.pick(
            [
                lambda: f"({a()} + {a()})",
                lambda: f"({a()} - {a()})",
                lambda: f"({a()} * {self.pick('2 3 -1'.split())})",
                lambda: f"({a()} // {self.pick('2 3 -2 n'.split())})",
                lambda: f"({a()} % {self.pick('2 5 -3 n'.split())})",
                lambda: f"-{a()}",
                lambda: f"abs({a()})",
                lambda: f"min({a()}, {a()})",
                lambda: f"max({a()}, {a()})",
                lambda: f"len({self.expr(self.pick('ints strs str dict floats'.split()), depth - 1)})",
                lambda: f"{self.pick(self.names('ints'))}[{r.randint(-3, 2)}]",
                lambda: f"{self.pick(self.names('dict'))}.get({a('str')}, {a()})",
                lambda: f"{self.pick(self.names('dict'))}[{a('str')}]",
                lambda: f"int({a('float')})",
                lambda: f"int({a('bool')})",
                lambda: f"sum({a('ints')})",
                lambda: f"({a()} if {a('bool')} else {a()})",
                lambda: f"({a()} {self.pick('& | ^'.split())} {a()})",
                lambda: f"({a()} {self.pick('<< >>'.split())} {r.randint(0, 3)})",
                lambda: f"{a('str')}.find({a('str')})",
                lambda: f"{a('str')}.count({quoted(self.pick('ba,'))})",
                lambda: f"{a('ints')}.count({a()})",
                lambda: f"{a('pair')}[0]",
                lambda: f"{a('tensor')}.size({self.pick('0 -1'.split())})",
                lambda: f"{a('tensor')}.dim()",
                lambda: f"int({a('tensor')}.sum())",
                lambda: f"len([w for w in {a('strs')}])",
                lambda: f"max({a('ints')})",
                lambda: f"int(math.floor({a('float')}))",
                lambda: f"divmod({a()}, 3)[{r.randint(0, 1)}]",
                lambda: f"hash(abs({a()}))",
                lambda: f"ord({quoted(self.pick('aZ'))})",
                lambda: f"{self.pick(self.names('box') or ['Box(1, [2])'])}.{self.pick(['count', 'most()', 'items[-1]'])}",
            ]
        )()

    def float(self, depth):
        r = self.random
        if depth == 0:
            return self.pick(["0.5", "-1.25", "2.0", "3.75", "0.0", "1e3", "-0.125"])
        a = lambda kind="float": self.expr(kind, depth - 1)  # noqa: E731
        return self.pick(
            [
                lambda: f"({a()} + {a()})",
                lambda: f"({a()} - {a('int')})",
                lambda: f"({a()} * {a()})",
                lambda: f"({a()} / {a()})",
                lambda: f"({a('int')} / {a('int')})",
                lambda: f"({a('int')} * {a()})",
                lambda: f"({a()} // {a()})",
                lambda: f"({a()} % {a()})",
                lambda: f"float({a('int')})",
                lambda: f"float({a('bool')})",
                lambda: f"abs({a()})",
                lambda: f"min({a()}, {a()})",
                lambda: f"max({a()}, {a()})",
                lambda: f"math.sqrt(abs({a()}))",
                lambda: f"(abs({a()}) ** 0.5)",
                lambda: f"({a()} ** {r.randint(0, 3)})",
                lambda: f"{a('pair')}[1]",
                lambda: f"float({a('tensor')}.sum())",
                lambda: f"({a()} if {a('bool')} else {a()})",
                lambda: f"helper({a('int')})",
                lambda: f"helper({a('int')}, scale={a()})",
                lambda: f"{a('floats')}[{r.randint(-2, 1)}]",
                lambda: f"sum({a('floats')})",
                lambda: f"-{a()}",
                lambda: f"round({a()})",
                lambda: f"math.{self.pick('floor ceil exp fabs atan'.split())}(min({a()}, 3.0))",
                lambda: f"max({a('floats')})",
            ]
        )()

    def bool(self, depth):
        if depth == 0:
            return self.pick(["True", "False", "n > 0", "f < 1.0", "o is None", "len(l) > 2"])
        a = lambda kind="int": self.expr(kind, depth - 1)  # noqa: E731
        op = self.pick("< <= > >= == !=".split())
        return self.pick(
            [
                lambda: f"({a()} {op} {a()})",
                lambda: f"({a('float')} {op} {a('float')})",
                lambda: f"({a()} {op} {a('float')})",
                lambda: f"({a('str')} {op} {a('str')})",
                lambda: f"({a('ints')} {self.pick('== !='.split())} {a('ints')})",
                lambda: f"({a()} in {a('ints')})",
                lambda: f"({a('str')} not in {a('dict')})",
                lambda: f"({a('str')} in {a('str')})",
                lambda: f"({a('str')} in {a('strs')})",
                lambda: f"(not {a('bool')})",
                lambda: f"({a('bool')} and {a('bool')})",
                lambda: f"({a('bool')} or {a('bool')})",
                lambda: f"({a()} < {a()} <= {a()})",
                lambda: f"bool({a()})",
                lambda: f"{a('str')}.startswith({a('str')})",
                lambda: f"{a('str')}.isdigit()",
                lambda: f"({self.pick(self.names('opt'))} {self.pick(['is', 'is not'])} None)",
                lambda: f"bool(({a('tensor')} > {a('float')}).any())",
                lambda: f"all([{a('bool')}, {a('bool')}])",
                lambda: f"any([i > {a()} for i in {a('ints')}])",
                lambda: f"isinstance({self.pick(self.names('opt'))}, int)",
            ]
        )()

    def str(self, depth):
        r = self.random
        if depth == 0:
            return f'"{self.pick(TEXTS)}"'
        a = lambda kind="str": self.expr(kind, depth - 1)  # noqa: E731
        return self.pick(
            [
                lambda: f"({a()} + {a()})",
                lambda: f"str({a('int')})",
                lambda: f"str({a('bool')})",
                lambda: f"{a()}[{r.randint(-2, 1)}]",
                lambda: f"{a()}[{self.slice()}]",
                lambda: f"{a()}.{self.pick('upper lower strip title capitalize swapcase rstrip lstrip'.split())}()",
                lambda: f"{a()}.replace({a()}, {a()})",
                lambda: f"{a()}.join({a('strs')})",
                lambda: 'f"' + self.pick(["{%s}-{%s}", "<{%s}{%s}>"]) % (self.pick(self.names("int")), self.pick(self.names("str"))) + '"',
                lambda: f'"{{}}:{{}}".format({a("int")}, {a()})',
                lambda: f'("%d %s" % ({a("int")}, {a()}))',
                lambda: f"({a()} if {a('bool')} else {a()})",
                lambda: f"{a('strs')}[{r.randint(-1, 1)}]",
                lambda: f"{a()}.{self.pick('zfill ljust rjust center'.split())}({r.randint(0, 5)})",
                lambda: f"str({a('ints')})",
                lambda: f"chr({r.randint(65, 90)})",
            ]
        )()

    def slice(self):
        part = lambda: self.pick(["", str(self.random.randint(-3, 3)), self.expr("int", 0)])  # noqa: E731
        return f"{part()}:{part()}" + self.pick(["", "", ":2", ":1"])

    def ints(self, depth):
        if depth == 0:
            return "[" + ", ".join(str(self.random.randint(-3, 6)) for _ in range(self.random.randint(1, 4))) + "]"
        a = lambda kind="ints": self.expr(kind, depth - 1)  # noqa: E731
        self.count += 1
        v = f"i{self.count}"
        inner = self.inner(v, "int", depth)
        return self.pick(
            [
                lambda: f"[{a('int')}, {a('int')}]",
                lambda: f"[{inner} for {v} in {a()}]",
                lambda: f"[{inner} for {v} in range({self.random.randint(0, 5)})]",
                lambda: f"list(range({self.pick(['3', '1, 6', '5, 0, -2', 'len(l)'])}))",
                lambda: f"{a()}[{self.slice()}]",
                lambda: f"({a()} + {a()})",
                lambda: f"({a()} * {self.random.randint(0, 2)})",
                lambda: f"sorted({a()})",
                lambda: f"{a()}.copy()",
                lambda: f"list({a('dict')}.values())",
                lambda: f"list({a()})",
                lambda: f"[ord(c) for c in {a('str')}]",
                lambda: f"[p + q for p, q in zip({a()}, {a()})]",
                lambda: f"[p * q for p, q in enumerate({a()})]",
                lambda: f"({a()} if {a('bool')} else {a()})",
                lambda: f"{self.pick(self.names('box') or ['Box(1, [2])'])}.items",
            ]
        )()

    def inner(self, name, kind, depth):
        self.scopes.append({name: kind})
        self.fixed.add(name)
        text = self.expr(kind, depth - 1)
        self.scopes.pop()
        return text

    def floats(self, depth):
        if depth == 0:
            return "[" + ", ".join(self.float(0) for _ in range(self.random.randint(1, 3))) + "]"
        a = lambda kind="floats": self.expr(kind, depth - 1)  # noqa: E731
        return self.pick(
            [
                lambda: f"[{a('float')}, {a('float')}]",
                lambda: f"[i * 0.5 for i in {a('ints')}]",
                lambda: f"[float(i) for i in {a('ints')}]",
                lambda: f"({a()} + {a()})",
                lambda: f"sorted({a()})",
                lambda: f"{a()}[{self.slice()}]",
            ]
        )()

    def strs(self, depth):
        if depth == 0:
            return "[" + ", ".join(self.str(0) for _ in range(self.random.randint(1, 3))) + "]"
        a = lambda kind="strs": self.expr(kind, depth - 1)  # noqa: E731
        return self.pick(
            [
                lambda: f"[{a('str')}, {a('str')}]",
                lambda: f"{a('str')}.split({quoted(self.pick(',b '))})",
                lambda: f"{a('str')}.split()",
                lambda: f"list({a('dict')}.keys())",
                lambda: f"[w + {a('str')} for w in {a()}]",
                lambda: f"sorted({a()})",
                lambda: f"({a()} + {a()})",
                lambda: f"[str(i) for i in {a('ints')}]",
                lambda: f"list({a('str')})",
            ]
        )()

    def dict(self, depth):
        if depth == 0:
            return "{" + ", ".join(f'"{k}": {self.random.randint(0, 5)}' for k in self.random.sample(TEXTS, self.random.randint(1, 3))) + "}"
        a = lambda kind="dict": self.expr(kind, depth - 1)  # noqa: E731
        return self.pick(
            [
                lambda: f"{{{a('str')}: {a('int')}, {a('str')}: {a('int')}}}",
                lambda: f"{{w: len(w) for w in {a('strs')}}}",
                lambda: f"{{k: v + 1 for k, v in {a()}.items()}}",
                lambda: f"{a()}.copy()",
                lambda: f"dict({a()})",
            ]
        )()

    def pair(self, depth):
        return f"({self.expr('int', depth - 1)}, {self.expr('float', depth - 1)})"

    def opt(self, depth):
        return self.pick(["None", self.expr("int", depth - 1)])

    def box(self, depth):
        return f"Box({self.expr('int', depth - 1)}, {self.expr('ints', depth - 1)})"

    def tensor(self, depth):
        r = self.random
        if depth == 0:
            return self.pick(
                ["torch.ones(4)", "torch.arange(4.)", "torch.full([4], 0.5)", "torch.tensor([1., -2., 0.5, 3.])", "torch.zeros(4, dtype=torch.float)"]
            )
        a = lambda kind="tensor": self.expr(kind, depth - 1)  # noqa: E731
        return self.pick(
            [
                lambda: f"({a()} + {a()})",
                lambda: f"({a()} * {a('float')})",
                lambda: f"({a()} - {a('int')})",
                lambda: f"({a('int')} - {a()})",
                lambda: f"({a('float')} * {a()})",
                lambda: f"torch.relu({a()})",
                lambda: f"{a()}.clone()",
                lambda: f"{a()}.view(2, 2).t().reshape(-1)",
                lambda: f"{a()}[[3, 1, 0, 2]]",
                lambda: f"torch.cat([{a()}[:{(k := r.randint(1, 3))}], {a()}[{k}:]])",
                lambda: f"torch.stack([{a()}, {a()}])[{r.randint(-1, 1)}]",
                lambda: f"torch.where({a()} > {a('float')}, {a()}, {a()})",
                lambda: f"({a()} if {a('bool')} else {a()})",
                lambda: f"{a()}.sort(descending={a('bool')})[0]",
                lambda: f"{a()}.to(torch.int64).to({self.pick('torch.float torch.float32'.split())})",
                lambda: f"{a()}.clamp({self.pick(['min=0', '-1, 2', 'max=1.5'])})",
                lambda: f"({a()} > {a()}).float()",
                lambda: f"{a()}.cumsum({self.pick('0 -1 dim=0'.split())})",
                lambda: f"-{a()}",
                lambda: f"{a()}.unsqueeze(0).expand(2, -1)[1]",
                lambda: f"{a()}[None, ...].squeeze({r.randint(0, 0)})",
                lambda: f"{a()}.flip(0)",
                lambda: f"({a()} == {a()}).to(torch.float)",
                lambda: f"({a()} // 2)",
                lambda: f"({a()} % 3)",
                lambda: f"({a()} ** 2)",
                lambda: f"{a()}.abs().sqrt()",
                lambda: f"torch.tensor([{', '.join(a('float') for _ in range(4))}])",
                lambda: f"torch.softmax({a()}, dim=0)",
            ]
        )()

    # ---- statements

    def block(self, depth, indent, size):
        self.scopes.append({})
        lines = []
        for _ in range(size):
            lines += [indent + line for line in self.statement(depth)]
        self.scopes.pop()
        return lines or [indent + "pass"]

    def statement(self, depth):
        kinds = ["new"] * 4 + ["set"] * 4 + ["aug"] * 3 + ["list", "list", "dict_", "inplace", "inplace", "unpack", "assert_", "box_", "floats_"]
        if depth > 0:
            kinds += ["if_"] * 4 + ["for_"] * 3 + ["while_"] * 2 + ["refine"] * 2
            if self.result:
                kinds += ["leave"]
        if self.loops:
            kinds += ["jump"] * 2
        return getattr(self, "s_" + self.pick(kinds))(depth)

    def s_new(self, depth):
        kind, name = self.pick(list(TYPES)), self.fresh()
        text = self.expr(kind, 3)
        annotation = f": {TYPES[kind]}" if kind == "opt" or self.chance(0.2) else ""
        self.scopes[-1][name] = kind
        return [f"{name}{annotation} = {text}"]

    def s_set(self, depth):
        kind = self.pick(list(TYPES))
        known = self.names(kind, writable=True)
        return [f"{self.pick(known)} = {self.expr(kind, 3)}"] if known else self.s_new(depth)

    def s_aug(self, depth):
        kind = self.pick("int int float str ints tensor".split())
        known = self.names(kind, writable=True)
        if not known:
            return self.s_new(depth)
        op = {"int": "+= -= *=", "float": "+= -= *= /=", "str": "+=", "ints": "+=", "tensor": "+= -= *="}[kind]
        op, name = self.pick(op.split()), self.pick(known)
        other = self.expr("float" if kind == "tensor" and self.chance(0.3) else kind, 2)
        if kind == "ints":
            other += ".copy()"  # PyTorch adds None where a list is added to itself
        if kind in ("int", "float") and op in ("*=", "/="):
            other = self.pick(["2", "3"])
        return [f"{name} {op} {other}"]

    def s_list(self, depth):
        name, r = self.pick(self.names("ints")), self.random
        return [
            self.pick(
                [
                    lambda: f"{name}.append({self.expr('int')})",
                    lambda: f"{name}.extend({self.expr('ints')}.copy())",
                    lambda: f"{name}.insert({r.randint(-1, 2)}, {self.expr('int')})",
                    lambda: f"{name}.pop({self.pick(['', '0', '-1'])})",
                    lambda: f"{name}.reverse()",
                    lambda: f"{name}.sort({self.pick(['', 'reverse=True'])})",
                    lambda: f"{name}[{r.randint(-2, 1)}] = {self.expr('int')}",
                    lambda: f"{name}[{r.randint(-2, 1)}] {self.pick(['+=', '*='])} {r.randint(1, 3)}",
                    lambda: f"del {name}[{r.randint(-1, 1)}]",
                    lambda: f"{name}.remove({self.expr('int', 1)})",
                    lambda: f"{name}.clear()" if self.chance(0.2) else f"{name}.append(len({name}))",
                ]
            )()
        ]

    def s_floats_(self, depth):
        known = self.names("floats")
        return [f"{self.pick(known)}.append({self.expr('float')})"] if known else self.s_new(depth)

    def s_dict_(self, depth):
        name = self.pick(self.names("dict"))
        return [
            self.pick(
                [
                    lambda: f"{name}[{self.expr('str', 1)}] = {self.expr('int')}",
                    lambda: f"{name}.update({self.expr('dict', 1)})",
                    lambda: f"{name}.pop({self.expr('str', 1)})" if self.chance(0.3) else f"{name}.setdefault({self.expr('str', 1)}, {self.expr('int', 1)})",
                    lambda: f'{name}["a"] = {name}.get("a", 0) + 1',
                    lambda: f"del {name}[{self.expr('str', 1)}]" if self.chance(0.3) else f'{name}["q"] = len({name})',
                ]
            )()
        ]

    def s_inplace(self, depth):
        name, r = self.pick(self.names("tensor", writable=True)), self.random
        return [
            self.pick(
                [
                    lambda: f"{name}[{r.randint(0, 1)}:{r.randint(2, 4)}].add_({self.expr('float', 1)})",
                    lambda: f"{name}[{r.randint(-4, 3)}] = {self.expr(self.pick(['float', 'int']), 1)}",
                    lambda: f"{name}[{r.randint(0, 1)}:{r.randint(2, 4)}] {self.pick('*= += -='.split())} {self.expr('float', 1)}",
                    lambda: f"{name}.view(2, 2)[{r.randint(0, 1)}].mul_({self.expr('float', 1)})",
                    lambda: f"{name}.{self.pick(['zero_()', 'neg_()', 'abs_()', 'clamp_(-1, 4)', 'relu_()'])}",
                    lambda: f"{name}[{name} > {self.expr('float', 1)}] = {self.expr('float', 0)}",
                    lambda: f"{name}.copy_({self.expr('tensor', 1)})",
                    lambda: f"{name}[::2] = {self.expr('tensor', 1)}[:2]",
                    lambda: f"{name}[torch.tensor([0, 2])] = {self.expr('float', 0)}",
                    lambda: f"{name}[1:3].copy_({name}[:2].clone())",
                    lambda: f"{name}.view(2, 2)[:, {r.randint(0, 1)}] += {self.expr('int', 0)}",
                ]
            )()
        ]

    def s_unpack(self, depth):
        a, b = self.fresh(), self.fresh()
        text = self.expr("pair", 2)
        known = self.names("int", writable=True)
        if len(known) > 1 and self.chance(0.4):
            p, q = self.random.sample(known, 2)
            return [f"{p}, {q} = {q}, {self.expr('int')}"]
        self.scopes[-1][a], self.scopes[-1][b] = "int", "float"
        return [f"{a}, {b} = {text}"]

    def s_assert_(self, depth):
        return [f"assert {self.expr('bool')} or {self.expr('bool')} or True" if self.chance(0.8) else f'assert {self.expr("bool")}, "no"']

    def s_box_(self, depth):
        known = self.names("box")
        if not known:
            return self.s_new(depth)
        name = self.pick(known)
        return [self.pick([f"{name}.count += {self.expr('int', 1)}", f"{name}.items = {self.expr('ints', 1)}", f"{name}.grow({self.expr('int', 1)})"])]

    def s_if_(self, depth):
        lines = [f"if {self.expr('bool')}:"] + self.block(depth - 1, "    ", self.random.randint(1, 3))
        if self.chance(0.25):
            lines += [f"elif {self.expr('bool')}:"] + self.block(depth - 1, "    ", self.random.randint(1, 2))
        if self.chance(0.4):
            lines += ["else:"] + self.block(depth - 1, "    ", self.random.randint(1, 2))
        return lines

    def s_for_(self, depth):
        a, b = self.fresh(), self.fresh()
        head, names = self.pick(
            [
                lambda: (f"for {a} in range({self.random.randint(0, 4)}):", {a: "int"}),
                lambda: (f"for {a} in range({self.random.randint(3, 5)}, 0, -1):", {a: "int"}),
                lambda: (f"for {a} in {self.expr('ints')}[:4]:", {a: "int"}),
                lambda: (f"for {a}, {b} in enumerate({self.expr('ints')}[:3]):", {a: "int", b: "int"}),
                lambda: (f"for {a}, {b} in zip({self.expr('ints')}[:3], {self.expr('strs')}[:3]):", {a: "int", b: "str"}),
                lambda: (f"for {a} in {self.expr('str')}[:4]:", {a: "str"}),
                lambda: (f"for {a}, {b} in {self.expr('dict')}.copy().items():", {a: "str", b: "int"}),
                lambda: (f"for {a} in list({self.expr('dict')}.keys()):", {a: "str"}),
                lambda: (f"for {a} in {self.expr('tensor')}.unsqueeze(0):", {a: "tensor"}),
                lambda: (f"for {a} in {self.expr('floats')}[:3]:", {a: "float"}),
            ]
        )()
        self.scopes.append(names)
        self.fixed |= set(names)
        self.loops += 1
        lines = [head] + self.block(depth - 1, "    ", self.random.randint(1, 3))
        self.loops -= 1
        self.scopes.pop()
        return lines

    def s_while_(self, depth):
        name = self.fresh()
        self.scopes[-1][name] = "int"
        self.fixed.add(name)
        self.loops += 1
        condition = f"{name} < {self.random.randint(1, 4)}" + (f" and {self.expr('bool', 1)}" if self.chance(0.4) else "")
        lines = [f"{name} = 0", f"while {condition}:", f"    {name} += 1"] + self.block(depth - 1, "    ", self.random.randint(1, 3))
        self.loops -= 1
        return lines

    def s_refine(self, depth):
        name = self.pick(self.names("opt"))
        taken, other = self.fresh(), self.expr("int")
        more = self.expr("int", 1)
        self.scopes[-1][taken] = "int"
        if self.chance(0.5):
            return [f"{taken} = {other}", f"if {name} is not None:", f"    {taken} = {name} + {more}"]
        return [f"if {name} is None:", f"    {taken} = {other}", "else:", f"    {taken} = {name} * 2"]

    def s_jump(self, depth):
        return [f"if {self.expr('bool')}:", "    " + self.pick(["break", "continue"])]

    def s_leave(self, depth):
        return [f"if {self.expr('bool')}:", f"    return {self.expr(self.result, 2)}"]

    def text(self):
        body = []
        for _ in range(self.random.randint(3, 9)):
            body += ["    " + line for line in self.statement(2)]
        if self.result:
            body.append(f"    return {self.expr(self.result, 3)}")
        else:
            live = [n for n, k in self.scopes[0].items() if k != "box"] + [f"{n}.items" for n, k in self.scopes[0].items() if k == "box"]
            body.append(f"    return ({', '.join(live)},)")
        return f"def {self.name}({ARGUMENTS}):\n" + "\n".join(body) + "\n"


def program(seed, name="f"):
    return Program(seed, name).text()


def module_text(seeds, library="torch"):
    """A module of the programs f<seed>, over a library that is called torch in it."""
    return HEAD.replace("import torch", f"import {library} as torch") + "".join("\n\n" + program(seed, f"f{seed}") for seed in seeds)


def arguments(torch, which):
    x = torch.tensor([0.5, -1.0, 2.0, 3.5]) * (which + 1)
    if which == 0:
        return x, 3, 1.5, "b,c", [4, 1, 3], {"a": 1, "b,c": 2}, 7
    return x, -2, -0.75, "Abc x", [2, 2, 5, -1], {"x": 4}, None


def plain(value):
    """A value of Python that two libraries can be compared by; numbers keep all their digits."""
    if hasattr(value, "detach"):
        return ["tensor", str(value.dtype).rpartition(".")[2], list(value.shape), [repr(v) for v in value.double().reshape(-1).tolist()]]
    if isinstance(value, tuple):
        return ["tuple", *map(plain, value)]
    if isinstance(value, list) or type(value).__name__ == "ScriptList":
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    return repr(value) if isinstance(value, float) else value
