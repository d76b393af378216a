// Images of files and back in C++; what the codecs give is tested value by value in tests/python/vision/io_test.py.

#include "cresset/io/image.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include "cresset/tensor.h"
#include "error_of.h"

using namespace cresset;

namespace {

Tensor gradient(int64_t channels) {
  return (cresset::arange(12).view({1, 12, 1}) * 15 + cresset::arange(17).view({1, 1, 17}) * 4 + cresset::arange(channels).view({channels, 1, 1}) * 5)
      .to(kByte);
}

std::string big_endian(uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
  return bytes;
}
std::string chunk(const std::string& kind, const std::string& data) {
  const std::string body = kind + data;
  return big_endian(static_cast<uint32_t>(data.size())) + body +
         big_endian(static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}
std::string deflated(const std::string& data) {
  uLongf size = compressBound(static_cast<uLong>(data.size()));
  std::string packed(size, 0);
  compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(data.data()), static_cast<uLong>(data.size()), 9);
  packed.resize(size);
  return packed;
}
// Of eight bits gray.
std::string png_of(uint32_t width, uint32_t height, const std::string& before_data, const std::string& packed) {
  const std::string kind{8, 0, 0, 0, 0};
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", big_endian(width) + big_endian(height) + kind) + before_data + chunk("IDAT", packed) + chunk("IEND", "");
}
Tensor bytes_of(const std::string& text) {
  const Tensor t = cresset::empty({static_cast<int64_t>(text.size())}, kByte);
  std::memcpy(t.data_ptr(), text.data(), text.size());
  return t;
}
std::string text_of(const Tensor& t) { return {static_cast<const char*>(t.const_data_ptr()), static_cast<size_t>(t.numel())}; }
std::string refusal_of(const std::string& file) {
  return error_of([&] { vision::decode_image(bytes_of(file)); });
}

// 16 x 8 gray pixels by `cjpeg -progressive`.
constexpr unsigned char kProgressive[] = {
    0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x14,
    0x0e, 0x0f, 0x12, 0x0f, 0x0d, 0x14, 0x12, 0x10, 0x12, 0x17, 0x15, 0x14, 0x18, 0x1e, 0x32, 0x21, 0x1e, 0x1c, 0x1c, 0x1e, 0x3d, 0x2c, 0x2e, 0x24, 0x32, 0x49,
    0x40, 0x4c, 0x4b, 0x47, 0x40, 0x46, 0x45, 0x50, 0x5a, 0x73, 0x62, 0x50, 0x55, 0x6d, 0x56, 0x45, 0x46, 0x64, 0x88, 0x65, 0x6d, 0x77, 0x7b, 0x81, 0x82, 0x81,
    0x4e, 0x60, 0x8d, 0x97, 0x8c, 0x7d, 0x96, 0x73, 0x7e, 0x81, 0x7c, 0xff, 0xc2, 0x00, 0x0b, 0x08, 0x00, 0x08, 0x00, 0x10, 0x01, 0x01, 0x11, 0x00, 0xff, 0xc4,
    0x00, 0x15, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0xff, 0xda, 0x00, 0x08, 0x01,
    0x01, 0x00, 0x00, 0x00, 0x01, 0x87, 0xff, 0xc4, 0x00, 0x17, 0x10, 0x01, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x01, 0x23, 0x32, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x01, 0x05, 0x02, 0xae, 0x59, 0x7f, 0xff, 0xc4, 0x00, 0x19, 0x10, 0x00, 0x02, 0x03,
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x11, 0x00, 0x21, 0x71, 0x81, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00,
    0x06, 0x3f, 0x02, 0xa4, 0x31, 0x4a, 0x44, 0x72, 0x7f, 0xff, 0xc4, 0x00, 0x1b, 0x10, 0x01, 0x00, 0x02, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x11, 0x21, 0x61, 0x81, 0x91, 0xc1, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x01, 0x3f, 0x21, 0xa1, 0xa1, 0xbc, 0x7a,
    0x62, 0x64, 0xd2, 0x72, 0xe8, 0x19, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x00, 0x10, 0xff, 0x00, 0xff, 0xc4, 0x00, 0x1a, 0x10, 0x01, 0x01, 0x00,
    0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x11, 0x00, 0x21, 0x61, 0x71, 0xc1, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01,
    0x00, 0x01, 0x3f, 0x10, 0x09, 0x46, 0x36, 0x82, 0xf1, 0xb4, 0xc7, 0xa5, 0x0a, 0x36, 0xfe, 0x87, 0x79, 0xff, 0xd9};

// The most memory that this process ever had, in MB.
int64_t peak() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

class Image : public ::testing::Test {
 protected:
  std::string path_ = ::testing::TempDir() + "cresset_image_" + std::to_string(getpid());
  void TearDown() override { std::remove(path_.c_str()); }
};

TEST_F(Image, png_keeps_every_value) {
  for (const int64_t channels : {1, 3}) {
    const Tensor image = gradient(channels);
    EXPECT_TRUE(vision::decode_png(vision::encode_png(image)).equal(image));
    vision::write_png(image, path_, 9);
    EXPECT_TRUE(vision::read_image(path_).equal(image));
    EXPECT_EQ(vision::read_image(path_, vision::ImageReadMode::RGB_ALPHA).sizes(), IntArrayRef({4, 12, 17}));
  }
}

TEST_F(Image, jpeg_comes_close_and_smaller_where_that_is_enough) {
  const Tensor image = gradient(3);
  const Tensor data = vision::encode_jpeg(image, 95);
  EXPECT_LT((vision::decode_jpeg(data).to(kFloat) - image.to(kFloat)).abs().mean().item<float>(), 3.0f);
  vision::ImageReadOptions options(vision::ImageReadMode::GRAY);
  options.least_height = 5;
  options.least_width = 6;
  EXPECT_EQ(vision::decode_image(data, options).sizes(), IntArrayRef({1, 6, 9}));
  vision::write_jpeg(image, path_, 95);
  EXPECT_TRUE(vision::read_file(path_).equal(data));
}

TEST_F(Image, refuses_what_it_cannot_read_and_names_the_file) {
  const Tensor data = vision::encode_png(gradient(3));
  vision::write_file(path_, data.slice(0, 0, 60));
  EXPECT_NE(error_of([&] { vision::read_image(path_); }).find(path_), std::string::npos);
  EXPECT_NE(error_of([&] { vision::decode_jpeg(data); }).find("the data is no JPEG"), std::string::npos);
  vision::ImageReadOptions options;
  options.max_pixels = 100;
  EXPECT_NE(error_of([&] { vision::decode_image(data, options); }).find("17 x 12 pixels, more than the 100"), std::string::npos);
  EXPECT_NE(error_of([&] { vision::encode_png(gradient(2)); }).find("channels should be 1 or 3"), std::string::npos);
}

TEST_F(Image, a_chunk_that_claims_more_than_the_file_takes_no_memory) {
  const int64_t before = peak();
  const std::string good = png_of(3, 2, "", deflated(std::string(8, 0)));
  EXPECT_EQ(refusal_of(good), "no error");
  // Of a chunk that libpng reads as a whole, of the data, and of the last one.
  for (const std::string kind : {"eXIf", "tEXt", "tRNS", "IDAT", "IEND"}) {
    for (const uint32_t size : {1000u, 0x524e531au, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
      const std::string claim = big_endian(size) + kind + "MM\0*";
      EXPECT_NE(refusal_of(good.substr(0, 33) + claim + good.substr(33)).find("it is truncated"), std::string::npos) << kind << size;
    }
  }
  for (size_t end = 8; end < good.size(); end++) EXPECT_NE(refusal_of(good.substr(0, end)).find("it is truncated"), std::string::npos) << end;
  EXPECT_LT(peak() - before, 200);
}

TEST_F(Image, packed_texts_and_profiles_are_not_unpacked) {
  const std::string packed = deflated(std::string(7'900'000, 'a'));
  std::string texts;
  for (int i = 0; i < 300; i++) texts += chunk("zTXt", std::string("Comment\0\0", 9) + packed) + chunk("iTXt", std::string("Comment\0\1\0\0\0", 12) + packed);
  const int64_t before = peak();
  EXPECT_EQ(refusal_of(png_of(3, 2, texts + chunk("iCCP", std::string("Profile\0\0", 9) + packed), deflated(std::string(8, 0)))), "no error");
  EXPECT_LT(peak() - before, 200);
}

TEST_F(Image, sizes_beyond_what_the_file_can_hold_are_refused) {
  const int64_t before = peak();
  const std::string packed = deflated(std::string(1000, 0));
  for (const uint32_t side : {1'000'000'000u, 0x7fffffffu, 0xffffffffu, 0u}) {
    EXPECT_NE(refusal_of(png_of(side, side, "", packed)).find("cannot be read as PNG"), std::string::npos);
    EXPECT_NE(refusal_of(png_of(1, side, "", packed)).find("cannot be read as PNG"), std::string::npos);
  }
  EXPECT_NE(refusal_of(png_of(999'999, 999'999, "", packed)).find("pixels, more than the"), std::string::npos);
  EXPECT_NE(refusal_of(png_of(10'000, 10'000, "", packed)).find("a bomb"), std::string::npos);
  std::string jpeg = text_of(vision::encode_jpeg(gradient(3)));
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  const auto with_sides = [&](uint32_t height, uint32_t width) {
    std::string changed = jpeg;
    return changed.replace(frame + 5, 4, big_endian(height << 16 | width));
  };
  EXPECT_NE(refusal_of(with_sides(65535, 65535)).find("cannot be read as JPEG"), std::string::npos);
  EXPECT_NE(refusal_of(with_sides(65500, 65500)).find("pixels, more than the"), std::string::npos);
  EXPECT_NE(refusal_of(with_sides(16000, 16000)).find("a bomb"), std::string::npos);
  // Of as many pixels as the bytes could hold if there were only one component.
  const uint32_t side = static_cast<uint32_t>(std::sqrt(0.8 * 512 * static_cast<double>(jpeg.size())));
  EXPECT_NE(refusal_of(with_sides(side, side)).find("a bomb"), std::string::npos);
  EXPECT_NE(refusal_of(with_sides(1, 65535)).find("cannot be read as JPEG"), std::string::npos);
  EXPECT_NE(refusal_of(with_sides(0, 17)).find("cannot be read as JPEG"), std::string::npos);
  EXPECT_LT(peak() - before, 200);
}

TEST_F(Image, scans_without_end_are_refused) {
  // Every scan of a progressive file may take the time of the whole image: here the first one comes again and again.
  const std::string file(reinterpret_cast<const char*>(kProgressive), sizeof kProgressive);
  EXPECT_EQ(refusal_of(file), "no error");
  const size_t first = file.find("\xff\xda"), next = file.find("\xff\xc4", first);
  std::string scans;
  for (int i = 0; i < 120; i++) scans += file.substr(first, next - first);
  const std::string refusal = refusal_of(file.substr(0, first) + scans + file.substr(first));
  EXPECT_NE(refusal.find("more than 100 scans"), std::string::npos) << refusal;
}

}  // namespace
