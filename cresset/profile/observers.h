#pragma once
// Functions of a program that are called as operators, nodes and named scopes begin and end.

#include <functional>

#include "cresset/profile/event.h"

namespace cresset::profile {

// The call that a function hears of. `inputs` is null unless it asked for them.
struct Observation {
  const dispatch::OpEntry* op = nullptr;
  std::string name;
  Scope scope = Scope::Function;
  int64_t sequence_nr = -1;
  const dispatch::Stack* inputs = nullptr;
  const dispatch::Stack* results = nullptr;  // at the end of a call
};

struct Observer {
  std::function<void(const Observation&)> begins, ends;
  bool wants_inputs = false;
  // Which scopes; all where empty.
  std::vector<Scope> scopes;
};

// Hears of all threads that `observe_thread` was called in, from now on. The number takes it away again. Errors thrown by a function reach
// the call that it was told of.
CRESSET_API uint64_t add_observer(Observer observer);
CRESSET_API void remove_observer(uint64_t number);
// Whether calls of this thread are told; threads that run backward for it follow.
CRESSET_API void observe_thread(bool on);

}  // namespace cresset::profile
