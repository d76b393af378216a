// Machine code of programs of rows. A few rows run side by side: pass after pass along their columns, the folds of each in registers; values of which a
// row has one lie in lanes, a row each, and are computed between passes.

#include <algorithm>
#include <functional>

#include "cresset/graph/codegen/llvm/emitter.h"

namespace cresset::graph::machine {

namespace {

using Values = std::vector<LLVMValueRef>;

class Rows {
 public:
  Rows(const Emitter& emitter, LLVMValueRef function)
      : program_(emitter.program), e_(emitter), by_rows_(emitter.with_lanes(kRowsTogether)), one_(emitter.with_lanes(1)), b_(emitter.b), f_(function) {}

  void run() {
    const size_t num = program_.outputs.size() + program_.inputs.size();
    for (size_t i = 0; i < num; i++) {
      bases_.push_back(LLVMBuildLoad2(b_, e_.pointer(), e_.behind(LLVMGetParam(f_, 0), e_.number(static_cast<int64_t>(i * 8))), ""));
      strides_.push_back(LLVMBuildLoad2(b_, e_.whole(64), e_.behind(LLVMGetParam(f_, 1), e_.number(static_cast<int64_t>(i * 8))), ""));
    }
    even_ = even_nodes(program_);
    make_cells();
    const LLVMValueRef count = LLVMGetParam(f_, 2),
                       blocks = LLVMBuildUDiv(b_, LLVMBuildAdd(b_, count, e_.number(kRowsTogether - 1), ""), e_.number(kRowsTogether), "");
    repeat(blocks, {}, [&](LLVMValueRef block, const Values&) {
      first_ = e_.times(block, kRowsTogether);
      const LLVMValueRef left = LLVMBuildSub(b_, count, first_, "");
      rows_ = LLVMBuildSelect(b_, LLVMBuildICmp(b_, LLVMIntULT, left, e_.number(kRowsTogether), ""), left, e_.number(kRowsTogether), "");
      evens_.assign(program_.nodes.size(), nullptr);
      read_narrow();
      for (pass_ = 0; pass_ < program_.passes.size(); pass_++) emit_pass();
      write_narrow();
      return Values();
    });
    LLVMBuildRetVoid(b_);
  }

 private:
  const Node& node(int i) const { return program_.nodes[static_cast<size_t>(i)]; }
  bool is_even(int i) const { return even_[static_cast<size_t>(i)]; }
  LLVMTypeRef cell_type(Type t) const { return t == Type::Mask ? e_.whole(8) : e_.element(t); }

  // body(index, carried) again and again; returns what it carries in the end. At least once.
  template <class F> Values repeat(LLVMValueRef count, const Values& start, F&& body) const {
    if (LLVMIsAConstantInt(count) && LLVMConstIntGetZExtValue(count) == 1) return body(e_.number(0), start);
    const LLVMBasicBlockRef before = LLVMGetInsertBlock(b_), loop = LLVMAppendBasicBlockInContext(e_.context, f_, ""),
                            done = LLVMAppendBasicBlockInContext(e_.context, f_, "");
    LLVMBuildBr(b_, loop);
    LLVMPositionBuilderAtEnd(b_, loop);
    const LLVMValueRef index = LLVMBuildPhi(b_, e_.whole(64), "");
    Values carried;
    for (const LLVMValueRef v : start) carried.push_back(LLVMBuildPhi(b_, LLVMTypeOf(v), ""));
    const Values next = body(index, carried);
    const LLVMValueRef after = LLVMBuildAdd(b_, index, e_.number(1), "");
    LLVMBasicBlockRef from[] = {before, LLVMGetInsertBlock(b_)};
    LLVMBuildCondBr(b_, LLVMBuildICmp(b_, LLVMIntULT, after, count, ""), loop, done);
    LLVMValueRef indices[] = {e_.number(0), after};
    LLVMAddIncoming(index, indices, from, 2);
    for (size_t i = 0; i < start.size(); i++) {
      LLVMValueRef given[] = {start[i], next[i]};
      LLVMAddIncoming(carried[i], given, from, 2);
    }
    LLVMPositionBuilderAtEnd(b_, done);
    return next;
  }
  Values repeat(int64_t count, const Values& start, const std::function<Values(LLVMValueRef, const Values&)>& body) const {
    return count ? repeat(e_.number(count), start, body) : start;
  }

  // ---- values of which a row has one ------------------------------------------------------------------------------------------

  // Memory for a value of each row.
  void make_cells() {
    cells_.assign(program_.nodes.size(), nullptr);
    for (size_t i = 0; i < program_.nodes.size(); i++) {
      if (!even_[i] || program_.nodes[i].op == Op::Constant) continue;
      const LLVMTypeRef type = LLVMVectorType(cell_type(program_.nodes[i].type), kRowsTogether);
      cells_[i] = LLVMBuildAlloca(b_, type, "");
      LLVMBuildStore(b_, LLVMConstNull(type), cells_[i]);
    }
  }
  LLVMValueRef cell(int i, LLVMValueRef row) const {
    const Type t = node(i).type;
    return e_.behind(cells_[static_cast<size_t>(i)], e_.times(row, t == Type::Mask ? 1 : t == Type::F64 || t == Type::I64 ? 8 : 4));
  }
  void write_cell(int i, LLVMValueRef row, LLVMValueRef scalar) const {
    if (node(i).type == Type::Mask) scalar = LLVMBuildZExt(b_, scalar, e_.whole(8), "");
    LLVMBuildStore(b_, scalar, cell(i, row));
  }
  LLVMValueRef read_cell(int i, LLVMValueRef row) const {
    const Type t = node(i).type;
    const LLVMValueRef v = LLVMBuildLoad2(b_, cell_type(t), cell(i, row), "");
    return t == Type::Mask ? LLVMBuildICmp(b_, LLVMIntNE, v, LLVMConstInt(e_.whole(8), 0, 0), "") : v;
  }
  static LLVMValueRef scalar_of(const Emitter& e, LLVMValueRef v, unsigned lane = 0) {
    return LLVMBuildExtractElement(e.b, v, LLVMConstInt(e.whole(32), lane, 0), "");
  }

  void each_row(const std::function<void(LLVMValueRef)>& body) const {
    repeat(rows_, {}, [&](LLVMValueRef row, const Values&) {
      body(row);
      return Values();
    });
  }
  LLVMValueRef row_of(size_t array, LLVMValueRef row) const {
    return e_.behind(bases_[array], LLVMBuildMul(b_, LLVMBuildAdd(b_, first_, row, ""), strides_[array], ""));
  }

  void read_narrow() {
    each_row([&](LLVMValueRef row) {
      for (size_t i = 0; i < program_.nodes.size(); i++)
        if (const Node& n = program_.nodes[i]; n.op == Op::Input && even_[i])
          write_cell(static_cast<int>(i), row, scalar_of(e_, one_.load(program_.inputs[n.immediate], row_of(program_.outputs.size() + n.immediate, row), 1)));
    });
  }
  void write_narrow() {
    std::vector<size_t> narrow;
    for (size_t k = 0; k < program_.outputs.size(); k++)
      if (program_.outputs[k].one) narrow.push_back(k);
    if (narrow.empty()) return;
    for (const size_t k : narrow) make_even(program_.results[k]);
    each_row([&](LLVMValueRef row) {
      for (const size_t k : narrow) {
        const int result = program_.results[k];
        const LLVMValueRef v = node(result).op == Op::Constant ? one_.node(node(result), {}, {}) : one_.repeated(read_cell(result, row));
        one_.store(program_.outputs[k].dtype, v, row_of(k, row), 1);
      }
    });
  }

  // Computes a value for all rows, and leaves it in its cell.
  LLVMValueRef make_even(int i) {
    LLVMValueRef& known = evens_[static_cast<size_t>(i)];
    if (known) return known;
    const Node& n = node(i);
    if (n.op == Op::Input || n.op == Op::Reduce) {
      const LLVMValueRef v = LLVMBuildLoad2(b_, LLVMVectorType(cell_type(n.type), kRowsTogether), cells_[static_cast<size_t>(i)], "");
      return known = n.type == Type::Mask ? LLVMBuildICmp(b_, LLVMIntNE, v, by_rows_.splat(e_.whole(8), 0), "") : v;
    }
    for (const int k : {n.a, n.b, n.c})
      if (k >= 0) make_even(k);
    known = by_rows_.node(n, evens_, {});
    if (n.op == Op::Constant) return known;
    const LLVMValueRef v = n.type == Type::Mask ? LLVMBuildZExt(b_, known, by_rows_.vector(e_.whole(8)), "") : known;
    LLVMBuildStore(b_, v, cells_[static_cast<size_t>(i)]);
    return known;
  }

  // ---- passes -----------------------------------------------------------------------------------------------------------------

  bool is_last() const { return pass_ + 1 == program_.passes.size(); }
  const Pass& pass() const { return program_.passes[pass_]; }
  // Where a value lies that an earlier pass has kept, or -1.
  int64_t kept_before(int i) const {
    int64_t slot = 0;
    for (size_t p = 0; p < pass_; p++)
      for (const int k : program_.passes[p].kept) {
        if (k == i) return slot;
        slot++;
      }
    return -1;
  }
  std::vector<int> roots() const {
    std::vector<int> found = pass().kept;
    for (const int f : pass().folds) found.push_back(node(f).a);
    if (is_last())
      for (size_t k = 0; k < program_.outputs.size(); k++)
        if (!program_.outputs[k].one) found.push_back(program_.results[k]);
    return found;
  }

  void emit_pass() {
    const std::vector<int> wanted = roots();
    if (wanted.empty()) return;
    needed_.assign(program_.nodes.size(), false);
    for (const int r : wanted) needed_[static_cast<size_t>(r)] = true;
    for (size_t i = program_.nodes.size(); i-- > 0;) {
      if (!needed_[i] || even_[i] || kept_before(static_cast<int>(i)) >= 0) continue;
      for (const int k : {program_.nodes[i].a, program_.nodes[i].b, program_.nodes[i].c})
        if (k >= 0) needed_[static_cast<size_t>(k)] = true;
    }
    // Constants that only values of a row read are not needed for columns.
    for (size_t i = 0; i < program_.nodes.size(); i++)
      if (needed_[i] && even_[i]) make_even(static_cast<int>(i));
    const bool folds = !pass().folds.empty(), ordered = folds && fold_of(pass().folds[0]) == Fold::OrderedSum;
    if (folds) {
      const bool wide = node(pass().folds[0]).type == Type::F64;
      const unsigned vector = program_.isa == Isa::Avx512 ? 64 : 32;
      e_.lanes = (ordered ? 128 : 2 * vector) / (wide ? 8 : 4);
    } else {
      e_.lanes = lanes_;
    }
    each_row([&](LLVMValueRef row) {
      start_row(row);
      if (!folds) return walk();
      const Values found = ordered ? ordered_sums() : trees();
      for (size_t k = 0; k < found.size(); k++) write_cell(pass().folds[k], row, found[k]);
    });
  }

  void start_row(LLVMValueRef row) {
    row_ = row;
    splats_.assign(program_.nodes.size(), nullptr);
    for (size_t i = 0; i < program_.nodes.size(); i++) {
      if (!needed_[i] || !even_[i]) continue;
      const Node& n = program_.nodes[i];
      splats_[i] = n.op == Op::Constant ? e_.node(n, {}, {}) : e_.repeated(read_cell(static_cast<int>(i), row));
    }
    pointers_.assign(bases_.size(), nullptr);
    for (size_t i = 0; i < bases_.size(); i++) pointers_[i] = row_of(i, row);
    memory_ = e_.behind(LLVMGetParam(f_, 3), e_.times(row, num_kept(program_) * kept_bytes(program_)));
  }

  LLVMValueRef kept_place(int64_t slot, Type t, LLVMValueRef column) const {
    const int64_t size = t == Type::Mask ? 1 : t == Type::F64 || t == Type::I64 ? 8 : 4;
    return e_.behind(memory_, LLVMBuildAdd(b_, e_.times(column, size), e_.number(slot * kept_bytes(program_)), ""));
  }
  LLVMValueRef read_kept(int64_t slot, Type t, LLVMValueRef column) const {
    const LLVMValueRef v = LLVMBuildLoad2(b_, e_.vector(cell_type(t)), kept_place(slot, t, column), "");
    LLVMSetAlignment(v, 1);
    return t == Type::Mask ? LLVMBuildICmp(b_, LLVMIntNE, v, e_.splat(e_.whole(8), 0), "") : v;
  }

  // The values of the columns from `column` on, of which there are `count`. Stores what the pass stores.
  Values columns(LLVMValueRef column, unsigned count) const {
    const size_t num_outputs = program_.outputs.size();
    const auto place = [&](size_t array, ScalarType t) { return e_.behind(pointers_[array], e_.times(column, static_cast<int64_t>(element_size(t)))); };
    Values values = splats_, inputs(program_.inputs.size());
    for (size_t i = 0; i < program_.nodes.size(); i++) {
      if (!needed_[i] || even_[i]) continue;
      const Node& n = program_.nodes[i];
      if (const int64_t slot = kept_before(static_cast<int>(i)); slot >= 0) {
        values[i] = read_kept(slot, n.type, column);
        continue;
      }
      if (n.op == Op::Input) {
        const Array& from = program_.inputs[n.immediate];
        const LLVMValueRef p = place(num_outputs + n.immediate, from.dtype);
        inputs[n.immediate] = e_.load(from, p, count);
      }
      values[i] = e_.node(n, values, inputs);
    }
    if (count == e_.lanes) fetch(column);
    int64_t slot = 0;
    for (size_t p = 0; p < pass_; p++) slot += static_cast<int64_t>(program_.passes[p].kept.size());
    for (const int k : pass().kept) {
      const Type t = node(k).type;
      LLVMValueRef v = values[static_cast<size_t>(k)];
      if (t == Type::Mask) v = LLVMBuildZExt(b_, v, e_.vector(e_.whole(8)), "");
      LLVMSetAlignment(LLVMBuildStore(b_, v, kept_place(slot++, t, column)), 1);
    }
    if (is_last())
      for (size_t k = 0; k < num_outputs; k++)
        if (!program_.outputs[k].one)
          e_.store(program_.outputs[k].dtype, values[static_cast<size_t>(program_.results[k])], place(k, program_.outputs[k].dtype), count);
    return values;
  }
  // Has these columns of the next rows brought into the second-level cache, each pass a part of them: memory is busy all the time so.
  void fetch(LLVMValueRef column) const {
    const auto flag = [&](uint64_t n) { return LLVMConstInt(e_.whole(32), n, 0); };
    for (size_t i = 0; i < program_.inputs.size(); i++) {
      const Array& from = program_.inputs[i];
      if (from.one || from.shared) continue;
      const auto size = static_cast<int64_t>(element_size(from.dtype));
      const size_t array = program_.outputs.size() + i;
      const LLVMValueRef next = e_.behind(e_.behind(pointers_[array], e_.times(strides_[array], kRowsTogether)), e_.times(column, size));
      for (int64_t line = 0; line * 64 < e_.lanes * size; line++)
        if (line % static_cast<int64_t>(program_.passes.size()) == static_cast<int64_t>(pass_))
          e_.call("llvm.prefetch", {e_.pointer()}, {e_.behind(next, e_.number(line * 64)), flag(0), flag(2), flag(1)});
    }
  }

  LLVMValueRef column(LLVMValueRef first, LLVMValueRef chunk) const { return LLVMBuildAdd(b_, first, e_.times(chunk, e_.lanes), ""); }

  void walk() const {
    const int64_t full = program_.columns / e_.lanes, rest = program_.columns % e_.lanes;
    repeat(full, {}, [&](LLVMValueRef chunk, const Values&) {
      columns(column(e_.number(0), chunk), e_.lanes);
      return Values();
    });
    if (rest) columns(e_.number(full * e_.lanes), static_cast<unsigned>(rest));
  }

  // ---- folds ------------------------------------------------------------------------------------------------------------------

  Fold fold_of(int i) const { return static_cast<Fold>(node(i).immediate); }
  LLVMTypeRef fold_type() const { return e_.element(node(pass().folds[0]).type); }

  // Of the pass's fold k, on vectors of any width.
  LLVMValueRef combined(size_t k, LLVMValueRef a, LLVMValueRef v) const {
    switch (fold_of(pass().folds[k])) {
      case Fold::Prod: return LLVMBuildFMul(b_, a, v, "");
      case Fold::Max:
      case Fold::Min: {
        // A NaN wins; of equal ones, the first.
        const LLVMRealPredicate beyond = fold_of(pass().folds[k]) == Fold::Max ? LLVMRealOGT : LLVMRealOLT;
        return LLVMBuildSelect(b_, LLVMBuildFCmp(b_, LLVMRealUNO, v, v, ""), v, LLVMBuildSelect(b_, LLVMBuildFCmp(b_, beyond, v, a, ""), v, a, ""), "");
      }
      default: return LLVMBuildFAdd(b_, a, v, "");
    }
  }
  LLVMValueRef identity(size_t k) const {
    const Fold fold = fold_of(pass().folds[k]);
    const double infinity = std::numeric_limits<double>::infinity();
    return LLVMConstReal(fold_type(), fold == Fold::Prod ? 1 : fold == Fold::Max ? -infinity : fold == Fold::Min ? infinity : 0);
  }
  Values identities(unsigned lanes) const {
    Values all;
    for (size_t k = 0; k < pass().folds.size(); k++) all.push_back(e_.with_lanes(lanes).splat(identity(k)));
    return all;
  }
  Values combined(const Values& a, const Values& v) const {
    Values all;
    for (size_t k = 0; k < a.size(); k++) all.push_back(combined(k, a[k], v[k]));
    return all;
  }
  // The values that the folds take in, of these columns.
  Values folded(LLVMValueRef column, unsigned count) const {
    const Values values = columns(column, count);
    Values found;
    for (const int f : pass().folds) found.push_back(values[static_cast<size_t>(node(f).a)]);
    return found;
  }
  Values parts(const Values& v, unsigned first, unsigned count) const {
    Values all;
    for (const LLVMValueRef one : v) all.push_back(e_.part(one, first, count));
    return all;
  }
  Values lane(const Values& v, unsigned i) const {
    Values all;
    for (const LLVMValueRef one : v) all.push_back(scalar_of(e_, one, i));
    return all;
  }
  Values scalars() const {
    Values all;
    for (size_t k = 0; k < pass().folds.size(); k++) all.push_back(identity(k));
    return all;
  }

  // The order of OrderedSum (kernels/reduce/cpu/reduce_sum.cpp): a step takes four rows of 32 bytes, and sums begin anew after 16 and 256 steps.
  Values chain(LLVMValueRef first, int64_t steps) const {
    return repeat(steps, identities(e_.lanes), [&](LLVMValueRef step, const Values& sums) { return combined(sums, folded(column(first, step), e_.lanes)); });
  }
  Values cascade(LLVMValueRef first, int64_t steps) const {
    constexpr int64_t kLong = 16, kLonger = 256;
    if (steps <= kLong) return chain(first, steps);
    const int64_t block = steps > kLonger ? kLonger : kLong, blocks = steps / block, rest = steps % block;
    const Values sums = repeat(blocks, identities(e_.lanes), [&](LLVMValueRef at, const Values& before) {
      return combined(before, cascade(LLVMBuildAdd(b_, first, e_.times(at, block * e_.lanes), ""), block));
    });
    return rest ? combined(cascade(LLVMBuildAdd(b_, first, e_.number(blocks * block * e_.lanes), ""), rest), sums) : sums;
  }
  Values ordered_sums() const {
    const unsigned width = e_.lanes / 4;
    const int64_t steps = program_.columns / e_.lanes;
    const auto rest = static_cast<unsigned>(program_.columns % e_.lanes);
    const Values sums = cascade(e_.number(0), steps);
    Values row = parts(sums, 0, width), last, total = scalars();
    if (rest) last = folded(e_.number(steps * e_.lanes), rest);
    for (unsigned i = 0; i < rest / width; i++) row = combined(row, parts(last, i * width, width));
    for (unsigned i = 1; i < 4; i++) row = combined(row, parts(sums, i * width, width));
    for (unsigned i = rest / width * width; i < rest; i++) total = combined(total, lane(last, i));
    for (unsigned i = 0; i < width; i++) total = combined(total, lane(row, i));
    return total;
  }

  // The order of Reducer (kernels/reduce/cpu/reduce_loops.h), whose vectors are half as wide as ours.
  Values halves(const Values& total, const Values& v) const {
    const unsigned width = e_.lanes / 2;
    return combined(combined(total, parts(v, 0, width)), parts(v, width, width));
  }
  Values lanes_folded(Values v) const {
    for (unsigned half = e_.lanes / 4; half > 0; half /= 2) v = combined(parts(v, 0, half), parts(v, half, half));
    return lane(v, 0);
  }
  Values short_tree() const {
    const unsigned width = e_.lanes / 2;
    const int64_t full = program_.columns / e_.lanes;
    const auto rest = static_cast<unsigned>(program_.columns % e_.lanes);
    Values total = repeat(full, identities(width),
                          [&](LLVMValueRef chunk, const Values& before) { return halves(before, folded(column(e_.number(0), chunk), e_.lanes)); });
    if (!rest) return lanes_folded(total);
    const Values last = folded(e_.number(full * e_.lanes), rest);
    for (unsigned first = 0; first < rest; first += width) {
      const Values part = parts(last, first, width);
      const unsigned count = std::min(rest - first, width);
      Values filled;
      for (size_t k = 0; k < part.size(); k++) {
        std::vector<LLVMValueRef> numbers;
        for (unsigned i = 0; i < width; i++) numbers.push_back(LLVMConstInt(e_.whole(32), i < count ? i : width, 0));
        filled.push_back(LLVMBuildShuffleVector(b_, part[k], e_.with_lanes(width).splat(identity(k)), LLVMConstVector(numbers.data(), width), ""));
      }
      total = combined(total, filled);
    }
    return lanes_folded(total);
  }
  // Chains of `chunks` vectors side by side, `steps` long, joined: (a0 + a4) + (a2 + a6) + ((a1 + a5) + (a3 + a7)) of eight, (a0 + a1) + (a2 + a3) of four.
  Values side_by_side(LLVMValueRef first, int64_t chunks, int64_t steps) const {
    const unsigned width = e_.lanes / 2;
    const size_t folds = pass().folds.size();
    Values start;
    for (int64_t c = 0; c < chunks; c++)
      for (const LLVMValueRef v : identities(e_.lanes)) start.push_back(v);
    const Values ends = repeat(steps, start, [&](LLVMValueRef step, const Values& before) {
      Values next;
      for (int64_t c = 0; c < chunks; c++) {
        const LLVMValueRef at = LLVMBuildAdd(b_, column(first, e_.times(step, chunks)), e_.number(c * e_.lanes), "");
        const Values mine(before.begin() + c * static_cast<int64_t>(folds), before.begin() + (c + 1) * static_cast<int64_t>(folds));
        for (const LLVMValueRef v : combined(mine, folded(at, e_.lanes))) next.push_back(v);
      }
      return next;
    });
    const auto a = [&](int64_t i) {
      const Values chunk(ends.begin() + i / 2 * static_cast<int64_t>(folds), ends.begin() + (i / 2 + 1) * static_cast<int64_t>(folds));
      return parts(chunk, static_cast<unsigned>(i % 2) * width, width);
    };
    if (chunks == 2) return combined(combined(a(0), a(1)), combined(a(2), a(3)));
    const auto pair = [&](int64_t u) { return combined(combined(a(u), a(u + 4)), combined(a(u + 2), a(u + 6))); };
    return combined(pair(0), pair(1));
  }
  Values trees() const {
    constexpr int64_t kDown = 16;
    const unsigned width = e_.lanes / 2;
    const int64_t n = program_.columns, block = 8 * kDown * width;
    if (n <= 8 * width) return short_tree();
    Values total = repeat(n / block, identities(width),
                          [&](LLVMValueRef at, const Values& before) { return combined(before, side_by_side(e_.times(at, block), 4, kDown)); });
    int64_t done = n / block * block;
    if (const int64_t steps = (n - done) / (4 * width); steps) {
      total = combined(total, side_by_side(e_.number(done), 2, steps));
      done += steps * 4 * width;
    }
    Values tail = scalars();
    for (; done < n; done += e_.lanes) {
      const auto count = static_cast<unsigned>(std::min<int64_t>(n - done, e_.lanes));
      const Values v = folded(e_.number(done), count);
      for (unsigned first = 0; first + width <= count; first += width) total = combined(total, parts(v, first, width));
      for (unsigned i = count / width * width; i < count; i++) tail = combined(tail, lane(v, i));
    }
    return combined(lanes_folded(total), tail);
  }

  const Program& program_;
  Emitter e_;  // of the columns that a step takes
  const Emitter by_rows_, one_;
  const unsigned lanes_ = e_.lanes;  // where there are no folds
  const LLVMBuilderRef b_;
  const LLVMValueRef f_;
  Values bases_, strides_, cells_;
  std::vector<bool> even_, needed_;
  LLVMValueRef first_ = nullptr, rows_ = nullptr, row_ = nullptr, memory_ = nullptr;
  Values evens_, splats_, pointers_;
  size_t pass_ = 0;
};

}  // namespace

void emit_rows(const Emitter& emitter, LLVMValueRef function) { Rows(emitter, function).run(); }

}  // namespace cresset::graph::machine
