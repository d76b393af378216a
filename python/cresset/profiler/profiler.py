"""`profile` with a schedule of steps, and what is done with finished traces."""

import enum
import json
import os
import socket
import time

from ..autograd import profiler as _recorder
from ._activity import ProfilerActivity, supported_activities

__all__ = ["ProfilerAction", "profile", "schedule", "tensorboard_trace_handler"]


class ProfilerAction(enum.Enum):
    """The action of a step: nothing; nothing, shortly before recording; recording; recording, with a finished trace at the end of the step.

    >>> torch.profiler.ProfilerAction.RECORD.name
    'RECORD'
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A plan for `profile`: of each cycle `wait` steps pass, `warmup` steps are not recorded either, and `active` steps are.

    Args:
        repeat: the number of cycles; 0: without end.
        skip_first: steps that pass before the first cycle.
        skip_first_wait: not 0: the first cycle begins without its `wait` steps.

    Errors: AssertionError for negative numbers and for no active step.

    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=1)
    >>> [plan(step).name for step in range(4)]
    ['NONE', 'WARMUP', 'RECORD_AND_SAVE', 'NONE']
    """
    numbers = {"wait": wait, "warmup": warmup, "repeat": repeat, "skip_first": skip_first, "active": active - 1}
    for name, number in numbers.items():
        if number < 0:
            raise AssertionError(f"schedule: expected {name} to be {'positive' if name == 'active' else 'zero or more'}")
    if warmup == 0:
        import warnings

        warnings.warn("schedule: without a warmup step the first recorded step is slower than others", stacklevel=2)
    cycle = wait + warmup + active

    def action(step):
        if step < 0:
            raise AssertionError(f"schedule: expected a step of zero or more, got {step}")
        step -= skip_first
        if step >= 0 and skip_first_wait:
            step += wait
        if step < 0 or (repeat and step // cycle >= repeat):
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == cycle - 1 else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """For `on_trace_ready`: writes each trace into a folder, under names that TensorBoard's plugin reads.

    Args:
        worker_name: by default the host and the process.
        use_gzip: compresses the files.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(folder, "worker")):
    ...         _ = torch.ones(1)
    ...     os.listdir(folder)[0].partition(".")[0]
    'worker'
    """

    def write(prof):
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"Can't create directory: {dir_name}") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")))

    return write


def _default_schedule_fn(step):
    return ProfilerAction.RECORD


class profile:
    """A context, or an object with `start` and `stop`, that records what a program does, step by step where it has a schedule.

    Args:
        activities: what to record, of `supported_activities()`, which is the default.
        schedule: a function of the number of the step that gives a ProfilerAction; by default all is recorded.
        on_trace_ready: a function that gets this object when a trace is finished.
        record_shapes, profile_memory, with_stack, with_flops, with_modules: what to say of events; see `torch.autograd.profiler.profile`.
        experimental_config: taken for compatibility; events of Python's frames are part of stacks alone.
        execution_trace_observer: an `ExecutionTraceObserver` that observes what is recorded.
        acc_events: `events()` and what is made of them cover all cycles, and not the last alone.
        custom_trace_id_callback: gives the identity of a trace.

    Errors: AssertionError where none of the activities can be recorded.

    >>> with torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=1, active=1),
    ...                             on_trace_ready=lambda p: print(p.step_num)) as p:
    ...     for _ in range(4):
    ...         _ = torch.ones(2)
    ...         p.step()
    3
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False, with_stack=False,
                 with_flops=False, with_modules=False, experimental_config=None, execution_trace_observer=None, acc_events=False, use_cuda=None,
                 custom_trace_id_callback=None, post_processing_timeout_s=None):  # fmt: skip
        chosen = supported_activities() if activities is None else activities
        self.activities = {kind for kind in chosen if isinstance(kind, ProfilerActivity)} | {kind for one in chosen if isinstance(one, dict) for kind in one}
        self.schedule = schedule or _default_schedule_fn
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules, self.acc_events = with_flops, with_modules, acc_events
        self.experimental_config, self.execution_trace_observer = experimental_config, execution_trace_observer
        self.custom_trace_id_callback = custom_trace_id_callback
        self.step_num, self.current_action = 0, self.schedule(0)
        self.profiler, self._step, self._metadata, self._earlier = None, None, {}, []

    # ---- steps

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, traceback):
        self.stop()
        return False

    def start(self):
        """Begins with step 0, or goes on with the present one."""
        if not self.activities & supported_activities():
            raise AssertionError(
                f"profile: no valid profiler activities in {sorted(kind.name for kind in self.activities)}, expected {sorted(kind.name for kind in supported_activities())}"
            )
        if self.current_action in _RECORDING:
            self.start_trace()
        self._begin_step()

    def stop(self):
        """Ends. A trace that is being recorded is finished."""
        self._end_step()
        if self.current_action in _RECORDING:
            self._finish()

    def step(self):
        """Says that the program's next step begins."""
        self._end_step()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE or (before is ProfilerAction.RECORD and self.current_action not in _RECORDING):
            self._finish()
            before = ProfilerAction.NONE
        if before not in _RECORDING and self.current_action in _RECORDING:
            self.start_trace()
        _recorder.KinetoStepTracker.increment_step("torch.profiler")
        self._begin_step()

    def _begin_step(self):
        if self.record_steps and self.current_action in _RECORDING:
            self._step = _recorder.record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self):
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _finish(self):
        self.stop_trace()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # ---- traces

    def prepare_trace(self):
        """Makes the recorder."""
        if self.acc_events and self.profiler is not None:
            self._earlier += self.profiler.function_events or []
        self.profiler = _recorder.profile(
            record_shapes=self.record_shapes, with_flops=self.with_flops, profile_memory=self.profile_memory, with_stack=self.with_stack,
            with_modules=self.with_modules, experimental_config=self.experimental_config, custom_trace_id_callback=self.custom_trace_id_callback,
        )  # fmt: skip

    def start_trace(self):
        """Records from now on."""
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.start()
        self.prepare_trace()
        self.profiler._start_trace()

    def stop_trace(self):
        """Ends the recording."""
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.stop()
        self._recorded("stop_trace")._stop_trace()

    def toggle_collection_dynamic(self, enable, activities):
        """Records nothing from now on, or records again, within a trace."""
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    def _recorded(self, what):
        if self.profiler is None:
            raise AssertionError(f"profile.{what}: nothing has been recorded; the profiler must be started first")
        return self.profiler

    def get_trace_id(self):
        """The identity of the trace; None before there is one."""
        return None if self.profiler is None else self.profiler.trace_id

    def set_custom_trace_id_callback(self, callback):
        """Names the function that gives the identities of the traces to come."""
        self.custom_trace_id_callback = callback

    # ---- what was recorded

    def events(self):
        """The events of the finished trace, in the order of their beginnings."""
        found = self._recorded("events").function_events
        return found if not self._earlier else found._like([*self._earlier, *found])

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Sums over events of a name; see `EventList.key_averages`."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path, use_python_export=False):
        """Writes the file that Perfetto, chrome://tracing and TensorBoard read; compressed where the name ends in .gz."""
        self._recorded("export_chrome_trace").export_chrome_trace(path, self._metadata)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes stacks for a flame graph; see `EventList.export_stacks`. It needs `with_stack=True`."""
        self._recorded("export_stacks").export_stacks(path, metric)

    def add_metadata(self, key, value):
        """A text that becomes a field of the trace file."""
        self._metadata[key] = json.dumps(value)

    def add_metadata_json(self, key, value):
        """A piece of JSON that becomes a field of the trace file. ValueError for text that is none."""
        json.loads(value)
        self._metadata[key] = value

    preset_metadata_json = add_metadata_json

    def export_memory_timeline(self, path, device=None):
        """Writes how much memory was in use over time, by kind: a page of its own for names in .html, which needs no network, else JSON: [times in
        microseconds, bytes of each kind at these times]; compressed where the name ends in .gz. It needs `profile_memory=True`."""
        from ._memory import write_timeline

        if not self.profile_memory:
            raise RuntimeError("export_memory_timeline: nothing is known of memory; record with profile_memory=True")
        write_timeline(self._recorded("export_memory_timeline")._recording, str(path), device or "cpu")

    def export_memory_snapshot(self, path, device=None):
        """Writes which blocks are held when most memory is, and at the end: how large, of which kind, within which operators and parts they were taken, and
        with `with_stack=True` by which lines. A page of its own for names in .html, which needs no network, else JSON; compressed where the name ends in .gz.
        It needs `profile_memory=True`."""
        from ._memory import write_snapshot

        if not self.profile_memory:
            raise RuntimeError("export_memory_snapshot: nothing is known of memory; record with profile_memory=True")
        write_snapshot(self._recorded("export_memory_snapshot")._recording, str(path), device or "cpu")
