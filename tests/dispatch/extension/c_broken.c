/* Registers one op and fails at the second. */
#include "cresset/dispatch/c_abi.h"

#ifdef NEWER_ABI
__attribute__((visibility("default"))) const uint32_t cresset_extension_abi = CRESSET_C_ABI_VERSION + 1;
#else
CRESSET_EXTENSION_ABI
#endif

cresset_status cresset_extension_init(const cresset_api* api, cresset_library library) {
  const cresset_status s = api->define(library, "brokenc::fine(Tensor x) -> Tensor");
  return s != CRESSET_OK ? s : api->define(library, "brokenc::wrong(Tensr x) -> Tensor");
}
