"""python -m cresset.utils.cpp_extension: precompiles the headers that C++ extensions begin with, so that the first one is built as fast as those that follow."""

import sys

from . import _precompiled

if __name__ == "__main__":
    found = _precompiled.prepare()
    print("precompiled:", ", ".join(f"<{header}>" for header in found) or "nothing: the compiler is not GCC, or there is no room for it")
    sys.exit(not found)
