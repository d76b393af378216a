// Lists and dicts, which values share.

#include <algorithm>

#include "cresset/graph/script/values.h"

namespace cresset::graph::script {

std::vector<size_t> SliceRange::places() const {
  std::vector<size_t> out;
  if (step > 0)
    for (int64_t i = start; i < stop; i += step) out.push_back(static_cast<size_t>(i));
  else
    for (int64_t i = start; i > stop; i += step) out.push_back(static_cast<size_t>(i));
  return out;
}
SliceRange slice_of(const Datum& start, const Datum& stop, const Datum& step, int64_t n) {
  SliceRange r{};
  r.step = step.is_none() ? 1 : as_int(step);
  CRESSET_CHECK_VALUE(r.step != 0, "slice: expected a step other than 0");
  if (r.step < -n - 1) r.step = -n - 1;  // further is out of the list either way
  if (r.step > n + 1) r.step = n + 1;
  const auto place = [&](const Datum& v, int64_t otherwise) {
    if (v.is_none()) return otherwise;
    int64_t i = as_int(v);
    if (i == INT64_MAX) i = n;
    if (i < 0) i = i < -n ? (r.step < 0 ? -1 : 0) : i + n;
    return std::min(i, r.step < 0 ? n - 1 : n);
  };
  r.start = place(start, r.step > 0 ? 0 : n - 1);
  r.stop = place(stop, r.step > 0 ? n : -1);
  return r;
}

bool less(const Datum& a, const Datum& b) {
  if (a.isString() && b.isString()) return a.to_string() < b.to_string();
  if (a.is_number() && b.is_number()) return a.isDouble() || b.isDouble() ? as_float(a) < as_float(b) : as_int(a) < as_int(b);
  if (a.isTuple() && b.isTuple()) {
    const auto &x = a.toTupleRef().elements(), &y = b.toTupleRef().elements();
    for (size_t i = 0; i < std::min(x.size(), y.size()); i++) {
      if (less(x[i], y[i])) return true;
      if (less(y[i], x[i])) return false;
    }
    return x.size() < y.size();
  }
  if (a.is_tensor() && b.is_tensor()) return a.to_tensor().lt(b.to_tensor()).item().toBool();
  if (ScriptObject* o = object_of(a))
    if (Function* f = o->cls->method("__lt__")) return f->run({a, b}).toBool();
  throw TypeError(str("sort: expected elements of one type that has an order, got ", a.kind(), " and ", b.kind()));
}

namespace {

using Elements = std::vector<Datum>;
Elements& elements(const Datum& v) { return list_of(v).elements; }
size_t place(int64_t i, size_t n) {
  const auto size = static_cast<int64_t>(n);
  CRESSET_CHECK_INDEX(i >= -size && i < size, "list index out of range: got ", i, " for ", size, " elements");
  return static_cast<size_t>(i < 0 ? i + size : i);
}
void sort_list(Inputs in, size_t, Datum& out) {
  Elements& e = elements(*in[0]);
  const bool reverse = as_int(*in[1]) != 0;
  std::stable_sort(e.begin(), e.end(), [&](const Datum& a, const Datum& b) { return reverse ? less(b, a) : less(a, b); });
  out = Datum();
}
void get_item(Inputs in, size_t, Datum& out) {
  const Elements& e = elements(*in[0]);
  const Datum& v = e[place(as_int(*in[1]), e.size())];
  if (const auto* i = std::get_if<int64_t>(&v.data())) return put(out, *i);
  out = v;
}
void list_all(Inputs in, size_t, Datum& out) {
  const Elements& e = elements(*in[0]);
  put(out, std::all_of(e.begin(), e.end(), [](const Datum& v) { return v.isString() ? !v.to_string().empty() : as_float(v) != 0; }));
}
void list_any(Inputs in, size_t, Datum& out) {
  const Elements& e = elements(*in[0]);
  put(out, std::any_of(e.begin(), e.end(), [](const Datum& v) { return v.isString() ? !v.to_string().empty() : as_float(v) != 0; }));
}
template <bool Largest> void extreme(Inputs in, size_t, Datum& out) {
  const Elements& e = elements(*in[0]);
  CRESSET_CHECK_VALUE(!e.empty(), Largest ? "max" : "min", ": expected a list with elements");
  size_t best = 0;
  for (size_t i = 1; i < e.size(); i++)
    if (Largest ? less(e[best], e[i]) : less(e[i], e[best])) best = i;
  out = e[best];
}

// Of two lists, the one that Python orders first.
template <bool Largest> void extreme_list(Inputs in, size_t, Datum& out) {
  const Elements &x = elements(*in[0]), &y = elements(*in[1]);
  bool is_less = false, is_more = false;
  for (size_t i = 0; i < std::min(x.size(), y.size()) && !is_less && !is_more; i++) is_less = less(x[i], y[i]), is_more = less(y[i], x[i]);
  if (!is_less && !is_more) is_less = x.size() < y.size();
  out = *in[(is_less != Largest) ? 0 : 1];
}

dispatch::DictObject& dict(const Datum& v) { return dict_of(v); }
const Datum& value_at(const Datum& d, const Datum& key) {
  auto& o = dict(d);
  const size_t at = o.at(key);
  CRESSET_CHECK_INDEX(at < o.entries.size(), "KeyError: ", python_repr(key));
  return o.entries[at].value;
}
Datum keys_list(const Datum& d) {
  Elements out;
  for (const auto& e : dict(d).entries) out.push_back(e.key);
  return make_list(dict(d).key_kind, std::move(out));
}
void set_key(dispatch::DictObject& d, const Datum& key, const Datum& value) {
  const auto [at, is_new] = d.insert(key, value);
  if (!is_new) d.entries[at].value = value;
}
Datum copy_dict(const Datum& d) {
  auto& from = dict(d);
  auto to = make_intrusive<dispatch::DictObject>(from.key_kind, from.value_kind);
  for (const auto& e : from.entries) to->insert(e.key, e.value);
  return Datum(intrusive_ptr<dispatch::Object>(std::move(to)));
}
dispatch::ElementKind kind_of_value(const Datum& v) { return element_kind(Type::of(v)); }

}  // namespace

void add_list_builtins() {
  add_builtin("aten::len.t(t[] a) -> int", [](Inputs in, size_t, Datum& out) { put(out, static_cast<int64_t>(elements(*in[0]).size())); });
  add_builtin("aten::__getitem__.t(t[](a) list, int idx) -> t", get_item);
  add_builtin(
      "aten::_set_item.t(t[](a!) l, int idx, t el) -> t[](a!)",
      [](Inputs in, size_t, Datum& out) {
        Elements& e = elements(*in[0]);
        e[place(as_int(*in[1]), e.size())] = *in[2];
        out = *in[0];
      },
      false);
  add_builtin(
      "aten::append.t(t[](a!) self, t el) -> t[](a!)",
      [](Inputs in, size_t, Datum& out) {
        elements(*in[0]).push_back(*in[1]);
        out = *in[0];
      },
      false);
  add_builtin(
      "aten::extend.t(t[](a!) self, t[] other) -> ()",
      [](Inputs in, size_t, Datum& out) {
        const Elements more = elements(*in[1]);
        Elements& e = elements(*in[0]);
        e.insert(e.end(), more.begin(), more.end());
        out = Datum();
      },
      false);
  add_builtin(
      "aten::insert.t(t[](a!) self, int idx, t el) -> ()",
      [](Inputs in, size_t, Datum& out) {
        Elements& e = elements(*in[0]);
        const auto n = static_cast<int64_t>(e.size());
        int64_t i = as_int(*in[1]);
        if (i < 0) i = std::max<int64_t>(0, i + n);
        e.insert(e.begin() + std::min(i, n), *in[2]);
        out = Datum();
      },
      false);
  add_builtin(
      "aten::pop.t(t[](a!) self, int idx=-1) -> t",
      [](Inputs in, size_t, Datum& out) {
        Elements& e = elements(*in[0]);
        CRESSET_CHECK_INDEX(!e.empty(), "pop from empty list");
        const size_t at = place(as_int(*in[1]), e.size());
        Datum v = std::move(e[at]);
        e.erase(e.begin() + static_cast<std::ptrdiff_t>(at));
        out = std::move(v);
      },
      false);
  add_builtin(
      "aten::Delete.t(t[](a!) self, int idx) -> ()",
      [](Inputs in, size_t, Datum& out) {
        Elements& e = elements(*in[0]);
        e.erase(e.begin() + static_cast<std::ptrdiff_t>(place(as_int(*in[1]), e.size())));
        out = Datum();
      },
      false);
  add_builtin(
      "aten::clear.t(t[](a!) self) -> ()",
      [](Inputs in, size_t, Datum& out) {
        elements(*in[0]).clear();
        out = Datum();
      },
      false);
  add_builtin(
      "aten::reverse.t(t[](a!) self) -> ()",
      [](Inputs in, size_t, Datum& out) {
        std::reverse(elements(*in[0]).begin(), elements(*in[0]).end());
        out = Datum();
      },
      false);
  add_builtin(
      "aten::remove.t(t[](a!) self, t el) -> ()",
      [](Inputs in, size_t, Datum& out) {
        Elements& e = elements(*in[0]);
        const auto found = std::find_if(e.begin(), e.end(), [&](const Datum& v) { return same(v, *in[1]); });
        CRESSET_CHECK_VALUE(found != e.end(), "list.remove(x): x not in list");
        e.erase(found);
        out = Datum();
      },
      false);
  add_builtin("aten::index.list(t[] self, t el) -> int", [](Inputs in, size_t, Datum& out) {
    const Elements& e = elements(*in[0]);
    const auto found = std::find_if(e.begin(), e.end(), [&](const Datum& v) { return same(v, *in[1]); });
    CRESSET_CHECK_VALUE(found != e.end(), "'", python_repr(*in[1]), "' is not in list");
    put(out, static_cast<int64_t>(found - e.begin()));
  });
  add_builtin("aten::count.list(t[] self, t el) -> int", [](Inputs in, size_t, Datum& out) {
    const Elements& e = elements(*in[0]);
    put(out, static_cast<int64_t>(std::count_if(e.begin(), e.end(), [&](const Datum& v) { return same(v, *in[1]); })));
  });
  add_builtin("aten::__contains__.list(t[] l, t item) -> bool", [](Inputs in, size_t, Datum& out) {
    const Elements& e = elements(*in[0]);
    put(out, std::any_of(e.begin(), e.end(), [&](const Datum& v) { return same(v, *in[1]); }));
  });
  add_builtin(
      "aten::copy.t(t[](a) self) -> t[]", [](Inputs in, size_t, Datum& out) { out = make_list(list_of(*in[0]).element, elements(*in[0])); }, false);
  add_builtin(
      "aten::list.t(t[] l) -> t[]", [](Inputs in, size_t, Datum& out) { out = make_list(list_of(*in[0]).element, elements(*in[0])); }, false);
  add_builtin(
      "aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]",
      [](Inputs in, size_t, Datum& out) {
        const Elements& e = elements(*in[0]);
        Elements part;
        for (const size_t i : slice_of(*in[1], *in[2], *in[3], static_cast<int64_t>(e.size())).places()) part.push_back(e[i]);
        out = make_list(list_of(*in[0]).element, std::move(part));
      },
      false);
  add_builtin(
      "aten::add.t(t[] a, t[] b) -> t[]",
      [](Inputs in, size_t, Datum& out) {
        Elements e = elements(*in[0]);
        const Elements& more = elements(*in[1]);
        e.insert(e.end(), more.begin(), more.end());
        out = make_list(list_of(*in[0]).element, std::move(e));
      },
      false);
  add_builtin(
      "aten::add_.t(t[](a!) self, t[] b) -> t[]",
      [](Inputs in, size_t, Datum& out) {
        const Elements more = elements(*in[1]);
        Elements& e = elements(*in[0]);
        e.insert(e.end(), more.begin(), more.end());
        out = *in[0];
      },
      false);
  const auto repeat = [](const Datum& l, int64_t n) {
    Elements e;
    CRESSET_CHECK_VALUE(n <= (int64_t{1} << 32), "list: expected fewer repetitions, got ", n);
    if (n > 0) expect_memory(static_cast<size_t>(n) * elements(l).size() * sizeof(Datum));
    for (int64_t i = 0; i < n; i++) e.insert(e.end(), elements(l).begin(), elements(l).end());
    return make_list(list_of(l).element, std::move(e));
  };
  static const auto repeated = repeat;
  add_builtin(
      "aten::mul.left_t(t[] l, int n) -> t[]", [](Inputs in, size_t, Datum& out) { out = repeated(*in[0], as_int(*in[1])); }, false);
  add_builtin(
      "aten::mul_.t(t[](a!) l, int n) -> t[](a!)",
      [](Inputs in, size_t, Datum& out) {
        elements(*in[0]) = list_of(repeated(*in[0], as_int(*in[1]))).elements;
        out = *in[0];
      },
      false);
  add_builtin(
      "aten::mul.right_(int n, t[] l) -> t[]", [](Inputs in, size_t, Datum& out) { out = repeated(*in[1], as_int(*in[0])); }, false);
  add_builtin("aten::sort.any(t[](a!) self, bool reverse=False) -> ()", sort_list, false);
  add_builtin(
      "aten::sorted.any(t[](a) self) -> t[]",
      [](Inputs in, size_t, Datum& out) {
        Elements e = elements(*in[0]);
        std::stable_sort(e.begin(), e.end(), less);
        out = make_list(list_of(*in[0]).element, std::move(e));
      },
      false);
  for (const char* t : {"int", "float", "bool", "str"}) {
    add_builtin((std::string("aten::any.") + t + "(" + t + "[] self) -> bool").c_str(), list_any);
    add_builtin((std::string("aten::all.") + t + "(" + t + "[] self) -> bool").c_str(), list_all);
    add_builtin((std::string("prim::max.self_") + t + "(" + t + "[] self) -> " + t).c_str(), extreme<true>);
    add_builtin((std::string("prim::min.self_") + t + "(" + t + "[] self) -> " + t).c_str(), extreme<false>);
    add_builtin((std::string("prim::max.") + t + "_list(" + t + "[] l, " + t + "[] r) -> " + t + "[]").c_str(), extreme_list<true>);
    add_builtin((std::string("prim::min.") + t + "_list(" + t + "[] l, " + t + "[] r) -> " + t + "[]").c_str(), extreme_list<false>);
  }
  add_builtin("aten::sum.int(int[] self) -> int", [](Inputs in, size_t, Datum& out) {
    uint64_t sum = 0;
    for (const Datum& v : elements(*in[0])) sum += static_cast<uint64_t>(as_int(v));
    put(out, static_cast<int64_t>(sum));
  });
  add_builtin("aten::sum.bool(bool[] self) -> int", [](Inputs in, size_t, Datum& out) {
    int64_t sum = 0;
    for (const Datum& v : elements(*in[0])) sum += as_int(v);
    put(out, sum);
  });
  add_builtin("aten::sum.float(float[] self) -> float", [](Inputs in, size_t, Datum& out) {
    double sum = 0;
    for (const Datum& v : elements(*in[0])) sum += as_float(v);
    put(out, sum);
  });
  add_builtin("aten::sum.complex(complex[] self) -> complex", [](Inputs in, size_t, Datum& out) {
    complex<double> sum(0, 0);
    for (const Datum& v : elements(*in[0])) sum = sum + as_complex(v);
    put(out, sum);
  });
}

void add_dict_builtins() {
  add_builtin("aten::len.Dict(Dict(k, t) self) -> int", [](Inputs in, size_t, Datum& out) { put(out, static_cast<int64_t>(dict(*in[0]).entries.size())); });
  add_builtin("aten::__getitem__.Dict(Dict(k, t) self, k key) -> t", [](Inputs in, size_t, Datum& out) { out = value_at(*in[0], *in[1]); });
  add_builtin(
      "aten::_set_item.Dict(Dict(k, t)(a!) l, k idx, t v) -> ()",
      [](Inputs in, size_t, Datum& out) {
        set_key(dict(*in[0]), *in[1], *in[2]);
        out = Datum();
      },
      false);
  add_builtin(
      "aten::Delete.Dict(Dict(k, t)(a!) self, k key) -> ()",
      [](Inputs in, size_t, Datum& out) {
        value_at(*in[0], *in[1]);
        dict(*in[0]).erase(dict(*in[0]).at(*in[1]));
        out = Datum();
      },
      false);
  add_builtin("aten::__contains__.Dict(Dict(k, t) dict, k key) -> bool",
              [](Inputs in, size_t, Datum& out) { put(out, dict(*in[0]).at(*in[1]) < dict(*in[0]).entries.size()); });
  add_builtin(
      "aten::keys.Dict(Dict(k, t) self) -> k[]", [](Inputs in, size_t, Datum& out) { out = keys_list(*in[0]); }, false);
  add_builtin(
      "aten::list.Dict(Dict(k, t) self) -> k[]", [](Inputs in, size_t, Datum& out) { out = keys_list(*in[0]); }, false);
  add_builtin(
      "aten::values.Dict(Dict(k, t) self) -> t[]",
      [](Inputs in, size_t, Datum& out) {
        Elements e;
        for (const auto& entry : dict(*in[0]).entries) e.push_back(entry.value);
        out = make_list(dict(*in[0]).value_kind, std::move(e));
      },
      false);
  add_builtin(
      "aten::items.Dict(Dict(k, t) self) -> (k, t)[]",
      [](Inputs in, size_t, Datum& out) {
        Elements e;
        for (const auto& entry : dict(*in[0]).entries) e.push_back(Datum(dispatch::TupleObject::create({entry.key, entry.value})));
        out = make_list(dispatch::ElementKind::Tuple, std::move(e));
      },
      false);
  add_builtin("aten::get.Dict(Dict(k, t) self, k key) -> t?", [](Inputs in, size_t, Datum& out) {
    auto& d = dict(*in[0]);
    const size_t at = d.at(*in[1]);
    out = at < d.entries.size() ? d.entries[at].value : Datum();
  });
  add_builtin("aten::get.default_Dict(Dict(k, t) self, k key, t default_value) -> t", [](Inputs in, size_t, Datum& out) {
    auto& d = dict(*in[0]);
    const size_t at = d.at(*in[1]);
    out = at < d.entries.size() ? d.entries[at].value : *in[2];
  });
  add_builtin(
      "aten::pop.Dict(Dict(k, t)(a!) self, k key) -> t",
      [](Inputs in, size_t, Datum& out) {
        Datum v = value_at(*in[0], *in[1]);
        dict(*in[0]).erase(dict(*in[0]).at(*in[1]));
        out = std::move(v);
      },
      false);
  add_builtin(
      "aten::pop.Dict_default(Dict(k, t)(a!) self, k key, t default_value) -> t",
      [](Inputs in, size_t, Datum& out) {
        auto& d = dict(*in[0]);
        const size_t at = d.at(*in[1]);
        Datum v = at < d.entries.size() ? d.entries[at].value : *in[2];
        if (at < d.entries.size()) d.erase(at);
        out = std::move(v);
      },
      false);
  add_builtin(
      "aten::popitem.Dict(Dict(k, t)(a!) self) -> (k, t)",
      [](Inputs in, size_t, Datum& out) {
        auto& d = dict(*in[0]);
        CRESSET_CHECK_INDEX(!d.entries.empty(), "popitem(): dictionary is empty");
        const auto last = d.entries.back();
        d.erase(d.entries.size() - 1);
        out = Datum(dispatch::TupleObject::create({last.key, last.value}));
      },
      false);
  add_builtin(
      "aten::setdefault.Dict(Dict(k, t)(a!) self, k key, t default_value) -> t",
      [](Inputs in, size_t, Datum& out) {
        auto& d = dict(*in[0]);
        out = d.entries[d.insert(*in[1], *in[2]).first].value;
      },
      false);
  add_builtin(
      "aten::update.Dict(Dict(k, t)(a!) self, Dict(k, t) to_add) -> ()",
      [](Inputs in, size_t, Datum& out) {
        const auto more = dict(*in[1]).entries;
        for (const auto& e : more) set_key(dict(*in[0]), e.key, e.value);
        out = Datum();
      },
      false);
  add_builtin(
      "aten::clear.Dict(Dict(k, t)(a!) self) -> ()",
      [](Inputs in, size_t, Datum& out) {
        dict(*in[0]).clear();
        out = Datum();
      },
      false);
  add_builtin(
      "aten::copy.Dict(Dict(k, t)(a) self) -> Dict(k, t)", [](Inputs in, size_t, Datum& out) { out = copy_dict(*in[0]); }, false);
  add_builtin(
      "aten::dict.Dict(Dict(k, t)(a) self) -> Dict(k, t)", [](Inputs in, size_t, Datum& out) { out = copy_dict(*in[0]); }, false);
  add_builtin(
      "aten::dict.pairs((k, t)[] inputs) -> Dict(k, t)",
      [](Inputs in, size_t, Datum& out) {
        const Elements& pairs = elements(*in[0]);
        const auto kind = [&](size_t i) { return pairs.empty() ? dispatch::ElementKind::Any : kind_of_value(pairs[0].toTupleRef().elements()[i]); };
        auto d = make_intrusive<dispatch::DictObject>(kind(0), kind(1));
        for (const Datum& p : pairs) set_key(*d, p.toTupleRef().elements()[0], p.toTupleRef().elements()[1]);
        out = Datum(intrusive_ptr<dispatch::Object>(std::move(d)));
      },
      false);
}

}  // namespace cresset::graph::script
