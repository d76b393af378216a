"""All parameters as one vector, and back."""

import cresset as torch


def _checked_device(param, device):
    if device is not None and param.device != device:
        raise TypeError(f"parameters lie on different devices, {device} and {param.device}, which is not supported")
    return param.device


def parameters_to_vector(parameters):
    """The elements of parameters, one after the other. TypeError for parameters on several devices.

    >>> nn.utils.parameters_to_vector([torch.ones(1, 2), torch.zeros(1)]).tolist()
    [1.0, 1.0, 0.0]
    """
    device, parts = None, []
    for param in parameters:
        device = _checked_device(param, device)
        parts.append(param.reshape(-1))
    return torch.cat(parts)


def vector_to_parameters(vec, parameters):
    """Make slices of a vector the memory of parameters. TypeError for what is no tensor.

    >>> layer = nn.Linear(1, 1)
    >>> nn.utils.vector_to_parameters(torch.tensor([2.0, 3.0]), layer.parameters())
    >>> layer.weight.item(), layer.bias.item()
    (2.0, 3.0)
    """
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected vec to be a tensor, got {type(vec).__name__}")
    device, start = None, 0
    for param in parameters:
        device = _checked_device(param, device)
        param.data = vec[start : start + param.numel()].view(param.shape).data
        start += param.numel()
