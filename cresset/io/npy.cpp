#include "cresset/io/npy.h"

#include <algorithm>
#include <cstring>

#include "cresset/core/fake_mode.h"
#include "cresset/io/malformed.h"
#include "cresset/io/zip.h"
#include "cresset/tensor.h"

namespace cresset::io {

namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMaxHeader = 1 << 16, kAlignment = 64;

struct Descr {
  const char* name;
  ScalarType type;
};
constexpr Descr kDescrs[] = {{"b1", kBool},           {"u1", kByte},   {"i1", kChar},   {"i2", kShort},  {"i4", kInt},
                             {"i8", kLong},           {"f2", kHalf},   {"f4", kFloat},  {"f8", kDouble}, {"c8", kComplexFloat},
                             {"c16", kComplexDouble}, {"u2", kUInt16}, {"u4", kUInt32}, {"u8", kUInt64}};

struct Header {
  ScalarType dtype = ScalarType::Undefined;
  bool swap = false, fortran = false;
  std::vector<int64_t> shape;
  uint64_t data_at = 0, nbytes = 0;
};

// The header is a Python dict with three known keys: "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }".
class HeaderParser {
 public:
  HeaderParser(const std::string& file, const std::string& text) : file_(file), text_(text) {}

  Header parse() {
    Header h;
    bool seen[3] = {};
    need('{');
    while (!take('}')) {
      const std::string key = quoted();
      need(':');
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0 || seen[which]) malformed("load_npy", file_, "its header has the key '", key, "'");
      seen[which] = true;
      if (which == 0) descr(h);
      else if (which == 1) h.fortran = boolean();
      else shape(h);
      if (take(',')) continue;
      need('}');
      break;
    }
    if (!seen[0] || !seen[1] || !seen[2]) malformed("load_npy", file_, "its header has not the keys descr, fortran_order and shape");
    h.nbytes = element_size(h.dtype);
    for (const int64_t size : h.shape)
      if (__builtin_mul_overflow(h.nbytes, static_cast<uint64_t>(size), &h.nbytes) || h.nbytes > INT64_MAX)
        malformed("load_npy", file_, "its shape is too large");
    return h;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) at_++;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  void need(char c) {
    if (!take(c)) malformed("load_npy", file_, "its header lacks '", c, "' at ", at_);
  }
  std::string quoted() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : 0;
    const size_t stop = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string::npos;
    if (stop == std::string::npos) malformed("load_npy", file_, "its header lacks text at ", at_);
    const std::string s = text_.substr(at_ + 1, stop - at_ - 1);
    at_ = stop + 1;
    return s;
  }
  bool boolean() {
    skip();
    for (const bool value : {true, false}) {
      const std::string word = value ? "True" : "False";
      if (text_.compare(at_, word.size(), word) != 0) continue;
      at_ += word.size();
      return value;
    }
    malformed("load_npy", file_, "fortran_order is neither True nor False");
  }
  void descr(Header& h) {
    skip();
    if (at_ < text_.size() && text_[at_] == '[') malformed("load_npy", file_, "it holds records of several fields, which tensors do not have");
    const std::string s = quoted();
    for (const Descr& d : kDescrs)
      if (s.size() > 1 && s.substr(1) == d.name) h.dtype = d.type;
    if (h.dtype == ScalarType::Undefined || !std::strchr("<>|=", s[0]))
      malformed("load_npy", file_, "it holds elements of the type '", s, "', which tensors do not have");
    h.swap = s[0] == '>';
  }
  void shape(Header& h) {
    need('(');
    while (!take(')')) {
      skip();
      int64_t size = 0;
      const size_t start = at_;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; at_++)
        if (__builtin_mul_overflow(size, int64_t{10}, &size) || __builtin_add_overflow(size, int64_t{text_[at_] - '0'}, &size))
          malformed("load_npy", file_, "its shape is too large");
      if (at_ == start || h.shape.size() == 64) malformed("load_npy", file_, "its shape is no tuple of numbers");
      h.shape.push_back(size);
      take('L');  // Python 2's long numbers
      if (take(',')) continue;
      need(')');
      break;
    }
  }

  const std::string& file_;
  const std::string& text_;
  size_t at_ = 0;
};

// `total`: the bytes of the file, of which the source may hold only the front.
Header read_header(const ByteSource& source, const std::string& file, uint64_t total) {
  char start[12];
  if (source.size() < sizeof start) malformed("load_npy", file, "got ", source.size(), " bytes");
  source.read(0, start, sizeof start);
  if (std::memcmp(start, kMagic, 6) != 0) malformed("load_npy", file, "it does not start like a .npy file");
  const int version = start[6];
  if (version < 1 || version > 3) malformed("load_npy", file, "it has the unknown version ", version);
  uint32_t length = 0;
  std::memcpy(&length, start + 8, version == 1 ? 2 : 4);
  const uint64_t text_at = version == 1 ? 10 : 12;
  if (length > kMaxHeader || length > source.size() - text_at) malformed("load_npy", file, "its header has ", length, " bytes");
  std::string text(length, 0);
  source.read(text_at, text.data(), length);
  Header h = HeaderParser(file, text).parse();
  h.data_at = text_at + length;
  if (h.nbytes > total - h.data_at) malformed("load_npy", file, "it is truncated, got ", total - h.data_at, " bytes of data, expected ", h.nbytes);
  return h;
}

// Sink of the archive's entries.
class StringSink {
 public:
  WriteBytes writer() {
    return [this](const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); };
  }
  std::string bytes;
};

std::string header_of(const Tensor& t) {
  CRESSET_CHECK(t.defined() && t.layout() == kStrided && !t.is_meta(), "save_npy: the tensor has no dense data");
  const char* name = nullptr;
  for (const Descr& d : kDescrs)
    if (d.type == t.scalar_type()) name = d.name;
  CRESSET_CHECK_TYPE(name, "save_npy: NumPy has no dtype for ", t.scalar_type());
  std::string shape;
  for (const int64_t size : t.sizes()) shape += std::to_string(size) + ", ";
  if (t.dim() > 1) shape.resize(shape.size() - 2);
  else if (t.dim() == 1) shape.pop_back();
  std::string text = cresset::str("{'descr': '", element_size(t.scalar_type()) == 1 ? "|" : "<", name, "', 'fortran_order': False, 'shape': (", shape, "), }");
  const size_t head = 10;
  text.append((kAlignment - (head + text.size() + 1) % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic, 6);
  header += '\1';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

Tensor dense_on_cpu(const Tensor& t) { return t.detach().to(Device(kCPU)).resolve_conj().resolve_neg().contiguous(); }

}  // namespace

void write_npy(const Tensor& tensor, const std::function<void(const void*, size_t)>& write) {
  const std::string header = header_of(tensor);
  const Tensor data = dense_on_cpu(tensor);
  write(header.data(), header.size());
  if (data.numel() > 0) write(data.data_ptr(), data.nbytes());
}

void save_npy(const Tensor& tensor, const std::string& path) {
  write_file_atomically(path, [&](const WriteBytes& write) { write_npy(tensor, write); });
}

void write_npz(const NamedTensors& tensors, const std::function<void(const void*, size_t)>& write) {
  ZipWriter zip(write, "");
  for (const auto& item : tensors) {
    StringSink sink;
    write_npy(item.value(), sink.writer());
    zip.add(item.key() + ".npy", sink.bytes);
  }
  zip.finish();
}

void save_npz(const NamedTensors& tensors, const std::string& path) {
  write_file_atomically(path, [&](const WriteBytes& write) { write_npz(tensors, write); });
}

Tensor read_npy(const ByteSource& source, const std::string& name, bool use_mmap) {
  const Header h = read_header(source, name, source.size());
  const FakeModeScope off(nullptr);
  std::vector<int64_t> shape = h.shape;
  if (h.fortran) std::reverse(shape.begin(), shape.end());
  Tensor t;
  const std::shared_ptr<char> mapped = use_mmap && !h.swap && h.nbytes > 0 && h.data_at % element_size(h.dtype) == 0 ? source.map() : nullptr;
  if (mapped) {
    t = cresset::from_blob(
        mapped.get() + h.data_at, shape, [mapped](void*) {}, TensorOptions(h.dtype));
  } else {
    t = cresset::empty(shape, TensorOptions(h.dtype));
    if (h.nbytes > 0) source.read(h.data_at, t.data_ptr(), static_cast<size_t>(h.nbytes));
    const size_t each = element_size(h.dtype) / (is_complex_type(h.dtype) ? 2 : 1);
    if (h.swap)
      for (char *p = static_cast<char*>(t.data_ptr()), *stop = p + h.nbytes; p < stop; p += each) std::reverse(p, p + each);
  }
  if (!h.fortran || shape.size() < 2) return t;
  std::vector<int64_t> order(shape.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = static_cast<int64_t>(order.size() - 1 - i);
  return t.permute(order);
}

Tensor load_npy(const std::string& path, bool use_mmap) { return read_npy(FileSource(path), path, use_mmap); }

namespace {
const std::string kEnding = ".npy";
std::string key_of(const ZipEntry& entry) {
  const bool named = entry.name.size() > kEnding.size() && entry.name.compare(entry.name.size() - kEnding.size(), kEnding.size(), kEnding) == 0;
  return named ? entry.name.substr(0, entry.name.size() - kEnding.size()) : entry.name;
}
Header header_of(const ZipReader& zip, const ZipEntry& entry, const std::string& name) {
  const std::string bytes = zip.head(entry, kMaxHeader + 12);
  return read_header(MemorySource(bytes.data(), bytes.size()), name, entry.full_size);
}
NpyInfo info_of(const Header& h, const std::string& name, bool compressed) { return {name, h.dtype, h.shape, h.nbytes, h.fortran, h.swap, compressed}; }
}  // namespace

NamedTensors read_npz(const ByteSource& source, const std::string& name) {
  const ZipReader zip(source, name);
  NamedTensors tensors("Tensor");
  for (const ZipEntry& entry : zip.entries()) {
    const std::string called = name + "/" + entry.name;
    // Data behind the array is not even unpacked.
    const Header h = header_of(zip, entry, called);
    if (h.nbytes < entry.full_size - h.data_at) malformed("load_npy", called, "there are ", entry.full_size - h.data_at - h.nbytes, " bytes behind the array");
    const std::string bytes = zip.read(entry, true);
    tensors.insert(key_of(entry), read_npy(MemorySource(bytes.data(), bytes.size()), called));
  }
  return tensors;
}

NpyInfo inspect_npy(const ByteSource& source, const std::string& name) { return info_of(read_header(source, name, source.size()), "", false); }

std::vector<NpyInfo> inspect_npz(const ByteSource& source, const std::string& name) {
  const ZipReader zip(source, name);
  std::vector<NpyInfo> arrays;
  for (const ZipEntry& entry : zip.entries()) arrays.push_back(info_of(header_of(zip, entry, name + "/" + entry.name), key_of(entry), !entry.stored));
  return arrays;
}

NamedTensors load_npz(const std::string& path) { return read_npz(FileSource(path), path); }

}  // namespace cresset::io
