// Operators from outside the tree: those that shared libraries define, and kernels for them that are written in Python.

#include <map>
#include <memory>

#include "cresset/dispatch/dispatcher.h"
#include "cresset/dispatch/registration.h"
#include "python/bind/autograd.h"
#include "python/bind/modes/boxed.h"

namespace cresset::python {

namespace {

using dispatch::OpEntry;
using dispatch::Stack;

// _outside_ops(namespace): tuples (name, overload, entry) of the operators that libraries define.
PyObject* outside_ops(PyObject*, PyObject* ns) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(ns);
    if (!text) throw PythonError();
    Ref list = checked(PyList_New(0));
    for (const OpEntry* op : dispatch::all_ops()) {
      if (op->signature || !*op->schema) continue;
      const dispatch::FunctionSchema& schema = op->function_schema();
      if (schema.ns != text) continue;
      const Ref row = checked(Py_BuildValue("(sss)", schema.name.c_str(), schema.overload.c_str(), op->name));
      if (PyList_Append(list.get(), row.get())) throw PythonError();
    }
    return list.release();
  });
}

// A function of a library, until that is gone: calls that are under way may hold the cell longer.
using Cell = std::shared_ptr<Shared>;
struct Registered {
  std::unique_ptr<dispatch::Library> library;
  Cell function;
};

// Calls the Python function with what is on the stack, behind the operator's name where it serves several. An error of it reaches the caller as it is.
void call_python(const Cell& cell, const OpEntry& op, Stack& stack, bool is_named) {
  with_gil([&] {
    const Shared function = *cell;
    CRESSET_CHECK(function, op.name, ": the library whose function this call found is gone");
    const size_t n = op.function_schema().arguments.size();
    Stack own(std::make_move_iterator(stack.end() - static_cast<std::ptrdiff_t>(n)), std::make_move_iterator(stack.end()));
    stack.resize(stack.size() - n);
    const PythonCall call = to_python(op, own);
    const Ref name = is_named ? checked(Py_BuildValue("(s)", op.name)) : Ref();
    const Ref args = is_named ? checked(PySequence_Concat(name.get(), call.args.get())) : Ref();
    const Ref result = checked(PyObject_Call(function.get(), is_named ? args.get() : call.args.get(), call.kwargs.get()));
    results_from_python(op, result.get(), own);
    for (dispatch::Value& v : own) stack.push_back(std::move(v));
  });
}

std::map<int64_t, Registered>& registrations() {
  static auto& all = *new std::map<int64_t, Registered>;
  return all;
}

// The number by which _unimplement takes a registration back.
PyObject* kept(std::unique_ptr<dispatch::Library> library, Cell function) {
  static int64_t next = 0;
  registrations().emplace(++next, Registered{std::move(library), std::move(function)});
  return PyLong_FromLongLong(next);
}

// _implement(entry, key, function): the function as the kernel for a key, or for None that there is none; gives the number that _unimplement takes back.
PyObject* implement(PyObject*, PyObject* args) {
  return guarded([&] {
    const char *entry, *key;
    PyObject* function;
    if (!PyArg_ParseTuple(args, "ssO", &entry, &key, &function)) throw PythonError();
    const dispatch::FunctionSchema& schema = dispatch::find_op(entry).schema();
    auto library = std::make_unique<dispatch::Library>(dispatch::Library::implementations, schema.ns, std::string(key), "torch.library", 0);
    const std::string name = schema.overload.empty() ? schema.name : schema.name + "." + schema.overload;
    const Cell cell = std::make_shared<Shared>(shared(function));
    auto kernel = function == Py_None
                      ? dispatch::CppFunction::makeFallthrough()
                      : dispatch::CppFunction(dispatch::BoxedFn([cell](const OpEntry& op, Stack& stack) { call_python(cell, op, stack, false); }));
    kernel.kernel.replaces = true;
    library->impl(name, std::move(kernel));
    return kept(std::move(library), cell);
  });
}

// _implement_fallback(key, function): the function, which takes the name of the operator first, for all operators without a kernel for the key.
PyObject* implement_fallback(PyObject*, PyObject* args) {
  return guarded([&] {
    const char* key;
    PyObject* function;
    if (!PyArg_ParseTuple(args, "sO", &key, &function)) throw PythonError();
    auto library = std::make_unique<dispatch::Library>(dispatch::Library::implementations, "_", std::string(key), "torch.library", 0);
    const Cell cell = std::make_shared<Shared>(shared(function));
    library->fallback(dispatch::BoxedFn([cell](const OpEntry& op, Stack& stack) { call_python(cell, op, stack, true); }));
    return kept(std::move(library), cell);
  });
}
PyObject* unimplement(PyObject*, PyObject* number) {
  auto found = registrations().extract(PyLong_AsLongLong(number));
  if (found.empty()) Py_RETURN_NONE;
  found.mapped().library.reset();
  found.mapped().function->reset();
  Py_RETURN_NONE;
}

// _op_tags(entry): the numbers of the tags that a library gave its operator.
PyObject* op_tags(PyObject*, PyObject* entry) {
  return guarded([&] {
    const char* name = PyUnicode_AsUTF8(entry);
    if (!name) throw PythonError();
    Ref list = checked(PyList_New(0));
    for (const dispatch::Tag tag : dispatch::OperatorHandle(dispatch::find_op(name)).getTags())
      if (PyList_Append(list.get(), checked(PyLong_FromLong(static_cast<long>(tag))).get())) throw PythonError();
    return list.release();
  });
}

// _call_below_autograd(function, args, kwargs): the call past the layer of gradients, and past kernels that are registered for it.
PyObject* call_below_autograd(PyObject*, PyObject* given) {
  PyObject *function, *args, *kwargs;
  if (!PyArg_ParseTuple(given, "OO!O!:_call_below_autograd", &function, &PyTuple_Type, &args, &PyDict_Type, &kwargs)) return nullptr;
  const ExcludeLayers below(kAutogradLayer);
  return PyObject_Call(function, args, kwargs);
}

// _canonical_schema(text): the schema as PyTorch writes it. ValueError for text that is none, with the place marked.
PyObject* canonical_schema(PyObject*, PyObject* schema) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(schema);
    if (!text) throw PythonError();
    return PyUnicode_FromString(dispatch::schema_text(dispatch::parse_detailed(text)).c_str());
  });
}

// _read_schema(text, namespace): the schema as PyTorch writes it, in the namespace where it names none, the operator's name and overload, and whether all
// its arguments are of types that operators in Python take. ValueError for text that is none, with the place marked.
PyObject* read_schema(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2) return PyErr_Format(PyExc_TypeError, "_read_schema: expected 2 arguments, got %zd", n);
  return guarded([&]() -> PyObject* {
    const char *text = PyUnicode_AsUTF8(args[0]), *home = PyUnicode_AsUTF8(args[1]);
    if (!text || !home) throw PythonError();
    const auto schema = dispatch::parse_detailed(text);
    std::string shown = dispatch::schema_text(schema);
    const std::string_view written(text);
    if (written.substr(0, written.find('(')).find("::") == std::string_view::npos) shown.replace(0, shown.find("::"), home);
    bool plain = true;
    for (const auto& argument : schema.parts.arguments) plain = plain && !dispatch::is_text_type(argument.type);
    return Py_BuildValue("(sssO)", shown.c_str(), schema.parts.name.c_str(), schema.parts.overload.c_str(), plain ? Py_True : Py_False);
  });
}

// _load_library(path): opens a library of operators. Errors of its registrations are raised here, and nothing of it stays registered.
PyObject* load_library(PyObject*, PyObject* path) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(path);
    if (!text) throw PythonError();
    dispatch::load_library(text);
    Py_RETURN_NONE;
  });
}

// The device that programs define: its name, and another one for it.
PyObject* private_backend_name(PyObject*, PyObject*) {
  return guarded([] { return PyUnicode_FromString(get_privateuse1_backend().c_str()); });
}
PyObject* rename_private_backend(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw PythonError();
    register_privateuse1_backend(text);
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {{"_private_backend_name", private_backend_name, METH_NOARGS, nullptr},
                           {"_rename_private_backend", rename_private_backend, METH_O, nullptr},
                           {"_outside_ops", outside_ops, METH_O, nullptr},
                           {"_implement", implement, METH_VARARGS, nullptr},
                           {"_implement_fallback", implement_fallback, METH_VARARGS, nullptr},
                           {"_unimplement", unimplement, METH_O, nullptr},
                           {"_op_tags", op_tags, METH_O, nullptr},
                           {"_call_below_autograd", call_below_autograd, METH_VARARGS, nullptr},
                           {"_canonical_schema", canonical_schema, METH_O, nullptr},
                           {"_read_schema", reinterpret_cast<PyCFunction>(read_schema), METH_FASTCALL, nullptr},
                           {"_load_library", load_library, METH_O, nullptr},
                           {}};

}  // namespace

bool add_outside_ops(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
