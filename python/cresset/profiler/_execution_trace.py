"""Execution traces: files with every call, the identities, sizes and types of its inputs and outputs."""

import os
import tempfile


class ExecutionTraceObserver:
    """Writes an execution trace to the file that `register_callback` names, of what runs between `start` and `stop`.

    >>> observer = torch.profiler.ExecutionTraceObserver()
    >>> observer.is_registered, observer.is_running()
    (False, False)
    """

    def __init__(self):
        self._trace = self._path = None
        self.extra_resources_collection = False

    def __del__(self):
        self.unregister_callback()

    @staticmethod
    def build_execution_trace_obs_from_env():
        """One that writes to a temporary file where ENABLE_PYTORCH_EXECUTION_TRACE is 1; else None."""
        if os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE", "0") != "1":
            return None
        descriptor, path = tempfile.mkstemp(suffix=".et.json")
        os.close(descriptor)
        return ExecutionTraceObserver().register_callback(path)

    def set_extra_resource_collection(self, val):
        """Whether files beside the trace are kept, which the compiler makes. Errors: RuntimeError: there are none."""
        if val:
            raise RuntimeError("ExecutionTraceObserver: there are no files beside the trace to keep")

    @staticmethod
    def get_resources_dir_for_et_path(trace_path, create_dir=False):
        """The folder beside a trace; None where it is not there and not to be made."""
        folder = os.path.splitext(trace_path)[0] + "_resources"
        if create_dir:
            os.makedirs(folder, exist_ok=True)
        return folder if os.path.isdir(folder) else None

    def get_resources_dir(self, can_create=False):
        """The folder beside the trace of this object, where there is one."""
        return self.get_resources_dir_for_et_path(self._path, can_create) if self._path else None

    @property
    def is_registered(self):
        """Whether it has a file."""
        return self._trace is not None

    def is_running(self):
        """Whether it observes."""
        return self._trace is not None and self._trace.is_running()

    def register_callback(self, output_file_path):
        """Names the file; gives the object. A trace of the file that it had is written first."""
        from ..autograd._recording import native

        if self._path != str(output_file_path):
            self.unregister_callback()
            self._path = str(output_file_path)
            self._trace = native().ExecutionTrace(self._path)
        return self

    def start(self):
        """Observes this thread from now on."""
        if self._trace is not None:
            self._trace.start()

    def stop(self):
        """Observes no more, and writes what there is to the file; may be started again."""
        if self.is_running():
            self._trace.stop()
            self._trace.write()

    def unregister_callback(self):
        """Ends observing and writes the file."""
        if self._trace is not None:
            trace, self._trace, self._path = self._trace, None, None
            trace.stop()
            trace.write()

    def cleanup(self):
        """The same."""
        self.unregister_callback()

    def get_output_file_path(self):
        """The file; None before it is named."""
        return self._path
