// Finer headers of LibTorch's that extensions include by name, and what they promise.
#include <ATen/ArrayRef.h>
#include <ATen/Dispatch_v2.h>
#include <ATen/NumericUtils.h>
#include <ATen/Operators.h>
#include <ATen/ScalarType.h>
#include <ATen/TensorAccessor.h>
#include <ATen/ceil_div.h>
#include <ATen/core/DistributionsHelper.h>
#include <ATen/core/TensorBody.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/qualified_name.h>
#include <ATen/native/Pow.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/alignment.h>
#include <c10/core/thread_pool.h>
#include <c10/util/FunctionRef.h>
#include <c10/util/MathConstants.h>
#include <c10/util/ScopeExit.h>
#include <c10/util/Type.h>
#include <c10/util/TypeCast.h>
#include <c10/util/copysign.h>
#include <c10/util/overloaded.h>
#include <c10/util/thread_name.h>
#include <torch/csrc/autograd/InferenceMode.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/csrc/autograd/node.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/data/datasets/chunk.h>
#include <torch/data/samplers/distributed.h>
#include <torch/fft.h>
#include <torch/nn/modules/adaptive.h>
#include <torch/nn/modules/common.h>
#include <torch/nn/modules/utils.h>
#include <torch/nn/options/adaptive.h>
#include <torch/nn/pimpl-inl.h>
#include <torch/nn/utils/rnn.h>
#include <torch/serialize/archive.h>
#include <torch/serialize/tensor.h>
#include <torch/torch.h>

#include <atomic>
#include <variant>

#include "expect.h"

namespace {

void blocks() {
  std::string order;
  {
    const auto last = c10::make_scope_exit([&] { order += "last"; });
    auto never = c10::make_scope_exit([&] { order += "never"; });
    never.release();
    order += "first ";
  }
  CHECK_THAT(order == "first last");
  const auto twice = [](c10::function_ref<int(int)> f) { return f(1) + f(2); };
  CHECK_THAT(twice([](int x) { return 10 * x; }) == 30);
  const std::variant<int, std::string> held = std::string("text");
  CHECK_THAT(std::visit(c10::overloaded([](int) { return 0; }, [](const std::string& s) { return static_cast<int>(s.size()); }), held) == 4);
  CHECK_THAT(c10::demangle(typeid(torch::Tensor).name()).find("Tensor") != std::string::npos && c10::demangle("?") == "?");
  CHECK_THAT(std::string(c10::demangle_type<std::vector<int>>()).find("vector<int") != std::string::npos);
}

void numbers() {
  CHECK_THAT(c10::pi<double> == std::acos(-1.0) && c10::ln_2<float> == std::log(2.0f) && std::abs(c10::euler<double> - 0.5772156649) < 1e-10);
  CHECK_THAT(c10::sqrt_2<double> * c10::frac_sqrt_2<double> > 1 - 1e-15 && std::abs(c10::golden_ratio<float> - 1.618034f) < 1e-6f);
  CHECK_THAT(c10::copysign(at::Half(2), at::Half(-0.0f)) == at::Half(-2) && c10::copysign(1.0, -2) == -1);
  CHECK_THAT(at::ceil_div(7, 3) == 3 && at::ceil_div<int64_t>(6, 3) == 2 && at::round_up(7, 4) == 8 && c10::gAlignment == 64);
  const auto strides = c10::get_channels_last_strides_2d({2, 3, 4, 5});
  CHECK_THAT(torch::IntArrayRef(strides) == torch::IntArrayRef({60, 1, 15, 3}) && c10::is_channels_last_strides_2d({2, 3, 4, 5}, strides));
  CHECK_THAT(!c10::is_channels_last_strides_2d({2, 3, 4, 5}, {60, 20, 5, 1}) && !c10::is_channels_last_strides_3d({2, 3, 4, 5}, strides));
}

void conversions() {
  CHECK_THAT(c10::convert<at::Half>(at::BFloat16(3)) == at::Half(3) && c10::convert<uint8_t>(-1.5) == 255);
  CHECK_THAT(c10::convert<int>(c10::complex<float>(7, 2)) == 7 && c10::convert<c10::complex<double>>(2) == c10::complex<double>(2, 0));
  CHECK_THAT(c10::checked_convert<int8_t>(-3, "int8") == -3 && throws<c10::Error>([] { c10::checked_convert<int8_t>(300, "int8"); }));
  CHECK_THAT(at::_isnan(std::nan("")) && at::_isnan(c10::complex<float>(0, NAN)) && !at::_isnan(at::Half(1)) && !at::_isnan(3) && at::_isinf(INFINITY));
  CHECK_THAT(at::native::powi(3, 4) == 81 && at::_ops::add_Tensor::call(torch::ones(2), torch::ones(2), 1).equal(torch::full(2, 2.0)));
}

void types_of_values() {
  const auto list = c10::ListType::create(c10::TensorType::get());
  CHECK_THAT(list->annotation_str() == "List[Tensor]" && list->str() == "Tensor[]" && list == at::ListType::ofTensors() &&
             list != c10::OptionalType::ofTensor());
  CHECK_THAT(c10::DictType::create(c10::StringType::get(), list).annotation_str() == "Dict[str, List[Tensor]]");
  CHECK_THAT(c10::TupleType::create({c10::IntType::get(), c10::AnyType::get()})->annotation_str() == "Tuple[int, Any]");
  auto tensors = c10::impl::GenericList(at::TensorType::get());
  tensors.push_back(torch::ones(2));
  CHECK_THAT(c10::impl::toTypedList<at::Tensor>(tensors).get(0).equal(torch::ones(2)));
  auto table = c10::impl::GenericDict(c10::StringType::get(), c10::IntType::get());
  table.insert("a", 1);
  CHECK_THAT((c10::impl::toTypedDict<std::string, int64_t>(table).at("a") == 1));
  const auto bytes = torch::jit::pickle(c10::IValue(table));
  CHECK_THAT(torch::jit::unpickle(bytes.data(), bytes.size()).toGenericDict().at("a").toInt() == 1);
  for (const char* name : {"", "a..b", ".a", "a."}) CHECK_THAT(throws<c10::ValueError>([&] { c10::QualifiedName wrong(name); }));
}

// Numbers drawn one at a time are those of tensors of one element.
void draws() {
  at::Generator one = at::detail::createCPUGenerator(5), other = at::detail::createCPUGenerator(5);
  auto* generator = at::check_generator<at::CPUGeneratorImpl>(one);
  const std::lock_guard<std::mutex> lock(generator->mutex_);
  for (int i = 0; i < 3; i++) {
    CHECK_THAT(at::uniform_real_distribution<double>(2, 3)(generator) == torch::empty(1, torch::kDouble).uniform_(2, 3, other).item<double>());
    CHECK_THAT(at::uniform_real_distribution<float>(0, 1)(generator) == torch::empty(1).uniform_(0, 1, other).item<float>());
    CHECK_THAT(at::normal_distribution<double>(1, 2)(generator) == torch::empty(1, torch::kDouble).normal_(1, 2, other).item<double>());
    CHECK_THAT(at::exponential_distribution<double>(2)(generator) == torch::empty(1, torch::kDouble).exponential_(2, other).item<double>());
    CHECK_THAT(at::geometric_distribution<double>(0.3)(generator) == torch::empty(1, torch::kDouble).geometric_(0.3, other).item<double>());
    CHECK_THAT(at::cauchy_distribution<double>(0, 1)(generator) == torch::empty(1, torch::kDouble).cauchy_(0, 1, other).item<double>());
    CHECK_THAT(at::lognormal_distribution<double>(0, 1)(generator) == torch::empty(1, torch::kDouble).log_normal_(0, 1, other).item<double>());
    CHECK_THAT(at::bernoulli_distribution<double>(0.5)(generator) == torch::empty(1, torch::kDouble).bernoulli_(0.5, other).item<double>());
    CHECK_THAT(at::uniform_int_from_to_distribution<int64_t>(10, -3)(generator) == torch::empty(1, torch::kLong).random_(-3, 7, other).item<int64_t>());
  }
  bool refused = false;
  try {
    at::normal_distribution<double>(0, -1);
  } catch (const c10::Error&) { refused = true; }
  CHECK_THAT(refused);
}

double sum_of(const torch::Tensor& x) {
  return AT_DISPATCH_V2(x.scalar_type(), "sum_of", AT_WRAP([&]() -> double {
                          double total = 0, unused = 0;
                          for (const scalar_t *p = x.const_data_ptr<scalar_t>(), *end = p + x.numel(); p != end; p++)
                            total += static_cast<double>(*p), unused++;
                          return total;
                        }),
                        AT_EXPAND(AT_ALL_TYPES), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES), at::kHalf, at::kBFloat16);
}

void dispatch() {
  for (const auto type : {at::kDouble, at::kInt, at::kByte, at::kHalf, at::kBFloat16, at::kUInt16}) CHECK_THAT(sum_of(torch::arange(4).to(type)) == 6);
  std::string said;
  try {
    sum_of(torch::ones(2, torch::kBool));
  } catch (const c10::NotImplementedError& e) { said = e.what_without_backtrace(); }
  CHECK_THAT(said.find("sum_of") != std::string::npos);
}

void threads() {
  std::atomic<int> sum{0};
  c10::TaskThreadPool pool(3);
  for (int i = 1; i <= 100; i++) pool.run([&sum, i] { sum += i; });
  pool.waitWorkComplete();
  CHECK_THAT(sum == 5050 && pool.size() == 3 && pool.numAvailable() == 3 && !pool.inThreadPool());
  std::string name;
  pool.run([&] { name = c10::getThreadName() + (pool.inThreadPool() ? " inside" : ""); });
  pool.waitWorkComplete();
  CHECK_THAT(name == "CaffeTaskThread inside");
  pool.run([] { throw std::runtime_error("of a task"); });
  std::string error;
  try {
    pool.waitWorkComplete();
  } catch (const std::runtime_error& e) { error = e.what(); }
  CHECK_THAT(error == "of a task");
  c10::setThreadName("main");
  CHECK_THAT(c10::getThreadName() == "main");
}

void edges() {
  using namespace torch::autograd;
  const torch::Tensor leaf = torch::ones(2, torch::requires_grad()), plain = torch::ones(2), made = leaf * 2;
  const auto found = collect_next_edges(leaf, plain, torch::Tensor(), std::vector<torch::Tensor>{made, plain});
  CHECK_THAT(found.size() == 5 && found[0].is_valid() && !found[1].is_valid() && !found[2].is_valid() && found[3].function == made.grad_fn());
  CHECK_THAT(compute_requires_grad(plain, made) && !compute_requires_grad(plain, torch::Tensor()));
  const torch::NoGradGuard none;
  CHECK_THAT(!compute_requires_grad(made));
}

void scripts() {
  const auto unit = torch::jit::compile("def twice(x):\n  return x * 2");
  CHECK_THAT(unit->run_method("twice", torch::ones(1)).toTensor().item<float>() == 2);
}

}  // namespace

int main() {
  edges();
  scripts();
  blocks();
  numbers();
  conversions();
  types_of_values();
  draws();
  dispatch();
  threads();
  return failures ? 1 : 0;
}
