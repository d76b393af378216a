// Values of TorchScript from and to Python's.

#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/graph/script/dtype_number.h"
#include "python/bind_graph/script.h"

namespace cresset::graph::script {

std::string string_of(PyObject* o) {
  Py_ssize_t n = 0;
  const char* s = PyUnicode_AsUTF8AndSize(o, &n);
  if (!s) throw PythonError();
  return std::string(s, static_cast<size_t>(n));
}

namespace {

[[noreturn]] void wrong(PyObject* o, const Type& type) {
  std::string got = Py_TYPE(o)->tp_name;
  throw TypeError("expected a value of type '" + annotation_text(type) + "', got a value of type '" + got + "'");
}
int64_t read_int(PyObject* o) {
  const int64_t v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}

Datum list_from(PyObject* o, const Type& element) {
  const Ref fast = checked(PySequence_Fast(o, "expected a list"));
  std::vector<Datum> out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) out.push_back(to_datum(PySequence_Fast_GET_ITEM(fast.get(), i), element));
  return make_list(element_kind(element), std::move(out));
}
Datum dict_from(PyObject* o, const Type& key, const Type& item) {
  auto d = make_intrusive<dispatch::DictObject>(element_kind(key), element_kind(item));
  const Ref items = checked(PyMapping_Items(o));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); i++) {
    PyObject* pair = PyList_GET_ITEM(items.get(), i);
    d->insert(to_datum(PyTuple_GET_ITEM(pair, 0), key), to_datum(PyTuple_GET_ITEM(pair, 1), item));
  }
  return Datum(intrusive_ptr<dispatch::Object>(std::move(d)));
}

}  // namespace

namespace {

[[noreturn]] void misfit(const Datum& v, const Type& type) {
  std::string why;
  ClassType* const wanted = class_of(type);
  const ScriptObject* const o = object_of(v);
  if (o && wanted && wanted->kind == ClassKind::Interface) implements(*o->cls, *wanted, &why);
  CRESSET_CHECK_TYPE(false, "expected a value of type '", type.name(), "', got ", o ? "one of type '" + o->cls->name + "'" : "another", why.empty() ? "" : ": ",
                     why);
  __builtin_unreachable();
}

// The member of an enum that a file brought along, for one of the class of Python that it was made from; None: it is another enum.
Datum member_of(const Datum& v, const Type& type) {
  const auto* const given = v.object() ? dynamic_cast<const EnumObject*>(v.object()->get()) : nullptr;
  ClassType* const cls = class_of(type);
  if (!given || !cls || cls->kind != ClassKind::Enum || unmangled(cls->name) != unmangled(given->cls->name)) return {};
  for (size_t i = 0; i < cls->members.size(); i++)
    if (cls->members[i] == given->cls->members[given->member]) return Datum(intrusive_ptr<dispatch::Object>(make_intrusive<EnumObject>(cls, i)));
  return {};
}

// The list or dict of the type that an object of Python holds by reference; None: it holds none.
Datum held_by(PyObject* o, const Type& type) {
  const Ref found = checked(PyObject_CallFunctionObjArgs(helper("collection_value"), o, nullptr));
  if (!is_handle(found.get(), HandleKind::Object)) return {};
  const Datum& v = handle(found.get(), HandleKind::Object).value;
  return value_fits(v, type) ? v : Datum();
}

// Whether it is a tensor of one element that is no complex number, which stands for a number as it does in Python's int().
bool is_real_element(PyObject* o) { return capi().is_tensor(o) && capi().tensor_of(o).numel() == 1 && !isComplexType(capi().tensor_of(o).scalar_type()); }

}  // namespace

Datum to_datum(PyObject* o, const Type& type) {
  Datum constant;
  switch (type.kind()) {
    case TypeKind::Any: return to_datum(o);
    case TypeKind::None:
      if (o == Py_None) return {};
      break;
    case TypeKind::Tensor:
      if (capi().is_tensor(o)) return Datum(capi().tensor_of(o));
      if (o == Py_None) return Datum(Tensor());
      break;
    case TypeKind::Int:
      if (PyLong_Check(o)) return Datum(read_int(o));  // True is an int of Python
      if (capi().read_constant(o, constant)) return constant;
      if (is_real_element(o)) return Datum(capi().tensor_of(o).item().toLong());
      if (!PyFloat_Check(o) && !capi().is_tensor(o) && PyIndex_Check(o)) return Datum(read_int(checked(PyNumber_Index(o)).get()));
      break;
    case TypeKind::Float:
      if (PyFloat_Check(o)) return Datum(PyFloat_AS_DOUBLE(o));
      if (PyLong_Check(o)) return Datum(static_cast<double>(read_int(o)));
      if (is_real_element(o)) return Datum(capi().tensor_of(o).item().toDouble());
      break;
    case TypeKind::Bool:
      if (PyBool_Check(o)) return Datum(o == Py_True);
      if (o == Py_None || (Py_TYPE(o)->tp_as_number && Py_TYPE(o)->tp_as_number->nb_bool && (!capi().is_tensor(o) || capi().tensor_of(o).numel() == 1))) {
        const int truth = PyObject_IsTrue(o);
        if (truth < 0) throw PythonError();
        return Datum(truth == 1);
      }
      break;
    case TypeKind::Complex:
      if (capi().is_tensor(o) && capi().tensor_of(o).numel() == 1) return Datum(capi().tensor_of(o).item().toComplexDouble());
      if (PyComplex_Check(o) || PyFloat_Check(o) || PyLong_Check(o)) return Datum(complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
      break;
    case TypeKind::Number:
      if (PyBool_Check(o) || PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o)) return to_datum(o);
      break;
    case TypeKind::String:
      if (PyUnicode_Check(o)) return Datum(string_of(o));
      break;
    case TypeKind::Device:
      if (PyUnicode_Check(o)) return Datum(Device(string_of(o)));
      [[fallthrough]];
    case TypeKind::DType:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
    case TypeKind::Generator:
      if (capi().read_constant(o, constant)) return constant;
      break;
    case TypeKind::Optional: return o == Py_None ? Datum() : to_datum(o, type.elements()[0]);
    case TypeKind::Union:
      for (const Type& t : type.elements()) {
        // Types that take values of others, too, take their own alone here.
        try {
          if ((t.kind() == TypeKind::Float && !PyFloat_Check(o)) || (t.kind() == TypeKind::Bool && !PyBool_Check(o)) ||
              (t.kind() == TypeKind::Int && PyBool_Check(o)) || (t.kind() == TypeKind::Complex && !PyComplex_Check(o)) ||
              (t.kind() == TypeKind::Tuple && !PyTuple_Check(o)) || (t.kind() == TypeKind::Tensor && o == Py_None))
            continue;
          return to_datum(o, t);
        } catch (const TypeError&) {}
      }
      break;
    case TypeKind::List:
      if (PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o)) return list_from(o, type.elements()[0]);
      if (const Datum held = held_by(o, type); !held.is_none()) return held;
      break;
    case TypeKind::Dict:
      if (PyDict_Check(o)) return dict_from(o, type.elements()[0], type.elements()[1]);
      if (const Datum held = held_by(o, type); !held.is_none()) return held;
      break;
    case TypeKind::Tuple: {
      if (!PyTuple_Check(o) && !PyList_Check(o)) break;
      const Ref items = checked(PySequence_Fast(o, "expected a tuple"));
      if (PySequence_Fast_GET_SIZE(items.get()) != static_cast<Py_ssize_t>(type.elements().size())) break;
      std::vector<Datum> out;
      for (size_t i = 0; i < type.elements().size(); i++)
        out.push_back(to_datum(PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)), type.elements()[i]));
      return Datum(dispatch::TupleObject::create(std::move(out)));
    }
    case TypeKind::Future: {
      const Ref value = checked(PyObject_CallFunctionObjArgs(helper("future_value"), o, nullptr));
      return Datum(intrusive_ptr<dispatch::Object>(make_intrusive<FutureObject>(to_datum(value.get(), type.elements()[0]))));
    }
    case TypeKind::Class: {
      if (is_handle(o, HandleKind::Object)) {
        const Datum& v = handle(o, HandleKind::Object).value;
        if (!value_fits(v, type)) misfit(v, type);
        return v;
      }
      const Ref found = checked(PyObject_CallFunctionObjArgs(helper("object_value"), o, text(type.name()).get(), nullptr));
      if (is_handle(found.get(), HandleKind::Object)) {
        const Datum& v = handle(found.get(), HandleKind::Object).value;
        if (value_fits(v, type)) return v;
        if (const Datum same = member_of(v, type); !same.is_none()) return same;
      }
      break;
    }
  }
  wrong(o, type);
}

Datum to_datum(PyObject* o) {
  Datum constant;
  if (o == Py_None) return {};
  if (capi().is_tensor(o)) return Datum(capi().tensor_of(o));
  if (PyBool_Check(o)) return Datum(o == Py_True);
  if (PyLong_Check(o)) return Datum(read_int(o));
  if (PyFloat_Check(o)) return Datum(PyFloat_AS_DOUBLE(o));
  if (PyComplex_Check(o)) return Datum(complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  if (PyUnicode_Check(o)) return Datum(string_of(o));
  if (is_handle(o, HandleKind::Object)) return handle(o, HandleKind::Object).value;
  if (capi().read_constant(o, constant)) return constant;
  return to_datum(o, type_of_python(o));
}

Type type_of_python(PyObject* o) {
  if (o == Py_None) return TypeKind::None;
  if (capi().is_tensor(o)) return TypeKind::Tensor;
  if (PyBool_Check(o)) return TypeKind::Bool;
  if (PyLong_Check(o)) return TypeKind::Int;
  if (PyFloat_Check(o)) return TypeKind::Float;
  if (PyComplex_Check(o)) return TypeKind::Complex;
  if (PyUnicode_Check(o)) return TypeKind::String;
  Datum constant;
  if (capi().read_constant(o, constant)) return Type::of(constant);
  const auto all = [](PyObject* sequence) {
    std::optional<Type> out;
    const Ref fast = checked(PySequence_Fast(sequence, "expected a sequence"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) {
      const Type t = type_of_python(PySequence_Fast_GET_ITEM(fast.get(), i));
      const auto u = out ? unify(*out, t) : std::optional<Type>(t);
      if (!u) throw TypeError("expected elements of one type, got " + annotation_text(*out) + " and " + annotation_text(t));
      out = u;
    }
    return out;
  };
  if (PyList_Check(o)) return Type::list(all(o).value_or(TypeKind::Tensor));
  if (PyDict_Check(o)) {
    const Ref keys = checked(PyMapping_Keys(o)), values = checked(PyMapping_Values(o));
    const auto key = all(keys.get()), item = all(values.get());
    if (!key) return Type::dict(TypeKind::String, TypeKind::Tensor);
    return Type::dict(*key, *item);
  }
  if (PyTuple_Check(o) && !PyObject_HasAttrString(o, "_fields")) {
    std::vector<Type> parts;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++) parts.push_back(type_of_python(PyTuple_GET_ITEM(o, i)));
    return Type::tuple(std::move(parts));
  }
  const Ref name = checked(PyObject_CallFunctionObjArgs(helper("type_of_object"), o, nullptr));
  if (name.get() == Py_None) throw TypeError(str("a value of type '", Py_TYPE(o)->tp_name, "' is no value of TorchScript"));
  return type_of_text(string_of(name.get()), nullptr);
}

namespace {

// Sets the future to what the call gave. With the interpreter's lock.
void set_future(PyObject* future, const Datum& call, const Type& type) {
  auto& f = static_cast<FutureObject&>(**call.object());
  Ref done;
  try {
    done = checked(PyObject_CallMethod(future, "set_result", "O", to_python(f.wait(), type).get()));
  } catch (...) {
    set_script_error();
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    PyErr_NormalizeException(&kind, &value, &traceback);
    done = Ref(PyObject_CallMethod(future, "set_exception", "O", value));
    const Ref kept[] = {Ref(kind), Ref(value), Ref(traceback)};
  }
  if (!done) PyErr_Clear();
}
Ref python_future(const Datum& call, const Type& type) {
  Ref future = checked(PyObject_CallNoArgs(helper("new_future")));
  auto held = std::make_shared<Held>(future.get());
  // The function may be called at once, or by a thread that waits for the interpreter's lock.
  const NoGil released;
  auto& f = static_cast<FutureObject&>(**call.object());
  if (f.is_delayed()) f.work();
  f.when_done([call, type, held] {
    const Gil gil;
    set_future(held->object, call, type);
  });
  return future;
}

}  // namespace

Ref to_python(const Datum& v, const Type& type) {
  if (v.is_none()) return Ref::share(Py_None);
  if (v.is_tensor()) return v.to_tensor().defined() ? checked(capi().wrap_tensor(v.to_tensor())) : Ref::share(Py_None);
  if (v.isBool()) return Ref::share(v.toBool() ? Py_True : Py_False);
  if (v.isInt()) return checked(PyLong_FromLongLong(v.toInt()));
  if (v.isDouble()) return checked(PyFloat_FromDouble(v.toDouble()));
  if (v.isComplexDouble()) return checked(PyComplex_FromDoubles(v.toComplexDouble().real(), v.toComplexDouble().imag()));
  if (v.isString()) return text(v.to_string());
  // Ints in TorchScript.
  if (v.is<ScalarType>()) return checked(PyLong_FromLongLong(number_of(v.to_dtype())));
  if (v.is<Layout>()) return checked(PyLong_FromLong(number_of(v.to_layout())));
  const Type& t = type.kind() == TypeKind::Optional ? type.elements()[0] : type;
  const auto element = [&](size_t i) {
    return t.kind() == TypeKind::List || t.kind() == TypeKind::Dict || t.kind() == TypeKind::Tuple ? t.elements()[i] : Type();
  };
  if (v.isTuple()) {
    const auto& e = v.toTupleRef().elements();
    Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(e.size())));
    for (size_t i = 0; i < e.size(); i++)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                       to_python(e[i], t.kind() == TypeKind::Tuple && i < t.elements().size() ? element(i) : Type()).release());
    if (t.kind() == TypeKind::Tuple && !t.fields().empty()) {
      Ref fields = checked(PyTuple_New(static_cast<Py_ssize_t>(t.fields().size())));
      for (size_t i = 0; i < t.fields().size(); i++) PyTuple_SET_ITEM(fields.get(), static_cast<Py_ssize_t>(i), text(t.fields()[i]).release());
      return checked(PyObject_CallFunctionObjArgs(helper("named_tuple"), text(t.name()).get(), fields.get(), tuple.get(), nullptr));
    }
    return tuple;
  }
  if (v.isGenericDict()) {
    Ref out = checked(PyDict_New());
    const bool typed = t.kind() == TypeKind::Dict;
    for (const auto& e : dict_of(v).entries)
      if (PyDict_SetItem(out.get(), to_python(e.key, typed ? element(0) : Type()).get(), to_python(e.value, typed ? element(1) : Type()).get()) < 0)
        throw PythonError();
    return out;
  }
  if (v.isList()) {
    const auto list = v.toListVector();
    Ref out = checked(PyList_New(static_cast<Py_ssize_t>(list.size())));
    for (size_t i = 0; i < list.size(); i++)
      PyList_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), to_python(list[i], t.kind() == TypeKind::List ? element(0) : Type()).release());
    return out;
  }
  if (v.object()) {
    if (object_of(v)) return checked(PyObject_CallFunctionObjArgs(helper("wrap_object"), wrap_object(v).get(), nullptr));
    if (const auto* e = dynamic_cast<const EnumObject*>(v.object()->get()))
      return checked(PyObject_CallFunctionObjArgs(helper("enum_member"), wrap(e->cls).get(), text(e->name()).get(), nullptr));
    if (dynamic_cast<FutureObject*>(v.object()->get())) return python_future(v, t.kind() == TypeKind::Future ? t.elements()[0] : Type());
  }
  return checked(capi().wrap_constant(v));
}

}  // namespace cresset::graph::script
