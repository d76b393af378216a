// Rules of convolutions, pooling, normalisation and losses: the batch goes into the dimension of examples, of channels or of
// groups.

#include "cresset/ops/functions.h"
#include "cresset/transform/vmap_rules.h"

namespace cresset::func::rules {

using OptionalTensor = std::optional<Tensor>;

static OptionalTensor optional_of(const Value& v) { return v.is_none() || !v.to_tensor().defined() ? OptionalTensor() : OptionalTensor(v.to_tensor()); }

// (batch, n, ...) as (batch * n, ...).
static Tensor folded(const Tensor& all) { return all.flatten(0, 1); }
static Tensor unfolded(const BatchCall& c, const Tensor& t, int64_t dim, int64_t n) { return t.unflatten(dim, {c.size, n}); }

// The first tensors among the arguments have `Rank` dimensions with one for examples, or one fewer without.
template <size_t Tensors, int64_t Spatial> void fold_examples(BatchCall& c) {
  const bool has_examples = c.tensor(0).dim() == Spatial + 2;
  if (c.size == 0 || (has_examples && c.tensor(0).size(0) == 0)) return run_by_element(c);
  Stack values = c.arguments;
  for (size_t i = 0; i < Tensors; i++) {
    const Tensor all = c.spread(c.tensor(i));
    values[i] = has_examples ? folded(all) : all;
  }
  Stack found = c.run(std::move(values));
  if (has_examples)
    for (Value& v : found) v = unfolded(c, v.to_tensor(), 0, c.tensor(0).size(0));
  c.give(found);
}

// The number of spatial dimensions is that of the list at argument `List`.
template <size_t Tensors, size_t List> void fold_by_list(BatchCall& c) {
  switch (c.arguments[List].to_int_list().size()) {
    case 1: return fold_examples<Tensors, 1>(c);
    case 2: return fold_examples<Tensors, 2>(c);
    case 3: return fold_examples<Tensors, 3>(c);
    default: run_by_element(c);
  }
}
// ... or argument `Number`.
template <size_t Tensors, size_t Number> void fold_by_number(BatchCall& c) {
  switch (c.arguments[Number].to_int()) {
    case 1: return fold_examples<Tensors, 1>(c);
    case 2: return fold_examples<Tensors, 2>(c);
    case 3: return fold_examples<Tensors, 3>(c);
    default: run_by_element(c);
  }
}

// Padding goes by the last dimensions.
void pad(BatchCall& c) {
  Stack values = c.arguments;
  CRESSET_CHECK(static_cast<int64_t>(c.arguments[1].to_int_list().size()) <= 2 * c.tensor(0).dim(), c.schema.name,
                ": pad has more than two numbers for each dimension of the input");
  values[0] = c.front(c.tensor(0));
  c.give(c.run(std::move(values)));
}

// ---- convolutions -------------------------------------------------------------------------------------------------------

namespace {
struct Conv {
  bool transposed;
  int64_t groups;
};
}  // namespace
static Conv conv_of(const BatchCall& c, size_t transposed) { return {c.arguments[transposed].to_bool(), c.arguments[transposed + 2].to_int()}; }

// (batch, n, channels, ...) as (n, batch * channels, ...): groups of each element beside those of the others.
static Tensor batch_in_channels(const Tensor& all) { return all.transpose(0, 1).flatten(1, 2); }
static Tensor channels_apart(const BatchCall& c, const Tensor& t) { return unfolded(c, t, 1, t.size(1) / c.size); }

void convolution(BatchCall& c) {
  const Tensor &input = c.tensor(0), &weight = c.tensor(1);
  const auto [transposed, groups] = conv_of(c, 6);
  const OptionalTensor bias = optional_of(c.arguments[2]);
  if (c.size == 0 || input.numel() == 0 || weight.numel() == 0) return run_by_element(c);
  Stack values = c.arguments;
  const bool plain_bias = !bias || !c.batched(*bias);
  if (!c.batched(weight) && plain_bias) {
    values[0] = folded(c.front(input));
    return c.give(unfolded(c, c.run(std::move(values))[0].to_tensor(), 0, input.size(0)));
  }
  values[2] = Value();
  Tensor found;
  int64_t dim = 1;
  if (!c.batched(weight)) {
    values[0] = c.batched(input) ? folded(c.front(input)) : input;
    found = c.run(std::move(values))[0].to_tensor();
    if (c.batched(input)) found = unfolded(c, found, 0, input.size(0));
    dim = c.batched(input) ? 0 : -1;
  } else if (!c.batched(input)) {
    // More output channels of each group.
    const Tensor all = c.front(weight);
    if (transposed) values[1] = all.movedim(0, 1).flatten(1, 2);
    else values[1] = all.unflatten(1, {groups, weight.size(0) / groups}).movedim(0, 1).flatten(0, 2);
    found = c.run(std::move(values))[0].to_tensor();
    const int64_t out = found.size(1) / c.size;
    found = found.unflatten(1, {groups, c.size, out / groups}).movedim(2, 1).flatten(2, 3);
  } else {
    values[0] = batch_in_channels(c.front(input));
    values[1] = folded(c.front(weight));
    values[8] = c.size * groups;
    found = channels_apart(c, c.run(std::move(values))[0].to_tensor());
  }
  if (bias) {
    // (batch or 1, channels, ...) beside (n, batch, channels, ...) or what else there is.
    Tensor b = c.front(*bias);
    for (int64_t d = 2; d < input.dim(); d++) b = b.unsqueeze(-1);
    if (dim == -1) {
      found = found.unsqueeze(1);
      dim = 1;
    }
    if (c.batched(*bias) && dim == 0) b = b.unsqueeze(1);
    found = found + b;
  }
  c.give(found, dim);
}

static std::vector<int64_t> sizes_with(const Value& sizes, size_t at, int64_t factor) {
  std::vector<int64_t> list = sizes.to_int_list();
  list[at] *= factor;
  return list;
}

void convolution_grad_input(BatchCall& c) {
  const Tensor &grad = c.tensor(0), &weight = c.tensor(1);
  if (c.size == 0 || grad.numel() == 0 || weight.numel() == 0) return run_by_element(c);
  Stack values = c.arguments;
  if (!c.batched(weight)) {
    values[0] = folded(c.front(grad));
    values[2] = sizes_with(c.arguments[2], 0, c.size);
    return c.give(unfolded(c, c.run(std::move(values))[0].to_tensor(), 0, grad.size(0)));
  }
  values[0] = batch_in_channels(c.spread(grad));
  values[1] = folded(c.front(weight));
  values[2] = sizes_with(c.arguments[2], 1, c.size);
  values[8] = c.size * conv_of(c, 6).groups;
  c.give(channels_apart(c, c.run(std::move(values))[0].to_tensor()), 1);
}

void convolution_grad_weight(BatchCall& c) {
  const Tensor &grad = c.tensor(0), &input = c.tensor(1);
  if (c.size == 0 || grad.numel() == 0 || input.numel() == 0) return run_by_element(c);
  Stack values = c.arguments;
  values[0] = batch_in_channels(c.spread(grad));
  values[1] = batch_in_channels(c.spread(input));
  values[2] = sizes_with(c.arguments[2], 0, c.size);
  values[8] = c.size * conv_of(c, 6).groups;
  const Tensor found = c.run(std::move(values))[0].to_tensor();
  c.give(unfolded(c, found, 0, found.size(0) / c.size));
}

// ---- normalisation ------------------------------------------------------------------------------------------------------

static bool is_batched(const BatchCall& c, const OptionalTensor& t) { return t && c.batched(*t); }

// `t` of one number for each of the last dimensions, beside values with the batch first.
static Tensor beside(const BatchCall& c, const Tensor& t, int64_t rank) { return c.padded(t, rank); }

void layer_norm(BatchCall& c) {
  const Tensor& input = c.tensor(0);
  const OptionalTensor weight = optional_of(c.arguments[2]), bias = optional_of(c.arguments[3]);
  Stack values = c.arguments;
  values[0] = c.spread(input);
  if (!is_batched(c, weight) && !is_batched(c, bias)) return c.give(c.run(std::move(values)));
  values[2] = values[3] = Value();
  Stack found = c.run(std::move(values));
  Tensor out = found[0].to_tensor();
  if (weight) out = out * beside(c, *weight, input.dim());
  if (bias) out = out + beside(c, *bias, input.dim());
  found[0] = out.to(input.scalar_type());
  c.give(found);
}

// One number for each channel, beside (batch, n, channels, ...).
static Tensor by_channel(const BatchCall& c, const Tensor& t, int64_t rank) {
  Tensor all = c.front(t);
  if (c.batched(t)) all = all.unsqueeze(1);
  for (int64_t d = 2; d < rank; d++) all = all.unsqueeze(-1);
  return all;
}

void group_norm(BatchCall& c) {
  const Tensor& input = c.tensor(0);
  const OptionalTensor weight = optional_of(c.arguments[1]), bias = optional_of(c.arguments[2]);
  if (c.size == 0 || input.numel() == 0) return run_by_element(c);
  Stack values = c.arguments;
  values[0] = folded(c.spread(input));
  values[3] = c.arguments[3].to_int() * c.size;
  const bool apart = is_batched(c, weight) || is_batched(c, bias);
  if (apart) values[1] = values[2] = Value();
  Stack found = c.run(std::move(values));
  for (Value& v : found) v = unfolded(c, v.to_tensor(), 0, input.size(0));
  if (apart) {
    Tensor out = found[0].to_tensor();
    if (weight) out = out * by_channel(c, *weight, input.dim());
    if (bias) out = out + by_channel(c, *bias, input.dim());
    found[0] = out.to(input.scalar_type());
  }
  c.give(found);
}

void batch_norm(BatchCall& c) {
  const Tensor& input = c.tensor(0);
  if (c.size == 0 || input.numel() == 0) return run_by_element(c);
  const bool training = c.arguments[5].to_bool();
  bool shared = true;
  for (size_t i = 1; i < 5; i++) shared = shared && !is_batched(c, optional_of(c.arguments[i]));
  const OptionalTensor mean = optional_of(c.arguments[3]), var = optional_of(c.arguments[4]);
  CRESSET_CHECK(!training || ((!mean || c.batched(*mean)) && (!var || c.batched(*var))),
                "vmap: a batch norm in training would write statistics of a batch into running_mean or running_var, which are not batched;\n"
                "use track_running_stats=False or replace_all_batch_norm_modules_");
  Stack values = c.arguments;
  if (!training && shared) {
    values[0] = folded(c.front(input));
    Stack found = c.run(std::move(values));
    c.give(unfolded(c, found[0].to_tensor(), 0, input.size(0)));
    for (size_t i = 1; i < found.size(); i++) c.give_plain(found[i]);
    return;
  }
  values[0] = batch_in_channels(c.spread(input));
  for (size_t i = 1; i < 5; i++)
    if (const OptionalTensor t = optional_of(c.arguments[i])) values[i] = c.spread(*t).reshape({-1});
  Stack written = values;
  Stack found = c.run(std::move(values));
  // Flattening may have copied what is updated.
  for (size_t i = 3; training && i < 5; i++)
    if (const OptionalTensor t = optional_of(c.arguments[i]); t && !c.front(*t).is_contiguous())
      c.front(*t).copy_(written[i].to_tensor().view(c.front(*t).sizes()));
  c.give(channels_apart(c, found[0].to_tensor()), 1);
  for (size_t i = 1; i < found.size(); i++) {
    const Tensor& t = found[i].to_tensor();
    if (t.numel() == 0) c.give_plain(t);
    else c.give(unfolded(c, t, 0, t.size(0) / c.size));
  }
}

// ---- losses -------------------------------------------------------------------------------------------------------------

constexpr int64_t kNone = 0, kMean = 1;

// Classes are those of dimension 1, or 0 of one example. The loss of each example at once, then what is asked for of each element.
void class_loss(BatchCall& c) {
  const Tensor &self = c.tensor(0), &target = c.tensor(1);
  const OptionalTensor weight = optional_of(c.arguments[2]);
  const int64_t reduction = c.arguments[3].to_int(), ignored = c.arguments[4].to_int();
  if (c.size == 0 || self.numel() == 0 || is_batched(c, weight)) return run_by_element(c);
  const bool has_examples = self.dim() > 1;
  Stack values = c.arguments;
  for (const size_t i : {0, 1}) values[i] = has_examples ? folded(c.spread(c.tensor(i))) : c.spread(c.tensor(i));
  values[3] = kNone;
  Stack found = c.run(std::move(values));
  const Tensor at = c.spread(target);
  Tensor out = found[0].to_tensor().view(at.sizes());
  const Tensor counted = at != ignored;
  const Tensor each =
      weight ? weight->index_select(0, at.clamp(0, weight->size(0) - 1).flatten().to(kLong)).view(at.sizes()) * counted : counted.to(self.scalar_type());
  const Tensor total = each.reshape({c.size, -1}).sum(1);
  if (reduction != kNone) out = out.reshape({c.size, -1}).sum(1);
  if (reduction == kMean) out = out / total;
  c.give(out);
  reduction == kNone ? c.give_plain(found[1]) : c.give(total);
  for (size_t i = 2; i < found.size(); i++) c.give(has_examples ? unfolded(c, found[i].to_tensor(), 0, self.size(0)) : found[i].to_tensor());
}

template void fold_examples<1, 2>(BatchCall& c);
template void fold_examples<1, 3>(BatchCall& c);
template void fold_by_list<1, 1>(BatchCall& c);
template void fold_by_number<2, 2>(BatchCall& c);
template void fold_by_number<2, 8>(BatchCall& c);

}  // namespace cresset::func::rules
