#include "cresset/graph/codegen/fuse.h"

#include <algorithm>

#include "cresset/autograd/grad_mode.h"
#include "cresset/core/layers.h"
#include "cresset/graph/codegen/copies.h"
#include "cresset/graph/codegen/layers.h"
#include "cresset/graph/codegen/nodes.h"
#include "cresset/graph/codegen/rows.h"
#include "cresset/graph/ir/alias.h"

namespace cresset::graph {

Kernels::~Kernels() {
  for (const Kept& k : kept_) drop_kernel(k.number);
}
int64_t Kernels::add(std::shared_ptr<const Kernel> kernel, std::vector<bool> ones) {
  const int64_t number = keep_kernel(kernel);
  kept_.push_back({number, std::move(kernel), std::move(ones)});
  return number;
}
void Kernels::add(Kernels&& others) {
  for (Kept& k : others.kept_) kept_.push_back(std::move(k));
  others.kept_.clear();
}
void Kernels::prepare() const {
  for (const Kept& k : kept_) k.kernel->prepare(k.ones);
}

namespace {

// Elements below which a group does not pay, columns below which rows are too short to be run one by one.
constexpr int64_t kMinElements = 512, kMinColumns = 64;
constexpr size_t kMaxSteps = 48;
// Nanoseconds for an element: about the time that memory takes to store and load it.
constexpr double kCheap = 0.25;
// The same for values that no cache keeps until backward reads them: these are worth their memory, too.
constexpr double kCheapWhereLarge = 2;
constexpr int64_t kLarge = 1 << 20;
constexpr size_t kNoGroup = SIZE_MAX;

using Shape = std::vector<Sym>;

bool is_one(const Value* v) {
  return std::all_of(shape_of(v).begin(), shape_of(v).end(), [](const Sym& s) { return s.constant() == std::optional<int64_t>(1); });
}
Shape column_of(Shape shape) {
  shape.back() = Sym(1);
  return shape;
}

// How a value lies beside rows of a shape; nothing for other shapes.
std::optional<RowArgument> kind_of(const Value* v, const Shape& shape) {
  const Shape& own = shape_of(v);
  if (own == shape) return RowArgument::Wide;
  if (is_one(v)) return RowArgument::One;
  if (own == column_of(shape)) return RowArgument::Narrow;
  if (own.empty() || own.size() > shape.size() || own.back() != shape.back()) return std::nullopt;
  for (size_t d = 0; d + 1 < own.size(); d++)
    if (own[d] != Sym(1)) return std::nullopt;
  return RowArgument::Vector;
}

// Nodes that kernels look through: what they give is their input, or a row, a column or a number of it again and again.
bool is_same(const Node& n) {
  const std::string_view name = n.kind() == NodeKind::Op ? n.op()->name : "";
  return (name == "detach" || name == "alias") && is_plain(n.output()) && is_plain(n.input(0));
}
bool is_repeat(const Node& n) {
  if (n.kind() != NodeKind::Op || std::string_view(n.op()->name) != "expand" || !is_plain(n.output()) || !is_plain(n.input(0))) return false;
  return !shape_of(n.output()).empty() && kind_of(n.input(0), shape_of(n.output()));
}
const Value* same_as(const Value* v) {
  while (v->node() && is_same(*v->node())) v = v->node()->input(0);
  return v;
}
const Value* source_of(const Value* v) {
  while (v->node() && (is_same(*v->node()) || is_repeat(*v->node()))) v = v->node()->input(0);
  return v;
}

class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph) {
    choose_sizes();
    size_t segment = 0;
    for (const auto& n : graph.block().nodes()) {
      if (n->kind() == NodeKind::Return) break;
      Item item;
      item.node = n.get();
      for (size_t i = 0; i < n->inputs().size(); i++) item.writes = item.writes || (writes_input(*n, i) && !fills_own(*n));
      segment += item.writes;
      item.segment = segment;
      numbers_[n.get()] = items_.size();
      gather(*n, item);
      items_.push_back(std::move(item));
    }
  }

  void look() {
    const autograd::AutoGradMode off(false);
    const ExcludeLayers no_gradients(kAutogradLayer);
    for (Item& item : items_) {
      const Node& n = *item.node;
      if (n.kind() != NodeKind::Op || n.outputs().size() != 1 || item.writes || !is_deterministic(n)) continue;
      if (!find_step(item)) find_reduction(item);
      if (item.wide || item.narrow || item.reduction) read_sources(item);
    }
  }

  std::unordered_set<const Node*> cheap() const {
    const auto limit = [&](const Item& item) {
      const Value* v = item.node->output();
      return numel(v) * static_cast<int64_t>(element_size(*v->type().facts().dtype)) >= kLarge ? kCheapWhereLarge : kCheap;
    };
    std::unordered_set<const Node*> found;
    for (const Item& item : items_) {
      const bool view = item.node->kind() == NodeKind::Op && (item.node->op()->flags & dispatch::kViewOp);
      if (view || (item.wide && cost_of(item.step) < limit(item))) found.insert(item.node);
    }
    return found;
  }

  void join() {
    std::vector<std::pair<Shape, std::vector<size_t>>> latest;
    const auto of_shape = [&](const Shape& shape) -> std::vector<size_t>& {
      for (auto& [known, groups] : latest)
        if (known == shape) return groups;
      return latest.emplace_back(shape, std::vector<size_t>()).second;
    };
    for (size_t i = 0; i < items_.size(); i++) {
      Item& item = items_[i];
      if (!item.wide && !item.narrow && !item.reduction) continue;
      std::vector<size_t> units, candidates;
      for (const size_t from : item.inputs) add_once(units, unit(from));
      for (const size_t u : units)
        if (u >= items_.size()) candidates.push_back(u - items_.size());
      if (item.wide) {
        const std::vector<size_t>& same = of_shape(shape_of(item.node->output()));
        for (size_t k = same.size() - std::min<size_t>(same.size(), 4); k < same.size(); k++) add_once(candidates, same[k]);
      }
      std::sort(candidates.rbegin(), candidates.rend());
      bool joined = false;
      for (const size_t g : candidates)
        if (accepts(g, i, units)) {
          groups_[g].members.push_back(i);
          item.group = g;
          joined = true;
          break;
        }
      if (joined || (item.narrow && !item.wide)) continue;
      item.group = groups_.size();
      const Shape& whole = item.wide ? shape_of(item.node->output()) : shape_of(item.reads[0]);
      groups_.push_back({{i}, whole, item.segment, false});
      of_shape(whole).push_back(item.group);
    }
  }

  Kernels rewrite() {
    Kernels kernels;
    bool any = false;
    for (Group& g : groups_) any = (g.chosen = pays(g)) || any;
    if (!any) return kernels;
    std::vector<size_t> order;
    // A group runs where its last member stood, or before what reads it: so operators stay near what they read, which is in cache.
    for (size_t i = 0; i < items_.size(); i++) {
      const size_t u = chosen_unit(i);
      if (u < items_.size() || groups_[u - items_.size()].members.back() == i) emit(u, order);
    }
    Node* const end = graph_.block().return_node();
    for (const size_t u : order) {
      if (u < items_.size()) items_[u].node->move_before(end);
      else emit_group(groups_[u - items_.size()], kernels);
    }
    for (size_t i = items_.size(); i-- > 0;) {
      const Node& n = *items_[i].node;
      const bool idle = (is_same(n) || is_repeat(n)) && n.output()->uses().empty();
      if (idle || chosen_unit(i) >= items_.size()) items_[i].node->erase();
    }
    return kernels;
  }

 private:
  struct Item {
    Node* node = nullptr;
    std::vector<size_t> inputs;        // the items that it reads
    std::vector<const Value*> values;  // the tensors that it reads
    size_t segment = 0, group = kNoGroup;
    bool writes = false;
    bool wide = false, narrow = false;  // whether it is a loop over all elements, or one that may run over one column of others
    FusedStep step;
    std::vector<const Value*> reads;  // of the inputs of the step, null for numbers; of a reduction, its input
    const dispatch::OpEntry* reduction = nullptr;
    std::vector<dispatch::Value> rest;
  };
  struct Group {
    std::vector<size_t> members;
    Shape shape;
    size_t segment;
    bool chosen;
  };

  static void add_once(std::vector<size_t>& list, size_t n) {
    if (std::find(list.begin(), list.end(), n) == list.end()) list.push_back(n);
  }

  void gather(const Node& n, Item& item) const {
    for (const Value* v : n.inputs()) {
      if (v->node())
        if (const auto found = numbers_.find(v->node()); found != numbers_.end()) add_once(item.inputs, found->second);
      if (v->type().is_tensor() && std::find(item.values.begin(), item.values.end(), v) == item.values.end()) item.values.push_back(v);
    }
    for (const auto& b : n.blocks())
      for (const auto& inside : b->nodes()) gather(*inside, item);
  }

  // ---- sizes ------------------------------------------------------------------------------------------------------------------

  // Numbers for symbols, as examples.
  void choose_sizes() {
    const auto collect = [&](const Value* v) {
      if (!v->type().facts().sizes) return;
      for (const Sym& s : *v->type().facts().sizes)
        for (const std::string& name : s.symbols()) {
          if (sizes_.count(name)) continue;
          int64_t n = 101 + 6 * static_cast<int64_t>(sizes_.size());
          if (const auto range = graph_.ranges().find(name); range != graph_.ranges().end()) n = std::clamp(n, range->second.min, range->second.max);
          sizes_[name] = n;
        }
    };
    for (const auto& p : graph_.block().parameters()) collect(p.get());
  }
  std::optional<DimVector> numbers(const Shape& shape) const {
    DimVector out;
    for (const Sym& s : shape) {
      const auto n = s.is_known() ? s.evaluate(sizes_) : std::nullopt;
      if (!n) return std::nullopt;
      out.push_back(*n);
    }
    return out;
  }
  int64_t numel(const Value* v) const {
    int64_t n = 1;
    const auto sizes = numbers(shape_of(v));
    if (!sizes) return -1;
    for (const int64_t size : *sizes) n *= size;
    return n;
  }
  // A tensor without data like the value; undefined where that cannot be.
  Tensor without_data(const Value* v) const {
    const TensorFacts& f = v->type().facts();
    const auto sizes = numbers(*f.sizes), strides = numbers(*f.strides);
    if (!sizes || !strides) return {};
    return cresset::empty_strided(*sizes, *strides, TensorOptions().dtype(*f.dtype).device(Device(kMeta)));
  }

  // ---- which nodes are single loops -------------------------------------------------------------------------------------------

  bool find_step(Item& item) {
    const Node& n = *item.node;
    const Value* out = n.output();
    if (!is_plain(out) || std::string_view(n.op()->name).substr(0, 8) == "_to_copy" || (n.op()->flags & (dispatch::kOutOp | dispatch::kInplaceOp)))
      return false;
    const Tensor example = without_data(out);
    if (!example.defined() || !example.is_contiguous()) return false;
    const Shape& shape = shape_of(out);
    bool some = false, column = !shape.empty() && shape.back() == Sym(1);
    std::vector<const Value*> sources;
    std::vector<Tensor> tensors;
    dispatch::Stack stack;
    for (const Value* v : n.inputs()) {
      const bool is_number =
          v->is_constant() && v->constant()->is_tensor() && v->constant()->to_tensor().defined() && v->constant()->to_tensor().impl()->is_wrapped_number();
      if (!v->type().is_tensor() || is_number) {
        if (!v->is_constant()) return false;
        stack.push_back(*v->constant());
        continue;
      }
      if (v->is_constant() && !v->constant()->to_tensor().defined()) return false;
      if (!is_plain(v)) return false;
      const auto at = static_cast<size_t>(std::find(sources.begin(), sources.end(), v) - sources.begin());
      if (at == sources.size()) {
        tensors.push_back(without_data(v));
        if (!tensors.back().defined()) return false;
        sources.push_back(v);
        some = some || shape_of(v) == shape;
        column = column && (shape_of(v) == shape || is_one(v));
      }
      stack.push_back(tensors[at]);
    }
    const bool wide = numel(out) >= kMinElements;
    if (!some || !(wide || column)) return false;
    try {
      Probe watch(tensors);
      dispatch::call_boxed(*n.op(), stack);
      if (stack.size() != 1 || !stack[0].is_tensor() || !watch.is_one_loop(stack[0].to_tensor())) return false;
      item.step = watch.step();
    } catch (const std::exception&) {
      return false;  // it has no rule for tensors without data
    }
    item.wide = wide;
    item.narrow = column;
    for (const FusedStep::Input& input : item.step.inputs)
      item.reads.push_back(input.kind == FusedStep::Input::Number ? nullptr : sources[static_cast<size_t>(input.index)]);
    return true;
  }

  // Members of kernels read through what only repeats a value.
  void read_sources(Item& item) const {
    item.inputs.clear();
    item.values.clear();
    for (const Value*& v : item.reads) {
      if (!v) continue;
      v = item.reduction ? same_as(v) : source_of(v);
      if (std::find(item.values.begin(), item.values.end(), v) == item.values.end()) item.values.push_back(v);
      if (v->node())
        if (const auto found = numbers_.find(v->node()); found != numbers_.end()) add_once(item.inputs, found->second);
    }
  }

  // A reduction of the last dimension: each row gives one number.
  void find_reduction(Item& item) const {
    const Node& n = *item.node;
    const Value *out = n.output(), *x = n.inputs().empty() ? nullptr : n.input(0);
    if (!x || item.values.size() != 1 || !is_plain(out) || !is_plain(x) || *out->type().facts().dtype != *x->type().facts().dtype) return;
    const Shape& shape = shape_of(x);
    const Tensor example = without_data(x);
    if (shape.empty() || !example.defined() || !example.is_contiguous() || !isFloatingType(*x->type().facts().dtype)) return;
    const auto columns = shape.back().constant();
    if (!columns || *columns < kMinColumns || numel(x) < kMinElements || shape_of(out) != column_of(shape)) return;
    const auto& arguments = n.op()->function_schema().arguments;
    bool dim = false, keep = false;
    std::vector<dispatch::Value> rest;
    for (size_t i = 1; i < arguments.size(); i++) {
      const Value* v = n.input(i);
      if (!v->is_constant()) return;
      const Datum& value = *v->constant();
      if (arguments[i].name == "dim") {
        const std::vector<int64_t> dims = value.is<int64_t>() ? std::vector<int64_t>{value.to_int()}
                                          : value.is_none()   ? std::vector<int64_t>()
                                                              : value.to_int_list();
        const auto last = static_cast<int64_t>(shape.size()) - 1;
        dim = dims.size() == 1 && (dims[0] == -1 || dims[0] == last);
        rest.push_back(value.is<int64_t>() ? Datum(int64_t{-1}) : Datum(std::vector<int64_t>{-1}));
        continue;
      }
      keep = keep || (arguments[i].name == "keepdim" && value.is<bool>() && value.to_bool());
      if (arguments[i].name == "dtype" && !value.is_none()) return;
      rest.push_back(value);
    }
    if (!dim || !keep) return;
    item.reduction = n.op();
    item.reads = {x};
    item.rest = std::move(rest);
  }

  // ---- groups -----------------------------------------------------------------------------------------------------------------

  // The group of an item, numbered behind all items; the item itself without one.
  size_t unit(size_t i) const { return items_[i].group == kNoGroup ? i : items_.size() + items_[i].group; }
  size_t chosen_unit(size_t i) const { return items_[i].group != kNoGroup && groups_[items_[i].group].chosen ? unit(i) : i; }

  template <class F> void each_member(size_t u, F&& use) const {
    if (u < items_.size()) return use(u);
    for (const size_t m : groups_[u - items_.size()].members) use(m);
  }

  // Whether what these units are computed from holds the group.
  bool reaches(const std::vector<size_t>& starts, size_t group) const {
    const size_t first = groups_[group].members.front(), goal = items_.size() + group;
    std::vector<size_t> todo = starts;
    std::unordered_set<size_t> seen(starts.begin(), starts.end());
    while (!todo.empty()) {
      const size_t u = todo.back();
      todo.pop_back();
      if (u == goal) return true;
      each_member(u, [&](size_t m) {
        for (const size_t from : items_[m].inputs) {
          const size_t other = unit(from);
          const size_t last = other < items_.size() ? other : groups_[other - items_.size()].members.back();
          if (other != u && last >= first && seen.insert(other).second) todo.push_back(other);
        }
      });
    }
    return false;
  }

  bool is_wide(size_t i, const Group& g) const { return items_[i].wide && shape_of(items_[i].node->output()) == g.shape; }

  bool accepts(size_t number, size_t i, const std::vector<size_t>& units) const {
    const Group& g = groups_[number];
    const Item& item = items_[i];
    if (g.segment != item.segment || g.members.size() >= kMaxSteps) return false;
    const Shape& own = shape_of(item.node->output());
    if (own == g.shape) {
      if (!item.wide) return false;
    } else {
      const auto columns = g.shape.empty() ? std::nullopt : g.shape.back().constant();
      if (!columns || *columns < kMinColumns || own != column_of(g.shape) || !(item.narrow || item.reduction)) return false;
    }
    std::vector<size_t> others;
    bool related = false;
    for (const size_t u : units) {
      if (u == items_.size() + number) related = true;
      else others.push_back(u);
    }
    for (size_t k = 0; k < g.members.size() && !related; k++)
      for (const Value* v : items_[g.members[k]].values) related = related || std::find(item.values.begin(), item.values.end(), v) != item.values.end();
    return related && !reaches(others, number);
  }

  // Values from outside that members read, each once.
  std::vector<const Value*> arguments(const Group& g) const {
    std::vector<const Value*> found;
    for (const size_t m : g.members)
      for (const Value* v : items_[m].reads) {
        if (!v || std::find(found.begin(), found.end(), v) != found.end()) continue;
        const auto at = v->node() ? numbers_.find(v->node()) : numbers_.end();
        if (at == numbers_.end() || std::find(g.members.begin(), g.members.end(), at->second) == g.members.end()) found.push_back(v);
      }
    return found;
  }

  // Whether an operator alone is worth a kernel: its result may have the memory of a large value that it alone reads.
  bool may_take_over(const Item& item) const {
    if (!item.wide) return false;
    const Value* out = item.node->output();
    const auto size = [](const Value* v) { return static_cast<int64_t>(element_size(*v->type().facts().dtype)); };
    if (numel(out) * size(out) < kLarge) return false;
    return std::any_of(item.reads.begin(), item.reads.end(), [&](const Value* v) {
      if (!v || v->is_constant() || shape_of(v) != shape_of(out) || size(v) != size(out)) return false;
      return std::all_of(v->uses().begin(), v->uses().end(), [&](const Use& use) { return use.node == item.node; });
    });
  }

  // Whether a group is worth a kernel. One of rows needs something to read in full, and arguments that are rows, columns or numbers.
  bool pays(const Group& g) const {
    if (g.members.size() < 2) return may_take_over(items_[g.members[0]]);
    const auto wide = [&](size_t m) { return is_wide(m, g); };
    if (std::all_of(g.members.begin(), g.members.end(), wide)) {
      const std::vector<const Value*> given = arguments(g);
      return std::any_of(given.begin(), given.end(), [&](const Value* v) { return shape_of(v) == g.shape; });
    }
    if (std::none_of(g.members.begin(), g.members.end(), wide)) return false;
    bool full = false;
    for (const Value* v : arguments(g)) {
      const auto kind = kind_of(v, g.shape);
      if (!kind) return false;
      full = full || *kind == RowArgument::Wide;
    }
    return full;
  }

  // ---- the new order ----------------------------------------------------------------------------------------------------------

  void emit(size_t start, std::vector<size_t>& order) {
    if (after_.empty()) find_order();
    std::vector<std::pair<size_t, bool>> todo = {{start, false}};
    while (!todo.empty()) {
      const auto [u, ready] = todo.back();
      todo.pop_back();
      if (done_.count(u)) continue;
      if (!ready) {
        todo.emplace_back(u, true);
        std::vector<size_t> needed;
        each_member(u, [&](size_t m) {
          for (const size_t from : items_[m].inputs) needed.push_back(chosen_unit(from));
          if (after_[m] != kNoGroup) needed.push_back(chosen_unit(after_[m]));
        });
        for (const size_t n : needed)
          if (n != u && !done_.count(n)) todo.emplace_back(n, false);
        continue;
      }
      done_.insert(u);
      order.push_back(u);
    }
  }
  // For each node that draws random numbers or writes: the one before, which runs first.
  void find_order() {
    after_.assign(items_.size(), kNoGroup);
    size_t last = kNoGroup;
    for (size_t i = 0; i < items_.size(); i++) {
      if (is_deterministic(*items_[i].node)) continue;
      after_[i] = last;
      last = i;
    }
  }

  bool is_read_outside(const Value* v, const Group& g) const {
    for (const Use& use : v->uses()) {
      const auto user = numbers_.find(use.node);
      const bool inside = user != numbers_.end() && std::find(g.members.begin(), g.members.end(), user->second) != g.members.end();
      if (inside) continue;
      const bool through = user != numbers_.end() && (is_same(*use.node) || is_repeat(*use.node));
      if (!through || is_read_outside(use.node->output(), g)) return true;
    }
    return false;
  }

  void emit_group(const Group& g, Kernels& kernels) {
    const std::vector<const Value*> given = arguments(g);
    std::vector<int> outputs;
    std::vector<std::string> names;
    std::vector<FusedStep> steps;
    std::vector<RowStep> rows;
    bool all_wide = true;
    for (size_t k = 0; k < g.members.size(); k++) {
      const size_t m = g.members[k];
      const Item& item = items_[m];
      FusedStep step = item.step;
      if (item.reduction) {
        step.result = *item.node->output()->type().facts().dtype;
        step.inputs.resize(1);
      }
      for (size_t i = 0; i < item.reads.size(); i++) {
        const Value* v = item.reads[i];
        if (!v) continue;
        const auto inside =
            v->node() ? std::find(g.members.begin(), g.members.end(), numbers_.count(v->node()) ? numbers_.at(v->node()) : SIZE_MAX) : g.members.end();
        const bool is_step = inside != g.members.end();
        step.inputs[i].kind = is_step ? FusedStep::Input::Step : FusedStep::Input::Argument;
        step.inputs[i].index = static_cast<int>(is_step ? inside - g.members.begin() : std::find(given.begin(), given.end(), v) - given.begin());
      }
      const bool wide = is_wide(m, g);
      all_wide = all_wide && wide;
      rows.push_back({step, item.reduction, item.rest, wide});
      steps.push_back(std::move(step));
      if (is_read_outside(item.node->output(), g)) outputs.push_back(static_cast<int>(k));
      names.push_back(item.node->op_name());
    }
    std::vector<ScalarType> dtypes;
    std::vector<bool> ones;
    std::vector<RowArgument> kinds;
    for (const Value* v : given) {
      dtypes.push_back(*v->type().facts().dtype);
      ones.push_back(is_one(v));
      kinds.push_back(all_wide ? RowArgument::Wide : *kind_of(v, g.shape));
    }
    std::shared_ptr<const Kernel> kernel;
    if (all_wide) kernel = std::make_shared<FusedKernel>(std::move(dtypes), std::move(steps), outputs);
    else kernel = std::make_shared<RowKernel>(std::move(dtypes), std::move(kinds), std::move(rows), outputs, *g.shape.back().constant());
    const int64_t number = kernels.add(std::move(kernel), std::move(ones));
    std::vector<Value*> inputs;
    for (const Value* v : given) {
      const auto other = made_.find(v);
      inputs.push_back(other == made_.end() ? const_cast<Value*>(v) : other->second);
    }
    Node* const unpack = call_kernel(graph_, number, std::move(inputs), std::move(names));
    for (const int k : outputs) {
      Value* const old = items_[g.members[static_cast<size_t>(k)]].node->output();
      made_[old] = unpack->add_output(old->type(), old->name());
      old->replace_uses_with(made_[old]);
    }
  }

  Graph& graph_;
  Bindings sizes_;
  std::vector<Item> items_;
  std::unordered_map<const Node*, size_t> numbers_;
  std::vector<Group> groups_;
  std::vector<size_t> after_;
  std::unordered_set<size_t> done_;
  std::unordered_map<const Value*, Value*> made_;  // outputs of kernels, in the place of members'
};

}  // namespace

Kernels fuse(Graph& graph, const FuseOptions& options) {
  remove_copies(graph);
  Kernels kernels = join_layers(graph, options);
  Fuser fuser(graph);
  fuser.look();
  fuser.join();
  kernels.add(fuser.rewrite());
  graph.verify();
  return kernels;
}

std::unordered_set<const Node*> cheaper_than_memory(Graph& graph) {
  Fuser fuser(graph);
  fuser.look();
  return fuser.cheap();
}

}  // namespace cresset::graph
