"""Steps on exported programs that may change: forward and backward in one graph."""

from .._joint import with_backward


def _export_forward_backward(ep, joint_loss_index=0):
    """As `with_backward`: the program with the gradients of one of its results."""
    return with_backward(ep, joint_loss_index)
