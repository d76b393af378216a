#include "cresset/graph/script/passes.h"

#include <algorithm>

#include "cresset/graph/passes/passes.h"
#include "cresset/graph/runtime/limits.h"
#include "cresset/graph/runtime/packed.h"
#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/print.h"
#include "cresset/graph/script/sugar.h"
#include "cresset/graph/script/values.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/list_functions.h"

namespace cresset::graph::script {

namespace {

bool is_builtin(const Node& n, const char* name) { return n.kind() == NodeKind::Builtin && n.builtin()->name == name; }
std::string attribute_name(const Node& n) { return constant_text(n.input(1)); }

// The object that a value is, found along attributes of `self`; null: it is known only when the program runs.
ScriptObject* object_behind(const Value* v, const Value* self, ScriptObject* root) {
  if (v == self) return root;
  if (!v->node() || !is_builtin(*v->node(), "prim::GetAttr")) return nullptr;
  ScriptObject* owner = object_behind(v->node()->input(0), self, root);
  return owner ? object_of(owner->slot(attribute_name(*v->node()))) : nullptr;
}

bool is_frozen_value(const Datum& v) {
  if (v.is_tensor() || v.is_none() || v.is_number() || v.isString() || v.is<Device>() || v.is<ScalarType>()) return true;
  if (v.isTuple()) return std::all_of(v.toTupleRef().elements().begin(), v.toTupleRef().elements().end(), is_frozen_value);
  return v.object() && dynamic_cast<const EnumObject*>(v.object()->get());
}

// Branches whose condition is constant are replaced by the block that runs.
size_t settle_branches(Graph& g) {
  for (size_t changed = 0;;) {
    std::vector<Node*> found;
    g.for_each([&](Node& n) {
      if (n.kind() == NodeKind::If && n.input(0)->is_constant() && n.input(0)->constant()->isBool()) found.push_back(&n);
    });
    if (found.empty()) return changed;
    changed += found.size();
    // Those within others, which stand behind them in the list, first: they may go with the others.
    for (auto n = found.rbegin(); n != found.rend(); ++n) {
      const Block& b = *(*n)->blocks()[(*n)->input(0)->constant()->toBool() ? 0 : 1];
      while (b.first() != b.return_node()) b.first()->move_before(*n);
      for (size_t i = 0; i < (*n)->outputs().size(); i++) (*n)->output(i)->replace_uses_with(b.results()[i]);
      (*n)->erase();
    }
  }
}

}  // namespace

size_t fold_builtins(Graph& g) {
  // A long text stays what makes it.
  constexpr size_t kMostText = 4096;
  RunLimits limits;
  limits.max_memory = 1 << 20;
  Budget budget(limits);
  const BudgetScope scope(budget);
  size_t changed = 0;
  bool again = true;
  while (again) {
    again = false;
    std::vector<Node*> nodes;
    g.for_each([&](Node& n) {
      if (n.kind() == NodeKind::Builtin && n.builtin()->is_pure && n.outputs().size() == 1 && !n.output()->uses().empty() &&
          std::all_of(n.inputs().begin(), n.inputs().end(), [](const Value* v) { return v->is_constant(); }))
        nodes.push_back(&n);
    });
    for (Node* n : nodes) {
      std::vector<const Datum*> inputs;
      for (const Value* v : n->inputs()) inputs.push_back(v->constant());
      Datum out;
      try {
        n->builtin()->run(inputs.data(), inputs.size(), out);
      } catch (const std::exception&) { continue; }  // it raises when it runs
      if (!is_frozen_value(out) || (out.isString() && out.to_string().size() > kMostText)) continue;
      Value* c = g.constant(out);
      c->set_type(n->output()->type());
      n->output()->replace_uses_with(c);
      n->erase();
      changed++;
      again = true;
    }
    std::vector<Node*> identities;
    g.for_each([&](Node& n) {
      if ((is_builtin(n, "aten::__is__") || is_builtin(n, "aten::__isnot__")) && n.input(0)->is_constant() && n.input(1)->is_constant())
        identities.push_back(&n);
      else if (is_builtin(n, "prim::unchecked_cast") && n.input(0)->is_constant()) identities.push_back(&n);
    });
    for (Node* n : identities) {
      if (is_builtin(*n, "prim::unchecked_cast")) {
        n->output()->replace_uses_with(n->input(0));
      } else {
        const auto none = [](const Value* v) { return v->constant()->is_none(); };
        if (!none(n->input(0)) && !none(n->input(1))) continue;
        n->output()->replace_uses_with(g.constant(Datum((none(n->input(0)) && none(n->input(1))) == is_builtin(*n, "aten::__is__"))));
      }
      n->erase();
      changed++;
      again = true;
    }
    changed += settle_branches(g);
  }
  return changed;
}

namespace {

void remove_dead(Graph& g) {
  bool again = true;
  while (again) {
    again = false;
    std::vector<Node*> dead;
    g.for_each([&](Node& n) {
      const bool unused = std::all_of(n.outputs().begin(), n.outputs().end(), [](const auto& o) { return o->uses().empty(); });
      if (!unused) return;
      const bool removable = n.kind() == NodeKind::List || n.kind() == NodeKind::Tuple || n.kind() == NodeKind::Dict || n.kind() == NodeKind::Unpack ||
                             is_builtin(n, "prim::GetAttr") || is_builtin(n, "prim::Uninitialized") || is_builtin(n, "prim::unchecked_cast") ||
                             (n.kind() == NodeKind::Builtin && n.builtin()->is_pure);
      if (removable && !n.outputs().empty()) dead.push_back(&n);
    });
    for (Node* n : dead) {
      if (!std::all_of(n->outputs().begin(), n->outputs().end(), [](const auto& o) { return o->uses().empty(); })) continue;
      n->erase();
      again = true;
    }
  }
  g.remove_unused_constants();
}

// Attributes that some method writes, by object and name: they stay.
void find_written(const Graph& g, ScriptObject* root, std::set<std::pair<ScriptObject*, std::string>>& written) {
  const Value* self = g.block().parameter(0);
  g.for_each([&](Node& n) {
    if (is_builtin(n, "prim::SetAttr"))
      if (ScriptObject* o = object_behind(n.input(0), self, root)) written.insert({o, attribute_name(n)});
    // A tensor that is written in place keeps its identity.
    if (n.kind() != NodeKind::Op) return;
    const auto& schema = n.op()->function_schema();
    for (size_t i = 0; i < schema.arguments.size(); i++) {
      if (!schema.arguments[i].writes) continue;
      const Value* v = n.input(i);
      while (v->node() && v->node()->kind() == NodeKind::Op && (v->node()->op()->flags & dispatch::kViewOp)) v = v->node()->input(0);
      if (v->node() && is_builtin(*v->node(), "prim::GetAttr"))
        if (ScriptObject* o = object_behind(v->node()->input(0), self, root)) written.insert({o, attribute_name(*v->node())});
    }
  });
}

// Drops the branches of the other mode: of training, or of use.
void settle_training(Graph& g, ScriptObject* root) {
  const Value* self = g.block().parameter(0);
  std::vector<std::pair<Node*, Datum>> reads;
  g.for_each([&](Node& n) {
    if (!is_builtin(n, "prim::GetAttr") || attribute_name(n) != "training") return;
    if (ScriptObject* o = object_behind(n.input(0), self, root)) reads.emplace_back(&n, o->slot("training"));
  });
  for (const auto& [n, trains] : reads) n->output()->replace_uses_with(g.constant(trains));
  fold_builtins(g);
}

// Calls by an interface of objects that are known, and that no method exchanges for others, become calls of their methods, put in place.
void settle_interfaces(Graph& g, ScriptObject* root) {
  const Value* self = g.block().parameter(0);
  const auto is_exchanged = [&](const std::string& attribute) {
    bool found = false;
    g.for_each([&](Node& n) { found = found || (is_builtin(n, "prim::SetAttr") && attribute_name(n) == attribute); });
    return found;
  };
  for (bool again = true; again;) {
    again = false;
    std::vector<Node*> calls;
    g.for_each([&](Node& n) {
      if (is_builtin(n, "prim::CallMethod")) calls.push_back(&n);
    });
    for (Node* n : calls) {
      ScriptObject* const o = object_behind(n->input(0), self, root);
      Function* const f = o ? o->cls->method(constant_text(n->input(1))) : nullptr;
      if (!f || f->native || is_exchanged(attribute_name(*n->input(0)->node()))) continue;
      std::vector<Value*> inputs(n->inputs().begin(), n->inputs().end());
      inputs.erase(inputs.begin() + 1);
      Node* const call = g.create_call(f->name, std::move(inputs), n);
      call->set_location(n->location());
      n->output()->replace_uses_with(call->add_output(n->output()->type()));
      n->erase();
      again = true;
    }
    inline_functions(g);
  }
}

// A module that is frozen but for what names with dots ask of its submodules: they stay attributes.
void keep_path(ScriptObject* root, const std::string& path, std::set<std::string>& kept) {
  ScriptObject* o = root;
  size_t start = 0;
  for (size_t dot; (dot = path.find('.', start)) != std::string::npos; start = dot + 1) {
    const std::string part = path.substr(start, dot - start);
    CRESSET_CHECK(o->cls->attribute(part) && object_of(o->slot(part)), "freeze: there is no submodule '", path.substr(0, dot), "' to preserve something of");
    o = object_of(o->slot(part));
  }
  const std::string last = path.substr(start);
  CRESSET_CHECK(o->cls->attribute(last) || o->cls->method(last), "freeze: there is no attribute or method '", path, "' to preserve");
  kept.insert(path.substr(0, path.find('.')));
}

}  // namespace

namespace {
size_t drop_dropout(Graph& g);
}

Datum freeze_module(const Datum& module, const std::vector<std::string>& preserved, bool preserve_parameters) {
  ScriptObject* root = object_of(module);
  CRESSET_CHECK(root && root->cls->kind == ClassKind::Module, "freeze: expected a module");
  ClassType* from = root->cls;
  CompilationUnit& unit = *from->unit;
  std::vector<std::string> methods;
  std::set<std::string> kept;
  if (from->method("forward")) methods.push_back("forward");
  for (const std::string& name : preserved) {
    if (name.find('.') != std::string::npos) keep_path(root, name, kept);
    else if (from->attribute(name)) kept.insert(name);
    else if (from->method(name)) methods.push_back(name);
    else CRESSET_CHECK(from->constants.count(name), "freeze: there is no attribute or method '", name, "' to preserve");
  }
  std::map<std::string, std::unique_ptr<Graph>> graphs;
  std::map<std::string, Function*> sources;
  std::set<std::pair<ScriptObject*, std::string>> written;
  for (const std::string& m : methods) sources[m] = from->method(m);
  // Methods that run beside are methods of the frozen module too, under names of their own.
  std::map<Node*, std::string> forks;
  for (std::vector<std::string> open = methods; !open.empty();) {
    const std::string m = open.back();
    open.pop_back();
    if (graphs.count(m)) continue;
    Function* f = sources.at(m);
    f->ensure_defined();
    graphs[m] = f->inlined().clone();
    settle_interfaces(*graphs[m], root);
    settle_training(*graphs[m], root);
    find_written(*graphs[m], root, written);
    graphs[m]->for_each([&](Node& n) {
      if (!is_builtin(n, "prim::fork") && !is_builtin(n, "prim::awaitable")) return;
      Function* const forked = n.inputs().size() > 1 && n.input(1) == n.graph().block().parameter(0) ? find_function(constant_text(n.input(0))) : nullptr;
      if (!forked || forked->native || forked->cls != from) return;
      const std::string name = "_forked_" + short_name(forked->name);
      sources.emplace(name, forked);
      forks.emplace(&n, name);
      open.push_back(name);
    });
  }
  ClassType* cls = unit.create_class(from->name, ClassKind::Module);
  if (from->attribute("training")) cls->add_attribute({"training", TypeKind::Bool});
  for (const std::string& name : kept)
    if (name != "training") cls->add_attribute(*from->attribute(name));
  cls->constants = from->constants;
  auto object = make_intrusive<ScriptObject>(cls, root->unit);
  for (const std::string& name : kept) object->slot(name) = root->slot(name);
  if (cls->attribute("training")) object->slot("training") = root->slot("training");
  // Objects of submodules with attributes that are written, or that no constant can hold, stay attributes of the whole.
  std::map<std::pair<ScriptObject*, std::string>, std::string> moved;
  for (auto& [name, g] : graphs) {
    Value* self = g->block().parameter(0);
    self->set_type(cls->type());
    g->for_each([&](Node& n) {
      if (const auto fork = forks.find(&n); fork != forks.end()) n.set_input(0, g->constant(Datum(cls->name + "." + fork->second)));
    });
    std::vector<Node*> reads;
    g->for_each([&](Node& n) {
      if (is_builtin(n, "prim::GetAttr") || is_builtin(n, "prim::SetAttr")) reads.push_back(&n);
    });
    struct Change {
      Node* node;
      ScriptObject* owner;
    };
    std::vector<Change> changes;
    for (Node* n : reads) changes.push_back({n, object_behind(n->input(0), self, root)});
    for (const Change& change : changes) {
      Node* n = change.node;
      if (!change.owner) continue;
      const std::string attribute = attribute_name(*n);
      const Datum& v = change.owner->slot(attribute);
      const bool is_parameter = preserve_parameters && change.owner->cls->attribute(attribute)->is_parameter;
      const bool stays = is_parameter || written.count({change.owner, attribute}) || (change.owner == root && kept.count(attribute));
      if (is_builtin(*n, "prim::GetAttr")) {
        const bool is_place = std::all_of(n->output()->uses().begin(), n->output()->uses().end(), [](const Use& u) {
          return u.input == 0 && (is_builtin(*u.node, "prim::GetAttr") || is_builtin(*u.node, "prim::SetAttr"));
        });
        if (object_of(v) && is_place) continue;  // its own attributes are looked at
        if (!stays && is_frozen_value(v)) {
          Datum constant = v;
          if (v.is_tensor() && v.to_tensor().defined()) constant = Datum(v.to_tensor().detach());
          Value* c = g->constant(constant, v.is_tensor() ? attribute : "");
          c->set_type(n->output()->type());
          n->output()->replace_uses_with(c);
          continue;
        }
      }
      // Reached through the frozen module itself.
      if (change.owner == root && cls->attribute(attribute)) {
        n->set_input(0, self);
        continue;
      }
      auto& place = moved[{change.owner, attribute}];
      if (place.empty()) {
        place = change.owner == root ? attribute : "_" + std::to_string(moved.size()) + "_" + attribute;
        const Attribute& a = *change.owner->cls->attribute(attribute);
        cls->add_attribute({place, a.type, is_parameter, !is_parameter && (a.is_buffer || a.is_parameter)});
        object->slots().resize(cls->attributes.size());
        Datum value = v;
        if (!is_parameter && v.is_tensor() && v.to_tensor().defined()) value = Datum(v.to_tensor().detach());
        object->slot(place) = value;
      }
      n->set_input(0, self);
      n->set_input(1, g->constant(Datum(place)));
    }
    for (size_t changed = 1; changed > 0;) changed = fold_builtins(*g) + unroll_loops(*g);
    drop_dropout(*g);
    fold_lists(*g);
    FoldOptions folding;
    folding.folds_results = false;
    fold_constants(*g, folding);
    remove_dead(*g);
    Schema schema = sources.at(name)->schema;
    schema.arguments[0].type = cls->type();
    Function* f = unit.create_function(cls->name + "." + name, std::move(schema));
    f->cls = cls;
    f->graph = std::move(g);
    f->define = [](Function&) {};
    f->ensure_defined();
    cls->methods[name] = f;
    cls->method_order.push_back(name);
  }
  return Datum(intrusive_ptr<dispatch::Object>(std::move(object)));
}

namespace {

const Tensor* constant_tensor(const Value* v) {
  return v->is_constant() && v->constant()->is_tensor() && v->constant()->to_tensor().defined() ? &v->constant()->to_tensor() : nullptr;
}

// Whether nothing but the node reads the values of a tensor; checks of its dimensions may stand between.
bool only_shape_is_read(const Value& v, const Node* but) {
  return std::all_of(v.uses().begin(), v.uses().end(), [&](const Use& u) {
    if (u.node == but) return u.input == 0;
    return is_builtin(*u.node, "aten::dim") || is_builtin(*u.node, "aten::size") || is_builtin(*u.node, "aten::size.int");
  });
}
// The lower dtype of a region of mixed precision, where its object is made and told its constants here; else nothing.
bool is_autocast(const Value* object) {
  return object->node() && is_builtin(*object->node(), "prim::CreateObject") &&
         unmangled(object->node()->input(0)->constant()->to_string()) == "__torch__.torch.amp.autocast_mode.autocast";
}
std::optional<ScalarType> dtype_of_region(const Value* object) {
  std::map<std::string, const Datum*> told;
  for (const Use& u : object->uses())
    if (is_builtin(*u.node, "prim::SetAttr") && u.input == 0) {
      if (!u.node->input(2)->is_constant() || !told.emplace(attribute_name(*u.node), u.node->input(2)->constant()).second) return std::nullopt;
    }
  const Datum *dtype = told["fast_dtype"], *enabled = told["_enabled"], *device = told["device"];
  if (!dtype || !enabled || !device || !enabled->toBool() || Device(device->to_string()).type() != kCPU) return std::nullopt;
  return dtype->isInt() ? dtype_of_number(dtype->toInt()) : dtype->to_dtype();
}
// The nodes that stand in regions of mixed precision, with the lower dtype of the innermost. Other scopes change nothing.
void find_regions(const Block& b, std::vector<std::optional<ScalarType>>& open, std::map<const Node*, ScalarType>& found) {
  for (const auto& n : b.nodes()) {
    if (is_builtin(*n, "prim::Enter")) open.push_back(is_autocast(n->input(0)) ? dtype_of_region(n->input(0)) : open.empty() ? std::nullopt : open.back());
    if (is_builtin(*n, "prim::Exit") && !open.empty()) open.pop_back();
    if (!open.empty() && open.back()) found.emplace(n.get(), *open.back());
    for (const auto& inner : n->blocks()) find_regions(*inner, open, found);
  }
}
// conv followed by batch_norm of running statistics: one conv with other weights. Where the conv runs in a lower precision, those are of it,
// and made from weights that are rounded to it, which a norm that changes little gives back as they are.
size_t fold_norms(Graph& g) {
  size_t changed = 0;
  std::vector<std::optional<ScalarType>> open;
  std::map<const Node*, ScalarType> regions;
  find_regions(g.block(), open, regions);
  std::vector<Node*> norms;
  g.for_each([&](Node& n) {
    if (n.kind() == NodeKind::Op && std::string(n.op()->name) == "batch_norm") norms.push_back(&n);
  });
  for (Node* n : norms) {
    Node* conv = n->input(0)->node();
    if (!conv || conv->kind() != NodeKind::Op || !only_shape_is_read(*n->input(0), n)) continue;
    const std::string op = conv->op()->name;
    if (op != "conv1d" && op != "conv2d" && op != "conv3d") continue;
    const Tensor *weight = constant_tensor(conv->input(1)), *bias = constant_tensor(conv->input(2));
    const Tensor *gamma = constant_tensor(n->input(1)), *beta = constant_tensor(n->input(2)), *mean = constant_tensor(n->input(3)),
                 *variance = constant_tensor(n->input(4));
    const Value* training = n->input(5);
    if (!weight || !mean || !variance || !training->is_constant() || training->constant()->toBool() || !n->input(7)->is_constant()) continue;
    if (!conv->input(2)->is_constant() || !n->input(1)->is_constant() || !n->input(2)->is_constant()) continue;
    const auto given = [](const Tensor* t) { return t ? std::optional<Tensor>(*t) : std::nullopt; };
    const auto region = regions.find(conv);
    const auto rounded = [&](const Tensor& t) { return region == regions.end() ? t : amp::cached_cast(region->second, t); };
    const Tensor from = rounded(*weight);
    const auto own = bias ? std::optional<Tensor>(rounded(*bias)) : std::nullopt;
    const auto [folded, shift] = cresset::_fuse_batch_norm(from, own, *mean, *variance, n->input(7)->constant()->to_double(), given(gamma), given(beta), 0);
    Value *w = g.constant(Datum(folded.to(from.scalar_type())), "weight"), *b = g.constant(Datum(shift.to(from.scalar_type())), "bias");
    w->set_type(TypeKind::Tensor);
    b->set_type(TypeKind::Tensor);
    conv->set_input(1, w);
    conv->set_input(2, b);
    n->output()->replace_uses_with(conv->output());
    n->erase();
    changed++;
  }
  return changed;
}
// The number of each channel of a convolution, from a constant that its result meets; a number stays one. Nothing: it is not of channels.
std::optional<Datum> constant_of_channels(const Value& v, const Tensor& weight) {
  if (!v.is_constant()) return std::nullopt;
  if (v.constant()->is_number()) return v.constant()->isComplexDouble() ? std::nullopt : std::optional<Datum>(*v.constant());
  const Tensor* t = constant_tensor(&v);
  if (!t || t->scalar_type() != weight.scalar_type() || t->dim() >= weight.dim() + 1) return std::nullopt;
  if (t->numel() == 1 && t->dim() <= 1) return Datum(t->reshape({1}).expand({weight.size(0)}));
  // Channels stand before as many dimensions as the kernel has.
  const int64_t kernel = weight.dim() - 2;
  if (t->dim() <= kernel || t->numel() != weight.size(0) || t->size(t->dim() - kernel - 1) != weight.size(0)) return std::nullopt;
  return Datum(t->reshape({weight.size(0)}));
}
bool is_one(const Value& v) { return v.is_constant() && v.constant()->is_number() && v.constant()->to_scalar().toDouble() == 1; }

// The result of the operator of a node for another first input, whose first dimension is that of the channels.
Tensor applied(const Node& n, const Tensor& to, const Datum& by) {
  dispatch::Stack stack{Datum(to), by};
  if (by.is_tensor()) {
    std::vector<int64_t> sizes(static_cast<size_t>(to.dim()), 1);
    sizes[0] = to.size(0);
    stack[1] = Datum(by.to_tensor().reshape(sizes));
  }
  for (size_t i = 2; i < n.inputs().size(); i++) stack.push_back(*n.input(i)->constant());
  dispatch::call_boxed(*n.op(), stack);
  return stack[0].to_tensor();
}

// Operators over a convolution of constant weights, which nothing else reads, and a constant go into its bias, and where they are products into its weight, too.
size_t fold_into_convolutions(Graph& g, const std::set<std::string>& names, bool are_products) {
  size_t changed = 0;
  std::vector<std::optional<ScalarType>> open;
  std::map<const Node*, ScalarType> regions;
  find_regions(g.block(), open, regions);
  std::vector<Node*> found;
  g.for_each([&](Node& n) {
    if (n.kind() == NodeKind::Op && names.count(n.op()->function_schema().name) && n.inputs().size() >= 2) found.push_back(&n);
  });
  for (Node* n : found) {
    Node* conv = n->input(0)->node();
    if (!conv || conv->kind() != NodeKind::Op || !only_shape_is_read(*n->input(0), n) || regions.count(conv)) continue;
    const std::string op = conv->op()->name;
    if ((op != "conv1d" && op != "conv2d" && op != "conv3d") || !conv->input(2)->is_constant()) continue;
    const Tensor *weight = constant_tensor(conv->input(1)), *bias = constant_tensor(conv->input(2));
    if (!weight || !weight->is_floating_point() || n->inputs().size() > 3 || (n->inputs().size() == 3 && !is_one(*n->input(2)))) continue;
    const auto by = constant_of_channels(*n->input(1), *weight);
    if (!by) continue;
    const Tensor shift = bias ? *bias : cresset::zeros({weight->size(0)}, TensorOptions(weight->scalar_type()));
    const auto set = [&](size_t input, const Tensor& t, const char* name) {
      Value* const c = g.constant(Datum(t), name);
      c->set_type(TypeKind::Tensor);
      conv->set_input(input, c);
    };
    const Tensor old_weight = *weight;
    set(2, applied(*n, shift, *by), "bias");
    if (are_products) set(1, applied(*n, old_weight, *by), "weight");
    n->output()->replace_uses_with(conv->output());
    n->erase();
    changed++;
  }
  return changed;
}
size_t fold_sums(Graph& g) { return fold_into_convolutions(g, {"add", "sub"}, false); }
size_t fold_scales(Graph& g) { return fold_into_convolutions(g, {"mul", "div"}, true); }
// Dropout without training gives its input.
size_t drop_dropout(Graph& g) {
  std::vector<Node*> found;
  g.for_each([&](Node& n) {
    if (n.kind() == NodeKind::Op && std::string(n.op()->name) == "dropout" && n.input(2)->is_constant() && !n.input(2)->constant()->toBool())
      found.push_back(&n);
  });
  for (Node* n : found) {
    n->output()->replace_uses_with(n->input(0));
    n->erase();
  }
  return found.size();
}

// Equal constants become one; the names and types of values stay apart.
size_t pool_constants(Graph& g) {
  size_t changed = 0;
  std::vector<Value*> kept;
  for (const auto& c : g.constants()) {
    if (c->uses().empty() || !(c->constant()->is_number() || c->constant()->isBool() || c->constant()->isString() || c->constant()->is_none())) continue;
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const Value* k) {
      return k->type() == c->type() && k->constant()->kind() == c->constant()->kind() && *k->constant() == *c->constant();
    });
    if (same == kept.end()) {
      kept.push_back(c.get());
      continue;
    }
    c->replace_uses_with(*same);
    changed++;
  }
  g.remove_unused_constants();
  return changed;
}

// Parameters and results that are tuples become their elements.
size_t lower_tuples(Graph& g) {
  size_t changed = 0;
  Block& b = g.block();
  for (size_t i = 0; i < b.parameters().size(); i++) {
    Value* p = b.parameter(i);
    if (p->type().kind() != TypeKind::Tuple) continue;
    std::vector<Value*> later, elements;
    for (size_t k = i + 1; k < b.parameters().size(); k++) later.push_back(b.parameter(k));
    for (const Type& t : p->type().elements()) elements.push_back(b.add_parameter(t, p->name()));
    Node* const made = g.create(NodeKind::Tuple, elements, b.first());
    p->replace_uses_with(made->output());
    for (Value* v : later) {  // behind the elements, as they stood behind the tuple
      Value* moved = b.add_parameter(v->type(), v->name());
      v->replace_uses_with(moved);
    }
    for (size_t k = 0; k <= later.size(); k++) b.remove_parameter(i);
    i--;
    changed++;
  }
  for (bool again = true; again;) {
    again = false;
    std::vector<Value*> results;
    for (Value* v : std::vector<Value*>(b.results())) {
      if (v->type().kind() != TypeKind::Tuple) {
        results.push_back(v);
        continue;
      }
      Node* const unpack = g.create(NodeKind::Unpack, {v}, b.return_node());
      for (const Type& t : v->type().elements()) results.push_back(unpack->add_output(t));
      again = true;
      changed++;
    }
    if (!again) break;
    b.return_node()->remove_inputs();
    for (Value* v : results) b.add_result(v);
  }
  return changed + peephole(g);
}

void inline_fork(Graph& g, Node* n, size_t& nodes) {
  std::vector<Value*> arguments(n->inputs().begin() + 1, n->inputs().end());
  Function* f = find_function(constant_text(n->input(0)));
  CRESSET_CHECK(f, "inline_forks: there is no function ", constant_text(n->input(0)));
  f->ensure_defined();
  Node* call = g.create_call(f->name, arguments, n);
  call->set_location(n->location());
  Value* result = call->add_output(f->schema.returns[0]);
  std::vector<Node*> waits;
  for (const Use& u : n->output()->uses())
    if (is_builtin(*u.node, "aten::wait")) waits.push_back(u.node);
  for (Node* w : waits) {
    w->output()->replace_uses_with(result);
    w->erase();
  }
  if (!n->output()->uses().empty()) {  // it goes further than to those who wait
    Node* done = g.create("prim::future", {result}, n);
    done->output()->set_type(n->output()->type());
    n->output()->replace_uses_with(done->output());
  }
  n->erase();
  if (f->graph) inline_call(g, *call, nodes);
}

// Calls on the side run where they stand, also those that they make themselves.
size_t inline_forks(Graph& g) {
  size_t changed = 0, nodes = g.num_nodes();
  while (true) {
    std::vector<Node*> forks;
    g.for_each([&](Node& n) {
      if (is_builtin(n, "prim::fork")) forks.push_back(&n);
    });
    if (forks.empty()) return changed;
    for (Node* n : forks) inline_fork(g, n, nodes);
    changed += forks.size();
  }
}

// An expansion to the sizes that a constant says the tensor has already gives its input.
size_t drop_expands(Graph& g) {
  std::vector<Node*> found;
  g.for_each([&](Node& n) {
    if (n.kind() == NodeKind::Op && std::string(n.op()->name) == "expand" && n.input(1)->is_constant() && n.input(0)->is_constant() &&
        constant_tensor(n.input(0)) && constant_tensor(n.input(0))->sizes().vec() == n.input(1)->constant()->toIntVector())
      found.push_back(&n);
  });
  for (Node* n : found) {
    n->output()->replace_uses_with(n->input(0));
    n->erase();
  }
  return found.size();
}

const std::map<std::string, size_t (*)(Graph&), std::less<>>& script_passes() {
  static const auto* const passes = new std::map<std::string, size_t (*)(Graph&), std::less<>>{
      {"fold_builtins", fold_builtins},  {"peephole", peephole},         {"pool", pool_constants},
      {"lower_tuples", lower_tuples},    {"inline_forks", inline_forks}, {"norms", fold_norms},
      {"dropout", drop_dropout},         {"expands", drop_expands},      {"sums", fold_sums},
      {"scales", fold_scales},           {"types", infer_types},         {"erase_types", erase_types},
      {"own_writes", remove_own_writes}, {"writes", remove_writes},      {"activations", activate_in_place}};
  return *passes;
}

}  // namespace

bool is_script_pass(std::string_view name) { return script_passes().count(name) != 0; }
size_t run_script_pass(Graph& g, std::string_view name) {
  const auto found = script_passes().find(name);
  CRESSET_CHECK_VALUE(found != script_passes().end(), "there is no pass '", std::string(name), "'");
  return found->second(g);
}

void optimize_frozen(const Datum& module) {
  ScriptObject* root = object_of(module);
  CRESSET_CHECK(root, "run_frozen_optimizations: expected a module");
  for (const auto& [name, f] : root->cls->methods) {
    if (!f->graph) continue;
    drop_dropout(*f->graph);
    for (size_t changed = 1; changed > 0;) changed = fold_norms(*f->graph) + fold_sums(*f->graph) + fold_scales(*f->graph);
    remove_dead(*f->graph);
    f->forget_program();
  }
}

size_t pack_weights(const Datum& module) {
  ScriptObject* root = object_of(module);
  CRESSET_CHECK(root, "optimize_for_inference: expected a module");
  static const std::set<std::string> kLayers = {"linear", "conv1d", "conv2d", "conv3d"};
  size_t count = 0;
  for (const auto& [name, f] : root->cls->methods) {
    if (!f->graph) continue;
    f->graph->for_each([&](Node& n) {
      if (n.kind() != NodeKind::Op || !kLayers.count(n.op_name()) || !constant_tensor(n.input(1))) return;
      n.set_attribute(kKeepsPacked, Datum(true));
      count++;
    });
    f->forget_program();
  }
  return count;
}

std::vector<std::string> operator_names(const Datum& module) {
  ScriptObject* root = object_of(module);
  CRESSET_CHECK(root, "export_opnames: expected a module");
  std::set<std::string> out;
  for (const std::string& m : root->cls->method_order) {
    Function* f = root->cls->methods.at(m);
    f->ensure_defined();
    if (!f->graph) continue;
    f->inlined().for_each([&](Node& n) {
      std::string name = n.kind() == NodeKind::Op        ? n.op()->name
                         : n.kind() == NodeKind::Builtin ? n.builtin()->name
                         : n.kind() == NodeKind::Call    ? library_operator(n.target())
                                                         : "";
      if (name.empty() || name.compare(0, 6, "prim::") == 0) return;
      out.insert(name.find("::") == std::string::npos ? "aten::" + name : name);
    });
  }
  return {out.begin(), out.end()};
}

}  // namespace cresset::graph::script
