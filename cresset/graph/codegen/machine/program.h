#pragma once
// Programs for each element of arrays: operations on single lanes, in the order in which the library's expressions do them.

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
  Exponent   // floor(log2(|a|)) as a float
};
enum class Type : uint8_t { Mask, F32, F64, I32, I64 };

struct Node {
  Op op;
  Type type;
  int a = -1, b = -1, c = -1;
  uint64_t immediate = 0;
  bool operator<(const Node& o) const { return std::tie(op, type, a, b, c, immediate) < std::tie(o.op, o.type, o.a, o.b, o.c, o.immediate); }
};

// An array: where `one`, a single element that all lanes read.
struct Array {
  ScalarType dtype;
  bool one = false;
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

// A provider of machine code exports this as `cresset_machine_code`. It gives an object file in ELF, for a CPU by its name (null: this one), whose function `run`
// is a Code. `lanes` elements make a vector. False with a message where it cannot.
using Generate = bool (*)(const Program& program, int lanes, const char* cpu, std::string& object, std::string& message);

}  // namespace cresset::graph::machine
