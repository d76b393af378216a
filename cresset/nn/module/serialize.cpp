#include "cresset/nn/module/serialize.h"

#include <algorithm>
#include <cstdlib>
#include <istream>
#include <iterator>
#include <ostream>

#include "cresset/io/checkpoint.h"
#include "cresset/io/safetensors.h"
#include "cresset/nn/module/archive_contents.h"

namespace cresset::serialize {

namespace {

using io::Kind;
using io::NodeId;

const std::string kValuePrefix = "value:";
const std::string kGroups = "param_groups.", kState = "state.";

bool starts_with(const std::string& s, const std::string& start) { return s.compare(0, start.size(), start) == 0; }

// ---- writing -----------------------------------------------------------------------------------------------------------

void write_value(io::Pickler& p, const ArchiveValue& v) {
  auto list = [&](const auto& values, auto one) {
    p.op(']');
    p.mark();
    for (const auto& x : values) one(x);
    p.op('e');
  };
  switch (v.text()[0]) {
    case 'b': return p.boolean(v.to_bool());
    case 'i': return p.integer(v.to_int());
    case 'd': return p.real(v.to_double());
    case 's': return p.text(v.to_string());
    case 'l': return list(v.to_int_list(), [&](int64_t x) { p.integer(x); });
    case 'v': return list(v.to_double_list(), [&](double x) { p.real(x); });
    default: p.none();
  }
}

// "[3]" is the fourth element of a list, "[]" an empty one.
bool is_element(const std::string& key) { return key.size() >= 2 && key[0] == '['; }

class ArchiveWriter {
 public:
  explicit ArchiveWriter(const ArchiveContents& contents) : c_(contents), p_(w_.pickler()) {}

  void write(const io::WriteBytes& sink, const std::string& folder) {
    for (const auto& entry : c_.tensors) keys_.push_back(entry.first);
    for (const auto& entry : c_.values) keys_.push_back(entry.first);
    const bool optimizer = std::any_of(keys_.begin(), keys_.end(), [](const std::string& k) { return starts_with(k, kGroups); }) &&
                           std::all_of(keys_.begin(), keys_.end(), [](const std::string& k) { return starts_with(k, kGroups) || starts_with(k, kState); });
    if (optimizer) {
      write_optimizer();
    } else if (keys_.size() == 1 && keys_[0].empty()) {
      put(keys_[0]);
    } else if (!keys_.empty() && std::all_of(keys_.begin(), keys_.end(), is_element)) {
      p_.op(']');
      p_.mark();
      for (const std::string& key : keys_)
        if (key != "[]") put(key);
      p_.op('e');
    } else {
      p_.ordered_dict();
      p_.mark();
      for (const std::string& key : keys_) {
        p_.text(key);
        put(key);
      }
      p_.op('u');
    }
    w_.write(sink, folder);
  }

 private:
  void put(const std::string& key) {
    const int64_t at = c_.index.at(key);
    if (at >= 0) w_.tensor(c_.tensors[static_cast<size_t>(at)].second);
    else write_value(p_, c_.values[static_cast<size_t>(-1 - at)].second);
  }
  const ArchiveValue* value(const std::string& key) const {
    const auto found = c_.index.find(key);
    return found == c_.index.end() || found->second >= 0 ? nullptr : &c_.values[static_cast<size_t>(-1 - found->second)].second;
  }

  // As the state_dict of Python's optimizers: {"state": {number: {...}}, "param_groups": [{..., "params": [numbers]}]}.
  void write_optimizer() {
    p_.op('}');
    p_.mark();
    p_.text("state");
    p_.op('}');
    p_.mark();
    std::string open;
    std::vector<std::string> states;
    for (const std::string& key : keys_)
      if (starts_with(key, kState)) states.push_back(key);
    // Tensors and values of one parameter lie apart in the archive.
    auto number = [](const std::string& key) { return std::strtoll(key.c_str() + kState.size(), nullptr, 10); };
    std::stable_sort(states.begin(), states.end(), [&](const std::string& a, const std::string& b) { return number(a) < number(b); });
    for (const std::string& key : states) {
      const size_t dot = key.find('.', kState.size());
      const std::string parameter = key.substr(0, dot), name = key.substr(dot + 1);
      if (parameter != open) {
        if (!open.empty()) p_.op('u');
        p_.integer(number(key));
        p_.op('}');
        p_.mark();
        open = parameter;
      }
      // A list of tensors: its length, and each under its number.
      const size_t tail = name.rfind('_');
      if (tail != std::string::npos && name.compare(tail, std::string::npos, "_size") && value(parameter + "." + name.substr(0, tail) + "_size")) continue;
      const ArchiveValue* v = value(key);
      if (v && tail != std::string::npos && !name.compare(tail, std::string::npos, "_size")) {
        p_.text(name.substr(0, tail));
        p_.op(']');
        p_.mark();
        for (int64_t i = 0; i < v->to_int(); i++) put(key.substr(0, key.size() - 4) + std::to_string(i));
        p_.op('e');
        continue;
      }
      p_.text(name);
      if (name == "step" && v) w_.tensor(cresset::full({}, static_cast<double>(v->to_int()), kFloat));
      else put(key);
    }
    if (!open.empty()) p_.op('u');
    p_.op('u');
    p_.text("param_groups");
    p_.op(']');
    p_.mark();
    int64_t next = 0;
    for (int64_t g = 0;; g++) {
      const std::string prefix = kGroups + std::to_string(g) + ".";
      const ArchiveValue* size = value(prefix + "size");
      if (!size) break;
      p_.op('}');
      p_.mark();
      for (const std::string& key : keys_) {
        if (!starts_with(key, prefix)) continue;
        const std::string name = key.substr(prefix.size());
        const ArchiveValue* second = value(prefix + "beta2");
        if (name == "size" || (name == "beta2" && value(prefix + "beta1"))) continue;
        p_.text(name == "beta1" && second ? "betas" : name);
        put(key);
        if (name != "beta1" || !second) continue;
        put(prefix + "beta2");
        p_.op('\x86');
      }
      p_.text("params");
      p_.op(']');
      p_.mark();
      for (int64_t i = 0; i < size->to_int(); i++) p_.integer(next++);
      p_.op('e');
      p_.op('u');
    }
    p_.op('e');
    p_.op('u');
  }

  const ArchiveContents& c_;
  io::CheckpointWriter w_;
  io::Pickler& p_;
  std::vector<std::string> keys_;
};

// ---- reading -----------------------------------------------------------------------------------------------------------

// Everything that names can reach, flattened: nested dicts, modules of LibTorch's files and lists join with '.'.
class ArchiveReader {
 public:
  ArchiveReader(const io::Checkpoint& checkpoint, const std::optional<Device>& device)
      : checkpoint_(checkpoint), d_(checkpoint.document()), device_(device), storages_(checkpoint.num_storages()) {
    for (const auto& list : d_.lists) budget_ += 8 * (list.size() + 1);
  }

  ArchiveContents read() {
    std::vector<std::pair<NodeId, std::string>> todo;
    const NodeId root = checkpoint_.root();
    if (!add_leaf(root, "0")) expand(root, "", todo);
    while (!todo.empty()) {
      const auto [id, key] = std::move(todo.back());
      todo.pop_back();
      if (!add_leaf(id, key)) expand(id, key + ".", todo);
    }
    if (std::any_of(contents_.index.begin(), contents_.index.end(), [](const auto& entry) { return starts_with(entry.first, kGroups); })) as_optimizer();
    return std::move(contents_);
  }

 private:
  static bool is_dict(Kind k) { return k >= Kind::Dict && k <= Kind::Counter; }

  bool add_leaf(NodeId id, const std::string& key) {
    const io::Node& n = d_[id];
    switch (n.kind) {
      case Kind::None: contents_.add(key, ArchiveValue()); return true;
      case Kind::Bool: contents_.add(key, ArchiveValue(n.flag)); return true;
      case Kind::Int: contents_.add(key, ArchiveValue(n.integer)); return true;
      case Kind::Float: contents_.add(key, ArchiveValue(n.real)); return true;
      case Kind::Text: contents_.add(key, ArchiveValue(std::string(n.text))); return true;
      case Kind::Tensor: contents_.add(key, tensor(d_.tensors[n.place])); return true;
      case Kind::List:
      case Kind::Tuple:
      case Kind::Size: {
        const auto& items = d_.lists[n.place];
        std::vector<double> reals;
        bool whole = true;
        for (const NodeId item : items) {
          if (d_[item].kind != Kind::Int && d_[item].kind != Kind::Float) return false;
          whole = whole && d_[item].kind == Kind::Int;
          reals.push_back(d_[item].kind == Kind::Int ? static_cast<double>(d_[item].integer) : d_[item].real);
        }
        if (items.empty()) return false;
        contents_.add(key, whole ? ArchiveValue(d_.integers(id)) : ArchiveValue(reals));
        return true;
      }
      default: return !is_dict(n.kind) && n.kind != Kind::Object;  // what no archive asks for is left out
    }
  }

  void expand(NodeId id, const std::string& prefix, std::vector<std::pair<NodeId, std::string>>& todo) {
    const io::Node& n = d_[id];
    const auto& items = d_.lists[n.place];
    CRESSET_CHECK(items.size() < budget_, "load: the archive contains itself");
    budget_ -= items.size() + 1;
    const size_t before = todo.size();
    if (n.kind == Kind::Object) {
      for (size_t i = 2; i + 1 < items.size();) {
        if (items[i] == static_cast<NodeId>(io::Change::Build) && is_dict(d_[items[i + 1]].kind)) expand_dict(items[i + 1], prefix, todo);
        i += items[i] == static_cast<NodeId>(io::Change::SetItem) ? 3 : 2;
      }
    } else if (is_dict(n.kind)) {
      expand_dict(id, prefix, todo);
    } else {
      for (size_t i = 0; i < items.size(); i++) add_key(todo, items[i], prefix, std::to_string(i));
    }
    std::reverse(todo.begin() + static_cast<int64_t>(before), todo.end());
  }
  void expand_dict(NodeId id, const std::string& prefix, std::vector<std::pair<NodeId, std::string>>& todo) {
    const auto& items = d_.children(id);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const io::Node& key = d_[items[i]];
      if (key.kind == Kind::Text) add_key(todo, items[i + 1], prefix, key.text);
      else if (key.kind == Kind::Int) add_key(todo, items[i + 1], prefix, std::to_string(key.integer));
    }
  }
  // Keys are as long as the file nests deep: what all of them take is bounded.
  void add_key(std::vector<std::pair<NodeId, std::string>>& todo, NodeId id, const std::string& prefix, std::string_view name) {
    key_bytes_ += prefix.size() + name.size() + 1;
    CRESSET_CHECK(key_bytes_ < (size_t{1} << 28), "load: the archive nests too deep, or its names are too long");
    todo.emplace_back(id, prefix + std::string(name));
  }

  Tensor tensor(const io::TensorRecord& record) {
    const Tensor t = checkpoint_.make_tensor(record, [&](uint32_t number) {
      auto& slot = storages_[number];
      if (!slot) slot = checkpoint_.read_storage(number);
      return slot;
    });
    return device_ ? t.to(*device_) : t;
  }

  const ArchiveValue* value(const ArchiveContents& c, const std::string& key) const {
    const auto found = c.index.find(key);
    return found == c.index.end() || found->second >= 0 ? nullptr : &c.values[static_cast<size_t>(-1 - found->second)].second;
  }

  // Python's optimizers and LibTorch's, in the names that ours use.
  void as_optimizer() {
    ArchiveContents old = std::move(contents_);
    contents_ = ArchiveContents();
    // LibTorch: "param_groups.param_groups/0.params/3" is the address of the fourth parameter, under which the state has its part.
    std::unordered_map<std::string, std::string> numbers;
    const std::string inner = kGroups + "param_groups/";
    std::vector<int64_t> counts;
    int64_t next = 0;
    for (size_t g = 0;; g++) {
      int64_t n = 0;
      const std::string prefix = inner + std::to_string(g) + ".params/";
      while (const ArchiveValue* address = value(old, prefix + std::to_string(n))) {
        numbers.emplace(address->to_string(), std::to_string(next++));
        n++;
      }
      if (n == 0 && !old.index.count(prefix + "size")) break;
      counts.push_back(n);
    }
    for (size_t g = 0; g < counts.size(); g++) contents_.add(kGroups + std::to_string(g) + ".size", ArchiveValue(counts[g]));
    auto rename = [&](const std::string& key) -> std::string {
      if (starts_with(key, kState)) {
        const size_t dot = std::min(key.find('.', kState.size()), key.size());
        const auto found = numbers.find(key.substr(kState.size(), dot - kState.size()));
        return found == numbers.end() ? key : kState + found->second + key.substr(dot);
      }
      if (!starts_with(key, inner)) return key == "param_groups.param_groups/size" ? "" : key;
      const size_t dot = std::min(key.find('.', inner.size()), key.size());
      const std::string rest = key.substr(dot), options = ".options.";
      if (rest.compare(0, options.size(), options) != 0) return "";
      return kGroups + key.substr(inner.size(), dot - inner.size()) + "." + rest.substr(options.size());
    };
    for (const auto& entry : old.values) {
      const std::string key = rename(entry.first);
      const size_t dot = key.rfind('.');
      const std::string name = dot == std::string::npos ? "" : key.substr(dot + 1), head = key.substr(0, dot + 1);
      if (key.empty()) continue;
      if (starts_with(key, kGroups) && name == "params" && entry.second.text()[0] == 'l') {
        contents_.add(head + "size", ArchiveValue(static_cast<int64_t>(entry.second.to_int_list().size())));
      } else if (starts_with(key, kGroups) && name == "betas" && (entry.second.text()[0] == 'v' || entry.second.text()[0] == 'l')) {
        const std::vector<double> betas = entry.second.text()[0] == 'v' ? entry.second.to_double_list() : std::vector<double>();
        const std::vector<int64_t> whole = entry.second.text()[0] == 'l' ? entry.second.to_int_list() : std::vector<int64_t>();
        for (size_t i = 0; i < std::max(betas.size(), whole.size()); i++)
          contents_.add(head + "beta" + std::to_string(i + 1), ArchiveValue(betas.empty() ? static_cast<double>(whole[i]) : betas[i]));
      } else {
        contents_.add(key, entry.second);
      }
    }
    std::unordered_map<std::string, int64_t> lists;
    for (const auto& entry : old.tensors) {
      std::string key = rename(entry.first);
      const size_t dot = key.rfind('.');
      if (key.empty()) continue;
      // "state.0.old_dirs.2": the third of a list.
      if (starts_with(key, kState) && std::count(key.begin(), key.end(), '.') == 3) {
        lists[key.substr(0, dot) + "_size"]++;
        key[dot] = '_';
      }
      if (starts_with(key, kState) && key.compare(dot + 1, std::string::npos, "step") == 0 && entry.second.dim() == 0 && !entry.second.is_meta())
        contents_.add(key, ArchiveValue(entry.second.item().toLong()));
      else contents_.add(key, entry.second);
    }
    for (const auto& [key, size] : lists) contents_.add(key, ArchiveValue(size));
  }

  const io::Checkpoint& checkpoint_;
  const io::Document& d_;
  std::optional<Device> device_;
  std::vector<intrusive_ptr<StorageImpl>> storages_;
  size_t key_bytes_ = 0;
  size_t budget_ = 1000;  // of elements that names lead to; one that several names lead to counts each time
  ArchiveContents contents_;
};

ArchiveContents from_safetensors(const io::SafetensorsContent& content, const std::optional<Device>& device) {
  ArchiveContents contents;
  for (const auto& item : content.tensors) contents.add(item.key(), device ? item.value().to(*device) : item.value());
  for (const auto& pair : content.metadata)
    if (starts_with(pair.first, kValuePrefix)) contents.add(pair.first.substr(kValuePrefix.size()), ArchiveValue::parse(pair.second));
  return contents;
}

// A safetensors file is told by the brace that its header starts with.
ArchiveContents read_source(const std::shared_ptr<const io::ByteSource>& source, const std::string& name, const std::optional<Device>& device) {
  char start[9] = {};
  source->read(0, start, std::min<uint64_t>(source->size(), sizeof start));
  if (source->size() >= sizeof start && start[8] == '{' && !io::ZipReader::looks_like_zip(*source))
    return from_safetensors(io::read_safetensors(*source, name), device);
  io::CheckpointOptions options;
  options.file = name;
  options.script = true;
  const io::Checkpoint checkpoint(source, std::move(options));
  return ArchiveReader(checkpoint, device).read();
}

ArchiveContents read_memory(const void* data, size_t size, const std::string& name, const std::optional<Device>& device) {
  return read_source(std::make_shared<io::MemorySource>(data, size), name, device);
}

}  // namespace

void OutputArchive::save_to(const std::string& filename) {
  io::write_file_atomically(filename, [&](const io::WriteBytes& write) { ArchiveWriter(*contents_).write(write, io::archive_folder(filename)); });
}
void OutputArchive::save_to(std::ostream& stream) {
  ArchiveWriter(*contents_)
      .write([&](const void* data, size_t size) { stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(size)); }, "archive");
  stream.flush();
  CRESSET_CHECK(stream.good(), "save: the stream refused to be written");
}
void OutputArchive::save_to(const std::function<size_t(const void*, size_t)>& write) {
  auto sink = [&](const void* data, size_t size) {
    const size_t written = write(data, size);
    CRESSET_CHECK(written == size, "save: the function wrote ", written, " of ", size, " bytes");
  };
  ArchiveWriter(*contents_).write(sink, "archive");
}

void InputArchive::load_from(const std::string& filename, std::optional<Device> device) {
  assign(read_source(std::make_shared<io::FileSource>(filename), filename, device));
}
void InputArchive::load_from(std::istream& stream, std::optional<Device> device) {
  const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  assign(read_memory(bytes.data(), bytes.size(), "<stream>", device));
}
void InputArchive::load_from(const char* data, size_t size, std::optional<Device> device) { assign(read_memory(data, size, "<memory>", device)); }
void InputArchive::load_from(const std::function<size_t(uint64_t, void*, size_t)>& read, const std::function<size_t()>& size, std::optional<Device> device) {
  std::string bytes(size(), 0);
  const size_t got = bytes.empty() ? 0 : read(0, bytes.data(), bytes.size());
  CRESSET_CHECK(got == bytes.size(), "load: the function read ", got, " of ", bytes.size(), " bytes");
  assign(read_memory(bytes.data(), bytes.size(), "<memory>", device));
}

OutputArchive& operator<<(OutputArchive& archive, const Tensor& tensor) {
  CRESSET_CHECK(tensor.defined(), "save: the tensor is undefined");
  archive.write("", tensor);
  return archive;
}
InputArchive& operator>>(InputArchive& archive, Tensor& tensor) {
  Tensor stored;
  archive.read("0", stored);
  tensor = stored;
  return archive;
}
OutputArchive& operator<<(OutputArchive& archive, const std::vector<Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); i++) archive.write("[" + std::to_string(i) + "]", tensors[i]);
  if (tensors.empty()) archive.write("[]", ArchiveValue());
  return archive;
}
InputArchive& operator>>(InputArchive& archive, std::vector<Tensor>& tensors) {
  std::vector<Tensor> stored;
  for (Tensor tensor; archive.try_read(std::to_string(stored.size()), tensor); tensor.reset()) stored.push_back(tensor);
  tensors = std::move(stored);
  return archive;
}
OutputArchive& operator<<(OutputArchive& archive, const OrderedDict<std::string, Tensor>& tensors) {
  for (const auto& item : tensors) archive.write(item.key(), item.value());
  return archive;
}
InputArchive& operator>>(InputArchive& archive, OrderedDict<std::string, Tensor>& tensors) {
  OrderedDict<std::string, Tensor> stored("Tensor");
  for (auto& [name, tensor] : archive.tensors()) stored.insert(name, tensor);
  tensors = std::move(stored);
  return archive;
}

}  // namespace cresset::serialize
