#include <bit>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include <png.h>

#include "cresset/kernels/providers/image/codecs.h"

namespace cresset::kernels::image_codecs {

namespace {

// The most bytes that deflate makes of one, rounded up.
constexpr double kMostRawPerByte = 1040;

// libpng's way out of an error is a jump: the functions that it leaves hold nothing that needs destruction.
struct Trouble {
  std::jmp_buf way_out;
  char text[256];
};

[[noreturn]] void leave(png_structp codec, png_const_charp message) {
  Trouble* trouble = static_cast<Trouble*>(png_get_error_ptr(codec));
  std::snprintf(trouble->text, sizeof trouble->text, "%s", message);
  std::longjmp(trouble->way_out, 1);
}
void ignore(png_structp, png_const_charp) {}

// Whether every chunk up to the last lies within the file. libpng takes memory for what a chunk claims before it reads it.
bool is_whole(const DecodeRequest& request) {
  for (size_t at = 8; request.size >= 12 && at <= request.size - 12;) {
    const unsigned char* chunk = request.data + at;
    const size_t length = size_t{chunk[0]} << 24 | size_t{chunk[1]} << 16 | size_t{chunk[2]} << 8 | chunk[3];
    if (length > request.size - 12 - at) return false;
    if (!std::memcmp(chunk + 4, "IEND", 4)) return true;
    at += 12 + length;
  }
  return false;
}

class Decoder {
 public:
  explicit Decoder(const DecodeRequest& request) : request_(request), left_(request.size) {}
  ~Decoder() {
    if (codec_) png_destroy_read_struct(&codec_, &info_, nullptr);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  const char* text() const { return trouble_.text; }
  int64_t height() const { return png_get_image_height(codec_, info_); }
  int64_t width() const { return png_get_image_width(codec_, info_); }
  int64_t raw_bytes() const { return static_cast<int64_t>(png_get_rowbytes(codec_, info_)) * height(); }

  bool read_header() {
    if (setjmp(trouble_.way_out)) return false;
    codec_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &trouble_, leave, ignore);
    info_ = codec_ ? png_create_info_struct(codec_) : nullptr;
    if (!info_) {
      std::snprintf(trouble_.text, sizeof trouble_.text, "libpng has no memory, or is another version than at the build");
      return false;
    }
    png_set_read_fn(codec_, this, [](png_structp codec, png_bytep to, size_t size) {
      Decoder& self = *static_cast<Decoder*>(png_get_io_ptr(codec));
      if (size > self.left_) png_error(codec, "it is truncated");
      std::memcpy(to, self.request_.data + (self.request_.size - self.left_), size);
      self.left_ -= size;
    });
    // Packed texts and profiles are nothing that is shown, and can be bombs each.
    constexpr png_byte kSkipped[] = "iCCP\0iTXt\0sPLT\0tEXt\0zTXt";
    png_set_keep_unknown_chunks(codec_, PNG_HANDLE_CHUNK_NEVER, kSkipped, sizeof kSkipped / 5);
    png_read_info(codec_, info_);
    return true;
  }

  // The facts are those of the rows that are read: with colours where gray is to be made of them.
  bool start(ImageFacts& facts) {
    if (setjmp(trouble_.way_out)) return false;
    const int kind = png_get_color_type(codec_, info_);
    const bool has_alpha = (kind & PNG_COLOR_MASK_ALPHA) || png_get_valid(codec_, info_, PNG_INFO_tRNS);
    const bool has_color = kind & PNG_COLOR_MASK_COLOR;
    const int wanted = request_.channels ? request_.channels : (has_color ? 3 : 1) + has_alpha;
    png_set_expand(codec_);
    if (wanted >= 3 && !has_color) png_set_gray_to_rgb(codec_);
    if (wanted % 2 == 1 && has_alpha) png_set_strip_alpha(codec_);
    if (wanted % 2 == 0 && !has_alpha) png_set_add_alpha(codec_, 0xFFFF, PNG_FILLER_AFTER);
    if (std::endian::native == std::endian::little) png_set_swap(codec_);
    passes_ = png_set_interlace_handling(codec_);
    png_read_update_info(codec_, info_);
    facts.height = height();
    facts.width = width();
    facts.channels = png_get_channels(codec_, info_);
    facts.bytes = png_get_bit_depth(codec_, info_) == 16 ? 2 : 1;
    facts.orientation = orientation();
    return true;
  }

  bool read_rows(const ImageFacts& facts, uint8_t* to) {
    if (setjmp(trouble_.way_out)) return false;
    const int64_t row = facts.width * facts.channels * facts.bytes;
    for (int pass = 0; pass < passes_; pass++)
      for (int64_t y = 0; y < facts.height; y++) png_read_row(codec_, to + y * row, nullptr);
    png_read_end(codec_, nullptr);
    return true;
  }

 private:
  int orientation() {
    png_uint_32 size = 0;
    png_bytep exif = nullptr;
    return png_get_eXIf_1(codec_, info_, &size, &exif) && exif ? exif_orientation(exif, size) : 1;
  }

  const DecodeRequest& request_;
  size_t left_;
  png_structp codec_ = nullptr;
  png_infop info_ = nullptr;
  Trouble trouble_{};
  int passes_ = 1;
};

template <class T> void to_gray(const T* from, T* to, int64_t pixels, int channels) {
  const int alpha = channels - 3;
  for (int64_t i = 0; i < pixels; i++, from += channels) {
    *to++ = static_cast<T>((uint32_t{from[0]} * 19595u + uint32_t{from[1]} * 38470u + uint32_t{from[2]} * 7471u + 0x8000u) >> 16);
    if (alpha) *to++ = from[3];
  }
}

class Encoder {
 public:
  explicit Encoder(std::vector<unsigned char>& bytes) : bytes_(bytes) {}
  ~Encoder() {
    if (codec_) png_destroy_write_struct(&codec_, &info_);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  const char* text() const { return trouble_.text; }

  bool encode(const uint8_t* pixels, int64_t height, int64_t width, int channels, int compression) {
    if (setjmp(trouble_.way_out)) return false;
    codec_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &trouble_, leave, ignore);
    info_ = codec_ ? png_create_info_struct(codec_) : nullptr;
    if (!info_) {
      std::snprintf(trouble_.text, sizeof trouble_.text, "libpng has no memory, or is another version than at the build");
      return false;
    }
    png_set_write_fn(codec_, this, take, [](png_structp) {});
    png_set_compression_level(codec_, compression);
    png_set_IHDR(codec_, info_, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8, channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(codec_, info_);
    for (int64_t y = 0; y < height; y++) png_write_row(codec_, pixels + y * width * channels);
    png_write_end(codec_, info_);
    return true;
  }

 private:
  // Memory that runs out is libpng's error, not an exception through its frames.
  static void take(png_structp codec, png_bytep data, size_t size) {
    if (!static_cast<Encoder*>(png_get_io_ptr(codec))->append(data, size)) png_error(codec, "out of memory");
  }
  bool append(const unsigned char* data, size_t size) noexcept {
    try {
      bytes_.insert(bytes_.end(), data, data + size);
    } catch (...) { return false; }
    return true;
  }

  std::vector<unsigned char>& bytes_;
  png_structp codec_ = nullptr;
  png_infop info_ = nullptr;
  Trouble trouble_{};
};

}  // namespace

bool decode_png(const DecodeRequest& request, PlaceImage place, std::string& error) {
  if (!is_whole(request)) {
    error = "it is truncated";
    return false;
  }
  Decoder decoder(request);
  ImageFacts facts{};
  const auto failed = [&] {
    error = decoder.text();
    return false;
  };
  if (!decoder.read_header()) return failed();
  if (!size_is_plausible(decoder.height(), decoder.width(), decoder.raw_bytes(), kMostRawPerByte, request, error)) return false;
  if (!decoder.start(facts)) return failed();
  const bool loses_color = request.channels && request.channels < 3 && facts.channels >= 3;
  if (!loses_color) return decoder.read_rows(facts, static_cast<uint8_t*>(place(facts))) || failed();
  const int64_t pixels = facts.height * facts.width;
  const auto colors = std::make_unique<uint16_t[]>(static_cast<size_t>(pixels * facts.channels * facts.bytes + 1) / 2);
  if (!decoder.read_rows(facts, reinterpret_cast<uint8_t*>(colors.get()))) return failed();
  ImageFacts gray = facts;
  gray.channels = facts.channels - 2;
  void* to = place(gray);
  if (facts.bytes == 2) to_gray(colors.get(), static_cast<uint16_t*>(to), pixels, facts.channels);
  else to_gray(reinterpret_cast<const uint8_t*>(colors.get()), static_cast<uint8_t*>(to), pixels, facts.channels);
  return true;
}

bool encode_png(const uint8_t* pixels, int64_t height, int64_t width, int channels, int compression, TakeBytes take, std::string& error) {
  std::vector<unsigned char> bytes;
  {
    Encoder encoder(bytes);
    if (!encoder.encode(pixels, height, width, channels, compression)) {
      error = encoder.text();
      return false;
    }
  }
  take(bytes.data(), bytes.size());
  return true;
}

}  // namespace cresset::kernels::image_codecs
