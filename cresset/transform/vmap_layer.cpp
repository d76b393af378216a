// The layer of vmap: finds the innermost level among the arguments and runs the operator on the values there.

#include "cresset/transform/vmap_layer.h"

#include <unordered_map>

#include "cresset/autograd/forward/forward_layer.h"
#include "cresset/core/fake_mode.h"
#include "cresset/core/result_type.h"
#include "cresset/dispatch/registry.h"
#include "cresset/ops/functions.h"
#include "cresset/transform/vmap_rules.h"

namespace cresset::func {

using dispatch::for_each_tensor;
using dispatch::map_tensors;

BatchCall::BatchCall(const OpEntry& entry, Stack values, uint64_t at) : op(entry), schema(entry.function_schema()), arguments(std::move(values)), level(at) {
  for (const Value& v : arguments)
    for_each_tensor(v, [&](const Tensor& t) {
      if (batched(t)) size = as_batched(t)->batch_size();
    });
}

bool BatchCall::any_batched(size_t first) const {
  bool any = false;
  for (size_t i = first; i < arguments.size(); i++) for_each_tensor(arguments[i], [&](const Tensor& t) { any = any || batched(t); });
  return any;
}

Tensor BatchCall::front(const Tensor& t) const {
  if (!batched(t)) return t;
  const BatchedImpl* b = as_batched(t);
  return b->batch_dim() == 0 ? b->value() : b->value().movedim(b->batch_dim(), 0);
}

Tensor BatchCall::spread(const Tensor& t) const {
  if (batched(t)) return front(t);
  DimVector sizes(t.sizes());
  sizes.insert(sizes.begin(), size);
  return t.expand(sizes);
}

namespace {

Tensor with_ones(Tensor t, int64_t rank) {
  const int64_t missing = rank + 1 - t.dim();
  if (missing <= 0) return t;
  for (int64_t i = 0; i < missing; i++) t = t.unsqueeze(1);
  return t;
}

}  // namespace

Tensor BatchCall::padded(const Tensor& t, int64_t rank) const { return batched(t) ? with_ones(front(t), rank) : t; }
Tensor BatchCall::padded_spread(const Tensor& t, int64_t rank) const { return with_ones(spread(t), rank); }

int64_t BatchCall::shifted(int64_t d, int64_t rank) {
  const int64_t n = std::max<int64_t>(rank, 1);
  CRESSET_CHECK_INDEX(d >= -n && d < n, "dim is out of range (expected within [", -n, ", ", n - 1, "], but got ", d, ")");
  return (d < 0 ? d + n : d) + 1;
}

void BatchCall::give(const Stack& values, int64_t dim) {
  for (const Value& v : values) results.push_back(map_tensors(v, [&](const Tensor& t) { return wrap(t, dim); }));
}

void check_self_batched(const BatchCall& call) {
  if (call.batched(0)) return;
  const bool arithmetic = !(call.op.flags & dispatch::kViewOp) && call.schema.name != "fill_";
  const std::string name = arithmetic ? "inplace arithmetic" : call.schema.name;
  CRESSET_CHECK(!call.any_batched(1), "vmap: ", name, " would write a batch into a tensor that is not batched; use the form that returns a new tensor");
}

// ---- the fallback -------------------------------------------------------------------------------------------------------

namespace {

void check_no_number(const BatchCall& call) {
  for (const auto& r : call.schema.returns)
    CRESSET_CHECK(r.type.kind == dispatch::TypeKind::Tensor, "vmap: a batch has no single value to branch on; ", call.schema.name,
                  " gives one value for all elements of the batch");
}

Tensor joined(const BatchCall& call, const std::vector<Tensor>& parts) {
  for (const Tensor& t : parts)
    CRESSET_CHECK(t.sizes() == parts[0].sizes(), "vmap: the shape of the result would depend on data (a dynamic shape), in ", call.schema.name);
  return cresset::stack(parts);
}

// Where sizes are open, what is known of them; else null.
SymbolicShapes* open_shapes(const BatchCall& call) {
  SymbolicShapes* found = nullptr;
  for (const Value& v : call.arguments)
    for_each_tensor(v, [&](const Tensor& t) {
      const Tensor& value = physical(t);
      if (is_fake(*value.impl()) && value.has_storage()) found = value.impl()->storage()->fake_mode()->shapes();
    });
  return found;
}

// How many elements there are: from then on a number, where the size was open.
void fix_size(BatchCall& call) {
  SymbolicShapes* const shapes = open_shapes(call);
  if (CRESSET_LIKELY(shapes == nullptr)) return;
  int64_t below = 0, above = 1;
  for (; !shapes->reaches(above, call.size); above *= 2) {
    CRESSET_CHECK(above < call.size, "vmap: ", call.op.name, " has no rule for batches whose number of elements only the data tells");
    below = above;
  }
  while (above - below > 1) {
    const int64_t middle = (below + above) / 2;
    (shapes->reaches(middle, call.size) ? above : below) = middle;
  }
  call.size = below;
}

}  // namespace

void run_by_element(BatchCall& call) {
  check_no_number(call);
  fix_size(call);
  std::vector<Stack> each;
  for (int64_t i = 0; i < std::max<int64_t>(call.size, 1); i++) {
    Stack one;
    for (const Value& v : call.arguments)
      one.push_back(map_tensors(v, [&](const Tensor& t) {
        if (!call.batched(t)) return t;
        const BatchedImpl* b = as_batched(t);
        return call.size > 0 ? b->value().select(b->batch_dim(), i) : cresset::zeros(t.sizes(), t.options());
      }));
    each.push_back(call.run(std::move(one)));
  }
  for (size_t r = 0; r < each[0].size(); r++) {
    const dispatch::Type& type = call.schema.returns[std::min(r, call.schema.returns.size() - 1)].type;
    auto column = [&](auto&& get) {
      std::vector<Tensor> parts;
      for (const Stack& s : each) parts.push_back(get(s[r]));
      if (!parts[0].defined()) return Tensor();
      const Tensor all = joined(call, parts);
      return call.wrap(call.size > 0 ? all : all.narrow(0, 0, 0));
    };
    if (!type.list) {
      call.give_plain(column([](const Value& v) { return v.to_tensor(); }));
      continue;
    }
    std::vector<Tensor> list;
    for (size_t k = 0; k < each[0][r].to_tensor_list().size(); k++) list.push_back(column([&](const Value& v) { return v.to_tensor_list()[k]; }));
    call.give_plain(std::move(list));
  }
}

void rules::depends_on_data(BatchCall& call) {
  CRESSET_CHECK(false, "vmap: the shape of the result would depend on data (a dynamic shape), in ", call.schema.name);
}

// ---- element by element -------------------------------------------------------------------------------------------------

void rules::run_pointwise(BatchCall& call) {
  const bool in_place = call.schema.arguments[0].writes;
  if (in_place) check_self_batched(call);
  int64_t rank = 0;
  ResultType seen, stored;
  for (const Value& v : call.arguments)
    for_each_tensor(v, [&](const Tensor& t) {
      rank = std::max(rank, t.dim());
      seen.add(*t.impl());
    });
  CRESSET_CHECK(!in_place || call.tensor(0).dim() == rank, call.op.name, ": output with shape ", call.tensor(0).sizes(),
                " has fewer dimensions than an operand has");
  Stack values;
  for (const Value& v : call.arguments)
    values.push_back(map_tensors(v, [&](const Tensor& t) {
      const Tensor p = call.padded(t, rank);
      stored.add(*p.impl());
      return p;
    }));
  // A batch of numbers promotes like a number, which its values do not.
  if (const ScalarType wanted = seen.get(); wanted != stored.get())
    for (size_t i = in_place ? 1 : 0; i < values.size(); i++)
      values[i] = map_tensors(values[i], [&](const Tensor& t) { return t.scalar_type() == kBool ? t : t.to(wanted); });
  const Stack found = call.run(std::move(values));
  if (in_place) call.give_plain(call.arguments[0]);
  else call.give(found);
}

// ---- the layer ----------------------------------------------------------------------------------------------------------

BatchRule find_batch_rule(const OpEntry& op) {
  static const auto& rules = *new const std::unordered_map<const OpEntry*, BatchRule>([] {
    std::unordered_map<const OpEntry*, BatchRule> made;
    for (size_t i = 0; i < kNumBatchRows; i++) made.emplace(kBatchRows[i].op, kBatchRows[i].rule);
    return made;
  }());
  const auto at = rules.find(&op);
  return at == rules.end() ? nullptr : at->second;
}
bool is_pointwise(const OpEntry& op) { return find_batch_rule(op) == &rules::run_pointwise; }

namespace {

bool is_in_place(const OpEntry& op, const dispatch::FunctionSchema& schema) {
  return !(op.flags & dispatch::kOutOp) && !schema.arguments.empty() && schema.arguments[0].writes;
}

// By the functional form on the wrappers.
void change_in_place(BatchCall& call) {
  const Tensor self = call.tensor(0);
  check_self_batched(call);
  const bool geometry = call.op.flags & dispatch::kViewOp;
  const OpEntry* functional = call.op.functional;
  if (!functional && geometry) {
    std::string name = call.op.name;
    name.erase(name.find('_', call.schema.name.size() - 1), 1);
    functional = &dispatch::find_op(name).entry();
  }
  if (!functional) {
    run_by_element(call);
    call.results = {call.arguments[0]};
    return;
  }
  Stack values = call.arguments;
  dispatch::call_boxed(*functional, values);
  const Tensor& result = values[0].to_tensor();
  if (geometry) {
    as_batched(self)->adopt(as_batched(result)->value(), as_batched(result)->batch_dim());
  } else {
    CRESSET_CHECK(result.sizes() == self.sizes(), call.op.name, ": output with shape ", self.sizes(), " doesn't match the broadcast shape ", result.sizes());
    CRESSET_CHECK(can_cast(result.scalar_type(), self.scalar_type()), call.op.name, ": result type ", result.scalar_type(), " does not fit the output's dtype ",
                  self.scalar_type());
    Tensor(self).copy_(result);
  }
  call.give_plain(self);
}

}  // namespace

void refuse_escaped(const char* op) {
  cresset::detail::throw_error<Error>(cresset::str("Batching rule not implemented for aten::", op, "; the fallback path doesn't work on out= or view ops."));
}

bool batching_layer(const OpEntry& op, Stack& stack) {
  const dispatch::FunctionSchema& schema = op.function_schema();
  const size_t n = schema.arguments.size();
  uint64_t level = 0;
  for (size_t i = stack.size() - n; i < stack.size(); i++)
    for_each_tensor(stack[i], [&](const Tensor& t) {
      if (const BatchedImpl* b = as_batched(t)) level = std::max(level, b->level());
    });
  if (current_vmap() && run_random(op, stack)) return true;
  const BatchRule rule = level ? find_batch_rule(op) : nullptr;
  if (!rule && autograd::is_composite(op) && (level || current_vmap())) {
    autograd::run_composite(op, stack);
    return true;
  }
  if (!level) return false;
  if ((op.flags & (dispatch::kViewOp | dispatch::kOutOp)) && !current_vmap()) refuse_escaped(op.name);
  if (op.flags & dispatch::kOutOp && op.functional) {
    dispatch::derived_from_functional(op, stack);
    return true;
  }
  BatchCall call(op, autograd::take_arguments(stack, n), level);
  if (!rule && is_in_place(op, schema)) {
    change_in_place(call);
  } else if (!rule && op.slot(OpEntry::decomposition_slot) && open_shapes(call)) {
    // The operators that it is made of have rules: the number of elements stays open.
    call.results = call.arguments;
    autograd::run_composite(op, call.results);
  } else {
    uint8_t outer = 0;
    for (const Value& v : call.arguments) for_each_tensor(v, [&](const Tensor& t) { outer |= call.value(t).impl()->layers(); });
    const bool again = outer & layer_bit(Layer::Vmap);
    const ExcludeLayers below(again ? uint8_t{0} : layer_bit(Layer::Vmap));
    rule ? rule(call) : run_by_element(call);
  }
  for (Value& v : call.results) stack.push_back(std::move(v));
  return true;
}

}  // namespace cresset::func
