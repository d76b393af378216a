#pragma once
// Errors between processes.

#include "cresset/base/error.h"

namespace cresset::distributed {

#define CRESSET_DEFINE_DIST_ERROR(Name, Base) \
  class CRESSET_API Name : public Base {      \
   public:                                    \
    using Base::Base;                         \
  };
CRESSET_DEFINE_DIST_ERROR(DistError, Error)
// An operation of a group failed.
CRESSET_DEFINE_DIST_ERROR(DistBackendError, DistError)
// A connection could not be made, or broke.
CRESSET_DEFINE_DIST_ERROR(DistNetworkError, DistError)
// The other side is there, as far as is known, and has not answered in time.
CRESSET_DEFINE_DIST_ERROR(DistTimeoutError, DistNetworkError)
// A store failed: a key did not appear in time, say.
CRESSET_DEFINE_DIST_ERROR(DistStoreError, DistError)
// The next value of a queue has not come yet.
CRESSET_DEFINE_DIST_ERROR(DistQueueEmptyError, DistStoreError)
#undef CRESSET_DEFINE_DIST_ERROR

}  // namespace cresset::distributed
