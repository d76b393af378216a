#pragma once
// Guards: whether what a capture has looked at is as it was. A tree of places, each read from its parent, with checks on what is found there, laid
// out as a list of steps in the order in which the capture came by. Reading and checking run no Python code, but where arrays are seen as tensors.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cresset/graph/codegen/overlap.h"
#include "python/bind/bind.h"
#include "python/bind_compile/formula.h"
#include "python/bind_compile/frame.h"

namespace cresset::compile {

using python::Ref;

enum class Get : uint8_t {
  Slot,      // a variable of the frame, by number; a cell where the variable has one
  Stack,     // a value on the stack of the frame
  Globals,   // the dict of global names
  Builtins,  // the dict of built-in names
  Const,     // an object that the guards keep
  Contents,  // of a cell
  Attr,      // in the dict of an object
  Member,    // in a slot of an object, described by a member descriptor
  TypeAttr,  // of a class or its bases, as it stands there
  Type,      // the class of an object
  Item,      // of a dict, by key
  Index,     // of a list or tuple, by number
  Dict,      // the dict of an object
  Self,      // of a bound method
  Function,  // of a bound method
  Code,      // of a function; 1: its defaults, 2: those of parameters given by name
  Closure,   // a cell of a function, by number
  Grad,      // of a tensor
  Referent,  // of a weak reference; None where it is gone
  Seen,      // as what a function takes it for: an array of NumPy's as a tensor
};

enum class Check : uint8_t {
  Is,       // this object
  Type,     // of this class exactly
  Equal,    // equal to a number, str, bytes, or tuple of such, and of the same class
  Length,   // of a list, tuple, dict or set
  Keys,     // the keys of a dict, in order
  Bound,    // the variable or cell holds something
  Missing,  // nothing is there
  Tensor,   // class, dtype, device, layout, sizes, strides
  Same,     // the same object as at another place
  Formula,  // a condition on sizes, of several places
};

// In place of a size: any but 0 and 1, and any.
constexpr int64_t kOpen = -1, kUnbacked = -2;

// Facts of a tensor that code was made for. A stride of -1 may be anything.
struct TensorFacts {
  std::vector<int64_t> sizes, strides;
  ScalarType dtype;
  Device device;
  Layout layout;
  uint8_t layers;
  bool requires_grad, leaf, check_leaf, check_strides;
};

// Modes of the thread that change what operators do.
struct Surroundings {
  bool grad, inference, autocast, autocast_cache, taken_over;  // taken over: by modes written in Python
  ScalarType autocast_dtype, default_dtype;
  uint8_t included, hidden;
  NoData no_data;
  static Surroundings now();
  bool operator==(const Surroundings& o) const;
  std::string text() const;
};

// The object at each place. They are borrowed from what holds them, but for the few that reading the place has made.
struct Found {
  std::vector<PyObject*> at;
  std::vector<Ref> made;
  uint64_t memory = 0;  // of the guards that have found them, where these may use the list again
  PyObject*& operator[](size_t place) { return at[place]; }
  PyObject* operator[](size_t place) const { return at[place]; }
};

class Guards {
 public:
  Guards() : surroundings_(Surroundings::now()) {}

  // A place; the same number for the same place.
  int get(Get what, int parent, PyObject* key, int number);
  void check(Check what, int place, PyObject* value, int number);
  void check_tensor(int place, TensorFacts facts);
  // A condition on sizes. False, with an error set, for what is none.
  bool check_formula(PyObject* tree, PyObject* text);
  // All these places hold different tensors.
  void check_distinct(std::vector<int> places) { distinct_ = std::move(places); }
  // Of the tensors at these places those at `written`, numbers of the list, share memory with the others as `shared` says.
  void check_memory(std::vector<int> places, std::vector<size_t> written, std::vector<graph::SharedMemory> shared) {
    memory_places_ = std::move(places);
    written_ = std::move(written);
    shared_ = std::move(shared);
  }

  // Whether everything holds. `found` gets what is at each place. After a success dicts that have not changed since (CPython counts changes of
  // a dict) are not read again, so that a module costs a comparison or two.
  bool hold(const Frame& frame, Found& found) const;
  // Takes the list back, when it is of no more use.
  void take_back(Found& found) const;
  // The first check that fails, for people; empty if everything holds.
  std::string failure(const Frame& frame) const;
  std::string text() const;
  // The checks, as (kind, place) each, and which of them to keep: `kept` has a flag for each.
  std::vector<std::pair<Check, int>> checks() const;
  void keep(const std::vector<bool>& kept);
  // The place that one is read from; -1 for those of the frame.
  int parent_of(int place) const { return places_[static_cast<size_t>(place)].parent; }
  Get kind_of(int place) const { return places_[static_cast<size_t>(place)].what; }
  // Places and checks of each time, though nothing has changed; empty before the first success.
  std::vector<std::string> repeated() const;
  std::string name_of(int place) const;
  int num_places() const { return static_cast<int>(places_.size()); }
  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  struct Place {
    Get what;
    int parent, number;
    Ref key;
  };
  struct Step {
    bool is_check;
    Check check;
    int place, number;
    Ref value;
    std::unique_ptr<TensorFacts> facts;
    std::unique_ptr<Formula> formula;
  };
  PyObject* read(const Place& place, const Frame& frame, Found& found) const;
  bool passes(const Step& step, const Found& found) const;
  bool distinct(const Found& found) const;
  bool shares_memory_as_before(const Found& found) const;
  std::string text_of(const Step& step) const;

  // How the next check may be short: what must be as it was, in the order of places, and the steps that run each time.
  struct Watch {
    enum Kind : uint8_t { Value, Constant, OwnDict, ItemsOf, Class, Names, Cell } kind;
    int place;
  };
  // A word of memory: a pointer to the class or dict of an object or into a cell, or the version of a dict or class.
  struct Word {
    const uint64_t* at;
    uint64_t value;
  };
  void plan(const Found& found) const;
  void remember(const Found& found) const;
  bool is_as_it_was(const Frame& frame, Found& found) const;

  mutable std::vector<Watch> wanted_;
  mutable std::vector<std::pair<int, PyObject*>> roots_;
  mutable std::vector<Word> words_;
  mutable std::vector<Ref> constants_;                 // numbers and texts, kept so that no other gets the address of one
  mutable std::vector<int> repeated_;                  // steps that run each time
  mutable std::vector<PyObject*> before_;              // what was found
  mutable std::vector<std::vector<PyObject*>> spare_;  // the same, from earlier checks
  mutable uint64_t memory_ = 0;                        // counts what was remembered
  mutable bool planned_ = false, remembered_ = false;

  std::vector<Place> places_;
  std::vector<Step> steps_;
  std::vector<int> distinct_, memory_places_;
  std::vector<size_t> written_;
  std::vector<graph::SharedMemory> shared_;
  Surroundings surroundings_;
};

extern PyTypeObject* guards_type;
struct GuardsObject {
  PyObject_HEAD Guards* guards;
};
bool add_guards(PyObject* module);
// Facts of a tensor as a tuple, for the capture: what `tensor()` of guards takes.
bool is_tensor_object(PyObject* o);

}  // namespace cresset::compile
