"""The kinds of transport."""

import enum

__all__ = ["BackendType"]


class BackendType(enum.Enum):
    """TENSORPIPE is the name under which programs ask for the transport that is here.

    >>> from cresset.distributed.rpc import BackendType
    >>> BackendType.TENSORPIPE.name
    'TENSORPIPE'
    """

    TENSORPIPE = 0
