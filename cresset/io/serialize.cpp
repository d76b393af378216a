#include "cresset/io/serialize.h"

#include <istream>
#include <iterator>
#include <ostream>

#include "cresset/io/file.h"
#include "cresset/io/safetensors.h"
#include "cresset/nn/archive_contents.h"

namespace cresset::serialize {

namespace {

const std::string kValuePrefix = "value:";

void write_archive(const ArchiveContents& contents, const io::WriteBytes& write) {
  io::NamedTensors tensors("Tensor");
  for (const auto& entry : contents.tensors) tensors.insert(entry.first, entry.second);
  io::Metadata metadata = {{"format", "pt"}};
  for (const auto& entry : contents.values) metadata[kValuePrefix + entry.first] = entry.second.text();
  io::write_safetensors(tensors, metadata, write);
}

ArchiveContents to_contents(const io::SafetensorsContent& content, const std::optional<Device>& device) {
  ArchiveContents contents;
  for (const auto& item : content.tensors) contents.add(item.key(), device ? item.value().to(*device) : item.value());
  for (const auto& pair : content.metadata)
    if (pair.first.compare(0, kValuePrefix.size(), kValuePrefix) == 0)
      contents.add(pair.first.substr(kValuePrefix.size()), ArchiveValue::parse(pair.second));
  return contents;
}

}  // namespace

void OutputArchive::save_to(const std::string& filename) {
  io::write_file_atomically(filename, [&](const io::WriteBytes& write) { write_archive(*contents_, write); });
}
void OutputArchive::save_to(std::ostream& stream) {
  write_archive(*contents_, [&](const void* data, size_t size) { stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(size)); });
  stream.flush();
  CRESSET_CHECK(stream.good(), "save: the stream refused to be written");
}
void OutputArchive::save_to(const std::function<size_t(const void*, size_t)>& write) {
  write_archive(*contents_, [&](const void* data, size_t size) {
    const size_t written = write(data, size);
    CRESSET_CHECK(written == size, "save: the function wrote ", written, " of ", size, " bytes");
  });
}

void InputArchive::load_from(const std::string& filename, std::optional<Device> device) {
  assign(to_contents(io::load_safetensors(filename), device));
}
void InputArchive::load_from(std::istream& stream, std::optional<Device> device) {
  const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  assign(to_contents(io::parse_safetensors(bytes.data(), bytes.size(), "<stream>"), device));
}
void InputArchive::load_from(const char* data, size_t size, std::optional<Device> device) {
  assign(to_contents(io::parse_safetensors(data, size), device));
}
void InputArchive::load_from(const std::function<size_t(uint64_t, void*, size_t)>& read, const std::function<size_t()>& size,
                             std::optional<Device> device) {
  std::string bytes(size(), 0);
  const size_t got = bytes.empty() ? 0 : read(0, bytes.data(), bytes.size());
  CRESSET_CHECK(got == bytes.size(), "load: the function read ", got, " of ", bytes.size(), " bytes");
  assign(to_contents(io::parse_safetensors(bytes.data(), bytes.size()), device));
}

namespace {
const char* const kSingle = "0";
const char* const kListSize = "size";
}  // namespace

OutputArchive& operator<<(OutputArchive& archive, const Tensor& tensor) {
  CRESSET_CHECK(tensor.defined(), "save: the tensor is undefined");
  archive.write(kSingle, tensor);
  return archive;
}
InputArchive& operator>>(InputArchive& archive, Tensor& tensor) {
  Tensor stored;
  archive.read(kSingle, stored);
  tensor = stored;
  return archive;
}
OutputArchive& operator<<(OutputArchive& archive, const std::vector<Tensor>& tensors) {
  archive.write(kListSize, ArchiveValue(static_cast<int64_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); i++) archive.write(std::to_string(i), tensors[i]);
  return archive;
}
InputArchive& operator>>(InputArchive& archive, std::vector<Tensor>& tensors) {
  ArchiveValue size;
  archive.read(kListSize, size);
  std::vector<Tensor> stored;
  for (int64_t i = 0; i < size.to_int(); i++) {
    Tensor tensor;
    archive.read(std::to_string(i), tensor);
    stored.push_back(std::move(tensor));
  }
  tensors = std::move(stored);
  return archive;
}

}  // namespace cresset::serialize
