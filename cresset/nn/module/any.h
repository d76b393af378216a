#pragma once
// AnyModule: a module of any class together with its forward, so that containers can call it.

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "cresset/base/owned.h"
#include "cresset/nn/module/module.h"
#include "cresset/nn/module/pimpl.h"

namespace cresset::nn {

// A value of any copyable type: what passes through AnyModule::any_forward.
class CRESSET_API AnyValue {
 public:
  template <class T, class = std::enable_if_t<!std::is_same<std::decay_t<T>, AnyValue>::value>> explicit AnyValue(T&& value)
      : content_(new Holder<std::decay_t<T>>(std::forward<T>(value))) {}
  AnyValue(AnyValue&&) noexcept = default;
  AnyValue& operator=(AnyValue&&) noexcept = default;
  AnyValue(const AnyValue& o) : content_(o.content_->clone()) {}
  AnyValue& operator=(const AnyValue& o) {
    content_ = o.content_->clone();
    return *this;
  }

  // Null if the value has another type.
  template <class T> T* try_get() {
    static_assert(!std::is_reference<T>::value, "AnyValue holds values, not references");
    return typeid(T) == type_info() ? &static_cast<Holder<T>&>(*content_).value : nullptr;
  }
  // Errors: the value has another type.
  template <class T> T get() {
    if (T* value = try_get<T>()) return *value;
    throw_type(typeid(T));
  }
  const std::type_info& type_info() const noexcept { return content_->type; }

 private:
  struct Base {
    explicit Base(const std::type_info& t) : type(t) {}
    virtual ~Base() = default;
    virtual Owned<Base> clone() const = 0;
    const std::type_info& type;
  };
  template <class T> struct Holder : Base {
    template <class U> explicit Holder(U&& v) : Base(typeid(T)), value(std::forward<U>(v)) {}
    Owned<Base> clone() const override { return Owned<Base>(new Holder<T>(value)); }
    T value;
  };
  [[noreturn]] void throw_type(const std::type_info& wanted) const;

  Owned<Base> content_;
};

namespace detail {

struct CRESSET_API AnyModulePlaceholder {
  AnyModulePlaceholder(const std::type_info& t, bool one_tensor) : type(t), maps_tensor(one_tensor) {}
  virtual ~AnyModulePlaceholder() = default;
  virtual AnyValue forward(std::vector<AnyValue>&& arguments) = 0;
  // Only if maps_tensor: forward takes one tensor and returns one.
  virtual Tensor forward_tensor(const Tensor& input) = 0;
  virtual std::shared_ptr<Module> ptr() = 0;
  virtual Owned<AnyModulePlaceholder> copy() const = 0;
  virtual Owned<AnyModulePlaceholder> clone_module(const std::optional<Device>& device) const = 0;
  const std::type_info& type;
  const bool maps_tensor;
};

[[noreturn]] CRESSET_API void throw_argument_count(const Module& module, size_t expected, size_t required, size_t got);
[[noreturn]] CRESSET_API void throw_argument_type(const Module& module, size_t position, const std::type_info& expected, const std::type_info& got);
[[noreturn]] CRESSET_API void throw_result_type(const std::type_info& held, const std::type_info& wanted);
[[noreturn]] CRESSET_API void throw_any_module(const char* what, const std::type_info* wanted, const std::type_info* held);

template <class M, class = decltype(&M::forward)> constexpr bool has_one_forward(int) { return true; }
template <class M> constexpr bool has_one_forward(...) { return false; }

// Lets a holder call the protected hooks that CRESSET_FORWARD_HAS_DEFAULT_ARGS defines.
struct ForwardDefaults {
  template <class M> static auto required(int) -> decltype(std::declval<M&>()._forward_num_required_args(), std::true_type());
  template <class M> static std::false_type required(...);
  template <class M> static constexpr bool has = decltype(required<M>(0))::value;
  template <class M> static unsigned num_required(M& m) { return m._forward_num_required_args(); }
  template <class M> static std::vector<AnyValue> populate(M& m, std::vector<AnyValue>&& arguments) {
    return m._forward_populate_default_args(std::move(arguments));
  }
};

template <class ModuleType, class Return, class... Args> struct AnyModuleHolder : AnyModulePlaceholder {
  static constexpr bool kMapsTensor = std::is_same<Return, Tensor>::value && sizeof...(Args) == 1 && (std::is_same<std::decay_t<Args>, Tensor>::value && ...);

  // The argument number i. Errors: it has another type than forward takes.
  struct CheckedGetter {
    template <class T> T&& get(size_t i) {
      using Value = std::decay_t<T>;
      static_assert(!std::is_lvalue_reference<T>::value, "AnyModule: forward may not take arguments by non-const reference");
      Value* value = arguments[i].template try_get<Value>();
      if (!value) throw_argument_type(module, i, typeid(Value), arguments[i].type_info());
      return std::move(*value);
    }
    std::vector<AnyValue>& arguments;
    const Module& module;
  };
  struct InvokeForward {
    template <size_t... I> AnyValue operator()(std::index_sequence<I...>) {
      if constexpr (std::is_void<Return>::value) {
        module.forward(getter.template get<std::remove_const_t<std::remove_reference_t<Args>>>(I)...);
        return AnyValue(std::tuple<>());
      } else {
        return AnyValue(module.forward(getter.template get<std::remove_const_t<std::remove_reference_t<Args>>>(I)...));
      }
    }
    ModuleType& module;
    CheckedGetter getter;
  };

  explicit AnyModuleHolder(std::shared_ptr<ModuleType> m) : AnyModulePlaceholder(typeid(ModuleType), kMapsTensor), module(std::move(m)) {}

  AnyValue forward(std::vector<AnyValue>&& arguments) override {
    if constexpr (ForwardDefaults::has<ModuleType>) {
      const size_t required = ForwardDefaults::num_required(*module);
      if (arguments.size() < required || arguments.size() > sizeof...(Args)) throw_argument_count(*module, sizeof...(Args), required, arguments.size());
      arguments = ForwardDefaults::populate(*module, std::move(arguments));
    } else if (arguments.size() != sizeof...(Args)) {
      throw_argument_count(*module, sizeof...(Args), sizeof...(Args), arguments.size());
    }
    return InvokeForward{*module, {arguments, *module}}(std::index_sequence_for<Args...>());
  }
  Tensor forward_tensor(const Tensor& input) override {
    if constexpr (kMapsTensor) return CRESSET_UNLIKELY(HookedCall::wanted(*module)) ? call_hooked<ModuleType, Tensor>(*module, input) : module->forward(input);
    else return forward(one_argument(input)).template get<Tensor>();
  }
  std::shared_ptr<Module> ptr() override { return module; }
  Owned<AnyModulePlaceholder> copy() const override { return Owned<AnyModulePlaceholder>(new AnyModuleHolder(module)); }
  Owned<AnyModulePlaceholder> clone_module(const std::optional<Device>& device) const override {
    return Owned<AnyModulePlaceholder>(new AnyModuleHolder(std::dynamic_pointer_cast<ModuleType>(module->clone(device))));
  }

  std::shared_ptr<ModuleType> module;

 private:
  static std::vector<AnyValue> one_argument(const Tensor& input) {
    std::vector<AnyValue> arguments;
    arguments.emplace_back(input);
    return arguments;
  }
};

}  // namespace detail

class CRESSET_API AnyModule {
 public:
  AnyModule() = default;
  // A `forward` that is overloaded or a template is taken as one from tensor to tensor.
  template <class ModuleType, class = std::enable_if_t<detail::is_module<ModuleType>>> explicit AnyModule(std::shared_ptr<ModuleType> module)
      : content_(make(std::move(module))) {}
  template <class ModuleType, class = std::enable_if_t<detail::is_module<ModuleType>>, class = void> explicit AnyModule(ModuleType&& module)
      : AnyModule(std::make_shared<std::decay_t<ModuleType>>(std::forward<ModuleType>(module))) {}
  template <class ModuleType> explicit AnyModule(const ModuleHolder<ModuleType>& holder) : AnyModule(holder.ptr()) {}
  AnyModule(AnyModule&&) noexcept = default;
  AnyModule& operator=(AnyModule&&) noexcept = default;
  // Copies share the module.
  AnyModule(const AnyModule& o) : content_(o.copied()) {}
  AnyModule& operator=(const AnyModule& o) {
    content_ = o.copied();
    return *this;
  }
  template <class ModuleType> AnyModule& operator=(std::shared_ptr<ModuleType> module) { return *this = AnyModule(std::move(module)); }

  AnyModule clone(std::optional<Device> device = std::nullopt) const;

  // Errors of both: empty; arguments of other types than forward's (exactly); a result of another type.
  template <class... Args> AnyValue any_forward(Args&&... args) {
    std::vector<AnyValue> values;
    values.reserve(sizeof...(Args));
    (values.emplace_back(std::forward<Args>(args)), ...);
    return checked("forward()").forward(std::move(values));
  }
  template <class Return = Tensor, class... Args> Return forward(Args&&... args) {
    if constexpr (std::is_same<Return, Tensor>::value && sizeof...(Args) == 1 && (std::is_same<std::decay_t<Args>, Tensor>::value && ...))
      return checked("forward()").forward_tensor(args...);
    else return any_forward(std::forward<Args>(args)...).template get<Return>();
  }

  // Errors of get: empty, or of another class.
  template <class T, class = std::enable_if_t<detail::is_module<T>>> T& get() { return *get_shared<T>("get()"); }
  template <class T, class = std::enable_if_t<detail::is_module<T>>> const T& get() const { return *get_shared<T>("get()"); }
  template <class T, class Contained = typename T::ContainedType> T get() const { return T(get_shared<Contained>("get()")); }
  std::shared_ptr<Module> ptr() const { return checked("ptr()").ptr(); }
  template <class T, class = std::enable_if_t<detail::is_module<T>>> std::shared_ptr<T> ptr() const { return get_shared<T>("ptr()"); }
  const std::type_info& type_info() const { return checked("type_info()").type; }
  bool is_empty() const noexcept { return !content_; }

 private:
  template <class ModuleType> static Owned<detail::AnyModulePlaceholder> make(std::shared_ptr<ModuleType>&& module) {
    if constexpr (detail::has_one_forward<ModuleType>(0)) return make_holder(std::move(module), &ModuleType::forward);
    else return make_holder(std::move(module), static_cast<Tensor (ModuleType::*)(const Tensor&)>(nullptr));
  }
  template <class ModuleType, class Class, class Return, class... Args>
  static Owned<detail::AnyModulePlaceholder> make_holder(std::shared_ptr<ModuleType>&& module, Return (Class::*)(Args...)) {
    if (!module) detail::throw_any_module("a constructor", nullptr, nullptr);
    return Owned<detail::AnyModulePlaceholder>(new detail::AnyModuleHolder<std::decay_t<ModuleType>, std::decay_t<Return>, Args...>(std::move(module)));
  }
  template <class ModuleType, class Class, class Return, class... Args>
  static Owned<detail::AnyModulePlaceholder> make_holder(std::shared_ptr<ModuleType>&& module, Return (Class::*)(Args...) const) {
    return make_holder(std::move(module), static_cast<Return (Class::*)(Args...)>(nullptr));
  }
  template <class T> std::shared_ptr<T> get_shared(const char* method) const {
    auto shared = std::dynamic_pointer_cast<T>(checked(method).ptr());
    if (!shared) detail::throw_any_module(method, &typeid(T), &content_->type);
    return shared;
  }
  detail::AnyModulePlaceholder& checked(const char* method) const {
    if (CRESSET_UNLIKELY(!content_)) detail::throw_any_module(method, nullptr, nullptr);
    return *content_;
  }
  Owned<detail::AnyModulePlaceholder> copied() const { return content_ ? content_->copy() : Owned<detail::AnyModulePlaceholder>(); }
  friend class SequentialImpl;

  Owned<detail::AnyModulePlaceholder> content_;
};

// A module with the name it shall have in a container: Sequential({{"fc", Linear(3, 4)}, {"relu", ReLU()}}).
class NamedAnyModule {
 public:
  template <class ModuleType> NamedAnyModule(std::string name, std::shared_ptr<ModuleType> module)
      : NamedAnyModule(std::move(name), AnyModule(std::move(module))) {}
  template <class ModuleType, class = std::enable_if_t<detail::is_module<ModuleType>>> NamedAnyModule(std::string name, ModuleType&& module)
      : NamedAnyModule(std::move(name), AnyModule(std::forward<ModuleType>(module))) {}
  template <class ModuleType> NamedAnyModule(std::string name, const ModuleHolder<ModuleType>& holder) : NamedAnyModule(std::move(name), holder.ptr()) {}
  NamedAnyModule(std::string name, AnyModule module) : name_(std::move(name)), module_(std::move(module)) {}

  const std::string& name() const noexcept { return name_; }
  AnyModule& module() noexcept { return module_; }
  const AnyModule& module() const noexcept { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

}  // namespace cresset::nn

// The two halves of CRESSET_FORWARD_HAS_DEFAULT_ARGS below, for modules whose bodies are compiled once: in the class, and in a source.
#define CRESSET_DECLARE_DEFAULT_ARGS()   \
 public:                                 \
  unsigned _forward_num_required_args(); \
  std::vector<AnyValue> _forward_populate_default_args(std::vector<AnyValue>&& arguments);
#define CRESSET_DEFINE_DEFAULT_ARGS(Impl, ...)                                                    \
  unsigned Impl::_forward_num_required_args() {                                                   \
    const std::pair<unsigned, AnyValue> defaults[] = {__VA_ARGS__};                               \
    return defaults[0].first;                                                                     \
  }                                                                                               \
  std::vector<AnyValue> Impl::_forward_populate_default_args(std::vector<AnyValue>&& arguments) { \
    const std::pair<unsigned, AnyValue> defaults[] = {__VA_ARGS__};                               \
    for (const auto& one : defaults)                                                              \
      if (one.first >= arguments.size()) arguments.push_back(one.second);                         \
    return std::move(arguments);                                                                  \
  }

// In a module whose forward has default arguments, so that containers may leave them out:
// CRESSET_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())}) names positions and values.
#define CRESSET_FORWARD_HAS_DEFAULT_ARGS(...)                                                                             \
 public:                                                                                                                  \
  unsigned _forward_num_required_args() {                                                                                 \
    const std::pair<unsigned, ::cresset::nn::AnyValue> defaults[] = {__VA_ARGS__};                                        \
    return defaults[0].first;                                                                                             \
  }                                                                                                                       \
  std::vector<::cresset::nn::AnyValue> _forward_populate_default_args(std::vector<::cresset::nn::AnyValue>&& arguments) { \
    const std::pair<unsigned, ::cresset::nn::AnyValue> defaults[] = {__VA_ARGS__};                                        \
    std::vector<::cresset::nn::AnyValue> all = std::move(arguments);                                                      \
    for (const auto& one : defaults)                                                                                      \
      if (one.first >= all.size()) all.push_back(one.second);                                                             \
    return all;                                                                                                           \
  }
