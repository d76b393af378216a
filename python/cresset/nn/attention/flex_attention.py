"""Attention whose scores a function changes, and whose mask is a function; masks are kept as blocks.

>>> from cresset.nn.attention.flex_attention import create_block_mask, flex_attention
>>> q = torch.ones(1, 1, 2, 4)
>>> causal = create_block_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 2, 2, device="cpu")
>>> flex_attention(q, q, torch.tensor([[[[1.0], [3.0]]]]), block_mask=causal)
tensor([[[[1.],
          [2.]]]])
"""

import inspect as _inspect
import itertools as _itertools
import math as _math
import typing as _typing
import warnings as _warnings

import cresset as torch

__all__ = ["BlockMask", "flex_attention", "AuxOutput", "AuxRequest", "FlexKernelOptions", "create_block_mask", "create_mask", "or_masks", "and_masks",
           "noop_mask"]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class FlexKernelOptions(_typing.TypedDict, total=False):
    """Options of the kernels of GPUs; on the CPU the names are checked, and the values have nothing to change.

    >>> torch.nn.attention.flex_attention.FlexKernelOptions(BLOCK_M=64)
    {'BLOCK_M': 64}
    """

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BLOCK_M1: int
    BLOCK_N1: int
    BLOCK_M2: int
    BLOCK_N2: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    kpack: int
    matrix_instr_nonkdim: int
    waves_per_eu: int
    BACKEND: str


class AuxRequest(_typing.NamedTuple):
    """Results asked of `flex_attention` beside its output.

    >>> torch.nn.attention.flex_attention.AuxRequest(lse=True)
    AuxRequest(lse=True, max_scores=False)
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(_typing.NamedTuple):
    """Results of `flex_attention` beside its output: (B, Hq, L) each, or None.

    >>> torch.nn.attention.flex_attention.AuxOutput()
    AuxOutput(lse=None, max_scores=None)
    """

    lse: torch.Tensor | None = None
    max_scores: torch.Tensor | None = None


# ---- functions of places --------------------------------------------------------------------------------------------------


def noop_mask(batch, head, token_q, token_kv):
    """The mask that hides nothing.

    >>> torch.nn.attention.flex_attention.noop_mask(*[torch.tensor(0)] * 4)
    tensor(True)
    """
    return batch.new_ones(size=(), dtype=torch.bool, device=batch.device)


def _joined(masks, join, start):
    if not all(callable(mask) for mask in masks):
        raise RuntimeError(f"expected mask_mods that can be called, got {masks}")

    def mask_mod(b, h, q_idx, kv_idx):
        result = b.new_full((), start, dtype=torch.bool)
        for mask in masks:
            result = join(result, mask(b, h, q_idx, kv_idx))
        return result

    return mask_mod


def or_masks(*mask_mods):
    """The mask that is true where one of the masks is. RuntimeError for what cannot be called.

    >>> from cresset.nn.attention.flex_attention import create_mask, or_masks
    >>> near, first = (lambda b, h, q, k: q == k), (lambda b, h, q, k: k == 0)
    >>> create_mask(or_masks(near, first), None, None, 2, 3, device="cpu")[0, 0]
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return _joined(mask_mods, torch.logical_or, False)


def and_masks(*mask_mods):
    """The mask that is true where all masks are. RuntimeError for what cannot be called.

    >>> from cresset.nn.attention.flex_attention import create_mask, and_masks
    >>> past, odd = (lambda b, h, q, k: q >= k), (lambda b, h, q, k: k % 2 == 1)
    >>> create_mask(and_masks(past, odd), None, None, 2, 3, device="cpu")[0, 0]
    tensor([[False, False, False],
            [False,  True, False]])
    """
    return _joined(mask_mods, torch.logical_and, True)


def _places(B, H, q_len, kv_len, device):
    """Numbers of batch, head, query and key, each along a dimension of its own: a function of them is computed for all places at once."""
    shapes = ((B, 1, 1, 1), (H, 1, 1), (q_len, 1), (kv_len,))
    return [torch.arange(shape[0], dtype=torch.int32, device=device).view(shape) for shape in shapes]


def _everywhere(function, arguments, shape):
    """The values of a function of scalars at all places."""
    result = function(*arguments)
    if not isinstance(result, torch.Tensor):
        name = getattr(function, "__name__", type(function).__name__)
        raise ValueError(f"flex_attention: `{name}` has to return tensors, got type {type(result)}")
    return result.expand(shape)


def _arguments_of(mod_fn):
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in _inspect.signature(mod_fn).parameters.values())


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """Values of a mask function, or of a function of scores, at all places: (B, H, Q_LEN, KV_LEN).

    Args:
        mod_fn: a function (b, h, q_idx, kv_idx) -> bool, or (score, b, h, q_idx, kv_idx) -> score, which is asked what it hides of zeros. Its
            arguments are tensors of integers, all places at once: what it computes of them must work elementwise.
        B, H: how many; None stands for 1.
        device: of the mask; by default the accelerator's, where there is one.

    Errors: AssertionError for functions of other numbers of arguments.

    >>> torch.nn.attention.flex_attention.create_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    B, H, device = 1 if B is None else B, 1 if H is None else H, _device(device)
    shape, places = (B, H, Q_LEN, KV_LEN), _places(B, H, Q_LEN, KV_LEN, device)
    count = _arguments_of(mod_fn)
    if count not in (4, 5):
        raise AssertionError(f"expected a function of 4 or 5 positional arguments, got {count}")
    if count == 4:
        return _everywhere(mod_fn, places, shape).contiguous()
    scores = _everywhere(mod_fn, (torch.zeros(shape, device=device), *places), shape)
    return torch.where(torch.isneginf(scores), False, True)


def _device(device):
    return torch.get_default_device() if device is None else torch.device(device)


# ---- masks as blocks ------------------------------------------------------------------------------------------------------


def _listed(blocks):
    """Of a map (..., rows, columns) of blocks the number in each row, and the columns: those that are there first, in their order."""
    blocks = blocks.to(torch.int32)
    return blocks.sum(-1).to(torch.int32), blocks.argsort(dim=-1, descending=True, stable=True).to(torch.int32).contiguous()


def _mapped(count, indices):
    """The map of blocks that `_listed` lists."""
    columns = indices.shape[-1]
    listed = torch.arange(columns, device=count.device) < count.unsqueeze(-1)
    return torch.zeros(indices.shape, dtype=torch.int32, device=count.device).scatter_(-1, indices.long(), listed.to(torch.int32))


def _sliced_mask_mod_error(*_):
    raise RuntimeError("the mask_mod of a slice of a BlockMask cannot be called")


class BlockMask:
    """A mask as the blocks of queries and keys in which it lets something through, and the function that tells what it does within them.

    ``kv_num_blocks`` (B, H, rows) and ``kv_indices`` (B, H, rows, columns) list, for each row of blocks, the columns of those that the function
    has to look into; ``full_kv_num_blocks`` and ``full_kv_indices`` those that hide nothing. The names with ``q`` list rows for each column.
    Made by `create_block_mask` or `BlockMask.from_kv_blocks`; ``mask[batch, head]`` is the mask of some.

    >>> from cresset.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 256, 256, device="cpu")
    >>> mask.shape, mask.sparsity()
    ((1, 1, 256, 256), 25.0)
    >>> mask.to_dense()[0, 0]
    tensor([[1, 0],
            [1, 1]], dtype=torch.int32)
    """

    _TENSORS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices", "full_q_num_blocks",
                "full_q_indices", "dq_write_order", "dq_write_order_full", "dq_kv_order")  # fmt: skip

    def __init__(self, seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices, full_q_num_blocks,
                 full_q_indices, BLOCK_SIZE=(_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE), mask_mod=noop_mask, *, dq_write_order=None, dq_write_order_full=None, dq_kv_order=None,
                 dq_kv_order_spt=None):  # fmt: skip
        if kv_indices.dim() < 2:
            raise RuntimeError(f"BlockMask: kv_indices must have at least 2 dimensions, got {kv_indices.dim()}")
        for kind, pair in (("kv", (full_kv_num_blocks, full_kv_indices)), ("q", (full_q_num_blocks, full_q_indices))):
            if (pair[0] is None) != (pair[1] is None):
                raise AssertionError(f"full_{kind}_num_blocks and full_{kind}_indices go together, got one of them")
        if (q_num_blocks is None) != (q_indices is None):
            raise AssertionError("q_num_blocks and q_indices go together, got one of them")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.dq_write_order, self.dq_write_order_full = dq_write_order, dq_write_order_full
        self.dq_kv_order, self.dq_kv_order_spt = dq_kv_order, dq_kv_order_spt
        self.BLOCK_SIZE, self.mask_mod = BLOCK_SIZE, mask_mod

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, mask_mod=None, seq_lengths=None,
                       compute_q_blocks=True, *, dq_write_order=None, dq_write_order_full=None, dq_kv_order=None):  # fmt: skip
        """The mask with these lists of blocks; those with ``q`` in their names are computed. ``seq_lengths`` is by default that of the blocks."""
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices go together, got one of them")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        by_query = [None] * 4
        if compute_q_blocks:
            by_query[:2] = _listed(_mapped(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None:
                by_query[2:] = _listed(_mapped(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        return cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *by_query, BLOCK_SIZE=size, mask_mod=mask_mod or noop_mask,
            dq_write_order=dq_write_order, dq_write_order_full=dq_write_order_full, dq_kv_order=dq_kv_order,
        )  # fmt: skip

    def as_tuple(self, flatten=True):
        """All parts in the order of the constructor; lengths and block sizes as numbers of their own where `flatten`."""
        sizes = (tuple(self.seq_lengths), tuple(self.BLOCK_SIZE))
        first, last = (sizes[0], sizes[1]) if flatten else ((sizes[0],), (sizes[1],))
        tensors = (getattr(self, name) for name in self._TENSORS)
        return (*first, *tensors, self.dq_kv_order_spt, *last, self.mask_mod)

    @property
    def shape(self):
        """(B, H, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        """The number of places, hidden or not."""
        return _math.prod(self.shape)

    def _blocks(self):
        blocks = _mapped(self.kv_num_blocks, self.kv_indices)
        return blocks if self.full_kv_num_blocks is None else (blocks | _mapped(self.full_kv_num_blocks, self.full_kv_indices))

    def sparsity(self):
        """The percentage of places that lie in no block which is computed."""
        count = self.kv_num_blocks.sum().item() + (0 if self.full_kv_num_blocks is None else self.full_kv_num_blocks.sum().item())
        return 100 * (1 - count * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self):
        """The map of blocks (B, H, rows, columns): 1 for those that are computed."""
        return self._blocks()

    def to(self, device):
        """The same mask with its tensors on a device."""
        moved = {name: None if getattr(self, name) is None else getattr(self, name).to(device) for name in self._TENSORS}
        return BlockMask(self.seq_lengths, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod, dq_kv_order_spt=self.dq_kv_order_spt, **moved)

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        sizes = self.kv_num_blocks.shape
        if len(index) > len(sizes):
            raise IndexError(f"BlockMask: too many indices, got {len(index)} for (batch, head, row of blocks)")
        index = tuple(_kept(i, size) for i, size in zip(index, sizes))
        full = (None, None) if self.full_kv_num_blocks is None else (self.full_kv_num_blocks[index], self.full_kv_indices[index])
        return BlockMask.from_kv_blocks(
            self.kv_num_blocks[index], self.kv_indices[index], *full, self.BLOCK_SIZE, _sliced_mask_mod_error, self.seq_lengths, self.q_indices is not None
        )

    def _adjust(self, new_q_len, new_kv_len):
        """The mask of fewer queries and keys, from the upper left; its function stays."""
        rows, columns = (_math.ceil(n / size) for n, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE))
        if rows > self.kv_indices.shape[-2] or columns > self.kv_indices.shape[-1]:
            raise ValueError(f"BlockMask: cannot grow from {tuple(self.seq_lengths)} to {(new_q_len, new_kv_len)}")
        cut = _listed(_mapped(self.kv_num_blocks, self.kv_indices)[..., :rows, :columns])
        full = (None, None)
        if self.full_kv_num_blocks is not None:
            full = _listed(_mapped(self.full_kv_num_blocks, self.full_kv_indices)[..., :rows, :columns])
        return BlockMask.from_kv_blocks(*cut, *full, self.BLOCK_SIZE, self.mask_mod, (new_q_len, new_kv_len), self.q_indices is not None)

    def to_string(self, grid_size=(20, 20), limit=4):
        """A picture: ██ for what is computed, ░░ for what is in part; at most `grid_size` marks, and `limit` pairs of batch and head."""
        dense = self.to_dense().float()
        rows, columns = dense.shape[-2:]
        grid = (grid_size, grid_size) if isinstance(grid_size, int) else tuple(grid_size)
        high, wide = (1, 1) if grid == (-1, -1) else (_math.ceil(rows / grid[0]), _math.ceil(columns / grid[1]))
        leading = dense.shape[:-2]
        pictures = []
        for number, at in enumerate(_itertools.product(*map(range, leading))):
            if number == limit:
                pictures.append("...\n(limit=N prints N of them, mask[batch, head] has one)")
                break
            lines = [str(at)]
            for r in range(0, rows, high):
                cells = [dense[at][r : r + high, c : c + wide].mean().item() for c in range(0, columns, wide)]
                lines.append("".join("██" if cell == 1 else "░░" if cell > 0 else "  " for cell in cells))
            pictures.append("\n".join(lines) + "\n")
        return "\n".join(pictures)

    def __str__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self):
        tensors = [f"{name}={None if getattr(self, name) is None else getattr(self, name).shape}" for name in self._TENSORS[:8]]
        name = getattr(self.mask_mod, "__name__", self.mask_mod)
        parts = [*tensors, f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}", f"sparsity={self.sparsity():.2f}%", f"mask_mod={name}"]
        return "BlockMask(\n" + ",\n".join(f"    {part}" for part in parts) + "\n)"


def _kept(index, size):
    """An index that keeps its dimension."""
    if not isinstance(index, int):
        return index
    if not -size <= index < size:
        raise IndexError(f"BlockMask: index {index} is out of bounds for a dimension of size {size}")
    index %= size
    return slice(index, index + 1)


def _write_order(partial, full, by_query, ascending):
    """For each column of blocks and the rows listed for it, the turn of that column in the row's sum of gradients."""
    there = (partial | full).transpose(-2, -1).to(torch.int32)  # (B, H, columns, rows)
    before = there.cumsum(-2) - there
    turns = before if ascending else there.sum(-2, keepdim=True) - 1 - before
    return turns.gather(-1, by_query.long()).to(torch.int32)


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False, separate_full_blocks=True, compute_dq_write_order=False,
                      dq_kv_order=True):  # fmt: skip
    """The blocks of a mask given as a function.

    Args:
        mask_mod: a function (b, h, q_idx, kv_idx) -> bool of tensors of integers, true where a query sees a key. It is called once, for all
            places: what it computes must work elementwise (``doc[q_idx] == doc[kv_idx]`` does).
        B, H: how many; None stands for 1, a mask that is the same for all.
        device: of the mask; by default the accelerator's, where there is one.
        BLOCK_SIZE: of the blocks, an int or (queries, keys).
        separate_full_blocks: whether blocks that hide nothing are listed apart.
        compute_dq_write_order, dq_kv_order: whether, and in which order, the turns of blocks in sums of gradients are computed as well.

    Errors: AssertionError for functions of scores and masks that are not bool.

    >>> from cresset.nn.attention.flex_attention import create_block_mask
    >>> causal = create_block_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 300, 300, device="cpu")
    >>> causal.to_string().split()
    ['(0,', '0)', '██', '████', '██████']
    """
    if _arguments_of(mask_mod) != 4:
        raise AssertionError(f"create_block_mask: expected a mask_mod, got {mask_mod}")
    if not isinstance(dq_kv_order, bool):
        raise ValueError("create_block_mask: expected a bool as dq_kv_order")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    rows, columns = size
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    if mask.dtype != torch.bool:
        raise AssertionError(f"mask.dtype must be torch.bool, got {mask.dtype}")
    mask = torch.nn.functional.pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    seen = mask.view(*mask.shape[:2], mask.shape[2] // rows, rows, mask.shape[3] // columns, columns).sum((-3, -1))
    full = (seen == rows * columns) if separate_full_blocks else torch.zeros_like(seen, dtype=torch.bool)
    partial = (seen > 0) & ~full
    lists = (*_listed(partial), *(_listed(full) if separate_full_blocks else (None, None)))
    made = BlockMask.from_kv_blocks(*lists, size, mask_mod, (Q_LEN, KV_LEN))
    if compute_dq_write_order:
        made.dq_write_order = _write_order(partial, full, made.q_indices, not dq_kv_order)
        if separate_full_blocks:
            made.dq_write_order_full = _write_order(partial, full, made.full_q_indices, not dq_kv_order)
        made.dq_kv_order_spt = dq_kv_order
    return made


# ---- attention ------------------------------------------------------------------------------------------------------------


def _check(query, key, value, block_mask, enable_gqa):
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("expected query, key and value of 4 dimensions")
    if query.device.type != key.device.type or query.device.type != value.device.type:
        raise ValueError(
            f"expected query, key and value on one kind of device, got query.device: {query.device}, key.device: {key.device}, "
            f"and value.device: {value.device} instead."
        )
    (Bq, Hq, L, E), (Bkv, Hkv, S, Ek) = query.shape, key.shape
    if E != Ek:
        raise ValueError(f"expected one embedding size in query and key, got E={E} and E={Ek}.")
    if value.shape[:3] != key.shape[:3]:
        raise ValueError(f"Expect key and value to agree but for their last dimension, got {tuple(key.shape)} and {tuple(value.shape)}")
    if not enable_gqa and Hq != Hkv:
        raise ValueError(f"expected as many heads in query as in key and value (or enable_gqa=True), got Hq={Hq} and Hkv={Hkv}; enable_gqa=True groups them")
    if Hq % Hkv:
        raise ValueError(f"enable_gqa: expected a multiple of the key's heads in query, got Hq={Hq} and Hkv={Hkv}.")
    if block_mask is None:
        if Bq != Bkv:
            raise ValueError(f"expected one batch size in query and key, or a block_mask, got none, Bq={Bq}, and Bkv={Bkv}.")
        return
    if not isinstance(block_mask, BlockMask):
        raise TypeError(f"flex_attention: block_mask must be a BlockMask, got {type(block_mask).__name__}; create_block_mask makes one of a function")
    if Bq != Bkv and (block_mask.kv_num_blocks.shape[0] != Bq or Bkv != 1):
        raise ValueError(
            f"expected one batch size in query and key, or in query and block_mask, got Bq={Bq}, Bkv={Bkv}, B_block_mask={block_mask.kv_num_blocks.shape[0]}."
        )
    made_for = tuple(block_mask.seq_lengths)
    if made_for == (L, S):
        return
    text = f"block_mask is for the shape {block_mask.shape}, got q_len={L} and kv_len={S}. It is for a "
    if L > made_for[0] or S > made_for[1]:
        raise ValueError(text + "shorter sequence: make one for this length.")
    raise ValueError(
        text + "longer sequence: make one for this length, or take its upper left part, block_mask._adjust(q_len, kv_len), where the mask_mod allows that"
    )


def _visible(block_mask, places, shape):
    """Where a mask lets a query see a key: everywhere in full blocks, where the function says so in the others that are listed."""
    L, S = shape[-2:]
    rows, columns = block_mask.BLOCK_SIZE

    def spread(blocks):
        return blocks.bool().repeat_interleave(rows, -2).repeat_interleave(columns, -1)[..., :L, :S]

    seen = _everywhere(block_mask.mask_mod, places, shape) & spread(_mapped(block_mask.kv_num_blocks, block_mask.kv_indices))
    if block_mask.full_kv_num_blocks is not None:
        seen = seen | spread(_mapped(block_mask.full_kv_num_blocks, block_mask.full_kv_indices))
    return seen


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None, *, return_aux=None):
    """Attention with scores changed by a function: softmax(score_mod(query @ key.mT · scale)) @ value, over the keys that a mask lets be seen.

    Args:
        query: (B, Hq, L, E). key: (B, Hkv, S, E). value: (B, Hkv, S, Ev).
        score_mod: a function (score, b, h, q_idx, kv_idx) -> score. It is called once, with the scores (B, Hq, L, S) and numbers of places that
            broadcast with them: what it computes must work elementwise (``score + bias[q_idx, kv_idx]`` does).
        block_mask: made by `create_block_mask`; queries that see nothing give zeros.
        scale: 1/√E by default.
        enable_gqa: whether several heads of the query may share one of key and value.
        return_aux: an `AuxRequest`: what to return beside the output, as an `AuxOutput`. `return_lse` is the old spelling for the
            logarithm of the sum of exponentials alone.
        kernel_options: see `FlexKernelOptions`.

    Returns: (B, Hq, L, Ev), or that and the auxiliary values. Errors: ValueError for shapes and masks that do not fit,
    NotImplementedError for tensors that are not 4-d.

    >>> from cresset.nn.attention.flex_attention import flex_attention
    >>> q, v = torch.ones(1, 1, 2, 4), torch.tensor([[[[1.0], [3.0]]]])
    >>> flex_attention(q, q, v, score_mod=lambda score, b, h, q_idx, kv_idx: score + 100 * kv_idx)
    tensor([[[[3.],
              [3.]]]])
    """
    _check(query, key, value, block_mask, enable_gqa)
    if kernel_options:
        unknown = kernel_options.keys() - FlexKernelOptions.__annotations__.keys()
        if unknown:
            raise ValueError(f"flex_attention: unknown kernel options {sorted(unknown)}; there are {sorted(FlexKernelOptions.__annotations__)}")
    if return_lse and return_aux is not None:
        raise ValueError("flex_attention: expected return_aux alone, got return_lse too; return_aux=AuxRequest(lse=True) says the same.")
    if return_lse:
        _warnings.warn("flex_attention: return_lse is deprecated for return_aux=AuxRequest(lse=True)", FutureWarning, stacklevel=2)
    (B, Hq, L, E), S = query.shape, key.shape[2]
    groups = Hq // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    work = torch.promote_types(query.dtype, torch.float32)
    scores = query.to(work) @ key.to(work).mT * (E**-0.5 if scale is None else scale)
    shape, places = (B, Hq, L, S), _places(B, Hq, L, S, query.device)
    if score_mod is not None:
        scores = _everywhere(score_mod, (scores, *places), shape).to(work)
    if block_mask is not None:
        scores = scores.masked_fill(~_visible(block_mask, places, shape), float("-inf"))
    highest = scores.detach().amax(-1, keepdim=True) if S else scores.new_full((B, Hq, L, 1), float("-inf"))
    weights = (scores - highest.masked_fill(highest == float("-inf"), 0)).exp()
    total = weights.sum(-1, keepdim=True)
    blind = total == 0
    total = total.masked_fill(blind, 1)
    out = ((weights @ value.to(work)) / total).to(query.dtype)
    lse = (highest + total.log()).squeeze(-1)
    if return_lse:
        return out, lse
    if return_aux is not None:
        return out, AuxOutput(lse if return_aux.lse else None, highest.squeeze(-1) if return_aux.max_scores else None)
    return out
