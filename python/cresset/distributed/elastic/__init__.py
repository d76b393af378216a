"""torch.distributed.elastic: of it there is `multiprocessing.errors.record`; jobs have a fixed number of processes (`torch.distributed.run`)."""
