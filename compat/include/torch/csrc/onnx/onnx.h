#pragma once
// Words of exports to ONNX.

#include "cresset/graph/onnx/export.h"

namespace torch::onnx {

using cresset::graph::onnx::OperatorExportTypes;

enum class TrainingMode { EVAL, PRESERVE, TRAINING };

// The attribute that names a node of the file.
constexpr auto kOnnxNodeNameAttribute = "onnx_name";

}  // namespace torch::onnx
