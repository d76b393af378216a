#include "cresset/graph/script/upgrade.h"

#include <map>

namespace cresset::graph::script {

namespace {

constexpr int64_t kOldestWritten = 3;

// Divisions whose operands may be integers; numbers that are floats divide as today.
const char* old_division(const Node& n) {
  const std::string op = n.op()->name;
  if (op == "div.Tensor") return "div_Tensor_0_3";
  if (op == "div_.Tensor") return "div__Tensor_0_3";
  if (op == "div.out") return "div_out_0_3";
  if (n.inputs().size() < 2 || n.input(1)->type().kind() != TypeKind::Int) return nullptr;
  if (op == "div.Scalar") return "div_Scalar_0_3";
  return op == "div_.Scalar" ? "div__Scalar_0_3" : nullptr;
}

// Without a dtype, full() made floats of whole numbers, too.
void fill_with_float(Graph& g, Node& n) {
  const auto& arguments = n.op()->function_schema().arguments;
  for (size_t i = 0; i < arguments.size(); i++)
    if (arguments[i].name == "dtype" && !(n.input(i)->is_constant() && n.input(i)->constant()->is_none())) return;
  Value* fill = n.input(1);
  if (fill->is_constant() && (fill->constant()->isInt() || fill->constant()->isBool())) {
    const Datum& v = *fill->constant();
    n.set_input(1, g.constant(Datum(v.isInt() ? static_cast<double>(v.toInt()) : static_cast<double>(v.toBool()))));
  } else if (!fill->is_constant() && fill->type().kind() != TypeKind::Float && fill->type().kind() != TypeKind::Complex) {
    Node* cast = g.create("aten::Float.Scalar", {fill}, &n);
    cast->output()->set_type(TypeKind::Float);
    n.set_input(1, cast->output());
  }
}

// Its older meaning, and that of the form that writes into an argument; none where it is today's.
std::vector<Function*> older_operators(const std::string& name, int64_t version) {
  if (name == "linspace" && version < 8) return {library_function("linspace_0_7"), library_function("linspace_out_0_7")};
  if (name == "logspace" && version < 9) return {library_function("logspace_0_8"), library_function("logspace_out_0_8")};
  return {};
}

}  // namespace

int64_t version_of_operator(const std::string& name) {
  static const auto* const versions = new std::map<std::string, int64_t>{{"aten::div", 4},      {"aten::div_", 4},     {"aten::full", 5},
                                                                         {"aten::linspace", 8}, {"aten::logspace", 9}, {"aten::gelu", 10}};
  const auto found = versions->find(name);
  return found == versions->end() ? kOldestWritten : found->second;
}

Function* older_operator(const std::string& name, const std::string& overload, int64_t version) {
  static const std::map<std::string, const char*> functions = {{"aten::div.Tensor", "div_Tensor_0_3"},   {"aten::div.Scalar", "div_Scalar_0_3"},
                                                               {"aten::div.out", "div_out_0_3"},         {"aten::div_.Tensor", "div__Tensor_0_3"},
                                                               {"aten::div_.Scalar", "div__Scalar_0_3"}, {"aten::full", "full_0_4"},
                                                               {"aten::linspace", "linspace_0_7"},       {"aten::linspace.out", "linspace_out_0_7"},
                                                               {"aten::logspace", "logspace_0_8"},       {"aten::logspace.out", "logspace_out_0_8"}};
  if (version >= version_of_operator(name)) return nullptr;
  const auto found = functions.find(overload.empty() ? name : name + "." + overload);
  return found == functions.end() ? nullptr : library_function(found->second);
}

SugarPtr torch_namespace_of(int64_t version) {
  const SugarPtr today = torch_namespace();
  if (version >= kVersionOfOperators) return today;
  const SugarPtr then = sugar_text(SugarKind::Namespace, "torch");
  then->attribute = [today, version](const std::string& name, const Range& range) {
    const SugarPtr found = today->attribute(name, range);
    std::vector<Function*> older = older_operators(name, version);
    if (!found || older.empty()) return found;
    const SugarPtr both = std::make_shared<Sugar>(*found);
    both->overloads = std::move(older);
    return both;
  };
  return then;
}

void upgrade_operators(Graph& g, int64_t version) {
  std::vector<Node*> operators;
  g.for_each([&](Node& n) {
    if (n.kind() == NodeKind::Op) operators.push_back(&n);
  });
  for (Node* n : operators) {
    const char* division = version < 4 ? old_division(*n) : nullptr;
    if (division) {
      Function* f = library_function(division);
      Node* call = g.create_call(f->name, n->inputs(), n);
      call->add_output(TypeKind::Tensor, n->output()->name());
      call->set_location(n->location());
      n->output()->replace_uses_with(call->output());
      n->erase();
    } else if (version < 5 && std::string_view(n->op()->name) == "full") {
      fill_with_float(g, *n);
    }
  }
}

}  // namespace cresset::graph::script
