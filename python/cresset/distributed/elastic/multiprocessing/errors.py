"""How a process of a job tells the one that started it why it failed."""

import functools
import json
import os
import time
import traceback

__all__ = ["ChildFailedError", "record"]


class ChildFailedError(Exception):
    """A process of a job failed."""


def record(fn, error_handler=None):
    """`fn`, whose error is written as JSON to the file that TORCHELASTIC_ERROR_FILE names, where it names one, and raised.

    >>> @torch.distributed.elastic.multiprocessing.errors.record
    ... def main():
    ...     return 3
    >>> main()
    3
    """

    @functools.wraps(fn)
    def recorded(*args, **kwargs):
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            path = os.environ.get("TORCHELASTIC_ERROR_FILE")
            if path:
                extra = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
                with open(path, "w") as file:
                    json.dump({"message": {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}}, file)
            raise

    return recorded
