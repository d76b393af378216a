// Python functions at the two places where calls are heard.

#include "cresset/dispatch/listen.h"

#include <array>
#include <unordered_map>

#include "cresset/dispatch/parts.h"
#include "python/bind/autograd.h"
#include "python/bind/modes/boxed.h"
#include "python/bind/modes/symbols.h"
#include "python/bind/override.h"

namespace cresset::python {

namespace {

using dispatch::Listener;
using dispatch::ListenPlace;
using dispatch::OpEntry;
using dispatch::Stack;

// Facts that the package gives of operators, where PyTorch's modes see something else than our rows.
struct Hearing {
  bool whole = false;            // a composite that PyTorch's modes see whole, where no gradient is recorded
  bool constant = false;         // whole, and no gradient passes through it: it is seen in any case
  bool unknown = false;          // a composite that PyTorch does not have: only its parts are seen
  PyObject* opened = nullptr;    // runs in place of the operator and its gradient; None: the row's own decomposition
  PyObject* recorded = nullptr;  // the same, only where a gradient is recorded
  PyObject* renamed = nullptr;   // runs in place of the operator, below autograd: calls it as PyTorch does
};
std::unordered_map<const OpEntry*, Hearing>& hearings() {
  static auto& all = *new std::unordered_map<const OpEntry*, Hearing>();
  return all;
}
const Hearing& hearing_of(const OpEntry& op) {
  static const Hearing plain;
  const auto found = hearings().find(&op);
  return found == hearings().end() ? plain : found->second;
}

PyObject* find_overload = nullptr;

// Numbers among the arguments that stand for sizes, as the symbols that they are.
Ref with_symbols(const Tensor& t, PyObject* o) {
  if (PyLong_CheckExact(o)) return checked(wrap_symbol(t, static_cast<int64_t>(PyLong_AsLongLong(o))));
  if (!PyList_CheckExact(o)) return Ref::share(o);
  Ref list = checked(PyList_New(PyList_GET_SIZE(o)));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); i++) PyList_SET_ITEM(list.get(), i, with_symbols(t, PyList_GET_ITEM(o, i)).release());
  return list;
}
void name_symbols(const Stack& stack, PythonCall& call) {
  const Tensor* symbolic = nullptr;
  for (const dispatch::Value& v : stack)
    dispatch::for_each_tensor(v, [&](const Tensor& t) {
      if (t.defined() && has_symbols(t)) symbolic = &t;
    });
  if (!symbolic) return;
  const Tensor t = *symbolic;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call.args.get()); i++) {
    PyObject* const given = PyTuple_GET_ITEM(call.args.get(), i);
    PyTuple_SET_ITEM(call.args.get(), i, with_symbols(t, given).release());
    Py_DECREF(given);
  }
}

// A function of (operator, arguments, named arguments).
class PythonListener final : public Listener {
 public:
  explicit PythonListener(ListenPlace place) : below_(place == ListenPlace::below_autograd) {}
  PyObject* function() const { return function_.get(); }
  void set(PyObject* function) { function_ = Ref::share(function); }

  bool hears(const OpEntry& op, bool recorded) override {
    if (!(op.flags & dispatch::kCompositeOp)) return true;
    const Hearing& hearing = hearing_of(op);
    return below_ ? hearing.constant || (!recorded && hearing.whole) : !hearing.unknown;
  }
  // The function may put others in its place while it runs.
  void call(const OpEntry& op, Stack& stack) override {
    with_gil([&] {
      struct Kept {
        Ref& place;
        Ref function = Ref::share(place.get());
        ~Kept() { place = std::move(function); }
      } const kept{function_};
      const dispatch::PartsScope whole(false);
      const PythonCall call = to_python(op, stack);
      const Ref result = checked(PyObject_CallFunctionObjArgs(kept.function.get(), overload_of(op), call.args.get(), call.kwargs.get(), nullptr));
      results_from_python(op, result.get(), stack);
    });
  }
  bool opens(const OpEntry& op, bool at_autograd) override {
    const Hearing& hearing = hearing_of(op);
    return below_ && (hearing.opened || (at_autograd ? hearing.recorded : hearing.renamed));
  }
  void open(const OpEntry& op, Stack& stack, bool at_autograd) override {
    const Hearing& hearing = hearing_of(op);
    const dispatch::PartsScope parts(true);
    PyObject* const body = hearing.opened ? hearing.opened : at_autograd ? hearing.recorded : hearing.renamed;
    if (body == Py_None) return op.call_typed(op.slot(OpEntry::decomposition_slot), stack);
    with_gil([&] {
      PythonCall call = to_python(op, stack);
      if (CRESSET_UNLIKELY(sym_int_type != nullptr)) name_symbols(stack, call);
      const Ref result = checked(PyObject_Call(body, call.args.get(), call.kwargs.get()));
      results_from_python(op, result.get(), stack);
    });
  }

 private:
  const bool below_;
  Ref function_;
};

// Of this thread, for each place. Never destroyed: a thread may end while the interpreter does.
PythonListener& listener_of(ListenPlace place) {
  thread_local auto* const both = new std::array<PythonListener, 2>{PythonListener(ListenPlace::above_layers), PythonListener(ListenPlace::below_autograd)};
  return (*both)[static_cast<size_t>(place)];
}

// _listen(place, function or None): puts a function at a place, 0 above all layers, 1 below autograd. Returns what was there.
PyObject* listen(PyObject*, PyObject* args) {
  int number;
  PyObject* function;
  if (!PyArg_ParseTuple(args, "iO", &number, &function)) return nullptr;
  return guarded([&] {
    CRESSET_CHECK_VALUE(number == 0 || number == 1, "_listen: expected the place 0 or 1, got ", number);
    const auto place = static_cast<ListenPlace>(number);
    PythonListener& own = listener_of(place);
    Listener* const now = dispatch::listener_at(place);
    CRESSET_CHECK(!now || now == &own, "_listen: a C++ program listens here");
    Ref before = Ref::share(now ? own.function() : Py_None);
    own.set(function);
    dispatch::set_listener(place, function == Py_None ? nullptr : &own);
    g_modes_active = true;
    return before.release();
  });
}

// _by_parts(function): what the function returns; bodies of rows that it calls go by PyTorch's operators.
PyObject* by_parts(PyObject*, PyObject* function) {
  const dispatch::PartsScope parts(true);
  return PyObject_CallNoArgs(function);
}

const OpEntry& entry_named(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) throw PythonError();
  return dispatch::find_op(text).entry();
}

// _entry(name): the text of its schema, whether it is composite, and whether its result is a view.
PyObject* entry(PyObject*, PyObject* name) {
  return guarded([&] {
    const OpEntry& op = entry_named(name);
    return Py_BuildValue("(sNN)", op.schema, PyBool_FromLong(op.flags & dispatch::kCompositeOp), PyBool_FromLong(op.flags & dispatch::kViewOp));
  });
}

// _hear(entry name, kind, function or None): "whole", "constant", "unknown", "opened", "recorded" or "renamed", see Hearing.
PyObject* hear(PyObject*, PyObject* args) {
  PyObject *name, *function = Py_None;
  const char* kind;
  if (!PyArg_ParseTuple(args, "Os|O", &name, &kind, &function)) return nullptr;
  return guarded([&]() -> PyObject* {
    const OpEntry& op = entry_named(name);
    Hearing& hearing = hearings()[&op];
    const std::string_view text = kind;
    CRESSET_CHECK_VALUE(text == "whole" || text == "constant" || text == "unknown" || text == "opened" || text == "recorded" || text == "renamed",
                        "_hear: got the kind ", kind);
    CRESSET_CHECK_VALUE(text != "opened" || function != Py_None || op.slot(OpEntry::decomposition_slot), "_hear: ", op.name,
                        " has no decomposition, expected a function");
    if (text == "whole") hearing.whole = true;
    else if (text == "constant") hearing.constant = true;
    else if (text == "unknown") hearing.unknown = true;
    else (text == "opened" ? hearing.opened : text == "recorded" ? hearing.recorded : hearing.renamed) = Ref::share(function).release();
    Py_RETURN_NONE;
  });
}

// _listen_subclasses(function): the function gets calls with tensors whose class has __torch_dispatch__, in every thread.
PyObject* listen_subclasses(PyObject*, PyObject* function) {
  static auto& listener = *new PythonListener(ListenPlace::below_autograd);
  return guarded([&]() -> PyObject* {
    listener.set(function);
    dispatch::set_subclass_listener(&listener);
    g_modes_active = true;
    Py_RETURN_NONE;
  });
}
// _hear_subclasses(bool): whether they are taken over in this thread; what was set before.
PyObject* hear_subclasses(PyObject*, PyObject* on) { return PyBool_FromLong(dispatch::set_subclasses_heard(on == Py_True)); }

PyObject* hears_subclasses(PyObject*, PyObject*) { return PyBool_FromLong(dispatch::subclasses_heard()); }

// _recorded(function): its result; gradients of what it calls are recorded, in a listener's function too, where the layers above are asleep.
PyObject* recorded(PyObject*, PyObject* function) {
  struct Awake {
    LayerState& state = layer_state();
    const LayerState before = state;
    Awake() { state.excluded = static_cast<uint8_t>(state.excluded & ~kAutogradLayer); }
    ~Awake() { state.excluded = before.excluded; }
  } const awake;
  return PyObject_CallNoArgs(function);
}

// _wake_autograd(), _wake_autograd(before): gradients are recorded in a listener's function too, until what was returned is given back.
PyObject* wake_autograd(PyObject*, PyObject* args) {
  int before = -1;
  if (!PyArg_ParseTuple(args, "|i:_wake_autograd", &before)) return nullptr;
  LayerState& state = layer_state();
  const uint8_t now = state.hidden;
  state.set_hidden(static_cast<uint8_t>(before < 0 ? now & ~(kAutogradLayer | layer_bit(Layer::Autocast)) : before));
  return PyLong_FromLong(now);
}

// _is_heard(): whether calls are heard below autograd.
PyObject* is_heard(PyObject*, PyObject*) { return PyBool_FromLong(dispatch::listener_at(ListenPlace::below_autograd) != nullptr); }

// _set_overload_finder(function): the function that gives the operator of an entry's name.
PyObject* set_finder(PyObject*, PyObject* function) {
  Py_XSETREF(find_overload, Ref::share(function).release());
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"_listen", listen, METH_VARARGS, nullptr},
                           {"_listen_subclasses", listen_subclasses, METH_O, nullptr},
                           {"_hear_subclasses", hear_subclasses, METH_O, nullptr},
                           {"_hears_subclasses", hears_subclasses, METH_NOARGS, nullptr},
                           {"_entry", entry, METH_O, nullptr},
                           {"_recorded", recorded, METH_O, nullptr},
                           {"_wake_autograd", wake_autograd, METH_VARARGS, nullptr},
                           {"_is_heard", is_heard, METH_NOARGS, nullptr},
                           {"_by_parts", by_parts, METH_O, nullptr},
                           {"_hear", hear, METH_VARARGS, nullptr},
                           {"_set_overload_finder", set_finder, METH_O, nullptr},
                           {}};

}  // namespace

PyObject* overload_of(const OpEntry& op) {
  static auto& known = *new std::unordered_map<const OpEntry*, PyObject*>();
  PyObject*& found = known[&op];
  if (!find_overload) checked(PyImport_ImportModule("cresset.ops"));  // which names it
  if (!found) found = PyObject_CallFunction(find_overload, "s", op.name);
  if (!found) throw PythonError();
  return found;
}

bool add_listen(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
