#pragma once
// Pickles as data: what a checkpoint's pickle says, without building anything but nodes of a table, and the way back.
//
// The reader knows a fixed list of names. It has no way to import or call anything: a name outside the list is an error, unless the caller
// allows it, and then it only becomes a node that says what the file asks for.

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cresset/base/dtype.h"
#include "cresset/base/error.h"

namespace cresset::io {

// The pickle asks for what data may not ask for, or is damaged. pickle.UnpicklingError in Python.
class CRESSET_API UnpicklingError : public Error {
 public:
  using Error::Error;
};

using NodeId = uint32_t;
constexpr NodeId kNoNode = 0xffffffff;

enum class Kind : uint8_t {
  None,
  Bool,
  Int,
  BigInt,
  Float,
  Complex,
  Text,
  Bytes,
  ByteArray,
  List,
  Tuple,
  Dict,
  OrderedDict,
  DefaultDict,
  Counter,
  Set,
  FrozenSet,
  Size,
  DType,
  Device,
  Layout,
  Global,
  Storage,
  Tensor,
  Object,
};

// The meaning of a name of the fixed list.
enum class Known : uint8_t {
  Unknown,
  RebuildTensor,
  RebuildTensorV2,
  RebuildTensorV3,
  RebuildParameter,
  RebuildParameterWithState,
  RebuildSparse,
  RebuildMeta,
  RebuildFromType,
  GetLayout,
  Size,
  Device,
  TensorClass,
  ParameterClass,
  DType,
  StorageClass,
  OrderedDict,
  DefaultDict,
  Counter,
  Encode,
  Set,
  FrozenSet,
  List,
  Dict,
  Tuple,
  Int,
  Float,
  Complex,
  Bool,
  Text,
  Bytes,
  ByteArray,
  Identity,
  RestoreTag,
  Script,
};

struct Node {
  Kind kind = Kind::None;
  Known known = Known::Unknown;              // of a Global
  ScalarType dtype = ScalarType::Undefined;  // of a DType, of a Storage or its class; undefined for untyped bytes
  // Containers: their place in `lists`. Device: the node of its index. DefaultDict: the node of its factory. Storage, Tensor: the place in their table.
  uint32_t place = 0;
  union {
    bool flag;        // of a Bool; of a Text whether it is Python 2's, bytes whose encoding the file does not say; of an
                      // Object whether it is called, and not made without its __init__
    int64_t integer;  // of an Int; of a Storage that is part of another the element that it starts at
    double real;
    NodeId attributes;  // of an OrderedDict; kNoNode without
  };
  double imaginary = 0;   // of a Complex
  std::string_view text;  // Text, Bytes, BigInt (little-endian two's complement), Device's type, Layout's name, Global's "module\nname"
  Node() : integer(0) {}
};

struct StorageRecord {
  std::string_view key, location;
  uint64_t nbytes = 0;
  uint32_t class_bytes = 1;  // of an element of the class that it was first seen with
  uint32_t swap_bytes = 1;   // of a number, which files of the other byte order hold back to front
  uint64_t offset = 0;       // within the file, once known
  uint32_t crc = 0;          // zero where the file has none
};

struct TensorRecord {
  uint32_t storage = kNoNode;  // none on the meta device
  ScalarType dtype = ScalarType::Undefined;
  bool requires_grad = false, is_parameter = false, conj = false, neg = false;
  int64_t offset = 0;
  NodeId sizes = 0, strides = 0;  // tuples of integers
  // Python attributes (a dict, or a tuple of dict and slots) and the class of a subclass of Tensor.
  NodeId attributes = kNoNode, type = kNoNode;
  // A sparse tensor has instead of storage and strides the node of its layout and a tuple: positions, values, sizes (and whether they are
  // sorted), or pointers, positions, values, sizes.
  NodeId layout = kNoNode, parts = kNoNode;
};

// Everything that one or several pickles said, as a table. Children of a tuple come before it; lists, dicts and sets may contain themselves.
struct CRESSET_API Document {
  std::vector<Node> nodes;
  std::vector<std::vector<NodeId>> lists;  // elements; keys and values in turn; of an Object the callable, its arguments, then its changes
  std::vector<StorageRecord> storages;
  std::vector<TensorRecord> tensors;
  std::unordered_map<std::string_view, uint32_t> storage_index;
  std::deque<std::string> texts;  // what the views above refer to

  const Node& operator[](NodeId id) const { return nodes[id]; }
  const std::vector<NodeId>& children(NodeId id) const { return lists[nodes[id].place]; }
  std::vector<int64_t> integers(NodeId id) const;
};

// Changes to an Object after it was made: in its list each is followed by the node that it takes.
enum class Change : uint32_t { Build, Append, SetItem };

struct UnpickleOptions {
  // Whether a name outside the list may become a Global node; without it none may.
  std::function<bool(std::string_view module, std::string_view name)> allow;
  // Reads on whatever the pickle calls or changes: each becomes an Object node. For looking at files, not for using what they say.
  bool any = false;
  // Names of classes that TorchScript generated are Global nodes too.
  bool script = false;
  // So are the classes of tensors that files of 2016 name.
  bool tensor_classes = false;
  // The object behind a persistent id, where that is no storage.
  std::function<NodeId(NodeId)> reference;
  std::string file = "<memory>";
};

// Reads one pickle from the front of `bytes`, returns its node and moves `bytes` behind it. The bytes are copied into the document.
// Errors: UnpicklingError for damaged bytes, unknown operations, names outside the list, arguments that do not fit.
CRESSET_API NodeId unpickle(Document& document, std::string_view& bytes, const UnpickleOptions& options);
// The node of a tensor over a storage, `geometry` being its sizes and then its strides. Errors: one that reaches beyond the storage.
NodeId add_tensor(Document& document, NodeId storage, int64_t offset, const std::vector<int64_t>& geometry, const UnpickleOptions& options);

// Writes the operations of a pickle of protocol 2, those that PyTorch's data-only reader knows. Every later protocol has them too: `protocol`
// is what the pickle says of itself.
class CRESSET_API Pickler {
 public:
  explicit Pickler(int protocol = 2) : out_{'\x80', static_cast<char>(protocol)} {}
  void op(char code) { out_ += code; }
  void none() { op('N'); }
  void boolean(bool v) { op(v ? '\x88' : '\x89'); }
  void integer(int64_t v);
  // Little-endian two's complement.
  void big_integer(std::string_view bytes);
  void real(double v);
  // `module`: that of the class, which TorchScript's reader knows by its name in Python 3.
  void complex(double re, double im, std::string_view module = "__builtin__");
  // Text repeated under the same contents is written once if it is short.
  void text(std::string_view utf8);
  void long_text(std::string_view utf8);
  void bytes(std::string_view v);
  void global(std::string_view module, std::string_view name);
  void mark() { op('('); }
  // The number under which the object on top can be had again.
  uint32_t memoize();
  void recall(uint32_t number);
  void integers(const int64_t* values, size_t n);
  void dtype(ScalarType t);
  // A reference to storage `key` of `nbytes` bytes, as the class of `t`, or as plain bytes. The format before zip archives has a slot
  // more, for views of storages, which stays empty.
  void storage(std::string_view key, ScalarType t, uint64_t nbytes, std::string_view location, bool view_slot = false);
  void ordered_dict() { global("collections", "OrderedDict"), op(')'), op('R'); }
  // The pickle, which ends here.
  const std::string& finish() { return op('.'), out_; }
  size_t size() const { return out_.size(); }

 private:
  template <class T> void append(T v) { out_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  std::string out_;
  uint32_t next_ = 0;
  std::unordered_map<std::string, uint32_t> seen_;
};

// "FloatStorage", or null for dtypes that have no such class.
CRESSET_API const char* storage_class(ScalarType t);

}  // namespace cresset::io
