// safetensors, npy and npz between Python's dicts of tensors and files.

#include "cresset/io/npy.h"
#include "cresset/io/safetensors.h"
#include "python/bind/io.h"

namespace cresset::python {

namespace {

std::string utf8(PyObject* text, const char* what) {
  CRESSET_CHECK_TYPE(PyUnicode_Check(text), what, ": expected text, got ", Py_TYPE(text)->tp_name);
  const char* s = PyUnicode_AsUTF8(text);
  if (!s) throw PythonError();
  return s;
}

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
    const Ref key = checked(PyUnicode_DecodeUTF8(item.key().data(), static_cast<Py_ssize_t>(item.key().size()), "surrogateescape"));
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
      WithoutGil released;
      content = io::read_safetensors(*source, name, mmap);
    }
    const Ref tensors = dict_of(content.tensors);
    Ref metadata = Ref::share(Py_None);
    if (!content.metadata.empty()) metadata = checked(PyDict_New());
    for (const auto& [key, value] : content.metadata) {
      const Ref text = checked(PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size())));
      if (PyDict_SetItemString(metadata.get(), key.c_str(), text.get())) throw PythonError();
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
      WithoutGil released;
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
      WithoutGil released;
      tensors = io::read_npz(*source, name);
    }
    return dict_of(tensors).release();
  });
}

}  // namespace

bool add_io_formats(PyObject* module) {
  static PyMethodDef functions[] = {{"_io_save_safetensors", save_safetensors, METH_VARARGS, nullptr},
                                    {"_io_load_safetensors", load_safetensors, METH_VARARGS, nullptr},
                                    {"_io_save_npy", save_npy, METH_VARARGS, nullptr},
                                    {"_io_save_npz", save_npz, METH_VARARGS, nullptr},
                                    {"_io_load_npy", load_npy, METH_VARARGS, nullptr},
                                    {"_io_load_npz", load_npz, METH_VARARGS, nullptr},
                                    {}};
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
