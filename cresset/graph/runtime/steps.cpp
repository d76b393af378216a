#include "cresset/graph/runtime/steps.h"

#include <typeindex>
#include <unordered_map>

#include "cresset/autograd/grad_mode.h"
#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/graph/runtime/typed.h"
#include "cresset/ops/functions.h"

namespace cresset::graph {

TypedCall find_typed_call(const dispatch::OpEntry& op, const std::vector<const Datum*>& constants, const std::vector<int32_t>& registers) {
  static const auto* const table = [] {
    auto* rows = new std::unordered_map<std::type_index, TypedRow>;
    for (const ArrayRef<TypedRow> list : {typed_rows_pointwise(), typed_rows_layers(), typed_rows_shapes()})
      for (const TypedRow& row : list) rows->emplace(*row.signature, row);
    return rows;
  }();
  if (!op.signature || !op.slot(dispatch::OpEntry::cpu_slot)) return {};
  const auto found = table->find(*op.signature);
  return found == table->end() ? TypedCall() : found->second.make(constants, registers);
}

uint32_t step_boxed(Machine& m, const Instruction& i, uint32_t at) {
  const auto& op = *static_cast<const dispatch::OpEntry*>(i.target);
  Stack& stack = m.stack;
  stack.clear();
  for (uint32_t k = 0; k < i.num_inputs; k++) stack.push_back(m.registers[i.inputs[k]]);
  dispatch::call_boxed(op, stack);
  CRESSET_CHECK(stack.size() == i.num_outputs, op.name, ": expected ", i.num_outputs, " results, got ", stack.size());
  for (uint32_t k = 0; k < i.num_outputs; k++) m.registers[i.outputs[k]] = std::move(stack[k]);
  stack.clear();
  return finish(m, i, at);
}

uint32_t step_owning(Machine& m, const Instruction& i, uint32_t at) {
  const auto* number = std::get_if<int64_t>(&m.registers[i.first].data());
  auto* tensors = std::get_if<std::vector<Tensor>>(&m.registers[i.second].data());
  if (!number || !tensors) return step_boxed(m, i, at);
  dispatch::Key key;
  key.add(*tensors);
  const uint8_t awake = static_cast<uint8_t>((key.layers | m.layers.included) & ~m.layers.excluded);
  const bool plain = (awake & ~kAutogradLayer) == 0 && (awake == 0 || !autograd::GradMode::is_enabled()) && key.backend == 0;
  if (CRESSET_UNLIKELY(!plain)) return step_boxed(m, i, at);
  store(m.registers, i.outputs, reinterpret_cast<OwningCall>(const_cast<void*>(i.prepared))(*number, *tensors));
  return finish(m, i, at);
}

uint32_t step_builtin(Machine& m, const Instruction& i, uint32_t at) {
  const Datum* inputs[8];
  std::vector<const Datum*> more;
  const Datum** list = inputs;
  if (CRESSET_UNLIKELY(i.num_inputs > 8)) {
    more.resize(i.num_inputs);
    list = more.data();
  }
  for (uint32_t k = 0; k < i.num_inputs; k++) list[k] = &m.registers[i.inputs[k]];
  Datum unused;
  static_cast<const Builtin*>(i.target)->run(list, i.num_inputs, i.num_outputs ? m.registers[i.outputs[0]] : unused);
  return finish(m, i, at);
}

namespace {

template <class T> bool all_are(const Machine& m, const Instruction& i) {
  for (uint32_t k = 0; k < i.num_inputs; k++)
    if (!std::holds_alternative<T>(m.registers[i.inputs[k]].data())) return false;
  return i.num_inputs > 0;
}
// Into the vector that the register has from the last time.
template <class T> void fill(Machine& m, const Instruction& i) {
  Datum& out = m.registers[i.outputs[0]];
  if (!std::holds_alternative<std::vector<T>>(out.data())) out = Datum(std::vector<T>());
  auto& list = *std::get_if<std::vector<T>>(&out.data());
  list.resize(i.num_inputs);
  for (uint32_t k = 0; k < i.num_inputs; k++) list[k] = *std::get_if<T>(&m.registers[i.inputs[k]].data());
}
bool are_optional_tensors(const Machine& m, const Instruction& i) {
  for (uint32_t k = 0; k < i.num_inputs; k++) {
    const Datum& v = m.registers[i.inputs[k]];
    if (!v.is_none() && !v.is_tensor()) return false;
  }
  return i.num_inputs > 0;
}
bool are_numbers(const Machine& m, const Instruction& i) {
  for (uint32_t k = 0; k < i.num_inputs; k++)
    if (!m.registers[i.inputs[k]].is_number()) return false;
  return i.num_inputs > 0;
}

}  // namespace

uint32_t step_list(Machine& m, const Instruction& i, uint32_t at) {
  Datum& out = m.registers[i.outputs[0]];
  if (all_are<Tensor>(m, i)) {
    fill<Tensor>(m, i);
  } else if (all_are<int64_t>(m, i)) {
    fill<int64_t>(m, i);
  } else if (all_are<double>(m, i)) {
    fill<double>(m, i);
  } else if (all_are<std::string>(m, i)) {
    fill<std::string>(m, i);
  } else if (all_are<bool>(m, i)) {
    std::vector<bool> list;
    for (uint32_t k = 0; k < i.num_inputs; k++) list.push_back(m.registers[i.inputs[k]].to_bool());
    out = Datum(std::move(list));
  } else if (are_optional_tensors(m, i)) {
    std::vector<Datum::Optional> list;
    for (uint32_t k = 0; k < i.num_inputs; k++) {
      const Datum& v = m.registers[i.inputs[k]];
      list.push_back(v.is_none() || !v.to_tensor().defined() ? Datum::Optional() : v.to_tensor());
    }
    out = Datum(std::move(list));
  } else if (are_numbers(m, i)) {
    std::vector<Scalar> list;
    for (uint32_t k = 0; k < i.num_inputs; k++) list.push_back(m.registers[i.inputs[k]].to_scalar());
    out = Datum(std::move(list));
  } else {
    dispatch::GenericList list(dispatch::ElementKind::Any);
    for (uint32_t k = 0; k < i.num_inputs; k++) list.push_back(m.registers[i.inputs[k]]);
    out = Datum(std::move(list));
  }
  return finish(m, i, at);
}

uint32_t step_shared_list(Machine& m, const Instruction& i, uint32_t at) {
  auto list = make_intrusive<dispatch::ListObject>(static_cast<dispatch::ElementKind>(i.jump));
  list->elements.reserve(i.num_inputs);
  for (uint32_t k = 0; k < i.num_inputs; k++) list->elements.push_back(m.registers[i.inputs[k]]);
  m.registers[i.outputs[0]] = Datum(intrusive_ptr<dispatch::Object>(std::move(list)));
  return finish(m, i, at);
}

namespace {

Datum shared_list(const Datum& v) {
  using dispatch::ElementKind;
  ElementKind kind = ElementKind::Any;
  if (v.is<std::vector<Tensor>>()) kind = ElementKind::Tensor;
  else if (v.is<std::vector<int64_t>>()) kind = ElementKind::Int;
  else if (v.is<std::vector<double>>()) kind = ElementKind::Double;
  else if (v.is<std::vector<bool>>()) kind = ElementKind::Bool;
  else if (v.is<std::vector<std::string>>()) kind = ElementKind::String;
  else if (v.is<std::vector<Datum::Optional>>()) kind = ElementKind::OptionalTensor;
  else if (!v.is<std::vector<Scalar>>()) return v;
  auto list = make_intrusive<dispatch::ListObject>(kind);
  list->elements = v.toListVector();
  return Datum(intrusive_ptr<dispatch::Object>(std::move(list)));
}

}  // namespace

uint32_t step_boxed_shared(Machine& m, const Instruction& i, uint32_t at) {
  const uint32_t next = step_boxed(m, i, at);
  for (uint32_t k = 0; k < i.num_outputs; k++) m.registers[i.outputs[k]] = shared_list(m.registers[i.outputs[k]]);
  return next;
}

uint32_t step_tuple(Machine& m, const Instruction& i, uint32_t at) {
  std::vector<Datum> elements;
  elements.reserve(i.num_inputs);
  for (uint32_t k = 0; k < i.num_inputs; k++) elements.push_back(m.registers[i.inputs[k]]);
  m.registers[i.outputs[0]] = Datum(dispatch::TupleObject::create(std::move(elements)));
  return finish(m, i, at);
}

uint32_t step_dict(Machine& m, const Instruction& i, uint32_t at) {
  dispatch::GenericDict dict(static_cast<dispatch::ElementKind>(i.jump & 0xff), static_cast<dispatch::ElementKind>(i.jump >> 8));
  for (uint32_t k = 0; k + 1 < i.num_inputs; k += 2) dict.insert_or_assign(m.registers[i.inputs[k]], m.registers[i.inputs[k + 1]]);
  m.registers[i.outputs[0]] = Datum(std::move(dict));
  return finish(m, i, at);
}

namespace {

void check_length(size_t given, const Instruction& i) {
  CRESSET_CHECK(given == i.num_outputs, "ir::unpack: expected ", i.num_outputs, " elements, got ", given);
}

}  // namespace

uint32_t step_unpack(Machine& m, const Instruction& i, uint32_t at) {
  Datum& from = m.registers[i.inputs[0]];
  if (const auto* tensors = std::get_if<std::vector<Tensor>>(&from.data())) {
    check_length(tensors->size(), i);
    for (uint32_t k = 0; k < i.num_outputs; k++) put(m.registers[i.outputs[k]], Tensor((*tensors)[k]));
  } else if (from.isTuple()) {
    const auto& elements = from.toTupleRef().elements();
    check_length(elements.size(), i);
    for (uint32_t k = 0; k < i.num_outputs; k++) m.registers[i.outputs[k]] = elements[k];
  } else {
    CRESSET_CHECK_TYPE(from.isList(), "ir::unpack: expected a list or a tuple, got ", from.kind());
    const std::vector<Datum> elements = from.toListVector();
    check_length(elements.size(), i);
    for (uint32_t k = 0; k < i.num_outputs; k++) m.registers[i.outputs[k]] = elements[k];
  }
  return finish(m, i, at);
}

uint32_t step_call(Machine& m, const Instruction& i, uint32_t at) {
  const int most = std::min(m.code.options.limits.max_calls, LimitScope::current().max_calls);
  CRESSET_CHECK(m.depth < most, "expected at most ", most, " calls within calls");
  std::vector<Datum> inputs;
  inputs.reserve(i.num_inputs);
  for (uint32_t k = 0; k < i.num_inputs; k++) inputs.push_back(m.registers[i.inputs[k]]);
  auto* code = static_cast<Program::Code*>(const_cast<void*>(i.target));
  std::vector<Datum> results = code->run(std::move(inputs), m.depth + 1);
  for (uint32_t k = 0; k < i.num_outputs; k++) m.registers[i.outputs[k]] = std::move(results[k]);
  return finish(m, i, at);
}

uint32_t step_copy(Machine& m, const Instruction& i, uint32_t at) {
  for (uint32_t k = 0; k < i.num_outputs; k++) {
    const Datum& from = m.registers[i.inputs[k]];
    Datum& to = m.registers[i.outputs[k]];
    const auto* number = std::get_if<int64_t>(&from.data());
    auto* place = std::get_if<int64_t>(&to.data());
    if (number && place) *place = *number;
    else if (const auto* t = std::get_if<Tensor>(&from.data())) put(to, Tensor(*t));
    else to = from;
  }
  return finish(m, i, at);
}

uint32_t step_copy_one(Machine& m, const Instruction& i, uint32_t at) {
  const auto* number = std::get_if<int64_t>(&m.registers[i.first].data());
  auto* place = std::get_if<int64_t>(&m.registers[i.out].data());
  if (CRESSET_UNLIKELY(!number || !place || i.num_drops)) return step_copy(m, i, at);
  *place = *number;
  return at + 1;
}

namespace {

bool truth(const Datum& v) {
  if (const auto* b = std::get_if<bool>(&v.data())) return *b;
  if (v.is_tensor()) return v.to_tensor().item().toBool();
  return v.to_bool();
}

}  // namespace

uint32_t step_jump(Machine& m, const Instruction& i, uint32_t at) {
  if (CRESSET_UNLIKELY(i.num_drops)) finish(m, i, at);
  return i.jump;
}
uint32_t step_branch(Machine& m, const Instruction& i, uint32_t at) { return truth(m.registers[i.first]) ? at + 1 : i.jump; }
namespace {

bool has_ended(const Machine& m, const Instruction& i) {
  const Datum &counter = m.registers[i.first], &trips = m.registers[i.second];
  const auto *n = std::get_if<int64_t>(&counter.data()), *most = std::get_if<int64_t>(&trips.data());
  return CRESSET_LIKELY(n && most) ? *n >= *most : counter.to_int() >= trips.to_int();
}
void count(Datum& counter) {
  if (auto* number = std::get_if<int64_t>(&counter.data())) ++*number;
  else counter = Datum(counter.to_int() + 1);
}

}  // namespace

uint32_t step_loop(Machine& m, const Instruction& i, uint32_t at) { return has_ended(m, i) || !truth(m.registers[i.inputs[2]]) ? i.jump : at + 1; }
uint32_t step_next(Machine& m, const Instruction& i, uint32_t) {
  count(m.registers[i.out]);
  return has_ended(m, i) || !truth(m.registers[i.inputs[2]]) ? i.exit : i.jump;
}
uint32_t step_next_trip(Machine& m, const Instruction& i, uint32_t) {
  count(m.registers[i.out]);
  return has_ended(m, i) ? i.exit : i.jump;
}
bool begins_trip(const Instruction& i, uint32_t at, uint32_t next) {
  return (i.step == step_loop && next == at + 1) || ((i.step == step_next || i.step == step_next_trip) && next == i.jump);
}

}  // namespace cresset::graph
