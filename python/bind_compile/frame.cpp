#include "python/bind_compile/frame.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#define Py_BUILD_CORE 1
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE
#endif

namespace cresset::compile {

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

PyCodeObject* Frame::code() const { return frame_->f_code; }
PyFunctionObject* Frame::function() const { return frame_->f_func; }
PyObject* Frame::globals() const { return frame_->f_globals; }
PyObject* Frame::builtins() const { return frame_->f_builtins; }
int Frame::num_slots() const { return frame_->f_code->co_nlocalsplus; }
PyObject* Frame::slot(int i) const { return frame_->localsplus[i]; }
int Frame::depth() const { return frame_->stacktop - num_slots(); }
PyObject* Frame::stack(int i) const { return frame_->localsplus[num_slots() + i]; }

bool Frame::set_state(PyObject* slots, PyObject* stack, PyObject* null) {
  const Py_ssize_t num = PyTuple_GET_SIZE(slots), deep = PyTuple_GET_SIZE(stack);
  if (num != num_slots() || deep > frame_->f_code->co_stacksize) {
    PyErr_Format(PyExc_SystemError, "torch.compile: a frame of %d variables and stack %d got %zd and %zd", num_slots(), frame_->f_code->co_stacksize, num,
                 deep);
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
  PyCodeObject* co = frame_->f_code;
  const int frees = co->co_nfreevars, first_free = co->co_nlocalsplus - frees;
  PyObject* closure = frame_->f_func->func_closure;
  for (int i = 0; i < co->co_nlocalsplus; i++) {
    if (i >= first_free) {
      Py_XSETREF(frame_->localsplus[i], Py_NewRef(PyTuple_GET_ITEM(closure, i - first_free)));
    } else if (_PyLocals_GetKind(co->co_localspluskinds, i) & CO_FAST_CELL) {
      PyObject* cell = PyCell_New(frame_->localsplus[i]);
      if (!cell) return -1;
      Py_XSETREF(frame_->localsplus[i], cell);
    }
  }
  const int start = (co->_co_firsttraceable + 1) * static_cast<int>(sizeof(_Py_CODEUNIT));
  // A frame between instructions: tracebacks and `sys._getframe` may look at it.
  frame_->prev_instr = _PyCode_CODE(co) + co->_co_firsttraceable;
  return start;
}

namespace {
_Py_CODEUNIT* before(PyCodeObject* code, int offset) { return _PyCode_CODE(code) + offset / static_cast<int>(sizeof(_Py_CODEUNIT)) - 1; }
}  // namespace

PyObject* Frame::run_from(int offset) {
  frame_->prev_instr = before(frame_->f_code, offset);
  return _PyEval_EvalFrameDefault(PyThreadState_Get(), frame_, 0);
}

PyObject* Frame::raise_at(int offset) {
  frame_->prev_instr = before(frame_->f_code, offset) + 1;
  return _PyEval_EvalFrameDefault(PyThreadState_Get(), frame_, 1);
}

PyObject* Frame::run_clone(PyCodeObject* clone, int offset, int& stopped_at) {
  PyCodeObject* original = frame_->f_code;
  frame_->f_code = clone;
  frame_->prev_instr = before(clone, offset);
  PyObject* result = _PyEval_EvalFrameDefault(PyThreadState_Get(), frame_, 0);
  const auto unit = frame_->prev_instr - _PyCode_CODE(clone);
  stopped_at = static_cast<int>(unit) * static_cast<int>(sizeof(_Py_CODEUNIT));
  frame_->prev_instr = _PyCode_CODE(original) + unit;
  frame_->f_code = original;
  return result;
}

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
PyObject* Frame::run_clone(PyCodeObject*, int, int&) { return nullptr; }
void set_frame_hook(FrameHook) {}
PyObject* run_plainly(PyThreadState*, _PyInterpreterFrame*, int) { return nullptr; }

#endif

}  // namespace cresset::compile
