#pragma once
// Inside the room: the passes of distributed autograd that a worker takes part in (autograd.h).

#include "cresset/dist/rpc/rpc.h"

namespace cresset::distributed::autograd {

using rpc::FuturePtr;
using rpc::Value;

// How a worker asks another; `kind` is "backward" or "release".
using Ask = std::function<FuturePtr(int64_t worker, const char* kind, const Value& content)>;
void begin(int64_t own_id, Ask ask);
void end();

// The pass of this thread, 0 outside of one.
int64_t current();
// Runs a call of a pass in this thread.
class Entered {
 public:
  explicit Entered(int64_t pass);
  ~Entered();
  Entered(const Entered&) = delete;

 private:
  const int64_t before_;
};

// A value as bytes for a worker, and the number of the tensors of graphs among it, 0 where there are none.
struct Written {
  int64_t message = 0;
  std::string body;
};
Written write(int64_t pass, int64_t to, const Value& value);
// Reads what came in a message of a pass; `from` finds the worker that sent it in the value.
Value read(int64_t pass, int64_t message, std::string_view body, const std::function<int64_t(const Value&)>& from);

// Requests of other workers. Errors: WireError for content that is none.
void serve_backward(const Value& content);
void serve_release(const Value& content);

}  // namespace cresset::distributed::autograd
