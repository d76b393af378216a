"""Names of PyTorch's private module about the processor."""


def _get_cpu_capability():
    """The answer of `torch.cpu.get_capabilities`."""
    from ..cpu import get_capabilities

    return get_capabilities()
