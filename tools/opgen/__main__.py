"""python3 -m opgen generate|units|stubs|formulas|formula_units, run with tools/ on the path."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .emit_files import all_files, unit_names, write
from .emit_stubs import stubs
from .formulas import formula_files
from .load import load
from .model import RowError


def main() -> int:
    parser = argparse.ArgumentParser(prog="opgen", description="Derives everything mechanical from ops/*.toml.")
    parser.add_argument("command", choices=("generate", "units", "stubs", "formulas", "formula_units"))
    parser.add_argument("--rows", type=Path, default=Path("ops"), help="folder of the row files")
    parser.add_argument("--out", type=Path, help="folder to write (generate, stubs)")
    parser.add_argument("--package", type=Path, default=Path("python/cresset"), help="the Python package, whose own functions go before those of rows")
    options = parser.parse_args()
    try:
        if options.command.startswith("formula"):
            files = formula_files(options.rows)
            if options.command == "formulas":
                write(files, options.out)
            else:
                print(";".join(name for name in files if name.endswith(".cpp")))
            return 0
        rows = load(list(options.rows.glob("*.toml")))
        if options.command == "generate":
            write(all_files(rows), options.out)
        elif options.command == "stubs":
            write(stubs(rows, options.package), options.out)
        else:
            print(";".join(unit_names(rows)))
    except RowError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
