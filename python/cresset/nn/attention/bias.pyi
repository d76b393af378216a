"""Causal masks that attention recognises."""

import enum

from _cresset import Tensor, _int

class CausalVariant(enum.IntEnum):
    UPPER_LEFT = 1
    LOWER_RIGHT = 2

class CausalBias(Tensor):
    variant: CausalVariant
    seq_len_q: _int
    seq_len_kv: _int
    def __init__(self, variant: CausalVariant, seq_len_q: _int, seq_len_kv: _int) -> None: ...

def causal_upper_left(*size: _int) -> CausalBias: ...
def causal_lower_right(*size: _int) -> CausalBias: ...
