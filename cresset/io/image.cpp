#include "cresset/io/image.h"

#include <algorithm>
#include <cstring>

#include "cresset/io/file.h"
#include "cresset/kernels/providers/image.h"
#include "cresset/tensor.h"

namespace cresset::vision {

namespace {

const kernels::ImageTable& codecs() {
  const kernels::ImageTable* table = kernels::image();
  CRESSET_CHECK(table,
                "image: this build has no codecs; install libjpeg62-turbo and libpng16-16 where it runs, and libjpeg-dev and libpng-dev before building; ",
                "CRESSET_IMAGE=0 in the environment turns them off");
  return *table;
}

ImageFormat format_of(const unsigned char* data, size_t size) {
  if (size >= 3 && !std::memcmp(data, "\xff\xd8\xff", 3)) return ImageFormat::jpeg;
  if (size >= 8 && !std::memcmp(data, "\x89PNG\r\n\x1a\n", 8)) return ImageFormat::png;
  return ImageFormat::any;
}

const char* name_of(ImageFormat format) { return format == ImageFormat::jpeg ? "JPEG" : format == ImageFormat::png ? "PNG" : "JPEG or PNG"; }

// (H, W, C) as a viewer shows it.
Tensor upright(const Tensor& image, int orientation) {
  const Tensor placed = orientation >= 5 ? image.transpose(0, 1) : image;
  switch (orientation) {
    case 2:
    case 6: return placed.flip({1});
    case 3:
    case 7: return placed.flip({0, 1});
    case 4:
    case 8: return placed.flip({0});
    default: return placed;
  }
}

Tensor decode(const char* op, const Tensor& data, ImageFormat format, const ImageReadOptions& options) {
  CRESSET_CHECK(data.dim() == 1 && data.numel() > 0, op, ": expected a non empty 1-dimensional tensor, got shape ", data.sizes());
  CRESSET_CHECK(data.scalar_type() == kByte, op, ": expected a tensor of uint8, got ", data.scalar_type());
  const Tensor bytes = data.contiguous();
  return decode_image(bytes.const_data_ptr(), static_cast<size_t>(bytes.numel()), format, options, "the data");
}

using Encode = bool (*)(const uint8_t*, int64_t, int64_t, int, int, kernels::TakeBytes, std::string&);

void encode(const char* op, Encode by, const Tensor& image, int64_t setting, kernels::TakeBytes take) {
  CRESSET_CHECK(image.scalar_type() == kByte, op, ": input tensor dtype should be uint8, got ", image.scalar_type());
  CRESSET_CHECK(image.dim() == 3 && image.numel() > 0, op, ": input data should be a 3-dimensional tensor (C, H, W), got shape ", image.sizes());
  CRESSET_CHECK(image.size(0) == 1 || image.size(0) == 3, op, ": the number of channels should be 1 or 3, got: ", image.size(0));
  const Tensor pixels = image.permute({1, 2, 0}).contiguous();
  std::string error;
  const bool done =
      by(pixels.const_data_ptr<uint8_t>(), pixels.size(0), pixels.size(1), static_cast<int>(pixels.size(2)), static_cast<int>(setting), take, error);
  CRESSET_CHECK(done, op, ": ", error);
}

void encode_as_jpeg(const Tensor& image, int64_t quality, kernels::TakeBytes take) {
  CRESSET_CHECK(quality >= 1 && quality <= 100, "encode_jpeg: image quality should be a positive number between 1 and 100, got ", quality);
  encode("encode_jpeg", codecs().encode_jpeg, image, quality, take);
}
void encode_as_png(const Tensor& image, int64_t compression_level, kernels::TakeBytes take) {
  CRESSET_CHECK(compression_level >= 0 && compression_level <= 9, "encode_png: compression level should be between 0 and 9, got ", compression_level);
  encode("encode_png", codecs().encode_png, image, compression_level, take);
}

Tensor as_tensor(const void* data, size_t size) {
  const Tensor bytes = cresset::empty({static_cast<int64_t>(size)}, kByte);
  if (size) std::memcpy(bytes.data_ptr(), data, size);
  return bytes;
}

}  // namespace

bool codecs_found() { return kernels::image() != nullptr; }

Tensor decode_image(const void* data, size_t size, ImageFormat format, const ImageReadOptions& options, const std::string& name) {
  const char* op = format == ImageFormat::jpeg ? "decode_jpeg" : format == ImageFormat::png ? "decode_png" : "decode_image";
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  const ImageFormat found = format_of(bytes, size);
  CRESSET_CHECK(found != ImageFormat::any && (format == ImageFormat::any || format == found), op, ": ", name, " is no ", name_of(format), " (", size,
                " bytes)");
  const kernels::DecodeRequest request{
      bytes, size, static_cast<int>(options.mode), options.max_pixels, options.least_height, options.least_width, options.apply_exif_orientation};
  Tensor pixels;
  int orientation = 1;
  const auto place = [&](const kernels::ImageFacts& facts) {
    pixels = cresset::empty({facts.height, facts.width, facts.channels}, facts.bytes == 2 ? kUInt16 : kByte);
    orientation = facts.orientation;
    return pixels.data_ptr();
  };
  std::string error;
  const bool done = (found == ImageFormat::jpeg ? codecs().decode_jpeg : codecs().decode_png)(request, place, error);
  CRESSET_CHECK(done, op, ": ", name, " cannot be read as ", name_of(found), ": ", error);
  return (options.apply_exif_orientation ? upright(pixels, orientation) : pixels).permute({2, 0, 1});
}

Tensor decode_image(const Tensor& data, const ImageReadOptions& options) { return decode("decode_image", data, ImageFormat::any, options); }
Tensor decode_jpeg(const Tensor& data, const ImageReadOptions& options) { return decode("decode_jpeg", data, ImageFormat::jpeg, options); }
Tensor decode_png(const Tensor& data, const ImageReadOptions& options) { return decode("decode_png", data, ImageFormat::png, options); }

Tensor read_image(const std::string& path, const ImageReadOptions& options) {
  const Tensor data = read_file(path);
  return decode_image(data.const_data_ptr(), static_cast<size_t>(data.numel()), ImageFormat::any, options, "'" + path + "'");
}

Tensor encode_jpeg(const Tensor& image, int64_t quality) {
  Tensor made;
  encode_as_jpeg(image, quality, [&](const void* data, size_t size) { made = as_tensor(data, size); });
  return made;
}
Tensor encode_png(const Tensor& image, int64_t compression_level) {
  Tensor made;
  encode_as_png(image, compression_level, [&](const void* data, size_t size) { made = as_tensor(data, size); });
  return made;
}

void write_jpeg(const Tensor& image, const std::string& path, int64_t quality) { write_file(path, encode_jpeg(image, quality)); }
void write_png(const Tensor& image, const std::string& path, int64_t compression_level) { write_file(path, encode_png(image, compression_level)); }

Tensor read_file(const std::string& path) {
  const io::ReadableFile file(path);
  const Tensor bytes = cresset::empty({static_cast<int64_t>(file.size())}, kByte);
  if (file.size()) file.read(0, bytes.data_ptr(), file.size());
  return bytes;
}

void write_file(const std::string& path, const Tensor& data) {
  CRESSET_CHECK(data.dim() == 1 && data.scalar_type() == kByte, "write_file: expected a 1-dimensional tensor of uint8, got shape ", data.sizes(), " of ",
                data.scalar_type());
  const Tensor bytes = data.contiguous();
  io::write_file_atomically(path, [&](const io::WriteBytes& write) { write(bytes.const_data_ptr(), static_cast<size_t>(bytes.numel())); });
}

}  // namespace cresset::vision
