"""Lists and dicts of TorchScript that Python holds by reference: compiled functions change them in place."""

import collections.abc

import _cresset_graph as _graph


class _Collection:
    def __init__(self, values=None, type_text=None):
        values = self._empty() if values is None else values
        self._type = type_text or _graph.script_value_type(values)
        self._c = _graph.script_collection_new(values, self._type)

    def __len__(self):
        return _graph.script_collection_size(self._c)

    def __delitem__(self, key):
        _graph.script_collection_remove(self._c, self._type, key)

    def __eq__(self, other):
        mine = self._copy()
        return mine == (other._copy() if isinstance(other, _Collection) else other)

    __hash__ = None

    def __repr__(self):
        return repr(self._copy())

    def __deepcopy__(self, memo):
        import copy

        return type(self)(copy.deepcopy(self._copy(), memo), self._type)

    def _copy(self):
        return _graph.script_collection_copy(self._c, self._type)


class ScriptList(_Collection, collections.abc.MutableSequence):
    """A list of one type, as a list of Python.

    Errors: TypeError for an element of another type, IndexError and ValueError as for lists.
    """

    def __contains__(self, value):
        return self._checked(value) in self._copy()

    def count(self, value):
        return self._copy().count(self._checked(value))

    def index(self, value, *bounds):
        return self._copy().index(self._checked(value), *bounds)

    def remove(self, value):
        del self[self.index(value)]

    def _checked(self, value):
        """`value`, which is of the type of the elements. Errors: TypeError."""
        _graph.script_collection_new([value], self._type)
        return value

    _empty = list

    def __getitem__(self, key):
        if isinstance(key, slice):
            return type(self)(self._copy()[key], self._type)
        return _graph.script_collection_get(self._c, self._type, key)

    def __setitem__(self, key, value):
        if not isinstance(key, slice):
            return _graph.script_collection_set(self._c, self._type, key, value)
        places, values = range(*key.indices(len(self))), list(value)
        if len(places) != len(values):
            raise RuntimeError(f"ScriptList: expected {len(places)} values for a slice of as many, got {len(values)}")
        for place, v in zip(places, values, strict=True):
            self[place] = v

    def __add__(self, other):
        return type(self)(self._copy() + list(other), self._type)

    def insert(self, index, value):
        index = max(index + len(self), 0) if index < 0 else index
        _graph.script_collection_insert(self._c, self._type, index, value)


class ScriptDict(_Collection, collections.abc.MutableMapping):
    """A dict whose keys are of one type, and whose values are of one, as a dict of Python.

    Errors: KeyError for a key that is not there, TypeError for a key or value of another type that is to be put in.
    """

    _empty = dict

    def __getitem__(self, key):
        return self._at(_graph.script_collection_get, key)

    def __delitem__(self, key):
        self._at(_graph.script_collection_remove, key)

    def _at(self, function, key):
        try:
            return function(self._c, self._type, key)
        except TypeError:
            raise KeyError(key) from None

    def __setitem__(self, key, value):
        _graph.script_collection_set(self._c, self._type, key, value)

    def __iter__(self):
        return iter(self._copy())
