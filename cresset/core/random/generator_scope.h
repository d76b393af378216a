#pragma once
// Replaces the default generator on this thread for a scope.

#include "cresset/core/random/generator.h"

namespace cresset {

class CRESSET_API DefaultGeneratorScope {
 public:
  explicit DefaultGeneratorScope(const Generator& generator);
  ~DefaultGeneratorScope();
  DefaultGeneratorScope(const DefaultGeneratorScope&) = delete;
  DefaultGeneratorScope& operator=(const DefaultGeneratorScope&) = delete;

 private:
  Generator generator_;
  Generator* previous_;
};

// A copy of the default generator as it is between two uses by other threads.
CRESSET_API Generator copy_of_default_generator();

}  // namespace cresset
