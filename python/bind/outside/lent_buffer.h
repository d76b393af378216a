#pragma once
// Memory that a worker process lends with a batch.

#include "cresset/core/memory/storage.h"
#include "python/bind/bind.h"

namespace cresset::python {

// Keeps a buffer of shared memory, which goes back to the worker after the last tensor over it. Other processes see it no longer than that:
// storages over it move where they are sent on.
class LentBuffer final : public RefCounted {
 public:
  explicit LentBuffer(PyObject* view) : view_(Ref::share(view).release()) {}
  ~LentBuffer() override {
    if (!Py_IsInitialized()) return;
    const Gil gil;
    Py_DECREF(view_);
  }

 private:
  PyObject* view_;
};

}  // namespace cresset::python
