// Runs a target on inputs of its own making, wherever libFuzzer is not to be had: bit flips, splices, cuts, numbers that matter, words of the
// format, and what the target was seen to compare its input with. Inputs that reach new edges are kept and built upon.

#include <dirent.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

using Input = std::vector<uint8_t>;

// Counts of edges, by a hash of where from and where to, and which of them this input reached.
constexpr size_t kEdges = size_t{1} << 16;
uint8_t hits[kEdges], seen[kEdges];
uint32_t reached[kEdges];
size_t reached_count;
thread_local size_t previous;

// The last comparisons of numbers, both sides.
struct Compared {
  uint64_t a, b;
  uint8_t size;
};
constexpr size_t kCompared = 256;
Compared compared[kCompared];
size_t compared_count;

inline void note_compared(uint64_t a, uint64_t b, uint8_t size) {
  if (a != b) compared[compared_count++ % kCompared] = {a, b, size};
}

struct Options {
  double seconds = 0;
  uint64_t runs = 0, seed = 1;
  size_t max_length = 4096;
  std::string keep, artifacts = ".";
  std::vector<std::string> words, inputs;
};

Options options;
const uint8_t* current;
size_t current_size;

std::string write_input(const std::string& folder, const char* kind, const uint8_t* data, size_t size) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 1099511628211u;
  char name[64];
  std::snprintf(name, sizeof name, "/%s%016llx", kind, static_cast<unsigned long long>(hash));
  const std::string path = folder + name;
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return path;
}

void write_finding() {
  static bool written = false;
  if (written || !current) return;
  written = true;
  std::fprintf(stderr, "finding: the input is in %s\n", write_input(options.artifacts, "finding-", current, current_size).c_str());
}

// Seconds of computing that passed, and at which the input in hand began.
volatile std::sig_atomic_t passed = 0, started = 0, stopped = 0;

void on_stop(int) { stopped = 1; }

void on_signal(int signal) {
  if (signal == SIGPROF) {
    passed = passed + 1;
    if (!current || passed - started <= 10) return;
  }
  std::fprintf(stderr, "finding: %s\n", signal == SIGPROF ? "an input took more than ten seconds of computing" : strsignal(signal));
  write_finding();
  _exit(77);
}

// Runs one input; whether it reached an edge, or a count of passes, that none before it did.
bool run(const Input& input) {
  current = input.data();
  current_size = input.size();
  previous = 0;
  started = passed;
  {
    // A copy of exactly its size, so that a read behind it is one behind the block.
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[input.size()]);
    std::copy(input.begin(), input.end(), exact.get());
    LLVMFuzzerTestOneInput(exact.get(), input.size());
  }
  bool fresh = false;
  for (size_t i = 0; i < reached_count; i++) {
    uint8_t& count = hits[reached[i]];
    const uint8_t bucket = count < 4 ? static_cast<uint8_t>(1 << (count - 1)) : count < 16 ? 8 : count < 128 ? 16 : 32;
    fresh = fresh || (bucket & ~seen[reached[i]]);
    seen[reached[i]] |= bucket;
    count = 0;
  }
  reached_count = 0;
  return fresh;
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  size_t below(size_t n) { return n ? static_cast<size_t>(next() % n) : 0; }

 private:
  uint64_t state_;
};

constexpr uint64_t kNumbers[] = {0,
                                 1,
                                 2,
                                 3,
                                 7,
                                 8,
                                 16,
                                 31,
                                 32,
                                 63,
                                 64,
                                 65,
                                 100,
                                 127,
                                 128,
                                 255,
                                 256,
                                 511,
                                 1000,
                                 1024,
                                 4096,
                                 32767,
                                 32768,
                                 65535,
                                 65536,
                                 0x7fffffff,
                                 0x80000000,
                                 0xfffffffe,
                                 0xffffffff,
                                 0x100000000,
                                 0x3fffffffffffffff,
                                 0x7fffffffffffffff,
                                 0x8000000000000000,
                                 0xfffffffffffffffe,
                                 0xffffffffffffffff};

void overwrite(Input& input, size_t at, const void* bytes, size_t size) {
  if (at + size > input.size()) input.resize(at + size);
  if (size) std::memcpy(input.data() + at, bytes, size);
}

void mutate_once(Input& input, const std::vector<Input>& corpus, Random& random) {
  const size_t size = input.size(), at = random.below(size + 1);
  const auto place = input.begin() + static_cast<int64_t>(at);
  switch (random.below(13)) {
    case 0:
      if (size) input[random.below(size)] ^= static_cast<uint8_t>(1 << random.below(8));
      break;
    case 1:
      if (size) input[random.below(size)] = static_cast<uint8_t>(random.next());
      break;
    case 2: {  // a number that matters
      const uint64_t number = kNumbers[random.below(std::size(kNumbers))];
      overwrite(input, at, &number, size_t{1} << random.below(4));
      break;
    }
    case 3: {  // a little more or less
      const size_t width = size_t{1} << random.below(4);
      if (at + width > size) break;
      uint64_t number = 0;
      std::memcpy(&number, &input[at], width);
      number += random.below(33) - 16;
      std::memcpy(&input[at], &number, width);
      break;
    }
    case 4: input.erase(place, place + static_cast<int64_t>(random.below(std::min<size_t>(size - at, 64) + 1))); break;
    case 5: input.resize(at); break;
    case 6: {  // a part once more, somewhere
      const size_t n = random.below(std::min<size_t>(size - at, 128) + 1);
      const Input part(place, place + static_cast<int64_t>(n));
      input.insert(input.begin() + static_cast<int64_t>(random.below(size + 1)), part.begin(), part.end());
      break;
    }
    case 7: {
      const Input fresh(random.below(16) + 1, static_cast<uint8_t>(random.next()));
      input.insert(place, fresh.begin(), fresh.end());
      break;
    }
    case 8: {  // the front of this, the end of another
      const Input& other = corpus[random.below(corpus.size())];
      const size_t from = random.below(other.size() + 1);
      input.resize(at);
      input.insert(input.end(), other.begin() + static_cast<int64_t>(from), other.end());
      break;
    }
    case 9: {  // a part of another within this
      const Input& other = corpus[random.below(corpus.size())];
      const size_t from = random.below(other.size() + 1), n = random.below(std::min<size_t>(other.size() - from, 128) + 1);
      if (random.below(2)) overwrite(input, at, other.data() + from, n);
      else input.insert(place, other.begin() + static_cast<int64_t>(from), other.begin() + static_cast<int64_t>(from + n));
      break;
    }
    case 10:
    case 11: {  // what it was compared with
      if (!compared_count) break;
      const Compared c = compared[random.below(std::min(compared_count, kCompared))];
      const uint64_t from = random.below(2) ? c.a : c.b, to = from == c.a ? c.b : c.a;
      for (size_t width = c.size; width > 0; width /= 2) {
        const auto found = std::search(input.begin(), input.end(), reinterpret_cast<const uint8_t*>(&from), reinterpret_cast<const uint8_t*>(&from) + width);
        if (found == input.end()) continue;
        std::memcpy(&*found, &to, width);
        return;
      }
      overwrite(input, at, &to, c.size);
      break;
    }
    default: {  // a word of the format
      if (options.words.empty()) break;
      const std::string& word = options.words[random.below(options.words.size())];
      if (random.below(2)) overwrite(input, at, word.data(), word.size());
      else input.insert(place, word.begin(), word.end());
    }
  }
  if (input.size() > options.max_length) input.resize(options.max_length);
}

Input content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Input(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> files_in(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    std::fprintf(stderr, "error: there is no %s\n", path.c_str());
    std::exit(2);
  }
  if (!S_ISDIR(info.st_mode)) return {path};
  std::vector<std::string> files;
  DIR* folder = opendir(path.c_str());
  while (const dirent* entry = readdir(folder))
    if (entry->d_name[0] != '.') files.push_back(path + "/" + entry->d_name);
  closedir(folder);
  std::sort(files.begin(), files.end());
  return files;
}

// Lines like kw="text\x00", as libFuzzer's dictionaries have them.
void read_words(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t start = line.find('"'), stop = line.rfind('"');
    if (line[0] == '#' || start == std::string::npos || stop <= start) continue;
    std::string word;
    for (size_t i = start + 1; i < stop; i++) {
      if (line[i] == '\\' && line[i + 1] == 'x') word += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16)), i += 3;
      else if (line[i] == '\\') word += line[++i];
      else word += line[i];
    }
    options.words.push_back(word);
  }
}

constexpr const char* kHelp =
    "usage: %s [--seconds N] [--runs N] [--seed N] [--max-length N] [--words FILE] [--keep FOLDER] [--artifacts FOLDER] FILE|FOLDER...\n"
    "Runs the target on the files, then on mutants of them for so long or so often; without --seconds and --runs on the files alone.\n"
    "--keep: where inputs that reach something new are written. --artifacts: where the input of a finding is written.\n";

void parse(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") std::printf(kHelp, argv[0]), std::exit(0);
    if (word.rfind("--", 0) != 0) {
      options.inputs.push_back(word);
      continue;
    }
    if (i + 1 == argc) std::fprintf(stderr, kHelp, argv[0]), std::exit(2);
    const std::string value = argv[++i];
    if (word == "--seconds") options.seconds = std::stod(value);
    else if (word == "--runs") options.runs = std::stoull(value);
    else if (word == "--seed") options.seed = std::stoull(value);
    else if (word == "--max-length") options.max_length = std::stoull(value);
    else if (word == "--keep") options.keep = value;
    else if (word == "--artifacts") options.artifacts = value;
    else if (word == "--words") read_words(value);
    else std::fprintf(stderr, kHelp, argv[0]), std::exit(2);
  }
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

extern "C" {
void __sanitizer_cov_trace_pc() {
  const size_t here = reinterpret_cast<size_t>(__builtin_return_address(0));
  const size_t index = (here ^ here >> 16 ^ previous) % kEdges;
  if (hits[index] == 0) reached[reached_count++] = static_cast<uint32_t>(index);
  hits[index] = static_cast<uint8_t>(hits[index] + (hits[index] < 255));
  previous = here >> 1;
}
void __sanitizer_cov_trace_cmp1(uint8_t a, uint8_t b) { note_compared(a, b, 1); }
void __sanitizer_cov_trace_cmp2(uint16_t a, uint16_t b) { note_compared(a, b, 2); }
void __sanitizer_cov_trace_cmp4(uint32_t a, uint32_t b) { note_compared(a, b, 4); }
void __sanitizer_cov_trace_cmp8(uint64_t a, uint64_t b) { note_compared(a, b, 8); }
void __sanitizer_cov_trace_const_cmp1(uint8_t a, uint8_t b) { note_compared(a, b, 1); }
void __sanitizer_cov_trace_const_cmp2(uint16_t a, uint16_t b) { note_compared(a, b, 2); }
void __sanitizer_cov_trace_const_cmp4(uint32_t a, uint32_t b) { note_compared(a, b, 4); }
void __sanitizer_cov_trace_const_cmp8(uint64_t a, uint64_t b) { note_compared(a, b, 8); }
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}
void __sanitizer_cov_trace_switch(uint64_t value, uint64_t* cases) {
  // One of them a time, for there can be many.
  if (cases[0]) note_compared(value, cases[2 + compared_count % cases[0]], static_cast<uint8_t>(cases[1] / 8));
}
}

int main(int argc, char** argv) {
  parse(argc, argv);
  __sanitizer_set_death_callback(write_finding);
  // A stack that is full has no room for a handler.
  static char other_stack[1 << 16];
  const stack_t other{other_stack, 0, sizeof other_stack};
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGPROF, SIGABRT, SIGSEGV}) sigaction(signal, &action, nullptr);
  // Who stops it hears how far it has come.
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, on_stop);
  const itimerval each_second{{1, 0}, {1, 0}};
  setitimer(ITIMER_PROF, &each_second, nullptr);
  std::vector<Input> corpus = {Input()};
  run(corpus[0]);
  size_t files = 0;
  for (const std::string& path : options.inputs) {
    for (const std::string& file : files_in(path)) {
      Input input = content_of(file);
      run(input);
      files++;
      if (input.size() <= options.max_length) corpus.push_back(std::move(input));
    }
  }
  Random random(options.seed);
  const double start = now();
  const size_t seeds = corpus.size();
  uint64_t runs = 0;
  while (!stopped && ((options.runs && runs < options.runs) || (options.seconds > 0 && (runs % 256 || now() - start < options.seconds)))) {
    // Half of the time what came last is built upon; of two, the shorter: an input costs what it is long, and mutants are longer than what they come from.
    const auto pick = [&] { return random.below(2) ? random.below(corpus.size()) : corpus.size() - 1 - random.below(std::min<size_t>(corpus.size(), 32)); };
    const size_t one = pick(), other = pick();
    Input input = corpus[one].size() <= corpus[other].size() ? corpus[one] : corpus[other];
    for (size_t n = size_t{1} << random.below(4); n > 0; n--) mutate_once(input, corpus, random);
    runs++;
    if (!run(input)) continue;
    if (!options.keep.empty()) write_input(options.keep, "", input.data(), input.size());
    corpus.push_back(std::move(input));
  }
  current = nullptr;
  size_t edges = 0;
  for (const uint8_t s : seen) edges += s != 0;
  const double seconds = now() - start;
  std::printf("%zu files, %llu runs in %.0f s (%.0f/s), %zu inputs reach something new, %zu edges, no finding\n", files, static_cast<unsigned long long>(runs),
              seconds, static_cast<double>(runs) / std::max(seconds, 1e-9), corpus.size() - seeds, edges);
}
