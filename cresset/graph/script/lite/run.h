#pragma once
// Functions of bytecode that run. Private to the folder.

#include "cresset/dispatch/op.h"
#include "cresset/graph/script/lite/bytecode.h"

namespace cresset::graph::script {

struct LiteInstruction {
  Code code;
  int64_t x, n;
};

// An operator as a function names it.
class LiteOperator {
 public:
  // `given`: how many arguments calls give; -1: all, or as many as the instruction says. `version`: of the archive.
  LiteOperator(const std::string& name, const std::string& overload, int64_t given, int64_t version);
  bool exists() const { return unpacks_ || !candidates_.empty() || plain_ || library_; }
  std::string text() const { return overload_.empty() ? name_ : name_ + "." + overload_; }
  int64_t given() const { return given_; }
  // Takes the arguments from the stack, `count` of them where it is not -1. Errors: those of the operator; too few values.
  void call(dispatch::Stack& stack, int64_t count) const;

 private:
  // False: the operator means what it means today.
  bool call_older(dispatch::Stack& stack, int64_t count) const;
  void call_operator(const Candidate& candidate, dispatch::Stack& stack, std::vector<Datum> arguments) const;
  void call_builtin(const Builtin& builtin, const Schema* schema, dispatch::Stack& stack, const std::vector<Datum>& arguments) const;

  std::string name_, overload_;
  int64_t given_;
  bool unpacks_;                       // a tuple, into as many values as it has
  std::vector<Candidate> candidates_;  // those of the name; the first where `exact_`
  bool exact_ = false;
  const Builtin* plain_ = nullptr;                  // one without a schema
  Function *library_ = nullptr, *older_ = nullptr;  // a text; what the operator meant when the file was written
};

struct LiteFunction {
  std::string name;
  std::vector<LiteInstruction> instructions;
  std::vector<LiteOperator> operators;
  std::vector<Datum> constants;
  std::vector<Type> types;
  size_t registers = 0;

  // Errors: the instructions name operators, constants, types, registers or instructions that are not there.
  void check() const;
  // Errors: those of what it calls; limits; a stack that lacks values.
  Datum run(std::vector<Datum> arguments, const Limits& limits) const;
};

}  // namespace cresset::graph::script
