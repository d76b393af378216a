"""Whether there is Triton for compiled code to use: Cresset uses none."""


def has_triton_package():
    return False


def has_triton():
    return False
