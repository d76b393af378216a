"""The context of rules for fake tensors, where PyTorch has it."""

from .operators import FakeContext as FakeImplCtx  # noqa: F401
