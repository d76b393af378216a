"""Runs the float32 samples of every row on the device "mine" and on the CPU: prints one line a row that differs, and the counts last."""

from rows import leaves, table, tree

import cresset as torch


def moved(value):
    if isinstance(value, torch.Tensor):
        return value.to("mine")
    return "mine" if isinstance(value, str) and value == "cpu" else value


def check(row, case):
    args, kwargs = case.tensors()
    expected = row.function(*args, **kwargs)
    args, kwargs = case.tensors()
    got = row.function(*tree(moved, args), **tree(moved, kwargs))
    one, other = leaves(expected), leaves(got)
    assert len(one) == len(other), f"{len(other)} results for {len(one)}"
    for a, b in zip(one, other, strict=True):
        if not isinstance(a, torch.Tensor):
            assert a == b or a != a, f"{b} for {a}"
            continue
        if any(isinstance(v, torch.Tensor) for v in leaves((args, kwargs))):
            assert b.device.type == "mine", f"a result on {b.device}"
        if row.test.get("values", True):
            torch.testing.assert_close(b.detach().cpu(), a.detach(), equal_nan=True, check_layout=False)


passed = total = 0
for row in table()[0]:
    if "float32" not in map(str, row.dtypes):
        continue
    total += 1
    try:
        for case in row.cases("float32", 3):
            check(row, case)
        passed += 1
    except Exception as error:
        print(row.name, type(error).__name__, str(error).split("\n")[0][:150])
print(passed, total)
