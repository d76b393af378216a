"""Timing of statements: measurements, tables, and random tensors. Texts are PyTorch 2.13's."""

import pickle
import unittest

from cresset.utils import benchmark as B

import cresset as torch

SPEC = B.TaskSpec("x + y", "x=1\ny=2", label="L", sub_label="S", description="D", env="E", num_threads=2)


class Facts(unittest.TestCase):
    def test_specifications(self):
        self.assertEqual((SPEC.title, SPEC.setup_str(), SPEC.summarize()), ("L: S", "setup:\n  x=1\n  y=2", "L: S\nD\nsetup:\n  x=1\n  y=2\n"))
        self.assertEqual((B.TaskSpec("a\nb", "pass").title, B.TaskSpec("x", "y").summarize()), ("stmt:\n  a\n  b", "x\nsetup: y"))

    def test_measurements(self):
        m = B.Measurement(10, [1e-3, 1.1e-3, 1.2e-3, 0.9e-3, 1e-3], SPEC)
        self.assertEqual([round(v * 1e6, 6) for v in (m.mean, m.median, m.iqr)], [104, 100, 10])
        self.assertEqual((m.significant_figures, m.has_warnings, m.meets_confidence(), m.title, m.env, m.as_row_name), (1, False, True, "L: S", "E", "S"))
        wanted = (
            "L: S\nD\nsetup:\n  x=1\n  y=2\n\n  Median: 100.00 us\n  IQR:    10.00 us (100.00 to 110.00)\n  5 measurements, 10 runs per measurement, 2 threads"
        )
        self.assertEqual(str(m).partition("\n")[2], wanted)
        wild = B.Measurement(1, [1.0, 2, 3, 10.0], B.TaskSpec("f()", ""))
        self.assertIn("WARNING: Interquartile range is 120.0% of the median measurement.\n           The machine was probably busy with other work.", str(wild))
        self.assertEqual(pickle.loads(pickle.dumps(m)).median, m.median)
        merged = B.Measurement.merge([m, m, wild])
        self.assertEqual([len(one.times) for one in merged], [10, 4])
        self.assertRaises(AttributeError, lambda: m.nothing)

    def test_helpers(self):
        self.assertEqual([B.select_unit(t) for t in (1e-3, 2.5e-7, 3, 120)], [("ms", 1e-3), ("ns", 1e-9), ("s", 1), ("s", 1)])
        self.assertEqual(
            (B.trim_sigfig(1234.567, 2), B.trim_sigfig(0, 2), B.unit_to_english("us"), B.ordered_unique([3, 1, 3])), (1200.0, 0.0, "microsecond", [3, 1])
        )
        with B.set_torch_threads(2):
            self.assertEqual(torch.get_num_threads(), 2)


def measured(rows):
    return [
        B.Measurement(1, [1e-4 * (1 + 0.01 * i) * (3 if d == "B" else 1) * (10 if sub == "large" else 1) for i in range(5)], B.TaskSpec("s", "", "", label, sub, d, None, n))
        for label, sub in rows for d in "AB" for n in (1, 4)
    ]  # fmt: skip


class Tables(unittest.TestCase):
    def test_layout(self):
        table = B.Compare(measured([("add", "small"), ("add", "large"), ("mul", "small")]))
        self.assertEqual(
            str(table),
            """[------------- add -------------]
             |    A     |    B   
1 threads: ----------------------
      small  |   102.0  |   306.0
      large  |  1020.0  |  3060.0
4 threads: ----------------------
      small  |   102.0  |   306.0
      large  |  1020.0  |  3060.0

Times are in microseconds (us).

[------------ mul ------------]
             |    A    |    B  
1 threads: --------------------
      small  |  102.0  |  306.0
4 threads: --------------------
      small  |  102.0  |  306.0

Times are in microseconds (us).
""",
        )  # noqa: W291
        table.trim_significant_figures()
        self.assertIn("      large  |  1000  |  3100\n", str(table))

    def test_colours(self):
        table = B.Compare(measured([("add", "small"), ("add", "large")]))
        table.colorize()
        self.assertIn("small  |  \033[92m\033[1m 102.0\033[0m\033[0m  |  \033[92m\033[1m 306.0", str(table))
        self.assertIn("large  |  \033[31m\033[1m1020.0", str(table))
        table.colorize(rowwise=True)
        self.assertIn("|  \033[2m\033[91m 306.0\033[0m\033[0m", str(table))

    def test_environments(self):
        results = [B.Measurement(1, [1e-4] * 5, B.TaskSpec("s", "", label="l", description="d", env=e)) for e in ("old", "new")]
        self.assertEqual(
            str(B.Compare(results)).splitlines(),
            [
                "[------- l --------]",
                "            |    d  ",
                "1 threads: ---------",
                "  (new)  s  |  100.0",
                "  (old)  s  |  100.0",
                "",
                "Times are in microseconds (us).",
            ],
        )
        self.assertRaises(ValueError, B.Compare, [3])


class Timers(unittest.TestCase):
    def test_runs(self):
        calls = []
        timer = B.Timer("f()", globals={"f": lambda: calls.append(torch.get_num_threads())}, num_threads=2)
        m = timer.timeit(5)
        self.assertEqual((m.number_per_run, len(m.times), set(calls)), (5, 1, {2}))
        seen = []
        many = B.Timer("x + 1", "x = torch.ones(4)").blocked_autorange(lambda n, t: seen.append(n), min_run_time=0.01)
        self.assertEqual(len(seen), len(many.times))
        self.assertTrue(B.Timer("1").adaptive_autorange(min_run_time=0.001, max_run_time=0.05).number_per_run > 1)
        self.assertEqual(B.Timer("    a = 1\n    b = 2").timeit(1).title, "stmt:\n  a = 1\n  b = 2")

    def test_refusals(self):
        for kind, call in ((ValueError, lambda: B.Timer(3)), (ValueError, lambda: B.Timer(language="zz")), (RuntimeError, lambda: B.Timer(language="c++")),
                           (ValueError, lambda: B.Timer(global_setup="x")), (NameError, lambda: B.Timer("nobody").timeit(1)),
                           (NotImplementedError, lambda: B.Timer().repeat()), (OSError, lambda: B.Timer().collect_callgrind())):  # fmt: skip
            self.assertRaises(kind, call)


class Fuzzed(unittest.TestCase):
    def test_draws(self):
        fuzzer = B.Fuzzer(
            [B.FuzzedParameter("a", 2, 8, "uniform"), [B.FuzzedParameter("b", 1, 100, "loguniform")], B.FuzzedParameter("d", distribution={1: 0.5, 2: 0.5}),
             B.FuzzedParameter("c", distribution={B.ParameterAlias("a"): 1.0})],
            [B.FuzzedTensor("x", ("a", "b"), steps=("c", 1), probability_contiguous=0.0, min_elements=2, max_elements=200, dim_parameter="d")],
            [lambda p: p["a"] > 2], seed=3,
        )  # fmt: skip
        first = list(fuzzer.take(20))
        for tensors, facts, params in first:
            x = tensors["x"]
            self.assertEqual(tuple(x.shape), (params["a"], params["b"])[: params["d"]])
            self.assertTrue(2 <= x.numel() <= 200 and params["a"] > 2 and params["c"] == params["a"])
            self.assertEqual(facts["x"]["is_contiguous"], x.is_contiguous())
        self.assertTrue(0 < fuzzer.rejection_rate < 1)
        again = list(fuzzer.take(20))
        self.assertTrue(all(torch.equal(a[0]["x"], b[0]["x"]) for a, b in zip(first, again)))

    def test_refusals(self):
        for named in (
            dict(minval=2, maxval=1, distribution="uniform"),
            dict(minval=0, maxval=1, distribution="loguniform"),
            dict(distribution={1: 0.5}),
            dict(distribution="normal"),
        ):
            self.assertRaises(AssertionError, B.FuzzedParameter, "x", **named)
        self.assertRaises(ValueError, lambda: next(B.Fuzzer([], [], [lambda p: False]).take(1)))
        self.assertRaises(ValueError, B.Fuzzer, [B.FuzzedParameter("x", 1, 2, "uniform")] * 2, [])

    def test_draws_are_pytorchs(self):
        fuzzer = B.Fuzzer([B.FuzzedParameter("n", 4, 16, "uniform"), B.FuzzedParameter("k", 1, 8, "loguniform")], [B.FuzzedTensor("x", ("n", "k"))], seed=3)
        drawn = [(tuple(tensors["x"].shape), facts["x"]["order"]) for tensors, facts, _ in fuzzer.take(3)]
        self.assertEqual(drawn, [((13, 5), [0, 1]), ((9, 6), [1, 0]), ((9, 1), [0, 1])])

    def test_one_measurement_has_the_figures_that_the_clock_allows(self):
        figures = [B.Measurement(1, [t], B.TaskSpec("s", "")).significant_figures for t in (1e-6, 3e-6, 1e-4, 1.0)]
        self.assertEqual(figures, [1, 2, 3, 4])


class Warnings(unittest.TestCase):
    def text(self, *times):
        return repr(B.Measurement(1, list(times), B.TaskSpec("s", ""))).splitlines()

    def test_three_times_that_vary_carry_a_warning(self):
        self.assertEqual(self.text(1, 1.2, 1.4)[-1].strip(), "The speed of the machine may have varied.")
        self.assertEqual(self.text(1, 1.6, 2.2)[-1].strip(), "The machine was probably busy with other work.")

    def test_times_that_agree_carry_no_warning(self):
        self.assertNotIn("WARNING", " ".join(self.text(1, 1.04, 1.08)))

    def test_the_first_line_is_the_object(self):
        self.assertRegex(self.text(1)[0], r"^<\S*Measurement object at 0x[0-9a-f]+>$")


if __name__ == "__main__":
    unittest.main()
