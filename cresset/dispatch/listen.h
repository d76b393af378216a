#pragma once
// Two places where a program hears of calls as they pass: above all layers, where composite operators arrive whole, and below autograd, where
// the operators arrive that these and the gradients are made of. docs/records/0019-dispatch-modes.md says who sits there.

#include <utility>

#include "cresset/dispatch/op.h"

namespace cresset::dispatch {

enum class ListenPlace : uint8_t { above_layers, below_autograd };

// Functions of a program that hear of calls at a place, in one thread. While one of its functions runs, the place is empty.
class CRESSET_API Listener {
 public:
  virtual ~Listener();
  // Whether `call` runs in place of the operator; otherwise the call goes on as if there was no listener. `recorded`: a gradient of it would be, or of
  // what a composite is made of.
  virtual bool hears(const OpEntry& op, bool recorded) = 0;
  virtual void call(const OpEntry& op, Stack& stack) = 0;
  // Below autograd only: whether `open`, which calls other operators, runs in place of the operator; asked at the autograd layer, where their gradients
  // are then those of the call, and below it.
  virtual bool opens(const OpEntry& op, bool at_autograd);
  virtual void open(const OpEntry& op, Stack& stack, bool at_autograd);
};

// Puts a listener at a place for its scope, in place of the one there; null: none.
class CRESSET_API ListenScope {
 public:
  ListenScope(ListenPlace place, Listener* listener);
  ~ListenScope();
  ListenScope(const ListenScope&) = delete;
  ListenScope& operator=(const ListenScope&) = delete;

 private:
  const ListenPlace place_;
  Listener* const saved_;
};

// In its scope the calls of one operator are heard below autograd as those of another, which takes the same arguments.
class CRESSET_API HeardAs {
 public:
  HeardAs(const OpEntry& op, const OpEntry& as);
  ~HeardAs();
  HeardAs(const HeardAs&) = delete;
  HeardAs& operator=(const HeardAs&) = delete;

 private:
  const std::pair<const OpEntry*, const OpEntry*> saved_;
};

// The listener at the place in this thread; null: none.
CRESSET_API Listener* listener_at(ListenPlace place);
// The same, for callers that keep no scope: returns the former listener.
CRESSET_API Listener* set_listener(ListenPlace place, Listener* listener);

// Tensors whose class in the front end takes their calls over: they are heard below autograd too, in every thread, without a scope.
constexpr uint8_t kSubclassBackend = 252;
// Hears of calls with such tensors among the arguments, where no other listener does. Kept for good.
CRESSET_API void set_subclass_listener(Listener* listener);
// The listener of a call: that of the thread's place below autograd, or that of subclasses; null: none.
Listener* listener_of_call(uint8_t awake, uint8_t backend);
// Whether calls with such tensors are taken over in this thread; gives what was set before.
CRESSET_API bool set_subclasses_heard(bool on);
// Whether there is a listener of subclasses, and it is heard in this thread.
CRESSET_API bool subclasses_heard();
inline bool is_subclass(const Tensor& t) { return t.defined() && CRESSET_UNLIKELY(t.impl()->backend() == kSubclassBackend); }

// Whether a listener is to hear of methods that are no rows of the table (detach, item).
inline bool is_listening() {
  const LayerState& state = layer_state();
  const uint8_t awake = state.included & ~state.excluded;
  return CRESSET_UNLIKELY(awake & (layer_bit(Layer::Capture) | kLazyMathLayer)) &&
         (listener_at(ListenPlace::above_layers) || listener_at(ListenPlace::below_autograd));
}

// Run by the layers of the dispatcher.
void heard_above(const OpEntry& op, Stack& stack);
void heard_below(const OpEntry& op, Stack& stack);
void heard_unless_recorded(const OpEntry& op, Stack& stack);
void opened_at_autograd(const OpEntry& op, Stack& stack);
void opened_below(const OpEntry& op, Stack& stack);

}  // namespace cresset::dispatch
