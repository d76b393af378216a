#include "cresset/graph/io/pt2_graph.h"

#include <algorithm>

#include "cresset/graph/io/names.h"
#include "cresset/graph/io/pt2_facts.h"
#include "cresset/graph/passes/passes.h"

namespace cresset::graph {

namespace {

constexpr int kMaxNesting = 50;

// The functions of numbers that graphs call, by the names that the format has for them.
const char* builtin_name(std::string_view target) {
  static const std::map<std::string_view, const char*> kNames = {
      {"torch.ops.aten.sym_size.int", "ir::size"},
      {"torch.ops.aten.sym_stride.int", "ir::stride"},
      {"torch.ops.aten.sym_numel.default", "ir::numel"},
      {"torch.ops.aten.sym_storage_offset.default", "ir::storage_offset"},
      {"torch.ops.aten._assert_scalar.default", "ir::check"},
      {"torch.ops.aten.item.default", "ir::item"},
      {"torch.ops.aten._local_scalar_dense.default", "ir::item"},
      {"_operator.add", "ir::add"},
      {"_operator.sub", "ir::sub"},
      {"_operator.mul", "ir::mul"},
      {"_operator.floordiv", "ir::floordiv"},
      {"_operator.mod", "ir::mod"},
      {"_operator.truediv", "ir::truediv"},
      {"_operator.pow", "ir::pow"},
      {"_operator.neg", "ir::neg"},
      {"_operator.eq", "ir::eq"},
      {"_operator.ne", "ir::ne"},
      {"_operator.lt", "ir::lt"},
      {"_operator.le", "ir::le"},
      {"_operator.gt", "ir::gt"},
      {"_operator.ge", "ir::ge"},
      {"_operator.and_", "ir::and"},
      {"_operator.or_", "ir::or"},
      {"math.ceil", "ir::ceil"},
      {"math.floor", "ir::floor"},
      {"math.trunc", "ir::int"},
      {"builtins.round", "ir::round"},
      {"torch.sym_float", "ir::float"},
      {"torch.sym_int", "ir::int"},
      {"torch.sym_max", "ir::max"},
      {"torch.sym_min", "ir::min"},
      {"torch.sym_not", "ir::not"},
      {"torch._sym_sqrt", "ir::sqrt"},
  };
  const auto found = kNames.find(target);
  return found == kNames.end() ? nullptr : found->second;
}

// any.dims and all.dims without dimensions go over all of them.
std::string name_for(const Field& n, const std::string& target, const std::string& name) {
  if (target != "torch.ops.aten.any.dims" && target != "torch.ops.aten.all.dims") return name;
  return n.at("inputs").json().size() == 1 ? name.substr(0, 3) : name;
}

// Resizing of images to a size or by factors: the mode, and whether it smooths, by the name that the format has for it.
struct Resizing {
  const char* mode;
  bool antialias = false;
};
std::optional<Resizing> resizing_of(std::string_view target) {
  static const std::map<std::string_view, Resizing> kNames = {
      {"upsample_nearest1d", {"nearest"}},
      {"upsample_nearest2d", {"nearest"}},
      {"upsample_nearest3d", {"nearest"}},
      {"_upsample_nearest_exact1d", {"nearest-exact"}},
      {"_upsample_nearest_exact2d", {"nearest-exact"}},
      {"_upsample_nearest_exact3d", {"nearest-exact"}},
      {"upsample_linear1d", {"linear"}},
      {"upsample_bilinear2d", {"bilinear"}},
      {"upsample_trilinear3d", {"trilinear"}},
      {"upsample_bicubic2d", {"bicubic"}},
      {"_upsample_bilinear2d_aa", {"bilinear", true}},
      {"_upsample_bicubic2d_aa", {"bicubic", true}},
      {"_upsample_lanczos2d_aa", {"lanczos", true}},
  };
  constexpr std::string_view kPrefix = "torch.ops.aten.", kOverload = ".vec";
  if (target.size() < kPrefix.size() + kOverload.size() || target.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  if (target.substr(target.size() - kOverload.size()) != kOverload) return std::nullopt;
  const auto found = kNames.find(target.substr(kPrefix.size(), target.size() - kPrefix.size() - kOverload.size()));
  return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

// Checks of facts that hold by construction here, and hints about sizes: they compute nothing.
bool computes_nothing(std::string_view target) {
  return target == "torch.ops.aten._assert_tensor_metadata.default" || target == "torch.ops.aten.sym_constrain_range.default" ||
         target == "torch.ops.aten.sym_constrain_range_for_size.default";
}

template <class F> auto list_of(const Field& field, F&& read) {
  std::vector<decltype(read(field))> list;
  field.each([&](const Field& f) { list.push_back(read(f)); });
  return list;
}

std::string name_in(const Field& f) {
  if (f.has("name")) return f.at("name").text();
  return f.at("as_name").text();
}

}  // namespace

Type GraphReader::type_of(const Field& graph, const Field& argument) {
  const auto [kind, value] = argument.choice();
  if (kind == "as_tensor") {
    const std::string name = value.at("name").text();
    const Field tables = graph.at("tensor_values");
    if (!tables.has(name.c_str())) value.fail("the tensor '", name, "' is not in tensor_values");
    return Type::tensor(read_facts(tables.at(name.c_str())));
  }
  if (kind == "as_sym_int" || kind == "as_int") return TypeKind::Int;
  if (kind == "as_sym_float" || kind == "as_float") return TypeKind::Float;
  if (kind == "as_sym_bool" || kind == "as_bool") return TypeKind::Bool;
  if (kind == "as_string") return TypeKind::String;
  if (kind == "as_none") return TypeKind::None;
  return {};
}

Value* GraphReader::argument(const Field& argument, const Names& names, Node* place) {
  const auto [kind, value] = argument.choice();
  const auto by_name = [&](const Field& f) {
    const std::string name = name_in(f);
    const auto found = names.find(name);
    if (found == names.end()) f.fail("the value '", name, "' is used before it is defined");
    return found->second;
  };
  // One number of a list: a value or a constant.
  const auto symbolic = [&](const Field& f) {
    if (f.has("as_int")) return graph_.constant(f.at("as_int").integer());
    if (f.has("as_float")) return graph_.constant(f.at("as_float").real());
    if (f.has("as_bool")) return graph_.constant(f.at("as_bool").boolean());
    return by_name(f);
  };
  const auto list = [&](std::vector<Value*> values, Type element) {
    Node* n = graph_.create(NodeKind::List, std::move(values), place);
    n->output()->set_type(Type::list(std::move(element)));
    return n->output();
  };
  if (kind == "as_none") return graph_.none();
  if (kind == "as_tensor") return by_name(value);
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") return symbolic(value);
  if (kind == "as_int") return graph_.constant(value.integer());
  if (kind == "as_float") return graph_.constant(value.real());
  if (kind == "as_bool") return graph_.constant(value.boolean());
  if (kind == "as_string") return graph_.constant(value.text());
  if (kind == "as_complex") return graph_.constant(complex<double>(value.at("real").real(), value.at("imag").real()));
  if (kind == "as_scalar_type") return graph_.constant(read_dtype(value));
  if (kind == "as_layout") return graph_.constant(read_layout(value));
  if (kind == "as_memory_format") return graph_.constant(read_memory_format(value));
  if (kind == "as_device") return graph_.constant(read_device(value));
  if (kind == "as_ints") return graph_.constant(list_of(value, [](const Field& f) { return f.integer(); }));
  if (kind == "as_floats") return graph_.constant(list_of(value, [](const Field& f) { return f.real(); }));
  if (kind == "as_bools") return graph_.constant(list_of(value, [](const Field& f) { return f.boolean(); }));
  if (kind == "as_strings") return graph_.constant(list_of(value, [](const Field& f) { return f.text(); }));
  if (kind == "as_sym_ints") return list(list_of(value, symbolic), TypeKind::Int);
  if (kind == "as_sym_floats") return list(list_of(value, symbolic), TypeKind::Float);
  if (kind == "as_sym_bools") return list(list_of(value, symbolic), TypeKind::Bool);
  if (kind == "as_tensors") return list(list_of(value, by_name), TypeKind::Tensor);
  if (kind == "as_optional_tensors")
    return list(list_of(value, [&](const Field& f) { return f.has("as_none") ? graph_.none() : by_name(f.at("as_tensor")); }),
                Type::optional(TypeKind::Tensor));
  argument.fail("arguments of the kind ", kind, " are not supported");
}

void GraphReader::define(const Field& output, Value* value, Names& names) {
  const std::string name = name_in(output);
  if (!names.emplace(name, value).second) output.fail("the value '", name, "' is defined twice");
}

std::vector<Field> GraphReader::inputs_of(const Field& node) const {
  return list_of(node.at("inputs"), [](const Field& f) { return f.at("arg"); });
}

// The innermost line of the stack trace, which Python prints last.
std::shared_ptr<const Location> GraphReader::location(const Field& node) const {
  if (!node.has("metadata") || !node.at("metadata").has("stack_trace")) return nullptr;
  const std::string trace = node.at("metadata").at("stack_trace").text();
  const size_t at = trace.rfind("File \"");
  const size_t end = at == std::string::npos ? at : trace.find("\", line ", at);
  if (end == std::string::npos) return nullptr;
  auto l = std::make_shared<Location>();
  l->file = trace.substr(at + 6, end - at - 6);
  l->line = static_cast<int>(std::strtol(trace.c_str() + end + 8, nullptr, 10));
  const size_t in = trace.find(", in ", end);
  if (in != std::string::npos) l->function = trace.substr(in + 5, trace.find('\n', in) - in - 5);
  return l;
}

void GraphReader::nodes(const Field& graph, Block& block, Names& names) {
  graph.at("nodes").each([&](const Field& n) {
    Node* before = block.return_node()->previous();
    try {
      node(graph, n, block, names);
    } catch (Error& e) {
      const bool is_named = n.json().is_object() && n.json().contains("name") && n.json()["name"].is_string();
      const bool is_deeper = std::string_view(e.what()).substr(0, 5) == "node ";
      if (is_named && !is_deeper) e.add_context("node " + n.json()["name"].get<std::string>());
      throw;
    }
    const auto place = location(n);
    for (Node* made = before ? before->next() : block.first(); made && made->kind() != NodeKind::Return; made = made->next())
      if (!made->location()) made->set_location(place);
  });
}

void GraphReader::node(const Field& graph, const Field& n, Block& block, Names& names) {
  const std::string target = n.at("target").text();
  if (computes_nothing(target)) return;
  if (const char* name = builtin_name(target)) return builtin(graph, n, *find_builtin(name), block, names);
  if (target == "torch.sym_ite") return choice(graph, n, block, names);
  if (target == "torch.ops.higher_order.cond") return condition(graph, n, block, names);
  if (target == "torch.ops.higher_order.while_loop") return while_loop(graph, n, block, names);
  if (target == "torch.ops.higher_order.scan") return over_slices(graph, n, true, block, names);
  if (target == "torch.ops.higher_order.map_impl") return over_slices(graph, n, false, block, names);
  // Gradient modes make no difference to values.
  if (target == "torch.ops.higher_order.wrap_with_set_grad_enabled") return inlined(n, 1, block, names);
  if (target == "torch.ops.higher_order.wrap_with_autocast") return in_mixed_precision(n, block, names);
  if (constexpr std::string_view kSteps = "torch._functorch.predispatch."; target.starts_with(kSteps))
    return step_of_transform(graph, n, std::string_view(target).substr(kSteps.size()), block, names);
  // PyTorch's files have the operators beside the steps.
  if (target == "torch.ops.aten._make_dual.default") return step_of_transform(graph, n, "_make_dual", block, names);
  if (target == "torch.ops.aten._unpack_dual.default") return step_of_transform(graph, n, "_unpack_dual", block, names);
  if (target == "torch.ops.higher_order.with_effects") return ordered(graph, n, block, names);
  if (target == "torch.ops.higher_order.auto_functionalized_v2") return written(graph, n, block, names);
  if (const auto resizing = resizing_of(target)) return resize(graph, n, resizing->mode, resizing->antialias, block, names);
  if (const Form* form = form_of(target)) return composed(graph, n, *form, block, names, 0);
  const std::string name = name_for(n, target, operator_of(target));
  const dispatch::OpHandle op = name.empty() ? dispatch::OpHandle() : dispatch::find_op_or_null(name);
  if (op) return operation(graph, n, op, block, names);
  foreign(graph, n, target, block, names);
}

namespace {

bool is_number(const Field& argument) {
  const auto [kind, value] = argument.choice();
  if (kind == "as_int" || kind == "as_float" || kind == "as_bool" || kind == "as_complex") return true;
  return kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool";
}
bool is_plain_tensor(const dispatch::Argument& a) { return a.type.kind == dispatch::TypeKind::Tensor && !a.type.list; }

}  // namespace

dispatch::OpHandle GraphReader::for_numbers(const Field& n, const dispatch::OpHandle& op) const {
  std::string of_numbers;
  n.at("inputs").each([&](const Field& f) {
    const int i = op.schema().argument_index(f.at("name").text());
    if (i >= 0 && is_plain_tensor(op.schema().arguments[static_cast<size_t>(i)]) && is_number(f.at("arg"))) of_numbers = f.at("name").text();
  });
  if (of_numbers.empty()) return op;
  const dispatch::OpHandle other = dispatch::find_op_or_null(op.schema().name + ".Scalar");
  if (!other || other.schema().returns.size() != op.schema().returns.size()) return op;
  bool fits = true;
  n.at("inputs").each([&](const Field& f) {
    const int i = other.schema().argument_index(f.at("name").text());
    fits = fits && i >= 0 && is_plain_tensor(other.schema().arguments[static_cast<size_t>(i)]) != is_number(f.at("arg"));
  });
  return fits ? other : op;
}
// Promotes as a number does, not as a tensor of its dtype.
Value* GraphReader::as_tensor(Value* number, Node* place) {
  Node* n = graph_.create("ir::tensor", {number}, place);
  return n->output();
}

void GraphReader::operation(const Field& graph, const Field& n, const dispatch::OpHandle& wanted, Block& block, Names& names, size_t skipped) {
  const dispatch::OpHandle op = for_numbers(n, wanted);
  const dispatch::FunctionSchema& schema = op.schema();
  std::vector<Value*> inputs(schema.arguments.size());
  size_t at = 0;
  n.at("inputs").each([&](const Field& f) {
    if (at++ < skipped) return;
    const std::string name = f.at("name").text();
    // `swapaxes` is transpose, whose dimensions have other names.
    const int i = name.empty() ? static_cast<int>(at - 1 - skipped) : schema.argument_index(name == "axis0" ? "dim0" : name == "axis1" ? "dim1" : name);
    if (i < 0 || static_cast<size_t>(i) >= inputs.size()) f.fail("the operator ", op.entry().name, " has no argument '", name, "'");
    if (inputs[static_cast<size_t>(i)]) f.fail("the argument '", name, "' is given twice");
    Value*& v = inputs[static_cast<size_t>(i)];
    v = argument(f.at("arg"), names, block.return_node());
    if (is_plain_tensor(schema.arguments[static_cast<size_t>(i)]) && is_number(f.at("arg"))) v = as_tensor(v, block.return_node());
  });
  for (size_t i = 0; i < inputs.size(); i++) {
    const dispatch::Argument& a = schema.arguments[i];
    if (!inputs[i] && a.name == "unbiased") inputs[i] = graph_.constant(true);  // which the format may leave out
    if (!inputs[i] && !a.has_default) n.fail("the operator ", op.entry().name, " needs a value for '", a.name, "'");
    if (!inputs[i]) inputs[i] = graph_.constant(a.default_value);
  }
  Node& made = *graph_.create(op, std::move(inputs), block.return_node());
  if (!skipped) return outputs(graph, n, made, names);
  std::vector<Value*> values{graph_.none()};
  for (size_t i = 0; i < made.outputs().size(); i++) values.push_back(made.output(i));
  results(n, values, names);
}

Value* GraphReader::input(const Field& n, std::string_view name, const Names& names, Block& block) {
  Value* found = nullptr;
  n.at("inputs").each([&](const Field& f) {
    if (f.at("name").text() == name) found = argument(f.at("arg"), names, block.return_node());
  });
  return found ? found : graph_.none();
}

void GraphReader::resize(const Field& graph, const Field& n, const char* mode, bool antialias, Block& block, Names& names) {
  const auto given = [&](const char* name) { return input(n, name, names, block); };
  Value* align = given("align_corners");
  if (align->constant() && align->constant()->is_none()) align = graph_.constant(false);
  std::vector<Value*> inputs{given("input"), given("output_size"),   given("scale_factors"),    graph_.constant(std::string(mode)),
                             align,          graph_.constant(false), graph_.constant(antialias)};
  if (inputs[0]->constant() && inputs[0]->constant()->is_none()) n.fail("expected the argument 'input'");
  outputs(graph, n, *graph_.create("_interpolate", std::move(inputs), block.return_node()), names);
}

void GraphReader::composed(const Field& graph, const Field& n, const Form& form, Block& block, Names& names, size_t skipped) {
  std::vector<Value*> inputs(form.schema.arguments.size());
  size_t at = 0;
  n.at("inputs").each([&](const Field& f) {
    if (at++ < skipped) return;
    const std::string name = f.at("name").text();
    const int i = name.empty() ? static_cast<int>(at - 1 - skipped) : form.schema.argument_index(name);
    if (i < 0 || static_cast<size_t>(i) >= inputs.size()) f.fail("the operator ", form.schema.name, " has no argument '", name, "'");
    if (inputs[static_cast<size_t>(i)]) f.fail("the argument '", name, "' is given twice");
    inputs[static_cast<size_t>(i)] = argument(f.at("arg"), names, block.return_node());
  });
  for (size_t i = 0; i < inputs.size(); i++) {
    const dispatch::Argument& a = form.schema.arguments[i];
    if (!inputs[i] && !a.has_default) n.fail("the operator ", form.schema.name, " needs a value for '", a.name, "'");
    if (!inputs[i]) inputs[i] = graph_.constant(a.default_value);
  }
  // Branches on arguments that the file gives are decided now.
  std::unique_ptr<Graph> decided;
  if (form.branches) {
    decided = form.body->clone();
    for (size_t i = 0; i < inputs.size(); i++)
      if (inputs[i]->is_constant() && !inputs[i]->type().is_tensor())
        decided->block().parameter(i)->replace_uses_with(decided->constant(*inputs[i]->constant()));
    fold_constants(*decided);
  }
  std::vector<Value*> values = copy_nodes(decided ? *decided : *form.body, inputs, graph_, block.return_node());
  if (skipped) values.insert(values.begin(), graph_.none());
  if (form.schema.returns.size() == 1 && form.schema.returns[0].type.list && !skipped) {
    const std::vector<Field> lists = list_of(n.at("outputs"), [](const Field& f) { return f; });
    if (lists.size() != 1) n.fail("expected a list of results, got ", lists.size(), " results");
    return unpacked(graph, lists[0], values[0], block.return_node(), names);
  }
  results(n, values, names);
}

// A call that stands in order with others: a token, which has no value here, goes in and comes out beside its own values.
void GraphReader::ordered(const Field& graph, const Field& n, Block& block, Names& names) {
  const std::vector<Field> inputs = inputs_of(n);
  if (inputs.size() < 2) n.at("inputs").fail("expected a token and an operator, got ", inputs.size(), " inputs");
  const std::string target = inputs[1].at("as_operator").text();
  if (const Form* form = form_of(target)) return composed(graph, n, *form, block, names, 2);
  const std::string name = operator_of(target);
  const dispatch::OpHandle op = name.empty() ? dispatch::OpHandle() : dispatch::find_op_or_null(name);
  if (op) return operation(graph, n, op, block, names, 2);
  foreign(graph, n, target, block, names);
}

// Names the results of a node that others stand for.
void GraphReader::results(const Field& n, const std::vector<Value*>& values, Names& names) {
  size_t i = 0;
  const auto next = [&](const Field& f) {
    if (i >= values.size()) f.fail("the graph has ", values.size(), " results");
    define(f, values[i++], names);
  };
  n.at("outputs").each([&](const Field& f) {
    if (f.has("as_none")) return;
    if (f.has("as_tensors")) f.at("as_tensors").each(next);
    else next(f.choice().second);
  });
}

namespace {

// The tensors and numbers that a higher-order operator hands to its graphs.
std::vector<Field> operands_of(const Field& f) {
  if (f.has("as_tensors")) return list_of(f.at("as_tensors"), [](const Field& t) { return t; });
  if (f.has("as_sym_ints")) return list_of(f.at("as_sym_ints"), [](const Field& t) { return t; });
  if (f.has("as_ints") && f.at("as_ints").json().empty()) return {};
  f.fail("expected a list of tensors or sizes");
}

}  // namespace

// A custom operator that writes its arguments: it gets copies, and the node's last results are what it leaves in them.
void GraphReader::written(const Field& graph, const Field& n, Block& block, Names& names) {
  std::string target;
  std::map<std::string, Field> given;
  n.at("inputs").each([&](const Field& f) {
    if (f.at("arg").has("as_operator")) target = f.at("arg").at("as_operator").text();
    else given.emplace(f.at("name").text(), f.at("arg"));
  });
  if (target.empty()) n.at("inputs").fail("expected the operator that writes its arguments");
  const dispatch::OpHandle op = dispatch::find_op_or_null(operator_of(target));
  if (!op) return foreign(graph, n, target, block, names);
  Node* const end = block.return_node();
  std::vector<Value*> bases;
  const auto at = [&](const std::string& name) -> const Field& {
    const auto found = given.find(name);
    if (found == given.end()) n.at("inputs").fail("expected the argument '", name, "'");
    return found->second;
  };
  const auto value = [&](const std::string& name) { return argument(at(name), names, end); };
  const auto number = [&](const std::string& name) { return at(name).at("as_int").integer(); };
  for (const Field& f : operands_of(at("_all_bases"))) {
    const auto found = names.find(name_in(f));
    if (found == names.end()) f.fail("the value '", name_in(f), "' is used before it is defined");
    bases.push_back(graph_.create("clone", {found->second}, end)->output());
  }
  const auto part = [&](const std::string& prefix) -> Value* {
    const Field& index = at(prefix + "_base_index");
    if (index.has("as_none")) return graph_.none();
    const int64_t i = index.at("as_int").integer();
    if (i < 0 || i >= static_cast<int64_t>(bases.size())) index.fail("expected the number of one of ", bases.size(), " tensors, got ", i);
    Value* base = bases[static_cast<size_t>(i)];
    if (given.count(prefix + "_size"))
      return graph_.create("as_strided", {base, value(prefix + "_size"), value(prefix + "_stride"), value(prefix + "_storage_offset")}, end)->output();
    if (!given.count(prefix + "_slice_dim")) return base;
    const auto cut = [&](const char* what) { return value(prefix + "_slice_" + what); };
    return graph_.create("slice.Tensor", {base, cut("dim"), cut("start"), cut("end"), graph_.constant(int64_t{1})}, end)->output();
  };
  std::vector<Value*> inputs;
  for (const dispatch::Argument& a : op.schema().arguments) {
    const std::string prefix = "_" + a.name;
    if (given.count(prefix + "_length")) {
      std::vector<Value*> parts;
      for (int64_t i = 0; i < number(prefix + "_length"); i++) parts.push_back(part(prefix + "_" + std::to_string(i)));
      Node* list = graph_.create(NodeKind::List, std::move(parts), end);
      list->output()->set_type(Type::list(TypeKind::Tensor));
      inputs.push_back(list->output());
    } else if (given.count(prefix + "_base_index")) {
      inputs.push_back(part(prefix));
    } else if (given.count(a.name) || !a.has_default) {
      inputs.push_back(value(a.name));
    } else {
      inputs.push_back(graph_.constant(a.default_value));
    }
  }
  Node* made = graph_.create(op, std::move(inputs), end);
  const std::vector<Field> list = list_of(n.at("outputs"), [](const Field& f) { return f; });
  const size_t own = std::max<size_t>(made->outputs().size(), 1);
  if (list.size() != own + bases.size()) n.at("outputs").fail("expected ", own + bases.size(), ", got ", list.size());
  for (size_t i = 0; i < list.size(); i++) {
    if (list[i].has("as_none")) continue;
    if (i < own && made->outputs().empty()) list[i].fail("the operator ", op.entry().name, " returns nothing");
    Value* result = i < own ? made->output(i) : bases[i - own];
    if (i < own) result->set_type(type_of(graph, list[i]));
    define(list[i].choice().second, result, names);
  }
}

void GraphReader::unpacked(const Field& graph, const Field& output, Value* list, Node* place, Names& names) {
  Node* const made = graph_.create(NodeKind::Unpack, {list}, place);
  output.at("as_tensors").each([&](const Field& f) {
    const Field facts = graph.at("tensor_values").at(f.at("name").text().c_str());
    define(f, made->add_output(Type::tensor(read_facts(facts)), name_in(f)), names);
  });
}

void GraphReader::outputs(const Field& graph, const Field& n, Node& made, Names& names) {
  const std::vector<Field> list = list_of(n.at("outputs"), [](const Field& f) { return f; });
  if (list.size() == 1 && list[0].has("as_tensors")) {
    if (made.outputs().size() != 1) n.fail("a list of results, where ", made.op_name(), " gives ", made.outputs().size());
    return unpacked(graph, list[0], made.output(), made.next(), names);
  }
  if (list.size() != made.outputs().size() && !list.empty()) n.fail("expected ", made.outputs().size(), " outputs of ", made.op_name(), ", got ", list.size());
  for (size_t i = 0; i < list.size(); i++) {
    const auto [kind, value] = list[i].choice();
    if (kind == "as_none") continue;
    if (kind == "as_tensors") {
      unpacked(graph, list[i], made.output(i), made.next(), names);
      continue;
    }
    const Type type = type_of(graph, list[i]);
    if (!type.fits(Type::optional(made.output(i)->type())))
      list[i].fail("is ", type.text(), ", where ", made.op_name(), " gives ", made.output(i)->type().text());
    made.output(i)->set_type(type);
    define(value, made.output(i), names);
  }
}

void GraphReader::builtin(const Field& graph, const Field& n, const Builtin& builtin, Block& block, Names& names) {
  std::vector<Value*> inputs;
  for (const Field& f : inputs_of(n)) inputs.push_back(argument(f, names, block.return_node()));
  Node* made = graph_.create(builtin, std::move(inputs), block.return_node());
  outputs(graph, n, *made, names);
}

std::vector<Value*> GraphReader::nested(const Field& function, const std::vector<Value*>& inputs, Block& block) {
  const Field graph = function.at("as_graph").at("graph");
  if (depth_ >= kMaxNesting) graph.fail("expected at most ", kMaxNesting, " graphs within graphs");
  depth_++;
  Names inside;
  size_t i = 0;
  graph.at("inputs").each([&](const Field& f) {
    if (i >= inputs.size()) f.fail("the graph has more inputs than the ", inputs.size(), " that it is given");
    define(f.choice().second, inputs[i++], inside);
  });
  if (i != inputs.size()) graph.fail("the graph has ", i, " inputs, and is given ", inputs.size());
  nodes(graph, block, inside);
  std::vector<Value*> out;
  graph.at("outputs").each([&](const Field& f) { out.push_back(argument(f, inside, block.return_node())); });
  depth_--;
  return out;
}

// One of two numbers.
void GraphReader::choice(const Field& graph, const Field& n, Block& block, Names& names) {
  const std::vector<Field> inputs = inputs_of(n), list = list_of(n.at("outputs"), [](const Field&f) { return f; });
  if (inputs.size() != 3) n.at("inputs").fail("expected a condition and two numbers, got ", inputs.size(), " inputs");
  if (list.size() != 1) n.at("outputs").fail("expected one number, got ", list.size(), " outputs");
  Node* made = graph_.create(NodeKind::If, {argument(inputs[0], names, block.return_node())}, block.return_node());
  for (const size_t i : {size_t{1}, size_t{2}}) made->add_block()->add_result(argument(inputs[i], names, made));
  const auto [kind, value] = list[0].choice();
  define(value, made->add_output(type_of(graph, list[0]), name_in(value)), names);
}

void GraphReader::condition(const Field& graph, const Field& n, Block& block, Names& names) {
  const std::vector<Field> inputs = inputs_of(n);
  if (inputs.size() != 4) n.at("inputs").fail("expected a condition, two graphs and their operands, got ", inputs.size(), " inputs");
  std::vector<Value*> operands;
  for (const Field& f : operands_of(inputs[3])) {
    const auto found = names.find(name_in(f));
    if (found == names.end()) f.fail("the value '", name_in(f), "' is used before it is defined");
    operands.push_back(found->second);
  }
  Node* made = graph_.create(NodeKind::If, {argument(inputs[0], names, block.return_node())}, block.return_node());
  for (const size_t i : {size_t{1}, size_t{2}}) {
    Block* inside = made->add_block();
    for (Value* v : nested(inputs[i], operands, *inside)) inside->add_result(v);
  }
  std::vector<Field> list = list_of(n.at("outputs"), [](const Field& f) { return f; });
  if (list.size() == 1 && list[0].has("as_tensors")) {
    list[0].at("as_tensors").each([&](const Field& f) {
      define(f, made->add_output(Type::tensor(read_facts(graph.at("tensor_values").at(name_in(f).c_str()))), name_in(f)), names);
    });
    return;
  }
  for (const Field& f : list) {
    const auto [kind, value] = f.choice();
    define(value, made->add_output(type_of(graph, f), name_in(value)), names);
  }
}

std::vector<Value*> GraphReader::operands(const Field& f, const Names& names) const {
  std::vector<Value*> list;
  for (const Field& o : operands_of(f)) {
    const auto found = names.find(name_in(o));
    if (found == names.end()) o.fail("the value '", name_in(o), "' is used before it is defined");
    list.push_back(found->second);
  }
  return list;
}

// A loop over the slices; outputs are written slice by slice into tensors made before it.
void GraphReader::over_slices(const Field& graph, const Field& n, bool carries, Block& block, Names& names) {
  const std::vector<Field> inputs = inputs_of(n);
  if (inputs.size() != (carries ? 4u : 3u)) n.at("inputs").fail("expected a graph, tensors and others, got ", inputs.size(), " inputs");
  const size_t at = carries ? 2 : 1;
  const std::vector<Value*> first = carries ? operands(inputs[1], names) : std::vector<Value*>(), over = operands(inputs[at], names);
  const std::vector<Value*> others = operands(inputs[at + 1], names);
  if (over.empty()) inputs[at].fail("expected a tensor to take slices of");
  Value* const trips = graph_.create("ir::size", {over[0], graph_.constant(0)}, block.return_node())->output();
  std::vector<Field> outputs;
  n.at("outputs").each([&](const Field& f) {
    if (f.has("as_tensors")) f.at("as_tensors").each([&](const Field& o) { outputs.push_back(o); });
    else outputs.push_back(f.choice().second);
  });
  if (outputs.size() < first.size()) n.at("outputs").fail("expected at least ", first.size(), " outputs, got ", outputs.size());

  std::vector<Value*> loop_inputs{trips, graph_.constant(true)};
  loop_inputs.insert(loop_inputs.end(), first.begin(), first.end());
  for (size_t i = first.size(); i < outputs.size(); i++) {
    const TensorFacts facts = read_facts(graph.at("tensor_values").at(name_in(outputs[i]).c_str()));
    if (facts.sizes->empty()) outputs[i].fail("expected a tensor of slices, got a scalar");
    std::vector<Value*> sizes{trips};
    for (size_t d = 1; d < facts.sizes->size(); d++) {
      const auto size = (*facts.sizes)[d].constant();
      if (!size) outputs[i].fail("expected slices whose sizes are numbers, got ", (*facts.sizes)[d].text());
      sizes.push_back(graph_.constant(*size));
    }
    Node* list = graph_.create(NodeKind::List, sizes, block.return_node());
    list->output()->set_type(Type::list(TypeKind::Int));
    loop_inputs.push_back(graph_.create("empty.memory_format", {list->output(), graph_.constant(*facts.dtype)}, block.return_node())->output());
  }
  Node* made = graph_.create(NodeKind::Loop, loop_inputs, block.return_node());
  Block* inside = made->add_block();
  Value* const trip = inside->add_parameter(TypeKind::Int, "trip");
  std::vector<Value*> parameters;
  for (size_t i = 2; i < loop_inputs.size(); i++) parameters.push_back(inside->add_parameter(TypeKind::Tensor, loop_inputs[i]->name()));
  std::vector<Value*> arguments(parameters.begin(), parameters.begin() + static_cast<std::ptrdiff_t>(first.size()));
  const auto slice = [&](Value* v) { return graph_.create("select.int", {v, graph_.constant(0), trip}, inside->return_node())->output(); };
  for (Value* v : over) arguments.push_back(slice(v));
  arguments.insert(arguments.end(), others.begin(), others.end());
  const std::vector<Value*> results = nested(inputs[0], arguments, *inside);
  if (results.size() != outputs.size()) inputs[0].fail("expected ", outputs.size(), " results, got ", results.size());
  inside->add_result(graph_.constant(true));
  for (size_t i = 0; i < first.size(); i++) inside->add_result(results[i]);
  for (size_t i = first.size(); i < results.size(); i++) {
    graph_.create("copy_", {slice(parameters[i]), results[i]}, inside->return_node());
    inside->add_result(parameters[i]);
  }
  for (const Field& o : outputs) define(o, made->add_output(TypeKind::Tensor, name_in(o)), names);
}

void GraphReader::while_loop(const Field& graph, const Field& n, Block& block, Names& names) {
  const std::vector<Field> inputs = inputs_of(n);
  if (inputs.size() != 4) n.at("inputs").fail("expected two graphs, carried values and others, got ", inputs.size(), " inputs");
  const std::vector<Value*> carried = operands(inputs[2], names), others = operands(inputs[3], names);
  const auto with_others = [&](std::vector<Value*> list) {
    list.insert(list.end(), others.begin(), others.end());
    return list;
  };
  const auto condition = [&](const std::vector<Value*>& list, Block& where) {
    const std::vector<Value*> result = nested(inputs[0], with_others(list), where);
    if (result.size() != 1) inputs[0].fail("expected one result, got ", result.size());
    return graph_.create("ir::bool", {graph_.create("ir::item", {result[0]}, where.return_node())->output()}, where.return_node())->output();
  };
  std::vector<Value*> loop_inputs{graph_.constant(INT64_MAX), condition(carried, block)};
  loop_inputs.insert(loop_inputs.end(), carried.begin(), carried.end());
  Node* made = graph_.create(NodeKind::Loop, loop_inputs, block.return_node());
  Block* inside = made->add_block();
  inside->add_parameter(TypeKind::Int, "trip");
  std::vector<Value*> parameters;
  // Sizes of carried values may change from trip to trip.
  for (const Value* v : carried) parameters.push_back(inside->add_parameter(v->type().is_tensor() ? Type(TypeKind::Tensor) : v->type(), v->name()));
  const std::vector<Value*> results = nested(inputs[1], with_others(parameters), *inside);
  if (results.size() != carried.size()) inputs[1].fail("expected ", carried.size(), " results, got ", results.size());
  inside->add_result(condition(results, *inside));
  for (Value* v : results) inside->add_result(v);
  n.at("outputs").each([&](const Field& f) {
    const auto each = [&](const Field& o, Type type) { define(o, made->add_output(std::move(type), name_in(o)), names); };
    if (f.has("as_tensors")) return f.at("as_tensors").each([&](const Field& o) { each(o, TypeKind::Tensor); });
    each(f.choice().second, type_of(graph, f));
  });
}

void GraphReader::inlined(const Field& n, size_t function, Block& block, Names& names) {
  const std::vector<Field> inputs = inputs_of(n);
  if (inputs.size() <= function) n.at("inputs").fail("expected a graph, got ", inputs.size(), " inputs");
  std::vector<Value*> operands;
  for (size_t i = function + 1; i < inputs.size(); i++) operands.push_back(argument(inputs[i], names, block.return_node()));
  results(n, nested(inputs[function], operands, block), names);
}

// Whether casts are kept for later calls changes no result.
// Levels of vmap and forward mode: calls that open and close them, and of tensors that go in and come out.
void GraphReader::step_of_transform(const Field& graph, const Field& n, std::string_view step, Block& block, Names& names) {
  if (step == "lazy_load_decompositions") return;
  const std::vector<Field> inputs = inputs_of(n);
  const bool takes_tensor = step == "_unwrap_for_grad" || step == "_unpack_dual";
  if (takes_tensor && inputs.empty()) n.at("inputs").fail("expected a tensor, got no inputs");
  Value* const given = takes_tensor ? argument(inputs[0], names, block.return_node()) : nullptr;
  if (step == "_unwrap_for_grad") return results(n, {given}, names);
  has_regions_ = true;
  if (step == "_unpack_dual") {
    Value* const value = graph_.create("ir::dual_value", {given}, block.return_node())->output();
    return results(n, {value, graph_.create("ir::dual_tangent", {given}, block.return_node())->output()}, names);
  }
  static const std::map<std::string_view, const char*> kBuiltins = {
      {"_vmap_increment_nesting", "ir::begin_vmap"}, {"_vmap_decrement_nesting", "ir::end_vmap"}, {"_add_batch_dim", "ir::element_of_batch"},
      {"_remove_batch_dim", "ir::batch_of_element"}, {"_jvp_increment_nesting", "ir::begin_jvp"}, {"_jvp_decrement_nesting", "ir::end_jvp"},
      {"_enter_dual_level", "ir::begin_dual"},       {"_exit_dual_level", "ir::end_dual"},        {"_make_dual", "ir::make_dual"}};
  const auto found = kBuiltins.find(step);
  if (found == kBuiltins.end()) return foreign(graph, n, "torch._functorch.predispatch." + std::string(step), block, names);
  builtin(graph, n, *find_builtin(found->second), block, names);
}

void GraphReader::in_mixed_precision(const Field& n, Block& block, Names& names) {
  const std::vector<Field> inputs = inputs_of(n);
  if (inputs.size() < 5) n.at("inputs").fail("expected a device, a dtype, two switches and a graph, got ", inputs.size(), " inputs");
  std::vector<Value*> region;
  for (size_t i = 0; i < 3; i++) region.push_back(argument(inputs[i], names, block.return_node()));
  Value* const before = graph_.create("ir::begin_autocast", region, block.return_node())->output();
  inlined(n, 4, block, names);
  graph_.create("ir::end_autocast", {region[0], before}, block.return_node());
  has_regions_ = true;
}

void GraphReader::foreign(const Field& graph, const Field& n, const std::string& target, Block& block, Names& names) {
  missing_.emplace(target, n.has("name") ? n.at("name").text() : "?");
  if (!allow_foreign_ && missing_.size() > 1000) n.fail("too many operators that this library lacks");
  std::vector<Value*> inputs;
  for (const Field& f : inputs_of(n))
    if (!f.has("as_graph") && !f.has("as_custom_obj") && !f.has("as_operator")) inputs.push_back(argument(f, names, block.return_node()));
  Node* made = graph_.create_foreign(target, std::move(inputs), block.return_node());
  n.at("outputs").each([&](const Field& f) {
    if (f.has("as_tensors"))
      return f.at("as_tensors").each([&](const Field& o) {
        define(o, made->add_output(Type::tensor(read_facts(graph.at("tensor_values").at(name_in(o).c_str()))), name_in(o)), names);
      });
    if (f.has("as_none")) return;
    const Field value = f.choice().second;
    define(value, made->add_output(type_of(graph, f), name_in(value)), names);
  });
}

}  // namespace cresset::graph
