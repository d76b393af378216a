// Stores, process groups and their work: thin types, over which cresset/distributed puts PyTorch's classes. Times are in
// milliseconds.

#include "cresset/dist/process_group.h"
#include "python/bind/bind.h"

namespace cresset::python {

namespace {

using distributed::ProcessGroup;
using distributed::ReduceOp;
using distributed::Store;
using distributed::Work;
using std::chrono::milliseconds;

template <class T> struct Held { PyObject_HEAD std::shared_ptr<T> value; };
template <class T> PyTypeObject* type_of = nullptr;

template <class T> PyObject* hold(std::shared_ptr<T> value) {
  auto* self = reinterpret_cast<Held<T>*>(checked(type_of<T>->tp_alloc(type_of<T>, 0)).release());
  new (&self->value) std::shared_ptr<T>(std::move(value));
  return reinterpret_cast<PyObject*>(self);
}
template <class T> void release(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  // The end of a store or group waits for its threads.
  Py_BEGIN_ALLOW_THREADS;
  reinterpret_cast<Held<T>*>(self)->value.~shared_ptr<T>();
  Py_END_ALLOW_THREADS;
  type->tp_free(self);
  Py_DECREF(type);
}
template <class T> std::shared_ptr<T> held(PyObject* o) {
  CRESSET_CHECK_TYPE(Py_TYPE(o) == type_of<T>, "distributed: expected a ", type_of<T>->tp_name, ", got ", Py_TYPE(o)->tp_name);
  return reinterpret_cast<Held<T>*>(o)->value;
}

// Runs `f` with the interpreter free for others.
template <class F> auto unlocked(F&& f) -> decltype(f()) {
  struct Released {
    PyThreadState* state = PyEval_SaveThread();
    ~Released() { PyEval_RestoreThread(state); }
  } released;
  return f();
}

// The arguments of a method, one read after another.
class Arguments {
 public:
  Arguments(const char* method, PyObject* const* args, Py_ssize_t count, Py_ssize_t wanted) : args_(args) {
    CRESSET_CHECK_TYPE(count == wanted, method, ": expected ", wanted, " arguments, got ", count);
  }
  PyObject* object() { return *args_++; }
  int64_t integer() {
    const long long n = PyLong_AsLongLong(object());
    if (n == -1 && PyErr_Occurred()) throw PythonError();
    return n;
  }
  bool truth() {
    const int t = PyObject_IsTrue(object());
    if (t < 0) throw PythonError();
    return t != 0;
  }
  // Text, or bytes.
  std::string text() { return text_of(object()); }
  std::vector<std::string> texts() {
    const Ref list = checked(PySequence_Fast(object(), "expected a list of keys"));
    std::vector<std::string> all;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) all.push_back(text_of(PySequence_Fast_GET_ITEM(list.get(), i)));
    return all;
  }
  Tensor tensor() {
    PyObject* o = object();
    CRESSET_CHECK_TYPE(is_tensor(o), "distributed: expected a tensor, got ", Py_TYPE(o)->tp_name);
    return tensor_of(o);
  }
  std::vector<Tensor> tensors() { return tensor_list(object()); }
  milliseconds time() { return milliseconds(integer()); }
  ReduceOp reduction() { return static_cast<ReduceOp>(integer()); }

 private:
  static std::string text_of(PyObject* o) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_Check(o)) {
      if (PyBytes_AsStringAndSize(o, &data, &size) < 0) throw PythonError();
      return {data, static_cast<size_t>(size)};
    }
    const char* text = PyUnicode_AsUTF8AndSize(o, &size);
    if (!text) throw PythonError();
    return {text, static_cast<size_t>(size)};
  }
  PyObject* const* args_;
};

PyObject* result(const std::string& bytes) { return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())); }
PyObject* result(int64_t n) { return PyLong_FromLongLong(n); }
PyObject* result(bool b) { return PyBool_FromLong(b); }
PyObject* result(std::shared_ptr<Work> work) { return hold(std::move(work)); }

// A method: reads its arguments with the interpreter's lock, then runs what it gets without.
template <class T, Py_ssize_t kCount, auto kRead> PyObject* method(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    Arguments arguments(type_of<T>->tp_name, args, count, kCount);
    auto run = kRead(held<T>(self), arguments);
    if constexpr (std::is_void_v<decltype(run())>) {
      unlocked(run);
      Py_RETURN_NONE;
    } else {
      return result(unlocked(run));
    }
  });
}
template <class T, Py_ssize_t kCount, auto kRead> constexpr PyMethodDef entry(const char* name) {
  return {name, reinterpret_cast<PyCFunction>(method<T, kCount, kRead>), METH_FASTCALL, nullptr};
}

using StorePtr = std::shared_ptr<Store>;
PyMethodDef store_methods[] = {
    entry<Store, 2, [](StorePtr s, Arguments& a) { return [s, k = a.text(), v = a.text()] { s->set(k, v); }; }>("set"),
    entry<Store, 1, [](StorePtr s, Arguments& a) { return [s, k = a.text()] { return s->get(k); }; }>("get"),
    entry<Store, 2, [](StorePtr s, Arguments& a) { return [s, k = a.text(), n = a.integer()] { return s->add(k, n); }; }>("add"),
    entry<Store, 3, [](StorePtr s, Arguments& a) { return [s, k = a.text(), e = a.text(), d = a.text()] { return s->compare_set(k, e, d); }; }>("compare_set"),
    entry<Store, 1, [](StorePtr s, Arguments& a) { return [s, k = a.texts()] { return s->check(k); }; }>("check"),
    entry<Store, 1, [](StorePtr s, Arguments& a) { return [s, k = a.text()] { return s->delete_key(k); }; }>("delete_key"),
    entry<Store, 0, [](StorePtr s, Arguments&) { return [s] { return s->num_keys(); }; }>("num_keys"),
    entry<Store, 2, [](StorePtr s, Arguments& a) { return [s, k = a.texts(), t = a.time()] { s->wait(k, t); }; }>("wait"),
    entry<Store, 0, [](StorePtr s, Arguments&) { return [s] { return static_cast<int64_t>(s->timeout().count()); }; }>("timeout"),
    entry<Store, 1, [](StorePtr s, Arguments& a) { return [s, t = a.time()] { s->set_timeout(t); }; }>("set_timeout"),
    entry<Store, 0,
          [](StorePtr s, Arguments&) {
            return [s] {
              const auto* tcp = dynamic_cast<const distributed::TCPStore*>(s.get());
              return static_cast<int64_t>(tcp ? tcp->port() : 0);
            };
          }>("port"),
    {}};

using Group = std::shared_ptr<ProcessGroup>;
PyMethodDef group_methods[] = {
    entry<ProcessGroup, 0, [](Group g, Arguments&) { return [g] { return g->rank(); }; }>("rank"),
    entry<ProcessGroup, 0, [](Group g, Arguments&) { return [g] { return g->size(); }; }>("size"),
    entry<ProcessGroup, 0, [](Group g, Arguments&) { return [g] { return static_cast<int64_t>(g->timeout().count()); }; }>("timeout"),
    entry<ProcessGroup, 1, [](Group g, Arguments& a) { return [g, t = a.time()] { g->set_timeout(t); }; }>("set_timeout"),
    entry<ProcessGroup, 3,
          [](Group g, Arguments& a) { return [g, t = a.tensor(), op = a.reduction(), async = a.truth()] { return g->all_reduce(t, op, async); }; }>(
        "all_reduce"),
    entry<ProcessGroup, 4,
          [](Group g, Arguments& a) {
            return [g, t = a.tensor(), root = a.integer(), op = a.reduction(), async = a.truth()] { return g->reduce(t, root, op, async); };
          }>("reduce"),
    entry<ProcessGroup, 3,
          [](Group g, Arguments& a) { return [g, t = a.tensor(), root = a.integer(), async = a.truth()] { return g->broadcast(t, root, async); }; }>(
        "broadcast"),
    entry<ProcessGroup, 3,
          [](Group g, Arguments& a) { return [g, out = a.tensors(), in = a.tensor(), async = a.truth()] { return g->all_gather(out, in, async); }; }>(
        "all_gather"),
    entry<ProcessGroup, 4,
          [](Group g, Arguments& a) {
            return [g, out = a.tensors(), in = a.tensor(), root = a.integer(), async = a.truth()] { return g->gather(out, in, root, async); };
          }>("gather"),
    entry<ProcessGroup, 4,
          [](Group g, Arguments& a) {
            return [g, out = a.tensor(), in = a.tensors(), root = a.integer(), async = a.truth()] { return g->scatter(out, in, root, async); };
          }>("scatter"),
    entry<ProcessGroup, 4,
          [](Group g, Arguments& a) {
            return [g, out = a.tensor(), in = a.tensors(), op = a.reduction(), async = a.truth()] { return g->reduce_scatter(out, in, op, async); };
          }>("reduce_scatter"),
    entry<ProcessGroup, 3,
          [](Group g, Arguments& a) { return [g, out = a.tensors(), in = a.tensors(), async = a.truth()] { return g->all_to_all(out, in, async); }; }>(
        "all_to_all"),
    entry<ProcessGroup, 1, [](Group g, Arguments& a) { return [g, async = a.truth()] { return g->barrier(async); }; }>("barrier"),
    entry<ProcessGroup, 3, [](Group g, Arguments& a) { return [g, t = a.tensor(), to = a.integer(), tag = a.integer()] { return g->send(t, to, tag); }; }>(
        "send"),
    entry<ProcessGroup, 3,
          [](Group g, Arguments& a) { return [g, t = a.tensor(), from = a.integer(), tag = a.integer()] { return g->receive(t, from, tag); }; }>("receive"),
    {}};

using WorkPtr = std::shared_ptr<Work>;
PyMethodDef work_methods[] = {entry<Work, 0, [](WorkPtr w, Arguments&) { return [w] { return w->is_completed(); }; }>("is_completed"),
                              entry<Work, 1, [](WorkPtr w, Arguments& a) { return [w, t = a.time()] { w->wait(t); }; }>("wait"),
                              entry<Work, 0, [](WorkPtr w, Arguments&) { return [w] { return w->source_rank(); }; }>("source_rank"),
                              {}};

// tcp_store(host, port, world_size, is_master, wait_for_workers, timeout)
PyObject* tcp_store(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("TCPStore", args, count, 6);
    distributed::TCPStoreOptions o;
    o.host = a.text();
    const int64_t port = a.integer();
    CRESSET_CHECK_VALUE(port >= 0 && port < 65536, "TCPStore: expected a port in [0, 65535], got ", port);
    o.port = static_cast<uint16_t>(port);
    o.world_size = a.integer();
    o.is_master = a.truth();
    o.wait_for_workers = a.truth();
    o.timeout = a.time();
    return hold<Store>(unlocked([&] { return std::make_shared<distributed::TCPStore>(o); }));
  });
}
// hash_store(timeout)
PyObject* hash_store(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] { return hold<Store>(distributed::make_hash_store(Arguments("HashStore", args, count, 1).time())); });
}
// file_store(path, world_size, timeout)
PyObject* file_store(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("FileStore", args, count, 3);
    const std::string path = a.text();
    const int64_t world_size = a.integer();
    return hold<Store>(distributed::make_file_store(path, world_size, a.time()));
  });
}
// prefix_store(prefix, store)
PyObject* prefix_store(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("PrefixStore", args, count, 2);
    const std::string prefix = a.text();
    return hold<Store>(distributed::make_prefix_store(prefix, held<Store>(a.object())));
  });
}
// process_group(store, rank, size, timeout)
PyObject* process_group(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("ProcessGroup", args, count, 4);
    const StorePtr store = held<Store>(a.object());
    const int64_t rank = a.integer(), size = a.integer();
    const milliseconds timeout = a.time();
    return hold<ProcessGroup>(unlocked([&] { return std::make_shared<ProcessGroup>(store, rank, size, timeout); }));
  });
}

template <class T> bool add_held(PyObject* module, const char* name, PyMethodDef* methods) {
  PyType_Slot slots[] = {{Py_tp_methods, methods}, {Py_tp_dealloc, reinterpret_cast<void*>(release<T>)}, {}};
  PyType_Spec spec{name, sizeof(Held<T>), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  type_of<T> = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return type_of<T> && PyModule_AddType(module, type_of<T>) == 0;
}

PyMethodDef functions[] = {{"tcp_store", reinterpret_cast<PyCFunction>(tcp_store), METH_FASTCALL, nullptr},
                           {"hash_store", reinterpret_cast<PyCFunction>(hash_store), METH_FASTCALL, nullptr},
                           {"file_store", reinterpret_cast<PyCFunction>(file_store), METH_FASTCALL, nullptr},
                           {"prefix_store", reinterpret_cast<PyCFunction>(prefix_store), METH_FASTCALL, nullptr},
                           {"process_group", reinterpret_cast<PyCFunction>(process_group), METH_FASTCALL, nullptr},
                           {}};

}  // namespace

bool add_distributed(PyObject* module) {
  return add_held<Store>(module, "_cresset._Store", store_methods) && add_held<ProcessGroup>(module, "_cresset._ProcessGroup", group_methods) &&
         add_held<Work>(module, "_cresset._Work", work_methods) && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
