#pragma once
// Stacks by hand, as boxed kernels of LibTorch's take them apart and fill them.

#include "cresset/dispatch/boxing.h"

namespace cresset::dispatch {

template <class... T> void push(Stack& stack, T&&... values) { (stack.emplace_back(std::forward<T>(values)), ...); }
template <class... T> void push(Stack* stack, T&&... values) { push(*stack, std::forward<T>(values)...); }
template <class T> void push_one(Stack& stack, T&& value) { push(stack, std::forward<T>(value)); }
template <class T> void pack(Stack& stack, T&& value) { push(stack, std::forward<T>(value)); }
// Errors, here and below: the stack holds fewer values.
CRESSET_API void drop(Stack& stack, size_t n);
inline void drop(Stack* stack, size_t n) { drop(*stack, n); }
CRESSET_API Value pop(Stack& stack);
inline Value pop(Stack* stack) { return pop(*stack); }
CRESSET_API std::vector<Value> pop(Stack& stack, size_t n);
// The i-th of the last n values.
CRESSET_API Value& peek(Stack& stack, size_t i, size_t n);
inline const Value& peek(const Stack& stack, size_t i, size_t n) { return peek(const_cast<Stack&>(stack), i, n); }
inline Value& peek(Stack* stack, size_t i, size_t n) { return peek(*stack, i, n); }
CRESSET_API ArrayRef<Value> last(const Stack& stack, size_t n);
inline ArrayRef<Value> last(const Stack* stack, size_t n) { return last(*stack, n); }
// `length` of the last n values, from the i-th on.
inline ArrayRef<Value> peekSlice(const Stack& stack, size_t i, size_t length, size_t n) { return last(stack, n).slice(i, length); }
// The last values into variables of their types, in order.
template <class... T> void pop(Stack& stack, T&... out) {
  size_t i = 0;
  ((out = pop_value<T>(peek(stack, i++, sizeof...(T)))), ...);
  drop(stack, sizeof...(T));
}
template <class... T> void pop(Stack* stack, T&... out) { pop(*stack, out...); }

}  // namespace cresset::dispatch
