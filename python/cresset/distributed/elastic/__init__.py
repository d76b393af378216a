"""torch.distributed.elastic: of it there is `multiprocessing.errors.record`; jobs have a fixed number of processes (`torch.distributed.run`)."""


def __getattr__(name):
    from cresset import _missing

    return _missing.found(__name__, name)
