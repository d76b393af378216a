#pragma once
// Graphs of TorchScript: torch/detail/script_graph.h.

#include "torch/detail/script_graph.h"
#include "torch/script.h"
