"""The multinomial distribution."""

from . import constraints
from ._rows import from_rows, row
from .binomial import Binomial
from .categorical import Categorical, OnCategorical

__all__ = ["Multinomial"]


@from_rows()
class Multinomial(OnCategorical):
    """How often each of K numbers comes up in `total_count` draws from `Categorical(probs, logits)`.

    >>> torch.distributions.Multinomial(2, torch.tensor([0.5, 0.5])).log_prob(torch.tensor([1.0, 1.0])).exp()
    tensor(0.5000)
    """

    _kept = {**OnCategorical._kept, "total_count": 0}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if type(total_count) is not int:
            raise NotImplementedError(f"Multinomial: expected one int as total_count for the whole batch, got {type(total_count).__name__}")
        if total_count < 0:
            raise ValueError(f"Multinomial: expected total_count of at least 0, got {total_count}")
        self.total_count = total_count
        categorical = Categorical(probs, logits)
        self._each = Binomial(total_count, categorical.probs)  # of one category
        self._stand_on(categorical, validate_args)

    def _new_expanded(self, batch_shape, _instance):
        new = super()._new_expanded(batch_shape, _instance)
        new._each = Binomial(self.total_count, new.probs, validate_args=False)
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    def entropy(self):
        choices = row("_multinomial_log_choices")(self._each.logits, self.total_count)
        return row("_multinomial_entropy_of_draws")(self._categorical.entropy(), choices, self.total_count)
