#pragma once
// Machine code of programs: made once by the provider, kept on disk, and mapped.

#include <map>
#include <memory>
#include <optional>

#include "cresset/graph/codegen/machine/program.h"

namespace cresset::graph::machine {

// Code in memory that may run. It needs nothing else.
class Image {
 public:
  // Errors: no memory for it.
  explicit Image(const std::string& bytes);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  template <class Function> Function as() const { return reinterpret_cast<Function>(memory_); }

 private:
  void* memory_;
  size_t size_;
};

// The bytes of an image, which starts with the function `run`: the sections of an object file with the distances between them filled in. Errors: a file
// that is damaged, or that needs anything outside.
CRESSET_API std::string image_of(const std::string& object);

// The code of a program: from this process, from disk, or made now. Null where machine code is off (CRESSET_MACHINE_CODE=0), there is no provider, or the
// CPU lacks AVX2; and for programs of another instruction set than that of the library's loops.
CRESSET_API std::shared_ptr<const Image> code_of(const Program& program);
// Elements that the code of a program works on at once: two registers, as one alone waits for itself.
inline int lanes_of(const Program& program) {
  const int half = program.isa == Isa::Avx512 ? 16 : 8;
  for (const Node& n : program.nodes)
    if (n.type == Type::F32) return 2 * half;
  return half;
}
CRESSET_API bool is_available();

// Code for all CPUs of an instruction set, by keys that hold the whole program: for packages.
using Portable = std::map<std::string, std::string>;
// The names of the sets that there is code for: "avx2" and "avx512".
CRESSET_API const char* name_of(Isa isa);
CRESSET_API std::optional<Isa> isa_of(const std::string& name);
// Code for the set that the program is written for. Errors: no provider, or one that cannot compile the program.
CRESSET_API void add_portable(const Program& program, Portable& to);

// The set that programs are written for: that of the library's loops, or of the innermost `Asked` of the thread.
CRESSET_API Isa current_isa();
// Notes the programs whose code this thread asks for in its scope, and has them written for a set.
class CRESSET_API Asked {
 public:
  explicit Asked(Isa isa);
  ~Asked();
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  const Isa isa;
  std::vector<Program> programs;

 private:
  Asked* before_;
};

// While it lives, programs find their code in it before they look on disk.
class CRESSET_API Package {
 public:
  explicit Package(Portable code);
  ~Package();
  Package(const Package&) = delete;
  Package& operator=(const Package&) = delete;

 private:
  Portable code_;
};

// The code that this process has made, or read from disk or artifacts, as bytes that another process of this library takes; and its names. Every part has a checksum.
struct Artifacts {
  std::string bytes;
  std::vector<std::string> names;
};
CRESSET_API Artifacts save_artifacts();
// Takes code from such bytes, for this process and the cache on disk; its names. It is code: load that of those you trust. Errors: bytes that are no artifacts, are cut or
// damaged, or are another version's; nothing is taken then.
CRESSET_API std::vector<std::string> load_artifacts(const std::string& bytes);
// Whether code is kept on disk and in artifacts, and a text that code is told apart by: code of one tag serves no other.
CRESSET_API void set_caching(bool on, std::string tag);

struct Counts {
  int64_t made = 0, read = 0, packaged = 0;  // by the provider, from disk, and from packages
};
CRESSET_API Counts counts();

}  // namespace cresset::graph::machine
