#pragma once
// Callbacks of a Trainer.

#include <cstdio>
#include <limits>
#include <optional>

#include "cresset/train/summary_writer.h"
#include "cresset/train/trainer.h"

namespace cresset::train {

enum class Mode { min, max };

struct EarlyStoppingOptions {
  CRESSET_ARG(Mode, mode) = Mode::min;
  // After how many checks without something better by min_delta it stops.
  CRESSET_ARG(int64_t, patience) = 3;
  CRESSET_ARG(double, min_delta) = 0;
  // Whether infinity and nan stop.
  CRESSET_ARG(bool, check_finite) = true;
};

// Stops when a logged number has not become better. It looks after validations, or, where there are none, after epochs.
// Errors: the number is not logged.
class CRESSET_API EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(std::string monitor, EarlyStoppingOptions options = {});
  void on_validation_end(TrainerBase& trainer) override;
  void on_train_epoch_end(TrainerBase& trainer) override;
  std::string key() const override { return "early_stopping"; }
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  double best() const { return best_; }

 private:
  CRESSET_LOCAL void check(TrainerBase& trainer);
  std::string monitor_;
  EarlyStoppingOptions options_;
  double best_;
  int64_t waited_ = 0;
};

struct ModelCheckpointOptions {
  // The number by which checkpoints are kept; none: the newest.
  CRESSET_ARG(std::string, monitor) = "";
  CRESSET_ARG(Mode, mode) = Mode::min;
  // How many are kept; -1: all.
  CRESSET_ARG(int64_t, save_top_k) = 1;
  // Whether there is a last.pt as well.
  CRESSET_ARG(bool, save_last) = false;
  // After so many optimizer steps, and not after epochs; 0: after epochs.
  CRESSET_ARG(int64_t, every_n_steps) = 0;
};

// Writes checkpoints to folder/epoch=E-step=S.pt.
class CRESSET_API ModelCheckpoint : public Callback {
 public:
  explicit ModelCheckpoint(std::string folder, ModelCheckpointOptions options = {});
  bool writes_checkpoints() const override { return true; }
  void on_train_batch_end(TrainerBase& trainer) override;
  void on_train_epoch_end(TrainerBase& trainer) override;
  std::string key() const override { return "model_checkpoint"; }
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  // The best one, or the newest where nothing is monitored; empty: none yet.
  const std::string& best_path() const { return best_path_; }
  const std::string& last_path() const { return last_path_; }

 private:
  void write(TrainerBase& trainer);
  std::string folder_;
  ModelCheckpointOptions options_;
  std::vector<std::pair<double, std::string>> kept_;  // from the best to the worst
  std::string best_path_, last_path_;
  int64_t last_step_ = -1;
};

// Logs the rates of the optimizer's groups after every epoch: lr, or lr/0, lr/1 and so on.
class CRESSET_API LearningRateMonitor : public Callback {
 public:
  void on_train_epoch_start(TrainerBase& trainer) override;
};

// Prints a line after every epoch.
class CRESSET_API ProgressLine : public Callback {
 public:
  explicit ProgressLine(std::FILE* to = stdout) : to_(to) {}
  void on_train_epoch_start(TrainerBase& trainer) override;
  void on_train_epoch_end(TrainerBase& trainer) override;

 private:
  std::FILE* to_;
  double began_ = 0;
};

// Writes what is logged to a table, a row for each time; all of it again at the end of an epoch where there is a new column.
class CRESSET_API CsvLogger : public Callback {
 public:
  explicit CsvLogger(std::string path) : path_(std::move(path)) {}
  void log_metrics(const std::map<std::string, double>& metrics, int64_t step) override;
  void on_train_epoch_end(TrainerBase& trainer) override;
  void on_train_end(TrainerBase& trainer) override;

 private:
  void write() const;
  std::string path_;
  std::vector<std::string> columns_;
  std::vector<std::pair<int64_t, std::map<std::string, double>>> rows_;
};

// Writes what is logged as scalars.
class CRESSET_API TensorBoardLogger : public Callback {
 public:
  explicit TensorBoardLogger(std::string folder) : writer_(std::move(folder)) {}
  void log_metrics(const std::map<std::string, double>& metrics, int64_t step) override;
  void on_train_epoch_end(TrainerBase& trainer) override;
  SummaryWriter& writer() { return writer_; }

 private:
  SummaryWriter writer_;
};

}  // namespace cresset::train
