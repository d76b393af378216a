#pragma once
// Where in a user's program the text of an archive comes from: the files `*.debug_pkl`.

#include <mutex>

#include "cresset/graph/script/print.h"

namespace cresset::graph::script {

// From `at` on a text comes from `range`, up to the next place; from nowhere where that has no source.
struct Place {
  size_t at = 0;
  Range range;
};
using Places = std::vector<Place>;

// A text of an archive. All sources whose `archive` is set are of this class.
struct CRESSET_API ArchiveSource final : Source {
  std::string map;  // the contents of the file, read when an error asks for it
  // Null: the archive does not say.
  const Range* origin(size_t at) const;

 private:
  mutable std::once_flag read_;
  mutable Places places_;
};
// The place in the user's program: that of the archive's file, or the range itself where it is one.
const Range* origin_of(const Range& range);

CRESSET_API std::string write_source_map(const Places& places);
// Errors: what reading pickles raises; a map of another form.
CRESSET_API Places read_source_map(const std::string& bytes);

// As those of `print.h`, with the places of nodes in the text that is returned.
std::string code_of(Function& function, Referred& referred, bool to_save, Places& places);
std::string code_of(ClassType& cls, Referred& referred, bool to_save, Places& places);

}  // namespace cresset::graph::script
