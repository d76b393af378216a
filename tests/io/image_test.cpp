// Images of files and back in C++; what the codecs give is tested value by value in tests/python/vision/io_test.py.

#include "cresset/io/image.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "cresset/tensor.h"
#include "error_of.h"

using namespace cresset;

namespace {

Tensor gradient(int64_t channels) {
  return (cresset::arange(12).view({1, 12, 1}) * 15 + cresset::arange(17).view({1, 1, 17}) * 4 + cresset::arange(channels).view({channels, 1, 1}) * 5)
      .to(kByte);
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

}  // namespace
