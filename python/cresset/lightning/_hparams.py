"""Arguments of __init__ that are kept with checkpoints."""

import copy
import inspect


class AttributeDict(dict):
    """A dict whose keys are attributes too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no hyperparameter {name!r}, only {', '.join(map(repr, self))}") from None

    def __setattr__(self, name, value):
        self[name] = value

    def __repr__(self):
        width = max((len(str(key)) for key in self), default=0)
        return "\n".join(f'"{key}":{" " * (width - len(str(key)) + 1)}{value}' for key, value in sorted(self.items()))


def arguments_of(frame):
    """The arguments that the __init__ methods of the object in a frame were called with; those of subclasses count first."""
    found, this, is_within = {}, frame.f_locals.get("self"), False
    while frame is not None and frame.f_code.co_name == "__init__" and frame.f_locals.get("self") is this:
        is_within = True
        info = inspect.getargvalues(frame)
        found.update({name: info.locals[name] for name in info.args[1:]})
        if info.keywords:
            found.update(info.locals[info.keywords])
        frame = frame.f_back
    if not is_within:
        raise ValueError("save_hyperparameters: it is called in __init__")
    return found


class HyperparametersMixin:
    _hparams = None
    _log_hyperparams = True

    def save_hyperparameters(self, *args, ignore=None, frame=None, logger=True):
        """Keeps arguments of `__init__` as `hparams`, which checkpoints hold and loggers show.

        Args:
            args: names of those that are kept, or one dict of values; none: all.
            ignore: a name or several that are not kept.
            frame: of the call whose arguments these are; None: of the caller.
            logger: whether loggers show them.
        """
        frame = frame or inspect.currentframe().f_back
        if len(args) == 1 and not isinstance(args[0], str):
            found = dict(args[0]) if isinstance(args[0], dict) else dict(vars(args[0]))
        else:
            found = arguments_of(frame)
            found = {name: found[name] for name in args} if args else found
        ignored = {ignore} if isinstance(ignore, str) else set(ignore or ())
        self._hparams = AttributeDict({**(self._hparams or {}), **{name: value for name, value in found.items() if name not in ignored}})
        self._log_hyperparams = logger

    @property
    def hparams(self):
        """Values that `save_hyperparameters` kept; values may change."""
        if self._hparams is None:
            self._hparams = AttributeDict()
        return self._hparams

    @property
    def hparams_initial(self):
        """A copy of what was kept."""
        return copy.deepcopy(self.hparams)
