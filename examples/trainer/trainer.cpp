// Trains a small network on MNIST with a Trainer: schedule, mixed precision, early stopping, the best checkpoint, and files for TensorBoard.
// Run again with --resume FILE to go on where a checkpoint was written.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cresset/cresset.h"
#include "cresset/optim/all.h"
#include "cresset/train/callbacks.h"

using namespace cresset;

struct NetImpl : nn::Module {
  NetImpl() : first(register_module("first", nn::Linear(784, 64))), last(register_module("last", nn::Linear(64, 10))) {}
  Tensor forward(const Tensor& x) { return log_softmax(last->forward(relu(first->forward(x.flatten(1)))), 1); }
  nn::Linear first, last;
};
CRESSET_MODULE(Net);

static const char* kHelp =
    "usage: trainer [options]\n"
    "  --epochs N     passes over the training images (3)\n"
    "  --folder DIR   where checkpoints, the table and the events go (runs/trainer)\n"
    "  --resume FILE  a checkpoint to go on from\n"
    "  --data DIR     folder of the four MNIST files\n";

int main(int argc, char** argv) {
  std::string data = MNIST_DATA, folder = "runs/trainer", resume;
  int64_t epochs = 3;
  for (int i = 1; i < argc; i++) {
    const std::string flag = argv[i];
    if (flag == "--help" || i + 1 == argc) return std::fputs(kHelp, flag == "--help" ? stdout : stderr) < 0 || flag != "--help";
    const char* value = argv[++i];
    if (flag == "--epochs") epochs = std::atoll(value);
    else if (flag == "--folder") folder = value;
    else if (flag == "--resume") resume = value;
    else if (flag == "--data") data = value;
    else return std::fprintf(stderr, "trainer: unknown option %s\n%s", flag.c_str(), kHelp), 2;
  }

  manual_seed(0);
  using Mode = data::datasets::MNIST::Mode;
  const auto images = [&](Mode mode) {
    return data::datasets::MNIST(data, mode).map(data::transforms::Normalize<>(0.1307, 0.3081)).map(data::transforms::Stack<>());
  };
  const auto training = data::make_data_loader<data::samplers::RandomSampler>(images(Mode::kTrain), 64);
  const auto validation = data::make_data_loader<data::samplers::SequentialSampler>(images(Mode::kTest), 256);

  Net net;
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(2e-3));
  auto trainer = train::make_trainer(net, optimizer, train::TrainerOptions().max_epochs(epochs).clip_norm(1.0).precision(train::Precision::bfloat16_mixed));
  trainer.add(std::make_shared<optim::lr_scheduler::CosineAnnealingLR>(optimizer, epochs));
  trainer.add(std::make_shared<train::TensorBoardLogger>(folder));
  trainer.add(std::make_shared<train::CsvLogger>(folder + "/metrics.csv"));
  trainer.add(std::make_shared<train::ProgressLine>());
  trainer.add(std::make_shared<train::EarlyStopping>("accuracy", train::EarlyStoppingOptions().mode(train::Mode::max)));
  const auto best = std::make_shared<train::ModelCheckpoint>(folder + "/checkpoints",
                                                             train::ModelCheckpointOptions().monitor("accuracy").mode(train::Mode::max).save_last(true));
  trainer.add(best);
  if (!resume.empty()) trainer.resume(resume);

  try {
    trainer.fit(
        *training, [](Net& model, auto& batch) { return nll_loss(model->forward(batch.data), batch.target); }, *validation,
        [&](Net& model, auto& batch) {
          const Tensor right = model->forward(batch.data).argmax(1).eq(batch.target).to(kFloat).mean();
          trainer.log("accuracy", right, batch.target.size(0));
        });
  } catch (const Error& error) {
    std::fprintf(stderr, "trainer: %s\n", error.what());
    return 1;
  }
  std::printf("best checkpoint: %s\n", best->best_path().c_str());
}
