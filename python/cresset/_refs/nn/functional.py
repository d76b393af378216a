"""`torch._refs.nn.functional`: the functions of `torch.nn.functional`.

>>> torch._refs.nn.functional.relu(torch.tensor([-1.0, 1.0]))
tensor([0., 1.])
"""


def __getattr__(name):
    from cresset.nn import functional

    return getattr(functional, name)
