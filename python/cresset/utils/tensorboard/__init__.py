"""torch.utils.tensorboard: what training gives, written as TensorBoard reads it. Needs NumPy, and nothing of TensorBoard.

>>> import tempfile
>>> from cresset.utils.tensorboard import SummaryWriter
>>> with SummaryWriter(tempfile.mkdtemp()) as writer:
...     writer.add_scalar("loss", 0.5, 1)
"""

from ._records import RecordWriter
from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
