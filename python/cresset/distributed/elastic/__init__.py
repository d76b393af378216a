"""torch.distributed.elastic: of it there is `multiprocessing.errors.record`; jobs have a fixed number of processes (`torch.distributed.run`)."""


def __getattr__(name):
    from cresset._core import missing as _missing

    return _missing.found(__name__, name)
