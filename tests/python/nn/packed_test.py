"""Sequences of different lengths, padded and packed, against loops over their elements."""

import unittest

import numpy as np

import cresset as torch
from cresset import nn
from cresset.nn.utils import rnn


def sequences(lengths, *rest, dtype=torch.float32):
    return [(torch.arange(n * int(np.prod(rest)), dtype=dtype) + 100 * i).reshape(n, *rest) for i, n in enumerate(lengths)]


class Padded(unittest.TestCase):
    def test_each_side_and_order(self):
        for lengths in ([3, 1, 2], [2], [0, 2], [4, 4]):
            for rest in ((), (2,), (2, 3)):
                given = sequences(lengths, *rest)
                for first in (False, True):
                    for side in ("right", "left"):
                        got = rnn.pad_sequence(given, first, -1.0, side)
                        expected = np.full((len(lengths), max(lengths), *rest), -1.0, dtype="float32")
                        for row, s in zip(expected, given):
                            row[len(row) - len(s) :] = s.numpy() if side == "left" else row[len(row) - len(s) :]
                            if side == "right":
                                row[: len(s)] = s.numpy()
                        np.testing.assert_array_equal(got.numpy(), expected if first else expected.swapaxes(0, 1))

    def test_rows_of_a_tensor_are_sequences(self):
        self.assertEqual(rnn.pad_sequence(torch.ones(2, 3), batch_first=True).tolist(), [[1.0] * 3] * 2)

    def test_dtype_and_trailing_sizes_are_those_of_the_first(self):
        whole, parts = torch.tensor([1, 2]), torch.tensor([1.5])
        self.assertEqual(rnn.pad_sequence([whole, parts]).tolist(), [[1, 1], [2, 0]])
        self.assertEqual(rnn.pad_sequence([parts, whole.double()]).dtype, torch.float32)
        self.assertEqual(rnn.pad_sequence([torch.zeros(1, 3), torch.ones(2, 1)])[:, 1].tolist(), [[1.0] * 3] * 2)
        for wrong in ([torch.ones(2, 3), torch.ones(1, 4)], [torch.tensor(1.0)]):
            self.assertRaises(RuntimeError, rnn.pad_sequence, wrong)

    def test_gradients_reach_each_sequence(self):
        given = [s.requires_grad_() for s in sequences([3, 1], 2, dtype=torch.float64)]
        self.assertTrue(torch.autograd.gradcheck(lambda *s: rnn.pad_sequence(s, True, 2.0), given))

    def test_mistakes(self):
        for call, text in (
            (lambda: rnn.pad_sequence([]), "empty list"),
            (lambda: rnn.pad_sequence([torch.ones(1)], padding_side="top"), "left or right, got top"),
            (lambda: rnn.pad_sequence(3), "iterable"),
        ):
            with self.assertRaisesRegex(RuntimeError, text):
                call()


class Packed(unittest.TestCase):
    def test_elements_lie_step_by_step(self):
        for lengths in ([3, 2, 2, 1], [2], [3, 3]):
            given = sequences(lengths, 2)
            for first in (False, True):
                data, sizes = torch._pack_padded_sequence(rnn.pad_sequence(given, first), torch.tensor(lengths), first)
                steps = [[s[t] for s in given if t < len(s)] for t in range(max(lengths))]
                self.assertEqual(sizes.tolist(), [len(step) for step in steps])
                np.testing.assert_array_equal(data.numpy(), np.stack([x.numpy() for step in steps for x in step]))
                padded, back = torch._pad_packed_sequence(data, sizes, first, -1, max(lengths) + 1)
                self.assertEqual(back.tolist(), lengths)
                filled = rnn.pad_sequence([*given, torch.zeros(max(lengths) + 1, 2)], first, -1.0)
                np.testing.assert_array_equal(padded.numpy(), (filled[:-1] if first else filled[:, :-1]).numpy())

    def test_any_order_where_it_is_not_enforced(self):
        given = sequences([1, 3, 2], 2)
        packed = rnn.pack_sequence(given, enforce_sorted=False)
        self.assertEqual(packed.sorted_indices.tolist(), [1, 2, 0])
        for got, expected in zip(rnn.unpack_sequence(packed), given):
            np.testing.assert_array_equal(got.numpy(), expected.numpy())

    def test_gradients(self):
        x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
        pack = lambda x: torch._pack_padded_sequence(x, torch.tensor([3, 1]), False)[0]  # noqa: E731
        self.assertTrue(torch.autograd.gradcheck(pack, x))
        self.assertTrue(
            torch.autograd.gradcheck(lambda d: torch._pad_packed_sequence(d, torch.tensor([2, 1, 1]), True, 0.0, 4)[0], pack(x).detach().requires_grad_())
        )

    def test_a_network_over_packed_sequences_is_that_over_each(self):
        torch.manual_seed(0)
        network, given = nn.LSTM(2, 3), [torch.randn(n, 2) for n in (4, 2, 1)]
        out, _ = network(rnn.pack_sequence(given))
        for got, s in zip(rnn.unpack_sequence(out), given):
            np.testing.assert_allclose(got.detach().numpy(), network(s)[0].detach().numpy(), atol=1e-6)

    def test_mistakes(self):
        x, lengths = torch.ones(3, 2), torch.tensor([3, 1])
        for error, call, text in (
            (RuntimeError, lambda: torch._pack_padded_sequence(x, lengths.int(), False), "int64 tensor"),
            (RuntimeError, lambda: torch._pack_padded_sequence(x, lengths.unsqueeze(0), False), "got 2-D"),
            (RuntimeError, lambda: torch._pack_padded_sequence(x, lengths[:1], False), "got 1 lengths"),
            (RuntimeError, lambda: torch._pack_padded_sequence(x, torch.tensor([1, 0]), False), "above 0"),
            (RuntimeError, lambda: torch._pack_padded_sequence(x, torch.tensor([1, 2]), False), "decreasing order"),
            (RuntimeError, lambda: torch._pack_padded_sequence(x, torch.tensor([4, 1]), False), "at most 3"),
            (RuntimeError, lambda: torch._pad_packed_sequence(torch.ones(3), torch.tensor([2, 1]), False, 0, 1), "got 1 and 2"),
            (ValueError, lambda: rnn.pad_packed_sequence(rnn.pack_sequence([torch.ones(2)]), total_length=1), "got 1 and 2"),
        ):
            with self.assertRaisesRegex(error, text):
                call()


if __name__ == "__main__":
    unittest.main()
