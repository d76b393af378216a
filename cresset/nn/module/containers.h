#pragma once
// Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict, Functional.

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include "cresset/base/std_function.h"

#include "cresset/nn/module/any.h"
#include "cresset/nn/module/layer.h"

namespace cresset::nn {

// Calls its modules one after another. Errors of an inner call start with the path of the module.
class CRESSET_API SequentialImpl : public Cloneable<SequentialImpl> {
 public:
  using Iterator = std::vector<AnyModule>::iterator;
  using ConstIterator = std::vector<AnyModule>::const_iterator;

  SequentialImpl() = default;
  template <class... Modules> explicit SequentialImpl(Modules&&... modules) {
    modules_.reserve(sizeof...(Modules));
    (push_back(std::forward<Modules>(modules)), ...);
  }
  explicit SequentialImpl(OrderedDict<std::string, AnyModule>&& modules);
  explicit SequentialImpl(std::initializer_list<NamedAnyModule> modules);
  ~SequentialImpl() override;

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // Errors: no modules; a module that does not take what the one before returned; another type than Return at the end.
  template <class Return = Tensor, class... Inputs> Return forward(Inputs&&... inputs) {
    if constexpr (std::is_same<Return, Tensor>::value && sizeof...(Inputs) == 1 && (std::is_convertible<Inputs, Tensor>::value && ...)) {
      return forward_tensor(std::forward<Inputs>(inputs)...);
    } else {
      std::vector<AnyValue> values;
      values.reserve(sizeof...(Inputs));
      (values.emplace_back(std::forward<Inputs>(inputs)), ...);
      AnyValue result = forward_values(std::move(values));
      if (Return* value = result.template try_get<Return>()) return std::move(*value);
      throw_result(result.type_info(), typeid(Return));
    }
  }

  template <class ModuleType> void push_back(std::shared_ptr<ModuleType> module) { push_back(std::to_string(modules_.size()), std::move(module)); }
  template <class ModuleType> void push_back(std::string name, std::shared_ptr<ModuleType> module) { push_back(std::move(name), AnyModule(std::move(module))); }
  template <class M, class = std::enable_if_t<detail::is_module<M>>> void push_back(M&& module) {
    push_back(std::to_string(modules_.size()), std::forward<M>(module));
  }
  template <class M, class = std::enable_if_t<detail::is_module<M>>> void push_back(std::string name, M&& module) {
    push_back(std::move(name), std::make_shared<std::remove_cv_t<std::remove_reference_t<M>>>(std::forward<M>(module)));
  }
  template <class M> void push_back(const ModuleHolder<M>& holder) { push_back(std::to_string(modules_.size()), holder); }
  template <class M> void push_back(std::string name, const ModuleHolder<M>& holder) { push_back(std::move(name), holder.ptr()); }
  template <class Container> void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }
  void push_back(AnyModule module) { push_back(std::to_string(modules_.size()), std::move(module)); }
  void push_back(std::string name, AnyModule module);

  Iterator begin() { return modules_.begin(); }
  ConstIterator begin() const { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator end() const { return modules_.end(); }
  // Errors: out of range, or of another class.
  template <class T> T& at(size_t index) { return module_at(index).template get<T>(); }
  template <class T> const T& at(size_t index) const { return module_at(index).template get<T>(); }
  std::shared_ptr<Module> ptr(size_t index) const { return module_at(index).ptr(); }
  template <class T> std::shared_ptr<T> ptr(size_t index) const { return module_at(index).template ptr<T>(); }
  std::shared_ptr<Module> operator[](size_t index) const { return ptr(index); }
  size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }

 private:
  Tensor forward_tensor(Tensor input);
  AnyValue forward_values(std::vector<AnyValue>&& inputs);
  const AnyModule& module_at(size_t index) const;
  AnyModule& module_at(size_t index) { return const_cast<AnyModule&>(static_cast<const SequentialImpl&>(*this).module_at(index)); }
  [[noreturn]] void throw_result(const std::type_info& got, const std::type_info& wanted) const;

  std::vector<AnyModule> modules_;
};

class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  using Impl = SequentialImpl;
  Sequential() : ModuleHolder() {}
  Sequential(std::initializer_list<NamedAnyModule> modules) : ModuleHolder(std::shared_ptr<SequentialImpl>(new SequentialImpl(modules))) {}
};

// Modules by number; no forward of its own.
class CRESSET_API ModuleListImpl : public Cloneable<ModuleListImpl> {
 public:
  using Iterator = std::vector<std::shared_ptr<Module>>::iterator;
  using ConstIterator = std::vector<std::shared_ptr<Module>>::const_iterator;

  ModuleListImpl() = default;
  template <class... Modules> explicit ModuleListImpl(Modules&&... modules) { (push_back(std::forward<Modules>(modules)), ...); }
  ~ModuleListImpl() override;

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  void push_back(std::shared_ptr<Module> module);
  template <class M, class = std::enable_if_t<detail::is_module<M>>> void push_back(M&& module) {
    push_back(std::make_shared<std::decay_t<M>>(std::forward<M>(module)));
  }
  template <class M> void push_back(const ModuleHolder<M>& holder) { push_back(std::shared_ptr<Module>(holder.ptr())); }
  template <class Container> void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }
  // Errors: index > size().
  void insert(size_t index, std::shared_ptr<Module> module);
  template <class M> void insert(size_t index, const ModuleHolder<M>& holder) { insert(index, std::shared_ptr<Module>(holder.ptr())); }
  template <class M, class = std::enable_if_t<detail::is_module<M>>> void insert(size_t index, M&& module) {
    insert(index, std::make_shared<std::decay_t<M>>(std::forward<M>(module)));
  }

  Iterator begin() { return modules_.begin(); }
  ConstIterator begin() const { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator end() const { return modules_.end(); }
  template <class T> T& at(size_t index) { return *ptr<T>(index); }
  template <class T> const T& at(size_t index) const { return *ptr<T>(index); }
  std::shared_ptr<Module> ptr(size_t index) const;
  template <class T> std::shared_ptr<T> ptr(size_t index) const {
    auto module = std::dynamic_pointer_cast<T>(ptr(index));
    CRESSET_CHECK(module != nullptr, "ModuleList: Unable to cast module ", index, ", a ", ptr(index)->name(), ", to the class that is asked for");
    return module;
  }
  std::shared_ptr<Module> operator[](size_t index) const { return ptr(index); }
  size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }

 private:
  std::vector<std::shared_ptr<Module>> modules_;
};
CRESSET_MODULE(ModuleList);

// Modules by name; no forward of its own.
class CRESSET_API ModuleDictImpl : public Cloneable<ModuleDictImpl> {
 public:
  using Iterator = OrderedDict<std::string, std::shared_ptr<Module>>::Iterator;
  using ConstIterator = OrderedDict<std::string, std::shared_ptr<Module>>::ConstIterator;

  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules);
  explicit ModuleDictImpl(const OrderedDict<std::string, std::shared_ptr<Module>>& modules);
  ~ModuleDictImpl() override;

  std::vector<std::pair<std::string, std::shared_ptr<Module>>> items() const;
  std::vector<std::string> keys() const;
  std::vector<std::shared_ptr<Module>> values() const;
  Iterator begin() { return children_.begin(); }
  ConstIterator begin() const { return children_.begin(); }
  Iterator end() { return children_.end(); }
  ConstIterator end() const { return children_.end(); }
  size_t size() const noexcept { return children_.size(); }
  bool empty() const noexcept { return children_.is_empty(); }
  bool contains(const std::string& key) const noexcept { return children_.contains(key); }
  void clear() { children_.clear(); }

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // Errors of these: no such key.
  std::shared_ptr<Module> operator[](const std::string& key) const { return children_[key]; }
  template <class T> T& at(const std::string& key) { return *typed<T>(key); }
  template <class T> const T& at(const std::string& key) const { return *typed<T>(key); }
  std::shared_ptr<Module> pop(const std::string& key);

  // Replaces the modules whose names are there, appends the others.
  void update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules);
  void update(const OrderedDict<std::string, std::shared_ptr<Module>>& modules);
  template <class Container> void update(const Container& container) {
    for (const auto& item : container) put(item.key(), item.value());
  }

 private:
  template <class T> std::shared_ptr<T> typed(const std::string& key) const {
    auto module = std::dynamic_pointer_cast<T>(children_[key]);
    CRESSET_CHECK(module != nullptr, "ModuleDict: Unable to cast module '", key, "', a ", children_[key]->name(), ", to the class that is asked for");
    return module;
  }
  void put(const std::string& key, const std::shared_ptr<Module>& module);
};
CRESSET_MODULE(ModuleDict);

class CRESSET_API ParameterListImpl : public Cloneable<ParameterListImpl> {
 public:
  using Iterator = OrderedDict<std::string, Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, Tensor>::ConstIterator;

  ParameterListImpl() = default;
  template <class... Tensors> explicit ParameterListImpl(Tensors&&... params) { (append(std::forward<Tensors>(params)), ...); }
  ~ParameterListImpl() override;

  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  // A tensor keeps its requires_grad.
  void append(const Tensor& param);
  void append(const OrderedDict<std::string, Tensor>::Item& item) { append(item.value()); }
  template <class Container> void extend(const Container& container) {
    for (const auto& param : container) append(param);
  }
  template <class Container> void operator+=(const Container& container) { extend(container); }
  Iterator begin() { return parameters_.begin(); }
  ConstIterator begin() const { return parameters_.begin(); }
  Iterator end() { return parameters_.end(); }
  ConstIterator end() const { return parameters_.end(); }
  // Errors: IndexError past the end.
  Tensor& at(size_t index);
  const Tensor& at(size_t index) const;
  Tensor& operator[](size_t index) { return at(index); }
  const Tensor& operator[](size_t index) const { return at(index); }
  size_t size() const noexcept { return parameters_.size(); }
  bool is_empty() const noexcept { return parameters_.is_empty(); }
};
CRESSET_MODULE(ParameterList);

class CRESSET_API ParameterDictImpl : public Cloneable<ParameterDictImpl> {
 public:
  using Iterator = OrderedDict<std::string, Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, Tensor>::ConstIterator;

  ParameterDictImpl() = default;
  explicit ParameterDictImpl(const OrderedDict<std::string, Tensor>& params);
  ~ParameterDictImpl() override;

  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  Tensor& insert(const std::string& key, const Tensor& param);
  // Errors: no such key.
  Tensor pop(const std::string& key);
  Tensor& get(const std::string& key) { return parameters_[key]; }
  const Tensor& get(const std::string& key) const { return parameters_[key]; }
  Tensor& operator[](const std::string& key) { return parameters_[key]; }
  const Tensor& operator[](const std::string& key) const { return parameters_[key]; }
  // Replaces the parameters of these names. Errors: a name that is not there; nothing has been replaced then.
  template <class Container> void update(const Container& container) {
    for (const auto& item : container) get(item.key());
    for (const auto& item : container) get(item.key()) = item.value();
  }
  std::vector<std::string> keys() const;
  std::vector<Tensor> values() const;
  Iterator begin() { return parameters_.begin(); }
  ConstIterator begin() const { return parameters_.begin(); }
  Iterator end() { return parameters_.end(); }
  ConstIterator end() const { return parameters_.end(); }
  size_t size() const noexcept { return parameters_.size(); }
  bool empty() const noexcept { return parameters_.is_empty(); }
  bool contains(const std::string& key) const noexcept { return parameters_.contains(key); }
  void clear() { parameters_.clear(); }
};
CRESSET_MODULE(ParameterDict);

// A function as a module: Functional(relu), Functional(max_pool2d, 2), Functional([](Tensor x) { return x * 2; }).
class CRESSET_API FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  using Function = std::function<Tensor(Tensor)>;

  explicit FunctionalImpl(Function function);
  // Further arguments are bound behind the tensor.
  template <class SomeFunction, class... Args, class = std::enable_if_t<(sizeof...(Args) > 0)>> explicit FunctionalImpl(SomeFunction function, Args&&... args)
      : function_([function = std::move(function), bound = std::make_tuple(std::forward<Args>(args)...)](Tensor input) mutable -> Tensor {
          return std::apply([&](auto&... more) -> Tensor { return function(std::move(input), more...); }, bound);
        }) {}
  ~FunctionalImpl() override;

  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
  Tensor operator()(Tensor input) { return function_(std::move(input)); }
  bool is_serializable() const override { return false; }

 private:
  Function function_;
};
CRESSET_MODULE(Functional);

}  // namespace cresset::nn
