"""torch.distributed.elastic.multiprocessing: of it there are the errors."""

from . import errors
