#pragma once
// Streams as values.

#include "cresset/core/stream.h"
#include "cresset/dispatch/values/object.h"

namespace cresset {

namespace dispatch {

class StreamObject final : public Object {
 public:
  explicit StreamObject(Stream s) : stream(s) {}
  Stream stream;
  const char* kind_name() const override { return "stream"; }
  Value equals(const Object& o) const override {
    const auto* other = dynamic_cast<const StreamObject*>(&o);
    return Value(other && other->stream == stream);
  }
  size_t hash() const override { return std::hash<Stream>()(stream); }
  void print(std::ostream& out) const override { out << stream; }
};

inline bool Value::isStream() const { return object() && dynamic_cast<const StreamObject*>(object()->get()); }
inline Stream Value::toStream() const {
  CRESSET_CHECK_TYPE(isStream(), "value: expected a stream, got ", kind());
  return static_cast<const StreamObject&>(**object()).stream;
}

}  // namespace dispatch

inline intrusive_ptr<dispatch::StreamObject> boxed_value(const Stream& s) { return make_intrusive<dispatch::StreamObject>(s); }

}  // namespace cresset
