"""python -m cresset: runs an unmodified PyTorch program on Cresset, or tells what was built."""

import sys

USAGE = """\
usage: python -m cresset SCRIPT [ARGUMENT...]     run a PyTorch script with `torch` bound to Cresset
       python -m cresset -m MODULE [ARGUMENT...]  the same for a module
       python -m cresset -c CODE [ARGUMENT...]    the same for a line of code
       python -m cresset --info                   version, build, instruction set, threads, providers
       python -m cresset --absent                 which wings of PyTorch are not there yet
       python -m cresset --version
       python -m cresset --help
"""


def info():
    import platform

    import _cresset
    import cresset

    built = _cresset.build_info()
    rows = {
        "cresset": f"{built['version']} ({_cresset.__file__})",
        "build": f"{built['compiler']}, Python {platform.python_version()}",
        "ISA": built["isa"],
        "threads": cresset.get_num_threads(),
        "operators": f"{len({row[0] for row in _cresset.operators()})} names",
        "oneDNN": "in use" if built["onednn"] else "not found, or CRESSET_ONEDNN=0: own kernels do its work",
        "LAPACK": "in use" if _cresset._lapack_found() else "not found, or CRESSET_LAPACK=0: linalg needs it (apt-get install libopenblas0)",
        "images": "in use"
        if _cresset._image_codecs_found()
        else "not found, or CRESSET_IMAGE=0: vision.io needs libjpeg and libpng (apt-get install libjpeg62-turbo libpng16-16)",
    }
    return "".join(f"{name + ':':<11}{value}\n" for name, value in rows.items())


def main():
    arguments = sys.argv[1:]
    first = arguments[0] if arguments else "--help"
    if first in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if arguments else 2
    if first == "--info":
        print(info(), end="")
        return 0
    if first == "--absent":
        from cresset._core import absent as _absent

        print(_absent.table(), end="")
        return 0
    if first == "--version":
        import _cresset

        print(_cresset.__version__)
        return 0
    from cresset import compat

    if first in ("-m", "-c"):
        if len(arguments) < 2:
            print(f"cresset: {first} expects {'a module' if first == '-m' else 'code'}\n{USAGE}", end="", file=sys.stderr)
            return 2
        compat.run(first[1], arguments[1], arguments[2:])
    elif first.startswith("-"):
        print(f"cresset: unknown option {first}\n{USAGE}", end="", file=sys.stderr)
        return 2
    else:
        compat.run("script", first, arguments[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
