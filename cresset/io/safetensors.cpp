#include "cresset/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cresset/core/fake_mode.h"
#include "cresset/io/malformed.h"
#include "cresset/io/zip.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the safetensors reader and writer assume little-endian numbers"
#endif

namespace cresset::io {

namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxHeader = 100'000'000;
constexpr int kMaxDepth = 64;
const std::string kIndexEnding = ".index.json";

struct FormatDtype {
  const char* name;
  ScalarType type;
};
constexpr FormatDtype kDtypes[] = {
    {"BOOL", ScalarType::Bool}, {"U8", ScalarType::Byte},       {"I8", ScalarType::Char},    {"I16", ScalarType::Short},        {"U16", ScalarType::UInt16},
    {"F16", ScalarType::Half},  {"BF16", ScalarType::BFloat16}, {"I32", ScalarType::Int},    {"U32", ScalarType::UInt32},       {"F32", ScalarType::Float},
    {"I64", ScalarType::Long},  {"U64", ScalarType::UInt64},    {"F64", ScalarType::Double}, {"C64", ScalarType::ComplexFloat},
};

struct Entry {
  std::string name;
  ScalarType dtype;
  std::vector<int64_t> shape;
  uint64_t begin, end;
};

struct Header {
  std::vector<Entry> entries;
  Metadata metadata;
};

const char* format_name(ScalarType type, const std::string& tensor) {
  for (const auto& d : kDtypes)
    if (d.type == type) return d.name;
  cresset::detail::throw_error<TypeError>(cresset::str("save_safetensors: the format has no dtype for ", type, ", of tensor '", tensor, "'"));
}

uint64_t number_of(const Json& value, const std::string& file, const std::string& tensor, const char* what) {
  if (!value.is_number_unsigned()) malformed("load_safetensors", file, what, " of '", tensor, "' must be whole numbers that are not negative");
  return value.get<uint64_t>();
}

Entry parse_entry(const std::string& file, const std::string& name, const Json& fields) {
  if (!fields.is_object() || !fields.contains("dtype") || !fields.contains("shape") || !fields.contains("data_offsets"))
    malformed("load_safetensors", file, "'", name, "' must have dtype, shape and data_offsets");
  const Json &dtype = fields["dtype"], &shape = fields["shape"], &offsets = fields["data_offsets"];
  if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2)
    malformed("load_safetensors", file, "'", name, "' must have a dtype, a list shape and two data_offsets");
  Entry entry{name, ScalarType::Undefined, {}, number_of(offsets[0], file, name, "data_offsets"), number_of(offsets[1], file, name, "data_offsets")};
  for (const auto& d : kDtypes)
    if (dtype.get_ref<const std::string&>() == d.name) entry.dtype = d.type;
  if (entry.dtype == ScalarType::Undefined) malformed("load_safetensors", file, "'", name, "' has unknown dtype '", dtype.get<std::string>(), "'");
  if (entry.begin > entry.end) malformed("load_safetensors", file, "data_offsets of '", name, "' run backwards");
  uint64_t bytes = element_size(entry.dtype);
  for (const Json& size : shape) {
    const uint64_t n = number_of(size, file, name, "sizes");
    if (n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) || (n != 0 && bytes > std::numeric_limits<int64_t>::max() / n))
      malformed("load_safetensors", file, "the shape of '", name, "' is too large");
    bytes *= n;
    entry.shape.push_back(static_cast<int64_t>(n));
  }
  if (bytes != entry.end - entry.begin)
    malformed("load_safetensors", file, "'", name, "' has ", entry.end - entry.begin, " bytes, its dtype and shape need ", bytes);
  return entry;
}

// An object in which, as in all objects within it, keys appear once each.
Json parse_json(const std::string& file, const char* text, size_t size) {
  std::set<std::string> seen[kMaxDepth + 2];  // in the object that is open at each depth
  std::string repeated;
  auto note_keys = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) malformed("load_safetensors", file, "the header nests too deep");
    if (event == Json::parse_event_t::object_start) seen[depth + 1].clear();
    if (event == Json::parse_event_t::key && !seen[depth].insert(parsed.get<std::string>()).second) repeated = parsed.get<std::string>();
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, text + size, note_keys);
  } catch (const Json::parse_error& e) {
    malformed("load_safetensors", file, "the header is not JSON, the first error is at byte ", e.byte);
  } catch (const Json::exception&) { malformed("load_safetensors", file, "the header is not JSON"); }
  if (!json.is_object()) malformed("load_safetensors", file, "the header is not a JSON object");
  if (!repeated.empty()) malformed("load_safetensors", file, "the name '", repeated, "' appears twice");
  return json;
}

Header parse_header(const std::string& file, const char* text, size_t size, uint64_t data_size) {
  const Json json = parse_json(file, text, size);
  Header header;
  for (const auto& item : json.items()) {
    if (item.key() != "__metadata__") {
      header.entries.push_back(parse_entry(file, item.key(), item.value()));
      continue;
    }
    if (!item.value().is_object()) malformed("load_safetensors", file, "__metadata__ is not an object");
    for (const auto& pair : item.value().items()) {
      if (!pair.value().is_string()) malformed("load_safetensors", file, "__metadata__ '", pair.key(), "' is not text");
      header.metadata[pair.key()] = pair.value().get<std::string>();
    }
  }
  // In the order of the data there are no gaps, no overlaps, and nothing is left over.
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const Entry& a, const Entry& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  uint64_t at = 0;
  for (const Entry& e : header.entries) {
    if (e.begin != at) malformed("load_safetensors", file, "the data of '", e.name, "' starts at ", e.begin, ", expected ", at);
    at = e.end;
  }
  if (at > data_size) malformed("load_safetensors", file, "it is truncated, got ", data_size, " bytes of data, expected ", at);
  if (at < data_size) malformed("load_safetensors", file, "there are ", data_size - at, " bytes behind the data");
  return header;
}

uint64_t header_length(const std::string& file, const char* first_bytes, uint64_t file_size) {
  uint64_t length;
  std::memcpy(&length, first_bytes, sizeof length);
  if (length > kMaxHeader) malformed("load_safetensors", file, "the header is said to have ", length, " bytes, at most ", kMaxHeader, " are allowed");
  if (length > file_size - 8)
    malformed("load_safetensors", file, "it is truncated within the header, got ", file_size, " bytes, expected at least ", length + 8);
  return length;
}

void check_has_length(const std::string& file, uint64_t size) {
  if (size < 8) malformed("load_safetensors", file, "it is truncated, got ", size, " bytes");
}

bool aligned(const void* p, ScalarType type) { return reinterpret_cast<uintptr_t>(p) % element_size(type) == 0; }

}  // namespace

void write_safetensors(const NamedTensors& tensors, const Metadata& metadata, FunctionRef<void(const void*, size_t)> write) {
  std::vector<std::pair<std::string, Tensor>> sorted;
  for (const auto& item : tensors) {
    const Tensor& t = item.value();
    CRESSET_CHECK(t.defined(), "save_safetensors: tensor '", item.key(), "' is undefined");
    CRESSET_CHECK(t.layout() == kStrided && !t.is_meta(), "save_safetensors: tensor '", item.key(), "' has no dense data");
    sorted.emplace_back(item.key(), t);
  }
  // Large elements first keeps all of them aligned.
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second.element_size() > b.second.element_size(); });
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = std::map<std::string, std::string>(metadata.begin(), metadata.end());
  uint64_t at = 0;
  for (const auto& [name, tensor] : sorted) {
    CRESSET_CHECK_VALUE(name != "__metadata__", "save_safetensors: no tensor may be called '__metadata__'");
    const uint64_t end = at + static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
    header[name] = {{"dtype", format_name(tensor.scalar_type(), name)}, {"shape", tensor.sizes().vec()}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception& e) { CRESSET_CHECK_VALUE(false, "save_safetensors: names and metadata must be UTF-8: ", e.what()); }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  write(&length, sizeof length);
  write(text.data(), text.size());
  for (const auto& named : sorted) {
    const Tensor data = named.second.detach().to(Device(kCPU)).resolve_conj().resolve_neg().contiguous();
    if (data.numel() > 0) write(data.data_ptr(), static_cast<size_t>(data.numel()) * data.element_size());
  }
}

void save_safetensors(const NamedTensors& tensors, const std::string& path, const Metadata& metadata) {
  write_file_atomically(path, [&](const WriteBytes& write) { write_safetensors(tensors, metadata, write); });
}

void save_safetensors(const NamedTensors& tensors, const std::string& path) { save_safetensors(tensors, path, {{"format", "pt"}}); }

SafetensorsContent read_safetensors(const ByteSource& source, const std::string& name, bool use_mmap) {
  check_has_length(name, source.size());
  char first_bytes[8];
  source.read(0, first_bytes, sizeof first_bytes);
  const uint64_t length = header_length(name, first_bytes, source.size());
  std::string text(length, 0);
  source.read(8, text.data(), length);
  const uint64_t data_at = 8 + length;
  Header header = parse_header(name, text.data(), length, source.size() - data_at);
  const FakeModeScope off(nullptr);
  SafetensorsContent content;
  content.metadata = std::move(header.metadata);
  const std::shared_ptr<char> mapped = use_mmap ? source.map() : nullptr;
  for (const Entry& e : header.entries) {
    char* there = mapped ? mapped.get() + data_at + e.begin : nullptr;
    if (mapped && e.end > e.begin && aligned(there, e.dtype)) {
      content.tensors.insert(e.name, cresset::from_blob(
                                         there, e.shape, [mapped](void*) {}, TensorOptions(e.dtype)));
      continue;
    }
    const Tensor t = cresset::empty(e.shape, TensorOptions(e.dtype));
    if (e.end > e.begin) source.read(data_at + e.begin, t.data_ptr(), e.end - e.begin);
    content.tensors.insert(e.name, t);
  }
  return content;
}

SafetensorsContent parse_safetensors(const void* data, size_t size, const std::string& name) { return read_safetensors(MemorySource(data, size), name, false); }

std::vector<std::pair<std::string, std::string>> read_safetensors_index(const ByteSource& source, const std::string& name) {
  if (source.size() > kMaxHeader) malformed("load_safetensors", name, "an index of ", source.size(), " bytes is too large");
  std::string text(static_cast<size_t>(source.size()), 0);
  source.read(0, text.data(), text.size());
  const Json json = parse_json(name, text.data(), text.size());
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) malformed("load_safetensors", name, "it has no weight_map");
  std::vector<std::pair<std::string, std::string>> shards;
  for (const auto& item : map->items()) {
    if (!item.value().is_string()) malformed("load_safetensors", name, "the file of '", item.key(), "' is not text");
    const std::string file = item.value().get<std::string>();
    if (file.empty() || file == "." || file == ".." || file.find_first_of(std::string("/\\\0", 3)) != std::string::npos)
      malformed("load_safetensors", name, "the file of '", item.key(), "' is not the name of a file beside it");
    shards.emplace_back(item.key(), file);
  }
  return shards;
}

SafetensorsContent load_safetensors(const std::string& path, bool use_mmap) {
  const bool is_index = path.size() > kIndexEnding.size() && path.compare(path.size() - kIndexEnding.size(), kIndexEnding.size(), kIndexEnding) == 0;
  if (!is_index) return read_safetensors(FileSource(path), path, use_mmap);
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::map<std::string, SafetensorsContent> files;
  SafetensorsContent all;
  for (const auto& [name, file] : read_safetensors_index(FileSource(path), path)) {
    if (!files.count(file)) files.emplace(file, read_safetensors(FileSource(folder + file), folder + file, use_mmap));
    const SafetensorsContent& content = files.at(file);
    const Tensor* tensor = content.tensors.find(name);
    if (!tensor) malformed("load_safetensors", path, "'", file, "' has no tensor '", name, "'");
    all.tensors.insert(name, *tensor);
    all.metadata.insert(content.metadata.begin(), content.metadata.end());
  }
  return all;
}

}  // namespace cresset::io
