"""Questions of libraries about tensors."""


def is_contiguous(a):
    return a.is_contiguous()


is_contiguous_or_false = is_contiguous
