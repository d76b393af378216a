// A program that calls nothing but the library of processes.
#include <torch/csrc/distributed/c10d/HashStore.hpp>

int main() {
  c10d::HashStore store;
  return store.add("n", 3) == 3 ? 0 : 1;
}
