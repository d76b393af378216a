#pragma once
// The file of an execution trace: every call with the identities, sizes and types of its arguments and results, in the form that tools of
// replay read (Chakra's host trace, schema 1.1.1).

#include <memory>
#include <string>

#include "cresset/base/macros.h"

namespace cresset::profile {

// Writes to the file that it is given, from `start` to `stop`, what this thread and its backward passes call.
class CRESSET_API ExecutionTrace {
 public:
  explicit ExecutionTrace(std::string path);
  ~ExecutionTrace();
  ExecutionTrace(const ExecutionTrace&) = delete;
  ExecutionTrace& operator=(const ExecutionTrace&) = delete;
  void start();
  void stop();
  bool is_running() const;
  // Errors: the file cannot be written.
  void write() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cresset::profile
