#pragma once
// Calling ops by their names and stacks: c10::Dispatcher, torch::RegisterOperators, boxing of lists and dicts.

#include "cresset/dispatch/operators.h"
#include "cresset/dispatch/values/object_boxing.h"
#include "cresset/dispatch/values/stack.h"
#include "torch/detail/registration.h"

namespace c10 {
using cresset::dispatch::Dispatcher;
using cresset::dispatch::KernelFunction;
using cresset::dispatch::OperatorHandle;
using cresset::dispatch::OperatorKernel;
using cresset::dispatch::OperatorName;
using cresset::dispatch::OpRegistrationListener;
using cresset::dispatch::RegisterOperators;
using cresset::dispatch::Stack;
using cresset::dispatch::toString;
using cresset::dispatch::TypedOperatorHandle;
using AliasAnalysisKind = cresset::dispatch::AliasAnalysis;
using AliasInfo = cresset::dispatch::SchemaAlias;
using Argument = cresset::dispatch::SchemaArgument;
using FunctionSchema = cresset::dispatch::OperatorSchema;
using RegistrationHandleRAII = cresset::dispatch::RegistrationHandle;
constexpr cresset::DispatchKey kAutograd = cresset::DispatchKey::Autograd;
inline std::optional<std::string> findSchemaDifferences(const FunctionSchema& a, const FunctionSchema& b) { return cresset::dispatch::find_differences(a, b); }
}  // namespace c10

namespace at {
using AliasAnalysisKind = cresset::dispatch::AliasAnalysis;
using c10::Argument;
using c10::FunctionSchema;
using c10::Stack;
}  // namespace at

namespace torch {
using c10::Dispatcher;
using cresset::dispatch::RegisterOperators;
inline c10::FunctionSchema schema(const char* text, c10::AliasAnalysisKind kind, bool = false) {
  c10::FunctionSchema schema = cresset::dispatch::read_schema(text);
  schema.setAliasAnalysis(kind);
  return schema;
}
inline c10::FunctionSchema schema(const char* text, bool = false) { return schema(text, c10::AliasAnalysisKind::FROM_SCHEMA); }

namespace autograd {
using cresset::dispatch::autogradNotImplementedFallback;
using cresset::dispatch::autogradNotImplementedInplaceOrViewFallback;
}  // namespace autograd
namespace jit {
using cresset::dispatch::drop;
using cresset::dispatch::last;
using cresset::dispatch::pack;
using cresset::dispatch::peek;
using cresset::dispatch::peekSlice;
using cresset::dispatch::pop;
using cresset::dispatch::push;
using cresset::dispatch::push_list_elements;
using cresset::dispatch::push_one;
using cresset::dispatch::Stack;
inline c10::FunctionSchema parseSchema(const std::string& text, bool = true) { return cresset::dispatch::read_schema(text); }
inline c10::OperatorName parseName(const std::string& text) { return cresset::dispatch::read_name(text); }
}  // namespace jit
}  // namespace torch
