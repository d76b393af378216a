#include <algorithm>
#include <cstring>

#include "cresset/io/pickle.h"

namespace cresset::io {

namespace {
constexpr const char* kStorageClasses[] = {"ByteStorage",          "CharStorage",  "ShortStorage",   "IntStorage", "LongStorage",
                                           "HalfStorage",          "FloatStorage", "DoubleStorage",  nullptr,      "ComplexFloatStorage",
                                           "ComplexDoubleStorage", "BoolStorage",  "BFloat16Storage"};
}

const char* storage_class(ScalarType t) {
  const size_t i = static_cast<size_t>(t);
  return i < std::size(kStorageClasses) ? kStorageClasses[i] : nullptr;
}

void Pickler::integer(int64_t v) {
  if (v >= 0 && v < 0x100) {
    op('K');
    append(static_cast<uint8_t>(v));
  } else if (v >= 0 && v < 0x10000) {
    op('M');
    append(static_cast<uint16_t>(v));
  } else if (v >= INT32_MIN && v <= INT32_MAX) {
    op('J');
    append(static_cast<int32_t>(v));
  } else {
    char bytes[8];
    std::memcpy(bytes, &v, 8);
    size_t n = 8;
    // The shortest form whose highest bit is still the sign.
    while (n > 1 && bytes[n - 1] == (v < 0 ? -1 : 0) && (bytes[n - 2] < 0) == (v < 0)) n--;
    big_integer({bytes, n});
  }
}

void Pickler::big_integer(std::string_view bytes) {
  if (bytes.size() < 0x100) {
    op('\x8a');
    append(static_cast<uint8_t>(bytes.size()));
  } else {
    CRESSET_CHECK(bytes.size() <= INT32_MAX, "save: an integer is too large");
    op('\x8b');
    append(static_cast<int32_t>(bytes.size()));
  }
  out_ += bytes;
}

void Pickler::real(double v) {
  char bytes[8];
  std::memcpy(bytes, &v, 8);
  std::reverse(bytes, bytes + 8);
  op('G');
  out_.append(bytes, 8);
}

void Pickler::complex(double re, double im, std::string_view module) {
  global(module, "complex");
  real(re);
  real(im);
  op('\x86');
  op('R');
}

void Pickler::text(std::string_view utf8) {
  if (utf8.size() > 64) return long_text(utf8);
  const auto [found, fresh] = seen_.emplace("t" + std::string(utf8), next_);
  if (!fresh) return recall(found->second);
  long_text(utf8);
  memoize();
}

void Pickler::long_text(std::string_view utf8) {
  CRESSET_CHECK(utf8.size() <= 0xffffffff, "save: a text is longer than 4 GB");
  op('X');
  append(static_cast<uint32_t>(utf8.size()));
  out_ += utf8;
}

// Protocol 2 has no bytes: they go as text in latin1.
void Pickler::bytes(std::string_view v) {
  if (v.empty()) {
    global("__builtin__", "bytes");
    op(')');
    op('R');
    return;
  }
  global("_codecs", "encode");
  std::string utf8;
  for (const char c : v) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (u < 0x80) utf8 += c;
    else utf8 += static_cast<char>(0xc0 | u >> 6), utf8 += static_cast<char>(0x80 | (u & 0x3f));
  }
  long_text(utf8);
  text("latin1");
  op('\x86');
  op('R');
}

void Pickler::global(std::string_view module, std::string_view name) {
  std::string line = "c" + std::string(module) + "\n" + std::string(name) + "\n";
  const auto [found, fresh] = seen_.emplace(std::move(line), next_);
  if (!fresh) return recall(found->second);
  out_ += found->first;
  memoize();
}

uint32_t Pickler::memoize() {
  if (next_ < 0x100) {
    op('q');
    append(static_cast<uint8_t>(next_));
  } else {
    op('r');
    append(next_);
  }
  return next_++;
}

void Pickler::recall(uint32_t number) {
  if (number < 0x100) {
    op('h');
    append(static_cast<uint8_t>(number));
  } else {
    op('j');
    append(number);
  }
}

void Pickler::integers(const int64_t* values, size_t n) {
  if (n == 0) return op(')');
  if (n > 3) mark();
  for (size_t i = 0; i < n; i++) integer(values[i]);
  op(n > 3 ? 't' : static_cast<char>('\x84' + n));
}

void Pickler::dtype(ScalarType t) { global("torch", dtype_name(t)); }

void Pickler::storage(std::string_view key, ScalarType t, uint64_t nbytes, std::string_view location, bool view_slot) {
  const char* name = storage_class(t);
  mark();
  text("storage");
  if (name) global("torch", name);
  else global("torch.storage", "UntypedStorage");
  text(key);
  text(location);
  integer(static_cast<int64_t>(name ? nbytes / element_size(t) : nbytes));
  if (view_slot) none();
  op('t');
  op('Q');
}

}  // namespace cresset::io
