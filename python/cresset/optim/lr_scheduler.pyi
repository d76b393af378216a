"""Schedules of the learning rate."""

from _cresset.lr_scheduler import *
