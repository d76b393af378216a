#include <cresset/cresset.h>
#include <cresset/distributions.h>

int main() {
  cresset::nn::Linear layer(2, 3);
  return layer(cresset::distributions::Uniform(0, 1).sample({4, 2})).size(1) == 3 ? 0 : 1;
}
