#pragma once
// Forward mode: tensors that carry tangents, derivatives along a direction that travel with the values.

#include "cresset/autograd/variable.h"

namespace cresset {
namespace autograd {

// Opens a level and returns its number, which is larger than that of every level before it. Any thread may use it.
CRESSET_API uint64_t enter_dual_level();
// Ends the level: all its tangents are gone. Errors: it is not open.
CRESSET_API void exit_dual_level(uint64_t level);

// A level that ends with the scope.
class CRESSET_API DualLevel {
 public:
  DualLevel() : number_(enter_dual_level()) {}
  ~DualLevel() { exit_dual_level(number_); }
  DualLevel(const DualLevel&) = delete;
  DualLevel& operator=(const DualLevel&) = delete;
  uint64_t number() const { return number_; }

 private:
  uint64_t number_;
};

// A view of `primal` that carries `tangent`, of the same shape. Errors: dtypes without derivatives, another shape or device, a
// complex tangent of a real primal, a level that is not open, a primal that has a tangent at this level.
CRESSET_API Tensor make_dual(const Tensor& primal, const Tensor& tangent, uint64_t level);

struct UnpackedDual {
  Tensor primal, tangent;
};
// A view of the values without the tangent of this level, and the tangent; undefined stands for zeros.
CRESSET_API UnpackedDual unpack_dual(const Tensor& t, uint64_t level);
// The tangent alone.
CRESSET_API Tensor tangent_of(const Tensor& t, uint64_t level);
// Whether `t` carries a tangent of any open level.
CRESSET_API bool has_tangent(const Tensor& t);
// The same values without a history for backward, but with all tangents.
CRESSET_API Tensor without_history(const Tensor& t);
// Whether the history of one of `tensors` reaches a leaf that is none of `own`.
CRESSET_API bool depends_on_others(const variable_list& tensors, const variable_list& own);

// Whether operators on this thread propagate tangents.
CRESSET_API bool is_forward_mode_enabled();
CRESSET_API void set_forward_mode_enabled(bool enabled);

// For operators with rules of their own: in the scope of HideTangents, tangents of levels above `limit` are not seen.
class CRESSET_API HideTangents {
 public:
  explicit HideTangents(uint64_t limit);
  ~HideTangents();
  HideTangents(const HideTangents&) = delete;
  HideTangents& operator=(const HideTangents&) = delete;

 private:
  uint64_t saved_;
};
// The largest level that is seen, up to `limit`, at which `t` has a tangent, or 0.
CRESSET_API uint64_t innermost_level(const Tensor& t, uint64_t limit = ~uint64_t{0});
// Makes `value`, brought to the shape, dtype and memory order of `t`, its tangent. Nothing happens at a level that is not open.
CRESSET_API void set_tangent(const Tensor& t, uint64_t level, const Tensor& value);

// Gives `t` the tangents that output `output_nr` of `node` had: for saved outputs.
CRESSET_API void restore_tangents(const Tensor& t, const Node& node, uint32_t output_nr);

}  // namespace autograd
}  // namespace cresset
