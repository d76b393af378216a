"""Steps of data: what each gives, orders under seeds as PyTorch 2.13 has them, one iterator at a time, loaders of them."""

import copy
import functools
import importlib.util
import io
import operator
import os
import pickle
import tempfile
import unittest
import warnings

from cresset.utils import data
from cresset.utils.data import DataLoader, IterDataPipe, MapDataPipe, graph, graph_settings
from cresset.utils.data.datapipes.iter import Concater, FileLister, FileOpener, IterableWrapper, Sampler, Shuffler
from cresset.utils.data.datapipes.map import SequenceWrapper

import cresset as torch


def test_modules_of_single_steps():
    from cresset.utils.data.datapipes.iter.callable import MapperIterDataPipe
    from cresset.utils.data.datapipes.iter.combinatorics import ShufflerIterDataPipe
    from cresset.utils.data.datapipes.map.utils import SequenceWrapperMapDataPipe

    assert (ShufflerIterDataPipe, SequenceWrapperMapDataPipe) == (Shuffler, SequenceWrapper)
    assert isinstance(ten().map(str), MapperIterDataPipe)


def ten():
    return IterableWrapper(range(10))


class Doubled(IterDataPipe):
    def __init__(self, source, n=2):
        self.source, self.n = source, n

    def __iter__(self):
        for x in self.source:
            yield x * self.n


class Streams(unittest.TestCase):
    def test_map(self):
        pairs = [(1, 2), (3, 4)]
        cases = [
            (dict(fn=sum), [3, 7]),
            (dict(fn=lambda x: -x, input_col=0), [(-1, 2), (-3, 4)]),
            (dict(fn=lambda x: -x, input_col=0, output_col=-1), [(1, 2, -1), (3, 4, -3)]),
            (dict(fn=lambda x, y: x + y, input_col=[0, 1]), [(3,), (7,)]),
            (dict(fn=lambda x, y: x + y, input_col=[0, 1], output_col=1), [(1, 3), (3, 7)]),
        ]
        for named, wanted in cases:
            self.assertEqual(list(IterableWrapper(pairs).map(**named)), wanted)
        self.assertEqual(list(IterableWrapper([{"a": 1}]).map(lambda x: x + 1, input_col="a", output_col="b")), [{"a": 1, "b": 2}])
        self.assertRaises(ValueError, ten().map, lambda x: x, output_col=1)
        self.assertRaises(ValueError, ten().map, lambda x, y: x)
        self.assertRaises(ValueError, ten().map, lambda x: x, input_col=[0, 1])

    def test_filter(self):
        self.assertEqual(list(IterableWrapper([(1, 2), (3, 4)]).filter(lambda x: x > 1, input_col=0)), [(3, 4)])
        self.assertRaises(ValueError, list, ten().filter(lambda x: 3))
        self.assertRaises(TypeError, len, ten().filter(bool))

    def test_batches(self):
        deep = ten().batch(4).batch(2)
        self.assertEqual(list(deep), [[[0, 1, 2, 3], [4, 5, 6, 7]], [[8, 9]]])
        self.assertIs(type(next(iter(deep))), data.DataChunk)
        for level in (2, -1):
            self.assertEqual(list(deep.unbatch(unbatch_level=level)), list(range(10)))
        self.assertEqual([len(ten().batch(3)), len(ten().batch(3, drop_last=True)), len(list(ten().batch(3, drop_last=True)))], [4, 3, 3])
        self.assertRaises(IndexError, list, ten().unbatch())
        self.assertRaises(ValueError, list, ten().unbatch(unbatch_level=-2))
        self.assertRaises(AssertionError, ten().batch, 0)
        self.assertEqual(data.DataChunk([1, 2]).as_str(">"), ">[1, 2]")
        self.assertEqual(list(data.DataChunk([1, 2]).raw_iterator()), [1, 2])

    def test_groups(self):
        def key(x):
            return x % 3

        self.assertEqual(list(ten().groupby(key, keep_key=True)), [(0, [0, 3, 6, 9]), (1, [1, 4, 7]), (2, [2, 5, 8])])
        self.assertEqual(list(ten().groupby(key, group_size=2)), [[0, 3], [1, 4], [2, 5], [6, 9], [7], [8]])
        self.assertEqual(list(ten().groupby(key, buffer_size=4, group_size=3, guaranteed_group_size=2)), [[0, 3], [1, 4], [2, 5], [6, 9], [7], [8]])
        self.assertEqual(list(ten().groupby(key, buffer_size=3)), [[x] for x in range(10)])
        self.assertRaises(AssertionError, ten().groupby, key, group_size=0)
        self.assertRaises(AssertionError, ten().groupby, key, guaranteed_group_size=3)
        self.assertRaises(RuntimeError, list, ten().groupby(lambda x: x, group_size=2, buffer_size=2))

    def test_orders(self):
        torch.manual_seed(0)
        self.assertEqual(list(ten().shuffle()), [3, 5, 0, 1, 9, 6, 2, 7, 4, 8])
        self.assertEqual(list(ten().shuffle(buffer_size=3)), [0, 3, 1, 5, 6, 7, 8, 4, 2, 9])
        self.assertEqual(list(ten().shuffle().set_seed(7)), [5, 2, 8, 7, 0, 1, 3, 6, 4, 9])
        self.assertEqual(list(ten().shuffle().set_shuffle(False)), list(range(10)))
        self.assertEqual(list(IterableWrapper([[1, 2], [3]]).shuffle(unbatch_level=1).set_seed(1)), [1, 2, 3])
        self.assertRaises(AssertionError, ten().shuffle, buffer_size=0)

    def test_collate_and_sample(self):
        self.assertEqual([x.tolist() for x in IterableWrapper([(1, 2), (3, 4)]).collate()], [[1, 2], [3, 4]])
        self.assertEqual(list(IterableWrapper([[1, 2]]).collate(collate_fn=sum)), [3])
        self.assertEqual(list(Sampler(ten())), list(range(10)))

    def test_shares(self):
        part = ten().sharding_filter()
        self.assertEqual(len(part), 10)
        part.apply_sharding(3, 1)
        self.assertEqual((list(part), len(part)), ([1, 4, 7], 3))
        self.assertRaises(ValueError, part.apply_sharding, 2, 2)

    def test_groups_of_shares_multiply_in_their_order(self):
        from cresset.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES as PRIORITIES

        pipes = [IterableWrapper(range(90))]
        for group in (PRIORITIES.DISTRIBUTED, PRIORITIES.MULTIPROCESSING, 300):
            pipes.append(pipes[-1].sharding_filter(sharding_group_filter=group))
        for pipe in pipes[1:]:  # each takes the shares of its own group
            pipe.apply_sharding(2, 1, sharding_group=PRIORITIES.DISTRIBUTED)
            pipe.apply_sharding(5, 3, sharding_group=PRIORITIES.MULTIPROCESSING)
            pipe.apply_sharding(3, 1, sharding_group=300)
        self.assertEqual((list(pipes[-1]), len(pipes[-1])), ([17, 47, 77], 3))
        part = IterableWrapper(range(20)).sharding_filter()
        part.apply_sharding(2, 1, PRIORITIES.MULTIPROCESSING)
        part.apply_sharding(3, 1, PRIORITIES.DISTRIBUTED)
        self.assertEqual(list(part), [4, 10, 16])
        with self.assertRaises(RuntimeError):
            part.apply_sharding(2, 0)

    def test_files_stand_for_themselves(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.txt")
            open(path, "w").close()
            self.assertEqual(list(torch.utils.data.datapipes.iter.FileLister([folder, path])), [path, path])
            self.assertEqual(list(torch.utils.data.datapipes.iter.FileLister([path], "*.csv")), [])

    def test_samplers_want_a_length(self):
        with self.assertRaises(AssertionError):
            torch.utils.data.datapipes.iter.Sampler(IterableWrapper(iter([1]), deepcopy=False).filter(bool))

    def test_several(self):
        three = IterableWrapper("abc")
        self.assertEqual(list(ten().mux(three)), [0, "a", 1, "b", 2, "c"])
        self.assertEqual(list(ten().zip(three)), [(0, "a"), (1, "b"), (2, "c")])
        self.assertEqual(list(three.concat(IterableWrapper("d"))), ["a", "b", "c", "d"])
        self.assertEqual([len(ten().mux(three)), len(ten().zip(three)), len(ten().concat(three))], [6, 3, 13])
        self.assertRaises(TypeError, ten().concat, 3)
        self.assertRaises(TypeError, ten().zip, [1])
        self.assertRaises(ValueError, Concater)

    def test_fork(self):
        a, b = ten().fork(2)
        self.assertEqual((next(iter(a)), list(b), list(a)), (0, list(range(10)), list(range(10))))
        first, second = iter(a), iter(b)
        next(first), next(second)
        again = iter(a)
        with self.assertRaisesRegex(RuntimeError, "iterator has ended"):
            next(second)
        self.assertEqual((next(again), len(a)), (0, 10))
        a, b = ten().fork(2, buffer_size=3)
        first = iter(a)
        self.assertEqual([next(first) for _ in range(3)], [0, 1, 2])
        self.assertRaises(BufferError, next, first)
        a, b = IterableWrapper([[1]]).fork(2, copy="deep")
        self.assertIsNot(list(a)[0], list(b)[0])
        self.assertRaises(ValueError, ten().fork, 0)

    def test_a_fork_of_one_is_the_step_itself(self):
        step = ten()
        self.assertIs(step.fork(1, buffer_size=0), step)
        with self.assertRaises(ValueError):
            step.fork(0)

    def test_items_that_are_lost_when_a_child_begins_again_are_warned_of(self):
        for children in (ten().fork(2), ten().demux(2, functools.partial(operator.mod, 2))):
            for child in children:
                iter(child)
            with self.assertWarnsRegex(UserWarning, "have ended"):
                iter(children[0])
        children = ten().fork(2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):
                self.assertEqual([list(child) for child in children], [list(range(10))] * 2)

    def test_demux(self):
        even, odd = ten().demux(2, lambda x: None if x == 3 else x % 2, drop_none=True)
        self.assertEqual((list(even), list(odd)), ([0, 2, 4, 6, 8], [1, 5, 7, 9]))
        self.assertRaises(ValueError, list, ten().demux(2, lambda x: x)[0])
        self.assertRaises(BufferError, list, ten().demux(2, lambda x: x % 2, buffer_size=2)[0])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "s"))
            paths = [os.path.join(folder, "a.txt"), os.path.join(folder, "s", "b.csv")]
            for path in paths:
                with open(path, "w") as file:
                    file.write("hi")
            self.assertEqual(list(FileLister(folder)), paths[:1])
            self.assertEqual(list(FileLister(folder, recursive=True)), paths)
            self.assertEqual(list(IterableWrapper([folder]).list_files(["*.csv"], recursive=True)), paths[1:])
            self.assertRaises(TypeError, len, FileLister(folder))
            for path, file in FileLister(folder).open_files(mode="b"):
                self.assertEqual((path, file.read()), (paths[0], b"hi"))
                file.close()
        read = IterableWrapper([("n", io.BytesIO(b"abc"))]).read_from_stream(chunk=2)
        self.assertEqual(list(read), [("n", b"ab"), ("n", b"c")])
        self.assertRaises(ValueError, FileOpener, [], mode="x")
        self.assertRaises(TypeError, list, IterableWrapper([3]).open_files())


class OneAtATime(unittest.TestCase):
    def test_a_second_iterator_ends_the_first(self):
        pipe = ten().map(lambda x: x)
        first = iter(pipe)
        next(first)
        second = iter(pipe)
        self.assertEqual(next(second), 0)
        with self.assertRaisesRegex(
            RuntimeError, r"ended when another one of the same IterDataPipe was made: MapperIterDataPipe\(datapipe=IterableWrapperIterDataPipe, fn=<lambda>, "
        ):
            next(first)

    def test_steps_that_are_iterators(self):
        class Three(IterDataPipe):
            def __init__(self):
                self.n = 0

            def __iter__(self):
                return self

            def __next__(self):
                self.n += 1
                if self.n > 3:
                    raise StopIteration
                return self.n

            def reset(self):
                self.n = 0

        pipe = Three()
        self.assertEqual([list(pipe), list(pipe)], [[1, 2, 3]] * 2)

    def test_errors_tell_the_step(self):
        with self.assertRaisesRegex(ZeroDivisionError, r"(?s)by zero.*thrown by __iter__ of MapperIterDataPipe\(datapipe=IterableWrapper"):
            list(ten().map(lambda x: 1 // x))

    def test_copies_are_apart(self):
        pipe = Doubled(IterableWrapper([1, 2]))
        running = iter(pipe)
        next(running)
        self.assertEqual([list(pickle.loads(pickle.dumps(pipe))), list(copy.deepcopy(pipe))], [[2, 4]] * 2)
        self.assertEqual(next(running), 4)


class Registered(unittest.TestCase):
    def test_steps_are_methods(self):
        data.functional_datapipe("doubled_in_a_test")(Doubled)
        self.addCleanup(IterDataPipe.functions.pop, "doubled_in_a_test")
        self.assertEqual(list(IterableWrapper([1]).doubled_in_a_test(n=3)), [3])
        with self.assertRaisesRegex(Exception, "already taken"):
            data.functional_datapipe("doubled_in_a_test")(Doubled)
        IterDataPipe.register_function("total_in_a_test", lambda pipe: sum(pipe))
        self.addCleanup(IterDataPipe.functions.pop, "total_in_a_test")
        self.assertEqual(ten().total_in_a_test(), 45)
        self.assertIn("batch", dir(ten()))
        self.assertRaises(AttributeError, lambda: ten().nothing)

    def test_hooks(self):
        IterDataPipe.set_getstate_hook(lambda state: {**state, "n": 7})
        try:
            self.assertEqual(pickle.loads(pickle.dumps(Doubled(ten()))).n, 7)
            self.assertRaises(RuntimeError, IterDataPipe.set_getstate_hook, dict)
        finally:
            IterDataPipe.set_getstate_hook(None)
        IterDataPipe.set_reduce_ex_hook(lambda pipe: (list, ()))
        try:
            self.assertEqual(pickle.loads(pickle.dumps(Doubled([1]))), [])
        finally:
            IterDataPipe.set_reduce_ex_hook(None)
        self.assertEqual((str(ten()), repr(ten())), ("IterableWrapperIterDataPipe",) * 2)

    def test_determinism(self):
        @data.non_deterministic
        class Some(IterDataPipe):
            def __iter__(self):
                yield 1

        @data.non_deterministic(lambda n: n > 1)
        class Others(IterDataPipe):
            def __init__(self, n):
                self.n = n

        self.assertEqual(list(Some()), [1])
        with data.guaranteed_datapipes_determinism():
            self.assertRaises(TypeError, Some)
            self.assertRaises(TypeError, Others, 2)
            self.assertEqual(Others(1).n, 1)
        self.assertEqual(Others(2).n, 2)
        self.assertRaises(TypeError, data.non_deterministic, 3)
        self.assertRaises(TypeError, data.non_deterministic, int)

    def test_types(self):
        class Ints(IterDataPipe[int]):
            def __init__(self, items):
                self.items = items

            @data.runtime_validation
            def __iter__(self):
                yield from self.items

        @data.argument_validation
        def total(pipe: IterDataPipe[int]):
            return sum(pipe)

        class Texts(IterDataPipe[str]):
            pass

        self.assertEqual(total(Ints([1, 2])), 3)
        self.assertRaises(RuntimeError, list, Ints([1, "a"]))
        with data.runtime_validation_disabled():
            self.assertEqual(list(Ints([1, "a"])), [1, "a"])
        self.assertRaises(TypeError, total, [1])
        self.assertRaises(TypeError, total, Texts())


class Functions(unittest.TestCase):
    def test_functions_that_need_keywords_are_refused_when_the_step_is_made(self):
        def needs(x, *, y):
            return x

        for columns in (None, 0, [0]):
            for name in ("map", "filter"):
                with self.assertRaisesRegex(ValueError, "'y'"):
                    getattr(IterableWrapper([(1, 2)]), name)(needs, input_col=columns)
        self.assertEqual(list(IterableWrapper([(1, 2)]).map(functools.partial(needs, y=1), input_col=0)), [(1, 2)])


class Mappings(unittest.TestCase):
    def test_steps(self):
        three = SequenceWrapper([1, 2, 3])
        self.assertEqual(list(three.map(lambda x: x * 2)), [2, 4, 6])
        self.assertEqual([list(three.batch(2)), len(three.batch(2, drop_last=True))], [[[1, 2], [3]], 1])
        self.assertEqual([three.zip(three)[0], three.concat(three)[4], len(three.concat(three))], [(1, 1), 2, 6])
        self.assertRaises(IndexError, lambda: three.batch(2)[7])
        self.assertRaises(IndexError, lambda: three.concat(three)[9])
        self.assertRaises(IndexError, lambda: three.zip(three)[9])
        self.assertRaises(NotImplementedError, lambda: MapDataPipe()[0])
        self.assertEqual(SequenceWrapper({"a": 1})["a"], 1)

    def test_orders(self):
        three = SequenceWrapper([1, 2, 3])
        torch.manual_seed(0)
        self.assertEqual(list(three.shuffle()), [3, 2, 1])
        self.assertEqual(list(three.shuffle().set_seed(3)), [2, 3, 1])
        self.assertEqual(list(three.shuffle(indices=[2, 0]).set_shuffle(False)), [3, 1])


class Pickled(unittest.TestCase):
    def test_functions_without_a_name_are_warned_of(self):
        def local(x):
            return x

        for function in (lambda x: x, local):
            makers = (ten().map, ten().filter, ten().groupby, functools.partial(ten().demux, 2), ten().collate, SequenceWrapper("ab").map)
            for make in makers if importlib.util.find_spec("dill") is None else ():
                with self.assertWarnsRegex(UserWarning, "cannot be sent"):
                    make(function)

    def test_steps_that_were_given_no_function(self):
        mapped = data.datapipes.map.Mapper(SequenceWrapper([1, 2]))
        self.assertEqual([pickle.loads(pickle.dumps(mapped))[i] for i in range(2)], [1, 2])
        first, _ = IterableWrapper([1, 2]).fork(2)
        self.assertEqual(list(pickle.loads(pickle.dumps(first))), [1, 2])


class Graphs(unittest.TestCase):
    def test_settings(self):
        pipe = ten().shuffle().map(abs).sharding_filter()
        names = [type(step).__name__ for step in graph_settings.get_all_graph_pipes(graph.traverse_dps(pipe))]
        self.assertEqual(names, ["ShardingFilterIterDataPipe", "MapperIterDataPipe", "ShufflerIterDataPipe", "IterableWrapperIterDataPipe"])
        graph_settings.apply_shuffle_settings(pipe, shuffle=False)
        graph_settings.apply_sharding(pipe, 2, 1)
        self.assertEqual(list(pipe), [1, 3, 5, 7, 9])
        graph_settings.apply_shuffle_settings(pipe, shuffle=True)
        graph_settings.apply_random_seed(pipe, torch.Generator().manual_seed(3))
        self.assertEqual(list(pipe), [4, 2, 9, 0, 5])
        self.assertRaises(RuntimeError, graph_settings.apply_sharding, pipe.sharding_filter(), 2, 0)
        with self.assertWarns(UserWarning):
            self.assertIsInstance(graph_settings.apply_shuffle_settings(ten(), shuffle=True), Shuffler)

    def test_steps_within_forks(self):
        source = ten().shuffle()
        a, b = source.fork(2)
        self.assertIn(source, graph_settings.get_all_graph_pipes(graph.traverse_dps(a.zip(b))))


class Loaders(unittest.TestCase):
    def test_orders(self):
        torch.manual_seed(5)
        self.assertEqual(
            [x.tolist() for x in DataLoader(ten().shuffle().sharding_filter(), batch_size=2, shuffle=True)], [[1, 5], [2, 6], [4, 9], [0, 7], [8, 3]]
        )
        torch.manual_seed(5)
        self.assertEqual(list(DataLoader(ten().shuffle(), batch_size=None, shuffle=False)), list(range(10)))
        torch.manual_seed(5)
        three = SequenceWrapper([1, 2, 3])
        self.assertEqual([x.tolist() for x in DataLoader(three.shuffle(), batch_size=2, shuffle=True)], [[3, 2], [1]])

    def test_workers_share(self):
        for context in (None, "thread"):
            torch.manual_seed(5)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                loader = DataLoader(
                    ten().shuffle().sharding_filter(), batch_size=2, shuffle=True, num_workers=2, multiprocessing_context=context, persistent_workers=True
                )
                first, second = ([x for batch in loader for x in batch.tolist()] for _ in range(2))
            self.assertEqual(sorted(first), list(range(10)))
            self.assertEqual(sorted(second), list(range(10)))
            self.assertNotEqual(first, second)


if __name__ == "__main__":
    unittest.main()
