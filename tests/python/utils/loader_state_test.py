"""The state of a loader: an epoch that goes on elsewhere has the same batches as one that was not interrupted."""

import io
import itertools
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import cresset as torch

D = torch.utils.data
THREADS = {"num_workers": 2, "multiprocessing_context": "thread"}
POOLS = ({}, THREADS, {"num_workers": 3, "prefetch_factor": 4}, {"num_workers": 2, "persistent_workers": True})


class Count(D.IterableDataset):
    """Shares of a count; worker 1's is shorter than the others'."""

    def __init__(self, length=23):
        self.length = length

    def __iter__(self):
        info = D.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        yield from range(first, self.length - 8 * (first == 1), step)


class Stateful(D.IterableDataset):
    """Knows where it is, and how often it was read from the start."""

    def __init__(self, length=23):
        self.length, self.at, self.read = length, 0, 0

    def __iter__(self):
        info = D.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        while self.at * step + first < self.length:
            self.read += 1
            self.at += 1
            yield (self.at - 1) * step + first, self.read
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Walk:
    """An iterator with a state."""

    def __init__(self, length):
        self.left = list(range(length))

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        return self.left.pop(0)

    def state_dict(self):
        return {"left": self.left}

    def load_state_dict(self, state):
        self.left = list(state["left"])


class Walked(D.IterableDataset):
    def __iter__(self):
        return Walk(17)


class Cursor(D.Sampler):
    """A sampler with a state, and an order that cannot be drawn again."""

    def __init__(self, order):
        self.order, self.at = order, 0

    def __iter__(self):
        while self.at < len(self.order):
            self.at += 1
            yield self.order[self.at - 1]
        self.at = 0

    def __len__(self):
        return len(self.order)

    def state_dict(self):
        return {"at": self.at, "order": self.order}

    def load_state_dict(self, state):
        self.at, self.order = state["at"], state["order"]


def lists(batches):
    return [b.tolist() if isinstance(b, torch.Tensor) else [c.tolist() for c in b] if isinstance(b, list) else b for b in batches]


def saved(state):
    """The state through a file, read without running code."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    return torch.load(buffer)


def seeded(**options):
    return D.DataLoader(range(23), 2, shuffle=True, generator=torch.Generator().manual_seed(5), **options)


class Same(unittest.TestCase):
    def setUp(self):
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore")  # more workers than processors

    def check(self, make, pools=POOLS, epochs=True):
        """Interrupted after each number of batches, the epoch and the next go on as they would have."""
        for pool in pools:
            torch.manual_seed(3)
            loader = make(**pool)
            expected = [lists(loader), lists(loader)]
            for taken in (1, 4, len(expected[0])):
                with self.subTest(taken=taken, **pool):
                    torch.manual_seed(3)
                    loader = make(**pool)
                    batches = iter(loader)
                    first = lists(itertools.islice(batches, taken))
                    if taken == len(expected[0]):
                        self.assertEqual(list(batches), [])
                    state = saved(loader.state_dict())
                    del batches
                    again = make(**pool)
                    again.load_state_dict(state)
                    if taken < len(expected[0]):
                        self.assertEqual(first + lists(again), expected[0])
                    if epochs:
                        self.assertEqual(lists(again), expected[1])

    def test_in_order(self):
        self.check(lambda **pool: D.DataLoader(range(23), 3, **pool))

    def test_a_generator(self):
        self.check(seeded)

    def test_the_global_generator(self):
        self.check(lambda **pool: D.DataLoader(range(23), 2, shuffle=True, **pool), epochs=False)

    def test_samplers(self):
        def weighted(**pool):
            sampler = D.WeightedRandomSampler([0.1, 0.5, 0.4] * 5, 14, generator=torch.Generator().manual_seed(2))
            return D.DataLoader(range(15), 3, sampler=sampler, drop_last=True, **pool)

        self.check(weighted, pools=({}, THREADS))
        replaced = lambda **pool: D.DataLoader(  # noqa: E731
            range(9), 7, sampler=D.RandomSampler(range(9), True, 70, torch.Generator().manual_seed(2)), **pool
        )
        self.check(replaced, pools=({}, THREADS))
        self.check(lambda **pool: D.DataLoader(range(23), batch_size=None, sampler=range(22, -1, -2), **pool), pools=({}, THREADS))
        self.check(lambda **pool: D.DataLoader(range(23), batch_sampler=[[1], [2, 3], [5, 4], [7], [8], [9]], **pool), pools=({}, THREADS))

    def test_a_sampler_with_a_state(self):
        self.check(lambda **pool: D.DataLoader(range(23), 2, sampler=Cursor(list(range(22, -1, -1))), **pool))
        loader = D.DataLoader(range(23), 2, sampler=Cursor(list(range(10))), num_workers=2)
        next(iter(loader))
        again = D.DataLoader(range(23), 2, sampler=Cursor([0] * 10), num_workers=2)
        again.load_state_dict(loader.state_dict())
        self.assertEqual(lists(again), [[2, 3], [4, 5], [6, 7], [8, 9]])

    def test_a_distributed_sampler_has_its_epoch(self):
        def make():
            return D.DataLoader(range(20), 2, sampler=D.DistributedSampler(range(20), 2, 1))

        loader = make()
        loader.sampler.set_epoch(4)
        expected = lists(loader)
        next(iter(loader))
        again = make()
        again.load_state_dict(loader.state_dict())
        self.assertEqual((lists(again), again.sampler.epoch), (expected[1:], 4))

    def test_streams(self):
        self.check(lambda **pool: D.DataLoader(Count(), 2, **pool))
        self.check(lambda **pool: D.DataLoader(Count(), 2, drop_last=True, **pool), pools=({}, THREADS))
        self.check(lambda **pool: D.DataLoader(Count(), batch_size=None, **pool), pools=({}, THREADS))
        self.check(lambda **pool: D.DataLoader(Walked(), 3, **pool))

    def test_steps_of_a_stream(self):
        self.check(lambda **pool: D.DataLoader(D.datapipes.iter.IterableWrapper(range(23)).shuffle().sharding_filter(), 2, **pool), epochs=False)

    def test_streams_with_a_state(self):
        for workers in (0, 2):
            expected = [b[0].tolist() for b in D.DataLoader(Stateful(), 2, num_workers=workers)]
            loader = D.DataLoader(Stateful(), 2, num_workers=workers)
            batches = iter(loader)
            for _ in range(4):
                next(batches)
            again = D.DataLoader(Stateful(), 2, num_workers=workers)
            again.load_state_dict(saved(loader.state_dict()))
            rest = list(again)
            self.assertEqual([b[0].tolist() for b in rest], expected[4:])
            self.assertEqual(rest[0][1].tolist(), [1, 2])  # nothing was read twice
        with self.assertRaisesRegex(ValueError, "2 workers, this loader has 0"):
            D.DataLoader(Stateful(), 2).load_state_dict(loader.state_dict())

    def test_another_number_of_workers(self):
        expected = lists(seeded())
        for before, after in ((0, 2), (3, 0), (2, 3)):
            loader = seeded(num_workers=before)
            batches = iter(loader)
            next(batches), next(batches)
            again = seeded(num_workers=after)
            again.load_state_dict(loader.state_dict())
            self.assertEqual(lists(again), expected[2:])

    def test_any_order(self):
        loader = seeded(num_workers=3, in_order=False)
        batches = iter(loader)
        first = lists(next(batches) for _ in range(5))
        again = seeded(num_workers=3, in_order=False)
        again.load_state_dict(saved(loader.state_dict()))
        self.assertEqual(sorted(first + lists(again)), sorted(lists(seeded())))

    def test_states_of_resumed_epochs(self):
        for make in (seeded, lambda **pool: D.DataLoader(Count(), 2, **pool)):
            for pool in ({}, {"num_workers": 2}):
                expected, got, loader = lists(make(**pool)), [], make(**pool)
                while True:
                    batches = iter(loader)
                    got += lists(itertools.islice(batches, 3))
                    state = loader.state_dict()
                    if state["batches"] == 0 or len(got) >= len(expected):
                        break
                    loader = make(**pool)
                    loader.load_state_dict(state)
                    self.assertEqual(loader.state_dict()["batches"], state["batches"])
                self.assertEqual(got, expected)

    def test_the_users_generator_is_left_alone(self):
        torch.manual_seed(1)
        loader = D.DataLoader(range(10), shuffle=True)
        batches = iter(loader)
        next(batches), next(batches)
        state = loader.state_dict()
        torch.manual_seed(9)
        expected = torch.rand(2).tolist()
        torch.manual_seed(9)
        again = D.DataLoader(range(10), shuffle=True)
        again.load_state_dict(state)
        self.assertEqual(lists(again), lists(batches))
        self.assertEqual(torch.rand(2).tolist(), expected)

    def test_a_new_process(self):
        program = (
            "import sys, cresset as torch\n"
            "D = torch.utils.data\n"
            "loader = D.DataLoader(range(23), 2, shuffle=True, num_workers=int(sys.argv[2]))\n"
            "if len(sys.argv) > 3:\n"
            "    torch.manual_seed(4)\n"
            "    batches = iter(loader)\n"
            "    next(batches), next(batches), next(batches)\n"
            "    torch.save(loader.state_dict(), sys.argv[1])\n"
            "else:\n"
            "    loader.load_state_dict(torch.load(sys.argv[1]))\n"
            "    batches = loader\n"
            "print([b.tolist() for b in batches])\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "loader.pt")
            run = [
                subprocess.run([sys.executable, "-c", program, path, "2", *more], capture_output=True, text=True, check=True).stdout for more in (["save"], [])
            ]
        self.assertEqual(run[0], run[1])
        self.assertEqual(run[0].count("["), 10)

    def test_mistakes(self):
        loader = seeded()
        next(iter(loader))
        state = loader.state_dict()
        for other, wrong in ((D.DataLoader(range(23), 3), state), (D.DataLoader(Count(), 2), state), (seeded(), {"batches": 1}), (seeded(), None)):
            with self.assertRaises(ValueError):
                other.load_state_dict(wrong)


if __name__ == "__main__":
    unittest.main()
