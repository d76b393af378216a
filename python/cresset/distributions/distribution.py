"""The base of all distributions."""

import warnings

import cresset as torch

from . import constraints
from .utils import broadcast_all, lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A batch of independent distributions of one kind.

    `batch_shape` is the shape of the batch, `event_shape` that of one value. Parameters are checked against `arg_constraints`, and values
    against `support`, unless `validate_args` is False.

    >>> d = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> d.batch_shape, d.event_shape
    (torch.Size([3]), torch.Size([]))
    >>> d.sample((2,)).shape
    torch.Size([2, 3])
    """

    has_rsample = has_enumerate_support = False
    _validate_args = __debug__
    #: Attributes of an object: how many of a tensor's last dimensions belong to an event; or a distribution of the same batch.
    _kept = {}

    @staticmethod
    def set_default_validate_args(value):
        """Turn checking on or off for distributions made from now on; it is on unless Python runs with -O."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args=None):
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self._constraints().items():
                self._check_parameter(name, constraint)
        super().__init__()

    def _keep(self, validate_args, **parameters):
        """Keeps parameters as tensors of one shape, that of the batch."""
        values = broadcast_all(*parameters.values())
        self.__dict__.update(zip(parameters, values, strict=True))
        Distribution.__init__(self, values[0].size(), validate_args=validate_args)

    def _constraints(self):
        try:
            return self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{type(self).__name__} says nothing of its parameters: define arg_constraints, or pass validate_args=False", stacklevel=4)
            return {}

    def _check_parameter(self, name, constraint):
        computed = name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
        if computed or constraints.is_dependent(constraint):
            return  # what it is computed from is checked
        value = getattr(self, name)
        if not constraint.check(value).all():
            raise ValueError(self._text("parameter " + name, value) + f"expected {constraint!r}, got\n{value}")

    def _text(self, what, value):
        return f"{type(self).__name__}: {what}, a {type(value).__name__} of shape {tuple(value.shape)}, is outside its constraint, "

    def _new_expanded(self, batch_shape, _instance):
        """A new object with what is kept expanded."""
        owner = next((c for c in type(self).__mro__ if "_kept" in vars(c)), Distribution)
        new = self._get_checked_instance(owner, _instance)
        for name, dims in owner._kept.items():
            value = self.__dict__.get(name)
            if isinstance(value, torch.Tensor):
                value = value.expand(batch_shape + value.shape[value.dim() - dims :])
            elif isinstance(value, Distribution):
                value = value.expand(batch_shape)
            if name in self.__dict__:
                new.__dict__[name] = value
        return new

    def expand(self, batch_shape, _instance=None):
        """The same distribution with a batch expanded to `batch_shape`; parameters are views, nothing is checked again."""
        if all("_kept" not in vars(c) for c in type(self).__mro__[: type(self).__mro__.index(Distribution)]):
            raise NotImplementedError(f"{type(self).__name__} does not implement expand")
        return self._finish_expanded(self._new_expanded(torch.Size(batch_shape), _instance), torch.Size(batch_shape))

    def _finish_expanded(self, new, batch_shape):
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    batch_shape = property(lambda self: self._batch_shape, doc="The shape over which parameters are batched.")
    event_shape = property(lambda self: self._event_shape, doc="The shape of one value.")

    def _missing(self, what):
        return NotImplementedError(f"{type(self).__name__} does not implement {what}")

    @property
    def arg_constraints(self):
        """The constraints of the parameters, by name."""
        raise self._missing("arg_constraints")

    @property
    def support(self):
        """The constraint of values."""
        raise self._missing("support")

    @property
    def mean(self):
        """The expectation."""
        raise self._missing("mean")

    @property
    def mode(self):
        """The value of greatest density or probability."""
        raise self._missing("mode")

    @property
    def variance(self):
        """The variance."""
        raise self._missing("variance")

    @property
    def stddev(self):
        """The square root of the variance."""
        return torch.sqrt(self.variance)

    def sample(self, sample_shape=torch.Size()):
        """Values of shape `sample_shape` + `batch_shape` + `event_shape`, without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        """As `sample`, with gradients with respect to the parameters: a function of them and of random numbers that do not depend on them."""
        raise self._missing("rsample")

    def sample_n(self, n):
        """Old form of `sample((n,))`; warns."""
        warnings.warn("sample_n is deprecated: call sample((n,))", UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value):
        """The logarithm of the density or probability of each event in `value`."""
        raise self._missing("log_prob")

    def cdf(self, value):
        """The probability of values up to `value`."""
        raise self._missing("cdf")

    def icdf(self, value):
        """The inverse of `cdf`: the quantile of a probability."""
        raise self._missing("icdf")

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution along a new first dimension; with `expand` for each of the batch."""
        raise self._missing("enumerate_support")

    def entropy(self):
        """The entropy of each distribution of the batch."""
        raise self._missing("entropy")

    def perplexity(self):
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape=torch.Size()):
        return torch.Size(sample_shape) + self._batch_shape + self._event_shape

    def _along_batch(self, values, expand):
        """Values of a discrete distribution along a new first dimension."""
        batch = self._batch_shape
        narrow = values.reshape(values.shape[:1] + (1,) * len(batch) + values.shape[1:])
        return narrow.expand(values.shape[:1] + batch + values.shape[1:]) if expand else narrow

    def _validate_sample(self, value):
        """Raises ValueError for what cannot be a value of this distribution."""
        kind = type(self).__name__
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"{kind}: expected a tensor as value, got {type(value).__name__}")
        batch, event = self._batch_shape, self._event_shape
        if value.shape[value.dim() - len(event) :] != event:
            raise ValueError(f"{kind}: value does not end in an event, got shape {value.shape}, expected {event} at its end")
        sizes = zip(value.shape[::-1], (batch + event)[::-1])
        if any(1 not in pair and pair[0] != pair[1] for pair in sizes):
            raise ValueError(f"{kind}: value does not broadcast against the batch, got shape {value.shape}, expected {batch + event}")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{kind} says nothing of its support: values are not checked; define support, or pass validate_args=False", stacklevel=2)
            return
        if not support.check(value).all():
            raise ValueError(self._text("value", value) + f"expected {support!r}, got\n{value}")

    def _get_checked_instance(self, cls, _instance=None):
        """A new object without parameters; refuses subclasses of `cls` whose own `__init__` keeps what `expand` does not know."""
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:
            raise NotImplementedError(f"{type(self).__name__}: expand: a subclass of {cls.__name__} with its own __init__ needs its own expand")
        return type(self).__new__(type(self))

    def __repr__(self):
        shown = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        return f"{type(self).__name__}({', '.join(f'{name}: {v if v.numel() == 1 else v.size()}' for name, v in shown)})"
