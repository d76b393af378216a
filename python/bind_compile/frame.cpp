#include "python/bind_compile/frame.h"

#if CRESSET_FRAMES
#define Py_BUILD_CORE 1
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE
#endif

namespace cresset::compile {

#if CRESSET_FRAMES

namespace {

constexpr int kUnit = static_cast<int>(sizeof(_Py_CODEUNIT));

// ---- what differs between versions ------------------------------------------------------------------------------------------

#if PY_VERSION_HEX < 0x030C0000
PyFunctionObject* function_of(const _PyInterpreterFrame* f) { return f->f_func; }
#else
PyFunctionObject* function_of(const _PyInterpreterFrame* f) { return reinterpret_cast<PyFunctionObject*>(f->f_funcobj); }
#endif

#if PY_VERSION_HEX < 0x030D0000
PyCodeObject* code_of(const _PyInterpreterFrame* f) { return f->f_code; }
void set_code(_PyInterpreterFrame* f, PyCodeObject* code) { f->f_code = code; }
// The frame goes on at an offset, the instruction before it being the last one that ran.
void stand_at(_PyInterpreterFrame* f, int offset) { f->prev_instr = _PyCode_CODE(f->f_code) + offset / kUnit - 1; }
// An error that is raised now comes from the instruction at an offset.
void fail_at(_PyInterpreterFrame* f, int offset) { f->prev_instr = _PyCode_CODE(f->f_code) + offset / kUnit; }
int last_offset(const _PyInterpreterFrame* f) { return static_cast<int>(f->prev_instr - _PyCode_CODE(f->f_code)) * kUnit; }
#else
PyCodeObject* code_of(const _PyInterpreterFrame* f) { return reinterpret_cast<PyCodeObject*>(f->f_executable); }
void set_code(_PyInterpreterFrame* f, PyCodeObject* code) { f->f_executable = reinterpret_cast<PyObject*>(code); }
void stand_at(_PyInterpreterFrame* f, int offset) { f->instr_ptr = _PyCode_CODE(code_of(f)) + offset / kUnit; }
// Handlers are looked up for the unit before this one.
void fail_at(_PyInterpreterFrame* f, int offset) { stand_at(f, offset + kUnit); }
int last_offset(const _PyInterpreterFrame* f) { return static_cast<int>(f->instr_ptr - _PyCode_CODE(code_of(f))) * kUnit; }
#endif

PyObject* evaluate(_PyInterpreterFrame* f, int raise) { return _PyEval_EvalFrameDefault(PyThreadState_Get(), f, raise); }

#if PY_VERSION_HEX < 0x030C0000

// The caller of the hook ends the frame, so that a return from a copy leaves it whole.
bool run_code_to_trap(_PyInterpreterFrame* f, PyCodeObject* clone, int offset, const Trap& trap, PyObject*& result) {
  PyCodeObject* const original = code_of(f);
  set_code(f, clone);
  stand_at(f, offset);
  result = evaluate(f, 0);
  const int last = last_offset(f);
  set_code(f, original);
  stand_at(f, last + kUnit);
  if (!result || last != trap.at || (trap.constant && result != trap.constant)) return false;
  if (trap.constant) Py_DECREF(result);
  else f->localsplus[f->stacktop++] = result;
  result = nullptr;
  return true;
}

PyObject* leave_with(_PyInterpreterFrame*, PyObject* value, PyCodeObject*, int) { return value; }

#else

#if PY_VERSION_HEX < 0x030D0000
_PyInterpreterFrame* running(PyThreadState* thread) { return thread->cframe->current_frame; }
void set_running(PyThreadState*, _PyInterpreterFrame*) {}  // a trap leaves it as it was
#else
_PyInterpreterFrame* running(PyThreadState* thread) { return thread->current_frame; }
void set_running(PyThreadState* thread, _PyInterpreterFrame* f) { thread->current_frame = f; }
#endif

int calls_within(const PyThreadState* thread) { return thread->py_recursion_limit - thread->py_recursion_remaining; }

void replace_code(_PyInterpreterFrame* f, PyCodeObject* code) {
  PyCodeObject* const before = code_of(f);
  Py_INCREF(code);
  set_code(f, code);
  Py_DECREF(before);
}

// An error has left the copy of a code object: tracebacks show the code itself.
void show_original(PyCodeObject* clone, PyCodeObject* original) {
  PyObject* const error = PyErr_GetRaisedException();
  PyObject* const trace = PyException_GetTraceback(error);
  if (trace && PyTraceBack_Check(trace)) {
    _PyInterpreterFrame* const f = reinterpret_cast<PyTracebackObject*>(trace)->tb_frame->f_frame;
    if (f->owner == FRAME_OWNED_BY_FRAME_OBJECT && code_of(f) == clone) {
      const int last = last_offset(f);
      replace_code(f, original);
      stand_at(f, last);
#if PY_VERSION_HEX < 0x030D0000
      f->prev_instr++;
#endif
    }
  }
  Py_XDECREF(trace);
  PyErr_SetRaisedException(error);
}

// A return ends the frame, so the trap is the instruction with which the evaluation itself ends (INTERPRETER_EXIT). It leaves the frame as it is, and the
// thread one call deeper, which tells it from a return. Its result is the top of the stack, which stays there.
bool run_code_to_trap(_PyInterpreterFrame* f, PyCodeObject* clone, int offset, const Trap& trap, PyObject*& result) {
  PyThreadState* const thread = PyThreadState_Get();
  _PyInterpreterFrame* const caller = running(thread);
  PyCodeObject* const original = code_of(f);
  Py_INCREF(original);
  replace_code(f, clone);
  stand_at(f, offset);
  const int depth = calls_within(thread);
  result = evaluate(f, 0);
  const bool trapped = calls_within(thread) != depth;
  if (trapped) {
    result = nullptr;
    thread->py_recursion_remaining++;
    set_running(thread, caller);
    f->previous = caller;
    f->stacktop = original->co_nlocalsplus + trap.depth;
    replace_code(f, original);
    stand_at(f, trap.at);
  } else if (!result && clone != original) {
    show_original(clone, original);
  }
  Py_DECREF(original);
  return trapped;
}

// The evaluation ends the frame, so that it runs the return.
PyObject* leave_with(_PyInterpreterFrame* f, PyObject* value, PyCodeObject* code, int offset) {
  f->localsplus[f->stacktop++] = value;
  if (code != code_of(f)) replace_code(f, code);
  stand_at(f, offset);
  return evaluate(f, 0);
}

#endif

}  // namespace

// ---- what does not ----------------------------------------------------------------------------------------------------------

PyCodeObject* Frame::code() const { return code_of(frame_); }
PyFunctionObject* Frame::function() const { return function_of(frame_); }
PyObject* Frame::globals() const { return frame_->f_globals; }
PyObject* Frame::builtins() const { return frame_->f_builtins; }
int Frame::num_slots() const { return code()->co_nlocalsplus; }
PyObject* Frame::slot(int i) const { return frame_->localsplus[i]; }
int Frame::depth() const { return frame_->stacktop - num_slots(); }
PyObject* Frame::stack(int i) const { return frame_->localsplus[num_slots() + i]; }

bool Frame::set_state(PyObject* slots, PyObject* stack, PyObject* null) {
  const Py_ssize_t num = PyTuple_GET_SIZE(slots), deep = PyTuple_GET_SIZE(stack);
  if (num != num_slots() || deep > code()->co_stacksize) {
    PyErr_Format(PyExc_SystemError, "torch.compile: a frame of %d variables and stack %d got %zd and %zd", num_slots(), code()->co_stacksize, num, deep);
    return false;
  }
  // Whoever is released sees the frame whole.
  const int before = frame_->stacktop;
  PyObject* old[512];
  const int kept = before < 512 ? before : 512;
  for (int i = 0; i < kept; i++) old[i] = frame_->localsplus[i];
  for (Py_ssize_t i = 0; i < num + deep; i++) {
    PyObject* value = i < num ? PyTuple_GET_ITEM(slots, i) : PyTuple_GET_ITEM(stack, i - num);
    if (i >= 512 && i < before) Py_XDECREF(frame_->localsplus[i]);
    frame_->localsplus[i] = value == null ? nullptr : Py_NewRef(value);
  }
  frame_->stacktop = static_cast<int>(num + deep);
  for (int i = 0; i < kept; i++) Py_XDECREF(old[i]);
  return true;
}

void Frame::push(PyObject* owned) { frame_->localsplus[frame_->stacktop++] = owned; }
PyObject* Frame::pop() { return frame_->localsplus[--frame_->stacktop]; }

int Frame::prologue() {
  PyCodeObject* co = code();
  const int frees = co->co_nfreevars, first_free = co->co_nlocalsplus - frees;
  PyObject* closure = function()->func_closure;
  for (int i = 0; i < co->co_nlocalsplus; i++) {
    if (i >= first_free) {
      Py_XSETREF(frame_->localsplus[i], Py_NewRef(PyTuple_GET_ITEM(closure, i - first_free)));
    } else if (_PyLocals_GetKind(co->co_localspluskinds, i) & CO_FAST_CELL) {
      PyObject* cell = PyCell_New(frame_->localsplus[i]);
      if (!cell) return -1;
      Py_XSETREF(frame_->localsplus[i], cell);
    }
  }
  // A frame between instructions: tracebacks and `sys._getframe` may look at it.
  const int start = (co->_co_firsttraceable + 1) * kUnit;
  stand_at(frame_, start);
  return start;
}

PyObject* Frame::run_from(int offset) {
  stand_at(frame_, offset);
  return evaluate(frame_, 0);
}

PyObject* Frame::raise_at(int offset) {
  fail_at(frame_, offset);
  return evaluate(frame_, 1);
}

PyObject* Frame::finish(PyObject* owned, PyCodeObject* code, int leave) {
  while (depth() > 0) Py_XDECREF(pop());
  return leave_with(frame_, owned, code, leave);
}

bool Frame::run_to_trap(PyCodeObject* clone, int offset, const Trap& trap, PyObject*& result) { return run_code_to_trap(frame_, clone, offset, trap, result); }

void set_frame_hook(FrameHook hook) { _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), hook ? hook : _PyEval_EvalFrameDefault); }
PyObject* run_plainly(PyThreadState* thread, _PyInterpreterFrame* frame, int raise) { return _PyEval_EvalFrameDefault(thread, frame, raise); }

#else

PyCodeObject* Frame::code() const { return nullptr; }
PyFunctionObject* Frame::function() const { return nullptr; }
PyObject* Frame::globals() const { return nullptr; }
PyObject* Frame::builtins() const { return nullptr; }
int Frame::num_slots() const { return 0; }
PyObject* Frame::slot(int) const { return nullptr; }
int Frame::depth() const { return 0; }
PyObject* Frame::stack(int) const { return nullptr; }
bool Frame::set_state(PyObject*, PyObject*, PyObject*) { return false; }
void Frame::push(PyObject*) {}
PyObject* Frame::pop() { return nullptr; }
int Frame::prologue() { return -1; }
PyObject* Frame::run_from(int) { return nullptr; }
PyObject* Frame::raise_at(int) { return nullptr; }
PyObject* Frame::finish(PyObject*, PyCodeObject*, int) { return nullptr; }
bool Frame::run_to_trap(PyCodeObject*, int, const Trap&, PyObject*&) { return false; }
void set_frame_hook(FrameHook) {}
PyObject* run_plainly(PyThreadState*, _PyInterpreterFrame*, int) { return nullptr; }

#endif

}  // namespace cresset::compile
