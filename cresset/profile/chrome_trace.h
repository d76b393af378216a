#pragma once
// The file of a recording in Chrome's trace format, which Perfetto, chrome://tracing and TensorBoard's plugin read.

#include <map>

#include "cresset/profile/event.h"

namespace cresset::profile {

// The text of the whole file. `metadata` are more fields of the document, each a piece of JSON.
CRESSET_API std::string chrome_trace(const Trace& trace, const std::string& title, const std::map<std::string, std::string>& metadata = {});
// Writes it, compressed where the name ends in .gz. Errors: a file that cannot be written; nothing is left half-written.
CRESSET_API void write_chrome_trace(const Trace& trace, const std::string& path, const std::map<std::string, std::string>& metadata = {});

}  // namespace cresset::profile
