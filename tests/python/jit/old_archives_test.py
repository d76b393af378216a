"""Archives of older versions: operators mean what they meant when the file was written, and stay so when it is saved again."""

import io
import unittest
import zipfile

import cresset as torch
from cresset import nn


def written_as(module, version, changes=()):
    """The archive of a module, as if it were of another version, with parts of its code replaced."""
    now, then = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.script(module), now)
    with zipfile.ZipFile(now) as source, zipfile.ZipFile(then, "w") as target:
        for entry in source.infolist():
            is_version = entry.filename.endswith("/version") and "/.data/" not in entry.filename
            content = f"{version}\n".encode() if is_version else source.read(entry)
            if entry.filename.endswith(".py"):
                for old, new in changes:
                    content = content.replace(old, new)
            target.writestr(entry.filename, content)
    return io.BytesIO(then.getvalue())


class Quotients(nn.Module):
    def forward(self, x, y, n: int, r: float):
        out = torch.zeros_like(x)
        changed = x.clone()
        changed.div_(y)
        by_number = x.clone()
        by_number.div_(n)
        return [x / y, x / n, x / r, torch.div(x, y, out=out), changed, by_number]


class Filled(nn.Module):
    def forward(self, n: int):
        return [torch.full([1], 3), torch.full([1], True), torch.full([1], n), torch.full([1], 3, dtype=torch.int32)]


class Spaced(nn.Module):
    def forward(self, a: float, n: int):
        return [torch.linspace(a, 1, 7), torch.logspace(a, 1, 7), torch.linspace(0, 3, 7, dtype=torch.float64), torch.linspace(torch.tensor(a), 1, 5)]


def again(module):
    file = io.BytesIO()
    torch.jit.save(module, file)
    return torch.jit.load(io.BytesIO(file.getvalue()))


class OldArchives(unittest.TestCase):
    def test_integers_divide_to_integers_before_version_4(self):
        x, y = torch.tensor([7, -7]), torch.tensor([2, 2])
        loaded = torch.jit.load(written_as(Quotients(), 3))
        for module in (loaded, again(loaded)):
            quotients = module(x, y, 2, 2.0)
            for i in (0, 1, 3, 4, 5):
                self.assertEqual((quotients[i].tolist(), quotients[i].dtype), ([3, -3], torch.int64))
            self.assertEqual(quotients[2].tolist(), [3.5, -3.5])

    def test_quotients_of_integers_are_exact_where_they_are_written_to_floats(self):
        class Quotient(nn.Module):
            def forward(self, x, y, out):
                return torch.div(x, y, out=out)

        loaded = torch.jit.load(written_as(Quotient(), 3))
        x, y = torch.tensor([7, -7]), torch.tensor([2, 2])
        for dtype, quotients in ((torch.float32, [3.5, -3.5]), (torch.complex64, [3.5, -3.5]), (torch.int64, [3, -3])):
            self.assertEqual(loaded(x, y, torch.empty(2, dtype=dtype)).tolist(), quotients)

    def test_other_numbers_divide_as_ever(self):
        for values in ([7.0, -7.0], [7 + 1j, -7 + 1j]):
            x, y = torch.tensor(values), torch.tensor([2, 2])
            for quotient in torch.jit.load(written_as(Quotients(), 3))(x, y, 2, 2.0):
                self.assertTrue(torch.equal(quotient, x / 2))

    def test_quotients_of_version_4_are_those_of_today(self):
        x, y = torch.tensor([7, -7]), torch.tensor([2, 2])

        class Quotient(nn.Module):
            def forward(self, x, y):
                return x / y

        self.assertEqual(torch.jit.load(written_as(Quotient(), 4))(x, y).tolist(), [3.5, -3.5])

    def test_whole_numbers_fill_with_floats_before_version_5(self):
        for version, dtypes in ((4, [torch.float32] * 3), (5, [torch.int64, torch.bool, torch.int64])):
            filled = torch.jit.load(written_as(Filled(), version))(3)
            self.assertEqual([t.dtype for t in filled], [*dtypes, torch.int32])
            self.assertEqual([t.item() for t in filled], [3, 1, 3, 3])

    def test_steps_of_spaces_had_a_default_before_version_8_and_9(self):
        for written in (b"", b", None"):
            module = torch.jit.load(written_as(Spaced(), 7, [(b", 7", written)]))
            for program in (module, again(module)):
                linear, powers, typed, few = program(0.0, 3)
                self.assertTrue(linear.equal(torch.linspace(0.0, 1, 100)))
                self.assertTrue(powers.equal(torch.logspace(0.0, 1, 100)))
                self.assertTrue(typed.equal(torch.linspace(0, 3, 100, dtype=torch.float64)))
                self.assertTrue(few.equal(torch.linspace(0.0, 1, 5)))
            for version in (8, 9):
                with self.assertRaisesRegex(RuntimeError, "linspace"):
                    torch.jit.load(written_as(Spaced(), version, [(b", 7", written)]))
        self.assertEqual([t.numel() for t in torch.jit.load(written_as(Spaced(), 7))(0.0, 3)], [7, 7, 7, 5])

    def test_forms_that_write_into_an_argument_had_the_defaults_too(self):
        class Written(nn.Module):
            def forward(self, a: float, lines, powers):
                return [torch.linspace(a, 1, 7, out=lines), torch.logspace(a, 1, 7, out=powers)]

        for written in (b"", b", None"):
            loaded = torch.jit.load(written_as(Written(), 7, [(b", 7, 1e+01", written), (b", 7", written)]))
            for program in (loaded, again(loaded)):
                lines, powers = torch.empty(0), torch.empty(0, dtype=torch.float64)
                program(0.0, lines, powers)
                self.assertTrue(lines.equal(torch.linspace(0.0, 1, 100)))
                self.assertTrue(powers.equal(torch.logspace(0.0, 1, 100, dtype=torch.float64)))
            for version in (8, 9):
                with self.assertRaisesRegex(RuntimeError, "linspace"):
                    torch.jit.load(written_as(Written(), version, [(b", 7", written)]))

    def test_whole_numbers_fill_what_is_given(self):
        class Filled(nn.Module):
            def forward(self, out):
                return torch.full([2], 3, out=out)

        filled = torch.jit.load(written_as(Filled(), 4))(torch.empty(0, dtype=torch.int32))
        self.assertEqual((filled.tolist(), filled.dtype), ([3, 3], torch.int32))

    def test_steps_of_logspace_had_a_default_in_version_8(self):
        class Powers(nn.Module):
            def forward(self, a: float):
                return torch.logspace(a, 1, 7)

        self.assertEqual(torch.jit.load(written_as(Powers(), 8, [(b", 7", b"")]))(0.0).numel(), 100)
        with self.assertRaisesRegex(RuntimeError, "logspace"):
            torch.jit.load(written_as(Powers(), 9, [(b", 7", b"")]))

    def test_archives_are_of_the_oldest_version_that_means_the_same(self):
        def version_of(text):
            file = io.BytesIO()
            torch.jit.save(torch.jit.CompilationUnit(f"def f(x):\n    return {text}\n").f, file)
            module = torch.jit.load(io.BytesIO(file.getvalue()))
            with zipfile.ZipFile(file) as archive, zipfile.ZipFile(io.BytesIO(module._save_to_buffer_for_lite_interpreter())) as lite:
                versions = [int(a.read(next(n for n in a.namelist() if n.endswith("/version") and "/.data/" not in n))) for a in (archive, lite)]
            self.assertEqual(versions[0], versions[1])
            return versions[0]

        expected = {"x + 1": 3, "x / 2": 4, "x.div_(2)": 4, "torch.full([2], 1)": 5, "torch.linspace(0, 1, 3)": 8, "torch.logspace(0, 1, 3)": 9,
                    "torch.gelu(x)": 10, "torch.linspace(0, 1, 3) / x": 8, "3 / 2": 3}  # fmt: skip
        self.assertEqual({text: version_of(text) for text in expected}, expected)

    def test_archives_of_old_programs_are_of_the_version_of_their_operators(self):
        file = io.BytesIO()
        torch.jit.save(torch.jit.load(written_as(Quotients(), 3)), file)
        with zipfile.ZipFile(file) as archive:
            self.assertEqual(archive.read("archive/version"), b"4\n")

    def test_later_versions_are_refused(self):
        with self.assertRaisesRegex(RuntimeError, "version 11, expected 1 to 10"):
            torch.jit.load(written_as(Filled(), 11))


if __name__ == "__main__":
    unittest.main()
