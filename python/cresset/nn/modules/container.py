"""Modules that hold modules or parameters as lists and dictionaries do."""

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable

import cresset as torch

from ..parameter import Parameter
from .module import Module, _indented


def _position(container, index):
    """A position as the name of a child, counted from the end when negative."""
    index = operator.index(index)
    size = len(container)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range")
    return index % size


def _add_all(module, named):
    for name, child in named:
        module.add_module(name, child)


class _Numbered(Module):
    """Children under the names "0", "1" and so on."""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        yield from self._modules.values()

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module):
        """Add a module at the end; returns self."""
        _add_all(self, [(str(len(self)), module)])
        return self

    def pop(self, key):
        """Take the module at a position out and return it."""
        module = self[key]
        del self[key]
        return module

    def _fill(self, modules):
        self._modules = {str(i): module for i, module in enumerate(modules)}


class Container(Module):
    """The old name of a base of containers: a module that adds its keyword arguments as children."""

    def __init__(self, **kwargs):
        warnings.warn("nn.Container is an old name: derive from nn.Module", FutureWarning, stacklevel=2)
        super().__init__()
        _add_all(self, kwargs.items())


class Sequential(_Numbered):
    """Modules called one after the other, given in order or as an ordered dictionary of names.

    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> net(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(self, *args):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else ((str(i), m) for i, m in enumerate(args))
        _add_all(self, named)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def _name(self, index):
        return list(self._modules)[_position(self, index)]

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name(index)]

    def __setitem__(self, index, module):
        setattr(self, self._name(index), module)

    def __delitem__(self, index):
        for name in list(self._modules)[index] if isinstance(index, slice) else [self._name(index)]:
            delattr(self, name)
        self._fill(list(self))

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"Sequential + other: expected another Sequential, got {type(other).__name__}")
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"Sequential += other: expected another Sequential, got {type(other).__name__}")
        return self.extend(list(other))

    def __mul__(self, other):
        if not isinstance(other, int):
            raise TypeError(f"Sequential * other: expected an integer, got {type(other).__name__}")
        if other <= 0:
            raise ValueError(f"Sequential * other: expected a positive integer, got {other}")
        return Sequential(*(list(self) * other))

    __rmul__ = __mul__

    def __imul__(self, other):
        self.__mul__(other)  # for its errors
        return self.extend(list(self) * (other - 1))

    def insert(self, index, module):
        """Put a module before position `index`; returns self. Raises AssertionError for what is no module."""
        if not isinstance(module, Module):
            raise AssertionError(f"insert: expected a Module, got {type(module).__name__}")
        size = len(self._modules)
        if not -size <= index <= size:
            raise IndexError(f"insert: index {index} is out of range for {size} modules")
        modules = [*self]
        modules.insert(index + size if index < 0 else index, module)
        self._fill(modules)
        return self

    def extend(self, sequential):
        """Add the modules of an iterable at the end; returns self."""
        for module in list(sequential):
            self.append(module)
        return self


class ModuleList(_Numbered):
    """A list of modules, all of them registered; it has no forward.

    >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[str(_position(self, index))]

    def __setitem__(self, index, module):
        setattr(self, str(_position(self, index)), module)

    def __delitem__(self, index):
        modules = list(self._modules.values())
        if not isinstance(index, slice):
            index = _position(self, index)
        del modules[index]
        self._fill(modules)

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def __repr__(self):
        rows = []  # [first, last, text]: equal neighbours share a line
        for i, text in enumerate(map(repr, self)):
            if rows and rows[-1][2] == text:
                rows[-1][1] = i
            else:
                rows.append([i, i, text])
        if not rows:
            return self._get_name() + "()"
        lines = []
        for first, last, text in rows:
            number = f"({first})" if first == last else f"({first}-{last})"
            lines.append(f"\n  {number}: {'' if first == last else f'{last - first + 1} x '}{_indented(text)}")
        return f"{self._get_name()}({''.join(lines)}\n)"

    def extend(self, modules):
        """Add the modules of an iterable at the end; returns self. Raises TypeError for what is not iterable."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend: expected an iterable, got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index, module):
        """Put a module before position `index`."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        _add_all(self, [(str(len(self)), module)])  # for its checks
        self._fill(modules)


class ModuleDict(Module):
    """Modules under names, all of them registered; it has no forward.

    >>> heads = nn.ModuleDict({"class": nn.Linear(4, 10), "box": nn.Linear(4, 4)})
    >>> list(heads.keys())
    ['class', 'box']
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        _add_all(self, [(key, module)])

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Take everything out."""
        self._modules.clear()

    def pop(self, key):
        """Take a module out and return it."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """Names and modules."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Add the modules of a mapping or of pairs. Raises TypeError or ValueError for anything else."""
        for key, module in _pairs(modules, "ModuleDict"):
            self[key] = module


def _pairs(given, what):
    if not isinstance(given, Iterable):
        raise TypeError(f"{what}.update: expected pairs of keys and values, got {type(given).__name__}")
    if hasattr(given, "items"):
        return list(given.items())
    pairs = []
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{what} update sequence element #{i} should be Iterable; is {type(pair).__name__}")
        if len(pair) != 2:
            raise ValueError(f"{what} update sequence element #{i} has length {len(pair)}; 2 is required")
        pairs.append(tuple(pair))
    return pairs


def _entry(value):
    """Entry stored for a value: tensors become parameters."""
    return Parameter(value) if isinstance(value, torch.Tensor) and not isinstance(value, Parameter) else value


def _entry_text(value, dtype):
    if not isinstance(value, torch.Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    where = "" if value.device.type == "cpu" else f" ({value.device})"
    return f"{kind} containing: [{dtype} of size {'x'.join(map(str, value.shape))}{where}]"


class ParameterList(Module):
    """A list of parameters, all of them registered; tensors become parameters, other values stay what they are.

    >>> scales = nn.ParameterList([torch.ones(2), torch.zeros(3)])
    >>> [tuple(p.shape) for p in scales]
    [(2,), (3,)]
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(getattr(self, str(i)) for i in range(*index.indices(len(self))))
        return getattr(self, str(_position(self, index)))

    def __setitem__(self, index, value):
        setattr(self, str(_position(self, index)), _entry(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, values):
        return self.extend(values)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value):
        """Add a value at the end; returns self."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Add the values of an iterable at the end; returns self. Raises TypeError for what is not iterable, a tensor included."""
        if not isinstance(values, Iterable) or isinstance(values, torch.Tensor):
            raise TypeError(f"ParameterList.extend: expected an iterable, got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def pop(self, key):
        """Take the value at a position out and return it."""
        value = self[key]
        rest = [v for i, v in enumerate(self) if i != _position(self, key)]
        for i in range(len(self)):
            delattr(self, str(i))
        self._size = 0
        self.extend(rest)
        return value

    def extra_repr(self):
        """A line for each entry."""
        return "\n".join(f"  ({i}): {_entry_text(value, getattr(value, 'dtype', None))}" for i, value in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("a ParameterList cannot be called.")


class ParameterDict(Module):
    """Parameters under names, all of them registered; tensors become parameters, other values stay what they are.

    >>> choices = nn.ParameterDict({"left": torch.ones(2)})
    >>> choices["right"] = torch.zeros(2)
    >>> list(choices.keys())
    ['left', 'right']
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _name(self, key):
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: expected a str as key (got type '{type(key).__name__}').")
        return key

    def __getitem__(self, key):
        return getattr(self, self._name(key)) if key in self._keys else self._missing(key)

    def _missing(self, key):
        raise KeyError(key)

    def __setitem__(self, key, value):
        self._keys[self._name(key)] = None
        setattr(self, key, _entry(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._name(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """A new ParameterDict of the same parameters."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def setdefault(self, key, default=None):
        """The value under a key, which `default` becomes when there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self):
        """Take everything out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Take a value out and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Take the last pair out and return it."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key, default=None):
        """The value under a key, or `default`."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys, default=None):
        """A new ParameterDict with the same value under every key."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """The names."""
        return self._keys.keys()

    def items(self):
        """Names and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Add the values of a mapping, in the order of its names unless it is ordered, or of pairs."""
        pairs = _pairs(parameters, "ParameterDict")
        if hasattr(parameters, "items") and not isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs.sort(key=lambda pair: pair[0])
        for key, value in pairs:
            self[key] = value

    def __or__(self, other):
        out = self.copy()
        out.update(other)
        return out

    def __ror__(self, other):
        out = other.copy()
        out.update(self)
        return out

    def __ior__(self, other):
        self.update(other)
        return self

    def extra_repr(self):
        """A line for each entry."""
        return "\n".join(f"  ({k}): {_entry_text(v, v.type() if isinstance(v, torch.Tensor) else None)}" for k, v in self.items())

    def __call__(self, input):
        raise RuntimeError("a ParameterDict cannot be called.")
