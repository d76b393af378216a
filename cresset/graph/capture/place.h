#pragma once
// The line of the program that calls the library, for messages of errors.

#include <string>

namespace cresset::graph {

// "file.cpp:12 in f(...)" of the innermost caller outside of the library, as far as the program says it: lines need -g, and a library that was built
// with libbacktrace; without them it is the function, or the place in the program's file. Empty where nothing is known. Takes milliseconds.
std::string place_of_caller();

}  // namespace cresset::graph
