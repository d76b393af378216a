// cresset.testing.FileCheck.

#include "cresset/graph/ir/file_check.h"

#include "python/bind_graph/script.h"

namespace cresset::graph::script {

namespace {

constexpr const char* kCapsule = "cresset.graph.FileCheck";

FileCheck& file_check(PyObject* o) {
  void* p = PyCapsule_GetPointer(o, kCapsule);
  if (!p) throw PythonError();
  return *static_cast<FileCheck*>(p);
}

PyObject* make(PyObject*, PyObject*) {
  return guarded([] {
    auto checks = std::make_unique<FileCheck>();
    Ref capsule = checked(PyCapsule_New(checks.get(), kCapsule, [](PyObject* o) { delete static_cast<FileCheck*>(PyCapsule_GetPointer(o, kCapsule)); }));
    checks.release();
    return capsule;
  });
}

// (checks, name of the method, pattern)
PyObject* add(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    const char *name, *pattern;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "Oss#:FileCheck", &o, &name, &pattern, &length)) throw PythonError();
    static const std::pair<std::string_view, FileCheck* (FileCheck::*)(const std::string&)> kMethods[] = {
        {"check", &FileCheck::check},
        {"check_not", &FileCheck::check_not},
        {"check_same", &FileCheck::check_same},
        {"check_next", &FileCheck::check_next},
        {"check_dag", &FileCheck::check_dag},
        {"check_source_highlighted", &FileCheck::check_source_highlighted},
        {"check_regex", &FileCheck::check_regex}};
    for (const auto& [method, f] : kMethods) {
      if (name == method) (file_check(o).*f)({pattern, static_cast<size_t>(length)});
    }
    return Ref::share(Py_None);
  });
}

PyObject* add_count(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    const char* pattern;
    Py_ssize_t length, count;
    int exactly;
    if (!PyArg_ParseTuple(args, "Os#np:check_count", &o, &pattern, &length, &count, &exactly)) throw PythonError();
    CRESSET_CHECK(count >= 0, "FileCheck: expected a count of 0 or more, got ", count);
    file_check(o).check_count({pattern, static_cast<size_t>(length)}, static_cast<size_t>(count), exactly);
    return Ref::share(Py_None);
  });
}

// (checks, text of checks or None, text)
PyObject* run(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    const char *checks, *text;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "Ozs#:run", &o, &checks, &text, &length)) throw PythonError();
    const std::string tested(text, static_cast<size_t>(length));
    checks ? file_check(o).run(checks, tested) : file_check(o).run(tested);
    return Ref::share(Py_None);
  });
}

PyMethodDef functions[] = {{"file_check", make, METH_NOARGS, nullptr},
                           {"file_check_add", add, METH_VARARGS, nullptr},
                           {"file_check_count", add_count, METH_VARARGS, nullptr},
                           {"file_check_run", run, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_file_check(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::graph::script
