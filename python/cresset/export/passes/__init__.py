"""Passes over exported programs."""

import cresset as torch

__all__ = ["move_to_device_pass"]


def move_to_device_pass(ep, location):
    """The program with its weights, constants and the devices that its graph names moved.

    Args:
        ep: the program, which is changed.
        location: a device, or a dictionary from devices to devices.

    >>> program = torch.export.export(nn.ReLU(), (torch.ones(2),))
    >>> torch.export.passes.move_to_device_pass(program, "cpu").graph_signature.user_inputs
    ('input',)
    """
    moves = {str(k): str(v) for k, v in location.items()} if isinstance(location, dict) else None

    def target(device):
        return torch.device(location) if moves is None else torch.device(moves.get(str(device), device))

    def moved(tensor):
        out = tensor.to(target(tensor.device))
        return torch.nn.Parameter(out, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) and out is not tensor else out

    for held in (ep.state_dict, ep.constants):
        held.update({path: moved(tensor) for path, tensor in held.items()})
    for node in ep.graph.nodes:
        if isinstance(node.kwargs.get("device"), (torch.device, str)):
            node.kwargs = {**node.kwargs, "device": target(torch.device(node.kwargs["device"]))}
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and target(value.device) != value.device:
            node.meta["val"] = value.to(target(value.device))
    ep.graph_module.recompile()
    ep.validate()
    return ep
