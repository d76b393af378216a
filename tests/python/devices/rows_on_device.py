"""Runs the float32 samples of every row on a device and on the CPU: prints one line a row that differs, and the counts last."""

from rows import leaves, table, tree

import cresset as torch


def moved(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    return device if isinstance(value, str) and value == "cpu" else value


def results(row, case, device=None):
    args, kwargs = case.tensors()
    if device is not None:
        args, kwargs = (tree(lambda value: moved(value, device), part) for part in (args, kwargs))
    return leaves(row.function(*args, **kwargs)), leaves((args, kwargs))


def is_random(row):
    """Whether the CPU gives other numbers for another seed."""
    unseeded = row.function.__closure__[0].cell_contents
    for case in row.cases("float32", 3):
        seen = []
        for seed in (1, 2):
            args, kwargs = case.tensors()
            for generator in leaves((args, kwargs)):
                if isinstance(generator, torch.Generator):
                    generator.manual_seed(seed)
            torch.manual_seed(seed)
            seen.append([v for v in leaves(unseeded(*args, **kwargs)) if isinstance(v, torch.Tensor)])
        if any(not torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(*seen, strict=True) if a.shape == b.shape and not a.is_complex()):
            return True
    return False


def check(row, case, device, values):
    expected, _ = results(row, case)
    got, given = results(row, case, device)
    assert len(expected) == len(got), f"{len(got)} results for {len(expected)}"
    for a, b in zip(expected, got, strict=True):
        if not isinstance(a, torch.Tensor):
            assert not values or a == b or a != a, f"{b} for {a}"
            continue
        # Without a device in the call, factories make tensors on the CPU.
        if any(isinstance(v, torch.Tensor) for v in given) and not any(a["name"] == "device" for a in row.row["arguments"]):
            assert b.device.type == device, f"a result on {b.device}"
        assert a.dtype == b.dtype and (not values or a.shape == b.shape), f"{b.dtype} of shape {tuple(b.shape)} for {a.dtype} of {tuple(a.shape)}"
        if values:
            # A row's own tolerance is that of single precision.
            atol = row.test.get("atol")
            close = {} if atol is None else {"atol": atol, "rtol": 1.3e-6 if atol < 1e-4 else 1e-4}
            torch.testing.assert_close(b.detach().cpu(), a.detach(), equal_nan=True, check_layout=False, **close)


def run(device, fallbacks=None, every=1):
    """Counts rows, or each of so many, that give what the CPU gives; with `fallbacks`, a function that returns the names of operators that left the device since it was last
    called, only those that did not leave it."""
    passed = total = 0
    for row in [row for row in table()[0] if "float32" in map(str, row.dtypes)][::every]:
        total += 1
        try:
            values = row.test.get("values", True) and not (fallbacks and is_random(row))
            if fallbacks:
                fallbacks()
            for case in row.cases("float32", 3):
                check(row, case, device, values)
            left = fallbacks() if fallbacks else ()
            assert not left, f"ran on the CPU: {', '.join(left)}"
            passed += 1
        except Exception as error:
            print(row.name, type(error).__name__, " ".join(str(error).split())[:300], flush=True)
    print(passed, total)
