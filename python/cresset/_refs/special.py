"""`torch._refs.special`: the functions of `torch.special`.

>>> torch._refs.special.i0e(torch.zeros(1))
tensor([1.])
"""


def __getattr__(name):
    from cresset import special

    return getattr(special, name)
