#pragma once
// The frames of CPython 3.11 to 3.13, and only what capture needs of them: variables, stack, and where they go on. Other versions have other frames
// (`kSupported` is false there, and functions run as they are).

#define PY_SSIZE_T_CLEAN
#include <Python.h>

struct _PyInterpreterFrame;

namespace cresset::compile {

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED)
#define CRESSET_FRAMES 1
constexpr bool kSupported = true;
#else
#define CRESSET_FRAMES 0
constexpr bool kSupported = false;
#endif

// Where a copy of a code object stops: the offset, the depth of the stack there, and in CPython 3.11 the constant that it returns where it may not take
// a value off the stack.
struct Trap {
  int at, depth;
  PyObject* constant;
};

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
  // These end the function, and with it the frame, which must not be used afterwards.
  // Runs from an offset to the end.
  PyObject* run_from(int offset);
  // Raises the error that is set as if the instruction at the offset had raised it.
  PyObject* raise_at(int offset);
  // Returns a value; at the offset `leave` the code `code`, the frame's own or a copy, returns what is on the stack.
  PyObject* finish(PyObject* owned, PyCodeObject* code, int leave);

  // Runs the code `clone` (a copy of the frame's, with a trap) from an offset. True: it has stopped at the trap, and the frame stands there. False: the
  // function has ended, with `result`, null with an error.
  bool run_to_trap(PyCodeObject* clone, int offset, const Trap& trap, PyObject*& result);

 private:
  _PyInterpreterFrame* frame_;
};

using FrameHook = PyObject* (*)(PyThreadState*, _PyInterpreterFrame*, int);
void set_frame_hook(FrameHook hook);
// Without a hook, as CPython runs frames.
PyObject* run_plainly(PyThreadState* thread, _PyInterpreterFrame* frame, int raise);

}  // namespace cresset::compile
