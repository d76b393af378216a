// Frequencies, windows and short-time Fourier transforms.

#include <cmath>

#include "cresset/base/warning.h"
#include "cresset/core/batched.h"
#include "cresset/ops/bodies_fft.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

constexpr double kPi = 3.14159265358979323846;

TensorOptions plain(const TensorOptions& options) { return options.requires_grad(std::nullopt); }

TensorOptions floating(const char* op, const TensorOptions& options) {
  const ScalarType t = options.has_dtype() ? options.dtype() : get_default_dtype();
  CRESSET_CHECK(is_floating_type(t) || is_complex_type(t), op, " requires a floating point or complex dtype, got ", t);
  return plain(options).dtype(t);
}

DimVector all_or(const Tensor& self, OptionalIntArrayRef dim) {
  DimVector dims;
  if (dim)
    for (const int64_t d : dim.value()) dims.push_back(wrap_dim(d, self.dim()));
  else
    for (int64_t d = 0; d < self.dim(); d++) dims.push_back(d);
  return dims;
}

Tensor shifted(const char* op, const Tensor& self, OptionalIntArrayRef dim, int64_t round_up) {
  const DimVector dims = all_or(self, dim);
  CRESSET_CHECK(!dims.empty(), op, ": expected a dimension to shift along, got shape ", self.sizes());
  DimVector shifts;
  for (const int64_t d : dims) shifts.push_back((self.size(d) + round_up) / 2);
  return cresset::roll(self, shifts, dims);
}

void warn_of_no_window(const char* op) {
  cresset::warn(str(
      op, ": without a window all samples of a frame count the same, which smears every frequency over its neighbours; give window=, as hann_window(n_fft)"));
}

}  // namespace

namespace composite {

void fft_fftfreq_out(int64_t n, double d, Tensor& out) {
  const Tensor result = composite::fft_fftfreq(n, d, TensorOptions(out.scalar_type()).device(out.device()));
  store_out("fftfreq", out, result, OutDtype::cast);
}
void fft_rfftfreq_out(int64_t n, double d, Tensor& out) {
  const Tensor result = composite::fft_rfftfreq(n, d, TensorOptions(out.scalar_type()).device(out.device()));
  store_out("rfftfreq", out, result, OutDtype::cast);
}

Tensor fft_fftfreq(int64_t n, double d, const TensorOptions& options) {
  const TensorOptions o = floating("fftfreq", options);
  CRESSET_CHECK(n >= 0, "fftfreq: trying to create a tensor with negative dimension ", n);
  Tensor result = cresset::arange(n, o);
  result.narrow(0, (n + 1) / 2, n / 2).copy_(cresset::arange(-(n / 2), 0, o));
  return fresh(result.mul_(1.0 / (static_cast<double>(n) * d)));
}
Tensor fft_rfftfreq(int64_t n, double d, const TensorOptions& options) {
  const TensorOptions o = floating("rfftfreq", options);
  CRESSET_CHECK(n >= 0, "rfftfreq: trying to create a tensor with negative dimension ", n);
  return fresh(cresset::arange(n / 2 + 1, o).mul_(1.0 / (static_cast<double>(n) * d)));
}

Tensor fft_fftshift(const Tensor& self, OptionalIntArrayRef dim) { return shifted("fftshift", self, dim, 0); }
Tensor fft_ifftshift(const Tensor& self, OptionalIntArrayRef dim) { return shifted("ifftshift", self, dim, 1); }

}  // namespace composite

namespace {

void check_window(const char* op, int64_t length, const TensorOptions& options) {
  CRESSET_CHECK(options.layout() == Layout::Strided, op, ": expected a dense tensor, got ", options.layout());
  const ScalarType t = options.has_dtype() ? options.dtype() : get_default_dtype();
  CRESSET_CHECK(is_floating_type(t) || is_complex_type(t), op, " expects floating point dtypes, got ", t);
  CRESSET_CHECK(length >= 0, op, ": expected window_length of 0 or more, got ", length);
  CRESSET_CHECK_NOT_IMPLEMENTED(length < 2 || !is_complex_type(t), op, ": not implemented for ", t);
}

// values(k, n) of 0 .. n - 1; a periodic window is the longer one without its last element.
template <class F> Tensor window(const char* op, int64_t length, bool periodic, const TensorOptions& options, F values) {
  check_window(op, length, options);
  const TensorOptions o = plain(options).dtype(options.has_dtype() ? options.dtype() : get_default_dtype());
  if (length == 0) return cresset::empty({0}, o);
  if (length == 1) return fresh(cresset::ones({1}, o));
  const int64_t n = length + periodic;
  Tensor result = values(cresset::arange(n, o), static_cast<double>(n - 1));
  return fresh(periodic ? result.narrow(0, 0, length) : result);
}

// In single precision: sin(r) for the distance r from the nearest multiple of pi, in double and rounded once. The coefficients are those
// that PyTorch's cosine follows (99.98 % of its values), since windows are compared to the bit.
Tensor cosine(const Tensor& angles) {
  if (angles.scalar_type() != kFloat) return angles.cos();
  const Tensor x = angles.to(kDouble), turn = x.mul(1 / kPi).sub_(0.5).round_(), r = x.sub(turn.add(0.5).mul_(kPi)), u = r.mul(r);
  Tensor y = u.mul(2.605740001279133e-06).add_(-1.9809584494429063e-04).mul_(u).add_(8.33306600769021e-03).mul_(u).add_(-1.6666659543459295e-01);
  y.mul_(u).mul_(r).add_(r);
  return y.mul_(turn.remainder(2).mul_(2).sub_(1)).to(kFloat);
}

Tensor cosine_window(const char* op, int64_t length, bool periodic, double alpha, double beta, const TensorOptions& options) {
  return window(op, length, periodic, options, [&](Tensor k, double last) { return cosine(k.mul_(2 * kPi / last)).mul_(-beta).add_(alpha); });
}

}  // namespace

namespace composite {

Tensor bartlett_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return window("bartlett_window", window_length, periodic, options, [](Tensor k, double last) {
    k.mul_(2 / last);
    const int64_t half = (static_cast<int64_t>(last) >> 1) + 1, rest = k.size(0) - half;
    k.narrow(0, half, rest).mul_(-1).add_(2);
    return k;
  });
}
Tensor blackman_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return window("blackman_window", window_length, periodic, options, [](Tensor k, double last) {
    k.mul_(kPi / last);
    return cosine(k.mul(4)).mul_(0.08).sub_(cosine(k.mul(2)).mul_(0.5)).add_(0.42);
  });
}
Tensor hann_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return cosine_window("hann_window", window_length, periodic, 0.5, 0.5, options);
}
Tensor hamming_window(int64_t window_length, bool periodic, double alpha, double beta, const TensorOptions& options) {
  return cosine_window("hamming_window", window_length, periodic, alpha, beta, options);
}
Tensor kaiser_window(int64_t window_length, bool periodic, double beta, const TensorOptions& options) {
  return window("kaiser_window", window_length, periodic, options, [&](Tensor k, double last) {
    const ScalarType t = k.scalar_type();
    const Tensor x = k.to(kDouble).mul_(2 / last).sub_(1), inside = x.mul(x).neg_().add_(1).clamp_min_(0).sqrt_().mul_(beta);
    const Tensor whole = cresset::full({}, beta, inside.options());
    return cresset::i0(inside).div_(cresset::i0(whole)).to(t);
  });
}

Tensor bartlett_window(int64_t window_length, const TensorOptions& options) { return cresset::bartlett_window(window_length, true, options); }
Tensor blackman_window(int64_t window_length, const TensorOptions& options) { return cresset::blackman_window(window_length, true, options); }
Tensor hann_window(int64_t window_length, const TensorOptions& options) { return cresset::hann_window(window_length, true, options); }
Tensor hamming_window(int64_t window_length, const TensorOptions& options) { return cresset::hamming_window(window_length, true, options); }
Tensor hamming_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return cresset::hamming_window(window_length, periodic, 0.54, options);
}
Tensor hamming_window(int64_t window_length, bool periodic, double alpha, const TensorOptions& options) {
  return cresset::hamming_window(window_length, periodic, alpha, 0.46, options);
}
Tensor kaiser_window(int64_t window_length, const TensorOptions& options) { return cresset::kaiser_window(window_length, true, options); }
Tensor kaiser_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return cresset::kaiser_window(window_length, periodic, 12.0, options);
}

}  // namespace composite

namespace {

// The window in the middle of n_fft elements; undefined where there is none and it would be ones.
Tensor placed_window(const std::optional<Tensor>& window, int64_t win_length, int64_t n_fft, const TensorOptions& options) {
  const int64_t left = (n_fft - win_length) / 2;
  const Tensor given = window && window->defined() ? *window : Tensor();
  if (win_length == n_fft) return given;
  return cresset::constant_pad_nd(given.defined() ? given : cresset::ones({win_length}, options), {left, n_fft - win_length - left});
}

bool is_complex_window(const std::optional<Tensor>& window) { return window && window->defined() && window->is_complex(); }

void check_window_shape(const char* op, const std::optional<Tensor>& window, int64_t win_length) {
  CRESSET_CHECK(!window || !window->defined() || (window->dim() == 1 && window->size(0) == win_length), op,
                ": expected a window of one dimension and size win_length=", win_length, ", but got window with size ",
                window ? window->sizes() : IntArrayRef());
}

// Rows of frames put back where they came from, `hop` apart, and summed.
Tensor overlap_add(const Tensor& frames, int64_t hop, int64_t length) {
  const int64_t count = frames.size(1), n = frames.size(2);
  const TensorOptions whole = TensorOptions(kLong).device(frames.device());
  const Tensor index = (cresset::arange(count, whole).unsqueeze(1) * hop + cresset::arange(n, whole)).reshape({-1});
  return cresset::zeros({frames.size(0), length}, frames.options()).index_add(1, index, frames.reshape({frames.size(0), count * n}));
}

}  // namespace

namespace composite {

Tensor stft(const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length, const std::optional<Tensor>& window,
            bool center, std::string_view pad_mode, bool normalized, std::optional<bool> onesided, std::optional<bool> return_complex,
            std::optional<bool> align_to_window) {
  const int64_t hop = hop_length.value_or(n_fft / 4), win = win_length.value_or(n_fft);
  const bool complex = self.is_complex() || is_complex_window(window), aligned = align_to_window.value_or(false);
  CRESSET_CHECK(!center || !align_to_window, "stft: align_to_window should only be set when center = false");
  CRESSET_CHECK(return_complex || complex, "stft: expected return_complex for a real input, got none; True gives complex values.");
  CRESSET_CHECK(is_floating_type(self.scalar_type()) || self.is_complex(), "stft: expected a floating or complex dtype, got ", self.scalar_type());
  CRESSET_CHECK(self.dim() == 1 || self.dim() == 2, "stft: expected a 1D or 2D tensor, got shape ", self.sizes());
  if (!window) warn_of_no_window("stft");
  Tensor x = self.dim() == 1 ? self.unsqueeze(0) : self;
  if (center) x = cresset::pad(x.unsqueeze(0), {n_fft / 2, n_fft / 2}, pad_mode).squeeze(0);
  const int64_t length = x.size(1);
  CRESSET_CHECK(n_fft > 0 && n_fft <= length, "stft: expected 0 < n_fft < ", length, ", but got n_fft=", n_fft);
  CRESSET_CHECK(hop > 0, "stft: expected hop_length > 0, but got hop_length=", hop);
  CRESSET_CHECK(win > 0 && win <= n_fft, "stft: expected 0 < win_length <= n_fft, but got win_length=", win);
  check_window_shape("stft", window, win);
  const bool half = onesided.value_or(!complex);
  CRESSET_CHECK(!half || !complex, "stft: expected onesided=False for complex values");
  const Tensor factors = placed_window(window, win, n_fft, self.options());
  if (aligned && win < n_fft) {
    const int64_t left = (n_fft - win) / 2;
    x = cresset::constant_pad_nd(x, {left, n_fft - win - left});
  }
  Tensor frames = x.unfold(1, n_fft, hop);
  if (factors.defined()) frames = frames * factors;
  const std::optional<std::string_view> norm = normalized ? "ortho" : "backward";
  const Tensor spectra = half ? cresset::fft_rfft(frames, {}, -1, norm) : cresset::fft_fft(frames, {}, -1, norm);
  Tensor result = spectra.transpose(1, 2);
  if (self.dim() == 1) result = result.squeeze(0);
  return return_complex.value_or(true) ? result : cresset::view_as_real(result);
}

Tensor istft(const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length, const std::optional<Tensor>& window,
             bool center, bool normalized, std::optional<bool> onesided, std::optional<int64_t> length, bool return_complex) {
  const int64_t hop = hop_length.value_or(n_fft / 4), win = win_length.value_or(n_fft);
  CRESSET_CHECK(self.is_complex(), "istft: expected a complex input, as stft gives with return_complex=True");
  CRESSET_CHECK(self.numel() > 0, "istft: input tensor cannot be empty.");
  CRESSET_CHECK(self.dim() == 2 || self.dim() == 3, "istft: expected 2 or 3 dimensions, got ", self.dim());
  if (!window) warn_of_no_window("istft");
  const bool half = onesided.value_or(self.size(-2) != n_fft);
  CRESSET_CHECK(!half || !return_complex, "istft: expected onesided=False for a complex output or window");
  const int64_t bins = self.size(-2), frames = self.size(-1), total = n_fft + hop * (frames - 1);
  CRESSET_CHECK(bins == (half ? n_fft / 2 + 1 : n_fft), "istft: expected the number of frequencies to be n_fft ",
                half ? "/ 2 + 1 when onesided=True" : "when onesided=False", ", got ", bins);
  CRESSET_CHECK(hop > 0 && hop <= win, "istft: expected 0 < hop_length <= win_length, got ", hop, " and ", win);
  CRESSET_CHECK(win > 0 && win <= n_fft, "istft: expected 0 < win_length <= n_fft, got ", win, " and ", n_fft);
  check_window_shape("istft", window, win);
  CRESSET_CHECK(return_complex || !is_complex_window(window), "istft: Complex windows are incompatible with return_complex=False");

  Tensor x = (self.dim() == 2 ? self.unsqueeze(0) : self).transpose(1, 2);
  const std::optional<std::string_view> norm = normalized ? "ortho" : "backward";
  if (!return_complex && !half) x = x.narrow(-1, 0, n_fft / 2 + 1);
  const Tensor pieces = return_complex ? cresset::fft_ifft(x, {}, -1, norm) : cresset::fft_irfft(x, n_fft, -1, norm);
  const TensorOptions real = TensorOptions(to_real_type(self.scalar_type())).device(self.device());
  Tensor factors = placed_window(window, win, n_fft, real);
  if (!factors.defined()) factors = cresset::ones({n_fft}, real);

  const int64_t start = center ? n_fft / 2 : 0;
  const int64_t end = length ? start + *length : center ? total - n_fft / 2 : total;
  const int64_t stop = std::min(end, total), kept = std::max<int64_t>(stop - start, 0);
  const Tensor envelope = overlap_add((factors * factors).expand({1, frames, n_fft}), hop, total).narrow(1, start, kept);
  if (!envelope.lacks_data()) {
    CRESSET_CHECK(kept > 0, "istft: expected an output with elements, got a length of ", kept);
    const double least = physical(envelope).detach().abs().min().item().as<double>();
    CRESSET_CHECK(least > 1e-11, "istft: window overlap add min: ", least, ", so that not every sample can be told");
  }
  Tensor result = overlap_add(pieces * factors, hop, total).narrow(1, start, kept) / envelope;
  if (self.dim() == 2) result = result.squeeze(0);
  return end > total ? cresset::constant_pad_nd(result, {0, end - total}) : result;
}

}  // namespace composite

}  // namespace cresset::ops
