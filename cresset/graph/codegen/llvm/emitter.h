#pragma once
// Nodes of programs as instructions of LLVM, on vectors of so many lanes.

#include <llvm-c/Core.h>

#include "cresset/graph/codegen/machine/program.h"

namespace cresset::graph::machine {

struct Emitter {
  const Program& program;
  unsigned lanes;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef b;

  Emitter with_lanes(unsigned n) const { return {program, n, context, module, b}; }

  LLVMTypeRef i1() const { return LLVMInt1TypeInContext(context); }
  LLVMTypeRef whole(unsigned bits) const { return LLVMIntTypeInContext(context, bits); }
  LLVMTypeRef pointer() const { return LLVMPointerTypeInContext(context, 0); }
  LLVMTypeRef vector(LLVMTypeRef element) const { return LLVMVectorType(element, lanes); }
  LLVMTypeRef element(Type t) const;
  LLVMValueRef number(int64_t n) const { return LLVMConstInt(whole(64), static_cast<uint64_t>(n), 1); }
  LLVMValueRef splat(LLVMValueRef constant) const {
    std::vector<LLVMValueRef> all(lanes, constant);
    return LLVMConstVector(all.data(), lanes);
  }
  LLVMValueRef splat(LLVMTypeRef type, uint64_t n) const { return splat(LLVMConstInt(type, n, 0)); }
  // All lanes have a value that is known when the code runs.
  LLVMValueRef repeated(LLVMValueRef scalar) const;
  // Lanes [first, first + count) of a vector; those beyond its end are of no value.
  LLVMValueRef part(LLVMValueRef v, unsigned first, unsigned count) const;
  // p + bytes
  LLVMValueRef behind(LLVMValueRef p, LLVMValueRef bytes) const { return LLVMBuildGEP2(b, whole(8), p, &bytes, 1, ""); }
  LLVMValueRef times(LLVMValueRef n, int64_t by) const { return LLVMBuildMul(b, n, number(by), ""); }

  LLVMValueRef call(const char* name, std::vector<LLVMTypeRef> types, std::vector<LLVMValueRef> args) const;
  LLVMValueRef intrinsic(const char* name, std::vector<LLVMValueRef> args) const {
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    return call(name, {type}, std::move(args));
  }

  // Of the first `count` lanes, which are in memory. A single element is read for all lanes.
  LLVMValueRef load(const Array& array, LLVMValueRef p, unsigned count) const;
  void store(ScalarType t, LLVMValueRef v, LLVMValueRef p, unsigned count) const;
  // The value of a node whose operands have theirs.
  LLVMValueRef node(const Node& n, const std::vector<LLVMValueRef>& values, const std::vector<LLVMValueRef>& inputs) const;

 private:
  LLVMValueRef by_registers(Type t, const char* name, const std::vector<LLVMValueRef>& args) const;
  LLVMValueRef bfloat_bits(LLVMValueRef x) const;
  LLVMValueRef first_lanes(unsigned count) const;
};

// Adds the function `run` of a program of rows: a RowCode.
void emit_rows(const Emitter& emitter, LLVMValueRef function);

}  // namespace cresset::graph::machine
