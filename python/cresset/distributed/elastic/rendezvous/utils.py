"""Endpoints and options as text."""

import random
import re
import time

__all__ = ["parse_rendezvous_endpoint"]


def parse_rendezvous_endpoint(endpoint, default_port):
    """(host, port) of "host:port", "host" or "[::1]:port". Errors: ValueError.

    >>> from cresset.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint
    >>> parse_rendezvous_endpoint("host", 29500)
    ('host', 29500)
    """
    text = (endpoint or "").strip()
    if not text:
        return "localhost", default_port
    if text.startswith("["):
        host, closed, port = text[1:].partition("]")
        if not closed or (port and not port.startswith(":")):
            raise ValueError(f"rendezvous: expected an endpoint like [::1]:29500, got {endpoint!r}")
        port = port[1:]
    else:
        host, _, port = text.partition(":")
    if not re.fullmatch(r"[\w\.:-]+", host):
        raise ValueError(f"rendezvous: expected a host name in the endpoint {endpoint!r}")
    if not port:
        return host, default_port
    if not re.fullmatch(r"\d{1,5}", port) or int(port) >= 1 << 16:
        raise ValueError(f"rendezvous: expected a port in [0, 65535] in the endpoint {endpoint!r}, got {port!r}")
    return host, int(port)


def _parse_rendezvous_config(config_str):
    """ "a=1,b=two" as a dict."""
    config = {}
    for part in (config_str or "").strip().split(","):
        if not part.strip():
            continue
        key, equals, value = (text.strip() for text in part.partition("="))
        if not key or not equals or not value:
            raise ValueError(f"rendezvous: expected options like key=value,other=value, got {config_str!r}")
        config[key] = value
    return config


def _delay(seconds):
    low, high = seconds if isinstance(seconds, tuple) else (seconds, seconds)
    time.sleep(random.uniform(low, high))
