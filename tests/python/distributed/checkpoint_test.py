"""Checkpoints of several ranks: what is saved is what is loaded, by as many or as few ranks; files of PyTorch; mistakes and hostile files."""

import importlib.util
import inspect
import io
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import cresset.distributed.checkpoint as dcp
from cresset.distributed.checkpoint import format_utils
from cresset.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from distributed_test import run_ranks

import cresset as torch
from cresset import nn

HAS_TORCH = importlib.util.find_spec("torch") is not None


def state(k):
    return {
        "w": torch.full((4, 3), k),
        "n": {"b": torch.full((3,), k + 1).bfloat16(), "s": torch.tensor(int(k)), "c": {6: torch.ones(1) * k}},
        "l": [torch.ones(2) * k, {"a": k}],
        "t": str(k),
        "x": (1, int(k)),
        "e": torch.empty(0, 2),
        "h": [[torch.ones(1) * k], [1, 2]],
    }


def equal(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b) and a.dtype == b.dtype
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


STATE = "".join(map(inspect.getsource, (state, equal)))  # for processes of their own


class InAFolder(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name) / "made"

    def load(self, state, **how):
        dcp.load(state, checkpoint_id=self.folder, **how)
        return state


class Alone(InAFolder):
    def test_what_is_saved_is_what_is_loaded(self):
        metadata = dcp.save(state(1.0), checkpoint_id=self.folder)
        self.assertEqual(sorted(os.listdir(self.folder)), [".metadata", "__0_0.distcp"])
        self.assertTrue(equal(self.load(state(9.0)), state(1.0)))
        read = dcp.FileSystemReader(self.folder).read_metadata()
        read.storage_meta.load_id = None
        self.assertEqual(read, metadata)
        self.assertEqual(metadata.planner_data["n.c.6"], ("n", "c", "6"))
        self.assertEqual(metadata.planner_data["h.0.0"], ("h", 0, 0))
        self.assertEqual(type(metadata.state_dict_metadata["x"]), dcp.BytesStorageMetadata)
        self.assertEqual(metadata.state_dict_metadata["w"].chunks, [dcp.ChunkStorageMetadata(torch.Size([0, 0]), torch.Size([4, 3]))])

    def test_tensors_are_filled_where_they_are(self):
        dcp.save({"w": torch.ones(3), "v": torch.arange(3)}, checkpoint_id=self.folder)
        base, mine = torch.zeros(2, 3), torch.zeros(3, dtype=torch.float64, requires_grad=True)
        loaded = self.load({"w": base[1], "v": mine})
        self.assertIs(loaded["v"], mine)
        self.assertEqual((base.tolist(), mine.tolist()), ([[0, 0, 0], [1, 1, 1]], [0, 1, 2]))

    def test_modules_and_what_has_a_state_are_their_states(self):
        class Counter:
            def __init__(self, n):
                self.n = n

            def state_dict(self):
                return {"n": self.n}

            def load_state_dict(self, given):
                self.n = given["n"]

        first, second = nn.Linear(2, 2), nn.Linear(2, 2)
        dcp.save({"model": first, "count": Counter(3)}, checkpoint_id=self.folder)
        loaded = self.load({"model": second, "count": Counter(0)})
        self.assertTrue(equal(first.state_dict(), second.state_dict()))
        self.assertEqual((loaded["model"], loaded["count"].n), (second, 3))

    def test_files(self):
        for options, count in (({"single_file_per_rank": False}, 12), ({"thread_count": 3}, 4)):
            with self.subTest(options):
                folder = self.folder / str(count)
                dcp.save(state(2.0), storage_writer=dcp.FileSystemWriter(folder, sync_files=False, **options))
                self.assertEqual(len(os.listdir(folder)), count)
                loaded = state(0.0)
                dcp.load(loaded, storage_reader=dcp.FileSystemReader(folder))
                self.assertTrue(equal(loaded, state(2.0)))

    def test_again_into_the_same_folder(self):
        dcp.save({"w": torch.ones(2)}, checkpoint_id=self.folder)
        with self.assertWarnsRegex(UserWarning, "is overwritten"):
            dcp.save({"w": torch.zeros(2)}, checkpoint_id=self.folder)
        self.assertEqual(self.load({"w": torch.ones(2)})["w"].tolist(), [0, 0])
        with self.assertRaisesRegex(dcp.CheckpointException, "overwrite=False"):
            dcp.save({}, storage_writer=dcp.FileSystemWriter(self.folder, overwrite=False))

    def test_in_the_background_what_was_there_at_the_call_is_saved(self):
        for writer in (None, dcp.FileSystemWriter(self.folder, cache_staged_state_dict=True)):
            held = {"w": torch.ones(2), "l": [torch.ones(1)]}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                future = dcp.async_save(held, checkpoint_id=self.folder, storage_writer=writer)
                held["w"].zero_()
                held["l"][0].zero_()
                self.assertIsInstance(future.result(60), dcp.Metadata)
            self.assertTrue(equal(self.load({"w": torch.zeros(2), "l": [torch.zeros(1)]}), {"w": torch.ones(2), "l": [torch.ones(1)]}))

    def test_planners_of_a_program(self):
        class Rename(dcp.DefaultSavePlanner):
            def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
                super().set_up_planner({f"new.{k}": v for k, v in state_dict.items()}, storage_meta, is_coordinator)

        class Watch(dcp.DefaultLoadPlanner):
            def commit_tensor(self, item, tensor):
                seen.append((item.dest_index.fqn, tensor.tolist()))

        seen = []
        dcp.save({"w": torch.ones(2)}, checkpoint_id=self.folder, planner=Rename())
        self.load({"new.w": torch.zeros(2)}, planner=Watch())
        self.assertEqual(seen, [("new.w", [1, 1])])
        self.assertEqual(self.load({"more": 3}, planner=dcp.DefaultLoadPlanner(allow_partial_load=True)), {"more": 3})
        dcp.save({"a": {"b": torch.ones(1)}}, checkpoint_id=self.folder / "whole", planner=dcp.DefaultSavePlanner(flatten_state_dict=False))
        self.assertEqual(list(dcp.FileSystemReader(self.folder / "whole").read_metadata().state_dict_metadata), ["a"])

    def test_one_file_and_back(self):
        self.folder.mkdir()
        one, two = self.folder / "one.pt", self.folder / "two.pt"
        torch.save(state(3.0), one)
        format_utils.torch_save_to_dcp(one, self.folder / "many")
        format_utils.dcp_to_torch_save(self.folder / "many", two)
        back = torch.load(two)
        back["n"]["c"] = {6: back["n"]["c"]["6"]}  # keys are text in checkpoints
        self.assertEqual(list(map(str, back)), list(map(str, state(3.0))))
        self.assertTrue(equal(back, state(3.0)))
        target = {"w": torch.zeros(4, 3)}
        dcp.load(target, checkpoint_id=one, storage_reader=format_utils.BroadcastingTorchSaveReader(), planner=format_utils.DynamicMetaLoadPlanner())
        self.assertTrue(equal(target["w"], state(3.0)["w"]))


class Mistakes(InAFolder):
    def test_are_named(self):
        dcp.save({"w": torch.ones(3), "n": 3}, checkpoint_id=self.folder)
        for given, kind, said in (
            ({"absent": torch.ones(3)}, RuntimeError, "has no 'absent'"),
            ({"w": torch.ones(4)}, ValueError, r"'w': saved with \(3,\), got a tensor of \(4,\)"),
            ({"w": 3}, ValueError, "'w' is a tensor in the checkpoint, got int"),
        ):
            with self.assertRaisesRegex(dcp.CheckpointException, said) as caught:
                self.load(given)
            self.assertEqual(list(caught.exception.failures), [0])
            self.assertIsInstance(caught.exception.failures[0][0], kind)
        with self.assertRaisesRegex(dcp.CheckpointException, "No such file"):
            dcp.load({}, checkpoint_id=self.folder / "nowhere")
        with self.assertRaisesRegex(dcp.CheckpointException, "two entries of the state are called 'a.b'"):
            dcp.save({"a": {"b": 1}, "a.b": 2}, checkpoint_id=self.folder)
        for call in (dcp.save, dcp.load):
            with self.assertRaisesRegex(RuntimeError, "expected checkpoint_id"):
                call({})

    def test_a_failed_save_leaves_what_was_there(self):
        dcp.save({"w": torch.ones(3)}, checkpoint_id=self.folder)
        with warnings.catch_warnings(), self.assertRaises(dcp.CheckpointException):
            warnings.simplefilter("ignore")
            dcp.save({"a": {"b": 1}, "a.b": 2}, checkpoint_id=self.folder)
        self.assertEqual(self.load({"w": torch.zeros(3)})["w"].tolist(), [1, 1, 1])

    def test_metadata_calls_nothing(self):
        class Hostile:
            def __init__(self, *reduced):
                self.reduced = reduced

            def __reduce__(self):
                return self.reduced

        self.folder.mkdir()
        for reduced in ((os.system, ("true",)), (eval, ("1",)), (getattr, (str, "upper")), (io.open, ("x", "w")), (torch.load, ("x",))):
            (self.folder / ".metadata").write_bytes(pickle.dumps(Hostile(*reduced)))
            with self.assertRaisesRegex(pickle.UnpicklingError, "the metadata names"):
                dcp.FileSystemReader(self.folder).read_metadata()
        dcp.save({"w": torch.ones(1)}, checkpoint_id=self.folder / "good")
        data = (self.folder / "good" / ".metadata").read_bytes()
        (self.folder / "good" / ".metadata").write_bytes(data.replace(b"TORCH_CONTIGUOUS_FORMAT", b"__class_getitem____cls_"))
        with self.assertRaisesRegex(pickle.UnpicklingError, "the metadata asks for '__class_getitem"):
            dcp.FileSystemReader(self.folder / "good").read_metadata()

    def test_pieces_are_within_the_folder(self):
        dcp.save({"w": torch.ones(1)}, checkpoint_id=self.folder)
        (self.folder / "__0_0.distcp").rename(self.folder.parent / "__0_0.distcp")
        data = (self.folder / ".metadata").read_bytes()
        (self.folder / ".metadata").write_bytes(data.replace(b"\x8c\x0c__0_0.distcp", b"\x8c\x0f../__0_0.distcp"))
        with self.assertRaisesRegex((dcp.CheckpointException, pickle.UnpicklingError), "expected a file within|truncated|frame"):
            self.load({"w": torch.zeros(1)})


class States(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        self.model[0].requires_grad_(False)
        self.optimizer = torch.optim.AdamW([p for p in self.model.parameters() if p.requires_grad], lr=0.1)
        self.model(torch.ones(1, 2)).sum().backward()
        self.optimizer.step()

    def test_names_and_options(self):
        everything = ["0.weight", "0.bias", "1.weight", "1.bias"]
        self.assertEqual(list(get_model_state_dict(self.model)), everything)
        self.assertEqual(list(get_model_state_dict(self.model, options=StateDictOptions(ignore_frozen_params=True))), everything[2:])
        self.assertEqual(list(get_model_state_dict(self.model, submodules={self.model[1]})), everything[2:])
        short = get_model_state_dict(self.model, submodules={self.model[1]}, options=StateDictOptions(keep_submodule_prefixes=False))
        self.assertEqual(list(short), ["weight", "bias"])
        state = get_optimizer_state_dict(self.model, self.optimizer)
        self.assertEqual((list(state["state"]), state["param_groups"][0]["params"]), (everything[2:], everything[2:]))
        flat = get_optimizer_state_dict(self.model, self.optimizer, options=StateDictOptions(flatten_optimizer_state_dict=True))
        self.assertEqual((flat["param_groups.1.bias.lr"], flat["state.1.weight.step"].item()), (0.1, 1))

    def test_go_to_other_models_and_optimizers(self):
        for options in (StateDictOptions(), StateDictOptions(flatten_optimizer_state_dict=True)):
            other = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
            other[0].requires_grad_(False)
            again = torch.optim.AdamW([other[1].bias, other[1].weight], lr=0.5)  # in another order
            model_state, optimizer_state = get_state_dict(self.model, self.optimizer, options=options)
            set_state_dict(other, again, model_state_dict=model_state, optim_state_dict=optimizer_state, options=options)
            for model, optimizer in ((self.model, self.optimizer), (other, again)):
                optimizer.zero_grad()
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()
            self.assertTrue(equal(dict(self.model.state_dict()), dict(other.state_dict())))
            self.assertEqual(again.param_groups[0]["lr"], 0.1)

    def test_a_fresh_optimizer_keeps_its_parameters(self):
        fresh, before = torch.optim.Adam(self.model[1].parameters(), lr=0.1), self.model[1].weight.clone()
        self.optimizer.zero_grad()
        state = get_optimizer_state_dict(self.model, fresh)
        self.assertEqual(sorted(state["state"]["1.weight"]), ["exp_avg", "exp_avg_sq", "step"])
        self.assertTrue(torch.equal(self.model[1].weight, before))
        self.assertEqual((fresh.param_groups[0]["lr"], self.model[1].weight.grad), (0.1, None))

    def test_mistakes(self):
        self.assertRaises(RuntimeError, set_model_state_dict, self.model, {"wrong": torch.ones(1)})
        found = set_model_state_dict(self.model, {"1.bias": torch.ones(1), "x": 1}, options=StateDictOptions(strict=False))
        self.assertEqual((len(found.missing_keys), found.unexpected_keys), (3, ["x"]))
        self.assertEqual(set_model_state_dict(self.model, {}).missing_keys, [])
        with self.assertRaisesRegex(ValueError, "needs full_state_dict=True"):
            get_model_state_dict(self.model, options=StateDictOptions(broadcast_from_rank0=True))
        with self.assertRaisesRegex(KeyError, r"shape \(5,\) is none of the model's"):
            get_optimizer_state_dict(self.model, torch.optim.SGD([torch.ones(5, requires_grad=True)]))
        with self.assertRaisesRegex(RuntimeError, "no group of the state has the parameters"):
            set_optimizer_state_dict(self.model, self.optimizer, {"state": {}, "param_groups": []})


class Together(InAFolder):
    def test_ranks_save_and_one_or_many_load(self):
        run_ranks(2, STATE + f"""
import cresset.distributed.checkpoint as dcp
folder = {str(self.folder)!r}
both, own = state(5.0), {{f"rank{{rank}}": torch.full((2,), float(rank))}}
dcp.save({{**both, **own}}, checkpoint_id=folder)
loaded = {{**state(0.0), f"rank{{1 - rank}}": torch.zeros(2)}}
dcp.load(loaded, checkpoint_id=folder)
assert equal(loaded, {{**both, f"rank{{1 - rank}}": torch.full((2,), 1.0 - rank)}}), loaded
try:
    dcp.load({{"w": torch.zeros(4, 3 + rank)}}, checkpoint_id=folder)
except dcp.CheckpointException as error:
    assert list(error.failures) == [1] and isinstance(error.failures[1][0], ValueError), error.failures
else:
    raise AssertionError("rank 1 asked for another shape")
held = torch.ones(3)
future = dcp.async_save({{"w": held}}, checkpoint_id=folder + "2")
held.zero_(); dist.all_reduce(held)
future.result()
dcp.load(held := {{"w": torch.zeros(3)}}, checkpoint_id=folder + "2")
assert held["w"].tolist() == [1, 1, 1]
""")  # fmt: skip
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), [".metadata", "__0_0.distcp", "__1_0.distcp"])
        loaded = {"rank0": torch.ones(2), "rank1": torch.zeros(2)}
        self.assertTrue(equal(self.load(loaded), {"rank0": torch.zeros(2), "rank1": torch.ones(2)}))


@unittest.skipUnless(HAS_TORCH, "PyTorch not installed")
class WithPyTorch(InAFolder):
    def test_folders_are_exchanged(self):
        program = f"import sys, torch, torch.distributed.checkpoint as dcp\n{STATE}"

        def peer(text):
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", f"{program}\n{text}"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])

        peer(f"dcp.save(state(4.0), checkpoint_id={str(self.folder)!r})")
        self.assertTrue(equal(self.load(state(0.0)), state(4.0)))
        dcp.save(state(6.0), checkpoint_id=self.folder / "ours")
        peer(f"loaded = state(0.0); dcp.load(loaded, checkpoint_id={str(self.folder / 'ours')!r}); assert equal(loaded, state(6.0))")


if __name__ == "__main__":
    unittest.main()
