// Readers and writers of TorchScript's archives that go record by record, as tools for packages of models are written.
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/script.h>

#include <sstream>

#include "expect.h"

using caffe2::serialize::PyTorchStreamReader;
using caffe2::serialize::PyTorchStreamWriter;

torch::jit::Module scaled_by(double factor) {
  torch::jit::Module net("Scaled");
  net.register_parameter("weight", torch::full({2}, factor), /*is_buffer=*/false);
  net.define("def forward(self, x: Tensor) -> Tensor:\n    return x * self.weight\n");
  return net;
}
std::string record(const PyTorchStreamReader& reader, const std::string& name) {
  const auto [bytes, size] = reader.getRecord(name);
  return std::string(static_cast<const char*>(bytes.get()), size);
}

// One module in a file of its own, with further records.
void one_module(const std::string& path) {
  const auto x = torch::ones({2});
  {
    PyTorchStreamWriter writer(path);
    torch::jit::ScriptModuleSerializer serializer(writer);
    serializer.serialize(scaled_by(3), {{"labels", "cat"}}, /*bytecode_format=*/false, /*save_mobile_debug_info=*/false);
    writer.writeRecord("notes", "by hand", 7);
    check(throws<c10::Error>([&] { writer.writeRecord("notes", "again", 5); }), "a record of a name that is taken is refused");
    writer.writeEndOfFile();
    check(writer.finalized() && writer.getAllWrittenRecords().count("data.pkl") == 1, "records of the writer");
    check(throws<c10::Error>([&] { writer.writeRecord("late", "", 0); }), "a record after the end is refused");
  }
  torch::jit::ExtraFilesMap extra{{"labels", ""}};
  check(torch::jit::load(path, torch::kCPU, extra).forward({x}).toTensor().equal(x * 3), "the module of a file that was written by records");
  check(extra["labels"] == "cat", "extra files");
  PyTorchStreamReader reader(path);
  check(record(reader, "notes") == "by hand" && reader.version() == 10 && !reader.hasRecord("nothing"), "records that are read");
  check(throws<c10::Error>([&] { reader.getRecord("nothing"); }), "a record that is not there");
}

// Two modules that share a tensor and a class, in one archive.
void two_modules() {
  std::stringstream file;
  PyTorchStreamWriter writer([&](const void* data, size_t size) {
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    return size;
  });
  torch::jit::ScriptModuleSerializer serializer(writer);
  torch::jit::Module first = scaled_by(2), second = first.copy();
  serializer.serialize_unified_format(first, 0);
  const auto weight = first.attr("weight").toTensor();
  check(serializer.storage_context().hasStorage(weight.storage()), "the storage of the first module is known");
  check(serializer.storage_context().getOrAddStorage(weight.storage()) == 0, "under its number");
  serializer.serialize_unified_format(second, 1);
  serializer.writeFiles(".data/ts_code/code/");
  writer.writeEndOfFile();
  PyTorchStreamReader reader(&file);
  for (const char* name : {".data/ts_code/0/data.pkl", ".data/ts_code/1/data.pkl", ".data/ts_code/1/constants.pkl", ".data/0.storage"})
    check(reader.hasRecord(name), name);
  check(!reader.hasRecord(".data/1.storage"), "a storage of two modules is written once");
  bool has_code = false;
  for (const std::string& name : reader.getAllRecords()) has_code |= name.rfind(".data/ts_code/code/__torch__", 0) == 0;
  check(has_code, "the texts of the classes");
}

// A module made of the texts of a file and the values of an object.
void from_source(const std::string& path) {
  torch::jit::Module module = scaled_by(5);
  module.save(path);
  PyTorchStreamReader reader(path);
  torch::jit::ExtraFilesMap texts;
  for (const std::string& name : reader.getAllRecords())
    if (name.rfind("code/", 0) == 0 && name.substr(name.size() - 3) == ".py") texts[name] = record(reader, name);
  const auto x = torch::ones({2});
  torch::jit::Module made = torch::jit::jitModuleFromSourceAndConstants(module._ivalue(), texts, {}, 10);
  check(!(made == module) && made.forward({x}).toTensor().equal(x * 5), "a module from source and values");
  check(made.attr("weight").toTensor().is_same(module.attr("weight").toTensor()), "which shares the tensors");
  for (auto& [name, text] : texts) text.replace(text.find("weight : "), 6, "height");
  check(throws<c10::Error>([&] { torch::jit::jitModuleFromSourceAndConstants(module._ivalue(), texts, {}, 10); }), "texts with other attributes are refused");
}

void objects() {
  const auto unit = torch::jit::compile("def f(x: int) -> int:\n    return x\n");
  torch::jit::Module module = scaled_by(1);
  c10::Dict<std::string, at::Tensor> state;
  state.insert("weight", torch::full({2}, 7.0));
  torch::Dict<c10::IValue, c10::IValue> given;
  for (const char* name : {"training", "_is_full_backward_hook"})
    if (module.hasattr(name)) given.insert(c10::IValue(std::string(name)), module.attr(name));
  const at::StrongTypePtr type(module.object().unit, module.type());
  check(throws<c10::Error>([&] { torch::jit::ObjLoaderFunc(type, c10::IValue(3)); }), "a state that is no dict");
  check(throws<c10::Error>([&] { torch::jit::ObjLoaderFunc(type, c10::IValue(given)); }), "a state without an attribute");
  given.insert(c10::IValue(std::string("weight")), c10::IValue(torch::full({2}, 7.0)));
  torch::jit::Module loaded{c10::IValue(torch::jit::ObjLoaderFunc(type, c10::IValue(given)))};
  check(loaded.forward({torch::ones({2})}).toTensor().equal(torch::full({2}, 7.0)), "an object of a class and a state");
}

void archives_of_tensors() {
  std::stringstream file;
  PyTorchStreamWriter writer([&](const void* data, size_t size) {
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    return size;
  });
  const auto values = torch::tensor({1, 2, 3}, torch::kByte);
  torch::jit::writeArchiveAndTensors("inputs", "pickle", 6, {values}, writer);
  writer.writeEndOfFile();
  PyTorchStreamReader reader(&file);
  check(record(reader, "inputs.pkl") == "pickle" && record(reader, "inputs/0") == std::string("\1\2\3"), "a pickle and its tensors");
}

void full_disks() {
  PyTorchStreamWriter writer("/dev/full");
  check(throws<c10::Error>([&] {
          writer.writeRecord("notes", "text", 4);
          writer.writeEndOfFile();
        }),
        "an archive that a full disk cuts off is an error");
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  one_module(folder + "/script_records.pt");
  two_modules();
  from_source(folder + "/script_records_source.pt");
  objects();
  archives_of_tensors();
  full_disks();
  return failures;
}
