// Calls of operators by name: the overload that fits the arguments is found from the schemas, the call is boxed.

#include <algorithm>
#include <string>
#include <unordered_set>

#include "python/bind/bind.h"

namespace cresset::python {

PyTypeObject* op_type;

namespace {

using dispatch::Argument;
using dispatch::FunctionSchema;
using dispatch::OpEntry;
using dispatch::Stack;
using dispatch::Value;

struct Overload {
  const OpEntry* entry;
  const FunctionSchema* schema;
  size_t positional = 0;      // how many arguments may be given without a name
  size_t outs = 0;            // written keyword arguments
  PyTypeObject* result_type = nullptr;  // of several named results

  const Argument& argument(size_t i) const { return schema->arguments[i]; }
};

struct OpData {
  std::string name;
  bool numbers_as_tensors = false;
  bool factory = false;  // makes tensors of a dtype that may be named
  std::vector<Overload> overloads;
};

struct OpObject {
  PyObject_HEAD
  OpData* data;
};

// PyTorch takes Python numbers for tensors in these operators only.
bool takes_numbers(std::string name) {
  static const std::unordered_set<std::string> names = {"add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide",
                                                        "floor_divide", "copy"};
  if (!name.empty() && name.back() == '_') name.pop_back();
  return names.count(name) > 0;
}

int index_of(const FunctionSchema& schema, std::string_view name) {
  const auto found = std::find_if(schema.arguments.begin(), schema.arguments.end(), [&](const Argument& a) { return a.name == name; });
  return found == schema.arguments.end() ? -1 : static_cast<int>(found - schema.arguments.begin());
}

// What users may call an argument: PyTorch's documented name and NumPy's.
int argument_named(const FunctionSchema& schema, const std::string& given) {
  const int exact = index_of(schema, given);
  if (exact >= 0 && given != "self") return exact;
  if (given == "input" || given == "x" || given == "a" || given == "x1") return index_of(schema, "self");
  if (given == "axis") return index_of(schema, "dim");
  if (given == "keepdims") return index_of(schema, "keepdim");
  if (given == "x2") return index_of(schema, "other");
  return exact;
}

// One attempt to fit arguments to an overload. `why` says what does not fit.
struct Fit {
  Stack stack;
  std::vector<PyObject*> written;
  bool requires_grad = false;
  std::optional<ScalarType> out_dtype;  // asked for beside `out`
  std::string why;
};

bool is_factory(const FunctionSchema& schema) { return index_of(schema, "dtype") >= 0 && index_of(schema, "pin_memory") >= 0; }

bool fit(const OpData& op, const Overload& o, PyObject* self, PyObject* args, PyObject* kwargs, bool relaxed, Fit& result) {
  const FunctionSchema& schema = *o.schema;
  const size_t n = schema.arguments.size();
  const size_t first = self ? 1 : 0;
  const size_t given = static_cast<size_t>(PyTuple_GET_SIZE(args));
  std::vector<PyObject*> objects(n, nullptr);
  Ref varargs;
  // The positions that arguments fill in order: all, or, for a method, all but that of `self`.
  const int own = self ? std::max(index_of(schema, "self"), 0) : -1;
  if (self && n == 0) return false;
  if (self) objects[static_cast<size_t>(own)] = self;
  auto place = [&](size_t i) { return own >= 0 && i < static_cast<size_t>(own) ? i : i + first; };
  if (o.positional == first + 1 && given >= 1 && o.argument(place(0)).type.list && o.argument(place(0)).type.kind == dispatch::TypeKind::Int &&
      !PyTuple_Check(PyTuple_GET_ITEM(args, 0)) && !PyList_Check(PyTuple_GET_ITEM(args, 0)) && PyTuple_GET_ITEM(args, 0) != Py_None) {
    objects[place(0)] = args;
  } else {
    if (first + given > o.positional) {
      result.why = str("takes ", o.positional - std::min(first, o.positional), " positional arguments, got ", given);
      return false;
    }
    for (size_t i = 0; i < given; i++) objects[place(i)] = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
  }
  PyObject *key, *value, *out = nullptr;
  Py_ssize_t at = 0;
  while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
    const std::string name = PyUnicode_AsUTF8(key);
    if (name == "out" && !(o.outs == 1 && index_of(schema, "out") >= 0)) {
      if (value == Py_None) continue;
      out = value;
      continue;
    }
    const int index = argument_named(schema, name);
    if (index < 0 && op.factory && name == "requires_grad") {
      result.requires_grad = PyObject_IsTrue(value) == 1;
      continue;
    }
    if (index < 0 && op.factory && o.outs == 1 && (name == "dtype" || name == "layout" || name == "device" || name == "pin_memory")) {
      if (name == "dtype" && value != Py_None) result.out_dtype = to_dtype(value);
      continue;
    }
    if (index < 0) {
      result.why = "has no argument `" + name + "`";
      return false;
    }
    if (objects[static_cast<size_t>(index)]) {
      result.why = "got `" + name + "` twice";
      return false;
    }
    objects[static_cast<size_t>(index)] = value;
  }
  if ((out != nullptr) != (o.outs > 1)) {
    result.why = out ? "has no argument `out`" : "expects `out`";
    return false;
  }
  if (out) {
    if (!PySequence_Check(out) || PySequence_Size(out) != static_cast<Py_ssize_t>(o.outs)) {
      PyErr_Clear();
      result.why = str("expects a tuple of ", o.outs, " tensors as `out`");
      return false;
    }
    Py_ssize_t next = 0;
    for (size_t i = 0; i < n; i++)
      if (schema.arguments[i].writes && schema.arguments[i].keyword_only) {
        const Ref item = checked(PySequence_GetItem(out, next++));
        objects[i] = item.get();  // the sequence keeps it alive
      }
  }
  result.stack.reserve(n);
  for (size_t i = 0; i < n; i++) {
    const Argument& a = schema.arguments[i];
    if (!objects[i]) {
      if (!a.has_default) {
        result.why = "misses argument `" + a.name + "`";
        return false;
      }
      result.stack.push_back(a.default_value);
      continue;
    }
    const bool numbers = op.numbers_as_tensors && !a.writes;
    Value v;
    if (!read_value(objects[i], a.type, relaxed, numbers, v)) {
      result.why = str("argument `", a.name, "`: expected ", dispatch::type_name(a.type), ", got ", Py_TYPE(objects[i])->tp_name);
      return false;
    }
    if (a.type.list && a.type.list_size > 1 && v.is<std::vector<int64_t>>() && v.to_int_list().size() == 1)
      v = std::vector<int64_t>(static_cast<size_t>(a.type.list_size), v.to_int_list()[0]);
    if (a.writes) result.written.push_back(objects[i]);
    result.stack.push_back(std::move(v));
  }
  return true;
}

PyObject* results_of(const Overload& o, Fit& fitted) {
  const auto& returns = o.schema->returns;
  const size_t base = fitted.stack.size() - std::min(fitted.stack.size(), returns.size());
  if (returns.empty()) Py_RETURN_NONE;
  size_t next_written = 0;
  auto one = [&](size_t i) -> PyObject* {
    if (returns[i].writes && next_written < fitted.written.size()) return Ref::share(fitted.written[next_written++]).release();
    Value& v = fitted.stack[base + i];
    if (fitted.requires_grad && v.is_tensor()) v.to_tensor().requires_grad_(true);
    return wrap(v);
  };
  if (returns.size() == 1) return one(0);
  Ref tuple = checked(o.result_type ? PyStructSequence_New(o.result_type) : PyTuple_New(static_cast<Py_ssize_t>(returns.size())));
  for (size_t i = 0; i < returns.size(); i++) {
    if (o.result_type) PyStructSequence_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), one(i));
    else PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), one(i));
  }
  return tuple.release();
}

PyObject* call(OpData& op, PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    std::string reasons;
    for (const bool relaxed : {false, true}) {
      for (const Overload& o : op.overloads) {
        Fit fitted;
        if (fit(op, o, self, args, kwargs, relaxed, fitted)) {
          if (fitted.out_dtype) {
            const ScalarType got = tensor_of(fitted.written[0]).scalar_type();
            CRESSET_CHECK(got == *fitted.out_dtype, op.name, ": dtype ", *fitted.out_dtype, " does not match that of `out`, ", got);
          }
          dispatch::call_boxed(*o.entry, fitted.stack);
          return results_of(o, fitted);
        }
        if (relaxed) reasons += std::string("\n  ") + o.entry->schema + ": " + fitted.why;
      }
    }
    CRESSET_CHECK_TYPE(false, op.name, ": the arguments fit no form of it", reasons);
    return nullptr;
  });
}

PyObject* op_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return call(*reinterpret_cast<OpObject*>(self)->data, nullptr, args, kwargs);
}

// As a method: the tensor is the first argument, and the rest may be a list of integers written out.
struct MethodObject {
  PyObject_HEAD
  OpData* data;
  PyObject* self;
};
PyTypeObject* method_type;
PyObject* method_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  auto* m = reinterpret_cast<MethodObject*>(self);
  return call(*m->data, m->self, args, kwargs);
}
void method_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_DECREF(reinterpret_cast<MethodObject*>(self)->self);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* op_bind(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Ref::share(self).release();
  auto* m = PyObject_New(MethodObject, method_type);
  m->data = reinterpret_cast<OpObject*>(self)->data;
  m->self = Ref::share(instance).release();
  return reinterpret_cast<PyObject*>(m);
}
PyObject* op_name(PyObject* self, void*) { return PyUnicode_FromString(reinterpret_cast<OpObject*>(self)->data->name.c_str()); }
PyObject* op_repr(PyObject* self) { return PyUnicode_FromFormat("<operator %s>", reinterpret_cast<OpObject*>(self)->data->name.c_str()); }
PyGetSetDef op_properties[] = {{"__name__", op_name, nullptr, nullptr, nullptr}, {}};
PyType_Slot op_slots[] = {{Py_tp_call, reinterpret_cast<void*>(op_call)},
                          {Py_tp_descr_get, reinterpret_cast<void*>(op_bind)},
                          {Py_tp_repr, reinterpret_cast<void*>(op_repr)},
                          {Py_tp_getset, op_properties},
                          {}};
PyType_Slot method_slots[] = {{Py_tp_call, reinterpret_cast<void*>(method_call)}, {Py_tp_dealloc, reinterpret_cast<void*>(method_dealloc)}, {}};

// A tuple type with fields, for results that have names.
PyTypeObject* named_results(const FunctionSchema& schema) {
  if (schema.returns.size() < 2 || schema.returns[0].name.empty()) return nullptr;
  auto* fields = new PyStructSequence_Field[schema.returns.size() + 1]();  // the type refers to them for good
  auto* names = new std::vector<std::string>();
  for (const Argument& r : schema.returns) names->push_back(r.name);
  for (size_t i = 0; i < names->size(); i++) fields[i] = {(*names)[i].c_str(), nullptr};
  auto* title = new std::string("torch.return_types." + schema.name);
  PyStructSequence_Desc desc{title->c_str(), nullptr, fields, static_cast<int>(names->size())};
  return PyStructSequence_NewType(&desc);
}

// make_op(name, [entry names]): a callable over these overloads, tried in this order.
PyObject* make_op(PyObject*, PyObject* args) {
  const char* name;
  PyObject* entries;
  if (!PyArg_ParseTuple(args, "sO!", &name, &PyList_Type, &entries)) return nullptr;
  return guarded([&] {
    auto* data = new OpData{name, takes_numbers(name), false, {}};  // operators live as long as the process
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(entries); i++) {
      const OpEntry& entry = dispatch::find_op(PyUnicode_AsUTF8(PyList_GET_ITEM(entries, i))).entry();
      Overload o{&entry, &entry.function_schema()};
      for (const Argument& a : o.schema->arguments) {
        o.positional += !a.keyword_only;
        o.outs += a.keyword_only && a.writes;
      }
      o.result_type = named_results(*o.schema);
      data->factory = data->factory || is_factory(*o.schema);
      data->overloads.push_back(o);
    }
    auto* op = PyObject_New(OpObject, op_type);
    op->data = data;
    return reinterpret_cast<PyObject*>(op);
  });
}
std::optional<Device> g_default_device;
PyObject* set_default_device(PyObject*, PyObject* device) {
  return guarded([&]() -> PyObject* {
    if (device == Py_None) g_default_device.reset();
    else g_default_device = to_device(device);
    Py_RETURN_NONE;
  });
}
PyMethodDef functions[] = {
    {"make_op", make_op, METH_VARARGS, nullptr}, {"_set_default_device", set_default_device, METH_O, nullptr}, {}};

}  // namespace

bool add_op(PyObject* module) {
  PyType_Spec op_spec{"cresset.Op", sizeof(OpObject), 0, Py_TPFLAGS_DEFAULT, op_slots};
  PyType_Spec method_spec{"cresset.OpMethod", sizeof(MethodObject), 0, Py_TPFLAGS_DEFAULT, method_slots};
  op_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&op_spec));
  method_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&method_spec));
  return op_type && method_type && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
