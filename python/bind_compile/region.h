#pragma once
// Compiled functions: for each code object and offset a list of entries, each with its guards, and the hook that runs them.

#include <unordered_map>
#include <unordered_set>

#include "python/bind_compile/guards.h"

namespace cresset::compile {

// How a frame goes on after an entry's graph has run.
enum class Then : uint8_t {
  Return,  // with what `after` returns, at the offset `at` of `clone`
  Step,    // variables and stack are what `after` returns; one instruction runs as it is, and what follows is looked up anew
  Jump,    // the same, and the instruction is a jump on the truth of the value on top of the stack
  Plain,   // there is no graph: the rest of the function runs as it is
};

// How `after`, which makes Python values of what the graph has computed, may be left out.
enum class Shape : uint8_t { General, One, Tuple };

struct Entry {
  Ref guards, graph, after, clone;
  std::vector<int> inputs, sources;  // places
  Then then = Then::Plain;
  Shape shape = Shape::General;
  int at = 0, trap = 0, next = 0, target = 0;  // offsets: of the instruction, of the trap in the clone, after it, of a jump
  int depth = 0;                               // of the stack at the trap
  bool jump_if = false, keep = false, trap_is_constant = false;
  uint64_t hits = 0;
};

struct Site {
  PyCodeObject* code;
  int offset;
  bool operator==(const Site& o) const { return code == o.code && offset == o.offset; }
};
struct SiteHash {
  size_t operator()(const Site& s) const { return std::hash<const void*>()(s.code) * 31 + static_cast<size_t>(s.offset); }
};

struct Region {
  Ref miss;  // miss(function, code, offset, slots, stack) -> an Entry, or None: this code runs as it is from now on; Ellipsis: so
             // does all that it calls; False: this time
  std::unordered_map<Site, std::vector<Ref>, SiteHash> entries;
  std::unordered_map<PyCodeObject*, Ref> codes;  // keeps them
  std::unordered_map<PyCodeObject*, bool> plain;
  std::unordered_set<PyCodeObject*> unsteady;  // whose guards did not hold for the frame they were made for
  bool compiles = true;                        // else a frame without an entry runs as it is
};

bool add_region(PyObject* module);
bool add_fused(PyObject* module);
bool add_step(PyObject* module);
bool add_package(PyObject* module);

}  // namespace cresset::compile
