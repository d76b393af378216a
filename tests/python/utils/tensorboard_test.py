"""Event files: records, checksums and messages, byte by byte as PyTorch 2.13 writes them with tensorboard 2.21 (GOLDEN)."""

import io
import os
import struct
import tempfile
import time
import unittest
import zlib

import numpy as np
from cresset.utils.tensorboard import FileWriter, RecordWriter, SummaryWriter, summary
from cresset.utils.tensorboard._records import crc32c

import cresset as torch
from cresset import nn

GOLDEN = {
    "scalar": "0a080a0161150000c03f",
    "scalar_new": "0a1a0a0161420808012a040000c03f4a0b0a090a077363616c617273",
    "scalar_double": "0a1e0a0161420c080232089a9999999999b93f4a0b0a090a077363616c617273",
    "tensor": "0a370a017442260801120812020802120208032a18000000000000803f0000004000004040000080400000a0404a0a0a080a0674656e736f72",
    "tensor_int": "0a260a017442150809120412020802520b01feffffffffffffffff014a0a0a080a0674656e736f72",
    "histogram": "0a87010a01682a810109000000000000f0bf1100000000000000401900000000000010402100000000000000402900000000000016403228000000000000f0bf0000000000000000000000000000f03f000000000000004000000000000008403a280000000000000000000000000000f03f00000000000000400000000000000000000000000000f03f",
    "histogram_less": "0a7d0a01682a78110000000000002240190000000000002440210000000000804640290000000000d07140322800000000000000000000000000000040000000000000104000000000000018400000000000001c403a2800000000000000000000000000000040000000000000004000000000000000400000000000000040",
    "histogram_raw": "0a5d0a01682a58110000000000000840190000000000001840210000000000001c402900000000000020403218000000000000f03f000000000000004000000000000008403a18000000000000f03f00000000000000400000000000000840",
    "audio": "0a4d0a017332480d0000fa45100118032232524946462a00000057415645666d74201000000001000100401f0000803e00000200100064617461060000000000ff3f01802a09617564696f2f776176",
    "text": "0a280a0e742f746578745f73756d6d617279420c0807120412020801420268694a080a060a0474657874",
    "pr_curve": "0a9f010a01634286010801120812020806120208052a780000404000004040000000400000004000000000000000400000803f0000803f0000000000000000000000000000803f0000803f000000400000004000000000000000000000803f0000803f000040409a99193f0000403fabaa2a3f0000803f000000000000803f0000803fabaa2a3fabaa2a3f000000004a110a0f0a0970725f63757276657312021005",
    "mesh": "0a580a086d5f564552544558422a0801120c1202080112020802120208032a18000000000000803f0000004000004040000080400000a0404a200a1e0a046d657368121612016d18012a087b226b223a20317d320301020338060a4a0a066d5f46414345421e0801120c1202080112020801120208032a0c000000000000803f000000404a200a1e0a046d657368121612016d18022a087b226b223a20317d32030101033806",
    "custom": "0a5a0a18637573746f6d5f7363616c6172735f5f636f6e6669675f5f422a08071200422412220a0154120b0a016112060a01780a017912100a01621a0b0a090a016c12016d1a01754a120a100a0e637573746f6d5f7363616c617273",
    "hparams": "0a570a145f68706172616d735f2f6578706572696d656e744a3f0a3d0a0768706172616d731232123022060a026c72200322160a016e20012a0f0a061a046164616d0a051a0373676422050a016220032a070a051203616363",
    "hparams_end": "0a2f0a1a5f68706172616d735f2f73657373696f6e5f656e645f696e666f4a110a0f0a0768706172616d73120422020801",
}


def bitwise_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def records(path):
    """The records of a file, each with its checksums verified."""
    with open(path, "rb") as file:
        content = file.read()
    while content:
        length = content[:8]
        size = struct.unpack("<Q", length)[0]
        data = content[12 : 12 + size]
        for part, at in ((length, 8), (data, 12 + size)):
            crc = bitwise_crc(part)
            assert struct.unpack_from("<I", content, at)[0] == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
        yield data
        content = content[16 + size :]


def fields(message):
    """{number: [values]} of a message: ints, bytes, and numbers of 4 and 8 bytes."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            value, at = struct.unpack_from("<d", message, at)[0], at + 8
        elif key & 7 == 5:
            value, at = struct.unpack_from("<f", message, at)[0], at + 4
        else:
            size = varint()
            value, at = message[at : at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def events(folder):
    return [fields(data) for name in sorted(os.listdir(folder)) if "tfevents" in name for data in records(os.path.join(folder, name))]


def values(folder):
    """(step, fields of the value) of every summary in a folder's files."""
    return [(e.get(2, [0])[0], fields(v)) for e in events(folder) for s in e.get(5, []) for v in fields(s)[1]]


class Case(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = held.name


class Records(Case):
    def test_checksum(self):
        self.assertEqual(crc32c(b"123456789"), 0xE3069283)
        for size in (0, 1, 1000, 1 << 14, 50001):
            data = bytes(i * 7 % 251 for i in range(size))
            self.assertEqual(crc32c(data), bitwise_crc(data), size)

    def test_writer(self):
        file = io.BytesIO()
        writer = RecordWriter(file)
        writer.write(b"abc")
        writer.flush()
        self.assertEqual(len(file.getvalue()), 19)
        self.assertFalse(writer.closed)
        writer.close()
        self.assertTrue(writer.closed)

    def test_file(self):
        writer = FileWriter(self.folder, max_queue=2, flush_secs=1000, filename_suffix=".x")
        (name,) = os.listdir(self.folder)
        self.assertRegex(name, r"^events\.out\.tfevents\.\d{10}\..+\.\d+\.\d+\.x$")
        self.assertEqual(events(self.folder)[0][3], [b"brain.Event:2"])
        writer.add_summary(summary.scalar("a", 1), 5, walltime=2.5)
        self.assertEqual(len(events(self.folder)), 1)
        writer.add_summary(summary.scalar("a", 2), 6)
        found = events(self.folder)
        self.assertEqual((len(found), found[1][1], found[1][2], found[2][2]), (3, [2.5], [5], [6]))
        writer.add_summary(summary.scalar("a", 3))
        writer.flush()
        self.assertEqual(len(events(self.folder)), 4)
        writer.close()
        self.assertRaises(ValueError, writer.add_summary, b"")
        writer.reopen()
        writer.close()
        self.assertEqual(len(os.listdir(self.folder)), 2)

    def test_what_waits_is_written_after_a_while(self):
        writer = FileWriter(self.folder, max_queue=100, flush_secs=0.05)
        writer.add_summary(summary.scalar("a", 1))
        for _ in range(200):
            if len(events(self.folder)) == 2:
                break
            time.sleep(0.05)
        self.assertEqual(len(events(self.folder)), 2)
        writer.close()


class Messages(Case):
    def check(self, name, made):
        self.assertEqual(made.hex(), GOLDEN[name], name)

    def test_numbers(self):
        self.check("scalar", summary.scalar("a", 1.5))
        self.check("scalar", summary.scalar("a", torch.tensor([1.5])))
        self.check("scalar_new", summary.scalar("a", np.float64(1.5), new_style=True))
        self.check("scalar_double", summary.scalar("a", 0.1, new_style=True, double_precision=True))
        self.check("tensor", summary.tensor_proto("t", torch.arange(6.0).view(2, 3)))
        self.check("tensor_int", summary.tensor_proto("t", torch.tensor([1, -2])))

    def test_histograms(self):
        self.check("histogram", summary.histogram("h", torch.tensor([-1.0, 0.5, 0.5, 2.0]), [-2, -1, 0, 1, 2, 3]))
        self.check("histogram_less", summary.histogram("h", torch.arange(10.0), [0, 1, 2, 3, 4, 5, 6, 7], max_bins=3))
        self.check("histogram_raw", summary.histogram_raw("h", 0.0, 3.0, 6, 7.0, 8.0, [1.0, 2.0, 3.0], [1, 2, 3]))

    def test_others(self):
        self.check("audio", summary.audio("s", torch.tensor([[0.0, 0.5, -1.0]]), 8000))
        self.check("text", summary.text("t", "hi"))
        self.check("pr_curve", summary.pr_curve("c", torch.tensor([0, 1, 1, 0, 1]), torch.tensor([0.1, 0.8, 0.4, 0.6, 0.9]), 5))
        self.check("mesh", summary.mesh("m", torch.arange(6.0).view(1, 2, 3), None, torch.arange(3).view(1, 1, 3), {"k": 1}))
        self.check("custom", summary.custom_scalars({"T": {"a": ["Multiline", ["x", "y"]], "b": ["Margin", ["l", "m", "u"]]}}))
        domains = {"n": ["adam", "sgd"]}
        self.check("hparams", summary.hparams({"lr": 0.1, "n": "adam", "b": True}, {"acc": 1}, domains)[0])
        self.check("hparams_end", summary.hparams({"lr": 0.1}, {"acc": 1})[2])


def unpacked(file):
    """The pixels of the frames of a PNG file as `_images.png` writes it."""
    chunks, at = [], 8
    while at < len(file):
        size, kind = struct.unpack_from(">I4s", file, at)
        data = file[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", file, at + 8 + size)[0] == zlib.crc32(kind + data)
        chunks.append((kind, data))
        at += 12 + size
    width, height, depth, color = struct.unpack_from(">IIBB", chunks[0][1])
    assert (depth, color) == (8, 2)
    frames = []
    for kind, data in chunks:
        if kind in (b"IDAT", b"fdAT"):
            rows = np.frombuffer(zlib.decompress(data[4 if kind == b"fdAT" else 0 :]), np.uint8).reshape(height, 1 + 3 * width)
            assert not rows[:, 0].any()
            frames.append(rows[:, 1:].reshape(height, width, 3))
    return np.stack(frames)


class Pictures(Case):
    def pixels(self, made):
        return unpacked(fields(fields(fields(made)[1][0])[4][0])[4][0])

    def test_orders_of_dimensions(self):
        x = torch.arange(60).view(3, 4, 5) / 60.0
        wanted = (x * 255).byte().permute(1, 2, 0).numpy()
        for made in (summary.image("a", x, dataformats="CHW"), summary.image("a", torch.from_numpy(wanted), dataformats="HWC"), summary.image("a", x[None])):
            self.assertTrue(np.array_equal(self.pixels(made)[0], wanted))
        gray = self.pixels(summary.image("a", x[0], dataformats="HW"))[0]
        self.assertTrue(np.array_equal(gray, np.stack([wanted[..., 0]] * 3, 2)))
        self.assertTrue(np.array_equal(self.pixels(summary.image("a", x[:1], dataformats="CHW"))[0], gray))

    def test_grid(self):
        x = torch.arange(10).view(10, 1, 1, 1).expand(10, 1, 2, 3).byte()
        grid = self.pixels(summary.image("a", x))[0]
        self.assertEqual(grid.shape, (4, 24, 3))
        self.assertEqual((grid[0, 23, 0], grid[2, 0, 0], grid[2, 3, 0], grid[2, 6, 0]), (7, 8, 9, 0))

    def test_boxes(self):
        picture = self.pixels(summary.image_boxes("a", torch.zeros(3, 20, 20), torch.tensor([[2.0, 3.0, 12.0, 14.0]])))[0]
        self.assertEqual([int(v) for v in picture[8, :, 0] // 255], [0, 0, 1, 1] + [0] * 7 + [1, 1] + [0] * 7)
        self.assertFalse(picture[..., 1:].any())
        larger = self.pixels(summary.image_boxes("a", torch.zeros(3, 20, 20), torch.zeros(0, 4), rescale=2))
        self.assertEqual(larger.shape, (1, 40, 40, 3))

    def test_video(self):
        x = torch.arange(3).view(1, 3, 1, 1, 1).expand(2, 3, 3, 4, 5).byte()
        frames = self.pixels(summary.video("a", x, fps=10))
        self.assertEqual(frames.shape, (3, 4, 10, 3))
        self.assertEqual([int(f.max()) for f in frames], [0, 1, 2])

    def test_refusals(self):
        self.assertRaises(AssertionError, summary.image, "a", torch.ones(2, 2), dataformats="CHW")
        self.assertRaises(AssertionError, summary.image, "a", torch.ones(3, 2, 2), dataformats="CCW")
        self.assertRaises(AssertionError, summary.image, "a", torch.ones(2, 5, 2, 2))
        self.assertRaises(TypeError, summary.image, "a", torch.ones(5, 2, 2), dataformats="CHW")
        self.assertRaises(AssertionError, summary.video, "a", torch.ones(3, 2, 2))


class Writer(Case):
    def test_scalars(self):
        with SummaryWriter(self.folder) as writer:
            self.assertEqual(writer.get_logdir(), self.folder)
            writer.add_scalar("a", torch.tensor(2.5), 3)
            writer.add_scalars("m/x", {"p": 1.0, "q": 2.0}, 7)
        ((step, found),) = values(self.folder)
        self.assertEqual((step, found[1], found[2]), (3, [b"a"], [2.5]))
        ((step, found),) = values(os.path.join(self.folder, "m_x_q"))
        self.assertEqual((step, found[1], found[2]), (7, [b"m/x"], [2.0]))

    def test_each_method_writes_one_value(self):
        calls = [
            ("tensor", lambda w: w.add_tensor("x", torch.ones(2), 1)),
            ("histogram", lambda w: w.add_histogram("x", torch.randn(20), 1)),
            ("raw", lambda w: w.add_histogram_raw("x", 0, 1, 2, 1, 1, [1], [2], 1)),
            ("image", lambda w: w.add_image("x", torch.rand(3, 4, 4), 1)),
            ("images", lambda w: w.add_images("x", torch.rand(2, 3, 4, 4), 1)),
            ("boxes", lambda w: w.add_image_with_boxes("x", torch.rand(3, 4, 4), torch.ones(1, 4), 1)),
            ("video", lambda w: w.add_video("x", torch.rand(1, 2, 3, 4, 4), 1)),
            ("audio", lambda w: w.add_audio("x", torch.rand(1, 9), 1)),
            ("text", lambda w: w.add_text("x", "y", 1)),
            ("pr", lambda w: w.add_pr_curve("x", torch.ones(2), torch.rand(2), 1)),
            ("pr_raw", lambda w: w.add_pr_curve_raw("x", *[np.ones(2)] * 6, 1, 2)),
            ("mesh", lambda w: w.add_mesh("x", torch.rand(1, 3, 3), global_step=1)),
        ]
        for name, call in calls:
            with self.subTest(name):
                folder = os.path.join(self.folder, name)
                with SummaryWriter(folder) as writer:
                    call(writer)
                self.assertEqual([step for step, _ in values(folder)], [1])

    def test_default_bins_hold_everything(self):
        with SummaryWriter(self.folder) as writer:
            self.assertEqual(len(writer.default_bins), 1549)
            writer.add_histogram("x", torch.tensor([-1e19, 0.0, 1e19]))
            self.assertRaises(ValueError, writer.add_histogram, "x", torch.ones(0))
        histogram = fields(values(self.folder)[0][1][5][0])
        counts = struct.unpack(f"<{len(histogram[7][0]) // 8}d", histogram[7][0])
        self.assertEqual(sum(counts), 3)

    def test_restart(self):
        with SummaryWriter(self.folder, purge_step=4):
            pass
        first, version, session = events(self.folder)
        self.assertEqual((version[2], version[3], session[2], fields(session[7][0])[1]), ([4], [b"brain.Event:2"], [4], [1]))

    def test_after_close_it_goes_on_in_another_file(self):
        writer = SummaryWriter(self.folder)
        writer.close()
        writer.add_scalar("a", 1)
        writer.close()
        writer.close()
        self.assertEqual(len(os.listdir(self.folder)), 2)

    def test_default_folder(self):
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            SummaryWriter(comment="_c").close()
            self.assertRegex(os.listdir("runs")[0], r"^[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.*_c$")
        finally:
            os.chdir(before)

    def test_hparams(self):
        with SummaryWriter(self.folder) as writer:
            writer.add_hparams({"lr": 0.1, "t": torch.tensor(2.0)}, {"acc": 0.5}, run_name="r", global_step=4)
            self.assertRaises(TypeError, writer.add_hparams, [1], {})
            self.assertRaises(ValueError, writer.add_hparams, {"a": [1]}, {"b": 1})
            self.assertRaises(TypeError, writer.add_hparams, {"a": 1}, {"b": 1}, hparam_domain_discrete={"a": ["x"]})
            self.assertRaises(TypeError, writer.add_hparams, {"a": 1}, {"b": 1}, hparam_domain_discrete={"z": [1]})
        names = [v[1][0].decode() for _, v in values(os.path.join(self.folder, "r"))]
        self.assertEqual(names, ["_hparams_/experiment", "_hparams_/session_start_info", "_hparams_/session_end_info", "acc"])

    def test_embedding(self):
        with SummaryWriter(self.folder) as writer:
            writer.add_embedding(torch.arange(6.0).view(3, 2), ["a", "b", "c"], torch.rand(3, 3, 2, 4), 1, "e/x")
            writer.add_embedding(torch.arange(4.0).view(2, 2), [["a", 1], ["b", 2]], metadata_header=["n", "v"])
            for wrong in (dict(mat=torch.ones(2)), dict(mat=torch.ones(2, 2), metadata=["a"]), dict(mat=torch.ones(2, 2), label_img=torch.ones(1, 3, 2, 2))):
                self.assertRaises(AssertionError, writer.add_embedding, global_step=9, **wrong)

        def read(*path):
            with open(os.path.join(self.folder, *path)) as file:
                return file.read()

        self.assertEqual(read("00001", "e%2fx", "tensors.tsv"), "0.0\t1.0\n2.0\t3.0\n4.0\t5.0\n")
        self.assertEqual(read("00001", "e%2fx", "metadata.tsv"), "a\nb\nc\n")
        self.assertEqual(read("00000", "default", "metadata.tsv"), "n\tv\na\t1\nb\t2\n")
        config = read("projector_config.pbtxt")
        self.assertTrue(config.startswith('embeddings {\n  tensor_name: "e/x:00001"\n  metadata_path: "00001/e%2fx/metadata.tsv"\n  sprite {\n'))
        self.assertIn("    single_image_dim: 4\n    single_image_dim: 2\n  }\n", config)
        self.assertEqual(config.count("embeddings {"), 2)
        with open(os.path.join(self.folder, "00001", "e%2fx", "sprite.png"), "rb") as file:
            self.assertEqual(unpacked(file.read()).shape, (1, 4, 8, 3))

    def test_graph(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))

            def forward(self, x, y):
                return (self.body(x) + y).softmax(-1)

        net = Net()
        before = net.body[1].running_mean.clone()
        with SummaryWriter(self.folder) as writer:
            writer.add_graph(net, (torch.rand(2, 3), torch.rand(4)))
            self.assertRaises(TypeError, writer.add_graph, lambda x: x, torch.ones(1))
        self.assertTrue(net.training and torch.equal(before, net.body[1].running_mean))
        self.assertEqual(len(net._forward_hooks), 0)
        graph = next(fields(e[4][0]) for e in events(self.folder) if 4 in e)
        nodes = {n[1][0].decode(): (n[2][0].decode(), [i.decode() for i in n.get(3, [])]) for n in map(fields, graph[1])}
        self.assertEqual(nodes["Net/Sequential[body]/Linear[0]/linear"],
                         ("aten::linear", ["input/input.1", "Net/Sequential[body]/Linear[0]/weight", "Net/Sequential[body]/Linear[0]/bias"]))  # fmt: skip
        self.assertEqual(nodes["Net/add"], ("aten::add", ["Net/Sequential[body]/BatchNorm1d[1]/batch_norm", "input/input.2"]))
        self.assertEqual(nodes["output/output.1"], ("IO Node", ["Net/softmax"]))
        self.assertTrue(all(i.partition(":")[0] in nodes for _, given in nodes.values() for i in given))

    def test_packages_that_are_not_there_are_named(self):
        with SummaryWriter(self.folder) as writer:
            for package, call in (("matplotlib", lambda: writer.add_figure("f", object())), ("onnx", lambda: writer.add_onnx_graph("x"))):
                try:
                    __import__(package)
                except ImportError:
                    with self.assertRaisesRegex(ModuleNotFoundError, package):
                        call()

    def test_refusals(self):
        with SummaryWriter(self.folder) as writer:
            self.assertRaises(AssertionError, writer.add_scalar, "a", torch.ones(2))
            self.assertRaises(NotImplementedError, writer.add_scalar, "a", None)
            self.assertRaises(AssertionError, writer.add_audio, "a", torch.ones(2, 3))
            self.assertRaises(ValueError, writer.add_mesh, "a", torch.ones(2, 3))
            self.assertRaises(ValueError, writer.add_pr_curve, "a", torch.ones(2), torch.ones(3))
            self.assertRaises(ValueError, writer.add_histogram_raw, "a", 0, 1, 1, 1, 1, [1.0], [])
        self.assertEqual(values(self.folder), [])


if __name__ == "__main__":
    unittest.main()
