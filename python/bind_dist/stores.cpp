// Stores, those written in Python included.

#include "cresset/dist/store/etcd_store.h"
#include "cresset/dist/store/tcp_store.h"
#include "python/bind_dist/bind_dist.h"

namespace cresset::python {

namespace {

using distributed::Bytes;
using distributed::Store;
using StorePtr = intrusive_ptr<Store>;

// A store whose methods are those of a Python object.
class PythonStore final : public Store {
 public:
  explicit PythonStore(PyObject* o) : object_(share_object(o)) {}
  void set(const std::string& key, const Bytes& value) override {
    const Gil locked;
    const Ref bytes(result(value));
    if (!Ref(PyObject_CallMethod(object_.get(), "set", "sO", key.c_str(), bytes.get()))) throw_python_error("store: set");
  }
  Bytes get(const std::string& key) override {
    const Gil locked;
    return distributed::to_bytes(text(Ref(PyObject_CallMethod(object_.get(), "get", "s", key.c_str())), "get"));
  }
  int64_t add(const std::string& key, int64_t amount) override {
    const Gil locked;
    return number(Ref(PyObject_CallMethod(object_.get(), "add", "sL", key.c_str(), static_cast<long long>(amount))), "add");
  }
  Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) override {
    const Gil locked;
    const Ref a(result(expected)), b(result(desired));
    return distributed::to_bytes(text(Ref(PyObject_CallMethod(object_.get(), "compare_set", "sOO", key.c_str(), a.get(), b.get())), "compare_set"));
  }
  bool check(const std::vector<std::string>& keys) override {
    const Gil locked;
    const Ref list(result(keys));
    return truth(Ref(PyObject_CallMethod(object_.get(), "check", "O", list.get())), "check");
  }
  bool deleteKey(const std::string& key) override {
    const Gil locked;
    return truth(Ref(PyObject_CallMethod(object_.get(), "delete_key", "s", key.c_str())), "delete_key");
  }
  int64_t getNumKeys() override {
    const Gil locked;
    return number(Ref(PyObject_CallMethod(object_.get(), "num_keys", nullptr)), "num_keys");
  }
  void wait(const std::vector<std::string>& keys, const Timeout& timeout) override {
    const Gil locked;
    const Ref list(result(keys)), module(PyImport_ImportModule("datetime"));
    const Ref time(module ? PyObject_CallMethod(module.get(), "timedelta", "iid", 0, 0, static_cast<double>(timeout.count()) * 1000.0) : nullptr);
    if (!time || !Ref(PyObject_CallMethod(object_.get(), "wait", "OO", list.get(), time.get()))) throw_python_error("store: wait");
  }
  intrusive_ptr<Store> clone() override {
    const Gil locked;
    return make_intrusive<PythonStore>(object_.get());
  }

 private:
  static std::string text(const Ref& o, const char* method) {
    if (!o) throw_python_error(method);
    return Arguments::text_of(o.get());
  }
  static int64_t number(const Ref& o, const char* method) {
    const long long n = o ? PyLong_AsLongLong(o.get()) : -1;
    if (!o || (n == -1 && PyErr_Occurred())) throw_python_error(method);
    return n;
  }
  static bool truth(const Ref& o, const char* method) {
    const int t = o ? PyObject_IsTrue(o.get()) : -1;
    if (t < 0) throw_python_error(method);
    return t != 0;
  }
  const SharedObject object_;
};

PyMethodDef store_methods[] = {
    entry<Store, 2, [](StorePtr s, Arguments& a) { return [s, k = a.text(), v = a.bytes()] { s->set(k, v); }; }>("set"),
    entry<Store, 1, [](StorePtr s, Arguments& a) { return [s, k = a.text()] { return s->get(k); }; }>("get"),
    entry<Store, 2, [](StorePtr s, Arguments& a) { return [s, k = a.text(), n = a.integer()] { return s->add(k, n); }; }>("add"),
    entry<Store, 3, [](StorePtr s, Arguments& a) { return [s, k = a.text(), e = a.bytes(), d = a.bytes()] { return s->compareSet(k, e, d); }; }>("compare_set"),
    entry<Store, 1, [](StorePtr s, Arguments& a) { return [s, k = a.texts()] { return s->check(k); }; }>("check"),
    entry<Store, 1, [](StorePtr s, Arguments& a) { return [s, k = a.text()] { return s->deleteKey(k); }; }>("delete_key"),
    entry<Store, 0, [](StorePtr s, Arguments&) { return [s] { return s->getNumKeys(); }; }>("num_keys"),
    entry<Store, 2, [](StorePtr s, Arguments& a) { return [s, k = a.texts(), t = a.time()] { s->wait(k, t); }; }>("wait"),
    entry<Store, 0, [](StorePtr s, Arguments&) { return [s] { return static_cast<int64_t>(s->getTimeout().count()); }; }>("timeout"),
    entry<Store, 1, [](StorePtr s, Arguments& a) { return [s, t = a.time()] { s->setTimeout(t); }; }>("set_timeout"),
    entry<Store, 0, [](StorePtr s, Arguments&) { return [s] { return s->hasExtendedApi(); }; }>("has_extended_api"),
    entry<Store, 2, [](StorePtr s, Arguments& a) { return [s, k = a.text(), v = a.bytes()] { s->append(k, v); }; }>("append"),
    entry<Store, 1, [](StorePtr s, Arguments& a) { return [s, k = a.texts()] { return s->multiGet(k); }; }>("multi_get"),
    entry<Store, 2,
          [](StorePtr s, Arguments& a) {
            std::vector<std::string> keys = a.texts();
            std::vector<Bytes> values;
            for (const std::string& v : a.texts()) values.push_back(distributed::to_bytes(v));
            return [s, keys, values] { s->multiSet(keys, values); };
          }>("multi_set"),
    entry<Store, 2, [](StorePtr s, Arguments& a) { return [s, k = a.text(), v = a.bytes()] { s->queuePush(k, v); }; }>("queue_push"),
    entry<Store, 2, [](StorePtr s, Arguments& a) { return [s, k = a.text(), b = a.truth()] { return s->queuePop(k, b); }; }>("queue_pop"),
    entry<Store, 1, [](StorePtr s, Arguments& a) { return [s, k = a.text()] { return s->queueLen(k); }; }>("queue_len"),
    entry<Store, 0, [](StorePtr s, Arguments&) { return [s] { return s->listKeys(); }; }>("list_keys"),
    entry<Store, 3, [](StorePtr s, Arguments& a) { return [s, n = a.text(), o = a.text(), t = a.time()] { return s->acquireLease(n, o, t); }; }>(
        "acquire_lease"),
    entry<Store, 2, [](StorePtr s, Arguments& a) { return [s, n = a.text(), o = a.text()] { return s->releaseLease(n, o); }; }>("release_lease"),
    entry<Store, 0, [](StorePtr s, Arguments&) { return [s] { return s->clone(); }; }>("clone"),
    entry<Store, 0, [](StorePtr s, Arguments&) { return [s] { return s->ownHost(); }; }>("own_host"),
    entry<Store, 0,
          [](StorePtr s, Arguments&) {
            return [s] {
              const auto* tcp = dynamic_cast<const distributed::TCPStore*>(s.get());
              return static_cast<int64_t>(tcp ? tcp->getPort() : 0);
            };
          }>("port"),
    {}};

// tcp_store(host, port, world_size, is_master, wait_for_workers, timeout, multi_tenant); a world_size of 0 or less is not known
PyObject* tcp_store(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("TCPStore", args, count, 7);
    distributed::TCPStoreOptions o;
    const std::string host = a.text();
    const int64_t port = a.integer();
    CRESSET_CHECK_VALUE(port >= 0 && port < 65536, "TCPStore: expected a port in [0, 65535], got ", port);
    o.port = static_cast<uint16_t>(port);
    const int64_t workers = a.integer();
    if (workers > 0) o.numWorkers = static_cast<size_t>(workers);
    o.isServer = a.truth();
    o.waitWorkers = a.truth();
    o.timeout = a.time();
    o.multiTenant = a.truth();
    return hold<Store>(without_interpreter([&] { return make_intrusive<distributed::TCPStore>(host, o); }));
  });
}
// hash_store(timeout)
PyObject* hash_store(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] { return hold<Store>(make_intrusive<distributed::HashStore>(Arguments("HashStore", args, count, 1).time())); });
}
// file_store(path, world_size, timeout)
PyObject* file_store(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("FileStore", args, count, 3);
    const std::string path = a.text();
    const int64_t world_size = a.integer();
    return hold<Store>(make_intrusive<distributed::FileStore>(path, world_size, a.time()));
  });
}
// prefix_store(prefix, store)
PyObject* prefix_store(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("PrefixStore", args, count, 2);
    const std::string prefix = a.text();
    return hold<Store>(make_intrusive<distributed::PrefixStore>(prefix, held<Store>(a.object())));
  });
}
// etcd_store(endpoints, prefix, timeout, life); the life in seconds
PyObject* etcd_store(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("EtcdStore", args, count, 4);
    distributed::EtcdStoreOptions o;
    o.endpoints = a.text();
    o.prefix = a.text();
    o.timeout = a.time();
    o.life = std::chrono::seconds(a.integer());
    return hold<Store>(without_interpreter([&] { return distributed::open_etcd_store(o); }));
  });
}
PyObject* etcd_is_available(PyObject*, PyObject*) {
  return guarded([&] { return PyBool_FromLong(distributed::etcd_available()); });
}
PyObject* python_store(PyObject*, PyObject* o) {
  return guarded([&] { return hold<Store>(make_intrusive<PythonStore>(o)); });
}

PyMethodDef functions[] = {{"tcp_store", reinterpret_cast<PyCFunction>(tcp_store), METH_FASTCALL, nullptr},
                           {"hash_store", reinterpret_cast<PyCFunction>(hash_store), METH_FASTCALL, nullptr},
                           {"file_store", reinterpret_cast<PyCFunction>(file_store), METH_FASTCALL, nullptr},
                           {"prefix_store", reinterpret_cast<PyCFunction>(prefix_store), METH_FASTCALL, nullptr},
                           {"etcd_store", reinterpret_cast<PyCFunction>(etcd_store), METH_FASTCALL, nullptr},
                           {"etcd_available", etcd_is_available, METH_NOARGS, nullptr},
                           {"python_store", python_store, METH_O, nullptr},
                           {}};

}  // namespace

bool add_stores(PyObject* module) { return add_held<Store>(module, "_cresset_dist._Store", store_methods) && PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
