"""The command: python -m cresset.utils.bottleneck script.py arguments."""

import argparse
import sys

from . import report


def main():
    """Reads the command line and prints the report."""
    parser = argparse.ArgumentParser(prog="python -m cresset.utils.bottleneck", description="Says where a script spends its time.")
    parser.add_argument("--rows", type=int, default=15, help="of each table (15)")
    parser.add_argument("script", help="the file to run, twice")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the script")
    given = parser.parse_args()
    try:
        print(report(given.script, given.arguments, given.rows))
    except FileNotFoundError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
