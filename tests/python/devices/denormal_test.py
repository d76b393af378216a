"""`set_flush_denormal`: numbers too small for full precision are zero, in this thread and in those that work for it."""

import threading

import pytest

import cresset as torch

TINY = torch.full((200_000,), 1e-323, dtype=torch.float64)  # enough for all threads


@pytest.fixture
def flushing():
    assert torch.set_flush_denormal(True)
    yield
    torch.set_flush_denormal(False)


def test_they_are_kept_by_default():
    assert (TINY * 2 != 0).all() and (torch.tensor(1e-45) * 1).item() != 0


def test_results_and_operands_are_flushed_in_all_threads(flushing):
    assert torch.get_num_threads() > 1
    for _ in range(20):
        assert not (TINY * 2).numpy().any()
    assert (torch.tensor(1e-30) * torch.tensor(1e-10)).item() == 0.0


def test_it_ends():
    torch.set_flush_denormal(True)
    TINY * 2
    assert torch.set_flush_denormal(False)
    assert (TINY * 2 != 0).all()


def test_other_threads_are_left_alone(flushing):
    found = []
    thread = threading.Thread(target=lambda: (torch.set_flush_denormal(False), found.append((TINY * 2).numpy().any())))
    thread.start()
    thread.join()
    assert found == [True]
    assert not (TINY * 2).numpy().any()


@pytest.mark.parametrize("given", [1, None, "on"])
def test_anything_but_a_bool_is_refused(given):
    with pytest.raises(TypeError, match="set_flush_denormal: expected a bool, got"):
        torch.set_flush_denormal(given)
