// Every operator of the table that takes simple arguments: captured from a C++ call, and run again with equal results.

#include <gtest/gtest.h>

#include "cresset/autograd/grad_mode.h"
#include "cresset/base/warning_handler.h"
#include "cresset/core/fake_mode.h"
#include "cresset/core/random/generator.h"
#include "cresset/graph/capture/capture.h"
#include "cresset/graph/runtime/program.h"
#include "cresset/ops/functions.h"

namespace cresset::graph {
namespace {

using Tensors = std::vector<Tensor>;
using SchemaKind = dispatch::TypeKind;

// A call of an operator whose tensors are left open.
class Call {
 public:
  Call(const dispatch::OpEntry& op, const Tensor& model) : op_(op) {
    for (const dispatch::Argument& a : op.function_schema().arguments) add(a, model);
  }
  bool is_possible() const { return possible_; }
  Tensors examples() const {
    Tensors copies;
    for (const Tensor& t : models_) copies.push_back(t.clone());
    return copies;
  }
  // The tensors that the operator gives; whether all that it gives are tensors.
  Tensors run(const Tensors& given, bool* tensors_alone = nullptr) const {
    dispatch::Stack stack;
    for (const Slot& s : slots_) {
      if (s.count == kLiteral) stack.push_back(s.literal);
      else if (s.count == kSingle) stack.push_back(given[s.first]);
      else stack.push_back(Tensors(given.begin() + static_cast<int64_t>(s.first), given.begin() + static_cast<int64_t>(s.first + s.count)));
    }
    dispatch::OpHandle(&op_).call_boxed(stack);
    Tensors out;
    for (const Datum& d : stack) {
      if (d.is_tensor()) {
        out.push_back(d.to_tensor());
      } else if (d.isTensorList()) {
        for (const Tensor& t : d.to_tensor_list()) out.push_back(t);
      } else if (tensors_alone) {
        *tensors_alone = false;
      }
    }
    return out;
  }

 private:
  static constexpr size_t kLiteral = SIZE_MAX, kSingle = SIZE_MAX - 1;
  struct Slot {
    Datum literal;
    size_t first = 0, count = kLiteral;
  };

  void add(const dispatch::Argument& a, const Tensor& model) {
    const dispatch::Type& t = a.type;
    if (t.kind == SchemaKind::Tensor && !a.has_default && !t.element_optional) {
      const size_t count = t.list ? 2 : 1;
      slots_.push_back({{}, models_.size(), t.list ? count : kSingle});
      for (size_t i = 0; i < count; i++) models_.push_back(model.clone());
      return;
    }
    slots_.push_back({a.has_default ? a.default_value : literal(t)});
  }
  Datum literal(const dispatch::Type& t) {
    if (t.optional) return {};
    const size_t n = static_cast<size_t>(t.list_size > 0 ? t.list_size : 2);
    if (t.list && t.kind == SchemaKind::Int) return std::vector<int64_t>(n, 1);
    if (t.list && t.kind == SchemaKind::Float) return std::vector<double>(n, 0.5);
    if (t.list && t.kind == SchemaKind::Bool) return std::vector<bool>(n, false);
    if (t.list && t.kind == SchemaKind::Scalar) return std::vector<Scalar>(n, 1);
    if (!t.list && t.kind == SchemaKind::Int) return 1;
    if (!t.list && t.kind == SchemaKind::Float) return 0.5;
    if (!t.list && t.kind == SchemaKind::Bool) return false;
    if (!t.list && t.kind == SchemaKind::Scalar) return 1;
    if (!t.list && t.kind == SchemaKind::DType) return kFloat;
    if (!t.list && t.kind == SchemaKind::Device) return Device(kCPU);
    if (!t.list && t.kind == SchemaKind::Layout) return kStrided;
    if (!t.list && t.kind == SchemaKind::MemoryFormat) return MemoryFormat::Contiguous;
    possible_ = false;
    return {};
  }

  const dispatch::OpEntry& op_;
  std::vector<Slot> slots_;
  Tensors models_;
  bool possible_ = true;
};

bool same(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type() || a.layout() != b.layout()) return false;
  if (a.layout() != kStrided) return true;
  return ((a == b) | ((a != a) & (b != b))).all().item<bool>();
}
// Memory that nothing has written may hold anything.
bool is_unwritten(const std::string& name) { return name.find("empty") != std::string::npos || name.find("resize") != std::string::npos; }

struct Silent final : warnings::WarningHandler {
  void process(const warnings::Warning&) override {}
};

std::vector<Tensor> models() {
  manual_seed(3);
  return {rand({3, 3}) + 0.1, rand({3}) + 0.1, rand({2, 3, 4, 4}) + 0.1, randint(1, 3, {3, 3}), randint(0, 2, {3, 3}).to(kBool), rand({}) + 0.1};
}

TEST(CaptureWalk, EveryOperatorIsCapturedOrRefusedForANumberThatItGives) {
  const NoGradGuard no_gradients;
  Silent silent;
  const warnings::WarningHandlerGuard quiet(&silent);
  const std::vector<Tensor> examples = models();
  std::vector<std::string> captured, refused;
  for (const dispatch::OpEntry* op : dispatch::all_ops()) {
    for (const Tensor& model : examples) {
      const Call call(*op, model);
      if (!call.is_possible()) break;
      const Tensors given = call.examples();
      Tensors expected;
      bool tensors_alone = true;
      manual_seed(5);
      try {
        expected = call.run(given, &tensors_alone);
      } catch (const Error&) { continue; }  // it takes other arguments
      std::unique_ptr<Graph> graph;
      try {
        graph = capture([&](const Tensors& x) { return call.run(x); }, call.examples());
      } catch (const DataDependentOutputError& e) {
        EXPECT_EQ(std::string(e.what()).find("capture: "), 0u) << op->name << ": " << e.what();
        refused.push_back(op->name);
        break;
      } catch (const Error& e) {
        ADD_FAILURE() << op->name << ": " << e.what();
        break;
      }
      EXPECT_TRUE(tensors_alone) << op->name << " gives a number, which the graph keeps";
      const Tensors inputs = call.examples();
      manual_seed(5);
      Tensors got;
      try {
        got = Program(*graph).run_tensors(inputs);
      } catch (const Error& e) {
        ADD_FAILURE() << op->name << ": " << e.what();
        break;
      }
      ASSERT_EQ(got.size(), expected.size()) << op->name;
      if (!is_unwritten(op->name)) {
        for (size_t i = 0; i < got.size(); i++) EXPECT_TRUE(same(got[i], expected[i])) << op->name << ", result " << i << "\n" << graph->text();
        for (size_t i = 0; i < given.size(); i++) EXPECT_TRUE(same(inputs[i], given[i])) << op->name << ", argument " << i;
      }
      captured.push_back(op->name);
      break;
    }
  }
  EXPECT_GT(captured.size(), 1000u);
  EXPECT_LT(refused.size(), 100u);
  std::string list;
  for (const std::string& name : refused) list += " " + name;
  RecordProperty("captured", static_cast<int>(captured.size()));
  RecordProperty("refused", list);
}

}  // namespace
}  // namespace cresset::graph
