// Programs compiled ahead of time for Python: packages are written, loaded and run.

#include "cresset/graph/codegen/package.h"

#include "python/bind/modes/values_api.h"
#include "python/bind_compile/region.h"

namespace cresset::compile {

namespace {

using graph::CompiledProgram;
using python::present_list, python::present, python::PythonError, python::text_of, python::without_interpreter;

PyTypeObject* package_type = nullptr;
const python::ValuesApi* api = nullptr;

struct PackageObject {
  PyObject_HEAD CompiledProgram* program;
};
const CompiledProgram& program_of(PyObject* self) { return *reinterpret_cast<PackageObject*>(self)->program; }

template <class F> PyObject* guarded(F&& body) { return python::or_error(body, api->set_error); }
PyObject* text(const std::string& s) { return present(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace")); }

// write_package(program, package, isas, metadata)
PyObject* write_package(PyObject*, PyObject* args) {
  PyObject *program = nullptr, *package = nullptr, *isas = nullptr, *metadata = nullptr;
  if (!PyArg_ParseTuple(args, "UUO!O!", &program, &package, &PyList_Type, &isas, &PyDict_Type, &metadata)) return nullptr;
  return guarded([&] {
    graph::PackageOptions options;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(isas); i++) options.isas.push_back(text_of(PyList_GET_ITEM(isas, i)));
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(metadata, &at, &key, &value);) options.metadata[text_of(key)] = text_of(value);
    const std::string from = text_of(program), to = text_of(package);
    without_interpreter([&] { graph::write_package(from, to, options); });
    return Py_NewRef(Py_None);
  });
}

PyObject* load(PyObject*, PyObject* path) {
  return guarded([&] {
    const std::string file = text_of(path);
    auto program = without_interpreter([&] { return std::make_unique<CompiledProgram>(graph::load_compiled(file)); });
    PyObject* o = present(package_type->tp_alloc(package_type, 0));
    reinterpret_cast<PackageObject*>(o)->program = program.release();
    return o;
  });
}
void release_package(PyObject* self) {
  delete reinterpret_cast<PackageObject*>(self)->program;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* run(PyObject* self, PyObject* inputs) {
  return guarded([&] {
    std::vector<dispatch::Value> values = python::values_of(*api, inputs);
    const auto found = without_interpreter([&] { return program_of(self).run(std::move(values)); });
    return present_list(found, [](const auto& v) { return api->to_python(v); });
  });
}
PyObject* trees(PyObject* self, PyObject*) {
  return guarded([&] {
    const graph::ExportedProgram& p = program_of(self).program();
    return present(Py_BuildValue("(NN)", text(p.input_tree()), text(p.output_tree())));
  });
}
PyObject* package_text(PyObject* self, PyObject*) {
  return guarded([&] { return text(program_of(self).program().graph().text()); });
}
PyObject* metadata(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref dict(present(PyDict_New()));
    for (const auto& [key, value] : program_of(self).metadata()) {
      const Ref o(text(value));
      if (PyDict_SetItemString(dict.get(), key.c_str(), o.get()) != 0) throw PythonError();
    }
    return dict.release();
  });
}
PyObject* isas(PyObject* self, PyObject*) {
  return guarded([&] { return present_list(program_of(self).isas(), text); });
}
PyObject* state(PyObject* self, PyObject*) {
  return guarded([&] {
    return present_list(program_of(self).program().state(), [](const auto& item) {
      return present(Py_BuildValue("(sN)", item.first.c_str(), present(api->to_python(dispatch::Value(item.second)))));
    });
  });
}
PyObject* num_kernels(PyObject* self, PyObject*) { return PyLong_FromSize_t(program_of(self).num_kernels()); }

PyMethodDef methods[] = {{"load", load, METH_O | METH_STATIC, "A program from a package."},
                         {"run", run, METH_O, "Runs it on flat inputs."},
                         {"trees", trees, METH_NOARGS, "How arguments and results are nested, as the file has it."},
                         {"text", package_text, METH_NOARGS, "The text of the graph."},
                         {"metadata", metadata, METH_NOARGS, "The user's own."},
                         {"isas", isas, METH_NOARGS, "The instruction sets that there is code for."},
                         {"state", state, METH_NOARGS, "(name, tensor) of the weights, buffers and constants."},
                         {"num_kernels", num_kernels, METH_NOARGS, "How many kernels of several operators it has."},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(release_package)}, {Py_tp_methods, methods}, {0, nullptr}};
PyType_Spec spec = {"_cresset_compile.Package", sizeof(PackageObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
PyMethodDef functions[] = {
    {"write_package", write_package, METH_VARARGS, "write_package(program, package, isas, metadata): compiles a .pt2 file ahead of time."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_package(PyObject* module) {
  api = static_cast<const python::ValuesApi*>(PyCapsule_Import(python::ValuesApi::kName, 0));
  package_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return api && package_type && PyModule_AddFunctions(module, functions) == 0 &&
         PyModule_AddObjectRef(module, "Package", reinterpret_cast<PyObject*>(package_type)) == 0;
}

}  // namespace cresset::compile
