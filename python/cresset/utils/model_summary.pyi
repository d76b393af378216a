"""Layers of a model as a table."""

from typing import Any, Literal, Mapping, Sequence

from _cresset import Tensor, dtype
from cresset.nn import Module

class LayerSummary:
    module: Module
    name: str
    kind: str
    depth: int
    input_size: Any
    output_size: Any
    params: int
    macs: int
    output_bytes: int
    is_repeated: bool
    def __init__(self, module: Module, name: str, depth: int, input_size: Any = None) -> None: ...
    @property
    def label(self) -> str: ...

class ModelSummary:
    layers: list[LayerSummary]
    depth: int
    total_params: int
    trainable_params: int
    total_macs: int
    input_bytes: int
    output_bytes: int
    param_bytes: int
    buffer_bytes: int
    uncounted: list[str]
    def __init__(self, model: Module, layers: list[LayerSummary], depth: int, input_bytes: int, is_run: bool) -> None: ...

def summary(
    model: Module,
    input_size: Sequence[int] | Sequence[Sequence[int]] | None = None,
    input_data: Tensor | Sequence[Any] | Mapping[str, Any] | None = None,
    *,
    depth: int = 3,
    dtypes: Sequence[dtype] | None = None,
    mode: Literal["eval", "train"] | None = "eval",
) -> ModelSummary: ...
