// Types of all values from those of the parameters, by the operators' own rules: each node runs without data at a few choices of what is unknown, and what
// the results have in common is known of them.

#include <algorithm>

#include "cresset/autograd/grad_mode.h"
#include "cresset/core/fake_mode.h"
#include "cresset/graph/ir/alias.h"
#include "cresset/graph/passes/shape_runs.h"
#include "cresset/graph/script/passes.h"
#include "cresset/graph/script/sugar.h"
#include "cresset/ops/functions.h"

namespace cresset::graph::script {

namespace {

// A value in each run.
struct Tried {
  EachRun<Datum> at;
  size_t runs = kShapeRuns;     // 1: the first stands for all
  bool is_exact = true;         // false: a dtype or number is one of many, so that only types of results tell something
  bool knows_gradients = true;  // whether tensors require gradients as those of the program do
  const Datum& in(size_t run) const { return at[runs == 1 ? 0 : run]; }
};
using MaybeTried = std::optional<Tried>;

// ---- what two types have in common

std::optional<std::vector<Sym>> common(const std::optional<std::vector<Sym>>& a, const std::optional<std::vector<Sym>>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  std::vector<Sym> out;
  for (size_t d = 0; d < a->size(); d++) out.push_back((*a)[d] == (*b)[d] ? (*a)[d] : Sym::unknown());
  return out;
}
TensorFacts common(const TensorFacts& a, const TensorFacts& b) {
  TensorFacts out;
  if (a.dtype == b.dtype) out.dtype = a.dtype;
  if (a.device == b.device) out.device = a.device;
  if (a.layout == b.layout) out.layout = a.layout;
  if (a.requires_grad == b.requires_grad) out.requires_grad = a.requires_grad;
  out.sizes = common(a.sizes, b.sizes);
  if (out.sizes) out.strides = common(a.strides, b.strides);
  return out;
}
// `declared`: what it is where they have nothing in common.
Type common(const Type& declared, const Type& a, const Type& b) {
  if (a.kind() != declared.kind() || b.kind() != declared.kind()) return declared;
  if (declared.is_tensor()) return Type::tensor(common(a.facts(), b.facts()));
  if (declared.kind() != TypeKind::Tuple) return declared;
  std::vector<Type> parts;
  for (size_t i = 0; i < declared.elements().size(); i++) parts.push_back(common(declared.elements()[i], a.elements()[i], b.elements()[i]));
  return Type::tuple(std::move(parts), declared.fields(), declared.name());
}
// Unknown sizes differ from each other, and say the same.
bool says_the_same(const Type& a, const Type& b) {
  const auto agree = [](const std::optional<std::vector<Sym>>& x, const std::optional<std::vector<Sym>>& y) {
    return x.has_value() == y.has_value() && (!x || std::equal(x->begin(), x->end(), y->begin(), y->end(), [](const Sym& m, const Sym& n) {
             return m.is_known() == n.is_known() && (!m.is_known() || m == n);
           }));
  };
  if (!a.is_tensor() || !b.is_tensor())
    return a.kind() == b.kind() && a.name() == b.name() && a.fields() == b.fields() &&
           std::equal(a.elements().begin(), a.elements().end(), b.elements().begin(), b.elements().end(), says_the_same);
  const TensorFacts &x = a.facts(), &y = b.facts();
  return x.dtype == y.dtype && x.device == y.device && x.layout == y.layout && x.requires_grad == y.requires_grad && agree(x.sizes, y.sizes) &&
         agree(x.strides, y.strides);
}

bool is_called(const Node& n, std::string_view name) { return n.kind() == NodeKind::Builtin && n.builtin()->name == name; }
// Nodes after which values that are there have other sizes.
bool gives_other_sizes(const Node& n) {
  if (n.kind() == NodeKind::Builtin) return n.builtin()->name.compare(0, 10, "aten::set_") == 0;
  if (n.kind() != NodeKind::Op || n.inputs().empty() || !writes_input(n, 0)) return false;
  const std::string_view name = n.op()->function_schema().name;
  return (n.op()->flags & dispatch::kViewOp) || name.compare(0, 6, "resize") == 0 || name.compare(0, 3, "set") == 0;
}
bool is_container(const Type& t) { return t.kind() == TypeKind::List || t.kind() == TypeKind::Dict; }

template <class F> void for_each_value(const Graph& g, F&& visit) {
  for (const auto& c : g.constants()) visit(*c);
  for (const auto& p : g.block().parameters()) visit(*p);
  g.for_each([&](Node& n) {
    for (const auto& o : n.outputs()) visit(*o);
    for (const auto& b : n.blocks())
      for (const auto& p : b->parameters()) visit(*p);
  });
}

class TypeInference {
 public:
  explicit TypeInference(Graph& graph) : graph_(graph), mode_(make_intrusive<FakeMode>()), aliases_(graph) {
    sizes_.add(symbols_of(graph), graph.ranges());
    graph.for_each([&](Node& n) {
      if (gives_other_sizes(n)) resized_.insert(aliases_.set_of(n.input(0)));
      changes_gradients_ = changes_gradients_ || is_called(n, "prim::Enter") || is_called(n, "aten::set_grad_enabled");
    });
  }

  size_t run() {
    const FakeModeScope scope(mode_.get());
    const ExcludeLayers only_gradients(static_cast<uint8_t>(~(kLazyMathLayer | kAutogradLayer)));
    const InferenceMode gradients(false);
    const auto places = std::exchange(failure_places(), {});
    std::vector<std::pair<Value*, Type>> before;
    for_each_value(graph_, [&](Value& v) { before.emplace_back(&v, v.type()); });
    for (const auto& c : graph_.constants()) constant(*c);
    for (const auto& p : graph_.block().parameters()) tried_[p.get()] = of_type(p->type());
    block(graph_.block());
    failure_places() = places;
    return static_cast<size_t>(std::count_if(before.begin(), before.end(), [](const auto& row) { return !says_the_same(row.first->type(), row.second); }));
  }

 private:
  // ---- values of types

  Tensor without_data(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, const TensorOptions& options, bool requires_grad) const {
    const Tensor t = empty_strided(sizes, strides, options);
    if (!requires_grad || !(t.is_floating_point() || t.is_complex())) return t;
    bool overlaps = false;
    for (size_t d = 0; d < sizes.size(); d++) overlaps = overlaps || (strides[d] == 0 && sizes[d] > 1);
    if (overlaps) return t.requires_grad_(true);
    // No leaf: programs may write to it.
    return t.add_(zeros({}, options).requires_grad_(true));
  }
  static std::vector<int64_t> strides_of(const std::vector<int64_t>& sizes, bool first_is_inner) {
    std::vector<int64_t> strides(sizes.size());
    int64_t step = 1;
    for (size_t i = 0; i < sizes.size(); i++) {
      const size_t d = first_is_inner ? i : sizes.size() - 1 - i;
      strides[d] = step;
      step *= std::max<int64_t>(sizes[d], 1);
    }
    return strides;
  }
  // Nothing: too little is known of the tensor.
  MaybeTried of_facts(const TensorFacts& f) {
    if (f.layout && *f.layout != Layout::Strided) return std::nullopt;
    if (!f.sizes) return f.dtype || f.device ? of_any_rank(f) : std::nullopt;
    constexpr EachRun<ScalarType> kAnyOf = {kFloat, kDouble, kHalf};
    Tried out;
    out.is_exact = f.dtype.has_value();
    out.knows_gradients = f.requires_grad.has_value();
    const bool knows_strides =
        f.strides && std::all_of(f.strides->begin(), f.strides->end(), [&](const Sym& s) { return s.is_known() && sizes_.number(s, 0).value_or(-1) >= 0; });
    const bool knows_sizes = std::all_of(f.sizes->begin(), f.sizes->end(), [](const Sym& s) { return s.constant().has_value(); });
    const auto unknown = unknown_numbers(f.sizes->size());
    for (size_t r = 0; r < kShapeRuns; r++) {
      std::vector<int64_t> sizes, strides;
      for (size_t d = 0; d < f.sizes->size(); d++) {
        const Sym& s = (*f.sizes)[d];
        const auto n = s.is_known() ? sizes_.number(s, r) : std::optional<int64_t>(unknown[d][r]);
        if (!n) return std::nullopt;
        sizes.push_back(*n);
      }
      for (const Sym& s : knows_strides ? *f.strides : std::vector<Sym>()) strides.push_back(*sizes_.number(s, r));
      if (!knows_strides) strides = strides_of(sizes, r == 1);
      const TensorOptions options = TensorOptions().dtype(f.dtype.value_or(kAnyOf[r])).device(f.device.value_or(Device(kCPU)));
      out.at[r] = Datum(without_data(sizes, strides, options, f.requires_grad.value_or(false)));
    }
    out.runs = knows_sizes && f.dtype && (knows_strides || f.sizes->size() < 2) ? 1 : kShapeRuns;
    return out;
  }
  // With another number of dimensions in each run.
  MaybeTried of_any_rank(TensorFacts f) {
    Tried out;
    f.strides.reset();
    for (size_t r = 0; r < kShapeRuns; r++) {
      f.sizes = std::vector<Sym>(r + 2, Sym::unknown());
      MaybeTried one = of_facts(f);
      out.is_exact = one->is_exact;
      out.knows_gradients = one->knows_gradients;
      out.at[r] = one->at[r];
    }
    return out;
  }
  // Sizes of which nothing is known. The last run has them as 1, which shows where operators look at sizes.
  std::vector<EachRun<int64_t>> unknown_numbers(size_t count) {
    std::vector<EachRun<int64_t>> out;
    for (size_t d = 0; d < count; d++, unknown_++) out.push_back({1009 + 14 * unknown_, 2011 + 22 * unknown_, 1});
    return out;
  }
  MaybeTried of_type(const Type& t) {
    if (t.is_tensor()) return of_facts(t.facts());
    if (t.kind() == TypeKind::None) return Tried();
    if (t.kind() != TypeKind::Tuple) return std::nullopt;
    std::vector<Tried> parts;
    for (const Type& e : t.elements()) {
      MaybeTried part = of_type(e);
      if (!part) return std::nullopt;
      parts.push_back(std::move(*part));
    }
    Tried out;
    for (size_t r = 0; r < kShapeRuns; r++) {
      std::vector<Datum> elements;
      for (const Tried& part : parts) elements.push_back(part.in(r));
      out.at[r] = Datum(dispatch::TupleObject::create(std::move(elements)));
    }
    for (const Tried& part : parts) {
      out.is_exact = out.is_exact && part.is_exact;
      out.knows_gradients = out.knows_gradients && part.knows_gradients;
    }
    return out;
  }
  // Numbers of which nothing is known: results that are the same for these do not depend on them.
  static MaybeTried of_any_number(const Type& t) {
    Tried out;
    out.is_exact = false;
    if (t.kind() == TypeKind::Int) out.at = {Datum(int64_t{0}), Datum(int64_t{1}), Datum(int64_t{-1})};
    else if (t.kind() == TypeKind::Bool) out.at = {Datum(true), Datum(false), Datum(true)};
    else if (t.kind() == TypeKind::Float) out.at = {Datum(0.5), Datum(2.0), Datum(3.0)};
    else return std::nullopt;
    return out;
  }
  MaybeTried known(const Value& v) const {
    const auto found = tried_.find(&v);
    return found != tried_.end() && found->second ? found->second : of_any_number(v.type());
  }

  // ---- types of values

  Type type_of(const EachRun<Datum>& at, bool knows_gradients, const Type& declared) const {
    const bool are_tensors = std::all_of(at.begin(), at.end(), [](const Datum& v) { return v.is_tensor() && v.to_tensor().defined(); });
    if (declared.is_tensor() && are_tensors) {
      TensorFacts f = sizes_.facts_of(at);
      const Tensor& t = at[0].to_tensor();
      const bool can_require = t.is_floating_point() || t.is_complex();
      f.requires_grad.reset();
      if (!changes_gradients_ && (knows_gradients || t.requires_grad() || (f.dtype && !can_require))) f.requires_grad = t.requires_grad();
      return Type::tensor(std::move(f));
    }
    const bool are_tuples =
        std::all_of(at.begin(), at.end(), [&](const Datum& v) { return v.isTuple() && v.toTupleRef().size() == declared.elements().size(); });
    if (declared.kind() != TypeKind::Tuple || !are_tuples) return declared;
    std::vector<Type> parts;
    for (size_t i = 0; i < declared.elements().size(); i++) {
      EachRun<Datum> part;
      for (size_t r = 0; r < kShapeRuns; r++) part[r] = at[r].toTupleRef().elements()[i];
      parts.push_back(type_of(part, knows_gradients, declared.elements()[i]));
    }
    return Type::tuple(std::move(parts), declared.fields(), declared.name());
  }
  void forget(Value& v) {
    v.set_type(v.type().without_facts());
    tried_[&v] = std::nullopt;
  }
  void set_type(Value& v, const Type& type) {
    v.set_type(type);
    tried_[&v] = of_type(type);
  }
  // `is_structure`: what is unknown of its parts stays so within it.
  void set(Value& v, Tried made, bool is_structure) {
    const Type declared = v.type().without_facts();
    if (resized_.count(aliases_.set_of(&v)) || (is_container(declared) && aliases_.is_written(&v))) return forget(v);
    EachRun<Datum> all;
    for (size_t r = 0; r < kShapeRuns; r++) all[r] = made.in(r);
    const Type type = type_of(all, made.knows_gradients, declared);
    bool is_real = false;
    dispatch::for_each_tensor(made.at[0], [&](const Tensor& t) { is_real = is_real || !is_fake(*t.impl()); });
    if ((!made.is_exact && !is_structure) || is_real) return set_type(v, type);
    v.set_type(type);
    tried_[&v] = std::move(made);
  }
  void constant(Value& c) {
    const Datum& datum = *c.constant();
    if (!datum.is_tensor()) {
      Tried out;
      out.at[0] = datum;
      out.runs = 1;
      tried_[&c] = std::move(out);
    } else if (datum.to_tensor().defined()) {
      TensorFacts facts = TensorFacts::of(datum.to_tensor());
      facts.requires_grad = datum.to_tensor().requires_grad();
      set_type(c, Type::tensor(std::move(facts)));
    } else {
      tried_[&c] = of_type(c.type());
    }
  }

  // ---- nodes

  void block(Block& b) {
    const size_t outside = regions_.size();
    for (const auto& n : b.nodes()) {
      if (n->kind() == NodeKind::Return) break;
      if (is_called(*n, "prim::Enter")) regions_.push_back(n->input(0)->type().name().find("autocast") != std::string::npos);
      if (is_called(*n, "prim::Exit") && regions_.size() > outside) regions_.pop_back();
      if (n->kind() == NodeKind::If) branches(*n);
      else if (n->kind() == NodeKind::Loop) loop(*n);
      else node(*n);
    }
    regions_.resize(outside);
  }
  void branches(Node& n) {
    for (const auto& b : n.blocks()) block(*b);
    // A branch that raises an error gives nothing.
    const auto is_given = [](const Value* v) { return !v->node() || !is_called(*v->node(), "prim::Uninitialized"); };
    for (size_t i = 0; i < n.outputs().size(); i++) {
      const Value *a = n.blocks()[0]->results()[i], *b = n.blocks()[1]->results()[i];
      set_type(*n.output(i), common(n.output(i)->type().without_facts(), (is_given(a) ? a : b)->type(), (is_given(b) ? b : a)->type()));
    }
  }
  // Until a trip gives what it was given. Each one that does not knows less, so that a few are enough.
  void loop(Node& n) {
    Block& b = *n.blocks()[0];
    std::vector<Type> carried;
    for (size_t i = 0; i < n.outputs().size(); i++)
      carried.push_back(common(n.output(i)->type().without_facts(), n.input(i + 2)->type(), n.input(i + 2)->type()));
    constexpr int kTrips = 16;
    bool is_settled = false;
    for (int trip = 0; !is_settled; trip++) {
      if (trip == kTrips)
        for (Type& t : carried) t = t.without_facts();
      for (size_t i = 0; i < carried.size(); i++) set_type(*b.parameter(i + 1), carried[i]);
      block(b);
      is_settled = true;
      for (size_t i = 0; i < carried.size(); i++) {
        const Type next = common(n.output(i)->type().without_facts(), carried[i], b.results()[i + 1]->type());
        is_settled = is_settled && says_the_same(next, carried[i]);
        carried[i] = next;
      }
    }
    for (size_t i = 0; i < carried.size(); i++) set_type(*n.output(i), carried[i]);
  }

  // Nothing that the program does may happen: what a node does besides its results is done to tensors without data alone.
  static bool can_run(const Node& n) {
    if (n.kind() == NodeKind::Call) return !library_operator(n.target()).empty();
    if (n.kind() == NodeKind::Foreign) return false;
    if (n.kind() != NodeKind::Builtin || n.builtin()->is_pure) return true;
    // Objects are not filled here.
    if (!n.builtin()->has_effect()) return !is_called(n, "prim::CreateObject") && !is_called(n, "prim::Uninitialized");
    if (is_called(n, "aten::_unwrap_optional")) return true;
    if (!schema_of(*n.builtin())) return false;  // of objects and the console
    const auto is_plain = [](const Value* v) { return !is_container(v->type()) && v->type().kind() != TypeKind::Class && v->type().kind() != TypeKind::Any; };
    return n.builtin()->effect == Builtin::Effect::Inputs && std::all_of(n.inputs().begin(), n.inputs().end(), is_plain);
  }
  static std::optional<std::vector<Datum>> results_of(const Node& n, std::vector<Datum> inputs) {
    if (n.kind() == NodeKind::Call) return std::vector<Datum>{find_function(n.target())->run_apart(std::move(inputs))};
    ProgramOptions options;
    options.script = true;
    options.plan_memory = false;
    return run_alone(n, std::move(inputs), options);
  }
  void node(Node& n) {
    const bool is_mixed = std::find(regions_.begin(), regions_.end(), true) != regions_.end();
    std::vector<Tried> inputs;
    for (size_t i = 0; !is_mixed && can_run(n) && i < n.inputs().size(); i++) {
      const Value& v = *n.input(i);
      MaybeTried input = known(v);
      // A tensor that the node writes to is its own.
      if (input && v.type().is_tensor() && writes_input(n, i)) input = of_type(v.type());
      if (!input) break;
      inputs.push_back(std::move(*input));
    }
    if (is_mixed || !can_run(n) || inputs.size() < n.inputs().size() || !run(n, inputs))
      for (const auto& o : n.outputs()) forget(*o);
  }
  // False: nothing is known of the results.
  bool run(Node& n, const std::vector<Tried>& inputs) {
    Tried out;
    out.runs = 1;
    for (const Tried& input : inputs) {
      out.runs = std::max(out.runs, input.runs);
      out.is_exact = out.is_exact && input.is_exact;
      out.knows_gradients = out.knows_gradients && input.knows_gradients;
    }
    EachRun<std::vector<Datum>> results;
    bool fails = false;
    for (size_t r = 0; r < out.runs; r++) {
      std::vector<Datum> values;
      for (const Tried& input : inputs) values.push_back(input.in(r));
      try {
        auto made = results_of(n, std::move(values));
        if (!made) return false;
        results[r] = std::move(*made);
      } catch (const Error&) {
        // Sizes that have to agree may do so where all that are unknown are 1.
        if (r + 1 == kShapeRuns || out.runs == 1) return false;
        fails = true;
      }
    }
    for (size_t i = 0; i < n.outputs().size(); i++) {
      for (size_t r = 0; r < kShapeRuns; r++) {
        const auto& from = results[fails ? kShapeRuns - 1 : out.runs == 1 ? 0 : r];
        if (i >= from.size()) return false;
        out.at[r] = from[i];
      }
      if (fails) set_where_sizes_agree(*n.output(i), out);
      else set(*n.output(i), out, n.kind() == NodeKind::List || n.kind() == NodeKind::Tuple);
    }
    return true;
  }
  // The result of unknown sizes that are all 1: others are known, and strides are not.
  void set_where_sizes_agree(Value& v, const Tried& made) {
    TensorFacts f = type_of(made.at, made.knows_gradients, v.type().without_facts()).facts();
    if (!f.sizes) return forget(v);
    for (Sym& s : *f.sizes)
      if (s == Sym(1)) s = Sym::unknown();
    f.strides.reset();
    if (!made.is_exact) f.dtype.reset();
    set_type(v, Type::tensor(std::move(f)));
  }

  Graph& graph_;
  intrusive_ptr<FakeMode> mode_;
  AliasSets aliases_;
  OpenSizes sizes_;
  int64_t unknown_ = 0;
  std::unordered_map<const Value*, MaybeTried> tried_;
  std::unordered_set<size_t> resized_;
  std::vector<bool> regions_;  // with statements around, true for those of mixed precision
  bool changes_gradients_ = false;
};

}  // namespace

size_t infer_types(Graph& graph) { return TypeInference(graph).run(); }

size_t erase_types(Graph& graph) {
  size_t changed = 0;
  for_each_value(graph, [&](Value& v) {
    const Type bare = v.type().without_facts();
    if (says_the_same(bare, v.type())) return;
    v.set_type(bare);
    changed++;
  });
  return changed;
}

}  // namespace cresset::graph::script
