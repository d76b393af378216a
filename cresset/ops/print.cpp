// Text of tensors in LibTorch's layout: columns of numbers, matrices of a larger tensor one after another, dtype and shape last.

#include "cresset/ops/index/indexing.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>

#include "cresset/core/sparse.h"
#include "cresset/core/type_properties.h"
#include "cresset/ops/functions.h"

namespace cresset {

namespace {

// How the numbers of one tensor are written: all with one width, precision and common factor.
struct Format {
  int width = 0, precision = 0;
  bool scientific = false;
  double scale = 1;
};

Format choose_format(const std::vector<double>& values) {
  bool integral = true;
  double low = INFINITY, high = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    integral = integral && v == std::ceil(v);
    low = std::min(low, std::fabs(v));
    high = std::max(high, std::fabs(v));
  }
  if (low == INFINITY) low = high = 1;
  auto digits = [](double v) { return v == 0 ? 1 : static_cast<int>(std::floor(std::log10(v))) + 1; };
  const int least = digits(low), most = digits(high);
  Format f;
  if (integral) {
    if (most > 9) {
      f.width = 11;
      f.precision = 4;
      f.scientific = true;
    } else f.width = most + 1;
    return f;
  }
  f.precision = 4;
  if (most - least > 4) {
    f.scientific = true;
    f.width = std::abs(most) > 99 || std::abs(least) > 99 ? 12 : 11;
  } else if (most > 5 || most < 0) {
    f.width = 7;
    f.scale = std::pow(10, most - 1);
  } else {
    f.width = most == 0 ? 7 : most + 6;
  }
  return f;
}

std::string number(double v, const Format& f) {
  char text[64];
  v /= f.scale;
  if (!std::isfinite(v)) std::snprintf(text, sizeof text, "%*s", f.width, std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
  else std::snprintf(text, sizeof text, f.scientific ? "%*.*e" : "%*.*f", f.width, f.precision, v);
  return text;
}

struct Values {
  std::vector<double> real, imag;
  Format format;
};

std::string element(const Values& v, size_t i) {
  if (v.imag.empty()) return number(v.real[i], v.format);
  Format plain = v.format;
  plain.width = 0;
  std::string im = number(v.imag[i], plain);
  return number(v.real[i], v.format) + (im[0] == '-' ? "" : "+") + im + "j";
}

void append_scale(std::string& s, const Format& f) {
  if (f.scale == 1) return;
  char text[32];
  std::snprintf(text, sizeof text, "%g *\n", f.scale);
  s += text;
}

// Columns are broken over several blocks so that a line stays within 80 characters. As in LibTorch, the first row of a block stands
// directly behind what precedes it and only the others are indented.
void append_matrix(std::string& s, const Values& v, size_t first, int64_t rows, int64_t columns, int indent) {
  size_t width = static_cast<size_t>(v.format.width);
  if (!v.imag.empty()) {
    for (int64_t i = 0; i < rows * columns; i++) width = std::max(width, element(v, first + i).size());
  }
  const int64_t per_line = std::max<int64_t>(1, static_cast<int64_t>((80 - indent) / (width + 1)));
  for (int64_t c0 = 0; c0 < columns; c0 += per_line) {
    const int64_t c1 = std::min(columns, c0 + per_line);
    if (columns > per_line) {
      if (c0 != 0) s += "\n\n";
      s += c1 - c0 == 1 ? "Column " + std::to_string(c1) : "Columns " + std::to_string(c0 + 1) + " to " + std::to_string(c1);
    }
    for (int64_t r = 0; r < rows; r++) {
      if (r != 0) (s += '\n').append(static_cast<size_t>(indent), ' ');
      for (int64_t c = c0; c < c1; c++) {
        const std::string e = element(v, first + static_cast<size_t>(r * columns + c));
        if (c != c0) s += ' ';
        if (e.size() < width) s.append(width - e.size(), ' ');
        s += e;
      }
    }
  }
}

// The matrices of the last two dims, the first of the leading indices running fastest.
void append_matrices(std::string& s, const Values& v, IntArrayRef sizes) {
  const size_t leading = sizes.size() - 2;
  const int64_t rows = sizes[leading], columns = sizes[leading + 1], numel = static_cast<int64_t>(v.real.size());
  if (leading == 0) return append_matrix(s, v, 0, rows, columns, v.format.scale == 1 ? 0 : 1);
  std::vector<int64_t> index(leading, 0);
  for (int64_t count = numel / (rows * columns); count > 0; count--) {
    if (!s.empty() && s.back() != '\n') s += "\n\n";
    s += '(';
    int64_t matrix = 0;
    for (size_t d = 0; d < leading; d++) {
      matrix = matrix * sizes[d] + index[d];
      s += std::to_string(index[d] + 1) + ",";
    }
    s += ".,.) = \n";
    append_matrix(s, v, static_cast<size_t>(matrix * rows * columns), rows, columns, 1);
    for (size_t d = 0; d < leading && ++index[d] == sizes[d]; d++) index[d] = 0;
  }
}

// The fewest digits that read back as the same number, with an exponent from 1e16 on and below 1e-4.
std::string shortest(double x) {
  char text[64];
  for (int digits = 1; digits <= 17 && std::isfinite(x); digits++) {
    std::snprintf(text, sizeof text, "%.*e", digits - 1, x);
    if (std::strtod(text, nullptr) != x) continue;
    const int exponent = std::atoi(std::strchr(text, 'e') + 1);
    if (exponent < -4 || exponent >= 16) return text;
    std::snprintf(text, sizeof text, "%.*f", std::max(0, digits - 1 - exponent), x);
    return text;
  }
  std::snprintf(text, sizeof text, "%g", x);  // not finite
  return text;
}

std::string type_text(const Tensor& t, IntArrayRef sizes) {
  std::string device_name = device_type_name(t.device().type());
  for (char& c : device_name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  constexpr const char* kLayouts[] = {"", "Sparse", "SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc", "Mkldnn"};
  std::string s = "[ " + std::string(kLayouts[static_cast<size_t>(t.layout())]) + device_name + cresset::toString(t.scalar_type()) + "Type{";
  for (size_t d = 0; d < sizes.size(); d++) s += (d ? "," : "") + std::to_string(sizes[d]);
  return s + '}';
}

std::string text_of(const Tensor& t);

std::string sparse_text(const Tensor& t) {
  const SparseParts& p = sparse_parts(t);
  const bool rows = is_by_rows(t.layout());
  std::string s = type_text(t, {}) + "\n" + (!p.plain.defined() ? "indices" : rows ? "crow_indices" : "ccol_indices") + ":\n" + text_of(p.indices) + "\n";
  if (p.plain.defined()) s += std::string(rows ? "col_indices" : "row_indices") + ":\n" + text_of(p.plain) + "\n";
  return s + "values:\n" + text_of(p.values) + "\nsize:\n" + str(t.sizes()) + "\n]";
}

std::string text_of(const Tensor& x) {
  if (!x.defined()) return "[ Tensor (undefined) ]";
  if (x.layout() != Layout::Strided) return sparse_text(x);
  std::string s;
  if (x.lacks_data()) {
    s = "...";
  } else {
    const Tensor t = x.detach().to(TensorOptions().device(kCPU)).resolve_conj().resolve_neg().contiguous();
    Values v;
    const Tensor real = t.is_complex() ? cresset::view_as_real(t).contiguous().to(kDouble) : t.to(kDouble);
    const double* data = real.data_ptr<double>();
    for (int64_t i = 0; i < t.numel(); i++) {
      v.real.push_back(t.is_complex() ? data[2 * i] : data[i]);
      if (t.is_complex()) v.imag.push_back(data[2 * i + 1]);
    }
    std::vector<double> all = v.real;
    all.insert(all.end(), v.imag.begin(), v.imag.end());
    v.format = choose_format(all);
    if (t.dim() == 0) {
      s = v.imag.empty() ? shortest(v.real[0]) : element(v, 0);
    } else if (t.numel() > 0) {
      append_scale(s, v.format);
      if (t.dim() == 1) {
        append_matrix(s, v, 0, t.size(0), 1, 0);
      } else {
        append_matrices(s, v, t.sizes());
      }
    }
  }
  if (!s.empty()) s += '\n';
  return s + type_text(x, x.sizes()) + " ]";
}

}  // namespace

std::string Tensor::toString() const { return defined() ? type().toString() : "UndefinedType"; }

void Tensor::print() const { std::puts(text_of(*this).c_str()); }

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << text_of(t); }
std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << toString(t); }
std::ostream& operator<<(std::ostream& out, const Scalar& s) { return s.isComplex() ? out << s.toComplexDouble() : out << str(s); }
std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }
std::ostream& operator<<(std::ostream& out, DeviceType t) { return out << device_type_name(t); }
std::ostream& operator<<(std::ostream& out, SymInt i) { return out << i.expect_int(); }
std::ostream& operator<<(std::ostream& out, IntArrayRef sizes) { return out << str(sizes); }
std::ostream& operator<<(std::ostream& out, Layout layout) {
  static constexpr const char* names[] = {"Strided", "Sparse", "SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc", "Mkldnn"};
  return out << names[static_cast<size_t>(layout)];
}
std::ostream& operator<<(std::ostream& out, MemoryFormat format) {
  static constexpr const char* names[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d"};
  return out << names[static_cast<size_t>(format)];
}
std::ostream& operator<<(std::ostream& out, const TensorOptions& o) {
  const auto defaulted = [](bool given) { return given ? "" : " (default)"; };
  // The stream goes on with words for truth values, as LibTorch leaves it.
  out << std::boolalpha << "TensorOptions(dtype=" << o.dtype() << defaulted(o.has_dtype()) << ", device=" << o.device() << defaulted(o.has_device())
      << ", layout=" << o.layout() << defaulted(o.has_layout()) << ", requires_grad=" << o.requires_grad() << defaulted(o.has_requires_grad())
      << ", pinned_memory=" << o.pinned_memory() << defaulted(o.has_pinned_memory()) << ", memory_format=";
  if (o.has_memory_format()) return out << *o.memory_format_opt() << ')';
  return out << "(nullopt))";
}

namespace indexing {

std::ostream& operator<<(std::ostream& out, const Slice& slice) { return out << slice.start() << ':' << slice.stop() << ':' << slice.step(); }

std::ostream& operator<<(std::ostream& out, const TensorIndex& index) {
  switch (index.type()) {
    case TensorIndexType::None: return out << "None";
    case TensorIndexType::Ellipsis: return out << "...";
    case TensorIndexType::Integer: return out << index.integer();
    case TensorIndexType::Boolean: return out << (index.boolean() ? "true" : "false");
    case TensorIndexType::Slice: return out << index.slice();
    default: return out << index.tensor();
  }
}

std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices) {
  out << '(';
  for (size_t i = 0; i < indices.size(); i++) out << (i ? ", " : "") << indices[i];
  return out << ')';
}

}  // namespace indexing

}  // namespace cresset
