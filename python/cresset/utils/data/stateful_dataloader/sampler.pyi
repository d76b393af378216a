"""Samplers that a loader finds its place in again."""

from cresset.utils.data import BatchSampler as BatchSampler
from cresset.utils.data import RandomSampler as RandomSampler
