// The rounds in which launchers meet.

#include "cresset/dist/elastic/rendezvous.h"
#include "python/bind_dist/bind_dist.h"

namespace cresset::python {

namespace {

using distributed::Heart;
using distributed::Store;

// A launcher's part in the rounds of its job, and the store of the processes that it serves.
struct Launcher final : RefCounted {
  std::unique_ptr<distributed::Rendezvous> rounds;
  intrusive_ptr<distributed::TCPStore> served;
};
using LauncherPtr = intrusive_ptr<Launcher>;

PyObject* error_classes = nullptr;  // name to class

bool set_rendezvous_error(const std::exception& error) {
  const char* name = dynamic_cast<const distributed::RendezvousClosedError*>(&error)    ? "closed"
                     : dynamic_cast<const distributed::RendezvousTimeoutError*>(&error) ? "timeout"
                     : dynamic_cast<const distributed::DistNetworkError*>(&error)       ? "connection"
                     : dynamic_cast<const ValueError*>(&error)                          ? "state"
                                                                                        : nullptr;
  PyObject* const cls = name && error_classes ? PyDict_GetItemString(error_classes, name) : nullptr;
  if (!cls) return false;
  PyErr_SetString(cls, error.what());
  return true;
}
// Runs `body` with the errors of rendezvous as Python's classes of them.
template <class F> PyObject* in_rendezvous(F&& body) {
  return guarded([&]() -> PyObject* {
    try {
      return body();
    } catch (const PythonError&) { throw; } catch (const std::exception& e) {
      if (!set_rendezvous_error(e)) throw;
      return nullptr;
    }
  });
}

PyObject* set_rendezvous_errors(PyObject*, PyObject* classes) {
  if (!PyDict_Check(classes)) return PyErr_Format(PyExc_TypeError, "set_rendezvous_errors: expected a dict, got %s", Py_TYPE(classes)->tp_name);
  Py_INCREF(classes);
  Py_XSETREF(error_classes, classes);
  Py_RETURN_NONE;
}

// (place, hosts): a store, or the text of endpoints with who serves: 0 this launcher must not, 1 it must, -1 where it can.
distributed::RendezvousConnect connect_of(Arguments& a, std::chrono::milliseconds read_timeout) {
  PyObject* const place = a.object();
  const int64_t hosts = a.integer();
  if (holds<Store>(place))
    return [store = held<Store>(place)](std::chrono::milliseconds time) {
      const auto asked = distributed::brief(store);
      asked->setTimeout(std::clamp(time, asked->getTimeout(), store->getTimeout()));
      asked->getNumKeys();  // a lost one is an error here
      return store;
    };
  const std::string text = Arguments::text_of(place);
  return without_interpreter([&] {
    const auto serves = hosts < 0 ? std::nullopt : std::optional<bool>(hosts == 1);
    const auto try_time = std::min<std::chrono::milliseconds>(read_timeout, std::chrono::seconds(2));
    const auto endpoints = std::make_shared<distributed::Endpoints>(distributed::parse_endpoints(text), try_time, serves);
    endpoints->set_store_timeout(read_timeout);
    return distributed::connect_at(endpoints);
  });
}

// rendezvous(place, hosts, run_id, least, most, join_timeout, connect_timeout, last_call, beat, missed_beats)
PyObject* rendezvous(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return in_rendezvous([&] {
    Arguments a("rendezvous", args, count, 10);
    distributed::RendezvousOptions o;
    Arguments rest("rendezvous", args + 2, 8, 8);
    o.launcher = "torchrun";
    o.run_id = rest.text();
    o.min_nodes = static_cast<int>(rest.integer());
    o.max_nodes = static_cast<int>(rest.integer());
    o.join_timeout = rest.time();
    o.connect_timeout = rest.time();
    o.last_call = rest.time();
    o.beat = rest.time();
    o.missed_beats = static_cast<int>(rest.integer());
    const auto connect = connect_of(a, o.connect_timeout);
    auto launcher = make_intrusive<Launcher>();
    without_interpreter([&] { launcher->rounds = std::make_unique<distributed::Rendezvous>(connect, o); });
    return hold<Launcher>(launcher);
  });
}

// next(): (rank, size, store); signals are handled meanwhile
PyObject* next(PyObject* self, PyObject*) {
  return in_rendezvous([&]() -> PyObject* {
    const LauncherPtr launcher = held<Launcher>(self);
    const distributed::Round round = without_interpreter([&] {
      return launcher->rounds->next([] {
        const Gil locked;
        if (PyErr_CheckSignals() < 0) throw PythonError();
        return false;
      });
    });
    return Py_BuildValue("(iiN)", round.rank, round.size, hold<Store>(round.store));
  });
}
// process_store(rank, size, store, host, timeout): (host, port); an empty host: the address by which the store reaches this launcher
PyObject* process_store(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return in_rendezvous([&]() -> PyObject* {
    const LauncherPtr launcher = held<Launcher>(self);
    Arguments a("process_store", args, count, 5);
    distributed::Round round;
    round.rank = static_cast<int>(a.integer());
    round.size = static_cast<int>(a.integer());
    round.store = held<Store>(a.object());
    std::string host = a.text();
    const auto time = a.time();
    auto found = without_interpreter([&] {
      launcher->served = nullptr;
      return distributed::process_store(round, host.empty() ? round.store->ownHost() : host, time);
    });
    launcher->served = std::move(found.served);
    return Py_BuildValue("(s#i)", found.host.data(), static_cast<Py_ssize_t>(found.host.size()), static_cast<int>(found.port));
  });
}

// heart(store, rank, beat): kept as long as this node lives in a round whose store that is
PyObject* heart(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return in_rendezvous([&] {
    Arguments a("heart", args, count, 3);
    distributed::Round round;
    round.store = held<Store>(a.object());
    round.rank = static_cast<int>(a.integer());
    const auto beat = a.time();
    return hold<Heart>(without_interpreter([&] { return distributed::show_life(round, beat); }));
  });
}
// end_together(rank, size, store, life, timeout, warn, stop): `warn` is called with text, `stop` for whether the wait ends; signals are handled meanwhile
PyObject* end_together(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return in_rendezvous([&]() -> PyObject* {
    Arguments a("end_together", args, count, 7);
    distributed::Round round;
    round.rank = static_cast<int>(a.integer());
    round.size = static_cast<int>(a.integer());
    round.store = held<Store>(a.object());
    distributed::EndOptions o;
    o.life = a.time();
    o.timeout = a.time();
    o.warn = [warn = a.object()](const std::string& text) {
      const Gil locked;
      if (!Ref(PyObject_CallFunction(warn, "s#", text.data(), static_cast<Py_ssize_t>(text.size())))) throw PythonError();
    };
    o.stop = [stop = a.object()] {
      const Gil locked;
      if (PyErr_CheckSignals() < 0) throw PythonError();
      const Ref found(PyObject_CallNoArgs(stop));
      const int truth = found ? PyObject_IsTrue(found.get()) : -1;
      if (truth < 0) throw PythonError();
      return truth == 1;
    };
    without_interpreter([&] { distributed::end_together(round, o); });
    Py_RETURN_NONE;
  });
}

PyMethodDef heart_methods[] = {{}};
PyMethodDef launcher_methods[] = {{"next", next, METH_NOARGS, nullptr},
                                  {"process_store", reinterpret_cast<PyCFunction>(process_store), METH_FASTCALL, nullptr},
                                  entry<Launcher, 0, [](LauncherPtr l, Arguments&) { return [l] { return l->rounds->waiting(); }; }>("waiting"),
                                  entry<Launcher, 0, [](LauncherPtr l, Arguments&) { return [l] { return l->rounds->closed(); }; }>("closed"),
                                  entry<Launcher, 0, [](LauncherPtr l, Arguments&) { return [l] { return l->rounds->close(); }; }>("close"),
                                  {}};
PyMethodDef functions[] = {{"heart", reinterpret_cast<PyCFunction>(heart), METH_FASTCALL, nullptr},
                           {"end_together", reinterpret_cast<PyCFunction>(end_together), METH_FASTCALL, nullptr},
                           {"rendezvous", reinterpret_cast<PyCFunction>(rendezvous), METH_FASTCALL, nullptr},
                           {"set_rendezvous_errors", set_rendezvous_errors, METH_O, "The classes of errors of rendezvous, by kind."},
                           {}};

}  // namespace

bool add_rendezvous(PyObject* module) {
  return add_held<Launcher>(module, "_cresset_dist._Launcher", launcher_methods) && add_held<Heart>(module, "_cresset_dist._Heart", heart_methods) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
