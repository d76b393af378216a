#include "python/bind_compile/guards.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>

#include "cresset/core/default_dtype.h"
#include "cresset/transform/autocast.h"

namespace cresset::compile {

namespace {

PyTypeObject* tensor_type = nullptr;  // of the package's extension

// A method of a type that is written in C, bound to an object; no public header names the type in every version of Python.
bool is_method_wrapper(PyObject* o) {
  static PyTypeObject* const type = [] {
    const Ref method(PyObject_GetAttrString(Py_None, "__repr__"));
    return method ? Py_TYPE(method.get()) : nullptr;
  }();
  return Py_TYPE(o) == type;
}

const Tensor& tensor_of(PyObject* o) { return reinterpret_cast<python::TensorObject*>(o)->tensor; }

PyObject* dict_of(PyObject* o) {
  if (PyModule_Check(o)) return PyModule_GetDict(o);
  PyObject** dict = _PyObject_GetDictPtr(o);
  return dict ? *dict : nullptr;
}

std::string repr(PyObject* o) {
  if (!o) return "nothing";
  if (is_tensor_object(o)) return "tensor";
  Ref text(PyObject_Repr(o));
  const char* s = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (!s) PyErr_Clear();
  std::string out = s ? s : Py_TYPE(o)->tp_name;
  if (out.size() > 120) out = out.substr(0, 117) + "...";
  return out;
}

// As numbers of NumPy are equal.
bool same_bytes(PyObject* a, PyObject* b) {
  Py_buffer x, y;
  if (PyObject_GetBuffer(a, &x, PyBUF_SIMPLE) < 0) return PyErr_Clear(), false;
  bool same = false;
  if (PyObject_GetBuffer(b, &y, PyBUF_SIMPLE) < 0) {
    PyErr_Clear();
  } else {
    same = x.len == y.len && std::memcmp(x.buf, y.buf, static_cast<size_t>(x.len)) == 0;
    PyBuffer_Release(&y);
  }
  PyBuffer_Release(&x);
  return same;
}

// Of the same class, and equal, without calling Python: numbers, NumPy's too, str, bytes, tuples of such.
bool equal(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  if (PyTuple_Check(a)) {
    const Py_ssize_t n = PyTuple_GET_SIZE(a);
    if (PyTuple_GET_SIZE(b) != n) return false;
    for (Py_ssize_t i = 0; i < n; i++)
      if (!equal(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
    return true;
  }
  if (PyComplex_CheckExact(a))
    return std::memcmp(&reinterpret_cast<PyComplexObject*>(a)->cval, &reinterpret_cast<PyComplexObject*>(b)->cval, sizeof(Py_complex)) == 0;
  if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyBytes_CheckExact(a) || PyRange_Check(a) || PySlice_Check(a) || PyFrozenSet_CheckExact(a) ||
      PySet_CheckExact(a)) {
    const int same = PyObject_RichCompareBool(a, b, Py_EQ);
    if (same < 0) PyErr_Clear();
    return same == 1;
  }
  return same_bytes(a, b);
}

// A new reference, which goes to `found`; an error is no object.
PyObject* kept(PyObject* o, Found& found) {
  if (!o) PyErr_Clear();
  else found.made.emplace_back(o);
  return o;
}

Py_ssize_t length(PyObject* o) {
  if (PyList_Check(o)) return PyList_GET_SIZE(o);
  if (PyTuple_Check(o)) return PyTuple_GET_SIZE(o);
  if (PyDict_Check(o)) return PyDict_GET_SIZE(o);
  if (PyAnySet_Check(o)) return PySet_GET_SIZE(o);
  // deque and the like: written in C
  const Py_ssize_t n = Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE ? -1 : PyObject_Size(o);
  if (n < 0) PyErr_Clear();
  return n;
}

bool has_keys(PyObject* dict, PyObject* keys) {
  if (PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return false;
  Py_ssize_t at = 0, i = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(dict, &at, &key, &value)) {
    PyObject* wanted = PyTuple_GET_ITEM(keys, i++);
    if (key != wanted && !equal(key, wanted)) return false;
  }
  return true;
}

// The code of a function, or the values of parameters that are not given: a tuple (1), a dict for those given by name (2), None without any.
PyObject* part_of_function(PyObject* function, int part) {
  if (part == 0) return PyFunction_GET_CODE(function);
  PyObject* values = part == 1 ? PyFunction_GET_DEFAULTS(function) : PyFunction_GET_KW_DEFAULTS(function);
  return values ? values : Py_None;
}

// A size, stride or offset of a tensor, or an integer.
bool read_number(PyObject* o, Read what, int dim, int64_t& out) {
  if (!o) return false;
  if (what == Read::Number) {
    if (!PyLong_CheckExact(o)) return false;
    int overflow = 0;
    out = PyLong_AsLongLongAndOverflow(o, &overflow);
    return overflow == 0;
  }
  if (!is_tensor_object(o) || !tensor_of(o).defined()) return false;
  const TensorImpl& impl = *tensor_of(o).unsafeGetTensorImpl();
  if (what == Read::Offset) {
    out = impl.storage_offset();
    return true;
  }
  if (dim < 0 || dim >= impl.dim()) return false;
  out = what == Read::Size ? impl.sizes()[dim] : impl.strides()[dim];
  return true;
}

bool agrees(const Tensor& t, const TensorFacts& f) {
  if (!t.defined()) return false;
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (impl.dtype() != f.dtype || impl.layout() != f.layout || !(impl.device() == f.device) || impl.dim() != static_cast<int64_t>(f.sizes.size())) return false;
  if (impl.is_conj() != ((f.layers & 1) != 0) || impl.is_neg() != ((f.layers & 2) != 0) || impl.is_inference() != ((f.layers & 4) != 0)) return false;
  const bool requires_grad = impl.autograd() && impl.autograd()->requires_grad();
  if (requires_grad != f.requires_grad || (f.check_leaf && t.is_leaf() != f.leaf)) return false;
  const auto sizes = impl.sizes();
  for (size_t i = 0; i < f.sizes.size(); i++)
    if (f.sizes[i] < 0 ? sizes[i] < (f.sizes[i] == kOpen ? 2 : 0) : sizes[i] != f.sizes[i]) return false;
  if (!f.check_strides) return true;
  const auto strides = impl.strides();
  for (size_t i = 0; i < f.strides.size(); i++)
    if (f.strides[i] != -1 && strides[i] != f.strides[i] && f.sizes[i] != 1) return false;
  return true;
}

// Of the extension of tensors: whether a mode takes the calls of this thread.
bool (*any_mode)() = nullptr;

bool find_any_mode(PyObject* package) {
  const Ref capsule(PyObject_CallMethod(package, "_any_mode", nullptr));
  any_mode = capsule ? reinterpret_cast<bool (*)()>(PyCapsule_GetPointer(capsule.get(), "cresset.any_mode")) : nullptr;
  return any_mode != nullptr;
}

}  // namespace

Surroundings Surroundings::now() {
  const LayerState& s = layer_state_of_thread();
  return {s.grad_mode,
          s.inference_mode,
          amp::is_autocast_enabled(),
          amp::is_autocast_cache_enabled(),
          any_mode && any_mode(),
          amp::get_autocast_dtype(kCPU),
          get_default_dtype(),
          s.included,
          s.hidden,
          s.no_data};
}

bool Surroundings::operator==(const Surroundings& o) const {
  return grad == o.grad && inference == o.inference && autocast == o.autocast && autocast_cache == o.autocast_cache && taken_over == o.taken_over &&
         default_dtype == o.default_dtype && included == o.included && hidden == o.hidden && no_data == o.no_data &&
         (!autocast || autocast_dtype == o.autocast_dtype);
}

std::string Surroundings::text() const {
  return std::string("grad mode ") + (grad ? "on" : "off") + ", inference mode " + (inference ? "on" : "off") + ", autocast " + (autocast ? "on" : "off") +
         (taken_over ? ", a mode takes calls over" : "") + ", layers " + std::to_string(included) + "/" + std::to_string(hidden);
}

int Guards::get(Get what, int parent, PyObject* key, int number) {
  for (size_t i = 0; i < places_.size(); i++) {
    const Place& p = places_[i];
    if (p.what == what && p.parent == parent && p.number == number && (p.key.get() == key || (p.key.get() && key && equal(p.key.get(), key))))
      return static_cast<int>(i);
  }
  planned_ = remembered_ = false;
  places_.push_back({what, parent, number, Ref::share(key)});
  const int place = num_places() - 1;
  steps_.push_back({false, Check::Is, place, 0, Ref(), nullptr, nullptr});
  return place;
}

void Guards::check(Check what, int place, PyObject* value, int number) {
  planned_ = remembered_ = false;
  steps_.push_back({true, what, place, number, Ref::share(value), nullptr, nullptr});
}

void Guards::check_tensor(int place, TensorFacts facts) {
  steps_.push_back({true, Check::Tensor, place, 0, Ref(), std::make_unique<TensorFacts>(std::move(facts)), nullptr});
}

bool Guards::check_formula(PyObject* tree, PyObject* text) {
  auto formula = std::make_unique<Formula>();
  if (!formula->compile(tree, num_places())) return false;
  steps_.push_back({true, Check::Formula, 0, 0, Ref::share(text), nullptr, std::move(formula)});
  return true;
}

PyObject* Guards::read(const Place& p, const Frame& frame, Found& found) const {
  switch (p.what) {
    case Get::Slot: return p.number < frame.num_slots() ? frame.slot(p.number) : nullptr;
    case Get::Stack: return p.number < frame.depth() ? frame.stack(p.number) : nullptr;
    case Get::Globals: return frame.globals();
    case Get::Builtins: return frame.builtins();
    case Get::Const: return p.key.get();
    default: break;
  }
  PyObject* o = found[p.parent];
  if (!o) return nullptr;
  switch (p.what) {
    case Get::Contents: return PyCell_Check(o) ? PyCell_GET(o) : nullptr;
    case Get::Attr: {
      PyObject* dict = dict_of(o);
      return dict ? PyDict_GetItem(dict, p.key.get()) : nullptr;
    }
    case Get::Member: {
      if (!PyObject_TypeCheck(o, PyDescr_TYPE(p.key.get()))) return nullptr;
      const PyMemberDef* m = reinterpret_cast<PyMemberDescrObject*>(p.key.get())->d_member;
      return m->type == T_OBJECT_EX || m->type == T_OBJECT ? *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + m->offset) : nullptr;
    }
    case Get::TypeAttr: return PyType_Check(o) ? _PyType_Lookup(reinterpret_cast<PyTypeObject*>(o), p.key.get()) : nullptr;
    case Get::Type: return reinterpret_cast<PyObject*>(Py_TYPE(o));
    case Get::Item: return PyDict_Check(o) ? PyDict_GetItem(o, p.key.get()) : nullptr;
    case Get::Index:
      if (PyList_Check(o)) return p.number < PyList_GET_SIZE(o) ? PyList_GET_ITEM(o, p.number) : nullptr;
      if (PyTuple_Check(o)) return p.number < PyTuple_GET_SIZE(o) ? PyTuple_GET_ITEM(o, p.number) : nullptr;
      return Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE ? nullptr : kept(PySequence_GetItem(o, p.number), found);
    case Get::Dict: return dict_of(o);
    case Get::Self:
      if (is_method_wrapper(o)) return kept(PyObject_GetAttrString(o, "__self__"), found);
      return PyMethod_Check(o) ? PyMethod_GET_SELF(o) : PyCFunction_Check(o) ? PyCFunction_GET_SELF(o) : nullptr;
    case Get::Function:  // the name of a method that is written in C
      if (PyCFunction_Check(o) || is_method_wrapper(o)) return kept(PyObject_GetAttrString(o, "__name__"), found);
      return PyMethod_Check(o) ? PyMethod_GET_FUNCTION(o) : nullptr;
    case Get::Code: return PyFunction_Check(o) ? part_of_function(o, p.number) : nullptr;
    case Get::Closure: {
      PyObject* cells = PyFunction_Check(o) ? PyFunction_GET_CLOSURE(o) : nullptr;
      return cells && p.number < PyTuple_GET_SIZE(cells) ? PyTuple_GET_ITEM(cells, p.number) : nullptr;
    }
    case Get::Referent: return PyWeakref_Check(o) ? kept(Py_NewRef(PyWeakref_GET_OBJECT(o)), found) : nullptr;
    case Get::Seen: return kept(PyObject_CallOneArg(p.key.get(), o), found);
    case Get::Grad: return is_tensor_object(o) ? kept(PyObject_GetAttrString(o, "grad"), found) : nullptr;
    default: return nullptr;
  }
}

bool Guards::passes(const Step& s, const Found& found) const {
  if (s.check == Check::Formula)
    return s.formula->holds([&](int place, Read what, int dim, int64_t& out) { return read_number(found[place], what, dim, out); });
  PyObject* o = found[s.place];
  if (s.check == Check::Missing) return !o;
  if (!o) return false;
  switch (s.check) {
    case Check::Is: return o == s.value.get();
    case Check::Type: return reinterpret_cast<PyObject*>(Py_TYPE(o)) == s.value.get();
    case Check::Equal: return equal(o, s.value.get());
    case Check::Length: return length(o) == s.number;
    case Check::Keys: return PyDict_Check(o) && has_keys(o, s.value.get());
    case Check::Bound: return true;
    case Check::Same: return o == found[s.number];
    case Check::Tensor: return is_tensor_object(o) && agrees(tensor_of(o), *s.facts);
    default: return false;
  }
}

bool Guards::distinct(const Found& found) const {
  if (distinct_.size() < 24) {
    for (size_t i = 0; i < distinct_.size(); i++)
      for (size_t k = 0; k < i; k++)
        if (found[distinct_[i]] == found[distinct_[k]]) return false;
    return true;
  }
  size_t size = 64;
  while (size < distinct_.size() * 2) size *= 2;
  std::vector<PyObject*> seen(size);
  for (const int place : distinct_) {
    PyObject* o = found[place];
    size_t i = (reinterpret_cast<uintptr_t>(o) >> 4) * 0x9E3779B97F4A7C15ull >> 20 & (size - 1);
    for (; seen[i]; i = (i + 1) & (size - 1))
      if (seen[i] == o) return false;
    seen[i] = o;
  }
  return true;
}

bool Guards::shares_memory_as_before(const Found& found) const {
  bool alone = true;
  for (const size_t w : written_) {
    PyObject* const o = found[static_cast<size_t>(memory_places_[w])];
    if (!o || !is_tensor_object(o)) return false;
    const auto& storage = tensor_of(o).unsafeGetTensorImpl()->storage();
    alone = alone && (!storage || storage->use_count() < 2);
  }
  if (alone) return shared_.empty();
  std::vector<const Tensor*> tensors;
  for (const int place : memory_places_) {
    PyObject* const o = found[static_cast<size_t>(place)];
    if (!o || !is_tensor_object(o)) return false;
    tensors.push_back(&tensor_of(o));
  }
  return graph::shared_memory(tensors, written_) == shared_;
}

namespace {

// Whether dicts count their changes, and where.
#if PY_VERSION_HEX < 0x030C0000
constexpr bool kDictsCount = true;
const uint64_t* version_at(PyObject* dict) {
  static_assert(sizeof(PyDictObject::ma_version_tag) == sizeof(uint64_t));
  return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}
#else
constexpr bool kDictsCount = false;
const uint64_t* version_at(PyObject* dict) { return reinterpret_cast<const uint64_t*>(dict); }
#endif

bool is_root(Get what) { return what == Get::Slot || what == Get::Stack || what == Get::Globals || what == Get::Builtins || what == Get::Const; }
bool is_of_class(Get what) { return what == Get::Type || what == Get::TypeAttr; }
bool is_in_dict(Get what) { return what == Get::Attr || what == Get::Item || what == Get::Dict; }

}  // namespace

void Guards::plan(const Found& found) const {
  planned_ = true;
  wanted_.clear();
  repeated_.clear();
  // A place is settled if only dicts, cells and classes lie between it and a root.
  std::vector<bool> settled(places_.size()), own(places_.size()), items(places_.size()), kind(places_.size()), names(places_.size()), filled(places_.size());
  for (size_t i = 0; i < places_.size(); i++) {
    const Place& p = places_[i];
    settled[i] = is_root(p.what) || ((is_in_dict(p.what) || is_of_class(p.what) || p.what == Get::Contents) && settled[static_cast<size_t>(p.parent)]);
    if (!settled[i] || is_root(p.what)) continue;
    std::vector<bool>& of = p.what == Get::Item ? items : p.what == Get::Type ? kind : p.what == Get::TypeAttr ? names : p.what == Get::Contents ? filled : own;
    of[static_cast<size_t>(p.parent)] = true;
  }
  // The version of a dict tells how long it is, too.
  const auto is_length_of_dict = [&](const Step& s) {
    PyObject* o = found[static_cast<size_t>(s.place)];
    return s.check == Check::Length && o && PyDict_Check(o);
  };
  for (const Step& s : steps_) {
    if (!s.is_check || s.check == Check::Formula || !settled[static_cast<size_t>(s.place)]) continue;
    if (s.check == Check::Keys || is_length_of_dict(s)) items[static_cast<size_t>(s.place)] = true;
    if (s.check == Check::Type) kind[static_cast<size_t>(s.place)] = true;
  }
  for (size_t i = 0; i < places_.size(); i++) {
    const int place = static_cast<int>(i);
    if (settled[i] && is_root(places_[i].what) && places_[i].what != Get::Const) wanted_.push_back({Watch::Value, place});
    if (kind[i]) wanted_.push_back({Watch::Class, place});
    if (names[i]) wanted_.push_back({Watch::Names, place});
    if (filled[i]) wanted_.push_back({Watch::Cell, place});
    if (own[i]) wanted_.push_back({Watch::OwnDict, place});
    if (items[i]) wanted_.push_back({Watch::ItemsOf, place});
  }
  const auto is_covered = [&](const Step& s) {
    if (!settled[static_cast<size_t>(s.place)]) return false;
    if (!s.is_check) return true;
    switch (s.check) {
      case Check::Tensor:
      case Check::Formula: return false;
      case Check::Length: return is_length_of_dict(s);
      case Check::Same: return static_cast<bool>(settled[static_cast<size_t>(s.number)]);
      case Check::Equal: return !s.value || PyLong_CheckExact(s.value.get()) || PyUnicode_CheckExact(s.value.get()) || PyFloat_CheckExact(s.value.get());
      default: return true;
    }
  };
  for (size_t k = 0; k < steps_.size(); k++) {
    const Step& s = steps_[k];
    if (!is_covered(s)) repeated_.push_back(static_cast<int>(k));
    else if (s.is_check && s.check == Check::Equal) wanted_.push_back({Watch::Constant, s.place});
  }
}

void Guards::remember(const Found& found) const {
  if (!planned_) plan(found);
  remembered_ = false;
  if (!kDictsCount) return;
  roots_.clear();
  words_.clear();
  constants_.clear();
  const auto watch = [&](const void* at, uint64_t value) { words_.push_back({static_cast<const uint64_t*>(at), value}); };
  const auto watch_version = [&](PyObject* dict) { watch(version_at(dict), *version_at(dict)); };
  const auto number_of = [](const void* o) { return reinterpret_cast<uint64_t>(o); };
  for (const Watch w : wanted_) {
    PyObject* o = found[static_cast<size_t>(w.place)];
    switch (w.kind) {
      case Watch::Value: roots_.emplace_back(w.place, o); break;
      case Watch::Constant: constants_.push_back(Ref::share(o)); break;
      case Watch::Class: {
        // An object that a dict holds cannot become one of another class unless its class is Python's; at the address of an argument another may lie.
        const Get what = places_[static_cast<size_t>(w.place)].what;
        if (is_root(what) || what == Get::Contents || Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE) watch(&o->ob_type, number_of(Py_TYPE(o)));
        break;
      }
      case Watch::Names: {
        auto* const type = reinterpret_cast<PyTypeObject*>(o);
        if (!o || !PyType_Check(o) || !(type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG)) return;
        uint64_t word = 0;  // the version, with the bytes behind it that fill it up
        static_assert(offsetof(PyTypeObject, tp_version_tag) % sizeof word == 0 &&
                      offsetof(PyTypeObject, tp_finalize) - offsetof(PyTypeObject, tp_version_tag) == sizeof word);
        std::memcpy(&word, &type->tp_version_tag, sizeof word);
        watch(&type->tp_version_tag, word);
        break;
      }
      case Watch::Cell:
        if (!o || !PyCell_Check(o)) return;
        watch(&reinterpret_cast<PyCellObject*>(o)->ob_ref, number_of(PyCell_GET(o)));
        break;
      case Watch::OwnDict: {
        PyObject* const dict = o ? dict_of(o) : nullptr;
        if (!dict) return;
        if (!PyModule_Check(o)) watch(_PyObject_GetDictPtr(o), number_of(dict));  // a module has one dict for life
        watch_version(dict);
        break;
      }
      case Watch::ItemsOf:
        if (!o || !PyDict_Check(o)) return;
        watch_version(o);
        break;
    }
  }
  before_ = found.at;
  spare_.clear();
  memory_++;
  remembered_ = true;
}

bool Guards::is_as_it_was(const Frame& frame, Found& found) const {
  for (const auto& [place, object] : roots_)
    if (read(places_[static_cast<size_t>(place)], frame, found) != object) return false;
  // In the order of places: each object lives for as long as the one before that holds it is as it was.
  for (const Word& w : words_)
    if (*w.at != w.value) return false;
  if (spare_.empty()) {
    found.at = before_;
  } else {
    found.at = std::move(spare_.back());
    spare_.pop_back();
  }
  found.memory = memory_;
  for (const int k : repeated_) {
    const Step& s = steps_[static_cast<size_t>(k)];
    if (!s.is_check) found[static_cast<size_t>(s.place)] = read(places_[static_cast<size_t>(s.place)], frame, found);
    else if (!passes(s, found)) return false;
  }
  return distinct(found) && shares_memory_as_before(found);
}

void Guards::take_back(Found& found) const {
  constexpr size_t kMost = 4;
  if (remembered_ && found.memory == memory_ && found.at.size() == before_.size() && spare_.size() < kMost) spare_.push_back(std::move(found.at));
  found.memory = 0;
}

bool Guards::hold(const Frame& frame, Found& found) const {
  found.made.clear();
  found.memory = 0;
  if (!(Surroundings::now() == surroundings_)) return false;
  if (remembered_ && is_as_it_was(frame, found)) return true;
  found.at.assign(places_.size(), nullptr);
  for (const Step& s : steps_) {
    if (!s.is_check) {
      found[s.place] = read(places_[s.place], frame, found);
    } else if (!passes(s, found)) {
      return false;
    }
  }
  if (!distinct(found) || !shares_memory_as_before(found)) return false;
  remember(found);
  return true;
}

std::string Guards::failure(const Frame& frame) const {
  if (!(Surroundings::now() == surroundings_)) return "modes: expected " + surroundings_.text() + ", got " + Surroundings::now().text();
  Found found;
  found.at.resize(places_.size());
  for (const Step& s : steps_) {
    if (!s.is_check) {
      found[s.place] = read(places_[s.place], frame, found);
    } else if (!passes(s, found)) {
      PyObject* o = found[s.place];
      if (s.check == Check::Tensor && o && is_tensor_object(o)) {
        std::string sizes;
        for (const int64_t n : tensor_of(o).sizes()) sizes += (sizes.empty() ? "" : ", ") + std::to_string(n);
        return text_of(s) + ", got a tensor of sizes [" + sizes + "]";
      }
      return text_of(s) + ", got " + repr(o);
    }
  }
  if (!distinct(found)) return "two arguments are the same tensor";
  return shares_memory_as_before(found) ? "" : "a tensor that is written shares memory with others in another way";
}

std::string Guards::name_of(int place) const {
  const Place& p = places_[place];
  const auto of = [&] { return name_of(p.parent); };
  switch (p.what) {
    case Get::Slot: return "local " + std::to_string(p.number);
    case Get::Stack: return "stack " + std::to_string(p.number);
    case Get::Globals: return "globals";
    case Get::Builtins: return "builtins";
    case Get::Const: return repr(p.key.get());
    case Get::Contents: return of() + ".cell_contents";
    case Get::Attr:
    case Get::TypeAttr: return of() + "." + (PyUnicode_Check(p.key.get()) ? PyUnicode_AsUTF8(p.key.get()) : "?");
    case Get::Member: return of() + "." + repr(p.key.get());
    case Get::Type: return "type(" + of() + ")";
    case Get::Item: return of() + "[" + repr(p.key.get()) + "]";
    case Get::Index: return of() + "[" + std::to_string(p.number) + "]";
    case Get::Dict: return of() + ".__dict__";
    case Get::Self: return of() + ".__self__";
    case Get::Function: return of() + ".__func__";
    case Get::Code: return of() + (p.number == 1 ? ".__defaults__" : p.number == 2 ? ".__kwdefaults__" : ".__code__");
    case Get::Closure: return of() + ".__closure__[" + std::to_string(p.number) + "]";
    case Get::Grad: return of() + ".grad";
    case Get::Referent: return of() + "()";
    case Get::Seen: return "tensor of " + of();
  }
  return "?";
}

std::string Guards::text_of(const Step& s) const {
  const std::string name = name_of(s.place);
  switch (s.check) {
    case Check::Is: return name + " is " + repr(s.value.get());
    case Check::Type: return "type(" + name + ") is " + repr(s.value.get());
    case Check::Equal: return name + " == " + repr(s.value.get());
    case Check::Length: return "len(" + name + ") == " + std::to_string(s.number);
    case Check::Keys: return "keys of " + name + " are " + repr(s.value.get());
    case Check::Bound: return name + " has a value";
    case Check::Missing: return name + " is missing";
    case Check::Same: return name + " is " + name_of(s.number);
    case Check::Formula: return s.value && PyUnicode_Check(s.value.get()) ? PyUnicode_AsUTF8(s.value.get()) : "a condition on sizes";
    case Check::Tensor: {
      std::string sizes;
      for (const int64_t n : s.facts->sizes) sizes += (sizes.empty() ? "" : ", ") + (n < 0 ? "any" : std::to_string(n));
      return name + " is a tensor of sizes [" + sizes + "], " + toString(s.facts->dtype) + (s.facts->requires_grad ? " that requires a gradient" : "");
    }
  }
  return name;
}

std::string Guards::text() const {
  std::string out = surroundings_.text() + "\n";
  for (const Step& s : steps_)
    if (s.is_check) out += text_of(s) + "\n";
  return out;
}

std::vector<std::pair<Check, int>> Guards::checks() const {
  std::vector<std::pair<Check, int>> out;
  for (const Step& s : steps_)
    if (s.is_check) out.emplace_back(s.check, s.place);
  return out;
}

void Guards::keep(const std::vector<bool>& kept) {
  planned_ = remembered_ = false;
  size_t next = 0;
  steps_.erase(std::remove_if(steps_.begin(), steps_.end(), [&](const Step& s) { return s.is_check && !kept[next++]; }), steps_.end());
}

std::vector<std::string> Guards::repeated() const {
  std::vector<std::string> out;
  for (const int k : repeated_) {
    const Step& s = steps_[static_cast<size_t>(k)];
    out.push_back(s.is_check ? text_of(s) : name_of(s.place));
  }
  return out;
}

int Guards::traverse(visitproc visit, void* arg) const {
  for (const Place& p : places_) Py_VISIT(p.key.get());
  for (const Step& s : steps_) Py_VISIT(s.value.get());
  return 0;
}

void Guards::clear() {
  remembered_ = planned_ = false;
  steps_.clear();
  distinct_.clear();
  written_.clear();
}

bool is_tensor_object(PyObject* o) { return PyObject_TypeCheck(o, tensor_type); }

// ---- the Python object ------------------------------------------------------------------------------------------------------

PyTypeObject* guards_type = nullptr;

namespace {

Guards& of(PyObject* self) { return *reinterpret_cast<GuardsObject*>(self)->guards; }

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  auto* self = reinterpret_cast<GuardsObject*>(type->tp_alloc(type, 0));
  if (self) self->guards = new Guards();
  return reinterpret_cast<PyObject*>(self);
}
void release(PyObject* self) {
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<GuardsObject*>(self)->guards;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
int visit_guards(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return of(self).traverse(visit, arg);
}
int clear_guards(PyObject* self) {
  of(self).clear();
  return 0;
}

// get(what, parent, key, number) -> place
PyObject* get(PyObject* self, PyObject* args) {
  int what = 0, parent = 0, number = 0;
  PyObject* key = nullptr;
  if (!PyArg_ParseTuple(args, "iiOi", &what, &parent, &key, &number)) return nullptr;
  if (what < 0 || what > static_cast<int>(Get::Seen) || parent < -1 || parent >= of(self).num_places()) {
    PyErr_Format(PyExc_ValueError, "guards: no such place, got %d of %d", what, parent);
    return nullptr;
  }
  return PyLong_FromLong(of(self).get(static_cast<Get>(what), parent,
                                      key == Py_None && static_cast<Get>(what) != Get::Const && static_cast<Get>(what) != Get::Item ? nullptr : key, number));
}

// check(what, place, value, number)
PyObject* check(PyObject* self, PyObject* args) {
  int what = 0, place = 0, number = 0;
  PyObject* value = nullptr;
  if (!PyArg_ParseTuple(args, "iiOi", &what, &place, &value, &number)) return nullptr;
  const int count = of(self).num_places();
  if (what < 0 || what > static_cast<int>(Check::Same) || what == static_cast<int>(Check::Tensor) || place < 0 || place >= count ||
      (static_cast<Check>(what) == Check::Same && (number < 0 || number >= count)) || (static_cast<Check>(what) == Check::Keys && !PyTuple_Check(value))) {
    PyErr_Format(PyExc_ValueError, "guards: no such check, got %d at %d", what, place);
    return nullptr;
  }
  of(self).check(static_cast<Check>(what), place, value, number);
  Py_RETURN_NONE;
}

// tensor(place, tensor, open_sizes, check_leaf): as this tensor is, but for the dimensions in the tuple `open_sizes`, which may have any size but 0 and
// 1, and 0 and 1 too where it holds ~d for a dimension d
PyObject* tensor(PyObject* self, PyObject* args) {
  int place = 0, check_leaf = 0;
  PyObject *t = nullptr, *open = nullptr;
  if (!PyArg_ParseTuple(args, "iOO!p", &place, &t, &PyTuple_Type, &open, &check_leaf)) return nullptr;
  if (place < 0 || place >= of(self).num_places() || !is_tensor_object(t)) {
    PyErr_SetString(PyExc_ValueError, "guards: expected a place and a tensor");
    return nullptr;
  }
  const Tensor& x = tensor_of(t);
  const TensorImpl& impl = *x.unsafeGetTensorImpl();
  TensorFacts f{
      impl.sizes().vec(), impl.strides().vec(), impl.dtype(), impl.device(), impl.layout(), 0, false, false, check_leaf != 0, impl.layout() == Layout::Strided};
  f.layers = static_cast<uint8_t>((impl.is_conj() ? 1 : 0) | (impl.is_neg() ? 2 : 0) | (impl.is_inference() ? 4 : 0));
  f.requires_grad = impl.autograd() && impl.autograd()->requires_grad();
  f.leaf = x.is_leaf();
  if (PyTuple_GET_SIZE(open)) f.check_strides = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(open); i++) {
    const long entry = PyLong_AsLong(PyTuple_GET_ITEM(open, i)), d = entry < 0 ? ~entry : entry;
    if ((entry == -1 && PyErr_Occurred()) || d >= static_cast<long>(f.sizes.size())) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "guards: no such dimension");
      return nullptr;
    }
    f.sizes[d] = entry < 0 ? kUnbacked : kOpen;
  }
  of(self).check_tensor(place, std::move(f));
  Py_RETURN_NONE;
}

// formula(tree, text)
PyObject* formula(PyObject* self, PyObject* args) {
  PyObject *tree = nullptr, *text = nullptr;
  if (!PyArg_ParseTuple(args, "OU", &tree, &text) || !of(self).check_formula(tree, text)) return nullptr;
  Py_RETURN_NONE;
}

// Numbers of a sequence, each of them below `end`. False, with an error set, for others.
template <class T> bool read_numbers(PyObject* sequence, long end, std::vector<T>& to) {
  for (Py_ssize_t i = 0, n = PySequence_Size(sequence); i < n; i++) {
    const Ref item(PySequence_GetItem(sequence, i));
    const long number = item ? PyLong_AsLong(item.get()) : -1;
    if (number < 0 || number >= end) {
      if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "guards: expected numbers below %ld, got %ld", end, number);
      return false;
    }
    to.push_back(static_cast<T>(number));
  }
  return !PyErr_Occurred();
}

PyObject* distinct(PyObject* self, PyObject* places) {
  std::vector<int> list;
  if (!read_numbers(places, of(self).num_places(), list)) return nullptr;
  of(self).check_distinct(std::move(list));
  Py_RETURN_NONE;
}

bool read_tensors(PyObject* list, std::vector<const Tensor*>& to) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
    PyObject* const o = PyList_GET_ITEM(list, i);
    if (!is_tensor_object(o)) {
      PyErr_Format(PyExc_TypeError, "guards: expected a list of tensors, got %R in it", Py_TYPE(o));
      return false;
    }
    to.push_back(&tensor_of(o));
  }
  return true;
}

// memory(places, tensors, written) -> whether any of the tensors at these places that are written shares memory with another
PyObject* memory(PyObject* self, PyObject* args) {
  PyObject *places = nullptr, *list = nullptr, *numbers = nullptr;
  std::vector<int> at;
  std::vector<const Tensor*> tensors;
  std::vector<size_t> written;
  if (!PyArg_ParseTuple(args, "OO!O", &places, &PyList_Type, &list, &numbers) || !read_numbers(places, of(self).num_places(), at) ||
      !read_tensors(list, tensors) || !read_numbers(numbers, static_cast<long>(tensors.size()), written))
    return nullptr;
  if (at.size() != tensors.size()) {
    PyErr_Format(PyExc_ValueError, "guards: expected %zu tensors, got %zu", at.size(), tensors.size());
    return nullptr;
  }
  std::vector<graph::SharedMemory> shared = graph::shared_memory(tensors, written);
  const bool any = !shared.empty();
  of(self).check_memory(std::move(at), std::move(written), std::move(shared));
  return PyBool_FromLong(any);
}

// shared_memory(tensors, written) -> [(number, number of a tensor over the same storage, distance in bytes)]
PyObject* shared_memory(PyObject*, PyObject* args) {
  PyObject *list = nullptr, *numbers = nullptr;
  std::vector<const Tensor*> tensors;
  std::vector<size_t> written;
  if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &list, &numbers) || !read_tensors(list, tensors) ||
      !read_numbers(numbers, static_cast<long>(tensors.size()), written))
    return nullptr;
  Ref found(PyList_New(0));
  for (const graph::SharedMemory& s : graph::shared_memory(tensors, written)) {
    const Ref item(Py_BuildValue("nnL", static_cast<Py_ssize_t>(s.first), static_cast<Py_ssize_t>(s.second), static_cast<long long>(s.distance)));
    if (!found || !item || PyList_Append(found.get(), item.get()) < 0) return nullptr;
  }
  return found.release();
}

PyObject* text(PyObject* self, PyObject*) {
  const std::string s = of(self).text();
  return PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace");
}
// The checks that run each time, though nothing has changed.
PyObject* repeated(PyObject* self, PyObject*) {
  Ref list(PyList_New(0));
  for (const std::string& s : of(self).repeated()) {
    Ref text(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
    if (!list || !text || PyList_Append(list.get(), text.get()) < 0) return nullptr;
  }
  return list.release();
}
PyObject* name(PyObject* self, PyObject* place) {
  const long n = PyLong_AsLong(place);
  if (n < 0 || n >= of(self).num_places()) return PyErr_Occurred() ? nullptr : PyUnicode_FromString("?");
  const std::string s = of(self).name_of(static_cast<int>(n));
  return PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace");
}

// [(kind of check, place)]
PyObject* checks(PyObject* self, PyObject*) {
  Ref list(PyList_New(0));
  for (const auto& [kind, place] : of(self).checks()) {
    Ref item(Py_BuildValue("ii", static_cast<int>(kind), place));
    if (!list || !item || PyList_Append(list.get(), item.get()) < 0) return nullptr;
  }
  return list.release();
}
// keep(flags): a flag for each of `checks()`
PyObject* keep(PyObject* self, PyObject* flags) {
  const Py_ssize_t count = static_cast<Py_ssize_t>(of(self).checks().size());
  if (!PyList_Check(flags) || PyList_GET_SIZE(flags) != count) {
    PyErr_Format(PyExc_ValueError, "guards: expected a list of %zd flags, got %R", count, flags);
    return nullptr;
  }
  std::vector<bool> kept;
  for (Py_ssize_t i = 0; i < count; i++) {
    const int flag = PyObject_IsTrue(PyList_GET_ITEM(flags, i));
    if (flag < 0) return nullptr;
    kept.push_back(flag != 0);
  }
  of(self).keep(kept);
  Py_RETURN_NONE;
}
// parent(place) -> (the place it is read from or -1, its kind)
PyObject* parent(PyObject* self, PyObject* place) {
  const long n = PyLong_AsLong(place);
  if (n < 0 || n >= of(self).num_places()) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "guards: no such place");
    return nullptr;
  }
  return Py_BuildValue("ii", of(self).parent_of(static_cast<int>(n)), static_cast<int>(of(self).kind_of(static_cast<int>(n))));
}

PyMethodDef methods[] = {{"get", get, METH_VARARGS, "A place: get(what, parent, key, number)."},
                         {"check", check, METH_VARARGS, "A check of a place: check(what, place, value, number)."},
                         {"tensor", tensor, METH_VARARGS, "A check of a place: tensor(place, example, open_dimensions, check_leaf)."},
                         {"formula", formula, METH_VARARGS, "A condition on sizes: formula(tree, text)."},
                         {"distinct", distinct, METH_O, "The tensors at these places are different ones."},
                         {"memory", memory, METH_VARARGS, "What written tensors share with others: memory(places, tensors, written), whether there is any."},
                         {"shared_memory", shared_memory, METH_VARARGS | METH_STATIC, "Tensors that share memory: shared_memory(tensors, written)."},
                         {"text", text, METH_NOARGS, "All checks, a line each."},
                         {"checks", checks, METH_NOARGS, "The kind and the place of each check."},
                         {"keep", keep, METH_O, "Drops the checks whose flag in a list is false."},
                         {"parent", parent, METH_O, "The place that one is read from, and the kind of the reading."},
                         {"repeated", repeated, METH_NOARGS, "The checks that run each time, though nothing has changed; empty before the first success."},
                         {"name", name, METH_O, "The name of a place."},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(release)},
                       {Py_tp_traverse, reinterpret_cast<void*>(visit_guards)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear_guards)},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"_cresset_compile.Guards", sizeof(GuardsObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

bool add_guards(PyObject* module) {
  Ref package(PyImport_ImportModule("_cresset"));
  if (!package) return false;
  tensor_type = reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(package.get(), "Tensor"));
  guards_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return tensor_type && guards_type && find_any_mode(package.get()) && PyModule_AddObjectRef(module, "Guards", reinterpret_cast<PyObject*>(guards_type)) == 0;
}

}  // namespace cresset::compile
