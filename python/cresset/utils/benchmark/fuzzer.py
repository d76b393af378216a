"""Random shapes and layouts to time on."""

import functools
import itertools
import math
import random

import cresset as torch

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias"]


class _Draws(random.Random):
    """The draws of NumPy's RandomState, which PyTorch takes: the Mersenne twister with its first seeding, whole numbers by rejection."""

    def __init__(self, seed):
        super().__init__(0)
        words = [seed & 0xFFFFFFFF]
        for place in range(1, 624):
            words.append((1812433253 * (words[-1] ^ (words[-1] >> 30)) + place) & 0xFFFFFFFF)
        self.setstate((3, (*words, 624), None))

    def whole(self, low, high):
        """From `low` to `high`, both included."""
        span = high - low
        mask = (1 << span.bit_length()) - 1
        while span:
            drawn = self.getrandbits(32)
            if span > 0xFFFFFFFF:
                drawn = drawn << 32 | self.getrandbits(32)
            if drawn & mask <= span:
                return low + (drawn & mask)
        return low

    def real(self, low, high):
        """From `low` to `high`."""
        return low + (high - low) * self.random()

    def order(self, count):
        """A permutation."""
        places = list(range(count))
        for last in range(count - 1, 0, -1):
            other = self.whole(0, last)
            places[last], places[other] = places[other], places[last]
        return places


class ParameterAlias:
    """Stands for the value of another parameter.

    >>> torch.utils.benchmark.ParameterAlias("k0").alias_to
    'k0'
    """

    def __init__(self, alias_to):
        self.alias_to = alias_to

    def __repr__(self):
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A random number.

    Args:
        name: its name.
        minval, maxval: its limits, for "uniform" and "loguniform".
        distribution: those, or {value: probability}; a value may be a `ParameterAlias`.
        strict: whether values are kept as they are; else whole limits give whole numbers.

    Errors: AssertionError for limits and probabilities that do not fit.

    >>> fuzzer = torch.utils.benchmark.Fuzzer([torch.utils.benchmark.FuzzedParameter("k", 1, 9, "loguniform")], [], seed=0)
    >>> [parameters["k"] for _, _, parameters in fuzzer.take(3)]
    [4, 3, 3]
    """

    def __init__(self, name, minval=None, maxval=None, distribution=None, strict=False):
        self._name, self._minval, self._maxval, self.strict = name, minval, maxval, strict
        if isinstance(distribution, str):
            if distribution not in ("uniform", "loguniform"):
                raise AssertionError(f"Unknown distribution: {distribution}")
            if minval is None or maxval is None or minval > maxval or (distribution == "loguniform" and minval <= 0):
                raise AssertionError(f"FuzzedParameter {name}: limits {minval} and {maxval} do not fit {distribution}")
        else:
            if not isinstance(distribution, dict) or not distribution or any(p < 0 for p in distribution.values()):
                raise AssertionError(f"FuzzedParameter {name}: expected a name or {{value: probability}}, got {distribution!r}")
            if abs(sum(distribution.values()) - 1) > 1e-6:
                raise AssertionError("Distribution is not normalized")
        self._distribution = distribution

    @property
    def name(self):
        """Its name."""
        return self._name

    def sample(self, state):
        """A value, drawn with the fuzzer's state."""
        if isinstance(self._distribution, dict):
            return state.choices(list(self._distribution), list(self._distribution.values()))[0]
        whole = isinstance(self._minval, int) and isinstance(self._maxval, int)
        if self._distribution == "uniform":
            return (state.whole if whole else state.real)(self._minval, self._maxval)
        value = 2 ** state.real(math.log2(self._minval), math.log2(self._maxval))
        return int(value) if whole else value


def _product(values):
    return functools.reduce(lambda a, b: a * b, values, 1)


class FuzzedTensor:
    """A tensor with a random layout, whose sizes are parameters.

    Args:
        name: its name.
        size: numbers, or names of parameters.
        steps: as many: only every so manieth element is used.
        probability_contiguous: how often the dimensions stand in their order.
        min_elements, max_elements, max_allocation_bytes: what does not fit is drawn again.
        dim_parameter: the parameter that says how many of the sizes count.
        dtype, tensor_constructor: of the tensor.

    >>> import random
    >>> torch.utils.benchmark.FuzzedTensor("x", ("n", 3)).satisfies_constraints({"n": 2})
    True
    """

    def __init__(self, name, size, steps=None, probability_contiguous=0.5, min_elements=None, max_elements=None, max_allocation_bytes=None,
                 dim_parameter=None, roll_parameter=None, dtype=torch.float32, cuda=False, tensor_constructor=None):  # fmt: skip
        if cuda:
            raise RuntimeError("FuzzedTensor: this build runs on the CPU")
        self._name, self._size, self._steps, self._contiguous = name, size, steps, probability_contiguous
        self._least, self._most, self._bytes = min_elements, max_elements, max_allocation_bytes
        self._dim, self._dtype, self._make = dim_parameter, dtype, tensor_constructor

    @property
    def name(self):
        """Its name."""
        return self._name

    @staticmethod
    def default_tensor_constructor(size, dtype, **kwargs):
        """Random numbers: from 0 to 1, or whole ones to 127."""
        if dtype.is_floating_point or dtype.is_complex:
            return torch.rand(size=size, dtype=dtype)
        return torch.randint(*(0, 2) if dtype == torch.bool else (1, 127), size=size, dtype=dtype)

    def _sizes(self, params):
        dim = len(self._size) if self._dim is None else params[self._dim]

        def known(values):
            return tuple(params.get(v, v) if isinstance(v, str) else v for v in values)[:dim]

        size, steps = known(self._size), known(self._steps or (1,) * len(self._size))
        return size, steps, tuple(n * s for n, s in zip(size, steps))

    def satisfies_constraints(self, params):
        """Whether the sizes are within the limits."""
        size, _, held = self._sizes(params)
        count = _product(size)
        return (
            (self._least is None or count >= self._least) and (self._most is None or count <= self._most)
            and (self._bytes is None or _product(held) * self._dtype.itemsize <= self._bytes)
        )  # fmt: skip

    def _made(self, params, state):
        size, steps, held = self._sizes(params)
        order = plain = list(range(len(size)))
        if len(size) > 1 and state.random() > self._contiguous:
            while order == plain:
                order = state.order(len(size))
        raw = (self._make or self.default_tensor_constructor)(size=tuple(held[i] for i in order), dtype=self._dtype, **({} if self._make is None else params))
        tensor = raw.permute([order.index(i) for i in range(len(size))])[tuple(slice(0, n * s, s) for n, s in zip(size, steps))]
        facts = {"numel": tensor.numel(), "order": order, "steps": steps, "is_contiguous": tensor.is_contiguous(), "dtype": str(self._dtype)}
        return tensor, facts


class Fuzzer:
    """Draws parameters and tensors.

    Args:
        parameters, tensors: lists (of lists) of `FuzzedParameter` and `FuzzedTensor`.
        constraints: functions of the parameters that must be true; else they are drawn again.
        seed: of the draws.

    >>> from cresset.utils.benchmark import FuzzedParameter, FuzzedTensor, Fuzzer
    >>> fuzzer = Fuzzer([FuzzedParameter("n", 2, 5, "uniform")], [FuzzedTensor("x", ("n",))], seed=0)
    >>> [tensors["x"].numel() == parameters["n"] for tensors, info, parameters in fuzzer.take(2)]
    [True, True]
    """

    def __init__(self, parameters, tensors, constraints=None, seed=None):
        def flat(items):
            return list(itertools.chain.from_iterable(item if isinstance(item, (list, tuple)) else [item] for item in items))

        self._parameters, self._tensors, self._constraints = flat(parameters), flat(tensors), list(constraints or ())
        self._seed = random.randrange(2**32) if seed is None else seed
        names = [p.name for p in (*self._parameters, *self._tensors)]
        if len(set(names)) < len(names):
            raise ValueError(f"Fuzzer: names are given twice in {names}")
        self._kept = self._drawn = 0

    def take(self, n):
        """So many draws: ({name: tensor}, {name: facts about it}, {name: parameter})."""
        state = _Draws(self._seed)
        torch.manual_seed(state.whole(0, 2**63 - 1))
        for _ in range(n):
            params = self._draw(state)
            made = {tensor.name: tensor._made(params, state) for tensor in self._tensors}
            yield {name: tensor for name, (tensor, _) in made.items()}, {name: facts for name, (_, facts) in made.items()}, params

    @property
    def rejection_rate(self):
        """Which share of the draws did not fit."""
        return 0.0 if not self._drawn else (self._drawn - self._kept) / self._drawn

    def _draw(self, state):
        for _ in range(1000):
            self._drawn += 1
            params = {p.name: p.sample(state) for p in self._parameters}
            for name in params:
                while isinstance(params[name], ParameterAlias):
                    params[name] = params[params[name].alias_to]
            if all(check(params) for check in self._constraints) and all(t.satisfies_constraints(params) for t in self._tensors):
                self._kept += 1
                return params
        raise ValueError("no parameters were found that meet all conditions.")
