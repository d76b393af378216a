#pragma once
// The symbols of one program: their hints, ranges, equalities and divisibility, the guards under which a trace holds, and the point at which fake
// tensors are evaluated (docs/records/0018-symbolic-shapes.md).

#include <set>
#include <unordered_map>

#include "cresset/base/error.h"
#include "cresset/core/fake_mode.h"
#include "cresset/graph/symbolic/ranges.h"

namespace cresset::graph {

struct Guard {
  Expr expr;
  std::string place;  // the user's line, "file.py:12 in f"
};

class CRESSET_API ShapeEnv final : public SymbolicShapes {
 public:
  struct Options {
    bool allow_scalar_outputs = true, allow_dynamic_output_shape_ops = true;
    bool duck_shape = true, specialize_zero_one = true;
    bool prefer_deferred_asserts = false;
  };
  explicit ShapeEnv(Options options) : options(options) {}

  // ---- symbols
  // A symbol for a number that is `hint` in the example. `duck`: the same symbol for an equal hint, where the options say so.
  // 0 and 1 are the numbers themselves where the options say so and not `dynamic`. `name` empty: the next of s0, s1, ...
  Sym create_symbol(int64_t hint, const std::string& source, bool duck, bool dynamic, Range range, const std::string& name = "");
  // u0, u1, ... (zuf0 for floats).
  Expr create_unbacked(Kind kind);
  // u0 that is a size: at least 0.
  Expr size_symbol(int64_t upper = kInfinity);
  // The largest number of elements that sizes may have.
  int64_t most_elements(IntArrayRef sizes);
  // How many symbols of one tensor there will be at most: their values at the point keep products within 64 bits.
  void expect_rank(size_t rank);
  void constrain(const std::string& name, Range range);

  // ---- knowledge
  Sym simplify(const Sym& s) const;
  Expr simplify(const Expr& e) const;
  // The answer that holds for all values, without a guard.
  std::optional<bool> statically(const Expr& e) const;
  // Whether it holds in the example; recorded as a guard. Errors: DataDependentGuardError.
  bool evaluate(const Expr& e);
  // The number in the example; recorded as a guard. Errors: DataDependentGuardError.
  Number specialize(const Expr& e);
  // Takes it for true from now on: a guard, or, of unbacked symbols, an assertion for run time. Errors: it is false in the example.
  void expect(const Expr& e, const std::string& message);
  std::optional<Number> hint(const Expr& e) const;
  bool is_unbacked(const Expr& e) const;

  // ---- the point
  // The number that stands for the expression in the sizes of fake tensors.
  Number value(const Expr& e);
  // The expression that an integer or float met within a trace stands for; itself where it is a plain number.
  Expr lift(int64_t value);
  Expr lift(double value);
  bool is_symbolic(int64_t value);
  // Integers of the program itself are none of ours.
  void note_constant(int64_t value) {
    if (value >= kLeast || value <= -kLeast) constants_.insert(value);
  }
  void made(const intrusive_ptr<TensorImpl>& fake) override;
  void run(const dispatch::OpEntry& op, std::vector<dispatch::Value>& stack, const std::function<void()>& body) override;
  void run_composite(const dispatch::OpEntry& op, std::vector<dispatch::Value>& stack, const std::function<void()>& body) override;
  bool run_data_dependent(const dispatch::OpEntry& op, std::vector<dispatch::Value>& stack) override;
  bool reaches(int64_t place, int64_t size) override;

  // Values below this are plain numbers, always.
  static constexpr int64_t kLeast = 200;

  Options options;
  std::vector<Guard> guards, deferred;
  Ranges ranges;
  Bindings hints;
  std::map<std::string, std::string, std::less<>> sources;  // of each symbol, the first place it was seen
  std::map<std::string, std::string, std::less<>> origins;  // of each symbol that only the data tells, the user's line that took it from a tensor
  std::map<std::string, Sym, std::less<>> replacements;
  std::vector<std::string> order;  // of symbols as they were made
  bool frozen = false, suppressed = false;
  std::function<std::string(bool quoted)> place;  // tells the user's line, "file.py:12 in f", with its text where it is quoted

 private:
  friend class OpRun;
  std::set<int64_t> bases_;
  struct Divisible {
    Sym dividend;
    int64_t divisor, remainder;
  };
  std::string new_name(const char* prefix, int& next);
  int64_t new_base(int64_t hint);
  void assume(const Expr& e);
  void assume_relation(Op op, const Sym& a, const Sym& b);
  void assume_nonnegative(const Sym& s);
  bool unify(const Sym& difference);
  // One symbol of `difference` = 0 by the others.
  std::optional<std::pair<std::string, Sym>> solution(const Sym& difference) const;
  void replace(const std::string& name, const Sym& by);
  Expr selected(const TensorImpl& mask, int64_t version, int64_t upper);
  // Moves the point to where every equality and divisibility holds, and live tensors with it.
  void settle();
  bool fit_facts(Bindings& point) const;
  void refresh();
  void enter(int64_t value, const Sym& s);
  bool is_same(const Expr& e, const Expr& other);
  std::optional<Sym> searched(int64_t value, bool quotients) const;
  std::optional<Expr> searched(double value) const;
  std::optional<Sym> product_of(int64_t number) const;
  Expr lift(int64_t value, bool quotients);
  std::optional<Sym> of_composite(int64_t value);
  [[noreturn]] void throw_data_dependent(const Expr& e, const char* what) const;
  std::string here(bool quoted = false) const { return place ? place(quoted) : ""; }
  // Those of the symbols that only the data tells, and where they were taken from it: "u0 (taken at file.py:12 in f)".
  std::string described(const std::vector<std::string>& symbols) const;
  const std::vector<std::optional<int64_t>>& at_points(int64_t value);
  void make_points();

  std::map<int64_t, Sym> duck_;
  std::vector<Sym> nonnegative_;
  std::vector<Divisible> divisible_;
  std::set<std::string> truths_;  // other relations that hold, by text
  int next_symbol_ = 0, next_unbacked_ = 0, next_float_ = 0;

  Bindings point_;
  size_t rank_ = 1;
  std::unordered_map<int64_t, Sym> by_value_;
  std::unordered_map<int64_t, Expr> by_double_;  // bits
  std::set<int64_t> constants_;
  std::vector<Bindings> points_;
  std::unordered_map<int64_t, std::vector<std::optional<int64_t>>> at_points_;
  std::vector<weak_intrusive_ptr<TensorImpl>> live_;
  size_t live_limit_ = 256;
  bool stale_ = false, moved_ = false;
  struct Selected {
    intrusive_ptr<StorageImpl> storage;
    std::vector<std::vector<int64_t>> geometry;  // with the offset and the version
    Expr count{int64_t{0}};
  };
  std::vector<Selected> selected_;
  class OpRun* composite_ = nullptr;  // the outermost one that runs
  int64_t runs_ = 0;                  // of operators
  intrusive_ptr<FakeMode> shadow_;
};

}  // namespace cresset::graph
