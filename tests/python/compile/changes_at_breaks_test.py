"""Methods of containers that a graph break leaves on the stack change their containers once, and texts of tensors are those of their values."""

import collections
import unittest

import cresset as torch


class _Log:
    def __init__(self):
        self.items, self.by_name, self.queue, self.known = [], {}, collections.deque(), set()
        self.ordered, self.nested = collections.OrderedDict(), {"a": [0]}

    def state(self):
        return self.items, self.by_name, list(self.queue), self.known, list(self.ordered.items()), self.nested


def _through_a_variable(x, log):
    add = log.items.append
    add(x.item())
    x = x * 2
    add(x.item())
    return x


def _by_name(x, log, name):
    getattr(log.items, name)([x.item()])
    x = x * 2
    getattr(log.items, name)([x.item()])
    return x


PROGRAMS = {
    "append": lambda x, log: (log.items.append(x.item()), x * 2, log.items.append((x * 2).item())),
    "extend": lambda x, log: (log.items.extend([x.item()]), x * 2, log.items.extend([(x * 2).item()])),
    "insert": lambda x, log: (log.items.insert(0, x.item()), x * 2, log.items.insert(0, (x * 2).item())),
    "added in place": lambda x, log: (log.items.__iadd__([x.item()]), x * 2, log.items.__iadd__([(x * 2).item()])),
    "update": lambda x, log: (log.by_name.update({len(log.by_name): x.item()}), x * 2, log.by_name.update({len(log.by_name): (x * 2).item()})),
    "setdefault": lambda x, log: (log.by_name.setdefault(len(log.by_name), x.item()), x * 2, log.by_name.setdefault(len(log.by_name), (x * 2).item())),
    "deque": lambda x, log: (log.queue.append(x.item()), x * 2, log.queue.appendleft((x * 2).item())),
    "set": lambda x, log: (log.known.add(x.item()), x * 2, log.known.add((x * 2).item())),
    "ordered": lambda x, log: (log.ordered.update({len(log.ordered): x.item()}), x * 2, log.ordered.update({len(log.ordered): (x * 2).item()})),
    "nested": lambda x, log: (log.nested["a"].append(x.item()), x * 2, log.nested["a"].append((x * 2).item())),
    "variable": _through_a_variable,
}  # fmt: skip


class Changes(unittest.TestCase):
    def test_containers_change_once(self):
        for name, function in PROGRAMS.items():
            with self.subTest(name):
                torch._dynamo.reset()
                compiled = torch.compile(function, backend="eager")
                ours, wanted = _Log(), _Log()
                for n in range(3):  # the first call captures
                    x = torch.tensor([float(n)])
                    self.assertEqual(str(compiled(x, ours)), str(function(x, wanted)))
                    self.assertEqual(ours.state(), wanted.state())

    def test_another_method_or_container_is_another_graph(self):
        compiled = torch.compile(_by_name, backend="eager")
        ours, wanted = _Log(), _Log()
        for name in ("append", "extend", "append", "extend"):
            compiled(torch.ones(1), ours, name)
            _by_name(torch.ones(1), wanted, name)
            self.assertEqual(ours.items, wanted.items)
        other = _Log()
        compiled(torch.ones(1), other, "extend")
        self.assertEqual((other.items, ours.items), ([1.0, 2.0], wanted.items))


class _Named:
    def __init__(self, x):
        self.x = x

    def __repr__(self):
        return f"Named({self.x})"


TEXTS = {
    "f-string": lambda x: f"res: {x}", "str": lambda x: str(x), "repr": lambda x: repr(x), "percent": lambda x: "%s %r" % (x, [x]),
    "format": lambda x: "{} {k}".format([x], k=(x,)), "of a result": lambda x: f"{x + 1}", "list": lambda x: str([x]), "dict": lambda x: repr({"a": x}),
    "object": lambda x: str(_Named(x)), "error": lambda x: str(ValueError(x)), "shape": lambda x: f"{x.shape} {x.dtype}",
    "vmap": lambda x: torch.vmap(lambda a: a + len(str(a)))(x), "grad": lambda x: torch.func.grad(lambda a: (a * len(str(a))).sum())(x),
}  # fmt: skip


class Texts(unittest.TestCase):
    def test_texts_of_tensors(self):
        for name, function in TEXTS.items():
            with self.subTest(name):
                torch._dynamo.reset()

                def program(x, function=function):
                    x = x * 2
                    text = function(x)
                    return x + 1, text

                compiled = torch.compile(program, backend="eager")
                for n in (1.0, 3.0):
                    x = torch.tensor([n, n])
                    found, wanted = compiled(x), program(x)
                    torch.testing.assert_close(found[0], wanted[0])
                    self.assertEqual(str(found[1]), str(wanted[1]))

    def test_a_graph_cannot_hold_them(self):
        with self.assertRaisesRegex(torch._dynamo.exc.Unsupported, "text of a tensor"):
            torch.compile(lambda x: (x + 1, f"{x}"), backend="eager", fullgraph=True)(torch.ones(1))


if __name__ == "__main__":
    unittest.main()
