"""Attention whose scores and mask are functions."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypedDict

from _cresset import Tensor, _bool, _Device, _float, _int, _str

_Mask: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
_Score: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]

class FlexKernelOptions(TypedDict, total=False):
    num_warps: _int
    num_stages: _int
    BLOCK_M: _int
    BLOCK_N: _int
    BLOCK_M1: _int
    BLOCK_N1: _int
    BLOCK_M2: _int
    BLOCK_N2: _int
    PRESCALE_QK: _bool
    ROWS_GUARANTEED_SAFE: _bool
    BLOCKS_ARE_CONTIGUOUS: _bool
    WRITE_DQ: _bool
    FORCE_USE_FLEX_ATTENTION: _bool
    USE_TMA: _bool
    kpack: _int
    matrix_instr_nonkdim: _int
    waves_per_eu: _int
    BACKEND: _str

class AuxRequest(NamedTuple):
    lse: _bool = False
    max_scores: _bool = False

class AuxOutput(NamedTuple):
    lse: Tensor | None = None
    max_scores: Tensor | None = None

class BlockMask:
    seq_lengths: tuple[_int, _int]
    kv_num_blocks: Tensor
    kv_indices: Tensor
    full_kv_num_blocks: Tensor | None
    full_kv_indices: Tensor | None
    q_num_blocks: Tensor | None
    q_indices: Tensor | None
    full_q_num_blocks: Tensor | None
    full_q_indices: Tensor | None
    dq_write_order: Tensor | None
    dq_write_order_full: Tensor | None
    dq_kv_order: Tensor | None
    dq_kv_order_spt: _bool | None
    BLOCK_SIZE: tuple[_int, _int]
    mask_mod: _Mask
    def __init__(
        self,
        seq_lengths: tuple[_int, _int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[_int, _int] = (128, 128),
        mask_mod: _Mask = ...,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | None = None,
        dq_kv_order_spt: _bool | None = None,
    ) -> None: ...
    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: _int | tuple[_int, _int] = 128,
        mask_mod: _Mask | None = None,
        seq_lengths: tuple[_int, _int] | None = None,
        compute_q_blocks: _bool = True,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | None = None,
    ) -> BlockMask: ...
    def as_tuple(self, flatten: _bool = True) -> tuple[Any, ...]: ...
    @property
    def shape(self) -> tuple[_int, ...]: ...
    def numel(self) -> _int: ...
    def sparsity(self) -> _float: ...
    def to_dense(self) -> Tensor: ...
    def to(self, device: _Device) -> BlockMask: ...
    def to_string(self, grid_size: _int | tuple[_int, _int] = (20, 20), limit: _int = 4) -> _str: ...
    def __getitem__(self, index: Any) -> BlockMask: ...

def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor: ...
def or_masks(*mask_mods: _Mask) -> _Mask: ...
def and_masks(*mask_mods: _Mask) -> _Mask: ...
def create_mask(mod_fn: _Mask | _Score, B: _int | None, H: _int | None, Q_LEN: _int, KV_LEN: _int, device: _Device | None = None) -> Tensor: ...
def create_block_mask(
    mask_mod: _Mask,
    B: _int | None,
    H: _int | None,
    Q_LEN: _int,
    KV_LEN: _int,
    device: _Device | None = None,
    BLOCK_SIZE: _int | tuple[_int, _int] = 128,
    _compile: _bool = False,
    separate_full_blocks: _bool = True,
    compute_dq_write_order: _bool = False,
    dq_kv_order: _bool = True,
) -> BlockMask: ...
def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _Score | None = None,
    block_mask: BlockMask | None = None,
    scale: _float | None = None,
    enable_gqa: _bool = False,
    return_lse: _bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any: ...
