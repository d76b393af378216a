#include "cresset/autograd/saved/saved_arguments.h"

namespace cresset::autograd {

Tensor cloned(const Tensor& t) {
  // Recorded: a second derivative goes through the old value too.
  return t.clone();
}

}  // namespace cresset::autograd
