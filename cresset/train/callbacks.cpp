#include "cresset/train/callbacks.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "cresset/io/file.h"
#include "cresset/tensor.h"

namespace cresset::train {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double monitored(const char* who, const TrainerBase& trainer, const std::string& name) {
  const auto found = trainer.metrics().find(name);
  std::string known;
  for (const auto& [other, value] : trainer.metrics()) known += (known.empty() ? "'" : ", '") + other + "'";
  CRESSET_CHECK(found != trainer.metrics().end(), who, ": '", name, "' is not logged; there is ", known.empty() ? "nothing" : known);
  return found->second;
}

double seconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void write_text(const std::string& path, const std::string& text) {
  io::write_file_atomically(path, [&](const io::WriteBytes& write) { write(text.data(), text.size()); });
}

template <class T> T read(serialize::InputArchive& archive, const std::string& key) {
  serialize::ArchiveValue value{T{}};
  archive.read(key, value);
  if constexpr (std::is_same_v<T, int64_t>) return value.to_int();
  else if constexpr (std::is_same_v<T, double>) return value.to_double();
  else return value.to_string();
}

}  // namespace

EarlyStopping::EarlyStopping(std::string monitor, EarlyStoppingOptions options)
    : monitor_(std::move(monitor)), options_(std::move(options)), best_(options_.mode() == Mode::min ? kInfinity : -kInfinity) {}

void EarlyStopping::on_validation_end(TrainerBase& trainer) { check(trainer); }
void EarlyStopping::on_train_epoch_end(TrainerBase& trainer) {
  if (!trainer.has_validation()) check(trainer);
}
void EarlyStopping::check(TrainerBase& trainer) {
  const double value = monitored("EarlyStopping", trainer, monitor_), delta = std::abs(options_.min_delta());
  if (options_.check_finite() && !std::isfinite(value)) return trainer.stop();
  if (options_.mode() == Mode::min ? value < best_ - delta : value > best_ + delta) {
    best_ = value;
    waited_ = 0;
  } else if (++waited_ >= options_.patience()) {
    trainer.stop();
  }
}
void EarlyStopping::save(serialize::OutputArchive& archive) const {
  archive.write("best", cresset::tensor(std::vector<double>{best_}, kDouble));
  archive.write("waited", waited_);
}
void EarlyStopping::load(serialize::InputArchive& archive) {
  Tensor best;
  archive.read("best", best);
  best_ = best.item<double>();
  waited_ = read<int64_t>(archive, "waited");
}

ModelCheckpoint::ModelCheckpoint(std::string folder, ModelCheckpointOptions options) : folder_(std::move(folder)), options_(std::move(options)) {
  CRESSET_CHECK_VALUE(options_.save_top_k() >= -1, "ModelCheckpoint: save_top_k is -1 or a number of files, got ", options_.save_top_k());
  CRESSET_CHECK_VALUE(!options_.monitor().empty() || options_.save_top_k() <= 1, "ModelCheckpoint: without a monitor save_top_k is -1, 0 or 1, got ",
                      options_.save_top_k());
}
void ModelCheckpoint::on_train_batch_end(TrainerBase& trainer) {
  if (options_.every_n_steps() > 0 && trainer.global_step() > 0 && trainer.global_step() % options_.every_n_steps() == 0) write(trainer);
}
void ModelCheckpoint::on_train_epoch_end(TrainerBase& trainer) {
  if (options_.every_n_steps() == 0) write(trainer);
}

void ModelCheckpoint::write(TrainerBase& trainer) {
  if (last_step_ == trainer.global_step()) return;
  last_step_ = trainer.global_step();
  CRESSET_CHECK(mkdir(folder_.c_str(), 0777) == 0 || errno == EEXIST, "ModelCheckpoint: cannot make the folder '", folder_, "': ", std::strerror(errno));
  const bool monitors = !options_.monitor().empty();
  double rank = monitors ? monitored("ModelCheckpoint", trainer, options_.monitor()) : -static_cast<double>(trainer.global_step());
  if (monitors && options_.mode() == Mode::max) rank = -rank;
  if (std::isnan(rank)) rank = kInfinity;
  const int64_t most = options_.save_top_k();
  const bool is_full = most >= 0 && static_cast<int64_t>(kept_.size()) >= most;
  if (most != 0 && (!is_full || rank < kept_.back().first)) {
    const std::string path = folder_ + "/epoch=" + std::to_string(trainer.current_epoch()) + "-step=" + std::to_string(trainer.global_step()) + ".pt";
    const std::string dropped = is_full ? kept_.back().second : std::string();
    if (is_full) kept_.pop_back();
    const auto place = std::upper_bound(kept_.begin(), kept_.end(), rank, [](double r, const auto& item) { return r < item.first; });
    kept_.insert(place, {rank, path});
    best_path_ = kept_.front().second;
    trainer.save_checkpoint(path);
    if (!dropped.empty() && dropped != path) std::remove(dropped.c_str());
  }
  if (options_.save_last()) {
    last_path_ = folder_ + "/last.pt";
    trainer.save_checkpoint(last_path_);
  }
}
void ModelCheckpoint::save(serialize::OutputArchive& archive) const {
  std::string paths;
  std::vector<double> ranks;
  for (const auto& [rank, path] : kept_) {
    ranks.push_back(rank);
    paths += path + "\n";
  }
  archive.write("ranks", cresset::tensor(ranks, kDouble));
  archive.write("paths", paths);
  archive.write("last_path", last_path_);
  archive.write("last_step", last_step_);
}
void ModelCheckpoint::load(serialize::InputArchive& archive) {
  Tensor ranks;
  archive.read("ranks", ranks);
  const std::string paths = read<std::string>(archive, "paths");
  CRESSET_CHECK(std::count(paths.begin(), paths.end(), '\n') == ranks.numel(), "resume: the state of ModelCheckpoint is damaged");
  kept_.clear();
  int64_t i = 0;
  for (size_t begin = 0, end; (end = paths.find('\n', begin)) != std::string::npos; begin = end + 1)
    kept_.emplace_back(ranks.const_data_ptr<double>()[i++], paths.substr(begin, end - begin));
  best_path_ = kept_.empty() ? std::string() : kept_.front().second;
  last_path_ = read<std::string>(archive, "last_path");
  last_step_ = read<int64_t>(archive, "last_step");
}

void LearningRateMonitor::on_train_epoch_start(TrainerBase& trainer) {
  const auto& groups = trainer.optimizer().param_groups();
  for (size_t i = 0; i < groups.size(); i++) trainer.log(groups.size() == 1 ? "lr" : "lr/" + std::to_string(i), groups[i].options().get_lr());
}

void ProgressLine::on_train_epoch_start(TrainerBase&) { began_ = seconds(); }
void ProgressLine::on_train_epoch_end(TrainerBase& trainer) {
  std::fprintf(to_, "epoch %lld: %lld batches, %.1f s", static_cast<long long>(trainer.current_epoch()), static_cast<long long>(trainer.batches_done()),
               seconds() - began_);
  for (const auto& [name, value] : trainer.metrics()) std::fprintf(to_, ", %s %.4g", name.c_str(), value);
  std::fputc('\n', to_);
  std::fflush(to_);
}

void CsvLogger::log_metrics(const std::map<std::string, double>& metrics, int64_t step) {
  for (const auto& [name, value] : metrics)
    if (std::find(columns_.begin(), columns_.end(), name) == columns_.end()) columns_.push_back(name);
  rows_.emplace_back(step, metrics);
}
void CsvLogger::on_train_epoch_end(TrainerBase&) { write(); }
void CsvLogger::on_train_end(TrainerBase&) { write(); }
void CsvLogger::write() const {
  std::string text = "step";
  for (const std::string& name : columns_) text += "," + name;
  text += "\n";
  for (const auto& [step, values] : rows_) {
    text += std::to_string(step);
    for (const std::string& name : columns_) {
      text += ",";
      const auto found = values.find(name);
      char number[40];
      if (found != values.end()) {
        std::snprintf(number, sizeof number, "%.9g", found->second);
        text += number;
      }
    }
    text += "\n";
  }
  write_text(path_, text);
}

void TensorBoardLogger::log_metrics(const std::map<std::string, double>& metrics, int64_t step) {
  for (const auto& [name, value] : metrics) writer_.add_scalar(name, value, step);
}
void TensorBoardLogger::on_train_epoch_end(TrainerBase&) { writer_.flush(); }

}  // namespace cresset::train
