"""Weak references to tensors, and the dicts keyed by them: identity decides, and entries go with their tensors."""

import copy
import gc

import pytest
from cresset.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef, WeakTensorKeyDictionary

import cresset as torch


def test_references_compare_by_identity():
    x, same_values = torch.ones(2), torch.ones(2)
    assert WeakIdRef(x) == WeakIdRef(x)
    assert WeakIdRef(x) != WeakIdRef(same_values)
    assert hash(WeakIdRef(x)) == hash(WeakIdRef(x))


def test_entries_go_with_their_tensors():
    table = WeakTensorKeyDictionary()
    x, y = torch.ones(2), torch.ones(2)
    table[x], table[y] = "x", "y"
    assert (table[x], table[y], len(table)) == ("x", "y", 2)
    del x
    gc.collect()
    assert len(table) == 1
    assert [key is y for key in table] == [True]
    del table[y]
    assert y not in table


def test_objects_without_equality_are_keys():
    class Thing:
        __hash__ = None

        def __eq__(self, other):
            raise AssertionError("compared by value")

    thing, table = Thing(), WeakIdKeyDictionary()
    table[thing] = 3
    assert thing in table
    assert table.pop(thing) == 3


def test_unions_and_copies_keep_their_keys():
    a, b, c = torch.ones(1), torch.ones(1), torch.ones(1)
    table, other = WeakTensorKeyDictionary({a: [1], b: 2}), WeakTensorKeyDictionary({c: 3, a: 9})
    assert (table | other) == {a: 9, b: 2, c: 3}
    assert ({c: 4} | table) == WeakTensorKeyDictionary({c: 4, a: [1], b: 2})
    assert type({c: 4} | table) is WeakTensorKeyDictionary
    with pytest.raises(TypeError):
        table | 3
    deep = copy.deepcopy(table)
    deep[a].append(5)
    assert (deep[a], table[a]) == ([1, 5], [1])
    table |= other
    assert (table[a], len(table)) == (9, 3)


def test_a_mapping_that_cannot_be_read_changes_nothing():
    class Broken(dict):
        def __getitem__(self, key):
            raise KeyError(key)

    a = torch.ones(1)
    table = WeakTensorKeyDictionary({a: 1})
    with pytest.raises(KeyError):
        table.update(Broken({"no key at all": 2}))
    with pytest.raises(TypeError):
        table.update(42)
    assert table == {a: 1}


def test_a_tensor_reference_ends():
    x = torch.ones(1)
    reference = TensorWeakRef(x)
    assert reference() is x
    del x
    gc.collect()
    assert reference() is None
