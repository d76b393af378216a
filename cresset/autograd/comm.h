#pragma once
// A tensor in parts on several devices, and the parts joined on one. Gradients go the other way.

#include <optional>
#include <vector>

#include "cresset/autograd/variable.h"
#include "cresset/dispatch/op.h"

namespace cresset::autograd {

// Cuts its one input along `dim` into a part for each device: of `chunk_sizes`, or as equal as they come.
struct CRESSET_API Scatter {
  explicit Scatter(std::vector<Device> devices, std::optional<std::vector<int64_t>> chunk_sizes = std::nullopt, int64_t dim = 0)
      : devices_(std::move(devices)), chunk_sizes_(std::move(chunk_sizes)), dim_(dim) {}
  variable_list apply(variable_list&& inputs) const;

  std::vector<Device> devices_;
  std::optional<std::vector<int64_t>> chunk_sizes_;
  int64_t dim_;
};

// Joins its inputs along `dim` on a device.
struct CRESSET_API Gather {
  explicit Gather(const Device& destination, int64_t dim = 0) : destination_(destination), dim_(dim) {}
  variable_list apply(variable_list&& inputs) const;

  Device destination_;
  int64_t dim_;
};

}  // namespace cresset::autograd
