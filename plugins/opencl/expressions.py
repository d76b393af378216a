"""Writes the pointwise expressions of cresset/kernels/expr as OpenCL C: each entry of the kernel lists with the functions that it needs.

The headers pass the C++ preprocessor, and each template is evaluated for a type: `if constexpr` chooses, types and traits are put in, and overloads stay overloads,
which OpenCL's compilers know as an attribute. A function that needs what OpenCL C lacks leaves its entry out, which then runs on the CPU.
"""

import re
import subprocess

HEADERS = ("activation", "bits", "loss", "orthogonal", "simple", "special")
TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F.]+(?:[pP][+-]?\d+)?[uUlLfF]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*)|([A-Za-z_]\w*)|(::|->|<<=|>>=|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|\.\.\.|.))"
)
PREFIX = {"expr": "e_", "math": "m_", "single": "s_"}
SCALARS = {"int32_t": "int", "int64_t": "long", "uint8_t": "uchar", "uint32_t": "uint", "uint64_t": "ulong", "auto": "__auto_type", "constexpr": "const"}
TYPES = {"float", "double", "long", "int", "bool", "uchar", "uint", "ulong"}
BUILTIN = {"nearbyint": "rint", "fabsf": "fabs", "sqrtf": "sqrt", "copysignf": "copysign", "fmaf": "fma", "lgammaf_r": "lgamma_r", "abs": "fabs"}
RESERVED = {"half": "half_"}
# Functions of two floats that C++ calls with a float and an integer.
TWO_FLOATS = {"fmod", "fmin", "fmax", "pow"}
# Formulas of single precision alone, and those that turn to functions which OpenCL C lacks.
SINGLE_ONLY = {"normal_tail", "mills_ratio", "gauss_tail", "exact_square", "erf_near", "log_normal_cdf", "gelu", "normal_cdf", "exp2_poly", "exp2", "erf", "log2", "log10"}  # fmt: skip
SKIPPED = {"j0", "j1", "y0", "y1"}


class Unwritable(Exception):
    """OpenCL C has no words for it."""


def tokens_of(text):
    out, at = [], 0
    text = text.strip()
    while at < len(text):
        m = TOKEN.match(text, at)
        out.append(m[1] or m[2] or m[3])
        at = m.end()
        while at < len(text) and text[at].isspace():
            at += 1
    return out


CLOSE = {"(": ")", "{": "}", "[": "]"}


def closing(t, i):
    """Index of the bracket that closes the one at i."""
    depth, opened, closed = 0, t[i], CLOSE[t[i]]
    while True:
        depth += (t[i] == opened) - (t[i] == closed)
        if not depth:
            return i
        i += 1


def angle(t, i):
    """Index of the `>` that closes the `<` at i."""
    depth = 0
    while True:
        if t[i] == "(":
            i = closing(t, i)
        depth += (t[i] == "<") - (t[i] == ">")
        if t[i] == ">>":
            depth -= 2
        if depth <= 0:
            return i
        i += 1


def split(t, by=","):
    """The parts of a list at its own depth."""
    parts, part, i = [], [], 0
    while i < len(t):
        if t[i] in CLOSE:
            end = closing(t, i)
            part += t[i : end + 1]
            i = end + 1
            continue
        if t[i] == by:
            parts.append(part)
            part = []
        else:
            part.append(t[i])
        i += 1
    return [*parts, part] if part or parts else []


class Function:
    def __init__(self, space, name, params, returns, body, generic):
        self.space, self.name, self.params, self.returns, self.body, self.generic = space, name, params, returns, body, generic


class Expression:
    """A struct of the lists: a call operator and helpers."""

    def __init__(self, name, signature):
        self.name, self.signature, self.functions = name, signature, []


class Reader:
    """Functions, structs and constants of the preprocessed headers."""

    def __init__(self, lines):
        self.t = [RESERVED.get(x, x) for x in tokens_of("\n".join(lines))]
        self.functions, self.expressions, self.structs, self.constants, self.formats = {}, {}, {}, {}, {}
        self.read(0, len(self.t), [])

    def read(self, i, end, space):
        t = self.t
        while i < end:
            word = t[i]
            if word == "namespace":
                at = i
                while t[at] != "{":
                    at += 1
                close = closing(t, at)
                self.read(at + 1, close, [*space, *(x for x in t[i + 1 : at] if x in PREFIX)])
                i = close + 1
                continue
            generic = []
            while t[i] == "template":
                last = angle(t, i + 1)
                generic = t[i + 2 : last] or generic
                i = last + 1
            if t[i] == "struct":
                i = self.read_struct(i, space, generic)
                continue
            i = self.read_item(i, space, generic)

    def read_struct(self, i, space, generic):
        t = self.t
        name = t[i + 1]
        at = i
        while t[at] not in ("{", ";"):
            at += 1
        if t[at] == ";":
            return at + 1
        close = closing(t, at)
        head, inside = t[i + 2 : at], t[at + 1 : close]
        if name == "Format" and head:
            text = " ".join(inside)
            self.formats[head[1]] = dict(re.findall(r"(\w+) = ([^,;]+)", text.split("using")[-1].split(";", 1)[1]))
        elif "Signature" in head:
            self.expressions[name] = expression = Expression(name, head[head.index("<") + 1 : -1])
            sub = Reader.__new__(Reader)
            sub.t, sub.functions, sub.expressions, sub.structs, sub.constants, sub.formats = inside, {}, {}, {}, {}, {}
            sub.read(0, len(inside), [*space])
            expression.functions = [f for group in sub.functions.values() for f in group]
        elif not head or head[0] != "<":
            fields = []
            for part in split(inside, ";"):
                if part and "(" not in part and "=" not in part:
                    fields += [("double" if part[0] == "double" else part[0], p[-1]) for p in split(part)]
            self.structs[name] = (bool(generic), fields)
        return close + 2

    def read_item(self, i, space, generic):
        """A function or a constant, or anything else, which is passed over."""
        t = self.t
        at = i
        while t[at] not in (";", "{") and not (t[at] == "(" and t[at - 1] != "__attribute__" and t[at - 2] != "("):
            at = closing(t, at) + 1 if t[at] == "(" else at + 1
        if t[at] == "(":
            name, close = t[at - 1], closing(t, at)
            if name == ")":  # operator()
                name = "operator"
            if t[at - 1] == "operator":
                name, at = "operator", close + 1
                close = closing(t, at)
            body = close + 1
            while t[body] not in (";", "{"):
                body += 1
            if t[body] == ";":
                if t[i] == "constexpr":
                    self.keep_constants(t[i:body])
                return body + 1
            last = closing(t, body)
            returns = [
                x
                for x in t[i : at - (3 if name == "operator" else 1)]
                if x not in ("inline", "static", "constexpr", "__attribute__", "always_inline", "(", ")", "noreturn", "[", "]", "operator")
            ]
            f = Function(tuple(space), name, t[at + 1 : close], returns, t[body + 1 : last], generic)
            self.functions.setdefault((tuple(space)[-1] if space else "", name), []).append(f)
            return last + 1
        if t[at] == "{":
            at = closing(t, at)
            while t[at] != ";":
                at += 1
        self.keep_constants(t[i:at])
        return at + 1

    def keep_constants(self, t):
        if t[:1] == ["constexpr"] and "=" in t and t[1] == "double":
            for part in split(t[2:]):
                self.constants[part[0]] = part[2:]


class Writer:
    """The text of one function and, in `needs`, the names of those that it calls."""

    def __init__(self, reader, function, generic, owner=None):
        self.reader, self.f, self.owner, self.needs, self.extra = reader, function, owner, set(), []
        self.variables = {}
        self.types = {**SCALARS, **dict.fromkeys(self.parameters(function.generic), generic)}
        self.generic = generic

    @staticmethod
    def parameters(generic):
        return [p[1] for p in split(generic) if len(p) > 1 and p[0] in ("class", "typename") and p[1] != "="]

    def name_of(self, name, space=None):
        """The function that a call means: one of ours by scope, else OpenCL's."""
        if self.owner and any(f.name == name for f in self.owner.functions) and space is None:
            self.needs.add((self.owner.name, name))
            return f"{self.owner.name}_{name}"
        scopes = [space] if space else list(reversed(self.f.space))
        for scope in scopes:
            if (scope, name) in self.reader.functions:
                self.needs.add((scope, name))
                return PREFIX[scope] + name
        if space:
            raise Unwritable(f"{space}::{name}")
        return self.builtin(name)

    @staticmethod
    def builtin(name):
        if name in SKIPPED:
            raise Unwritable(name)
        return BUILTIN.get(name, name)

    def trait(self, name, arguments):
        T = arguments[0] if arguments else ""
        floats = {"float", "double"}
        if name == "is_same_v":
            return arguments[0] == arguments[1]
        values = {
            "is_float": T in floats, "is_int": T in ("long", "uchar", "int", "ulong"), "is_bool": T == "bool", "is_cplx": False, "is_low": False, "is_pack": False, "is_register": False,
            "is_single": T == "float", "is_signed_v": T in floats | {"long", "int"}, "exponent_of_subnormals": False, "is_floating_point_v": T in floats, "is_arithmetic_v": True,
        }  # fmt: skip
        return values.get(name)

    def typed(self, t, i):
        """A type, trait or constant with template arguments at i: its text and the index after it; None where there is none."""
        name = t[i]
        if name == "typename":
            raise Unwritable("a nested type")
        if name == "conditional_t":
            last = angle(t, i + 1)
            condition, yes, no = split(t[i + 2 : last])
            return self.type_text(yes if self.decide(condition) else no), last + 1
        if name in (
            "Format",
            "FormatOf",
            "Real",
            "IntOf",
            "Wrap",
            "inf",
            "nan",
            "make_unsigned_t",
            "numeric_limits",
            "Reduced",
            "Exp",
            "LogParts",
            "Square",
        ) or (i + 1 < len(t) and t[i + 1] == "<" and self.trait(name, ["", ""]) is not None):
            if i + 1 >= len(t) or t[i + 1] != "<":
                return None
            last = angle(t, i + 1)
            arguments = [self.type_text(p) for p in split(t[i + 2 : last])]
            T, after = arguments[0], last + 1
            truth = self.trait(name, arguments)
            if truth is not None:
                return ("1" if truth else "0"), after
            if name in ("Format", "FormatOf"):
                return f"({self.constant_of(T, t[after + 1])})", after + 2
            if name == "numeric_limits":
                what = {"infinity": f"(({T})INFINITY)", "quiet_NaN": f"(({T})NAN)", "denorm_min": "0x1p-149f" if T == "float" else "0x1p-1074"}[t[after + 1]]
                return what, after + 4
            if name == "inf":
                return f"(({T})INFINITY)", after
            if name == "nan":
                return f"(({T})NAN)", after
            if name in self.reader.structs:
                self.needs.add(("struct", name, T))
                return f"{name}_{T}", after
            return {
                "Real": T,
                "IntOf": "int" if T == "float" else "long",
                "Wrap": "ulong" if T in ("long", "ulong") else "uint",
                "make_unsigned_t": "u" + T.lstrip("u"),
            }[name], after
        if name in self.types:
            return self.types[name], i + 1
        if name in self.reader.structs and not self.reader.structs[name][0]:
            self.needs.add(("struct", name, ""))
            return name, i + 1
        return None

    def constant_of(self, T, name):
        value = self.reader.formats[T].get(name)
        if value is None:
            raise Unwritable(f"Format::{name}")
        return value.strip()

    def type_text(self, t):
        t = [x for x in t if x not in ("std", "math", "::", "const", "&", "expr", "kernels", "typename")]
        found = self.typed(t, 0) if t else None
        return found[0] if found else " ".join(t)

    # ---- statements -----------------------------------------------------------------------------------------------

    def statement_end(self, t, i):
        """Index after the statement at i."""
        if t[i] == "{":
            return closing(t, i) + 1
        if t[i] in ("if", "for", "while"):
            at = i + 2 if t[i + 1] == "constexpr" else i + 1
            end = self.statement_end(t, closing(t, at) + 1)
            while t[i] == "if" and end < len(t) and t[end] == "else":
                end = self.statement_end(t, end + 1)
            return end
        while t[i] != ";":
            i = closing(t, i) + 1 if t[i] in CLOSE else i + 1
        return i + 1

    def statements(self, t):
        out, i = [], 0
        while i < len(t):
            if t[i] == ";":
                i += 1
                continue
            end = self.statement_end(t, i)
            if t[i] == "{":
                out.append("{ " + self.statements(t[i + 1 : end - 1]) + " }")
            elif t[i] == "if" and t[i + 1] == "constexpr":
                close = closing(t, i + 2)
                first = self.statement_end(t, close + 1)
                if self.decide(t[i + 3 : close]):
                    chosen = t[close + 1 : first]
                else:
                    chosen = t[first + 1 : end] if first < end else []
                if chosen[:1] == ["{"]:
                    chosen = chosen[1:-1]
                out.append(self.statements(chosen))
                if re.search(r"^return\b", out[-1].strip()):
                    break  # the rest belongs to other types
            elif t[i] in ("if", "while"):
                close = closing(t, i + 1)
                first = self.statement_end(t, close + 1)
                body = "return 0;" if "zero_division" in t[close + 1 : first] else self.statements(t[close + 1 : first])
                text = f"{t[i]} ({self.expression(t[i + 2 : close])}) {{ {body} }}"
                if first < end:
                    text += f" else {{ {self.statements(t[first + 1 : end])} }}"
                out.append(text)
            elif t[i] == "for":
                close = closing(t, i + 1)
                head = "; ".join(self.simple(p) for p in split([*t[i + 2 : close]], ";")[:3])
                out.append(f"for ({head}) {{ {self.statements(t[close + 1 : end])} }}")
            else:
                out.append(self.simple(t[i : end - 1]) + ";")
            i = end
        return " ".join(out)

    def decide(self, t):
        text = self.expression(t).replace("&&", " and ").replace("||", " or ")
        text = re.sub(r"!(?!=)", " not ", text)
        text = re.sub(r"sizeof ?\( ?(\w+) ?\)", lambda m: str({"float": 4, "double": 8, "long": 8, "bool": 1, "int": 4, "ulong": 8}[m[1]]), text)
        return bool(eval(text, {"has_fma": True}))  # noqa: S307

    def simple(self, t):
        """A statement without its semicolon."""
        if t[:1] == ["using"]:
            self.types[t[1]] = self.type_text(t[3:])
            return ""
        if t[:1] == ["static_assert"]:
            return ""
        if t[:1] == ["return"] and t[1:2] == ["{"]:
            return f"return ({self.type_text(self.f.returns)}) {{ {self.expression(t[2:-1])} }}"
        if t[:3] == ["const", "auto", "["]:
            close = closing(t, 2)
            names = [p[0] for p in split(t[3:close])]
            call = t[close + 2 :]
            called = call[call.index("(") - 1]
            fields = [name for _, name in self.fields_of(called)]
            for n, (kind, _) in zip(names, self.fields_of(called), strict=True):
                self.variables[n] = self.types.get(kind, kind)
            whole = "_".join(names) + "_"
            parts = " ".join(f"const __auto_type {n} = {whole}.{field};" for n, field in zip(names, fields, strict=True))
            return f"const __auto_type {whole} = {self.expression(call)}; {parts}".rstrip(";")
        kind = next((w for w in t[:2] if w != "const"), "")
        if self.types.get(kind, kind) in TYPES:
            self.variables.update(
                (p[0] if i else p[t.index(kind) + 1], self.types.get(kind, kind)) for i, p in enumerate(split(t)) if i == 0 and len(p) > 1 or i and p
            )
        return self.expression(t)

    def fields_of(self, called):
        for scope in reversed(self.f.space):
            for f in self.reader.functions.get((scope, called), []):
                return self.reader.structs[next(x for x in f.returns if x in self.reader.structs)][1]
        raise Unwritable(called)

    # ---- expressions ------------------------------------------------------------------------------------------------

    def call(self, name, arguments, space=None, builtin=False):
        if name in ("poly", "poly_pairs"):
            parts = split(arguments)
            x, terms = self.expression(parts[0]), [self.expression(p) for p in parts[1 if name == "poly" else 2 :]]
            known = [self.variables[w] for w in parts[0] if w in self.variables]
            kind = "double" if "double" in known or not known else "float"
            text = f"(({kind})({terms[-1]}))"
            for term in reversed(terms[:-1]):
                text = f"fma({text}, {x}, ({kind})({term}))"
            return text
        if name == "recurrence":
            return self.recurrence(split(arguments))
        if name == "__builtin_bit_cast":
            parts = split(arguments)
            return f"as_{self.type_text(parts[0])}({self.expression(parts[1])})"
        parts = [self.expression(p) for p in split(arguments)]
        if name.startswith("__builtin_"):
            name, builtin = name.removeprefix("__builtin_"), True
        if name in TWO_FLOATS and builtin:
            parts = [re.sub(r"^(-?\s*\d+)$", r"\1.0", p) for p in parts]
        text = self.builtin(name) if builtin else self.name_of(name, space)
        return f"{text}({', '.join(parts)})"

    def recurrence(self, parts):
        """The lambda of a three-term recurrence becomes a function, and what it takes from outside an argument."""
        first, degree, step = self.expression(parts[0]), self.expression(parts[1]), parts[2]
        close = closing(step, 3)
        params = [p[-1] if len(p) > 1 else f"unused{i}" for i, p in enumerate(split(step[4:close]))]
        body = step[close + 2 : -1]
        given = [("double", p) for p in params] + [("double", "x")]
        name = f"{self.f.name}_step"
        self.extra.append(f"double {name}({', '.join(f'{k} {n}' for k, n in given)}) {{ {self.statements(body)} }}")
        f = self.reader.functions[("math", "recurrence")][0]
        plain = Writer(self.reader, Function(f.space, f.name, f.params, f.returns, f.body, []), "double")
        text = plain.statements(f.body).replace("e_step(", "step(")
        self.extra.append(
            f"double {self.f.name}_run(double first, double degree, double x) {{ {re.sub(r'step[(]', name + '(', text).replace('now, before)', 'now, before, x)')} }}"
        )
        return f"{self.f.name}_run({first}, {degree}, x)"

    def expression(self, t):
        out, i = [], 0
        while i < len(t):
            word = t[i]
            if word == "std" or word == "::":
                i += 2 if word == "std" else 1
                if t[i] in ("make_unsigned_t", "numeric_limits", "is_signed_v", "is_same_v", "is_floating_point_v", "is_arithmetic_v"):
                    continue
                close = closing(t, i + 1)
                out.append(self.call(t[i], t[i + 2 : close], builtin=True))
                i = close + 1
                continue
            if word in PREFIX and t[i + 1] == "::":
                space = word
                i += 2
                while t[i + 1 : i + 2] == ["::"]:
                    space, i = t[i], i + 2
                if t[i + 1 : i + 2] == ["("]:
                    close = closing(t, i + 1)
                    out.append(self.call(t[i], t[i + 2 : close], space))
                    i = close + 1
                continue
            if word == "static_cast":
                last = angle(t, i + 1)
                out.append(f"({self.type_text(t[i + 2 : last])})")
                i = last + 1
                continue
            if t[i : i + 3] == ["(", "*", "this"]:
                close = closing(t, i + 4)
                out.append(self.call("operator", t[i + 5 : close]))
                i = close + 1
                continue
            if word in self.reader.expressions and t[i + 1 : i + 3] == ["{", "}"]:
                close = closing(t, i + 3)
                self.needs.add((word, "operator"))
                out.append(f"{word}_operator({self.expression(t[i + 4 : close])})")
                i = close + 1
                continue
            if word == "select" and t[i + 1 : i + 2] == ["("]:
                close = closing(t, i + 1)
                a, b, c = (self.expression(p) for p in split(t[i + 2 : close]))
                out.append(f"(({a}) ? ({b}) : ({c}))")
                i = close + 1
                continue
            found = self.typed(t, i) if re.match(r"[A-Za-z_]", word) else None
            if found:
                text, after = found
                if text in TYPES and t[after : after + 1] == ["("]:
                    close = closing(t, after)
                    inside = self.expression(t[after + 1 : close])
                    text, after = f"(({text})({inside}))", close + 1
                elif text in TYPES and t[after : after + 1] == ["{"]:
                    close = closing(t, after)
                    text, after = f"(({text})({self.expression(t[after + 1 : close])}))", close + 1
                out.append(text)
                i = after
                continue
            if word in TYPES and t[i + 1 : i + 2] == ["("]:
                close = closing(t, i + 1)
                out.append(f"(({word})({self.expression(t[i + 2 : close])}))")
                i = close + 1
                continue
            if word in self.reader.constants:
                out.append("(" + " ".join(self.reader.constants[word]) + ")")
                i += 1
                continue
            if re.match(r"[A-Za-z_]", word) and t[i + 1 : i + 2] == ["("] and word not in ("return", "sizeof"):
                close = closing(t, i + 1)
                out.append(self.call(word, t[i + 2 : close]))
                i = close + 1
                continue
            if word in ("int64_t", "int32_t"):
                word = SCALARS[word]
            if word == "has_fma":
                word = "1"
            if re.fullmatch(r"[\d.]+(e[+-]?\d+)?L", word):
                raise Unwritable("long double")
            out.append({"true": "1", "false": "0"}.get(word, word))
            i += 1
        return " ".join(out).replace("< <", "<<").replace("> >", ">>")

    def text(self, name):
        params = []
        for i, p in enumerate(split(self.f.params)):
            own = p[-1] if len(p) > 1 and p[-1] not in ("float", "double", "T", "F") else f"unused{i}"
            kind = p[:-1] if not own.startswith("unused") else p
            params.append(f"{self.type_text(kind)} {own}")
            self.variables[own] = self.type_text(kind)
        body = self.statements(self.f.body)
        returns = self.generic if self.f.returns == ["auto"] else self.type_text(self.f.returns)
        head = f"{returns} __attribute__((overloadable)) {name}({', '.join(params)})"
        return head, "\n".join([*self.extra, f"{head} {{ {body} }}"])


class Program:
    """One entry with all that it calls, in an order in which each comes before its use."""

    def __init__(self, reader, kinds):
        self.reader, self.kinds, self.heads, self.bodies, self.structs, self.done = reader, kinds, [], [], {}, set()

    def add(self, key):
        if key in self.done:
            return
        self.done.add(key)
        if key[0] == "struct":
            return self.add_struct(key[1], key[2])
        owner = self.reader.expressions.get(key[0])
        functions = [f for f in owner.functions if f.name == key[1]] if owner else self.reader.functions[key]
        prefix = f"{key[0]}_" if owner else PREFIX[key[0]]
        for f in functions:
            own = Writer.parameters(f.generic)
            single = f.name in SINGLE_ONLY
            for kind in self.kinds if own else ("",):
                if own and single and kind == "double":
                    continue
                writer = Writer(self.reader, f, kind, owner)
                try:
                    head, body = writer.text(prefix + f.name)
                except Unwritable:
                    # Of several overloads one may be beyond OpenCL C; what calls it does not build, and runs on the CPU.
                    if len(functions) * (len(self.kinds) if own else 1) == 1:
                        raise
                    continue
                for need in sorted(writer.needs):
                    self.add(need)
                self.emit(head + ";", body)

    def emit(self, head, body):
        if "double" in body:
            head, body = (f"#ifdef cl_khr_fp64\n{x}\n#endif" for x in (head, body))
        self.heads.append(head)
        self.bodies.append(body)

    def add_struct(self, name, T):
        fields = " ".join(f"{ {'F': T, 'T': T, 'int64_t': 'long'}.get(kind, kind) } {field};" for kind, field in self.reader.structs[name][1])
        text = f"typedef struct {{ {fields} }} {name}_{T};" if T else f"typedef struct {{ {fields} }} {name};"
        self.structs[name, T] = f"#ifdef cl_khr_fp64\n{text}\n#endif" if "double" in text else text

    def text(self):
        return "\n".join([*self.structs.values(), *self.heads, *self.bodies])


def preprocessed(compiler, root):
    source = "".join(f'#include "cresset/kernels/expr/{name}.h"\n' for name in HEADERS)
    done = subprocess.run([compiler, "-std=c++20", "-E", "-D__FMA__", f"-I{root}", "-xc++", "-"], input=source, capture_output=True, text=True, check=True)
    keep, lines = False, []
    for line in done.stdout.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            keep = "kernels/expr/" in marker[1]
        elif keep and line.strip():
            lines.append(line)
    return lines


def entries(root):
    """Pairs of a kernel's name and its expression, from the lists at the ends of the headers."""
    text = "".join(path.read_text() for path in sorted((root / "cresset/kernels/expr").glob("*.h")))
    lists = re.findall(r"#define CRESSET_\w+_KERNELS\(X\)((?:.*\\\n)*.*\n)", text)
    return re.findall(r"X\((\w+), (\w+)\)", "".join(lists))


def write(reader, expression, kinds):
    """OpenCL C of one expression for types, and whether it has a function of its own for far arguments; None where it cannot be written."""
    program = Program(reader, kinds)
    try:
        program.add((expression.name, "operator"))
    except Unwritable:
        return None
    if kinds[0] != "float" or not any(f.name == "far" for f in expression.functions):
        return program.text(), False
    whole = Program(reader, kinds)
    try:
        for name in ("operator", "far", "at_far"):
            whole.add((expression.name, name))
    except Unwritable:
        return program.text(), False
    return whole.text(), True
