#include "cresset/train/summary_writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>

#include "cresset/io/image.h"
#include "cresset/tensor.h"
#include "cresset/train/event_file.h"
#include "cresset/train/wire.h"

namespace cresset::train {

// A byte at a time.
uint32_t crc32c(std::string_view data) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0x82F63B78u : 0);
      made[i] = value;
    }
    return made;
  }();
  uint32_t crc = ~0u;
  for (const char c : data) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

uint32_t masked_crc(std::string_view data) {
  const uint32_t crc = crc32c(data);
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

namespace {

void write_summary(EventFile& file, const std::string& values, int64_t step) {
  file.add(wire::real(1, now()) + wire::integer(2, step) + wire::data(5, values));
}
void write_graph(EventFile& file, const std::string& graph) {
  file.add(wire::real(1, now()) + wire::data(4, graph));
  file.add(wire::real(1, now()) + wire::data(8, wire::data(1, "step1") + wire::data(2, "")));
}

std::string plugin(const std::string& name, const std::string& content = "") {
  return wire::data(9, wire::data(1, wire::data(1, name) + wire::data(2, content)));
}
std::string value_of(const std::string& tag, const std::string& parts) { return wire::data(1, wire::data(1, tag) + parts); }
std::string scalar(const std::string& tag, double value) { return value_of(tag, wire::single(2, static_cast<float>(value))); }

std::string shape_of(std::initializer_list<int64_t> sizes) {
  std::string out;
  for (const int64_t n : sizes) out += wire::data(2, wire::integer(1, n));
  return out;
}

template <class T> std::string packed(int field, const std::vector<T>& values) {
  std::string out;
  for (const T v : values) wire::raw(out, v);
  return wire::data(field, out);
}

std::vector<double> numbers_of(const Tensor& tensor) {
  const Tensor flat = tensor.detach().to(kDouble).contiguous().view({-1});
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

std::string histogram(const std::string& tag, const std::vector<double>& values) {
  CRESSET_CHECK_VALUE(!values.empty(), "add_histogram: the input has no element");
  const std::vector<double>& edges = default_edges();
  std::vector<double> counts(edges.size() - 1, 0);
  double least = values[0], most = values[0], sum = 0, squares = 0;
  for (const double v : values) {
    least = std::min(least, v);
    most = std::max(most, v);
    sum += v;
    squares += v * v;
    if (!(v >= edges.front() && v <= edges.back())) continue;
    const size_t bin = static_cast<size_t>(std::upper_bound(edges.begin(), edges.end(), v) - edges.begin());
    counts[std::min(bin, counts.size()) - 1]++;
  }
  size_t first = 0, last = counts.size() - 1;
  while (first < last && counts[first] == 0) first++;
  while (last > first && counts[last] == 0) last--;
  std::vector<double> limits(edges.begin() + static_cast<int64_t>(first), edges.begin() + static_cast<int64_t>(last) + 2), kept{0};
  kept.insert(kept.end(), counts.begin() + static_cast<int64_t>(first), counts.begin() + static_cast<int64_t>(last) + 1);
  return value_of(tag, wire::data(5, wire::real(1, least) + wire::real(2, most) + wire::real(3, static_cast<double>(values.size())) + wire::real(4, sum) +
                                         wire::real(5, squares) + packed(6, limits) + packed(7, kept)));
}

Tensor bytes_of(const Tensor& image) { return image.scalar_type() == kByte ? image : (image.detach().to(kFloat) * 255).clamp(0, 255).to(kByte); }

// (N, C, H, W) as one picture.
Tensor side_by_side(const Tensor& images, int64_t columns) {
  const int64_t count = images.size(0), rows = (count + columns - 1) / columns, height = images.size(2), width = images.size(3);
  const Tensor whole = cresset::zeros({images.size(1), rows * height, std::min(count, columns) * width}, kByte);
  for (int64_t i = 0; i < count; i++) whole.narrow(1, i / columns * height, height).narrow(2, i % columns * width, width).copy_(images[i]);
  return whole;
}

std::string picture(const std::string& tag, const Tensor& image) {
  const Tensor file = vision::encode_png(image);
  const std::string_view content(static_cast<const char*>(file.const_data_ptr()), static_cast<size_t>(file.numel()));
  return value_of(tag,
                  wire::data(4, wire::integer(1, image.size(1)) + wire::integer(2, image.size(2)) + wire::integer(3, image.size(0)) + wire::data(4, content)));
}

void write_text_file(const std::string& path, const std::string& text) {
  const Tensor bytes = cresset::empty({static_cast<int64_t>(text.size())}, kByte);
  if (!text.empty()) std::memcpy(bytes.data_ptr(), text.data(), text.size());
  vision::write_file(path, bytes);
}

std::string plain(const HyperParameter& value) {
  if (const std::string* text = std::get_if<std::string>(&value)) return wire::data(3, *text);
  return wire::real(2, std::visit(
                           [](const auto& v) -> double {
                             if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>) return 0;
                             else return static_cast<double>(v);
                           },
                           value));
}

}  // namespace

struct SummaryWriter::Impl {
  std::string folder, projector;
  size_t max_queue;
  std::unique_ptr<EventFile> file;
  std::map<std::string, std::unique_ptr<EventFile>> others;
  std::mutex mutex;

  void add(const std::string& values, int64_t step) {
    const std::lock_guard<std::mutex> lock(mutex);
    CRESSET_CHECK(file, "SummaryWriter: it is closed");
    write_summary(*file, values, step);
  }
};

SummaryWriter::SummaryWriter(std::string log_dir, size_t max_queue) : impl_(std::make_unique<Impl>()) {
  if (log_dir.empty()) {
    char when[64];
    const time_t seconds = std::time(nullptr);
    tm local{};
    std::strftime(when, sizeof when, "%b%d_%H-%M-%S", localtime_r(&seconds, &local));
    log_dir = std::string("runs/") + when + "_" + host();
  }
  impl_->folder = std::move(log_dir);
  impl_->max_queue = max_queue;
  impl_->file = std::make_unique<EventFile>(impl_->folder, max_queue);
}
SummaryWriter::~SummaryWriter() = default;
SummaryWriter::SummaryWriter(SummaryWriter&&) noexcept = default;
SummaryWriter& SummaryWriter::operator=(SummaryWriter&&) noexcept = default;

const std::string& SummaryWriter::log_dir() const { return impl_->folder; }

void SummaryWriter::add_scalar(const std::string& tag, double value, int64_t step) { impl_->add(scalar(tag, value), step); }

void SummaryWriter::add_scalars(const std::string& main_tag, const std::map<std::string, double>& values, int64_t step) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  CRESSET_CHECK(impl_->file, "SummaryWriter: it is closed");
  for (const auto& [tag, value] : values) {
    std::string folder = main_tag;
    std::replace(folder.begin(), folder.end(), '/', '_');
    folder = impl_->folder + "/" + folder + "_" + tag;
    std::unique_ptr<EventFile>& file = impl_->others[folder];
    if (!file) file = std::make_unique<EventFile>(folder, impl_->max_queue);
    write_summary(*file, scalar(main_tag, value), step);
  }
}

void SummaryWriter::add_histogram(const std::string& tag, const Tensor& values, int64_t step) { impl_->add(histogram(tag, numbers_of(values)), step); }

void SummaryWriter::add_image(const std::string& tag, const Tensor& image, int64_t step) {
  CRESSET_CHECK(image.dim() == 3, "add_image: expected an image (C, H, W), got shape ", image.sizes());
  impl_->add(picture(tag, bytes_of(image)), step);
}
void SummaryWriter::add_images(const std::string& tag, const Tensor& images, int64_t step) {
  CRESSET_CHECK(images.dim() == 4 && images.size(0) > 0, "add_images: expected images (N, C, H, W), got shape ", images.sizes());
  impl_->add(picture(tag, side_by_side(bytes_of(images), 8)), step);
}

void SummaryWriter::add_text(const std::string& tag, const std::string& text, int64_t step) {
  constexpr int kString = 7;
  const std::string tensor = wire::integer(1, kString) + wire::data(2, shape_of({1})) + wire::data(8, text);
  impl_->add(value_of(tag + "/text_summary", wire::data(8, tensor) + plugin("text")), step);
}

void SummaryWriter::add_embedding(const Tensor& points, const std::vector<std::string>& labels, const Tensor& pictures, int64_t step, const std::string& tag) {
  CRESSET_CHECK(points.dim() == 2, "add_embedding: expected points (N, D), got shape ", points.sizes());
  const int64_t count = points.size(0), dims = points.size(1);
  CRESSET_CHECK(labels.empty() || static_cast<int64_t>(labels.size()) == count, "add_embedding: expected as many labels as points, got ", labels.size(),
                " and ", count);
  CRESSET_CHECK(!pictures.defined() || (pictures.dim() == 4 && pictures.size(0) == count), "add_embedding: expected pictures (N, C, H, W) of ", count,
                " points");
  char number[32];
  std::snprintf(number, sizeof number, "%05lld", static_cast<long long>(step));
  const std::string place = std::string(number) + "/" + tag, folder = impl_->folder + "/" + place;
  make_folders(folder);
  std::string entry = "embeddings {\n  tensor_name: \"" + tag + ":" + number + "\"\n";
  if (!labels.empty()) {
    std::string rows;
    for (const std::string& label : labels) rows += label + "\n";
    write_text_file(folder + "/metadata.tsv", rows);
    entry += "  metadata_path: \"" + place + "/metadata.tsv\"\n";
  }
  if (pictures.defined()) {
    const int64_t columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
    vision::write_png(side_by_side(bytes_of(pictures), columns), folder + "/sprite.png");
    entry += "  sprite {\n    image_path: \"" + place + "/sprite.png\"\n    single_image_dim: " + std::to_string(pictures.size(3)) +
             "\n    single_image_dim: " + std::to_string(pictures.size(2)) + "\n  }\n";
  }
  const std::vector<double> values = numbers_of(points);
  std::string rows;
  for (int64_t i = 0; i < count * dims; i++) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", values[static_cast<size_t>(i)]);
    rows += text;
    rows += (i + 1) % dims ? '\t' : '\n';
  }
  write_text_file(folder + "/tensors.tsv", rows);
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->projector += entry + "  tensor_path: \"" + place + "/tensors.tsv\"\n}\n";
  write_text_file(impl_->folder + "/projector_config.pbtxt", impl_->projector);
}

void SummaryWriter::add_pr_curve(const std::string& tag, const Tensor& labels, const Tensor& predictions, int64_t step, int64_t num_thresholds) {
  CRESSET_CHECK_VALUE(num_thresholds >= 2 && num_thresholds <= 127, "add_pr_curve: num_thresholds is 2 to 127, got ", num_thresholds);
  CRESSET_CHECK_VALUE(labels.numel() == predictions.numel(), "add_pr_curve: expected as many labels as predictions, got ", labels.numel(), " and ",
                      predictions.numel());
  const std::vector<double> truth = numbers_of(labels), guessed = numbers_of(predictions);
  const size_t n = static_cast<size_t>(num_thresholds);
  // True and false positives, then negatives, precision and recall, at each threshold.
  std::vector<double> tp(n + 1, 0), fp(n + 1, 0);
  for (size_t i = 0; i < truth.size(); i++) {
    const double place = std::floor(guessed[i] * static_cast<double>(num_thresholds - 1));
    if (!(place >= 0 && place <= static_cast<double>(num_thresholds - 1))) continue;
    tp[static_cast<size_t>(place)] += truth[i];
    fp[static_cast<size_t>(place)] += 1 - truth[i];
  }
  for (size_t i = n; i-- > 0;) {
    tp[i] += tp[i + 1];
    fp[i] += fp[i + 1];
  }
  constexpr double kLeast = 1e-7;
  std::vector<float> rows(6 * n);
  for (size_t i = 0; i < n; i++) {
    const double parts[] = {tp[i], fp[i], fp[0] - fp[i], tp[0] - tp[i], tp[i] / std::max(kLeast, tp[i] + fp[i]), tp[i] / std::max(kLeast, tp[0])};
    for (size_t j = 0; j < 6; j++) rows[j * n + i] = static_cast<float>(parts[j]);
  }
  const std::string tensor = wire::integer(1, 1) + wire::data(2, shape_of({6, num_thresholds})) + packed(5, rows);
  impl_->add(value_of(tag, wire::data(8, tensor) + plugin("pr_curves", wire::integer(2, num_thresholds))), step);
}

void SummaryWriter::add_hparams(const std::vector<std::pair<std::string, HyperParameter>>& parameters, const std::map<std::string, double>& metrics,
                                const std::string& run_name) {
  std::string infos, start, named;
  for (const auto& [name, value] : parameters) {
    const int kind = std::holds_alternative<std::string>(value) ? 1 : 3;
    infos += wire::data(4, wire::data(1, name) + wire::integer(4, kind));
    start += wire::data(1, wire::data(1, name) + wire::data(2, plain(value)));
  }
  for (const auto& [name, value] : metrics) named += wire::data(5, wire::data(1, wire::data(2, name)));
  const auto part = [](const char* name, int field, const std::string& message) {
    return value_of(std::string("_hparams_/") + name, plugin("hparams", wire::data(field, message)));
  };
  EventFile file(impl_->folder + "/" + run_name, 1000);
  write_summary(file, part("experiment", 2, infos + named), 0);
  write_summary(file, part("session_start_info", 3, start + wire::real(5, now())), 0);
  write_summary(file, part("session_end_info", 4, wire::integer(1, 1)), 0);
  for (const auto& [name, value] : metrics) write_summary(file, scalar(name, value), 0);
  file.flush();
}

void SummaryWriter::add_recorded(const RecordedRun& run) {
  const std::string graph = run.graph();
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  CRESSET_CHECK(impl_->file, "SummaryWriter: it is closed");
  write_graph(*impl_->file, graph);
}

void SummaryWriter::flush() {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (impl_->file) impl_->file->flush();
  for (auto& [folder, file] : impl_->others) file->flush();
}
void SummaryWriter::close() {
  flush();
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->file.reset();
  impl_->others.clear();
}

}  // namespace cresset::train
