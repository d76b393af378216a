"""`torch._refs.nn.functional`: the functions of `torch.nn.functional`.

>>> torch._refs.nn.functional.relu(torch.tensor([-1.0, 1.0]))
tensor([0., 1.])
"""


def __getattr__(name):
    if name == "functional":
        from cresset.nn import functional

        return functional
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
