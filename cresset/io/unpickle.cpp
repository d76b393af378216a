#include <algorithm>
#include <cstring>

#include "cresset/io/pickle.h"

namespace cresset::io {

namespace {

struct Name {
  std::string_view module, name;
  Known known;
};
// "builtins" stands for "__builtin__" too.
constexpr Name kNames[] = {
    {"torch._utils", "_rebuild_tensor_v2", Known::RebuildTensorV2},
    {"collections", "OrderedDict", Known::OrderedDict},
    {"torch._utils", "_rebuild_parameter", Known::RebuildParameter},
    {"torch._utils", "_rebuild_tensor_v3", Known::RebuildTensorV3},
    {"torch._utils", "_rebuild_tensor", Known::RebuildTensor},
    {"torch._utils", "_rebuild_parameter_with_state", Known::RebuildParameterWithState},
    {"torch._utils", "_rebuild_sparse_tensor", Known::RebuildSparse},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", Known::RebuildMeta},
    {"torch._tensor", "_rebuild_from_type_v2", Known::RebuildFromType},
    {"torch.serialization", "_get_layout", Known::GetLayout},
    {"torch", "Size", Known::Size},
    {"torch", "device", Known::Device},
    {"torch", "Tensor", Known::TensorClass},
    {"torch.nn.parameter", "Parameter", Known::ParameterClass},
    {"collections", "defaultdict", Known::DefaultDict},
    {"collections", "Counter", Known::Counter},
    {"_codecs", "encode", Known::Encode},
    {"builtins", "set", Known::Set},
    {"builtins", "frozenset", Known::FrozenSet},
    {"builtins", "list", Known::List},
    {"builtins", "dict", Known::Dict},
    {"builtins", "tuple", Known::Tuple},
    {"builtins", "int", Known::Int},
    {"builtins", "long", Known::Int},
    {"builtins", "float", Known::Float},
    {"builtins", "complex", Known::Complex},
    {"builtins", "bool", Known::Bool},
    {"builtins", "str", Known::Text},
    {"builtins", "unicode", Known::Text},
    {"builtins", "bytes", Known::Bytes},
    {"builtins", "bytearray", Known::ByteArray},
    {"torch.jit._pickle", "build_tensorlist", Known::Identity},
    {"torch.jit._pickle", "build_intlist", Known::Identity},
    {"torch.jit._pickle", "build_doublelist", Known::Identity},
    {"torch.jit._pickle", "build_boollist", Known::Identity},
    {"torch.jit._pickle", "restore_type_tag", Known::RestoreTag},
};

constexpr size_t kMaxDims = 64;
constexpr NodeId kNone = 0, kTrue = 1, kFalse = 2, kEmptyTuple = 3;

ScalarType dtype_named(std::string_view name) {
  for (int i = 0; i < kNumDTypes; i++)
    if (name == dtype_name(static_cast<ScalarType>(i))) return static_cast<ScalarType>(i);
  if (name == "float") return ScalarType::Float;
  if (name == "double") return ScalarType::Double;
  if (name == "half") return ScalarType::Half;
  if (name == "int") return ScalarType::Int;
  if (name == "long") return ScalarType::Long;
  return ScalarType::Undefined;
}

bool is_layout(std::string_view name) {
  constexpr std::string_view kLayouts[] = {"torch.strided",    "torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc",
                                           "torch.sparse_bsr", "torch.sparse_bsc", "torch._mkldnn",    "torch.jagged"};
  return std::find(std::begin(kLayouts), std::end(kLayouts), name) != std::end(kLayouts);
}

class Machine {
 public:
  Machine(Document& document, std::string_view bytes, const UnpickleOptions& options)
      : d_(document), options_(options), at_(bytes.data()), end_(at_ + bytes.size()) {
    // Copies that the pickle asks for may take up so much in all; a small file cannot fill the memory with them.
    budget_ = 64 * bytes.size() + 4096;
    start_ = at_;
    if (d_.nodes.empty()) {
      d_.nodes.resize(4);
      d_.nodes[kTrue].kind = d_.nodes[kFalse].kind = Kind::Bool;
      d_.nodes[kTrue].flag = true;
      d_.nodes[kEmptyTuple].kind = Kind::Tuple;
      d_.nodes[kEmptyTuple].place = add_list({});
    }
  }
  NodeId run();
  NodeId tensor_over(NodeId storage, int64_t offset, const std::vector<int64_t>& geometry);
  size_t consumed() const { return static_cast<size_t>(at_ - start_); }

 private:
  template <class... Parts> [[noreturn]] void fail(const Parts&... parts) const {
    cresset::detail::throw_error<UnpicklingError>(
        cresset::str("load: the pickle in '", options_.file, "' cannot be read, at byte ", static_cast<uint64_t>(at_ - start_), ": ", parts...));
  }
  template <class T> T take() {
    if (static_cast<size_t>(end_ - at_) < sizeof(T)) fail("it ends in the middle of an operation");
    T v;
    std::memcpy(&v, at_, sizeof v);
    at_ += sizeof v;
    return v;
  }
  std::string_view take(uint64_t n) {
    if (n > static_cast<uint64_t>(end_ - at_)) fail("it ends in the middle of ", n, " bytes");
    const std::string_view v(at_, static_cast<size_t>(n));
    at_ += n;
    return v;
  }
  std::string_view line() {
    const void* stop = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
    if (!stop) fail("a line does not end");
    const std::string_view v(at_, static_cast<size_t>(static_cast<const char*>(stop) - at_));
    at_ = static_cast<const char*>(stop) + 1;
    return v;
  }
  void charge(size_t n) {
    if (n > budget_) fail("it asks for more copies than its size warrants");
    budget_ -= n;
  }

  uint32_t add_list(std::vector<NodeId> items) {
    d_.lists.push_back(std::move(items));
    return static_cast<uint32_t>(d_.lists.size() - 1);
  }
  NodeId add(Kind kind) {
    if (d_.nodes.size() >= kNoNode) fail("it has too many objects");
    d_.nodes.emplace_back().kind = kind;
    return static_cast<NodeId>(d_.nodes.size() - 1);
  }
  NodeId add_int(int64_t v) {
    const NodeId id = add(Kind::Int);
    d_.nodes[id].integer = v;
    return id;
  }
  NodeId add_text(Kind kind, std::string_view text) {
    const NodeId id = add(kind);
    d_.nodes[id].text = text;
    return id;
  }
  NodeId add_old_text(std::string_view text) {
    const NodeId id = add_text(Kind::Text, text);
    d_.nodes[id].flag = true;
    return id;
  }
  NodeId add_container(Kind kind, std::vector<NodeId> items) {
    const NodeId id = add(kind);
    const uint32_t place = add_list(std::move(items));
    d_.nodes[id].place = place;
    if (kind == Kind::OrderedDict) d_.nodes[id].attributes = kNoNode;
    return id;
  }
  NodeId add_integer_bytes(std::string_view bytes) {
    if (bytes.size() > 8) return add_text(Kind::BigInt, bytes);
    int64_t v = !bytes.empty() && bytes.back() < 0 ? -1 : 0;
    std::memcpy(&v, bytes.data(), bytes.size());
    return add_int(v);
  }

  void push(NodeId id) { stack_.push_back(id); }
  NodeId pop() {
    if (stack_.size() <= floor()) fail("it takes more than it has put");
    const NodeId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  NodeId top() {
    if (stack_.size() <= floor()) fail("it takes more than it has put");
    return stack_.back();
  }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  std::vector<NodeId> pop_mark() {
    if (marks_.empty()) fail("a mark is missing");
    std::vector<NodeId> items(stack_.begin() + static_cast<int64_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  void put(uint64_t index) {
    if (index > static_cast<uint64_t>(end_ - start_)) fail("an object's number is out of range");
    if (memo_.size() <= index) memo_.resize(static_cast<size_t>(index) + 1, kNoNode);
    memo_[static_cast<size_t>(index)] = top();
  }
  NodeId get(uint64_t index) {
    if (index >= memo_.size() || memo_[static_cast<size_t>(index)] == kNoNode) fail("object number ", index, " does not exist");
    return memo_[static_cast<size_t>(index)];
  }

  const Node& node(NodeId id) const { return d_.nodes[id]; }
  bool is(NodeId id, Kind kind) const { return node(id).kind == kind; }
  bool is_dict(NodeId id) const { return node(id).kind >= Kind::Dict && node(id).kind <= Kind::Counter; }
  std::string printable(std::string_view module_and_name) const {
    std::string s(module_and_name);
    std::replace(s.begin(), s.end(), '\n', '.');
    return s;
  }

  void check_key(NodeId id) {
    if (is(id, Kind::List) || is_dict(id) || is(id, Kind::Set) || is(id, Kind::ByteArray)) fail("a list, dict or set cannot be a key or in a set");
  }
  void extend(NodeId to, const std::vector<NodeId>& items);
  void set_items(NodeId to, const std::vector<NodeId>& items);
  NodeId global(std::string_view module, std::string_view name);
  NodeId reduce(NodeId callable, NodeId arguments);
  NodeId reduce_known(NodeId callable, NodeId arguments);
  void build(NodeId to, NodeId state);
  NodeId persistent(NodeId id);
  int64_t integer(NodeId id, const char* what);
  bool flag(NodeId id, const char* what);
  NodeId integers(NodeId id, const char* what);
  NodeId tensor(const Name& callable, const std::vector<NodeId>& arguments);
  NodeId sparse_tensor(const std::vector<NodeId>& arguments);
  NodeId sparse_tensor_of_script(const std::vector<NodeId>& arguments, const char* what);
  NodeId container_of(Kind kind, const std::vector<NodeId>& arguments, const char* what);
  NodeId encode(const std::vector<NodeId>& arguments, const char* what);
  void need(bool fits, const char* what) {
    if (!fits) fail("the arguments of ", what, " do not fit");
  }

  Document& d_;
  const UnpickleOptions& options_;
  const char *start_, *at_, *end_;
  size_t budget_;
  std::vector<NodeId> stack_, memo_;
  std::vector<size_t> marks_;
};

void Machine::extend(NodeId to, const std::vector<NodeId>& items) {
  if (is(to, Kind::Object)) {
    auto& changes = d_.lists[node(to).place];
    for (const NodeId item : items) changes.insert(changes.end(), {static_cast<NodeId>(Change::Append), item});
    return;
  }
  if (!is(to, Kind::List)) fail("it appends to what is not a list");
  auto& list = d_.lists[node(to).place];
  list.insert(list.end(), items.begin(), items.end());
}

void Machine::set_items(NodeId to, const std::vector<NodeId>& items) {
  if (items.size() % 2) fail("a key has no value");
  if (is(to, Kind::Object)) {
    auto& changes = d_.lists[node(to).place];
    for (size_t i = 0; i < items.size(); i += 2) changes.insert(changes.end(), {static_cast<NodeId>(Change::SetItem), items[i], items[i + 1]});
    return;
  }
  if (!is_dict(to)) fail("it sets items of what is not a dict");
  for (size_t i = 0; i < items.size(); i += 2) check_key(items[i]);
  auto& list = d_.lists[node(to).place];
  list.insert(list.end(), items.begin(), items.end());
}

NodeId Machine::global(std::string_view module, std::string_view name) {
  Known known = Known::Unknown;
  ScalarType dtype = ScalarType::Undefined;
  const std::string_view home = module == "__builtin__" ? "builtins" : module;
  for (const Name& n : kNames)
    if (n.name == name && n.module == home) known = n.known;
  if (known == Known::Unknown && module == "torch") {
    dtype = dtype_named(name);
    if (dtype != ScalarType::Undefined) {
      const NodeId id = add(Kind::DType);
      d_.nodes[id].dtype = dtype;
      return id;
    }
    for (int i = 0; i < kNumDTypes; i++) {
      const char* storage = storage_class(static_cast<ScalarType>(i));
      if (storage && name == storage) known = Known::StorageClass, dtype = static_cast<ScalarType>(i);
    }
  }
  if (module == "torch.storage" && name == "UntypedStorage") known = Known::StorageClass;
  if (options_.tensor_classes && module == "torch" && name.size() > 6 && name.substr(name.size() - 6) == "Tensor") known = Known::TensorClass;
  if (known == Known::Unknown && options_.script && module.substr(0, 9) == "__torch__") known = Known::Script;
  if (known == Known::Unknown && !(options_.allow && options_.allow(module, name)) && !options_.any)
    fail("it asks for `", std::string(module), ".", std::string(name),
         "`, which is not on the list of names that data may use. If you trust it, allow it with `torch.serialization.add_safe_globals`; objects of "
         "classes that the program has imported are read with `weights_only=False`");
  d_.texts.push_back(std::string(home) + "\n" + std::string(name));
  const NodeId id = add_text(Kind::Global, d_.texts.back());
  d_.nodes[id].known = known;
  d_.nodes[id].dtype = dtype;
  return id;
}

int64_t Machine::integer(NodeId id, const char* what) {
  if (is(id, Kind::Bool)) return node(id).flag;
  need(is(id, Kind::Int), what);
  return node(id).integer;
}
bool Machine::flag(NodeId id, const char* what) {
  need(is(id, Kind::Bool) || is(id, Kind::Int), what);
  return is(id, Kind::Bool) ? node(id).flag : node(id).integer != 0;
}
NodeId Machine::integers(NodeId id, const char* what) {
  need(is(id, Kind::Tuple) || is(id, Kind::Size) || is(id, Kind::List), what);
  const auto& items = d_.children(id);
  if (items.size() > kMaxDims) fail("a tensor has ", items.size(), " dimensions, at most ", kMaxDims, " are allowed");
  for (const NodeId item : items) need(is(item, Kind::Int) && node(item).integer >= 0, what);
  if (!is(id, Kind::List)) return id;
  return add_container(Kind::Tuple, std::vector<NodeId>(items));  // a list might change later
}

// (storage, offset, sizes, strides[, requires_grad, hooks[, dtype][, flags]]), or (dtype, sizes, strides, requires_grad) without a storage.
NodeId Machine::tensor(const Name& callable, const std::vector<NodeId>& a) {
  const char* what = callable.name.data();
  TensorRecord t;
  if (callable.known == Known::RebuildMeta) {
    need(a.size() == 4 && is(a[0], Kind::DType), what);
    t.dtype = node(a[0]).dtype;
    t.sizes = integers(a[1], what);
    t.strides = integers(a[2], what);
    t.requires_grad = flag(a[3], what);
  } else {
    need(a.size() >= (callable.known == Known::RebuildTensor ? 4u : 6u) && is(a[0], Kind::Storage), what);
    t.storage = node(a[0]).place;
    t.dtype = node(a[0]).dtype;
    need(!__builtin_add_overflow(node(a[0]).integer, integer(a[1], what), &t.offset), what);
    t.sizes = integers(a[2], what);
    t.strides = integers(a[3], what);
    if (a.size() > 4) t.requires_grad = flag(a[4], what);
    size_t next = 6;
    if (callable.known == Known::RebuildTensorV3) {
      need(a.size() > 6 && is(a[6], Kind::DType), what);
      t.dtype = node(a[6]).dtype;
      next = 7;
      d_.storages[t.storage].swap_bytes = static_cast<uint32_t>(element_size(t.dtype) / (is_complex_type(t.dtype) ? 2 : 1));
    }
    need(t.dtype != ScalarType::Undefined && t.offset >= 0 && a.size() <= next + 1, what);
    if (a.size() > next && !is(a[next], Kind::None)) {
      need(is_dict(a[next]), what);
      const auto& flags = d_.children(a[next]);
      for (size_t i = 0; i + 1 < flags.size(); i += 2) {
        need(is(flags[i], Kind::Text), what);
        const std::string_view name = node(flags[i]).text;
        if (name == "conj") t.conj = flag(flags[i + 1], what);
        else if (name == "neg") t.neg = flag(flags[i + 1], what);
        else fail("a tensor has the unknown property '", std::string(name), "'");
      }
    }
    need(!t.conj || is_complex_type(t.dtype), what);
  }
  need(!t.requires_grad || is_differentiable_type(t.dtype), what);
  const auto &sizes = d_.children(t.sizes), &strides = d_.children(t.strides);
  need(sizes.size() == strides.size(), what);
  // The last element must lie within the storage; the number of elements must fit 64 bits even where one size is zero.
  bool empty = false, overflow = false;
  int64_t last = t.offset, count = 1;
  for (size_t i = 0; i < sizes.size(); i++) {
    const int64_t size = node(sizes[i]).integer, stride = node(strides[i]).integer;
    int64_t reach;
    if (size == 0) {
      empty = true;
      continue;
    }
    overflow = overflow || __builtin_mul_overflow(count, size, &count) || __builtin_mul_overflow(size - 1, stride, &reach) ||
               __builtin_add_overflow(last, reach, &last);
  }
  int64_t bytes = 0;
  overflow = overflow || __builtin_mul_overflow(count, static_cast<int64_t>(element_size(t.dtype)), &bytes);
  if (overflow) fail("the shape of a tensor is too large");
  if (t.storage != kNoNode && !empty) {
    const uint64_t elements = d_.storages[t.storage].nbytes / element_size(t.dtype);
    if (static_cast<uint64_t>(last) >= elements) fail("a tensor reaches element ", last, " of a storage of ", elements);
  }
  const NodeId id = add(Kind::Tensor);
  d_.nodes[id].place = static_cast<uint32_t>(d_.tensors.size());
  d_.tensors.push_back(t);
  return id;
}

// (layout, parts).
NodeId Machine::sparse_tensor(const std::vector<NodeId>& a) {
  const char* what = "_rebuild_sparse_tensor";
  if (options_.script && a.size() > 2) return sparse_tensor_of_script(a, what);
  need(a.size() == 2 && is(a[0], Kind::Layout) && is(a[1], Kind::Tuple), what);
  TensorRecord t;
  t.layout = a[0];
  t.parts = a[1];
  const bool coo = node(a[0]).text == "torch.sparse_coo";
  const std::vector<NodeId> parts = d_.children(a[1]);
  const size_t tensors = coo ? 2 : 3;
  need(parts.size() == tensors + 1 || (coo && parts.size() == 4 && is(parts[3], Kind::Bool)), what);
  for (size_t i = 0; i < tensors; i++) need(is(parts[i], Kind::Tensor) && d_.tensors[node(parts[i]).place].storage != kNoNode, what);
  t.dtype = d_.tensors[node(parts[tensors - 1]).place].dtype;
  t.sizes = integers(parts[tensors], what);
  const NodeId id = add(Kind::Tensor);
  d_.nodes[id].place = static_cast<uint32_t>(d_.tensors.size());
  d_.tensors.push_back(t);
  return id;
}

// (number of the layout, sizes, whether it requires gradients, tensors..., hooks).
NodeId Machine::sparse_tensor_of_script(const std::vector<NodeId>& a, const char* what) {
  need(a.size() >= 6 && is(a[0], Kind::Int), what);
  const int64_t layout = node(a[0]).integer;
  need((layout == 1 && a.size() == 6) || (layout == 2 && a.size() == 7), what);
  TensorRecord t;
  t.layout = add_text(Kind::Layout, layout == 1 ? "torch.sparse_coo" : "torch.sparse_csr");
  t.sizes = integers(a[1], what);
  t.requires_grad = flag(a[2], what);
  const std::vector<NodeId> tensors(a.begin() + 3, a.end() - 1);
  for (const NodeId part : tensors) need(is(part, Kind::Tensor) && d_.tensors[node(part).place].storage != kNoNode, what);
  t.dtype = d_.tensors[node(tensors.back()).place].dtype;
  need(!t.requires_grad || is_differentiable_type(t.dtype), what);
  t.parts = add_container(Kind::Tuple, tensors);
  const NodeId id = add(Kind::Tensor);
  d_.nodes[id].place = static_cast<uint32_t>(d_.tensors.size());
  d_.tensors.push_back(t);
  return id;
}

NodeId Machine::container_of(Kind kind, const std::vector<NodeId>& a, const char* what) {
  need(a.size() <= 1, what);
  if (a.empty()) return add_container(kind, {});
  const bool to_dict = kind >= Kind::Dict && kind <= Kind::Counter;
  const Kind from = node(a[0]).kind;
  std::vector<NodeId> items;
  if (to_dict && is_dict(a[0])) {
    items = d_.children(a[0]);
  } else {
    need(from == Kind::List || from == Kind::Tuple || from == Kind::Set || from == Kind::FrozenSet || from == Kind::Size, what);
    if (!to_dict) {
      items = d_.children(a[0]);
    } else {
      for (const NodeId pair : d_.children(a[0])) {
        need((is(pair, Kind::Tuple) || is(pair, Kind::List)) && d_.children(pair).size() == 2, what);
        items.insert(items.end(), d_.children(pair).begin(), d_.children(pair).end());
      }
    }
  }
  charge(items.size());
  if (kind == Kind::Size)
    for (const NodeId item : items) need(is(item, Kind::Int), what);
  return add_container(kind, std::move(items));
}

// encode(text, "latin1"): how protocol 2 writes bytes.
NodeId Machine::encode(const std::vector<NodeId>& a, const char* what) {
  need(a.size() == 2 && is(a[0], Kind::Text) && is(a[1], Kind::Text), what);
  const std::string_view codec = node(a[1]).text, text = node(a[0]).text;
  charge(text.size());
  if (codec == "utf-8" || codec == "utf8") return add_text(Kind::Bytes, text);
  need(codec == "latin1" || codec == "latin-1", what);
  std::string bytes;
  for (size_t i = 0; i < text.size(); i++) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      bytes += text[i];
      continue;
    }
    need((c == 0xc2 || c == 0xc3) && i + 1 < text.size() && (text[i + 1] & 0xc0) == 0x80, what);
    bytes += static_cast<char>((c & 3) << 6 | (text[++i] & 0x3f));
  }
  d_.texts.push_back(std::move(bytes));
  return add_text(Kind::Bytes, d_.texts.back());
}

NodeId Machine::reduce(NodeId callable, NodeId arguments) {
  if (!options_.any) return reduce_known(callable, arguments);
  try {
    return reduce_known(callable, arguments);
  } catch (const UnpicklingError&) { return add_container(Kind::Object, {callable, arguments}); }
}

NodeId Machine::reduce_known(NodeId callable, NodeId arguments) {
  if (!is(callable, Kind::Global)) fail("it calls what is not a function");
  const Known known = node(callable).known;
  // Members of TorchScript's enums are calls with the value itself.
  if (known == Known::Script && !is(arguments, Kind::Tuple)) return add_container(Kind::Object, {callable, arguments});
  if (!is(arguments, Kind::Tuple)) fail("the arguments of a call are not a tuple");
  const std::string_view full = node(callable).text;
  Name name{"", full.substr(full.find('\n') + 1), known};
  const std::string copied(name.name);
  const char* what = copied.c_str();
  name.name = copied;
  const std::vector<NodeId> a = d_.children(arguments);
  charge(a.size());
  switch (known) {
    case Known::RebuildTensor:
    case Known::RebuildTensorV2:
    case Known::RebuildTensorV3:
    case Known::RebuildMeta: return tensor(name, a);
    case Known::RebuildSparse: return sparse_tensor(a);
    case Known::RebuildParameter:
    case Known::RebuildParameterWithState: {
      need(a.size() == (known == Known::RebuildParameter ? 3u : 4u) && is(a[0], Kind::Tensor), what);
      TensorRecord t = d_.tensors[node(a[0]).place];
      t.is_parameter = true;
      t.requires_grad = flag(a[1], what);
      need(!t.requires_grad || is_differentiable_type(t.dtype), what);
      if (a.size() == 4) t.attributes = a[3];
      const NodeId id = add(Kind::Tensor);
      d_.nodes[id].place = static_cast<uint32_t>(d_.tensors.size());
      d_.tensors.push_back(t);
      return id;
    }
    case Known::RebuildFromType: {
      need(a.size() == 4 && is(a[0], Kind::Global) && is(a[1], Kind::Global) && is(a[2], Kind::Tuple), what);
      const Known inner = node(a[0]).known;
      if (inner == Known::Unknown && node(a[1]).known == Known::Unknown) return add_container(Kind::Object, {callable, arguments});  // both were allowed
      need(inner >= Known::RebuildTensor && inner <= Known::RebuildMeta, what);
      const NodeId made = reduce(a[0], a[2]);  // one level: none of those functions takes another
      need(is(made, Kind::Tensor), what);
      TensorRecord& t = d_.tensors[node(made).place];
      if (node(a[1]).known == Known::ParameterClass) t.is_parameter = true;
      else if (node(a[1]).known != Known::TensorClass) t.type = a[1];
      need(t.type == kNoNode || node(a[1]).known == Known::Unknown, what);
      t.attributes = a[3];
      return made;
    }
    case Known::GetLayout: need(a.size() == 1 && is(a[0], Kind::Text) && is_layout(node(a[0]).text), what); return add_text(Kind::Layout, node(a[0]).text);
    case Known::Device: {
      need((a.size() == 1 || a.size() == 2) && is(a[0], Kind::Text) && (a.size() == 1 || is(a[1], Kind::Int)), what);
      const NodeId id = add_text(Kind::Device, node(a[0]).text);
      d_.nodes[id].place = a.size() == 2 ? a[1] : kNoNode;
      return id;
    }
    case Known::Size: return container_of(Kind::Size, a, what);
    case Known::OrderedDict: return container_of(Kind::OrderedDict, a, what);
    case Known::Counter: return container_of(Kind::Counter, a, what);
    case Known::Set: return container_of(Kind::Set, a, what);
    case Known::FrozenSet: return container_of(Kind::FrozenSet, a, what);
    case Known::List: return container_of(Kind::List, a, what);
    case Known::Dict: return container_of(Kind::Dict, a, what);
    case Known::Tuple: return container_of(Kind::Tuple, a, what);
    case Known::DefaultDict: {
      need(a.size() <= 2, what);
      const NodeId factory = a.empty() ? kNone : a[0];
      need(is(factory, Kind::None) || is(factory, Kind::Global), what);
      const NodeId dict = container_of(Kind::Dict, a.size() == 2 ? std::vector<NodeId>{a[1]} : std::vector<NodeId>{}, what);
      const uint32_t place = node(dict).place;
      const NodeId id = add(Kind::DefaultDict);
      d_.nodes[id].place = place;
      d_.nodes[id].integer = factory;
      return id;
    }
    case Known::Encode: return encode(a, what);
    case Known::Bytes:
    case Known::ByteArray: {
      need(a.size() <= 2 && (a.empty() || is(a[0], Kind::Bytes) || a.size() == 2), what);
      if (a.empty()) return add_text(known == Known::Bytes ? Kind::Bytes : Kind::ByteArray, {});
      const NodeId bytes = a.size() == 2 ? encode(a, what) : a[0];
      return add_text(known == Known::Bytes ? Kind::Bytes : Kind::ByteArray, node(bytes).text);
    }
    case Known::Complex: {
      need(a.size() == 2, what);
      double parts[2];
      for (size_t i = 0; i < 2; i++) {
        need(is(a[i], Kind::Float) || is(a[i], Kind::Int), what);
        parts[i] = is(a[i], Kind::Float) ? node(a[i]).real : static_cast<double>(node(a[i]).integer);
      }
      const NodeId id = add(Kind::Complex);
      d_.nodes[id].real = parts[0];
      d_.nodes[id].imaginary = parts[1];
      return id;
    }
    case Known::Identity:
    case Known::RestoreTag: need(a.size() == (known == Known::Identity ? 1u : 2u), what); return a[0];
    case Known::Unknown:
    case Known::Script: return add_container(Kind::Object, {callable, arguments});
    default: fail("`", printable(full), "` is not something that data may call");
  }
}

void Machine::build(NodeId to, NodeId state) {
  if (is(to, Kind::Object)) {
    auto& changes = d_.lists[node(to).place];
    changes.insert(changes.end(), {static_cast<NodeId>(Change::Build), state});
    return;
  }
  if (is(to, Kind::OrderedDict) && is_dict(state)) {
    d_.nodes[to].attributes = state;
    return;
  }
  if (!options_.any) fail("it sets attributes of what has none");
}

NodeId Machine::persistent(NodeId id) {
  if (options_.reference) return options_.reference(id);
  const char* what = "a storage";
  need(is(id, Kind::Tuple), what);
  const auto& a = d_.children(id);
  // A class with its source text, which stands for the class.
  if (a.size() == 4 && is(a[0], Kind::Text) && node(a[0]).text == "module") return a[1];
  need(a.size() >= 5 && a.size() <= 6 && is(a[0], Kind::Text) && node(a[0]).text == "storage" && is(a[1], Kind::Global) &&
           node(a[1]).known == Known::StorageClass && is(a[2], Kind::Text) && is(a[3], Kind::Text) && is(a[4], Kind::Int),
       what);
  // Part of the storage: its own number, where it starts, how long it is.
  int64_t start = 0;
  if (a.size() == 6 && !is(a[5], Kind::None)) {
    need(is(a[5], Kind::Tuple) && d_.children(a[5]).size() == 3, what);
    const NodeId first = d_.children(a[5])[1];
    need(is(first, Kind::Int) && node(first).integer >= 0, what);
    start = node(first).integer;
  }
  const ScalarType dtype = node(a[1]).dtype;
  const int64_t count = node(a[4]).integer;
  const uint32_t each = dtype == ScalarType::Undefined ? 1 : static_cast<uint32_t>(element_size(dtype));
  if (count < 0 || count > INT64_MAX / static_cast<int64_t>(each)) fail("a storage has ", count, " elements");
  const uint64_t nbytes = static_cast<uint64_t>(count) * each;
  const auto [found, fresh] = d_.storage_index.emplace(node(a[2]).text, static_cast<uint32_t>(d_.storages.size()));
  if (fresh) d_.storages.push_back({node(a[2]).text, node(a[3]).text, nbytes, each, is_complex_type(dtype) ? each / 2 : each, 0});
  else if (d_.storages[found->second].nbytes != nbytes)
    fail("storage '", std::string(node(a[2]).text), "' has ", d_.storages[found->second].nbytes, " bytes in one place and ", nbytes, " in another");
  const uint32_t place = found->second;
  const NodeId made = add(Kind::Storage);
  d_.nodes[made].place = place;
  d_.nodes[made].dtype = dtype;
  d_.nodes[made].integer = start;
  return made;
}

NodeId Machine::tensor_over(NodeId storage, int64_t offset, const std::vector<int64_t>& geometry) {
  std::vector<NodeId> numbers;
  for (const int64_t v : geometry) numbers.push_back(add_int(v));
  const auto middle = numbers.begin() + static_cast<int64_t>(numbers.size() / 2);
  const NodeId sizes = add_container(Kind::Tuple, {numbers.begin(), middle}), strides = add_container(Kind::Tuple, {middle, numbers.end()});
  return tensor({"torch._utils", "_rebuild_tensor", Known::RebuildTensor}, {storage, add_int(offset), sizes, strides});
}

NodeId Machine::run() {
  for (;;) {
    const uint8_t code = take<uint8_t>();
    switch (code) {
      case 0x80: {  // the protocol
        const int version = take<uint8_t>();
        if (version > 5) fail("protocol ", version, " is not known");
        break;
      }
      case 0x95: take<uint64_t>(); break;  // a frame's length
      case '.': {
        const NodeId result = pop();
        if (!stack_.empty() || !marks_.empty()) fail("it ends with objects left over");
        return result;
      }
      case '(': marks_.push_back(stack_.size()); break;
      case '0':
        if (stack_.size() > floor()) pop();
        else pop_mark();
        break;
      case '1': pop_mark(); break;
      case '2': push(top()); break;
      case 'N': push(kNone); break;
      case 0x88: push(kTrue); break;
      case 0x89: push(kFalse); break;
      case 'K': push(add_int(take<uint8_t>())); break;
      case 'M': push(add_int(take<uint16_t>())); break;
      case 'J': push(add_int(take<int32_t>())); break;
      case 0x8a: push(add_integer_bytes(take(uint64_t{take<uint8_t>()}))); break;
      case 0x8b: {
        const int32_t n = take<int32_t>();
        if (n < 0) fail("an integer has a negative length");
        push(add_integer_bytes(take(static_cast<uint64_t>(n))));
        break;
      }
      case 'G': {
        char bytes[8];
        std::memcpy(bytes, take(uint64_t{8}).data(), 8);
        std::reverse(bytes, bytes + 8);
        const NodeId id = add(Kind::Float);
        std::memcpy(&d_.nodes[id].real, bytes, 8);
        push(id);
        break;
      }
      case 'U': push(add_old_text(take(uint64_t{take<uint8_t>()}))); break;
      case 'T': push(add_old_text(take(uint64_t{take<uint32_t>()}))); break;
      case 'X': push(add_text(Kind::Text, take(uint64_t{take<uint32_t>()}))); break;
      case 0x8c: push(add_text(Kind::Text, take(uint64_t{take<uint8_t>()}))); break;
      case 0x8d: push(add_text(Kind::Text, take(take<uint64_t>()))); break;
      case 'C': push(add_text(Kind::Bytes, take(uint64_t{take<uint8_t>()}))); break;
      case 'B': push(add_text(Kind::Bytes, take(uint64_t{take<uint32_t>()}))); break;
      case 0x8e: push(add_text(Kind::Bytes, take(take<uint64_t>()))); break;
      case 0x96: push(add_text(Kind::ByteArray, take(take<uint64_t>()))); break;
      case ']': push(add_container(Kind::List, {})); break;
      case '}': push(add_container(Kind::Dict, {})); break;
      case 0x8f: push(add_container(Kind::Set, {})); break;
      case ')': push(kEmptyTuple); break;
      case 't': {
        std::vector<NodeId> items = pop_mark();
        push(items.empty() ? kEmptyTuple : add_container(Kind::Tuple, std::move(items)));
        break;
      }
      case 0x85:
      case 0x86:
      case 0x87: {
        std::vector<NodeId> items(code - 0x84);
        for (size_t i = items.size(); i-- > 0;) items[i] = pop();
        push(add_container(Kind::Tuple, std::move(items)));
        break;
      }
      case 'l': push(add_container(Kind::List, pop_mark())); break;
      case 'd': {
        const std::vector<NodeId> items = pop_mark();
        push(add_container(Kind::Dict, {}));
        set_items(top(), items);
        break;
      }
      case 0x91: {
        std::vector<NodeId> items = pop_mark();
        for (const NodeId item : items) check_key(item);
        push(add_container(Kind::FrozenSet, std::move(items)));
        break;
      }
      case 'a': {
        const NodeId item = pop();
        extend(top(), {item});
        break;
      }
      case 'e': {
        const std::vector<NodeId> items = pop_mark();
        extend(top(), items);
        break;
      }
      case 0x90: {
        const std::vector<NodeId> items = pop_mark();
        if (!is(top(), Kind::Set)) fail("it adds to what is not a set");
        for (const NodeId item : items) check_key(item);
        auto& list = d_.lists[node(top()).place];
        list.insert(list.end(), items.begin(), items.end());
        break;
      }
      case 's': {
        const NodeId value = pop(), key = pop();
        set_items(top(), {key, value});
        break;
      }
      case 'u': {
        const std::vector<NodeId> items = pop_mark();
        set_items(top(), items);
        break;
      }
      case 'q': put(take<uint8_t>()); break;
      case 'r': put(take<uint32_t>()); break;
      case 0x94: put(memo_.size()); break;
      case 'h': push(get(take<uint8_t>())); break;
      case 'j': push(get(take<uint32_t>())); break;
      case 'c': {
        const std::string_view module = line(), name = line();
        push(global(module, name));
        break;
      }
      case 0x93: {
        const NodeId name = pop(), module = pop();
        if (!is(name, Kind::Text) || !is(module, Kind::Text)) fail("a name is not text");
        push(global(node(module).text, node(name).text));
        break;
      }
      case 'R':
      case 0x81: {  // a call, or a class made without its __init__
        const NodeId arguments = pop(), callable = pop();
        const size_t before = d_.nodes.size();
        const NodeId made = reduce(callable, arguments);
        if (made >= before && is(made, Kind::Object)) d_.nodes[made].flag = code == 'R';
        push(made);
        break;
      }
      case 'b': {
        const NodeId state = pop();
        build(top(), state);
        break;
      }
      case 'Q': push(persistent(pop())); break;
      default: fail("operation ", static_cast<int>(code), " is not one that data uses");
    }
  }
}

}  // namespace

std::vector<int64_t> Document::integers(NodeId id) const {
  std::vector<int64_t> values;
  for (const NodeId item : children(id)) values.push_back(nodes[item].integer);
  return values;
}

NodeId add_tensor(Document& document, NodeId storage, int64_t offset, const std::vector<int64_t>& geometry, const UnpickleOptions& options) {
  return Machine(document, {}, options).tensor_over(storage, offset, geometry);
}

NodeId unpickle(Document& document, std::string_view& bytes, const UnpickleOptions& options) {
  document.texts.emplace_back(bytes);
  Machine machine(document, document.texts.back(), options);
  const NodeId root = machine.run();
  bytes.remove_prefix(machine.consumed());
  return root;
}

}  // namespace cresset::io
