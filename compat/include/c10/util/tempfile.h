#pragma once
#include "cresset/base/util/temp_file.h"
namespace c10 {
using cresset::make_tempdir;
using cresset::make_tempfile;
using cresset::TempDir;
using cresset::TempFile;
using cresset::try_make_tempdir;
using cresset::try_make_tempfile;
}  // namespace c10
