"""Words of exports of graphs to ONNX (`torch._C.Graph._export_onnx`)."""

import enum


class OperatorExportTypes(enum.IntEnum):
    """Which operators a graph may have besides those of ONNX and of domains of users: none, or PyTorch's, as nodes of domains of their own."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.IntEnum):
    """The mode in which a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2
