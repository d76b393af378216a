"""Dtypes that are names alone: they compare, pickle and say their size; no tensor has one."""

import pickle

import pytest

import cresset as torch

SMALL = [f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)]
PACKED = ["bits1x8", "bits2x4", "bits4x2", "bits8", "bits16", "qint8", "quint8", "qint32", "quint4x2", "quint2x4", "float4_e2m1fn_x2"]


@pytest.mark.parametrize("name", SMALL + PACKED)
def test_a_name_alone(name):
    dtype = getattr(torch, name)
    assert repr(dtype) == f"torch.{name}" and isinstance(dtype, torch.dtype) and hash(dtype)
    assert pickle.loads(pickle.dumps(dtype)) is dtype and dtype.to_real() is dtype
    assert dtype.itemsize == {"bits16": 2, "qint32": 4}.get(name, 1)
    assert dtype.is_floating_point == name.startswith("float") and not dtype.is_complex
    for use in (lambda: torch.zeros(2, dtype=dtype), lambda: torch.ones(2).to(dtype), lambda: torch.promote_types(dtype, torch.int8)):
        with pytest.raises(NotImplementedError, match=f"torch.{name}: there are no tensors of this dtype"):
            use()
    if name in SMALL:
        assert dtype.is_signed == name.startswith("int")
    elif not name.startswith("float"):
        with pytest.raises(RuntimeError, match="once they are unpacked"):
            dtype.is_signed


def test_short_names():
    names = {"float32": "f32", "bfloat16": "bf16", "complex64": "c64", "int8": "i8", "uint16": "u16", "bool": "b8", "float8_e4m3fn": "f8e4m3fn",
             "bits8": "b8x1", "int3": "int3", "float4_e2m1fn_x2": "f4e2m1fnx2"}  # fmt: skip
    assert {name: getattr(torch, name).abbr for name in names} == names
    assert torch.bit is torch.uint1
