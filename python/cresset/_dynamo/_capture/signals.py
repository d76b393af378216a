"""How a capture ends early. These are no errors of the program: they pass through its handlers."""


class Break(BaseException):
    """The graph ends before the instruction that is being executed. `reason` is for people, `hint` says what to change."""

    def __init__(self, reason, hint=""):
        super().__init__(reason)
        self.reason, self.hint = reason, hint


class Skip(BaseException):
    """The whole frame runs as it is."""

    def __init__(self, reason, hint=""):
        super().__init__(reason)
        self.reason, self.hint = reason, hint


class Stop(BaseException):
    """The capture has come to the step where it is to stop."""


class Uninitialized(BaseException):
    """The capture starts again once `initialize` has made the parameters of a lazy module, as its first call does."""

    def __init__(self, initialize):
        super().__init__("a lazy module")
        self.initialize = initialize


class Restart(BaseException):
    """The capture starts again: it has learnt something about the frame."""
