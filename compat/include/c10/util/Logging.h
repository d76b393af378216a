#pragma once
#include <functional>

#include "c10/util/Lazy.h"
#include "cresset/base/util/logging.h"
#include "torch/detail/tensor.h"

namespace c10 {
inline bool InitCaffeLogging(int*, char**) { return true; }
inline void UpdateLoggingLevelsFromFlags() {}
inline void ShowLogInfoToStderr() { cresset::logging::minimum_severity() = cresset::logging::INFO; }
}  // namespace c10

// The flag is a variable of the process, which programs assign and swap.
inline bool& FLAGS_caffe2_use_fatal_for_enforce = ::cresset::logging::fatal_checks();

#define CRESSET_LOG_LINE(severity) ::cresset::logging::Line(__FILE__, __LINE__, severity).stream()
#define CRESSET_LOG_LINE_IF(severity, condition) !(condition) ? (void)0 : ::cresset::logging::Voidify() & CRESSET_LOG_LINE(severity)
#ifndef LOG
#define LOG(severity) CRESSET_LOG_LINE(::cresset::logging::severity)
#define LOG_IF(severity, condition) CRESSET_LOG_LINE_IF(::cresset::logging::severity, condition)
#define VLOG(n) CRESSET_LOG_LINE(-(n))
#define VLOG_IS_ON(n) (::cresset::logging::minimum_severity() <= -(n))
#endif
#ifndef CHECK
#define CHECK(condition) CRESSET_LOG_LINE_IF(::cresset::logging::FATAL, !(condition)) << "expected " #condition " "
#define CHECK_EQ(a, b) CHECK((a) == (b))
#define CHECK_NE(a, b) CHECK((a) != (b))
#define CHECK_LT(a, b) CHECK((a) < (b))
#define CHECK_LE(a, b) CHECK((a) <= (b))
#define CHECK_GT(a, b) CHECK((a) > (b))
#define CHECK_GE(a, b) CHECK((a) >= (b))
#endif

#define CAFFE_ENFORCE(condition, ...)                                                                                                              \
  do {                                                                                                                                             \
    if (CRESSET_UNLIKELY(!(condition))) ::cresset::logging::check_failed(__FILE__, __LINE__, #condition, ::cresset::compat::text_of(__VA_ARGS__)); \
  } while (false)
#define CAFFE_ENFORCE_WITH_CALLER(condition, ...) CAFFE_ENFORCE(condition, __VA_ARGS__)
#define CAFFE_THROW(...) ::cresset::logging::check_failed(__FILE__, __LINE__, "", ::cresset::compat::text_of(__VA_ARGS__))
// Each side is evaluated once.
#define CAFFE_ENFORCE_THAT(holds, op, lhs, rhs, ...)                                                                                         \
  do {                                                                                                                                       \
    const auto& enforce_left = lhs;                                                                                                          \
    const auto& enforce_right = rhs;                                                                                                         \
    if (CRESSET_UNLIKELY(!(holds(enforce_left, enforce_right))))                                                                             \
      ::cresset::logging::check_failed(__FILE__, __LINE__, #lhs " " #op " " #rhs,                                                            \
                                       ::cresset::logging::compared(enforce_left, enforce_right) + ::cresset::compat::text_of(__VA_ARGS__)); \
  } while (false)
#define CAFFE_ENFORCE_EQ(lhs, rhs, ...) CAFFE_ENFORCE_THAT(std::equal_to<void>(), ==, lhs, rhs, ##__VA_ARGS__)
#define CAFFE_ENFORCE_EQ_WITH_CALLER(lhs, rhs, ...) CAFFE_ENFORCE_EQ(lhs, rhs, ##__VA_ARGS__)
#define CAFFE_ENFORCE_NE_WITH_CALLER(lhs, rhs, ...) CAFFE_ENFORCE_NE(lhs, rhs, ##__VA_ARGS__)
#define CAFFE_ENFORCE_LE_WITH_CALLER(lhs, rhs, ...) CAFFE_ENFORCE_LE(lhs, rhs, ##__VA_ARGS__)
#define CAFFE_ENFORCE_LT_WITH_CALLER(lhs, rhs, ...) CAFFE_ENFORCE_LT(lhs, rhs, ##__VA_ARGS__)
#define CAFFE_ENFORCE_GE_WITH_CALLER(lhs, rhs, ...) CAFFE_ENFORCE_GE(lhs, rhs, ##__VA_ARGS__)
#define CAFFE_ENFORCE_GT_WITH_CALLER(lhs, rhs, ...) CAFFE_ENFORCE_GT(lhs, rhs, ##__VA_ARGS__)
#define CAFFE_ENFORCE_THAT_WITH_CALLER(holds, op, lhs, rhs, ...) CAFFE_ENFORCE_THAT(holds, op, lhs, rhs, ##__VA_ARGS__)
#define CAFFE_ENFORCE_NE(lhs, rhs, ...) CAFFE_ENFORCE_THAT(std::not_equal_to<void>(), !=, lhs, rhs, ##__VA_ARGS__)
#define CAFFE_ENFORCE_LE(lhs, rhs, ...) CAFFE_ENFORCE_THAT(std::less_equal<void>(), <=, lhs, rhs, ##__VA_ARGS__)
#define CAFFE_ENFORCE_LT(lhs, rhs, ...) CAFFE_ENFORCE_THAT(std::less<void>(), <, lhs, rhs, ##__VA_ARGS__)
#define CAFFE_ENFORCE_GE(lhs, rhs, ...) CAFFE_ENFORCE_THAT(std::greater_equal<void>(), >=, lhs, rhs, ##__VA_ARGS__)
#define CAFFE_ENFORCE_GT(lhs, rhs, ...) CAFFE_ENFORCE_THAT(std::greater<void>(), >, lhs, rhs, ##__VA_ARGS__)

// Checks of two values that end the process, with both in the message; TORCH_DCHECK_… where assertions are on.
#define TORCH_CHECK_EQ(a, b) CHECK_EQ(a, b)
#define TORCH_CHECK_NE(a, b) CHECK_NE(a, b)
#define TORCH_CHECK_LT(a, b) CHECK_LT(a, b)
#define TORCH_CHECK_LE(a, b) CHECK_LE(a, b)
#define TORCH_CHECK_GT(a, b) CHECK_GT(a, b)
#define TORCH_CHECK_GE(a, b) CHECK_GE(a, b)
#ifdef NDEBUG
#define CRESSET_DEBUG_CHECK(check) \
  while (false) check
#else
#define CRESSET_DEBUG_CHECK(check) check
#endif
#define TORCH_DCHECK_EQ(a, b) CRESSET_DEBUG_CHECK(TORCH_CHECK_EQ(a, b))
#define TORCH_DCHECK_NE(a, b) CRESSET_DEBUG_CHECK(TORCH_CHECK_NE(a, b))
#define TORCH_DCHECK_LT(a, b) CRESSET_DEBUG_CHECK(TORCH_CHECK_LT(a, b))
#define TORCH_DCHECK_LE(a, b) CRESSET_DEBUG_CHECK(TORCH_CHECK_LE(a, b))
#define TORCH_DCHECK_GT(a, b) CRESSET_DEBUG_CHECK(TORCH_CHECK_GT(a, b))
#define TORCH_DCHECK_GE(a, b) CRESSET_DEBUG_CHECK(TORCH_CHECK_GE(a, b))
