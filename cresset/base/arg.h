#pragma once
// Options structs: CRESSET_ARG(T, name) declares a chained setter, two getters and a private member `name_`.

#include <utility>

#define CRESSET_ARG(T, name)                                      \
 public:                                                          \
  inline auto name(T new_##name)->decltype(*this) {               \
    this->name##_ = std::move(new_##name);                        \
    return *this;                                                 \
  }                                                               \
  inline const T& name() const noexcept { return this->name##_; } \
  inline T& name() noexcept { return this->name##_; }             \
                                                                  \
 private:                                                         \
  T name##_
