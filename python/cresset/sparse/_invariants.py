"""Whether sparse tensors are checked when they are made."""

import functools

_state = [False]


def enabled():
    return _state[0]


class check_sparse_tensor_invariants:
    """A scope or decorator in which the parts of new sparse tensors are checked (or, with `enable=False`, are not); `enable()`,
    `disable()` and `is_enabled()` change and tell the same without a scope.

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    @staticmethod
    def is_enabled():
        """Whether parts are checked where a call does not say."""
        return _state[0]

    @staticmethod
    def enable():
        """From now on parts are checked."""
        _state[0] = True

    @staticmethod
    def disable():
        """From now on parts are not checked."""
        _state[0] = False

    def __init__(self, enable=True):
        self.state, self.saved_state = enable, None

    def __enter__(self):
        if self.saved_state is not None:
            raise RuntimeError("check_sparse_tensor_invariants: this object is entered already; make another one to nest.")
        self.saved_state = _state[0]
        _state[0] = self.state

    def __exit__(self, kind, value, traceback):
        _state[0], self.saved_state = self.saved_state, None

    def __call__(self, function):
        @functools.wraps(function)
        def scoped(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)

        return scoped
