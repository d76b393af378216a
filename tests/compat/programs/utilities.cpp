// Warnings with a handler, errors with notes, and small names of c10 that <torch/torch.h> and its finer headers bring.
#include <torch/torch.h>

#include <c10/util/LeftRight.h>
#include <c10/util/StringUtil.h>
#include <c10/util/generic_math.h>
#include <c10/util/tempfile.h>

#include <iostream>

struct Collected : c10::WarningHandler {
  void process(const c10::Warning& warning) override { text += warning.msg(); }
  std::string text;
};

int main() {
  Collected collected;
  {
    const c10::WarningUtils::WarningHandlerGuard guard(&collected);
    const c10::WarningUtils::WarnAlways always(true);
    for (int i = 0; i < 2; i++) TORCH_WARN_ONCE("again ", i, ";");
  }
  std::string message;
  try {
    try {
      TORCH_CHECK_INDEX(false, "wrong");
    } catch (c10::IndexError& e) { TORCH_RETHROW(e, "while looking"); }
  } catch (const c10::IndexError& e) { message = e.message(); }
  c10::LeftRight<int> number(1);
  number.write([](int& n) { n = 2; });
  const bool fine = collected.text == "again 0;again 1;" && message == "wrong (while looking)" && std::isnan(std::sqrt(-1.0)) && torch::str("a", 2) == "a2" &&
                    c10::Join("-", std::vector<int>{1, 2}) == "1-2" && c10::div_floor_integer(-7, 2) == -4 &&
                    number.read([](const int& n) { return n; }) == 2 && !c10::make_tempfile().name.empty() && !at::hasCUDA();
  if (!fine) std::cerr << collected.text << ' ' << message << '\n';
  return fine ? 0 : 1;
}
