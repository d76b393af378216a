#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <jpeglib.h>

#include <jerror.h>

#include "cresset/kernels/providers/image/codecs.h"

namespace cresset::kernels::image_codecs {

namespace {

// Every block of 64 values takes a bit at least.
constexpr double kMostValuesPerByte = 512;
// Files with more passes over the image only waste time; encoders make about ten.
constexpr int kMostScans = 100;

// libjpeg's way out of an error is a jump: the functions that it leaves hold nothing that needs destruction.
struct Trouble {
  jpeg_error_mgr manager;
  std::jmp_buf way_out;
  char text[JMSG_LENGTH_MAX];
};

Trouble* trouble_of(j_common_ptr codec) { return reinterpret_cast<Trouble*>(codec->err); }

[[noreturn]] void leave(j_common_ptr codec) {
  Trouble* trouble = trouble_of(codec);
  trouble->manager.format_message(codec, trouble->text);
  std::longjmp(trouble->way_out, 1);
}

bool loses_data(int code) {
  for (const int lossy : {JWRN_ARITH_BAD_CODE, JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE, JWRN_JPEG_EOF, JWRN_MUST_RESYNC})
    if (code == lossy) return true;
  return false;
}

// A warning about pixels that are made up is an error.
void on_message(j_common_ptr codec, int level) {
  if (level < 0 && loses_data(codec->err->msg_code)) leave(codec);
}

jpeg_error_mgr* install(Trouble& trouble) {
  jpeg_error_mgr* manager = jpeg_std_error(&trouble.manager);
  manager->error_exit = leave;
  manager->emit_message = on_message;
  manager->output_message = [](j_common_ptr) {};
  return manager;
}

void count_scans(j_common_ptr codec) {
  if (reinterpret_cast<j_decompress_ptr>(codec)->input_scan_number <= kMostScans) return;
  Trouble* trouble = trouble_of(codec);
  std::snprintf(trouble->text, sizeof trouble->text, "more than %d scans", kMostScans);
  std::longjmp(trouble->way_out, 1);
}

class Decoder {
 public:
  Decoder() {
    codec_.err = install(trouble_);
    progress_.progress_monitor = count_scans;
  }
  ~Decoder() {
    if (created_) jpeg_destroy_decompress(&codec_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  const char* text() const { return trouble_.text; }
  int64_t height() const { return codec_.image_height; }
  int64_t width() const { return codec_.image_width; }
  // Of all components, each as it was sampled, in whole blocks.
  int64_t values() const {
    int64_t blocks = 0;
    for (int c = 0; c < codec_.num_components; c++) blocks += int64_t{codec_.comp_info[c].width_in_blocks} * codec_.comp_info[c].height_in_blocks;
    return blocks * DCTSIZE2;
  }

  bool read_header(const DecodeRequest& request) {
    if (setjmp(trouble_.way_out)) return false;
    jpeg_create_decompress(&codec_);
    created_ = true;
    codec_.progress = &progress_;
    jpeg_save_markers(&codec_, JPEG_APP0 + 1, 0xFFFF);
    jpeg_mem_src(&codec_, request.data, static_cast<unsigned long>(request.size));
    jpeg_read_header(&codec_, TRUE);
    return true;
  }

  int orientation() const {
    for (jpeg_saved_marker_ptr m = codec_.marker_list; m; m = m->next)
      if (m->marker == JPEG_APP0 + 1 && m->data_length >= 6 && !std::memcmp(m->data, "Exif\0\0", 6)) return exif_orientation(m->data + 6, m->data_length - 6);
    return 1;
  }

  // Chooses channels and scale; the facts are those of the image that comes out.
  bool start(const DecodeRequest& request, ImageFacts& facts) {
    if (setjmp(trouble_.way_out)) return false;
    const bool is_cmyk = codec_.jpeg_color_space == JCS_CMYK || codec_.jpeg_color_space == JCS_YCCK;
    if (is_cmyk) {
      codec_.out_color_space = JCS_CMYK;
      from_cmyk_ = request.channels;
    } else if (request.channels) {
      codec_.out_color_space = request.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    }
    if (request.least_height > 0 && request.least_width > 0) {
      const bool is_turned = request.is_turned_later && orientation() >= 5;
      const int64_t height = is_turned ? request.least_width : request.least_height, width = is_turned ? request.least_height : request.least_width;
      codec_.scale_denom = 8;
      for (unsigned eighths : {1u, 2u, 4u, 8u}) {
        codec_.scale_num = eighths;
        jpeg_calc_output_dimensions(&codec_);
        if (codec_.output_height >= height && codec_.output_width >= width) break;
      }
    }
    jpeg_start_decompress(&codec_);
    facts.height = codec_.output_height;
    facts.width = codec_.output_width;
    facts.channels = from_cmyk_ ? from_cmyk_ : codec_.output_components;
    facts.bytes = 1;
    return true;
  }

  // `line` holds a row of the file's own channels where they have to be converted.
  bool read_rows(const ImageFacts& facts, uint8_t* to, uint8_t* line) {
    if (setjmp(trouble_.way_out)) return false;
    const size_t row = static_cast<size_t>(facts.width * facts.channels);
    while (codec_.output_scanline < codec_.output_height) {
      uint8_t* const out = to + codec_.output_scanline * row;
      JSAMPROW place = line ? line : out;
      jpeg_read_scanlines(&codec_, &place, 1);
      if (line) convert(line, out, facts);
    }
    jpeg_finish_decompress(&codec_);
    return true;
  }

  bool converts() const { return from_cmyk_ != 0; }

 private:
  // Photoshop's files hold the inverse of each ink.
  void convert(const uint8_t* cmyk, uint8_t* to, const ImageFacts& facts) const {
    const int flip = codec_.saw_Adobe_marker ? 0 : 255;
    for (int64_t i = 0; i < facts.width; i++, cmyk += 4, to += facts.channels) {
      int rgb[3];
      for (int c = 0; c < 3; c++) rgb[c] = ((cmyk[c] ^ flip) * (cmyk[3] ^ flip) + 127) / 255;
      if (facts.channels == 3)
        for (int c = 0; c < 3; c++) to[c] = static_cast<uint8_t>(rgb[c]);
      else to[0] = static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
    }
  }

  jpeg_decompress_struct codec_{};
  jpeg_progress_mgr progress_{};
  Trouble trouble_{};
  bool created_ = false;
  int from_cmyk_ = 0;
};

class Encoder {
 public:
  Encoder() { codec_.err = install(trouble_); }
  ~Encoder() {
    if (created_) jpeg_destroy_compress(&codec_);
    std::free(buffer_);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  const char* text() const { return trouble_.text; }
  const unsigned char* data() const { return buffer_; }
  size_t size() const { return size_; }

  bool encode(const uint8_t* pixels, int64_t height, int64_t width, int channels, int quality) {
    if (setjmp(trouble_.way_out)) return false;
    jpeg_create_compress(&codec_);
    created_ = true;
    jpeg_mem_dest(&codec_, &buffer_, &size_);
    codec_.image_height = static_cast<JDIMENSION>(height);
    codec_.image_width = static_cast<JDIMENSION>(width);
    codec_.input_components = channels;
    codec_.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&codec_);
    jpeg_set_quality(&codec_, quality, TRUE);
    jpeg_start_compress(&codec_, TRUE);
    while (codec_.next_scanline < codec_.image_height) {
      JSAMPROW row = const_cast<JSAMPROW>(pixels + static_cast<int64_t>(codec_.next_scanline) * width * channels);
      jpeg_write_scanlines(&codec_, &row, 1);
    }
    jpeg_finish_compress(&codec_);
    return true;
  }

 private:
  jpeg_compress_struct codec_{};
  Trouble trouble_{};
  unsigned char* buffer_ = nullptr;
  unsigned long size_ = 0;
  bool created_ = false;
};

}  // namespace

bool decode_jpeg(const DecodeRequest& request, PlaceImage place, std::string& error) {
  if (request.channels == 2 || request.channels == 4) {
    error = "a JPEG has no alpha channel; the modes of JPEGs are UNCHANGED, GRAY and RGB";
    return false;
  }
  Decoder decoder;
  ImageFacts facts{};
  const auto failed = [&] {
    error = decoder.text();
    return false;
  };
  if (!decoder.read_header(request)) return failed();
  if (!size_is_plausible(decoder.height(), decoder.width(), decoder.values(), kMostValuesPerByte, request, error)) return false;
  if (!decoder.start(request, facts)) return failed();
  facts.orientation = decoder.orientation();
  uint8_t* to = static_cast<uint8_t*>(place(facts));
  std::vector<uint8_t> line(decoder.converts() ? static_cast<size_t>(facts.width) * 4 : 0);
  return decoder.read_rows(facts, to, line.empty() ? nullptr : line.data()) || failed();
}

bool encode_jpeg(const uint8_t* pixels, int64_t height, int64_t width, int channels, int quality, TakeBytes take, std::string& error) {
  if (height > JPEG_MAX_DIMENSION || width > JPEG_MAX_DIMENSION) {
    error = "a JPEG has at most " + std::to_string(JPEG_MAX_DIMENSION) + " rows and columns, got " + std::to_string(height) + " x " + std::to_string(width);
    return false;
  }
  Encoder encoder;
  if (!encoder.encode(pixels, height, width, channels, quality)) {
    error = encoder.text();
    return false;
  }
  take(encoder.data(), encoder.size());
  return true;
}

}  // namespace cresset::kernels::image_codecs
