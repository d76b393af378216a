#include "cresset/nn/module/enum.h"

namespace cresset::enumtype {

const char* name_of(uint8_t id) {
#define CRESSET_CHOICE_NAME(Name) "k" #Name,
  static const char* const names[] = {CRESSET_FOR_EACH_CHOICE(CRESSET_CHOICE_NAME)};
#undef CRESSET_CHOICE_NAME
  return names[id];
}

}  // namespace cresset::enumtype
