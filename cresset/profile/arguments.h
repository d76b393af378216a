#pragma once
// Arguments of calls as numbers in a row: written while a program runs, read when its recording has ended.

#include <vector>

#include "cresset/profile/event.h"

namespace cresset::profile {

class Arguments {
 public:
  // Those of a call; gives the place to read them from. `values`: numbers that stand among the tensors are kept too.
  int64_t keep(const dispatch::OpEntry& op, const dispatch::Stack& stack, bool values);
  int64_t keep(const Tensor& t);
  // As the steps of a call see them (steps.h), and as a trace says them.
  Facts facts(int64_t place) const;
  std::vector<InputFact> inputs(int64_t place) const;

 private:
  friend class ArgumentReader;
  void add(const dispatch::Value& v, bool values);
  void add_tensor(const Tensor& t, bool values);

  std::vector<int64_t> words_;
  std::vector<dispatch::Value> others_;  // texts and complex numbers
};

// The dtype as traces name it: "float", "long int", "c10::BFloat16".
CRESSET_API const char* trace_type_name(ScalarType t);

}  // namespace cresset::profile
