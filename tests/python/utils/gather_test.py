"""Batches made in few steps: what they are made of and when must not be seen."""

import collections
import os
import unittest

import numpy as np
from cresset.utils.data._utils.gather import gatherer
from cresset.utils.data._utils.worker import Fetcher

import cresset as torch

D = torch.utils.data
WAYS = ({}, {"num_workers": 2, "multiprocessing_context": "fork"}, {"num_workers": 2, "multiprocessing_context": "thread"})


def item_by_item(dataset, index):
    return D.default_collate([dataset[i] for i in index])


class Case(unittest.TestCase):
    def same(self, a, b):
        self.assertIs(type(a), type(b))
        if isinstance(a, torch.Tensor):
            self.assertEqual((a.dtype, a.shape, a.stride()), (b.dtype, b.shape, b.stride()))
            self.assertTrue(torch.equal(a, b))
        elif isinstance(a, dict):
            self.assertEqual(list(a), list(b))
            [self.same(a[key], b[key]) for key in a]
        elif isinstance(a, (list, tuple)):
            self.assertEqual(len(a), len(b))
            [self.same(x, y) for x, y in zip(a, b)]
        else:
            self.assertEqual(a, b)

    def same_in_every_way(self, dataset, batch_size=7, ways=WAYS):
        order = torch.randperm(len(dataset)).tolist()
        for way in ways:
            with self.subTest(**way):
                loader = D.DataLoader(dataset, sampler=order, batch_size=batch_size, **way)
                for at, batch in enumerate(list(loader)):
                    self.same(batch, item_by_item(dataset, order[at * batch_size : (at + 1) * batch_size]))


class GatherTest(Case):
    """Tensors in memory: one step for each of them."""

    def setUp(self):
        torch.manual_seed(0)
        self.pairs = D.TensorDataset(torch.randn(40, 3, 20, 20), torch.arange(40))
        self.more = D.TensorDataset(torch.randn(30, 3, 20, 20), torch.arange(30) + 100)

    def test_combinations_of_tensors_are_gathered(self):
        train, test = D.random_split(self.pairs, [30, 10])
        datasets = (
            self.pairs, D.Subset(self.pairs, range(5, 35)), D.Subset(self.pairs, torch.randperm(40)), D.Subset(train, [3, -1, 4] * 5), test,
            D.StackDataset(self.pairs, D.TensorDataset(torch.rand(40))), D.StackDataset(a=self.pairs, b=self.pairs),
            D.ConcatDataset([self.pairs, self.more]), D.Subset(D.ConcatDataset([train, self.more, test]), list(range(69, 0, -1))),
            D.ConcatDataset([D.StackDataset(x=self.pairs), D.StackDataset(x=self.more)]),
        )  # fmt: skip
        for number, dataset in enumerate(datasets):
            with self.subTest(number=number):
                index = torch.randperm(len(dataset))[:9].tolist()
                self.same(gatherer(dataset).batch(index, lambda *_: None), item_by_item(dataset, index))
                self.same_in_every_way(dataset)

    def test_whoever_says_how_items_are_read_is_asked(self):
        class Shifted(D.TensorDataset):
            def __getitem__(self, index):
                return super().__getitem__(index)[1] + 1000

        class Halved(D.Subset):
            def __getitems__(self, indices):
                return [0.5] * len(indices)

        own = D.TensorDataset(torch.arange(6))
        own.__getitems__ = lambda indices: [(torch.tensor(-1),)] * len(indices)
        for dataset in (Shifted(*self.pairs.tensors), D.Subset(Shifted(*self.pairs.tensors), range(9)), Halved(self.pairs, range(8)), own):
            self.assertIsNone(gatherer(dataset))
        self.assertEqual(next(iter(D.DataLoader(Shifted(*self.pairs.tensors), 2))).tolist(), [1000, 1001])
        self.assertEqual(next(iter(D.DataLoader(Halved(self.pairs, range(8)), 2))).tolist(), [0.5, 0.5])
        self.assertEqual(next(iter(D.DataLoader(own, 2)))[0].tolist(), [-1, -1])
        before = D.TensorDataset.__getitem__
        D.TensorDataset.__getitem__ = lambda self, index: "mine"
        try:
            self.assertEqual(next(iter(D.DataLoader(self.pairs, 2))), ["mine", "mine"])
        finally:
            D.TensorDataset.__getitem__ = before

    def test_what_changes_between_batches_is_seen(self):
        data, chosen = torch.arange(12.0), list(range(12))
        dataset = D.TensorDataset(data)
        batches = iter(D.DataLoader(D.Subset(dataset, chosen), 4))
        self.assertEqual(next(batches)[0].tolist(), [0, 1, 2, 3])
        chosen[4:8] = [0, 0, 0, 1]
        self.assertEqual(next(batches)[0].tolist(), [0, 0, 0, 1])
        dataset.tensors = (data + 100,)
        self.assertEqual(next(batches)[0].tolist(), [108, 109, 110, 111])

    def test_indices_of_other_kinds_and_out_of_range(self):
        dataset = D.TensorDataset(torch.arange(6))
        read = Fetcher(dataset, False, True, D.default_collate, False)
        self.assertEqual(read([-1, 0])[0].tolist(), [5, 0])
        self.assertEqual(read([np.int64(3), 2])[0].tolist(), [3, 2])
        self.assertEqual(read([torch.tensor(3), -2])[0].tolist(), [3, 4])
        with self.assertRaises(IndexError) as ours:
            read([2, 6])
        with self.assertRaises(IndexError) as rows:
            dataset[6]
        self.assertEqual(str(ours.exception), str(rows.exception))

    def test_layout_and_graph_are_those_of_stacking(self):
        image = torch.randn(8, 3, 6, 5).contiguous(memory_format=torch.channels_last)
        self.same_in_every_way(D.TensorDataset(image, torch.randn(5, 8).t()), 4, WAYS[:1])
        weight = torch.randn(6, 2, requires_grad=True)
        batch = next(iter(D.DataLoader(D.TensorDataset(weight), 4)))[0]
        (batch * torch.arange(8.0).view(4, 2)).sum().backward()
        self.assertEqual(weight.grad.flatten().tolist(), [*range(8), 0, 0, 0, 0])

    def test_mixed_parts_end_as_stacking_does(self):
        mixed = D.ConcatDataset([D.TensorDataset(torch.ones(3, 2)), D.TensorDataset(torch.ones(3, 5))])
        with self.assertRaisesRegex(RuntimeError, "equal size"):
            next(iter(D.DataLoader(mixed, 6)))
        self.assertEqual(next(iter(D.DataLoader(mixed, 3)))[0].shape, (3, 2))


Point = collections.namedtuple("Point", "x y")


class Made(D.Dataset):
    """Items made anew, by a function of the index."""

    def __init__(self, make, length=24):
        self.make, self.length = make, length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return self.make(index)


class RowTest(Case):
    """Items of a user's dataset: copied into their batch as they are read where it makes no difference."""

    def test_items_of_their_own_are_put_at_once(self):
        image = torch.randint(0, 255, (24, 3, 40, 40), dtype=torch.uint8)
        makes = (
            lambda i: (image[i].float().div_(255), i), lambda i: image[i].double(), lambda i: [torch.full((3,), i), "name", {"deep": torch.ones(2)}],
            lambda i: torch.tensor(i), lambda i: (torch.ones(0), i), lambda i: Point(torch.ones(3) * i, i), lambda i: {"x": torch.ones(3) * i},
            lambda i: (np.full(2000, i), torch.zeros(2, dtype=torch.complex64), i * 0.5, None or b"x"), lambda i: float(i),
            lambda i: (image[i], image[i].permute(1, 2, 0).float(), image[i][None].float().requires_grad_().sum()),
        )  # fmt: skip
        for number, make in enumerate(makes):
            with self.subTest(number=number):
                read = Fetcher(Made(make), False, True, D.default_collate, False)
                self.same(read(list(range(6))), item_by_item(Made(make), range(6)))
                if number < 4:
                    self.assertTrue(read.by_row)
                self.same_in_every_way(Made(make), ways=WAYS[::2] if number == 9 else WAYS)

    def test_memory_that_is_known_elsewhere_is_read_when_the_batch_is_made(self):
        buffer, kept = torch.zeros(2000), []

        def reused(i):
            return buffer.fill_(i)

        def view(i):
            return buffer.fill_(i).view(40, 50), i

        def remembered(i):
            kept.append(torch.full((2000,), float(i)))
            if len(kept) % 6 == 0:
                [k.add_(1) for k in kept[-6:]]
            return kept[-1]

        def array(i):
            memory = buffer.numpy()
            memory[:] = i
            return torch.from_numpy(memory)

        for make in (reused, view, remembered, array):
            with self.subTest(make=make.__name__):
                batch = next(iter(D.DataLoader(Made(make), 6)))
                want = item_by_item(Made(make), range(6))
                self.same(batch, want)

    def test_other_sizes_and_types_on_the_way(self):
        def ragged(i):
            return torch.ones(2000 if i < 4 else 2001) * i

        for way in WAYS:
            with self.subTest(**way), self.assertRaisesRegex(RuntimeError, r"equal size.*2000.*2001"):
                list(D.DataLoader(Made(ragged), 6, **way))
        self.same_in_every_way(Made(lambda i: torch.ones(2000, dtype=torch.float32 if i % 5 else torch.float64) * i), 6, WAYS)
        self.same_in_every_way(Made(lambda i: (torch.ones(2000) * i, i) if i < 20 else [torch.ones(2000) * i, i]), 6, WAYS)

    def test_an_error_on_the_way_is_the_datasets(self):
        def broken(i):
            if i == 4:
                raise KeyError("item four")
            return torch.ones(2000)

        batches = iter(D.DataLoader(Made(broken, 12), 6))
        with self.assertRaisesRegex(KeyError, "item four"):
            next(batches)
        self.assertEqual(len(next(batches)), 6)

    def test_batches_of_workers_are_memory_of_their_own(self):
        dataset = Made(lambda i: (torch.full((3000,), float(i)), torch.full((500,), i), str(i)), 60)
        for way in WAYS[1:]:
            batches = list(D.DataLoader(dataset, 4, **way))
            for at, (x, y, names) in enumerate(batches):
                want = list(range(at * 4, at * 4 + 4))
                self.assertEqual((x[:, 7].tolist(), y[:, 7].tolist(), names), (want, want, tuple(str(w) for w in want)))
                x.zero_()

    @unittest.skipUnless(os.path.exists("/proc/self/smaps_rollup"), "the kernel does not tell which memory is a process's own")
    def test_workers_have_little_memory_of_their_own(self):
        data = [torch.full((250_000,), float(i)) for i in range(64)]
        list(D.DataLoader(data, 4, num_workers=4))  # leaves freed batches behind, which worker processes must not fill again
        loader = iter(D.DataLoader(data * 3, 4, num_workers=1, multiprocessing_context="fork"))
        for number, batch in enumerate(loader):
            if number == 40:
                with open(f"/proc/{loader._pool.processes[0].pid}/smaps_rollup") as file:
                    own = sum(int(line.split()[1]) for line in file if line.startswith("Private_Dirty"))
        self.assertLess(own, 24_000)

    def test_a_changed_collation_is_kept_to(self):
        from cresset.utils.data._utils.collate import default_collate_fn_map

        default_collate_fn_map[list] = lambda batch, *, collate_fn_map: "lists"
        try:
            self.assertEqual(next(iter(D.DataLoader(Made(lambda i: [torch.ones(3)]), 6))), "lists")
        finally:
            del default_collate_fn_map[list]


class CastTest(unittest.TestCase):
    def test_casts_and_their_forms(self):
        x = torch.tensor([1.5, -2.0, 300.0])
        for name, dtype in (("double", torch.float64), ("half", torch.float16), ("int", torch.int32), ("bool", torch.bool), ("cfloat", torch.complex64)):
            for got in (getattr(x, name)(), x.to(dtype), x.to(dtype=dtype), getattr(x, name)(torch.preserve_format), x.to(dtype, copy=True)):
                self.assertEqual((got.dtype, got.tolist()), (dtype, [dtype.is_complex and complex(v) or torch.tensor(v).to(dtype).item() for v in x.tolist()]))
        self.assertIs(x.float(), x)
        self.assertIs(x.to(torch.float32), x)
        image = torch.ones(2, 3, 4, 4, dtype=torch.uint8)
        self.assertEqual(image.float(memory_format=torch.channels_last).stride(), (48, 1, 12, 3))
        weight = torch.ones(2, dtype=torch.float64, requires_grad=True)
        weight.float().sum().backward()
        self.assertEqual((weight.grad.dtype, weight.grad.tolist()), (torch.float64, [1, 1]))

    def test_casts_are_seen_by_subclasses_and_modes(self):
        seen = []

        class Watching(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                seen.append(function.__name__)
                return super().__torch_function__(function, types, args, kwargs or {})

        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                seen.append(function.__name__)
                return function(*args, **(kwargs or {}))

        self.assertIs(type(torch.ones(2).as_subclass(Watching).double()), Watching)
        with Mode():
            torch.ones(2).to(torch.int64)
        self.assertEqual([name for name in seen if name in ("to", "double")], ["double", "to"])


if __name__ == "__main__":
    unittest.main()
