"""torch.fft: operators of the rows under their fft names."""

from _cresset.fft import *
