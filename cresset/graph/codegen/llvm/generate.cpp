// Machine code by LLVM: a loop over vectors, whose body is the program, or the passes along rows.

#include <llvm-c/Analysis.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include <cstdlib>
#include <memory>

#include "cresset/graph/codegen/llvm/emitter.h"

namespace cresset::graph::machine {

namespace {

template <auto release> struct Release {
  template <class T> void operator()(T* p) const { release(p); }
};
template <class T, auto release> using Held = std::unique_ptr<std::remove_pointer_t<T>, Release<release>>;

// The function `run`, without a body.
LLVMValueRef declared(const Emitter& e, std::vector<LLVMTypeRef> params) {
  const LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e.context), params.data(), static_cast<unsigned>(params.size()), 0);
  const LLVMValueRef f = LLVMAddFunction(e.module, "run", type);
  const unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
  const auto at_function = static_cast<LLVMAttributeIndex>(LLVMAttributeFunctionIndex);
  LLVMAddAttributeAtIndex(f, at_function, LLVMCreateEnumAttribute(e.context, nounwind, 0));
  if (e.program.isa == Isa::Avx512) LLVMAddAttributeAtIndex(f, at_function, LLVMCreateStringAttribute(e.context, "prefer-vector-width", 19, "512", 3));
  LLVMPositionBuilderAtEnd(e.b, LLVMAppendBasicBlockInContext(e.context, f, ""));
  return f;
}

// A Code: one loop over all vectors.
void emit_elements(const Emitter& e) {
  const Program& program = e.program;
  const LLVMBuilderRef b = e.b;
  const LLVMValueRef f = declared(e, {e.pointer(), e.whole(64)});
  const LLVMBasicBlockRef entry = LLVMGetInsertBlock(b), loop = LLVMAppendBasicBlockInContext(e.context, f, ""),
                          done = LLVMAppendBasicBlockInContext(e.context, f, "");
  const size_t num_outputs = program.outputs.size(), num = num_outputs + program.inputs.size();
  std::vector<LLVMValueRef> arrays(num), inputs(program.inputs.size());
  for (size_t i = 0; i < num; i++)
    arrays[i] = LLVMBuildLoad2(b, e.pointer(), e.behind(LLVMGetParam(f, 0), e.number(static_cast<int64_t>(i * sizeof(void*)))), "");
  for (size_t i = 0; i < inputs.size(); i++)
    if (program.inputs[i].one) inputs[i] = e.load(program.inputs[i], arrays[num_outputs + i], e.lanes);
  LLVMBuildBr(b, loop);

  LLVMPositionBuilderAtEnd(b, loop);
  const LLVMValueRef at = LLVMBuildPhi(b, e.whole(64), "");
  const auto place = [&](size_t i, ScalarType t) { return e.behind(arrays[i], e.times(at, static_cast<int64_t>(e.lanes * element_size(t)))); };
  for (size_t i = 0; i < inputs.size(); i++)
    if (!program.inputs[i].one) inputs[i] = e.load(program.inputs[i], place(num_outputs + i, program.inputs[i].dtype), e.lanes);
  std::vector<bool> needed(program.nodes.size());
  for (const int r : program.results) needed[static_cast<size_t>(r)] = true;
  for (size_t i = program.nodes.size(); i-- > 0;)
    if (needed[i])
      for (const int k : {program.nodes[i].a, program.nodes[i].b, program.nodes[i].c})
        if (k >= 0) needed[static_cast<size_t>(k)] = true;
  std::vector<LLVMValueRef> values(program.nodes.size());
  for (size_t i = 0; i < program.nodes.size(); i++)
    if (needed[i]) values[i] = e.node(program.nodes[i], values, inputs);
  for (size_t i = 0; i < num_outputs; i++)
    e.store(program.outputs[i].dtype, values[static_cast<size_t>(program.results[i])], place(i, program.outputs[i].dtype), e.lanes);
  LLVMValueRef next = LLVMBuildAdd(b, at, e.number(1), ""), zero = e.number(0);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, LLVMGetParam(f, 1), ""), loop, done);
  LLVMBasicBlockRef starts[] = {entry, loop};
  LLVMValueRef indices[] = {zero, next};
  LLVMAddIncoming(at, indices, starts, 2);

  LLVMPositionBuilderAtEnd(b, done);
  LLVMBuildRetVoid(b);
}

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
  const Emitter emitter{program, static_cast<unsigned>(lanes), context.get(), module.get(), builder.get()};
  if (program.columns) emit_rows(emitter, declared(emitter, {emitter.pointer(), emitter.pointer(), emitter.whole(64), emitter.pointer()}));
  else emit_elements(emitter);
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
