#pragma once
// The zip archives of PyTorch's files, record by record, over the room `io`.

#include <algorithm>
#include <fstream>
#include <functional>
#include <istream>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "cresset/io/zip.h"
#include "torch/detail/tensor.h"

namespace caffe2::serialize {

inline constexpr uint64_t kProducedFileFormatVersion = 10;

// Writes an archive into a file or a function; records appear in the order of their writing.
class PyTorchStreamWriter final {
 public:
  // Errors: the file cannot be opened.
  explicit PyTorchStreamWriter(const std::string& file_name) : name_(stem(file_name)), file_(std::make_unique<std::ofstream>(file_name, std::ios::binary)) {
    TORCH_CHECK(file_->good(), "PyTorchStreamWriter: cannot open '", file_name, "' for writing");
    start([out = file_.get()](const void* data, size_t size) {
      out->write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
      return out->good() ? size : 0;
    });
  }
  explicit PyTorchStreamWriter(std::function<size_t(const void*, size_t)> writer) : name_("archive") { start(std::move(writer)); }
  PyTorchStreamWriter(const PyTorchStreamWriter&) = delete;
  PyTorchStreamWriter& operator=(const PyTorchStreamWriter&) = delete;
  ~PyTorchStreamWriter() {
    if (finalized_) return;
    try {
      writeEndOfFile();
    } catch (const std::exception&) {  // a destructor cannot raise; writeEndOfFile tells of errors
    }
  }

  // The version of the file is at least this one.
  void setMinVersion(uint64_t version) { version_ = std::max(version_, version); }
  // Errors: the archive is finished, the name is taken, compression is asked for, the function takes less than it is given.
  void writeRecord(const std::string& name, const void* data, size_t size, bool compress = false) {
    TORCH_CHECK(!finalized_, "PyTorchStreamWriter: '", name, "' comes after the end of the archive");
    TORCH_CHECK_NOT_IMPLEMENTED(!compress, "PyTorchStreamWriter: records are stored as they are; expected compress=false for '", name, "'");
    TORCH_CHECK(records_.insert(name).second, "PyTorchStreamWriter: the archive has a record '", name, "' already");
    zip_->add(name, data, size);
  }
  // Adds the version, and ends the archive. Errors: it is finished already, the file takes no more.
  void writeEndOfFile() {
    TORCH_CHECK(!finalized_, "PyTorchStreamWriter: the archive is finished already");
    const std::string version = std::to_string(version_) + "\n";
    const bool has_packages = records_.count(".data/extern_modules") != 0;
    writeRecord(has_packages ? ".data/version" : "version", version.data(), version.size());
    if (records_.count("byteorder") == 0) writeRecord("byteorder", "little", 6);
    finalized_ = true;
    zip_->finish();
    if (file_) TORCH_CHECK(file_->flush().good(), "PyTorchStreamWriter: the end of the archive '", name_, "' could not be written: is the disk full?");
  }
  const std::unordered_set<std::string>& getAllWrittenRecords() const { return records_; }
  bool finalized() const { return finalized_; }
  const std::string& archiveName() const { return name_; }

 private:
  static std::string stem(std::string path) {
    if (const size_t slash = path.rfind('/'); slash != std::string::npos) path.erase(0, slash + 1);
    if (const size_t dot = path.rfind('.'); dot != std::string::npos && dot > 0) path.resize(dot);
    return path;
  }
  void start(std::function<size_t(const void*, size_t)> write) {
    zip_ = std::make_unique<cresset::io::ZipWriter>(
        [write = std::move(write)](const void* data, size_t size) {
          TORCH_CHECK(write(data, size) == size, "PyTorchStreamWriter: the file took less than ", size, " bytes");
        },
        name_);
  }

  std::string name_;
  std::unique_ptr<std::ofstream> file_;
  std::unique_ptr<cresset::io::ZipWriter> zip_;
  std::unordered_set<std::string> records_;
  uint64_t version_ = kProducedFileFormatVersion;
  bool finalized_ = false;
};

// Reads the records of an archive.
class PyTorchStreamReader final {
 public:
  // Errors: the file cannot be opened, or is no archive.
  explicit PyTorchStreamReader(const std::string& file_name) : source_(std::make_unique<cresset::io::FileSource>(file_name)), zip_(*source_, file_name) {}
  explicit PyTorchStreamReader(std::istream* in)
      : bytes_(std::istreambuf_iterator<char>(*in), std::istreambuf_iterator<char>()),
        source_(std::make_unique<cresset::io::MemorySource>(bytes_.data(), bytes_.size())),
        zip_(*source_, "<stream>") {}
  PyTorchStreamReader(const PyTorchStreamReader&) = delete;
  PyTorchStreamReader& operator=(const PyTorchStreamReader&) = delete;

  bool hasRecord(const std::string& name) const { return zip_.find(name) != nullptr; }
  std::vector<std::string> getAllRecords() const {
    std::vector<std::string> out;
    for (const auto& entry : zip_.entries()) out.emplace_back(zip_.inside(entry));
    return out;
  }
  // The bytes of a record. Errors: there is no such record, or it is damaged.
  std::tuple<at::DataPtr, size_t> getRecord(const std::string& name) const {
    auto* const text = new std::string(zip_.read(entry(name), true));
    at::DataPtr bytes(
        text->data(), text, [](void* owned) { delete static_cast<std::string*>(owned); }, at::kCPU);
    return {std::move(bytes), text->size()};
  }
  size_t getRecordSize(const std::string& name) const { return static_cast<size_t>(entry(name).size); }
  // Where in the file its bytes start.
  size_t getRecordOffset(const std::string& name) const { return static_cast<size_t>(entry(name).data_offset); }
  const std::string& archiveName() const { return zip_.folder(); }
  uint64_t version() const {
    const auto* record = zip_.find("version") ? zip_.find("version") : zip_.find(".data/version");
    TORCH_CHECK(record, "PyTorchStreamReader: the archive has no version");
    return std::stoull(zip_.read(*record));
  }

 private:
  const cresset::io::ZipEntry& entry(const std::string& name) const {
    const auto* found = zip_.find(name);
    TORCH_CHECK(found, "PyTorchStreamReader: there is no record '", name, "'");
    return *found;
  }

  std::string bytes_;
  std::unique_ptr<cresset::io::ByteSource> source_;
  cresset::io::ZipReader zip_;
};

}  // namespace caffe2::serialize
