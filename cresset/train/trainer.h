#pragma once
// Training loops: a module, an optimizer, loaders and a function that gives the loss of a batch. Not included by cresset/cresset.h.
//
//   auto trainer = train::make_trainer(net, optimizer, train::TrainerOptions().max_epochs(3).clip_norm(1.0));
//   trainer.add(std::make_shared<train::EarlyStopping>("val_loss"));
//   trainer.fit(*loader, [](Net& net, auto& batch) { return nll_loss(net->forward(batch.data), batch.target); },
//               *val_loader, [&](Net& net, auto& batch) { trainer.log("val_loss", nll_loss(net->forward(batch.data), batch.target), batch.data.size(0)); });

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cresset/base/arg.h"
#include "cresset/nn/module/module.h"
#include "cresset/optim/grad_scaler.h"
#include "cresset/optim/lr_scheduler.h"

namespace cresset::train {

class TrainerBase;

// Things to do at places of the loops.
class CRESSET_API Callback {
 public:
  virtual ~Callback();
  virtual void on_train_start(TrainerBase&) {}
  virtual void on_train_end(TrainerBase&) {}
  virtual void on_train_epoch_start(TrainerBase&) {}
  virtual void on_train_epoch_end(TrainerBase&) {}
  virtual void on_train_batch_end(TrainerBase&) {}
  virtual void on_validation_start(TrainerBase&) {}
  virtual void on_validation_end(TrainerBase&) {}
  // Gradients are not clipped yet.
  virtual void on_before_optimizer_step(TrainerBase&) {}
  // Numbers that were logged.
  virtual void log_metrics(const std::map<std::string, double>&, int64_t /*step*/) {}
  // Those that write checkpoints are called after all others.
  virtual bool writes_checkpoints() const { return false; }
  // The name under which a checkpoint holds the state; empty: it has none.
  virtual std::string key() const { return {}; }
  virtual void save(serialize::OutputArchive&) const {}
  virtual void load(serialize::InputArchive&) {}
};

enum class Precision { full, bfloat16_mixed, half_mixed };
enum class Interval { epoch, step };

struct TrainerOptions {
  // When training ends; -1: not by this.
  CRESSET_ARG(int64_t, max_epochs) = 1;
  CRESSET_ARG(int64_t, max_steps) = -1;
  // How many batches make a step.
  CRESSET_ARG(int64_t, accumulate_grad_batches) = 1;
  // The greatest norm of all gradients together, and the greatest value of each; 0: any.
  CRESSET_ARG(double, clip_norm) = 0;
  CRESSET_ARG(double, clip_value) = 0;
  // Mixed: losses are computed in a region of autocast; float16 with a scaled loss.
  CRESSET_ARG(Precision, precision) = Precision::full;
  // How many batches of an epoch and of a validation are used; -1: all.
  CRESSET_ARG(int64_t, limit_train_batches) = -1;
  CRESSET_ARG(int64_t, limit_val_batches) = -1;
  // After how many batches of an epoch there is a validation; 0: at its end.
  CRESSET_ARG(int64_t, val_check_interval) = 0;
  CRESSET_ARG(int64_t, check_val_every_n_epoch) = 1;
  // How often numbers of steps go to those who log.
  CRESSET_ARG(int64_t, log_every_n_steps) = 50;
};

// The part that does not depend on the types of module and batches.
class CRESSET_API TrainerBase {
 public:
  using Metrics = std::map<std::string, double>;

  virtual ~TrainerBase();
  TrainerBase(const TrainerBase&) = delete;
  TrainerBase& operator=(const TrainerBase&) = delete;

  void add(std::shared_ptr<Callback> callback);
  // Steps it after every `frequency` epochs or optimizer steps. Its state goes into checkpoints.
  void add(std::shared_ptr<optim::LRScheduler> scheduler, Interval interval = Interval::epoch, int64_t frequency = 1);
  // The same with the newest value of a logged number. Errors, when it is stepped: the number was not logged by then.
  void add(std::shared_ptr<optim::lr_scheduler::ReduceLROnPlateau> scheduler, const std::string& monitor, Interval interval = Interval::epoch,
           int64_t frequency = 1) {
    add_monitoring(std::move(scheduler), monitor, interval, frequency);
  }
  void add(std::shared_ptr<optim::ReduceLROnPlateauScheduler> scheduler, const std::string& monitor, Interval interval = Interval::epoch,
           int64_t frequency = 1) {
    add_monitoring(std::move(scheduler), monitor, interval, frequency);
  }
  // The next fit goes on from a checkpoint, to the bit, given loaders that were not used before. Errors: a file that is none, or of another module, optimizer or number of schedulers.
  void resume(std::string path) { resume_from_ = std::move(path); }
  void save_checkpoint(const std::string& path) const;
  void stop() { should_stop_ = true; }

  // In a training step: the number is there as `name`, its mean over the epoch as `name_epoch`. In a validation: its mean.
  // `weight` is how much it counts in the mean: the size of the batch.
  void log(const std::string& name, double value, int64_t weight = 1);
  void log(const std::string& name, const Tensor& value, int64_t weight = 1);

  const TrainerOptions& options() const { return options_; }
  nn::Module& module() const { return *module_; }
  optim::Optimizer& optimizer() const { return optimizer_; }
  // Of the epoch, from 0; of optimizer steps; of batches of this epoch.
  int64_t current_epoch() const { return epoch_; }
  int64_t global_step() const { return step_; }
  int64_t batches_done() const { return batches_; }
  bool has_validation() const { return has_validation_; }
  // The newest value of everything that was logged.
  const Metrics& metrics() const { return metrics_; }

 protected:
  // Batches of a loader, one of which is at hand.
  struct Source {
    std::function<void()> begin;
    std::function<bool()> next;
    std::function<Tensor()> step;
  };

  TrainerBase(std::shared_ptr<nn::Module> module, optim::Optimizer& optimizer, TrainerOptions options);
  void run(const Source& training, const Source* validation);

 private:
  enum class Stage : int64_t { batches, validated, ending };
  struct Mean {
    double sum = 0, weight = 0;
  };
  struct Scheduled {
    std::function<void()> step;
    std::function<void(serialize::OutputArchive&)> save;
    std::function<void(serialize::InputArchive&)> load;
    Interval interval;
    int64_t frequency;
  };
  template <class Scheduler> void add_monitoring(std::shared_ptr<Scheduler> scheduler, const std::string& monitor, Interval interval, int64_t frequency);
  void add(Scheduled scheduled);

  CRESSET_LOCAL void call(void (Callback::*hook)(TrainerBase&));
  CRESSET_LOCAL void epoch(const Source& training, const Source* validation, bool resumed);
  CRESSET_LOCAL void batch(const Source& training);
  CRESSET_LOCAL void step_optimizer();
  CRESSET_LOCAL void step_schedulers(Interval interval, int64_t count);
  CRESSET_LOCAL void validate(const Source& validation);
  CRESSET_LOCAL bool validates_in_this_epoch() const;
  CRESSET_LOCAL Metrics means(const std::map<std::string, Mean>& of, const char* suffix) const;
  CRESSET_LOCAL void publish(const Metrics& values, bool to_loggers);
  CRESSET_LOCAL void restore(const std::string& path);

  std::shared_ptr<nn::Module> module_;
  optim::Optimizer& optimizer_;
  TrainerOptions options_;
  std::unique_ptr<amp::GradScaler> scaler_;
  std::vector<std::shared_ptr<Callback>> callbacks_;
  std::vector<Scheduled> schedulers_;
  std::string resume_from_;

  int64_t epoch_ = 0, step_ = 0, batches_ = 0, train_begins_ = 0, val_begins_ = 0;
  Stage stage_ = Stage::batches;
  bool should_stop_ = false, validating_ = false, has_validation_ = false;
  std::vector<uint8_t> rng_at_start_;
  Metrics metrics_, step_metrics_;
  std::map<std::string, Mean> train_means_, val_means_;
};

// Model: a holder of a module (`Net` of CRESSET_MODULE(Net)), or a shared pointer to one.
template <class Model> class Trainer : public TrainerBase {
 public:
  // The optimizer must outlive the trainer.
  Trainer(Model model, optim::Optimizer& optimizer, TrainerOptions options = {})
      : TrainerBase(pointer_of(model), optimizer, std::move(options)), model_(std::move(model)) {}

  // loss_of(model, batch): the loss. evaluate(model, batch): logs what is to be known; it runs without gradients, in the mode of evaluation.
  template <class Loader, class LossOf> void fit(Loader& loader, LossOf&& loss_of) { run(source(loader, loss_of), nullptr); }
  template <class Loader, class LossOf, class ValLoader, class Evaluate>
  void fit(Loader& loader, LossOf&& loss_of, ValLoader& val_loader, Evaluate&& evaluate) {
    const Source validation = source(val_loader, [&evaluate](Model& model, auto& batch) {
      evaluate(model, batch);
      return Tensor();
    });
    run(source(loader, loss_of), &validation);
  }

  Model& model() { return model_; }

 private:
  static std::shared_ptr<nn::Module> pointer_of(const Model& model) {
    if constexpr (std::is_convertible_v<Model, std::shared_ptr<nn::Module>>) return model;
    else return model.ptr();
  }

  template <class Loader, class Function> Source source(Loader& loader, Function function) {
    using It = decltype(loader.begin());
    struct Place {
      It at, end;
      bool is_fresh;
    };
    const auto place = std::make_shared<std::unique_ptr<Place>>();
    Source made;
    made.begin = [&loader, place] { *place = std::make_unique<Place>(Place{loader.begin(), loader.end(), true}); };
    made.next = [place] {
      Place& p = **place;
      if (!p.is_fresh) ++p.at;
      p.is_fresh = false;
      return p.at != p.end;
    };
    made.step = [this, place, function]() mutable { return function(model_, *(*place)->at); };
    return made;
  }

  Model model_;
};

template <class Model> Trainer<Model> make_trainer(Model model, optim::Optimizer& optimizer, TrainerOptions options = {}) {
  return Trainer<Model>(std::move(model), optimizer, std::move(options));
}

}  // namespace cresset::train
