#pragma once
// The frames of CPython 3.11, and only what capture needs of them: variables, stack, and where they go on. Other versions have other frames
// (`kSupported` is false there, and functions run as they are).

#define PY_SSIZE_T_CLEAN
#include <Python.h>

struct _PyInterpreterFrame;

namespace cresset::compile {

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
constexpr bool kSupported = true;
#else
constexpr bool kSupported = false;
#endif

// A frame that is about to run or stands between two instructions. Offsets are bytes of code, as in `dis`.
class Frame {
 public:
  explicit Frame(_PyInterpreterFrame* frame) : frame_(frame) {}

  PyCodeObject* code() const;
  PyFunctionObject* function() const;
  PyObject* globals() const;
  PyObject* builtins() const;
  int num_slots() const;
  // Variables, cells and free variables; null where unbound. Borrowed.
  PyObject* slot(int i) const;
  int depth() const;
  // Values on the stack, the deepest first; null for the marker that calls push. Borrowed.
  PyObject* stack(int i) const;
  // Replaces variables and stack; `null` stands for null. Errors: a sequence of another length, or a stack that is too deep.
  bool set_state(PyObject* slots, PyObject* stack, PyObject* null);
  void push(PyObject* owned);
  PyObject* pop();

  // Makes cells and copies free variables, as the first instructions of a function do; gives the offset where the body starts.
  int prologue();
  // Runs from an offset to the end of the function.
  PyObject* run_from(int offset);
  // Raises the error that is set as if the instruction at the offset had raised it.
  PyObject* raise_at(int offset);
  // Runs the code `clone` (a copy of the frame's, with a trap) from an offset. `stopped_at` is the offset of the last instruction.
  PyObject* run_clone(PyCodeObject* clone, int offset, int& stopped_at);

 private:
  _PyInterpreterFrame* frame_;
};

using FrameHook = PyObject* (*)(PyThreadState*, _PyInterpreterFrame*, int);
void set_frame_hook(FrameHook hook);
// Without a hook, as CPython runs frames.
PyObject* run_plainly(PyThreadState* thread, _PyInterpreterFrame* frame, int raise);

}  // namespace cresset::compile
