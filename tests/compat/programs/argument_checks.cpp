// Checks of a kernel's arguments, as operators of torchvision and other extensions make them.
#include <ATen/ATen.h>
#include <ATen/TensorUtils.h>

#include <iostream>
#include <string>

#include "expect.h"

namespace {

// `said` is part of the error; "" where there is to be none.
template <class F> void expect(const std::string& said, F check) {
  std::string got;
  try {
    check();
  } catch (const c10::Error& e) { got = e.what_without_backtrace(); }
  if (said.empty() ? !got.empty() : got.find(said) == std::string::npos) failures++, std::cerr << "expected \"" << said << "\", got \"" << got << "\"\n";
}

}  // namespace

int main() {
  const at::Tensor image = at::ones({2, 3}), turned = at::ones({3, 2}).t(), whole = at::ones({2, 3}, at::kLong);
  const at::TensorArg a{image, "image", 1}, b{turned, "turned", 2}, n{whole, "whole", 3}, none{at::Tensor(), "none", 4};
  const at::CheckedFrom c = "crop";
  expect("", [&] {
    at::checkDim(c, a, 2);
    at::checkDim(c, image, "image", 1, 2);
    at::checkDimRange(c, a, 1, 3);
    at::checkSameDim(c, a, b);
    at::checkSize(c, a, {2, 3});
    at::checkSize(c, a, 1, 3);
    at::checkNumel(c, b, 6);
    at::checkContiguous(c, a);
    at::checkAllContiguous(c, {a, none, n});
    at::checkAllSameSize(c, {a, none, b, n});
    at::checkAllSameNumel(c, {a, b});
    at::checkAllSameType(c, {a, b});
    at::checkAllDefined(c, {a, b});
    at::checkScalarType(c, n, at::kLong);
    at::checkScalarTypes(c, a, {at::kHalf, at::kFloat});
    at::checkDeviceType(c, {image, turned}, at::kCPU);
    at::checkLayout(c, image, at::kStrided);
  });
  expect("crop: expected 3 dimensions of argument #1 'image', got 2", [&] { at::checkDim(c, a, 3); });
  expect("expected 3 to 4 dimensions of argument #1 'image', got 2", [&] { at::checkDimRange(c, a, 3, 5); });
  expect("expected 4 in dimension 1 of argument #1 'image', got [2, 3]", [&] { at::checkSize(c, a, 1, 4); });
  expect("expected argument #1 'image' to be [3, 2], got [2, 3]", [&] { at::checkSize(c, a, {3, 2}); });
  expect("argument #2 'turned' to be contiguous", [&] { at::checkAllContiguous(c, {a, b}); });
  expect("dtypes and layouts of argument #1 'image' and argument #3 'whole' to be the same", [&] { at::checkAllSameType(c, {a, none, n}); });
  expect("argument #4 'none', got an undefined one", [&] { at::checkAllDefined(c, {a, none}); });
  expect("to be of one of Half, Double, got", [&] { at::checkScalarTypes(c, a, {at::kHalf, at::kDouble}); });
  expect("accelerators of argument #1 'image'", [&] { at::checkAllSameGPU(c, {a, b}); });
  expect("expected 7 elements of argument #1", [&] { at::checkNumel(c, a, 7); });
  const at::TensorGeometry geometry(turned);
  if (geometry.size(-1) != 3 || geometry.stride(0) != 1 || geometry.is_contiguous() || at::maybe_data_ptr(none) || !at::maybe_data_ptr(a)) failures++;
  return failures ? 1 : 0;
}
