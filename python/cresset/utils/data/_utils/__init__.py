"""Parts of the loader that users reach into."""

from . import collate  # noqa: F401
