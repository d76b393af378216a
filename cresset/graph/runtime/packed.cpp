// Convolutions and linear maps whose constant weight is kept packed.

#include "cresset/graph/runtime/packed.h"

#include "cresset/dispatch/op.h"
#include "cresset/ops/conv/packed.h"

namespace cresset::graph {

namespace {

// The result of the kernel that reads the packed weight; where layers are awake, or the input asks for another path, the operator itself.
template <class Layer> uint32_t step_packed(Machine& m, const Instruction& i, uint32_t at) {
  const auto* const input = std::get_if<Tensor>(&m.registers[i.first].data());
  if (CRESSET_UNLIKELY(!input || !input->defined())) return step_boxed(m, i, at);
  dispatch::Key key;
  key.add(*input);
  if (((key.layers | m.layers.included) & ~m.layers.excluded) != 0 || key.backend != 0) return step_boxed(m, i, at);
  Tensor result = (*static_cast<const Layer*>(i.prepared))(*input);
  if (!result.defined()) return step_boxed(m, i, at);
  put(m.registers[i.out], std::move(result));
  return finish(m, i, at);
}

}  // namespace

TypedCall find_packed_call(const Node& n, const std::vector<const Datum*>& constants) {
  if (!n.attributes().count(kKeepsPacked) || constants.size() < 3 || constants[0]) return {};
  for (size_t i = 1; i < constants.size(); i++)
    if (!constants[i]) return {};
  const std::string name = n.op_name();
  const Tensor weight = constants[1]->to_tensor();
  const std::optional<Tensor> bias = constants[2]->is_none() ? std::nullopt : std::optional<Tensor>(constants[2]->to_tensor());
  if (!weight.defined()) return {};
  if (name == "linear") return {step_packed<ops::PackedLinear>, std::make_shared<ops::PackedLinear>(weight, bias)};
  if (constants.size() != 7 || !constants[4]->isIntList()) return {};
  const auto sizes = [&](size_t i) { return constants[i]->toIntVector(); };
  return {step_packed<ops::PackedConv>, std::make_shared<ops::PackedConv>(weight, bias, sizes(3), sizes(4), sizes(5), constants[6]->to_int())};
}

}  // namespace cresset::graph
