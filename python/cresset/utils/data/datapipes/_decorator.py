"""Decorators of steps: names for them, whether they are deterministic, and checks of types."""

import copy
import functools
import inspect
import typing
import warnings

from .datapipe import IterDataPipe, MapDataPipe

_MESSAGE = "is not deterministic{}, which guaranteed_datapipes_determinism does not allow; leave its context to use it"


def copied_or_shared(source):
    """A deep copy of the data of a step, or, with a warning, the data themselves where they have none."""
    try:
        return copy.deepcopy(source)
    except TypeError:
        warnings.warn(f"a {type(source).__name__} cannot be copied, so changes made to its items are seen by all readers", stacklevel=3)
        return source


class functional_datapipe:
    """A decorator that makes a class of steps a method of all steps, under a name. Errors: Exception for a name that is taken, TypeError for other classes.

    >>> @torch.utils.data.functional_datapipe("doubled")
    ... class Doubled(torch.utils.data.IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         for x in self.source:
    ...             yield 2 * x
    >>> list(torch.utils.data.datapipes.iter.IterableWrapper([1, 2]).doubled())
    [2, 4]
    >>> del torch.utils.data.IterDataPipe.functions["doubled"]  # the name is free again
    """

    def __init__(self, name, enable_df_api_tracing=False):
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls):
        if not (isinstance(cls, type) and issubclass(cls, (IterDataPipe, MapDataPipe))) and not inspect.isfunction(cls):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe and MapDataPipe")
        if isinstance(cls, type) and issubclass(cls, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
        else:
            IterDataPipe.register_datapipe_as_function(self.name, cls)
        return cls


_guaranteed = False


class guaranteed_datapipes_determinism:
    """A context in which no step may be made that is marked as `non_deterministic`.

    >>> with torch.utils.data.guaranteed_datapipes_determinism():
    ...     pipe = torch.utils.data.datapipes.iter.IterableWrapper([1])
    """

    def __init__(self):
        global _guaranteed
        self._before, _guaranteed = _guaranteed, True

    def __enter__(self):
        return None

    def __exit__(self, *_):
        global _guaranteed
        _guaranteed = self._before


class non_deterministic:
    """A decorator of steps whose order is not always the same: of the class, or with a function that tells it from the arguments of a step.

    Errors: TypeError for other classes, and, within `guaranteed_datapipes_determinism`, for making such a step.

    >>> @torch.utils.data.non_deterministic
    ... class Arrivals(torch.utils.data.IterDataPipe):
    ...     def __iter__(self):
    ...         yield 1
    >>> list(Arrivals())
    [1]
    """

    cls = None

    def __init__(self, arg):
        self.deterministic_fn = None
        if isinstance(arg, type):
            self._of(arg)
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} is no IterDataPipe, which non_deterministic expects")

    def _of(self, cls):
        if not issubclass(cls, IterDataPipe):
            raise TypeError(f"non_deterministic: expected an IterDataPipe, but {cls.__name__} is found")
        self.cls = cls

    def __call__(self, *args, **kwargs):
        if self.cls is not None:
            if _guaranteed:
                raise TypeError(f"{self.cls.__name__} {_MESSAGE.format('')}")
            return self.cls(*args, **kwargs)
        self._of(args[0])
        return self.deterministic_wrapper_fn

    def deterministic_wrapper_fn(self, *args, **kwargs):
        """Makes a step, where the function says that it is deterministic or determinism is not asked for."""
        answer = self.deterministic_fn(*args, **kwargs)
        if not isinstance(answer, bool):
            raise TypeError(f"non_deterministic: expected a bool of deterministic_fn, but {type(answer)} is found")
        if _guaranteed and answer:
            raise TypeError(f"{self.cls.__name__} {_MESSAGE.format(' with the inputs')}")
        return self.cls(*args, **kwargs)


# ---- types ----------------------------------------------------------------------------------------------------------------


def _fits(value, hint):
    """Whether a value is of a type, as far as that can be seen from it."""
    if hint is typing.Any or isinstance(hint, typing.TypeVar):
        return True
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return value is None if hint in (None, type(None)) else isinstance(value, hint) if isinstance(hint, type) else True
    if origin is typing.Union or type(hint).__name__ == "UnionType":
        return any(_fits(value, arg) for arg in args)
    if origin is typing.Literal:
        return value in args
    if not isinstance(value, origin):
        return False
    if origin is tuple and args:
        if len(args) == 2 and args[1] is Ellipsis:
            return all(_fits(v, args[0]) for v in value)
        return len(value) == len(args) and all(_fits(v, a) for v, a in zip(value, args))
    if origin in (list, set, frozenset) and args:
        return all(_fits(v, args[0]) for v in value)
    if origin is dict and args:
        return all(_fits(k, args[0]) and _fits(v, args[1]) for k, v in value.items())
    return True


def _narrower(given, wanted):
    """Whether every value of one type is of the other, as far as that can be told."""
    if wanted is typing.Any or given is typing.Any or given == wanted:
        return True
    if typing.get_origin(wanted) is typing.Union or type(wanted).__name__ == "UnionType":
        return any(_narrower(given, arg) for arg in typing.get_args(wanted))
    if isinstance(given, type) and isinstance(wanted, type):
        return issubclass(given, wanted)
    return typing.get_origin(given) is not None and typing.get_origin(given) is typing.get_origin(wanted)


def argument_validation(f):
    """A decorator that checks the arguments of a function that are annotated as steps: TypeError for other values, and for items of other types.

    >>> @torch.utils.data.argument_validation
    ... def total(pipe: torch.utils.data.IterDataPipe[int]):
    ...     return sum(pipe)
    >>> total(torch.utils.data.datapipes.iter.IterableWrapper([1, 2]))
    3
    """
    signature = inspect.signature(f)

    @functools.wraps(f)
    def checked(*args, **kwargs):
        hints = typing.get_type_hints(f)
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            hint = hints.get(name)
            origin = typing.get_origin(hint) or hint
            if not (isinstance(origin, type) and issubclass(origin, IterDataPipe)):
                continue
            if not isinstance(value, IterDataPipe):
                raise TypeError(f"Expected argument '{name}' as a IterDataPipe, but found {type(value)}")
            wanted = (typing.get_args(hint) or (typing.Any,))[0]
            if not _narrower(value.type, wanted):
                raise TypeError(f"Expected type of argument '{name}' as a subtype of hint {hint}, but found {value.type}")
        return f(*args, **kwargs)

    return checked


_checking = True


class runtime_validation_disabled:
    """A context in which `runtime_validation` checks nothing.

    >>> with torch.utils.data.runtime_validation_disabled():
    ...     pass
    """

    def __init__(self):
        global _checking
        self._before, _checking = _checking, False

    def __enter__(self):
        return None

    def __exit__(self, *_):
        global _checking
        _checking = self._before


def runtime_validation(f):
    """A decorator of ``__iter__`` that checks the items against the type that the class was declared with. RuntimeError for an item of another.

    >>> class Ints(torch.utils.data.IterDataPipe[int]):
    ...     @torch.utils.data.runtime_validation
    ...     def __iter__(self):
    ...         yield 1
    >>> list(Ints())
    [1]
    """

    @functools.wraps(f)
    def checked(self):
        for item in f(self):
            if _checking and not _fits(item, self.type):
                raise RuntimeError(f"Expected an instance as subtype of {self.type}, but found {item} of {type(item)}")
            yield item

    return checked
