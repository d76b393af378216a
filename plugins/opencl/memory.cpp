// Copies between the device and the CPU, and fills.

#include "call.h"

namespace opencl {

namespace {

using cresset::TensorOptions;

// A tensor of the CPU with the elements of one of the device.
Tensor read(const Tensor& t) {
  Tensor dense = t;
  if (!t.is_contiguous()) {
    dense = make_like(t);
    move_elements(dense, t);
  }
  const Tensor host = cresset::empty(t.sizes(), TensorOptions(t.scalar_type()));
  copy_bytes(host.data_ptr(), dense.data_ptr(), host.nbytes(), t.device().index(), true);
  return host;
}

void write(const Tensor& to, const Tensor& host) {
  const Tensor same = host.to(TensorOptions(to.scalar_type())).expand(to.sizes()).contiguous();
  if (to.is_contiguous()) return copy_bytes(to.data_ptr(), same.data_ptr(), to.nbytes(), to.device().index(), true);
  const Tensor dense = make_like(to);
  copy_bytes(dense.data_ptr(), same.data_ptr(), dense.nbytes(), to.device().index(), true);
  move_elements(to, dense);
}

bool copy(Call& c) {
  const Tensor &to = c.tensor(0), &from = c.tensor(1);
  if (to.numel() == 0) return c.give(to);
  if (!on_device(to)) {
    CRESSET_CHECK(to.is_cpu(), "opencl: copies go to the CPU or stay on the device, got one to ", to.device());
    Tensor target = to;
    target.copy_(read(from));
    return c.give(to);
  }
  if (!on_device(from)) {
    write(to, from.is_cpu() ? from : from.cpu());
    return c.give(to);
  }
  if (to.device() != from.device()) {
    write(to, read(from));
    return c.give(to);
  }
  const Tensor same = from.sizes() == to.sizes() ? from : from.expand(to.sizes());
  const bool known = stored_type(to.scalar_type()) && stored_type(from.scalar_type());
  if (!known && to.scalar_type() != from.scalar_type()) {
    write(to, read(same));
    return c.give(to);
  }
  if (to.storage().data() == from.storage().data() && to.data_ptr() != from.data_ptr()) {
    const Tensor apart = make_like(same);
    move_elements(apart, same);
    move_elements(to, apart);
  } else if (!to.is_same(from)) {
    move_elements(to, same);
  }
  return c.give(to);
}

bool fill_number(Call& c) {
  const Scalar value = c[1].to_scalar();
  if (!stored_type(c.tensor(0).scalar_type()) || value.isComplex()) return false;
  fill_all(c.tensor(0), value);
  return c.give(c.tensor(0));
}
bool fill_tensor(Call& c) {
  CRESSET_CHECK(c.tensor(1).dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", c.tensor(1).dim(), " dimensions.");
  Tensor to = c.tensor(0);
  to.copy_(c.tensor(1));
  return c.give(to);
}
bool zero(Call& c) {
  if (!stored_type(c.tensor(0).scalar_type())) return false;
  fill_all(c.tensor(0), 0);
  return c.give(c.tensor(0));
}

// Sequences by their number.
Tensor sequence(const Tensor& out, double start, double step, bool whole, const char* formula) {
  const std::string type = whole ? "long" : "double", small = whole ? "long" : chip(out.device().index()).fp64 ? "double" : "float";
  std::string source = prelude() + "kernel void run(ulong count, global " + stored_type(out.scalar_type()) + "* out, " + small + " start, " + small +
                       " step) { const ulong i = get_global_id(0); if (i < count) { " + stores(out.scalar_type(), "out", "i", formula) + " } }";
  Launch launch(out.device().index(), source);
  launch.value<uint64_t>(static_cast<uint64_t>(out.numel())).pointer(out.data_ptr());
  if (small == "long") launch.value(static_cast<int64_t>(start)).value(static_cast<int64_t>(step));
  else if (small == "double") launch.value(start).value(step);
  else launch.value(static_cast<float>(start)).value(static_cast<float>(step));
  launch.run(static_cast<size_t>(out.numel()));
  return out;
}
bool arange(Call& c) {
  const Tensor out = c.results()[0];
  if (!stored_type(out.scalar_type())) return false;
  if (out.numel() == 0) return c.give(out);
  const Scalar start = c[0].to_scalar(), step = c[2].to_scalar();
  const bool whole = !is_floating_type(out.scalar_type()) && !start.isFloatingPoint() && !step.isFloatingPoint();
  return c.give(sequence(out, start.toDouble(), step.toDouble(), whole, "start + i * step"));
}
bool linspace(Call& c) {
  const Tensor out = c.results()[0];
  if (!is_floating(out)) return false;
  const double start = c.number(0), end = c.number(1);
  const int64_t n = out.numel();
  if (n == 0) return c.give(out);
  const double step = n > 1 ? (end - start) / static_cast<double>(n - 1) : 0;
  // From the nearer end, so that both are met.
  const std::string formula = "i < " + std::to_string((n + 1) / 2) + " ? start + i * step : (start + " + std::to_string(n - 1) + " * step) - (" +
                              std::to_string(n - 1) + " - (long)i) * step";
  return c.give(sequence(out, start, step, false, formula.c_str()));
}

}  // namespace

void add_memory(cresset::dispatch::Library& m) {
  native(m, "copy_", copy);
  native(m, "fill_.Scalar", fill_number);
  native(m, "fill_.Tensor", fill_tensor);
  native(m, "zero_", zero);
  native(m, "arange.start_step", arange);
  native(m, "range.step", arange);
  native(m, "linspace", linspace);
}

}  // namespace opencl
