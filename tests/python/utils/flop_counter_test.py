"""FlopCounterMode and ModuleTracker: counts of products and convolutions by module, forward and backward."""

import unittest

from cresset.utils.flop_counter import FlopCounterMode, register_flop_formula
from cresset.utils.module_tracker import ModuleTracker

import cresset as torch
from cresset import nn

aten = torch.ops.aten


class Counts(unittest.TestCase):
    def test_forward_and_backward_by_module(self):
        m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        with FlopCounterMode(display=False) as counter:
            m(torch.ones(5, 3)).sum().backward()
        self.assertEqual(counter.get_total_flops(), 480)
        counts = counter.get_flop_counts()
        self.assertEqual(counts["Sequential.0"], {aten.addmm: 120, aten.mm: 120})
        self.assertEqual(counts["Sequential.2"], {aten.addmm: 80, aten.mm: 160})
        self.assertEqual(counts["Global"], {aten.addmm: 200, aten.mm: 280})

    def test_tables(self):
        net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
        with FlopCounterMode(display=False) as counter:
            net(torch.ones(3, 4))
        lines = [
            "Module          FLOP    % Total",
            "------------  ------  ---------",
            "Sequential       288    100.00%",
            "- aten.addmm     288    100.00%",
            "Sequential.0     192     66.67%",
            "- aten.addmm     192     66.67%",
            "Sequential.1      96     33.33%",
            "- aten.addmm      96     33.33%",
        ]
        self.assertEqual(counter.get_table().splitlines(), lines)
        self.assertEqual(counter.get_table(1).splitlines(), lines[:4])
        with FlopCounterMode(display=False) as counter:
            net(torch.ones(3, 4))
            torch.ones(50, 50) @ torch.ones(50, 50)
        self.assertEqual(
            counter.get_table(1).splitlines(),
            [
                "Module            FLOP    % Total",
                "------------  --------  ---------",
                "Global        250.288K    100.00%",
                "- aten.addmm    0.288K      0.12%",
                "- aten.mm     250.000K     99.88%",
                "Sequential      0.288K      0.12%",
                "- aten.addmm    0.288K      0.12%",
            ],
        )
        with FlopCounterMode(display=False) as counter:
            pass
        self.assertEqual(counter.get_table().splitlines(), ["Module      FLOP    % Total", "--------  ------  ---------", "Global         0         0%"])

    def test_convolutions(self):
        x, w = torch.ones(2, 3, 8, 8, requires_grad=True), torch.ones(4, 3, 3, 3, requires_grad=True)
        with FlopCounterMode(display=False) as counter:
            nn.functional.conv2d(x, w, padding=1).sum().backward()
        self.assertEqual(counter.get_flop_counts()["Global"], {aten.convolution: 27648, aten.convolution_backward: 55296})
        w = torch.ones(3, 4, 3, 3, requires_grad=True)
        with FlopCounterMode(display=False) as counter:
            nn.functional.conv_transpose2d(x, w, stride=2).sum().backward()
        self.assertEqual(counter.get_flop_counts()["Global"], {aten.convolution: 27648, aten.convolution_backward: 55296})

    def test_own_formulas(self):
        with FlopCounterMode(display=False, custom_mapping={aten.sin: lambda x_shape, out_shape: x_shape.numel()}) as counter:
            torch.ones(2, 3).sin()
        self.assertEqual(counter.get_total_flops(), 6)
        with self.assertRaisesRegex(RuntimeError, "aten.mm has a formula already"):
            register_flop_formula(aten.mm)(lambda *args, **kwargs: 0)
        with self.assertRaisesRegex(ValueError, "expected an operator with all its overloads"):
            register_flop_formula(torch.mm)(lambda *args, **kwargs: 0)

    def test_modules_are_entered_again_in_backward(self):
        seen = []

        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.Linear(2, 2)

            def forward(self, x):
                seen.append((sorted(tracker.parents), tracker.is_bw))
                return self.l(x)

        with ModuleTracker() as tracker:
            y = M()(torch.ones(1, 2, requires_grad=True))
            y.register_hook(lambda g: seen.append(("M" in tracker.parents, tracker.is_bw)))
            y.sum().backward()
        self.assertEqual(seen, [(["Global", "M"], False), (True, True)])
        self.assertEqual((tracker.parents, tracker.is_bw), ({"Global"}, False))

    def test_modules_in_lists_and_dictionaries_have_their_paths(self):
        seen = []

        class Leaf(nn.Module):
            def forward(self, x):
                seen.append(sorted(tracker.parents - {"Global"}))
                return x

        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.rows, self.named = nn.ModuleList([Leaf()]), nn.ModuleDict({"a": nn.ModuleList([Leaf()])})

            def forward(self, x):
                return self.named["a"][0](self.rows[0](x))

        with ModuleTracker() as tracker:
            M()(torch.ones(1))
        self.assertEqual(seen, [["M", "M.rows.0"], ["M", "M.named.a.0"]])


if __name__ == "__main__":
    unittest.main()
