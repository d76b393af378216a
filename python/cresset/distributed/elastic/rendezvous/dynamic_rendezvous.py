"""The name under which older programs find the rendezvous with nodes that come and go."""

from .c10d_rendezvous_backend import C10dRendezvousHandler as DynamicRendezvousHandler, create_rdzv_handler as create_handler  # noqa: F401

__all__ = ["DynamicRendezvousHandler", "create_handler"]
