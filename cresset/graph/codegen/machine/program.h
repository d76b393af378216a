#pragma once
// Programs for each element of arrays: operations on single lanes, in the order in which the library's expressions do them. Those of rows have reductions
// between them, and values of which a row has one.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cresset/base/dtype.h"
#include "cresset/base/error.h"

namespace cresset::graph::machine {

enum class Op : uint8_t {
  Input,     // number `immediate` of the program's inputs, widened
  Constant,  // bits `immediate`
  Add,
  Sub,
  Mul,
  Div,
  Neg,
  Fma,
  Sqrt,
  Abs,
  CopySign,
  Floor,
  Ceil,
  Trunc,
  Round,  // half to even
  Less,   // false for a NaN, as are the next two
  LessEqual,
  Equal,
  NotEqual,  // true for a NaN
  And,       // of masks or bits, as are the next two
  Or,
  Xor,
  Select,       // of a mask and two values
  ShiftLeft,    // of bits, by `immediate`, as are the next two
  ShiftRight,   // from zeros
  ShiftSigned,  // from the sign
  AddBits,
  SubBits,
  AsBits,    // the bits of a float
  AsFloat,   // the float of these bits
  FromBits,  // the float nearest to an integer
  Scale,     // a 2^b, rounded once; of AVX-512, as is the next
  Exponent,  // floor(log2(|a|)) as a float
  Reduce     // of a row's values, as the fold `immediate` has them
};
// Reductions of a row, each with the order, and so the bits, of the library's kernel on dense rows: OrderedSum is that of float and double, Sum of half types.
enum class Fold : uint8_t { OrderedSum, Sum, Prod, Max, Min };
enum class Type : uint8_t { Mask, F32, F64, I32, I64 };

struct Node {
  Op op;
  Type type;
  int a = -1, b = -1, c = -1;
  uint64_t immediate = 0;
  bool operator<(const Node& o) const { return std::tie(op, type, a, b, c, immediate) < std::tie(o.op, o.type, o.a, o.b, o.c, o.immediate); }
};

// An array: where `one`, a single element that all lanes read, of a row in programs of rows. All rows read a `shared` one.
struct Array {
  ScalarType dtype;
  bool one = false, shared = false;
};

// One walk along the columns of a row: folds that it computes, of one kind and type, and values that it keeps in memory for later ones. The last has no
// folds and stores the results.
struct Pass {
  std::vector<int> folds, kept;
};

// Whose registers and primitives a program is written for: those of the library's loops, which it has the bits of.
enum class Isa : uint8_t { Avx2, Avx512 };

class Program {
 public:
  // The number of the node; equal ones are one.
  int add(Node node) {
    const auto [at, added] = known_.emplace(node, static_cast<int>(nodes.size()));
    if (added) nodes.push_back(node);
    return at->second;
  }
  // Forgets the nodes and inputs after so many.
  void shrink(size_t num_nodes, size_t num_inputs) {
    for (; nodes.size() > num_nodes; nodes.pop_back()) known_.erase(nodes.back());
    inputs.resize(num_inputs);
  }
  Type type(int node) const { return nodes[static_cast<size_t>(node)].type; }
  // All that decides about the code, as bytes.
  std::string key() const;

  Isa isa = Isa::Avx2;
  std::vector<Node> nodes;
  std::vector<Array> inputs, outputs;
  std::vector<int> results;  // the node of each output
  // Of programs of rows, which have as many passes as `plan_rows` makes; else 0.
  int64_t columns = 0;
  std::vector<Pass> passes;

 private:
  std::map<Node, int> known_;
};

// The dtypes that machine code loads and stores.
inline bool is_known(ScalarType t) {
  return t == ScalarType::Float || t == ScalarType::Double || t == ScalarType::BFloat16 || t == ScalarType::Half || t == ScalarType::Bool;
}
// The type of a value of this dtype: half types compute in single precision.
inline Type type_of(ScalarType t) { return t == ScalarType::Double ? Type::F64 : t == ScalarType::Bool ? Type::Mask : Type::F32; }

// Rows of `count` vectors: outputs first, then inputs. All arrays are dense but for those of one element.
using Code = void (*)(char* const* arrays, int64_t count);
// Of a program of rows: `count` of them, `strides` bytes apart. `memory` is for what is kept between passes.
using RowCode = void (*)(char* const* arrays, const int64_t* strides, int64_t count, char* memory);

// Rows that run side by side: what they have one of lies in lanes, and the walks along one go on while the next begins.
constexpr int kRowsTogether = 2;
// Bytes of a value that is kept, for each row.
inline int64_t kept_bytes(const Program& program) { return (program.columns * 8 + 63) / 64 * 64 + 64; }
inline int64_t num_kept(const Program& program) {
  int64_t count = 0;
  for (const Pass& pass : program.passes) count += static_cast<int64_t>(pass.kept.size());
  return count;
}
// Of each node, whether all columns of a row have the same value.
inline std::vector<bool> even_nodes(const Program& program) {
  std::vector<bool> even;
  for (const Node& n : program.nodes) {
    bool all = n.op == Op::Input ? program.inputs[n.immediate].one : true;
    if (n.op != Op::Reduce)
      for (const int k : {n.a, n.b, n.c}) all = all && (k < 0 || even[static_cast<size_t>(k)]);
    even.push_back(all);
  }
  return even;
}

// A provider of machine code exports this as `cresset_machine_code`. It gives an object file in ELF, for a CPU by its name (null: this one), whose function `run`
// is a Code. `lanes` elements make a vector. False with a message where it cannot.
using Generate = bool (*)(const Program& program, int lanes, const char* cpu, std::string& object, std::string& message);

}  // namespace cresset::graph::machine
