"""Archives of several programs (`torch.export.pt2_archive`): what PyTorch wrote, what is written and read again, other files beside the programs."""

import io
import json
import os
import tempfile
import unittest
import zipfile
from pathlib import Path

from cresset.export import Dim, export, load, save
from cresset.export.pt2_archive import PT2ArchiveReader, PT2ArchiveWriter, constants, is_pt2_package
from cresset.export.pt2_archive._package import AOTICompiledModel, load_pt2, load_weights_to_pt2_contents, package_pt2
from cresset.export.pt2_archive._package_weights import TensorProperties, Weights, get_complete_tensor, group_weights

import cresset as torch
from cresset import nn

DATA = Path(__file__).parents[2] / "graph/data"
X = torch.linspace(-1, 1, 6).reshape(2, 3)


def names_in(file):
    with PT2ArchiveReader(file) as reader:
        return reader.get_file_names()


def weights(**tensors):
    return Weights({name: (t, TensorProperties(t)) for name, t in tensors.items()})


class Scaled(nn.Module):
    """Weights, a buffer that is written, one that files do not keep, and a constant."""

    def __init__(self, weight):
        super().__init__()
        self.weight, self.constant = weight, torch.tensor(2.0)
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("shift", torch.ones(3), persistent=False)

    def forward(self, x):
        self.count += 1
        return x * self.weight * self.constant + self.shift


class Programs(unittest.TestCase):
    def test_an_archive_that_pytorch_wrote(self):
        contents = load_pt2(DATA / "several.pt2")
        self.assertEqual(list(contents.exported_programs), ["encode", "decode/back"])
        self.assertEqual((contents.extra_files, contents.aoti_runners), ({"note.txt": "two halves"}, {}))
        encode, decode = (program.module() for program in contents.exported_programs.values())
        self.assertEqual(encode(torch.ones(1, 2)).tolist(), [[3.0, 5.0, 7.0]])
        self.assertEqual(decode(torch.ones(1, 3)).tolist(), [[3.0, 12.0]])

    def test_programs_come_back_by_their_names(self):
        one = export(Scaled(nn.Parameter(torch.ones(3))), (X,), dynamic_shapes=({0: Dim("n", max=9)},))
        two = export(nn.Linear(3, 2), (), {"input": X})
        contents = load_pt2(package_pt2(io.BytesIO(), exported_programs={"a": one, "b.c/d": two}))
        self.assertEqual(list(contents.exported_programs), ["a", "b.c/d"])
        for name, program in (("a", one), ("b.c/d", two)):
            loaded = contents.exported_programs[name]
            self.assertEqual(loaded.graph_module.code, program.graph_module.code)
            self.assertEqual(str(loaded.graph_signature), str(program.graph_signature))
            self.assertTrue(
                torch.equal(loaded.module()(input=X) if name != "a" else loaded.module()(X), program.module()(input=X) if name != "a" else program.module()(X))
            )
            self.assertEqual(str(loaded.example_inputs), str(program.example_inputs))

    def test_a_program_alone_is_the_model_that_load_reads(self):
        buffer = package_pt2(io.BytesIO(), exported_programs=export(nn.ReLU(), (X,)))
        self.assertEqual(list(load_pt2(buffer).exported_programs), ["model"])
        self.assertTrue(torch.equal(load(buffer).module()(X), X.relu()))

    def test_load_reads_the_only_model_and_names_those_of_several(self):
        programs = {"a": export(nn.ReLU(), (X,)), "b": export(nn.Tanh(), (X,))}
        self.assertTrue(torch.equal(load(package_pt2(io.BytesIO(), exported_programs={"a": programs["a"]})).module()(X), X.relu()))
        with self.assertRaisesRegex(ValueError, "expected one model, got a, b; .*load_pt2"):
            load(package_pt2(io.BytesIO(), exported_programs=programs))
        self.assertTrue(torch.equal(load(package_pt2(io.BytesIO(), exported_programs={**programs, "model": programs["b"]})).module()(X), X.tanh()))

    def test_weights_that_programs_share_are_kept_once_and_shared_again(self):
        weight = nn.Parameter(torch.ones(3))
        programs = {"a": export(Scaled(weight), (X,)), "b": export(Scaled(weight), (X,))}
        buffer = package_pt2(io.BytesIO(), exported_programs=programs)
        self.assertEqual(sum("weights/weight_" in name for name in names_in(buffer)), 3)
        a, b = (p.state_dict for p in load_pt2(buffer).exported_programs.values())
        self.assertEqual(a["weight"].data_ptr(), b["weight"].data_ptr())
        self.assertNotEqual(a["count"].data_ptr(), b["count"].data_ptr())

    def test_versions_of_operators(self):
        buffer = package_pt2(io.BytesIO(), exported_programs=export(nn.ReLU(), (X,)), opset_version={"aten": 7})
        load_pt2(buffer, expected_opset_version={"aten": 7})
        with self.assertRaisesRegex(ValueError, "opset_version"):
            load_pt2(buffer, expected_opset_version={"aten": 8})

    def test_a_path_appears_whole_or_not_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.pt2"
            self.assertIs(package_pt2(path, exported_programs=export(nn.ReLU(), (X,))), path)
            self.assertTrue(all(name.startswith("m/") for name in zipfile.ZipFile(path).namelist()))
            self.assertEqual(list(load_pt2(str(path)).exported_programs), ["model"])
            with self.assertRaises(FileNotFoundError):
                package_pt2(Path(folder) / "other.pt2", aoti_files=["no/such/file"])
            self.assertEqual(os.listdir(folder), ["m.pt2"])

    def test_an_open_file_is_left_at_its_start(self):
        for write in (save, lambda program, file: package_pt2(file, exported_programs=program)):
            buffer = io.BytesIO()
            write(export(nn.ReLU(), (X,)), buffer)
            self.assertEqual(buffer.tell(), 0)

    def test_a_file_without_places_is_written_in_order(self):
        class Pipe(io.BytesIO):
            def seekable(self):
                return False

            def seek(self, *args):
                raise io.UnsupportedOperation("seek")

        pipe = Pipe()
        save(export(nn.ReLU(), (X,)), pipe)
        self.assertTrue(torch.equal(load(io.BytesIO(pipe.getvalue())).module()(X), X.relu()))

    def test_a_pickle_of_weights_is_not_opened(self):
        buffer, other = package_pt2(io.BytesIO(), exported_programs=export(nn.Linear(3, 2), (X,))), io.BytesIO()
        with PT2ArchiveReader(buffer) as reader, PT2ArchiveWriter(other) as writer:
            for name in reader.get_file_names():
                if "/" in name and not name.startswith("."):
                    writer.write_bytes(name, reader.read_bytes(name).replace(b'"use_pickle": false', b'"use_pickle": true'))
        with self.assertRaisesRegex(ValueError, "stored as a pickle, which is not opened"):
            load_pt2(other)

    def test_what_cannot_be_written(self):
        for error, text, options in (
            (ValueError, "got none of them", {}),
            (ValueError, "got none of them", {"executorch_files": {"e": b""}}),
            (TypeError, "exported_programs: expected a dict from name to value, got list", {"exported_programs": [export(nn.ReLU(), (X,))]}),
            (TypeError, "exported_programs: 'a': got ReLU", {"exported_programs": {"a": nn.ReLU()}}),
            (TypeError, "aoti_files: expected a dict", {"aoti_files": "a"}),
            (TypeError, "'extra/a': expected bytes, got int", {"extra_files": {"a": 3}}),
        ):
            with self.assertRaisesRegex(error, text):
                package_pt2(io.BytesIO(), **options)


class OtherFiles(unittest.TestCase):
    def test_extra_files_are_text_or_bytes(self):
        files = {"a": "text", "b/c": "more", "d": b"\xff\x00"}
        buffer = package_pt2(io.BytesIO(), extra_files=files, executorch_files={"e": b"12"})
        self.assertEqual(load_pt2(buffer).extra_files, files)
        with PT2ArchiveReader(buffer) as reader:
            self.assertEqual(reader.read_bytes("data/executorch/e"), b"12")

    def test_a_compiled_model_is_kept_as_files_and_not_run(self):
        with tempfile.TemporaryDirectory() as folder:
            code = Path(folder) / "m.so"
            code.write_bytes(b"\x7fELF")
            buffer = package_pt2(io.BytesIO(), exported_programs=export(nn.ReLU(), (X,)), aoti_files={"m": [code]})
        contents = load_pt2(buffer)
        with PT2ArchiveReader(buffer) as reader:
            self.assertEqual(reader.read_bytes("data/aotinductor/m/m.so"), b"\x7fELF")
        self.assertEqual((list(contents.exported_programs), list(contents.aoti_runners)), (["model"], ["m"]))
        model = contents.aoti_runners["m"]
        self.assertIsInstance(model, AOTICompiledModel)
        for use in (lambda: model(X), model.get_metadata, model.get_constant_fqns, lambda: load_weights_to_pt2_contents(contents, {"m": {}})):
            with self.assertRaisesRegex(NotImplementedError, "'m' is code that PyTorch's Inductor compiled.*aoti_compile_and_package"):
                use()
        with self.assertRaisesRegex(RuntimeError, "no compiled model is called 'other'; there are .'m'."):
            load_weights_to_pt2_contents(contents, {"other": {}})

    def test_weights_beside_compiled_models(self):
        x = torch.arange(10.0)
        given = {"m": [weights(a=x[:5], b=x[3:8], c=torch.ones(2))], "n": [weights(whole=x)]}
        with PT2ArchiveReader(package_pt2(io.BytesIO(), aoti_files=given)) as reader:
            table = json.loads(reader.read_string("data/aotinductor/m/weights_config.json"))
            self.assertEqual(table, {"a": ["weight_0", [5], [1], 0], "b": ["weight_0", [5], [1], 3], "c": ["weight_1", [2], [1], 0]})
            self.assertEqual(json.loads(reader.read_string("data/aotinductor/n/weights_config.json")), {"whole": ["weight_0", [10], [1], 0]})
            self.assertTrue(torch.equal(torch.load(io.BytesIO(reader.read_bytes("data/weights/weight_0"))), x))


class Memory(unittest.TestCase):
    def test_groups_are_of_one_memory_and_dtype(self):
        x = torch.arange(10.0)
        models = {"m": weights(a=x[:5], z=torch.ones(2)), "n": weights(c=x, d=x[9:].view(torch.int32))}
        self.assertEqual([list(group) for group in group_weights(models)], [[("m", "a"), ("n", "c")], [("m", "z")], [("n", "d")]])
        self.assertIs(get_complete_tensor([("m", "a"), ("n", "c")], models), x)

    def test_a_group_of_parts_is_memory_from_its_start_to_the_last(self):
        x = torch.arange(10.0)
        self.assertEqual(get_complete_tensor([("m", "a"), ("m", "b")], {"m": weights(a=x[4:7], b=x[2:5])}).tolist(), list(range(7)))

    def test_of_parts_with_gaps_it_is_the_first_with_a_warning(self):
        x = torch.arange(10.0)[::2]
        with self.assertWarnsRegex(UserWarning, "not contiguous: took the first one"):
            self.assertIs(get_complete_tensor([("m", "a")], {"m": weights(a=x)}), x)

    def test_properties(self):
        x = torch.arange(10.0)
        facts = TensorProperties(x[3:8])
        self.assertEqual((facts.shape, facts.stride, facts.offset, facts.storage_size), ((5,), (1,), 3, 40))
        self.assertEqual((facts.start - facts.storage_ptr, facts.end - facts.storage_ptr), (12, 32))
        self.assertEqual([TensorProperties(t).is_complete() for t in (x, x[:5], x.reshape(2, 5).t(), x[:0].clone())], [True, False, False, True])
        with torch._subclasses.FakeTensorMode() as mode:
            fake = TensorProperties(mode.from_tensor(x))
        self.assertEqual((fake.is_fake, fake.storage_ptr, fake.is_complete()), (True, None, True))


class Files(unittest.TestCase):
    def test_names(self):
        buffer = io.BytesIO()
        with PT2ArchiveWriter(buffer) as writer:
            writer.write_string("a", "b")
            writer.write_bytes("c/d", b"1")
            writer.write_bytes("c/e", b"2")
            self.assertEqual((writer.has_record("a"), writer.has_record("q"), writer.count_prefix("c/")), (True, False, 2))
        with PT2ArchiveReader(buffer) as reader:
            self.assertEqual(reader.get_file_names()[:5], ["a", "c/d", "c/e", "archive_format", "archive_version"])
            self.assertEqual((reader.read_string("a"), reader.read_bytes("c/d"), reader.archive_version()), ("b", b"1", 0))
            with self.assertRaisesRegex(ValueError, "has no entry 'zz'"):
                reader.read_bytes("zz")

    def test_files_and_folders_of_the_disk(self):
        buffer = io.BytesIO()
        with tempfile.TemporaryDirectory() as folder, PT2ArchiveWriter(buffer) as writer:
            (Path(folder) / "sub").mkdir()
            (Path(folder) / "x").write_text("1")
            (Path(folder) / "sub/y").write_text("2")
            writer.write_file("f", Path(folder) / "x")
            writer.write_folder("g", folder)
            with self.assertRaisesRegex(FileNotFoundError, "'f2': '/no/such' is no file"):
                writer.write_file("f2", "/no/such")
            with self.assertRaisesRegex(NotADirectoryError, "'/no/such' is no folder"):
                writer.write_folder("g2", "/no/such")
        with PT2ArchiveReader(buffer) as reader:
            self.assertEqual([(n, reader.read_string(n)) for n in reader.get_file_names()[:3]], [("f", "1"), ("g/sub/y", "2"), ("g/x", "1")])

    def test_mistakes_of_writers(self):
        with PT2ArchiveWriter(io.BytesIO()) as writer:
            writer.write_string("a", "b")
            with self.assertRaisesRegex(ValueError, "has a file 'a' already"):
                writer.write_string("a", "c")
            with self.assertRaisesRegex(TypeError, "'x': expected bytes, got str"):
                writer.write_bytes("x", "text")
            with self.assertRaisesRegex(TypeError, "'x': expected a str, got bytes"):
                writer.write_string("x", b"text")

    def test_a_file_that_breaks_off_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(KeyError), PT2ArchiveWriter(os.path.join(folder, "m.pt2")) as writer:
                writer.write_string("a", "b")
                raise KeyError
            self.assertEqual(os.listdir(folder), [])

    def test_what_is_an_archive(self):
        buffer = package_pt2(io.BytesIO(), extra_files={"archive_format": "text"})
        self.assertTrue(is_pt2_package(buffer))
        self.assertTrue(is_pt2_package(buffer.getvalue()))
        self.assertTrue(is_pt2_package(str(DATA / "several.pt2")))
        other = io.BytesIO()
        torch.save(torch.ones(2), other)
        for wrong in (other, other.getvalue(), b"nothing", "/no/such", str(DATA / "write.py")):
            self.assertFalse(is_pt2_package(wrong))
        with self.assertRaisesRegex(ValueError, "expected an archive that torch.export.save wrote"):
            PT2ArchiveReader(other)

    def test_places(self):
        self.assertEqual(constants.MODELS_FILENAME_FORMAT.format("a"), "models/a.json")
        self.assertEqual(constants.WEIGHTS_CONFIG_FILENAME_FORMAT.format("a"), "data/weights/a_weights_config.json")


if __name__ == "__main__":
    unittest.main()
