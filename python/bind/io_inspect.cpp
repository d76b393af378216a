// Content of files without their tensors: the tables behind `python -m cresset.io inspect`.

#include "cresset/io/npy.h"
#include "python/bind/io.h"

namespace cresset::python {

namespace {

using io::Kind;
using io::kNoNode;

Ref text(std::string_view v) { return checked(PyUnicode_DecodeUTF8(v.data(), static_cast<Py_ssize_t>(v.size()), "surrogateescape")); }

Ref numbers(const std::vector<int64_t>& values) {
  return list_of(values, [](int64_t v) { return checked(PyLong_FromLongLong(v)); });
}
Ref ids(const std::vector<io::NodeId>& values) {
  return list_of(values, [](io::NodeId v) { return checked(PyLong_FromUnsignedLong(v)); });
}
Ref dtype_text(ScalarType t) { return t == ScalarType::Undefined ? Ref::share(Py_None) : text(dtype_name(t)); }

constexpr const char* kKinds[] = {"value", "value",  "value",  "value",       "value",       "value",   "value", "bytes",     "bytearray",
                                  "list",  "tuple",  "dict",   "OrderedDict", "defaultdict", "Counter", "set",   "frozenset", "Size",
                                  "dtype", "device", "layout", "global",      "storage",     "tensor",  "object"};

// A pair of the node's kind and: a value, the numbers of its children, or of a storage or tensor the place in its table.
Ref node_of(const io::Document& d, const io::Node& n) {
  Ref what;
  switch (n.kind) {
    case Kind::None: what = Ref::share(Py_None); break;
    case Kind::Bool: what = Ref::share(n.flag ? Py_True : Py_False); break;
    case Kind::Int: what = checked(PyLong_FromLongLong(n.integer)); break;
    case Kind::BigInt: what = checked(_PyLong_FromByteArray(reinterpret_cast<const unsigned char*>(n.text.data()), n.text.size(), 1, 1)); break;
    case Kind::Float: what = checked(PyFloat_FromDouble(n.real)); break;
    case Kind::Complex: what = checked(PyComplex_FromDoubles(n.real, n.imaginary)); break;
    case Kind::Bytes:
    case Kind::ByteArray: what = checked(PyLong_FromSize_t(n.text.size())); break;
    case Kind::Text:
    case Kind::Device:
    case Kind::Layout:
    case Kind::Global: what = text(n.text); break;
    case Kind::DType: what = dtype_text(n.dtype); break;
    case Kind::Storage:
    case Kind::Tensor: what = checked(PyLong_FromUnsignedLong(n.place)); break;
    default: what = ids(d.lists[n.place]);
  }
  return checked(Py_BuildValue("(sO)", kKinds[static_cast<size_t>(n.kind)], what.get()));
}

// (descriptor or bytes, name): number of the root, nodes, storages, tensors
PyObject* inspect_checkpoint(PyObject*, PyObject* args) {
  PyObject* from;
  const char* name;
  if (!PyArg_ParseTuple(args, "Os", &from, &name)) return nullptr;
  return io_guarded([&] {
    io::CheckpointOptions options;
    options.file = name;
    options.any = options.script = true;
    const io::Checkpoint checkpoint(source_of(from, name), std::move(options));
    const io::Document& d = checkpoint.document();
    const Ref nodes = list_of(d.nodes, [&](const io::Node& n) { return node_of(d, n); });
    const Ref storages = list_of(d.storages, [](const io::StorageRecord& s) {
      return checked(Py_BuildValue("(OOK)", text(s.key).get(), text(s.location).get(), static_cast<unsigned long long>(s.nbytes)));
    });
    const Ref tensors = list_of(d.tensors, [&](const io::TensorRecord& t) {
      const bool sparse = t.parts != kNoNode;
      const Ref strides = sparse ? Ref::share(Py_None) : numbers(d.integers(t.strides));
      const Ref storage = t.storage == kNoNode ? Ref::share(Py_None) : checked(PyLong_FromUnsignedLong(t.storage));
      const Ref parts = sparse ? ids(d.children(t.parts)) : Ref::share(Py_None);
      const Ref layout = sparse ? text(d[t.layout].text) : Ref::share(Py_None);
      return checked(Py_BuildValue("(OOOOLOOOO)", dtype_text(t.dtype).get(), numbers(d.integers(t.sizes)).get(), strides.get(), storage.get(),
                                   static_cast<long long>(t.offset), t.requires_grad ? Py_True : Py_False, t.is_parameter ? Py_True : Py_False, layout.get(),
                                   parts.get()));
    });
    return Py_BuildValue("(IOOO)", checkpoint.root(), nodes.get(), storages.get(), tensors.get());
  });
}

Ref array_of(const io::NpyInfo& a) {
  return checked(Py_BuildValue("(OOOKOOO)", text(a.name).get(), dtype_text(a.dtype).get(), numbers(a.shape).get(), static_cast<unsigned long long>(a.nbytes),
                               a.fortran ? Py_True : Py_False, a.big_endian ? Py_True : Py_False, a.compressed ? Py_True : Py_False));
}

// (descriptor or bytes, name, is an archive): name, dtype, shape, bytes, Fortran's order, big-endian, compressed
PyObject* inspect_arrays(PyObject*, PyObject* args) {
  PyObject* from;
  const char* name;
  int archive;
  if (!PyArg_ParseTuple(args, "Osp", &from, &name, &archive)) return nullptr;
  return io_guarded([&] {
    const auto source = source_of(from, name);
    if (archive) return list_of(io::inspect_npz(*source, name), array_of).release();
    return list_of(std::vector<io::NpyInfo>{io::inspect_npy(*source, name)}, array_of).release();
  });
}

// (descriptor or bytes, name): name, bytes, whether it is stored as it is, of every entry
PyObject* inspect_zip(PyObject*, PyObject* args) {
  PyObject* from;
  const char* name;
  if (!PyArg_ParseTuple(args, "Os", &from, &name)) return nullptr;
  return io_guarded([&] {
    const auto source = source_of(from, name);
    const io::ZipReader zip(*source, name);
    return list_of(zip.entries(),
                   [](const io::ZipEntry& e) {
                     return checked(Py_BuildValue("(OKO)", text(e.name).get(), static_cast<unsigned long long>(e.full_size), e.stored ? Py_True : Py_False));
                   })
        .release();
  });
}

}  // namespace

bool add_io_inspect(PyObject* module) {
  static PyMethodDef functions[] = {{"_io_inspect_checkpoint", inspect_checkpoint, METH_VARARGS, nullptr},
                                    {"_io_inspect_arrays", inspect_arrays, METH_VARARGS, nullptr},
                                    {"_io_inspect_zip", inspect_zip, METH_VARARGS, nullptr},
                                    {}};
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
