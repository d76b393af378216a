// safetensors, npy, npz and GGUF between Python's dicts of tensors and files.

#include "cresset/io/gguf.h"
#include "cresset/io/npy.h"
#include "cresset/io/safetensors.h"
#include "cresset/train/event_file.h"
#include "cresset/train/wire.h"
#include "python/bind/io.h"

namespace cresset::python {

namespace {

std::string utf8(PyObject* text, const char* what) {
  CRESSET_CHECK_TYPE(PyUnicode_Check(text), what, ": expected text, got ", Py_TYPE(text)->tp_name);
  Py_ssize_t size;
  const char* s = PyUnicode_AsUTF8AndSize(text, &size);
  if (!s) throw PythonError();
  return {s, static_cast<size_t>(size)};
}

Ref text_of(const std::string& s) { return checked(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "surrogateescape")); }

io::NamedTensors named_tensors(PyObject* dict) {
  io::NamedTensors tensors("Tensor");
  const Ref items = checked(PyMapping_Items(dict));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); i++) {
    PyObject* pair = PyList_GET_ITEM(items.get(), i);
    PyObject* value = PyTuple_GET_ITEM(pair, 1);
    const std::string name = utf8(PyTuple_GET_ITEM(pair, 0), "name of a tensor");
    CRESSET_CHECK_TYPE(is_tensor(value), "'", name, "': expected a tensor, got ", Py_TYPE(value)->tp_name);
    tensors.insert(name, tensor_of(value));
  }
  return tensors;
}

Ref dict_of(const io::NamedTensors& tensors) {
  Ref dict = checked(PyDict_New());
  for (const auto& item : tensors) {
    const Ref key = text_of(item.key());
    const Ref value = checked(wrap(item.value()));
    if (PyDict_SetItem(dict.get(), key.get(), value.get())) throw PythonError();
  }
  return dict;
}

// (dict of tensors, dict of text or None, to)
PyObject* save_safetensors(PyObject*, PyObject* args) {
  PyObject *dict, *metadata, *to;
  if (!PyArg_ParseTuple(args, "OOO", &dict, &metadata, &to)) return nullptr;
  return guarded([&]() -> PyObject* {
    const io::NamedTensors tensors = named_tensors(dict);
    io::Metadata facts;
    if (metadata != Py_None) {
      const Ref items = checked(PyMapping_Items(metadata));
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); i++) {
        PyObject* pair = PyList_GET_ITEM(items.get(), i);
        facts[utf8(PyTuple_GET_ITEM(pair, 0), "metadata")] = utf8(PyTuple_GET_ITEM(pair, 1), "metadata");
      }
    }
    write_to(to, [&](const io::WriteBytes& write) { io::write_safetensors(tensors, facts, write); });
    Py_RETURN_NONE;
  });
}

// (descriptor or bytes, name, mmap): the tensors and the metadata, None where the file has none
PyObject* load_safetensors(PyObject*, PyObject* args) {
  PyObject* from;
  const char* name;
  int mmap;
  if (!PyArg_ParseTuple(args, "Osp", &from, &name, &mmap)) return nullptr;
  return guarded([&] {
    const auto source = source_of(from, name);
    io::SafetensorsContent content;
    {
      NoGil released;
      content = io::read_safetensors(*source, name, mmap);
    }
    const Ref tensors = dict_of(content.tensors);
    Ref metadata = Ref::share(Py_None);
    if (!content.metadata.empty()) metadata = checked(PyDict_New());
    for (const auto& [key, value] : content.metadata) {
      if (PyDict_SetItem(metadata.get(), text_of(key).get(), text_of(value).get())) throw PythonError();
    }
    return PyTuple_Pack(2, tensors.get(), metadata.get());
  });
}

PyObject* save_npy(PyObject*, PyObject* args) {
  PyObject *tensor, *to;
  if (!PyArg_ParseTuple(args, "O!O", tensor_type, &tensor, &to)) return nullptr;
  return guarded([&]() -> PyObject* {
    write_to(to, [&](const io::WriteBytes& write) { io::write_npy(tensor_of(tensor), write); });
    Py_RETURN_NONE;
  });
}

PyObject* save_npz(PyObject*, PyObject* args) {
  PyObject *dict, *to;
  if (!PyArg_ParseTuple(args, "OO", &dict, &to)) return nullptr;
  return guarded([&]() -> PyObject* {
    const io::NamedTensors tensors = named_tensors(dict);
    write_to(to, [&](const io::WriteBytes& write) { io::write_npz(tensors, write); });
    Py_RETURN_NONE;
  });
}

PyObject* load_npy(PyObject*, PyObject* args) {
  PyObject* from;
  const char* name;
  int mmap;
  if (!PyArg_ParseTuple(args, "Osp", &from, &name, &mmap)) return nullptr;
  return guarded([&] {
    const auto source = source_of(from, name);
    Tensor t;
    {
      NoGil released;
      t = io::read_npy(*source, name, mmap);
    }
    return wrap(t);
  });
}

PyObject* load_npz(PyObject*, PyObject* args) {
  PyObject* from;
  const char* name;
  if (!PyArg_ParseTuple(args, "Os", &from, &name)) return nullptr;
  return guarded([&] {
    const auto source = source_of(from, name);
    io::NamedTensors tensors("Tensor");
    {
      NoGil released;
      tensors = io::read_npz(*source, name);
    }
    return dict_of(tensors).release();
  });
}

Ref object_of(const io::GgufValue& value) {
  if (const bool* v = std::get_if<bool>(&value)) return Ref::share(*v ? Py_True : Py_False);
  if (const int64_t* v = std::get_if<int64_t>(&value)) return checked(PyLong_FromLongLong(*v));
  if (const uint64_t* v = std::get_if<uint64_t>(&value)) return checked(PyLong_FromUnsignedLongLong(*v));
  if (const double* v = std::get_if<double>(&value)) return checked(PyFloat_FromDouble(*v));
  if (const std::string* v = std::get_if<std::string>(&value)) return text_of(*v);
  if (const Tensor* v = std::get_if<Tensor>(&value)) return checked(wrap(*v));
  const auto& texts = std::get<std::vector<std::string>>(value);
  Ref list = checked(PyList_New(static_cast<Py_ssize_t>(texts.size())));
  for (size_t i = 0; i < texts.size(); i++) PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), text_of(texts[i]).release());
  return list;
}

io::GgufFile& gguf_of(PyObject* capsule) {
  void* p = PyCapsule_GetPointer(capsule, "cresset.gguf");
  if (!p) throw PythonError();
  return *static_cast<io::GgufFile*>(p);
}

// (descriptor or bytes, name): a handle, the facts, and of each tensor name, shape, type, offset and bytes
PyObject* open_gguf(PyObject*, PyObject* args) {
  PyObject* from;
  const char* name;
  if (!PyArg_ParseTuple(args, "Os", &from, &name)) return nullptr;
  return guarded([&] {
    auto file = std::make_unique<io::GgufFile>(source_of(from, name), name);
    const Ref facts = checked(PyDict_New()), rows = checked(PyList_New(0));
    for (const auto& [key, value] : file->metadata())
      if (PyDict_SetItem(facts.get(), text_of(key).get(), object_of(value).get())) throw PythonError();
    for (const io::GgufTensor& t : file->tensors()) {
      const Ref shape = checked(PyTuple_New(static_cast<Py_ssize_t>(t.shape.size())));
      for (size_t i = 0; i < t.shape.size(); i++) PyTuple_SET_ITEM(shape.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLongLong(t.shape[i])).release());
      const Ref row = checked(Py_BuildValue("(OOsKK)", text_of(t.name).get(), shape.get(), t.type->name, static_cast<unsigned long long>(t.offset),
                                            static_cast<unsigned long long>(t.nbytes)));
      if (PyList_Append(rows.get(), row.get())) throw PythonError();
    }
    const Ref capsule = checked(PyCapsule_New(file.get(), "cresset.gguf", [](PyObject* c) { delete &gguf_of(c); }));
    file.release();
    return PyTuple_Pack(3, capsule.get(), facts.get(), rows.get());
  });
}

// (handle, number of the tensor, mmap)
PyObject* read_gguf(PyObject*, PyObject* args) {
  PyObject* capsule;
  Py_ssize_t index;
  int mmap;
  if (!PyArg_ParseTuple(args, "Onp", &capsule, &index, &mmap)) return nullptr;
  return guarded([&] {
    const io::GgufFile& file = gguf_of(capsule);
    Tensor t;
    {
      NoGil released;
      t = file.read(file.tensors().at(static_cast<size_t>(index)), mmap);
    }
    return wrap(t);
  });
}

// (descriptor or bytes of an index, name): which file each tensor is in
PyObject* read_shards(PyObject*, PyObject* args) {
  PyObject* from;
  const char* name;
  if (!PyArg_ParseTuple(args, "Os", &from, &name)) return nullptr;
  return guarded([&] {
    Ref dict = checked(PyDict_New());
    for (const auto& [tensor, file] : io::read_safetensors_index(*source_of(from, name), name))
      if (PyDict_SetItem(dict.get(), text_of(tensor).get(), text_of(file).get())) throw PythonError();
    return dict.release();
  });
}

// Checksums of the records of event files.
template <uint32_t (*sum)(std::string_view)> PyObject* checksum(PyObject*, PyObject* data) {
  Py_buffer view;
  if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return nullptr;
  const uint32_t found = sum({static_cast<const char*>(view.buf), static_cast<size_t>(view.len)});
  PyBuffer_Release(&view);
  return PyLong_FromUnsignedLong(found);
}

// Event files, as capsules.
void end_event_file(PyObject* capsule) { delete static_cast<train::EventFile*>(PyCapsule_GetPointer(capsule, "event_file")); }
train::EventFile& event_file_of(PyObject* capsule) {
  void* const file = PyCapsule_GetPointer(capsule, "event_file");
  if (!file) throw PythonError();
  return *static_cast<train::EventFile*>(file);
}
PyObject* open_event_file(PyObject*, PyObject* args) {
  const char *folder, *suffix;
  Py_ssize_t max_queue;
  double seconds;
  if (!PyArg_ParseTuple(args, "snds", &folder, &max_queue, &seconds, &suffix)) return nullptr;
  return guarded([&] {
    auto file = std::make_unique<train::EventFile>(folder, static_cast<size_t>(std::max<Py_ssize_t>(max_queue, 1)), seconds, suffix);
    const Ref path = checked(PyUnicode_DecodeFSDefault(file->path().c_str()));
    const Ref capsule = checked(PyCapsule_New(file.get(), "event_file", end_event_file));
    file.release();
    return Py_BuildValue("(OO)", capsule.get(), path.get());
  });
}
PyObject* add_event(PyObject*, PyObject* args) {
  PyObject* capsule;
  Py_buffer view;
  if (!PyArg_ParseTuple(args, "Oy*", &capsule, &view)) return nullptr;
  PyObject* const done = guarded([&] {
    event_file_of(capsule).add({static_cast<const char*>(view.buf), static_cast<size_t>(view.len)});
    return Py_NewRef(Py_None);
  });
  PyBuffer_Release(&view);
  return done;
}
template <void (train::EventFile::*method)()> PyObject* on_event_file(PyObject*, PyObject* capsule) {
  return guarded([&] {
    (event_file_of(capsule).*method)();
    return Py_NewRef(Py_None);
  });
}
PyObject* histogram_edges(PyObject*, PyObject*) {
  const std::vector<double>& edges = train::default_edges();
  PyObject* const list = PyList_New(static_cast<Py_ssize_t>(edges.size()));
  for (size_t i = 0; list && i < edges.size(); i++) PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), PyFloat_FromDouble(edges[i]));
  return list;
}

}  // namespace

bool add_io_formats(PyObject* module) {
  static PyMethodDef functions[] = {{"_io_save_safetensors", save_safetensors, METH_VARARGS, nullptr},
                                    {"_io_load_safetensors", load_safetensors, METH_VARARGS, nullptr},
                                    {"_io_save_npy", save_npy, METH_VARARGS, nullptr},
                                    {"_io_save_npz", save_npz, METH_VARARGS, nullptr},
                                    {"_io_load_npy", load_npy, METH_VARARGS, nullptr},
                                    {"_io_open_gguf", open_gguf, METH_VARARGS, nullptr},
                                    {"_io_read_gguf", read_gguf, METH_VARARGS, nullptr},
                                    {"_io_shards", read_shards, METH_VARARGS, nullptr},
                                    {"_io_load_npz", load_npz, METH_VARARGS, nullptr},
                                    {"crc32c", checksum<train::crc32c>, METH_O, nullptr},
                                    {"masked_crc", checksum<train::masked_crc>, METH_O, nullptr},
                                    {"_event_file", open_event_file, METH_VARARGS, nullptr},
                                    {"_event_file_add", add_event, METH_VARARGS, nullptr},
                                    {"_event_file_flush", on_event_file<&train::EventFile::flush>, METH_O, nullptr},
                                    {"_event_file_close", on_event_file<&train::EventFile::close>, METH_O, nullptr},
                                    {"histogram_edges", histogram_edges, METH_NOARGS, nullptr},
                                    {}};
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
