// Random operators under vmap: refused, drawn for each element, or the same for all.

#include <cstring>

#include "cresset/autograd/batched.h"
#include "cresset/autograd/forward/forward_layer.h"
#include "cresset/ops/functions.h"
#include "cresset/transform/vmap_layer.h"

namespace cresset::func {

using dispatch::for_each_tensor;
using dispatch::map_tensors;

namespace {

// sized: the batch goes before the sizes asked for. element: one call for each element. batched: one call on the whole batch of
// arguments. in_place: the same, written. mask: like batched, and with the same numbers for all it is drawn for one element.
// composite: by its body, but one call for each element where nothing is batched.
enum class Draw : uint8_t { sized, element, batched, in_place, mask, composite };
struct RandomRow {
  const char* name;  // without the overload
  Draw draw;
};
constexpr RandomRow kRandom[] = {{"rand", Draw::sized},
                                 {"randn", Draw::sized},
                                 {"randint", Draw::sized},
                                 {"normal", Draw::sized},
                                 {"randperm", Draw::element},
                                 {"rand_like", Draw::mask},
                                 {"randn_like", Draw::mask},
                                 {"randint_like", Draw::mask},
                                 {"uniform_", Draw::in_place},
                                 {"normal_", Draw::in_place},
                                 {"log_normal_", Draw::in_place},
                                 {"exponential_", Draw::in_place},
                                 {"cauchy_", Draw::in_place},
                                 {"geometric_", Draw::in_place},
                                 {"bernoulli_", Draw::in_place},
                                 {"_random_", Draw::in_place},
                                 {"_normal", Draw::batched},
                                 {"_bernoulli", Draw::batched},
                                 {"multinomial", Draw::batched},
                                 {"_dropout_noise", Draw::mask},
                                 {"_sample_distribution", Draw::batched},
                                 {"alpha_dropout", Draw::composite},
                                 {"feature_dropout", Draw::composite},
                                 {"feature_alpha_dropout", Draw::composite},
                                 {"_rrelu_noise", Draw::batched}};

const RandomRow* random_row(const dispatch::FunctionSchema& schema, const OpEntry& op) {
  if (schema.ns != "cresset" || (op.flags & dispatch::kOutOp)) return nullptr;
  for (const RandomRow& row : kRandom)
    if (schema.name == row.name) {
      // Of normal only the form with sizes draws by itself.
      if (schema.name == "normal" && schema.argument_index("size") < 0) return nullptr;
      return &row;
    }
  return nullptr;
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
  const RandomRow* row = random_row(schema, op);
  if (!row) return false;
  const VmapLevel& level = *current_vmap();
  // Dropout that draws nothing.
  const size_t first = stack.size() - schema.arguments.size();
  if (schema.name == "_dropout_noise" && !stack[first + 2].is_none() && !stack[first + 2].to_bool()) return false;
  if (row->draw == Draw::composite) {
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
  if (row->draw == Draw::in_place) {
    found = draw_in_place(d, same);
  } else if (same && row->draw == Draw::mask) {
    found = schema.name == "_dropout_noise" && d.batched ? drop_same(d) : d.run(d.one_element());
  } else if (same) {
    CRESSET_CHECK(!d.batched, "vmap: randomness='same' takes no batched input");
    found = d.run(d.arguments);
  } else if (row->draw == Draw::sized) {
    found = draw_sized(d);
  } else if (row->draw == Draw::element || row->draw == Draw::composite) {
    found = draw_each(d);
  } else {
    found = d.wrapped(d.run(d.fronts()));
  }
  for (Value& v : found) stack.push_back(std::move(v));
  return true;
}

}  // namespace cresset::func
