"""The error of checkpoints."""

import traceback

__all__ = ["CheckpointException"]


class CheckpointException(BaseException):
    """Some ranks failed while a checkpoint was saved or loaded. `failures` has (error, trace) by rank; all ranks raise this."""

    def __init__(self, msg, failures):
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self):
        """(error, trace) by rank."""
        return self._failures

    def __str__(self):
        lines = [f"{self.args[0]}: ranks {', '.join(map(str, sorted(self._failures)))} failed"]
        for rank, (error, trace) in sorted(self._failures.items()):
            lines.append(f"rank {rank}: {type(error).__name__}: {error}")
            lines += [line.rstrip() for line in traceback.format_list(trace or [])]
        return "\n".join(lines)
