"""The older launcher: `torch.distributed.run`, which may hand the local rank to scripts as an argument.

python -m cresset.distributed.launch --nproc-per-node 2 --use-env train.py
"""

from cresset.distributed.run import get_args_parser, run

__all__ = ["launch", "main", "parse_args"]


def parse_args(args=None):
    """Arguments of the command line.

    >>> from cresset.distributed.launch import parse_args
    >>> parse_args(["--use-env", "a.py"]).use_env
    True
    """
    parser = get_args_parser()
    parser.add_argument("--use-env", "--use_env", action="store_true", help="scripts read LOCAL_RANK; else they get --local-rank")
    return parser.parse_args(args)


def launch(args):
    """Runs the job of parsed arguments.

    >>> from cresset.distributed.launch import launch, parse_args
    >>> launch(parse_args(["--use-env", "--no-python", "--master-port=0", "true"]))
    """
    run(args)


def main(args=None):
    """The command.

    >>> from cresset.distributed.launch import main
    >>> callable(main)
    True
    """
    launch(parse_args(args))


if __name__ == "__main__":
    main()
