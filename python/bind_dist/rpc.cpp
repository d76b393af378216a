// Workers of RPC: connections, requests and references of C++; objects and functions are those of Python (cresset/distributed/rpc).

#include "cresset/dist/rpc/endpoint.h"
#include "python/bind_dist/bind_dist.h"

namespace cresset::python {

namespace {

using distributed::rpc::Endpoint;
using distributed::rpc::ReferenceId;

struct Worker final : RefCounted {
  std::shared_ptr<Endpoint> endpoint;
};
using WorkerPtr = intrusive_ptr<Worker>;

ReferenceId id_of(Arguments& a) {
  const int64_t worker = a.integer();
  return {worker, a.integer()};
}

// Calls a Python function on a thread of the library. No caller waits there for an error: the function itself answers.
void call(const SharedObject& f, PyObject* arguments) {
  const Ref owned(arguments);
  const Ref done(owned ? PyObject_CallObject(f.get(), owned.get()) : nullptr);
  if (!done) PyErr_WriteUnraisable(f.get());
}

// rpc_worker(store, name, rank, size, serve): `serve(ticket, request)` is called on threads of its own.
PyObject* rpc_worker(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("rpc_worker", args, count, 5);
    const intrusive_ptr<distributed::Store> store = held<distributed::Store>(a.object());
    const std::string name = a.text();
    const auto rank = static_cast<int>(a.integer()), size = static_cast<int>(a.integer());
    auto worker = make_intrusive<Worker>();
    worker->endpoint = without_interpreter([&, serve = share_object(a.object())] {
      return Endpoint::open(store, name, rank, size, [serve](uint64_t ticket, const std::string& request) {
        if (!Py_IsInitialized()) return;
        const Gil locked;
        call(serve, Py_BuildValue("(Ky#)", static_cast<unsigned long long>(ticket), request.data(), static_cast<Py_ssize_t>(request.size())));
      });
    });
    return hold<Worker>(worker);
  });
}

// ask(to, request, milliseconds, done): `done(answer, error)` is called on a thread of its own with bytes or the text of an error, the other None.
PyObject* ask(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    Arguments a("ask", args, count, 4);
    const auto endpoint = held<Worker>(self)->endpoint;
    const auto to = static_cast<int>(a.integer());
    const std::string request = a.text();
    const auto time = a.time();
    without_interpreter([&, done = share_object(a.object())] {
      endpoint->agent().ask(to, request, time, [done](const std::string& answer, const std::exception_ptr& error) {
        std::string reason;
        try {
          if (error) std::rethrow_exception(error);
        } catch (const std::exception& e) { reason = e.what(); }
        if (!Py_IsInitialized()) return;
        const Gil locked;
        call(done, error ? Py_BuildValue("(Os#)", Py_None, reason.data(), static_cast<Py_ssize_t>(reason.size()))
                         : Py_BuildValue("(y#O)", answer.data(), static_cast<Py_ssize_t>(answer.size()), Py_None));
      });
    });
    Py_RETURN_NONE;
  });
}

// keep(worker, number, object)
PyObject* keep(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    Arguments a("keep", args, count, 4);
    const auto& endpoint = held<Worker>(self)->endpoint;
    const ReferenceId id = id_of(a);
    const int64_t holder = a.integer();
    endpoint->references().keep(id, share_object(a.object()), holder);
    Py_RETURN_NONE;
  });
}
// value(worker, number)
PyObject* value(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("value", args, count, 2);
    const auto found = held<Worker>(self)->endpoint->references().value(id_of(a));
    return Py_NewRef(static_cast<PyObject*>(found.get()));
  });
}

PyMethodDef methods[] = {
    entry<Worker, 0,
          [](WorkerPtr w, Arguments&) {
            return [w] {
              std::vector<std::string> names;
              for (const auto& worker : w->endpoint->agent().workers()) names.push_back(worker.name_);
              return names;
            };
          }>("names"),
    entry<Worker, 2,
          [](WorkerPtr w, Arguments& a) {
            return [w, ticket = static_cast<uint64_t>(a.integer()), answer = a.text()] { w->endpoint->agent().reply(ticket, answer); };
          }>("reply"),
    entry<Worker, 1, [](WorkerPtr w, Arguments& a) { return [w, t = a.time()] { return w->endpoint->agent().wait_idle(t); }; }>("wait_idle"),
    entry<Worker, 2, [](WorkerPtr w, Arguments& a) { return [w, point = a.text(), t = a.time()] { w->endpoint->agent().meet(point, t); }; }>("meet"),
    entry<Worker, 0, [](WorkerPtr w, Arguments&) { return [w] { w->endpoint->agent().close(); }; }>("close"),
    entry<Worker, 0, [](WorkerPtr w, Arguments&) { return [w] { return w->endpoint->new_id().second; }; }>("new_number"),
    entry<Worker, 0, [](WorkerPtr w, Arguments&) { return [w] { return static_cast<int64_t>(w->endpoint->reference_count()); }; }>("reference_count"),
    entry<Worker, 4,
          [](WorkerPtr w, Arguments& a) {
            return [w, owner = static_cast<int>(a.integer()), id = id_of(a), t = a.time()] { w->endpoint->share(owner, id, t); };
          }>("share"),
    entry<Worker, 4,
          [](WorkerPtr w, Arguments& a) {
            return [w, owner = static_cast<int>(a.integer()), id = id_of(a), from = a.integer()] { w->endpoint->adopt(owner, id, from); };
          }>("adopt"),
    entry<Worker, 3, [](WorkerPtr w, Arguments& a) { return [w, owner = static_cast<int>(a.integer()), id = id_of(a)] { w->endpoint->release(owner, id); }; }>(
        "release"),
    {"ask", reinterpret_cast<PyCFunction>(ask), METH_FASTCALL, nullptr},
    {"keep", reinterpret_cast<PyCFunction>(keep), METH_FASTCALL, nullptr},
    {"value", reinterpret_cast<PyCFunction>(value), METH_FASTCALL, nullptr},
    {}};

PyMethodDef functions[] = {{"rpc_worker", reinterpret_cast<PyCFunction>(rpc_worker), METH_FASTCALL, nullptr}, {}};

}  // namespace

bool add_rpc(PyObject* module) { return add_held<Worker>(module, "_cresset_dist._RpcWorker", methods) && PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
