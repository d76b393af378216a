"""Invertible functions of tensors with the determinants of their derivatives."""

from _cresset.transforms import *
from _cresset.transforms import ComposeTransform

identity_transform: ComposeTransform
