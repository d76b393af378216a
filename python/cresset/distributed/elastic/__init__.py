"""Jobs of processes that begin together, begin again after failures, and meet anew when machines come or go."""

_SUBMODULES = ...  # all that have a file
