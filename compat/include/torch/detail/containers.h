#pragma once
#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/dispatch/values/weak_value.h"
#include "torch/detail/tensor.h"
namespace c10 {
using std::string;
using WeakIValue = cresset::dispatch::WeakValue;
using cresset::Dict;
using cresset::List;
using cresset::dispatch::GenericDict;
using cresset::dispatch::GenericList;
namespace impl {
using cresset::toGenericDict;
using cresset::toList;
using cresset::toTypedDict;
using cresset::toTypedList;
using cresset::dispatch::GenericDict;
using cresset::dispatch::GenericList;
}  // namespace impl
namespace ivalue {
using Tuple = cresset::dispatch::TupleObject;
}
}  // namespace c10
namespace at {
using c10::Dict;
using c10::List;
namespace ivalue = c10::ivalue;
}  // namespace at
namespace torch {
using c10::Dict;
using c10::List;
}  // namespace torch
