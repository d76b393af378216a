// Names of LibTorch's inner headers that programs reach for: environment, tables of operators, generators, walks over elements.
#include <ATen/CPUApplyUtils.h>
#include <ATen/CPUFunctions.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/NativeFunctions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/CppSignature.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/op_registration/op_allowlist.h>
#include <ATen/native/Pow.h>
#include <c10/util/CallOnce.h>
#include <c10/util/Logging.h>
#include <c10/util/StringUtil.h>
#include <c10/util/env.h>
#include <c10/util/error.h>
#include <c10/util/string_view.h>
#include <torch/nn/parallel/data_parallel.h>
#include <torch/torch.h>

#include <cerrno>
#include <cstring>

#include "expect.h"

namespace {

void environment() {
  c10::utils::set_env("CRESSET_TEST_INNER_NAMES", "1");
  c10::utils::set_env("CRESSET_TEST_INNER_NAMES", "0", /*overwrite=*/false);
  CHECK_THAT(c10::utils::check_env("CRESSET_TEST_INNER_NAMES") == true);
  CHECK_THAT(c10::utils::get_env("CRESSET_TEST_INNER_NAMES") == "1");
  CHECK_THAT(!c10::utils::has_env("CRESSET_TEST_NOT_THERE") && !c10::utils::check_env("CRESSET_TEST_NOT_THERE"));
  CHECK_THAT(c10::utils::str_error(EACCES) == std::strerror(EACCES));
  static c10::once_flag once;
  int calls = 0;
  for (int i = 0; i < 2; i++) c10::call_once(once, [&] { calls++; });
  CHECK_THAT(calls == 1);
  if (calls == 1) TORCH_DCHECK_EQ(calls, 1);
  else CHECK_THAT(false);
}

void text() {
  CHECK_THAT(c10::str(std::wstring(L"na\u00EFve \u20AC"), L'a', L"b") == "na\u00EFve \u20ACab");
  c10::c10_string_view view = "prefix.rest";
  CHECK_THAT(view.starts_with("prefix") && view.ends_with('t') && !view.ends_with("prefix"));
  view.remove_prefix(7);
  CHECK_THAT(view == "rest");
  try {
    view.remove_suffix(5);
    CHECK_THAT(false);
  } catch (const std::out_of_range& e) { CHECK_THAT(std::string(e.what()).find("SuffixLength: 5, size: 4") != std::string::npos); }
  const c10::List<c10::string> names({"a", "b"});
  CHECK_THAT(names.size() == 2 && torch::Dimname::fromSymbol(torch::Symbol::dimname("N")).symbol().toUnqualString() == std::string("N"));
}

// Lists and dicts are handles: moving from one leaves it, and a place that is not there is std::out_of_range.
void containers() {
  c10::List<c10::string> list({"a", "b"});
  const c10::List<c10::string> moved = std::move(list);
  CHECK_THAT(list.size() == 2 && moved.is(list) && list[0].get().toStringRef() == "a");
  c10::Dict<int64_t, c10::string> dict;
  dict.insert(3, "c");
  int raised = 0;
  try {
    list.get(2);
  } catch (const std::out_of_range&) { raised++; }
  try {
    dict.at(4);
  } catch (const std::out_of_range&) { raised++; }
  try {
    c10::impl::toTypedList<int64_t>(c10::impl::toList(list));
  } catch (const c10::Error&) { raised++; }
  CHECK_THAT(raised == 3);
  const std::vector<torch::Tensor> tensors{torch::ones({2}), torch::zeros({3})};
  const auto references = at::ITensorListRef(tensors).materialize();
  const at::ITensorListRef again(references);
  CHECK_THAT(again.size() == 2 && again.front().is_same(tensors[0]));
}

// Errors say what LibTorch's programs look for.
template <class F> bool raises(F f, const char* words) {
  try {
    f();
  } catch (const std::exception& e) { return std::string(e.what()).find(words) != std::string::npos; }
  return false;
}
void errors() {
  torch::Tensor frozen;
  {
    c10::InferenceMode mode;
    frozen = torch::ones({2});
  }
  const torch::Tensor leaf = torch::ones({2}, torch::requires_grad());
  CHECK_THAT(raises([&] { frozen.add_(1); }, "Inplace update to inference tensor outside InferenceMode is not allowed"));
  CHECK_THAT(raises([&] { leaf* frozen; }, "Inference tensors cannot be saved for backward."));
  CHECK_THAT(raises([&] { leaf.mul_(2); }, "a leaf Variable that requires grad is being used in an in-place operation"));
  CHECK_THAT(raises([&] { frozen.sum().backward(); }, "element 0 of tensors does not require grad and does not have a grad_fn"));
  CHECK_THAT(raises([] { torch::nn::Sequential()->forward(1); }, "Cannot call forward() on an empty Sequential"));
  CHECK_THAT(raises([] { torch::nn::AdaptiveLogSoftmaxWithLoss(torch::nn::AdaptiveLogSoftmaxWithLossOptions(8, 4, {2}).div_value(0.)); },
                    "div_value should not be equal to 0"));
  CHECK_THAT(raises([&] { leaf.index({".."}); }, "Expected \"...\" to represent an ellipsis index, but got \"..\""));
}

// The first words of Random123's known answers, and of any place of the stream.
void philox() {
  at::Philox4_32 zero(0, 0, 0);
  CHECK_THAT(zero() == 0x6627e8d5 && zero() == 0xe169c58d && zero() == 0xbc57ac4c && zero() == 0x9b00dbd8);
  at::Philox4_32 ones(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0});
  CHECK_THAT(ones() == 0x408f276d && ones() == 0x41c83b0e && ones() == 0xa20bc7c6 && ones() == 0x6d5451fd);
  at::Philox4_32 walked(123, 1, 0), jumped(123, 1, 2);
  for (int i = 0; i < 8; i++) walked();
  CHECK_THAT(walked() == jumped());
  at::Philox4_32 end(7, 0, ~uint64_t{0}), next(7, 1, 0);
  end.incr();
  CHECK_THAT(end() == next());
  at::mt19937 twister(5489);
  CHECK_THAT(twister() == 3499211612u);
}

int64_t twice(int64_t n) { return 2 * n; }

void operators() {
  static_assert(c10::impl::allowlist_contains("a;bc;d", "bc") && !c10::impl::allowlist_contains("a;bc", "b"), "");
  CHECK_THAT(c10::impl::CppSignature::make<int64_t(int64_t)>() == c10::impl::CppSignature::make<decltype(&twice)>());
  CHECK_THAT(c10::impl::CppSignature::make<void()>() != c10::impl::CppSignature::make<int64_t(int64_t)>());
  CHECK_THAT(c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(twice)).isValid());
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto all = dispatcher.getRegistrationsForDispatchKey(std::nullopt), cpu = dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::CPU);
  CHECK_THAT(!cpu.empty() && cpu.size() < all.size());
  CHECK_THAT(c10::highestPriorityBackendTypeId(c10::DispatchKeySet({c10::DispatchKey::AutogradCPU, c10::DispatchKey::CPU})) == c10::DispatchKey::CPU);
}

void elements() {
  torch::Tensor a = torch::zeros({2, 3}), b = torch::arange(6, torch::kDouble).view({3, 2}).t();
  at::CPU_tensor_apply2<float, double>(a, b, [](float& x, double y) { x = static_cast<float>(y * y); });
  CHECK_THAT(torch::equal(a, b.square().to(torch::kFloat)));
  at::CPU_tensor_apply3<float, double, double>(a, b, b, [](float& x, double y, double z) { x = static_cast<float>(y + z); });
  CHECK_THAT(torch::equal(a, (2 * b).to(torch::kFloat)));
  CHECK_THAT(at::native::powi(3, 4) == 81 && at::native::powi<int64_t>(-1, -3) == -1 && at::native::powi<int64_t>(2, -1) == 0);
  CHECK_THAT(torch::equal(at::native::_stack({a, a}, 1), torch::stack({a, a}, 1)) && torch::equal(at::cpu::add(a, a), 2 * a));
  const torch::Tensor clone = at::_lazy_clone(a);
  a.zero_();
  CHECK_THAT(clone[1][2].item<float>() == 10 && torch::_efficientzerotensor({2, 2}).sum().item<float>() == 0);
}

void parallel() {
  torch::nn::Linear linear(3, 2);
  const torch::Tensor x = torch::ones({4, 3});
  const std::vector<torch::Device> devices{torch::kCPU, torch::kCPU};
  const auto y = torch::nn::parallel::data_parallel(linear, x, devices);
  CHECK_THAT(torch::allclose(y, linear(x)));
  y.sum().backward();
  CHECK_THAT(torch::allclose(linear->weight.grad(), torch::full({2, 3}, 4.0)));
}

}  // namespace

int main() {
  environment();
  text();
  containers();
  errors();
  philox();
  operators();
  elements();
  parallel();
  return failures == 0 ? 0 : 1;
}
