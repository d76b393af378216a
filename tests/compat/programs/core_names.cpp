// Names of LibTorch's lower half, c10 and ATen: values of any type, containers, keys, types, warnings.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/narrow_copy.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/util/SmallVector.h>
#include <c10/util/intrusive_ptr.h>
#include <c10/util/tempfile.h>
#include <torch/torch.h>

#include <functional>
#include <sstream>

#include "expect.h"

namespace {

template <class T> std::string printed(const T& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

struct Collected : c10::WarningHandler {
  void process(const c10::Warning& warning) override { text += warning.msg(); }
  std::string text;
};

void values() {
  c10::List<int64_t> list({3, 4, 5});
  c10::IValue held{list};
  CHECK_THAT(list.use_count() == 2 && held.isIntList());
  held.toIntList().push_back(6);
  CHECK_THAT(list.size() == 4 && held.toIntVector().back() == 6);
  const c10::IValue taken = std::move(held);
  CHECK_THAT(held.isNone() && taken.isIntList());
  CHECK_THAT(printed(c10::IValue(std::make_tuple(3))) == "(3,)");
  CHECK_THAT(printed(c10::IValue(c10::complex<double>(2, -3))) == "2.-3.j");
  CHECK_THAT(c10::IValue("a") == c10::IValue("a") && c10::IValue("2") != c10::IValue(2));
  c10::Dict<std::string, int64_t> one, other;
  one.insert("x", 1);
  one.insert("y", 2);
  other.insert("y", 2);
  other.insert("x", 1);
  CHECK_THAT(one == other && !one.is(other) && one.begin()->key() == "x");
  const auto tuple = c10::ivalue::Tuple::create({c10::IValue(3.5), c10::IValue(list)});
  CHECK_THAT(c10::IValue(tuple).toTuple()->elements()[1].isIntList());
  const auto back = c10::IValue(std::make_tuple(int64_t{1}, torch::ones(2))).to<std::tuple<int64_t, torch::Tensor>>();
  CHECK_THAT(std::get<0>(back) == 1 && std::get<1>(back).size(0) == 2);
  CHECK_THAT(c10::IValue(torch::zeros(3)).equals(torch::zeros(3)).isTensor());
}

void types() {
  const at::Tensor x = at::ones({2, 3}, at::CPU(at::kDouble));
  CHECK_THAT(x.type() == at::CPU(at::kDouble) && x.type().toString() == "CPUDoubleType");
  CHECK_THAT(x.dtype() == torch::kDouble && x.dtype().itemsize() == 8 && printed(x.dtype()) == "double");
  const caffe2::TypeMeta standard = torch::get_default_dtype();
  CHECK_THAT(c10::typeMetaToScalarType(standard) == torch::kFloat);
  CHECK_THAT(x.key_set().has(c10::DispatchKey::CPU) && !x.is_pinned() && !at::hasCUDA());
  CHECK_THAT(printed(c10::DispatchKeySet(c10::DispatchKey::CUDA)) == "DispatchKeySet(CUDA)");
  CHECK_THAT(printed(torch::kCUDA) == "cuda" && torch::Device("mps").is_mps());
  CHECK_THAT(printed(torch::indexing::Slice(1, torch::indexing::None, 2)) == "1:9223372036854775807:2");
  CHECK_THAT(x[torch::Scalar(1)].size(0) == 3 && x.is_same_size(torch::zeros({2, 3})));
  CHECK_THAT(x.to({torch::kCPU, 0}).is_cpu());
  CHECK_THAT(torch::tensor(c10::complex<float>(1, 2)).scalar_type() == torch::kComplexFloat);
  CHECK_THAT(torch::tensor({at::Half(1), at::Half(2)}).scalar_type() == torch::kHalf);
  CHECK_THAT(std::isnan(std::sqrt(-1.0)) && c10::Join("-", std::vector<int>{1, 2}) == "1-2" && torch::str("a", 1) == "a1");
  CHECK_THAT(c10::dtype_or_default(std::optional<at::ScalarType>()) == at::kFloat && c10::dtype_or_default(at::kLong) == at::kLong);
  CHECK_THAT(c10::dtype_or_default(std::optional<caffe2::TypeMeta>()) == caffe2::TypeMeta::Make<float>());
  CHECK_THAT(c10::layout_or_default({}) == at::kStrided && c10::device_or_default({}) == at::kCPU && !c10::pinned_memory_or_default({}));
  torch::Tensor y = torch::zeros(2);
  y.set_(x.to(torch::kFloat));
  CHECK_THAT(y.sizes() == torch::IntArrayRef({2, 3}));
}

void sizes_that_may_be_symbols() {
  const torch::Tensor x = torch::arange(6.);
  const c10::SymInt two = 2, three = 3;
  CHECK_THAT(x.view_symint({two, three}).sizes() == torch::IntArrayRef({2, 3}) && at::reshape_symint(x, {3, -1}).size(1) == 2);
  CHECK_THAT(x.expand_symint({2, x.sym_size(0)}).sizes() == torch::IntArrayRef({2, 6}) && x.repeat_symint({two}).numel() == 12);
  CHECK_THAT(x.narrow_symint(0, 1, two).sum().item<double>() == 3 && at::narrow_symint(x, 0, 1, two)[1].item<double>() == 2);
  CHECK_THAT(x.select_symint(0, three).item<double>() == 3 && at::select_symint(x, 0, three).dim() == 0);
  CHECK_THAT(x.slice_symint(0, two, three).item<double>() == 2 && x.slice_symint(0, 4).size(0) == 2);
  CHECK_THAT(x.as_strided_symint({two}, {two}, 1)[1].item<double>() == 3 && x.sum_to_size_symint({1}).item<double>() == 15);
  CHECK_THAT(x.new_empty_symint(x.sym_sizes()).numel() == 6 && x.new_zeros_symint({two}, at::kLong).scalar_type() == at::kLong);
  CHECK_THAT(x.new_full_symint({two}, 4).sum().item<double>() == 8 && x.new_ones_symint({three}).sum().item<double>() == 3);
  CHECK_THAT(at::empty_symint({two, three}, at::kInt).numel() == 6 && at::zeros_symint({two}).sum().item<float>() == 0);
  CHECK_THAT(at::full_symint({two}, 1.5).sum().item<float>() == 3 && at::ones_symint(x.sym_sizes()).numel() == 6);
  CHECK_THAT(at::empty_strided_symint({two, two}, {1, two}).stride(1) == 2);
  torch::Tensor out = at::empty_symint({two});
  CHECK_THAT(at::narrow_copy_symint(x, 0, 1, two).equal(at::narrow_copy_symint_out(out, x, 0, 1, two)) && out[1].item<double>() == 2);
  CHECK_THAT(at::zeros_symint_outf({three}, out).numel() == 3 && at::full_symint_out(out, {two}, 2).sum().item<double>() == 4);
  CHECK_THAT(at::slice_symint(x, 0, two, three).numel() == 1 && at::slice_symint(x).numel() == 6 && at::split_symint(x, two).size() == 3);
  CHECK_THAT(std::get<0>(at::topk_symint(x, two)).sum().item<double>() == 9 && at::roll_symint(x, {two}, {0})[0].item<double>() == 4);
  const torch::Tensor image = torch::ones({1, 1, 4, 4}), kernel = torch::ones({1, 1, 2, 2});
  CHECK_THAT(at::conv2d_symint(image, kernel).size(3) == 3 && at::conv2d_symint(image, kernel, {}, {two, two}, {1, 1}).size(3) == 3);
  CHECK_THAT(at::upsample_nearest2d_symint(image, c10::SymIntArrayRef({three, two}), std::nullopt).size(2) == 3);
}

void abilities() {
  CHECK_THAT(at::hasLAPACK() && !at::hasMKL() && !at::hasOpenMP() && !at::hasXLA() && !at::hasMAIA() && !at::hasHPU() && !at::hasIPU());
  CHECK_THAT(torch::TensorOptions(torch::kDouble).backend() == at::Backend::CPU && torch::TensorOptions(torch::kMeta).backend() == at::Backend::Meta);
  CHECK_THAT(torch::TensorOptions(torch::kSparse).backend() == at::Backend::SparseCPU);
}

void mistakes() {
  Collected collected;
  {
    const c10::WarningUtils::WarningHandlerGuard guard(&collected);
    const c10::WarningUtils::WarnAlways always(true);
    for (int i = 0; i < 2; i++) TORCH_WARN_ONCE("again ", i, ";");
  }
  CHECK_THAT(collected.text == "again 0;again 1;");
  std::string text;
  try {
    try {
      TORCH_CHECK(false, "wrong");
    } catch (c10::Error& e) { TORCH_RETHROW(e, "while looking"); }
  } catch (const c10::Error& e) { text = e.msg(); }
  CHECK_THAT(text == "wrong (while looking)");
  for (const auto& call : std::vector<std::function<void()>>{[] { torch::ones(2).index({}); }, [] { torch::ones(2, torch::kCUDA); },
                                                             [] { torch::ones(2).to(torch::TensorOptions().requires_grad(true)); }}) {
    bool raised = false;
    try {
      call();
    } catch (const c10::Error&) { raised = true; }
    CHECK_THAT(raised);
  }
}

}  // namespace

int main() {
  values();
  types();
  sizes_that_may_be_symbols();
  abilities();
  mistakes();
  return failures;
}
