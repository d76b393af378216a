#pragma once
// Bytecode as files have it. Private to the folder.
//
// A function is a list of instructions, each of a name and two numbers, over a stack and registers that are numbered from 1:
//   OP i, OPN i n        operator i of its table, which takes its arguments from the stack (n of them) and leaves its results there
//   LOADC i              constant i
//   LOAD r, MOVE r, STORE r, STOREN r n, DROP, DROPR r
//   JF d, JMP d          to the instruction d further on; JF where the value on top is false
//   LOOP d n             over (trip, trips, go on, carried...), which are n + 1 values: begins the next trip with (trip, carried...) on top of the first two,
//                        or leaves the carried ones and goes d further on
//   RET                  the value on top is the result
//   GET_ATTR i, SET_ATTR i               attribute i of the object
//   LIST_CONSTRUCT t n, DICT_CONSTRUCT t n, NAMED_TUPLE_CONSTRUCT t n, TUPLE_CONSTRUCT n    of n values, of type t
//   LIST_UNPACK n, TUPLE_SLICE a b
//   ISINSTANCE t n       one of the n types from t on
//   INTERFACE_CALL i n   the method whose name is constant i, with n arguments, the object among them
// and short instructions, which stand for operators.

#include <string_view>
#include <vector>

#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

// The version that is written, and the oldest and newest that are read.
inline constexpr int64_t kLiteVersion = 8, kOldestLiteVersion = 3;

enum class Code : uint8_t {
  Op,
  OpN,
  Load,
  Move,
  Store,
  StoreN,
  Drop,
  DropR,
  LoadC,
  JumpIfNot,
  Jump,
  Loop,
  Return,
  GetAttr,
  SetAttr,
  ListConstruct,
  TupleConstruct,
  NamedTupleConstruct,
  DictConstruct,
  ListUnpack,
  TupleSlice,
  IsInstance,
  InterfaceCall,
};
inline constexpr const char* kCodeNames[] = {"OP",
                                             "OPN",
                                             "LOAD",
                                             "MOVE",
                                             "STORE",
                                             "STOREN",
                                             "DROP",
                                             "DROPR",
                                             "LOADC",
                                             "JF",
                                             "JMP",
                                             "LOOP",
                                             "RET",
                                             "GET_ATTR",
                                             "SET_ATTR",
                                             "LIST_CONSTRUCT",
                                             "TUPLE_CONSTRUCT",
                                             "NAMED_TUPLE_CONSTRUCT",
                                             "DICT_CONSTRUCT",
                                             "LIST_UNPACK",
                                             "TUPLE_SLICE",
                                             "ISINSTANCE",
                                             "INTERFACE_CALL"};

// An instruction that stands for an operator of so many inputs; -1: its first number says how many.
struct ShortCode {
  const char *name, *op;
  int inputs;
};
inline constexpr ShortCode kShortCodes[] = {{"DIM", "aten::dim", 1},
                                            {"DEVICE", "prim::device", 1},
                                            {"DTYPE", "prim::dtype", 1},
                                            {"IS_CUDA", "prim::is_cuda", 1},
                                            {"__IS__", "aten::__is__", 2},
                                            {"__ISNOT__", "aten::__isnot__", 2},
                                            {"__NOT__", "aten::__not__", 1},
                                            {"FORMAT", "aten::format", -1},
                                            {"RAISE_EXCEPTION", "prim::RaiseException", 2},
                                            {"UN_INITIALIZED", "prim::Uninitialized", 0},
                                            {"TO_LIST", "prim::tolist", 3},
                                            {"NUM_TO_TENSOR", "prim::NumToTensor", 1},
                                            {"TUPLE_INDEX", "prim::TupleIndex", 2},
                                            {"WARN", "aten::warn", 2}};

// Builtins whose result is a tuple that the operator elsewhere gives as so many values.
inline bool gives_values(const Schema& schema) {
  return schema.returns.size() == 1 && schema.returns[0].kind() == TypeKind::Tuple && schema.name != "aten::popitem";
}

}  // namespace cresset::graph::script
