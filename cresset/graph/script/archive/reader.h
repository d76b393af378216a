#pragma once
// The values that the pickles of an archive hold. Private to the room.

#include "cresset/graph/script/archive.h"
#include "cresset/io/checkpoint.h"

namespace cresset::graph::script {

// The classes and types that a pickle names.
class ArchiveNames {
 public:
  virtual ~ArchiveNames() = default;
  // Null: there is none.
  virtual ClassType* class_named(const std::string& name) = 0;
  virtual std::optional<Type> tuple_named(const std::string& name) = 0;
  // Of an annotation. Errors: CompileError.
  virtual Type type_named(const std::string& text) = 0;
  // Whether classes are known by their names alone, and have the attributes that the states of their objects have.
  virtual bool are_open() const { return false; }
};

// The version that an archive says it is of. `who` begins the messages. Errors: Error where there is none or it is unknown.
int64_t archive_version(const io::ZipReader& zip, const std::string& file, const char* who);

class ArchiveReader {
 public:
  // `pickle`: the name of its record; `folder`: that of its storages. `names` may be null for a pickle without objects.
  ArchiveReader(const io::ZipReader& zip, const io::ByteSource& source, const std::string& pickle, const std::string& folder, const LoadOptions& options,
                ArchiveNames* names);
  // All of it. Errors: Error for what is damaged, or names classes and attributes that are not there.
  Datum value(const Type& type = {}) { return value(root_, type); }
  Datum value(io::NodeId id, const Type& type);
  const io::Document& document() const { return document_; }
  io::NodeId root() const { return root_; }
  // Runs the `__setstate__` of the objects that have one.
  void finish();

 private:
  const io::ZipEntry& need(const std::string& name) const;
  Datum fresh(io::NodeId id, const Type& type);
  Tensor sparse_tensor(const io::TensorRecord& record);
  Datum tensor(const io::TensorRecord& record);
  intrusive_ptr<StorageImpl> storage_of(uint32_t index);
  Datum object(io::NodeId id);
  void set_state(ScriptObject& object, io::NodeId state);

  const io::ZipReader& zip_;
  const io::ByteSource& source_;
  std::string folder_, text_;
  const LoadOptions& options_;
  ArchiveNames* names_;
  io::Document document_;
  io::NodeId root_ = 0;
  std::unordered_map<io::NodeId, Datum> made_;
  std::unordered_map<uint32_t, intrusive_ptr<StorageImpl>> storages_;
  std::vector<std::function<void()>> pending_;
  int depth_ = 0;
};

}  // namespace cresset::graph::script
