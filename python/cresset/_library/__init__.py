"""The parts of `torch.library`, under the names by which libraries import them from PyTorch's private package."""
