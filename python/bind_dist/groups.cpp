// Process groups, and the operations that were begun in them.

#include "cresset/dist/elastic/environment.h"
#include "cresset/dist/group/process_group.h"
#include "cresset/dist/transport/debug.h"
#include "cresset/dist/transport/providers.h"
#include "python/bind_dist/bind_dist.h"

namespace cresset::python {

namespace {

using namespace distributed;
using Group = intrusive_ptr<EngineGroup>;

// The last two arguments of a collective: whether it is asynchronous, and its timeout in milliseconds (0: the group's).
std::chrono::milliseconds timeout(Arguments& a) {
  const auto time = a.time();
  return time.count() > 0 ? time : kUnsetTimeout;
}
template <class O> O options(Arguments& a) {
  O o;
  o.asyncOp = a.truth();
  o.timeout = timeout(a);
  return o;
}
ReduceOp reduction(Arguments& a) { return static_cast<ReduceOp::RedOpType>(a.integer()); }

std::vector<std::vector<Tensor>> lists(Arguments& a) {
  const Ref outer = checked(PySequence_Fast(a.object(), "expected a list of lists of tensors"));
  std::vector<std::vector<Tensor>> all;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(outer.get()); i++) all.push_back(tensor_list(PySequence_Fast_GET_ITEM(outer.get(), i)));
  return all;
}

template <class O, auto kMethod> auto with_lists(Group g, Arguments& a) {
  Tensors out = a.tensors(), in = a.tensors();
  const O o = options<O>(a);
  return [g, out, in, o]() mutable { return ((*g).*kMethod)(out, in, o); };
}

PyMethodDef group_methods[] = {
    entry<EngineGroup, 0, [](Group g, Arguments&) { return [g] { return g->getRank(); }; }>("rank"),
    entry<EngineGroup, 0, [](Group g, Arguments&) { return [g] { return g->getSize(); }; }>("size"),
    entry<EngineGroup, 0, [](Group g, Arguments&) { return [g] { return g->engine(); }; }>("engine"),
    entry<EngineGroup, 0, [](Group g, Arguments&) { return [g] { return static_cast<int64_t>(g->getTimeout().count()); }; }>("timeout"),
    entry<EngineGroup, 1, [](Group g, Arguments& a) { return [g, t = a.time()] { g->setTimeout(t); }; }>("set_timeout"),
    entry<EngineGroup, 0, [](Group g, Arguments&) { return [g] { g->abort(); }; }>("abort"),
    entry<EngineGroup, 0, [](Group g, Arguments&) { return [g] { g->shutdown(); }; }>("shutdown"),
    entry<EngineGroup, 4,
          [](Group g, Arguments& a) {
            Tensors t = {a.tensor()};
            const ReduceOp op = reduction(a);
            auto o = options<AllreduceOptions>(a);
            o.reduceOp = op;
            return [g, t, o]() mutable { return g->allreduce(t, o); };
          }>("allreduce"),
    entry<EngineGroup, 4,
          [](Group g, Arguments& a) {
            Tensors t = a.tensors();
            const ReduceOp op = reduction(a);
            auto o = options<AllreduceCoalescedOptions>(a);
            o.reduceOp = op;
            return [g, t, o]() mutable { return g->allreduce_coalesced(t, o); };
          }>("allreduce_coalesced"),
    entry<EngineGroup, 5,
          [](Group g, Arguments& a) {
            Tensors t = {a.tensor()};
            const int64_t root = a.integer();
            const ReduceOp op = reduction(a);
            auto o = options<ReduceOptions>(a);
            o.reduceOp = op;
            o.rootRank = root;
            return [g, t, o]() mutable { return g->reduce(t, o); };
          }>("reduce"),
    entry<EngineGroup, 4,
          [](Group g, Arguments& a) {
            Tensors t = {a.tensor()};
            const int64_t root = a.integer();
            auto o = options<BroadcastOptions>(a);
            o.rootRank = root;
            return [g, t, o]() mutable { return g->broadcast(t, o); };
          }>("broadcast"),
    entry<EngineGroup, 4,
          [](Group g, Arguments& a) {
            TensorLists out = {a.tensors()};
            Tensors in = {a.tensor()};
            const auto o = options<AllgatherOptions>(a);
            return [g, out, in, o]() mutable { return g->allgather(out, in, o); };
          }>("allgather"),
    entry<EngineGroup, 4,
          [](Group g, Arguments& a) {
            Tensor out = a.tensor(), in = a.tensor();
            const auto o = options<AllgatherOptions>(a);
            return [g, out, in, o]() mutable { return g->_allgather_base(out, in, o); };
          }>("allgather_base"),
    entry<EngineGroup, 4,
          [](Group g, Arguments& a) {
            TensorLists out = lists(a);
            Tensors in = a.tensors();
            const auto o = options<AllgatherOptions>(a);
            return [g, out, in, o]() mutable { return g->allgather_coalesced(out, in, o); };
          }>("allgather_coalesced"),
    entry<EngineGroup, 4, with_lists<AllgatherOptions, &EngineGroup::allgather_into_tensor_coalesced>>("allgather_into_tensor_coalesced"),
    entry<EngineGroup, 5,
          [](Group g, Arguments& a) {
            Tensors list = a.tensors(), in = {a.tensor()};
            const int64_t root = a.integer();
            auto o = options<GatherOptions>(a);
            o.rootRank = root;
            TensorLists out;
            if (!list.empty() || g->getRank() == root) out.push_back(list);
            return [g, out, in, o]() mutable { return g->gather(out, in, o); };
          }>("gather"),
    entry<EngineGroup, 5,
          [](Group g, Arguments& a) {
            Tensors out = {a.tensor()}, list = a.tensors();
            const int64_t root = a.integer();
            auto o = options<ScatterOptions>(a);
            o.rootRank = root;
            TensorLists in;
            if (!list.empty() || g->getRank() == root) in.push_back(list);
            return [g, out, in, o]() mutable { return g->scatter(out, in, o); };
          }>("scatter"),
    entry<EngineGroup, 5,
          [](Group g, Arguments& a) {
            Tensors out = {a.tensor()};
            TensorLists in = {a.tensors()};
            const ReduceOp op = reduction(a);
            auto o = options<ReduceScatterOptions>(a);
            o.reduceOp = op;
            return [g, out, in, o]() mutable { return g->reduce_scatter(out, in, o); };
          }>("reduce_scatter"),
    entry<EngineGroup, 5,
          [](Group g, Arguments& a) {
            Tensor out = a.tensor(), in = a.tensor();
            const ReduceOp op = reduction(a);
            auto o = options<ReduceScatterOptions>(a);
            o.reduceOp = op;
            return [g, out, in, o]() mutable { return g->_reduce_scatter_base(out, in, o); };
          }>("reduce_scatter_base"),
    entry<EngineGroup, 5,
          [](Group g, Arguments& a) {
            Tensors out = a.tensors(), in = a.tensors();
            const ReduceOp op = reduction(a);
            auto o = options<ReduceScatterOptions>(a);
            o.reduceOp = op;
            return [g, out, in, o]() mutable { return g->reduce_scatter_tensor_coalesced(out, in, o); };
          }>("reduce_scatter_tensor_coalesced"),
    entry<EngineGroup, 4, with_lists<AllToAllOptions, &EngineGroup::alltoall>>("alltoall"),
    entry<EngineGroup, 6,
          [](Group g, Arguments& a) {
            Tensor out = a.tensor(), in = a.tensor();
            std::vector<int64_t> out_sizes = a.integers(), in_sizes = a.integers();
            const auto o = options<AllToAllOptions>(a);
            return [g, out, in, out_sizes, in_sizes, o]() mutable { return g->alltoall_base(out, in, out_sizes, in_sizes, o); };
          }>("alltoall_base"),
    entry<EngineGroup, 2, [](Group g, Arguments& a) { return [g, o = options<BarrierOptions>(a)] { return g->barrier(o); }; }>("barrier"),
    entry<EngineGroup, 2,
          [](Group g, Arguments& a) {
            BarrierOptions o;
            o.timeout = timeout(a);
            return [g, o, all = a.truth()] { g->monitoredBarrier(o, all); };
          }>("monitored_barrier"),
    entry<EngineGroup, 3,
          [](Group g, Arguments& a) {
            Tensors t = {a.tensor()};
            return [g, t, to = static_cast<int>(a.integer()), tag = static_cast<int>(a.integer())]() mutable { return g->send(t, to, tag); };
          }>("send"),
    // From any rank where it is -1.
    entry<EngineGroup, 3,
          [](Group g, Arguments& a) {
            Tensors t = {a.tensor()};
            return [g, t, from = static_cast<int>(a.integer()), tag = static_cast<int>(a.integer())]() mutable {
              return from < 0 ? g->recvAnysource(t, tag) : g->recv(t, from, tag);
            };
          }>("recv"),
    {}};

// The calls of a group as dicts.
PyObject* group_records(PyObject*, PyObject* o) {
  return guarded([&] {
    const Group g = held<EngineGroup>(o);
    const auto records = without_interpreter([&] { return g->records(); });
    Ref list = checked(PyList_New(0));
    for (const CallRecord& r : records) {
      const Ref sizes(Py_BuildValue("[]"));
      for (const int64_t n : r.output_sizes.at(0)) PyList_Append(sizes.get(), checked(PyLong_FromLongLong(n)).get());
      const Ref entry = checked(Py_BuildValue("{s:K,s:s,s:s,s:s,s:O,s:L,s:L,s:L}", "sequence", static_cast<unsigned long long>(r.sequence), "operation",
                                              r.operation.c_str(), "state", r.state.c_str(), "dtype", dtype_name(r.dtype), "sizes", sizes.get(), "created_ns",
                                              static_cast<long long>(r.created_ns), "started_ns", static_cast<long long>(r.started_ns), "ended_ns",
                                              static_cast<long long>(r.ended_ns)));
      PyList_Append(list.get(), entry.get());
    }
    return list.release();
  });
}

PyMethodDef work_methods[] = {entry<Work, 0, [](WorkPtr w, Arguments&) { return [w] { return w->isCompleted(); }; }>("is_completed"),
                              entry<Work, 0, [](WorkPtr w, Arguments&) { return [w] { return w->isSuccess(); }; }>("is_success"),
                              entry<Work, 1, [](WorkPtr w, Arguments& a) { return [w, t = a.time()] { return w->wait(t); }; }>("wait"),
                              entry<Work, 0, [](WorkPtr w, Arguments&) { return [w] { return w->sourceRank(); }; }>("source_rank"),
                              entry<Work, 0, [](WorkPtr w, Arguments&) { return [w] { return w->result(); }; }>("result"),
                              // Calls a function without arguments when the operation has ended.
                              entry<Work, 1,
                                    [](WorkPtr w, Arguments& a) {
                                      return [w, f = share_object(a.object())] {
                                        w->addCallback([f] {
                                          const Gil locked;
                                          if (!Ref(PyObject_CallNoArgs(f.get()))) PyErr_WriteUnraisable(f.get());
                                        });
                                      };
                                    }>("on_end"),
                              {}};

// process_group(store, rank, size, timeout, engine)
PyObject* process_group(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("ProcessGroup", args, count, 5);
    const intrusive_ptr<Store> store = held<Store>(a.object());
    const auto rank = static_cast<int>(a.integer()), size = static_cast<int>(a.integer());
    EngineGroupOptions o;
    o.timeout = a.time();
    o.engine = a.text();
    return hold<EngineGroup>(without_interpreter([&] { return make_intrusive<EngineGroup>(store, rank, size, o); }));
  });
}
// mpi_job(timeout): the rank that mpirun gives, the number of ranks, the store's host, and the store.
PyObject* place_in_mpi_job(PyObject*, PyObject* time) {
  return guarded([&] {
    const int64_t milliseconds = PyLong_AsLongLong(time);
    if (milliseconds == -1 && PyErr_Occurred()) throw PythonError();
    MpiJob job = without_interpreter([&] { return mpi_job(std::chrono::milliseconds(milliseconds)); });
    return Py_BuildValue("iisN", job.rank, job.size, job.host.c_str(), hold<Store>(std::move(job.store)));
  });
}
PyObject* engine_is_available(PyObject*, PyObject* name) {
  return guarded([&] { return PyBool_FromLong(engine_available(Arguments::text_of(name))); });
}
PyObject* get_debug_level(PyObject*, PyObject*) {
  return guarded([&] { return PyLong_FromLong(static_cast<long>(debug_level())); });
}
PyObject* put_debug_level(PyObject*, PyObject* level) {
  return guarded([&] {
    if (level == Py_None) set_debug_level_from_environment();
    else set_debug_level(static_cast<DebugLevel>(PyLong_AsLong(level)));
    return Py_NewRef(Py_None);
  });
}

PyMethodDef functions[] = {{"process_group", reinterpret_cast<PyCFunction>(process_group), METH_FASTCALL, nullptr},
                           {"records", group_records, METH_O, nullptr},
                           {"mpi_job", place_in_mpi_job, METH_O, nullptr},
                           {"engine_available", engine_is_available, METH_O, nullptr},
                           {"debug_level", get_debug_level, METH_NOARGS, nullptr},
                           {"set_debug_level", put_debug_level, METH_O, "A level, or None for that of the environment."},
                           {}};

}  // namespace

bool add_groups(PyObject* module) {
  return add_held<EngineGroup>(module, "_cresset_dist._ProcessGroup", group_methods) && add_held<Work>(module, "_cresset_dist._Work", work_methods) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
