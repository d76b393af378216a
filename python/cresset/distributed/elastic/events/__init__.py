"""Events of agents and workers: what happened, as JSON in the log "torchelastic"."""

from .api import Event, EventMetadataValue, EventSource, RdzvEvent, record

__all__ = ["Event", "EventMetadataValue", "EventSource", "RdzvEvent", "record"]
