"""Events of a recording in Python, their averages, tables and files.

>>> with torch.autograd.profiler.profile() as p:
...     _ = torch.ones(2) + 1
>>> [row.key for row in p.key_averages() if row.key == "aten::add"]
['aten::add']
"""

import collections
import enum
import json

__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel", "MemRecordsAcc"]

DeviceType = enum.Enum(
    "DeviceType",
    "CPU CUDA MKLDNN OPENGL OPENCL IDEEP HIP FPGA MAIA XLA Vulkan Metal XPU MPS Meta HPU VE Lazy IPU MTIA PrivateUse1".split(),
    start=0,
    module=__name__,
)
DeviceType.__doc__ = """Kinds of devices, under PyTorch's numbers.

>>> torch.autograd.DeviceType.CPU.value
0
"""


class Kernel(collections.namedtuple("Kernel", "name device duration")):
    """A kernel that ran on another device, and for how many microseconds.

    >>> torch.autograd.profiler_util.Kernel("sum", 0, 2.0).duration
    2.0
    """


# ---- text -----------------------------------------------------------------------------------------------------------------


def _time_text(us, unit=None):
    """Microseconds in the unit that suits them, or in the given one: "s", "ms", "us"."""
    for name, scale in (("s", 1e6), ("ms", 1e3)):
        if unit == name or (unit is None and us >= scale):
            return f"{us / scale:.3f}{name}"
    return f"{us:.3f}us"


def _share_text(part, whole):
    return f"{100 * part / whole:.2f}%" if whole else ("NaN" if part else "0.00%")


def _memory_text(nbytes):
    for name, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= scale:
            return f"{nbytes / scale:.2f} {name}"
    return f"{nbytes} B"


def _flops_scale(most):
    """(divisor, header) for numbers of operations of which this is the largest."""
    names = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
    step = 0
    while step + 1 < len(names) and most >= 1000 ** (step + 1):
        step += 1
    return 1000**step, f"Total {names[step]}"


class _Texts:
    """Properties `<time>_str` of what has times in microseconds."""

    cpu_time_str = property(lambda self: _time_text(self.cpu_time))
    cpu_time_total_str = property(lambda self: _time_text(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: _time_text(self.self_cpu_time_total))
    device_time_str = property(lambda self: _time_text(self.device_time))
    device_time_total_str = property(lambda self: _time_text(self.device_time_total))
    self_device_time_total_str = property(lambda self: _time_text(self.self_device_time_total))

    @property
    def cpu_time(self):
        """Of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self):
        """Of one call, on a device other than the CPU."""
        return self.device_time_total / self.count if self.count else 0.0

    cuda_time = device_time


class Interval:
    """A stretch of time, in microseconds since the recording began.

    >>> torch.autograd.profiler_util.Interval(1.0, 3.5).elapsed_us()
    2.5
    """

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        """Its length."""
        return self.end - self.start


# ---- one event ------------------------------------------------------------------------------------------------------------


class FunctionEvent(_Texts):
    """One call of an operator, one node of a backward pass, or one named part of a program.

    >>> torch.autograd.profiler_util.FunctionEvent(1, "mine", 0, 0.0, 2.0).cpu_time_str
    '2.000us'
    """

    def __init__(self, id, name, thread, start_us, end_us, overload_name=None, fwd_thread=None, input_shapes=None, stack=None, scope=0, use_device=None,
                 cpu_memory_usage=0, device_memory_usage=0, is_async=False, is_remote=False, sequence_nr=-1, node_id=-1, device_type=DeviceType.CPU,
                 device_index=0, device_resource_id=None, is_legacy=False, flops=None, trace_name=None, concrete_inputs=None, kwinputs=None,
                 is_user_annotation=False, is_python_function=False, activity_type=None, metadata_json=None, flow_id=None, flow_type=None, flow_start=None,
                 external_id=0, linked_correlation_id=0, extra_meta=None, structured_input_shapes=None, structured_input_strides=None, input_dtypes=None,
                 python_id=-1, python_parent_id=-1, python_module_id=-1):  # fmt: skip
        given = dict(locals())
        for taken_apart in ("self", "start_us", "end_us", "metadata_json", "__class__"):
            given.pop(taken_apart, None)
        self.__dict__.update(given)
        self.overload_name, self.trace_name = overload_name or "", trace_name or name
        self.time_range = Interval(start_us, end_us)
        self.input_shapes, self.concrete_inputs, self.stack = input_shapes or [], concrete_inputs or [], stack or []
        self.kwinputs, self.input_dtypes = kwinputs or {}, input_dtypes or []
        self.structured_input_shapes, self.structured_input_strides = structured_input_shapes or [], structured_input_strides or []
        self.flops = flops or 0
        self.count, self.kernels = 1, []
        self.cpu_children, self.cpu_parent = [], None
        self._metadata_json = metadata_json or ""

    @property
    def key(self):
        """The keys that averages are taken over."""
        return self.name

    @property
    def metadata_json(self):
        """More facts, as text."""
        return self._metadata_json

    def append_kernel(self, name, device, duration):
        """Notes what ran on another device for it."""
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child):
        """Notes what ran within it."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent):
        """Notes what it ran within."""
        self.cpu_parent = parent

    @property
    def cpu_time_total(self):
        """Microseconds from its beginning to its end."""
        return self.time_range.elapsed_us() if self.device_type is DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self):
        """The same without what ran within it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self):
        """Bytes that it took itself, less those that it gave back."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def device_time_total(self):
        """Microseconds on a device other than the CPU."""
        return sum(kernel.duration for kernel in self.kernels)

    self_device_time_total = cuda_time_total = self_cuda_time_total = device_time_total

    @property
    def self_device_memory_usage(self):
        """Bytes of another device."""
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    self_cuda_memory_usage = self_device_memory_usage

    def __repr__(self):
        facts = f"id={self.id} name={self.name} thread={self.thread} start_us={self.time_range.start} end_us={self.time_range.end}"
        return f"<FunctionEvent {facts} cpu_children={[child.id for child in self.cpu_children]} input_shapes={self.input_shapes} seq_nr={self.sequence_nr}>"


class FunctionEventAvg(_Texts):
    """Sums over events of one key.

    >>> event = torch.autograd.profiler_util.FunctionEvent(1, "mine", 0, 0.0, 2.0)
    >>> torch.autograd.profiler_util.FunctionEventAvg().add(event).add(event).count
    2
    """

    _SUMS = ("cpu_time_total", "device_time_total", "self_cpu_time_total", "self_device_time_total", "cpu_memory_usage", "device_memory_usage",
             "self_cpu_memory_usage", "self_device_memory_usage", "count", "flops")  # fmt: skip
    _FACTS = ("key", "node_id", "is_async", "is_remote", "use_device", "scope", "device_type", "is_legacy", "is_user_annotation", "overload_name",
              "cpu_parent", "cpu_children", "stack")  # fmt: skip

    def __init__(self):
        self.__dict__.update(dict.fromkeys(self._FACTS), **dict.fromkeys(self._SUMS, 0), input_shapes=None)

    def add(self, other):
        """Adds an event, or the sums of another key; the first one gives the facts."""
        if self.key is None:
            for fact in self._FACTS:
                setattr(self, fact, getattr(other, fact))
            self.input_shapes = other.input_shapes
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError(f"FunctionEventAvg.add: expected an event, got {type(other).__name__}")
        for name in self._SUMS:
            setattr(self, name, getattr(self, name) + (getattr(other, name) or 0))
        return self

    def __iadd__(self, other):
        return self.add(other)

    def __repr__(self):
        times = f"self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str}"
        return f"<FunctionEventAvg key={self.key} {times} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"


class MemRecordsAcc:
    """Records of memory by their times; a record's time is `record.start_ns()`.

    >>> torch.autograd.profiler_util.MemRecordsAcc([]).in_interval(0, 1)
    []
    """

    def __init__(self, mem_records):
        self._records = sorted(mem_records, key=lambda pair: pair[0].start_ns())
        self._times = [pair[0].start_ns() for pair in self._records]

    def in_interval(self, start_ns, end_ns):
        """Those from `start_ns` to `end_ns`."""
        import bisect

        return self._records[bisect.bisect_left(self._times, start_ns) : bisect.bisect_right(self._times, end_ns)]


# ---- many -----------------------------------------------------------------------------------------------------------------

_METRICS = tuple(f"self_{kind}_time_total" for kind in ("cpu", "cuda", "xpu", "mtia", "privateuse1"))


class EventList(list):
    """Events of a recording in the order of their beginnings, or averages over them.

    >>> len(torch.autograd.profiler_util.EventList().key_averages())
    0
    """

    def __init__(self, *args, use_device=None, profile_memory=False, with_flops=False, **kwargs):
        super().__init__(*args, **kwargs)
        self._use_device, self._profile_memory, self._with_flops = use_device, profile_memory, with_flops

    def _like(self, events):
        return EventList(events, use_device=self._use_device, profile_memory=self._profile_memory, with_flops=self._with_flops)

    def __str__(self):
        return self.table()

    @property
    def self_cpu_time_total(self):
        """Microseconds of all of them, none counted twice."""
        return sum(event.self_cpu_time_total for event in self)

    def total_average(self):
        """The sums over all."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = None
        return total

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """Sums over the events of one name; apart by the shapes of inputs, the innermost frames, the overload, where asked for."""
        groups = {}
        for event in self:
            key = (event.key, event.node_id, event.device_type, event.is_legacy, event.is_user_annotation)
            key += (str(event.input_shapes) if group_by_input_shapes else "", event.overload_name if group_by_overload_name else "")
            key += tuple(event.stack[:group_by_stack_n])
            groups.setdefault(key, FunctionEventAvg()).add(event)
        for row in groups.values():
            row.stack = row.stack[:group_by_stack_n] if row.stack else []
            row.input_shapes = row.input_shapes if group_by_input_shapes else ""
            row.overload_name = row.overload_name if group_by_overload_name else ""
        return self._like(groups.values())

    def supported_export_stacks_metrics(self):
        """The metrics that `export_stacks` can write."""
        return list(_METRICS)

    def export_stacks(self, path, metric):
        """Writes stacks of frames with a number of microseconds each, as tools for flame graphs read them. ValueError for another metric."""
        if metric not in _METRICS:
            raise ValueError(f"metric should be one of: {list(_METRICS)}, got {metric!r}")
        field = metric if metric == "self_cpu_time_total" else "self_device_time_total"
        spaces = str.maketrans(" ;\t\n", "____")
        with open(path, "w") as file:
            for event in self:
                time = int(getattr(event, field))
                if event.stack and time > 0:
                    file.write(";".join(frame.translate(spaces) for frame in reversed(event.stack)) + f" {time}\n")

    def export_chrome_trace(self, path):
        """Writes the events in Chrome's trace format."""
        rows = [
            {"ph": "X", "cat": "user_annotation" if e.is_user_annotation else "cpu_op", "name": e.trace_name, "pid": "CPU functions",
             "tid": e.thread, "ts": e.time_range.start, "dur": e.time_range.elapsed_us(), "args": {}}
            for e in self
        ]  # fmt: skip
        with open(path, "w") as file:
            json.dump(rows, file)

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80, header=None,
              top_level_events_only=False, time_unit=None):  # fmt: skip
        """The rows as text: names, times, counts; memory, shapes, frames and operations where they were recorded.

        Args:
            sort_by: a field, largest first.
            row_limit: at most so many rows; -1: all.
            top_level_events_only: leaves out what ran within another event.
            time_unit: "s", "ms" or "us" for all times.
        """
        events = [e for e in self if not (top_level_events_only and e.cpu_parent is not None)]
        if sort_by is not None:
            sort_by = sort_by.replace("cuda", "device") if sort_by.endswith("time_total") or sort_by.endswith("memory_usage") else sort_by
            events.sort(key=lambda e: getattr(e, sort_by), reverse=True)
        return _Table(self, events, (max_name_column_width, max_shapes_column_width, max_src_column_width), time_unit).text(row_limit, header)


def _cut(text, width):
    return text if width is None or len(text) <= width else text[: width - 3] + "..."


class _Table:
    def __init__(self, whole, events, widths, unit):
        self.whole, self.events, self.widths, self.unit = whole, events, widths, unit
        self.total = whole.self_cpu_time_total
        self.flops, flops_header = _flops_scale(max((e.flops or 0 for e in whole), default=0))
        name_width, shapes_width, source_width = widths
        stacks = any(e.stack for e in events)
        overloads = any(e.overload_name for e in events) and all(isinstance(e, FunctionEventAvg) for e in events)
        shapes = any(e.input_shapes for e in events)
        self.columns = [("Name", lambda e: _cut(e.key, name_width), name_width)]
        if overloads:
            self.columns.append(("Overload Name", lambda e: e.overload_name, name_width))
        self.columns += [(title, value, None) for title, value in self._numbers(flops_header=None)]
        if shapes:
            self.columns.append(("Input Shapes", lambda e: _cut(str(e.input_shapes), shapes_width), shapes_width))
        if stacks:
            self.columns.append(("Source Location", lambda e: _cut(e.stack[0], source_width) if e.stack else "", source_width))
        if whole._with_flops:
            self.columns.append((flops_header, lambda e: f"{e.flops / self.flops:.3f}" if e.flops else "--", None))

    def _numbers(self, flops_header):
        def time(us):
            return _time_text(us, self.unit)

        yield "Self CPU %", lambda e: _share_text(e.self_cpu_time_total, self.total)
        yield "Self CPU", lambda e: time(e.self_cpu_time_total)
        yield "CPU total %", lambda e: _share_text(e.cpu_time_total, self.total)
        yield "CPU total", lambda e: time(e.cpu_time_total)
        yield "CPU time avg", lambda e: time(e.cpu_time)
        if self.whole._profile_memory:
            yield "CPU Mem", lambda e: _memory_text(e.cpu_memory_usage)
            yield "Self CPU Mem", lambda e: _memory_text(e.self_cpu_memory_usage)
        yield "# of Calls", lambda e: str(e.count)

    def text(self, row_limit, header):
        shown = self.events if row_limit < 0 else self.events[:row_limit]
        cells = [[value(e) for _, value, _ in self.columns] for e in shown]
        widths = []
        for place, (title, _, most) in enumerate(self.columns):
            longest = max([len(title), *(len(row[place]) for row in cells)])
            widths.append(max(12, longest) if most is None else min(longest + 4, most) if longest < most else longest)
        rule = "  ".join("-" * width for width in widths) + "  "
        lines = [rule]
        if header is not None:
            lines = ["=" * len(rule), header, rule]
        lines.append("".join(f"{title:>{width}}  " for (title, _, _), width in zip(self.columns, widths)))
        lines.append(rule)
        lines += ["".join(f"{cell:>{width}}  " for cell, width in zip(row, widths)) for row in cells]
        lines += [rule, f"Self CPU time total: {_time_text(self.total, self.unit)}", ""]
        return "\n".join(lines)
