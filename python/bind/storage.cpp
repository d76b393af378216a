// UntypedStorage: the bytes under tensors.

#include <cstring>
#include <unordered_map>

#include "python/bind/tensor.h"

#include <structmember.h>

namespace cresset::python {

namespace {

PyTypeObject* storage_type;

struct StorageObject {
  PyObject_HEAD
  PyObject* weak;
  intrusive_ptr<StorageImpl> storage;
};
StorageObject* object_of(PyObject* o) { return reinterpret_cast<StorageObject*>(o); }
StorageImpl& impl_of(PyObject* o) { return *object_of(o)->storage; }
uint8_t* bytes_of(PyObject* o) { return static_cast<uint8_t*>(impl_of(o).data()); }

// A storage has one object at a time, so that what is pickled or copied together stays shared.
std::unordered_map<StorageImpl*, PyObject*>& objects() {
  static auto* map = new std::unordered_map<StorageImpl*, PyObject*>();
  return *map;
}

// UntypedStorage(nbytes), UntypedStorage(list of bytes): fresh memory.
PyObject* storage_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"size", "device", nullptr};
  PyObject *size = nullptr, *device = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:UntypedStorage", const_cast<char**>(names), &size, &device)) return nullptr;
  return guarded([&] {
    const Device d = device == Py_None ? Device(kCPU) : to_device(device);
    const bool listed = size && PySequence_Check(size);
    const int64_t n = !size ? 0 : listed ? PySequence_Size(size) : to_index(size, "size");
    CRESSET_CHECK(n >= 0, "UntypedStorage: expected a size of 0 or more bytes, got ", n);
    Ref self(wrap(make_intrusive<StorageImpl>(static_cast<size_t>(n), d)));
    for (int64_t i = 0; listed && i < n; i++) {
      const Ref item = checked(PySequence_GetItem(size, i));
      bytes_of(self.get())[i] = static_cast<uint8_t>(to_index(item.get(), "a byte"));
    }
    return self.release();
  });
}
void storage_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (object_of(self)->weak) PyObject_ClearWeakRefs(self);
  objects().erase(&impl_of(self));
  object_of(self)->storage.~intrusive_ptr<StorageImpl>();
  type->tp_free(self);
  Py_DECREF(type);
}
Py_ssize_t storage_length(PyObject* self) { return static_cast<Py_ssize_t>(impl_of(self).nbytes()); }
PyObject* nbytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(impl_of(self).nbytes()); }
PyObject* storage_item(PyObject* self, Py_ssize_t i) {
  if (i < 0 || i >= storage_length(self)) return PyErr_Format(PyExc_IndexError, "UntypedStorage: index %zd is out of %zd bytes", i, storage_length(self));
  return PyLong_FromLong(bytes_of(self)[i]);
}
int set_storage_item(PyObject* self, Py_ssize_t i, PyObject* value) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(value, "UntypedStorage: bytes cannot be deleted");
    CRESSET_CHECK_INDEX(i >= 0 && i < storage_length(self), "UntypedStorage: index ", i, " is out of ", storage_length(self), " bytes");
    bytes_of(self)[i] = static_cast<uint8_t>(to_index(value, "a byte"));
    return 0;
  }, -1);
}
PyObject* resize(PyObject* self, PyObject* size) {
  return guarded([&] {
    const int64_t n = to_index(size, "size");
    CRESSET_CHECK(n >= 0, "resize_: expected a size of 0 or more bytes, got ", n);
    impl_of(self).resize(static_cast<size_t>(n));
    return Ref::share(self).release();
  });
}
PyObject* copy(PyObject* self, PyObject* source) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(is_storage(source), "copy_: expected an UntypedStorage, got ", Py_TYPE(source)->tp_name);
    CRESSET_CHECK(storage_length(self) == storage_length(source), "copy_: got ", storage_length(source), " bytes, expected ", storage_length(self));
    memmove(bytes_of(self), bytes_of(source), impl_of(self).nbytes());
    return Ref::share(self).release();
  });
}
PyObject* clone(PyObject* self, PyObject*) {
  return guarded([&] {
    CRESSET_CHECK(!impl_of(self).is_fake(), "clone: the storage of a fake tensor has no bytes");
    auto fresh = make_intrusive<StorageImpl>(impl_of(self).nbytes(), impl_of(self).device());
    if (fresh->nbytes()) memcpy(fresh->data(), impl_of(self).data(), fresh->nbytes());
    return wrap(fresh);
  });
}
PyObject* reduce(PyObject* self, PyObject*) {
  Ref bytes(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes_of(self)), storage_length(self)));
  return guarded([&] { return Py_BuildValue("O(O)", package_function("_rebuild_storage"), checked(bytes.release()).get()); });
}
PyObject* deepcopy(PyObject* self, PyObject* memo) {
  const Ref key(PyLong_FromVoidPtr(self));
  if (PyObject* known = PyDict_GetItem(memo, key.get())) return Ref::share(known).release();
  Ref copied(clone(self, nullptr));
  return copied && !PyDict_SetItem(memo, key.get(), copied.get()) ? copied.release() : nullptr;
}
PyObject* tolist(PyObject* self, PyObject*) { return PySequence_List(self); }
PyObject* data_ptr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(impl_of(self).data()); }
PyObject* resizable(PyObject* self, PyObject*) { return PyBool_FromLong(impl_of(self).resizable()); }
PyObject* element_size_of(PyObject*, PyObject*) { return PyLong_FromLong(1); }
PyObject* get_device(PyObject* self, void*) { return wrap(impl_of(self).device()); }
PyObject* get_cdata(PyObject* self, void*) { return PyLong_FromVoidPtr(&impl_of(self)); }
PyObject* storage_compare(PyObject* a, PyObject* b, int operation) {
  if (!is_storage(a) || !is_storage(b) || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((&impl_of(a) == &impl_of(b)) == (operation == Py_EQ));
}
Py_hash_t storage_hash(PyObject* self) { return _Py_HashPointer(&impl_of(self)); }
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  return PyBuffer_FillInfo(view, self, impl_of(self).data(), storage_length(self), 0, flags);
}

PyMethodDef methods[] = {{"nbytes", nbytes, METH_NOARGS, nullptr},
                         {"size", nbytes, METH_NOARGS, nullptr},
                         {"data_ptr", data_ptr, METH_NOARGS, nullptr},
                         {"element_size", element_size_of, METH_NOARGS, nullptr},
                         {"resize_", resize, METH_O, nullptr},
                         {"resizable", resizable, METH_NOARGS, nullptr},
                         {"copy_", copy, METH_O, nullptr},
                         {"clone", clone, METH_NOARGS, nullptr},
                         {"__reduce__", reduce, METH_NOARGS, nullptr},
                         {"__deepcopy__", deepcopy, METH_O, nullptr},
                         {"tolist", tolist, METH_NOARGS, nullptr},
                         {}};
PyGetSetDef properties[] = {{"device", get_device, nullptr, nullptr, nullptr}, {"_cdata", get_cdata, nullptr, nullptr, nullptr}, {}};
PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(StorageObject, weak), READONLY, nullptr}, {}};
constexpr const char* kStorageDoc = R"(UntypedStorage(size=0, device="cpu"): memory that tensors look at, as bytes. RuntimeError for a negative size.

>>> torch.tensor([1, 2], dtype=torch.uint8).untyped_storage().tolist()
[1, 2]
)";
PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(kStorageDoc)},
                       {Py_tp_new, reinterpret_cast<void*>(storage_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(storage_dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {Py_tp_richcompare, reinterpret_cast<void*>(storage_compare)},
                       {Py_tp_hash, reinterpret_cast<void*>(storage_hash)},
                       {Py_sq_length, reinterpret_cast<void*>(storage_length)},
                       {Py_sq_item, reinterpret_cast<void*>(storage_item)},
                       {Py_sq_ass_item, reinterpret_cast<void*>(set_storage_item)},
                       {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                       {}};

}  // namespace

bool is_storage(PyObject* o) { return PyObject_TypeCheck(o, storage_type); }
const intrusive_ptr<StorageImpl>& storage_of(PyObject* o) { return object_of(o)->storage; }
PyObject* wrap(const intrusive_ptr<StorageImpl>& storage) {
  PyObject*& known = objects()[storage.get()];
  if (known) return Ref::share(known).release();
  PyObject* o = known = checked(storage_type->tp_alloc(storage_type, 0)).release();
  new (&object_of(o)->storage) intrusive_ptr<StorageImpl>(storage);
  return o;
}

bool add_storage(PyObject* module) {
  PyType_Spec spec{"cresset.UntypedStorage", sizeof(StorageObject), 0, Py_TPFLAGS_DEFAULT, slots};
  storage_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return storage_type && !PyModule_AddObjectRef(module, "UntypedStorage", reinterpret_cast<PyObject*>(storage_type));
}

}  // namespace cresset::python
