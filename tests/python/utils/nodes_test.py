"""Nodes: what comes out of them, and that a state taken anywhere goes on with what would have come."""

import io
import itertools
import os
import signal
import threading
import time
import unittest
import warnings

from cresset.utils import data as D
from cresset.utils.data import nodes

import cresset as torch

from .loader_state_test import Cursor, Walk


class Batch(nodes.BaseNode):
    def __init__(self):  # no reset of the base class
        super().__init__()

    def reset(self, initial_state=None):
        pass


def numbers(n=11):
    return nodes.IterableWrapper(range(n))


def squared(x):
    return x * x


def saved(state):
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    return torch.load(buffer)


def mix(criterion, sizes=(5, 2), **options):
    sources = {name: nodes.IterableWrapper([f"{name}{i}" for i in range(n)]) for name, n in zip("abc", sizes)}
    return nodes.MultiNodeWeightedSampler(sources, {name: i + 1.0 for i, name in enumerate(sources)}, criterion, **options)


CHAINS = {
    "iterable": numbers,
    "iterator with a state": lambda: nodes.IterableWrapper(Reused()),
    "sampler": lambda: nodes.SamplerWrapper(D.RandomSampler(range(9), generator=torch.Generator().manual_seed(1))),
    "sampler with an epoch": lambda: nodes.SamplerWrapper(D.DistributedSampler(range(9), 1, 0)),
    "sampler with a state": lambda: nodes.SamplerWrapper(Cursor([3, 1, 2, 0])),
    "mapper": lambda: nodes.Mapper(numbers(), squared),
    "dataset": lambda: nodes.MapStyleWrapper("abcdefg", D.RandomSampler("abcdefg", generator=torch.Generator().manual_seed(1))),
    "filter": lambda: nodes.Filter(numbers(), lambda x: x % 3),
    "header": lambda: nodes.Header(numbers(), 6),
    "batcher": lambda: nodes.Batcher(numbers(), 3),
    "batcher of all": lambda: nodes.Batcher(numbers(), 3, drop_last=False),
    "unbatcher": lambda: nodes.Unbatcher(nodes.IterableWrapper([[1, 2], [], [3, 4, 5], [6]])),
    "shuffler": lambda: nodes.Shuffler(numbers(), 4, seed=3),
    "prefetcher": lambda: nodes.Prefetcher(numbers(), 3),
    "prefetcher, few states": lambda: nodes.Prefetcher(numbers(), 3, snapshot_frequency=4),
    "threads": lambda: nodes.ParallelMapper(numbers(), squared, 3),
    "threads, few states": lambda: nodes.ParallelMapper(numbers(), squared, 2, snapshot_frequency=5),
    "threads, in pairs": lambda: nodes.ParallelMapper(numbers(), squared, 2, prebatch=2),
    "processes": lambda: nodes.ParallelMapper(numbers(), lambda x: torch.full((40, 40), x).sum().item(), 2, method="process", max_concurrent=2),
    "no workers": lambda: nodes.ParallelMapper(numbers(), squared, 0),
    "mix until all": lambda: mix(nodes.StopCriteria.CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED),
    "mix of all": lambda: mix(nodes.StopCriteria.ALL_DATASETS_EXHAUSTED, (3, 6, 2)),
    "mix until the first": lambda: mix(nodes.StopCriteria.FIRST_DATASET_EXHAUSTED, (30, 20)),
    "endless mix": lambda: nodes.Header(mix(nodes.StopCriteria.CYCLE_FOREVER), 20),
    "cycler": lambda: nodes.Header(nodes.Cycler(numbers(4)), 10),
    "all together": lambda: nodes.Prefetcher(
        nodes.Unbatcher(nodes.Batcher(nodes.Shuffler(nodes.ParallelMapper(
            nodes.SamplerWrapper(D.RandomSampler(range(13), generator=torch.Generator().manual_seed(1))), squared, 2), 5), 3)), 2),
}  # fmt: skip


class Reused:
    def __iter__(self):
        return Walk(7)


class States(unittest.TestCase):
    def test_epochs_go_on(self):
        for name, make in CHAINS.items():
            loader = nodes.Loader(make())
            first, second = list(loader), list(loader)
            for taken in sorted({0, 1, 2, len(first) // 2, len(first) - 1, len(first)}):
                with self.subTest(name, taken=taken):
                    loader = nodes.Loader(make())
                    items = iter(loader)
                    got = list(itertools.islice(items, taken))
                    ended = taken == len(first)
                    if ended:
                        self.assertEqual(list(items), [])
                    again = nodes.Loader(make())
                    again.load_state_dict(saved(loader.state_dict()))
                    if not ended:
                        self.assertEqual(got + list(again), first)
                    self.assertEqual(list(again), second)

    def test_states_of_states(self):
        for name, make in CHAINS.items():
            expected, got, state = list(nodes.Loader(make())), [], None
            while True:
                loader = nodes.Loader(make(), restart_on_stop_iteration=False)
                if state is not None:
                    loader.load_state_dict(state)
                some = list(itertools.islice(iter(loader), 2))
                if not some:
                    break
                got += some
                state = loader.state_dict()
                self.assertEqual(state["num_yielded"], len(got))
            self.assertEqual(got, expected, name)

    def test_items_in_any_order(self):
        def make():
            return nodes.Loader(nodes.ParallelMapper(numbers(20), lambda x: (time.sleep(0.002 * (x % 3)), x)[1], 3, in_order=False, snapshot_frequency=3))

        for taken in (1, 7, 19):
            loader = make()
            got = list(itertools.islice(iter(loader), taken))
            again = make()
            again.load_state_dict(loader.state_dict())
            self.assertEqual(sorted(got + list(again)), list(range(20)))


class Behaviour(unittest.TestCase):
    def test_what_comes_out(self):
        expected = {
            "filter": [1, 2, 4, 5, 7, 8, 10], "batcher": [[0, 1, 2], [3, 4, 5], [6, 7, 8]], "unbatcher": [1, 2, 3, 4, 5, 6],
            "batcher of all": [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10]], "cycler": [0, 1, 2, 3] * 2 + [0, 1],
            "threads": [x * x for x in range(11)], "processes": [1600 * x for x in range(11)], "sampler with a state": [3, 1, 2, 0],
        }  # fmt: skip
        for name, items in expected.items():
            self.assertEqual(list(nodes.Loader(CHAINS[name]())), items, name)

    def test_mixtures(self):
        until_all = list(nodes.Loader(CHAINS["mix until all"]()))
        self.assertLessEqual({f"a{i}" for i in range(5)} | {"b0", "b1"}, set(until_all))
        self.assertGreater(len(until_all), 7)
        self.assertEqual(sorted(nodes.Loader(CHAINS["mix of all"]())), sorted(f"{n}{i}" for n, size in zip("abc", (3, 6, 2)) for i in range(size)))
        first = list(nodes.Loader(CHAINS["mix until the first"]()))
        self.assertTrue(first.count("a29") + first.count("b19") == 1)
        many = list(nodes.Loader(nodes.Header(mix(nodes.StopCriteria.CYCLE_FOREVER, (3, 3), seed=1), 3000)))
        self.assertAlmostEqual(sum(x[0] == "b" for x in many) / 3000, 2 / 3, delta=0.05)
        ranks = [list(nodes.Loader(nodes.Header(mix(nodes.StopCriteria.CYCLE_FOREVER, rank=r, world_size=2), 20))) for r in (0, 1)]
        self.assertNotEqual(*ranks)
        loader = nodes.Loader(nodes.Header(mix(nodes.StopCriteria.CYCLE_FOREVER), 20))
        self.assertNotEqual([x[0] for x in loader], [x[0] for x in loader])

    def test_reading_ahead(self):
        read = []
        source = nodes.Mapper(numbers(100), lambda x: (read.append(x), threading.current_thread())[1])
        items = iter(nodes.Loader(nodes.Prefetcher(source, 4)))
        self.assertNotEqual(next(items), threading.current_thread())
        deadline = time.monotonic() + 10
        while len(read) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.05)
        self.assertEqual(read, [0, 1, 2, 3, 4])

    def test_threads_work_at_the_same_time(self):
        meeting = threading.Barrier(3, timeout=10)
        mapper = nodes.ParallelMapper(numbers(6), lambda x: (meeting.wait(), x)[1], 3)
        self.assertEqual(list(nodes.Loader(mapper)), list(range(6)))

    def test_an_epoch_left_early_begins_anew(self):
        for name in ("threads", "prefetcher", "processes", "batcher"):
            loader = nodes.Loader(CHAINS[name]())
            expected = list(loader)
            next(iter(loader))
            self.assertEqual(list(loader), expected)

    def test_failures(self):
        def fail(x):
            if x == 3:
                raise ValueError("item three")
            return x

        for mapper in (nodes.Mapper, lambda s, f: nodes.ParallelMapper(s, f, 2), lambda s, f: nodes.ParallelMapper(s, f, 2, method="process"),
                       lambda s, f: nodes.Prefetcher(nodes.Mapper(s, f), 2)):  # fmt: skip
            with self.assertRaisesRegex(ValueError, "item three"):
                list(nodes.Loader(mapper(numbers(), fail)))
        with self.assertRaisesRegex(RuntimeError, "a worker process died while it computed items from number [0-4] on"):
            list(nodes.Loader(nodes.ParallelMapper(numbers(), lambda x: os.kill(os.getpid(), signal.SIGKILL) if x == 3 else x, 1, method="process")))
        with self.assertRaisesRegex(RuntimeError, "'b' has no items"):
            list(nodes.Loader(mix(nodes.StopCriteria.CYCLE_FOREVER, (3, 0))))

    def test_mistakes(self):
        source = numbers()
        for make in (
            lambda: nodes.Batcher(source, 0), lambda: nodes.Header(source, -1), lambda: nodes.Shuffler(source, 0), lambda: nodes.Prefetcher(source, 0),
            lambda: nodes.Prefetcher(source, 1, 0), lambda: nodes.ParallelMapper(source, abs, -1), lambda: nodes.ParallelMapper(source, abs, 1, method="x"),
            lambda: nodes.ParallelMapper(source, abs, 2, max_concurrent=3), lambda: nodes.ParallelMapper(source, abs, 2, prebatch=0),
            lambda: nodes.MultiNodeWeightedSampler({"a": source}, {"b": 1.0}), lambda: nodes.MultiNodeWeightedSampler({}, {}),
            lambda: nodes.MultiNodeWeightedSampler({"a": source}, {"a": 0.0}), lambda: nodes.MultiNodeWeightedSampler({"a": source}, {"a": 1.0}, "x"),
            lambda: nodes.MultiNodeWeightedSampler({"a": source}, {"a": 1.0}, rank=1), lambda: nodes.Loader(source).load_state_dict({}),
            lambda: nodes.MultiNodeWeightedSampler({"a": source}, {"a": 1.0}, rank=2, world_size=2),
        ):  # fmt: skip
            with self.assertRaises(ValueError):
                make()
        for wrong in (lambda: next(source), source.state_dict, lambda: next(iter(nodes.Loader(Batch())))):
            with self.assertRaisesRegex(RuntimeError, "reset"):
                wrong()
        with self.assertRaises(NotImplementedError):
            next(iter(nodes.Loader(nodes.BaseNode())))

    def test_pinning_without_an_accelerator_warns(self):
        with self.assertWarnsRegex(UserWarning, "no accelerator"):
            node = nodes.PinMemory(numbers(3))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(list(nodes.Loader(node)), [0, 1, 2])


if __name__ == "__main__":
    unittest.main()
