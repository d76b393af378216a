"""Steps on exported programs that may change: forward and backward in one graph.

>>> class Loss(nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.weight = nn.Parameter(torch.ones(2))
...     def forward(self, x):
...         return (x * self.weight).sum()
>>> joint = torch.export.experimental._export_forward_backward(torch.export.export(Loss(), (torch.ones(2),)))
>>> list(joint.graph_signature.backward_signature.gradients_to_parameters.values())
['weight']
"""

from .._joint import with_backward


def _export_forward_backward(ep, joint_loss_index=0):
    """As `with_backward`: the program with the gradients of one of its results."""
    return with_backward(ep, joint_loss_index)
