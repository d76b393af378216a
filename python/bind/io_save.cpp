// Python objects to checkpoints: the operations of a pickle, without recursion however deep the objects nest.

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "python/bind/io.h"

namespace cresset::python {

namespace {

class Saver {
 public:
  explicit Saver(io::CheckpointWriter& writer) : writer_(writer), p_(writer.pickler()) {}

  void save(PyObject* root) {
    push_save(root);
    while (!todo_.empty()) {
      Task task = std::move(todo_.back());
      todo_.pop_back();
      run(task);
    }
  }

 private:
  enum class Step { Save, Op, Memo, ListItems, DictItems, TupleEnd, Arguments };
  struct Task {
    Step step;
    Ref object;
    Py_ssize_t at = 0;  // the next element; the operation of an Op
  };

  void push(Step step, PyObject* object, Py_ssize_t at = 0) { todo_.push_back({step, Ref::share(object), at}); }
  void push_save(PyObject* object) { push(Step::Save, object); }
  void push_op(char op) { todo_.push_back({Step::Op, Ref(), static_cast<unsigned char>(op)}); }
  void memoize(PyObject* o) {
    memo_.emplace(o, p_.memoize());
    kept_.push_back(Ref::share(o));  // or its address might come again
  }
  // Objects without other references need no number: the containers that hold them are asked for once.
  void memoize_if_shared(PyObject* o) {
    if (Py_REFCNT(o) > 2) memoize(o);
  }

  void run(Task& task) {
    PyObject* o = task.object.get();
    switch (task.step) {
      case Step::Save: save_one(o); break;
      case Step::Op: p_.op(static_cast<char>(task.at)); break;
      case Step::Memo:
        pending_.erase(o);
        memoize(o);
        break;
      case Step::ListItems:
        // The list may change while classes of the user's tell what they are made of.
        if (task.at < PyList_GET_SIZE(o)) {
          push(Step::ListItems, o, task.at + 1);
          push_save(PyList_GET_ITEM(o, task.at));
        } else {
          p_.op('e');
        }
        break;
      case Step::DictItems:  // of a list of pairs
        if (task.at < PyList_GET_SIZE(o)) {
          PyObject* pair = PyList_GET_ITEM(o, task.at);
          if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
            PyErr_SetString(PyExc_TypeError, "save: items of a dict are not pairs");
            throw PythonError();
          }
          push(Step::DictItems, o, task.at + 1);
          push_save(PyTuple_GET_ITEM(pair, 1));
          push_save(PyTuple_GET_ITEM(pair, 0));
        } else {
          p_.op('u');
        }
        break;
      case Step::TupleEnd: {
        const auto found = memo_.find(o);
        if (found != memo_.end()) {  // it contains itself
          p_.op('1');
          p_.recall(found->second);
          break;
        }
        p_.op('t');
        memoize_if_shared(o);
        break;
      }
      case Step::Arguments: writer_.tensor_arguments(tensor_of(o)); break;
    }
  }

  void save_tuple(PyObject* o) {
    const Py_ssize_t n = PyTuple_GET_SIZE(o);
    if (n == 0) return p_.op(')');
    p_.mark();
    push(Step::TupleEnd, o);
    for (Py_ssize_t i = n; i-- > 0;) push_save(PyTuple_GET_ITEM(o, i));
  }

  void save_items(PyObject* items) {
    if (PyList_GET_SIZE(items) == 0) return;
    p_.mark();
    push(Step::DictItems, items);
  }

  void save_int(PyObject* o) {
    int overflow;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) return p_.integer(v);
    const size_t bits = _PyLong_NumBits(o);
    std::string bytes(bits / 8 + 1, 0);
#if PY_VERSION_HEX < 0x030D0000
    if (_PyLong_AsByteArray(reinterpret_cast<PyLongObject*>(o), reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), 1, 1)) throw PythonError();
#else
    if (PyLong_AsNativeBytes(o, bytes.data(), static_cast<Py_ssize_t>(bytes.size()), Py_ASNATIVEBYTES_LITTLE_ENDIAN) < 0) throw PythonError();
#endif
    p_.big_integer(bytes);
  }

  bool has_attributes(PyObject* o) {
    const Ref own(PyObject_GetAttrString(o, "__dict__"));
    if (!own) PyErr_Clear();
    return own && PyDict_Check(own.get()) && PyDict_GET_SIZE(own.get()) > 0;
  }

  bool save_tensor(PyObject* o) {
    const bool is_parameter = reinterpret_cast<PyObject*>(Py_TYPE(o)) == io_names().parameter;
    if (!is_parameter && Py_TYPE(o) != tensor_type) return save_subclass(o);
    if (!has_attributes(o)) {
      writer_.tensor(tensor_of(o), is_parameter);
      memoize_if_shared(o);
      return true;
    }
    const Ref state = checked(PyObject_GetAttrString(o, "__dict__"));
    const Tensor& t = tensor_of(o);
    push(Step::Memo, o);
    push_op('R');
    push_op('t');
    push_save(state.get());
    if (is_parameter) {
      p_.global("torch._utils", "_rebuild_parameter_with_state");
      p_.mark();
      writer_.tensor(t.detach());
      p_.boolean(t.requires_grad());
      p_.ordered_dict();
    } else {
      p_.global("torch._tensor", "_rebuild_from_type_v2");
      p_.mark();
      writer_.tensor_function(t);
      p_.global("torch", "Tensor");
      writer_.tensor_arguments(t);
    }
    return true;
  }
  // Whether it holds other tensors and has no memory, so that its attributes are all there is.
  static bool is_wrapper(const Tensor& t) {
    if (t.layout() != Layout::Strided || !t.is_cpu() || t.lacks_data() || !t.impl()->has_storage()) return false;
    return t.impl()->storage()->nbytes() > 0 && t.impl()->storage()->data() == nullptr;
  }
  // A class of the user's that leaves pickling to Tensor: its class, the plain tensor's parts, its attributes.
  bool save_subclass(PyObject* o) {
    const Ref own = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__reduce_ex__"));
    const Ref plain = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__reduce_ex__"));
    if (own.get() != plain.get() || is_wrapper(tensor_of(o))) return false;
    const Ref state = checked(PyObject_CallOneArg(io_names().attributes, o));
    p_.global("torch._tensor", "_rebuild_from_type_v2");
    p_.mark();
    writer_.tensor_function(tensor_of(o));
    push(Step::Memo, o);
    push_op('R');
    push_op('t');
    push_save(state.get());
    push(Step::Arguments, o);
    push_save(reinterpret_cast<PyObject*>(Py_TYPE(o)));
    return true;
  }

  void save_one(PyObject* o) {
    if (o == Py_None) return p_.none();
    if (o == Py_True || o == Py_False) return p_.boolean(o == Py_True);
    PyTypeObject* type = Py_TYPE(o);
    if (type == &PyLong_Type) return save_int(o);
    if (type == &PyFloat_Type) return p_.real(PyFloat_AS_DOUBLE(o));
    if (type == &PyUnicode_Type) {
      const Ref utf8 = checked(PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass"));
      return p_.text({PyBytes_AS_STRING(utf8.get()), static_cast<size_t>(PyBytes_GET_SIZE(utf8.get()))});
    }
    const auto found = memo_.find(o);
    if (found != memo_.end()) return p_.recall(found->second);
    const IoNames& names = io_names();
    PyObject* class_object = reinterpret_cast<PyObject*>(type);
    if (type == &PyTuple_Type) return save_tuple(o);
    if (type == &PyList_Type) {
      p_.op(']');
      memoize_if_shared(o);
      if (PyList_GET_SIZE(o) == 0) return;
      p_.mark();
      return push(Step::ListItems, o);
    }
    if (type == &PyDict_Type) {
      p_.op('}');
      memoize_if_shared(o);
      return save_items(checked(PyDict_Items(o)).get());
    }
    if (is_tensor(o) && save_tensor(o)) return;
    if (type == &PyComplex_Type) return p_.complex(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
    if (type == &PyBytes_Type) {
      p_.bytes({PyBytes_AS_STRING(o), static_cast<size_t>(PyBytes_GET_SIZE(o))});
      return memoize_if_shared(o);
    }
    if (type == dtype_type) return p_.dtype(to_dtype(o));
    if (type == device_type) return save_device(to_device(o), o);
    if (type == layout_type) {
      p_.global("torch.serialization", "_get_layout");
      const Ref name = checked(PyObject_Str(o));
      p_.text(PyUnicode_AsUTF8(name.get()));
      p_.op('\x85');
      return p_.op('R');
    }
    if (class_object == names.size) {
      const Ref plain = checked(PySequence_Tuple(o));
      // An exact tuple, also where sequences of the type's own are kept as they are.
      const Ref exact = PyTuple_CheckExact(plain.get()) ? Ref::share(plain.get()) : checked(PyTuple_GetSlice(plain.get(), 0, PyTuple_GET_SIZE(plain.get())));
      p_.global("torch", "Size");
      std::vector<int64_t> sizes;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(exact.get()); i++) sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(exact.get(), i)));
      if (PyErr_Occurred()) throw PythonError();
      p_.integers(sizes.data(), sizes.size());
      p_.op('\x85');
      p_.op('R');
      return memoize_if_shared(o);
    }
    if (class_object == names.ordered_dict) {
      p_.ordered_dict();
      memoize_if_shared(o);
      const Ref items = checked(PyMapping_Items(o));
      if (has_attributes(o)) {
        push_op('b');
        push_save(checked(PyObject_GetAttrString(o, "__dict__")).get());
      }
      return save_items(items.get());
    }
    if (is_storage(o)) return writer_.storage(storage_of(o), ScalarType::Undefined);
    const int typed = PyObject_IsInstance(o, names.typed_storage);
    if (typed < 0) throw PythonError();
    if (typed) {
      const Ref bytes = checked(PyObject_GetAttrString(o, "_untyped_storage")), dtype = checked(PyObject_GetAttrString(o, "dtype"));
      return writer_.storage(storage_of(bytes.get()), to_dtype(dtype.get()));
    }
    save_reduced(o);
  }

  void save_device(const Device& d, PyObject* o) {
    p_.global("torch", "device");
    p_.text(device_type_name(d.type()));
    if (d.has_index()) p_.integer(d.index());
    p_.op(d.has_index() ? '\x86' : '\x85');
    p_.op('R');
    memoize_if_shared(o);
  }

  void save_global(PyObject* o, PyObject* name) {
    const Ref found = checked(PyObject_CallFunctionObjArgs(io_names().global_name, o, name, nullptr));
    PyObject *module, *qualified;
    if (!PyArg_ParseTuple(found.get(), "OO", &module, &qualified)) throw PythonError();
    if (PyUnicode_Check(module)) return p_.global(PyUnicode_AsUTF8(module), PyUnicode_AsUTF8(qualified));
    push(Step::Memo, o);
    push_op('R');
    push_save(qualified);
    push_save(module);
  }

  // By the protocol of copyreg: a name, or a callable with arguments, state, elements and items.
  void save_reduced(PyObject* o) {
    if (pending_.count(o)) {
      PyErr_Format(PyExc_RecursionError, "save: a %s is made of itself", Py_TYPE(o)->tp_name);
      throw PythonError();
    }
    const Ref parts = checked(PyObject_CallOneArg(io_names().reduce, o));
    if (parts.get() == Py_None || PyUnicode_Check(parts.get())) return save_global(o, parts.get());
    PyObject *callable, *arguments, *state = Py_None, *elements = Py_None, *items = Py_None;
    if (!PyTuple_Check(parts.get()) || !PyArg_ParseTuple(parts.get(), "OO!|OOO", &callable, &PyTuple_Type, &arguments, &state, &elements, &items)) {
      PyErr_Clear();
      PyErr_Format(PyExc_TypeError, "save: __reduce_ex__ of %s returned neither a name nor a tuple of two to five parts", Py_TYPE(o)->tp_name);
      throw PythonError();
    }
    if (state != Py_None) {
      push_op('b');
      push_save(state);
    }
    if (items != Py_None) {
      const Ref list = checked(PySequence_List(items));
      if (PyList_GET_SIZE(list.get())) {
        push(Step::DictItems, list.get());
        push_op('(');
      }
    }
    if (elements != Py_None) {
      const Ref list = checked(PySequence_List(elements));
      if (PyList_GET_SIZE(list.get())) {
        push(Step::ListItems, list.get());
        push_op('(');
      }
    }
    push(Step::Memo, o);
    pending_.insert(o);
    const Ref name(PyObject_GetAttrString(callable, "__name__"));
    if (!name) PyErr_Clear();
    if (name && PyUnicode_Check(name.get()) && !PyUnicode_CompareWithASCIIString(name.get(), "__newobj__") && PyTuple_GET_SIZE(arguments) > 0) {
      push_op('\x81');
      push_save(checked(PyTuple_GetSlice(arguments, 1, PyTuple_GET_SIZE(arguments))).get());
      push_save(PyTuple_GET_ITEM(arguments, 0));
      return;
    }
    push_op('R');
    push_save(arguments);
    push_save(callable);
  }

  io::CheckpointWriter& writer_;
  io::Pickler& p_;
  std::vector<Task> todo_;
  std::unordered_map<PyObject*, uint32_t> memo_;
  std::unordered_set<PyObject*> pending_;  // whose parts are being written
  std::vector<Ref> kept_;
};

}  // namespace

io::WriteBytes sink_of(PyObject* write) {
  return [write](const void* data, size_t size) {
    // In parts, for each is copied.
    constexpr size_t kPart = size_t{8} << 20;
    for (size_t at = 0; at < size || at == 0; at += kPart) {
      const Ref bytes = checked(PyBytes_FromStringAndSize(static_cast<const char*>(data) + at, static_cast<Py_ssize_t>(std::min(kPart, size - at))));
      checked(PyObject_CallOneArg(write, bytes.get()));
    }
  };
}

void write_to(PyObject* to, const std::function<void(const io::WriteBytes&)>& produce) {
  if (!PyUnicode_Check(to) && !PyBytes_Check(to)) return produce(sink_of(to));
  const Ref encoded = PyBytes_Check(to) ? Ref::share(to) : checked(PyUnicode_EncodeFSDefault(to));
  const std::string path(PyBytes_AS_STRING(encoded.get()), static_cast<size_t>(PyBytes_GET_SIZE(encoded.get())));
  NoGil released;
  io::write_file_atomically(path, produce);
}

// save(object, path or function of bytes, folder, checksums, record of the byte order, legacy, protocol, function that tags storages or None)
PyObject* io_save(PyObject*, PyObject* args) {
  PyObject *object, *to, *tagger;
  const char* folder;
  int checksums, byte_order, legacy, protocol;
  if (!PyArg_ParseTuple(args, "OOspppiO", &object, &to, &folder, &checksums, &byte_order, &legacy, &protocol, &tagger)) return nullptr;
  return io_guarded([&]() -> PyObject* {
    io::CheckpointWriter writer(legacy, protocol);
    if (tagger != Py_None)
      writer.location_tag = [tagger](const intrusive_ptr<StorageImpl>& storage) {
        const Ref o = checked(wrap(storage)), tag = checked(PyObject_CallFunctionObjArgs(tagger, o.get(), nullptr));
        const char* const text = PyUnicode_AsUTF8(tag.get());
        if (!text) throw PythonError();
        return std::string(text);
      };
    Saver(writer).save(object);
    write_to(to, [&](const io::WriteBytes& write) {
      if (legacy) writer.write_legacy(write);
      else writer.write(write, folder, {checksums != 0, byte_order != 0});
    });
    Py_RETURN_NONE;
  });
}

}  // namespace cresset::python
