"""Counts the floating point operations of products, convolutions and attention, forward and backward, by module.

>>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
...     _ = nn.Linear(3, 4)(torch.ones(5, 3))
>>> counter.get_total_flops()
120
"""

import collections
import functools
import math

import cresset as torch

from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

aten = torch.ops.aten
flop_registry = {}


def get_shape(value):
    """The shape of a tensor; any other value itself."""
    return value.shape if isinstance(value, torch.Tensor) else value


def shape_wrapper(formula):
    """A formula of shapes as one of tensors and the result."""

    @functools.wraps(formula)
    def of_tensors(*args, out_val=None, **kwargs):
        args, kwargs, out = tree_map(get_shape, (args, kwargs, out_val))
        return formula(*args, out_shape=out, **kwargs)

    return of_tensors


def register_flop_formula(targets, get_raw=False):
    """Decorator: the function counts the operations of the operators `targets`, from the shapes of its arguments and `out_shape`.

    Args:
        targets: an operator, `torch.ops.aten.mm`, or a list of such.
        get_raw: the function gets the tensors themselves, and `out_val`.

    Errors: ValueError for what is no operator, RuntimeError for an operator that has a formula.

    >>> @torch.utils.flop_counter.register_flop_formula(torch.ops.aten.erf)
    ... def erf_flop(x_shape, out_shape=None, **kwargs):
    ...     return 10 * x_shape.numel()
    >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     _ = torch.ones(3).erf()
    >>> counter.get_total_flops()
    30
    >>> _ = torch.utils.flop_counter.flop_registry.pop(torch.ops.aten.erf)
    """

    def register(formula):
        counted = formula if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not hasattr(target, "overloads") and "HigherOrder" not in type(target).__name__:
                raise ValueError(f"register_flop_formula: expected an operator with all its overloads, as torch.ops.aten.mm, got {target!r}")
            if target in flop_registry:
                raise RuntimeError(f"register_flop_formula: {target} has a formula already")
            flop_registry[target] = counted
        return formula

    return register


# ---- formulas -------------------------------------------------------------------------------------------------------------


@register_flop_formula(aten.mm)
def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Of a product of matrices: 2 m k n."""
    return 2 * a_shape[0] * a_shape[1] * b_shape[1]


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    """Those of the product; the sum is not counted."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape, b_shape, out_shape=None, **kwargs):
    """Of a batch of products of matrices."""
    return 2 * a_shape[0] * a_shape[1] * a_shape[2] * b_shape[2]


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    """Those of the products; the sum is not counted."""
    return bmm_flop(a_shape, b_shape, out_shape)


def conv_flop_count(x_shape, w_shape, out_shape, transposed=False):
    """Of a convolution: each position of the result, of the input where it is transposed, meets the whole weight."""
    positions = math.prod((x_shape if transposed else out_shape)[2:])
    return 2 * x_shape[0] * positions * math.prod(w_shape)


@register_flop_formula(aten.convolution)
def conv_flop(x_shape, w_shape, _bias, _stride, _padding, _dilation, transposed, *args, out_shape=None, **kwargs):
    """Of a convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


def _swapped(shape):
    return [shape[1], shape[0], *shape[2:]]


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape, x_shape, w_shape, _bias, _stride, _padding, _dilation, transposed, _output_padding, _groups, output_mask, out_shape, **kwargs
):
    """Of the gradients of a convolution by the input and the weight, as far as they are asked for."""
    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        moved, still = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += conv_flop_count(_swapped(moved), _swapped(still), _swapped(out_shape[1]))
    return count


def sdpa_flop_count(query_shape, key_shape, value_shape):
    """Of attention: the products of queries with keys, and of the weights with values."""
    *batch, queries, width = query_shape
    return 2 * math.prod(batch) * queries * key_shape[-2] * (width + value_shape[-1])


@register_flop_formula([getattr(aten, f"_scaled_dot_product_{kind}_attention") for kind in ("efficient", "flash", "cudnn")
                        if hasattr(aten, f"_scaled_dot_product_{kind}_attention")])  # fmt: skip
def sdpa_flop(query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs):
    """Of attention."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape):
    """Of the gradient of attention: the weights once more, their gradient, and those of queries, keys and values."""
    *batch, queries, width = query_shape
    return 2 * math.prod(batch) * queries * key_shape[-2] * (3 * width + 2 * value_shape[-1])


@register_flop_formula([getattr(aten, f"_scaled_dot_product_{kind}_attention_backward") for kind in ("efficient", "flash", "cudnn")
                        if hasattr(aten, f"_scaled_dot_product_{kind}_attention_backward")])  # fmt: skip
def sdpa_backward_flop(grad_out_shape, query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs):
    """Of the gradient of attention."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


# ---- the mode -------------------------------------------------------------------------------------------------------------

suffixes = ["", "K", "M", "B", "T"]


def get_suffix_str(number):
    """The suffix with which a number has at most five digits or so."""
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number, suffix):
    """A number in units of a suffix, with three decimals."""
    value = number / 1000 ** suffixes.index(suffix)
    return f"{value:.3f}{suffix}"


def convert_to_percent_str(num, denom):
    """A share in percent."""
    return f"{num / denom:.2%}" if denom else "0%"


class FlopCounterMode(TorchDispatchMode):
    """Counts the floating point operations of what runs in its scope, by module and operator, and prints a table at its end.

    Args:
        mods: no longer used.
        depth: how deep in the tree of modules the table goes; None: all the way.
        display: whether the table is printed.
        custom_mapping: {operator: formula} besides those of `register_flop_formula`; a formula with the attribute `_get_raw` gets tensors.

    >>> with torch.utils.flop_counter.FlopCounterMode(depth=1):
    ...     _ = torch.ones(20, 30) @ torch.ones(30, 50)
    Module        FLOP    % Total
    ---------  -------  ---------
    Global     60.000K    100.00%
    - aten.mm  60.000K    100.00%
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        super().__init__()
        if mods is not None:
            import warnings

            warnings.warn("FlopCounterMode: mods is not needed, modules are found as they run", stacklevel=2)
        own = {key: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula) for key, formula in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **own}
        self.depth, self.display = depth, display
        self.flop_counts = collections.defaultdict(lambda: collections.defaultdict(int))
        self.mod_tracker = ModuleTracker()

    def get_total_flops(self):
        """The number of all operations."""
        everything = self.flop_counts["Global"]
        return sum(everything.values())

    def get_flop_counts(self):
        """Module -> operator -> number. "Global" is everything."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """A table of the modules up to a depth, with their operators and shares, as text; "Global" is in it where no module has done everything."""
        depth = self.depth if depth is None else depth
        depth = 999999 if depth is None else depth
        total = self.get_total_flops()
        suffix = get_suffix_str(total)
        sums = {module: sum(counts.values()) for module, counts in self.flop_counts.items()}
        shown = [module for module in sorted(sums) if module != "Global" and module.count(".") < depth]
        if total and not any(sums[module] >= total for module in shown):
            shown.insert(0, "Global")
        rows = []
        for module in shown:
            counts = {module: sums[module], **{f"- {name}": n for name, n in self.flop_counts[module].items()}}
            for name, n in counts.items():
                rows.append((name, convert_num_with_suffix(n, suffix) if suffix else str(n), convert_to_percent_str(n, total)))
        title, rows = ("Module", "FLOP", "% Total"), rows or [("Global", "0", "0%")]
        widths = [max(len(title[i]) + 2, *(len(row[i]) for row in rows)) for i in range(3)]
        lines = [(row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2])) for row in (title, *rows)]
        lines.insert(1, tuple("-" * width for width in widths))
        return "\n".join("  ".join(line) for line in lines)

    def __enter__(self):
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        packet = getattr(func, "overloadpacket", func)
        formula = self.flop_registry.get(packet)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=out)
            for module in {*self.mod_tracker.parents, "Global"}:
                self.flop_counts[module][packet] += count
        return out
