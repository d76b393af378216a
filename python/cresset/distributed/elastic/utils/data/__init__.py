"""Samplers for jobs whose number of processes changes."""

from .elastic_distributed_sampler import ElasticDistributedSampler

__all__ = ["ElasticDistributedSampler"]
