"""Steps that are put one behind the other, each of which knows where it is."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from _cresset import _bool, _int, _str

_T = TypeVar("_T", covariant=True)
_S = TypeVar("_S")
_R = TypeVar("_R")

class BaseNode(Iterator[_T]):
    def __init__(self) -> None: ...
    def __iter__(self) -> BaseNode[_T]: ...
    def __next__(self) -> _T: ...
    def reset(self, initial_state: dict[_str, Any] | None = None) -> None: ...
    def next(self) -> _T: ...
    def get_state(self) -> dict[_str, Any]: ...
    def state_dict(self) -> dict[_str, Any]: ...

class IterableWrapper(BaseNode[_T]):
    def __init__(self, iterable: Iterable[_T]) -> None: ...

class SamplerWrapper(BaseNode[_T]):
    epoch: _int
    def __init__(self, sampler: Iterable[_T], initial_epoch: _int = 0, epoch_updater: Callable[[_int], _int] | None = None) -> None: ...

class Mapper(BaseNode[_T]):
    def __init__(self, source: BaseNode[_S], map_fn: Callable[[_S], _T]) -> None: ...

class MapStyleWrapper(BaseNode[_T]):
    def __init__(self, map_dataset: Any, sampler: Iterable[Any]) -> None: ...

class Filter(BaseNode[_T]):
    def __init__(self, source: BaseNode[_T], filter_fn: Callable[[_T], Any]) -> None: ...

class Header(BaseNode[_T]):
    def __init__(self, source: BaseNode[_T], n: _int) -> None: ...

class Cycler(BaseNode[_T]):
    def __init__(self, source: BaseNode[_T]) -> None: ...

class Batcher(BaseNode[list[_S]], Generic[_S]):
    def __init__(self, source: BaseNode[_S], batch_size: _int, drop_last: _bool = True) -> None: ...

class Unbatcher(BaseNode[_T]):
    def __init__(self, source: BaseNode[Sequence[_T]]) -> None: ...

class Shuffler(BaseNode[_T]):
    def __init__(self, source: BaseNode[_T], buffer_size: _int, seed: _int = 0) -> None: ...

class ParallelMapper(BaseNode[_T]):
    def __init__(
        self, source: BaseNode[_S], map_fn: Callable[[_S], _T], num_workers: _int, in_order: _bool = True,
        method: Literal["thread", "process"] = "thread", multiprocessing_context: _str | None = None, max_concurrent: _int | None = None,
        snapshot_frequency: _int = 1, prebatch: _int | None = None,
    ) -> None: ...  # fmt: skip

class Prefetcher(BaseNode[_T]):
    def __init__(self, source: BaseNode[_T], prefetch_factor: _int, snapshot_frequency: _int = 1) -> None: ...

class PinMemory(BaseNode[_T]):
    def __init__(self, source: BaseNode[_T], pin_memory_device: _str = "", snapshot_frequency: _int = 1) -> None: ...

class StopCriteria:
    CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED: _str
    ALL_DATASETS_EXHAUSTED: _str
    FIRST_DATASET_EXHAUSTED: _str
    CYCLE_FOREVER: _str

class MultiNodeWeightedSampler(BaseNode[_T]):
    def __init__(
        self, source_nodes: Mapping[_str, BaseNode[_T]], weights: Mapping[_str, float], stop_criteria: _str = ..., rank: _int | None = None,
        world_size: _int | None = None, seed: _int = 0,
    ) -> None: ...  # fmt: skip

class Loader(Generic[_R]):
    def __init__(self, root: BaseNode[_R], restart_on_stop_iteration: _bool = True) -> None: ...
    def __iter__(self) -> Iterator[_R]: ...
    def state_dict(self) -> dict[_str, Any]: ...
    def load_state_dict(self, state_dict: dict[_str, Any]) -> None: ...
