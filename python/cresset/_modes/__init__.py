"""Modes that see operators below autograd, under PyTorch's names: their stack, and what stands between our rows and those names."""
