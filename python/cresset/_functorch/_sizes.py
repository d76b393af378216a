"""Inputs whose sizes are open: stand-ins with symbols, the conditions under which a graph serves other inputs, and numbers for what it has symbols for."""

from _cresset import Tensor

import cresset as torch

from .._subclasses.fake_tensor import FakeTensorMode
from ..fx.experimental.symbolic_shapes import RestartTrace, ShapeEnv

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_MAX_RESTARTS = 64


class Sizes:
    """The open sizes of flat inputs, but for the first `fixed`: `fakes` stand for them."""

    def __init__(self, flat, fixed=0):
        self.env = ShapeEnv()
        mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=self.env)
        self.fakes = [self._fake(mode, i, leaf, i < fixed) for i, leaf in enumerate(flat)]
        self.condition = None

    @staticmethod
    def _fake(mode, i, leaf, is_fixed):
        if not isinstance(leaf, Tensor):
            return leaf
        plain = leaf.detach().requires_grad_(leaf.requires_grad)
        return mode.from_tensor(plain, static_shapes=is_fixed, source=f"L['t{i}']")

    def settled(self, make):
        """The result of `make()`, which is called anew while sizes are found to be equal. From then on `hold` can be asked."""
        for _ in range(_MAX_RESTARTS):
            try:
                made = make()
                break
            except RestartTrace:
                continue
        else:
            raise RuntimeError("aot_function: the sizes of the inputs do not come to rest")
        self.condition = self.env.produce_guards_expression(self._tensors(self.fakes), ignore_static=False)
        return made

    @staticmethod
    def _tensors(flat):
        return [leaf for leaf in flat if isinstance(leaf, Tensor)]

    def hold(self, flat):
        """Whether the graph serves these inputs."""
        if self.condition is not None and not self.env.evaluate_guards_expression(self.condition, self._tensors(flat)):
            return False
        bound = self.bound(flat)
        pairs = zip(self._tensors(self.fakes), self._tensors(flat), strict=True)
        return all(t.layout is not torch.strided or self.plain(fake.stride(), bound) == t.stride() for fake, t in pairs)

    def bound(self, flat):
        """The number of each symbol for these inputs."""
        numbers = self.env.bind_symbols(self._tensors(self.fakes), self._tensors(flat))
        found = {str(symbol): int(number) for symbol, number in numbers.items()}
        for fake, tensor in zip(self._tensors(self.fakes), self._tensors(flat), strict=True):
            if tensor.layout is torch.strided:
                pairs = zip(fake.stride(), tensor.stride(), strict=True)
                found |= {str(s.node.expr): n for s, n in pairs if isinstance(s, torch.SymInt) and str(s.node.expr) not in found and s.node.expr.is_symbol}
        return found

    @classmethod
    def plain(cls, value, bound):
        """A value, and what is in tuples and lists, with numbers for symbols."""
        if isinstance(value, _SYMBOLIC):
            return value.node.expr.evaluate(bound) if value.node.expr.constant is None else value.node.expr.constant
        return type(value)([cls.plain(item, bound) for item in value]) if type(value) in (tuple, list, torch.Size) else value
