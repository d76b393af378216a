"""One model on several devices, or in several processes."""

from _cresset.nn_parallel import *
