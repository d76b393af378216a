#pragma once
// Values that a node keeps for backward, by the names of the operator's arguments and results, for those who look at a graph.

#include <string>

#include "cresset/autograd/saved/saved_arguments.h"
#include "cresset/autograd/saved/saved_variable.h"
#include "cresset/base/scalar.h"

namespace cresset {
namespace autograd {

class CRESSET_API SavedFields {
 public:
  virtual ~SavedFields() = default;

  virtual void field(const char* name, SavedVariable& tensor) = 0;
  virtual void field(const char* name, std::vector<SavedVariable>& tensors) = 0;
  virtual void field(const char* name, const Scalar& number) = 0;
  virtual void field(const char* name, IntArrayRef numbers) = 0;
  virtual void field(const char* name, ArrayRef<double> numbers) = 0;
  virtual void field(const char* name, const std::string& text) = 0;
  virtual void none(const char* name) = 0;
  // A tensor of which the node keeps the sizes alone.
  virtual void geometry(const char* name, const SavedGeometry& tensor) = 0;

  void field(const char* name, const SavedGeometry& tensor) { geometry(name, tensor); }
  void field(const char* name, const DimVector& numbers) { field(name, IntArrayRef(numbers)); }
  void field(const char* name, const std::vector<double>& numbers) { field(name, ArrayRef<double>(numbers)); }
  void field(const char* name, int64_t number) { field(name, Scalar(number)); }
  void field(const char* name, double number) { field(name, Scalar(number)); }
  void field(const char* name, bool value) { field(name, Scalar(value)); }
  template <class T> void field(const char* name, const std::optional<T>& value) {
    if (value) field(name, *value);
    else none(name);
  }
  // Members that have no value in Python.
  template <class T> void field(const char*, const std::vector<T>&) {}
};

}  // namespace autograd
}  // namespace cresset
