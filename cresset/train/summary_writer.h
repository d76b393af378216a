#pragma once
// Writes the figures of training as TensorBoard reads them: the SummaryWriter of torch.utils.tensorboard. Not included by cresset/cresset.h.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cresset/core/tensor.h"
#include "cresset/train/recorded_run.h"

namespace cresset::train {

using HyperParameter = std::variant<bool, int64_t, double, std::string>;

// Events are written when `max_queue` of them wait, and at flush and close. Methods may be called by several threads.
class CRESSET_API SummaryWriter {
 public:
  // An empty folder's name stands for runs/TIME_HOST.
  explicit SummaryWriter(std::string log_dir = "", size_t max_queue = 10);
  ~SummaryWriter();
  SummaryWriter(SummaryWriter&&) noexcept;
  SummaryWriter& operator=(SummaryWriter&&) noexcept;

  const std::string& log_dir() const;

  void add_scalar(const std::string& tag, double value, int64_t step = 0);
  // Numbers that are drawn in one chart; each has a folder of its own.
  void add_scalars(const std::string& main_tag, const std::map<std::string, double>& values, int64_t step = 0);
  // How the values are distributed. Errors: none.
  void add_histogram(const std::string& tag, const Tensor& values, int64_t step = 0);
  // (C, H, W), or (N, C, H, W) in rows of 8; numbers from 0 to 1, or bytes. Errors: other shapes, other than 1 or 3 channels; no codec of PNG.
  void add_image(const std::string& tag, const Tensor& image, int64_t step = 0);
  void add_images(const std::string& tag, const Tensor& images, int64_t step = 0);
  // Shown as Markdown.
  void add_text(const std::string& tag, const std::string& text, int64_t step = 0);
  // Points (N, D) for the projector with a label, and a picture (N, C, H, W), each. Errors: other numbers of labels or pictures.
  void add_embedding(const Tensor& points, const std::vector<std::string>& labels = {}, const Tensor& pictures = {}, int64_t step = 0,
                     const std::string& tag = "default");
  // Precision and recall of labels 0 and 1 and predictions from 0 to 1. Errors: different numbers of them; thresholds outside 2 to 127.
  void add_pr_curve(const std::string& tag, const Tensor& labels, const Tensor& predictions, int64_t step = 0, int64_t num_thresholds = 127);
  // The hyperparameters of a run and what came of it, in a folder of its own.
  void add_hparams(const std::vector<std::pair<std::string, HyperParameter>>& parameters, const std::map<std::string, double>& metrics,
                   const std::string& run_name);

  // The operators of a run of the model (a holder of a module, or a pointer to one) in evaluation mode, as their gradients recorded them: what has
  // none, numbers and indices among it, is not shown. An operator stands in the module whose parameters it takes.
  template <class Model, class... Inputs> void add_graph(Model& model, const Inputs&... inputs) {
    RecordedRun run(*model);
    run.output(model->forward(run.input(inputs)...));
    add_recorded(run);
  }
  void add_recorded(const RecordedRun& run);

  void flush();
  // Writes what waits; nothing can be added afterwards.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cresset::train
