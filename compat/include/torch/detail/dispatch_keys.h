#pragma once
#include "cresset/core/dispatch_key_set.h"

namespace c10 {
using cresset::after_ADInplaceOrView_keyset;
using cresset::after_autograd_keyset;
using cresset::after_func_keyset;
using cresset::autocast_dispatch_keyset;
using cresset::autograd_dispatch_keyset;
using cresset::autograd_dispatch_keyset_with_ADInplaceOrView;
using cresset::BackendComponent;
using cresset::computeDispatchKey;
using cresset::default_excluded_set;
using cresset::default_included_set;
using cresset::DispatchKey;
using cresset::DispatchKeySet;
using cresset::getAutocastRelatedKeySetFromBackend;
using cresset::getAutogradKeyFromBackend;
using cresset::getAutogradRelatedKeySetFromBackend;
using cresset::getBackendKeySetFromAutograd;
using cresset::getRuntimeDispatchKeySet;
using cresset::highestPriorityBackendTypeId;
using cresset::isAliasDispatchKey;
using cresset::isBackendDispatchKey;
using cresset::isIncludedInAlias;
using cresset::isPerBackendFunctionalityKey;
using cresset::legacyExtractDispatchKey;
using cresset::num_backends;
using cresset::num_functionality_keys;
using cresset::num_runtime_entries;
using cresset::numPerBackendFunctionalityKeys;
using cresset::parseDispatchKey;
using cresset::python_ks;
using cresset::runtimeDispatchKeySetHas;
using cresset::toBackendComponent;
using cresset::toFunctionalityKey;
using cresset::toRuntimePerBackendFunctionalityKey;
using cresset::toString;
namespace impl {
using cresset::ExcludeDispatchKeyGuard;
using cresset::IncludeDispatchKeyGuard;
using cresset::tls_is_dispatch_key_excluded;
using cresset::tls_is_dispatch_key_included;
using cresset::tls_is_dispatch_keyset_excluded;
using cresset::tls_is_dispatch_keyset_included;
}  // namespace impl
}  // namespace c10

// Functionalities with a kernel for each backend, and what the names of those kernels' keys begin with.
#define C10_FORALL_FUNCTIONALITY_KEYS(_) \
  _(Dense, )                             \
  _(Quantized, Quantized)                \
  _(Sparse, Sparse)                      \
  _(SparseCsr, SparseCsr)                \
  _(NestedTensor, NestedTensor)          \
  _(AutogradFunctionality, Autograd)

namespace at {
using c10::DispatchKey;
using c10::DispatchKeySet;
}  // namespace at

namespace torch {
using c10::DispatchKey;
}
