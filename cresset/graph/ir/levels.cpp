#include "cresset/graph/ir/levels.h"

#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/ops/functions.h"
#include "cresset/transform/vmap.h"

namespace cresset::graph {

namespace {

using Inputs = const Datum* const*;
enum class LevelKind : uint8_t { Vmap, Jvp, Dual };

// An open level; of forward mode its number.
struct Level {
  LevelKind kind;
  std::unique_ptr<func::VmapLevel> batch;
  uint64_t number = 0;
  bool was_enabled = false;
};

std::vector<Level>& levels() {
  thread_local std::vector<Level> open;
  return open;
}

void end_level() {
  const Level& last = levels().back();
  if (last.kind != LevelKind::Vmap) {
    autograd::exit_dual_level(last.number);
    autograd::set_forward_mode_enabled(last.was_enabled);
  }
  levels().pop_back();
}
void end_level(LevelKind kind, const char* name) {
  CRESSET_CHECK(!levels().empty() && levels().back().kind == kind, name, ": the innermost level is not one that it ends");
  end_level();
}

const func::VmapLevel& batch_at(const Datum& level, const char* name) {
  const int64_t place = level.to_int();
  const bool is_open = place >= 1 && static_cast<size_t>(place) <= levels().size() && levels()[static_cast<size_t>(place) - 1].batch;
  CRESSET_CHECK(is_open, name, ": expected a level of vmap that is open, got ", place, " of ", levels().size());
  return *levels()[static_cast<size_t>(place) - 1].batch;
}
uint64_t dual_number(const char* name) {
  for (size_t i = levels().size(); i > 0; i--)
    if (levels()[i - 1].kind != LevelKind::Vmap) return levels()[i - 1].number;
  CRESSET_CHECK(false, name, ": no level of forward mode is open");
  return 0;
}
const Tensor& level_tensor(const Datum& v, const char* name) {
  CRESSET_CHECK_TYPE(v.is_tensor() && v.to_tensor().defined(), name, ": expected a tensor, got ", v.kind());
  return v.to_tensor();
}

void begin_vmap(Inputs in, size_t, Datum& out) {
  const std::string mode = in[1]->to_string();
  CRESSET_CHECK_VALUE(mode == "error" || mode == "different" || mode == "same", "ir::begin_vmap: expected randomness error, different or same, got ", mode);
  const func::Randomness randomness = mode == "error" ? func::Randomness::Error : mode == "different" ? func::Randomness::Different : func::Randomness::Same;
  levels().push_back({LevelKind::Vmap, std::make_unique<func::VmapLevel>(in[0]->to_int(), randomness)});
  out = Datum(static_cast<int64_t>(levels().size()));
}
void end_vmap(Inputs, size_t, Datum& out) {
  const auto depth = static_cast<int64_t>(levels().size());
  end_level(LevelKind::Vmap, "ir::end_vmap");
  out = Datum(depth);
}
void element(Inputs in, size_t, Datum& out) {
  out = Datum(batch_at(*in[2], "ir::element_of_batch").wrap(level_tensor(*in[0], "ir::element_of_batch"), in[1]->to_int()));
}
void batch(Inputs in, size_t, Datum& out) {
  out = Datum(batch_at(*in[1], "ir::batch_of_element").unwrap(level_tensor(*in[0], "ir::batch_of_element"), in[3]->to_int()));
}

void open_dual(LevelKind kind) {
  Level level{kind, nullptr, autograd::enter_dual_level(), autograd::is_forward_mode_enabled()};
  autograd::set_forward_mode_enabled(true);
  levels().push_back(std::move(level));
}
void begin_jvp(Inputs, size_t, Datum& out) {
  open_dual(LevelKind::Jvp);
  out = Datum(static_cast<int64_t>(levels().size()));
}
void end_jvp(Inputs, size_t, Datum& out) {
  const auto depth = static_cast<int64_t>(levels().size());
  end_level(LevelKind::Jvp, "ir::end_jvp");
  out = Datum(depth);
}
// The level of a jvp is one of forward mode already.
bool is_in_jvp() { return !levels().empty() && levels().back().kind == LevelKind::Jvp; }
void begin_dual(Inputs, size_t, Datum& out) {
  if (!is_in_jvp()) open_dual(LevelKind::Dual);
  out = Datum(int64_t{0});
}
void end_dual(Inputs, size_t, Datum& out) {
  if (!is_in_jvp()) end_level(LevelKind::Dual, "ir::end_dual");
  out = Datum();
}
void dual(Inputs in, size_t, Datum& out) {
  out = Datum(autograd::make_dual(level_tensor(*in[0], "ir::make_dual"), level_tensor(*in[1], "ir::make_dual"), dual_number("ir::make_dual")));
}
void dual_value(Inputs in, size_t, Datum& out) {
  out = Datum(autograd::unpack_dual(level_tensor(*in[0], "ir::dual_value"), dual_number("ir::dual_value")).primal);
}
void dual_tangent(Inputs in, size_t, Datum& out) {
  const autograd::UnpackedDual parts = autograd::unpack_dual(level_tensor(*in[0], "ir::dual_tangent"), dual_number("ir::dual_tangent"));
  out = Datum(parts.tangent.defined() ? parts.tangent : cresset::zeros_like(parts.primal));
}

}  // namespace

LevelScope::LevelScope() : depth_(levels().size()) {}
LevelScope::~LevelScope() {
  while (levels().size() > depth_) end_level();
}

std::vector<Builtin> level_builtins() {
  constexpr TypeKind kNumber = TypeKind::Int, kTensor = TypeKind::Tensor;
  const auto row = [](const char* name, int min, int max, TypeKind result, void (*run)(Inputs, size_t, Datum&)) {
    return Builtin{name, min, max, result, false, run};
  };
  return {row("ir::begin_vmap", 2, 2, kNumber, begin_vmap),    row("ir::end_vmap", 0, 0, kNumber, end_vmap),
          row("ir::element_of_batch", 3, 3, kTensor, element), row("ir::batch_of_element", 4, 4, kTensor, batch),
          row("ir::begin_jvp", 0, 0, kNumber, begin_jvp),      row("ir::end_jvp", 0, 0, kNumber, end_jvp),
          row("ir::begin_dual", 0, 0, kNumber, begin_dual),    row("ir::end_dual", 0, 1, TypeKind::None, end_dual),
          row("ir::make_dual", 2, 3, kTensor, dual),           row("ir::dual_value", 1, 2, kTensor, dual_value),
          row("ir::dual_tangent", 1, 2, kTensor, dual_tangent)};
}

}  // namespace cresset::graph
