#include "cresset/nn/module/archive.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include "cresset/dispatch/values/value.h"
#include "cresset/nn/module/archive_contents.h"

namespace cresset::serialize {

namespace {

std::string print_double(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", v);
  return text;
}

template <class T, class Print> std::string join(const std::vector<T>& values, Print print) {
  std::string s;
  for (size_t i = 0; i < values.size(); i++) s += (i ? "," : "") + print(values[i]);
  return s;
}

template <class T, class Parse> std::vector<T> split(const char* s, Parse parse) {
  std::vector<T> values;
  while (*s) {
    char* end = nullptr;
    values.push_back(parse(s, &end));
    CRESSET_CHECK(end != s && (*end == 0 || *end == ','), "archive: malformed list of numbers '", s, "'");
    s = *end ? end + 1 : end;
  }
  return values;
}

int64_t parse_int(const char* s, char** end) { return std::strtoll(s, end, 10); }
double parse_double(const char* s, char** end) { return std::strtod(s, end); }

template <class T, class Parse> T parse_one(const char* s, Parse parse) {
  char* end = nullptr;
  const T value = parse(s, &end);
  CRESSET_CHECK(end != s && *end == 0, "archive: malformed number '", s, "'");
  return value;
}

}  // namespace

ArchiveValue::ArchiveValue(bool v) : text_(v ? "b:1" : "b:0") {}
ArchiveValue::ArchiveValue(int64_t v) : text_("i:" + std::to_string(v)) {}
ArchiveValue::ArchiveValue(double v) : text_("d:" + print_double(v)) {}
ArchiveValue::ArchiveValue(const std::vector<int64_t>& v) : text_("l:" + join(v, [](int64_t x) { return std::to_string(x); })) {}
ArchiveValue::ArchiveValue(const std::vector<double>& v) : text_("v:" + join(v, print_double)) {}

ArchiveValue::ArchiveValue(const dispatch::Value& v) {
  if (v.is_none()) *this = ArchiveValue();
  else if (v.isBool()) *this = v.to_bool();
  else if (v.isInt()) *this = v.to_int();
  else if (v.isDouble()) *this = v.to_double();
  else if (v.isString()) *this = v.to_string();
  else if (v.isIntList()) *this = v.to_int_list();
  else if (v.isDoubleList()) *this = v.to_double_list();
  else CRESSET_CHECK_TYPE(false, "archive: expected a number, flag, text or list of numbers, got ", v.kind());
}

dispatch::Value ArchiveValue::to_value() const {
  switch (text_[0]) {
    case 'b': return to_bool();
    case 'i': return to_int();
    case 'd': return to_double();
    case 's': return to_string();
    case 'l': return to_int_list();
    case 'v': return to_double_list();
    default: return {};
  }
}

ArchiveValue ArchiveValue::parse(std::string text) {
  CRESSET_CHECK(text.size() >= 2 && text[1] == ':' && std::strchr("nbidslv", text[0]), "archive: value '", text, "' has no known tag");
  ArchiveValue value;
  value.text_ = std::move(text);
  return value;
}

const char* ArchiveValue::body(char tag, const char* wanted) const {
  CRESSET_CHECK_TYPE(text_[0] == tag, "archive: value is not ", wanted, ", got '", text_, "'");
  return text_.c_str() + 2;
}
bool ArchiveValue::to_bool() const { return *body('b', "a flag") == '1'; }
int64_t ArchiveValue::to_int() const { return parse_one<int64_t>(body('i', "an integer"), parse_int); }
double ArchiveValue::to_double() const {
  if (text_[0] == 'i') return static_cast<double>(to_int());
  return parse_one<double>(body('d', "a number"), parse_double);
}
std::string ArchiveValue::to_string() const { return body('s', "text"); }
std::vector<int64_t> ArchiveValue::to_int_list() const { return split<int64_t>(body('l', "a list of integers"), parse_int); }
std::vector<double> ArchiveValue::to_double_list() const { return split<double>(body('v', "a list of numbers"), parse_double); }

OutputArchive::OutputArchive() : contents_(make_owned<ArchiveContents>()) {}
OutputArchive::OutputArchive(OutputArchive&&) noexcept = default;
OutputArchive& OutputArchive::operator=(OutputArchive&&) noexcept = default;
OutputArchive::~OutputArchive() = default;

void OutputArchive::write(const std::string& key, const Tensor& tensor, bool) { contents_->add(key, tensor); }
void OutputArchive::write(const std::string& key, const ArchiveValue& value) { contents_->add(key, value); }
void OutputArchive::write(const std::string& key, OutputArchive& nested) {
  for (auto& entry : nested.contents_->tensors) contents_->add(key + "." + entry.first, entry.second);
  for (auto& entry : nested.contents_->values) contents_->add(key + "." + entry.first, entry.second);
}

InputArchive::InputArchive() : contents_(std::make_shared<ArchiveContents>()) {}
InputArchive::InputArchive(InputArchive&&) noexcept = default;
InputArchive& InputArchive::operator=(InputArchive&&) noexcept = default;
InputArchive::~InputArchive() = default;

void InputArchive::assign(ArchiveContents contents) {
  contents_ = std::make_shared<const ArchiveContents>(std::move(contents));
  prefix_.clear();
}

bool InputArchive::look_only(LoadProblems* problems) {
  if (problems && problems_) return false;
  problems_ = problems;
  return true;
}

bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool is_buffer) {
  auto it = contents_->index.find(prefix_ + key);
  if (it == contents_->index.end() || it->second < 0) return false;
  const Tensor& stored = contents_->tensors[static_cast<size_t>(it->second)].second;
  if (!tensor.defined() || !stored.defined()) {
    tensor = stored;
    return true;
  }
  if (problems_) {
    if (tensor.sizes() != stored.sizes()) problems_->wrong.push_back(cresset::str(prefix_ + key, " is ", stored.sizes(), ", expected ", tensor.sizes()));
    return true;
  }
  CRESSET_CHECK(tensor.sizes() == stored.sizes(), "load: shape of '", prefix_ + key, "' does not match, got ", stored.sizes(), ", expected ", tensor.sizes());
  NoGradGuard guard;
  if (tensor.dtype() == stored.dtype() && tensor.device() == stored.device()) {
    tensor.copy_(stored);
    return true;
  }
  // As in LibTorch the file decides the dtype; buffers keep theirs out of the graph either way.
  if (is_buffer) tensor = stored;
  else tensor.set_data(stored.to(tensor.device()));
  return true;
}

bool InputArchive::try_read(const std::string& key, ArchiveValue& value) {
  auto it = contents_->index.find(prefix_ + key);
  if (it == contents_->index.end() || it->second >= 0) return false;
  value = contents_->values[static_cast<size_t>(-1 - it->second)].second;
  return true;
}

bool InputArchive::try_read(const std::string& key, dispatch::Value& value) {
  ArchiveValue stored;
  if (!try_read(key, stored)) return false;
  value = stored.to_value();
  return true;
}

bool InputArchive::try_read(const std::string& key, InputArchive& nested) {
  const std::string prefix = prefix_ + key + ".";
  for (const auto& entry : contents_->index) {
    if (entry.first.compare(0, prefix.size(), prefix) != 0) continue;
    nested.contents_ = contents_;
    nested.prefix_ = prefix;
    nested.problems_ = problems_;
    return true;
  }
  return false;
}

void InputArchive::read(const std::string& key, Tensor& tensor, bool is_buffer) {
  if (try_read(key, tensor, is_buffer)) return;
  if (problems_) return problems_->missing.push_back(prefix_ + key);
  CRESSET_CHECK(false, "load: no tensor named '", prefix_ + key, "' in the archive");
}
void InputArchive::read(const std::string& key, ArchiveValue& value) {
  CRESSET_CHECK(try_read(key, value), "load: the archive does not have a field with name '", prefix_ + key, "'");
}
void InputArchive::read(const std::string& key, dispatch::Value& value) {
  CRESSET_CHECK(try_read(key, value), "load: the archive does not have a field with name '", prefix_ + key, "'");
}
void InputArchive::read(const std::string& key, InputArchive& nested) {
  // A module without parameters writes nothing: its part is empty, not missing.
  if (try_read(key, nested)) return;
  nested.contents_ = contents_;
  nested.prefix_ = prefix_ + key + ".";
  nested.problems_ = problems_;
}

std::vector<std::pair<std::string, Tensor>> InputArchive::tensors() const {
  std::vector<std::pair<std::string, Tensor>> found;
  for (const auto& entry : contents_->tensors)
    if (entry.first.compare(0, prefix_.size(), prefix_) == 0) found.emplace_back(entry.first.substr(prefix_.size()), entry.second);
  return found;
}

std::vector<std::string> InputArchive::keys() {
  std::vector<std::string> keys;
  std::unordered_set<std::string> seen;
  auto add = [&](const std::string& full) {
    if (full.compare(0, prefix_.size(), prefix_) != 0) return;
    const std::string key = full.substr(prefix_.size(), full.find('.', prefix_.size()) - prefix_.size());
    if (seen.insert(key).second) keys.push_back(key);
  };
  for (const auto& entry : contents_->tensors) add(entry.first);
  for (const auto& entry : contents_->values) add(entry.first);
  return keys;
}

}  // namespace cresset::serialize
