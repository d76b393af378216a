"""`torch._refs.linalg`: the functions of `torch.linalg`.

>>> torch._refs.linalg.vector_norm(torch.tensor([3.0, 4.0]))
tensor(5.)
"""


def __getattr__(name):
    from cresset import linalg

    return getattr(linalg, name)
