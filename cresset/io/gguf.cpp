#include "cresset/io/gguf.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "cresset/base/parallel.h"
#include "cresset/core/fake_mode.h"
#include "cresset/io/malformed.h"
#include "cresset/io/zip.h"
#include "cresset/tensor.h"

namespace cresset::io {

namespace {

constexpr GgufType kTypes[] = {
    {0, "F32", 1, 4},       {1, "F16", 1, 2},        {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},    {9, "Q8_1", 32, 36},     {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210}, {15, "Q8_K", 256, 292},  {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},  {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18}, {21, "IQ3_S", 256, 110}, {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},      {27, "I64", 1, 8},       {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},   {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66}, {39, "MXFP4", 32, 17},
};
constexpr std::pair<int, ScalarType> kPlain[] = {{0, kFloat}, {1, kHalf}, {24, kChar}, {25, kShort}, {26, kInt}, {27, kLong}, {28, kDouble}, {30, kBFloat16}};
// Of facts: unsigned and signed numbers, floats, truth, text, a list, wide numbers.
constexpr ScalarType kScalars[] = {kByte,   kChar, kUInt16, kShort, kUInt32, kInt, kFloat, kBool, ScalarType::Undefined, ScalarType::Undefined,
                                   kUInt64, kLong, kDouble};
constexpr uint32_t kText = 8, kList = 9;
constexpr size_t kMaxDims = 8, kWindow = size_t{1} << 16;

// The front of the file in order.
class Reader {
 public:
  Reader(const ByteSource& source, const std::string& file) : source_(source), file_(file) {}
  uint64_t at() const { return at_; }
  uint64_t left() const { return source_.size() - at_; }

  void bytes(void* to, size_t size) {
    if (size > left()) malformed("load_gguf", file_, "it is truncated, got ", source_.size(), " bytes");
    if (size > kWindow) {
      source_.read(at_, to, size);
    } else {
      if (at_ < window_at_ || at_ + size > window_at_ + window_.size()) {
        window_.resize(static_cast<size_t>(std::min<uint64_t>(kWindow, left())));
        window_at_ = at_;
        source_.read(at_, window_.data(), window_.size());
      }
      std::memcpy(to, window_.data() + (at_ - window_at_), size);
    }
    at_ += size;
  }
  template <class T> T number() {
    T v;
    bytes(&v, sizeof v);
    return v;
  }
  std::string text() {
    const uint64_t size = number<uint64_t>();
    if (size > left()) malformed("load_gguf", file_, "a text of ", size, " bytes is truncated");
    std::string s(static_cast<size_t>(size), 0);
    bytes(s.data(), s.size());
    return s;
  }
  // The number of things to come, each of so many bytes at least.
  uint64_t count(uint64_t least, const char* what) {
    const uint64_t n = number<uint64_t>();
    if (n > left() / least) malformed("load_gguf", file_, "it is said to have ", n, " ", what, ", more than fit into it");
    return n;
  }

 private:
  const ByteSource& source_;
  const std::string& file_;
  uint64_t at_ = 0, window_at_ = 0;
  std::string window_;
};

GgufValue read_value(Reader& r, const std::string& file, uint32_t type) {
  if (type >= std::size(kScalars)) malformed("load_gguf", file, "a value has the unknown type ", type);
  switch (type) {
    case 0: return uint64_t{r.number<uint8_t>()};
    case 1: return int64_t{r.number<int8_t>()};
    case 2: return uint64_t{r.number<uint16_t>()};
    case 3: return int64_t{r.number<int16_t>()};
    case 4: return uint64_t{r.number<uint32_t>()};
    case 5: return int64_t{r.number<int32_t>()};
    case 6: return double{r.number<float>()};
    case 7: return r.number<uint8_t>() != 0;
    case kText: return r.text();
    case 10: return r.number<uint64_t>();
    case 11: return r.number<int64_t>();
    case 12: return r.number<double>();
    default: break;
  }
  const uint32_t each = r.number<uint32_t>();
  if (each == kList || each >= std::size(kScalars)) malformed("load_gguf", file, "a list holds values of the type ", each);
  if (each == kText) {
    std::vector<std::string> texts(static_cast<size_t>(r.count(8, "texts")));
    for (std::string& text : texts) text = r.text();
    return texts;
  }
  const uint64_t n = r.count(element_size(kScalars[each]), "numbers");
  const Tensor t = cresset::empty({static_cast<int64_t>(n)}, TensorOptions(kScalars[each]));
  if (n > 0) r.bytes(t.data_ptr(), static_cast<size_t>(t.nbytes()));
  if (each == 7)
    for (auto *p = static_cast<unsigned char*>(t.data_ptr()), *stop = p + n; p < stop; p++) *p = *p != 0;
  return t;
}

GgufTensor read_row(Reader& r, const std::string& file) {
  GgufTensor t;
  t.name = r.text();
  const uint32_t dims = r.number<uint32_t>();
  if (dims > kMaxDims) malformed("load_gguf", file, "'", t.name, "' has ", dims, " dimensions");
  int64_t count = 1;
  for (uint32_t i = 0; i < dims; i++) {
    const uint64_t size = r.number<uint64_t>();
    if (size > INT64_MAX || __builtin_mul_overflow(count, static_cast<int64_t>(size), &count))
      malformed("load_gguf", file, "the shape of '", t.name, "' is too large");
    t.shape.push_back(static_cast<int64_t>(size));
  }
  const uint32_t id = r.number<uint32_t>();
  t.type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const GgufType& type) { return static_cast<uint32_t>(type.id) == id; });
  if (t.type == std::end(kTypes)) malformed("load_gguf", file, "'", t.name, "' has the unknown type ", id);
  if ((dims == 0 ? 1 : t.shape[0]) % t.type->block)
    malformed("load_gguf", file, "rows of '", t.name, "' are no multiples of ", t.type->block, " elements, as ", t.type->name, " has them");
  int64_t nbytes;
  if (__builtin_mul_overflow(count / t.type->block, t.type->bytes, &nbytes)) malformed("load_gguf", file, "the shape of '", t.name, "' is too large");
  t.nbytes = static_cast<uint64_t>(nbytes);
  std::reverse(t.shape.begin(), t.shape.end());
  t.offset = r.number<uint64_t>();
  return t;
}

}  // namespace

GgufFile::GgufFile(const std::string& path) : GgufFile(std::make_shared<FileSource>(path), path) {}

GgufFile::GgufFile(std::shared_ptr<const ByteSource> source, const std::string& name) : source_(std::move(source)), name_(name) {
  const FakeModeScope off(nullptr);
  Reader r(*source_, name_);
  char magic[4];
  r.bytes(magic, sizeof magic);
  if (std::memcmp(magic, "GGUF", 4) != 0) malformed("load_gguf", name_, "it does not start like a GGUF file");
  const uint32_t version = r.number<uint32_t>();
  const bool big = version == 0x03000000 || version == 0x02000000;
  if (version != 2 && version != 3)
    malformed("load_gguf", name_, "it has the version ", version, ", 2 and 3 are known", big ? "; it is of a big-endian machine" : "");
  const uint64_t tensors = r.count(24, "tensors"), facts = r.count(13, "facts");
  uint64_t alignment = 32;
  std::unordered_set<std::string> seen;
  for (uint64_t i = 0; i < facts; i++) {
    std::string key = r.text();
    if (!seen.insert(key).second) malformed("load_gguf", name_, "the fact '", key, "' appears twice");
    GgufValue value = read_value(r, name_, r.number<uint32_t>());
    if (key == "general.alignment") {
      alignment = std::holds_alternative<uint64_t>(value) ? std::get<uint64_t>(value) : 0;
      if (alignment == 0 || alignment > (1 << 20) || alignment & (alignment - 1)) malformed("load_gguf", name_, "its alignment is no power of two");
    }
    metadata_.emplace_back(std::move(key), std::move(value));
  }
  seen.clear();
  for (uint64_t i = 0; i < tensors; i++) {
    tensors_.push_back(read_row(r, name_));
    if (!seen.insert(tensors_.back().name).second) malformed("load_gguf", name_, "the tensor '", tensors_.back().name, "' appears twice");
  }
  const uint64_t start = (r.at() + alignment - 1) / alignment * alignment;
  std::vector<const GgufTensor*> order;
  for (GgufTensor& t : tensors_) {
    if (t.offset % alignment) malformed("load_gguf", name_, "'", t.name, "' does not start at a multiple of ", alignment);
    const uint64_t room = source_->size() > start ? source_->size() - start : 0;
    if (t.offset > room || t.nbytes > room - t.offset)
      malformed("load_gguf", name_, "'", t.name, "' lies beyond the end; it is truncated, or was copied only in part");
    t.offset += start;
    order.push_back(&t);
  }
  std::sort(order.begin(), order.end(),
            [](const GgufTensor* a, const GgufTensor* b) { return a->offset != b->offset ? a->offset < b->offset : a->nbytes < b->nbytes; });
  for (size_t i = 0; i + 1 < order.size(); i++)
    if (order[i]->offset + order[i]->nbytes > order[i + 1]->offset)
      malformed("load_gguf", name_, "'", order[i]->name, "' and '", order[i + 1]->name, "' lie over each other");
}

Tensor GgufFile::read(const GgufTensor& t, bool use_mmap) const {
  const FakeModeScope off(nullptr);
  for (const auto& [id, dtype] : kPlain) {
    if (t.type->id != id) continue;
    if (use_mmap && t.nbytes > 0 && t.offset % element_size(dtype) == 0) {
      if (!mapped_) mapped_ = source_->map();
      if (mapped_)
        return cresset::from_blob(
            mapped_.get() + t.offset, t.shape, [keep = mapped_](void*) {}, TensorOptions(dtype));
    }
    const Tensor out = cresset::empty(t.shape, TensorOptions(dtype));
    if (t.nbytes > 0) source_->read(t.offset, out.data_ptr(), static_cast<size_t>(t.nbytes));
    return out;
  }
  CRESSET_CHECK(dequantize(*t.type, nullptr, 0, nullptr), "load_gguf: '", t.name, "' in '", name_, "' has the type ", t.type->name, ", which is not read");
  const Tensor out = cresset::empty(t.shape, TensorOptions(kFloat));
  const int64_t blocks = static_cast<int64_t>(t.nbytes) / t.type->bytes, piece = 8192 / t.type->block;
  parallel_for(0, (blocks + piece - 1) / piece, 4, [&](int64_t begin, int64_t end) {
    std::vector<unsigned char> packed(static_cast<size_t>(piece * t.type->bytes));
    for (int64_t i = begin * piece; i < std::min(blocks, end * piece); i += piece) {
      const int64_t n = std::min(piece, blocks - i);
      source_->read(t.offset + static_cast<uint64_t>(i * t.type->bytes), packed.data(), static_cast<size_t>(n * t.type->bytes));
      dequantize(*t.type, packed.data(), n, static_cast<float*>(out.data_ptr()) + i * t.type->block);
    }
  });
  return out;
}

NamedTensors load_gguf(const std::string& path, bool use_mmap) {
  const GgufFile file(path);
  NamedTensors tensors("Tensor");
  for (const GgufTensor& t : file.tensors()) tensors.insert(t.name, file.read(t, use_mmap));
  return tensors;
}

}  // namespace cresset::io
