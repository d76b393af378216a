"""Pruning: masks on weights, applied by hooks before forward."""

import abc
from collections.abc import Iterable
from numbers import Integral, Real

import cresset as torch

from . import _hooked


def _count(amount, size):
    """How many of `size` an amount is: a number of them, or a share. TypeError and ValueError for what is neither."""
    if isinstance(amount, bool) or not isinstance(amount, Real):
        raise TypeError(f"invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, Integral) and amount < 0) or (not isinstance(amount, Integral) and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(f"amount={amount}: expected a float within [0, 1] or an int of 0 or more")
    count = int(amount) if isinstance(amount, Integral) else round(float(amount) * size)
    if count > size:
        raise ValueError(f"amount={amount} is above the number of elements={size}")
    return count


def _whole(mask, dim, rows):
    """Zero out rows of a mask along a dimension."""
    mask.transpose(0, dim)[rows] = 0
    return mask


def _scores_of(tensor, importance_scores):
    """The scores by which to prune: those given, or the tensor itself."""
    scores = tensor if importance_scores is None else importance_scores
    if scores.shape != tensor.shape:
        raise AssertionError(f"expected importance_scores of shape {tuple(tensor.shape)}, got {tuple(scores.shape)}")
    return scores


class BasePruningMethod(abc.ABC):
    """A way to prune: subclasses define `compute_mask(t, default_mask)` and PRUNING_TYPE, unstructured, structured or global.

    >>> nn.utils.prune.Identity().compute_mask(torch.ones(2), torch.ones(2)).tolist()
    [1.0, 1.0]
    """

    def __call__(self, module, inputs):
        masked = self.apply_mask(module)
        setattr(module, self._tensor_name, masked)

    @abc.abstractmethod
    def compute_mask(self, t, default_mask):
        """The new mask of tensor `t`, given the one it has."""

    def apply_mask(self, module):
        """The tensor of the module times its mask. AssertionError when it was not pruned."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"apply_mask: expected a module that was pruned, got {module}")
        original = getattr(module, name + "_orig")
        return getattr(module, name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune tensor `name` of a module; a tensor pruned before combines its masks. Returns the method as registered."""
        hook = cls(*args, **kwargs)
        hook._tensor_name = name
        number = _hooked.number_of(module, BasePruningMethod, name, "_tensor_name")
        fresh = number is None
        if not fresh:
            before = module._forward_pre_hooks.pop(number)
            whole = before if isinstance(before, PruningContainer) else PruningContainer(before)
            whole.add_pruning_method(hook)
            hook = whole
        original = getattr(module, name if fresh else name + "_orig")
        mask = torch.ones_like(original) if fresh else getattr(module, name + "_mask")
        mask = hook.compute_mask(_scores_of(original, importance_scores).detach(), default_mask=mask.detach())
        if fresh:
            module.register_parameter(name + "_orig", module._parameters.pop(name))
        module._buffers[name + "_mask"] = mask
        hook(module, None)
        module.register_forward_pre_hook(hook)
        return hook

    def prune(self, t, default_mask=None, importance_scores=None):
        """A pruned copy of a tensor.

        >>> nn.utils.prune.L1Unstructured(1).prune(torch.tensor([1.0, 2.0])).tolist()
        [0.0, 2.0]
        """
        scores = _scores_of(t, importance_scores)
        return t * self.compute_mask(scores, torch.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module):
        """Make the tensor a parameter again, pruned for good."""
        name = self._tensor_name
        masked = self.apply_mask(module).data
        module.__dict__.pop(name, None)
        original = module._parameters.pop(name + "_orig")
        original.data = masked
        module._buffers.pop(name + "_mask")
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several ways to prune one tensor, one after the other; each sees what the ones before have left.

    >>> p = nn.utils.prune
    >>> len(p.PruningContainer(p.Identity()))
    1
    """

    def __init__(self, *args):
        self._pruning_methods = ()
        methods = tuple(args[0]) if len(args) == 1 and isinstance(args[0], Iterable) else args
        self._tensor_name = methods[0]._tensor_name if methods and hasattr(methods[0], "_tensor_name") else None
        for one in methods:
            self.add_pruning_method(one)

    def add_pruning_method(self, method):
        """Add a way to prune. TypeError for what is none, ValueError for one of another tensor."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is no subclass of BasePruningMethod")
        if method is not None and self._tensor_name is not None and self._tensor_name != getattr(method, "_tensor_name", self._tensor_name):
            raise ValueError(f"add_pruning_method: expected one for the parameter '{self._tensor_name}', got '{method._tensor_name}'")
        self._pruning_methods = (*self._pruning_methods, method)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        yield from self._pruning_methods

    def __getitem__(self, index):
        return self._pruning_methods[index]

    def compute_mask(self, t, default_mask):
        """The mask of the last method on what the mask so far has left."""
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype)
        kind, new = method.PRUNING_TYPE, mask.clone()
        if kind not in ("unstructured", "structured", "global"):
            raise ValueError(f"expected a PRUNING_TYPE of unstructured, structured or global, got {kind}")
        if kind == "structured":
            dim = method.dim % t.dim() if hasattr(method, "dim") else 0
            alive = mask.sum([d for d in range(t.dim()) if d != dim]) != 0
            rows = alive.nonzero().squeeze(1)
            part = method.compute_mask(t.index_select(dim, rows), default_mask=mask.index_select(dim, rows))
            new.transpose(0, dim)[rows] = part.transpose(0, dim)
        elif kind == "unstructured":
            chosen = mask == 1
            new[chosen] = method.compute_mask(t[chosen], default_mask=mask[chosen]).to(mask.dtype)
        else:
            new = method.compute_mask(t, default_mask=mask).to(mask.dtype)
        return new


class Identity(BasePruningMethod):
    """Prunes nothing, and sets up the mask.

    >>> list(nn.utils.prune.identity(nn.Linear(2, 2), "bias").state_dict())
    ['weight', 'bias_orig', 'bias_mask']
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes `amount` elements at random.

    >>> int(nn.utils.prune.RandomUnstructured(2).prune(torch.ones(5)).sum())
    3
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _count(amount, float("inf") if isinstance(amount, Integral) else 1)
        self.amount = amount

    def _scores(self, t):
        # As in PyTorch the largest draws go.
        return -torch.rand_like(t)

    def compute_mask(self, t, default_mask):
        count = _count(self.amount, t.nelement())
        mask = default_mask.contiguous().clone()
        if count:
            mask.view(-1)[self._scores(t).reshape(-1).topk(count, largest=False)[1]] = 0
        return mask


class L1Unstructured(RandomUnstructured):
    """Prunes the `amount` elements nearest to zero.

    >>> nn.utils.prune.L1Unstructured(0.5).prune(torch.tensor([1.0, -2.0])).tolist()
    [0.0, -2.0]
    """

    def _scores(self, t):
        return t.abs()


class RandomStructured(BasePruningMethod):
    """Prunes `amount` indices of dimension `dim` at random.

    >>> nn.utils.prune.RandomStructured(1, dim=0).prune(torch.ones(3, 2)).sum().item()
    4.0
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        _count(amount, float("inf") if isinstance(amount, Integral) else 1)
        self.amount = amount
        self.dim = dim

    def _scores(self, t, dim):
        return torch.rand(t.shape[dim])

    def compute_mask(self, t, default_mask):
        if t.dim() <= 1:
            raise ValueError(f"structured pruning can only be applied to multidimensional tensors, got {tuple(t.shape)}")
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"invalid index {self.dim} for tensor of size {tuple(t.shape)}")
        dim = self.dim % t.dim()
        count = _count(self.amount, t.shape[dim])
        if not count:
            return default_mask
        rows = self._scores(t, dim).topk(count, largest=False)[1]
        return _whole(default_mask.clone(), dim, rows)


class LnStructured(RandomStructured):
    """Prunes the `amount` indices of dimension `dim` with the smallest norm of order `n`.

    >>> nn.utils.prune.LnStructured(1, n=1, dim=0).prune(torch.tensor([[1.0, 1.0], [2.0, 2.0]])).tolist()
    [[0.0, 0.0], [2.0, 2.0]]
    """

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t, dim):
        return torch.norm(t, p=self.n, dim=[d for d in range(t.dim()) if d != dim])


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask.

    >>> nn.utils.prune.CustomFromMask(torch.tensor([0.0, 1.0])).prune(torch.ones(2)).tolist()
    [0.0, 1.0]
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        mask, expected = self.mask, default_mask.shape
        if mask.shape != expected:
            raise AssertionError(f"expected a mask of shape {tuple(expected)}, got {tuple(mask.shape)}")
        return default_mask * mask.to(dtype=default_mask.dtype)


def _pruned(method, module, name, *args, **kwargs):
    method.apply(module, name, *args, **kwargs)
    return module


def identity(module, name):
    """Set up the mask of a tensor without pruning; returns the module. The functions below do the same and prune.

    >>> type(nn.utils.prune.identity(nn.Linear(2, 2), "weight").weight_mask).__name__
    'Tensor'
    """
    return _pruned(Identity, module, name)


def random_unstructured(module, name, amount):
    """Prune `amount` elements at random, a number of them or a share.

    >>> int(nn.utils.prune.random_unstructured(nn.Linear(2, 2), "weight", 0.5).weight_mask.sum())
    2
    """
    return _pruned(RandomUnstructured, module, name, amount)


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the `amount` elements nearest to zero, or of the smallest scores.

    >>> int(nn.utils.prune.l1_unstructured(nn.Linear(2, 2), "weight", 1).weight_mask.sum())
    3
    """
    return _pruned(L1Unstructured, module, name, amount, importance_scores=importance_scores)


def random_structured(module, name, amount, dim):
    """Prune `amount` indices of a dimension at random.

    >>> int(nn.utils.prune.random_structured(nn.Linear(2, 3), "weight", 1, dim=0).weight_mask.sum())
    4
    """
    return _pruned(RandomStructured, module, name, amount, dim)


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the `amount` indices of a dimension with the smallest norm of order `n`.

    >>> int(nn.utils.prune.ln_structured(nn.Linear(2, 3), "weight", 1, n=2, dim=1).weight_mask.sum())
    3
    """
    return _pruned(LnStructured, module, name, amount, n, dim, importance_scores=importance_scores)


def custom_from_mask(module, name, mask):
    """Prune by a mask.

    >>> nn.utils.prune.custom_from_mask(nn.Linear(1, 2), "bias", torch.tensor([0.0, 1.0])).bias_mask.tolist()
    [0.0, 1.0]
    """
    return _pruned(CustomFromMask, module, name, mask)


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune tensors, given as pairs of module and name, as if they were one. TypeError for another kind of method.

    >>> net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    >>> nn.utils.prune.global_unstructured([(m, "weight") for m in net], nn.utils.prune.L1Unstructured, amount=3)
    >>> int(sum(m.weight_mask.sum() for m in net))
    5
    """
    if not isinstance(parameters, Iterable):
        raise TypeError(f"global_unstructured(): parameters is not an Iterable, got {type(parameters).__name__}")
    parameters, given = list(parameters), importance_scores or {}
    method = pruning_method(**kwargs)
    if (kind := method.PRUNING_TYPE) != "unstructured":
        raise TypeError(f"global_unstructured: expected an unstructured pruning_method, got one that is {kind}")
    tensors = [getattr(module, name) for module, name in parameters]
    scores = torch.cat([given.get(key, tensor).detach().reshape(-1) for key, tensor in zip(parameters, tensors, strict=True)])
    masks = torch.cat([getattr(m, n + "_mask", torch.ones_like(t)).reshape(-1) for (m, n), t in zip(parameters, tensors, strict=True)])
    final, start = PruningContainer(method).compute_mask(scores, masks), 0
    for (module, name), tensor in zip(parameters, tensors, strict=True):
        custom_from_mask(module, name, final[start : start + tensor.numel()].view(tensor.shape))
        start += tensor.numel()


def remove(module, name):
    """Make a pruned tensor an ordinary parameter again, pruned for good; returns the module. ValueError when it was not pruned.

    >>> list(nn.utils.prune.remove(nn.utils.prune.identity(nn.Linear(1, 1), "bias"), "bias").state_dict())
    ['weight', 'bias']
    """
    return _hooked.take_off(module, BasePruningMethod, name, "remove", "_tensor_name")


def is_pruned(module):
    """Whether a module or one below it is pruned.

    >>> nn.utils.prune.is_pruned(nn.Linear(1, 1))
    False
    """
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())
