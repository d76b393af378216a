"""Values logged by steps: values of the step, and their reductions over an epoch."""

import cresset as torch

_REDUCTIONS = ("mean", "sum", "min", "max")


def _number(name, value):
    if isinstance(value, torch.Tensor):
        if value.numel() != 1:
            raise ValueError(f"log: {name!r} is one number, got a tensor of shape {tuple(value.shape)}")
        return float(value.detach())
    if isinstance(value, (int, float)):
        return float(value)
    raise ValueError(f"log: {name!r} is a number or a tensor of one, got {type(value).__name__}")


class Metrics:
    """The values that one loop has logged since its epoch began. Sums are in double precision."""

    def __init__(self):
        self.entries = {}

    def add(self, name, value, on_step, on_epoch, prog_bar, logger, reduce_fx, weight):
        reduce_fx = getattr(reduce_fx, "__name__", reduce_fx)
        if reduce_fx not in _REDUCTIONS:
            raise ValueError(f"log: reduce_fx of {name!r} is one of {', '.join(_REDUCTIONS)}, got {reduce_fx!r}")
        flags = {"on_step": bool(on_step), "on_epoch": bool(on_epoch), "prog_bar": bool(prog_bar), "logger": bool(logger), "reduce_fx": reduce_fx}
        number = _number(name, value)
        entry = self.entries.get(name)
        if entry is None or any(entry[flag] != value for flag, value in flags.items()):
            if entry is not None and entry["on_epoch"] and entry["count"]:
                raise ValueError(f"log: {name!r} was logged before with other arguments")
            entry = self.entries[name] = {**flags, "count": 0, "weight": 0.0, "total": 0.0, "last": number}
        entry["last"] = number
        first = entry["count"] == 0
        entry["count"] += 1
        if reduce_fx == "mean":
            entry["total"] += number * weight
            entry["weight"] += weight
        elif reduce_fx == "sum":
            entry["total"] += number
        else:
            entry["total"] = number if first else (min if reduce_fx == "min" else max)(entry["total"], number)
        entry["fresh"] = True

    @staticmethod
    def _reduced(entry):
        return entry["total"] / entry["weight"] if entry["reduce_fx"] == "mean" and entry["weight"] else entry["total"]

    def of_step(self):
        """(for the loggers, for the progress bar, for callbacks) of values that were logged in this step."""
        return self._chosen("on_step", "_step", lambda entry: entry["last"], lambda entry: entry.get("fresh"))

    def of_epoch(self):
        """The same of the reductions over the epoch."""
        return self._chosen("on_epoch", "_epoch", self._reduced, lambda entry: entry["count"])

    def _chosen(self, flag, suffix, value_of, counts):
        logged, shown, seen = {}, {}, {}
        for name, entry in self.entries.items():
            if not entry[flag] or not counts(entry):
                continue
            full = name + suffix if entry["on_step"] and entry["on_epoch"] else name
            value = value_of(entry)
            seen[full] = seen[name] = value
            if entry["logger"]:
                logged[full] = value
            if entry["prog_bar"]:
                shown[full] = value
        return logged, shown, seen

    def end_step(self):
        for entry in self.entries.values():
            entry["fresh"] = False

    def clear(self):
        self.entries.clear()

    def state_dict(self):
        return {name: dict(entry) for name, entry in self.entries.items()}

    def load_state_dict(self, state):
        self.entries = {name: dict(entry) for name, entry in state.items()}
