// Machine code by LLVM: a loop over vectors, whose body is the program.

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include <cstdlib>
#include <memory>

#include "cresset/graph/codegen/machine/program.h"

namespace cresset::graph::machine {

namespace {

template <auto release> struct Release {
  template <class T> void operator()(T* p) const { release(p); }
};
template <class T, auto release> using Held = std::unique_ptr<std::remove_pointer_t<T>, Release<release>>;

struct Emitter {
  const Program& program;
  unsigned lanes;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef b;

  LLVMTypeRef i1() const { return LLVMInt1TypeInContext(context); }
  LLVMTypeRef whole(unsigned bits) const { return LLVMIntTypeInContext(context, bits); }
  LLVMTypeRef pointer() const { return LLVMPointerTypeInContext(context, 0); }
  LLVMTypeRef vector(LLVMTypeRef element) const { return LLVMVectorType(element, lanes); }
  LLVMTypeRef element(Type t) const {
    switch (t) {
      case Type::Mask: return i1();
      case Type::F32: return LLVMFloatTypeInContext(context);
      case Type::F64: return LLVMDoubleTypeInContext(context);
      case Type::I32: return whole(32);
      default: return whole(64);
    }
  }
  static unsigned bits(Type t) { return t == Type::Mask ? 1 : t == Type::F32 || t == Type::I32 ? 32 : 64; }
  LLVMValueRef splat(LLVMValueRef constant) const {
    std::vector<LLVMValueRef> all(lanes, constant);
    return LLVMConstVector(all.data(), lanes);
  }
  LLVMValueRef splat(LLVMTypeRef type, uint64_t n) const { return splat(LLVMConstInt(type, n, 0)); }

  LLVMValueRef intrinsic(const char* name, std::vector<LLVMValueRef> args) const {
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    const unsigned id = LLVMLookupIntrinsicID(name, std::char_traits<char>::length(name));
    const LLVMValueRef function = LLVMGetIntrinsicDeclaration(module, id, &type, 1);
    return LLVMBuildCall2(b, LLVMIntrinsicGetType(context, id, &type, 1), function, args.data(), static_cast<unsigned>(args.size()), "");
  }

  // An instruction of AVX-512 on one register after the other.
  LLVMValueRef by_registers(Type t, const char* name, const std::vector<LLVMValueRef>& args) const {
    const unsigned width = t == Type::F32 ? 16 : 8;
    const std::string full = std::string("llvm.x86.avx512.mask.") + name + (t == Type::F32 ? ".ps.512" : ".pd.512");
    const unsigned id = LLVMLookupIntrinsicID(full.c_str(), full.size());
    const LLVMValueRef function = LLVMGetIntrinsicDeclaration(module, id, nullptr, 0);
    const LLVMTypeRef signature = LLVMIntrinsicGetType(context, id, nullptr, 0), part = LLVMVectorType(element(t), width);
    const LLVMValueRef all = LLVMConstAllOnes(whole(width)), as_set = LLVMConstInt(whole(32), 4, 0);
    const auto lanes_from = [&](unsigned first, unsigned count) {
      std::vector<LLVMValueRef> numbers;
      for (unsigned i = 0; i < count; i++) numbers.push_back(LLVMConstInt(whole(32), first + i, 0));
      return LLVMConstVector(numbers.data(), count);
    };
    std::vector<LLVMValueRef> parts;
    for (unsigned first = 0; first < lanes; first += width) {
      std::vector<LLVMValueRef> given;
      for (const LLVMValueRef v : args) given.push_back(LLVMBuildShuffleVector(b, v, LLVMGetPoison(LLVMTypeOf(v)), lanes_from(first, width), ""));
      given.insert(given.end(), {LLVMConstNull(part), all, as_set});
      parts.push_back(LLVMBuildCall2(b, signature, function, given.data(), static_cast<unsigned>(given.size()), ""));
    }
    return parts.size() == 1 ? parts[0] : LLVMBuildShuffleVector(b, parts[0], parts[1], lanes_from(0, lanes), "");
  }

  // The bits of a bfloat16 nearest to floats, in the high halves of words; every NaN is the positive quiet one.
  LLVMValueRef bfloat_bits(LLVMValueRef x) const {
    const LLVMTypeRef word = whole(32);
    const LLVMValueRef raw = LLVMBuildBitCast(b, x, vector(word), "");
    const LLVMValueRef last = LLVMBuildAnd(b, LLVMBuildLShr(b, raw, splat(word, 16), ""), splat(word, 1), "");
    const LLVMValueRef sum = LLVMBuildAdd(b, LLVMBuildAdd(b, raw, splat(word, 0x7fff), ""), last, "");
    const LLVMValueRef kept = LLVMBuildAnd(b, sum, splat(word, 0xffff0000u), "");
    return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""), splat(word, 0x7fc00000u), kept, "");
  }

  LLVMValueRef load(const Array& array, LLVMValueRef p) const {
    const ScalarType t = array.dtype;
    const LLVMTypeRef stored = t == ScalarType::Double     ? element(Type::F64)
                               : t == ScalarType::Float    ? element(Type::F32)
                               : t == ScalarType::BFloat16 ? whole(16)
                               : t == ScalarType::Half     ? LLVMHalfTypeInContext(context)
                                                           : whole(8);
    LLVMValueRef v = LLVMBuildLoad2(b, array.one ? stored : vector(stored), p, "");
    LLVMSetAlignment(v, static_cast<unsigned>(element_size(t)));
    if (array.one) {
      const LLVMValueRef first = LLVMBuildInsertElement(b, LLVMGetPoison(vector(stored)), v, LLVMConstInt(whole(32), 0, 0), "");
      v = LLVMBuildShuffleVector(b, first, LLVMGetPoison(vector(stored)), splat(whole(32), 0), "");
    }
    if (t == ScalarType::Half) return LLVMBuildFPExt(b, v, vector(element(Type::F32)), "");
    if (t == ScalarType::Bool) return LLVMBuildICmp(b, LLVMIntNE, v, splat(whole(8), 0), "");
    if (t != ScalarType::BFloat16) return v;
    const LLVMValueRef wide = LLVMBuildShl(b, LLVMBuildZExt(b, v, vector(whole(32)), ""), splat(whole(32), 16), "");
    return LLVMBuildBitCast(b, wide, vector(element(Type::F32)), "");
  }

  void store(ScalarType t, LLVMValueRef v, LLVMValueRef p) const {
    if (t == ScalarType::Half) v = LLVMBuildFPTrunc(b, v, vector(LLVMHalfTypeInContext(context)), "");
    if (t == ScalarType::Bool) v = LLVMBuildZExt(b, v, vector(whole(8)), "");
    if (t == ScalarType::BFloat16) v = LLVMBuildTrunc(b, LLVMBuildLShr(b, bfloat_bits(v), splat(whole(32), 16), ""), vector(whole(16)), "");
    LLVMSetAlignment(LLVMBuildStore(b, v, p), static_cast<unsigned>(element_size(t)));
  }

  LLVMValueRef node(const Node& n, const std::vector<LLVMValueRef>& values, const std::vector<LLVMValueRef>& inputs) const {
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
    }
    return nullptr;
  }

  // void run(char* const* arrays, int64_t count)
  void function() const {
    const LLVMTypeRef word = whole(64);
    LLVMTypeRef params[] = {pointer(), word};
    const LLVMValueRef f = LLVMAddFunction(module, "run", LLVMFunctionType(LLVMVoidTypeInContext(context), params, 2, 0));
    const unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    const auto at_function = static_cast<LLVMAttributeIndex>(LLVMAttributeFunctionIndex);
    LLVMAddAttributeAtIndex(f, at_function, LLVMCreateEnumAttribute(context, nounwind, 0));
    if (program.isa == Isa::Avx512) LLVMAddAttributeAtIndex(f, at_function, LLVMCreateStringAttribute(context, "prefer-vector-width", 19, "512", 3));
    const LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(context, f, ""), loop = LLVMAppendBasicBlockInContext(context, f, ""),
                            done = LLVMAppendBasicBlockInContext(context, f, "");
    LLVMPositionBuilderAtEnd(b, entry);
    const size_t num_outputs = program.outputs.size(), num = num_outputs + program.inputs.size();
    std::vector<LLVMValueRef> arrays(num), inputs(program.inputs.size());
    for (size_t i = 0; i < num; i++) {
      LLVMValueRef index = LLVMConstInt(word, i, 0);
      arrays[i] = LLVMBuildLoad2(b, pointer(), LLVMBuildGEP2(b, pointer(), LLVMGetParam(f, 0), &index, 1, ""), "");
    }
    for (size_t i = 0; i < inputs.size(); i++)
      if (program.inputs[i].one) inputs[i] = load(program.inputs[i], arrays[num_outputs + i]);
    LLVMBuildBr(b, loop);

    LLVMPositionBuilderAtEnd(b, loop);
    const LLVMValueRef at = LLVMBuildPhi(b, word, "");
    const auto place = [&](size_t i, ScalarType t) {
      LLVMValueRef offset = LLVMBuildMul(b, at, LLVMConstInt(word, lanes * element_size(t), 0), "");
      return LLVMBuildGEP2(b, whole(8), arrays[i], &offset, 1, "");
    };
    for (size_t i = 0; i < inputs.size(); i++)
      if (!program.inputs[i].one) inputs[i] = load(program.inputs[i], place(num_outputs + i, program.inputs[i].dtype));
    std::vector<bool> needed(program.nodes.size());
    for (const int r : program.results) needed[static_cast<size_t>(r)] = true;
    for (size_t i = program.nodes.size(); i-- > 0;)
      if (needed[i])
        for (const int k : {program.nodes[i].a, program.nodes[i].b, program.nodes[i].c})
          if (k >= 0) needed[static_cast<size_t>(k)] = true;
    std::vector<LLVMValueRef> values(program.nodes.size());
    for (size_t i = 0; i < program.nodes.size(); i++)
      if (needed[i]) values[i] = node(program.nodes[i], values, inputs);
    for (size_t i = 0; i < num_outputs; i++)
      store(program.outputs[i].dtype, values[static_cast<size_t>(program.results[i])], place(i, program.outputs[i].dtype));
    LLVMValueRef next = LLVMBuildAdd(b, at, LLVMConstInt(word, 1, 0), ""), zero = LLVMConstInt(word, 0, 0);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, LLVMGetParam(f, 1), ""), loop, done);
    LLVMBasicBlockRef starts[] = {entry, loop};
    LLVMValueRef indices[] = {zero, next};
    LLVMAddIncoming(at, indices, starts, 2);

    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildRetVoid(b);
  }
};

// The set which the program is written for, with the scheduling of a CPU.
LLVMTargetMachineRef machine(Isa isa, const char* name, std::string& message) {
  static const bool ready = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  LLVMTargetRef target = nullptr;
  char* error = nullptr;
  if (!ready || LLVMGetTargetFromTriple("x86_64-unknown-linux-gnu", &target, &error)) {
    message = error ? error : "no target";
    LLVMDisposeMessage(error);
    return nullptr;
  }
  char* const cpu = LLVMGetHostCPUName();
  const std::string features = std::string("+avx2,+fma,+f16c,+bmi,+bmi2,") + (isa == Isa::Avx512 ? "+avx512f,+avx512bw,+avx512dq,+avx512vl" : "-avx512f");
  const LLVMTargetMachineRef made = LLVMCreateTargetMachine(target, "x86_64-unknown-linux-gnu", name ? name : cpu, features.c_str(), LLVMCodeGenLevelDefault,
                                                            LLVMRelocPIC, LLVMCodeModelSmall);
  LLVMDisposeMessage(cpu);
  return made;
}

}  // namespace

extern "C" CRESSET_API bool cresset_machine_code(const Program& program, int lanes, const char* cpu, std::string& object, std::string& message) {
  const Held<LLVMContextRef, LLVMContextDispose> context(LLVMContextCreate());
  const Held<LLVMModuleRef, LLVMDisposeModule> module(LLVMModuleCreateWithNameInContext("program", context.get()));
  const Held<LLVMBuilderRef, LLVMDisposeBuilder> builder(LLVMCreateBuilderInContext(context.get()));
  const Held<LLVMTargetMachineRef, LLVMDisposeTargetMachine> target(machine(program.isa, cpu, message));
  if (!target) return false;
  LLVMSetTarget(module.get(), "x86_64-unknown-linux-gnu");
  const Held<LLVMTargetDataRef, LLVMDisposeTargetData> layout(LLVMCreateTargetDataLayout(target.get()));
  LLVMSetModuleDataLayout(module.get(), layout.get());
  Emitter{program, static_cast<unsigned>(lanes), context.get(), module.get(), builder.get()}.function();
  char* error = nullptr;
  LLVMMemoryBufferRef buffer = nullptr;
  if (std::getenv("CRESSET_SHOW_CODE")) LLVMDumpModule(module.get());
  if (LLVMVerifyModule(module.get(), LLVMReturnStatusAction, &error) || (LLVMDisposeMessage(error), error = nullptr, false) ||
      LLVMTargetMachineEmitToMemoryBuffer(target.get(), module.get(), LLVMObjectFile, &error, &buffer)) {
    message = error ? error : "no code";
    LLVMDisposeMessage(error);
    return false;
  }
  object.assign(LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
  LLVMDisposeMemoryBuffer(buffer);
  return true;
}

}  // namespace cresset::graph::machine
