#pragma once
// Named tensors and plain values that modules and optimizers write and read. The file format lives in the io room.

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "cresset/base/owned.h"
#include "cresset/base/std_function.h"

#include "cresset/tensor.h"

namespace cresset::dispatch {
class Value;
}

namespace cresset::serialize {

// A number, flag, text or list of numbers beside the tensors of an archive, kept as tagged text: "i:5", "d:0.5", "b:1", "s:text", "l:1,2", "v:0.5,2".
class CRESSET_API ArchiveValue {
 public:
  ArchiveValue() : text_("n:") {}
  ArchiveValue(bool v);
  ArchiveValue(int64_t v);
  ArchiveValue(int v) : text_("i:" + std::to_string(v)) {}
  ArchiveValue(double v);
  ArchiveValue(std::string v) : text_("s:" + std::move(v)) {}
  ArchiveValue(const char* v) : ArchiveValue(std::string(v)) {}
  ArchiveValue(const std::vector<int64_t>& v);
  ArchiveValue(const std::vector<double>& v);
  // Errors: a value of another kind than the ones above.
  ArchiveValue(const dispatch::Value& v);
  // Errors: text without a known tag.
  static ArchiveValue parse(std::string text);

  bool is_none() const { return text_[0] == 'n'; }
  dispatch::Value to_value() const;
  // Errors: the value is of another kind.
  bool to_bool() const;
  int64_t to_int() const;
  double to_double() const;
  std::string to_string() const;
  std::vector<int64_t> to_int_list() const;
  std::vector<double> to_double_list() const;
  // LibTorch's spelling.
  bool toBool() const { return to_bool(); }
  int64_t toInt() const { return to_int(); }
  double toDouble() const { return to_double(); }
  std::string toStringRef() const { return to_string(); }
  const std::string& text() const { return text_; }

 private:
  CRESSET_LOCAL const char* body(char tag, const char* wanted) const;
  std::string text_;
};

// Contents of both archives: entries in the order of writing, nested archives flattened with '.'.
struct ArchiveContents;

class CRESSET_API OutputArchive {
 public:
  OutputArchive();
  OutputArchive(OutputArchive&&) noexcept;
  OutputArchive& operator=(OutputArchive&&) noexcept;
  ~OutputArchive();

  // Errors: the key is taken.
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void write(const std::string& key, const ArchiveValue& value);
  void write(const std::string& key, OutputArchive& nested);
  void save_to(const std::string& filename);
  void save_to(std::ostream& stream);
  void save_to(const std::function<size_t(const void*, size_t)>& write);

  const ArchiveContents& contents() const { return *contents_; }

 private:
  Owned<ArchiveContents> contents_;
};

struct LoadProblems;

class CRESSET_API InputArchive {
 public:
  InputArchive();
  InputArchive(InputArchive&&) noexcept;
  InputArchive& operator=(InputArchive&&) noexcept;
  ~InputArchive();

  // A defined `tensor` receives the values (and keeps its identity); an undefined one becomes the archive's tensor. False: no such key.
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  bool try_read(const std::string& key, ArchiveValue& value);
  bool try_read(const std::string& key, dispatch::Value& value);
  bool try_read(const std::string& key, InputArchive& nested);
  // Errors of all four: no such key; of the first: another shape than that of a defined `tensor`.
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  void read(const std::string& key, ArchiveValue& value);
  void read(const std::string& key, dispatch::Value& value);
  void read(const std::string& key, InputArchive& nested);
  std::vector<std::string> keys();
  // Every tensor below here under its full name.
  std::vector<std::pair<std::string, Tensor>> tensors() const;

  // Errors: a missing, truncated or malformed file, by name.
  void load_from(const std::string& filename, std::optional<Device> device = std::nullopt);
  void load_from(std::istream& stream, std::optional<Device> device = std::nullopt);
  void load_from(const char* data, size_t size, std::optional<Device> device = std::nullopt);
  void load_from(const std::function<size_t(uint64_t, void*, size_t)>& read, const std::function<size_t()>& size, std::optional<Device> device = std::nullopt);

  // Takes over what a file held.
  void assign(ArchiveContents contents);
  // From here on reading tensors only notes what is wrong, and changes none; until null is given. False: that goes on already.
  bool look_only(LoadProblems* problems);

 private:
  std::shared_ptr<const ArchiveContents> contents_;
  std::string prefix_;
  LoadProblems* problems_ = nullptr;
};

}  // namespace cresset::serialize
