"""Scaling of losses, so that gradients that float16 would lose do not vanish."""

import enum
import inspect
import itertools
import warnings
from collections import defaultdict

from _cresset import Tensor

from .. import _amp_foreach_non_finite_check_and_unscale_, _amp_update_scale_, full, int32, no_grad
from .. import float16 as _float16
from .. import float32 as _float32

__all__ = ["OptState", "GradScaler"]


class OptState(enum.Enum):
    """Progress of an optimizer's gradients since the last update.

    >>> torch.amp.grad_scaler.OptState.READY.value
    0
    """

    READY = 0
    UNSCALED = 1
    STEPPED = 2


_UNSCALES_ITSELF = "_step_supports_amp_scaling"  # the flag of an optimizer
_MOVERS = ("growth_factor", "backoff_factor", "growth_interval")


def _fresh():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Multiplies losses by a scale that grows while gradients are finite and shrinks when they are not; steps with infinite or NaN gradients are left out.

    A step is `scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()`, with `scaler.unscale_(optimizer)` before `step` where
    gradients are looked at or clipped. The scale starts at `init_scale`, is multiplied by `backoff_factor` at an `update` after gradients
    that were not finite, and by `growth_factor` after `growth_interval` updates in a row without. With enabled=False, and on "cuda" where there
    is no such device (which warns), all that does nothing and `step` is the optimizer's.

    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.5)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)
    >>> scaler.scale((w * 2).sum()).backward(); w.grad
    tensor([8., 8.])
    >>> scaler.step(optimizer); scaler.update(); w
    tensor([0., 0.], requires_grad=True)
    >>> scaler.get_scale()
    8.0
    """

    def __init__(self, device="cuda", init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        self._device = str(device)
        self._enabled = enabled
        if enabled and self._device.split(":")[0] == "cuda":
            from .. import cuda

            if not cuda.is_available():
                warnings.warn("GradScaler: there is no CUDA device, the scaler stays off.", stacklevel=2)
                self._enabled = False
        if self._enabled:
            if not growth_factor > 1.0 > backoff_factor:
                raise AssertionError(f"GradScaler: expected growth_factor > 1 > backoff_factor, got {growth_factor} and {backoff_factor}")
            self._init_scale, self._init_growth_tracker = init_scale, 0
            self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
            # Tensors, made where the first loss is.
            self._scale = None
            self._growth_tracker = None
            self._per_optimizer_states = defaultdict(_fresh)

    def _check_started(self, function):
        hint = "Was a loss passed through scaler.scale?"
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(f"Attempted {function} but {name} is None.  {hint}")

    def _start(self, device):
        for name, value, dtype in (("_scale", self._init_scale, _float32), ("_growth_tracker", self._init_growth_tracker, int32)):
            setattr(self, name, full((), value, dtype=dtype, device=device))

    def scale(self, outputs):
        """A tensor, or a list, tuple or other iterable of such, times the scale. ValueError for anything else.

        >>> torch.amp.GradScaler("cpu", init_scale=8.0).scale([torch.ones(2), torch.tensor(0.5)])
        [tensor([8., 8.]), tensor(4.)]
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._start(outputs.device)
            return outputs * self._scale.to(device=outputs.device, non_blocking=True)
        if hasattr(outputs, "__iter__") and not isinstance(outputs, (str, bytes)):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError(f"scale: expected a tensor or an iterable of them, got {type(outputs).__name__}")

    @no_grad()
    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        """Unscales gradients; returns for each device whether any was infinite or NaN. An error leaves them as they are."""
        grads = []
        for param in itertools.chain.from_iterable(group["params"] for group in optimizer.param_groups):
            if not isinstance(param, Tensor):
                raise AssertionError(f"expected parameters to be tensors, got {type(param).__name__}")
            if (grad := param.grad) is None:
                continue
            if grad.dtype is _float16 and not allow_fp16:
                raise ValueError("unscale_: expected gradients of higher precision than float16.")
            if grad.is_sparse and grad.dtype is _float16:
                # Sums of float16 could be infinite where their terms are not.
                param.grad = grad = grad.coalesce()
            grads.append(grad._values() if grad.is_sparse else grad)
        found = {}
        for device in dict.fromkeys(grad.device for grad in grads):
            found[device] = found_inf.to(device, copy=True)
            _amp_foreach_non_finite_check_and_unscale_([grad for grad in grads if grad.device == device], found[device], inv_scale.to(device))
        return found

    def unscale_(self, optimizer):
        """Divides the gradients of an optimizer, in place, by the scale, and notes whether they are finite.

        Once between updates: RuntimeError for a second time and after `step`; ValueError for float16 gradients.

        >>> w = torch.ones(1, requires_grad=True)
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        >>> scaler.scale(w.sum()).backward()
        >>> scaler.unscale_(optimizer); w.grad
        tensor([1.])
        """
        if not self._enabled:
            return
        self._check_started("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_: called twice for this optimizer without an update() between.")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_: expected before step(), got after it.")
        scale = self._scale
        nothing = full((), 0.0, dtype=_float32, device=scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, (1 / scale.double()).to(_float32), nothing, False)
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
        if any(found.item() for found in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def step(self, optimizer, *args, **kwargs):
        """Unscales the gradients unless that is done, and steps unless some are infinite or NaN. Returns what the optimizer's `step` returns.

        Once between updates: RuntimeError for a second time, and for a closure. AssertionError where no parameter has a gradient.

        >>> w = torch.ones(1, requires_grad=True)
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> scaler = torch.amp.GradScaler("cpu")
        >>> scaler.scale(w.sum() * float("inf")).backward()
        >>> scaler.step(optimizer); scaler.update(); w, scaler.get_scale()
        (tensor([1.], requires_grad=True), 32768.0)
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("step: an enabled GradScaler takes no closure.")
        self._check_started("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step: called twice without an update() between.")
        if getattr(optimizer, _UNSCALES_ITSELF, False):
            return self._step_of_its_own(optimizer, state, args, kwargs)
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("step: this optimizer has no gradients that were checked for infinities.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_of_its_own(self, optimizer, state, args, kwargs):
        """An optimizer that unscales by itself gets the scale and what was found."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn("GradScaler: an optimizer whose step takes grad_scaler is deprecated; let it read grad_scale and found_inf of itself", FutureWarning, stacklevel=3)  # fmt: skip
            result = optimizer.step(*args, **{**kwargs, "grad_scaler": self})
        else:
            if state["stage"] is OptState.READY:
                self._check_inf_per_device(optimizer)
            found = sum(t.to(self._scale.device) for t in state["found_inf_per_device"].values())
            optimizer.grad_scale = None if state["stage"] is OptState.UNSCALED else self._get_scale_async()
            optimizer.found_inf = found
            try:
                result = optimizer.step(*args, **kwargs)
            finally:
                del optimizer.grad_scale, optimizer.found_inf
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale=None):
        """Ends a step: moves the scale by what the optimizers' gradients were, or sets it to a float or to a tensor of one float32.

        AssertionError where nothing was unscaled since the last update, and for another kind of scale.

        >>> scaler = torch.amp.GradScaler("cpu")
        >>> scaler.scale(torch.ones(())); scaler.update(2.0); scaler.get_scale()
        tensor(65536.)
        2.0
        """
        if not self._enabled:
            return
        self._check_started("update")
        if new_scale is not None:
            if isinstance(new_scale, (float, int)) and not isinstance(new_scale, bool):
                self._scale.fill_(new_scale)
            else:
                kind = new_scale.dtype if isinstance(new_scale, Tensor) else type(new_scale).__name__
                if kind is not _float32 or new_scale.numel() != 1 or new_scale.requires_grad:
                    raise AssertionError(f"new_scale should be a float or a 1-element float32 tensor with requires_grad=False, got {kind}")
                self._scale.copy_(new_scale.reshape(()))
        else:
            found = [t for state in self._per_optimizer_states.values() for t in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("update: no gradients were checked for infinities before.")
            self._move(any(t.item() for t in found))
        self._per_optimizer_states = defaultdict(_fresh)

    def _move(self, found_inf):
        _amp_update_scale_(self._scale, self._growth_tracker, full((), float(found_inf), dtype=_float32, device=self._scale.device),
                           self._growth_factor, self._backoff_factor, self._growth_interval)  # fmt: skip

    def _get_scale_async(self):
        return self._scale

    def get_scale(self):
        """The scale as a float; 1 where scaling is off.

        >>> torch.amp.GradScaler("cpu").get_scale(), torch.amp.GradScaler("cpu", enabled=False).get_scale()
        (65536.0, 1.0)
        """
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """Factor of the scale when it grows.

        >>> torch.amp.GradScaler("cpu").get_growth_factor()
        2.0
        """
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets what the scale is multiplied by when it grows.

        >>> scaler = torch.amp.GradScaler("cpu")
        >>> scaler.set_growth_factor(4.0); scaler.get_growth_factor()
        4.0
        """
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """Factor of the scale after gradients that were not finite.

        >>> torch.amp.GradScaler("cpu").get_backoff_factor()
        0.5
        """
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets what the scale is multiplied by after gradients that were not finite.

        >>> scaler = torch.amp.GradScaler("cpu")
        >>> scaler.set_backoff_factor(0.25); scaler.get_backoff_factor()
        0.25
        """
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """How many updates in a row with finite gradients make the scale grow.

        >>> torch.amp.GradScaler("cpu").get_growth_interval()
        2000
        """
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets how many updates in a row with finite gradients make the scale grow.

        >>> scaler = torch.amp.GradScaler("cpu")
        >>> scaler.set_growth_interval(100); scaler.get_growth_interval()
        100
        """
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self):
        """Whether losses are scaled.

        >>> torch.amp.GradScaler("cpu", enabled=False).is_enabled()
        False
        """
        return self._enabled

    def state_dict(self):
        """The scale and what moves it, to be saved after `update`; empty where scaling is off.

        >>> torch.amp.GradScaler("cpu").state_dict()
        {'scale': 65536.0, 'growth_factor': 2.0, 'backoff_factor': 0.5, 'growth_interval': 2000, '_growth_tracker': 0}
        """
        if not self._enabled:
            return {}
        movers = {name: getattr(self, "_" + name) for name in _MOVERS}
        return {"scale": self.get_scale(), **movers, "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict):
        """Takes what `state_dict` gave; does nothing where scaling is off.

        Errors: RuntimeError for the empty state of a scaler that was off, KeyError for one that lacks an entry; nothing is changed then.

        >>> scaler = torch.amp.GradScaler("cpu")
        >>> scaler.load_state_dict({**scaler.state_dict(), "scale": 2.0}); scaler.get_scale()
        2.0
        """
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError("load_state_dict: expected a state, got an empty dict, which a disabled GradScaler saves.")
        scale, tracker, *movers = (state_dict[name] for name in ("scale", "_growth_tracker", *_MOVERS))
        self.__dict__.update(_init_scale=scale, _init_growth_tracker=tracker, **{f"_{name}": value for name, value in zip(_MOVERS, movers)})
        if self._scale is not None:
            self._scale.fill_(scale)
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(tracker)

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            if len(self._per_optimizer_states) != 0:
                raise AssertionError("GradScaler: pickle it between iterations, after update().")
            # Losses of the process that unpickles it may be on another device.
            state.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker(), _scale=None, _growth_tracker=None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer):
        self._check_started("_check_inf_per_device")
        one = full((), 1.0, dtype=_float32, device=self._scale.device)
        found_inf = full((), 0.0, dtype=_float32, device=self._scale.device)
        found = self._unscale_grads_(optimizer, one, found_inf, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
