"""Guards that `guard_filter_fn` drops are not looked at again; what stays is."""

import pytest
from cresset._dynamo.testing import CompileCounter

import cresset as torch
from cresset import nn

C = torch.compiler
SCALE = 2


def compiled(function, keep, backend=None):
    counter = CompileCounter() if backend is None else backend
    return torch.compile(function, backend=counter, options={"guard_filter_fn": keep}), counter


def scaled(x):
    return x * SCALE


def test_without_a_filter_a_global_that_changes_is_seen(monkeypatch):
    counter = CompileCounter()
    function = torch.compile(scaled, backend=counter)
    function(torch.ones(2))
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert function(torch.ones(2)).tolist() == [3, 3] and counter.frame_count == 2


@pytest.mark.parametrize("keep", [C.skip_guard_on_globals_unsafe, C.keep_tensor_guards_unsafe, C.skip_all_guards_unsafe])
def test_a_global_whose_guard_is_dropped_is_taken_not_to_change(monkeypatch, keep):
    function, counter = compiled(scaled, keep)
    function(torch.ones(2))
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert function(torch.ones(2)).tolist() == [2, 2] and counter.frame_count == 1


def test_guards_of_tensors_stay_where_only_others_are_dropped():
    function, counter = compiled(lambda x: x + 1, C.keep_tensor_guards_unsafe)
    assert function(torch.ones(2)).dtype == torch.float32
    assert function(torch.ones(2, dtype=torch.float64)).dtype == torch.float64 and counter.frame_count == 2


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.norm = 2, nn.Dropout(0.5)

    def forward(self, x):
        return self.norm(x) * self.scale


@pytest.mark.parametrize(
    ("keep", "own", "built_in"),
    [(C.skip_guard_on_all_nn_modules_unsafe, 2, 1), (C.skip_guard_on_inbuilt_nn_modules_unsafe, 3, 1), (C.keep_portable_guards_unsafe, 3, 2)],
)
def test_which_modules_are_taken_not_to_change(keep, own, built_in):
    model = Scaled().eval()
    function, counter = compiled(lambda x: model(x), keep)
    function(torch.ones(2))
    model.scale = 3
    assert function(torch.ones(2)).tolist() == [own, own]
    before = counter.frame_count
    model.norm.p = 0.25  # read when training alone
    model.norm.training = True
    function(torch.ones(2))
    assert counter.frame_count - before == (built_in - 1)


def test_code_for_other_sizes_is_an_error_and_not_run():
    function, _ = compiled(lambda x: x.exp() * 2, C.skip_all_guards_unsafe, "inductor")
    assert function(torch.zeros(4)).tolist() == [2, 2, 2, 2]
    with pytest.raises(AssertionError, match=r"expected sizes \[4\].*got \[5\]"):
        function(torch.zeros(5))
    assert function(torch.zeros(4)).tolist() == [2, 2, 2, 2]


def test_what_a_filter_is_shown():
    seen = []
    model = nn.Linear(2, 2)

    def keep(entries):
        seen.extend(entries)
        return [True] * len(entries)

    compiled(lambda x, n: model(x) * SCALE + n, keep, "eager")[0](torch.ones(1, 2), 4)
    by_name = {(e.name, e.guard_type): e for e in seen}
    assert by_name[("x", "TENSOR_MATCH")].value.shape == (1, 2) and not by_name[("x", "TENSOR_MATCH")].is_global
    assert by_name[("n", "EQUALS_MATCH")].value == 4 and by_name[("n", "EQUALS_MATCH")].has_value
    assert any(e.is_global and e.guard_type == "EQUALS_MATCH" and e.value == 2 for e in seen)
    assert any(e.module is model and e.guard_type == "TENSOR_MATCH" for e in seen)


def test_filters_that_are_none():
    with pytest.raises(RuntimeError, match="guard_filter_fn is a function, got int"):
        torch.compile(scaled, options={"guard_filter_fn": 3})
    function, _ = compiled(scaled, lambda entries: [True])
    with pytest.raises(RuntimeError, match="one for each guard, got 1"):
        function(torch.ones(2))
