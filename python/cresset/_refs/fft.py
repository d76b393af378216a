"""`torch._refs.fft`: the functions of `torch.fft`.

>>> torch._refs.fft.fft(torch.ones(1))
tensor([1.+0.j])
"""


def __getattr__(name):
    from cresset import fft

    return getattr(fft, name)
