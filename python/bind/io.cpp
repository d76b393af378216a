// Checkpoints to Python objects: the nodes that the reader in libcresset found become dicts, lists, tensors and so on.

#include "python/bind/io.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace cresset::python {

namespace {

using io::Kind;
using io::kNoNode;
using io::Known;
using io::Node;
using io::NodeId;

IoNames names;

PyObject* set_names(PyObject*, PyObject* dict) {
  const std::pair<const char*, PyObject**> fields[] = {{"ordered_dict", &names.ordered_dict},
                                                       {"default_dict", &names.default_dict},
                                                       {"counter", &names.counter},
                                                       {"size", &names.size},
                                                       {"parameter", &names.parameter},
                                                       {"unpickling_error", &names.unpickling_error},
                                                       {"make_parameter", &names.make_parameter},
                                                       {"make_subclass", &names.make_subclass},
                                                       {"call", &names.call},
                                                       {"make", &names.make},
                                                       {"change", &names.change},
                                                       {"device_of", &names.device_of},
                                                       {"default_place", &names.default_place},
                                                       {"reduce", &names.reduce},
                                                       {"global_name", &names.global_name},
                                                       {"attributes", &names.attributes},
                                                       {"layout", &names.layout},
                                                       {"typed_storage", &names.typed_storage},
                                                       {"typed_of", &names.typed_of}};
  for (const auto& [name, field] : fields) {
    PyObject* value = PyDict_GetItemString(dict, name);
    if (!value) return PyErr_Format(PyExc_TypeError, "set_io_names: `%s` is missing", name);
    *field = Ref::share(value).release();
  }
  Py_RETURN_NONE;
}

Ref text(std::string_view v) { return checked(PyUnicode_DecodeUTF8(v.data(), static_cast<Py_ssize_t>(v.size()), "surrogatepass")); }
template <class... Arguments> Ref call(PyObject* function, const Arguments&... arguments) {
  return checked(PyObject_CallFunctionObjArgs(function, arguments..., nullptr));
}
void succeed(int result) {
  if (result < 0) throw PythonError();
}

// Makes the Python objects of all nodes that the root reaches, in the order in which the file made them.
class Builder {
 public:
  Builder(const io::Checkpoint& checkpoint, PyObject* resolve, PyObject* place, const char* encoding)
      : checkpoint_(checkpoint),
        d_(checkpoint.document()),
        resolve_(resolve),
        place_(place),
        encoding_(encoding),
        storages_(checkpoint.num_storages()),
        made_(d_.nodes.size()),
        filled_(d_.nodes.size()),
        depths_(d_.nodes.size()) {}

  Ref build() {
    reach();
    read_storages();
    for (NodeId id = 0; id < d_.nodes.size(); id++) {
      if (!reached_[id]) continue;
      make(id);
      if (is_filled_later(id)) open_.push_back(id);
    }
    settle();
    return Ref::share(made_[checkpoint_.root()].get());
  }

 private:
  const Node& node(NodeId id) const { return d_[id]; }
  bool is_filled_later(NodeId id) const {
    const Kind k = node(id).kind;
    return k == Kind::List || (k >= Kind::Dict && k <= Kind::Set);
  }

  void reach() {
    reached_.assign(d_.nodes.size(), false);
    needed_.assign(storages_.size(), false);
    std::vector<NodeId> todo = {checkpoint_.root()};
    auto visit = [&](NodeId id) {
      if (!reached_[id]) todo.push_back(id);
    };
    while (!todo.empty()) {
      const NodeId id = todo.back();
      todo.pop_back();
      if (reached_[id]) continue;
      reached_[id] = true;
      const Node& n = node(id);
      switch (n.kind) {
        case Kind::DefaultDict: visit(static_cast<NodeId>(n.integer)); [[fallthrough]];
        case Kind::List:
        case Kind::Tuple:
        case Kind::Dict:
        case Kind::Counter:
        case Kind::Set:
        case Kind::FrozenSet:
        case Kind::Size:
          for (const NodeId child : d_.lists[n.place]) visit(child);
          break;
        case Kind::OrderedDict:
          for (const NodeId child : d_.lists[n.place]) visit(child);
          if (n.attributes != kNoNode) visit(n.attributes);
          break;
        case Kind::Device:
          if (n.place != kNoNode) visit(n.place);
          break;
        case Kind::Storage: needed_[n.place] = true; break;
        case Kind::Tensor: {
          const io::TensorRecord& t = d_.tensors[n.place];
          if (t.storage != kNoNode) needed_[t.storage] = true;
          if (t.parts != kNoNode) visit(t.parts);
          if (t.attributes != kNoNode) visit(t.attributes);
          if (t.type != kNoNode) visit(t.type);
          break;
        }
        case Kind::Object: {
          const auto& list = d_.lists[n.place];
          visit(list[0]);
          visit(list[1]);
          for (size_t i = 2; i < list.size();) {
            const size_t values = list[i] == static_cast<NodeId>(io::Change::SetItem) ? 2 : 1;
            for (size_t v = 1; v <= values; v++) visit(list[i + v]);
            i += 1 + values;
          }
          break;
        }
        default: break;
      }
    }
  }

  // `place` decides where a storage goes: it gets the storage's place in the list and its tag, and returns a device.
  void read_storages() {
    for (size_t i = 0; i < storages_.size(); i++) {
      if (!needed_[i]) continue;
      const auto& record = d_.storages[i];
      Device device(kCPU);
      if (place_ != Py_None) {
        const Ref tag = text(record.location), number = checked(PyLong_FromSize_t(i));
        const Ref target = call(place_, tag.get(), number.get());
        device = to_device(target.get());
      } else if (record.location != "cpu") {
        device = to_device(call(names.default_place, text(record.location).get()).get());
      }
      if (device.is_meta()) continue;
      NoGil released;
      storages_[i] = checkpoint_.read_storage(i);
      if (device.is_cpu()) continue;
      Tensor bytes(make_intrusive<TensorImpl>(storages_[i], kByte, Device(kCPU)));
      bytes.impl()->set_sizes_contiguous(static_cast<int64_t>(storages_[i]->nbytes()));
      storages_[i] = bytes.to(device).impl()->storage();
    }
  }

  PyObject* of(NodeId id) {
    PyObject* o = made_[id].get();
    CRESSET_CHECK(o, "load: the pickle uses an object before it is made");
    return o;
  }

  // Python hashes tuples within tuples by recursion without an end of its own: keys and elements of sets may nest so deep.
  static constexpr uint32_t kMaxHashed = 1000;
  void note_depth(NodeId id) {
    uint32_t deepest = 0;
    for (const NodeId child : d_.lists[node(id).place]) deepest = std::max(deepest, depths_[child]);
    depths_[id] = deepest + 1;
  }
  void check_hashed(NodeId id) {
    if (depths_[id] > kMaxHashed)
      cresset::detail::throw_error<io::UnpicklingError>(
          cresset::str("load: the pickle uses a tuple that nests ", depths_[id], " deep as a key, at most ", kMaxHashed, " are allowed"));
  }

  Ref tuple_of(const std::vector<NodeId>& items) {
    Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; i < items.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Ref::share(of(items[i])).release());
    return tuple;
  }

  Ref tensor(const io::TensorRecord& r) {
    Tensor t = checkpoint_.make_tensor(r, [&](uint32_t number) { return storages_[number]; });
    PyObject* attributes = r.attributes == kNoNode ? Py_None : of(r.attributes);
    if (r.attributes != kNoNode) settle();
    if (r.is_parameter) {
      if (r.requires_grad) t.requires_grad_(false);
      const Ref plain = checked(wrap(t));
      return call(names.make_parameter, plain.get(), r.requires_grad ? Py_True : Py_False, attributes);
    }
    Ref plain = checked(wrap(t));
    if (r.type == kNoNode && r.attributes == kNoNode) return plain;
    return call(names.make_subclass, plain.get(), r.type == kNoNode ? Py_None : of(r.type), attributes);
  }

  void make(NodeId id) {
    if (made_[id].get()) return;
    const Node& n = node(id);
    Ref& o = made_[id];
    switch (n.kind) {
      case Kind::None: o = Ref::share(Py_None); break;
      case Kind::Bool: o = Ref::share(n.flag ? Py_True : Py_False); break;
      case Kind::Int: o = checked(PyLong_FromLongLong(n.integer)); break;
      case Kind::BigInt:
        o = checked(_PyLong_FromByteArray(reinterpret_cast<const unsigned char*>(n.text.data()), n.text.size(), /*little_endian=*/1, /*is_signed=*/1));
        break;
      case Kind::Float: o = checked(PyFloat_FromDouble(n.real)); break;
      case Kind::Complex: o = checked(PyComplex_FromDoubles(n.real, n.imaginary)); break;
      case Kind::Text: o = n.flag ? old_text(n.text) : text(n.text); break;
      case Kind::Bytes: o = checked(PyBytes_FromStringAndSize(n.text.data(), static_cast<Py_ssize_t>(n.text.size()))); break;
      case Kind::ByteArray: o = checked(PyByteArray_FromStringAndSize(n.text.data(), static_cast<Py_ssize_t>(n.text.size()))); break;
      case Kind::List: o = checked(PyList_New(0)); break;
      case Kind::Tuple:
        o = tuple_of(d_.lists[n.place]);
        note_depth(id);
        break;
      case Kind::Dict: o = checked(PyDict_New()); break;
      case Kind::OrderedDict: o = call(names.ordered_dict); break;
      case Kind::Counter: o = call(names.counter); break;
      case Kind::DefaultDict: o = call(names.default_dict, of(static_cast<NodeId>(n.integer))); break;
      case Kind::Set: o = checked(PySet_New(nullptr)); break;
      case Kind::FrozenSet:
        for (const NodeId item : d_.lists[n.place]) check_hashed(item);
        o = checked(PyFrozenSet_New(tuple_of(d_.lists[n.place]).get()));
        break;
      case Kind::Size: o = call(names.size, tuple_of(d_.lists[n.place]).get()); break;
      case Kind::DType: o = Ref::share(constant(n.dtype)); break;
      case Kind::Device: o = call(names.device_of, text(n.text).get(), n.place == kNoNode ? Py_None : of(n.place)); break;
      case Kind::Layout: o = call(names.layout, text(n.text).get()); break;
      case Kind::Global: {
        const size_t line = n.text.find('\n');
        o = call(resolve_, text(n.text.substr(0, line)).get(), text(n.text.substr(line + 1)).get());
        break;
      }
      case Kind::Storage: {
        CRESSET_CHECK(storages_[n.place], "load: a storage cannot go to the meta device on its own");
        CRESSET_CHECK(n.integer == 0, "load: the file uses part of a storage outside a tensor");
        o = checked(wrap(storages_[n.place]));
        if (n.dtype != ScalarType::Undefined) o = call(names.typed_of, o.get(), constant(n.dtype));
        break;
      }
      case Kind::Tensor: o = tensor(d_.tensors[n.place]); break;
      case Kind::Object: {
        const auto& list = d_.lists[n.place];
        settle();
        o = call(n.flag ? names.call : names.make, of(list[0]), of(list[1]));
        open_.push_back(id);
        break;
      }
    }
  }

  // Before an object outside the list is made of them, and at the end: containers whose elements are all there get them, then objects what
  // changes them, those within others first.
  void settle() {
    size_t kept = 0;
    for (const NodeId id : open_) {
      if (node(id).kind != Kind::Object && all_made(id)) fill(id);
      else open_[kept++] = id;
    }
    open_.resize(kept);
    std::vector<NodeId> still;
    for (size_t i = open_.size(); i-- > 0;) {
      if (node(open_[i]).kind == Kind::Object && all_made(open_[i])) fill(open_[i]);
      else still.push_back(open_[i]);
    }
    open_.assign(still.rbegin(), still.rend());
  }
  bool all_made(NodeId id) const {
    const auto& list = d_.lists[node(id).place];
    if (node(id).kind != Kind::Object) return std::all_of(list.begin(), list.end(), [&](NodeId child) { return made_[child].get(); });
    for (size_t i = 2; i < list.size();) {
      const size_t values = list[i] == static_cast<NodeId>(io::Change::SetItem) ? 2 : 1;
      for (size_t v = 1; v <= values; v++) {
        const NodeId child = list[i + v];
        if (!made_[child].get() || (is_filled_later(child) && !filled_[child])) return false;
      }
      i += 1 + values;
    }
    return true;
  }

  // Bytes of Python 2 with the encoding that the caller says they have.
  Ref old_text(std::string_view bytes) const {
    const auto size = static_cast<Py_ssize_t>(bytes.size());
    return checked(encoding_ == "bytes" ? PyBytes_FromStringAndSize(bytes.data(), size) : PyUnicode_Decode(bytes.data(), size, encoding_.c_str(), "strict"));
  }

  void fill(NodeId id) {
    if (filled_[id]) return;
    filled_[id] = true;
    const Node& n = node(id);
    const auto& items = d_.lists[n.place];
    PyObject* o = of(id);
    switch (n.kind) {
      case Kind::List:
        for (const NodeId item : items) succeed(PyList_Append(o, of(item)));
        break;
      case Kind::Set:
        for (const NodeId item : items) {
          check_hashed(item);
          succeed(PySet_Add(o, of(item)));
        }
        break;
      case Kind::Object:
        for (size_t i = 2; i < items.size();) {
          const bool two = items[i] == static_cast<NodeId>(io::Change::SetItem);
          const Ref what = checked(PyLong_FromLong(static_cast<long>(items[i])));
          call(names.change, o, what.get(), of(items[i + 1]), two ? of(items[i + 2]) : Py_None);
          i += two ? 3 : 2;
        }
        break;
      default:
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
          check_hashed(items[i]);
          succeed(PyObject_SetItem(o, of(items[i]), of(items[i + 1])));
        }
        if (n.kind == Kind::OrderedDict && n.attributes != kNoNode) {
          // The attributes may be further down in the list of what is to be filled.
          if (is_filled_later(n.attributes)) fill_one(n.attributes);
          const Ref own = checked(PyObject_GetAttrString(o, "__dict__"));
          succeed(PyDict_Update(own.get(), of(n.attributes)));
        }
    }
  }
  // One level only: attributes of attributes have none.
  void fill_one(NodeId id) {
    if (filled_[id]) return;
    const auto& items = d_.lists[node(id).place];
    if (node(id).kind == Kind::OrderedDict && node(id).attributes != kNoNode) return;
    filled_[id] = true;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      check_hashed(items[i]);
      succeed(PyObject_SetItem(of(id), of(items[i]), of(items[i + 1])));
    }
  }

  const io::Checkpoint& checkpoint_;
  const io::Document& d_;
  PyObject *resolve_, *place_;
  const std::string encoding_;
  std::vector<intrusive_ptr<StorageImpl>> storages_;
  std::vector<Ref> made_;
  std::vector<bool> reached_, needed_, filled_;
  std::vector<uint32_t> depths_;  // of tuples: how deep tuples nest in them
  std::vector<NodeId> open_;
};

}  // namespace

const IoNames& io_names() { return names; }

PyObject* io_guarded(const std::function<PyObject*()>& body) {
  return guarded([&]() -> PyObject* {
    try {
      return body();
    } catch (const io::UnpicklingError& e) {
      PyErr_SetString(names.unpickling_error, e.what());
      throw PythonError();
    }
  });
}

std::shared_ptr<io::ByteSource> source_of(PyObject* from, const std::string& name) {
  if (PyLong_Check(from)) {
    const int descriptor = dup(static_cast<int>(PyLong_AsLong(from)));
    CRESSET_CHECK(descriptor >= 0, "load: '", name, "' cannot be read: ", std::strerror(errno));
    return std::make_shared<io::FileSource>(descriptor, name);
  }
  auto* view = new Py_buffer();
  if (PyObject_GetBuffer(from, view, PyBUF_SIMPLE)) {
    delete view;
    throw PythonError();
  }
  // The source lives no longer than the call, under the interpreter's lock.
  return std::shared_ptr<io::ByteSource>(new io::MemorySource(view->buf, static_cast<size_t>(view->len)), [view](io::ByteSource* source) {
    delete source;
    PyBuffer_Release(view);
    delete view;
  });
}

namespace {
// How files are mapped, as serialization.py tells it.
enum Mapping { kNotMapped, kPrivate, kShared };

// load(descriptor or bytes, name, mapping, big_endian, verify, allow, resolve, place, encoding): what the file holds, and where that ends.
PyObject* io_load(PyObject*, PyObject* args) {
  PyObject *from, *allow, *resolve, *place;
  const char *name, *encoding;
  int mapping, big_endian, verify;
  if (!PyArg_ParseTuple(args, "OsippOOOs", &from, &name, &mapping, &big_endian, &verify, &allow, &resolve, &place, &encoding)) return nullptr;
  return io_guarded([&] {
    io::CheckpointOptions options;
    options.file = name;
    options.mmap = mapping != kNotMapped;
    options.shared = mapping == kShared;
    options.big_endian = big_endian;
    options.verify = verify;
    if (allow != Py_None) {
      options.allow = [&](std::string_view module, std::string_view global) {
        const Ref answer = call(allow, text(module).get(), text(global).get());
        return PyObject_IsTrue(answer.get()) == 1;
      };
    }
    const io::Checkpoint checkpoint(source_of(from, name), std::move(options));
    const Ref loaded = Builder(checkpoint, resolve, place, encoding).build(), end = checked(PyLong_FromUnsignedLongLong(checkpoint.end()));
    return PyTuple_Pack(2, loaded.get(), end.get());
  });
}

io::Checkpoint& checkpoint_of(PyObject* capsule) {
  void* p = PyCapsule_GetPointer(capsule, "cresset.checkpoint");
  if (!p) throw PythonError();
  return *static_cast<io::Checkpoint*>(p);
}

// open(descriptor or bytes, name, mapping, big_endian, verify): a handle on the file and the bytes of its pickle, for Python's own reader, and where the file's
// content ends.
PyObject* io_open(PyObject*, PyObject* args) {
  PyObject* from;
  const char* name;
  int mapping, big_endian, verify;
  if (!PyArg_ParseTuple(args, "Osipp", &from, &name, &mapping, &big_endian, &verify)) return nullptr;
  return io_guarded([&] {
    io::CheckpointOptions options;
    options.file = name;
    options.mmap = mapping != kNotMapped;
    options.shared = mapping == kShared;
    options.big_endian = big_endian;
    options.verify = verify;
    options.any = true;
    auto checkpoint = std::make_unique<io::Checkpoint>(source_of(from, name), std::move(options));
    const std::string& pickle = checkpoint->pickle();
    const Ref bytes = checked(PyBytes_FromStringAndSize(pickle.data(), static_cast<Py_ssize_t>(pickle.size())));
    const Ref capsule = checked(PyCapsule_New(checkpoint.get(), "cresset.checkpoint", [](PyObject* c) { delete &checkpoint_of(c); }));
    const Ref end = checked(PyLong_FromUnsignedLongLong(checkpoint.release()->end()));
    return PyTuple_Pack(3, capsule.get(), bytes.get(), end.get());
  });
}

// storage(handle, key): the bytes of a storage as a tensor.
PyObject* io_storage(PyObject*, PyObject* args) {
  PyObject* capsule;
  const char* key;
  if (!PyArg_ParseTuple(args, "Os", &capsule, &key)) return nullptr;
  return io_guarded([&] {
    const io::Checkpoint& checkpoint = checkpoint_of(capsule);
    const auto found = checkpoint.document().storage_index.find(key);
    CRESSET_CHECK(found != checkpoint.document().storage_index.end(), "load: the file has no storage '", key, "'");
    intrusive_ptr<StorageImpl> storage;
    {
      NoGil released;
      storage = checkpoint.read_storage(found->second);
    }
    Tensor bytes(make_intrusive<TensorImpl>(storage, kByte, Device(kCPU)));
    bytes.impl()->set_sizes_contiguous(static_cast<int64_t>(storage->nbytes()));
    return wrap(bytes);
  });
}

// reference(handle, text): what the pickle of a tar archive refers to: the key of a storage, its dtype (None for bytes), and of a tensor
// also its offset, sizes and strides.
PyObject* io_reference(PyObject*, PyObject* args) {
  PyObject* capsule;
  const char* key;
  if (!PyArg_ParseTuple(args, "Os", &capsule, &key)) return nullptr;
  return io_guarded([&] {
    const io::Checkpoint& checkpoint = checkpoint_of(capsule);
    const io::Document& d = checkpoint.document();
    const auto found = checkpoint.references().find(key);
    CRESSET_CHECK(found != checkpoint.references().end(), "load: the file has no object '", key, "'");
    const Node& node = d[found->second];
    auto numbers = [](const std::vector<int64_t>& values) {
      Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
      for (size_t i = 0; i < values.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLongLong(values[i])).release());
      return tuple;
    };
    const io::TensorRecord* tensor = node.kind == Kind::Tensor ? &d.tensors[node.place] : nullptr;
    const Ref storage = text(d.storages[tensor ? tensor->storage : node.place].key);
    const Ref dtype = Ref::share(node.kind == Kind::Storage && node.dtype == ScalarType::Undefined ? Py_None : constant(tensor ? tensor->dtype : node.dtype));
    if (!tensor) return PyTuple_Pack(2, storage.get(), dtype.get());
    const Ref offset = checked(PyLong_FromLongLong(tensor->offset)), sizes = numbers(d.integers(tensor->sizes)), strides = numbers(d.integers(tensor->strides));
    return PyTuple_Pack(5, storage.get(), dtype.get(), offset.get(), sizes.get(), strides.get());
  });
}

// scan(descriptor or bytes, name, note): calls `note` with module and name of what is outside the list.
PyObject* io_scan(PyObject*, PyObject* args) {
  PyObject *from, *note;
  const char* name;
  if (!PyArg_ParseTuple(args, "OsO", &from, &name, &note)) return nullptr;
  return io_guarded([&]() -> PyObject* {
    io::CheckpointOptions options;
    options.file = name;
    options.any = true;
    options.allow = [&](std::string_view module, std::string_view global) {
      call(note, text(module).get(), text(global).get());
      return true;
    };
    const io::Checkpoint checkpoint(source_of(from, name), std::move(options));
    Py_RETURN_NONE;
  });
}

}  // namespace

bool add_io(PyObject* module) {
  static PyMethodDef functions[] = {{"_set_io_names", set_names, METH_O, nullptr},          {"_io_load", io_load, METH_VARARGS, nullptr},
                                    {"_io_open", io_open, METH_VARARGS, nullptr},           {"_io_storage", io_storage, METH_VARARGS, nullptr},
                                    {"_io_reference", io_reference, METH_VARARGS, nullptr}, {"_io_scan", io_scan, METH_VARARGS, nullptr},
                                    {"_io_save", io_save, METH_VARARGS, nullptr},           {}};
  return PyModule_AddFunctions(module, functions) == 0 && add_io_formats(module) && add_io_image(module) && add_io_inspect(module);
}

}  // namespace cresset::python
