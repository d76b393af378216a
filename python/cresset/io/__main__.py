"""`python -m cresset.io inspect FILE...`: what files hold, without loading them."""

import argparse
import json
import pickle
import sys

from .inspect import inspect, report
from .safetensors import SafetensorError


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m cresset.io", description="Look at files of tensors.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "inspect",
        help="list what files hold, without loading them",
        description="Lists names, dtypes, shapes, bytes and facts of checkpoints (.pt, .pth; also the formats before zip archives and TorchScript archives), "
        "safetensors files and indices, .npy, .npz and GGUF files. Nothing in a file is run, and no tensor is read.",
    )
    command.add_argument("files", metavar="FILE", nargs="+")
    command.add_argument("--json", action="store_true", help="one JSON object a file, a line each")
    options = parser.parse_args(arguments)
    failed = False
    for path in options.files:
        try:
            content = inspect(path)
            print(json.dumps(content) if options.json else "\n".join(report(content)))
        except BrokenPipeError:
            return 1
        except OSError as error:
            print(f"error: {path}: {error.strerror}", file=sys.stderr)
            failed = True
        except (RuntimeError, SafetensorError, pickle.UnpicklingError, ValueError) as error:
            print(f"error: {error}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
