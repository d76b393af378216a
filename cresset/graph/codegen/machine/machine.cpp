#include "cresset/graph/codegen/machine/machine.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "cresset/graph/codegen/machine/cache.h"
#include "cresset/kernels/providers/library.h"
#include "cresset/ops/build_info.h"

namespace cresset::graph::machine {

std::string Program::key() const {
  std::string key(1, static_cast<char>(isa));
  const auto put = [&](int64_t n) { key.append(reinterpret_cast<const char*>(&n), sizeof n); };
  for (const auto* arrays : {&outputs, &inputs}) {
    put(static_cast<int64_t>(arrays->size()));
    for (const Array& a : *arrays) put(static_cast<int64_t>(a.dtype) * 4 + 2 * a.shared + a.one);
  }
  put(columns);
  for (const Pass& pass : passes)
    for (const auto* list : {&pass.folds, &pass.kept}) {
      put(static_cast<int64_t>(list->size()));
      for (const int n : *list) put(n);
    }
  for (const int r : results) put(r);
  for (const Node& n : nodes) {
    put((static_cast<int64_t>(n.op) << 8) + static_cast<int64_t>(n.type));
    put(n.a);
    put(n.b);
    put(n.c);
    put(static_cast<int64_t>(n.immediate));
  }
  return key;
}

// ---- images -------------------------------------------------------------------------------------------------------------------

Image::Image(const std::string& bytes) : size_(bytes.size()) {
  memory_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CRESSET_CHECK(memory_ != MAP_FAILED, "machine code: no memory for ", size_, " bytes");
  std::memcpy(memory_, bytes.data(), size_);
  if (::mprotect(memory_, size_, PROT_READ | PROT_EXEC) == 0) return;
  ::munmap(memory_, size_);
  throw Error("machine code: the system allows no new code to run");
}
Image::~Image() { ::munmap(memory_, size_); }

namespace {
template <class T> const T* at(const std::string& file, uint64_t offset, uint64_t count) {
  CRESSET_CHECK(offset % alignof(T) == 0 && offset <= file.size() && count <= (file.size() - offset) / sizeof(T), "machine code: the object file ends early");
  return reinterpret_cast<const T*>(file.data() + offset);
}
}  // namespace

std::string image_of(const std::string& object) {
  const auto* header = at<Elf64_Ehdr>(object, 0, 1);
  CRESSET_CHECK(std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_machine == EM_X86_64, "machine code: expected an object file of this CPU");
  const size_t count = header->e_shnum;
  const auto* sections = at<Elf64_Shdr>(object, header->e_shoff, count);
  constexpr uint64_t kAbsent = ~uint64_t{0};
  std::vector<uint64_t> places(count, kAbsent);
  std::string image;
  // The function first.
  for (const bool code : {true, false})
    for (size_t i = 0; i < count; i++) {
      const Elf64_Shdr& s = sections[i];
      if (s.sh_type != SHT_PROGBITS || !(s.sh_flags & SHF_ALLOC) || ((s.sh_flags & SHF_EXECINSTR) != 0) != code || s.sh_size == 0) continue;
      image.resize((image.size() + 63) / 64 * 64, '\xcc');
      places[i] = image.size();
      image.append(at<char>(object, s.sh_offset, s.sh_size), s.sh_size);
    }
  CRESSET_CHECK(!image.empty(), "machine code: the object file is empty");
  for (size_t i = 0; i < count; i++) {
    const Elf64_Shdr& s = sections[i];
    if (s.sh_type != SHT_RELA || s.sh_info >= count || places[s.sh_info] == kAbsent) continue;
    CRESSET_CHECK(s.sh_link < count, "machine code: the object file is damaged");
    const auto* symbols = at<Elf64_Sym>(object, sections[s.sh_link].sh_offset, sections[s.sh_link].sh_size / sizeof(Elf64_Sym));
    const size_t num_symbols = sections[s.sh_link].sh_size / sizeof(Elf64_Sym), num = s.sh_size / sizeof(Elf64_Rela);
    const auto* list = at<Elf64_Rela>(object, s.sh_offset, num);
    for (size_t k = 0; k < num; k++) {
      const Elf64_Rela& r = list[k];
      const size_t symbol = ELF64_R_SYM(r.r_info);
      CRESSET_CHECK(ELF64_R_TYPE(r.r_info) == R_X86_64_PC32 && symbol < num_symbols && symbols[symbol].st_shndx < count &&
                        places[symbols[symbol].st_shndx] != kAbsent && r.r_offset + 4 <= sections[s.sh_info].sh_size,
                    "machine code: it needs what is outside of it");
      const uint64_t from = places[s.sh_info] + r.r_offset;
      const auto distance =
          static_cast<int32_t>(static_cast<int64_t>(places[symbols[symbol].st_shndx] + symbols[symbol].st_value) + r.r_addend - static_cast<int64_t>(from));
      std::memcpy(image.data() + from, &distance, sizeof distance);
    }
  }
  return image;
}

// ---- the code of a program ----------------------------------------------------------------------------------------------------

namespace {

std::mutex mutex;
Counts all;

// Programs of which there is no code: they are not tried again.
std::unordered_set<std::string>& hopeless() {
  static auto* const set = new std::unordered_set<std::string>();
  return *set;
}

std::unordered_map<std::string, std::weak_ptr<const Image>>& images() {
  static auto* const map = new std::unordered_map<std::string, std::weak_ptr<const Image>>();
  return *map;
}

// Code by its key, for artifacts.
std::unordered_map<std::string, std::string>& known_code() {
  static auto* const map = new std::unordered_map<std::string, std::string>();
  return *map;
}
bool caching = true;
std::string tag;

// The set of the library's loops, where there are programs for it.
std::optional<Isa> own_isa() {
  static const std::optional<Isa> found = isa_of(build_info().isa);
  return found;
}

bool is_on() {
#ifdef CRESSET_SINGLE_ISA
  return false;
#else
  static const bool on = [] {
    const char* set = std::getenv("CRESSET_MACHINE_CODE");
    return (!set || std::strcmp(set, "0") != 0) && own_isa();
  }();
  return on;
#endif
}

Generate provider() {
  static const Generate found = [] {
    void* const handle = kernels::open_provider("libcresset_llvm.so");
    return handle ? reinterpret_cast<Generate>(dlsym(handle, "cresset_machine_code")) : nullptr;
  }();
  return found;
}

// The name of the CPU: code is scheduled for it.
const std::string& cpu() {
  static const std::string name = [] {
    std::ifstream file("/proc/cpuinfo");
    std::string all, line;
    while (std::getline(file, line) && !line.empty())
      if (line.rfind("model name", 0) == 0 || line.rfind("flags", 0) == 0 || line.rfind("model\t", 0) == 0 || line.rfind("cpu family", 0) == 0) all += line;
    return all;
  }();
  return name;
}

}  // namespace

const char* name_of(Isa isa) { return isa == Isa::Avx512 ? "avx512" : "avx2"; }
std::optional<Isa> isa_of(const std::string& name) {
  for (const Isa isa : {Isa::Avx2, Isa::Avx512})
    if (name == name_of(isa)) return isa;
  return std::nullopt;
}

namespace {

// The number changes with the code that the provider makes of a program.
constexpr const char* kForm = "4";

thread_local Asked* asked = nullptr;
std::vector<const Portable*>& packages() {
  static auto* const list = new std::vector<const Portable*>();
  return *list;
}
std::string portable_key(const Program& program) { return std::string(kForm) + name_of(program.isa) + ":" + program.key(); }

std::string generated(const Program& program, const char* cpu) {
  const Generate generate = provider();
  CRESSET_CHECK(generate, "machine code: there is no provider; LLVM 16 to 19 was not found when the library was built");
  std::string object, message;
  CRESSET_CHECK(generate(program, lanes_of(program), cpu, object, message), "machine code: ", message);
  return image_of(object);
}

std::optional<std::string> found_in_cache(const std::string& key) {
  if (!caching) return std::nullopt;
  if (const auto known = known_code().find(key); known != known_code().end()) return known->second;
  return Cache::of_user().read(key);
}

constexpr char kArtifacts[] = "CRSARTF1";

const std::string* find_packaged(const Program& program) {
  if (packages().empty()) return nullptr;
  const std::string key = portable_key(program);
  for (const Portable* code : packages())
    if (const auto found = code->find(key); found != code->end()) return &found->second;
  return nullptr;
}

}  // namespace

void add_portable(const Program& program, Portable& to) {
  std::string key = portable_key(program);
  if (!to.count(key)) to.emplace(std::move(key), generated(program, program.isa == Isa::Avx512 ? "x86-64-v4" : "x86-64-v3"));
}

Isa current_isa() { return asked ? asked->isa : own_isa().value_or(Isa::Avx2); }

Asked::Asked(Isa set) : isa(set), before_(std::exchange(asked, this)) {}
Asked::~Asked() { asked = before_; }

Package::Package(Portable code) : code_(std::move(code)) {
  const std::lock_guard lock(mutex);
  packages().push_back(&code_);
}
Package::~Package() {
  const std::lock_guard lock(mutex);
  packages().erase(std::find(packages().begin(), packages().end(), &code_));
}

Artifacts save_artifacts() {
  Artifacts made;
  const std::lock_guard lock(mutex);
  if (known_code().empty()) return made;
  made.bytes = kArtifacts;
  for (const auto& [key, image] : known_code()) {
    const std::string part = sealed(key, image);
    const uint64_t size = part.size();
    made.bytes.append(reinterpret_cast<const char*>(&size), sizeof size).append(part);
    made.names.push_back(Cache::name_of(key));
  }
  return made;
}

std::vector<std::string> load_artifacts(const std::string& bytes) {
  constexpr size_t kStart = sizeof kArtifacts - 1;
  CRESSET_CHECK_VALUE(bytes.compare(0, kStart, kArtifacts) == 0, "load_cache_artifacts: expected bytes that save_cache_artifacts gave, got ", bytes.size(),
                      " others");
  std::vector<std::pair<std::string, std::string>> parts;
  for (size_t at = kStart; at < bytes.size();) {
    uint64_t size = 0;
    CRESSET_CHECK_VALUE(bytes.size() - at >= sizeof size, "load_cache_artifacts: the bytes end early");
    std::memcpy(&size, bytes.data() + at, sizeof size);
    at += sizeof size;
    CRESSET_CHECK_VALUE(size <= bytes.size() - at, "load_cache_artifacts: the bytes end early");
    auto part = opened(bytes.substr(at, size));
    CRESSET_CHECK_VALUE(part && !part->second.empty(), "load_cache_artifacts: a part of the bytes is damaged");
    CRESSET_CHECK_VALUE(part->first.rfind(kForm, 0) == 0, "load_cache_artifacts: another version of the library wrote the bytes");
    parts.push_back(std::move(*part));
    at += size;
  }
  const std::lock_guard lock(mutex);
  std::vector<std::string> names;
  for (auto& [key, image] : parts) {
    names.push_back(Cache::name_of(key));
    if (!caching) continue;
    Cache::of_user().write(key, image);
    hopeless().erase(key);
    known_code()[key] = std::move(image);
  }
  return names;
}

void set_caching(bool on, std::string text) {
  const std::lock_guard lock(mutex);
  caching = on;
  tag = std::move(text);
}

bool is_available() { return is_on() && provider() != nullptr; }

Counts counts() {
  const std::lock_guard lock(mutex);
  return all;
}

std::shared_ptr<const Image> code_of(const Program& program) {
  if (asked) asked->programs.push_back(program);
  if (!is_on() || program.isa != own_isa()) return nullptr;
  const std::lock_guard lock(mutex);
  const std::string key = kForm + program.key() + cpu() + tag;
  auto& known = images()[key];
  if (auto image = known.lock()) return image;
  std::shared_ptr<const Image> image;
  try {
    if (const std::string* packaged = find_packaged(program)) {
      image = std::make_shared<Image>(*packaged);
      all.packaged++;
    } else if (hopeless().count(key)) {
      return nullptr;
    } else if (auto stored = found_in_cache(key)) {
      image = std::make_shared<Image>(*stored);
      known_code()[key] = std::move(*stored);
      all.read++;
    } else if (provider()) {
      const std::string bytes = generated(program, nullptr);
      image = std::make_shared<Image>(bytes);
      all.made++;
      if (caching) Cache::of_user().write(key, bytes);
      if (caching) known_code()[key] = bytes;
    }
  } catch (const std::exception&) {
    hopeless().insert(key);
    return nullptr;  // the library's own loops run instead
  }
  known = image;
  return image;
}

}  // namespace cresset::graph::machine
