#pragma once
// Classes of C++ objects that operators take and that Python sees as torch.classes.ns.Name:
//
//   CRESSET_LIBRARY(mine, m) {
//     m.class_<Stack>("Stack").def(init<std::vector<std::string>>()).def("push", &Stack::push).def("pop", &Stack::pop);
//   }
//
// A method is a member function, or a function whose first parameter is `const intrusive_ptr<Stack>&`.

#include <initializer_list>

#include "cresset/dispatch/registration.h"
#include "cresset/dispatch/values/object_boxing.h"

namespace cresset {

// The base of the objects.
class CRESSET_API CustomClassHolder : public dispatch::Object {
 public:
  CustomClassHolder() = default;
  CustomClassHolder(const CustomClassHolder&) = default;
  const char* kind_name() const override;
  // By the functions that def_pickle was given; the object itself where there are none.
  intrusive_ptr<dispatch::Object> deepcopy(Memo& memo) const override;
};

namespace dispatch {

struct ClassMethod {
  std::string name, doc;
  FunctionSchema schema;  // the first argument is the object, unless is_static
  bool is_static = false;
  std::function<void(Stack&)> call;
};

struct ClassProperty {
  std::string name, doc;
  ClassMethod get;
  std::optional<ClassMethod> set;
};

// A registered class. It lives as long as the process; `retire` takes back what its library defined.
class CRESSET_API ClassInfo {
 public:
  std::string ns, name, doc, where;
  const std::type_info* type = nullptr;
  std::vector<ClassMethod> methods;
  std::vector<ClassProperty> properties;
  std::optional<ClassMethod> constructor, get_state, set_state;

  // "__torch__.torch.classes.ns.Name"
  std::string qualified_name() const;
  // Null: there is none.
  const ClassMethod* find_method(std::string_view method) const;
  const ClassProperty* find_property(std::string_view property) const;
  // Errors: the class has a method or property of this name.
  void add(ClassMethod method);
  void add(ClassProperty property);
};

// Errors: names that are no identifiers; a class of this name, or another name for the C++ type, naming both places.
CRESSET_API ClassInfo& register_class(const std::string& ns, const std::string& name, const std::type_info& type, const std::string& doc,
                                      const std::string& where);
CRESSET_API void retire_class(const ClassInfo& info);
// By "ns.Name" or the whole qualified name; by the C++ type. Null: there is none.
CRESSET_API const ClassInfo* find_class(std::string_view name);
CRESSET_API const ClassInfo* find_class(const std::type_info& type);
CRESSET_API std::vector<const ClassInfo*> all_classes();
// Errors: the C++ type is registered nowhere.
CRESSET_API const ClassInfo& class_of(const std::type_info& type);
// The object that a value holds. Errors: TypeError, naming what was expected.
CRESSET_API Object* object_in(const Value& v, const std::type_info& expected);
// Calls a method with its arguments, the object first; the results replace them. Errors: too few or too many arguments.
CRESSET_API void call_method(const ClassInfo& info, const ClassMethod& method, Stack& stack);

template <class T> intrusive_ptr<T> class_object(const Value& v) {
  auto* object = dynamic_cast<T*>(object_in(v, typeid(T)));
  CRESSET_CHECK_TYPE(object, class_of(typeid(T)).qualified_name(), ": expected an object of the class, got ", v.kind());
  return intrusive_ptr<T>::share(object);
}

template <class T> struct Unbox<intrusive_ptr<T>> {
  using Holder = intrusive_ptr<T>;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) { return class_object<T>(*v); }
  static Holder get(Holder& h) { return h; }
  static Type type() { return type_of_text(class_of(typeid(T)).qualified_name()); }
};
template <class T> struct ValueAs<intrusive_ptr<T>> {
  static constexpr ElementKind kind = ElementKind::Any;
  static intrusive_ptr<T> get(const Value& v) { return class_object<T>(v); }
};

}  // namespace dispatch

// The name of a parameter and, by `=`, its default: def("top", &Stack::top, "", {arg("back") = 0}).
class CRESSET_API arg {
 public:
  explicit arg(std::string name) : name_(std::move(name)) {}
  // The default of `arg("factor") = arg::none()`.
  static dispatch::Value none() { return {}; }
  template <class T> arg& operator=(const T& value) { return with(dispatch::Value(value)); }
  arg& operator=(const arg&) = delete;
  arg(const arg&) = default;

 private:
  friend struct ClassParts;
  arg& with(dispatch::Value value) {
    default_ = std::move(value);
    has_default_ = true;
    return *this;
  }
  std::string name_;
  dispatch::Value default_;
  bool has_default_ = false;
};

// Which constructor, or which function that makes the object, def(...) takes.
template <class... A> struct Constructor {};
template <class F> struct Factory { F function; };
template <class... A> Constructor<A...> init() { return {}; }
template <class F> Factory<F> init(F function) { return {std::move(function)}; }

struct CRESSET_API ClassParts {
  static dispatch::ClassMethod method(const std::string& name, const dispatch::detail::Signature& signature, bool is_static, const std::string& doc,
                                      std::initializer_list<arg> args, const std::string& where);
};

template <class T> class class_ {
  static_assert(std::is_base_of<CustomClassHolder, T>::value, "class_<T>: T derives from CustomClassHolder");

 public:
  class_(const std::string& ns, const std::string& name, const std::string& doc = "", const std::string& where = "a program")
      : info_(&dispatch::register_class(ns, name, typeid(T), doc, where)) {}

  template <class... A> class_& def(Constructor<A...>, const std::string& doc = "", std::initializer_list<arg> args = {}) {
    return constructor([](A... a) { return make_intrusive<T>(std::forward<A>(a)...); }, doc, args);
  }
  template <class F> class_& def(Factory<F> factory, const std::string& doc = "", std::initializer_list<arg> args = {}) {
    return constructor(std::move(factory.function), doc, args);
  }
  template <class F> class_& def(const std::string& name, F f, const std::string& doc = "", std::initializer_list<arg> args = {}) {
    info_->add(method(name, bound(std::move(f)), false, doc, args));
    return *this;
  }
  template <class F> class_& def_static(const std::string& name, F f, const std::string& doc = "") {
    info_->add(method(name, std::move(f), true, doc, {}));
    return *this;
  }
  template <class Get> class_& def_property(const std::string& name, Get get, const std::string& doc = "") {
    info_->add(dispatch::ClassProperty{name, doc, method(name + "_getter", bound(std::move(get)), false, doc, {}), std::nullopt});
    return *this;
  }
  template <class Get, class Set, class = std::enable_if_t<!std::is_convertible<Set, std::string>::value>>
  class_& def_property(const std::string& name, Get get, Set set, const std::string& doc = "") {
    info_->add(dispatch::ClassProperty{name, doc, method(name + "_getter", bound(std::move(get)), false, doc, {}),
                                       method(name + "_setter", bound(std::move(set)), false, doc, {})});
    return *this;
  }
  template <class V> class_& def_readonly(const std::string& name, V T::*field, const std::string& doc = "") {
    return def_property(
        name, [field](const intrusive_ptr<T>& self) { return (*self).*field; }, doc);
  }
  template <class V> class_& def_readwrite(const std::string& name, V T::*field, const std::string& doc = "") {
    return def_property(
        name, [field](const intrusive_ptr<T>& self) { return (*self).*field; },
        [field](const intrusive_ptr<T>& self, V value) { (*self).*field = std::move(value); }, doc);
  }
  // The state of an object that a file keeps, and the object made of it.
  template <class Get, class Set> class_& def_pickle(Get get_state, Set set_state) {
    info_->get_state = method("__getstate__", get_state, false, "", {});
    // One value, also of a tuple.
    info_->get_state->call = [get = std::move(get_state)](dispatch::Stack& stack) mutable {
      dispatch::Value state(get(dispatch::class_object<T>(stack.back())));
      stack.back() = std::move(state);
    };
    info_->set_state = method("__setstate__", std::move(set_state), true, "", {});
    return *this;
  }

 private:
  template <class R, class C, class... A> static auto bound(R (C::*f)(A...)) {
    return [f](const intrusive_ptr<T>& self, A... a) -> R { return ((*self).*f)(std::forward<A>(a)...); };
  }
  template <class R, class C, class... A> static auto bound(R (C::*f)(A...) const) {
    return [f](const intrusive_ptr<T>& self, A... a) -> R { return ((*self).*f)(std::forward<A>(a)...); };
  }
  template <class F> static F bound(F f) { return f; }

  template <class F> dispatch::ClassMethod method(const std::string& name, F f, bool is_static, const std::string& doc, std::initializer_list<arg> args) {
    dispatch::ClassMethod made = ClassParts::method(name, dispatch::detail::signature_of<F>(), is_static, doc, args, info_->qualified_name());
    made.call = [f](dispatch::Stack& stack) mutable { dispatch::detail::FunctionTraits<F>::call(f, stack); };
    return made;
  }
  template <class F> class_& constructor(F f, const std::string& doc, std::initializer_list<arg> args) {
    info_->constructor = method("__init__", std::move(f), true, doc, args);
    return *this;
  }

  dispatch::ClassInfo* info_;
};

// The object as a value of a class that is registered.
template <class T, class... A> dispatch::Value make_custom_class(A&&... a) {
  dispatch::class_of(typeid(T));
  return dispatch::Value(make_intrusive<T>(std::forward<A>(a)...));
}

namespace dispatch {
template <class T>::cresset::class_<T> Library::class_(const std::string& name, const std::string& doc) {
  ::cresset::class_<T> made(namespace_for_classes(), name, doc, where());
  keep_class(typeid(T));
  return made;
}
}  // namespace dispatch

}  // namespace cresset
