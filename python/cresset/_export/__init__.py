"""The part of PyTorch's `torch._export` that programs import: the way from TorchScript to exported programs."""
