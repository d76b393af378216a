"""Events of Python made of those that `_cresset_profile` recorded. The extension is loaded by the first profile, so that programs without one pay nothing."""

import ast
import sys

from .profiler_util import EventList, FunctionEvent

_USER = 7  # the scope of named parts


def native():
    """The extension."""
    import _cresset_profile

    return _cresset_profile


def is_recording():
    """Whether a profile is being recorded."""
    loaded = sys.modules.get("_cresset_profile")
    return loaded is not None and loaded.is_recording()


def _concrete(text):
    try:
        return ast.literal_eval(text) if text else None
    except (ValueError, SyntaxError):
        return text


class Recording:
    """A finished recording: the trace of C++ and its events."""

    def __init__(self, trace, *, memory, flops):
        self.trace = trace
        self._options = {"profile_memory": memory, "with_flops": flops}
        self._events = None

    @property
    def events(self):
        """All events in the order of their beginnings, each with its parent and children."""
        if self._events is None:
            self._events = self._read()
        return self._events

    def _read(self):
        rows = [(row, thread, place) for thread, log in enumerate(self.trace.threads()) for place, row in enumerate(log)]
        rows.sort(key=lambda found: found[0][3])
        made = {}
        for number, (row, thread, place) in enumerate(rows, 1):
            made[thread, place] = _event(number, row)
        for row, thread, place in rows:
            parent = made.get((thread, row[5]))
            if parent is not None:
                made[thread, place].set_cpu_parent(parent)
                parent.append_cpu_child(made[thread, place])
        events = [made[thread, place] for _, thread, place in rows]
        for event in reversed(events):  # children begin later
            event.cpu_memory_usage += sum(child.cpu_memory_usage for child in event.cpu_children)
        return EventList(events, **self._options)


def _event(number, row):
    name, overload, scope, start, end, _, sequence, forward, flops, memory, thread, system_thread, inputs, stack, module, is_step = row
    user = scope == _USER
    shown = name.partition("#")[0] + "*" if name.startswith("ProfilerStep#") else name
    structured = [sizes if listed else (sizes[0] if sizes else []) for sizes, _, listed, _, _ in inputs]
    steps = [strides if listed else (strides[0] if strides else []) for _, strides, listed, _, _ in inputs]
    event = FunctionEvent(
        id=number, name=shown, trace_name=name, overload_name=overload, thread=thread, start_us=start / 1000, end_us=end / 1000, fwd_thread=forward,
        input_shapes=[[] if listed else (sizes[0] if sizes else []) for sizes, _, listed, _, _ in inputs],
        concrete_inputs=[_concrete(value) for *_, value in inputs], stack=stack, scope=scope, cpu_memory_usage=memory, sequence_nr=sequence, flops=flops,
        device_index=system_thread, device_resource_id=system_thread, is_user_annotation=user, activity_type="user_annotation" if user else "cpu_op",
        external_id=number, structured_input_shapes=structured, structured_input_strides=steps, input_dtypes=[kind for *_, kind, _ in inputs],
    )  # fmt: skip
    event.module, event.is_step = module, is_step
    return event


class TreeNode:
    """An event of the tree of a recording."""

    def __init__(self, event, parent=None):
        self.name, self.parent, self.event = event.name, parent, event
        self.tag = "user_annotation" if event.is_user_annotation else "cpu_op"
        self.start_time_ns, self.duration_time_ns = round(event.time_range.start * 1000), round(event.time_range.elapsed_us() * 1000)
        self.end_time_ns = self.start_time_ns + self.duration_time_ns
        self.correlation_id, self.start_tid = event.id, event.thread
        self.children = [TreeNode(child, self) for child in event.cpu_children]

    def __repr__(self):
        return f"<{self.name}, {len(self.children)} children>"


class Results:
    """The recording as `torch.profiler`'s tools ask for it."""

    def __init__(self, recording):
        self._recording = recording

    def events(self):
        """The events."""
        return list(self._recording.events)

    def experimental_event_tree(self):
        """The events that ran within no other, as nodes with children."""
        return [TreeNode(event) for event in self._recording.events if event.cpu_parent is None]

    def trace_start_ns(self):
        """Nanoseconds since 1970 at its beginning."""
        return self._recording.trace.start_unix_ns

    def save(self, path):
        """Writes the trace file."""
        self._recording.trace.write_chrome_trace(path, {})
