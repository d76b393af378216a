#pragma once
// Values as bytes between workers: data, and nothing that can call. The same bytes that Python's workers write (python/cresset/distributed/_wire.py).

#include <functional>
#include <string>
#include <string_view>

#include "cresset/dispatch/values/object.h"
#include "cresset/dist/errors.h"

namespace cresset::distributed::rpc {

using Value = dispatch::Value;

// Bytes that are no value, or a value that does not travel.
class CRESSET_API WireError : public ValueError {
 public:
  using ValueError::ValueError;
};

// An object that travels as its fields, under the name that `register_type` gave their reader.
class CRESSET_API Travelling : public dispatch::Object {
 public:
  virtual std::string type() const = 0;
  virtual Value fields() const = 0;
};
CRESSET_API void register_type(const std::string& type, std::function<Value(const Value& fields)> read);

// None, numbers, text, dtypes, devices, dense tensors, registered types, and lists, tuples and dicts of these. Text that is no UTF-8 travels as bytes. A tensor
// carries whether it needs a gradient, not its history.
CRESSET_API std::string encode(const Value& value);
// Within a pass of distributed autograd: `sent` numbers the tensors that need a gradient, `came` gets those that come, as leaves, with their numbers.
std::string encode(const Value& value, const std::function<uint64_t(const Tensor&)>& sent);
// Bytes come as text, sets as lists. Errors: WireError for an unknown kind, lengths beyond the end, nesting beyond 200, and objects of Python's classes.
CRESSET_API Value decode(std::string_view bytes);
Value decode(std::string_view bytes, const std::function<void(uint64_t, const Tensor&)>& came);

// Bytes within a value, which `encode` would write as text where they are UTF-8.
CRESSET_API void append_bytes(std::string& out, std::string_view bytes);
CRESSET_API void append_head(std::string& out, char kind, uint64_t count);

}  // namespace cresset::distributed::rpc
