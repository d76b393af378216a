#pragma once
// Levels of vmap and forward mode that nodes of a graph open and close, as captured programs do. A graph numbers them by their nesting, from 1.

#include "cresset/graph/ir/builtin.h"

namespace cresset::graph {

// Ends, with itself, the levels that were opened in it on this thread: a run that fails does not come to the nodes that do. ExportedProgram::run has one; who runs a
// Program of such a graph by himself wants one around it.
class CRESSET_API LevelScope {
 public:
  LevelScope();
  ~LevelScope();
  LevelScope(const LevelScope&) = delete;
  LevelScope& operator=(const LevelScope&) = delete;

 private:
  size_t depth_;
};

// The builtins "ir::begin_vmap" and the like.
std::vector<Builtin> level_builtins();

}  // namespace cresset::graph
