"""torchvision.io: PNGs written here byte by byte, JPEGs with the values that libjpeg-turbo's own djpeg gives; what is damaged, and what is too large."""

import base64
import itertools
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import zlib
from pathlib import Path

import numpy as np
from cresset.vision import io
from cresset.vision.io import ImageReadMode

import cresset as torch

DATA = Path(__file__).resolve().parents[2] / "io" / "data"
sys.path.append(str(DATA))
import images  # noqa: E402
from images import CHANNELS, chunk  # noqa: E402

sys.path.remove(str(DATA))

# 17 x 13 pixels (15 x, 19 y, 8 (x + y)) by `cjpeg -quality 80`, plain, -progressive and -grayscale; checksums of what djpeg makes of them, and of
# what it makes with -scale 1/2.
COLOR = "c-s4a<NpH&0WUXCHwH#V1_nkTWcYuZ!I^=Lg_Vt!g^i7sjh&s1gG+#mi<6T}gpZ#`KwLyZLR>^lOiET&UP@Y7ModgWM?qOlT~kX_QeM|USHnP6LsJ7}2qQZ?I~NC+Fc+7whLo6;2Fc+60R}-123`h1W=16jCP7AKLB{__803NOWMu>c1}I=;Vg|aGor9B$8>nEb00R>vGcywlGb<|#3sANeD9^wm$SS00=*T7<n8>bFC}Pw&aUqAY)5e3MK^H%$7$+4qadL@?OGrwos;O&eYMGdtnOj&|IlH*JxqEne1&4%&g-1k2C8wmOrDtSj6_=Ejl~+_&HMg|3wRd!OO`1Gq>a^)IX3ko)c*)Xb%U7&iwQ2K~t=qQm*tzS_;Uh<n9Y1mM)TPT;u3o!-<L0f0j~+jH`t13Om#;p4`uyeVx9>lG{sQ@nk%5^J2C(`|5a=%^78Yg}c96dqnaV*51X)-W4cUYo1KAS`g_VpNIYgW$F5GyKQ`tD^gJ@FGMJ_QFlZUDwL0$v<j5v=qk>xYE#}NLy#lXYN2#h>tK?Zw<Pr1^E>dU{^FD<t+Z~6EB-G2tJ_a?bwx1T=#vhKOt#oT>y_Fl*NyVKQqKe~LeS^rPa{#W|1z_^!xyK`Uu3XHuUo&F;Jwaf4M|8D{Slq&Gq"  # fmt: skip
PROGRESSIVE = "c-obZJx>Bb5Qb-WxxHh9u$w!N<J52mLGOqpP+AecNTe~eR#I47QQB!|ENo0P7IqSTgvRJ!Fn$!;+3GJ?cZm==X`Jn5pPBa=`6S<gw_95+KnMV-2l5rxfu;;<q$oA0X;O=E#?oo#WOEswcRVlexURoYDf)BedDjh=gYx21T#XCGTD=z4D^VQjCCD^QW-*&FJMvvW`gh4Y5EjgUAgBabAR>^w2Un>o&0l3u(0!Eb6HMg`WC#Mx30LQx_CA8W-s3?|;ROyPF@Q<RcGQHW+Q`5sYb&|X>wEo&ZN=w>;wRQCW_C!cJxz4cIX~7GB547{9#U9SmpeBa;z_6h!A~%4;!;EB@jrPyY>e!h;qC6>MtgJ~5dD4jHeDd>jy3twU^;`uSdtI+72|Wjm`pHNt6!q~Iac7;)ogvU6#E_d{0+NQU0M"  # fmt: skip
GRAY = "c-s4a<NpH&0WUXCHwH#V1_nkTWcYuZ!I^=Lg_Vt!g^i7sjh&s1gG+#mi<6T}gpZ#`KwLyZLR>^lOiET&UP@Y7ModgWM?qOlT~kX_QeM|USHnP6LsR4b0S0ak23`h1Mn*w~|3?_)frhg(f&l{*FfuU%En(;2<l+V@*ebxl#K_Fd#KO$V%EAJatp&<6un4jWDH=Mm2?r*!D;0_uHBMZ}q3pErplHy=4=Tn<MNOPsV&W2#QmSg|8k$-rre@|AmR8O#u5Rugo?gKrp<&?>kx|JhscGpMnOVgprDf$6l~v6xt!?ccon4bAPnkMx`iz;g7A;<~blLJ1D_3pWyk+aQ?K^hvI&}ER(PPI?oIG{u@|COCuHU$M>*1rvPo6$|{^I4UkDoq&`TFhqkDtH(-(uhZ`Ny8&Q?B%(`ttAfOUtdyTmHR&_n*P*Mg2qJ{|w9Om*&2>rMvy~@t3jZdKcZU*;6<5LVeQhs=BHFZvp^^lZLA"  # fmt: skip


def unpacked(text):
    return zlib.decompress(base64.b85decode(text))


def checksum(image):
    return zlib.crc32(image.permute(1, 2, 0).contiguous().numpy().tobytes())


def bits_of(values, depth):
    """Rows (H, N) of samples, packed as PNG packs them."""
    if depth >= 8:
        return [row.astype(">u2" if depth == 16 else np.uint8).tobytes() for row in values]
    return [np.packbits(((row[:, None] >> np.arange(depth - 1, -1, -1)) & 1).astype(np.uint8)).tobytes() for row in values]


def png(samples, depth, kind, extra=b"", interlaced=False, after=b""):
    """A PNG of samples (H, W, N)."""
    height, width, _ = samples.shape
    parts = images.ADAM7 if interlaced else images.WHOLE
    raw = b""
    for x, y, dx, dy in parts:
        part = samples[y::dy, x::dx]
        if part.size:
            raw += b"".join(b"\0" + row for row in bits_of(part.reshape(part.shape[0], -1), depth))
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, int(interlaced))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(raw)) + after + chunk(b"IEND", b"")


def noise(depth, kind, height=11, width=13):
    return np.random.RandomState(depth * 8 + kind).randint(0, 1 << depth, (height, width, CHANNELS[kind]))


def chw(array):
    return np.ascontiguousarray(array.transpose(2, 0, 1))


def gray_of(rgb):
    return (rgb[..., :1] * 19595 + rgb[..., 1:2] * 38470 + rgb[..., 2:3] * 7471 + 0x8000) >> 16


class Png(unittest.TestCase):
    def same(self, image, expected, dtype=torch.uint8):
        self.assertEqual(image.dtype, dtype)
        self.assertEqual(image.to(torch.int64).tolist(), chw(expected).tolist())

    def test_every_kind_and_depth_as_it_is(self):
        for kind, depths in ((0, (1, 2, 4, 8, 16)), (2, (8, 16)), (4, (8, 16)), (6, (8, 16))):
            for depth, interlaced in itertools.product(depths, (False, True)):
                with self.subTest(kind=kind, depth=depth, interlaced=interlaced):
                    samples = noise(depth, kind)
                    stretched = samples * (255 // ((1 << depth) - 1)) if depth < 8 else samples
                    self.same(io.decode_png(png(samples, depth, kind, interlaced=interlaced)), stretched, torch.uint16 if depth == 16 else torch.uint8)

    def test_palettes(self):
        for depth in (1, 2, 4, 8):
            colors = np.random.RandomState(9).randint(0, 256, (1 << depth, 3))
            samples, palette = noise(depth, 3), chunk(b"PLTE", colors.astype(np.uint8).tobytes())
            self.same(io.decode_png(png(samples, depth, 3, palette)), colors[samples[..., 0]])
        alpha = np.random.RandomState(8).randint(0, 256, (256, 1))
        see_through = png(samples, 8, 3, palette + chunk(b"tRNS", alpha.astype(np.uint8).tobytes()))
        whole = np.concatenate([colors, alpha], 1)[samples[..., 0]]
        self.same(io.decode_png(see_through), whole)
        self.same(io.decode_png(see_through, ImageReadMode.RGB), whole[..., :3])
        self.same(io.decode_png(see_through, ImageReadMode.GRAY_ALPHA), np.concatenate([gray_of(whole), whole[..., 3:]], -1))

    def test_modes(self):
        for depth, kind in itertools.product((8, 16), (0, 2, 4, 6)):
            samples, most, dtype = noise(depth, kind), (1 << depth) - 1, torch.uint16 if depth == 16 else torch.uint8
            gray = samples[..., :1] if kind in (0, 4) else gray_of(samples)
            color = samples[..., :3] if kind in (2, 6) else np.repeat(gray, 3, -1)
            alpha = samples[..., -1:] if kind in (4, 6) else np.full_like(gray, most)
            for mode, parts in (("GRAY", [gray]), ("GRAY_ALPHA", [gray, alpha]), ("RGB", [color]), ("RGB_ALPHA", [color, alpha])):
                with self.subTest(depth=depth, kind=kind, mode=mode):
                    for interlaced in (False, True):
                        self.same(io.decode_image(png(samples, depth, kind, interlaced=interlaced), mode), np.concatenate(parts, -1), dtype)

    def test_a_color_that_is_see_through(self):
        samples = np.array([[[5], [6]], [[7], [5]]])
        self.same(io.decode_png(png(samples, 8, 0, chunk(b"tRNS", b"\0\5"))), np.array([[[5, 0], [6, 255]], [[7, 255], [5, 0]]]))
        self.same(io.decode_png(png(samples, 8, 0, chunk(b"tRNS", b"\0\5")), "gray"), samples)

    def test_gamma_changes_nothing(self):
        samples = noise(8, 2)
        data = png(samples, 8, 2, chunk(b"gAMA", struct.pack(">I", 100000)) + chunk(b"tEXt", b"Comment\0hello"))
        self.same(io.decode_png(data, ImageReadMode.GRAY), gray_of(samples))

    def test_round_trips(self):
        for channels in (1, 3):
            image = torch.from_numpy(chw(noise(8, 2)))[:channels].to(torch.uint8)
            for level in (0, 6, 9):
                data = io.encode_png(image, level)
                self.assertEqual((data.dim(), data.dtype), (1, torch.uint8))
                self.assertTrue(torch.equal(io.decode_png(data), image))
            self.assertTrue(torch.equal(io.decode_png(io.encode_png(image.transpose(1, 2))), image.transpose(1, 2)))

    def test_orientation(self):
        samples = noise(8, 2, 2, 3)
        turned = {1: samples, 2: samples[:, ::-1], 3: samples[::-1, ::-1], 4: samples[::-1], 5: samples.transpose(1, 0, 2), 6: np.rot90(samples, -1),
                  7: np.rot90(samples, 2).transpose(1, 0, 2), 8: np.rot90(samples)}  # fmt: skip
        for order, (orientation, expected) in itertools.product("<>", turned.items()):
            exif = images.exif(orientation, order)
            data = png(samples, 8, 2, chunk(b"eXIf", exif))
            self.same(io.decode_png(data, apply_exif_orientation=True), expected)
            self.same(io.decode_png(data), samples)
            jpeg = unpacked(COLOR)
            jpeg = jpeg[:2] + images.segment(0xE1, b"Exif\0\0" + exif) + jpeg[2:]
            plain, upright = io.decode_jpeg(jpeg), io.decode_jpeg(jpeg, apply_exif_orientation=True)
            self.assertEqual(checksum(plain), 2518840511)
            self.assertEqual(upright.shape, (3, 17, 13) if orientation >= 5 else (3, 13, 17))
            self.assertEqual(checksum(upright) == 2518840511, orientation == 1)
            small = io.decode_image(jpeg, apply_exif_orientation=True, min_size=(8, 6) if orientation >= 5 else (6, 8))
            self.assertEqual(small.shape, (3, 9, 7) if orientation >= 5 else (3, 7, 9))


class Jpeg(unittest.TestCase):
    def test_values_are_those_of_libjpeg_turbo(self):
        for text in (COLOR, PROGRESSIVE):
            image = io.decode_image(unpacked(text))
            self.assertEqual((image.shape, image.dtype), ((3, 13, 17), torch.uint8))
            self.assertEqual(image[:, 0, :4].T.flatten().tolist(), [0, 2, 0, 3, 5, 4, 18, 7, 13, 31, 7, 20])
            self.assertEqual((checksum(image), int(image.sum())), (2518840511, 76570))
            self.assertEqual(checksum(io.decode_image(unpacked(text), min_size=5)), 3881505163)
        image = io.decode_jpeg(unpacked(GRAY))
        self.assertEqual((image.shape, checksum(image)), ((1, 13, 17), 2275841543))

    def test_modes(self):
        color = unpacked(COLOR)
        self.assertEqual(checksum(io.decode_jpeg(color, ImageReadMode.GRAY)), checksum(io.decode_jpeg(unpacked(GRAY))))
        self.assertTrue(torch.equal(io.decode_jpeg(unpacked(GRAY), ImageReadMode.RGB), io.decode_jpeg(unpacked(GRAY)).expand(3, -1, -1)))
        for mode in (ImageReadMode.RGB_ALPHA, ImageReadMode.RGBA, ImageReadMode.GRAY_ALPHA):
            self.assertRaisesRegex(RuntimeError, "no alpha", io.decode_image, color, mode)
        self.assertRaisesRegex(ValueError, "SEPIA", io.decode_image, color, "SEPIA")
        self.assertRaises(TypeError, io.decode_image, color, 3)

    def test_inks(self):
        """Four components: as they are, or the light that they leave; files with Adobe's marker hold the inverse of each ink."""
        for adobe, restart in ((None, 0), (0, 0), (0, 2)):
            data = images.flat_jpeg(19, 9, lambda i: [(40 * i + 60 * c + 5) % 256 for c in range(4)], adobe, restart=restart)
            inks = np.array([[[(40 * (x // 8 + 3 * (y // 8)) + 60 * c + 5) % 256 for c in range(4)] for x in range(19)] for y in range(9)])
            self.assertEqual(io.decode_image(data).tolist(), chw(inks).tolist())
            light = 255 - inks if adobe is None else inks
            rgb = np.rint(light[..., :3] * light[..., 3:] / 255).astype(int)
            self.assertEqual(io.decode_image(data, ImageReadMode.RGB).tolist(), chw(rgb).tolist())
            self.assertEqual(io.decode_image(data, ImageReadMode.GRAY).tolist(), chw(gray_of(rgb)).tolist())

    def test_sizes_by_halves(self):
        data = io.encode_jpeg(torch.zeros(3, 40, 64, dtype=torch.uint8))
        found = {n: tuple(io.decode_image(data, min_size=n).shape[1:]) for n in (1, 5, 6, 10, 11, 20, 21, 40, 1000, (1, 33), (11, 1))}
        self.assertEqual(found, {1: (5, 8), 5: (5, 8), 6: (10, 16), 10: (10, 16), 11: (20, 32), 20: (20, 32), 21: (40, 64), 40: (40, 64), 1000: (40, 64),
                                 (1, 33): (40, 64), (11, 1): (20, 32)})  # fmt: skip
        for wrong in (0, (3, -1)):
            self.assertRaises(ValueError, io.decode_image, data, min_size=wrong)

    def test_round_trip_and_quality(self):
        y, x = np.mgrid[0:40, 0:50]
        smooth = torch.from_numpy(np.stack([x * 5, y * 6, x + y * 2])).to(torch.uint8)
        for image in (smooth, smooth[:1]):
            best = io.decode_jpeg(io.encode_jpeg(image, 100))
            self.assertEqual(best.shape, image.shape)
            self.assertLess(float((best.float() - image.float()).abs().mean()), 2.0)
            self.assertLess(len(io.encode_jpeg(image, 10)), len(io.encode_jpeg(image)))
        listed = io.encode_jpeg([smooth, smooth[:1]])
        self.assertEqual([tuple(image.shape) for image in io.decode_jpeg(listed)], [(3, 40, 50), (1, 40, 50)])

    @unittest.skipUnless(shutil.which("cjpeg") and shutil.which("djpeg"), "libjpeg-turbo's programs are not installed")
    def test_bytes_are_those_of_libjpeg_turbos_programs(self):
        image = torch.from_numpy(chw(noise(8, 2, 33, 47))).to(torch.uint8)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.ppm")
            with open(path, "wb") as file:
                file.write(b"P6 47 33 255\n" + image.permute(1, 2, 0).contiguous().numpy().tobytes())
            for quality in (20, 75, 95):
                made = subprocess.run(["cjpeg", "-baseline", "-quality", str(quality), path], capture_output=True, check=True).stdout
                self.assertEqual(bytes(io.encode_jpeg(image, quality).numpy()), made)
                for eighths in (1, 2, 4, 8):
                    size = (33 * eighths + 7) // 8
                    seen = subprocess.run(["djpeg", "-ppm", "-scale", f"{eighths}/8"], input=made, capture_output=True, check=True).stdout
                    ours = io.decode_image(made, min_size=size).permute(1, 2, 0).contiguous().numpy().tobytes()
                    self.assertTrue(seen.endswith(ours) and len(seen) - len(ours) < 20)


class Bad(unittest.TestCase):
    def test_data_that_is_cut_off(self):
        image = torch.from_numpy(chw(noise(8, 2, 40, 40))).to(torch.uint8)
        for encode in (io.encode_png, io.encode_jpeg):
            whole = encode(image)
            for end in (*range(1, 60), len(whole) // 2, len(whole) - 200, len(whole) - 3):
                self.assertRaises(RuntimeError, io.decode_image, whole[:end])
        self.assertRaisesRegex(RuntimeError, "empty", io.decode_image, whole[:0])

    def test_bytes_that_are_turned_never_crash(self):
        random = np.random.RandomState(0)
        seeds = [np.frombuffer(unpacked(text), np.uint8) for text in (COLOR, PROGRESSIVE, GRAY)]
        seeds += [np.frombuffer(png(noise(8, 6), 8, 6, interlaced=True), np.uint8), np.frombuffer(png(noise(16, 2), 16, 2), np.uint8)]
        errors = 0
        for seed, _ in itertools.product(seeds, range(300)):
            data = seed.copy()
            data[random.randint(0, len(data), 3)] = random.randint(0, 256, 3)
            try:
                io.decode_image(torch.from_numpy(data), random.choice(["UNCHANGED", "GRAY", "RGB"]), bool(random.randint(2)))
            except RuntimeError:
                errors += 1
        self.assertGreater(errors, 300)

    def test_sums_of_pngs_are_checked(self):
        data = bytearray(png(noise(8, 2), 8, 2))
        data[60] ^= 1
        self.assertRaisesRegex(RuntimeError, "cannot be read as PNG", io.decode_image, bytes(data))

    def test_bombs(self):
        def announced(width, height):
            return (
                b"\x89PNG\r\n\x1a\n"
                + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
                + chunk(b"IEND", b"")
            )

        self.assertRaisesRegex(RuntimeError, "bomb: .* bytes cannot hold 10000 x 10000 pixels", io.decode_image, announced(10000, 10000))
        self.assertRaisesRegex(RuntimeError, "pixels, more than the 268435456 that are allowed", io.decode_image, announced(100000, 100000))
        jpeg = bytearray(unpacked(COLOR))
        at = jpeg.index(b"\xff\xc0")
        jpeg[at + 5 : at + 9] = struct.pack(">HH", 16000, 16000)
        self.assertRaisesRegex(RuntimeError, "bomb", io.decode_image, bytes(jpeg))
        # Plain white is what takes the fewest bytes: it must pass.
        for encode in (io.encode_png, io.encode_jpeg):
            self.assertEqual(io.decode_image(encode(torch.full((1, 2000, 3000), 255, dtype=torch.uint8))).shape, (1, 2000, 3000))
        before = io.image.MAX_IMAGE_PIXELS
        io.image.MAX_IMAGE_PIXELS = 100
        try:
            self.assertRaisesRegex(RuntimeError, "17 x 13 pixels, more than the 100 that", io.decode_image, unpacked(COLOR))
        finally:
            io.image.MAX_IMAGE_PIXELS = before

    def test_files_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "picture.jpg")
            self.assertRaisesRegex(RuntimeError, "picture.jpg.*No such file", io.read_image, path)
            self.assertRaisesRegex(RuntimeError, "not a regular file", io.read_image, folder)
            for content in (b"", b"GIF89a....", unpacked(COLOR)[:300]):
                with open(path, "wb") as file:
                    file.write(content)
                self.assertRaisesRegex(RuntimeError, "picture.jpg", io.read_image, path)
            self.assertRaisesRegex(RuntimeError, "nowhere", io.write_png, torch.zeros(1, 1, 1, dtype=torch.uint8), os.path.join(folder, "nowhere", "a.png"))

    def test_other_arguments(self):
        good = torch.zeros(3, 4, 5, dtype=torch.uint8)
        for encode in (io.encode_png, io.encode_jpeg):
            for wrong in (good.float(), good[0], good[:2], torch.zeros(3, 0, 5, dtype=torch.uint8)):
                self.assertRaises(RuntimeError, encode, wrong)
        for level in (-1, 10):
            self.assertRaisesRegex(RuntimeError, "between 0 and 9", io.encode_png, good, level)
        for quality in (0, 101):
            self.assertRaisesRegex(RuntimeError, "between 1 and 100", io.encode_jpeg, good, quality)
        self.assertRaisesRegex(RuntimeError, "at most 65500", io.encode_jpeg, torch.zeros(1, 1, 70000, dtype=torch.uint8))
        self.assertRaises(RuntimeError, io.decode_image, torch.zeros(4, dtype=torch.float32))
        self.assertRaises(RuntimeError, io.decode_image, torch.zeros(2, 2, dtype=torch.uint8))
        self.assertRaisesRegex(RuntimeError, "is no PNG", io.decode_png, unpacked(COLOR))
        self.assertRaisesRegex(RuntimeError, "is no JPEG", io.decode_jpeg, png(noise(8, 0), 8, 0))
        self.assertRaisesRegex(RuntimeError, "on the CPU", io.decode_jpeg, unpacked(COLOR), device="cuda")
        self.assertRaises(TypeError, io.decode_image, 3)
        self.assertRaises(ValueError, io.decode_jpeg, [])
        self.assertRaises(RuntimeError, io.write_file, "/tmp/x", torch.zeros(3))

    def test_without_the_codecs_the_packages_are_named(self):
        code = "from cresset.vision import io\ntry:\n  io.decode_image(b'\\xff\\xd8\\xff....')\nexcept RuntimeError as e: print(e)"
        said = subprocess.run([sys.executable, "-c", code], env={**os.environ, "CRESSET_IMAGE": "0"}, capture_output=True, text=True, check=True).stdout
        self.assertIn("libjpeg-dev and libpng-dev", said)


class Files(unittest.TestCase):
    def test_written_and_read(self):
        image = torch.from_numpy(chw(noise(8, 2))).to(torch.uint8)
        with tempfile.TemporaryDirectory() as folder:
            first, second = (os.path.join(folder, name) for name in ("a.png", "b.jpg"))
            io.write_png(image, first, compression_level=1)
            io.write_jpeg(image, second, quality=90)
            self.assertTrue(torch.equal(io.read_image(first), image))
            self.assertTrue(torch.equal(io.decode_image(first), image))
            self.assertTrue(torch.equal(io.read_image(second), io.decode_jpeg(io.encode_jpeg(image, 90))))
            self.assertTrue(torch.equal(io.read_file(second), io.encode_jpeg(image, 90)))
            self.assertEqual(sorted(os.listdir(folder)), ["a.png", "b.jpg"])

    def test_threads(self):
        data, found = unpacked(PROGRESSIVE), []
        threads = [threading.Thread(target=lambda: found.extend(checksum(io.decode_image(data)) for _ in range(50))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [2518840511] * 200)


if __name__ == "__main__":
    unittest.main()
