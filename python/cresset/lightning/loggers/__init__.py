"""Where metrics of a Trainer go.

>>> import tempfile
>>> logger = torch.lightning.loggers.CSVLogger(tempfile.mkdtemp())
>>> logger.log_metrics({"loss": 0.5}, step=1)
>>> logger.save()
>>> open(logger.log_dir + "/metrics.csv").read()
'step,loss\\n1,0.5\\n'
"""

from .csv_logs import CSVLogger
from .logger import Logger
from .tensorboard import TensorBoardLogger

__all__ = ["CSVLogger", "Logger", "TensorBoardLogger"]
