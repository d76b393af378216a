"""The dispatcher in Python, by PyTorch's names."""
