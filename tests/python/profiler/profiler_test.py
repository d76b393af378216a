"""torch.profiler and torch.autograd.profiler: events, sums, tables, schedules, files."""

import gzip
import json

import pytest
from cresset.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule

import cresset as torch


def recorded(body, **options):
    with profile(activities=[ProfilerActivity.CPU], **options) as p:
        body()
    return p


def named(p, name):
    return [e for e in p.events() if e.name == name]


def test_operators_and_named_parts_are_events_with_parents():
    def body():
        with record_function("outer"), record_function("inner"):
            torch.ones(1).add(1)

    p = recorded(body)
    tree = {e.name: [c.name for c in e.cpu_children] for e in p.events() if e.is_user_annotation}
    assert tree == {"outer": ["inner"], "inner": ["aten::ones", "aten::add"]}
    assert named(p, "inner")[0].cpu_parent is named(p, "outer")[0]


def test_backward_nodes_carry_the_numbers_of_the_calls_that_made_them():
    x = torch.ones(3, requires_grad=True)
    p = recorded(lambda: (x * 2).sum().backward())
    assert named(p, "aten::mul")[0].sequence_nr == named(p, "autograd::engine::evaluate_function: MulBackward0")[0].sequence_nr


def test_shapes_values_and_types_of_inputs():
    x = torch.ones(2)
    (e,) = named(recorded(lambda: torch.add(x, x, alpha=3), record_shapes=True), "aten::add")
    assert (e.input_shapes, e.concrete_inputs, e.input_dtypes) == ([[2], [2], []], [None, None, 3], ["float", "float", "Scalar"])


def test_numbers_among_the_arguments_of_a_program_that_is_traced():
    traced = torch.fx.experimental.proxy_tensor.make_fx(lambda x: x.add_(1) * 2)
    p = recorded(lambda: traced(torch.ones(2)), record_shapes=True)
    assert named(p, "aten::add_")[0].input_shapes[0] == [2]


def test_memory_of_a_call_counts_what_runs_within_it():
    p = recorded(lambda: torch.ones(1000), profile_memory=True)
    rows = {row.key: (row.cpu_memory_usage, row.self_cpu_memory_usage) for row in p.key_averages()}
    assert rows["aten::ones"][0] == 4000
    assert sum(own for _, own in rows.values()) == 4000


def test_stacks_name_files_lines_and_functions():
    def a_function():
        return torch.ones(2).cos()

    (e,) = named(recorded(a_function, with_stack=True), "aten::cos")
    assert e.stack[0].startswith(__file__)
    assert e.stack[0].endswith("): a_function")


def test_modules_of_calls():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2))
    (e,) = named(recorded(lambda: net(torch.ones(1, 2)), with_modules=True), "aten::linear")
    assert e.module == "Sequential.Linear"


def test_sums_by_name_and_by_shape():
    def body():
        for n in (2, 3, 2):
            torch.ones(n).sin()

    p = recorded(body, record_shapes=True)
    assert {row.key: row.count for row in p.key_averages()}["aten::sin"] == 3
    assert sorted((str(row.input_shapes), row.count) for row in p.key_averages(True) if row.key == "aten::sin") == [("[[2]]", 2), ("[[3]]", 1)]


def test_tables_have_pytorchs_columns_and_sort():
    p = recorded(lambda: [torch.ones(2, 2) @ torch.ones(2, 2) for _ in range(3)], profile_memory=True, with_flops=True)
    lines = p.key_averages().table(sort_by="count", row_limit=2).splitlines()
    assert lines[1].split("  ") != [] and [c.strip() for c in lines[1].split("  ") if c.strip()] == [
        "Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "CPU Mem", "Self CPU Mem", "# of Calls", "Total FLOPs",
    ]  # fmt: skip
    assert len([line for line in lines if "aten::" in line]) == 2
    assert lines[-1].startswith("Self CPU time total: ")
    with pytest.raises(AttributeError):
        p.key_averages().table(sort_by="nothing")


def test_schedules():
    plan = schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)
    assert [plan(i).name for i in range(7)] == ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"]
    with pytest.raises(AssertionError):
        schedule(wait=0, warmup=1, active=0)


def test_traces_become_ready_at_the_end_of_a_cycle():
    seen = []

    def ready(p):
        names = [e.name for e in p.events()]
        seen.append((p.step_num, names.count("aten::sin"), names.count("ProfilerStep*")))

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as p:
        for _ in range(9):
            torch.ones(2).sin()
            p.step()
    assert seen == [(4, 2, 2), (8, 2, 2)]
    assert p.current_action is ProfilerAction.NONE


def test_an_error_inside_ends_the_recording():
    with pytest.raises(KeyError), profile() as p:
        with record_function("failing"):
            raise KeyError("x")
    assert named(p, "failing")
    assert not torch._C._autograd._profiler_enabled()


def test_trace_files(tmp_path):
    p = recorded(lambda: torch.ones(2).sin(), record_shapes=True)
    p.add_metadata("note", "text")
    p.add_metadata_json("table", "[1, 2]")
    p.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    with gzip.open(tmp_path / "trace.json.gz", "rt") as file:
        document = json.load(file)
    assert (document["note"], document["table"]) == ("text", [1, 2])
    assert any(e["name"] == "aten::sin" and e["args"]["Input Dims"] == [[2]] for e in document["traceEvents"])
    with pytest.raises(ValueError):
        p.add_metadata_json("table", "{")
    with pytest.raises(RuntimeError, match="nowhere"):
        p.export_chrome_trace("/nowhere/trace.json")


@pytest.mark.parametrize(
    ("dtype", "name"),
    [("float32", "float"), ("bfloat16", "c10::BFloat16"), ("complex64", "c10::complex<float>"), ("complex128", "c10::complex<double>"), ("int64", "long int")],
)
def test_types_in_trace_files_have_the_names_of_cpp(tmp_path, dtype, name):
    p = recorded(lambda: torch.ones(2, dtype=getattr(torch, dtype)).square(), record_shapes=True)
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert next(e for e in events if e["name"] == "aten::square")["args"]["Input type"][0] == name


def test_tensorboard_reads_the_names_of_the_handler(tmp_path):
    with profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(str(tmp_path), "w0")):
        torch.ones(1)
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("w0.") and file.name.endswith(".pt.trace.json")


def test_memory_over_time_as_json_and_as_one_page(tmp_path):
    net = torch.nn.Linear(4, 4)
    p = recorded(lambda: net(torch.ones(2, 4)).sum().backward(), profile_memory=True)
    p.export_memory_timeline(str(tmp_path / "memory.json"), "cpu")
    times, rows = json.loads((tmp_path / "memory.json").read_text())
    assert len(times) == len(rows) > 0 and {len(row) for row in rows} == {8}
    assert sum(rows[-1]) == sum(m[2] for log in p.profiler._recording.trace.memory() for m in log)
    p.export_memory_timeline(str(tmp_path / "memory.html"), "cpu")
    page = (tmp_path / "memory.html").read_text()
    assert "<svg" in page and "http" not in page
    with pytest.raises(RuntimeError, match="profile_memory"):
        recorded(lambda: None).export_memory_timeline(str(tmp_path / "none.json"))


def test_memory_that_is_held_as_json_and_as_one_page(tmp_path):
    kept = []

    def program():
        with torch.profiler.record_function("a <part>"):
            kept.append(torch.ones(1000))
        torch.zeros(5000) + 1

    p = recorded(program, profile_memory=True, with_stack=True)
    p.export_memory_snapshot(str(tmp_path / "held.json"))
    moments = json.loads((tmp_path / "held.json").read_text())
    (block,) = moments["at the end"]
    assert block["bytes"] == 4000 and block["freed"] is None and block["within"][:2] == ["a <part>", "aten::ones"]
    assert any("program" in line for line in block["stack"])
    assert sorted(b["bytes"] for b in moments["at the largest"]) == [4000, 20000, 20000]
    p.export_memory_snapshot(str(tmp_path / "held.html"))
    page = (tmp_path / "held.html").read_text()
    assert "a &lt;part&gt; › aten::ones" in page and "http" not in page and "<part>" not in page
    with pytest.raises(RuntimeError, match="profile_memory"):
        recorded(lambda: None).export_memory_snapshot(str(tmp_path / "none.json"))


def test_execution_traces(tmp_path):
    path = tmp_path / "trace.json"
    observer = torch.profiler.ExecutionTraceObserver().register_callback(str(path))
    observer.start()
    torch.ones(2, 3).sum()
    observer.stop()
    observer.unregister_callback()
    nodes = json.loads(path.read_text())["nodes"]
    total = min((n for n in nodes if n["name"] == "aten::sum"), key=lambda n: n["id"])
    assert (total["inputs"]["shapes"][0], total["outputs"]["shapes"]) == ([2, 3], [[]])


def test_execution_traces_hold_named_parts_and_backward_nodes(tmp_path):
    path = tmp_path / "trace.json"
    with torch.profiler.profile(execution_trace_observer=torch.profiler.ExecutionTraceObserver().register_callback(str(path))):
        x = torch.ones(3, requires_grad=True)
        with torch.profiler.record_function("part"):
            (x * 2).sum().backward()
    nodes = json.loads(path.read_text())["nodes"]
    named, by_id = {n["name"]: n for n in nodes}, {n["id"]: n for n in nodes}

    def around(name):
        node, names = named[name], []
        while node["id"] != 1:
            node = by_id[node["ctrl_deps"]]
            names.append(node["name"])
        return names

    outer = ["[pytorch|profiler|execution_trace|thread]", "[pytorch|profiler|execution_trace|process]"]
    assert around("part") == outer
    assert around("aten::sum")[-3:] == ["part", *outer]
    assert around("MulBackward0") == ["autograd::engine::evaluate_function: MulBackward0", "part", *outer]


def test_optimizers_and_loaders_name_their_parts():
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=0.1)

    def body():
        for (x,) in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(2, 2)), batch_size=2):
            optimizer.zero_grad()
            (x * w).sum().backward()
            optimizer.step()

    names = {e.name for e in recorded(body).events()}
    assert {"Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"} <= names


def test_steps_of_data_name_their_arguments():
    from cresset.utils.data import IterDataPipe

    class Tripled(IterDataPipe):
        def __init__(self, source, hidden=1):
            self.source, self.state = source, 0

        def __iter__(self):
            for x in self.source:
                yield 3 * x

    def body():
        assert list(Tripled(Tripled([1, 2])).map(abs)) == [9, 18]

    names = [e.name for e in recorded(body).events()]
    assert names.count("Tripled(source=[1, 2])") == 3
    assert names.count("Tripled(source=Tripled)") == 3
    assert names.count("Mapper(datapipe=Tripled, fn=abs, input_col=None, output_col=None)") == 3


def test_the_older_profile():
    from cresset.autograd import profiler

    with profiler.profile(enabled=False) as p:
        assert p is None
    with profiler.profile() as p, profiler.record_function("label"):
        torch.ones(1)
    assert [e.name for e in p.function_events][0] == "label"
    with pytest.raises(RuntimeError, match="not reentrant"), p:
        pass
    with pytest.raises(RuntimeError, match="didn't finish"):
        profiler.profile().table()
    with pytest.raises(RuntimeError, match="NVTX"), profiler.emit_nvtx():
        pass


def test_a_profile_within_a_profile_warns_and_leaves_the_events_to_the_outer_one():
    with profile() as outer:
        with pytest.warns(UserWarning, match="another profile"), profile() as inner:
            torch.ones(1).sin()
    assert named(outer, "aten::sin")
    assert len(inner.events()) == 0


def test_nothing_to_record_is_an_error():
    with pytest.raises(AssertionError, match="activities"):
        profile(activities=[]).start()


def test_why_says_what_a_step_costs():
    x = torch.ones(128, 128)
    answer = torch.profiler.why(lambda: (x @ x).relu())
    assert abs(answer.kernels + answer.python + answer.allocation + answer.waiting - 1) < 1e-6
    assert {name for name, _, _ in answer.operators} >= {"aten::relu"}
    assert "one call takes" in str(answer)


def test_why_samples_the_lines_of_the_program():
    def slow():
        return sum(i * i for i in range(20000))

    answer = torch.profiler.why(slow, calls=3)
    assert 0 < sum(share for _, share in answer.lines) <= 1 + 1e-6
    assert all("profiler_test.py" in line for line, _ in answer.lines)
    assert "% of samples at" in str(answer)


def test_programs_that_do_not_profile_do_not_load_it():
    import subprocess
    import sys

    code = (
        "import cresset as t, sys; t.ones(1); import cresset.optim; print('_cresset_profile' in sys.modules, 'cresset.autograd.profiler_util' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == ["False", "False"]
