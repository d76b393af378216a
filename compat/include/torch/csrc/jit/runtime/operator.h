#pragma once
// Operators as TorchScript's registry lists them, over the dispatcher: schemas, and functions of a stack.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ATen/core/symbol.h"
#include "torch/library.h"

namespace torch::jit {

using c10::AliasAnalysisKind;

// The function of an operator: it takes the arguments off the end of a stack and puts the results there.
class Operation {
 public:
  template <class F, class = std::enable_if_t<std::is_invocable_v<F&, Stack&> || std::is_invocable_v<F&, Stack*>>> Operation(F f) {
    if constexpr (std::is_invocable_v<F&, Stack&>) run_ = [f = std::move(f)](Stack& stack) mutable { f(stack); };
    else run_ = [f = std::move(f)](Stack& stack) mutable { f(&stack); };
  }
  void operator()(Stack& stack) const { run_(stack); }
  void operator()(Stack* stack) const { run_(*stack); }

 private:
  std::function<void(Stack&)> run_;
};

inline c10::AliasAnalysisKind aliasAnalysisFromSchema() { return c10::AliasAnalysisKind::FROM_SCHEMA; }
inline c10::AliasAnalysisKind aliasAnalysisConservative() { return c10::AliasAnalysisKind::CONSERVATIVE; }

class Operator {
 public:
  // One that is there.
  explicit Operator(const c10::OperatorHandle& handle)
      : schema_(handle.schema()), operation_([handle](Stack& stack) { handle.callBoxed(stack); }), exists_(true) {}
  // One to register: `operation` takes the arguments off the stack and puts the results on it.
  Operator(const std::string& schema, Operation operation, c10::AliasAnalysisKind aliases = aliasAnalysisFromSchema())
      : schema_(torch::schema(schema.c_str(), aliases)), operation_(std::move(operation)) {}

  const c10::FunctionSchema& schema() const { return schema_; }
  c10::AliasAnalysisKind aliasAnalysisKind() const { return schema_.aliasAnalysis(); }
  const Operation& getOperation() const { return operation_; }
  bool isC10Op() const { return exists_; }

 private:
  c10::FunctionSchema schema_;
  Operation operation_;
  bool exists_ = false;
};

// Registered while the object is there. Errors: as those of torch::RegisterOperators.
class RegisterOperators {
 public:
  RegisterOperators() = default;
  explicit RegisterOperators(std::vector<Operator> operators) {
    auto& dispatcher = c10::Dispatcher::singleton();
    for (const Operator& op : operators) {
      handles_.push_back(dispatcher.registerDef(op.schema(), "torch::jit::RegisterOperators"));
      handles_.push_back(dispatcher.registerImpl(op.schema().operator_name(), std::nullopt,
                                                 c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<Boxed>(op.getOperation())),
                                                 "torch::jit::RegisterOperators"));
    }
  }
  // As torch::RegisterOperators, from functions.
  template <class F> explicit RegisterOperators(const std::string& schema_or_name, F&& f) { op(schema_or_name, std::forward<F>(f)); }
  template <class F> RegisterOperators& op(const std::string& schema_or_name, F&& f) {
    made_.op(schema_or_name, std::forward<F>(f));
    return *this;
  }

 private:
  struct Boxed : c10::OperatorKernel {
    explicit Boxed(Operation operation) : run(std::move(operation)) {}
    void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, Stack* stack) { run(*stack); }
    Operation run;
  };
  torch::RegisterOperators made_;
  std::vector<c10::RegistrationHandleRAII> handles_;
};

namespace detail {
// The overloads of a name as they were last asked for; a list that was given out stays where it is.
inline const std::vector<std::shared_ptr<Operator>>& operators_named(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::vector<std::string>>, std::vector<std::shared_ptr<Operator>>> known;
  std::vector<std::string> overloads;
  std::vector<std::shared_ptr<Operator>> found;
  for (const c10::OperatorName& one : c10::Dispatcher::singleton().getAllOpNames()) {
    if (one.name != name) continue;
    const auto handle = c10::Dispatcher::singleton().findSchema(one);
    if (!handle) continue;
    overloads.push_back(one.overload_name);
    found.push_back(std::make_shared<Operator>(*handle));
  }
  const std::lock_guard<std::mutex> lock(mutex);
  return known.try_emplace({name, std::move(overloads)}, std::move(found)).first->second;
}
}  // namespace detail

// The overloads of "ns::name"; none where there is no such operator.
inline const std::vector<std::shared_ptr<Operator>>& getAllOperatorsFor(c10::Symbol name) { return detail::operators_named(name.toQualString()); }
// Null where there is no such operator.
inline std::shared_ptr<Operator> findOperatorFor(const c10::OperatorName& name) {
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  return handle ? std::make_shared<Operator>(*handle) : nullptr;
}
inline std::vector<std::shared_ptr<Operator>> getAllOperators() {
  std::vector<std::shared_ptr<Operator>> out;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames())
    if (auto op = findOperatorFor(name)) out.push_back(std::move(op));
  return out;
}

}  // namespace torch::jit
