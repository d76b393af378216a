// Kernels of one's own over tensors: TensorIterator and cpu_kernel, lists of tensors held either way, parallel reductions.
#include <ATen/ATen.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ParallelFuture.h>
#include <ATen/core/IListRef.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/native/cpu/Loops.h>

#include <functional>

#include "expect.h"

namespace {

at::Tensor some(at::ScalarType type) { return at::randint(1, 10, {5, 4}, at::device(at::kCPU).dtype(type)); }

#define TRY_DTYPE(ctype, name)                                                                                             \
  {                                                                                                                        \
    const at::Tensor a = some(at::k##name), b = some(at::k##name).t().contiguous().t();                                    \
    at::Tensor made;                                                                                                       \
    auto unary = at::TensorIterator::unary_op(made, a);                                                                    \
    at::native::cpu_serial_kernel(unary, [](ctype x) -> ctype { return x + 1; });                                          \
    CHECK_THAT(unary.output().equal(a + 1) && !made.defined());                                                            \
    at::Tensor sum = at::empty({0}, a.options()), product = at::empty({0}, a.options());                                   \
    auto two = at::TensorIteratorConfig().add_output(sum).add_output(product).add_input(a).add_input(b).build();           \
    at::native::cpu_kernel_multiple_outputs(two, [](ctype x, ctype y) { return std::tuple<ctype, ctype>(x + y, x * y); }); \
    CHECK_THAT(sum.equal(a + b) && product.equal(a * b));                                                                  \
    int64_t seen = 0;                                                                                                      \
    auto none = at::TensorIteratorConfig().add_owned_input(a).build();                                                     \
    at::native::cpu_serial_kernel(none, [&](ctype) { seen++; });                                                           \
    CHECK_THAT(seen == a.numel());                                                                                         \
    at::Tensor less = at::empty({0}, a.options().dtype(at::kBool));                                                        \
    auto compared = at::TensorIterator::comparison_op(less, a, b);                                                         \
    at::native::cpu_kernel(compared, [](ctype x, ctype y) -> bool { return x < y; });                                      \
    CHECK_THAT(less.equal(a < b));                                                                                         \
  }

void dtypes() { AT_FORALL_SCALAR_TYPES(TRY_DTYPE) }

void shapes_and_dtypes() {
  const at::Tensor row = at::arange(3, at::kFloat), column = at::arange(2, at::kDouble).unsqueeze(1);
  at::Tensor out;
  auto sum = at::TensorIterator::binary_op(out, row, column);
  CHECK_THAT(sum.common_dtype() == at::kDouble && sum.dtype(1) == at::kDouble && sum.shape() == at::IntArrayRef({2, 3}));
  at::native::cpu_kernel(sum, [](double a, double b) { return a + b; });
  CHECK_THAT(sum.output().equal(row + column));

  at::Tensor whole = at::zeros({3}, at::kInt);
  auto cast = at::TensorIteratorConfig().add_output(whole).add_input(row).promote_inputs_to_common_dtype(true).cast_common_dtype_to_outputs(true).build();
  at::native::cpu_kernel(cast, [](float a) { return a * 2; });
  CHECK_THAT(whole.equal(at::tensor({0, 2, 4}, at::kInt)) && whole.scalar_type() == at::kInt);

  at::Tensor filled = at::empty({300, 200});
  auto nothing = at::TensorIterator::nullary_op(filled);
  at::native::cpu_kernel(nothing, []() { return 2.5f; });
  CHECK_THAT(filled.equal(at::full({300, 200}, 2.5)));

  at::Tensor total = at::zeros({10});
  const at::Tensor numbers = at::arange(10, at::kFloat);
  auto raw = at::TensorIteratorConfig().add_output(total).add_const_input(numbers).build();
  raw.for_each([](char** data, const int64_t* strides, int64_t n) {
    for (int64_t i = 0; i < n; i++) *reinterpret_cast<float*>(data[0] + i * strides[0]) += *reinterpret_cast<float*>(data[1] + i * strides[1]);
  });
  CHECK_THAT(total.equal(numbers));

  CHECK_THAT(throws<c10::Error>([&] { at::TensorIteratorConfig().add_owned_input(at::ones(1, at::kInt)).add_owned_input(at::ones(1)).build(); }));
  CHECK_THAT(throws<c10::Error>([&] { at::TensorIteratorConfig().add_owned_input(at::ones(2)).add_owned_input(at::ones(3)).build(); }));
  CHECK_THAT(throws<c10::Error>([&] { at::TensorIteratorConfig().add_owned_input(at::Tensor()).build(); }));
  CHECK_THAT(throws<c10::Error>([&] { at::TensorIteratorConfig().add_output(total.expand({3, 10})).add_input(at::ones({3, 10})).build(); }));
  CHECK_THAT(throws<c10::Error>([&] { at::native::cpu_kernel(raw, [](double a) { return a; }); }));
}

void lists() {
  const std::vector<at::Tensor> tensors{at::ones(1), at::ones(2), at::ones(3)};
  const auto is_same = [&](at::ITensorListRef list) {
    size_t i = 0;
    for (const at::Tensor& t : list)
      if (!t.is_same(tensors[i++])) return false;
    return i == list.size();
  };
  c10::List<at::Tensor> boxed{c10::ArrayRef<at::Tensor>(tensors)};
  CHECK_THAT(is_same(tensors) && is_same(boxed) && is_same({tensors[0], tensors[1], tensors[2]}) && is_same({tensors.data(), tensors.size()}));
  CHECK_THAT(at::ITensorListRef(boxed).isBoxed() && at::ITensorListRef(tensors).isUnboxed() && at::ITensorListRef().isNone());
  CHECK_THAT(at::ITensorListRef(boxed).materialize()[1].get().is_same(tensors[1]));
  CHECK_THAT(throws<c10::Error>([] { (void)at::ITensorListRef().size(); }) && throws<c10::Error>([] { (void)*at::ITensorListRefIterator(); }));
  const c10::List<std::optional<at::Tensor>> some_missing({tensors[0], std::nullopt});
  std::string there;
  for (const auto t : at::IOptTensorListRef(some_missing)) there += t.has_value() ? 'y' : 'n';
  CHECK_THAT(there == "yn");
}

void parallel() {
  const auto add_up = [](int64_t begin, int64_t end, int64_t sum) {
    for (int64_t i = begin; i < end; i++) sum += i;
    return sum;
  };
  CHECK_THAT(at::parallel_reduce(0, 100000, 10, int64_t{0}, add_up, std::plus<>()) == 4999950000 &&
             at::parallel_reduce(5, 5, 1, int64_t{7}, add_up, std::plus<>()) == 7);
  int done = 0;
  at::intraop_launch_future([&] { done = 1; })->wait();
  CHECK_THAT(done == 1);
  static_assert(std::is_same<at::opmath_type<at::Half>, float>::value && std::is_same<at::opmath_type<double>, double>::value, "");
  CHECK_THAT(at::toOpMathType(at::kBFloat16) == at::kFloat && at::toOpMathType(at::kLong) == at::kLong);
}

}  // namespace

int main() {
  at::manual_seed(1);
  dtypes();
  shapes_and_dtypes();
  lists();
  parallel();
  return failures;
}
