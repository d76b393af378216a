// Errors of distributions read as Python's do: numbers, shapes and tensors in Python's notation.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "cresset/autograd/node.h"
#include "cresset/base/warning.h"
#include "cresset/distributions/support.h"
#include "cresset/distributions/transforms.h"

namespace cresset::distributions {

namespace {

// repr(float): the shortest digits that give the number back, with an exponent below 1e-4 and from 1e16 on.
std::string float_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  char text[40];
  const double size = std::fabs(v);
  const bool exponent = size != 0 && (size < 1e-4 || size >= 1e16);
  const auto end = std::to_chars(text, text + sizeof text, v, exponent ? std::chars_format::scientific : std::chars_format::fixed).ptr;
  std::string s(text, end);
  if (!exponent && s.find('.') == std::string::npos) s += ".0";
  return s;
}

std::string printed(const char* format, double v) {
  char text[400];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

// One notation and one width for all numbers of a tensor.
struct Formatter {
  bool floating = true, boolean = false, whole = true, scientific = false;
  size_t width = 1;

  std::string text(double v) const {
    if (boolean) return v != 0 ? "True" : "False";
    if (!floating) return printed("%.0f", v);
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    return scientific ? printed("%.4e", v) : whole ? printed("%.0f.", v) : printed("%.4f", v);
  }
  std::string padded(double v) const {
    const std::string s = text(v);
    return std::string(s.size() < width ? width - s.size() : 0, ' ') + s;
  }
};

constexpr int64_t kEdge = 3, kThreshold = 1000;
constexpr size_t kLine = 80;

struct Printer {
  const double* values;
  bool summarise;
  Formatter form;

  bool cut(int64_t length) const { return summarise && length > 2 * kEdge; }
  std::string nested(IntArrayRef shape, IntArrayRef strides, size_t indent, int64_t offset) const {
    if (shape.empty()) return form.padded(values[offset]);
    std::vector<std::string> items;
    const bool vector = shape.size() == 1;
    for (int64_t i = 0; i < shape[0]; i++) {
      if (cut(shape[0]) && i == kEdge) {
        items.push_back(vector ? " ..." : "...");
        i = shape[0] - kEdge;
      }
      items.push_back(nested(shape.slice(1), strides.slice(1), indent + 1, offset + i * strides[0]));
    }
    const size_t per_line = vector ? std::max<size_t>(1, (kLine - std::min(indent, kLine)) / (form.width + 2)) : 1;
    const std::string next = (vector ? ",\n" : "," + std::string(shape.size() - 1, '\n')) + std::string(indent + 1, ' ');
    std::string s = "[";
    for (size_t i = 0; i < items.size(); i++) s += (i == 0 ? "" : i % per_line ? ", " : next) + items[i];
    return s + "]";
  }
  // Calls f with each number that is shown.
  template <class F> void each(IntArrayRef shape, IntArrayRef strides, int64_t offset, const F& f) const {
    if (shape.empty()) return f(values[offset]);
    for (int64_t i = 0; i < shape[0]; i++) {
      if (cut(shape[0]) && i == kEdge) i = shape[0] - kEdge;
      each(shape.slice(1), strides.slice(1), offset + i * strides[0], f);
    }
  }
};

}  // namespace

std::string number_text(const Scalar& number) {
  if (number.isFloatingPoint()) return float_text(number.as<double>());
  if (number.isBoolean()) return number.as<bool>() ? "True" : "False";
  return std::to_string(number.as<int64_t>());
}

std::string tensor_text(const Tensor& tensor) {
  const bool floating = tensor.is_floating_point();
  std::string s = "tensor(";
  if (tensor.lacks_data()) {
    s += "..., device='meta', size=" + tuple_text(tensor.sizes());
  } else if (tensor.numel() == 0) {
    s += "[]" + (tensor.dim() == 1 ? "" : ", size=" + tuple_text(tensor.sizes()));
  } else {
    const Tensor plain = tensor.detach().cpu().to(ScalarType::Double).contiguous();
    Printer p{plain.data_ptr<double>(), plain.dim() > 0 && plain.numel() > kThreshold, {}};
    Formatter& form = p.form;
    form.floating = floating;
    form.boolean = tensor.scalar_type() == ScalarType::Bool;
    double least = kInfinity, most = 0;
    p.each(plain.sizes(), plain.strides(), 0, [&](double v) {
      if (v == 0 || !std::isfinite(v)) return;
      form.whole = form.whole && v == std::ceil(v);
      least = std::min(least, std::fabs(v));
      most = std::max(most, std::fabs(v));
    });
    const bool some = most > 0;
    form.scientific = floating && some && (most / least > 1000.0 || most > 1.0e8 || (!form.whole && least < 1.0e-4));
    size_t width = 1;
    p.each(plain.sizes(), plain.strides(), 0, [&](double v) {
      if (!floating || (v != 0 && std::isfinite(v))) width = std::max(width, form.text(v).size());
    });
    form.width = width;
    s += p.nested(plain.sizes(), plain.strides(), s.size(), 0);
  }
  std::vector<std::string> suffixes;
  const ScalarType t = tensor.scalar_type();
  if (t != get_default_dtype() && (tensor.numel() == 0 || tensor.lacks_data() || (t != ScalarType::Long && t != ScalarType::Bool)))
    suffixes.push_back(std::string("dtype=torch.") + dtype_name(t));
  if (tensor.grad_fn().defined()) suffixes.push_back("grad_fn=<" + tensor.grad_fn()->name() + ">");
  else if (tensor.requires_grad()) suffixes.push_back("requires_grad=True");
  size_t length = s.size() - (s.rfind('\n') == std::string::npos ? 0 : s.rfind('\n')) + (s.rfind('\n') == std::string::npos ? 1 : 0);
  for (const std::string& suffix : suffixes) {
    const bool own_line = length + suffix.size() + 2 > kLine;
    s += (own_line ? ",\n       " : ", ") + suffix;
    length = own_line ? 7 + suffix.size() : length + suffix.size() + 2;
  }
  return s + ")";
}

std::string format_text(const TensorOrNumber& value) {
  if (value.is_number()) return number_text(value.number());
  const Tensor& t = value.tensor();
  return t.dim() == 0 && !t.lacks_data() ? number_text(t.item()) : tensor_text(t);
}

std::string tuple_text(IntArrayRef shape) {
  std::string s = "(";
  for (size_t i = 0; i < shape.size(); i++) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + (shape.size() == 1 ? ",)" : ")");
}

std::string size_text(IntArrayRef shape) {
  std::string s = "torch.Size([";
  for (size_t i = 0; i < shape.size(); i++) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "])";
}

std::ostream& operator<<(std::ostream& out, const Distribution& distribution) { return out << distribution.str(); }
std::ostream& operator<<(std::ostream& out, const Constraint& constraint) { return out << constraint.str(); }
std::ostream& operator<<(std::ostream& out, const Transform& transform) { return out << transform.str(); }

void warn(const std::string& message) { cresset::warn(message); }

}  // namespace cresset::distributions
