"""The kinds of rendezvous that are there."""

from .api import RendezvousParameters, rendezvous_handler_registry

__all__ = ["get_rendezvous_handler"]


def _static(params: RendezvousParameters):
    from .static_tcp_rendezvous import create_rdzv_handler

    return create_rdzv_handler(params)


def _c10d(params: RendezvousParameters):
    from .c10d_rendezvous_backend import create_rdzv_handler

    return create_rdzv_handler(params)


def _etcd(params: RendezvousParameters):
    from .etcd_rendezvous import create_rdzv_handler

    return create_rdzv_handler(params)


def _register_default_handlers():
    rendezvous_handler_registry.register("static", _static)
    rendezvous_handler_registry.register("c10d", _c10d)
    rendezvous_handler_registry.register("etcd", _etcd)
    rendezvous_handler_registry.register("etcd-v2", _etcd)


def get_rendezvous_handler(params):
    """A handler for parameters.

    >>> from cresset.distributed.elastic.rendezvous import RendezvousParameters
    >>> from cresset.distributed.elastic.rendezvous.registry import get_rendezvous_handler
    >>> get_rendezvous_handler(RendezvousParameters("c10d", "localhost:0", "job", 1, 1, is_host=True)).get_backend()
    'c10d'
    """
    return rendezvous_handler_registry.create_handler(params)
