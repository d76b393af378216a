"""Events of agents and workers."""

import dataclasses
import enum
import json
import logging
from typing import Union

__all__ = ["Event", "EventMetadataValue", "EventSource", "RdzvEvent", "record"]

EventMetadataValue = Union[str, int, float, bool, None]
_log = logging.getLogger("torchelastic.events")
_log.addHandler(logging.NullHandler())


class EventSource(str, enum.Enum):
    """Who an event comes from.

    >>> from cresset.distributed.elastic.events import EventSource
    >>> EventSource.AGENT.value
    'AGENT'
    """

    AGENT = "AGENT"
    WORKER = "WORKER"


@dataclasses.dataclass
class Event:
    """Something that happened: `serialize()` gives JSON, `deserialize` reads it.

    >>> from cresset.distributed.elastic.events import Event, EventSource
    >>> Event.deserialize(Event("e", EventSource.AGENT).serialize()).name
    'e'
    """

    name: str
    source: EventSource
    timestamp: int = 0
    metadata: dict = dataclasses.field(default_factory=dict)

    def serialize(self):
        """The event as JSON."""
        return json.dumps({**dataclasses.asdict(self), "source": self.source.value})

    def __str__(self):
        return self.serialize()

    @staticmethod
    def deserialize(data):
        """An event from JSON; an event is itself."""
        if isinstance(data, Event):
            return data
        fields = json.loads(data)
        fields["source"] = EventSource[fields["source"]]
        return Event(**fields)


@dataclasses.dataclass
class RdzvEvent:
    """Something that happened in a rendezvous.

    >>> from cresset.distributed.elastic.events import RdzvEvent
    >>> RdzvEvent('joined', 'job', 'a node').name
    'joined'
    """

    name: str
    run_id: str
    message: str
    hostname: str = ""
    pid: int = 0
    node_state: str = "RUNNING"
    rank: int | None = None

    def serialize(self):
        """The event as JSON."""
        return json.dumps(dataclasses.asdict(self))


def record(event, destination="null"):
    """Writes an event to the log.

    >>> from cresset.distributed.elastic.events import Event, EventSource, record
    >>> record(Event("e", EventSource.WORKER))
    """
    _log.info(event.serialize())
