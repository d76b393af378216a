"""Base of all steps: a stream or a mapping, with the registered steps as methods."""

import functools
import inspect
import sys
import typing

from ..dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

T_co = typing.TypeVar("T_co", covariant=True)
_ADVICE = "An IterDataPipe has one iterator at a time."


def _described(pipe):
    """The class, and the attributes that are named as arguments of its constructor, in the order of their names."""
    parts = []
    for name in sorted(vars(pipe).keys() & inspect.signature(type(pipe)).parameters.keys()):
        value = vars(pipe)[name]
        text = getattr(value, "__name__", None) if inspect.isroutine(value) else None
        parts.append(f"{name}={text or (repr(value) if isinstance(value, str) else value)}")
    return f"{type(pipe).__name__}({', '.join(parts)})"


class _One:
    """An iterator that ends when another one of the same step begins."""

    def __init__(self, pipe, inner, number):
        self.pipe, self.inner, self.number = pipe, inner, number
        self._title = None  # for profilers

    def __iter__(self):
        return self

    def __next__(self):
        if self.pipe._iterations != self.number:
            raise RuntimeError(
                "this iterator ended when another one of the same IterDataPipe was made: "
                f"{_described(self.pipe)}\n`.fork()` gives a pipe several readers.\n{_ADVICE}"
            )
        if "_cresset_profile" not in sys.modules:
            return self._take()
        from ....autograd.profiler import record_function

        if self._title is None:
            self._title = _described(self.pipe).replace("IterDataPipe", "")
        with record_function(self._title):
            return self._take()

    def _take(self):
        try:
            return next(self.inner)
        except StopIteration:
            raise
        except Exception as error:
            note = f"\nThis exception is thrown by __iter__ of {_described(self.pipe)}"
            if "thrown by __iter__ of" not in str(error) and "has been invalidated" not in str(error) and (not error.args or isinstance(error.args[0], str)):
                error.args = ((error.args[0] if error.args else "") + note, *error.args[1:])
            raise

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def __len__(self):
        return len(self.inner)


def _single(iterate):
    """An `__iter__` whose earlier iterators end when it is called again."""

    @functools.wraps(iterate)
    def begin(self):
        self._iterations = number = getattr(self, "_iterations", 0) + 1
        self.reset()
        inner = iterate(self)
        if not hasattr(inner, "__next__"):
            raise TypeError(f"{type(self).__name__!r}: __iter__ returned {type(inner).__name__!r}, which is no iterator")
        return _One(self, inner, number)

    begin._single = True
    return begin


class _Registered:
    """Steps that are registered under a name are methods, and what hooks say about pickling and printing."""

    getstate_hook = reduce_ex_hook = str_hook = repr_hook = None

    def __getattr__(self, name):
        if name in type(self).functions:
            return functools.partial(type(self).functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}", name=name, obj=self)

    @classmethod
    def register_function(cls, function_name, function):
        """Makes a function of a step a method of all steps."""
        cls.functions[function_name] = function

    @classmethod
    def _register(cls, name, step, base):
        if name in cls.functions:
            raise Exception(f"a DataPipe function is there already: {name} as it is already taken")  # noqa: TRY002

        @functools.wraps(step, assigned=("__doc__", "__module__"))
        def make(source, *args, **options):
            result = step(source, *args, **options)
            for one in result if isinstance(result, list) else (result,):
                if not isinstance(one, base):
                    raise TypeError(f"{name}: expected a step, got {type(one).__name__}")
            return result

        make.__name__ = name
        cls.functions[name] = make

    @classmethod
    def set_getstate_hook(cls, hook_fn):
        """Sets (or, with None, removes) the function that pickling asks for a step's state. Exception where one is set."""
        if cls.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("a getstate_hook is set already")
        cls.getstate_hook = staticmethod(hook_fn) if hook_fn else None

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn):
        """Sets (or, with None, removes) the function that pickling asks first. Exception where one is set."""
        if cls.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("a reduce_ex_hook is set already")
        cls.reduce_ex_hook = staticmethod(hook_fn) if hook_fn else None

    def __getstate__(self):
        state = {k: v for k, v in self.__dict__.items() if k != "_iterations"}
        return type(self).getstate_hook(state) if type(self).getstate_hook else state

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __reduce_ex__(self, protocol):
        if type(self).reduce_ex_hook is not None:
            try:
                return type(self).reduce_ex_hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(protocol)

    def __str__(self):
        return type(self).str_hook(self) if type(self).str_hook else type(self).__name__

    def __repr__(self):
        return type(self).repr_hook(self) if type(self).repr_hook else type(self).__name__

    def __dir__(self):
        return [*super().__dir__(), *type(self).functions]


class IterDataPipe(_Registered, IterableDataset[T_co]):
    """A step that gives a stream: a subclass gives ``__iter__``. Registered steps are its methods: ``pipe.map(f).batch(4)``.

    A step has one iterator at a time: an earlier one raises RuntimeError once another begins. ``reset()`` is called when it begins.

    >>> class Count(torch.utils.data.IterDataPipe):
    ...     def __iter__(self):
    ...         yield from range(3)
    >>> list(Count().map(lambda x: x + 1))
    [1, 2, 3]
    """

    functions: typing.ClassVar[dict] = {}
    type = typing.Any

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        if "__iter__" in cls.__dict__ and not hasattr(cls.__iter__, "_single"):
            cls.__iter__ = _single(cls.__iter__)
        for base in cls.__dict__.get("__orig_bases__", ()):
            if isinstance(typing.get_origin(base), type) and issubclass(typing.get_origin(base), IterDataPipe):
                cls.type = typing.get_args(base)[0]

    def __iter__(self):
        return self

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, enable_df_api_tracing=False):
        """Makes a class of steps a method of all steps. Exception where the name is taken."""
        cls._register(function_name, cls_to_register, IterDataPipe)

    def reset(self):
        """Called when an iterator begins: a subclass puts its state back."""


class DFIterDataPipe(IterDataPipe):
    """A step whose items are data frames.

    >>> isinstance(torch.utils.data.DFIterDataPipe(), torch.utils.data.IterDataPipe)
    True
    """

    def __iter__(self):
        return self


class MapDataPipe(_Registered, Dataset[T_co]):
    """A step that is read by index or key: a subclass gives ``__getitem__`` and usually ``__len__``. Registered steps are its methods.

    >>> from cresset.utils.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper("abc").map(str.upper)[1]
    'B'
    """

    functions: typing.ClassVar[dict] = {}

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register):
        """Makes a class of steps a method of all steps. Exception where the name is taken."""
        cls._register(function_name, cls_to_register, (MapDataPipe, IterDataPipe))


class DataChunk(list):
    """A batch of items, as `batch` makes them: a list.

    >>> torch.utils.data.DataChunk([1, 2])
    [1, 2]
    """

    def __init__(self, items):
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent=""):
        """The items in brackets, behind `indent`."""
        return indent + "[" + ", ".join(str(item) for item in self) + "]"

    def raw_iterator(self):
        """The items."""
        yield from self.items
