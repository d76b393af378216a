// The MPI engine, in a program of its own that mpirun begins (programs/mpi_ranks.cpp).
#include <gtest/gtest.h>

#include <cstdio>

#include "cresset/dist/transport/providers.h"

namespace cresset::distributed {
namespace {

TEST(Mpi, AProgramOfThreeRanks) {
  if (!engine_available("mpi") || std::system("command -v mpirun >/dev/null") != 0) GTEST_SKIP() << "the MPI engine is not built, or there is no mpirun";
  FILE* out = popen("mpirun --allow-run-as-root --oversubscribe -n 3 " CRESSET_MPI_PROGRAM " 2>&1", "r");
  ASSERT_TRUE(out);
  std::string text;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) text += static_cast<char>(c);
  EXPECT_EQ(pclose(out), 0);
  EXPECT_EQ(text, "ok\nok\nok\n");
}

}  // namespace
}  // namespace cresset::distributed
