#include "cresset/graph/codegen/llvm/emitter.h"

namespace cresset::graph::machine {

LLVMTypeRef Emitter::element(Type t) const {
  switch (t) {
    case Type::Mask: return i1();
    case Type::F32: return LLVMFloatTypeInContext(context);
    case Type::F64: return LLVMDoubleTypeInContext(context);
    case Type::I32: return whole(32);
    default: return whole(64);
  }
}

static unsigned bits(Type t) { return t == Type::Mask ? 1 : t == Type::F32 || t == Type::I32 ? 32 : 64; }

LLVMValueRef Emitter::repeated(LLVMValueRef scalar) const {
  const LLVMTypeRef type = vector(LLVMTypeOf(scalar));
  const LLVMValueRef first = LLVMBuildInsertElement(b, LLVMGetPoison(type), scalar, LLVMConstInt(whole(32), 0, 0), "");
  return LLVMBuildShuffleVector(b, first, LLVMGetPoison(type), splat(whole(32), 0), "");
}

LLVMValueRef Emitter::part(LLVMValueRef v, unsigned first, unsigned count) const {
  const unsigned size = LLVMGetVectorSize(LLVMTypeOf(v));
  if (first == 0 && count == size) return v;
  std::vector<LLVMValueRef> numbers;
  for (unsigned i = first; i < first + count; i++) numbers.push_back(i < size ? LLVMConstInt(whole(32), i, 0) : LLVMGetPoison(whole(32)));
  return LLVMBuildShuffleVector(b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(numbers.data(), count), "");
}

LLVMValueRef Emitter::call(const char* name, std::vector<LLVMTypeRef> types, std::vector<LLVMValueRef> args) const {
  const unsigned id = LLVMLookupIntrinsicID(name, std::char_traits<char>::length(name));
  const LLVMValueRef function = LLVMGetIntrinsicDeclaration(module, id, types.data(), types.size());
  return LLVMBuildCall2(b, LLVMIntrinsicGetType(context, id, types.data(), types.size()), function, args.data(), static_cast<unsigned>(args.size()), "");
}

// An instruction of AVX-512 on one register after the other.
LLVMValueRef Emitter::by_registers(Type t, const char* name, const std::vector<LLVMValueRef>& args) const {
  const unsigned width = t == Type::F32 ? 16 : 8;
  const std::string full = std::string("llvm.x86.avx512.mask.") + name + (t == Type::F32 ? ".ps.512" : ".pd.512");
  const LLVMValueRef all = LLVMConstAllOnes(whole(width)), as_set = LLVMConstInt(whole(32), 4, 0);
  LLVMValueRef joined = nullptr;
  for (unsigned first = 0; first < lanes; first += width) {
    std::vector<LLVMValueRef> given;
    for (const LLVMValueRef v : args) given.push_back(part(v, first, width));
    given.insert(given.end(), {LLVMConstNull(LLVMVectorType(element(t), width)), all, as_set});
    const LLVMValueRef found = call(full.c_str(), {}, given);
    if (!joined) {
      joined = found;
      continue;
    }
    const LLVMValueRef before = part(joined, 0, first + width), behind = part(found, 0, first + width);
    std::vector<LLVMValueRef> numbers;
    for (unsigned i = 0; i < first; i++) numbers.push_back(LLVMConstInt(whole(32), i, 0));
    for (unsigned i = 0; i < width; i++) numbers.push_back(LLVMConstInt(whole(32), first + width + i, 0));
    joined = LLVMBuildShuffleVector(b, before, behind, LLVMConstVector(numbers.data(), first + width), "");
  }
  return part(joined, 0, lanes);
}

// The bits of a bfloat16 nearest to floats, in the high halves of words; every NaN is the positive quiet one.
LLVMValueRef Emitter::bfloat_bits(LLVMValueRef x) const {
  const LLVMTypeRef word = whole(32);
  const LLVMValueRef raw = LLVMBuildBitCast(b, x, vector(word), "");
  const LLVMValueRef last = LLVMBuildAnd(b, LLVMBuildLShr(b, raw, splat(word, 16), ""), splat(word, 1), "");
  const LLVMValueRef sum = LLVMBuildAdd(b, LLVMBuildAdd(b, raw, splat(word, 0x7fff), ""), last, "");
  const LLVMValueRef kept = LLVMBuildAnd(b, sum, splat(word, 0xffff0000u), "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""), splat(word, 0x7fc00000u), kept, "");
}

LLVMValueRef Emitter::first_lanes(unsigned count) const {
  std::vector<LLVMValueRef> set;
  for (unsigned i = 0; i < lanes; i++) set.push_back(LLVMConstInt(i1(), i < count, 0));
  return LLVMConstVector(set.data(), lanes);
}

LLVMValueRef Emitter::load(const Array& array, LLVMValueRef p, unsigned count) const {
  const ScalarType t = array.dtype;
  const LLVMTypeRef stored = t == ScalarType::Double  ? element(Type::F64)
                             : t == ScalarType::Float ? element(Type::F32)
                             : t == ScalarType::Bool  ? whole(8)
                                                      : whole(16);
  const auto alignment = static_cast<unsigned>(element_size(t));
  LLVMValueRef v;
  if (array.one || count == lanes) {
    v = LLVMBuildLoad2(b, array.one ? stored : vector(stored), p, "");
    LLVMSetAlignment(v, alignment);
    if (array.one) v = repeated(v);
  } else {
    v = call("llvm.masked.load", {vector(stored), pointer()}, {p, LLVMConstInt(whole(32), alignment, 0), first_lanes(count), LLVMConstNull(vector(stored))});
  }
  if (t == ScalarType::Half) return LLVMBuildFPExt(b, LLVMBuildBitCast(b, v, vector(LLVMHalfTypeInContext(context)), ""), vector(element(Type::F32)), "");
  if (t == ScalarType::Bool) return LLVMBuildICmp(b, LLVMIntNE, v, splat(whole(8), 0), "");
  if (t != ScalarType::BFloat16) return v;
  const LLVMValueRef wide = LLVMBuildShl(b, LLVMBuildZExt(b, v, vector(whole(32)), ""), splat(whole(32), 16), "");
  return LLVMBuildBitCast(b, wide, vector(element(Type::F32)), "");
}

void Emitter::store(ScalarType t, LLVMValueRef v, LLVMValueRef p, unsigned count) const {
  const auto alignment = static_cast<unsigned>(element_size(t));
  if (t == ScalarType::Half) v = LLVMBuildBitCast(b, LLVMBuildFPTrunc(b, v, vector(LLVMHalfTypeInContext(context)), ""), vector(whole(16)), "");
  if (t == ScalarType::Bool) v = LLVMBuildZExt(b, v, vector(whole(8)), "");
  if (t == ScalarType::BFloat16) v = LLVMBuildTrunc(b, LLVMBuildLShr(b, bfloat_bits(v), splat(whole(32), 16), ""), vector(whole(16)), "");
  if (count < lanes) call("llvm.masked.store", {LLVMTypeOf(v), pointer()}, {v, p, LLVMConstInt(whole(32), alignment, 0), first_lanes(count)});
  else LLVMSetAlignment(LLVMBuildStore(b, v, p), alignment);
}

LLVMValueRef Emitter::node(const Node& n, const std::vector<LLVMValueRef>& values, const std::vector<LLVMValueRef>& inputs) const {
  const auto v = [&](int i) { return values[static_cast<size_t>(i)]; };
  const LLVMTypeRef type = vector(element(n.type));
  const auto by = [&] { return splat(element(n.type), n.immediate); };
  switch (n.op) {
    case Op::Input: return inputs[n.immediate];
    case Op::Constant: return LLVMConstBitCast(splat(whole(bits(n.type)), n.immediate), type);
    case Op::Add: return LLVMBuildFAdd(b, v(n.a), v(n.b), "");
    case Op::Sub: return LLVMBuildFSub(b, v(n.a), v(n.b), "");
    case Op::Mul: return LLVMBuildFMul(b, v(n.a), v(n.b), "");
    case Op::Div: return LLVMBuildFDiv(b, v(n.a), v(n.b), "");
    case Op::Neg: return LLVMBuildFNeg(b, v(n.a), "");
    case Op::Fma: return intrinsic("llvm.fma", {v(n.a), v(n.b), v(n.c)});
    case Op::Sqrt: return intrinsic("llvm.sqrt", {v(n.a)});
    case Op::Abs: return intrinsic("llvm.fabs", {v(n.a)});
    case Op::CopySign: return intrinsic("llvm.copysign", {v(n.a), v(n.b)});
    case Op::Floor: return intrinsic("llvm.floor", {v(n.a)});
    case Op::Ceil: return intrinsic("llvm.ceil", {v(n.a)});
    case Op::Trunc: return intrinsic("llvm.trunc", {v(n.a)});
    case Op::Round:
      if (n.immediate == 0) return intrinsic("llvm.roundeven", {v(n.a)});
      if (n.immediate == 1 + static_cast<uint64_t>(ScalarType::BFloat16)) return LLVMBuildBitCast(b, bfloat_bits(v(n.a)), type, "");
      return LLVMBuildFPExt(b, LLVMBuildFPTrunc(b, v(n.a), vector(LLVMHalfTypeInContext(context)), ""), type, "");
    case Op::Less: return LLVMBuildFCmp(b, LLVMRealOLT, v(n.a), v(n.b), "");
    case Op::LessEqual: return LLVMBuildFCmp(b, LLVMRealOLE, v(n.a), v(n.b), "");
    case Op::Equal: return LLVMBuildFCmp(b, LLVMRealOEQ, v(n.a), v(n.b), "");
    case Op::NotEqual: return LLVMBuildFCmp(b, LLVMRealUNE, v(n.a), v(n.b), "");
    case Op::And: return LLVMBuildAnd(b, v(n.a), v(n.b), "");
    case Op::Or: return LLVMBuildOr(b, v(n.a), v(n.b), "");
    case Op::Xor: return LLVMBuildXor(b, v(n.a), v(n.b), "");
    case Op::Select: return LLVMBuildSelect(b, v(n.a), v(n.b), v(n.c), "");
    case Op::ShiftLeft: return LLVMBuildShl(b, v(n.a), by(), "");
    case Op::ShiftRight: return LLVMBuildLShr(b, v(n.a), by(), "");
    case Op::ShiftSigned: return LLVMBuildAShr(b, v(n.a), by(), "");
    case Op::AddBits: return LLVMBuildAdd(b, v(n.a), v(n.b), "");
    case Op::SubBits: return LLVMBuildSub(b, v(n.a), v(n.b), "");
    case Op::AsBits:
    case Op::AsFloat: return LLVMBuildBitCast(b, v(n.a), type, "");
    case Op::FromBits: return LLVMBuildSIToFP(b, v(n.a), type, "");
    case Op::Scale: return by_registers(n.type, "scalef", {v(n.a), v(n.b)});
    case Op::Exponent: return by_registers(n.type, "getexp", {v(n.a)});
    case Op::Reduce: break;
  }
  return nullptr;
}

}  // namespace cresset::graph::machine
