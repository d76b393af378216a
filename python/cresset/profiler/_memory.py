"""Memory over time, from the records of a profile."""

import collections
import gzip
import html
import json

KINDS = ("unknown", "parameter", "optimizer state", "input", "temporary", "activation", "gradient", "autograd detail")
_COLORS = ("#9e9e9e", "#1b5e20", "#f9a825", "#212121", "#7e57c2", "#c62828", "#1565c0", "#00838f")


def _kind_of(event, freed, events):
    """The purpose of a block, from where it was taken and when it was given back."""
    owner = events[event] if event >= 0 else None
    while owner is not None:
        name, end = owner[0], owner[4]
        if name.startswith("Optimizer."):
            return "temporary" if freed is not None and freed <= end else "optimizer state"
        if name.startswith("autograd::engine::evaluate_function"):
            return "gradient" if freed is None or freed > end else "autograd detail"
        if freed is not None and freed <= end and owner[2] == 0:
            return "temporary"
        owner = events[owner[5]] if owner[5] >= 0 else None
    return "activation" if event >= 0 else "unknown"


def _changes(recording, device):
    """(time, bytes, address, event, events of its thread) in order of time."""
    changes = []
    for events, records in zip(recording.trace.threads(), recording.trace.memory()):
        changes += [(time, nbytes, address, event, events) for _, time, nbytes, _, address, where, event in records if where.startswith(device)]
    return sorted(changes, key=lambda change: change[0])


def timeline(recording, device):
    """(times in nanoseconds, bytes of each of `KINDS` at these times) on a device, "cpu" for instance."""
    changes = _changes(recording, device)
    freed, kinds, open_blocks = {}, {}, {}
    for place, (time, nbytes, address, *_) in enumerate(changes):
        if nbytes > 0:
            open_blocks[address] = place
        elif address in open_blocks:
            freed[open_blocks.pop(address)] = time
    held, now, times, rows = {}, [0] * len(KINDS), [], []
    for place, (time, nbytes, address, event, events) in enumerate(changes):
        if nbytes > 0:
            kinds[place] = KINDS.index(_kind_of(event, freed.get(place), events))
            held[address] = kinds[place]
        kind = held.pop(address, 0) if nbytes < 0 else held[address]
        now[kind] += nbytes
        times.append(time)
        rows.append(list(now))
    return times, rows


_PAGE = """<!doctype html>
<meta charset="utf-8"><title>Memory over time</title>
<style>body{{font:14px sans-serif;margin:2em}} svg{{background:#fff;border:1px solid #ccc}} span{{display:inline-block;margin-right:1em}}
i{{display:inline-block;width:1em;height:1em;margin-right:.3em;vertical-align:-2px}}</style>
<h1>Memory over time</h1><p>{title}</p><svg viewBox="0 0 1000 400" width="100%" preserveAspectRatio="none">{areas}</svg>
<p>0 to {length:.3f} ms, largest {most}</p><p>{legend}</p>
"""


def _page(times, rows, device):
    """A page that draws the kinds upon one another."""
    from ..autograd.profiler_util import _memory_text

    low = min((min(row) for row in rows), default=0)
    most = max((sum(max(v, 0) for v in row) for row in rows), default=0) or 1
    start, length = (times[0], max(times[-1] - times[0], 1)) if times else (0, 1)
    areas = []
    for kind, color in enumerate(_COLORS):
        upper, lower, before = [], [], None
        for time, row in zip(times, rows):
            x = 1000 * (time - start) / length
            below, above = sum(max(v, 0) for v in row[:kind]), sum(max(v, 0) for v in row[: kind + 1])
            points = [400 - 400 * above / most, 400 - 400 * below / most]
            if before is not None:
                upper.append(f"{x:.2f},{before[0]:.2f}")
                lower.append(f"{x:.2f},{before[1]:.2f}")
            upper.append(f"{x:.2f},{points[0]:.2f}")
            lower.append(f"{x:.2f},{points[1]:.2f}")
            before = points
        areas.append(f'<polygon fill="{color}" points="{" ".join([*upper, *reversed(lower)])}"><title>{KINDS[kind]}</title></polygon>')
    legend = "".join(f'<span><i style="background:{color}"></i>{name}</span>' for name, color in zip(KINDS, _COLORS))
    title = f"Device {device}; {len(times)} changes" + ("; memory that was taken before counts as negative" if low < 0 else "")
    return _PAGE.format(title=title, areas="".join(areas), length=length / 1e6, most=_memory_text(most), legend=legend)


def write_timeline(recording, path, device):
    """Writes the page or the JSON; see `profile.export_memory_timeline`."""
    times, rows = timeline(recording, device)
    if path.endswith(".html"):
        text = _page(times, rows, device)
    else:
        text = json.dumps([[time / 1000 for time in times], rows])
    with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w") as file:
        file.write(text)


# ---- the blocks that are held at a moment -------------------------------------------------------------------------------------


def blocks(recording, device):
    """The blocks that were taken: dicts of `taken` and `freed` in nanoseconds (None: it was not), `bytes`, `kind`, `within`: the names around it, outermost
    first, and `stack`: lines of the program, innermost first, where they are recorded."""
    found, held = [], {}
    for time, nbytes, address, event, events in _changes(recording, device):
        if nbytes < 0:
            if address in held:
                held.pop(address)["freed"] = time
            continue
        within, stack, at = [], [], event
        while at >= 0:
            within.append(events[at][0])
            stack = stack or list(events[at][13])
            at = events[at][5]
        held[address] = {"taken": time, "freed": None, "bytes": nbytes, "within": within[::-1], "stack": stack, "event": event, "events": events}
        found.append(held[address])
    for block in found:
        block["kind"] = _kind_of(block.pop("event"), block["freed"], block.pop("events"))
    return found


def snapshot(recording, device):
    """{moment: the blocks that are held then}: "at the largest" sum of them, and "at the end"."""
    found = blocks(recording, device)
    now, most, when = 0, 0, 0
    steps = sorted([(b["taken"], b["bytes"]) for b in found] + [(b["freed"], -b["bytes"]) for b in found if b["freed"] is not None])
    for time, change in steps:
        now += change
        if now > most:
            most, when = now, time
    return {
        "at the largest": [b for b in found if b["taken"] <= when and (b["freed"] is None or b["freed"] > when)],
        "at the end": [b for b in found if b["freed"] is None],
    }


_SNAPSHOT = """<!doctype html>
<meta charset="utf-8"><title>Memory that is held</title>
<style>body{{font:14px sans-serif;margin:2em}} td{{padding:.2em .8em;vertical-align:top;border-top:1px solid #ddd}} pre{{margin:0}}
i{{display:inline-block;height:.8em;margin-right:.4em}}</style>
<h1>Memory that is held</h1><p>Device {device}; blocks that were taken while the profile ran.</p>{parts}
"""


def _table(moment, held):
    from ..autograd.profiler_util import _memory_text

    groups = collections.defaultdict(lambda: [0, 0])
    for block in held:
        group = groups[block["kind"], tuple(block["within"]), tuple(block["stack"])]
        group[0] += block["bytes"]
        group[1] += 1
    total = sum(nbytes for nbytes, _ in groups.values())
    rows = []
    for (kind, within, stack), (nbytes, count) in sorted(groups.items(), key=lambda item: -item[1][0]):
        bar = f'<i style="background:{_COLORS[KINDS.index(kind)]};width:{120 * nbytes / total:.0f}px"></i>'
        lines = f"<pre>{html.escape(chr(10).join(stack))}</pre>" if stack else ""
        where = " › ".join(within) if within else "no operator"
        rows.append(f"<tr><td>{bar}{_memory_text(nbytes)}<td>{count}<td>{kind}<td>{html.escape(where)}{lines}")
    return f"<h2>{moment}: {_memory_text(total)}</h2><table><tr><th>bytes<th>blocks<th>kind<th>taken within{''.join(rows)}</table>"


def write_snapshot(recording, path, device):
    """Writes the page or the JSON; see `profile.export_memory_snapshot`."""
    moments = snapshot(recording, device)
    if path.endswith(".html"):
        text = _SNAPSHOT.format(device=html.escape(device), parts="".join(_table(moment, held) for moment, held in moments.items()))
    else:
        text = json.dumps(moments)
    with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w") as file:
        file.write(text)
