#include "cresset/ops/layout/tensor_data.h"

#include <ostream>
#include <vector>

#include "cresset/ops/functions.h"

namespace cresset::detail {

struct TensorDataContainer::List final : RefCounted {
  std::vector<TensorDataContainer> parts;
};

intrusive_ptr<RefCounted> TensorDataContainer::copied(const TensorDataContainer* list, size_t size) {
  auto parts = make_intrusive<List>();
  parts->parts.assign(list, list + size);
  return parts;
}

const Scalar& TensorDataContainer::scalar() const {
  CRESSET_CHECK(is_scalar(), "Can only call `scalar()` on a TensorDataContainer that has `is_scalar() == true`, got ", is_tensor() ? "a tensor" : "a list");
  return scalar_;
}

ArrayRef<TensorDataContainer> TensorDataContainer::init_list() const {
  CRESSET_CHECK(is_init_list(), "Can only call `init_list()` on a TensorDataContainer that has `is_init_list() == true`, got ",
                is_tensor() ? "a tensor" : "a number");
  if (!list_) return {};
  return static_cast<const List&>(*list_).parts;
}

const Tensor& TensorDataContainer::tensor() const {
  CRESSET_CHECK(is_tensor(), "Can only call `tensor()` on a TensorDataContainer that has `is_tensor() == true`, got ", is_scalar() ? "a number" : "a list");
  return tensor_;
}

void TensorDataContainer::pretty_print_recursive(std::ostream& stream) const {
  if (is_scalar()) {
    stream << scalar_;
    return;
  }
  stream << '{';
  const char* separator = "";
  for (const TensorDataContainer& part : is_init_list() ? init_list() : ArrayRef<TensorDataContainer>()) {
    stream << separator;
    part.pretty_print_recursive(stream);
    separator = ", ";
  }
  for (int64_t i = 0; is_tensor() && i < tensor_.size(0); i++) {
    stream << separator << tensor_[i].item();
    separator = ", ";
  }
  stream << '}';
}

std::ostream& operator<<(std::ostream& stream, const TensorDataContainer& data) {
  data.pretty_print_recursive(stream);
  return stream;
}

}  // namespace cresset::detail
