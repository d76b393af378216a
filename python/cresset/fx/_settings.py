"""Facts that several modules of the tracer need."""

import os

_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MODULE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "nn", "modules", "module.py")


def is_own_file(path):
    """Whether a file belongs to the tracer, so that traces for the user leave its lines out."""
    return path.startswith(_FOLDER) or path == _MODULE
