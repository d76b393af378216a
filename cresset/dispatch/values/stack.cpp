#include "cresset/dispatch/values/stack.h"

namespace cresset::dispatch {

namespace {

void check_size(const Stack& stack, size_t n) { CRESSET_CHECK(stack.size() >= n, "stack: underflow, expected ", n, " values, got ", stack.size()); }

}  // namespace

void drop(Stack& stack, size_t n) {
  check_size(stack, n);
  stack.erase(stack.end() - static_cast<std::ptrdiff_t>(n), stack.end());
}
Value pop(Stack& stack) {
  check_size(stack, 1);
  Value v = std::move(stack.back());
  stack.pop_back();
  return v;
}
std::vector<Value> pop(Stack& stack, size_t n) {
  check_size(stack, n);
  std::vector<Value> out(stack.end() - static_cast<std::ptrdiff_t>(n), stack.end());
  drop(stack, n);
  return out;
}
Value& peek(Stack& stack, size_t i, size_t n) {
  check_size(stack, n);
  CRESSET_CHECK_INDEX(i < n, "stack: there is no value ", i, " among the last ", n);
  return stack[stack.size() - n + i];
}
ArrayRef<Value> last(const Stack& stack, size_t n) {
  check_size(stack, n);
  return ArrayRef<Value>(stack).slice(stack.size() - n, n);
}

}  // namespace cresset::dispatch
