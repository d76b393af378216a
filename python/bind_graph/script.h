#pragma once
// TorchScript for Python: handles of functions, classes and objects, and values both ways.

#include "cresset/graph/script/sugar.h"
#include "python/bind_graph/bind_graph.h"
#include "python/bind_graph/capi.h"
#include "python/common/reference.h"

namespace cresset::graph::script {

using python::checked, python::Gil, python::NoGil, python::PythonError, python::Ref;

// A Python object that values and functions of C++ hold.
struct Held {
  explicit Held(PyObject* o) : object(o) { Py_INCREF(o); }
  ~Held() {
    if (!Py_IsInitialized()) return;
    const Gil gil;
    Py_DECREF(object);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  PyObject* object;
};

const python::Capi& capi();
// A function of cresset.jit's helper that C++ calls; borrowed.
PyObject* helper(const char* name);
void set_script_error();
template <class F> PyObject* guarded(F&& body) {
  try {
    return body().release();
  } catch (...) { set_script_error(); }
  return nullptr;
}

enum class HandleKind : uint8_t { Unit, Class, Function, Object, Graph, Type };
struct HandleObject {
  PyObject_HEAD HandleKind kind;
  std::shared_ptr<CompilationUnit> unit;  // keeps the others alive
  ClassType* cls;
  Function* function;
  Datum value;
  std::shared_ptr<Graph> graph;
  Type type;
};
bool add_handle_type(PyObject* module);
Ref wrap(std::shared_ptr<CompilationUnit> unit);
Ref wrap(ClassType* cls);
Ref wrap(Function* f);
Ref wrap_object(const Datum& v);
Ref wrap(std::shared_ptr<Graph> graph);
Ref wrap(const Type& type);
HandleObject& handle(PyObject* o, HandleKind kind);
bool is_handle(PyObject* o, HandleKind kind);

// A value of the type, or of the type that Python's value has. Errors: TypeError, what was expected.
Datum to_datum(PyObject* o, const Type& type);
Datum to_datum(PyObject* o);
Ref to_python(const Datum& v, const Type& type = {});
// Of a Python value. Errors: PythonError or TypeError where it has none.
Type type_of_python(PyObject* o);
inline Ref text(const std::string& s) { return checked(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "surrogateescape")); }
std::string string_of(PyObject* o);
SugarPtr sugar_of(PyObject* described);

bool add_script(PyObject* module);
bool add_script_graph(PyObject* module);
bool add_nodes(PyObject* module);
bool add_types(PyObject* module);
// After a graph was changed, or another came to be at its place.
void forget_living();
bool add_file_check(PyObject* module);
bool add_collections(PyObject* module);

// The value of an attribute of the kind "i", "f", "s", "t", "g" (a graph), or a list of them: "is", ...
Datum attribute_value(PyObject* value, const std::string& kind);
Ref attribute_to_python(const Datum& value);
bool add_onnx(PyObject* module);

}  // namespace cresset::graph::script
