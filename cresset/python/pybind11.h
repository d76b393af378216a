#pragma once
// pybind11's casters for Cresset's types, and its errors as Python's. Include it before the module's functions are bound.

#include "cresset/python/api.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "cresset/base/intrusive_ptr.h"
#include "cresset/core/memory/storage.h"
#include "cresset/dispatch/values/dict.h"

PYBIND11_DECLARE_HOLDER_TYPE(T, cresset::intrusive_ptr<T>, true)

namespace cresset::python_api {

inline pybind11::handle stolen(PyObject* o) {
  if (!o) throw pybind11::error_already_set();
  return o;
}
inline const Table& checked_table() {
  try {
    return table();
  } catch (const ErrorIsSet&) { throw pybind11::error_already_set(); }
}

// Errors of Cresset, and those of Python on their way through C++, in the functions of this extension.
inline void translate(std::exception_ptr error) {
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const pybind11::error_already_set&) { throw; } catch (const pybind11::builtin_exception&) {
    throw;
  } catch (const std::exception&) {
    if (!table().set_error(error)) throw;
  }
}
// Registered as the library is opened, which the interpreter does with its lock held.
inline const bool errors_translated = [] {
  if (Py_IsInitialized()) pybind11::register_local_exception_translator(&translate);
  return true;
}();

template <class T, bool (*Table::*To)(PyObject*, T&)> bool load_value(pybind11::handle source, T& out) {
  const bool found = (checked_table().*To)(source.ptr(), out);
  if (!found && PyErr_Occurred()) throw pybind11::error_already_set();
  return found;
}

}  // namespace cresset::python_api

namespace pybind11::detail {

template <> struct type_caster<cresset::Tensor> {
  PYBIND11_TYPE_CASTER(cresset::Tensor, const_name("torch.Tensor"));
  bool load(handle source, bool) {
    const cresset::Tensor* t = cresset::python_api::checked_table().to_tensor(source.ptr());
    if (t) value = *t;
    return t != nullptr;
  }
  static handle cast(const cresset::Tensor& t, return_value_policy, handle) {
    return cresset::python_api::stolen(cresset::python_api::checked_table().from_tensor(t));
  }
};

// Types that lack a default value, or whose values are small: held in an optional.
#define CRESSET_PYBIND_CASTER(Type, Name, to, from)                                                                                                      \
  template <> struct type_caster<Type> {                                                                                                                 \
    static constexpr auto name = const_name(Name);                                                                                                       \
    template <class T> using cast_op_type = pybind11::detail::movable_cast_op_type<T>;                                                                   \
    bool load(handle source, bool) { return cresset::python_api::load_value<Type, &cresset::python_api::Table::to>(source, value); }                     \
    static handle cast(const Type& v, return_value_policy, handle) { return cresset::python_api::stolen(cresset::python_api::checked_table().from(v)); } \
    operator Type&() { return value; }                                                                                                                   \
    operator Type*() { return &value; }                                                                                                                  \
    operator Type&&() && { return std::move(value); }                                                                                                    \
    Type value{};                                                                                                                                        \
  };
CRESSET_PYBIND_CASTER(cresset::ScalarType, "torch.dtype", to_dtype, from_dtype)
CRESSET_PYBIND_CASTER(cresset::Layout, "torch.layout", to_layout, from_layout)
CRESSET_PYBIND_CASTER(cresset::MemoryFormat, "torch.memory_format", to_memory_format, from_memory_format)
CRESSET_PYBIND_CASTER(cresset::Generator, "torch.Generator", to_generator, from_generator)
CRESSET_PYBIND_CASTER(cresset::Scalar, "Union[int, float, bool, complex]", to_scalar, from_scalar)
CRESSET_PYBIND_CASTER(cresset::Storage, "torch.UntypedStorage", to_storage, from_storage)
CRESSET_PYBIND_CASTER(cresset::dispatch::Value, "object", to_value, from_value)
#undef CRESSET_PYBIND_CASTER

template <> struct type_caster<cresset::Device> {
  static constexpr auto name = const_name("torch.device");
  template <class T> using cast_op_type = pybind11::detail::movable_cast_op_type<T>;
  bool load(handle source, bool) { return cresset::python_api::load_value<cresset::Device, &cresset::python_api::Table::to_device>(source, value); }
  static handle cast(const cresset::Device& v, return_value_policy, handle) {
    return cresset::python_api::stolen(cresset::python_api::checked_table().from_device(v));
  }
  operator cresset::Device&() { return value; }
  operator cresset::Device*() { return &value; }
  operator cresset::Device&&() && { return std::move(value); }
  cresset::Device value{cresset::kCPU};
};

// Lists of integers from tuples and lists; the caster keeps what the reference refers to.
template <> struct type_caster<cresset::IntArrayRef> {
  PYBIND11_TYPE_CASTER(cresset::IntArrayRef, const_name("Tuple[int, ...]"));
  bool load(handle source, bool) {
    if (!PyTuple_Check(source.ptr()) && !PyList_Check(source.ptr())) return false;
    list_.clear();
    for (const handle item : reinterpret_borrow<sequence>(source)) {
      make_caster<int64_t> one;
      if (!one.load(item, true)) return false;
      list_.push_back(cast_op<int64_t>(one));
    }
    value = list_;
    return true;
  }
  static handle cast(cresset::IntArrayRef v, return_value_policy, handle) {
    return cresset::python_api::stolen(cresset::python_api::checked_table().from_size(v));
  }

 private:
  std::vector<int64_t> list_;
};

template <> struct type_caster<cresset::SymInt> {
  PYBIND11_TYPE_CASTER(cresset::SymInt, const_name("int"));
  bool load(handle source, bool convert) {
    make_caster<int64_t> one;
    if (!one.load(source, convert)) return false;
    value = cresset::SymInt(cast_op<int64_t>(one));
    return true;
  }
  static handle cast(const cresset::SymInt& v, return_value_policy, handle) { return PyLong_FromLongLong(v.expect_int()); }
};

template <class T> struct type_caster<cresset::complex<T>> {
  PYBIND11_TYPE_CASTER(cresset::complex<T>, const_name("complex"));
  bool load(handle source, bool) {
    const Py_complex c = PyComplex_AsCComplex(source.ptr());
    if (c.real == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    value = cresset::complex<T>(static_cast<T>(c.real), static_cast<T>(c.imag));
    return true;
  }
  static handle cast(const cresset::complex<T>& v, return_value_policy, handle) {
    return PyComplex_FromDoubles(static_cast<double>(v.real()), static_cast<double>(v.imag()));
  }
};

template <class K, class V> struct type_caster<cresset::Dict<K, V>> {
  using Map = cresset::Dict<K, V>;
  PYBIND11_TYPE_CASTER(Map, const_name("Dict[") + make_caster<K>::name + const_name(", ") + make_caster<V>::name + const_name("]"));
  bool load(handle source, bool convert) {
    if (!isinstance<dict>(source)) return false;
    for (const auto item : reinterpret_borrow<dict>(source)) {
      make_caster<K> key;
      make_caster<V> mapped;
      if (!key.load(item.first, convert) || !mapped.load(item.second, convert)) return false;
      value.insert(cast_op<K&&>(std::move(key)), cast_op<V&&>(std::move(mapped)));
    }
    return true;
  }
  static handle cast(const Map& v, return_value_policy policy, handle parent) {
    dict out;
    for (const auto& entry : v) out[pybind11::cast(entry.key(), policy, parent)] = pybind11::cast(entry.value(), policy, parent);
    return out.release();
  }
};

}  // namespace pybind11::detail
