// Strings, and the texts of values.

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cresset/base/device.h"
#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/values.h"

namespace cresset::graph::script {

namespace {

std::string float_text(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  char text[40];
  int digits = 1;
  for (; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*e", digits - 1, d);
    if (std::strtod(text, nullptr) == d) break;
  }
  const int exponent = std::atoi(std::strchr(text, 'e') + 1);
  if (exponent < -4 || exponent >= 16) {
    snprintf(text, sizeof text, "%.*g", digits, d);
    return text;
  }
  snprintf(text, sizeof text, "%.*f", std::max(1, digits - 1 - exponent), d);
  return text;
}

std::string quoted(const std::string& s) {
  const char quote = s.find('\'') != std::string::npos && s.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : s) {
    if (c == quote || c == '\\') out += '\\', out += c;
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c == '\r') out += "\\r";
    else out += c;
  }
  return out + quote;
}

}  // namespace

std::string python_repr(const Datum& v) {
  if (v.is_none()) return "None";
  if (v.is_tensor()) {
    std::ostringstream s;
    s << v.to_tensor();
    return s.str();
  }
  if (v.isBool()) return v.toBool() ? "True" : "False";
  if (v.isInt()) return std::to_string(v.toInt());
  if (v.isDouble()) return float_text(v.toDouble());
  if (v.isComplexDouble()) {
    const complex<double> c = v.toComplexDouble();
    const auto part = [](double d) { return d == std::floor(d) && std::fabs(d) < 1e15 ? std::to_string(static_cast<long long>(d)) : float_text(d); };
    if (c.real() == 0) return part(c.imag()) + "j";
    return "(" + part(c.real()) + (c.imag() < 0 ? "-" : "+") + part(std::fabs(c.imag())) + "j)";
  }
  if (v.isString()) return quoted(v.to_string());
  if (v.is<Device>()) return v.to_device().str();
  if (v.is<ScalarType>()) return std::to_string(number_of(v.to_dtype()));
  if (v.isTuple()) {
    std::string s = "(";
    const auto& e = v.toTupleRef().elements();
    for (size_t i = 0; i < e.size(); i++) s += (i ? ", " : "") + python_repr(e[i]);
    return s + (e.size() == 1 ? ",)" : ")");
  }
  if (v.isGenericDict()) {
    std::string s = "{";
    for (const auto& e : dict_of(v).entries) s += (s.size() > 1 ? ", " : "") + python_repr(e.key) + ": " + python_repr(e.value);
    return s + "}";
  }
  if (v.isList()) {
    std::string s = "[";
    for (const Datum& e : v.toListVector()) s += (s.size() > 1 ? ", " : "") + python_repr(e);
    return s + "]";
  }
  std::ostringstream s;
  s << v;
  return s.str();
}
std::string python_str(const Datum& v) {
  if (v.isString()) return v.to_string();
  if (v.is<ScalarType>()) return std::to_string(number_of(v.to_dtype()));
  if (v.isTuple()) {
    std::string s = "(";
    const auto& e = v.toTupleRef().elements();
    for (size_t i = 0; i < e.size(); i++) s += (i ? ", " : "") + python_str(e[i]);
    return s + (e.size() == 1 ? ",)" : ")");
  }
  if (v.isGenericDict()) {
    std::string s = "{";
    for (const auto& e : dict_of(v).entries) s += (s.size() > 1 ? ", " : "") + python_str(e.key) + ": " + python_str(e.value);
    return s + "}";
  }
  if (v.isList()) {
    std::string s = "[";
    bool first = true;
    for (const Datum& e : v.toListVector()) s += (std::exchange(first, false) ? "" : ", ") + python_str(e);
    return s + "]";
  }
  std::ostringstream s;
  s << v;
  return s.str();
}

std::vector<std::string> letters(const std::string& s) {
  std::vector<std::string> out;
  for (size_t i = 0; i < s.size();) {
    size_t n = 1;
    while (i + n < s.size() && (static_cast<unsigned char>(s[i + n]) & 0xc0) == 0x80) n++;
    out.push_back(s.substr(i, n));
    i += n;
  }
  return out;
}

namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_alpha(char c) { return is_lower(c) || is_upper(c); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; }
char upper(char c) { return is_lower(c) ? static_cast<char>(c - 32) : c; }

const std::string& text(const Datum& v) { return v.to_string(); }
int64_t size(const std::string& s) { return static_cast<int64_t>(s.size()); }

template <char (*F)(char)> void map_letters(Inputs in, size_t, Datum& out) {
  std::string s = text(*in[0]);
  for (char& c : s) c = F(c);
  put(out, std::move(s));
}
char swap_case(char c) { return is_lower(c) ? upper(c) : lower(c); }
// Whether there is a letter and all are of the kind.
template <bool (*F)(char)> void all_letters(Inputs in, size_t, Datum& out) {
  const std::string& s = text(*in[0]);
  put(out, !s.empty() && std::all_of(s.begin(), s.end(), F));
}
bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }

// Python's view of start and end of a part of a string.
std::pair<size_t, size_t> bounds(const std::string& s, const Datum& start, const Datum& end) {
  const auto place = [&](int64_t i) { return static_cast<size_t>(std::clamp<int64_t>(i < 0 ? i + size(s) : i, 0, size(s))); };
  const size_t from = place(as_int(start));
  // -1 means to the end: PyTorch's default.
  const size_t to = as_int(end) == -1 ? s.size() : place(as_int(end));
  return {from, to};
}
int64_t find_in(Inputs in, bool last) {
  const std::string& s = text(*in[0]);
  const auto [from, to] = bounds(s, *in[2], *in[3]);
  if (from > to) return -1;
  const std::string part = s.substr(from, to - from);
  const size_t at = last ? part.rfind(text(*in[1])) : part.find(text(*in[1]));
  return at == std::string::npos ? -1 : static_cast<int64_t>(at + from);
}
void padded(Inputs in, Datum& out, int where) {
  const std::string& s = text(*in[0]);
  const std::string& fill = text(*in[2]);
  CRESSET_CHECK_TYPE(fill.size() == 1, "the fill character must be exactly one character long, got '", fill, "'");
  const int64_t n = as_int(*in[1]) - size(s);
  CRESSET_CHECK_VALUE(n < (int64_t{1} << 31), "expected a width below 2**31, got ", as_int(*in[1]));
  if (n <= 0) return put(out, s);
  expect_memory(static_cast<size_t>(n));
  const int64_t left = where < 0 ? 0 : where > 0 ? n : n / 2 + (n & as_int(*in[1]) & 1);
  put(out, std::string(static_cast<size_t>(left), fill[0]) + s + std::string(static_cast<size_t>(n - left), fill[0]));
}
std::string stripped(const std::string& s, const std::string& chars, bool left, bool right) {
  size_t from = 0, to = s.size();
  while (left && from < to && chars.find(s[from]) != std::string::npos) from++;
  while (right && to > from && chars.find(s[to - 1]) != std::string::npos) to--;
  return s.substr(from, to - from);
}
Datum strings(std::vector<std::string> list) {
  std::vector<Datum> out;
  for (std::string& s : list) out.emplace_back(std::move(s));
  return make_list(dispatch::ElementKind::String, std::move(out));
}
std::vector<std::string> split(const std::string& s, const Datum& separator, int64_t most) {
  std::vector<std::string> out;
  if (separator.is_none()) {
    size_t i = 0;
    while (true) {
      while (i < s.size() && is_space(s[i])) i++;
      if (i >= s.size()) break;
      size_t end = i;
      if (most >= 0 && static_cast<int64_t>(out.size()) >= most) {
        end = s.size();
        while (end > i && is_space(s[end - 1])) end--;
      } else {
        while (end < s.size() && !is_space(s[end])) end++;
      }
      out.push_back(s.substr(i, end - i));
      if (most >= 0 && static_cast<int64_t>(out.size()) > most) break;
      i = end;
    }
    return out;
  }
  const std::string& by = separator.to_string();
  CRESSET_CHECK_VALUE(!by.empty(), "empty separator");
  size_t from = 0;
  for (size_t at; (most < 0 || static_cast<int64_t>(out.size()) < most) && (at = s.find(by, from)) != std::string::npos; from = at + by.size())
    out.push_back(s.substr(from, at - from));
  out.push_back(s.substr(from));
  return out;
}
std::vector<std::string> split_right(const std::string& s, const Datum& separator, int64_t most) {
  std::vector<std::string> out;
  const bool blank = separator.is_none();
  std::string rest = s;
  if (blank) rest = stripped(rest, " \t\n\r\f\v", false, true);
  while (most < 0 || static_cast<int64_t>(out.size()) < most) {
    size_t at, length = 1;
    if (blank) at = rest.find_last_of(" \t\n\r\f\v");
    else at = rest.rfind(separator.to_string()), length = separator.to_string().size();
    if (at == std::string::npos) break;
    out.push_back(rest.substr(at + length));
    rest = rest.substr(0, at);
    if (blank) rest = stripped(rest, " \t\n\r\f\v", false, true);
  }
  if (!blank || !stripped(rest, " \t\n\r\f\v", true, true).empty()) out.push_back(blank ? stripped(rest, " \t\n\r\f\v", true, false) : rest);
  std::reverse(out.begin(), out.end());
  return out;
}
void partition(Inputs in, Datum& out, bool last) {
  const std::string &s = text(*in[0]), &by = text(*in[1]);
  CRESSET_CHECK_VALUE(!by.empty(), "empty separator");
  const size_t at = last ? s.rfind(by) : s.find(by);
  if (at == std::string::npos) out = Datum(dispatch::TupleObject::create({Datum(last ? "" : s), Datum(""), Datum(last ? s : "")}));
  else out = Datum(dispatch::TupleObject::create({Datum(s.substr(0, at)), Datum(by), Datum(s.substr(at + by.size()))}));
}
std::vector<std::string> lines(const std::string& s, bool keep) {
  std::vector<std::string> out;
  for (size_t i = 0; i < s.size();) {
    size_t end = i;
    while (end < s.size() && s[end] != '\n' && s[end] != '\r' && s[end] != '\v' && s[end] != '\f') end++;
    size_t next = end < s.size() ? end + 1 : end;
    if (next < s.size() && s[end] == '\r' && s[next] == '\n') next++;
    out.push_back(s.substr(i, (keep ? next : end) - i));
    i = next;
  }
  return out;
}

std::string formatted(const std::string& pattern, Inputs in, size_t n) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < pattern.size(); i++) {
    if ((pattern[i] == '{' || pattern[i] == '}') && i + 1 < pattern.size() && pattern[i + 1] == pattern[i]) {
      out += pattern[i++];
      continue;
    }
    if (pattern[i] != '{') {
      out += pattern[i];
      continue;
    }
    size_t end = pattern.find('}', i);
    CRESSET_CHECK_VALUE(end != std::string::npos, "format: expected '}' before the end of the string");
    const std::string field = pattern.substr(i + 1, end - i - 1);
    size_t which = next;
    if (!field.empty()) {
      CRESSET_CHECK_VALUE(std::all_of(field.begin(), field.end(), is_digit), "format: expected an empty field or a number, got '", field, "'");
      which = static_cast<size_t>(std::stoul(field));
    } else {
      next++;
    }
    CRESSET_CHECK(which < n, "format: there is no argument for field ", which);
    out += python_str(*in[which]);
    i = end;
  }
  return out;
}
std::string percent(const std::string& pattern, Inputs in, size_t n) {
  std::vector<const Datum*> values;
  if (n == 1 && in[0]->isTuple())
    for (const Datum& v : in[0]->toTupleRef().elements()) values.push_back(&v);
  else
    for (size_t i = 0; i < n; i++) values.push_back(in[i]);
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < pattern.size(); i++) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    CRESSET_CHECK_VALUE(i + 1 < pattern.size(), "%: incomplete format");
    size_t end = i + 1;
    while (end < pattern.size() && !is_alpha(pattern[end]) && pattern[end] != '%') end++;
    CRESSET_CHECK_VALUE(end < pattern.size() && end - i < 16, "%: incomplete format");
    const std::string spec = pattern.substr(i, end - i);
    size_t room = 400;  // digits of the greatest float
    for (size_t k = 0; k < spec.size();) {
      size_t number = 0;
      for (; k < spec.size() && is_digit(spec[k]); k++) number = number * 10 + static_cast<size_t>(spec[k] - '0');
      CRESSET_CHECK_VALUE(number <= 100000, "%: expected a width and a precision of at most 100000, got ", number);
      room += number;
      k++;
    }
    const char kind = pattern[end];
    i = end;
    if (kind == '%') {
      out += '%';
      continue;
    }
    CRESSET_CHECK_TYPE(next < values.size(), "%: not enough arguments for format string");
    CRESSET_CHECK_VALUE(spec.find('*') == std::string::npos, "%: unsupported width '*'");
    const Datum& v = *values[next++];
    expect_memory(room);
    std::string buffer(room, '\0');
    const auto print = [&](const std::string& form, auto value) {
      const int length = snprintf(buffer.data(), buffer.size(), form.c_str(), value);
      out.append(buffer, 0, static_cast<size_t>(std::max(length, 0)));
    };
    switch (kind) {
      case 's': out += python_str(v); break;
      case 'r': out += python_repr(v); break;
      case 'c':
        CRESSET_CHECK_TYPE(!v.isString() || size(v.to_string()) == 1, "%c: expected an int or one character, got ", python_repr(v));
        out += v.isString() ? v.to_string() : std::string(1, static_cast<char>(as_int(v)));
        break;
      case 'd':
      case 'i':
      case 'x':
      case 'X':
      case 'o':
        CRESSET_CHECK_TYPE(v.is_number() && (!v.isDouble() || kind == 'd' || kind == 'i'), "%", kind, ": expected a number, got ", v.kind());
        print(spec + "ll" + kind, v.isDouble() ? static_cast<long long>(v.toDouble()) : static_cast<long long>(as_int(v)));
        break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        CRESSET_CHECK_TYPE(v.is_number(), "%", kind, ": expected a number, got ", v.kind());
        print(spec + kind, as_float(v));
        break;
      default: CRESSET_CHECK_VALUE(false, "%: the conversion '", kind, "' is not supported");
    }
  }
  CRESSET_CHECK_TYPE(next == values.size(), "%: not all arguments converted during string formatting");
  return out;
}

void add_tests() {
  add_builtin("aten::isdigit(str self) -> bool", all_letters<is_digit>);
  add_builtin("aten::isdecimal(str self) -> bool", all_letters<is_digit>);
  add_builtin("aten::isnumeric(str self) -> bool", all_letters<is_digit>);
  add_builtin("aten::isalpha(str self) -> bool", all_letters<is_alpha>);
  add_builtin("aten::isalnum(str self) -> bool", all_letters<is_alnum>);
  add_builtin("aten::isspace(str self) -> bool", all_letters<is_space>);
  add_builtin("aten::isupper(str self) -> bool", [](Inputs in, size_t, Datum& out) {
    const std::string& s = text(*in[0]);
    put(out, std::any_of(s.begin(), s.end(), is_upper) && std::none_of(s.begin(), s.end(), is_lower));
  });
  add_builtin("aten::islower(str self) -> bool", [](Inputs in, size_t, Datum& out) {
    const std::string& s = text(*in[0]);
    put(out, std::any_of(s.begin(), s.end(), is_lower) && std::none_of(s.begin(), s.end(), is_upper));
  });
  add_builtin("aten::istitle(str self) -> bool", [](Inputs in, size_t, Datum& out) {
    const std::string& s = text(*in[0]);
    bool any = false, fits = true, inside = false;
    for (const char c : s) {
      if (is_alpha(c)) any = true, fits = fits && (inside ? is_lower(c) : is_upper(c));
      inside = is_alpha(c);
    }
    put(out, any && fits);
  });
  add_builtin("aten::isprintable(str self) -> bool", [](Inputs in, size_t, Datum& out) {
    const std::string& s = text(*in[0]);
    put(out, std::all_of(s.begin(), s.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  });
  add_builtin("aten::isidentifier(str self) -> bool", [](Inputs in, size_t, Datum& out) {
    const std::string& s = text(*in[0]);
    put(out, !s.empty() && !is_digit(s[0]) && std::all_of(s.begin(), s.end(), [](char c) { return is_alnum(c) || c == '_'; }));
  });
  add_builtin("aten::startswith(str self, str substr, int start=0, int end=-1) -> bool", [](Inputs in, size_t, Datum& out) {
    const auto [from, to] = bounds(text(*in[0]), *in[2], *in[3]);
    put(out, from <= to && text(*in[0]).substr(from, to - from).compare(0, text(*in[1]).size(), text(*in[1])) == 0);
  });
  add_builtin("aten::endswith(str self, str substr, int start=0, int end=-1) -> bool", [](Inputs in, size_t, Datum& out) {
    const auto [from, to] = bounds(text(*in[0]), *in[2], *in[3]);
    const std::string part = from <= to ? text(*in[0]).substr(from, to - from) : "";
    const std::string& tail = text(*in[1]);
    put(out, from <= to && part.size() >= tail.size() && part.compare(part.size() - tail.size(), tail.size(), tail) == 0);
  });
  add_builtin("aten::__contains__.str_substr(str self, str item) -> bool",
              [](Inputs in, size_t, Datum& out) { put(out, text(*in[0]).find(text(*in[1])) != std::string::npos); });
}

void add_parts() {
  add_builtin("aten::len.str(str s) -> int", [](Inputs in, size_t, Datum& out) { put(out, size(text(*in[0]))); });
  add_builtin("aten::__getitem__.str(str s, int index) -> str", [](Inputs in, size_t, Datum& out) {
    const std::string& s = text(*in[0]);
    const int64_t i = as_int(*in[1]);
    CRESSET_CHECK_INDEX(i >= -size(s) && i < size(s), "string index out of range: got ", i, " for ", size(s), " letters");
    put(out, std::string(1, s[static_cast<size_t>(i < 0 ? i + size(s) : i)]));
  });
  add_builtin("aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str", [](Inputs in, size_t, Datum& out) {
    const std::string& s = text(*in[0]);
    std::string part;
    for (const size_t i : slice_of(*in[1], *in[2], *in[3], size(s)).places()) part += s[i];
    put(out, std::move(part));
  });
  add_builtin(
      "aten::list(str t) -> str[]", [](Inputs in, size_t, Datum& out) { out = strings(letters(text(*in[0]))); }, false);
  add_builtin(
      "aten::split.str(str self, str? separator=None, int max=-1) -> str[]",
      [](Inputs in, size_t, Datum& out) { out = strings(split(text(*in[0]), *in[1], as_int(*in[2]))); }, false);
  add_builtin(
      "aten::rsplit(str self, str? separator=None, int max=-1) -> str[]",
      [](Inputs in, size_t, Datum& out) { out = strings(split_right(text(*in[0]), *in[1], as_int(*in[2]))); }, false);
  add_builtin(
      "aten::splitlines(str self, bool keepends=False) -> str[]",
      [](Inputs in, size_t, Datum& out) { out = strings(lines(text(*in[0]), as_int(*in[1]) != 0)); }, false);
  add_builtin("aten::partition(str self, str separator) -> (str, str, str)", [](Inputs in, size_t, Datum& out) { partition(in, out, false); });
  add_builtin("aten::rpartition(str self, str separator) -> (str, str, str)", [](Inputs in, size_t, Datum& out) { partition(in, out, true); });
  add_builtin("aten::strip(str self, str chars=\" \n\t\f\v\") -> str",
              [](Inputs in, size_t, Datum& out) { put(out, stripped(text(*in[0]), text(*in[1]), true, true)); });
  add_builtin("aten::lstrip(str self, str chars=\" \n\t\f\v\") -> str",
              [](Inputs in, size_t, Datum& out) { put(out, stripped(text(*in[0]), text(*in[1]), true, false)); });
  add_builtin("aten::rstrip(str self, str chars=\" \n\t\f\v\") -> str",
              [](Inputs in, size_t, Datum& out) { put(out, stripped(text(*in[0]), text(*in[1]), false, true)); });
  add_builtin("aten::join(str self, str[] values) -> str", [](Inputs in, size_t, Datum& out) {
    std::string s;
    bool first = true;
    size_t length = 0;
    for (const Datum& v : list_of(*in[1]).elements) length += text(*in[0]).size() + text(v).size();
    expect_memory(length);
    for (const Datum& v : list_of(*in[1]).elements) {
      if (!std::exchange(first, false)) s += text(*in[0]);
      s += text(v);
    }
    put(out, std::move(s));
  });
  add_builtin("aten::find(str self, str substr, int start=0, int end=-1) -> int", [](Inputs in, size_t, Datum& out) { put(out, find_in(in, false)); });
  add_builtin("aten::rfind(str self, str substr, int start=0, int end=-1) -> int", [](Inputs in, size_t, Datum& out) { put(out, find_in(in, true)); });
  const BuiltinFn index = [](Inputs in, size_t, Datum& out) {
    const int64_t at = find_in(in, false);
    CRESSET_CHECK_VALUE(at >= 0, "substring not found: '", text(*in[1]), "'");
    put(out, at);
  };
  add_builtin("aten::index.str(str self, str substr, int start=0, int end=-1) -> int", index);
  add_builtin("aten::rindex(str self, str substr, int start=0, int end=-1) -> int", [](Inputs in, size_t, Datum& out) {
    const int64_t at = find_in(in, true);
    CRESSET_CHECK_VALUE(at >= 0, "substring not found: '", text(*in[1]), "'");
    put(out, at);
  });
  add_builtin("aten::count(str self, str substr, int start=0, int end=-1) -> int", [](Inputs in, size_t, Datum& out) {
    const std::string& by = text(*in[1]);
    const auto [from, to] = bounds(text(*in[0]), *in[2], *in[3]);
    if (from > to) return put(out, int64_t{0});
    const std::string s = text(*in[0]).substr(from, to - from);
    if (by.empty()) return put(out, size(s) + 1);
    int64_t n = 0;
    for (size_t at = s.find(by); at != std::string::npos; at = s.find(by, at + by.size())) n++;
    put(out, n);
  });
}

void add_changes() {
  add_builtin("aten::add.str(str a, str b) -> str", [](Inputs in, size_t, Datum& out) { put(out, text(*in[0]) + text(*in[1])); });
  add_builtin("aten::mul.str_int(str a, int b) -> str", [](Inputs in, size_t, Datum& out) {
    std::string s;
    CRESSET_CHECK_VALUE(as_int(*in[1]) < (int64_t{1} << 31), "str: expected fewer repetitions, got ", as_int(*in[1]));
    if (as_int(*in[1]) > 0) expect_memory(static_cast<size_t>(as_int(*in[1])) * text(*in[0]).size());
    for (int64_t i = 0; i < as_int(*in[1]); i++) s += text(*in[0]);
    put(out, std::move(s));
  });
  add_builtin("aten::upper(str self) -> str", map_letters<upper>);
  add_builtin("aten::lower(str self) -> str", map_letters<lower>);
  add_builtin("aten::casefold(str self) -> str", map_letters<lower>);
  add_builtin("aten::swapcase(str self) -> str", map_letters<swap_case>);
  add_builtin("aten::capitalize(str self) -> str", [](Inputs in, size_t, Datum& out) {
    std::string s = text(*in[0]);
    for (size_t i = 0; i < s.size(); i++) s[i] = i ? lower(s[i]) : upper(s[i]);
    put(out, std::move(s));
  });
  add_builtin("aten::title(str self) -> str", [](Inputs in, size_t, Datum& out) {
    std::string s = text(*in[0]);
    bool inside = false;
    for (char& c : s) {
      const bool letter = is_alpha(c);
      c = inside ? lower(c) : upper(c);
      inside = letter;
    }
    put(out, std::move(s));
  });
  add_builtin("aten::replace(str self, str old, str new, int max=-1) -> str", [](Inputs in, size_t, Datum& out) {
    const std::string &s = text(*in[0]), &from = text(*in[1]), &to = text(*in[2]);
    int64_t most = as_int(*in[3]);
    if (most < 0) most = INT64_MAX;
    std::string r;
    expect_memory(s.size() + (from.empty() ? s.size() + 1 : s.size() / from.size()) * to.size());
    size_t i = 0;
    while (i <= s.size()) {
      const size_t at = most > 0 ? (from.empty() ? i : s.find(from, i)) : std::string::npos;
      if (at == std::string::npos) {
        r += s.substr(i);
        break;
      }
      most--;
      r += s.substr(i, at - i) + to;
      if (from.empty() && at < s.size()) r += s[at];
      i = at + std::max<size_t>(from.size(), 1);
    }
    put(out, std::move(r));
  });
  add_builtin("aten::center(str self, int width, str fillchar=\" \") -> str", [](Inputs in, size_t, Datum& out) { padded(in, out, 0); });
  add_builtin("aten::ljust(str self, int width, str fillchar=\" \") -> str", [](Inputs in, size_t, Datum& out) { padded(in, out, -1); });
  add_builtin("aten::rjust(str self, int width, str fillchar=\" \") -> str", [](Inputs in, size_t, Datum& out) { padded(in, out, 1); });
  add_builtin("aten::zfill(str self, int width) -> str", [](Inputs in, size_t, Datum& out) {
    const std::string& s = text(*in[0]);
    const int64_t n = as_int(*in[1]) - size(s);
    if (n <= 0) return put(out, s);
    CRESSET_CHECK_VALUE(n < (int64_t{1} << 31), "expected a width below 2**31, got ", as_int(*in[1]));
    expect_memory(static_cast<size_t>(n));
    const size_t sign = !s.empty() && (s[0] == '-' || s[0] == '+') ? 1 : 0;
    put(out, s.substr(0, sign) + std::string(static_cast<size_t>(n), '0') + s.substr(sign));
  });
  add_builtin("aten::expandtabs(str self, int tabsize=8) -> str", [](Inputs in, size_t, Datum& out) {
    const int64_t tab = as_int(*in[1]);
    CRESSET_CHECK_VALUE(tab < 1 << 20, "expandtabs: expected fewer spaces, got ", tab);
    const std::string& whole = text(*in[0]);
    expect_memory(whole.size() + static_cast<size_t>(std::count(whole.begin(), whole.end(), '\t') * std::max<int64_t>(tab, 0)));
    std::string r;
    int64_t column = 0;
    for (const char c : text(*in[0])) {
      if (c == '\t') {
        const int64_t n = tab > 0 ? tab - column % tab : 0;
        r += std::string(static_cast<size_t>(n), ' ');
        column += n;
      } else {
        r += c;
        column = c == '\n' || c == '\r' ? 0 : column + 1;
      }
    }
    put(out, std::move(r));
  });
  add_builtin("aten::ord(str string) -> int", [](Inputs in, size_t, Datum& out) {
    const std::string& s = text(*in[0]);
    CRESSET_CHECK_TYPE(s.size() == 1, "ord() expected a string of length 1, but string of length ", s.size(), " found");
    put(out, static_cast<int64_t>(static_cast<unsigned char>(s[0])));
  });
  add_builtin("aten::chr(int i) -> str", [](Inputs in, size_t, Datum& out) {
    const int64_t c = as_int(*in[0]);
    CRESSET_CHECK_VALUE(c >= 0 && c < 0x110000, "chr() arg not in range(0x110000): got ", c);
    put(out, std::string(1, static_cast<char>(c)));
  });
  add_builtin("aten::str(t elem) -> str", [](Inputs in, size_t, Datum& out) { put(out, python_str(*in[0])); });
  add_builtin("aten::hash.generic(t value) -> int", [](Inputs in, size_t, Datum& out) { put(out, static_cast<int64_t>(in[0]->hash())); });
  register_builtin(
      {"aten::format", 1, INT_MAX, TypeKind::String, true, [](Inputs in, size_t n, Datum& out) { put(out, formatted(text(*in[0]), in + 1, n - 1)); }});
  register_builtin(
      {"aten::percentFormat", 1, INT_MAX, TypeKind::String, true, [](Inputs in, size_t n, Datum& out) { put(out, percent(text(*in[0]), in + 1, n - 1)); }});
}

}  // namespace

void add_string_builtins() {
  add_tests();
  add_parts();
  add_changes();
}

}  // namespace cresset::graph::script
