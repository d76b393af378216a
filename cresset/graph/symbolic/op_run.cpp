// One operator on fake tensors whose sizes are symbols: it runs at the point, and again at others, so that the expressions of its results are exact and
// conditions on sizes show.

#include <algorithm>

#include "cresset/core/sparse.h"
#include "cresset/dispatch/listen.h"
#include "cresset/graph/symbolic/fit.h"
#include "cresset/graph/symbolic/shape_env.h"
#include "cresset/ops/functions.h"

namespace cresset::graph {

using dispatch::OpEntry;
using dispatch::Stack;
using dispatch::Value;

namespace {

struct Geometry {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
};

// All integers of the results, in order.
std::vector<int64_t> integers_of(const Stack& results) {
  std::vector<int64_t> out;
  for (const Value& v : results) {
    dispatch::for_each_tensor(v, [&](const Tensor& t) {
      out.push_back(t.dim());
      out.insert(out.end(), t.sizes().begin(), t.sizes().end());
      if (t.layout() != Layout::Strided) return;
      out.insert(out.end(), t.strides().begin(), t.strides().end());
      out.push_back(t.storage_offset());
    });
    if (v.is<int64_t>()) out.push_back(v.to_int());
  }
  return out;
}

constexpr size_t kStorageBytes = size_t{1} << 44;

}  // namespace

class OpRun {
 public:
  OpRun(ShapeEnv& env, const OpEntry& op, Stack& stack) : env_(env), op_(op), stack_(stack), below_(stack.size() - op.function_schema().arguments.size()) {
    inputs_.assign(stack.begin() + static_cast<std::ptrdiff_t>(below_), stack.end());
    for (const Value& v : inputs_) {
      dispatch::for_each_tensor(v, [&](const Tensor& t) {
        const bool strided = t.layout() == Layout::Strided;
        geometries_.push_back({t.sizes().vec(), strided ? t.strides().vec() : std::vector<int64_t>(), strided ? t.storage_offset() : 0});
        for (const int64_t s : t.sizes()) symbolic_ = see(s) || symbolic_;
        if (!strided) return;
        for (const int64_t s : t.strides()) symbolic_ = see(s) || symbolic_;
        symbolic_ = see(t.storage_offset()) || symbolic_;
      });
      if (v.is<int64_t>()) symbolic_ = see(v.to_int()) || symbolic_;
      if (v.is<std::vector<int64_t>>())
        for (const int64_t i : v.to_int_list()) symbolic_ = see(i) || symbolic_;
      if (v.is<double>()) symbolic_ = !env_.lift(v.to_double()).constant() || symbolic_;
    }
  }

  void run(const std::function<void()>& body) {
    if (env_.moved_) take_new_numbers();
    if (!symbolic_) {
      env_.runs_++;
      follow_composite();
      body();
      note_results();
      return;
    }
    env_.runs_++;
    follow_composite();
    settle_list();
    settle_inferred();
    if (is_slice() && run_slice()) return note_results();
    for (int attempt = 0; attempt < 3; attempt++) {
      run_at_point(body);
      note_results();
      if (learn()) return;
      take_new_numbers();
    }
    run_at_point(body);
  }

  // A composite: what it is made of is learnt on the way.
  void run_composite(const std::function<void()>& body) {
    if (env_.moved_) take_new_numbers();
    if (!symbolic_ && !takes_numbers()) return body();
    settle_list();
    settle_inferred();
    if (env_.composite_) return run_at_point(body);
    // The outermost one: numbers that its body computes are found by running it at other points, and so are its results' sizes checked.
    for (int attempt = 0;; attempt++) {
      struct Within {
        OpRun*& place;
        Within(OpRun*& p, OpRun* run) : place(p) { place = run; }
        ~Within() { place = nullptr; }
      };
      const int64_t before = env_.runs_;
      const size_t guards = env_.guards.size();
      redo_ = false;
      trails_.clear();
      {
        const Within within(env_.composite_, this);
        leaf_ = 0;
        run_at_point([&] {
          leaf_ = 0;
          body();
        });
      }
      if (!redo_ && agrees()) return;
      // Symbols may have become numbers within, after its body had gone the way of the point.
      if (attempt >= 2 || (!redo_ && !specialize_all() && env_.guards.size() == guards)) return;
      if (env_.runs_ != before && dispatch::listener_at(dispatch::ListenPlace::below_autograd))
        throw RestartTraceError(str("symbolic shapes: ", op_.name, " needs a condition that the trace so far does not know; run it again"));
      take_new_numbers();
    }
  }

  // Whether its body goes on with numbers of the data as with sizes.
  bool takes_numbers() const {
    const std::string_view name = op_.name;
    return name == "one_hot" || name == "narrow.Tensor";
  }

 private:
  void run_at_point(const std::function<void()>& body) {
    for (int attempt = 0;; attempt++) {
      const int64_t before = env_.runs_;
      const size_t guards = env_.guards.size();
      try {
        body();
        return;
      } catch (const UnsupportedFakeTensorError&) { throw; } catch (const DataDependentGuardError&) {
        throw;
      } catch (const RestartTraceError&) { throw; } catch (const Error&) {
        const std::exception_ptr here = std::current_exception();
        if (!at_point(1) && example_error_) {
          refuse_unbacked();
          std::rethrow_exception(example_error_);
        }
        // A part of a composite may have found some already, and numbers of before still be about.
        if (attempt >= 4 || !(env_.guards.size() != guards || find_guards())) std::rethrow_exception(here);
        // Parts of a composite have been written down already.
        if (env_.runs_ != before && dispatch::listener_at(dispatch::ListenPlace::below_autograd))
          throw RestartTraceError(str("symbolic shapes: ", op_.name, " needs a condition that the trace so far does not know; run it again"));
      }
      stack_.resize(below_);
      renew_inputs();
      stack_.insert(stack_.end(), inputs_.begin(), inputs_.end());
    }
  }

  // The example has no numbers for symbols that only the data tells: what the operator says of some is no error of the user's.
  void refuse_unbacked() {
    const std::vector<std::string> names = symbols();
    const auto first = std::find_if(names.begin(), names.end(), [this](const std::string& s) { return !env_.hints.count(s); });
    if (first == names.end()) return;
    throw DataDependentGuardError(str(op_.name, ": it depends on ", env_.described(names), ", which only the data tells, whether these sizes fit; asked at ",
                                      env_.here(true), ". Two ways out: state what holds before, as in torch._check(", *first,
                                      " == ...), or compute sizes from those of tensors instead of their data"));
  }

  void take_new_numbers() {
    stack_.resize(below_);
    renew_inputs();
    stack_.insert(stack_.end(), inputs_.begin(), inputs_.end());
  }

  // ---- slices

  bool is_slice() const {
    const std::string_view name = op_.name;
    return (name == "slice.Tensor" || name == "narrow") && inputs_[0].is_tensor() && inputs_[0].to_tensor().layout() == Layout::Strided;
  }
  // A part of a dimension, as long as in the example: bounds within its size may be beyond it at the point, where a size that is a number stays as it is. False
  // where a number of it has become one, or is none of a size: the rule then says what there is to say.
  bool run_slice() {
    const Geometry& g = geometries_[0];
    const bool is_narrow = std::string_view(op_.name) == "narrow";
    const int64_t rank = static_cast<int64_t>(g.sizes.size()), given = inputs_[1].to_int(), step = is_narrow ? 1 : inputs_[4].to_int();
    if (given < -rank || given >= rank || step < 1 || env_.is_symbolic(step)) return false;
    const auto d = static_cast<size_t>(given < 0 ? given + rank : given);
    const Sym size = env_.lift(g.sizes[d]).integer();
    const size_t guards = env_.guards.size();
    const auto bounds = is_narrow ? narrow_bounds(size) : slice_bounds(size);
    if (!bounds || env_.guards.size() != guards) take_new_numbers();
    if (!bounds) return false;
    const auto& [first, length] = *bounds;
    const Sym parts = step == 1 ? length : Sym::floordiv(length + (step - 1), step);
    const auto at_point = env_.simplify(parts).evaluate(env_.point_), start = env_.simplify(first).evaluate(env_.point_);
    if (!at_point || !start || *start < 0 || (*at_point < ShapeEnv::kLeast && !env_.simplify(parts).constant())) {
      env_.specialize(Expr(env_.simplify(parts)));
      take_new_numbers();
      return false;
    }
    Geometry part = geometries_[0];
    part.offset += *start * part.strides[d];
    part.sizes[d] = number_of(parts);
    part.strides[d] *= step;
    if (!env_.simplify(first).constant() || env_.is_symbolic(geometries_[0].strides[d])) env_.value(Expr(offset_of(first, d)));
    put_view(part);
    return true;
  }
  using Bounds = std::pair<Sym, Sym>;  // the first place, and the length before steps
  bool holds(Op op, const Sym& a, const Sym& b) { return env_.evaluate(Expr::apply(op, {Expr(a), Expr(b)})); }
  std::optional<Bounds> slice_bounds(const Sym& size) {
    const auto bound = [&](const Value& v, const Sym& none) {
      if (v.is_none() || v.to_int() == INT64_MAX) return none;
      Sym b = env_.lift(v.to_int()).integer();
      if (holds(Op::Lt, b, Sym(0))) {
        b = b + size;
        return holds(Op::Lt, b, Sym(0)) ? Sym(0) : b;
      }
      return holds(Op::Le, b, size) ? b : size;
    };
    try {
      const Sym first = bound(inputs_[2], Sym(0)), last = bound(inputs_[3], size);
      return Bounds{first, holds(Op::Lt, last, first) ? Sym(0) : last - first};
    } catch (const DataDependentGuardError&) {
      // Only the data tells how long it is.
      return Bounds{Sym(0), env_.size_symbol().integer()};
    }
  }
  std::optional<Bounds> narrow_bounds(const Sym& size) {
    Sym first = env_.lift(inputs_[2].to_int()).integer();
    const Sym length = env_.lift(inputs_[3].to_int()).integer();
    if (env_.is_unbacked(Expr(first))) {
      env_.expect(Expr::apply(Op::Le, {Expr(first + length), Expr(size)}), "narrow: start + length exceeds the size of the dimension");
      return Bounds{first, length};
    }
    if (holds(Op::Lt, first, Sym(0))) first = first + size;
    if (holds(Op::Lt, first, Sym(0)) || holds(Op::Lt, length, Sym(0)) || !holds(Op::Ge, size, first + length)) return std::nullopt;
    return Bounds{first, length};
  }
  int64_t number_of(const Sym& s) { return std::get<int64_t>(env_.value(Expr(s))); }
  Sym offset_of(const Sym& first, size_t d) { return env_.lift(geometries_[0].offset).integer() + first * env_.lift(geometries_[0].strides[d]).integer(); }
  // The result is a view of the first argument.
  void put_view(const Geometry& g) {
    const Tensor self = stack_[below_].to_tensor();
    auto impl = self.impl()->alias(true);
    impl->set_geometry(g.sizes, g.strides, g.offset);
    stack_.resize(below_);
    stack_.emplace_back(Tensor(std::move(impl)));
  }

  // ---- composites

  // The operators that a composite is made of at another point, with their integers.
  struct Leaf {
    const OpEntry* op;
    std::vector<int64_t> integers;
  };
  class Trail final : public SymbolicShapes {
   public:
    std::vector<Leaf> leaves;
    void made(const intrusive_ptr<TensorImpl>&) override {}
    void run(const OpEntry& op, Stack& stack, const std::function<void()>& body) override {
      const size_t n = op.function_schema().arguments.size();
      leaves.push_back({&op, plain_integers(Stack(stack.end() - static_cast<std::ptrdiff_t>(n), stack.end()))});
      body();
    }
    void run_composite(const OpEntry&, Stack&, const std::function<void()>& body) override { body(); }
    bool run_data_dependent(const OpEntry&, Stack&) override { return false; }
    bool reaches(int64_t place, int64_t size) override { return place >= size; }
  };
  static std::vector<int64_t> plain_integers(const Stack& arguments) {
    std::vector<int64_t> out;
    for (const Value& v : arguments) {
      if (v.is<int64_t>()) out.push_back(v.to_int());
      if (v.is<std::vector<int64_t>>())
        for (const int64_t i : v.to_int_list()) out.push_back(i);
    }
    return out;
  }
  const std::vector<std::vector<Leaf>>& trails() {
    if (!trails_.empty()) return trails_;
    if (env_.points_.empty()) env_.make_points();
    trails_.resize(env_.points_.size());
    for (size_t p = 1; p < env_.points_.size(); p++) {
      const auto trail = make_intrusive<Trail>();
      const auto mode = make_intrusive<FakeMode>(true);
      mode->set_shapes(trail, {});
      if (at_point(p, mode.get())) trails_[p] = std::move(trail->leaves);
    }
    return trails_;
  }

 public:
  // The same for a number of the operator that comes next, of which a tracer hears before it runs.
  std::optional<Sym> of_next(int64_t value) {
    if (asked_) return std::nullopt;
    asked_ = true;
    struct Done {
      bool& asked;
      ~Done() { asked = false; }
    } const done{asked_};
    const auto& there = trails();
    const std::vector<Candidate> known = candidates({}, 0);
    const size_t near = nearest_trail();
    // Steps that the operator itself begins with, as the copy of a lazy conjugate, may stand before it.
    constexpr size_t kStepsBefore = 3;
    for (size_t index = leaf_; index < there[near].size() && index <= leaf_ + kStepsBefore; index++)
      if (const auto found = of_leaf(value, index, near, known)) return found;
    return std::nullopt;
  }

 private:
  // The trail beside the point goes the way of the body here; the example may go another one, and then says nothing.
  size_t nearest_trail() const {
    for (size_t p = 3; p < trails_.size(); p++)
      if (!trails_[p].empty()) return p;
    return 1;
  }
  bool same_way(size_t p, size_t near, size_t index) const {
    if (trails_[p].size() <= index || trails_[near].size() <= index) return false;
    for (size_t i = 0; i <= index; i++) {
      const Leaf &a = trails_[p][i], &b = trails_[near][i];
      if (a.op != b.op || a.integers.size() != b.integers.size()) return false;
    }
    return true;
  }
  // The expression of a number that stands among the integers of this step.
  std::optional<Sym> of_leaf(int64_t value, size_t index, size_t near, const std::vector<Candidate>& known) {
    std::vector<size_t> places(1, 0);
    for (size_t p = 1; p < trails_.size(); p++)
      if (same_way(p, near, index)) places.push_back(p);
    for (size_t j = 0; j < trails_[near][index].integers.size(); j++) {
      Observed observed(trails_.size());
      observed[0] = value;
      for (const size_t p : places)
        if (p) observed[p] = trails_[p][index].integers[j];
      auto expr = fit(observed, known);
      if (!expr) {
        observed[2].reset();
        expr = fit(observed, known);
      }
      if (expr && !expr->constant()) return env_.simplify(*expr);
    }
    return std::nullopt;
  }
  // A number that the composite around has computed, and that no table knows, is found from its values at other points.
  void follow_composite() {
    OpRun* const around = env_.composite_;
    if (!around || around == this) return;
    const size_t index = around->leaf_++;
    const std::vector<int64_t> integers = plain_integers(inputs_);
    bool unknown = !around->trails_.empty() && !integers.empty();
    for (const int64_t v : integers)
      unknown = unknown || ((v >= ShapeEnv::kLeast || v <= -ShapeEnv::kLeast) && !env_.by_value_.count(v) && !env_.constants_.count(v) && v != INT64_MAX);
    if (!unknown) return;
    const auto& trails = around->trails();
    const std::vector<Candidate> known = around->candidates({}, 0);
    for (size_t j = 0; j < integers.size(); j++) {
      Observed observed{integers[j]};
      bool differs = false;
      const auto now = env_.at_points(integers[j]);
      for (size_t p = 1; p < trails.size(); p++) {
        const bool there = index < trails[p].size() && trails[p][index].op == &op_ && trails[p][index].integers.size() == integers.size();
        observed.push_back(there ? std::optional<int64_t>(trails[p][index].integers[j]) : std::nullopt);
        differs = differs || (there && now[p] != observed.back());
      }
      if (!differs) continue;
      // Where the body goes another way in the example, the numbers of this one say nothing.
      const bool is_way = trails[1].empty() || observed[1];
      auto expr = is_way ? fit(observed, known) : std::nullopt;
      if (!expr && is_way && observed.size() > 2) {
        observed[2].reset();
        expr = fit(observed, known);
      }
      const int64_t v = integers[j];
      if (expr && (v >= ShapeEnv::kLeast || v <= -ShapeEnv::kLeast)) {
        env_.enter(v, env_.simplify(*expr));
        see(v);
        symbolic_ = true;
      } else {
        if (expr) env_.specialize(Expr(env_.simplify(*expr)));
        else around->specialize_all();
        around->redo_ = true;
      }
    }
  }

  // Whether the sizes of the results are those of the composite at the example and at small sizes.
  bool agrees() {
    auto sizes_at = [&](const std::vector<int64_t>& all, auto&& each) {  // integers_of: rank, sizes, strides, offset
      for (size_t i = 0; i < all.size();) {
        const size_t rank = static_cast<size_t>(all[i]);
        for (size_t d = 1; d <= rank; d++) each(i + d);
        i += 2 * rank + 2;
      }
    };
    const Stack results(stack_.begin() + static_cast<std::ptrdiff_t>(below_), stack_.end());
    for (const Value& v : results) {
      bool strided = !v.is<int64_t>();
      dispatch::for_each_tensor(v, [&](const Tensor& t) { strided = strided && t.layout() == Layout::Strided; });
      if (!strided) return true;
    }
    const std::vector<int64_t> here = integers_of(results);
    for (size_t p = 1; p < 3; p++) {
      const auto there = at_point(p);
      if (!there || there->size() != here.size()) continue;
      bool same = true;
      sizes_at(here, [&](size_t i) { same = same && env_.at_points(here[i])[p] == (*there)[i]; });
      if (!same) return false;
    }
    return true;
  }

  // The number of results is no symbol: sizes that it follows from become numbers.
  void settle_list() {
    bool list = false;
    for (const dispatch::Argument& a : op_.function_schema().returns) list = list || a.type.list;
    if (!list) return;
    const auto example = at_point(1);
    if (!example) return;
    for (const std::string& name : symbols()) {
      if (!env_.hints.count(name)) continue;
      if (env_.points_.empty()) env_.make_points();  // the last symbol has become a number
      Bindings larger = env_.points_[1];
      larger[name] = 3 * larger[name] + 1;
      if (!env_.fit_facts(larger)) continue;
      const auto other = at_bindings(larger);
      if (other && other->size() != example->size()) env_.specialize(Expr(Sym::symbol(name)));
    }
    take_new_numbers();
  }

  // -1 among the sizes of a view is what the others leave: they divide the number of elements, and the quotient gets its expression.
  void settle_inferred() {
    const std::string_view name = op_.name;
    const bool of_dim = name == "unflatten.int";
    if (!of_dim && name != "view" && name != "reshape" && name != "_unsafe_view" && name != "view_copy") return;
    const size_t place = of_dim ? 2 : 1;
    if (!inputs_[place].is<std::vector<int64_t>>() || geometries_.empty()) return;
    const std::vector<int64_t> sizes = inputs_[place].to_int_list();
    if (std::count(sizes.begin(), sizes.end(), -1) != 1) return;
    Sym known = 1, all = 1;
    for (const int64_t s : sizes)
      if (s != -1) known = known * env_.lift(s).integer();
    const std::vector<int64_t>& given = geometries_[0].sizes;
    if (of_dim) {
      const auto rank = static_cast<int64_t>(given.size());
      const int64_t d = inputs_[1].to_int();
      if (d < -rank || d >= rank) return;
      all = env_.lift(given[static_cast<size_t>(d < 0 ? d + rank : d)]).integer();
    } else {
      for (const int64_t s : given) all = all * env_.lift(s).integer();
    }
    const auto number = env_.hint(Expr(known)), elements = env_.hint(Expr(all));
    if (!number || !elements || to_double(*number) < 1 || env_.simplify(all).constant()) return;
    if (std::get<int64_t>(*elements) % std::get<int64_t>(*number) != 0) return;  // the operator says what is wrong
    env_.evaluate(Expr::apply(Op::Eq, {Expr(Sym::mod(all, known)), Expr(Sym(0))}));
    number_of(Sym::floordiv(all, known));
    take_new_numbers();
  }

  bool see(int64_t v) {
    if ((v < ShapeEnv::kLeast && v > -ShapeEnv::kLeast) || !env_.is_symbolic(v)) return false;
    if (std::find(seen_.begin(), seen_.end(), v) == seen_.end()) seen_.push_back(v);
    return true;
  }

  void note_results() {
    for (size_t i = below_; i < stack_.size(); i++)
      dispatch::for_each_tensor(stack_[i], [&](const Tensor& t) { env_.made(intrusive_ptr<TensorImpl>::share(t.impl())); });
  }

  // ---- at other points

  int64_t moved(int64_t v, size_t p) const {
    const auto& known = env_.at_points(v)[p];
    CRESSET_CHECK(known, "symbolic shapes: no value at this point");
    return *known;
  }
  std::vector<int64_t> moved(const std::vector<int64_t>& list, size_t p) const {
    std::vector<int64_t> out;
    for (const int64_t v : list) out.push_back(moved(v, p));
    return out;
  }
  Tensor moved_sparse(const Tensor& t, IntArrayRef sizes, size_t p, FakeMode& mode) const {
    const SparseParts& parts = sparse_parts(t);
    auto part = [&](const Tensor& q) { return moved(q, {q.sizes().vec(), q.strides().vec(), q.storage_offset()}, p, mode); };
    if (!parts.plain.defined()) return make_coo(sizes, part(parts.indices), part(parts.values), parts.coalesced);
    return make_compressed(t.layout(), sizes, part(parts.indices), part(parts.plain), part(parts.values));
  }
  Tensor moved(const Tensor& t, const Geometry& g, size_t p, FakeMode& mode) const {
    if (is_sparse(t.layout())) return moved_sparse(t, moved(g.sizes, p), p, mode);
    auto storage = t.has_storage() ? make_intrusive<StorageImpl>(kStorageBytes, t.device(), mode) : intrusive_ptr<StorageImpl>();
    if (storage)
      if (const auto constant = t.impl()->storage()->constant()) storage->set_constant(constant);
    auto impl = make_intrusive<TensorImpl>(std::move(storage), t.scalar_type(), t.device(), t.layout());
    impl->set_backend(t.impl()->backend());
    if (t.layout() == Layout::Strided) impl->set_geometry(moved(g.sizes, p), moved(g.strides, p), moved(g.offset, p));
    impl->set_conj(t.impl()->is_conj());
    impl->set_neg(t.impl()->is_neg());
    impl->set_wrapped_number(t.impl()->is_wrapped_number());
    return Tensor(std::move(impl));
  }
  Value moved(const Value& v, size_t& next, size_t p, FakeMode& mode) const {
    if (v.is<int64_t>()) return moved(v.to_int(), p);
    if (v.is<std::vector<int64_t>>()) return moved(v.to_int_list(), p);
    if (v.is<double>()) {
      const auto value = env_.lift(v.to_double()).evaluate(env_.points_[p]);
      return value ? Value(to_double(*value)) : v;
    }
    return dispatch::map_tensors(v, [&](const Tensor& t) { return moved(t, geometries_[next++], p, mode); });
  }

  // The integers of the results at a point, none where the operator fails there.
  std::optional<std::vector<int64_t>> at_point(size_t p) {
    if (!env_.shadow_) env_.shadow_ = make_intrusive<FakeMode>(true);
    return at_point(p, env_.shadow_.get());
  }
  std::optional<std::vector<int64_t>> at_point(size_t p, FakeMode* mode) {
    if (p == 1) example_error_ = nullptr;
    if (env_.points_.empty()) env_.make_points();
    if (env_.points_[p].empty()) return std::nullopt;
    const FakeModeScope scope(mode);
    const ExcludeLayers below(static_cast<uint8_t>(~kLazyMathLayer));
    const dispatch::ListenScope deaf(dispatch::ListenPlace::below_autograd, nullptr);
    try {
      Stack stack;
      size_t next = 0;
      for (const Value& v : inputs_) stack.push_back(moved(v, next, p, *mode));
      dispatch::call_boxed(op_, stack);
      return integers_of(stack);
    } catch (const UnsupportedFakeTensorError&) { return std::nullopt; } catch (const Error&) {
      if (p == 1) example_error_ = std::current_exception();
      return std::nullopt;
    }
  }
  std::optional<std::vector<int64_t>> at_bindings(const Bindings& b) {
    if (env_.points_.empty()) env_.make_points();
    env_.points_.push_back(b);
    env_.at_points_.clear();
    auto out = at_point(env_.points_.size() - 1);
    env_.points_.pop_back();
    env_.at_points_.clear();
    return out;
  }

  // ---- conditions

  // Reads the arguments anew after the point has moved.
  void renew_inputs() {
    size_t next = 0;
    auto now = [&](int64_t v) {
      const Number n = env_.value(env_.lift(v));
      return std::get<int64_t>(n);
    };
    seen_.clear();
    for (Value& v : inputs_) {
      if (v.is<int64_t>()) v = now(v.to_int());
      if (v.is<std::vector<int64_t>>()) {
        std::vector<int64_t> list = v.to_int_list();
        for (int64_t& i : list) i = now(i);
        v = list;
      }
      dispatch::for_each_tensor(v, [&](const Tensor& t) {
        Geometry& g = geometries_[next++];
        for (int64_t& s : g.sizes) s = now(s);
        for (int64_t& s : g.strides) s = now(s);
        g.offset = now(g.offset);
        if (t.layout() == Layout::Strided && (t.sizes() != IntArrayRef(g.sizes) || t.strides() != IntArrayRef(g.strides)))
          t.impl()->set_geometry(g.sizes, g.strides, g.offset);
        for (const int64_t s : g.sizes) see(s);
      });
    }
  }

  // Numbers that are equal in the example and not at the point: pairs of sizes, and sizes with numbers of the program. Sizes of two tensors in one place
  // come first, those of one tensor last.
  std::vector<Sym> equalities() {
    struct Number {
      int64_t value;
      size_t tensor, place;  // counted from the last dimension
    };
    constexpr size_t kNone = SIZE_MAX;
    std::vector<Number> numbers;
    for (const int64_t v : seen_) numbers.push_back({v, kNone, kNone});
    for (size_t t = 0; t < geometries_.size(); t++)
      for (size_t d = geometries_[t].sizes.size(); d-- > 0;) numbers.push_back({geometries_[t].sizes[d], t, geometries_[t].sizes.size() - d});
    for (const Value& v : inputs_) {
      if (v.is<int64_t>()) numbers.push_back({v.to_int(), kNone, kNone});
      if (v.is<std::vector<int64_t>>())
        for (const int64_t i : v.to_int_list()) numbers.push_back({i, kNone, kNone});
    }
    std::vector<std::pair<int, Sym>> ranked;
    for (size_t i = 0; i < numbers.size(); i++)
      for (size_t j = 0; j < i; j++) {
        const auto &a = env_.at_points(numbers[i].value)[1], &b = env_.at_points(numbers[j].value)[1];
        if (!a || !b || *a != *b) continue;
        const Sym d = env_.lift(numbers[i].value).integer() - env_.lift(numbers[j].value).integer();
        if (d.constant()) continue;
        const bool is_known = numbers[i].tensor != kNone && numbers[j].tensor != kNone;
        const int rank = !is_known ? 2 : numbers[i].tensor == numbers[j].tensor ? 3 : numbers[i].place == numbers[j].place ? 0 : 1;
        const auto same = std::find_if(ranked.begin(), ranked.end(), [&](const auto& r) { return r.second == d || r.second == Sym(0) - d; });
        if (same == ranked.end()) ranked.emplace_back(rank, d);
        else same->first = std::min(same->first, rank);
      }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Sym> out;
    for (auto& r : ranked) out.push_back(std::move(r.second));
    return out;
  }

  // The point with these differences 0; none where that cannot be solved.
  std::optional<Bindings> solved(std::vector<Sym> differences) {
    Bindings b = env_.point_;
    std::vector<std::pair<std::string, Sym>> written;
    for (Sym& d : differences) {
      for (const auto& [name, by] : written) d = d.substitute(name, by);
      if (d.constant()) continue;
      const auto one = env_.solution(d);
      if (!one) return std::nullopt;
      for (auto& w : written) w.second = w.second.substitute(one->first, one->second);
      written.push_back(*one);
    }
    for (const auto& [name, by] : written) {
      const auto v = by.evaluate(b);
      if (!v) return std::nullopt;
      b[name] = *v;
    }
    return env_.fit_facts(b) ? std::optional<Bindings>(b) : std::nullopt;
  }

  bool find_guards() {
    std::vector<Sym> needed = equalities();
    for (const Sym& d : needed)
      if (const auto b = solved({d}); b && at_bindings(*b)) return equal({d});
    if (needed.empty()) return find_divisibility() || specialize_needed();
    constexpr size_t kFew = 12;
    for (size_t i = 1; i < needed.size() && needed.size() <= kFew; i++)
      for (size_t j = 0; j < i; j++)
        if (const auto b = solved({needed[j], needed[i]}); b && at_bindings(*b)) return equal({needed[j], needed[i]});
    // Several at once: all of them, less those that are not needed.
    if (const auto b = solved(needed); b && at_bindings(*b)) {
      for (size_t i = needed.size(); i-- > 0 && needed.size() > 1;) {
        std::vector<Sym> fewer = needed;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (const auto without = solved(fewer); without && at_bindings(*without)) needed = fewer;
      }
      return equal(needed);
    }
    return find_divisibility() || specialize_needed();
  }
  bool equal(const std::vector<Sym>& differences) {
    for (const Sym& d : differences) {
      // Written as the difference was: one side each.
      Sym left, right;
      for (const Sym::Term& t : d.terms()) {
        Sym term = std::abs(t.coefficient);
        for (const Sym::Factor& f : t.factors)
          for (int i = 0; i < f.power; i++) term = term * factor_of(f);
        (t.coefficient > 0 ? left : right) = (t.coefficient > 0 ? left : right) + term;
      }
      // The symbol that goes stands last, as a number does.
      const auto gone = env_.solution(d);
      if (left.constant() || (gone && left.as_symbol() == gone->first && !right.constant())) std::swap(left, right);
      env_.evaluate(Expr::apply(Op::Eq, {left, right}));
    }
    return true;
  }
  static Sym factor_of(const Sym::Factor& f) {
    switch (f.function) {
      case Sym::Function::Symbol: return Sym::symbol(f.name);
      case Sym::Function::FloorDiv: return Sym::floordiv(f.arguments[0], f.arguments[1]);
      case Sym::Function::Mod: return Sym::mod(f.arguments[0], f.arguments[1]);
      case Sym::Function::Max: return Sym::max(f.arguments[0], f.arguments[1]);
      case Sym::Function::Min: return Sym::min(f.arguments[0], f.arguments[1]);
      default: return Sym::function(f.other);
    }
  }

  // A symbol whose remainder by a small number must be that of the example.
  bool find_divisibility() {
    for (const std::string& name : symbols())
      for (int64_t k = 2; k <= 64; k++) {
        if (!env_.hints.count(name)) continue;
        Bindings good = env_.point_, bad = env_.point_;
        const int64_t rest = env_.hints.at(name) % k;
        good[name] += ((rest - good[name]) % k + k) % k;
        bad[name] = good[name] + 1;
        if (!env_.fit_facts(good) || !at_bindings(good) || at_bindings(bad)) continue;
        env_.evaluate(Expr::apply(Op::Eq, {Sym::mod(Sym::symbol(name), k), Sym(rest)}));
        return true;
      }
    return false;
  }
  std::vector<std::string> symbols() {
    std::vector<std::string> out;
    for (const int64_t v : seen_)
      for (const std::string& s : env_.lift(v).symbols())
        if (std::find(out.begin(), out.end(), s) == out.end()) out.push_back(s);
    return out;
  }
  // Those that have a number in the example.
  std::vector<std::string> hinted() {
    std::vector<std::string> names = symbols();
    names.erase(std::remove_if(names.begin(), names.end(), [&](const std::string& s) { return !env_.hints.count(s); }), names.end());
    return names;
  }
  // The symbols that must be the numbers of the example: one that is enough, else all less those that are not needed.
  std::vector<std::string> needed_numbers() {
    std::vector<std::string> names = hinted();
    const auto works = [&](const std::vector<std::string>& fixed) {
      Bindings b = env_.point_;
      for (const std::string& s : fixed) b[s] = env_.hints.at(s);
      return env_.fit_facts(b) && at_bindings(b);
    };
    for (const std::string& s : names)
      if (works({s})) return {s};
    if (!works(names)) return names;
    for (size_t i = names.size(); i-- > 0 && names.size() > 1;) {
      std::vector<std::string> fewer = names;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (works(fewer)) names = fewer;
    }
    return names;
  }
  bool specialize(const std::vector<std::string>& names) {
    for (const std::string& s : names) env_.specialize(Expr(Sym::symbol(s)));
    return !names.empty();
  }
  bool specialize_needed() { return specialize(needed_numbers()); }
  bool specialize_all() { return specialize(hinted()); }

  // ---- results

  // False: sizes of the arguments have become numbers, and the operator is to run again.
  bool learn() {
    const Stack results(stack_.begin() + static_cast<std::ptrdiff_t>(below_), stack_.end());
    const std::vector<int64_t> here = integers_of(results);
    if (here.empty()) return true;
    bool unbacked = false;
    for (const std::string& s : symbols()) unbacked = unbacked || !env_.hints.count(s);
    std::vector<std::optional<std::vector<int64_t>>> seen{here};
    for (size_t p = 1; p < 4; p++) {
      seen.push_back(at_point(p));
      if (p == 1 && !seen[1] && !unbacked && example_error_) std::rethrow_exception(example_error_);
    }
    for (auto& s : seen)
      if (s && s->size() != here.size()) s.reset();
    // It fails beside the point: some size must divide.
    if (!seen[3] && seen[1] && !env_.points_[3].empty() && find_divisibility()) {
      for (size_t p = 1; p < 4; p++) seen[p] = at_point(p);
      for (auto& s : seen)
        if (s && s->size() != here.size()) s.reset();
    }
    for (size_t i = 0; i < here.size(); i++)
      if (!learn_one(here, i, seen)) return false;
    return true;
  }

  bool learn_one(const std::vector<int64_t>& here, size_t i, std::vector<std::optional<std::vector<int64_t>>>& seen) {
    const int64_t v = here[i];
    const auto& known = env_.at_points(v);
    bool fits = true;
    for (size_t p = 1; p < seen.size(); p++) fits = fits && (!seen[p] || known[p] == (*seen[p])[i]);
    if (fits) return true;
    for (size_t p = seen.size(); p < env_.points_.size(); p++) {
      seen.push_back(at_point(p));
      if (seen.back() && seen.back()->size() != here.size()) seen.back().reset();
    }
    Observed observed;
    for (const auto& s : seen) observed.push_back(s ? std::optional<int64_t>((*s)[i]) : std::nullopt);
    const std::vector<Candidate> local = candidates(here, i);
    auto expr = fit(observed, local);
    if (!expr) {
      // Small sizes may be another case.
      observed[2].reset();
      expr = fit(observed, local);
    }
    if (!expr) {
      if (specialize_all()) return false;
      CRESSET_CHECK_NOT_IMPLEMENTED(env_.composite_, "symbolic shapes: ", op_.name,
                                    ": a size of the result is no expression of the sizes of its arguments; it is ", v, " where they are evaluated");
      env_.composite_->redo_ = true;
      return true;
    }
    const Sym s = env_.simplify(*expr);
    if (v >= ShapeEnv::kLeast || v <= -ShapeEnv::kLeast) {
      // Another expression has this value at the point: a maximum of it, say. That it is the same becomes a guard.
      if (const auto other = env_.by_value_.find(v); other != env_.by_value_.end() && env_.simplify(other->second) != s)
        return env_.evaluate(Expr::apply(Op::Eq, {s, env_.simplify(other->second)})) || !specialize_all();
      env_.enter(v, s);
    } else if (!s.constant()) env_.specialize(Expr(s));
    return true;
  }

  // The sizes of the arguments, products of neighbours, and the results' numbers before this one.
  std::vector<Candidate> candidates(const std::vector<int64_t>& here, size_t i) {
    if (env_.points_.empty()) env_.make_points();
    std::vector<Candidate> out;
    auto add = [&](const Sym& s) {
      if (s.constant() || out.size() > 48) return;
      for (const Candidate& c : out)
        if (c.expr == s) return;
      Candidate c{s, {}};
      for (const Bindings& p : env_.points_) {
        const auto v = p.empty() ? std::nullopt : Expr(s).evaluate(p);
        c.values.push_back(v ? std::optional<int64_t>(std::get<int64_t>(*v)) : std::nullopt);
      }
      out.push_back(std::move(c));
    };
    for (const int64_t v : seen_) add(env_.lift(v).integer());
    for (size_t j = 0; j < i; j++)
      if (env_.is_symbolic(here[j])) add(env_.lift(here[j]).integer());
    for (const Geometry& g : geometries_) {
      Sym product = 1;
      for (size_t d = g.sizes.size(); d-- > 0;) add(product = product * env_.lift(g.sizes[d]).integer());
    }
    // Strides of a result are products of its sizes.
    for (size_t first = 0; first < i && here[first] >= 0 && first + static_cast<size_t>(here[first]) < i;) {
      const auto rank = static_cast<size_t>(here[first]);
      Sym product = 1;
      for (size_t d = rank; d > 1; d--) {
        const int64_t size = here[first + d];
        if (env_.is_symbolic(size) || (size > 0 && size < ShapeEnv::kLeast)) add(product = product * env_.lift(size).integer());
      }
      first += 2 * rank + 2;
    }
    // Sums over a list of tensors, as of cat.
    if (geometries_.size() > 1)
      for (size_t d = 0; d < geometries_[0].sizes.size(); d++) {
        Sym sum;
        for (const Geometry& g : geometries_)
          if (d < g.sizes.size()) sum = sum + env_.lift(g.sizes[d]).integer();
        add(sum);
      }
    const size_t singles = std::min<size_t>(seen_.size(), 6);
    for (size_t a = 0; a < singles; a++)
      for (size_t b = 0; b <= a; b++) add(env_.lift(seen_[a]).integer() * env_.lift(seen_[b]).integer());
    return out;
  }

  ShapeEnv& env_;
  const OpEntry& op_;
  Stack& stack_;
  size_t below_;
  Stack inputs_;
  std::vector<Geometry> geometries_;
  std::vector<int64_t> seen_;
  bool symbolic_ = false, redo_ = false, asked_ = false;
  size_t leaf_ = 0;
  std::vector<std::vector<Leaf>> trails_;
  std::exception_ptr example_error_;
};

void ShapeEnv::run(const OpEntry& op, Stack& stack, const std::function<void()>& body) {
  // Its rule has an answer only where the size of the result is given.
  if (std::string_view(op.name) == "repeat_interleave.Tensor" && stack.back().is_none() && run_data_dependent(op, stack)) return;
  OpRun(*this, op, stack).run(body);
}

void ShapeEnv::run_composite(const OpEntry& op, Stack& stack, const std::function<void()>& body) {
  if (std::string_view(op.name) == "_pack_padded_sequence" && run_data_dependent(op, stack)) return;
  OpRun(*this, op, stack).run_composite(body);
}

bool ShapeEnv::run_data_dependent(const OpEntry& op, Stack& stack) {
  if (!options.allow_dynamic_output_shape_ops) return false;
  const std::string_view name = op.name;
  const size_t n = op.function_schema().arguments.size();
  const Value* arguments = stack.data() + (stack.size() - n);
  auto length = [&] { return std::get<int64_t>(value(size_symbol())); };
  auto made = [&](IntArrayRef sizes, ScalarType dtype, const Tensor& like) { return cresset::empty(sizes, TensorOptions(dtype).device(like.device())); };
  Stack results;
  const Tensor self = arguments[0].is_tensor() ? arguments[0].to_tensor() : Tensor();
  if (name == "nonzero") {
    const int64_t u = std::get<int64_t>(value(size_symbol(most_elements(self.sizes()))));
    results.push_back(made({self.dim(), u}, kLong, self).t());
  } else if (name == "masked_select" || name == "_masked_select") {
    const Tensor mask = arguments[1].to_tensor();
    const int64_t most = mask.sizes() == self.sizes() ? most_elements(self.sizes()) : kInfinity;
    results.push_back(made({std::get<int64_t>(value(selected(*mask.impl(), static_cast<int64_t>(mask._version()), most)))}, self.scalar_type(), self));
  } else if (name == "bincount") {
    const Tensor weights = arguments[1].is_tensor() ? arguments[1].to_tensor() : Tensor();
    results.push_back(made({length()}, !weights.defined() ? kLong : weights.scalar_type() == kFloat ? kFloat : kDouble, self));
  } else if (name == "_local_scalar_dense" && composite_ && composite_->takes_numbers() && is_integral_type(self.scalar_type(), false)) {
    results.emplace_back(length());
  } else if (name == "_pack_padded_sequence") {
    std::vector<int64_t> sizes{length()};  // of all sequences together; the longest one's is that of the second result
    sizes.insert(sizes.end(), self.sizes().begin() + 2, self.sizes().end());
    results.push_back(made(sizes, self.scalar_type(), self));
    results.push_back(cresset::empty({length()}, TensorOptions(kLong)));
  } else if (name == "repeat_interleave.Tensor") {
    results.push_back(made({length()}, self.scalar_type(), self));
  } else if (name == "_unique2" || name == "_unique" || name == "unique_consecutive" || name == "unique_dim" || name == "unique_dim_consecutive") {
    const bool along = name == "unique_dim" || name == "unique_dim_consecutive";
    std::optional<int64_t> dim;
    if (along || (name == "unique_consecutive" && n > 3 && !arguments[3].is_none())) dim = arguments[along ? 1 : 3].to_int();
    const int64_t u = length();
    std::vector<int64_t> sizes{u};
    if (dim) sizes = self.sizes().vec(), sizes[static_cast<size_t>(*dim < 0 ? *dim + self.dim() : *dim)] = u;
    results.push_back(made(sizes, self.scalar_type(), self));
    // The kernels leave out places and counts that are not asked for.
    const auto asked = [&](size_t flag) { return n > flag && arguments[flag].to_bool(); };
    const size_t places = name == "unique_consecutive" ? 1 : name == "unique_dim" ? 3 : 2;
    const std::vector<int64_t> all = dim ? std::vector<int64_t>{self.size(*dim)} : self.sizes().vec(), none{0};
    results.push_back(made(asked(places) ? all : none, kLong, self));
    if (name != "_unique") results.push_back(made(asked(places + 1) ? std::vector<int64_t>{u} : none, kLong, self));
  } else {
    return false;
  }
  stack.resize(stack.size() - n);
  stack.insert(stack.end(), results.begin(), results.end());
  return true;
}

std::optional<Sym> ShapeEnv::of_composite(int64_t value) { return composite_ ? composite_->of_next(value) : std::nullopt; }

bool ShapeEnv::reaches(int64_t place, int64_t size) {
  const Expr a = lift(place), b = lift(size);
  if (a.integer() == b.integer()) return true;
  try {
    return !evaluate(Expr::apply(Op::Le, {a, b}));
  } catch (const DataDependentGuardError&) { return false; }
}

// How many a mask selects: the same symbol for the same memory with the same writes.
Expr ShapeEnv::selected(const TensorImpl& mask, int64_t version, int64_t upper) {
  Selected wanted{mask.storage(), {mask.sizes().vec(), mask.strides().vec(), {mask.storage_offset(), version}}, {}};
  for (const Selected& known : selected_)
    if (known.storage == wanted.storage && known.geometry == wanted.geometry) return known.count;
  wanted.count = size_symbol(upper);
  selected_.push_back(wanted);
  return wanted.count;
}

// A size of which nothing is known but that it is at most `upper`.
Expr ShapeEnv::size_symbol(int64_t upper) {
  const Expr s = create_unbacked(Kind::Int);
  constrain(*s.integer().as_symbol(), {0, upper});
  return s;
}

int64_t ShapeEnv::most_elements(IntArrayRef sizes) {
  Sym product = 1;
  for (const int64_t n : sizes) product = product * lift(n).integer();
  return bounds(product, ranges).upper;
}

}  // namespace cresset::graph
