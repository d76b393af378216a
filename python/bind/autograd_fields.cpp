// A node's saved values as its attributes: `_saved_x`, and `_raw_saved_x` of tensors, which takes hooks.

#include <cstring>

#include "cresset/autograd/saved/saved_fields.h"
#include "python/bind/autograd.h"

namespace cresset::python {

using autograd::Node;
using autograd::SavedVariable;

namespace {

PyTypeObject* saved_type;

// A tensor that a node keeps, or the context of a custom function.
struct SavedObject {
  PyObject_HEAD intrusive_ptr<Node> node;
  SavedVariable* saved;
  PyObject* context;
  size_t number;
};
SavedObject& saved_of(PyObject* o) { return *reinterpret_cast<SavedObject*>(o); }

PyObject* new_saved(intrusive_ptr<Node> node, SavedVariable* saved, PyObject* context, size_t number) {
  PyObject* o = checked(saved_type->tp_alloc(saved_type, 0)).release();
  SavedObject& s = saved_of(o);
  new (&s.node) intrusive_ptr<Node>(std::move(node));
  s.saved = saved;
  s.context = context ? Ref::share(context).release() : nullptr;
  s.number = number;
  return o;
}
void saved_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_CLEAR(saved_of(self).context);
  if (saved_of(self).node) autograd::release_node(std::move(saved_of(self).node));
  saved_of(self).node.~intrusive_ptr<Node>();
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* register_hooks(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"pack_hook", "unpack_hook", nullptr};
  PyObject *pack, *unpack;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:register_hooks", const_cast<char**>(names), &pack, &unpack)) return nullptr;
  return guarded([&]() -> PyObject* {
    CRESSET_CHECK_TYPE(PyCallable_Check(pack) && PyCallable_Check(unpack), "register_hooks: expected two functions, got ", Py_TYPE(pack)->tp_name, " and ",
                       Py_TYPE(unpack)->tp_name);
    SavedObject& s = saved_of(self);
    SavedVariable* const saved = s.context ? saved_of_context(s.context, s.number) : s.saved;
    CRESSET_CHECK(saved, "register_hooks: the saved tensor has already been freed by an earlier backward");
    saved->register_hooks(pack_hook(pack), unpack_hook(unpack));
    Py_RETURN_NONE;
  });
}

PyObject* object_of(const Scalar& s) {
  if (s.isBoolean()) return PyBool_FromLong(s.as<bool>());
  if (s.isFloatingPoint()) return PyFloat_FromDouble(s.as<double>());
  if (s.isComplex()) return PyComplex_FromDoubles(s.as<complex<double>>().real(), s.as<complex<double>>().imag());
  return PyLong_FromLongLong(s.as<int64_t>());
}
template <class List, class F> PyObject* tuple_of_each(List& list, F&& object) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(object(list[i])).release());
  return tuple.release();
}

constexpr const char* kSizes = "_sym_sizes";

class Names final : public autograd::SavedFields {
 public:
  explicit Names(PyObject* list) : list_(list) {}
  void field(const char* name, SavedVariable&) override { add("_saved_", name), add("_raw_saved_", name); }
  void field(const char* name, std::vector<SavedVariable>&) override { add("_saved_", name), add("_raw_saved_", name); }
  void field(const char* name, const Scalar&) override { add("_saved_", name); }
  void field(const char* name, IntArrayRef) override { add("_saved_", name); }
  void field(const char* name, ArrayRef<double>) override { add("_saved_", name); }
  void field(const char* name, const std::string&) override { add("_saved_", name); }
  void none(const char* name) override { add("_saved_", name); }
  void geometry(const char* name, const autograd::SavedGeometry&) override { add("_saved_", name, kSizes); }

 private:
  void add(const char* prefix, const char* name, const char* suffix = "") {
    const Ref text = checked(PyUnicode_FromFormat("%s%s%s", prefix, name, suffix));
    if (PyList_Append(list_, text.get()) < 0) throw PythonError();
  }
  PyObject* list_;
};

class Find final : public autograd::SavedFields {
 public:
  Find(const intrusive_ptr<Node>& node, const char* name, bool raw) : node_(node), name_(name), raw_(raw) {}
  Ref found;

  void field(const char* name, SavedVariable& tensor) override {
    if (is(name)) give([&] { return raw_ ? new_saved(node_, &tensor, nullptr, 0) : wrap(tensor.unpack(node_)); });
  }
  void field(const char* name, std::vector<SavedVariable>& tensors) override {
    if (is(name))
      give([&] { return tuple_of_each(tensors, [&](SavedVariable& t) { return raw_ ? new_saved(node_, &t, nullptr, 0) : wrap(t.unpack(node_)); }); });
  }
  void field(const char* name, const Scalar& number) override {
    plain(name, [&] { return object_of(number); });
  }
  void field(const char* name, IntArrayRef numbers) override {
    plain(name, [&] { return tuple_of_each(numbers, [](int64_t n) { return PyLong_FromLongLong(n); }); });
  }
  void field(const char* name, ArrayRef<double> numbers) override {
    plain(name, [&] { return tuple_of_each(numbers, [](double n) { return PyFloat_FromDouble(n); }); });
  }
  void field(const char* name, const std::string& text) override {
    plain(name, [&] { return PyUnicode_FromString(text.c_str()); });
  }
  void none(const char* name) override {
    plain(name, [] { return Ref::share(Py_None).release(); });
  }
  void geometry(const char* name, const autograd::SavedGeometry& tensor) override {
    const size_t n = strlen(name);
    if (raw_ || strncmp(name_, name, n) || strcmp(name_ + n, kSizes)) return;
    const IntArrayRef sizes = tensor.sizes();
    give([&] { return tuple_of_each(sizes, [](int64_t size) { return PyLong_FromLongLong(size); }); });
  }

 private:
  bool is(const char* name) const { return !strcmp(name_, name); }
  template <class F> void give(F&& object) { found = checked(object()); }
  template <class F> void plain(const char* name, F&& object) {
    if (!raw_ && is(name)) give(object);
  }

  const intrusive_ptr<Node>& node_;
  const char* name_;
  bool raw_;
};

}  // namespace

PyObject* wrap_saved_of_context(PyObject* context, size_t i) { return new_saved(nullptr, nullptr, context, i); }

PyObject* saved_field(const intrusive_ptr<Node>& node, const char* name) {
  const bool raw = !strncmp(name, "_raw", 4);
  Find find(node, name + strlen(raw ? "_raw_saved_" : "_saved_"), raw);
  if (auto* of_operator = dynamic_cast<autograd::TraceableFunction*>(node.get())) of_operator->visit_saved(find);
  return find.found.release();
}

void add_saved_names(Node& node, PyObject* list) {
  Names names(list);
  if (auto* of_operator = dynamic_cast<autograd::TraceableFunction*>(&node)) of_operator->visit_saved(names);
}

bool add_autograd_fields(PyObject* module) {
  static PyMethodDef methods[] = {{"register_hooks", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(register_hooks)), METH_VARARGS | METH_KEYWORDS,
                                   "Sends this one tensor through a pair of hooks, as saved_tensors_hooks does."},
                                  {}};
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(saved_dealloc)}, {Py_tp_methods, methods}, {}};
  PyType_Spec spec{"torch._C._autograd.SavedTensor", sizeof(SavedObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  saved_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return saved_type && !PyModule_AddObjectRef(module, "_SavedTensor", reinterpret_cast<PyObject*>(saved_type));
}

}  // namespace cresset::python
