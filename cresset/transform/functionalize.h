#pragma once
// functionalize: the same function without changes in place. docs/records/0006-vmap.md.

#include "cresset/transform/func.h"

namespace cresset {
namespace func {

enum class Remove : uint8_t { Mutations, MutationsAndViews };

// The function with every change in place made into a new value; arguments that it changes are written once, at its end. With
// MutationsAndViews its views are copies, too.
CRESSET_API Function functionalize(Function f, Remove remove = Remove::Mutations);

// The scope behind functionalize: in it tensors that operators make are wrappers.
class CRESSET_API FunctionalScope {
 public:
  explicit FunctionalScope(Remove remove);
  ~FunctionalScope();
  FunctionalScope(const FunctionalScope&) = delete;
  FunctionalScope& operator=(const FunctionalScope&) = delete;

 private:
  uint8_t saved_mode_, saved_layers_;
};
// Whether calls on values that calls on wrappers become are heard above all layers again; gives what was set before.
CRESSET_API bool set_values_heard_above(bool on);
// A wrapper of `t`; and the value behind a wrapper, `t` itself if it is none.
CRESSET_API Tensor to_functional(const Tensor& t);
CRESSET_API Tensor from_functional(const Tensor& t);
// Gives the tensor behind a wrapper another value, of its sizes and dtype; views of it see the change.
CRESSET_API void set_functional(const Tensor& wrapper, const Tensor& value);
// Whether the tensor behind the wrapper has been changed since it was made.
CRESSET_API bool is_changed(const Tensor& wrapper);

}  // namespace func
}  // namespace cresset
