"""torch.special: operators of the rows under their special names."""

from _cresset.functions import log_softmax as log_softmax, logsumexp as logsumexp, round as round, softmax as softmax
from _cresset.special import *
