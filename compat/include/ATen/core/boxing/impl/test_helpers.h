#pragma once
// Helpers that LibTorch's own tests of registration are written with: tensors that ask for keys, calls by stack, expected errors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "torch/detail/containers.h"
#include "torch/detail/library.h"

template <class... Inputs> inline std::vector<c10::IValue> makeStack(Inputs&&... inputs) { return {c10::IValue(std::forward<Inputs>(inputs))...}; }

inline at::Tensor dummyTensor(c10::DispatchKeySet keys, bool requires_grad = false) {
  at::Tensor t = cresset::dispatch::tensor_with_keys(keys);
  if (!requires_grad) t.unsafeGetTensorImpl()->remove_autograd_key();
  return t;
}
inline at::Tensor dummyTensor(c10::DispatchKey key, bool requires_grad = false) { return dummyTensor(c10::DispatchKeySet(key), requires_grad); }

template <class... Args> inline std::vector<c10::IValue> callOp(const c10::OperatorHandle& op, Args... args) {
  auto stack = makeStack(std::forward<Args>(args)...);
  op.callBoxed(&stack);
  return stack;
}
template <class Result, class... Args> inline Result callOpUnboxed(const c10::OperatorHandle& op, Args... args) {
  return op.typed<Result(Args...)>().call(std::forward<Args>(args)...);
}
template <class Result, class... Args> inline Result callOpUnboxedWithDispatchKey(const c10::OperatorHandle& op, c10::DispatchKey key, Args... args) {
  return op.typed<Result(Args...)>().callWithDispatchKey(key, std::forward<Args>(args)...);
}
template <class Result, class... Args>
inline Result callOpUnboxedWithPrecomputedDispatchKeySet(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Args... args) {
  return op.typed<Result(Args...)>().redispatch(keys, std::forward<Args>(args)...);
}

inline void expectDoesntFindKernel(const char* op_name, c10::DispatchKey key) {
  const auto op = c10::Dispatcher::singleton().findSchema({op_name, ""});
  EXPECT_ANY_THROW(callOp(*op, dummyTensor(key), 5));
}
inline void expectDoesntFindOperator(const char* op_name) { EXPECT_FALSE(c10::Dispatcher::singleton().findSchema({op_name, ""}).has_value()); }

template <class Exception, class Functor> inline void expectThrows(Functor&& functor, const char* part) {
  try {
    std::forward<Functor>(functor)();
  } catch (const Exception& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr(part));
    return;
  }
  ADD_FAILURE() << "no exception was thrown; one that says \"" << part << "\" was expected";
}

template <class T, class List> void expectListEquals(c10::ArrayRef<T> expected, const List& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  size_t i = 0;
  for (const T& v : actual) EXPECT_EQ(expected[i++], v);
}
template <class T> void expectListEquals(c10::ArrayRef<T> expected, c10::ArrayRef<T> actual) { EXPECT_EQ(expected, actual); }
template <class T> void expectListEquals(c10::ArrayRef<T> expected, c10::List<T> actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); i++) EXPECT_EQ(expected[i], actual.get(i));
}
template <class T> void expectListEquals(c10::ArrayRef<T> expected, std::vector<T> actual) { expectListEquals(expected, c10::ArrayRef<T>(actual)); }
template <class T, size_t N> void expectListEquals(c10::ArrayRef<T> expected, std::array<T, N> actual) {
  expectListEquals(expected, c10::ArrayRef<T>(actual.data(), N));
}

static inline c10::DispatchKey extractDispatchKey(const at::Tensor& t) { return c10::legacyExtractDispatchKey(t.key_set()); }
