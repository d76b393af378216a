#!/usr/bin/env python3
"""Writes the aliases of operators, a row of C++ each, {"clip", "clamp"}: the names under which TorchScript knows them, too.

tools/op_aliases.py schemas.json op_aliases.inc
"""

import json
import sys
from pathlib import Path


def rows(operators: list[dict]) -> dict[str, str]:
    """Alias -> operator. Forms that write into an argument have the name of the operator itself, as overloads."""
    return {alias: operator["name"] for operator in operators if operator["form"] != "out" for alias in operator["aliases"]}


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(f'{{"{alias}", "{name}"}},\n' for alias, name in sorted(rows(json.loads(source.read_text())).items())))
