"""Kullback-Leibler divergences: the rules by pairs of classes. Most are rows of ops/distributions/divergences.toml."""

import functools
import warnings

from . import _rows
from .exp_family import ExponentialFamily
from .independent import Independent
from .transformed_distribution import TransformedDistribution
from .utils import _sum_rightmost

__all__ = ["register_kl", "kl_divergence"]

_RULES = {}  # (class of p, class of q) -> rule
_FOUND = {}  # the rule found for a pair of classes, until the next registration


def register_kl(type_p, type_q):
    """A decorator that makes a function the rule for divergences of `type_p` from `type_q`, classes of distributions, or their subclasses.

    The rule of the most derived classes is taken. Where that is not one rule, `kl_divergence` warns and goes by the first class: register the
    pair itself to choose. Raises TypeError for anything else than classes.

    >>> class Mine(torch.distributions.Normal):
    ...     pass
    >>> @torch.distributions.register_kl(Mine, torch.distributions.Normal)
    ... def kl_of_mine(p, q):
    ...     return torch.tensor(42.0)
    >>> torch.distributions.kl_divergence(Mine(0.0, 1.0), torch.distributions.Normal(0.0, 1.0))
    tensor(42.)
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type):  # any class: those of Pyro are no subclasses of Distribution
            raise TypeError(f"register_kl: expected classes of distributions, got {kind!r}")

    def register(rule):
        _FOUND.clear()
        _RULES[type_p, type_q] = rule
        return rule

    return register


def _most_derived(pairs):
    """Of pairs of classes that all fit the same objects: the one whose first class is the most derived, then whose second is."""
    best, *others = pairs
    for a, b in others:
        closer = issubclass(a, best[0]) if a is not best[0] else issubclass(b, best[1])
        best = (a, b) if closer else best
    return best


def _rule_for(kind_p, kind_q):
    """The rule, or None."""
    _register_rows()
    fitting = [pair for pair in _RULES if issubclass(kind_p, pair[0]) and issubclass(kind_q, pair[1])]
    if not fitting:
        return None
    by_first = _most_derived(fitting)
    by_second = _most_derived([pair[::-1] for pair in fitting])[::-1]
    if _RULES[by_first] is not _RULES[by_second]:
        warnings.warn(
            f"kl_divergence: several rules fit {kind_p.__name__} and {kind_q.__name__}; register_kl for {by_first[0].__name__} and "
            f"{by_second[1].__name__} decides",
            RuntimeWarning,
            stacklevel=3,
        )
    return _RULES[by_first]


def kl_divergence(p, q):
    r"""KL(p || q), the expectation of log p(x) - log q(x) under p, of each distribution of the batch.

    Raises NotImplementedError where there is no rule for the two classes; `register_kl` adds one.

    >>> T = torch.distributions
    >>> T.kl_divergence(T.Normal(0.0, 1.0), T.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    kinds = type(p), type(q)
    if kinds not in _FOUND:
        _FOUND[kinds] = _rule_for(*kinds)
    rule = _FOUND[kinds]
    if rule is None:
        raise NotImplementedError(f"kl_divergence: no rule for {kinds[0].__name__} and {kinds[1].__name__}")
    return rule(p, q)


@functools.cache
def _register_rows():
    """Once, when all classes are there; a user's rule for a pair stays."""
    from cresset import distributions

    rules = {}
    for text in _rows.divergences:
        kind_p, kind_q, rule = text.split(" ", 2)
        pair = getattr(distributions, kind_p), getattr(distributions, kind_q)
        _RULES.setdefault(pair, rules.setdefault(rule, _rows.divergence(rule)))


@register_kl(ExponentialFamily, ExponentialFamily)
def _bregman(p, q):
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(f"kl_divergence: no rule for the families {type(p).__name__} and {type(q).__name__}, expected two of one kind")
    own, normalizer, slopes = p._normalizer_with_gradients()
    theirs = q._natural_params
    result = q._log_normalizer(*theirs) - normalizer
    for mine, other, slope in zip(own, theirs, slopes, strict=True):
        result = result - _sum_rightmost((other - mine) * slope, len(q.event_shape))
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _same_transforms(p, q):
    if p.event_shape != q.event_shape or p.transforms != q.transforms:
        kinds = f"{type(p).__name__} and {type(q).__name__}"
        raise NotImplementedError(f"kl_divergence: {kinds} differ in their transforms or event shapes")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p, q):
    counts = p.reinterpreted_batch_ndims, q.reinterpreted_batch_ndims
    if counts[0] != counts[1]:
        raise NotImplementedError(f"kl_divergence: Independent: expected one reinterpreted_batch_ndims, got {counts[0]} and {counts[1]}")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), counts[0])


def __getattr__(name):
    if name == "_KL_REGISTRY":  # PyTorch's name of the rules, in which libraries look for pairs of classes
        _register_rows()
        return _RULES
    from cresset._core import missing

    return missing.found(__name__, name)
