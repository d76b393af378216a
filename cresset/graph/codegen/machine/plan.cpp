#include "cresset/graph/codegen/machine/plan.h"

#include <algorithm>

namespace cresset::graph::machine {

namespace {

// About the operations that a store and two loads stand for.
constexpr int kDear = 4;

int cost_of(const Program& program, const Node& n) {
  switch (n.op) {
    case Op::Constant: return 0;
    case Op::Input: return element_size(program.inputs[n.immediate].dtype) < 4 ? 3 : 1;
    case Op::Div:
    case Op::Sqrt: return 6;
    case Op::Round: return n.immediate ? 4 : 1;
    default: return 1;
  }
}

class Planner {
 public:
  explicit Planner(Program& program) : program_(program), even_(even_nodes(program)) {}

  void plan() {
    program_.passes.clear();
    add_folds();
    program_.passes.emplace_back();
    for (size_t pass = 0; pass + 1 < program_.passes.size(); pass++) keep(pass);
  }

 private:
  using Set = std::vector<bool>;
  const Node& node(int i) const { return program_.nodes[static_cast<size_t>(i)]; }
  bool is_wide(int i) const { return i >= 0 && !even_[static_cast<size_t>(i)]; }
  template <class F> static void each_operand(const Node& n, F&& use) {
    for (const int k : {n.a, n.b, n.c})
      if (k >= 0) use(k);
  }

  // Folds by the number of those before them that they wait for.
  void add_folds() {
    Set needed(program_.nodes.size());
    for (const int r : program_.results) needed[static_cast<size_t>(r)] = true;
    for (size_t i = needed.size(); i-- > 0;)
      if (needed[i]) each_operand(program_.nodes[i], [&](int k) { needed[static_cast<size_t>(k)] = true; });
    std::vector<int> level(program_.nodes.size());
    int levels = 0;
    for (size_t i = 0; i < level.size(); i++) {
      each_operand(program_.nodes[i], [&](int k) { level[i] = std::max(level[i], level[static_cast<size_t>(k)]); });
      if (program_.nodes[i].op == Op::Reduce) level[i]++;
      if (needed[i]) levels = std::max(levels, level[i]);
    }
    for (int at = 1; at <= levels; at++) {
      const size_t first = program_.passes.size();
      for (size_t i = 0; i < level.size(); i++) {
        if (!needed[i] || program_.nodes[i].op != Op::Reduce || level[i] != at) continue;
        const auto same = [&](const Pass& pass) { return goes_with(node(pass.folds[0]), program_.nodes[i]); };
        auto found = std::find_if(program_.passes.begin() + static_cast<std::ptrdiff_t>(first), program_.passes.end(), same);
        if (found == program_.passes.end()) found = program_.passes.insert(found, Pass());
        found->folds.push_back(static_cast<int>(i));
      }
    }
  }
  static bool goes_with(const Node& a, const Node& b) {
    const auto ordered = [](const Node& n) { return n.immediate == static_cast<uint64_t>(Fold::OrderedSum); };
    return a.type == b.type && ordered(a) == ordered(b);
  }

  // The values of columns that a pass computes.
  Set computed(size_t pass) const {
    Set found(program_.nodes.size());
    const auto want = [&](int i) {
      if (is_wide(i)) found[static_cast<size_t>(i)] = true;
    };
    for (const int f : program_.passes[pass].folds) want(node(f).a);
    if (pass + 1 == program_.passes.size())
      for (size_t k = 0; k < program_.results.size(); k++)
        if (!program_.outputs[k].one) want(program_.results[k]);
    for (size_t i = found.size(); i-- > 0;)
      if (found[i] && !is_kept_before(pass, static_cast<int>(i))) each_operand(program_.nodes[i], want);
    return found;
  }
  bool is_kept_before(size_t pass, int i) const {
    for (size_t p = 0; p < pass; p++) {
      const std::vector<int>& kept = program_.passes[p].kept;
      if (std::find(kept.begin(), kept.end(), i) != kept.end()) return true;
    }
    return false;
  }
  int cost_again(size_t pass, int value) const {
    Set found(program_.nodes.size());
    found[static_cast<size_t>(value)] = true;
    int cost = 0;
    for (size_t i = found.size(); i-- > 0;) {
      if (!found[i]) continue;
      const bool kept = is_kept_before(pass, static_cast<int>(i));
      cost += kept ? 1 : cost_of(program_, program_.nodes[i]);
      if (!kept)
        each_operand(program_.nodes[i], [&](int k) {
          if (is_wide(k)) found[static_cast<size_t>(k)] = true;
        });
    }
    return cost;
  }

  // Of what the pass computes, that which later passes would compute again at some cost. Values that they need only for others of the pass do not count.
  void keep(size_t pass) {
    const Set mine = computed(pass);
    for (size_t later = pass + 1; later < program_.passes.size(); later++) {
      Set again = computed(later);
      for (size_t i = again.size(); i-- > 0;) {
        if (!again[i] || !mine[i] || program_.nodes[i].op == Op::Input || is_kept_before(later, static_cast<int>(i))) continue;
        if (cost_again(later, static_cast<int>(i)) <= kDear) continue;
        program_.passes[pass].kept.push_back(static_cast<int>(i));
        again = computed(later);
      }
    }
  }

  Program& program_;
  const Set even_;
};

}  // namespace

void plan_rows(Program& program) { Planner(program).plan(); }

}  // namespace cresset::graph::machine
