#include "cresset/autograd/saved_arguments.h"

namespace cresset::autograd {

Tensor cloned(const Tensor& t) {
  const ExcludeLayers below(kAutogradLayer);
  return t.clone();
}

}  // namespace cresset::autograd
