// Operators that move elements to and from places which indices name. Indices are checked before a kernel reads with them.

#include <algorithm>

#include "call.h"

namespace opencl {

namespace {

using cresset::kLong;
using cresset::TensorOptions;

bool movable(const Tensor& t) { return on_device(t) && stored_type(t.scalar_type()) && t.dim() <= kMaxDims; }

// Errors: an index outside of [low, size).
void check_range(const OpEntry& op, const Tensor& index, int64_t low, int64_t size) {
  if (index.numel() == 0) return;
  const bool outside = index.lt(low).logical_or(index.ge(size)).any().item().toBool();
  CRESSET_CHECK_INDEX(!outside, op.name, ": an index is out of bounds for a dimension with size ", size);
}

int64_t wrap(int64_t dim, const Tensor& t) { return dim < 0 ? dim + std::max<int64_t>(1, t.dim()) : dim; }

// A walk over `shape` through the memory of t, whose own step along `dim` is left out.
One beside(const Tensor& t, IntArrayRef shape, int64_t dim) {
  One w{};
  for (size_t d = 0; d < shape.size(); d++) {
    w.sizes[d] = shape[d];
    w.strides[0][d] = static_cast<int64_t>(d) == dim ? 0 : t.strides()[d];
  }
  return w;
}
One walk_over(const Tensor& t) { return beside(t, t.sizes(), -1); }

const char* const kGather = R"cl(
kernel void run(ulong count, One out_at, One index_at, One x_at, int dims, long step, global const T* x, global const TI* index, global T* out) {
  const ulong n = get_global_id(0);
  if (n >= count) return;
  out[offset_of(out_at, dims, n)] = x[offset_of(x_at, dims, n) + LOADI(index, offset_of(index_at, dims, n)) * step];
}
)cl";
std::string moving(ScalarType t) { return std::string("#define T ") + (t == ScalarType::Half ? "ushort" : stored_type(t)) + "\n"; }

// out[.., i, ..] = x[.., index[.., i, ..], ..], where the index has the shape of out, or expands to it.
void gather_into(const Tensor& out, const Tensor& x, const Tensor& index, int64_t dim) {
  if (out.numel() == 0) return;
  const Tensor from = x.dim() ? x : x.unsqueeze(0), at = (index.dim() ? index : index.unsqueeze(0)), to = out.dim() ? out : out.unsqueeze(0);
  Launch(out.device().index(), prelude() + moving(x.scalar_type()) + names_of(index.scalar_type(), "I") + kOne + kGather)
      .value<uint64_t>(static_cast<uint64_t>(out.numel()))
      .value(walk_over(to))
      .value(walk_over(at.expand(to.sizes())))
      .value(beside(from, to.sizes(), dim))
      .value<int32_t>(static_cast<int32_t>(to.dim()))
      .value<int64_t>(from.stride(dim))
      .pointer(x.data_ptr())
      .pointer(index.data_ptr())
      .pointer(out.data_ptr())
      .run(static_cast<size_t>(out.numel()));
}
bool gather(Call& c) {
  const Tensor &x = c.tensor(0), &index = c.tensor(2);
  if (!movable(x) || !movable(index)) return false;
  const std::vector<Tensor> outs = c.results();
  const int64_t dim = wrap(c.integer(1), x);
  check_range(c.op(), index, 0, x.dim() ? x.size(dim) : 1);
  gather_into(outs[0], x, index, dim);
  return c.give_all(outs);
}
Tensor selected(const Tensor& x, int64_t dim, const Tensor& index) {
  std::vector<int64_t> shape(x.sizes().begin(), x.sizes().end()), lined(shape.size(), 1);
  shape[static_cast<size_t>(dim)] = lined[static_cast<size_t>(dim)] = index.numel();
  const Tensor out = make(shape, x.scalar_type(), x.device().index());
  gather_into(out, x, index.reshape(lined), dim);
  return out;
}
bool index_select(Call& c) {
  const Tensor &x = c.tensor(0), &index = c.tensor(2);
  if (!movable(x) || !movable(index)) return false;
  const std::vector<Tensor> outs = c.results();
  check_range(c.op(), index, 0, x.dim() ? x.size(wrap(c.integer(1), x)) : 1);
  if (outs[0].numel() == 0) return c.give_all(outs);
  if (x.dim() == 0) return c.give(x.clone());
  move_elements(outs[0], selected(x, wrap(c.integer(1), x), index.flatten()));
  return c.give_all(outs);
}

// One item for each line along `dim`: lines do not meet, so that sums are made in order.
const char* const kScatter = R"cl(
kernel void run(ulong lines, long length, One index_at, One from_at, One to_at, int dims, long index_step, long from_step, long to_step, float number, global const TI* index, global const T* from,
                global T* to) {
  const ulong n = get_global_id(0);
  if (n >= lines) return;
  const long i = offset_of(index_at, dims, n), f = offset_of(from_at, dims, n), t = offset_of(to_at, dims, n);
  for (long k = 0; k < length; k++) {
    const long place = t + LOADI(index, i + k * index_step) * to_step;
    const C v = LOAD(from, f + k * from_step), before = LOAD(to, place);
    STORE(to, place, VALUE);
  }
}
)cl";
void scatter_into(const Tensor& to, int64_t dim, const Tensor& index, const Tensor& from, const std::string& value, double number = 0) {
  if (index.numel() == 0) return;
  const Tensor t = to.dim() ? to : to.unsqueeze(0), i = index.dim() ? index : index.unsqueeze(0), f = from.dim() ? from : from.unsqueeze(0);
  const std::vector<int64_t> kept = other_dims({dim}, t.dim());
  std::vector<int64_t> shape;
  for (const int64_t d : kept) shape.push_back(i.size(d));
  const auto lines = [&](const Tensor& x) {
    One w{};
    for (size_t d = 0; d < kept.size(); d++) {
      w.sizes[d] = shape[d];
      w.strides[0][d] = x.stride(kept[d]);
    }
    return w;
  };
  const int64_t length = i.size(dim), count = i.numel() / length;
  Launch(to.device().index(), prelude() + names_of(to.scalar_type()) + names_of(index.scalar_type(), "I") + "#define VALUE (" + value + ")\n" + kOne + kScatter)
      .value<uint64_t>(static_cast<uint64_t>(count))
      .value(length)
      .value(lines(i))
      .value(lines(f))
      .value(lines(t))
      .value<int32_t>(static_cast<int32_t>(kept.size()))
      .value<int64_t>(i.stride(dim))
      .value<int64_t>(f.stride(dim))
      .value<int64_t>(t.stride(dim))
      .value(static_cast<float>(number))
      .pointer(index.data_ptr())
      .pointer(from.data_ptr())
      .pointer(to.data_ptr())
      .run(static_cast<size_t>(count));
}
bool scatter(Call& c, const char* value) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2);
  if (!movable(self) || !movable(index) || !is_real(self.scalar_type())) return false;
  const std::vector<Tensor> outs = c.results();
  const int64_t dim = wrap(c.integer(1), self);
  check_range(c.op(), index, 0, self.dim() ? self.size(dim) : 1);
  const bool number = !c[3].is_tensor();
  const Tensor from = number ? cresset::full({}, c[3].to_scalar(), self.options()).expand(index.sizes()) : c.tensor(3);
  if (!movable(from) || from.scalar_type() != self.scalar_type()) return false;
  const std::string reduce = c.size() > 4 ? c[4].to_string() : "";
  if (self.numel()) move_elements(outs[0], self);
  scatter_into(outs[0], dim, index, from, reduce == "add" ? "before + v" : reduce == "multiply" ? "before * v" : value);
  return c.give_all(outs);
}
bool index_add(Call& c) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2), &source = c.tensor(3);
  if (!movable(self) || !movable(index) || !movable(source) || !is_floating(self) || source.scalar_type() != self.scalar_type() || self.dim() == 0)
    return false;
  const std::vector<Tensor> outs = c.results();
  const int64_t dim = wrap(c.integer(1), self);
  check_range(c.op(), index, 0, self.size(dim));
  if (self.numel()) move_elements(outs[0], self);
  std::vector<int64_t> lined(static_cast<size_t>(self.dim()), 1);
  lined[static_cast<size_t>(dim)] = index.numel();
  if (source.numel()) scatter_into(outs[0], dim, index.reshape(lined).expand(source.sizes()), source, "before + number * v", c.number(4));
  return c.give_all(outs);
}

// --- lists of indices ---

// The linear places, in a tensor whose indexed dimensions come first, and what is left of its shape.
struct Places {
  Tensor self;                // indexed dimensions first
  Tensor places;              // offsets in elements, contiguous, of the indices' broadcast shape
  std::vector<int64_t> rest;  // sizes of the other dimensions
  int64_t front = 0;          // where the indices' dimensions stand in the result
  int64_t indexed = 0;
};
bool places_of(const Call& c, const Tensor& self, Places* p) {
  const auto list = c[1].to_optional_tensor_list();
  std::vector<Tensor> indices;
  std::vector<int64_t> dims, others;
  int64_t dim = 0;
  for (const auto& entry : list) {
    if (!entry || !entry->defined()) {
      others.push_back(dim++);
      continue;
    }
    if (entry->scalar_type() == ScalarType::Bool || entry->scalar_type() == ScalarType::Byte) {
      const Tensor at = (on_device(*entry) ? *entry : entry->to(self.device())).nonzero();
      for (int64_t d = 0; d < entry->dim(); d++) {
        if (dim >= self.dim()) return false;
        indices.push_back(at.select(1, d));
        dims.push_back(dim++);
      }
      if (entry->dim() == 0) return false;
    } else {
      indices.push_back(on_device(*entry) ? *entry : entry->to(self.device()));
      dims.push_back(dim++);
    }
  }
  if (indices.empty() || dim > self.dim()) return false;
  for (; dim < self.dim(); dim++) others.push_back(dim);
  std::vector<Tensor> same = cresset::broadcast_tensors(indices);
  bool adjacent = true;
  for (size_t i = 1; i < dims.size(); i++) adjacent = adjacent && dims[i] == dims[i - 1] + 1;
  p->front = adjacent ? dims[0] : 0;
  p->indexed = same[0].dim();
  for (size_t i = 0; i < dims.size(); i++) {
    const int64_t size = self.size(dims[i]);
    check_range(c.op(), same[i], -size, size);
    Tensor at = same[i].to(kLong);
    at = cresset::where(at.lt(0), at + size, at) * self.stride(dims[i]);
    p->places = p->places.defined() ? p->places + at : at;
  }
  p->places = dense(p->places);
  std::vector<int64_t> order = dims;
  order.insert(order.end(), others.begin(), others.end());
  p->self = self.permute(order);
  for (const int64_t d : others) p->rest.push_back(self.size(d));
  return static_cast<int64_t>(p->rest.size()) + p->indexed <= kMaxDims;
}
One rest_walk(const Places& p, const Tensor& t) {
  One w{};
  const int64_t lead = t.dim() - static_cast<int64_t>(p.rest.size());
  for (size_t d = 0; d < p.rest.size(); d++) {
    w.sizes[d] = p.rest[d];
    w.strides[0][d] = t.stride(lead + static_cast<int64_t>(d));
  }
  return w;
}
// The shape with the indices' dimensions first, and the order that brings them to their place.
std::vector<int64_t> first_shape(const Places& p) {
  std::vector<int64_t> shape(p.places.sizes().begin(), p.places.sizes().end());
  shape.insert(shape.end(), p.rest.begin(), p.rest.end());
  return shape;
}
Tensor to_front(const Places& p, const Tensor& t) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < p.indexed; d++) order.push_back(p.front + d);
  for (int64_t d = 0; d < t.dim(); d++)
    if (d < p.front || d >= p.front + p.indexed) order.push_back(d);
  return t.permute(order);
}
bool index(Call& c) {
  const Tensor& self = c.tensor(0);
  Places p;
  if (!movable(self) || !places_of(c, self, &p)) return false;
  const Tensor out = make(first_shape(p), self.scalar_type(), c.device());
  int64_t rest = 1;
  for (const int64_t n : p.rest) rest *= n;
  if (out.numel() > 0) {
    const std::string source =
        prelude() + moving(self.scalar_type()) + kOne +
        "kernel void run(ulong count, ulong rest, One rest_at, int dims, global const T* x, global const long* places, global T* out) {\n"
        "  const ulong n = get_global_id(0);\n  if (n < count) out[n] = x[places[n / rest] + offset_of(rest_at, dims, n % rest)];\n}\n";
    Launch(c.device(), source)
        .value<uint64_t>(static_cast<uint64_t>(out.numel()))
        .value<uint64_t>(static_cast<uint64_t>(rest))
        .value(rest_walk(p, p.self))
        .value<int32_t>(static_cast<int32_t>(p.rest.size()))
        .pointer(self.data_ptr())
        .pointer(p.places.data_ptr())
        .pointer(out.data_ptr())
        .run(static_cast<size_t>(out.numel()));
  }
  // The result's own dimensions: those of the indices go back to where they stand.
  std::vector<int64_t> order;
  for (int64_t d = 0; d < p.front; d++) order.push_back(p.indexed + d);
  for (int64_t d = 0; d < p.indexed; d++) order.push_back(d);
  for (int64_t d = p.indexed + p.front; d < out.dim(); d++) order.push_back(d);
  return c.give(out.permute(order));
}
bool index_put(Call& c) {
  const Tensor& self = c.tensor(0);
  Places p;
  const Tensor given = c.tensor(2);
  if (!movable(self) || !is_real(self.scalar_type()) || given.scalar_type() != self.scalar_type()) return false;
  const Tensor out = make_like(self), values = on_device(given) ? given : given.to(self.device());
  if (self.numel()) move_elements(out, self);
  if (!places_of(c, out, &p)) return false;
  const std::vector<int64_t> shape = first_shape(p);
  std::vector<int64_t> own(shape.begin() + p.indexed, shape.begin() + p.indexed + p.front);
  own.insert(own.end(), shape.begin(), shape.begin() + p.indexed);
  own.insert(own.end(), shape.begin() + p.indexed + p.front, shape.end());
  const Tensor from = to_front(p, values.expand(own));
  int64_t rest = 1;
  for (const int64_t n : p.rest) rest *= n;
  if (from.numel() == 0) return c.give(out);
  // One item for each place of the rest, which goes through the indices in order.
  const std::string source =
      prelude() + names_of(self.scalar_type()) + kOne +
      "kernel void run(ulong rest, long length, One rest_at, One from_rest, int dims, One from_at, int index_dims, global const T* from, global const long* "
      "places, global T* out) {\n"
      "  const ulong n = get_global_id(0);\n  if (n >= rest) return;\n  const long base = offset_of(rest_at, dims, n), f = offset_of(from_rest, dims, n);\n"
      "  for (long k = 0; k < length; k++) {\n    const long to = places[k] + base;\n    const C v = LOAD(from, f + offset_of(from_at, index_dims, k));\n    "
      "STORE(out, to, " +
      std::string(c.flag(3) ? "LOAD(out, to) + v" : "v") + ");\n  }\n}\n";
  One from_at{};
  for (int64_t d = 0; d < p.indexed; d++) {
    from_at.sizes[d] = from.size(d);
    from_at.strides[0][d] = from.stride(d);
  }
  Launch(c.device(), source)
      .value<uint64_t>(static_cast<uint64_t>(rest))
      .value<int64_t>(p.places.numel())
      .value(rest_walk(p, p.self))
      .value(rest_walk(p, from))
      .value<int32_t>(static_cast<int32_t>(p.rest.size()))
      .value(from_at)
      .value<int32_t>(static_cast<int32_t>(p.indexed))
      .pointer(from.data_ptr())
      .pointer(p.places.data_ptr())
      .pointer(out.data_ptr())
      .run(static_cast<size_t>(rest));
  return c.give(out);
}

// --- arrangements ---

bool cat(Call& c) {
  const std::vector<Tensor> list = c[0].to_tensor_list();
  for (const Tensor& t : list)
    if (!movable(t)) return false;
  const std::vector<Tensor> outs = c.results();
  const int64_t dim = wrap(c.integer(1), outs[0]);
  int64_t at = 0;
  for (const Tensor& t : list) {
    if (t.numel() == 0) continue;
    move_elements(outs[0].narrow(dim, at, t.size(dim)), t);
    at += t.size(dim);
  }
  return c.give_all(outs);
}
bool flip(Call& c) {
  const Tensor& x = c.tensor(0);
  if (!movable(x)) return false;
  const std::vector<Tensor> outs = c.results();
  if (x.numel() == 0) return c.give_all(outs);
  One from = walk_over(x);
  int64_t base = 0;
  for (const int64_t d : wrapped_dims(c.integers(1), x.dim(), false)) {
    base += (x.size(d) - 1) * x.stride(d);
    from.strides[0][d] = -x.stride(d);
  }
  const std::string source = prelude() + moving(x.scalar_type()) + kOne +
                             "kernel void run(ulong count, One from, One to, int dims, long base, global const T* x, global T* out) {\n"
                             "  const ulong n = get_global_id(0);\n  if (n < count) out[offset_of(to, dims, n)] = x[base + offset_of(from, dims, n)];\n}\n";
  Launch(c.device(), source)
      .value<uint64_t>(static_cast<uint64_t>(x.numel()))
      .value(from)
      .value(walk_over(outs[0]))
      .value<int32_t>(static_cast<int32_t>(x.dim()))
      .value(base)
      .pointer(x.data_ptr())
      .pointer(outs[0].data_ptr())
      .run(static_cast<size_t>(x.numel()));
  return c.give_all(outs);
}
bool roll(Call& c) {
  const Tensor& x = c.tensor(0);
  if (!movable(x)) return false;
  c.meta_results();
  const std::vector<int64_t> shifts = c.integers(1), dims = c.integers(2);
  if (x.numel() == 0) return c.give(x.clone());
  Tensor t = dims.empty() ? x.flatten() : x;
  for (size_t i = 0; i < shifts.size(); i++) {
    const int64_t dim = dims.empty() ? 0 : wrap(dims[i], t), size = t.size(dim), by = ((shifts[i] % size) + size) % size;
    if (by) t = cresset::cat({t.narrow(dim, size - by, by), t.narrow(dim, 0, size - by)}, dim);
  }
  t = t.is_same(x) || dims.empty() ? t.clone() : t;
  return c.give(t.reshape(x.sizes()));
}
bool repeat(Call& c) {
  const Tensor& x = c.tensor(0);
  if (!movable(x)) return false;
  const std::vector<Tensor> outs = c.results();
  if (outs[0].numel() == 0) return c.give_all(outs);
  const std::vector<int64_t> times = c.integers(1);
  std::vector<int64_t> wide, narrow;
  for (size_t d = 0; d < times.size(); d++) {
    const int64_t at = static_cast<int64_t>(d) - (static_cast<int64_t>(times.size()) - x.dim()), size = at < 0 ? 1 : x.size(at);
    wide.insert(wide.end(), {times[d], size});
    narrow.insert(narrow.end(), {1, size});
  }
  return c.give(dense(x.reshape(narrow).expand(wide)).reshape(outs[0].sizes()));
}
bool triangle(Call& c, const char* kept) {
  const Tensor& self = c.tensor(0);
  if (!movable(self)) return false;
  const std::vector<Tensor> outs = c.results(), writes = dense_for(outs);
  if (self.numel() == 0) return c.give_all(outs);
  const Tensor x = dense(self);
  const std::string source =
      prelude() + moving(x.scalar_type()) + "kernel void run(ulong count, long rows, long columns, long diagonal, global const T* x, global T* out) {\n" +
      "  const ulong n = get_global_id(0);\n  if (n >= count) return;\n  const long column = n % columns, row = n / columns % rows;\n  out[n] = column - row " +
      kept + " diagonal ? x[n] : 0;\n}\n";
  Launch(c.device(), source)
      .value<uint64_t>(static_cast<uint64_t>(x.numel()))
      .value<int64_t>(x.size(-2))
      .value<int64_t>(x.size(-1))
      .value<int64_t>(c.integer(1))
      .pointer(x.data_ptr())
      .pointer(writes[0].data_ptr())
      .run(static_cast<size_t>(x.numel()));
  return deliver(c, outs, writes);
}
bool constant_pad(Call& c) {
  const Tensor& x = c.tensor(0);
  if (!movable(x)) return false;
  const std::vector<Tensor> outs = c.results();
  const std::vector<int64_t> pad = c.integers(1);
  fill_all(outs[0], c[2].to_scalar());
  Tensor to = outs[0], from = x;
  for (size_t i = 0; i < pad.size() / 2; i++) {
    const int64_t d = x.dim() - 1 - static_cast<int64_t>(i), before = pad[2 * i], after = pad[2 * i + 1];
    const int64_t start = std::max<int64_t>(0, -before), end = x.size(d) - std::max<int64_t>(0, -after);
    if (end <= start) return c.give_all(outs);
    from = from.narrow(d, start, end - start);
    to = to.narrow(d, std::max<int64_t>(0, before), end - start);
  }
  if (from.numel()) move_elements(to, from);
  return c.give_all(outs);
}
// Where each place of a padded dimension reads.
std::vector<int64_t> padded_places(int64_t size, int64_t before, int64_t after, int64_t mode) {
  std::vector<int64_t> at;
  for (int64_t i = -before; i < size + after; i++) {
    if (mode == 1) at.push_back(std::clamp<int64_t>(i, 0, size - 1));
    else if (mode == 2) at.push_back(((i % size) + size) % size);
    else at.push_back(i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i);
  }
  return at;
}
Tensor places_on(const std::vector<int64_t>& at, const Tensor& like) {
  const Tensor host = cresset::empty({static_cast<int64_t>(at.size())}, TensorOptions(kLong));
  std::copy(at.begin(), at.end(), static_cast<int64_t*>(host.data_ptr()));
  return host.to(like.device());
}
bool pad_mode(Call& c) {
  const Tensor& x = c.tensor(0);
  if (!movable(x)) return false;
  const std::vector<Tensor> outs = c.results();
  if (outs[0].numel() == 0) return c.give_all(outs);
  const std::vector<int64_t> pad = c.integers(1);
  Tensor t = x;
  for (size_t i = 0; i < pad.size() / 2; i++) {
    const int64_t d = x.dim() - 1 - static_cast<int64_t>(i);
    if (pad[2 * i] || pad[2 * i + 1]) t = selected(t, d, places_on(padded_places(t.size(d), pad[2 * i], pad[2 * i + 1], c.integer(2)), x));
  }
  move_elements(outs[0], t);
  return c.give_all(outs);
}
bool pad_mode_backward(Call& c) {
  const Tensor& grad = c.tensor(0);
  if (!is_floating(grad)) return false;
  const std::vector<Tensor> outs = c.results();
  const std::vector<int64_t> sizes = c.integers(1), pad = c.integers(2);
  Tensor t = grad;
  for (size_t i = 0; i < pad.size() / 2; i++) {
    const int64_t d = grad.dim() - 1 - static_cast<int64_t>(i);
    if (!pad[2 * i] && !pad[2 * i + 1]) continue;
    std::vector<int64_t> shape(t.sizes().begin(), t.sizes().end());
    shape[static_cast<size_t>(d)] = sizes[static_cast<size_t>(d)];
    t = cresset::zeros(shape, t.options())
            .index_add(d, places_on(padded_places(sizes[static_cast<size_t>(d)], pad[2 * i], pad[2 * i + 1], c.integer(3)), grad), t);
  }
  if (t.numel()) move_elements(outs[0], t);
  return c.give_all(outs);
}

// --- tables, and what data decides ---

bool embedding(Call& c) {
  const Tensor &weight = c.tensor(0), &indices = c.tensor(1);
  if (!movable(weight) || !movable(indices)) return false;
  const std::vector<Tensor> outs = c.results();
  check_range(c.op(), indices, 0, weight.size(0));
  if (outs[0].numel() == 0) return c.give_all(outs);
  return c.give(selected(weight, 0, indices.flatten()).reshape(outs[0].sizes()));
}
bool embedding_backward(Call& c) {
  const Tensor &grad = c.tensor(0), &indices = c.tensor(1);
  if (!is_floating(grad) || !movable(indices)) return false;
  c.meta_results();
  const int64_t width = grad.size(-1), padding = c.integer(3);
  const Tensor at = indices.flatten();
  check_range(c.op(), at, 0, c.integer(2));
  Tensor rows = grad.reshape({at.numel(), width});
  if (padding >= 0) rows = rows * at.ne(padding).unsqueeze(1).to(grad.scalar_type());
  if (c.flag(4) && at.numel()) {
    const Tensor counts = cresset::zeros({c.integer(2)}, grad.options()).index_add(0, at, cresset::ones({at.numel()}, grad.options()));
    rows = rows / counts.index_select(0, at).unsqueeze(1);
  }
  const Tensor out = cresset::zeros({c.integer(2), width}, grad.options());
  return c.give(at.numel() ? out.index_add(0, at, rows) : out);
}
bool nonzero(Call& c) {
  const Tensor& self = c.tensor(0);
  if (!is_real(self.scalar_type()) || self.dim() > kMaxDims) return false;
  const Tensor x = dense(self), numbers = x.flatten().ne(0).cumsum(0);
  const int64_t found = x.numel() ? numbers.select(0, x.numel() - 1).item().toLong() : 0, rank = x.dim();
  const Tensor out = make({found, rank}, kLong, c.device());
  if (out.numel() == 0) return c.give(out);
  const std::string source = prelude() + names_of(x.scalar_type()) + kOne +
                             "kernel void run(ulong count, One shape, int dims, global const T* x, global const long* numbers, global long* out) {\n"
                             "  ulong n = get_global_id(0);\n  if (n >= count || LOAD(x, n) == 0) return;\n  const long row = numbers[n] - 1;\n"
                             "  for (int d = dims - 1; d >= 0; d--) {\n    out[row * dims + d] = n % shape.sizes[d];\n    n /= shape.sizes[d];\n  }\n}\n";
  Launch(c.device(), source)
      .value<uint64_t>(static_cast<uint64_t>(x.numel()))
      .value(walk_over(x))
      .value<int32_t>(static_cast<int32_t>(rank))
      .pointer(x.data_ptr())
      .pointer(numbers.data_ptr())
      .pointer(out.data_ptr())
      .run(static_cast<size_t>(x.numel()));
  return c.give(out);
}
bool masked_select(Call& c) {
  const Tensor &x = c.tensor(0), &mask = c.tensor(1);
  if (!movable(x) || !movable(mask)) return false;
  const std::vector<Tensor> same = cresset::broadcast_tensors({x, mask});
  const Tensor at = same[1].reshape({-1}).nonzero().flatten();
  const Tensor flat = same[0].reshape({-1});
  return c.give(at.numel() ? selected(flat, 0, at) : make({0}, x.scalar_type(), c.device()));
}

}  // namespace

void add_indexing(cresset::dispatch::Library& m) {
  native(m, "gather", gather);
  native(m, "index_select", index_select);
  native(m, "scatter.src", [](Call& c) { return scatter(c, "v"); });
  native(m, "scatter.value", [](Call& c) { return scatter(c, "v"); });
  native(m, "scatter.reduce", [](Call& c) { return scatter(c, "v"); });
  native(m, "scatter_add", [](Call& c) { return scatter(c, "before + v"); });
  native(m, "index_add", index_add);
  native(m, "index.Tensor", index);
  native(m, "index_put", index_put);
  native(m, "cat", cat);
  native(m, "flip", flip);
  native(m, "roll", roll);
  native(m, "repeat", repeat);
  native(m, "tril", [](Call& c) { return triangle(c, "<="); });
  native(m, "triu", [](Call& c) { return triangle(c, ">="); });
  native(m, "constant_pad_nd", constant_pad);
  native(m, "_pad_mode", pad_mode);
  native(m, "_pad_mode_backward", pad_mode_backward);
  native(m, "embedding", embedding);
  native(m, "embedding_dense_backward", embedding_backward);
  native(m, "nonzero", nonzero);
  native(m, "_masked_select", masked_select);
}

}  // namespace opencl
