"""Initialisers under their old names: the same numbers, and a word about the new one."""

import unittest

import cresset as torch
from cresset import nn

OLD = {
    "uniform": (-2.0, 1.0), "normal": (1.0, 3.0), "constant": (0.5,), "eye": (), "dirac": (), "xavier_uniform": (), "xavier_normal": (),
    "kaiming_uniform": (), "kaiming_normal": (), "orthogonal": (), "sparse": (0.5,),
}  # fmt: skip


class OldNames(unittest.TestCase):
    def test_they_do_what_the_new_ones_do(self):
        self.assertEqual(nn.init.eye(torch.empty(2, 3)).tolist(), [[1, 0, 0], [0, 1, 0]])
        self.assertEqual(nn.init.constant(torch.empty(2), 3.0).tolist(), [3, 3])
        self.assertEqual(nn.init.sparse(torch.ones(4, 3), 0.5).eq(0).sum(0).tolist(), [2, 2, 2])
        q = nn.init.orthogonal(torch.empty(3, 3, dtype=torch.float64))
        torch.testing.assert_close(q @ q.mT, torch.eye(3, dtype=torch.float64))
        self.assertLess(abs(nn.init.normal(torch.empty(10000), 1.0, 0.1).mean().item() - 1), 0.01)
        for name, arguments in OLD.items():
            shape = (2, 3, 3) if name == "dirac" else (4, 3)
            made = []
            for spelled in (name, name + "_"):
                torch.manual_seed(0)
                tensor = torch.empty(shape)
                with self.subTest(spelled):
                    if spelled == name:
                        with self.assertWarnsRegex(FutureWarning, rf"nn\.init\.{name}_"):
                            self.assertIs(nn.init.__dict__[spelled](tensor, *arguments), tensor)
                    else:
                        nn.init.__dict__[spelled](tensor, *arguments)
                made.append(tensor)
            self.assertTrue(torch.equal(*made), name)


if __name__ == "__main__":
    unittest.main()
