#include "cresset/dispatch/values/object.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ostream>
#include <unordered_set>

#include "cresset/base/numbers/complex_math.h"
#include "cresset/core/sparse.h"
#include "cresset/dispatch/registry.h"
#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"

namespace cresset::dispatch {

namespace {

size_t combined(size_t a, size_t b) { return a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2)); }

bool all_equal(const std::vector<Value>& a, const std::vector<Value>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const Value& x, const Value& y) { return x.is(y) || x == y; });
}

size_t hash_all(const std::vector<Value>& values) {
  size_t h = values.size();
  for (const Value& v : values) h = combined(h, v.hash());
  return h;
}

Value copy_of(const Value& v, Object::Memo& memo) {
  if (!v.isTensor() && !v.object()) return map_tensors(v, [&](const Tensor& t) { return copy_of(Value(t), memo).to_tensor(); });
  const void* const identity = v.isTensor() ? static_cast<const void*>(v.to_tensor().impl()) : v.object()->get();
  if (const auto known = memo.find(identity); known != memo.end()) return known->second;
  if (v.isTensor() && !v.to_tensor().defined()) return v;
  return memo[identity] = v.isTensor() ? Value(v.to_tensor().detach().clone()) : Value((*v.object())->deepcopy(memo));
}

std::vector<Value> copies(const std::vector<Value>& values, Object::Memo& memo) {
  std::vector<Value> out;
  for (const Value& v : values) out.push_back(copy_of(v, memo));
  return out;
}

void print_all(std::ostream& out, const std::vector<Value>& values, const char* open, const char* close) {
  out << open;
  for (size_t i = 0; i < values.size(); i++) {
    if (i) out << ", ";
    out << values[i];
  }
  out << close;
}

// Tensors are compared through the operator, which lies in a room below.
Tensor compared(const Tensor& a, const Tensor& b) {
  Stack stack{Value(a), Value(b)};
  find_op("eq.Tensor").call_boxed(stack);
  return stack.at(0).to_tensor();
}

// As Python prints a float, with a point.
void print_double(std::ostream& out, double v) {
  if (!std::isfinite(v)) {
    out << v;
    return;
  }
  // As many digits as tell floats apart, and a dot behind those that are whole.
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", v);
  out << text << (std::strpbrk(text, ".e") ? "" : ".");
}

}  // namespace

size_t Object::hash() const { return std::hash<const void*>()(this); }
void Object::print(std::ostream& out) const { out << '<' << kind_name() << " at " << static_cast<const void*>(this) << '>'; }
intrusive_ptr<Object> Object::deepcopy(Memo&) const { return intrusive_ptr<Object>::share(const_cast<Object*>(this)); }

Value TupleObject::equals(const Object& o) const { return all_equal(elements_, static_cast<const TupleObject&>(o).elements_); }
size_t TupleObject::hash() const { return hash_all(elements_); }
void TupleObject::print(std::ostream& out) const { print_all(out, elements_, "(", elements_.size() == 1 ? ",)" : ")"); }
intrusive_ptr<Object> TupleObject::deepcopy(Memo& memo) const { return create(copies(elements_, memo)); }

Value ListObject::equals(const Object& o) const { return all_equal(elements, static_cast<const ListObject&>(o).elements); }
size_t ListObject::hash() const { return hash_all(elements); }
void ListObject::print(std::ostream& out) const { print_all(out, elements, "[", "]"); }
intrusive_ptr<Object> ListObject::deepcopy(Memo& memo) const {
  auto out = make_intrusive<ListObject>(element);
  out->elements = copies(elements, memo);
  return out;
}

size_t DictObject::at(const Value& key) const {
  const auto [first, last] = index_.equal_range(key.hash());
  for (auto i = first; i != last; ++i)
    if (entries[i->second].key.is(key) || entries[i->second].key == key) return i->second;
  return entries.size();
}

std::pair<size_t, bool> DictObject::insert(Value key, Value value) {
  const size_t found = at(key);
  if (found < entries.size()) return {found, false};
  index_.emplace(key.hash(), found);
  entries.push_back({std::move(key), std::move(value)});
  return {found, true};
}

void DictObject::erase(size_t place) {
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(place));
  for (auto i = index_.begin(); i != index_.end();) {
    if (i->second == place) {
      i = index_.erase(i);
      continue;
    }
    if (i->second > place) i->second--;
    ++i;
  }
}

Value DictObject::equals(const Object& o) const {
  const auto& other = static_cast<const DictObject&>(o);
  if (entries.size() != other.entries.size()) return false;
  for (const Entry& e : entries) {
    const size_t found = other.at(e.key);
    if (found == other.entries.size()) return false;
    const Value& value = other.entries[found].value;
    if (!value.is(e.value) && !(value == e.value)) return false;
  }
  return true;
}
size_t DictObject::hash() const {
  size_t h = entries.size();
  for (const Entry& e : entries) h = combined(combined(h, e.key.hash()), e.value.hash());
  return h;
}
void DictObject::print(std::ostream& out) const {
  out << '{';
  for (size_t i = 0; i < entries.size(); i++) {
    if (i) out << ", ";
    out << entries[i].key;
    out << ": ";
    out << entries[i].value;
  }
  out << '}';
}
intrusive_ptr<Object> DictObject::deepcopy(Memo& memo) const {
  auto out = make_intrusive<DictObject>(key_kind, value_kind);
  for (const Entry& e : entries) out->insert(copy_of(e.key, memo), copy_of(e.value, memo));
  return out;
}

Value StorageObject::equals(const Object& o) const { return storage.is_alias_of(static_cast<const StorageObject&>(o).storage); }

Value Value::equals(const Value& o) const {
  if (isTensor() && o.isTensor()) {
    if (!to_tensor().defined() || !o.to_tensor().defined()) return to_tensor().defined() == o.to_tensor().defined();
    return compared(to_tensor(), o.to_tensor());
  }
  if (isTensor() != o.isTensor() || is_none() != o.is_none()) return false;
  if (is_number() && o.is_number()) {
    if (isBool() != o.isBool()) return false;
    const Scalar a = to_scalar(), b = o.to_scalar();
    if (a.isFloatingPoint() != b.isFloatingPoint() || a.isComplex() != b.isComplex()) return false;
    if (a.isComplex() || b.isComplex()) return a.as<complex<double>>() == b.as<complex<double>>();
    if (a.isFloatingPoint() || b.isFloatingPoint()) return a.as<double>() == b.as<double>();
    return a.is(b.as<int64_t>()) && (a.tag() == Scalar::Tag::UInt64) == (b.tag() == Scalar::Tag::UInt64);
  }
  if (object() && o.object()) {
    const Object &a = **object(), &b = **o.object();
    return a.kind() == b.kind() ? a.equals(b) : Value(false);
  }
  if (isList() && o.isList()) return all_equal(toListVector(), o.toListVector());
  if (data_.index() != o.data_.index()) return false;
  if (auto* s = std::get_if<std::string>(&data_)) return *s == o.to_string();
  if (auto* t = std::get_if<ScalarType>(&data_)) return *t == o.to_dtype();
  if (auto* d = std::get_if<Device>(&data_)) return *d == o.to_device();
  if (auto* l = std::get_if<Layout>(&data_)) return *l == o.to_layout();
  if (auto* f = std::get_if<MemoryFormat>(&data_)) return *f == o.to_memory_format();
  if (auto* g = std::get_if<Generator>(&data_)) return *g == o.to_generator();
  return true;
}

bool operator==(const Value& a, const Value& b) {
  const Value equal = a.equals(b);
  if (equal.isBool()) return equal.to_bool();
  CRESSET_CHECK(equal.to_tensor().numel() == 1, "value: the equality of tensors with several elements is ambiguous, got shape ", equal.to_tensor().sizes());
  return equal.to_tensor().item().toBool();
}

void* Value::internalToPointer() const {
  CRESSET_CHECK(isPtrType(), "IValue: expected a value that is held by a pointer, got ", kind());
  if (isTensor()) return to_tensor().unsafeGetTensorImpl();
  return object() ? static_cast<void*>(object()->get()) : &data_;  // strings and plain lists lie in the value itself
}

size_t Value::identity_hash() const {
  if (isTensor()) return std::hash<const void*>()(to_tensor().impl());
  if (object()) return std::hash<const void*>()(isStorage() ? static_cast<const void*>(toStorage().unsafeGetStorageImpl()) : object()->get());
  return isList() ? 0 : hash();
}

bool Value::is(const Value& o) const {
  const auto is_nothing = [](const Value& v) { return v.is_none() || (v.isTensor() && !v.to_tensor().defined()); };
  if (is_nothing(*this) || is_nothing(o)) return is_nothing(*this) && is_nothing(o);
  if (isTensor() && o.isTensor()) return to_tensor().is_same(o.to_tensor());
  if (object() && o.object()) {
    if (isStorage() && o.isStorage()) return toStorage().is_alias_of(o.toStorage());
    return *object() == *o.object();
  }
  if (data_.index() != o.data_.index() || isList()) return this == &o;
  return *this == o;
}

namespace {

// Everything that memory hangs on: tensors, storages and containers.
void collect(const Tensor& t, std::unordered_set<const void*>& found) {
  found.insert(t.has_storage() ? static_cast<const void*>(t.impl()->storage().get()) : t.impl());
  if (!is_sparse(t.layout())) return;
  const SparseParts& parts = sparse_parts(t);
  for (const Tensor* part : {&parts.indices, &parts.plain, &parts.values})
    if (part->defined()) collect(*part, found);
}
void collect(const Value& v, std::unordered_set<const void*>& found, bool deep) {
  for_each_tensor(v, [&](const Tensor& t) { collect(t, found); });
  if (const auto* o = v.object()) {
    if (v.isStorage()) found.insert(v.toStorage().unsafeGetStorageImpl());
    else found.insert(o->get());
    if (deep) (*o)->for_each([&](const Value& inner) { collect(inner, found, true); });
  }
}

bool share(const Value& a, const Value& b, bool deep) {
  if (&a == &b && a.isPtrType()) return true;
  std::unordered_set<const void*> first, second;
  collect(a, first, deep);
  collect(b, second, deep);
  return std::any_of(second.begin(), second.end(), [&](const void* p) { return first.count(p) != 0; });
}

}  // namespace

bool Value::isAliasOf(const Value& o) const { return share(*this, o, false); }
bool Value::overlaps(const Value& o) const { return share(*this, o, true); }

uint32_t Value::use_count() const {
  if (isTensor()) return to_tensor().use_count();
  return object() ? object()->use_count() : 1;
}

size_t Value::hash(const Value& v) {
  if (v.is_none()) return 0;
  if (v.isBool()) return std::hash<bool>()(v.to_bool());
  if (v.isInt()) return std::hash<int64_t>()(v.to_int());
  if (v.isDouble()) return std::hash<double>()(v.to_double());
  if (v.isComplexDouble()) return std::hash<complex<double>>()(v.toComplexDouble());
  if (v.isString()) return std::hash<std::string>()(v.to_string());
  if (v.isDevice()) return std::hash<Device>()(v.to_device());
  if (v.isTensor()) return v.to_tensor().defined() ? std::hash<Tensor>()(v.to_tensor()) : 1;
  if (v.isTuple()) return v.toTupleRef().hash();
  CRESSET_CHECK(!v.isList() && !v.isGenericDict(), "value: ", v.kind(), " cannot be hashed");
  return v.object() ? (*v.object())->hash() : v.data().index();
}

Value Value::deepcopy() const {
  Object::Memo memo;
  return copy_of(*this, memo);
}

std::string Value::tagKind() const {
  // By the kinds of Data, of which LibTorch keeps dtypes, layouts and memory formats as integers.
  static constexpr const char* kTags[] = {"None", "Tensor", "Int", "Double", "Bool", "ComplexDouble", "String", "Int", "Device", "Int", "Int", "Generator"};
  if (data_.index() < std::size(kTags)) return kTags[data_.index()];
  if (isList()) return "GenericList";
  if (!object()) return "Int";
  static constexpr std::pair<std::string_view, const char*> kObjects[] = {{"tuple", "Tuple"},   {"dict", "GenericDict"}, {"storage", "Storage"},
                                                                          {"stream", "Stream"}, {"future", "Future"},    {"enum", "Enum"},
                                                                          {"blob", "Blob"},     {"RRef", "RRef"}};
  for (const auto& [name, tag] : kObjects)
    if (name == kind()) return tag;
  return "Object";
}

std::ostream& operator<<(std::ostream& out, const Value& v) {
  if (v.is_none()) return out << "None";
  if (v.isTensor()) return out << v.to_tensor();
  if (v.isBool()) return out << (v.to_bool() ? "True" : "False");
  if (v.isDouble()) {
    print_double(out, v.to_double());
    return out;
  }
  if (v.isComplexDouble()) {
    const auto z = v.toComplexDouble();
    print_double(out, z.real());
    if (!std::signbit(z.imag())) out << '+';
    print_double(out, z.imag());
    return out << 'j';
  }
  if (v.is_number()) return out << v.to_scalar();
  if (v.isString()) return out << v.to_string();
  if (const auto* o = v.object()) {
    (*o)->print(out);
    return out;
  }
  if (v.isList()) {
    print_all(out, v.toListVector(), "[", "]");
    return out;
  }
  if (v.isDevice()) return out << v.to_device();
  if (v.is<ScalarType>()) return out << v.to_dtype();
  if (v.is<Layout>()) return out << v.to_layout();
  if (v.is<MemoryFormat>()) return out << v.to_memory_format();
  return out << '<' << v.kind() << '>';
}

}  // namespace cresset::dispatch
