"""The last calls of a group, and where ranks first did different things.

Every group keeps its last 256 calls (TORCH_FR_BUFFER_SIZE says otherwise). `dump` writes them to a file for each rank; `analyse` reads the files:

    python -m cresset.distributed.flight_recorder folder/rank_*.json
"""

import json
import sys

import _cresset_dist

from . import _groups

__all__ = ["analyse", "dump", "main", "records"]


def records(group=None):
    """The last calls of a group, oldest first, as dicts: sequence, operation, state, dtype, sizes and times in nanoseconds.

    >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore()) if not dist.is_initialized() else None
    >>> from cresset.distributed.flight_recorder import records
    >>> t = torch.ones(2); dist.all_reduce(t); [records()[-1][key] for key in ("operation", "state", "sizes")]
    ['all_reduce', 'completed', [2]]
    """
    return _cresset_dist.records(_groups._resolve(group)._impl)


def dump(path, group=None):
    """Writes a rank's last calls to a file, also after an error.

    >>> import os, tempfile
    >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore()) if not dist.is_initialized() else None
    >>> from cresset.distributed.flight_recorder import analyse, dump
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dist.barrier(); dump(os.path.join(folder, "a.json")); analyse([os.path.join(folder, "a.json")])
    'all ranks made the same calls'
    """
    g = _groups._resolve(group)
    with open(path, "w") as file:
        json.dump({"rank": g.rank(), "size": g.size(), "group": g.group_name, "records": records(group)}, file)


def _said(record):
    return f"{record['operation']} of {record['dtype']} with shape {record['sizes']}" if record["operation"] != "barrier" else "barrier"


def analyse(paths):
    """The first call in which ranks differ, or that some have not made or ended, from the files of several ranks, as text.

    >>> from cresset.distributed.flight_recorder import analyse
    >>> analyse([])
    'all ranks made the same calls'
    """
    ranks = {}
    for path in paths:
        with open(path) as file:
            content = json.load(file)
        ranks[content["rank"]] = {record["sequence"]: record for record in content["records"]}
    first = max((min(calls) for calls in ranks.values() if calls), default=1)
    last = max((max(calls) for calls in ranks.values() if calls), default=0)
    for number in range(first, last + 1):
        calls = {rank: calls.get(number) for rank, calls in sorted(ranks.items())}
        absent = [rank for rank, record in calls.items() if record is None]
        said = {}
        for rank, record in calls.items():
            if record is not None:
                said.setdefault(_said(record), []).append(rank)
        if len(said) > 1:
            return f"call {number}: " + "; ".join(f"ranks {', '.join(map(str, who))}: {what}" for what, who in said.items())
        if absent:
            return f"call {number}: {next(iter(said))} was not made by ranks {', '.join(map(str, absent))}"
        late = [rank for rank, record in calls.items() if record["state"] != "completed"]
        if late:
            return f"call {number}: {next(iter(said))} has not ended on ranks {', '.join(map(str, late))}"
    return "all ranks made the same calls"


def main(arguments=None):
    """The command: prints what `analyse` finds in the files.

    >>> from cresset.distributed.flight_recorder import main
    >>> main([])
    all ranks made the same calls
    """
    print(analyse(sys.argv[1:] if arguments is None else arguments))


if __name__ == "__main__":
    main()
