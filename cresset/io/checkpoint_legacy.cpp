// The formats before zip archives: pickles with the bytes of all storages behind them, and before that the same in a tar archive.

#include <algorithm>
#include <cstring>

#include "cresset/io/checkpoint.h"

namespace cresset::io {

namespace {

// The first pickles of the format before zip archives.
constexpr std::string_view kLegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr int64_t kLegacyVersion = 1001;
constexpr uint64_t kTarBlock = 512;

// Octal text, ended by a space or zero; -1 for anything else.
int64_t octal(const char* text, size_t size) {
  int64_t value = 0;
  size_t digits = 0;
  while (size > 0 && *text == ' ') text++, size--;
  for (; digits < size && text[digits] >= '0' && text[digits] <= '7'; digits++) value = value * 8 + (text[digits] - '0');
  return digits > 0 && (digits == size || text[digits] == 0 || text[digits] == ' ') ? value : -1;
}

bool is_tar_header(const char (&block)[kTarBlock]) {
  int64_t sum = 0;
  for (size_t i = 0; i < kTarBlock; i++) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
  return octal(block + 148, 8) == sum;
}

bool reversed(const Document& d, NodeId facts) {
  if (d[facts].kind != Kind::Dict) return false;
  const auto& items = d.children(facts);
  for (size_t i = 0; i + 1 < items.size(); i += 2)
    if (d[items[i]].kind == Kind::Text && d[items[i]].text == "little_endian" && d[items[i + 1]].kind == Kind::Bool) return !d[items[i + 1]].flag;
  return false;
}

}  // namespace

// Five pickles: a magic number, a version, facts on the machine, the object, the list of storages; then each storage's length and bytes.
void Checkpoint::read_legacy() {
  CRESSET_CHECK(source_->size() <= (uint64_t{1} << 40), "load: '", options_.file, "' is too large");
  // The pickles lie at the front; how far they reach is only known by reading them.
  std::string bytes;
  size_t window = size_t{1} << 20;
  char start[16] = {};
  source_->read(0, start, static_cast<size_t>(std::min<uint64_t>(source_->size(), sizeof start)));
  if (std::string_view(start + 4, kLegacyMagic.size()) != kLegacyMagic && std::string_view(start + 2, kLegacyMagic.size()) != kLegacyMagic) {
    const std::string_view front(start, sizeof start);
    const char* other = front.substr(0, 4) == "GGUF"    ? "; it is a GGUF file, which torch.io.load_gguf reads"
                        : front.substr(1, 5) == "NUMPY" ? "; it is a .npy file, which torch.io.load_npy reads"
                        : front.substr(8, 2) == "{\""   ? "; it is a safetensors file, which torch.io.safetensors.load_file reads"
                                                        : "";
    cresset::detail::throw_error<UnpicklingError>(
        cresset::str("load: '", options_.file, "' is not a checkpoint: it starts neither like a zip archive nor like the formats before it", other));
  }
  NodeId keys = 0;
  size_t consumed = 0;
  for (;; window *= 8) {
    const size_t n = static_cast<size_t>(std::min<uint64_t>(source_->size(), std::min(window, kMaxPickleBytes)));
    bytes.resize(n);
    source_->read(0, bytes.data(), n);
    document_ = Document();
    std::string_view rest = bytes;
    try {
      unpickle(document_, rest, options_);
      const NodeId version = unpickle(document_, rest, options_);
      CRESSET_CHECK(document_[version].kind == Kind::Int && document_[version].integer == kLegacyVersion, "load: '", options_.file,
                    "' has an unknown version of the format");
      swap_bytes_ = reversed(document_, unpickle(document_, rest, options_));
      const std::string_view before = rest;
      root_ = unpickle(document_, rest, options_);
      pickle_ = std::string(before.substr(0, before.size() - rest.size()));
      keys = unpickle(document_, rest, options_);
    } catch (const UnpicklingError&) {
      if (n == source_->size() || window >= kMaxPickleBytes) throw;
      continue;
    }
    consumed = n - rest.size();
    break;
  }
  CRESSET_CHECK(document_[keys].kind == Kind::List, "load: '", options_.file, "' has no list of storages");
  uint64_t at = consumed;
  size_t located = 0;
  for (const NodeId key : document_.children(keys)) {
    const auto found = document_[key].kind == Kind::Text ? document_.storage_index.find(document_[key].text) : document_.storage_index.end();
    CRESSET_CHECK(found != document_.storage_index.end() && document_.storages[found->second].offset == 0, "load: '", options_.file,
                  "' lists a storage that nothing refers to, or twice");
    StorageRecord& s = document_.storages[found->second];
    int64_t count;
    source_->read(at, &count, sizeof count);
    if (swap_bytes_) count = static_cast<int64_t>(__builtin_bswap64(static_cast<uint64_t>(count)));
    at += sizeof count;
    const uint64_t each = s.class_bytes;
    CRESSET_CHECK(count >= 0 && static_cast<uint64_t>(count) <= (source_->size() - at) / each, "load: '", options_.file, "' is truncated within its storages");
    locate(found->second, at, static_cast<uint64_t>(count) * each);
    at += static_cast<uint64_t>(count) * each;
    located++;
  }
  end_ = at;
  CRESSET_CHECK(located == document_.storages.size(), "load: '", options_.file, "' has ", located, " storages, expected ", document_.storages.size());
}

bool Checkpoint::looks_like_tar() const {
  char block[kTarBlock];
  if (source_->size() < kTarBlock) return false;
  source_->read(0, block, kTarBlock);
  return is_tar_header(block);
}

// Four files: `storages` (their number; of each a pickle and its bytes; which are parts of others), `tensors` (their number; of each a pickle
// and its geometry), `pickle` (the object, whose references are numbers of tensors and storages) and `sys_info`.
void Checkpoint::read_tar() {
  struct Part {
    uint64_t at, stop;
  };
  std::unordered_map<std::string, Part> parts;
  for (uint64_t at = 0; source_->size() - at >= kTarBlock;) {
    char block[kTarBlock];
    source_->read(at, block, kTarBlock);
    if (block[0] == 0) break;
    const int64_t size = octal(block + 124, 12);
    at += kTarBlock;
    CRESSET_CHECK(is_tar_header(block) && size >= 0 && static_cast<uint64_t>(size) <= source_->size() - at, "load: '", options_.file,
                  "' is a damaged tar archive");
    const std::string name(block, strnlen(block, 100));
    const bool fresh = parts.emplace(name, Part{at, at + static_cast<uint64_t>(size)}).second;
    CRESSET_CHECK(fresh, "load: '", options_.file, "' is a damaged tar archive: '", name, "' appears twice");
    at = std::min(source_->size(), at + (static_cast<uint64_t>(size) + kTarBlock - 1) / kTarBlock * kTarBlock);
  }
  auto part = [&](const char* name) -> Part& {
    const auto found = parts.find(name);
    CRESSET_CHECK(found != parts.end(), "load: '", options_.file, "' is a tar archive, but no checkpoint: it has no file '", name, "'");
    return found->second;
  };
  UnpickleOptions plain = options_;
  plain.tensor_classes = true;
  plain.reference = [&](NodeId) -> NodeId {
    cresset::detail::throw_error<UnpicklingError>(cresset::str("load: '", options_.file, "' refers to a tensor in its tables"));
  };
  // One pickle from where a part stands. How far it reaches is only known by reading it.
  auto next_pickle = [&](Part& p, const UnpickleOptions& options) {
    for (uint64_t window = 256;; window *= 8) {
      const uint64_t n = std::min(p.stop - p.at, std::min<uint64_t>(window, kMaxPickleBytes));
      std::string bytes(static_cast<size_t>(n), 0);
      source_->read(p.at, bytes.data(), bytes.size());
      std::string_view rest = bytes;
      try {
        const NodeId node = unpickle(document_, rest, options);
        p.at += n - rest.size();
        return node;
      } catch (const UnpicklingError&) {
        if (n == p.stop - p.at || window >= kMaxPickleBytes) throw;
      }
    }
  };
  auto fail = [&](const char* what) {
    cresset::detail::throw_error<UnpicklingError>(cresset::str("load: '", options_.file, "' is a damaged tar archive: ", what));
  };
  auto need = [&](bool holds, const char* what) {
    if (!holds) fail(what);
  };
  auto number = [&](Part& p, size_t size) {
    int64_t value = 0;
    need(p.stop - p.at >= size, "it is cut short");
    source_->read(p.at, &value, size);
    p.at += size;
    return value;
  };
  auto is = [&](NodeId id, Kind kind) { return document_[id].kind == kind; };
  // References are numbers, or the same as text.
  auto name_of = [&](NodeId id) -> std::string {
    need(is(id, Kind::Int) || is(id, Kind::Text), "a reference is no number");
    return is(id, Kind::Int) ? std::to_string(document_[id].integer) : std::string(document_[id].text);
  };
  auto row = [&](Part& p, size_t size) {
    const NodeId id = next_pickle(p, plain);
    need(is(id, Kind::Tuple) && document_.children(id).size() == size, "a row does not fit");
    return std::vector<NodeId>(document_.children(id));
  };
  swap_bytes_ = reversed(document_, next_pickle(part("sys_info"), plain));
  CRESSET_CHECK(!swap_bytes_, "load: '", options_.file, "' is a tar archive of a big-endian machine, which is not supported");

  auto& known = references_;
  Part& storages = part("storages");
  const NodeId storage_count = next_pickle(storages, plain);
  need(is(storage_count, Kind::Int), "the number of storages is missing");
  for (int64_t i = 0; i < document_[storage_count].integer; i++) {
    const std::vector<NodeId> r = row(storages, 3);
    need(is(r[1], Kind::Text) && is(r[2], Kind::Global) && document_[r[2]].known == Known::StorageClass, "the row of a storage does not fit");
    const ScalarType dtype = document_[r[2]].dtype;
    const uint32_t each = dtype == ScalarType::Undefined ? 1 : static_cast<uint32_t>(element_size(dtype));
    const int64_t count = number(storages, 8);
    need(count >= 0 && static_cast<uint64_t>(count) <= (storages.stop - storages.at) / each, "a storage is cut short");
    document_.texts.push_back(name_of(r[0]));
    const std::string_view key = document_.texts.back();
    Node node;
    node.kind = Kind::Storage;
    node.dtype = dtype;
    node.place = static_cast<uint32_t>(document_.storages.size());
    need(document_.storage_index.emplace(key, node.place).second, "a storage appears twice");
    const uint64_t nbytes = static_cast<uint64_t>(count) * each;
    document_.storages.push_back({key, document_[r[1]].text, nbytes, each, is_complex_type(dtype) ? each / 2 : each, storages.at});
    storages.at += nbytes;
    known[std::string(key)] = static_cast<NodeId>(document_.nodes.size());
    document_.nodes.push_back(node);
  }
  const NodeId views = next_pickle(storages, plain);
  need(is(views, Kind::List), "the list of views is missing");
  for (const NodeId view : document_.children(views)) {
    need(is(view, Kind::Tuple) && document_.children(view).size() == 4, "the row of a view does not fit");
    const std::vector<NodeId> r = document_.children(view);
    const auto root = known.find(name_of(r[1]));
    need(root != known.end() && is(r[2], Kind::Int) && is(r[3], Kind::Int), "the row of a view does not fit");
    Node node = document_[root->second];
    need(node.integer == 0 && document_[r[2]].integer >= 0, "the row of a view does not fit");
    node.integer = document_[r[2]].integer;
    known[name_of(r[0])] = static_cast<NodeId>(document_.nodes.size());
    document_.nodes.push_back(node);
  }

  Part& tensors = part("tensors");
  const NodeId tensor_count = next_pickle(tensors, plain);
  need(is(tensor_count, Kind::Int), "the number of tensors is missing");
  for (int64_t i = 0; i < document_[tensor_count].integer; i++) {
    const std::vector<NodeId> r = row(tensors, 3);
    const auto storage = known.find(name_of(r[1]));
    const int64_t dims = number(tensors, 8) & 0xffffffff;
    need(dims <= 64, "a tensor has too many dimensions");
    std::vector<int64_t> geometry(static_cast<size_t>(2 * dims));
    for (int64_t& v : geometry) v = number(tensors, 8);
    const int64_t offset = number(tensors, 8);
    // Tensors without elements have no storage.
    need(storage != known.end() || is(r[1], Kind::None), "a tensor has no storage");
    if (storage == known.end()) continue;
    known[name_of(r[0])] = add_tensor(document_, storage->second, offset, geometry, options_);
  }
  Part& pickle = part("pickle");
  UnpickleOptions with_references = plain;
  with_references.reference = [&](NodeId id) {
    // A class with its source text, or a number.
    if (is(id, Kind::Tuple) && !document_.children(id).empty()) return document_.children(id)[0];
    const auto found = known.find(name_of(id));
    need(found != known.end(), "a reference is to nothing");
    return found->second;
  };
  const uint64_t start = pickle.at;
  root_ = next_pickle(pickle, with_references);
  pickle_.resize(static_cast<size_t>(pickle.at - start));
  source_->read(start, pickle_.data(), pickle_.size());
}

void CheckpointWriter::write_legacy(const WriteBytes& write) {
  auto put = [&](const std::string& bytes) { write(bytes.data(), bytes.size()); };
  Pickler magic(protocol_), version(protocol_), facts(protocol_), keys(protocol_);
  magic.big_integer(kLegacyMagic);
  version.integer(kLegacyVersion);
  facts.op('}');
  facts.mark();
  facts.text("protocol_version");
  facts.integer(kLegacyVersion);
  facts.text("little_endian");
  facts.boolean(true);
  facts.text("type_sizes");
  facts.op('}');
  facts.mark();
  for (const auto& [name, size] : {std::pair("short", 2), std::pair("int", 4), std::pair("long", 4)}) {
    facts.text(name);
    facts.integer(size);
  }
  facts.op('u');
  facts.op('u');
  keys.op(']');
  keys.mark();
  for (size_t i = 0; i < storages_.size(); i++) keys.text(std::to_string(i));
  keys.op('e');
  for (Pickler* p : {&magic, &version, &facts, &pickler_, &keys}) put(p->finish());
  for (size_t i = 0; i < storages_.size(); i++) {
    const int64_t count = static_cast<int64_t>(storages_[i]->nbytes() / element_size(dtypes_[i]));
    write(&count, sizeof count);
    with_bytes(i, [&](const void* data, size_t) { write(data, static_cast<size_t>(count) * element_size(dtypes_[i])); });
  }
}

}  // namespace cresset::io
