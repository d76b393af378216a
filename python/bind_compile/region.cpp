#include "python/bind_compile/region.h"

namespace cresset::compile {

namespace {

struct EntryObject {
  PyObject_HEAD Entry* entry;
};
struct RegionObject {
  PyObject_HEAD Region* region;
};

PyTypeObject *entry_type = nullptr, *region_type = nullptr;
PyObject* null_marker = nullptr;        // stands for null where Python sees variables and stacks
PyObject* trap_marker = nullptr;        // the constant that a trap returns where it may not take a value off the stack
thread_local Region* active = nullptr;  // whose frames this thread runs
int installs = 0;                       // how many regions run, over all threads; the interpreter's lock protects it

PyObject* hook(PyThreadState* thread, _PyInterpreterFrame* frame, int raise);

class Scope {
 public:
  explicit Scope(Region* region) : before_(active) {
    active = region;
    change(before_, region);
  }
  ~Scope() {
    change(active, before_);
    active = before_;
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  static void change(const Region* from, const Region* to) {
    if (!from && to && installs++ == 0) set_frame_hook(hook);
    if (from && !to && --installs == 0) set_frame_hook(nullptr);
  }
  Region* before_;
};

Entry& entry_of(const Ref& o) { return *reinterpret_cast<EntryObject*>(o.get())->entry; }

// ---- running an entry -------------------------------------------------------------------------------------------------------

Ref places(const std::vector<int>& which, const Found& found) {
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(which.size())));
  if (tuple)
    for (size_t i = 0; i < which.size(); i++)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(found[which[i]] ? found[which[i]] : null_marker));
  return tuple;
}

// The results of the graph and of `after`: the result of the function, or a tuple (variables, stack).
Ref compute(Entry& entry, const Found& found) {
  Ref outputs;
  // Taken before the graph runs: it may change what is at the places.
  Ref sources = entry.shape == Shape::General ? places(entry.sources, found) : Ref();
  if (entry.shape == Shape::General && !sources) return Ref();
  if (entry.graph.get() != Py_None) {
    const Ref inputs = places(entry.inputs, found);
    if (!inputs) return Ref();
    outputs = Ref(PyObject_Call(entry.graph.get(), inputs.get(), nullptr));
    if (!outputs) return Ref();
  }
  if (entry.shape == Shape::Tuple && PyTuple_CheckExact(outputs.get())) return outputs;
  if (entry.shape == Shape::One) {
    if ((PyTuple_Check(outputs.get()) || PyList_Check(outputs.get())) && PySequence_Fast_GET_SIZE(outputs.get()) == 1)
      return Ref::share(PySequence_Fast_GET_ITEM(outputs.get(), 0));
  }
  if (!sources) sources = places(entry.sources, found);
  if (!sources) return Ref();
  PyObject* args[2] = {outputs ? outputs.get() : Py_None, sources.get()};
  return Ref(PyObject_Vectorcall(entry.after.get(), args, 2, nullptr));
}

// ---- frames -----------------------------------------------------------------------------------------------------------------

Ref visible(const Frame& frame, bool stack) {
  const int n = stack ? frame.depth() : frame.num_slots();
  Ref tuple(PyTuple_New(n));
  for (int i = 0; tuple && i < n; i++) {
    PyObject* value = stack ? frame.stack(i) : frame.slot(i);
    PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(value ? value : null_marker));
  }
  return tuple;
}

// The entry for a frame at an offset: a known one whose guards hold, or a new one. Null with an error, or for none.
Ref entry_for(Region& region, Frame& frame, int offset, Found& found) {
  const Site site{frame.code(), offset};
  auto& list = region.entries[site];
  for (size_t i = 0; i < list.size(); i++) {
    const auto* guards = reinterpret_cast<GuardsObject*>(entry_of(list[i]).guards.get())->guards;
    if (!guards->hold(frame, found)) continue;
    if (i) std::swap(list[i], list[i - 1]);  // what is used often comes first
    Ref& hit = list[i ? i - 1 : 0];
    entry_of(hit).hits++;
    return Ref::share(hit.get());
  }
  if (!region.compiles) return Ref();
  region.codes.emplace(site.code, Ref::share(reinterpret_cast<PyObject*>(site.code)));
  Ref made;
  {
    Scope none(nullptr);
    const Ref slots = visible(frame, false), stack = visible(frame, true);
    if (!slots || !stack) return Ref();
    made = Ref(PyObject_CallFunction(region.miss.get(), "OOiOO", frame.function(), site.code, offset, slots.get(), stack.get()));
  }
  if (!made) return Ref();
  if (made.get() == Py_None || made.get() == Py_Ellipsis) {
    region.plain[site.code] = made.get() == Py_None;
    return Ref();
  }
  if (made.get() == Py_False) return Ref();  // not this time
  if (Py_TYPE(made.get()) != entry_type) {
    PyErr_SetString(PyExc_TypeError, "torch.compile: expected an Entry");
    return Ref();
  }
  const auto* guards = reinterpret_cast<GuardsObject*>(entry_of(made).guards.get())->guards;
  const bool holds = guards->hold(frame, found);
  region.entries[site].push_back(Ref::share(made.get()));
  if (!holds) {
    // A source has changed while it was captured: the frame runs as it is, and so does the code from the second time on.
    region.entries[site].pop_back();
    if (region.unsteady.insert(site.code).second) return Ref();
    region.plain[site.code] = true;
    const char* name = PyUnicode_AsUTF8(site.code->co_qualname);
    const std::string why = guards->failure(frame);
    PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "torch.compile: %s runs as it is: what it depends on changes while it is captured (%s)",
                     name ? name : "a function", why.c_str());
    return Ref();
  }
  return made;
}

// One instruction as it is; whether the function has ended, with `result`, or goes on at `offset`.
bool step(const Entry& entry, Frame& frame, int& offset, PyObject*& result) {
  const Trap trap{entry.trap, entry.depth, entry.trap_is_constant ? trap_marker : nullptr};
  if (!frame.run_to_trap(reinterpret_cast<PyCodeObject*>(entry.clone.get()), entry.at, trap, result)) return true;
  offset = entry.next;
  return false;
}

bool jump(const Entry& entry, Frame& frame, int& offset) {
  Ref value(frame.pop());
  const int truth = PyObject_IsTrue(value.get());
  if (truth < 0) {
    frame.push(value.release());
    return false;
  }
  const bool taken = (truth == 1) == entry.jump_if;
  if (taken && entry.keep) frame.push(value.release());
  offset = taken ? entry.target : entry.next;
  return true;
}

PyObject* run(Region& region, Frame& frame, int offset) {
  Found found;
  for (;;) {
    Ref entry = entry_for(region, frame, offset, found);
    if (!entry) {
      if (PyErr_Occurred()) return frame.raise_at(offset);
      const auto plain = region.plain.find(frame.code());
      if (plain == region.plain.end() || plain->second) return frame.run_from(offset);
      Scope none(nullptr);
      return frame.run_from(offset);
    }
    Entry& e = entry_of(entry);
    if (e.then == Then::Plain) return frame.run_from(offset);
    Ref value;
    {
      Scope none(nullptr);
      value = compute(e, found);
    }
    reinterpret_cast<GuardsObject*>(e.guards.get())->guards->take_back(found);
    if (!value) return frame.raise_at(offset);
    if (e.then == Then::Return) return frame.finish(value.release(), reinterpret_cast<PyCodeObject*>(e.clone.get()), e.at);
    if (!PyTuple_Check(value.get()) || PyTuple_GET_SIZE(value.get()) != 2 ||
        !frame.set_state(PyTuple_GET_ITEM(value.get(), 0), PyTuple_GET_ITEM(value.get(), 1), null_marker)) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "torch.compile: expected variables and a stack");
      return frame.raise_at(offset);
    }
    value = Ref();
    if (e.then == Then::Jump) {
      if (!jump(e, frame, offset)) return frame.raise_at(e.at);
      continue;
    }
    PyObject* result = nullptr;
    if (step(e, frame, offset, result)) return result;
  }
}

PyObject* hook(PyThreadState* thread, _PyInterpreterFrame* raw, int raise) {
  Region* region = active;
  if (!region || raise) return run_plainly(thread, raw, raise);
  Frame frame(raw);
  PyCodeObject* code = frame.code();
  constexpr int kFunction = CO_OPTIMIZED | CO_NEWLOCALS;
  if ((code->co_flags & kFunction) != kFunction || code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) return run_plainly(thread, raw, raise);
  const auto plain = region->plain.find(code);
  if (plain != region->plain.end()) {
    if (plain->second) return run_plainly(thread, raw, raise);
    Scope none(nullptr);  // nor anything that it calls
    return run_plainly(thread, raw, raise);
  }
  const int start = frame.prologue();
  if (start < 0) return frame.raise_at(0);
  return run(*region, frame, start);
}

// ---- Entry ------------------------------------------------------------------------------------------------------------------

bool read_places(PyObject* list, std::vector<int>& out) {
  if (!PyTuple_Check(list)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); i++) {
    const long n = PyLong_AsLong(PyTuple_GET_ITEM(list, i));
    if (n < 0) return false;
    out.push_back(static_cast<int>(n));
  }
  return true;
}

// Entry(guards, then, graph, inputs, sources, after, shape=0, at=0, trap=0, next=0, target=0, jump_if=False, keep=False, constant=False, clone=None, depth=0)
PyObject* make_entry(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"guards", "then",   "graph",   "inputs", "sources",  "after", "shape", "at",   "trap",
                                "next",   "target", "jump_if", "keep",   "constant", "clone", "depth", nullptr};
  PyObject *guards = nullptr, *graph = nullptr, *inputs = nullptr, *sources = nullptr, *after = nullptr, *clone = Py_None;
  int then = 0, shape = 0, jump_if = 0, keep = 0, constant = 0;
  auto entry = std::make_unique<Entry>();
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!iOOOO|iiiiipppOi", const_cast<char**>(names), guards_type, &guards, &then, &graph, &inputs, &sources,
                                   &after, &shape, &entry->at, &entry->trap, &entry->next, &entry->target, &jump_if, &keep, &constant, &clone, &entry->depth))
    return nullptr;
  const int count = reinterpret_cast<GuardsObject*>(guards)->guards->num_places();
  const bool fits = read_places(inputs, entry->inputs) && read_places(sources, entry->sources);
  const auto known = [&](const std::vector<int>& v) {
    for (const int p : v)
      if (p >= count) return false;
    return true;
  };
  if (!fits || !known(entry->inputs) || !known(entry->sources) || then < 0 || then > static_cast<int>(Then::Plain) || shape < 0 ||
      shape > static_cast<int>(Shape::Tuple) || ((then == static_cast<int>(Then::Step) || then == static_cast<int>(Then::Return)) && !PyCode_Check(clone)) ||
      (shape != 0 && graph == Py_None)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "Entry: expected places of its guards, a kind, a shape and for a step or a return a code object");
    return nullptr;
  }
  entry->guards = Ref::share(guards);
  entry->graph = Ref::share(graph);
  entry->after = Ref::share(after);
  entry->clone = Ref::share(clone);
  entry->then = static_cast<Then>(then);
  entry->shape = static_cast<Shape>(shape);
  entry->jump_if = jump_if != 0;
  entry->keep = keep != 0;
  entry->trap_is_constant = constant != 0;
  auto* self = reinterpret_cast<EntryObject*>(type->tp_alloc(type, 0));
  if (self) self->entry = entry.release();
  return reinterpret_cast<PyObject*>(self);
}
void release_entry(PyObject* self) {
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<EntryObject*>(self)->entry;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
int visit_entry(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const Entry& e = *reinterpret_cast<EntryObject*>(self)->entry;
  Py_VISIT(e.guards.get());
  Py_VISIT(e.graph.get());
  Py_VISIT(e.after.get());
  Py_VISIT(e.clone.get());
  return 0;
}
PyObject* entry_hits(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(reinterpret_cast<EntryObject*>(self)->entry->hits); }
PyObject* entry_guards(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<EntryObject*>(self)->entry->guards.get()); }
PyObject* entry_graph(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<EntryObject*>(self)->entry->graph.get()); }
PyGetSetDef entry_fields[] = {{"hits", entry_hits, nullptr, "How often it ran.", nullptr},
                              {"guards", entry_guards, nullptr, "When it may run.", nullptr},
                              {"graph", entry_graph, nullptr, "What computes its tensors.", nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot entry_slots[] = {{Py_tp_new, reinterpret_cast<void*>(make_entry)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(release_entry)},
                             {Py_tp_traverse, reinterpret_cast<void*>(visit_entry)},
                             {Py_tp_getset, entry_fields},
                             {0, nullptr}};
PyType_Spec entry_spec = {"_cresset_compile.Entry", sizeof(EntryObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, entry_slots};

// ---- Region -----------------------------------------------------------------------------------------------------------------

Region& region_of(PyObject* self) { return *reinterpret_cast<RegionObject*>(self)->region; }

PyObject* make_region(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* miss = nullptr;
  if (!PyArg_ParseTuple(args, "O", &miss)) return nullptr;
  auto* self = reinterpret_cast<RegionObject*>(type->tp_alloc(type, 0));
  if (self) {
    self->region = new Region();
    self->region->miss = Ref::share(miss);
  }
  return reinterpret_cast<PyObject*>(self);
}
void release_region(PyObject* self) {
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<RegionObject*>(self)->region;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
int visit_region(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const Region& r = region_of(self);
  Py_VISIT(r.miss.get());
  for (const auto& [site, list] : r.entries)
    for (const Ref& e : list) Py_VISIT(e.get());
  return 0;
}
int clear_region(PyObject* self) {
  Region& r = region_of(self);
  auto entries = std::move(r.entries);
  auto codes = std::move(r.codes);
  r.entries.clear();
  r.codes.clear();
  r.plain.clear();
  r.unsteady.clear();
  return 0;
}

// region.call(function, args, kwargs): calls it, its frames and those that it calls being this region's
PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n != 3 || !PyTuple_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "call: expected a function, a tuple and a dict");
    return nullptr;
  }
  const Ref keep = Ref::share(self);
  Scope scope(&region_of(self));
  return PyObject_Call(args[0], args[1], args[2] == Py_None ? nullptr : args[2]);
}
PyObject* reset(PyObject* self, PyObject*) {
  clear_region(self);
  Py_RETURN_NONE;
}
PyObject* count(PyObject* self, PyObject* args) {
  PyObject* code = nullptr;
  int offset = 0;
  if (!PyArg_ParseTuple(args, "O!i", &PyCode_Type, &code, &offset)) return nullptr;
  const auto found = region_of(self).entries.find({reinterpret_cast<PyCodeObject*>(code), offset});
  return PyLong_FromSize_t(found == region_of(self).entries.end() ? 0 : found->second.size());
}
PyObject* entries(PyObject* self, PyObject*) {
  Ref list(PyList_New(0));
  for (const auto& [site, all] : region_of(self).entries)
    for (const Ref& e : all) {
      Ref row(Py_BuildValue("OiO", site.code, site.offset, e.get()));
      if (!list || !row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
    }
  return list.release();
}
// region.failures(function, code, offset, slots, stack) is asked while the frame waits, so the frame is made up of what was shown
PyObject* leave(PyObject* self, PyObject* args) {
  PyObject* code = nullptr;
  int calls = 1;
  if (!PyArg_ParseTuple(args, "O!p", &PyCode_Type, &code, &calls)) return nullptr;
  Region& r = region_of(self);
  r.codes.emplace(reinterpret_cast<PyCodeObject*>(code), Ref::share(code));
  r.plain[reinterpret_cast<PyCodeObject*>(code)] = calls != 0;
  Py_RETURN_NONE;
}
PyObject* compiles(PyObject* self, PyObject* on) {
  const bool before = region_of(self).compiles;
  region_of(self).compiles = PyObject_IsTrue(on) == 1;
  return PyBool_FromLong(before);
}

PyMethodDef region_methods[] = {{"call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)), METH_FASTCALL,
                                 "call(function, args, kwargs): a call whose frames are compiled."},
                                {"reset", reset, METH_NOARGS, "Forgets what was compiled."},
                                {"count", count, METH_VARARGS, "count(code, offset): how many entries there are."},
                                {"entries", entries, METH_NOARGS, "All entries: (code, offset, entry)."},
                                {"leave", leave, METH_VARARGS, "leave(code, calls): this code runs as it is; with calls=True what it calls is compiled."},
                                {"compiles", compiles, METH_O, "Whether frames without an entry are compiled; returns what was set before."},
                                {nullptr, nullptr, 0, nullptr}};
PyType_Slot region_slots[] = {{Py_tp_new, reinterpret_cast<void*>(make_region)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(release_region)},
                              {Py_tp_traverse, reinterpret_cast<void*>(visit_region)},
                              {Py_tp_clear, reinterpret_cast<void*>(clear_region)},
                              {Py_tp_methods, region_methods},
                              {0, nullptr}};
PyType_Spec region_spec = {"_cresset_compile.Region", sizeof(RegionObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, region_slots};

// plainly(function, args, kwargs): a call whose frames run as they are
PyObject* plainly(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 3 || !PyTuple_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "plainly: expected a function, a tuple and a dict");
    return nullptr;
  }
  Scope none(nullptr);
  return PyObject_Call(args[0], args[1], args[2] == Py_None ? nullptr : args[2]);
}
PyObject* is_active(PyObject*, PyObject*) { return PyBool_FromLong(active != nullptr); }

PyMethodDef functions[] = {{"plainly", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(plainly)), METH_FASTCALL,
                            "plainly(function, args, kwargs): a call whose frames run as they are."},
                           {"is_active", is_active, METH_NOARGS, "Whether frames of this thread are compiled."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_region(PyObject* module) {
  null_marker = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  trap_marker = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  entry_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&entry_spec));
  region_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&region_spec));
  return null_marker && trap_marker && entry_type && region_type && PyModule_AddFunctions(module, functions) == 0 &&
         PyModule_AddObjectRef(module, "NULL", null_marker) == 0 && PyModule_AddObjectRef(module, "TRAP", trap_marker) == 0 &&
         PyModule_AddObjectRef(module, "Entry", reinterpret_cast<PyObject*>(entry_type)) == 0 &&
         PyModule_AddObjectRef(module, "Region", reinterpret_cast<PyObject*>(region_type)) == 0 &&
         PyModule_AddObject(module, "supported", PyBool_FromLong(kSupported)) == 0;
}

}  // namespace cresset::compile
