#pragma once
#include "ATen/detail/AcceleratorHooksInterface.h"

namespace at {
using cresset::PrivateUse1HooksArgs;
using cresset::PrivateUse1HooksInterface;
inline void RegisterPrivateUse1HooksInterface(PrivateUse1HooksInterface* hooks) { cresset::register_private_hooks(hooks); }
inline bool isPrivateUse1HooksRegistered() { return cresset::has_private_hooks(); }
inline const PrivateUse1HooksInterface* GetPrivateUse1HooksInterface() { return &cresset::private_hooks(); }
namespace detail {
inline const PrivateUse1HooksInterface& getPrivateUse1Hooks() { return cresset::private_hooks(); }
}  // namespace detail
}  // namespace at
