"""Datasets, samplers and loaders: orders under a seed, workers as processes and threads, their errors and their end."""

import collections
import copy
import gc
import itertools
import os
import pickle
import signal
import subprocess
import sys
import time
import unittest
import warnings

import numpy as np

import cresset as torch

D = torch.utils.data
POOLS = ({"multiprocessing_context": "fork"}, {"multiprocessing_context": "thread"})


class Squares(D.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return index, torch.full((64, 64), float(index) ** 2), np.full(3000, index)


class Count(D.IterableDataset):
    def __init__(self, length=11):
        self.length = length

    def __iter__(self):
        info = D.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(first, self.length, step))


class Broken(D.Dataset):
    def __init__(self, kind):
        self.kind = kind

    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index == 3:
            raise self.kind("item three")
        return index


class Dying(Broken):
    def __getitem__(self, index):
        if index == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


class Slow(Squares):
    def __getitem__(self, index):
        time.sleep(1)
        return index


class Facts(D.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = D.get_worker_info()
        return info.id, info.num_workers, info.seed, torch.rand(1).item(), float(np.random.rand()), os.getpid()


class Unpicklable(Squares):
    def __getitem__(self, index):
        return lambda: index


class Awkward(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


class NeedsTwo(Broken):
    def __getitem__(self, index):
        raise Awkward(1, 2)


def first_column(loader):
    return [batch[0].tolist() for batch in loader]


def ours():
    return [name for name in os.listdir("/dev/shm") if name.startswith("cresset-")] if os.path.isdir("/dev/shm") else []


class Orders(unittest.TestCase):
    """The numbers are those of PyTorch 2.13 after manual_seed(7)."""

    def test_samplers(self):
        torch.manual_seed(7)
        self.assertEqual(list(D.RandomSampler(range(7))), [6, 0, 4, 1, 2, 5, 3])
        drawn = list(D.RandomSampler(range(5), replacement=True, num_samples=40))
        self.assertEqual(drawn[:8] + drawn[30:36], [3, 0, 3, 4, 4, 2, 4, 4, 1, 3, 4, 1, 2, 0])
        self.assertEqual(list(D.RandomSampler(range(3), num_samples=7)), [0, 2, 1, 1, 0, 2, 1])
        self.assertEqual(list(D.SubsetRandomSampler([3, 1, 4, 15])), [15, 3, 4, 1])
        self.assertEqual(list(D.WeightedRandomSampler([0.1, 0.5, 0.0, 0.4], 8)), [3, 1, 3, 3, 1, 3, 1, 1])
        self.assertEqual(list(D.WeightedRandomSampler([1.0, 2.0, 3.0], 2, replacement=False)), [1, 2])
        self.assertEqual(list(D.DistributedSampler(range(11), 3, 1)), [0, 5, 1, 6])
        self.assertEqual(list(D.DistributedSampler(range(11), 4, 0, seed=9, drop_last=True)), [4, 3])
        self.assertEqual([list(s.indices) for s in D.random_split(range(9), [0.5, 0.3, 0.2])], [[1, 5, 7, 4, 0], [3, 8, 6], [2]])

    def test_loader(self):
        torch.manual_seed(7)
        loader = D.DataLoader(range(7), 3, shuffle=True)
        epochs = [[batch.tolist() for batch in loader] for _ in range(2)]
        self.assertEqual(epochs, [[[2, 0, 5], [6, 3, 4], [1]], [[4, 3, 2], [1, 5, 0], [6]]])
        self.assertAlmostEqual(torch.rand(1).item(), 0.36531615257263184, places=7)

    def test_seeds_of_workers(self):
        torch.manual_seed(7)
        (a, b) = D.DataLoader(Facts(), 2, num_workers=2)
        self.assertEqual((a[0].tolist(), b[0].tolist(), a[1].tolist()), ([0, 0], [1, 1], [2, 2]))
        self.assertEqual(a[2].tolist() + b[2].tolist(), [1407639518939636932] * 2 + [1407639518939636933] * 2)
        np.testing.assert_allclose([*a[3].tolist(), *b[3].tolist()], [0.116625130, 0.134143531, 0.314840435, 0.280844867], rtol=1e-7)
        np.testing.assert_allclose([*a[4].tolist(), *b[4].tolist()], [0.035415365928, 0.291595942542, 0.240715442816, 0.913719406422], rtol=1e-9)
        self.assertNotIn(os.getpid(), a[5].tolist())


class Workers(unittest.TestCase):
    def test_the_same_batches_with_and_without(self):
        plain = [(i.tolist(), t.sum().item(), a.sum().item()) for i, t, a in D.DataLoader(Squares(), 3)]
        for pool in (*POOLS, {"multiprocessing_context": "spawn"}):
            for more in ({}, {"persistent_workers": True}, {"prefetch_factor": 1}):
                if pool["multiprocessing_context"] == "spawn" and more:
                    continue
                with self.subTest(**pool, **more):
                    loader = D.DataLoader(Squares(), 3, num_workers=2, **pool, **more)
                    for _ in range(2):
                        self.assertEqual([(i.tolist(), t.sum().item(), a.sum().item()) for i, t, a in loader], plain)

    def test_large_tensors_are_writable_and_outlive_the_loader(self):
        batches = list(D.DataLoader(Squares(), 5, num_workers=1))
        gc.collect()
        self.assertEqual(batches[1][1][4, 0, 0].item(), 81)
        batches[1][1].zero_()
        self.assertEqual(batches[1][1].sum().item(), 0)

    def test_batches_are_in_shared_memory(self):
        for size in (1, 2000):
            for dataset, batch_size in ((D.TensorDataset(torch.ones(4, size)), 2), (Squares(), 2), (D.TensorDataset(torch.ones(4, size)), None)):
                batches = [batch[0] for batch in D.DataLoader(dataset, batch_size, num_workers=1, multiprocessing_context="fork")]
                self.assertTrue(all(batch.is_shared() for batch in batches), size)
        lent = batches[0]
        memory = lent.data_ptr()
        self.assertNotEqual(lent.share_memory_().data_ptr(), memory, "a worker may write there again")
        self.assertTrue(lent.is_shared())
        self.assertFalse(next(iter(D.DataLoader(Squares(), 2)))[0].is_shared())

    def test_memory_is_used_again_when_nobody_holds_it(self):
        class Sized(D.Dataset):
            def __len__(self):
                return 90

            def __getitem__(self, index):
                return torch.full((2000 + 700 * (index % 5 + index // 40 * 9),), float(index))

        batches, kept = iter(D.DataLoader(Sized(), batch_size=None, num_workers=2)), []
        for index, batch in enumerate(batches):
            self.assertEqual((batch[0].item(), batch.sum().item()), (index, float(index) * batch.numel()))
            if index % 7 == 0:  # some live on: by a view, as an array
                kept.append((index, batch[100:200]))
                kept.append((index, batch.numpy()[5:9]))
        slots = [len(borrowed.slots) for borrowed in batches._pool._borrowed]
        del batch
        self.assertLess(sum(slots), 50)
        for index, part in kept:
            self.assertEqual((part == index).sum().item(), len(part))

    def test_every_kind_of_tensor_arrives(self):
        items = [torch.rand(60, 60).to(dtype) for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.bool, torch.int8, torch.complex64)]
        items += [torch.rand(80, 80).t(), torch.rand(50, 100)[:, ::2], torch.empty(0, 3), torch.tensor(2), torch.rand(40, 40, dtype=torch.complex64).conj()]
        for item, got in zip(items, D.DataLoader(items, batch_size=None, num_workers=1)):
            self.assertEqual((got.dtype, got.shape), (item.dtype, item.shape))
            self.assertTrue(torch.equal(got, item))

    def test_streams_are_shared_out(self):
        for pool in POOLS:
            with self.subTest(**pool):
                loader = D.DataLoader(Count(), 2, num_workers=2, **pool)
                self.assertEqual([b.tolist() for b in loader], [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]])
                loader = D.DataLoader(Count(), 2, num_workers=2, drop_last=True, persistent_workers=True, **pool)
                for _ in range(2):
                    self.assertEqual([b.tolist() for b in loader], [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10]])

    def test_an_epoch_that_was_left_early(self):
        for pool in POOLS:
            with self.subTest(**pool):
                loader = D.DataLoader(range(20), 2, shuffle=True, num_workers=2, persistent_workers=True, **pool)
                for _ in range(3):  # what is still on its way is of another order
                    next(iter(loader))
                    self.assertEqual(sorted(x for b in loader for x in b.tolist()), list(range(20)))

    def test_any_order(self):
        for pool in POOLS:
            got = [x for b in D.DataLoader(range(20), 3, num_workers=2, in_order=False, **pool) for x in b.tolist()]
            self.assertEqual(sorted(got), list(range(20)))

    def test_threads_have_a_generator_of_their_own(self):
        class Draws(D.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                info = D.get_worker_info()
                return torch.rand(1, generator=info.rng).item(), info.worker_method == "thread"

        def epoch():
            torch.manual_seed(1)
            return [b[0].tolist() for b in D.DataLoader(Draws(), 2, num_workers=2, multiprocessing_context="thread")]

        self.assertEqual(epoch(), epoch())

    def test_init_function(self):
        for pool in POOLS:
            seen = []
            list(D.DataLoader(range(2), num_workers=2, worker_init_fn=seen.append, **pool))
            self.assertEqual(sorted(seen), [0, 1] if pool["multiprocessing_context"] == "thread" else [])

            def fail(worker):
                raise OSError("no disk")

            with self.assertRaisesRegex(OSError, "no disk"):
                list(D.DataLoader(range(2), num_workers=1, worker_init_fn=fail, **pool))


class WholeBatches(unittest.TestCase):
    """Rows of tensors are read by the batch, and by threads."""

    def test_as_row_by_row(self):
        rows = D.TensorDataset(torch.rand(10, 3), torch.arange(10), torch.rand(10, 2, dtype=torch.complex64).conj())
        for data in (rows, D.Subset(rows, [7, 2, 2, 9, 0])):
            for workers in (0, 2):
                expected = list(D.DataLoader(data, 3, collate_fn=lambda batch: D.default_collate(batch), num_workers=workers))
                got = list(D.DataLoader(data, 3, num_workers=workers))
                self.assertEqual([[type(b), len(b)] for b in got], [[type(b), len(b)] for b in expected])
                self.assertTrue(all(torch.equal(a, b) for x, y in zip(got, expected) for a, b in zip(x, y)))
        self.assertEqual([b[1].tolist() for b in D.DataLoader(rows, batch_sampler=[[-1, 3], [1, 1]])], [[9, 3], [1, 1]])
        x = torch.ones(4, requires_grad=True)
        next(iter(D.DataLoader(D.TensorDataset(x), 3)))[0].sum().backward()
        self.assertEqual(x.grad.tolist(), [1, 1, 1, 0])
        with self.assertRaises(IndexError):
            list(D.DataLoader(rows, sampler=[10]))

    def test_a_changed_way_to_stack_is_kept_to(self):
        kinds = sys.modules["cresset.utils.data._utils.collate"].default_collate_fn_map
        stack = kinds[torch.Tensor]
        kinds[torch.Tensor] = lambda batch, collate_fn_map=None: "mine"
        try:
            self.assertEqual(list(D.DataLoader(D.TensorDataset(torch.ones(2)), 2)), [["mine"]])
        finally:
            kinds[torch.Tensor] = stack

    def test_who_gets_threads(self):
        class Quick(Squares):
            releases_gil = True

        rows = D.TensorDataset(torch.ones(4))
        for data, more, threads in ((rows, {}, True), (D.Subset(rows, [1]), {}, True), ([1, 2], {}, True), ([1, 2], {"collate_fn": list}, False), (Quick(), {}, True), (Squares(), {}, False),
                                    (rows, {"worker_init_fn": print}, False), (rows, {"multiprocessing_context": "fork"}, False),
                                    (rows, {"collate_fn": list}, False)):  # fmt: skip
            batches = iter(D.DataLoader(data, 2, num_workers=1, **more))
            self.assertEqual(hasattr(batches._pool, "threads"), threads)


class Failures(unittest.TestCase):
    def test_errors_arrive_with_type_and_traceback(self):
        for pool in POOLS:
            for kind in (KeyError, ValueError, OSError):
                with self.subTest(kind=kind, **pool), self.assertRaises(kind) as caught:
                    list(D.DataLoader(Broken(kind), num_workers=2, **pool))
                text = str(caught.exception)
                self.assertRegex(text, f"Caught {kind.__name__} in DataLoader worker (process|thread) 1")
                self.assertIn('raise self.kind("item three")', text)

    def test_an_error_is_one_batch(self):
        batches, errors = [], 0
        loader = iter(D.DataLoader(Broken(ValueError), num_workers=2))
        while True:
            try:
                batches.append(next(loader).item())
            except StopIteration:
                break
            except ValueError:
                errors += 1
        self.assertEqual((batches, errors), ([0, 1, 2, 4, 5], 1))

    def test_what_cannot_be_rebuilt_or_pickled(self):
        with self.assertRaisesRegex(RuntimeError, "Caught Awkward"):
            list(D.DataLoader(NeedsTwo(ValueError), num_workers=1))
        with self.assertRaisesRegex(Exception, "in DataLoader worker process 0"):
            list(D.DataLoader(Unpicklable(), num_workers=1, collate_fn=lambda b: b))

    def test_a_killed_worker_is_noticed(self):
        began = time.monotonic()
        with self.assertRaisesRegex(RuntimeError, r"exited unexpectedly by signal: SIGKILL while it read index 3 of the batch \[3\]"):
            list(D.DataLoader(Dying(None), num_workers=2))
        self.assertLess(time.monotonic() - began, 20)
        with self.assertRaisesRegex(RuntimeError, r"SIGKILL while it read index 3 of the batch \[2, 3, 4\]"):
            list(D.DataLoader(Dying(None), batch_sampler=[[0, 1], [2, 3, 4], [5]], num_workers=2))
        with self.assertRaisesRegex(RuntimeError, "SIGKILL while it read index 3$"):
            list(D.DataLoader(Dying(None), batch_size=None, num_workers=2))

    def test_a_dataset_that_shrinks(self):
        for workers in ({"num_workers": 0}, {"num_workers": 2, "multiprocessing_context": "thread"}):
            data = list(range(10))
            batches = iter(D.DataLoader(data, 2, prefetch_factor=1 if workers["num_workers"] else None, **workers))
            next(batches)
            del data[7:]
            with self.assertRaisesRegex(IndexError, "index 7 is outside the dataset, which has 7 items now and had 10 when the epoch began"):
                list(batches)

    def test_a_dataset_that_shrinks_within_another(self):
        def wrapped(data):
            return (D.Subset(data, range(10)), D.ConcatDataset([[1], data]), D.StackDataset(data), D.Subset(D.ConcatDataset([data]), range(10)))

        for number in range(4):
            data = list(range(10))
            batches = iter(D.DataLoader(wrapped(data)[number], 2))
            next(batches)
            del data[7:]
            with self.assertRaisesRegex(IndexError, r"outside a list within the dataset, which has 7 items now and had 10 when"):
                list(batches)
        data = D.TensorDataset(torch.arange(10))
        batches = iter(D.DataLoader(D.Subset(data, range(10)), 2))
        next(batches)
        data.tensors = (torch.arange(5),)
        with self.assertRaisesRegex(IndexError, r"one of \[4, 5\] is outside a TensorDataset within .* 5 items now and had 10"):
            list(batches)

    def test_a_worker_that_was_kept_and_is_killed(self):
        loader = D.DataLoader(list(range(8)), 2, num_workers=1, persistent_workers=True, multiprocessing_context="fork")
        next(iter(loader))
        process = loader._iterator._pool.processes[0]
        os.kill(process.pid, signal.SIGKILL)
        process.join(10)
        with self.assertRaisesRegex(RuntimeError, r"exited unexpectedly by signal: SIGKILL$"):
            iter(loader)

    def test_a_slow_worker_is_noticed(self):
        for pool in POOLS:
            with self.assertRaisesRegex(RuntimeError, "timed out after 0.2 seconds"):
                list(D.DataLoader(Slow(), num_workers=1, timeout=0.2, collate_fn=list, **pool))

    def test_nothing_stays_behind(self):
        before = set(ours())
        list(D.DataLoader(Squares(), 3, num_workers=2))
        left_early = iter(D.DataLoader(Squares(), 3, num_workers=2))
        next(left_early)
        processes = left_early._pool.processes
        del left_early
        gc.collect()
        self.assertFalse(any(p.is_alive() for p in processes))
        self.assertEqual(set(ours()) - before, set())

    def test_ctrl_c_ends_the_program_and_its_workers(self):
        program = (
            "import cresset as torch, time, os\n"
            "class Slow(torch.utils.data.Dataset):\n"
            "    def __len__(self): return 100\n"
            "    def __getitem__(self, i):\n"
            "        time.sleep(0.3)\n"
            "        return os.getpid()\n"
            "for batch in torch.utils.data.DataLoader(Slow(), num_workers=2):\n"
            "    print(batch.item(), flush=True)\n"
        )
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        worker = int(child.stdout.readline())
        os.killpg(child.pid, signal.SIGINT)
        _, errors = child.communicate(timeout=30)
        self.assertIn("KeyboardInterrupt", errors)
        self.assertEqual(errors.count("Traceback"), 1, errors)
        self.assertNotEqual(child.returncode, 0)
        with self.assertRaises(ProcessLookupError):
            os.kill(worker, 0)


class Collation(unittest.TestCase):
    def test_structures(self):
        Point = collections.namedtuple("Point", "x y")
        a, b = torch.ones(2), torch.zeros(2)
        got = D.default_collate([{"p": Point(a, 1), "q": [1.5, "s"], "t": (True, b"x")}] * 2)
        self.assertEqual(type(got["p"]).__name__, "Point")
        self.assertEqual((got["p"].x.shape, got["p"].y.dtype), ((2, 2), torch.int64))
        self.assertEqual((got["q"][0].dtype, got["q"][1]), (torch.float64, ("s", "s")))
        self.assertIs(type(got["t"]), list)
        self.assertEqual(got["t"][1], (b"x", b"x"))
        ordered = D.default_collate([collections.OrderedDict(z=a, y=b)] * 3)
        self.assertEqual((type(ordered), list(ordered)), (collections.OrderedDict, ["z", "y"]))
        self.assertEqual(D.default_collate([np.float32(1.5), np.float32(2)]).dtype, torch.float32)
        self.assertEqual(D.default_collate([np.arange(3), np.arange(3)]).shape, (2, 3))
        self.assertEqual([x.item() for x in D.default_convert([np.float32(1.5), np.float32(2.5)])], [1.5, 2.5])

    def test_mistakes(self):
        for error, batch in ((TypeError, [None]), (TypeError, [object()]), (RuntimeError, [[1], [1, 2]]), (RuntimeError, [torch.ones(2), torch.ones(3)]),
                             (TypeError, [np.array("x")])):  # fmt: skip
            with self.assertRaises(error):
                D.default_collate(batch)


class Datasets(unittest.TestCase):
    def test_combinations(self):
        both = D.ConcatDataset(["ab", "cde"])
        self.assertEqual([both[i] for i in (0, 2, -1, -5)], ["a", "c", "e", "a"])
        self.assertEqual(D.Subset(D.Subset("abcd", [3, 1, 0]), [2, 0]).__getitems__([0, 1]), ["a", "d"])
        self.assertEqual(list(Count(2) + Count(3)), [0, 1, 0, 1, 2])
        self.assertEqual(D.StackDataset("ab", [1, 2]).__getitems__([1, 0]), [("b", 2), ("a", 1)])
        self.assertEqual([x.tolist() for x in D.TensorDataset(torch.arange(6).view(3, 2), torch.arange(3))[1]], [[2, 3], 1])

    def test_batches_are_asked_for_at_once(self):
        class Together(D.Dataset):
            def __len__(self):
                return 5

            def __getitems__(self, indices):
                return [len(indices)] * len(indices)

        self.assertEqual([b.tolist() for b in D.DataLoader(Together(), 2)], [[2, 2], [2, 2], [1]])

    def test_a_stream_longer_than_promised_warns(self):
        class Promising(Count):
            def __len__(self):
                return 3

        with self.assertWarnsRegex(UserWarning, "promised 3 samples"):
            loader = D.DataLoader(Promising(5))
            len(loader)
            list(loader)

    def test_mistakes(self):
        x = list(range(5))
        for error, make in (
            (ValueError, lambda: D.DataLoader(x, batch_size=0)), (ValueError, lambda: D.DataLoader(x, num_workers=-1)),
            (ValueError, lambda: D.DataLoader(x, prefetch_factor=2)), (ValueError, lambda: D.DataLoader(x, persistent_workers=True)),
            (ValueError, lambda: D.DataLoader(x, shuffle=True, sampler=[0])), (ValueError, lambda: D.DataLoader(x, 2, batch_sampler=[[0]])),
            (ValueError, lambda: D.DataLoader(x, batch_size=None, drop_last=True)), (ValueError, lambda: D.DataLoader(Count(), shuffle=True)),
            (ValueError, lambda: setattr(D.DataLoader(x), "batch_size", 3)), (TypeError, lambda: len(D.DataLoader(Count()))),
            (ValueError, lambda: D.DataLoader(x, num_workers=1, multiprocessing_context="x")), (NotImplementedError, lambda: D.Dataset()[0]),
            (ValueError, lambda: D.DataLoader(x, multiprocessing_context="thread")), (ValueError, lambda: D.RandomSampler([])),
            (ValueError, lambda: D.random_split(x, [2, 2])), (ValueError, lambda: D.BatchSampler(x, True, False)),
            (AssertionError, lambda: D.TensorDataset(torch.ones(2), torch.ones(3))), (ValueError, lambda: D.StackDataset(x, [1])),
        ):  # fmt: skip
            with self.assertRaises(error):
                make()

    def test_pinning_without_an_accelerator_warns(self):
        with self.assertWarnsRegex(UserWarning, "without an accelerator"):
            list(D.DataLoader(range(2), pin_memory=True))

    def test_loaders_are_copied_and_pickled(self):
        loader = D.DataLoader(range(4), 2, num_workers=1, persistent_workers=True)
        list(loader)
        for other in (copy.copy(loader), pickle.loads(pickle.dumps(loader))):
            self.assertEqual([b.tolist() for b in other], [[0, 1], [2, 3]])

    def test_subclasses_keep_the_iterator(self):
        class Endless(D.DataLoader):
            kept = None

            def __iter__(self):
                self.kept = self.kept or self._get_iterator()
                return itertools.islice(self.kept, 2)

        for workers in (0, 1):
            loader = Endless(range(4), 1, num_workers=workers)
            self.assertEqual([[b.item() for b in loader] for _ in range(2)], [[0, 1], [2, 3]])


class BesideLoader:
    """A loader of a library: it has what PyTorch's iterators read, and is no DataLoader."""

    _auto_collation = drop_last = pin_memory = persistent_workers = False
    _IterableDataset_len_called = generator = multiprocessing_context = worker_init_fn = None
    timeout, prefetch_factor, in_order, pin_memory_device = 0, 2, True, ""
    _dataset_kind = 1

    def __init__(self, batches, num_workers):
        self.dataset, self.batches, self.num_workers = self, batches, num_workers

    def __iter__(self):
        return iter(self.batches)

    @property
    def _index_sampler(self):
        return itertools.repeat(None)

    def collate_fn(self, x):
        return x


class Iterators(unittest.TestCase):
    def test_they_take_loaders_of_libraries(self):
        from cresset.utils.data import dataloader

        self.assertEqual([kind.name for kind in dataloader._DatasetKind], ["Map", "Iterable"])
        torch.manual_seed(0)
        here = dataloader._SingleProcessDataLoaderIter(BesideLoader([1, 2, 3], 0))
        self.assertEqual(list(here), [1, 2, 3])
        self.assertAlmostEqual(torch.rand(1).item(), 0.0884774327, places=6)  # after the iterator's seed, as in PyTorch
        there = dataloader._MultiProcessingDataLoaderIter(BesideLoader([torch.ones(2), 5], 1))
        self.assertEqual([b.tolist() if isinstance(b, torch.Tensor) else b for b in there], [[1, 1], 5])


class Handles(unittest.TestCase):
    def test_removal_and_pickling(self):
        hooks, extra = collections.OrderedDict(), collections.OrderedDict()
        with torch.utils.hooks.RemovableHandle(hooks, extra_dict=extra) as handle:
            hooks[handle.id] = extra[handle.id] = 1
        self.assertEqual((len(hooks), len(extra)), (0, 0))
        again = pickle.loads(pickle.dumps(handle))
        self.assertEqual(again.id, handle.id)
        self.assertGreater(torch.utils.hooks.RemovableHandle(hooks).id, again.id)


if __name__ == "__main__":
    warnings.simplefilter("default")
    unittest.main()
