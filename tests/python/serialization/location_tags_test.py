"""`register_package`: functions of a program name the places of storages in files, and bring them back."""

import io
import zipfile

import pytest

import cresset as torch
from cresset import serialization


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    monkeypatch.setattr(serialization, "_package_registry", [])


def saved(value, **options):
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize("zipped", [True, False])
def test_a_tag_is_in_the_file_and_comes_back(zipped):
    seen = []

    def tag(storage):
        seen.append(("tag", storage.nbytes()))
        return "mine" if storage.nbytes() == 8 else None

    def restore(storage, location):
        seen.append(("restore", location))
        return storage if location == "mine" else None

    torch.serialization.register_package(5, tag, restore)
    two, one = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
    file = saved([two, two[1:], one], _use_new_zipfile_serialization=zipped)
    assert ("tag", 8) in seen and ("tag", 4) in seen
    a, b, c = torch.load(file)
    assert (a.tolist(), b.tolist(), c.tolist()) == ([1.0, 2.0], [2.0], [3.0])
    assert ("restore", "mine") in seen and ("restore", "cpu") in seen
    file.seek(0)
    if zipped:
        assert b"mine" in zipfile.ZipFile(file).read("archive/data.pkl")


def test_the_lowest_priority_decides():
    for priority, name in ((9, "late"), (2, "early")):
        torch.serialization.register_package(priority, lambda storage, name=name: name, lambda storage, location: storage)
    assert b"early" in zipfile.ZipFile(saved(torch.ones(1))).read("archive/data.pkl")


def test_what_a_tagger_raises_reaches_the_caller():
    torch.serialization.register_package(1, lambda storage: 1 / 0, lambda storage, location: None)
    with pytest.raises(ZeroDivisionError):
        saved(torch.ones(1))


def test_a_tag_has_to_be_text():
    torch.serialization.register_package(1, lambda storage: 7, lambda storage, location: None)
    with pytest.raises(TypeError, match="expected a text, got int"):
        saved(torch.ones(1))
