#pragma once
// Inside the room: the life of a library that registers through the C interface (c_abi.h).

#include <string>

namespace cresset::dispatch {

// Calls cresset_extension_init if the opened library has one. Errors: what it returns; then nothing stays registered.
void start_c_extension(void* handle, const std::string& path);
// Undoes the registrations when the library is closed as often as it was opened.
void stop_c_extension(void* handle);

}  // namespace cresset::dispatch
