"""Training in several processes: averages of gradients, statistics of all batches, collectives that gradients go through, uneven data; futures."""

import socket
import subprocess
import sys
import unittest
from pathlib import Path

import cresset as torch

SCRIPT = Path(__file__).with_name("training.py")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Together(unittest.TestCase):
    def run_all(self, check, size=3):
        command = [sys.executable, str(SCRIPT), check]
        method = f"tcp://127.0.0.1:{free_port()}"
        running = [
            subprocess.Popen([*command, str(rank), str(size), method], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(size)
        ]
        said = []
        for one in running:
            try:
                said.append(one.communicate(timeout=120)[0])
            except subprocess.TimeoutExpired:
                for other in running:
                    other.kill()
                raise
        for rank, (one, text) in enumerate(zip(running, said)):
            self.assertEqual((one.returncode, text), (0, ""), f"rank {rank}")

    def test_training(self):
        self.run_all("training")

    def test_mixed_precision(self):
        self.run_all("mixed", 2)

    def test_normalisation_over_all_batches(self):
        self.run_all("normalisation")

    def test_different_amounts_of_data(self):
        self.run_all("uneven")

    def test_parameters_without_gradients(self):
        self.run_all("unused", 2)

    def test_gradients_through_collectives(self):
        self.run_all("gradients")


class Alone(unittest.TestCase):
    def test_refusals(self):
        dist = torch.distributed
        self.assertRaises(ValueError, torch.nn.parallel.DistributedDataParallel, torch.nn.Linear(1, 1))
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        try:
            self.assertRaises(ValueError, torch.nn.parallel.DistributedDataParallel, torch.nn.Linear(1, 1), device_ids=[0])
            self.assertRaises(RuntimeError, torch.nn.parallel.DistributedDataParallel, torch.nn.ReLU())
        finally:
            dist.destroy_process_group()


class Futures(unittest.TestCase):
    def test_values(self):
        first = torch.futures.Future()
        seen = []
        first.add_done_callback(lambda f: seen.append(f.value()))
        after = first.then(lambda f: f.value() + 1)
        self.assertFalse(first.done())
        self.assertRaises(RuntimeError, first.value)
        first.set_result(3)
        self.assertEqual((after.wait(), seen, first.done()), (4, [3], True))
        self.assertRaises(RuntimeError, first.set_result, 4)
        failed = first.then(lambda f: 1 / 0)
        self.assertRaisesRegex(RuntimeError, "ZeroDivisionError: division by zero", failed.wait)
        self.assertRaises(AssertionError, torch.futures.Future().set_exception, "no")
        self.assertEqual(torch.futures.wait_all([first, after]), [3, 4])
        self.assertEqual(torch.futures.collect_all([]).wait(), [])


if __name__ == "__main__":
    unittest.main()
