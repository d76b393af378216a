#include <cresset/cresset.h>

int main() {
  cresset::nn::Linear layer(2, 3);
  return layer(cresset::ones({4, 2})).size(1) == 3 ? 0 : 1;
}
