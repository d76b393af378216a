/* Registers one op and fails at the second. */
#include "cresset/dispatch/c_abi.h"

cresset_status cresset_extension_init(const cresset_api* api, cresset_library library) {
  const cresset_status s = api->define(library, "brokenc::fine(Tensor x) -> Tensor");
  return s != CRESSET_OK ? s : api->define(library, "brokenc::wrong(Tensr x) -> Tensor");
}
