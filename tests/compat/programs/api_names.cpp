// Names around modules that LibTorch's programs use: functionals with their arguments one by one, bags of embeddings with their parts, nested
// lists that print, parts of a tensor on several devices, TorchScript's names, which raise.
#include <torch/csrc/autograd/functions/comm.h>
#include <torch/csrc/utils/memory.h>
#include <torch/detail/TensorDataContainer.h>
#include <torch/jit.h>
#include <torch/torch.h>

#include "expect.h"

struct Collected : torch::WarningHandler {
  Collected() : before(torch::WarningUtils::get_warning_handler()) { torch::WarningUtils::set_warning_handler(this); }
  ~Collected() override { torch::WarningUtils::set_warning_handler(before); }
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  torch::WarningHandler* before;
  std::vector<std::string> texts;
};

void functionals() {
  namespace F = torch::nn::functional;
  const auto x = torch::tensor({-2.0, 0.5, 3.0});
  check(F::detail::alpha_dropout(x, 0.5, /*training=*/false, /*inplace=*/false).equal(x), "alpha_dropout");
  check(F::detail::leaky_relu(x, 0.5, false).equal(torch::tensor({-1.0, 0.5, 3.0})), "leaky_relu");
  check(F::detail::hardtanh(x, -1, 1, false).equal(torch::tensor({-1.0, 0.5, 1.0})), "hardtanh");
  check(F::detail::softmax(x, 0, torch::kDouble).dtype() == torch::kDouble, "softmax");

  const auto image = torch::rand({1, 2, 8, 8});
  const auto options = F::InterpolateFuncOptions().size(std::vector<int64_t>{4, 5}).mode(torch::kBilinear).align_corners(false).antialias(true);
  check(F::interpolate(image, options).equal(at::native::_upsample_bilinear2d_aa(image, std::vector<int64_t>{4, 5}, false, torch::nullopt)), "native");
}

void bags() {
  const auto weight = torch::tensor({{1.0, 5.0}, {2.0, 4.0}, {3.0, 3.0}});
  const auto ids = torch::tensor({0, 2, 1, 1}), offsets = torch::tensor({0, 3});
  const auto sums = torch::embedding_bag(weight, ids, offsets);
  check(std::get<0>(sums).equal(torch::tensor({{6.0, 12.0}, {2.0, 4.0}})), "sums");
  const auto maxima = torch::embedding_bag(weight, ids, offsets, false, 2);
  check(std::get<0>(maxima).equal(torch::tensor({{3.0, 5.0}, {2.0, 4.0}})), "maxima");
  check(std::get<1>(maxima).equal(torch::tensor({0, 0, 0, 1})), "bag of each index");
  check(std::get<2>(maxima).equal(torch::tensor({3, 1})), "lengths");
  check(std::get<3>(maxima).equal(torch::tensor({{2, 0}, {1, 1}})), "origin of maxima");
  const auto padded = torch::embedding_bag(weight, ids, offsets, false, 0, false, torch::Tensor(), false, 1);
  check(std::get<0>(padded).equal(torch::tensor({{4.0, 8.0}, {0.0, 0.0}})), "padding");
}

void parts() {
  const auto x = torch::ones({5}).requires_grad_();
  const torch::autograd::Scatter scatter({torch::kCPU, torch::kCPU});
  const auto pieces = scatter.apply({x});
  check(pieces.size() == 2 && pieces[0].size(0) == 3, "scatter");
  const auto joined = torch::autograd::Gather(torch::kCPU).apply({pieces[0] * 2, pieces[1] * 3});
  joined[0].sum().backward();
  check(x.grad().equal(torch::tensor({2.0, 2.0, 2.0, 3.0, 3.0})), "gradient of scatter and gather");
}

void script() {
  try {
    torch::jit::load("model.pt");
    check(false, "jit::load");
  } catch (const c10::Error& error) { check(std::string(error.what()).find("model.pt") != std::string::npos, "jit::load"); }
}

int main() {
  functionals();
  bags();
  parts();
  script();

  using Data = torch::detail::TensorDataContainer;
  check(c10::str(Data({{1, 2}, {3, 4}})) == "{{1, 2}, {3, 4}}" && c10::str(Data({1.5})) == "{1.5}", "nested lists");
  check(c10::str(Data(std::vector<double>{1.5, 2})) == "{1.5, 2}" && Data(2).is_scalar(), "rows");
  check(torch::make_unique<int>(3) != nullptr, "make_unique");
  const auto square = torch::arange(4).view({2, 2});
  check(torch::_reshape_alias(square, {4}, {1}).is_alias_of(square), "_reshape_alias");
  c10::variant<int, std::string> either = 3;
  check(c10::get<int>(either) == 3 && c10::to_string(3) == "3", "c10");
  {
    Collected collected;
    const at::AutoNonVariableTypeMode guard;
    check(collected.texts.size() == 1, "AutoNonVariableTypeMode");
  }
  return failures;
}
