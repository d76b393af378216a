#pragma once
// Error types and CRESSET_CHECK. Text: `op: what is wrong, got X, expected Y`, lower-case.

#include <stdexcept>
#include <string>

#include "cresset/base/array_ref.h"
#include "cresset/base/dtype.h"

namespace cresset {

// A place in a source file.
struct SourceLocation {
  const char* function = "";
  const char* file = "";
  uint32_t line = 0;
};

// The base of every error that Cresset throws; RuntimeError in Python.
class CRESSET_API Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}
  Error(SourceLocation, std::string message) : Error(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const char* what_without_backtrace() const noexcept { return message_.c_str(); }
  const std::string& message() const { return message_; }
  const std::string& msg() const { return message_; }
  // Puts `where` (a module path, say) before the message.
  void add_context(const std::string& where) { message_ = where + ": " + message_; }
  // As add_context; further names join with dots: "encoder.linear1: ...".
  void add_module(const std::string& name) {
    message_ = name + (in_module_ ? "." : ": ") + message_;
    in_module_ = true;
  }
  // Puts `note` behind the message, in parentheses.
  void add_note(const std::string& note) { message_ += " (" + note + ")"; }

 private:
  std::string message_;
  bool in_module_ = false;
};

#define CRESSET_DEFINE_ERROR(Name)        \
  class CRESSET_API Name : public Error { \
   public:                                \
    using Error::Error;                   \
  };
CRESSET_DEFINE_ERROR(IndexError)
CRESSET_DEFINE_ERROR(ValueError)
CRESSET_DEFINE_ERROR(TypeError)
CRESSET_DEFINE_ERROR(NotImplementedError)
CRESSET_DEFINE_ERROR(OutOfMemoryError)
CRESSET_DEFINE_ERROR(ModuleNotFoundError)
CRESSET_DEFINE_ERROR(LinAlgError)
#undef CRESSET_DEFINE_ERROR

namespace detail {

CRESSET_API void append_part(std::string& s, long long v);
CRESSET_API void append_part(std::string& s, unsigned long long v);
CRESSET_API void append_part(std::string& s, double v);
CRESSET_API void append_part(std::string& s, IntArrayRef v);
inline void append_part(std::string& s, const char* v) { s += v ? v : "(null)"; }
inline void append_part(std::string& s, const std::string& v) { s += v; }
inline void append_part(std::string& s, char v) { s += v; }
inline void append_part(std::string& s, bool v) { s += v ? "true" : "false"; }
inline void append_part(std::string& s, ScalarType v) { s += dtype_name(v); }
inline void append_part(std::string& s, int v) { append_part(s, static_cast<long long>(v)); }
inline void append_part(std::string& s, long v) { append_part(s, static_cast<long long>(v)); }
inline void append_part(std::string& s, unsigned v) { append_part(s, static_cast<unsigned long long>(v)); }
inline void append_part(std::string& s, unsigned long v) { append_part(s, static_cast<unsigned long long>(v)); }
inline void append_part(std::string& s, float v) { append_part(s, static_cast<double>(v)); }
inline void append_part(std::string& s, const std::vector<int64_t>& v) { append_part(s, IntArrayRef(v)); }

template <class E> [[noreturn]] CRESSET_COLD void throw_error(std::string message) { throw E(std::move(message)); }

}  // namespace detail

// The parts one after another: text, numbers, dtypes, shapes as [2, 3], and types with an `append_part` of their own.
template <class... Parts> CRESSET_COLD std::string str(const Parts&... parts) {
  std::string s;
  using detail::append_part;
  (append_part(s, parts), ...);
  return s;
}

#define CRESSET_CHECK_AS(ErrorType, cond, ...)                                                             \
  do {                                                                                                     \
    if (CRESSET_UNLIKELY(!(cond))) ::cresset::detail::throw_error<ErrorType>(::cresset::str(__VA_ARGS__)); \
  } while (false)
#define CRESSET_CHECK(cond, ...) CRESSET_CHECK_AS(::cresset::Error, cond, __VA_ARGS__)
#define CRESSET_CHECK_INDEX(cond, ...) CRESSET_CHECK_AS(::cresset::IndexError, cond, __VA_ARGS__)
#define CRESSET_CHECK_VALUE(cond, ...) CRESSET_CHECK_AS(::cresset::ValueError, cond, __VA_ARGS__)
#define CRESSET_CHECK_TYPE(cond, ...) CRESSET_CHECK_AS(::cresset::TypeError, cond, __VA_ARGS__)
#define CRESSET_CHECK_NOT_IMPLEMENTED(cond, ...) CRESSET_CHECK_AS(::cresset::NotImplementedError, cond, __VA_ARGS__)

// A broken invariant of ours, not a mistake of the caller.
#define CRESSET_INTERNAL_ASSERT(cond) CRESSET_CHECK(cond, "internal error: `" #cond "` does not hold at " __FILE__ "; please report it")

}  // namespace cresset
