// Random operators under vmap: refused, drawn for each element, or the same for all.

#include <unordered_map>

#include "cresset/autograd/batched.h"
#include "cresset/autograd/forward/forward_layer.h"
#include "cresset/ops/functions.h"
#include "cresset/transform/vmap_rules.h"

namespace cresset::func {

using dispatch::for_each_tensor;
using dispatch::map_tensors;

namespace {

const Draw* draw_of(const OpEntry& op) {
  static const auto& all = *new const std::unordered_map<const OpEntry*, Draw>([] {
    std::unordered_map<const OpEntry*, Draw> rows;
    for (size_t i = 0; i < kNumDrawRows; i++) rows.emplace(kDrawRows[i].op, kDrawRows[i].draw);
    return rows;
  }());
  const auto at = all.find(&op);
  return at == all.end() ? nullptr : &at->second;
}

struct Drawing {
  const OpEntry& op;
  const dispatch::FunctionSchema& schema;
  const VmapLevel& level;
  Stack arguments;
  bool batched = false;

  Stack run(Stack values) const {
    const WithinVmap outside(level.outer());
    dispatch::call_boxed(op, values);
    return values;
  }
  bool at_level(const Tensor& t) const {
    const BatchedImpl* b = as_batched(t);
    return b && b->level() == level.number();
  }
  // The arguments with the batch first, of equal ranks.
  Stack fronts() const {
    int64_t rank = 0;
    for (const Value& v : arguments) for_each_tensor(v, [&](const Tensor& t) { rank = std::max(rank, t.dim()); });
    Stack values;
    for (const Value& v : arguments)
      values.push_back(map_tensors(v, [&](const Tensor& t) {
        Tensor all = autograd::without_level(t, level.number(), level.batch_size(), 0);
        while (all.dim() < rank + 1) all = all.unsqueeze(1);
        return all;
      }));
    return values;
  }
  Stack one_element() const {
    Stack values;
    for (const Value& v : arguments)
      values.push_back(map_tensors(v, [&](const Tensor& t) { return at_level(t) ? cresset::empty(t.sizes(), t.options()) : t; }));
    return values;
  }
  Stack wrapped(const Stack& found) const {
    Stack out;
    for (const Value& v : found) out.push_back(map_tensors(v, [&](const Tensor& t) { return make_batched(t, 0, level.number()); }));
    return out;
  }
};

Stack draw_sized(const Drawing& d) {
  Stack values = d.arguments;
  Value& size = values[static_cast<size_t>(d.schema.argument_index("size"))];
  std::vector<int64_t> sizes = size.to_int_list();
  sizes.insert(sizes.begin(), d.level.batch_size());
  size = sizes;
  return d.wrapped(d.run(std::move(values)));
}

Stack draw_each(const Drawing& d) {
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < d.level.batch_size(); i++) parts.push_back(d.run(d.arguments)[0].to_tensor());
  return d.wrapped({cresset::stack(parts)});
}

// Of an operator that draws for each row of a matrix: the rows of all elements, as one matrix.
Stack draw_rows(const Drawing& d) {
  Stack values = d.fronts();
  const Tensor all = values[0].to_tensor();
  values[0] = all.reshape({-1, all.size(-1)});
  const Tensor found = d.run(std::move(values))[0].to_tensor();
  DimVector shape(all.sizes());
  shape[shape.size() - 1] = found.size(-1);
  return d.wrapped({found.reshape(shape)});
}

// Values and mask by hand, as the same mask goes for all.
Stack drop_same(const Drawing& d) {
  Stack values = d.one_element();
  values[0] = cresset::ones(d.arguments[0].to_tensor().sizes(), d.arguments[0].to_tensor().options());
  const Stack found = d.run(std::move(values));
  return {d.arguments[0].to_tensor() * found[0].to_tensor(), found[1]};
}

Stack draw_in_place(const Drawing& d, bool same) {
  const Tensor& self = d.arguments[0].to_tensor();
  if (!d.at_level(self)) {
    CRESSET_CHECK(same && !d.batched, "vmap: different random numbers cannot be written into one tensor that is not batched");
    return d.run(d.arguments);
  }
  if (!same) {
    d.run(d.fronts());
    return {self};
  }
  Stack values = d.arguments;
  const Tensor one = cresset::empty(self.sizes(), self.options());
  values[0] = one;
  for (size_t i = 1; i < values.size(); i++)
    for_each_tensor(values[i], [&](const Tensor& t) { CRESSET_CHECK(!d.at_level(t), "vmap: randomness='same' takes no batched input"); });
  d.run(std::move(values));
  Tensor(self).copy_(one);
  return {self};
}

}  // namespace

bool run_random(const OpEntry& op, Stack& stack) {
  const dispatch::FunctionSchema& schema = op.function_schema();
  const Draw* const found_draw = draw_of(op);
  if (!found_draw) return false;
  const Draw draw = *found_draw;
  const VmapLevel& level = *current_vmap();
  // Dropout that draws nothing.
  const size_t first = stack.size() - schema.arguments.size();
  if (draw == Draw::dropout && !stack[first + 2].is_none() && !stack[first + 2].to_bool()) return false;
  if (draw == Draw::composite) {
    bool batched = level.randomness() != Randomness::Different;
    for (size_t i = first; i < stack.size(); i++) for_each_tensor(stack[i], [&](const Tensor& t) { batched = batched || as_batched(t); });
    if (batched) return false;
  }
  CRESSET_CHECK(level.randomness() != Randomness::Error, "vmap: got a random op under randomness='error'; call vmap with ",
                "randomness='same' or 'different', or draw the numbers outside of it");
  const bool same = level.randomness() == Randomness::Same;
  Drawing d{op, schema, level, autograd::take_arguments(stack, schema.arguments.size())};
  for (const Value& v : d.arguments) for_each_tensor(v, [&](const Tensor& t) { d.batched = d.batched || d.at_level(t); });
  Stack found;
  if (draw == Draw::in_place) {
    found = draw_in_place(d, same);
  } else if (same && (draw == Draw::mask || draw == Draw::dropout)) {
    found = draw == Draw::dropout && d.batched ? drop_same(d) : d.run(d.one_element());
  } else if (same) {
    CRESSET_CHECK(!d.batched, "vmap: randomness='same' takes no batched input");
    found = d.run(d.arguments);
  } else if (draw == Draw::sized) {
    found = draw_sized(d);
  } else if (draw == Draw::element || draw == Draw::composite) {
    found = draw_each(d);
  } else if (draw == Draw::rows) {
    found = draw_rows(d);
  } else {
    found = d.wrapped(d.run(d.fronts()));
  }
  for (Value& v : found) stack.push_back(std::move(v));
  return true;
}

}  // namespace cresset::func
