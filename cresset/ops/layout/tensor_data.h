#pragma once
// The argument of torch::tensor as a value of its own: a number, nested lists, or a row of numbers as a tensor.

#include <initializer_list>
#include <iosfwd>
#include <vector>

#include "cresset/ops/layout/from_data.h"

namespace cresset::detail {

class CRESSET_API TensorDataContainer {
 public:
  TensorDataContainer() : kind_(Kind::list) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>> TensorDataContainer(T value) : kind_(Kind::number), scalar_(value) {}
  TensorDataContainer(std::initializer_list<TensorDataContainer> list) : kind_(Kind::list), list_(copied(list.begin(), list.size())) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>> TensorDataContainer(ArrayRef<T> values)
      : kind_(Kind::tensor), tensor_(cresset::tensor(TensorData(values))) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>> TensorDataContainer(const std::vector<T>& values)
      : TensorDataContainer(ArrayRef<T>(values)) {}

  bool is_scalar() const { return kind_ == Kind::number; }
  bool is_init_list() const { return kind_ == Kind::list; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  // Errors, of all three: it holds something else.
  const Scalar& scalar() const;
  ArrayRef<TensorDataContainer> init_list() const;
  const Tensor& tensor() const;
  void pretty_print_recursive(std::ostream& stream) const;

 private:
  enum class Kind : uint8_t { number, list, tensor };
  Kind kind_;
  Scalar scalar_;
  struct List;
  static intrusive_ptr<RefCounted> copied(const TensorDataContainer* list, size_t size);
  intrusive_ptr<RefCounted> list_;
  Tensor tensor_;
};

// Lists in braces.
CRESSET_API std::ostream& operator<<(std::ostream& stream, const TensorDataContainer& data);

}  // namespace cresset::detail
