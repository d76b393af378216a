#pragma once
// Checks for the programs: each that fails is printed, and main returns how many there were.

#include <iostream>

namespace {

int failures = 0;

[[maybe_unused]] void check(bool ok, const char* what) {
  if (ok) return;
  failures++;
  std::cerr << "not so: " << what << '\n';
}
#define CHECK_THAT(condition) check(condition, #condition)

template <class Got, class Expected> void same(const Got& got, const Expected& expected, const char* name) {
  if (got == expected) return;
  failures++;
  std::cerr << name << ": got " << got << ", expected " << expected << '\n';
}

// Whether the call throws this exception.
template <class Exception, class F> bool throws(F&& call) {
  try {
    call();
  } catch (const Exception&) { return true; }
  return false;
}

}  // namespace
