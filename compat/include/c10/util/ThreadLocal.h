#pragma once
#include "cresset/base/util/containers.h"
#include "torch/detail/macros.h"
namespace c10 {
using cresset::ThreadLocal;
}
#define C10_DEFINE_TLS_static(Type, Name)                  \
  static ::cresset::ThreadLocal<Type> Name([]() -> Type* { \
    static thread_local Type var;                          \
    return &var;                                           \
  })
#define C10_DECLARE_TLS_class_static(Class, Type, Name) static ::cresset::ThreadLocal<Type> Name
#define C10_DEFINE_TLS_class_static(Class, Type, Name)     \
  ::cresset::ThreadLocal<Type> Class::Name([]() -> Type* { \
    static thread_local Type var;                          \
    return &var;                                           \
  })
