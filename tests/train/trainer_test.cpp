// The trainer: the numbers of a loop by hand, and, wherever a checkpoint was written, the numbers of the run that was not interrupted.

#include "cresset/train/trainer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cresset/cresset.h"
#include "cresset/optim/all.h"
#include "cresset/train/callbacks.h"
#include "error_of.h"

using namespace cresset;

namespace {

struct NetImpl : nn::Module {
  NetImpl()
      : first(register_module("first", nn::Linear(4, 8))),
        norm(register_module("norm", nn::BatchNorm1d(8))),
        drop(register_module("drop", nn::Dropout(0.3))),
        last(register_module("last", nn::Linear(8, 1))) {}
  Tensor forward(const Tensor& x) { return last->forward(drop->forward(norm->forward(first->forward(x)))); }
  nn::Linear first;
  nn::BatchNorm1d norm;
  nn::Dropout drop;
  nn::Linear last;
};
CRESSET_MODULE(Net);

struct Points : data::datasets::Dataset<Points> {
  data::Example<> get(size_t index) override {
    const Tensor x = full({4}, static_cast<double>(index) / 22) + rand({4}) * 0.1;
    return {x, x.sum(0, true)};
  }
  std::optional<size_t> size() const override { return 22; }
};

auto loader() { return data::make_data_loader<data::samplers::RandomSampler>(Points().map(data::transforms::Stack<>()), 4); }

using Written = std::vector<std::pair<std::string, size_t>>;

// Writes a checkpoint wherever one may be written.
struct Saver : train::Callback {
  Saver(std::string folder, std::vector<double>& seen) : folder_(std::move(folder)), seen_(seen) {}
  bool writes_checkpoints() const override { return true; }
  void on_train_batch_end(train::TrainerBase& t) override { write(t); }
  void on_validation_end(train::TrainerBase& t) override { write(t); }
  void on_train_epoch_end(train::TrainerBase& t) override { write(t); }
  void write(train::TrainerBase& t) {
    files.emplace_back(folder_ + "/" + std::to_string(files.size()) + ".pt", seen_.size());
    t.save_checkpoint(files.back().first);
  }
  Written files;
  std::string folder_;
  std::vector<double>& seen_;
};

struct Training {
  train::TrainerOptions options;
  train::Interval interval = train::Interval::epoch;
  std::string resume_from;
  std::string scheduler = "steps";
  std::shared_ptr<Saver> saver;
  std::vector<double> seen, finished;

  void operator()(uint64_t seed, const std::string& folder = "") {
    manual_seed(seed);
    Net net;
    optim::Adam optimizer(net->parameters(), optim::AdamOptions(0.02));
    auto trainer = train::make_trainer(net, optimizer, options);
    using optim::lr_scheduler::ReduceLROnPlateau;
    if (scheduler == "steps") trainer.add(std::make_shared<optim::lr_scheduler::StepLR>(optimizer, 1, 0.7), interval);
    if (scheduler == "libtorch's steps") trainer.add(std::make_shared<optim::StepLR>(optimizer, 3, 0.7), interval);
    // The greatest loss that may be: a plateau after few epochs.
    if (scheduler == "plateau")
      trainer.add(std::make_shared<ReduceLROnPlateau>(optimizer, ReduceLROnPlateau::max, 0.5, 1, 1e-4, ReduceLROnPlateau::rel, 1), "val_loss", interval);
    if (scheduler == "libtorch's plateau") {
      using Plateau = optim::ReduceLROnPlateauScheduler;
      trainer.add(std::make_shared<Plateau>(optimizer, Plateau::max, 0.5f, 1, 1e-4, Plateau::rel, 1), "val_loss", interval);
    }
    const auto stop = std::make_shared<train::EarlyStopping>("val_loss", train::EarlyStoppingOptions().patience(100));
    trainer.add(stop);
    if (!folder.empty()) trainer.add(saver = std::make_shared<Saver>(folder, seen));
    if (!resume_from.empty()) trainer.resume(resume_from);
    const auto training = loader(), validation = loader();
    trainer.fit(
        *training,
        [&](Net& model, data::Example<>& batch) {
          const Tensor loss = mse_loss(model->forward(batch.data), batch.target);
          seen.push_back(loss.item<double>());
          return loss;
        },
        *validation,
        [&](Net& model, data::Example<>& batch) {
          const Tensor loss = mse_loss(model->forward(batch.data), batch.target);
          seen.push_back(loss.item<double>());
          trainer.log("val_loss", loss, batch.data.size(0));
        });
    for (const Tensor& t : net->parameters())
      for (const double v : std::vector<float>(t.data_ptr<float>(), t.data_ptr<float>() + t.numel())) finished.push_back(v);
    for (const auto& [name, value] : trainer.metrics()) finished.push_back(value);
    finished.insert(finished.end(), {static_cast<double>(trainer.global_step()), static_cast<double>(trainer.current_epoch()), stop->best(),
                                     optimizer.param_groups()[0].options().get_lr(), rand({1}).item<double>()});
  }
};

class Trained : public ::testing::Test {
 protected:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("cresset_trainer_" + std::to_string(getpid()));
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void check(const train::TrainerOptions& options, train::Interval interval = train::Interval::epoch, const std::string& scheduler = "steps") {
    Training whole{options, interval, {}, scheduler, {}, {}, {}};
    whole(1, folder_.string());
    ASSERT_GT(whole.saver->files.size(), 10u);
    for (const auto& [path, count] : whole.saver->files) {
      Training rest{options, interval, path, scheduler, {}, {}, {}};
      rest(99);
      EXPECT_EQ(rest.seen, std::vector<double>(whole.seen.begin() + static_cast<int64_t>(count), whole.seen.end())) << path;
      EXPECT_EQ(rest.finished, whole.finished) << path;
    }
  }
};

TEST_F(Trained, resumed_everywhere) { check(train::TrainerOptions().max_epochs(3)); }
TEST_F(Trained, resumed_within_an_accumulation) {
  check(train::TrainerOptions().max_epochs(2).accumulate_grad_batches(4).val_check_interval(3).clip_norm(0.5), train::Interval::step);
}
TEST_F(Trained, resumed_in_mixed_precision) {
  check(train::TrainerOptions().max_epochs(2).precision(train::Precision::half_mixed));
  check(train::TrainerOptions().max_epochs(2).precision(train::Precision::bfloat16_mixed).limit_train_batches(4));
}

TEST_F(Trained, resumed_with_any_scheduler) {
  check(train::TrainerOptions().max_epochs(7).val_check_interval(4), train::Interval::epoch, "plateau");
  check(train::TrainerOptions().max_epochs(7).val_check_interval(4), train::Interval::epoch, "libtorch's plateau");
  check(train::TrainerOptions().max_epochs(2), train::Interval::step, "libtorch's steps");
}
TEST_F(Trained, a_plateau_is_waited_for_by_the_name_of_a_number) {
  const Tensor x = ones({4, 1});
  nn::Linear model(1, 1);
  optim::SGD optimizer(model->parameters(), optim::SGDOptions(1.0));
  struct Ones : data::datasets::Dataset<Ones> {
    data::Example<> get(size_t) override { return {ones({1}), ones({1})}; }
    std::optional<size_t> size() const override { return 4; }
  };
  const auto loader = data::make_data_loader(Ones().map(data::transforms::Stack<>()), 2);
  const auto train = [&](const std::string& monitor) {
    using optim::lr_scheduler::ReduceLROnPlateau;
    auto trainer = train::make_trainer(model, optimizer, train::TrainerOptions().max_epochs(5));
    trainer.add(std::make_shared<ReduceLROnPlateau>(optimizer, ReduceLROnPlateau::min, 0.5, 1), monitor);
    trainer.fit(*loader, [&](nn::Linear& m, data::Example<>& batch) {
      trainer.log("same", 3.0);
      return m->forward(batch.data).sum() * 0;
    });
  };
  train("same");  // epochs 1 to 4 are bad; the second and the fourth of them are too many
  EXPECT_EQ(optimizer.param_groups()[0].options().get_lr(), 0.25);
  EXPECT_EQ(error_of([&] { train("missing"); }),
            "Trainer: a scheduler waits for 'missing', which was not logged; there are: loss, loss_epoch, same, same_epoch");
}

TEST_F(Trained, numbers_of_a_loop_by_hand) {
  const Tensor x = linspace(-1, 1, 20).unsqueeze(1), y = x * 3 + 1;
  struct Pairs : data::datasets::Dataset<Pairs> {
    Pairs(Tensor a, Tensor b) : x(std::move(a)), y(std::move(b)) {}
    data::Example<> get(size_t i) override { return {x[static_cast<int64_t>(i)], y[static_cast<int64_t>(i)]}; }
    std::optional<size_t> size() const override { return 20; }
    Tensor x, y;
  };
  manual_seed(0);
  nn::Linear trained(1, 1), expected(1, 1);
  {
    NoGradGuard no_gradients;
    for (size_t i = 0; i < 2; i++) expected->parameters()[i].copy_(trained->parameters()[i]);
  }
  optim::SGD optimizer(trained->parameters(), 0.1), other(expected->parameters(), 0.1);
  auto trainer = train::make_trainer(trained, optimizer, train::TrainerOptions().max_epochs(3).accumulate_grad_batches(2).clip_norm(0.5));
  const auto batches = data::make_data_loader<data::samplers::SequentialSampler>(Pairs(x, y).map(data::transforms::Stack<>()), 4);
  trainer.fit(*batches, [](nn::Linear& net, auto& batch) { return mse_loss(net->forward(batch.data), batch.target); });
  for (int epoch = 0; epoch < 3; epoch++)
    for (int64_t i = 0; i < 5; i++) {
      if (i % 2 == 0) other.zero_grad();
      (mse_loss(expected->forward(x.narrow(0, i * 4, 4)), y.narrow(0, i * 4, 4)) / 2.0).backward();
      if (i % 2 == 0 && i != 4) continue;
      nn::utils::clip_grad_norm_(expected->parameters(), 0.5);
      other.step();
    }
  for (size_t i = 0; i < 2; i++) EXPECT_TRUE(trained->parameters()[i].equal(expected->parameters()[i]));
  EXPECT_EQ(trainer.global_step(), 9);
}

TEST_F(Trained, callbacks) {
  manual_seed(0);
  Net net;
  optim::SGD optimizer(net->parameters(), 0.05);
  auto trainer = train::make_trainer(net, optimizer, train::TrainerOptions().max_epochs(50).log_every_n_steps(2));
  const std::string files = (folder_ / "kept").string(), table = (folder_ / "log.csv").string();
  const auto checkpoint = std::make_shared<train::ModelCheckpoint>(files, train::ModelCheckpointOptions().monitor("score").save_top_k(2).save_last(true));
  trainer.add(checkpoint);
  trainer.add(std::make_shared<train::EarlyStopping>("score", train::EarlyStoppingOptions().patience(2)));
  trainer.add(std::make_shared<train::CsvLogger>(table));
  trainer.add(std::make_shared<train::TensorBoardLogger>((folder_ / "events").string()));
  trainer.add(std::make_shared<train::LearningRateMonitor>());
  std::FILE* said = std::tmpfile();
  trainer.add(std::make_shared<train::ProgressLine>(said));
  const auto training = loader(), validation = loader();
  const double scores[] = {5, 3, 4, 3.5, 1};
  trainer.fit(
      *training, [](Net& model, auto& batch) { return mse_loss(model->forward(batch.data), batch.target); }, *validation,
      [&](Net&, auto&) { trainer.log("score", scores[trainer.current_epoch()]); });
  EXPECT_EQ(trainer.current_epoch(), 4);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(files)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"epoch=1-step=12.pt", "epoch=3-step=24.pt", "last.pt"}));
  EXPECT_EQ(checkpoint->best_path(), files + "/epoch=1-step=12.pt");
  std::ifstream rows(table);
  std::string head;
  std::getline(rows, head);
  EXPECT_EQ(head, "step,loss,score,loss_epoch,lr_epoch");
  size_t count = 0;
  for (std::string line; std::getline(rows, line);) count++;
  EXPECT_EQ(count, 4u * (3 + 1 + 1));
  std::rewind(said);
  char line[200] = {};
  ASSERT_TRUE(std::fgets(line, sizeof line, said));
  EXPECT_EQ(std::string(line).rfind("epoch 0: 6 batches", 0), 0u) << line;
  std::fclose(said);
  EXPECT_NE(error_of([&] {
              train::EarlyStopping stop("none");
              stop.on_validation_end(trainer);
            }).find("'none' is not logged; there is 'loss'"),
            std::string::npos);
}

TEST_F(Trained, refuses_other_checkpoints) {
  Net net;
  optim::SGD optimizer(net->parameters(), 0.1);
  auto trainer = train::make_trainer(net, optimizer);
  const auto batches = loader();
  const auto fit = [&] { trainer.fit(*batches, [](Net& model, auto& batch) { return mse_loss(model->forward(batch.data), batch.target); }); };
  trainer.resume((folder_ / "none.pt").string());
  EXPECT_NE(error_of(fit).find("none.pt"), std::string::npos);
  trainer.save_checkpoint((folder_ / "some.pt").string());
  trainer.add(std::make_shared<optim::lr_scheduler::StepLR>(optimizer, 1));
  trainer.resume((folder_ / "some.pt").string());
  EXPECT_NE(error_of(fit).find("has 0 schedulers, the trainer 1"), std::string::npos);
  EXPECT_NE(error_of<ValueError>([&] { train::make_trainer(net, optimizer, train::TrainerOptions().accumulate_grad_batches(0)); }).find("at least 1"),
            std::string::npos);
  EXPECT_NE(error_of([&] { trainer.fit(*batches, [](Net&, auto&) { return Tensor(); }); }).find("gives its loss"), std::string::npos);
}

}  // namespace
