// Values as checkpoints in memory: what torch::pickle_save writes, torch::pickle_load gives back; and deep copies. One object stays one.
#include <torch/torch.h>

#include "expect.h"

torch::IValue again(const torch::IValue& value) { return torch::pickle_load(torch::pickle_save(value)); }

int main() {
  const torch::Tensor x = torch::arange(6).reshape({2, 3}).t();
  check(again(x).toTensor().equal(x) && again(x).toTensor().stride(0) == 1, "tensor");
  check(again(c10::IValue()).isNone() && again(true).toBool() && again(int64_t{1} << 40).toInt() == int64_t{1} << 40, "numbers");
  check(again(2.5).toDouble() == 2.5 && again("text").toStringRef() == "text", "numbers and text");
  check(again(c10::complex<double>(1, -2)).toComplexDouble() == c10::complex<double>(1, -2), "complex");
  check(again(std::vector<int64_t>{1, 2, 3}).toIntVector() == std::vector<int64_t>{1, 2, 3} && again(std::vector<int64_t>{1}).isIntList(), "integers");
  check(again(std::vector<double>{0.5}).isDoubleList() && again(std::vector<torch::Tensor>{x}).isTensorList(), "lists know their kind");

  const auto tuple = again(std::make_tuple(int64_t{1}, std::string("two"), 3.0)).toTupleRef().elements();
  check(tuple.size() == 3 && tuple[0].toInt() == 1 && tuple[1].toStringRef() == "two" && tuple[2].toDouble() == 3.0, "tuple");
  c10::Dict<std::string, torch::Tensor> weights;
  weights.insert("w", torch::ones({2}));
  weights.insert("b", torch::zeros({1}));
  const auto dict = again(weights).toGenericDict();
  check(dict.size() == 2 && dict.at("w").toTensor().equal(torch::ones({2})), "dict");

  const torch::Tensor base = torch::ones({4});
  const auto shared = again(std::vector<torch::Tensor>{base, base, base.view({2, 2})}).toTensorVector();
  check(shared[0].is_same(shared[1]) && shared[0].is_alias_of(shared[2]), "one tensor stays one, one memory stays one");
  check(!shared[0].is_alias_of(base), "and is another than before");

  const torch::Tensor alias = base.detach();
  const auto copy = torch::IValue(std::vector<torch::Tensor>{base, alias, base}).deepcopy().toTensorVector();
  check(copy[0].is_same(copy[2]) && !copy[0].is_alias_of(base) && copy[0].equal(base), "a deep copy copies one tensor once");
  check(!copy[0].is_alias_of(copy[1]), "and two tensors twice, of one memory too");

  bool raised = false;
  try {
    torch::pickle_load({'n', 'o'});
  } catch (const c10::Error&) { raised = true; }
  check(raised, "bytes that are no checkpoint");
  return failures;
}
