"""Weak references to tensors, and dicts whose keys are objects themselves and not their values.

>>> table = torch.utils.weak.WeakTensorKeyDictionary()
>>> x = torch.ones(2)
>>> table[x] = "known"
>>> table[x], len(table)
('known', 1)
>>> del x
>>> len(table)
0
"""

import collections.abc
import copy
import weakref

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary", "WeakTensorRefKey"]


class WeakIdRef(weakref.ref):
    """A weak reference that equals one to the same object alone.

    >>> x = torch.ones(1)
    >>> torch.utils.weak.WeakIdRef(x) == torch.utils.weak.WeakIdRef(x)
    True
    """

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, theirs = self(), other()
        return mine is theirs if mine is not None and theirs is not None else self is other

    def __ne__(self, other):
        return not self == other


#: For tensors, whose objects live as long as the tensors do.
WeakTensorRefKey = WeakIdRef


class TensorWeakRef:
    """A weak reference to a tensor: called, it gives the tensor, or None.

    >>> x = torch.ones(1)
    >>> torch.utils.weak.TensorWeakRef(x)() is x
    True
    """

    def __init__(self, tensor):
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()


class WeakIdKeyDictionary(collections.abc.MutableMapping):
    """A dict whose entries go with their keys; keys are compared by identity.

    >>> x = torch.ones(1)
    >>> x in torch.utils.weak.WeakIdKeyDictionary({x: 1})
    True
    """

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data, self.ref_type = {}, ref_type
        if dict is not None:
            self.update(dict)

    def _key(self, key):
        mine = weakref.ref(self)

        def gone(reference):
            alive = mine()
            if alive is not None:
                alive.data.pop(reference, None)

        return self.ref_type(key, gone)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self._key(key)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # no weak references to it
            return False

    def __iter__(self):
        return iter([key for key in (reference() for reference in list(self.data)) if key is not None])

    def __len__(self):
        return len(self.data)

    def update(self, other=()):
        """Adds the entries of a mapping or of pairs, all of which are read first."""
        entries = [(key, other[key]) for key in other.keys()] if hasattr(other, "keys") else list(other)  # noqa: SIM118
        for key, value in entries:
            self[key] = value

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self):
        """Another dict with the same entries."""
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo):
        # The keys are what the entries go with: they stay the same objects.
        other = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            other[key] = copy.deepcopy(value, memo)
        return other

    def __or__(self, other):
        if not isinstance(other, collections.abc.Mapping):
            return NotImplemented
        union = self.copy()
        union.update(other)
        return union

    def __ror__(self, other):
        if not isinstance(other, collections.abc.Mapping):
            return NotImplemented
        union = type(self)(other, self.ref_type)
        union.update(self)
        return union

    def __ior__(self, other):
        self.update(other)
        return self

    def __eq__(self, other):
        if not isinstance(other, collections.abc.Mapping):
            return NotImplemented
        return {id(key): value for key, value in self.items()} == {id(key): value for key, value in other.items()}

    __hash__ = None

    def keyrefs(self):
        """The weak references to the keys."""
        return list(self.data)


class WeakTensorKeyDictionary(WeakIdKeyDictionary):
    """The same for tensors.

    >>> len(torch.utils.weak.WeakTensorKeyDictionary())
    0
    """
