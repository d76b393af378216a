#pragma once
#include <functional>
#include <string>

#include "cresset/base/util/type_index.h"
#include "torch/detail/tensor.h"
namespace caffe2 {
using cresset::TypeIdentifier;
using cresset::TypeMeta;
namespace detail {
using cresset::detail::_CopyNotAllowed;
}
}  // namespace caffe2
#define CAFFE_KNOWN_TYPE(T) static_assert(sizeof(::caffe2::TypeMeta) > 0)
#define CAFFE_KNOWN_TYPE_NOEXPORT(T) CAFFE_KNOWN_TYPE(T)
#define CAFFE_DECLARE_KNOWN_TYPE(T) CAFFE_KNOWN_TYPE(T)
#define CAFFE_DEFINE_KNOWN_TYPE(T, ident) CAFFE_KNOWN_TYPE(T)
