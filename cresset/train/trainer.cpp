#include "cresset/train/trainer.h"

#include <algorithm>
#include <optional>

#include "cresset/autograd/grad_mode.h"
#include "cresset/core/random/generator.h"
#include "cresset/nn/module/serialize.h"
#include "cresset/nn/utils/utils.h"
#include "cresset/tensor.h"
#include "cresset/transform/autocast.h"

namespace cresset::train {

namespace {

template <class Scheduler, class Number> Number number_of(void (Scheduler::*)(Number));

// Random numbers that are drawn while this lives change nothing afterwards.
class RngLeftAlone {
 public:
  RngLeftAlone() : state_(default_generator().get_state()) {}
  ~RngLeftAlone() { default_generator().set_state(state_); }
  RngLeftAlone(const RngLeftAlone&) = delete;
  RngLeftAlone& operator=(const RngLeftAlone&) = delete;

 private:
  std::vector<uint8_t> state_;
};

Tensor as_tensor(const std::vector<uint8_t>& bytes) {
  const Tensor t = cresset::empty({static_cast<int64_t>(bytes.size())}, kByte);
  std::copy(bytes.begin(), bytes.end(), t.data_ptr<uint8_t>());
  return t;
}
std::vector<uint8_t> as_bytes(const Tensor& t) { return {t.const_data_ptr<uint8_t>(), t.const_data_ptr<uint8_t>() + t.numel()}; }

// Tables of numbers by name: the names in one text, for names may hold the dots that archives part names at.
void write_table(serialize::OutputArchive& archive, const std::string& key, const std::map<std::string, std::vector<double>>& table) {
  std::string names;
  std::vector<double> values;
  for (const auto& [name, numbers] : table) {
    names += name + "\n";
    values.insert(values.end(), numbers.begin(), numbers.end());
  }
  archive.write(key + "_names", names);
  archive.write(key, cresset::tensor(values, kDouble));
}
std::map<std::string, std::vector<double>> read_table(serialize::InputArchive& archive, const std::string& key, size_t width) {
  serialize::ArchiveValue names{std::string()};
  Tensor values;
  archive.read(key + "_names", names);
  archive.read(key, values);
  const std::string text = names.to_string();
  const size_t count = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  CRESSET_CHECK(values.scalar_type() == kDouble && static_cast<size_t>(values.numel()) == count * width, "resume: the table '", key, "' is damaged");
  std::map<std::string, std::vector<double>> table;
  const double* at = values.const_data_ptr<double>();
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1, at += width)
    table[text.substr(begin, end - begin)] = {at, at + width};
  return table;
}

int64_t read_int(serialize::InputArchive& archive, const std::string& key) {
  serialize::ArchiveValue value{int64_t{0}};
  archive.read(key, value);
  return value.to_int();
}

}  // namespace

Callback::~Callback() = default;
TrainerBase::~TrainerBase() = default;

TrainerBase::TrainerBase(std::shared_ptr<nn::Module> module, optim::Optimizer& optimizer, TrainerOptions options)
    : module_(std::move(module)), optimizer_(optimizer), options_(std::move(options)) {
  CRESSET_CHECK_VALUE(options_.accumulate_grad_batches() >= 1, "Trainer: accumulate_grad_batches is at least 1, got ", options_.accumulate_grad_batches());
  CRESSET_CHECK_VALUE(options_.check_val_every_n_epoch() >= 1 && options_.log_every_n_steps() >= 1,
                      "Trainer: check_val_every_n_epoch and log_every_n_steps are at least 1, got ", options_.check_val_every_n_epoch(), " and ",
                      options_.log_every_n_steps());
  CRESSET_CHECK_VALUE(options_.max_epochs() >= 0 || options_.max_steps() >= 0 || options_.max_epochs() == -1,
                      "Trainer: max_epochs is -1 or a number from 0, got ", options_.max_epochs());
  if (options_.precision() == Precision::half_mixed) scaler_ = std::make_unique<amp::GradScaler>();
}

void TrainerBase::add(std::shared_ptr<Callback> callback) {
  const bool is_last = callback->writes_checkpoints();
  const auto place = is_last ? callbacks_.end() : std::find_if(callbacks_.begin(), callbacks_.end(), [](const auto& c) { return c->writes_checkpoints(); });
  callbacks_.insert(place, std::move(callback));
}
void TrainerBase::add(Scheduled scheduled) {
  CRESSET_CHECK_VALUE(scheduled.frequency >= 1, "Trainer: the frequency of a scheduler is at least 1, got ", scheduled.frequency);
  schedulers_.push_back(std::move(scheduled));
}
void TrainerBase::add(std::shared_ptr<optim::LRScheduler> scheduler, Interval interval, int64_t frequency) {
  add({[scheduler] { scheduler->step(); }, [scheduler](auto& archive) { scheduler->save(archive); }, [scheduler](auto& archive) { scheduler->load(archive); },
       interval, frequency});
}
template <class Scheduler>
void TrainerBase::add_monitoring(std::shared_ptr<Scheduler> scheduler, const std::string& monitor, Interval interval, int64_t frequency) {
  const auto step = [this, scheduler, monitor] {
    const auto found = metrics_.find(monitor);
    if (found == metrics_.end()) {
      std::string known;
      for (const auto& [name, value] : metrics_) known += (known.empty() ? "" : ", ") + name;
      CRESSET_CHECK_VALUE(false, "Trainer: a scheduler waits for '", monitor, "', which was not logged; there are: ", known.empty() ? "none" : known);
    }
    scheduler->step(static_cast<decltype(number_of(&Scheduler::step))>(found->second));
  };
  add({step, [scheduler](auto& archive) { scheduler->save(archive); }, [scheduler](auto& archive) { scheduler->load(archive); }, interval, frequency});
}
template void TrainerBase::add_monitoring(std::shared_ptr<optim::lr_scheduler::ReduceLROnPlateau>, const std::string&, Interval, int64_t);
template void TrainerBase::add_monitoring(std::shared_ptr<optim::ReduceLROnPlateauScheduler>, const std::string&, Interval, int64_t);

void TrainerBase::call(void (Callback::*hook)(TrainerBase&)) {
  for (const auto& callback : callbacks_) ((*callback).*hook)(*this);
}

void TrainerBase::log(const std::string& name, double value, int64_t weight) {
  Mean& mean = (validating_ ? val_means_ : train_means_)[name];
  mean.sum += value * static_cast<double>(weight);
  mean.weight += static_cast<double>(weight);
  if (!validating_) step_metrics_[name] = value;
}
void TrainerBase::log(const std::string& name, const Tensor& value, int64_t weight) { log(name, value.detach().to(kDouble).item<double>(), weight); }

TrainerBase::Metrics TrainerBase::means(const std::map<std::string, Mean>& of, const char* suffix) const {
  Metrics found;
  for (const auto& [name, mean] : of) found[name + suffix] = mean.weight > 0 ? mean.sum / mean.weight : 0;
  return found;
}
void TrainerBase::publish(const Metrics& values, bool to_loggers) {
  for (const auto& [name, value] : values) metrics_[name] = value;
  if (!to_loggers || values.empty()) return;
  for (const auto& callback : callbacks_) callback->log_metrics(values, step_);
}

void TrainerBase::run(const Source& training, const Source* validation) {
  has_validation_ = validation != nullptr;
  const bool resumed = !resume_from_.empty();
  epoch_ = step_ = batches_ = 0;
  stage_ = Stage::batches;
  should_stop_ = false;
  metrics_.clear();
  train_means_.clear();
  train_begins_ = val_begins_ = 0;
  if (resumed) restore(std::exchange(resume_from_, std::string()));
  // Between two epochs there is none to be finished.
  bool is_within = resumed && batches_ > 0;
  {
    // Loaders draw their examples' random numbers by the number of the epoch.
    const RngLeftAlone guard;
    for (int64_t i = is_within && stage_ != Stage::ending; i < train_begins_; i++) training.begin();
    for (int64_t i = 0; validation && i < val_begins_; i++) validation->begin();
  }
  module_->train();
  call(&Callback::on_train_start);
  const auto is_done = [&] {
    return should_stop_ || (options_.max_epochs() >= 0 && epoch_ >= options_.max_epochs()) || (options_.max_steps() >= 0 && step_ >= options_.max_steps());
  };
  while (is_within || !is_done()) {
    epoch(training, validation, is_within);
    is_within = false;
  }
  call(&Callback::on_train_end);
}

bool TrainerBase::validates_in_this_epoch() const { return (epoch_ + 1) % options_.check_val_every_n_epoch() == 0; }

void TrainerBase::epoch(const Source& training, const Source* validation, bool resumed) {
  const int64_t interval = options_.val_check_interval(), limit = options_.limit_train_batches();
  const bool validates = validation && validates_in_this_epoch();
  const auto validate_if_due = [&] {
    if (validates && interval > 0 && batches_ % interval == 0 && stage_ == Stage::batches) validate(*validation);
  };
  if (!resumed) {
    batches_ = 0;
    stage_ = Stage::batches;
    train_means_.clear();
    call(&Callback::on_train_epoch_start);
    rng_at_start_ = default_generator().get_state();
    train_begins_++;
    training.begin();
  } else if (stage_ != Stage::ending) {
    // The place within the epoch is found again: its order is drawn anew, and what was used is passed over.
    {
      const RngLeftAlone guard;
      default_generator().set_state(rng_at_start_);
      training.begin();
      for (int64_t i = 0; i < batches_; i++) CRESSET_CHECK(training.next(), "resume: the loader has fewer batches than the checkpoint's epoch used, got ", i);
    }
    validate_if_due();
  }
  if (stage_ != Stage::ending) {
    while (!(should_stop_ && batches_ > 0) && !(options_.max_steps() >= 0 && step_ >= options_.max_steps()) && (limit < 0 || batches_ < limit) &&
           training.next()) {
      batch(training);
      validate_if_due();
    }
    // Batches that are left make a step of their own, before the validation at the end.
    const bool is_validated_at_end = interval == 0 && stage_ == Stage::validated;
    if (batches_ % options_.accumulate_grad_batches() != 0 && !is_validated_at_end) step_optimizer();
    if (validates && interval == 0 && stage_ == Stage::batches) validate(*validation);
    stage_ = Stage::ending;
    publish(means(train_means_, "_epoch"), true);
    step_schedulers(Interval::epoch, epoch_ + 1);
    call(&Callback::on_train_epoch_end);
  }
  epoch_++;
  batches_ = 0;
  stage_ = Stage::batches;
}

void TrainerBase::batch(const Source& training) {
  const int64_t accumulated = options_.accumulate_grad_batches();
  stage_ = Stage::batches;
  step_metrics_.clear();
  if (batches_ % accumulated == 0) optimizer_.zero_grad();
  Tensor loss;
  {
    std::optional<autocast> region;
    if (options_.precision() != Precision::full) region.emplace(kCPU, options_.precision() == Precision::half_mixed ? kHalf : kBFloat16);
    loss = training.step();
  }
  CRESSET_CHECK(loss.defined() && loss.numel() == 1, "fit: the function of a batch gives its loss, one number");
  if (step_metrics_.find("loss") == step_metrics_.end()) log("loss", loss);
  if (accumulated > 1) loss = loss / static_cast<double>(accumulated);
  (scaler_ ? scaler_->scale(loss) : loss).backward();
  batches_++;
  const bool steps = batches_ % accumulated == 0;
  if (steps) step_optimizer();
  publish(step_metrics_, steps && step_ % options_.log_every_n_steps() == 0);
  call(&Callback::on_train_batch_end);
}

void TrainerBase::step_optimizer() {
  if (scaler_) scaler_->unscale_(optimizer_);
  call(&Callback::on_before_optimizer_step);
  if (options_.clip_norm() > 0 || options_.clip_value() > 0) {
    std::vector<Tensor> parameters;
    for (const auto& group : optimizer_.param_groups()) parameters.insert(parameters.end(), group.params().begin(), group.params().end());
    if (options_.clip_norm() > 0) nn::utils::clip_grad_norm_(parameters, options_.clip_norm());
    if (options_.clip_value() > 0) nn::utils::clip_grad_value_(parameters, options_.clip_value());
  }
  if (scaler_) {
    scaler_->step(optimizer_);
    scaler_->update();
  } else {
    optimizer_.step();
  }
  step_++;
  step_schedulers(Interval::step, step_);
}

void TrainerBase::step_schedulers(Interval interval, int64_t count) {
  for (const Scheduled& s : schedulers_)
    if (s.interval == interval && count % s.frequency == 0) s.step();
}

void TrainerBase::validate(const Source& validation) {
  module_->eval();
  val_means_.clear();
  validating_ = true;
  call(&Callback::on_validation_start);
  {
    const NoGradGuard no_gradients;
    val_begins_++;
    validation.begin();
    for (int64_t i = 0; (options_.limit_val_batches() < 0 || i < options_.limit_val_batches()) && validation.next(); i++) {
      std::optional<autocast> region;
      if (options_.precision() != Precision::full) region.emplace(kCPU, options_.precision() == Precision::half_mixed ? kHalf : kBFloat16);
      validation.step();
    }
  }
  validating_ = false;
  stage_ = Stage::validated;
  publish(means(val_means_, ""), true);
  module_->train();
  call(&Callback::on_validation_end);
}

void TrainerBase::save_checkpoint(const std::string& path) const {
  serialize::OutputArchive archive, model, optimizer, loops;
  module_->save(model);
  optimizer_.save(optimizer);
  archive.write("model", model);
  archive.write("optimizer", optimizer);
  for (size_t i = 0; i < schedulers_.size(); i++) {
    serialize::OutputArchive part;
    schedulers_[i].save(part);
    archive.write("scheduler" + std::to_string(i), part);
  }
  if (scaler_) {
    serialize::OutputArchive part;
    scaler_->save(part);
    archive.write("scaler", part);
  }
  std::map<std::string, int> seen;
  for (const auto& callback : callbacks_) {
    if (callback->key().empty()) continue;
    serialize::OutputArchive part;
    callback->save(part);
    archive.write("callback_" + callback->key() + std::to_string(seen[callback->key()]++), part);
  }
  loops.write("schedulers", static_cast<int64_t>(schedulers_.size()));
  loops.write("epoch", epoch_);
  loops.write("step", step_);
  loops.write("batches", batches_);
  loops.write("train_begins", train_begins_);
  loops.write("val_begins", val_begins_);
  loops.write("stage", static_cast<int64_t>(stage_));
  loops.write("should_stop", static_cast<int64_t>(should_stop_));
  loops.write("rng", as_tensor(default_generator().get_state()));
  loops.write("rng_at_start", as_tensor(rng_at_start_));
  std::map<std::string, std::vector<double>> sums, newest;
  for (const auto& [name, mean] : train_means_) sums[name] = {mean.sum, mean.weight};
  for (const auto& [name, value] : metrics_) newest[name] = {value};
  write_table(loops, "means", sums);
  write_table(loops, "metrics", newest);
  // Gradients that wait for their step.
  if (batches_ % options_.accumulate_grad_batches() != 0) {
    int64_t i = 0;
    for (const Tensor& parameter : module_->parameters()) {
      if (parameter.grad().defined()) loops.write("gradient" + std::to_string(i), parameter.grad().detach());
      i++;
    }
  }
  archive.write("loops", loops);
  archive.save_to(path);
}

void TrainerBase::restore(const std::string& path) {
  serialize::InputArchive archive, model, optimizer, loops;
  archive.load_from(path);
  archive.read("model", model);
  archive.read("optimizer", optimizer);
  archive.read("loops", loops);
  const int64_t saved = read_int(loops, "schedulers");
  CRESSET_CHECK(saved == static_cast<int64_t>(schedulers_.size()), "resume: '", path, "' has ", saved, " schedulers, the trainer ", schedulers_.size());
  module_->load(model);
  optimizer_.load(optimizer);
  for (size_t i = 0; i < schedulers_.size(); i++) {
    serialize::InputArchive part;
    archive.read("scheduler" + std::to_string(i), part);
    schedulers_[i].load(part);
  }
  if (scaler_) {
    serialize::InputArchive part;
    archive.read("scaler", part);
    scaler_->load(part);
  }
  std::map<std::string, int> seen;
  for (const auto& callback : callbacks_) {
    serialize::InputArchive part;
    if (!callback->key().empty() && archive.try_read("callback_" + callback->key() + std::to_string(seen[callback->key()]++), part)) callback->load(part);
  }
  epoch_ = read_int(loops, "epoch");
  step_ = read_int(loops, "step");
  batches_ = read_int(loops, "batches");
  train_begins_ = read_int(loops, "train_begins");
  val_begins_ = read_int(loops, "val_begins");
  stage_ = static_cast<Stage>(read_int(loops, "stage"));
  should_stop_ = read_int(loops, "should_stop") != 0;
  Tensor rng, rng_at_start;
  loops.read("rng", rng);
  loops.read("rng_at_start", rng_at_start);
  rng_at_start_ = as_bytes(rng_at_start);
  default_generator().set_state(as_bytes(rng));
  for (const auto& [name, numbers] : read_table(loops, "means", 2)) train_means_[name] = {numbers[0], numbers[1]};
  for (const auto& [name, numbers] : read_table(loops, "metrics", 1)) metrics_[name] = numbers[0];
  int64_t i = 0;
  for (Tensor& parameter : module_->parameters()) {
    Tensor gradient;
    if (loops.try_read("gradient" + std::to_string(i++), gradient)) parameter.mutable_grad() = gradient;
  }
}

}  // namespace cresset::train
