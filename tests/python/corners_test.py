"""What PyTorch does in corners that programs rarely meet: memory that is read and written at once, dtypes without a kernel, odd arguments."""

import io
import unittest

import cresset as torch


class SharedMemory(unittest.TestCase):
    def test_gather_refuses_memory_that_it_reads_even_of_an_empty_out(self):
        m = torch.arange(6.0)
        with self.assertRaisesRegex(RuntimeError, "single memory location"):
            torch.gather(m[:1], 0, torch.zeros(1, dtype=torch.int64), out=m[:0])
        torch.index_select(m[1:2], 0, torch.zeros(1, dtype=torch.int64), out=m[:0])
        self.assertEqual(m.tolist(), [1, 1, 2, 3, 4, 5])


class Refusals(unittest.TestCase):
    def test_batch_norm_of_integers(self):
        norm = torch.nn.functional.batch_norm
        for x, error in (
            (torch.ones(4, dtype=torch.uint8), IndexError),
            (torch.ones(1, dtype=torch.uint8).expand(4), RuntimeError),
            (torch.ones(2, 8, dtype=torch.int64)[:, ::2], RuntimeError),
            (torch.ones(2, 4, dtype=torch.int64), NotImplementedError),
        ):
            with self.subTest(x=x), self.assertRaises(error) as raised:
                norm(x, None, None, training=True)
            self.assertIs(type(raised.exception), error)

    def test_the_range_of_a_histogram_of_bytes(self):
        for value in (0, 255):
            with self.assertRaisesRegex(RuntimeError, "without overflow"):
                torch.full((2,), value, dtype=torch.uint8).histc(1)

    def test_a_number_counts_as_out_where_it_counts_as_an_operand(self):
        with self.assertRaisesRegex(RuntimeError, "can't be cast"):
            torch.add(torch.ones(2), 1, out=0)
        self.assertEqual(torch.mul(torch.ones(2), 2, out=1.5).tolist(), [2, 2])
        for call in (lambda: torch.exp(torch.ones(2), out=1.0), lambda: torch.sum(torch.ones(2), 0, out=3), lambda: torch.add(torch.ones(2), 1, out="a")):
            with self.assertRaises(TypeError):
                call()

    def test_bytes_that_are_no_checkpoint(self):
        for content, error in ((b"abc", IndexError), (b"xyz", Exception), (b"PK", Exception)):
            with self.subTest(content), self.assertRaisesRegex(error, "not a checkpoint"):
                torch.load(io.BytesIO(content))

    def test_a_device_without_a_backend_is_a_runtime_error(self):
        for call in (lambda: torch.zeros(2, device="cuda:99"), lambda: torch.ones(2).cuda(0)):
            with self.assertRaises(RuntimeError) as raised:
                call()
            self.assertIs(type(raised.exception), RuntimeError)


if __name__ == "__main__":
    unittest.main()
