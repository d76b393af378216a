#pragma once
// Archives of PyTorch: `code/`, `constants.pkl`, `data.pkl`, weights and extra files.

#include "cresset/graph/script/print.h"
#include "cresset/graph/script/source_map.h"
#include "cresset/io/pickle.h"
#include "cresset/io/zip.h"

namespace cresset::graph::script {

struct LoadOptions {
  std::optional<Device> device;
  Limits limits;
};

// Whether the file holds a program: false for archives of tensors alone, true for files that are none, of which `load_archive` says why.
CRESSET_API bool holds_program(const io::ByteSource& source, const std::string& file);
// The module. `extra`: names of further files, which get their contents. Errors: Error for archives that are damaged or of a later version, with
// operators or classes that are lacking, all named with their lines; CompileError for code that does not compile.
CRESSET_API Datum load_archive(std::shared_ptr<const io::ByteSource> source, const std::string& file, const LoadOptions& options = {},
                               std::map<std::string, std::string>* extra = nullptr);
// The module of an object whose class is compiled anew from texts: "code/__torch__.py" or "__torch__.py" to a text. Its slots, and the objects in them, are
// copied; tensors are shared. Errors: as load_archive; there is no class of an object's name, or it lacks an attribute.
CRESSET_API Datum module_of_source(const Datum& module, const std::map<std::string, std::string>& texts, std::vector<Datum> constants, int64_t version);
// Classes of texts, compiled into a unit when they are asked for, or named by one that was.
class CRESSET_API ClassSource {
 public:
  // The text with the classes of "__torch__.models", say; null: there is none. It is called once for each.
  using Loader = std::function<std::shared_ptr<Source>(const std::string& home)>;
  struct Texts {
    virtual ~Texts() = default;
  };
  ClassSource(const std::shared_ptr<CompilationUnit>& unit, std::vector<Datum> constants, Loader load, int64_t version);
  // By the full name; null: the texts have none. Errors: CompileError.
  ClassType* class_named(const std::string& name);
  // The same for named tuples, too. Errors: the texts have none; CompileError.
  Type type_named(const std::string& name);

 private:
  std::shared_ptr<Texts> code_;
};
// Writes what PyTorch 2.13 reads. Errors: functions of Python, values that are no data.
CRESSET_API void save_archive(const Datum& module, const std::map<std::string, std::string>& extra, const std::string& folder, const io::WriteBytes& write);

// Storages that the pickles of an archive name by numbers.
struct CRESSET_API StorageTable {
  std::vector<intrusive_ptr<StorageImpl>> list;
  std::unordered_map<const StorageImpl*, size_t> index;
  std::string suffix;  // of the names of their records
  size_t enter(const intrusive_ptr<StorageImpl>& storage);
};

// The records of an archive, for those who write a file around them. Modules that are written one after another share the texts of their classes.
class CRESSET_API ArchiveParts {
 public:
  using Record = std::function<void(const std::string& name, std::string_view bytes)>;
  explicit ArchiveParts(Record record) : record_(std::move(record)) {}
  // All of one module but the version of the format; `more` may write pickles that share the storages of constants. Errors: as save_archive.
  void whole(const Datum& module, const std::map<std::string, std::string>& extra, const std::function<void(StorageTable& constants)>& more = {});
  // A pickle that `fill` writes, which is given the function that puts values into it.
  using Fill = std::function<void(io::Pickler& pickler, const std::function<void(const Datum& value, const Type& type)>& value)>;
  CRESSET_LOCAL void pickle(const std::string& name, StorageTable& storages, const Fill& fill);
  // "data.pkl" in a folder, whose name ends with a slash or is empty. Errors: as save_archive.
  void module(const Datum& module, const std::string& folder, StorageTable& storages);
  // "constants.pkl", with the constants of all texts until now.
  void constants(const std::string& folder, StorageTable& storages);
  void code(const std::string& folder) const;
  // "4\n": the oldest version whose readers know all operators of the texts until now as they are today.
  std::string version() const { return std::to_string(referred_.version) + '\n'; }
  // From number `first` on.
  void storages(const std::string& folder, const StorageTable& storages, size_t first = 0) const;

 private:
  struct Text {
    std::string text;
    Places places;
  };
  void next_text();
  void add_text(const std::string& qualified, const std::string& code, Places places);

  Record record_;
  Referred referred_;
  std::map<std::string, Text> texts_;
  size_t classes_ = 0, functions_ = 0, tuples_ = 0;
};

// A module whose `forward` is the function.
CRESSET_API Datum module_of_function(Function& function);

}  // namespace cresset::graph::script
