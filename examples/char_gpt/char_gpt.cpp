// A small GPT over characters, trained on Tiny Shakespeare, then asked for some text: examples/python/char_gpt.py, number for number.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "../command_line.h"
#include "cresset/cresset.h"
#include "cresset/transform/autocast.h"

using namespace cresset;

struct BlockImpl : nn::Module {
  BlockImpl(int64_t width, int64_t heads)
      : heads(heads),
        norm1(register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({width})))),
        norm2(register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({width})))),
        qkv(register_module("qkv", nn::Linear(width, 3 * width))),
        out(register_module("out", nn::Linear(width, width))),
        mlp(register_module("mlp", nn::Sequential())) {
    // One by one: C++ leaves the order of arguments open, and each draws random numbers.
    mlp->push_back(nn::Linear(width, 4 * width));
    mlp->push_back(nn::GELU());
    mlp->push_back(nn::Linear(4 * width, width));
  }

  Tensor forward(Tensor x) {
    const int64_t batch = x.size(0), time = x.size(1), width = x.size(2);
    const auto parts = qkv->forward(norm1->forward(x)).view({batch, time, 3, heads, width / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    const Tensor mixed = scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, /*is_causal=*/true);
    x = x + out->forward(mixed.transpose(1, 2).reshape({batch, time, width}));
    return x + mlp->forward(norm2->forward(x));
  }

  int64_t heads;
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv, out;
  nn::Sequential mlp;
};
CRESSET_MODULE(Block);

struct GPTImpl : nn::Module {
  GPTImpl(int64_t symbols, int64_t width = 64, int64_t heads = 4, int64_t layers = 2, int64_t context = 64)
      : context(context),
        symbol(register_module("symbol", nn::Embedding(symbols, width))),
        position(register_module("position", nn::Embedding(context, width))),
        blocks(register_module("blocks", nn::Sequential())) {
    for (int64_t i = 0; i < layers; i++) blocks->push_back(Block(width, heads));
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})));
    head = register_module("head", nn::Linear(width, symbols));
  }

  Tensor forward(const Tensor& x) { return head->forward(norm->forward(blocks->forward(symbol->forward(x) + position->forward(arange(x.size(1)))))); }

  Tensor continue_text(Tensor x, int64_t count) {
    NoGradGuard no_grad;
    for (int64_t i = 0; i < count; i++) {
      const Tensor logits = forward(x.slice(1, std::max<int64_t>(0, x.size(1) - context))).select(1, -1);
      x = cat({x, multinomial(softmax(logits, -1), 1)}, 1);
    }
    return x;
  }

  int64_t context;
  nn::Embedding symbol, position;
  nn::Sequential blocks;
  nn::LayerNorm norm = nullptr;
  nn::Linear head = nullptr;
};
CRESSET_MODULE(GPT);

struct Settings {
  std::string text = SHAKESPEARE;
  long steps = 500, batch = 16, seed = 1, threads = 0, characters = 200;
  double lr = 1e-3;
  bool bf16 = false, losses = false;
};

static Settings parse(int argc, char** argv) {
  Settings s;
  CommandLine("char_gpt")
      .number("--steps", s.steps, 1, "(500)")
      .number("--batch", s.batch, 1, "windows of text to a step (16)")
      .real("--lr", s.lr, 1e-12, "learning rate of AdamW (0.001)")
      .number("--seed", s.seed, 0, "of initialisation and windows (1)")
      .number("--threads", s.threads, 1, "threads to compute with (all cores)")
      .text("--text", "FILE", s.text, "text to learn")
      .number("--characters", s.characters, 0, "length of the text to write at the end (200)")
      .flag("--bf16", s.bf16, "mixed precision: products of matrices in bfloat16")
      .flag("--losses", s.losses, "print the loss of every step with all digits")
      .parse(argc, argv);
  return s;
}

static void run(const Settings& s) {
  if (s.threads) set_num_threads(static_cast<int>(s.threads));
  std::ifstream file(s.text, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + s.text + "; --text names a file of text");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::set<char> symbols(text.begin(), text.end());
  const std::string alphabet(symbols.begin(), symbols.end());
  std::vector<int64_t> numbers;
  for (char c : text) numbers.push_back(static_cast<int64_t>(alphabet.find(c)));
  const Tensor data = tensor(numbers);
  manual_seed(static_cast<uint64_t>(s.seed));
  GPT model(static_cast<int64_t>(alphabet.size()));
  if (data.numel() < model->context + 2) throw std::runtime_error(s.text + " is too short: " + str(data.numel()) + " characters");
  optim::AdamW optimizer(model->parameters(), optim::AdamWOptions(s.lr));
  double value = 0;
  for (long step = 0; step < s.steps; step++) {
    const Tensor starts = randint(data.numel() - model->context - 1, {s.batch});
    std::vector<Tensor> windows;
    for (int64_t i = 0; i < s.batch; i++) windows.push_back(data.narrow(0, starts[i].item<int64_t>(), model->context + 1));
    const Tensor batch = stack(windows);
    optimizer.zero_grad();
    Tensor loss;
    {
      autocast region(kCPU, kBFloat16, s.bf16);
      const Tensor logits = model->forward(batch.slice(1, 0, -1));
      loss = cross_entropy_loss(logits.flatten(0, 1), batch.slice(1, 1).flatten());
    }
    loss.backward();
    optimizer.step();
    value = loss.item<double>();
    if (s.losses) std::printf("loss %ld %.9g\n", step, value);
    else if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\rstep %ld loss %.3f ", step + 1, value);
  }
  if (!s.losses && isatty(STDERR_FILENO)) std::fputc('\n', stderr);
  std::printf("after %ld steps: loss %.3f\n", s.steps, value);
  if (!s.characters) return;
  const Tensor written = model->continue_text(data.slice(0, 0, 1).unsqueeze(0), s.characters)[0];
  for (int64_t i = 0; i < written.numel(); i++) std::putchar(alphabet[static_cast<size_t>(written[i].item<int64_t>())]);
  std::putchar('\n');
}

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "char_gpt: %s\n", error.what());
    return 1;
  }
}
