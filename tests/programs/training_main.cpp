// `training_programs [--threads N] [--only NAME]` prints every loss of the programs as training.py does.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "training.h"

int main(int argc, char** argv) {
  std::string only;
  int threads = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--threads")) threads = std::atoi(argv[i + 1]);
    if (!std::strcmp(argv[i], "--only")) only = argv[i + 1];
  }
  cresset::set_num_threads(threads);
  std::map<std::string, training::Program> programs;
  training::add_dense(programs);
  training::add_images(programs);
  training::add_sequences(programs);
  training::add_methods(programs);
  for (const auto& [name, run] : programs) {
    if (!only.empty() && only != name) continue;
    cresset::manual_seed(1);
    training::Losses losses;
    run(losses);
    for (size_t i = 0; i < losses.size(); i++) std::printf("%s %zu %a\n", name.c_str(), i, losses[i]);
  }
}
