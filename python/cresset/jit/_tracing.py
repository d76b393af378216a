"""The trace that is being written."""

tracer = None  # of `_trace`; None where nothing is traced
