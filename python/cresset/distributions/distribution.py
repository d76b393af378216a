"""The base of all distributions."""

import warnings

import cresset as torch

from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A batch of independent laws of one kind.

    `batch_shape` is the shape of the batch, `event_shape` that of one value. Parameters are checked against `arg_constraints`, and values
    against `support`, unless `validate_args` is False.

    >>> law = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> law.batch_shape, law.event_shape
    (torch.Size([3]), torch.Size([]))
    >>> law.sample((2,)).shape
    torch.Size([2, 3])
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Turn checking on or off for distributions made from now on; it is on unless Python runs with -O."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args=None):
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()
        super().__init__()

    def _check_arguments(self):
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            wanted = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, constraint in wanted.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # computed from a parameter that is checked
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    #: What a law keeps, by attribute: how many of a tensor's last dimensions belong to an event; or a law of the same batch.
    _kept = {}

    def _new_expanded(self, batch_shape, _instance):
        """A new object with what is kept expanded."""
        owner = next((c for c in type(self).__mro__ if "_kept" in vars(c)), Distribution)
        new = self._get_checked_instance(owner, _instance)
        for name, dims in owner._kept.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                if isinstance(value, torch.Tensor):
                    value = value.expand(batch_shape + value.shape[value.dim() - dims :])
                elif isinstance(value, Distribution):
                    value = value.expand(batch_shape)
                new.__dict__[name] = value
        return new

    def expand(self, batch_shape, _instance=None):
        """The same law with a batch expanded to `batch_shape`; parameters are views, nothing is checked again."""
        if not any("_kept" in vars(c) for c in type(self).__mro__[: type(self).__mro__.index(Distribution)]):
            raise NotImplementedError
        batch_shape = torch.Size(batch_shape)
        new = self._new_expanded(batch_shape, _instance)
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self):
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """The constraints of the parameters, by name."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint of values."""
        raise NotImplementedError

    @property
    def mean(self):
        """The expectation."""
        raise NotImplementedError

    @property
    def mode(self):
        """The value of greatest density or probability."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=torch.Size()):
        """Values of shape `sample_shape` + `batch_shape` + `event_shape`, without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        """As `sample`, with gradients by the parameters: a function of them and of random numbers that do not depend on them."""
        raise NotImplementedError

    def sample_n(self, n):
        """Old form of `sample((n,))`; warns."""
        warnings.warn("sample_n will be deprecated. Use .sample((n,)) instead", UserWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density or probability of each event in `value`."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of values up to `value`."""
        raise NotImplementedError

    def icdf(self, value):
        """The inverse of `cdf`: the quantile of a probability."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete law along a new first dimension; with `expand` for each of the batch."""
        raise NotImplementedError

    def entropy(self):
        """The entropy of each law of the batch."""
        raise NotImplementedError

    def perplexity(self):
        """The exponential of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=torch.Size()):
        if not isinstance(sample_shape, torch.Size):
            sample_shape = torch.Size(sample_shape)
        return torch.Size(sample_shape + self._batch_shape + self._event_shape)

    def _validate_sample(self, value):
        """Raise ValueError for what cannot be a value of this law."""
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.dim() - len(self._event_shape)
        if value.shape[start:] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for have, want in zip(reversed(value.shape), reversed(expected)):
            if have != 1 and want != 1 and have != want:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the distribution with "
                "`validate_args=False` to turn off validation.",
                stacklevel=2,
            )
            return
        if support is None:
            raise AssertionError("support must not be None")
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support ({support!r}) "
                f"of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls, _instance=None):
        """A new object without parameters; refuses subclasses of `cls` whose own `__init__` keeps what `expand` does not know."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also define a custom "
                ".expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self):
        kept = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        text = ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in kept.items())
        return f"{self.__class__.__name__}({text})"
