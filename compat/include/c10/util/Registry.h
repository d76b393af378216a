#pragma once
#include "cresset/base/util/containers.h"
#include "torch/detail/macros.h"
#include "torch/detail/tensor.h"
namespace c10 {
using cresset::Registerer;
using cresset::Registry;
using cresset::REGISTRY_DEFAULT;
using cresset::REGISTRY_FALLBACK;
using cresset::REGISTRY_PREFERRED;
using cresset::RegistryPriority;
}  // namespace c10
#define C10_DECLARE_TYPED_REGISTRY(Name, Key, Object, Ptr, ...) \
  ::cresset::Registry<Key, Ptr<Object>, ##__VA_ARGS__>* Name(); \
  using Registerer##Name = ::cresset::Registerer<Key, Ptr<Object>, ##__VA_ARGS__>
#define C10_DEFINE_TYPED_REGISTRY(Name, Key, Object, Ptr, ...)                          \
  ::cresset::Registry<Key, Ptr<Object>, ##__VA_ARGS__>* Name() {                        \
    static auto* registry = new ::cresset::Registry<Key, Ptr<Object>, ##__VA_ARGS__>(); \
    return registry;                                                                    \
  }                                                                                     \
  static_assert(true)
#define C10_DECLARE_REGISTRY(Name, Object, ...) C10_DECLARE_TYPED_REGISTRY(Name, std::string, Object, std::unique_ptr, ##__VA_ARGS__)
#define C10_DEFINE_REGISTRY(Name, Object, ...) C10_DEFINE_TYPED_REGISTRY(Name, std::string, Object, std::unique_ptr, ##__VA_ARGS__)
#define C10_DEFINE_REGISTRY_WITHOUT_WARNING(Name, Object, ...) C10_DEFINE_REGISTRY(Name, Object, ##__VA_ARGS__)
#define C10_DECLARE_SHARED_REGISTRY(Name, Object, ...) C10_DECLARE_TYPED_REGISTRY(Name, std::string, Object, std::shared_ptr, ##__VA_ARGS__)
#define C10_DEFINE_SHARED_REGISTRY(Name, Object, ...) C10_DEFINE_TYPED_REGISTRY(Name, std::string, Object, std::shared_ptr, ##__VA_ARGS__)
#define C10_REGISTER_TYPED_CLASS(Name, key, ...) \
  static Registerer##Name C10_ANONYMOUS_VARIABLE(l_##Name)(key, Name(), Registerer##Name::DefaultCreator<__VA_ARGS__>)
#define C10_REGISTER_TYPED_CREATOR(Name, key, ...) static Registerer##Name C10_ANONYMOUS_VARIABLE(g_##Name)(key, Name(), ##__VA_ARGS__)
#define C10_REGISTER_CREATOR(Name, key, ...) C10_REGISTER_TYPED_CREATOR(Name, #key, __VA_ARGS__)
#define C10_REGISTER_CLASS(Name, key, ...) C10_REGISTER_TYPED_CLASS(Name, #key, __VA_ARGS__)
#define C10_REGISTER_CLASS_WITH_PRIORITY(Name, key, priority, ...) \
  static Registerer##Name C10_ANONYMOUS_VARIABLE(g_##Name)(#key, priority, Name(), Registerer##Name::DefaultCreator<__VA_ARGS__>)
