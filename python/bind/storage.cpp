// UntypedStorage: the bytes under tensors.

#include <cstring>
#include <unordered_map>

#include "cresset/core/memory/shared_memory.h"
#include "python/bind/objects.h"
#include "python/bind/outside/lent_buffer.h"
#include "python/bind/tensor.h"

#include <structmember.h>

namespace cresset::python {

namespace {

PyTypeObject* storage_type;

struct StorageObject {
  PyObject_HEAD PyObject *dict, *weak;
  intrusive_ptr<StorageImpl> storage;
  // The storage lives on in C++ without a reference from here, and keeps this object.
  bool kept;
};
StorageObject* object_of(PyObject* o) { return reinterpret_cast<StorageObject*>(o); }
StorageImpl& impl_of(PyObject* o) { return *object_of(o)->storage; }
uint8_t* bytes_of(PyObject* o) { return static_cast<uint8_t*>(impl_of(o).data()); }

// A storage has one object at a time, so that what is pickled or copied together stays shared.
std::unordered_map<StorageImpl*, PyObject*>& objects() {
  static auto* map = new std::unordered_map<StorageImpl*, PyObject*>();
  return *map;
}
Keepers<StorageImpl>& keepers() {
  static auto* all = new Keepers<StorageImpl>(storage_object_hook());
  return *all;
}

PyObject* new_object(PyTypeObject* type, const intrusive_ptr<StorageImpl>& storage) {
  PyObject* o = checked(type->tp_alloc(type, 0)).release();
  new (&object_of(o)->storage) intrusive_ptr<StorageImpl>(storage);
  objects()[storage.get()] = o;
  return o;
}

// ---- life: as that of tensors' objects (tensor.cpp)

void storage_finalize(PyObject* self) {
  StorageObject* o = object_of(self);
  const bool state = Py_TYPE(self) != storage_type || o->weak || (o->dict && PyDict_GET_SIZE(o->dict) > 0);
  if (o->kept || !o->storage || o->storage.use_count() < 2 || !state) return;
  Py_INCREF(self);
  o->kept = true;
  keepers().add(o->storage.get());
  o->storage.get()->release();
}
void take_back(PyObject* self) {
  object_of(self)->storage->retain();
  object_of(self)->kept = false;
  keepers().remove(object_of(self)->storage.get());
  static_assert(PY_VERSION_HEX < 0x030E0000, "the collector's header may look different");
  reinterpret_cast<uintptr_t*>(self)[-1] &= ~uintptr_t{1};
}
// The storage of a kept object ends. Where a weak reference has been followed meanwhile, the object goes on with a copy of the bytes.
void release_kept(StorageImpl& ending) {
  if (!keepers().contain(&ending) || !Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  const auto found = objects().find(&ending);
  PyObject* self = found == objects().end() ? nullptr : found->second;
  if (self && object_of(self)->kept) {
    StorageObject* o = object_of(self);
    objects().erase(found);
    o->kept = false;
    keepers().remove(&ending);
    o->storage.release();
    if (Py_REFCNT(self) > 1) {
      o->storage = make_intrusive<StorageImpl>(ending.nbytes(), ending.device());
      if (o->storage->data() && ending.data()) memcpy(o->storage->data(), ending.data(), ending.nbytes());
      objects()[o->storage.get()] = self;
    }
    Py_DECREF(self);
  }
  PyGILState_Release(state);
}
int storage_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(object_of(self)->dict);
  Py_VISIT(Py_TYPE(self));
  return 0;
}
int storage_clear(PyObject* self) {
  Py_CLEAR(object_of(self)->dict);
  return 0;
}
void storage_dealloc(PyObject* self) {
  StorageObject* o = object_of(self);
  PyTypeObject* type = Py_TYPE(self);
  if (type == storage_type && (o->weak || o->dict) && PyObject_CallFinalizerFromDealloc(self) < 0) return;
  PyObject_GC_UnTrack(self);
  if (o->weak) PyObject_ClearWeakRefs(self);
  Py_CLEAR(o->dict);
  if (o->storage) objects().erase(o->storage.get());
  o->storage.~intrusive_ptr<StorageImpl>();
  type->tp_free(self);
  Py_DECREF(type);
}

// UntypedStorage(nbytes), UntypedStorage(list of bytes): fresh memory.
PyObject* storage_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"size", "device", nullptr};
  PyObject *size = nullptr, *device = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:UntypedStorage", const_cast<char**>(names), &size, &device)) return nullptr;
  return guarded([&] {
    const Device d = device == Py_None ? Device(kCPU) : to_device(device);
    const bool listed = size && PySequence_Check(size) && !PyUnicode_Check(size) && !is_tensor(size);
    CRESSET_CHECK(!size || listed || PyIndex_Check(size), "UntypedStorage: expected a number of bytes or a sequence of them, got ", Py_TYPE(size)->tp_name);
    const int64_t n = !size ? 0 : listed ? PySequence_Size(size) : to_index(size, "size");
    CRESSET_CHECK(n >= 0, "UntypedStorage: expected a size of 0 or more bytes, got ", n);
    Ref self(new_object(type, make_intrusive<StorageImpl>(static_cast<size_t>(n), d)));
    for (int64_t i = 0; listed && i < n; i++) {
      const Ref item = checked(PySequence_GetItem(size, i));
      CRESSET_CHECK(PyLong_Check(item.get()), "UntypedStorage: expected bytes as ints, got ", Py_TYPE(item.get())->tp_name);
      bytes_of(self.get())[i] = static_cast<uint8_t>(to_index(item.get(), "a byte"));
    }
    return self.release();
  });
}
Py_ssize_t storage_length(PyObject* self) { return static_cast<Py_ssize_t>(impl_of(self).nbytes()); }
PyObject* nbytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(impl_of(self).nbytes()); }
void check_memory(PyObject* self) {
  CRESSET_CHECK(impl_of(self).data() || impl_of(self).nbytes() == 0 || !impl_of(self).device().is_cpu() || impl_of(self).is_fake(),
                "UntypedStorage: the storage of a wrapper tensor has no memory; look at the tensors within the wrapper");
}
void check_readable(PyObject* self) {
  CRESSET_CHECK_NOT_IMPLEMENTED(impl_of(self).device().is_cpu() && !impl_of(self).is_fake(), "UntypedStorage: there are no bytes to look at on ",
                                impl_of(self).device());
  check_memory(self);
}
PyObject* storage_at(PyObject* self, Py_ssize_t i) {
  if (i < 0 || i >= storage_length(self)) return PyErr_Format(PyExc_IndexError, "UntypedStorage: index %zd is out of %zd bytes", i, storage_length(self));
  return guarded([&] {
    check_readable(self);
    return PyLong_FromLong(bytes_of(self)[i]);
  });
}
struct Range {
  Py_ssize_t start, count;
};
Range range_of(PyObject* self, PyObject* slice) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) throw PythonError();
  const Py_ssize_t count = PySlice_AdjustIndices(storage_length(self), &start, &stop, step);
  CRESSET_CHECK(step == 1, "UntypedStorage: slices have a step of 1, got ", static_cast<long long>(step));
  return {start, count};
}
Py_ssize_t place_of(PyObject* self, PyObject* index) {
  const Py_ssize_t n = storage_length(self), i = PyNumber_AsSsize_t(index, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) throw PythonError();
  CRESSET_CHECK_INDEX(i >= -n && i < n, "UntypedStorage: index ", static_cast<long long>(i), " is out of ", static_cast<long long>(n), " bytes");
  return i < 0 ? i + n : i;
}
// A byte, or the bytes of a range as a storage over the same memory.
PyObject* storage_item(PyObject* self, PyObject* index) {
  return guarded([&]() -> PyObject* {
    CRESSET_CHECK_TYPE(PySlice_Check(index) || PyIndex_Check(index), "UntypedStorage: expected an index or a slice, got ", Py_TYPE(index)->tp_name);
    if (!PySlice_Check(index)) {
      check_readable(self);
      const Py_ssize_t i = place_of(self, index);
      return PyLong_FromLong(bytes_of(self)[i]);
    }
    const Range range = range_of(self, index);
    return wrap(make_intrusive<StorageImpl>(bytes_of(self) + range.start, static_cast<size_t>(range.count), impl_of(self).device(),
                                            intrusive_ptr<RefCounted>(object_of(self)->storage)));
  });
}
int set_storage_item(PyObject* self, PyObject* index, PyObject* value) {
  return guarded(
      [&] {
        CRESSET_CHECK_TYPE(value, "UntypedStorage: bytes cannot be deleted");
        CRESSET_CHECK_TYPE(PySlice_Check(index) || PyIndex_Check(index), "UntypedStorage: expected an index or a slice, got ", Py_TYPE(index)->tp_name);
        CRESSET_CHECK(PyLong_Check(value), "UntypedStorage: bytes are ints, got ", Py_TYPE(value)->tp_name);
        const Range range = PySlice_Check(index) ? range_of(self, index) : Range{place_of(self, index), 1};
        check_readable(self);
        if (range.count) memset(bytes_of(self) + range.start, static_cast<uint8_t>(to_index(value, "a byte")), static_cast<size_t>(range.count));
        return 0;
      },
      -1);
}
PyObject* fill(PyObject* self, PyObject* value) {
  return guarded([&] {
    check_readable(self);
    if (impl_of(self).nbytes()) memset(bytes_of(self), static_cast<uint8_t>(to_index(value, "a byte")), impl_of(self).nbytes());
    return Ref::share(self).release();
  });
}

// ---- memory that other processes see

PyObject* is_shared(PyObject* self, PyObject*) { return PyBool_FromLong(shared_memory_of(impl_of(self)) || dynamic_cast<LentBuffer*>(impl_of(self).owner())); }
// _share(named): moves the memory; what finds it: a descriptor, which stays the storage's, and a name or None.
PyObject* share(PyObject* self, PyObject* named) {
  return guarded([&] {
    SharedMemory& memory = share_memory(impl_of(self), PyObject_IsTrue(named) == 1);
    return memory.name().empty() ? Py_BuildValue("(iO)", memory.fd(), Py_None) : Py_BuildValue("(is)", memory.fd(), memory.name().c_str());
  });
}
PyObject* add_use(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    SharedMemory* const memory = shared_memory_of(impl_of(self));
    CRESSET_CHECK(memory, "UntypedStorage: its memory is not shared");
    memory->add_use();
    Py_RETURN_NONE;
  });
}
// _open_shared(descriptor or name, nbytes): the storage over memory that another process has shared.
PyObject* open_shared(PyObject*, PyObject* args) {
  PyObject* at;
  Py_ssize_t nbytes;
  if (!PyArg_ParseTuple(args, "On", &at, &nbytes)) return nullptr;
  return guarded([&] {
    const size_t size = static_cast<size_t>(nbytes);
    const auto memory = PyUnicode_Check(at) ? SharedMemory::open(std::string(PyUnicode_AsUTF8(at)), size)
                                            : SharedMemory::open(static_cast<int>(to_index(at, "descriptor")), size);
    return wrap(make_intrusive<StorageImpl>(memory->data(), size, Device(kCPU), intrusive_ptr<RefCounted>(memory)));
  });
}
PyObject* size_in_memory(PyObject* self, PyObject*) { return PyLong_FromSsize_t(Py_TYPE(self)->tp_basicsize + storage_length(self)); }
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
    if (impl_of(self).device().is_meta() || impl_of(source).device().is_meta()) return Ref::share(self).release();
    CRESSET_CHECK(storage_length(self) == storage_length(source), "copy_: got ", storage_length(source), " bytes, expected ", storage_length(self));
    check_memory(self);
    check_memory(source);
    memmove(bytes_of(self), bytes_of(source), impl_of(self).nbytes());
    return Ref::share(self).release();
  });
}
PyObject* clone(PyObject* self, PyObject*) {
  return guarded([&] {
    CRESSET_CHECK(!impl_of(self).is_fake(), "clone: the storage of a fake tensor has no bytes");
    check_memory(self);
    auto fresh = make_intrusive<StorageImpl>(impl_of(self).nbytes(), impl_of(self).device());
    if (fresh->data() && fresh->nbytes()) memcpy(fresh->data(), impl_of(self).data(), fresh->nbytes());
    return wrap(fresh);
  });
}
PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    check_memory(self);
    Ref bytes(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes_of(self)), storage_length(self)));
    return Py_BuildValue("O(O)", package_function("_rebuild_storage"), checked(bytes.release()).get());
  });
}
PyObject* deepcopy(PyObject* self, PyObject* memo) {
  const Ref key(PyLong_FromVoidPtr(self));
  if (PyObject* known = PyDict_GetItem(memo, key.get())) return Ref::share(known).release();
  Ref copied(clone(self, nullptr));
  return copied && !PyDict_SetItem(memo, key.get(), copied.get()) ? copied.release() : nullptr;
}
PyObject* tolist(PyObject* self, PyObject*) { return PySequence_List(self); }
PyObject* data_ptr(PyObject* self, PyObject*) {
  return guarded([&] {
    check_memory(self);
    return PyLong_FromVoidPtr(impl_of(self).data());
  });
}
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
  return guarded(
      [&] {
        check_memory(self);
        return PyBuffer_FillInfo(view, self, impl_of(self).data(), storage_length(self), 0, flags);
      },
      -1);
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
                         {"fill_", fill, METH_O, nullptr},
                         {"is_shared", is_shared, METH_NOARGS, nullptr},
                         {"_share", share, METH_O, nullptr},
                         {"_add_use", add_use, METH_NOARGS, nullptr},
                         {"_open_shared", open_shared, METH_VARARGS | METH_STATIC, nullptr},
                         {"__sizeof__", size_in_memory, METH_NOARGS, nullptr},
                         {}};
PyGetSetDef properties[] = {{"device", get_device, nullptr, nullptr, nullptr},
                            {"_cdata", get_cdata, nullptr, nullptr, nullptr},
                            {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {}};
PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(StorageObject, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(StorageObject, weak), READONLY, nullptr},
                         {}};
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
                       {Py_tp_finalize, reinterpret_cast<void*>(storage_finalize)},
                       {Py_tp_traverse, reinterpret_cast<void*>(storage_traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(storage_clear)},
                       {Py_mp_length, reinterpret_cast<void*>(storage_length)},
                       {Py_mp_subscript, reinterpret_cast<void*>(storage_item)},
                       {Py_mp_ass_subscript, reinterpret_cast<void*>(set_storage_item)},
                       {Py_sq_item, reinterpret_cast<void*>(storage_at)},
                       {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                       {}};

}  // namespace

bool is_storage(PyObject* o) { return PyObject_TypeCheck(o, storage_type); }
const intrusive_ptr<StorageImpl>& storage_of(PyObject* o) { return object_of(o)->storage; }
PyObject* wrap(const intrusive_ptr<StorageImpl>& storage) {
  const auto found = objects().find(storage.get());
  if (found == objects().end()) return new_object(storage_type, storage);
  PyObject* known = Ref::share(found->second).release();
  // The kept object's own reference becomes the caller's.
  if (object_of(known)->kept) {
    take_back(known);
    Py_DECREF(known);
  }
  return known;
}

bool add_storage(PyObject* module) {
  PyType_Spec spec{"cresset.UntypedStorage", sizeof(StorageObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  storage_object_hook().release = release_kept;
  storage_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return storage_type && !PyModule_AddObjectRef(module, "UntypedStorage", reinterpret_cast<PyObject*>(storage_type));
}

}  // namespace cresset::python
