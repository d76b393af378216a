"""torch.autograd.profiler: what ran in a part of a program and how long it took, and named parts of programs.

>>> with torch.autograd.profiler.profile() as p:
...     with torch.autograd.profiler.record_function("a part"):
...         x = torch.ones(1)
>>> [event.name for event in p.function_events]
['a part', 'aten::ones']
"""

import functools
import sys
import uuid
import warnings

import _cresset

from .profiler_util import EventList, FunctionEvent, FunctionEventAvg, Interval, Kernel, MemRecordsAcc  # noqa: F401

__all__ = ["EnforceUnique", "EventList", "FunctionEvent", "KinetoStepTracker", "MemRecordsAcc", "emit_itt", "emit_nvtx", "load_nvprof",
           "parse_nvprof_trace", "profile", "record_function"]  # fmt: skip


def _presented(name, overload, *args):
    """A call of an operator that modes hear, by which programs name their parts."""
    from .. import ops
    from .._modes.stack import present

    return present(getattr(getattr(ops.profiler, name), overload), *args)


class record_function:
    """A context, or a decorator, that names a part of a program for a profiler. While nothing is recorded it does nothing.

    Args:
        name: of the part.
        args: text that says more; it becomes part of nothing but the object.

    >>> @torch.autograd.profiler.record_function("doubling")
    ... def doubled(x):
    ...     return 2 * x
    >>> doubled(3)
    6
    """

    def __init__(self, name, args=None):
        self.name, self.args = name, args
        self._opened = self._heard = None

    def __enter__(self):
        if _cresset._is_heard():
            self._heard = _presented("_record_function_enter_new", "default", self.name, *(() if self.args is None else (self.args,)))
            return self
        loaded = sys.modules.get("_cresset_profile")
        if loaded is not None:
            self._opened = loaded.enter(str(self.name))
        return self

    def __exit__(self, kind, value, traceback):
        if self._heard is not None:
            heard, self._heard = self._heard, None
            _presented("_record_function_exit", "_RecordFunction", heard)
            return
        if self._opened is not None:
            opened, self._opened = self._opened, None
            sys.modules["_cresset_profile"].leave(opened)

    def __call__(self, function):
        @functools.wraps(function)
        def named(*args, **kwargs):
            with type(self)(self.name, self.args):
                return function(*args, **kwargs)

        return named

    def _call_end_callbacks_on_future(self, fut):
        """Ends the part when a future is done; gives the future."""
        opened, self._opened = self._opened, None
        if opened is not None:
            sys.modules["_cresset_profile"].detach(opened)

        def done(future):
            if opened is not None:
                sys.modules["_cresset_profile"].leave(opened)
            return future.value()

        return fut.then(done)


class profile:
    """A context that records what runs in it in this thread, and in backward passes that start in it.

    Args:
        enabled: False makes the context do nothing.
        record_shapes: the sizes and values of inputs.
        with_flops: operations of products, convolutions, sums and products of elements.
        profile_memory: memory that storages take and give back.
        with_stack: where in the program a call was made.
        with_modules: in which modules.
        use_cuda, use_device: other devices; there are none to record, and anything else raises.
        experimental_config: taken for compatibility with its default alone; `verbose` is always on.
        acc_events: keep events of all cycles.
        custom_trace_id_callback: gives the identity of the trace.
        post_processing_timeout_s: nothing is waited for, so that no time is too short.

    Errors: RuntimeError where one object is entered twice.

    >>> with torch.autograd.profiler.profile() as p:
    ...     _ = torch.ones(2)
    >>> p.key_averages()[0].key
    'aten::ones'
    """

    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False, with_flops=False, profile_memory=False, with_stack=False,
                 with_modules=False, use_kineto=False, use_cpu=True, experimental_config=None, acc_events=False, custom_trace_id_callback=None,
                 post_processing_timeout_s=None, activity_filters=None):  # fmt: skip
        if use_cuda or use_device not in (None, "cpu"):
            warnings.warn("profile: this Cresset records the CPU alone; other devices are left out", stacklevel=2)
        if activity_filters:
            raise NotImplementedError(f"profile: there are no kinds of events to choose from, got activity_filters={activity_filters}")
        if not use_cpu:
            raise AssertionError("profile: expected use_cpu=True, there are no events but those of the CPU")
        self.enabled, self.entered = enabled, False
        self.record_shapes, self.with_flops = record_shapes or with_flops, with_flops
        self.profile_memory, self.with_stack, self.with_modules = profile_memory, with_stack, with_modules
        self.use_device, self.use_cuda, self.use_cpu, self.acc_events = None, False, use_cpu, acc_events
        self.experimental_config, self.custom_trace_id_callback = experimental_config, custom_trace_id_callback
        self.trace_id, self._recording, self._earlier, self._owns = "", None, [], False

    def config(self, create_trace_id=False):
        """The options, with a new identity of the trace where asked for."""
        if create_trace_id:
            self.trace_id = self.create_trace_id()
        return {name: getattr(self, name) for name in ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules", "trace_id")}

    def default_trace_id(self):
        """Thirty-two hexadecimal digits."""
        return uuid.uuid4().hex.upper()

    def create_trace_id(self):
        """The identity that the program's function gives, or a new one."""
        return self.custom_trace_id_callback() if self.custom_trace_id_callback else self.default_trace_id()

    # ---- recording

    def _start_trace(self):
        from ._recording import native

        self.entered = True
        self.trace_id = self.trace_id or self.create_trace_id()
        if native().is_recording():
            warnings.warn("profile: another profile is recording; what runs here is part of that one", stacklevel=3)
            return
        native().start(self.record_shapes, self.profile_memory, self.with_flops, self.with_stack, self.with_modules)
        self._owns = True

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("profile: the context has been entered before; make another object, a profile is not reentrant")
        self._start_trace()
        return self

    def __exit__(self, kind, value, traceback):
        if self.enabled:
            self._stop_trace()
        return False

    def _stop_trace(self):
        from ._recording import Recording, Results, native

        if not self._owns:
            return
        self._owns = False
        if self.acc_events and self._recording is not None:
            self._earlier += self._recording.events
        self._recording = Recording(native().stop(), memory=self.profile_memory, flops=self.with_flops)
        self.kineto_results = Results(self._recording)

    def toggle_collection_dynamic(self, enabled, activities):
        """Records nothing from now on, or records again, where `activities` names the CPU; nothing else is recorded."""
        from ._recording import native

        if any(str(activity).endswith("CPU") for activity in activities):
            native().resume() if enabled else native().pause()

    # ---- what was recorded

    @property
    def function_events(self):
        """All events; None before the end of the context."""
        if self._recording is None:
            return EventList() if self.entered and not self._owns else None
        events = self._recording.events
        return events if not self._earlier else events._like([*self._earlier, *events])

    def _done(self):
        events = self.function_events
        if events is None:
            raise RuntimeError("Profiler didn't finish running")
        return events

    def __repr__(self):
        return "<unfinished torch.autograd.profile>" if self.function_events is None else repr(self.function_events)

    def __str__(self):
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80, header=None,
              top_level_events_only=False):  # fmt: skip
        """The events as text; see `EventList.table`."""
        return self._done().table(sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header, top_level_events_only)

    def export_chrome_trace(self, path, metadata=None, use_python_export=False):
        """Writes the file that Perfetto reads, compressed where the name ends in .gz. `metadata`: more fields, pieces of JSON by name."""
        self._done()
        self._recording.trace.write_chrome_trace(str(path), {"trace_id": f'"{self.trace_id}"', **(metadata or {})})

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes stacks; see `EventList.export_stacks`."""
        return self._done().export_stacks(path, metric)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Sums by name; see `EventList.key_averages`."""
        return self._done().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self):
        """The sums over all events."""
        return self._done().total_average()

    @property
    def self_cpu_time_total(self):
        """Microseconds of all events, none counted twice."""
        return self._done().self_cpu_time_total


# ---- other tools ----------------------------------------------------------------------------------------------------------


class _Emitter:
    _tool = ""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self):
        if self.enabled:
            raise RuntimeError(f"{type(self).__name__}: this Cresset is built without {self._tool}; use torch.profiler.profile")
        return None

    def __exit__(self, kind, value, traceback):
        return False


class emit_itt(_Emitter):
    """A context that marks operators for Intel's VTune. RuntimeError: it is not built in; with `enabled=False` it does nothing.

    >>> with torch.autograd.profiler.emit_itt(enabled=False):
    ...     pass
    """

    _tool = "ITT"


class emit_nvtx(_Emitter):
    """A context that marks operators for NVIDIA's Nsight. RuntimeError: it is not built in; with `enabled=False` it does nothing.

    >>> with torch.autograd.profiler.emit_nvtx(enabled=False):
    ...     pass
    """

    _tool = "NVTX"


def parse_nvprof_trace(path):
    """The events of a file that nvprof wrote while `emit_nvtx` was on: those of the CPU.

    >>> torch.autograd.profiler.parse_nvprof_trace("/nowhere/trace")
    Traceback (most recent call last):
    sqlite3.OperationalError: unable to open database file
    """
    import sqlite3

    with sqlite3.connect(path) as connection:
        strings = dict(connection.execute("SELECT _id_, value FROM StringTable"))
        unique, functions, began = EnforceUnique(), [], {}
        # A marker has a row with a name where it begins, and one without where it ends.
        for marker, name, time in connection.execute("SELECT id, name, timestamp FROM CUPTI_ACTIVITY_KIND_MARKER ORDER BY timestamp"):
            if name:
                unique.see(marker)
                began[marker] = (strings[name], time)
            elif marker in began:
                title, start = began[marker]
                functions.append(FunctionEvent(marker, title, 0, start / 1000, time / 1000))
    functions.sort(key=lambda event: event.time_range.start)
    return functions


def load_nvprof(path):
    """The events of a file of nvprof as an `EventList`.

    >>> torch.autograd.profiler.load_nvprof("/nowhere/trace")
    Traceback (most recent call last):
    sqlite3.OperationalError: unable to open database file
    """
    return EventList(parse_nvprof_trace(path), use_device="cuda")


class EnforceUnique:
    """Raises RuntimeError when a key is seen a second time.

    >>> unique = torch.autograd.profiler.EnforceUnique()
    >>> unique.see("a", 1)
    """

    def __init__(self):
        self.seen = set()

    def see(self, *key):
        """Notes the key."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """The number of steps of the whole program: the largest that one of those who count them has reached.

    >>> torch.autograd.profiler.KinetoStepTracker.increment_step("mine") >= 1
    True
    """

    _steps = {}
    _current = 0

    @classmethod
    def init_step_count(cls, requester):
        """A new one who counts begins at the present step."""
        cls._steps[requester] = cls._current

    @classmethod
    def erase_step_count(cls, requester):
        """One counts no longer; whether he did."""
        return cls._steps.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester):
        """One has done a step; the present step."""
        if requester not in cls._steps:
            cls.init_step_count(requester)
        cls._steps[requester] += 1
        cls._current = max(cls._current, max(cls._steps.values()))
        return cls._current

    @classmethod
    def current_step(cls):
        """The present step."""
        return cls._current
