"""torch.monitor: windows of samples, and the events that tell of them."""

from datetime import datetime, timedelta

import pytest
from cresset.monitor import Aggregation, Event, Stat, TensorboardEventHandler, log_event, register_event_handler, unregister_event_handler

import cresset as torch


@pytest.fixture
def heard():
    events = []
    handle = register_event_handler(events.append)
    yield events
    unregister_event_handler(handle)


def test_a_full_window_is_aggregated_and_told(heard):
    stat = Stat("loss", list(Aggregation), timedelta(hours=1), max_samples=3)
    for value in (1, 5):
        stat.add(value)
    assert (stat.count, set(stat.get().values()), heard) == (2, {0.0}, [])
    stat.add(3)
    values = {"value": 3.0, "mean": 3.0, "count": 3.0, "sum": 9.0, "max": 5.0, "min": 1.0}
    assert {a.name.lower(): v for a, v in stat.get().items()} == values
    assert [(e.name, e.data) for e in heard] == [("torch.monitor.Stat", {f"loss.{k}": v for k, v in values.items()})]
    assert stat.count == 0


def test_a_window_ends_with_its_time(heard):
    stat = Stat("steps", [Aggregation.COUNT], timedelta(0))
    stat.add(1)
    assert [e.data for e in heard] == [{"steps.count": 1.0}]
    assert stat.get() == {Aggregation.COUNT: 0.0}  # of the window after it, in which nothing came


def test_handlers_are_called_in_order_until_they_are_unregistered(heard):
    second = register_event_handler(lambda event: heard.append("second"))
    event = Event("saved", datetime(2026, 1, 2), {"epoch": 1, "file": "a", "best": True, "loss": 0.5})
    log_event(event)
    unregister_event_handler(second)
    log_event(event)
    assert heard == [event, "second", event]
    with pytest.raises(RuntimeError, match="nothing is registered"):
        unregister_event_handler(second)


def test_wrong_values_are_refused():
    with pytest.raises(TypeError, match=r"data\['a'\]: expected str or int or float, got list"):
        Event("x", datetime.now(), {"a": [1]})
    with pytest.raises(TypeError, match="timestamp: expected datetime, got int"):
        Event("x", 0, {})
    with pytest.raises(ValueError, match="max_samples of 1 or more, got 0"):
        Stat("x", [], timedelta(1), 0)
    assert isinstance(1.5, torch.monitor.data_value_t) and not isinstance(None, torch.monitor.data_value_t)


def test_stats_become_scalars_of_tensorboard():
    written = []

    class Writer:
        def add_scalar(self, name, value, walltime):
            written.append((name, value, walltime))

    handler, time = TensorboardEventHandler(Writer()), datetime(2026, 1, 2)
    handler(Event("torch.monitor.Stat", time, {"a.sum": 2.0}))
    handler(Event("other", time, {"b": 3}))
    assert written == [("a.sum", 2.0, time.timestamp())]
