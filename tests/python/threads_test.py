"""Many threads of Python's at once, the lock that kernels give away, and Ctrl-C."""

import gc
import io
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import weakref

import cresset as torch
from cresset import nn

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")


def in_threads(count, body):
    """Runs body(number) in `count` threads that start together; raises what one of them raised."""
    gate, errors = threading.Barrier(count), []

    def run(number):
        try:
            gate.wait()
            body(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    if errors:
        raise errors[0]


class Stress(unittest.TestCase):
    def test_training_in_every_thread(self):
        def train(seed, steps=15):
            generator = torch.Generator().manual_seed(seed)
            model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4))
            with torch.no_grad():
                for p in model.parameters():
                    p.copy_(torch.rand(p.shape, generator=generator))
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
            x, target = torch.rand(6, 8, generator=generator), torch.arange(6) % 4
            for _ in range(steps):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x), target)
                loss.backward()
                optimizer.step()
            buffer = io.BytesIO()
            torch.save(model.state_dict(), buffer)
            buffer.seek(0)
            return [v.tolist() for v in torch.load(buffer).values()]

        alone = [train(seed) for seed in range(8)]
        together = [None] * 8

        def run(i):
            together[i] = train(i)

        in_threads(8, run)
        self.assertEqual(together, alone)

    def test_one_tensor_for_all(self):
        shared = torch.arange(64.0).view(8, 8)
        array, total = shared.numpy(), shared.sum().item()
        weak = weakref.ref(shared)

        def run(number):
            for i in range(300):
                assert shared[i % 8].sum().item() == array[i % 8].sum()
                assert shared.t().t() is not shared and (shared + 0).sum().item() == total
                assert shared.shape == (8, 8) and shared.view(-1)[i % 64].item() == i % 64
                assert shared.untyped_storage().data_ptr() == shared.data_ptr() and weak() is shared
                assert repr(shared[0, :2]) == "tensor([0., 1.])"
                note = shared.detach()
                note.number = (number, i)
                assert note.number == (number, i)

        in_threads(8, run)

    def test_one_leaf_for_all(self):
        """Gradients of all threads are summed: none is lost."""
        leaf = torch.zeros(100, requires_grad=True)

        def run(number):
            for _ in range(50):
                (leaf * (number + 1)).sum().backward()

        in_threads(8, run)
        self.assertEqual(leaf.grad.unique().tolist(), [50.0 * 36])

    def test_objects_come_and_go(self):
        """The same tensors are given objects and lose them in all threads at once."""
        out = [torch.ones(4, requires_grad=True).exp() for _ in range(20)]

        def run(number):
            for i in range(300):
                t = out[(i * (number + 1)) % 20]
                (base,) = [n for n, _ in t.grad_fn.next_functions]
                assert base.variable.is_leaf and base.variable is base.variable
                t[1:].add(1)
                if i % 50 == 0:
                    gc.collect()

        in_threads(6, run)

    def test_modes_are_of_the_thread(self):
        def run(number):
            for _ in range(200):
                with torch.set_grad_enabled(number % 2 == 0):
                    assert torch.is_grad_enabled() == (number % 2 == 0)
                    assert torch.ones(1, requires_grad=True).exp().requires_grad == (number % 2 == 0)
                with torch.inference_mode(number % 2 == 1):
                    assert torch.ones(1).is_inference() == (number % 2 == 1)

        in_threads(6, run)

    def test_hooks_and_functions(self):
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                assert ctx.saved_tensors[0].shape == (3,)
                return grad * 2

        def run(number):
            for _ in range(100):
                seen, x = [], torch.ones(3, requires_grad=True)
                x.register_hook(seen.append)
                y = Twice.apply(x * number)
                y.register_hook(lambda g: g + 1)
                y.sum().backward()
                assert x.grad.tolist() == [4.0 * number] * 3 and len(seen) == 1

        in_threads(6, run)

    def test_loaders(self):
        data = torch.utils.data.TensorDataset(torch.arange(40))

        def run(number):
            for workers in (0, 2):
                context = "thread" if workers else None
                loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=workers, multiprocessing_context=context)
                assert torch.cat([batch for (batch,) in loader]).tolist() == list(range(40))

        in_threads(4, run)

    def test_operators_made_known_at_once(self):
        """First calls of an operator, whose plans are made then, in a fresh interpreter."""
        code = textwrap.dedent("""\
            import sys, threading, cresset as torch
            sys.setswitchinterval(1e-6)
            x, gate, failed = torch.rand(4, 4), threading.Barrier(8), []
            names = [n for n in "exp log sin cos tan sort cumsum tril triu abs neg sqrt floor ceil max min std var t flip roll".split()]
            def run():
                gate.wait()
                for name in names:
                    try:
                        getattr(torch, name)(x, *{"cumsum": [0], "flip": [[0]], "roll": [1]}.get(name, []))
                    except Exception as error:
                        failed.append((name, error))
            threads = [threading.Thread(target=run) for _ in range(8)]
            [t.start() for t in threads]
            [t.join() for t in threads]
            print(failed)
        """)
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            self.assertEqual((done.stdout, done.stderr, done.returncode), ("[]\n", "", 0))


class Lock(unittest.TestCase):
    """Other threads go on while a long piece of work runs: many naps of a thousandth end within one call."""

    def naps_during(self, work):
        finished = threading.Event()

        def run():
            work()
            finished.set()

        thread = threading.Thread(target=run)
        thread.start()
        naps = 0
        while not finished.is_set():
            time.sleep(0.001)
            naps += 1
        thread.join()
        return naps

    def free(self, work):
        self.assertGreater(max(self.naps_during(work) for _ in range(3)), 8)

    def test_a_call_that_keeps_the_lock_is_told_apart(self):
        numbers = list(range(2_000_000))
        self.assertLess(min(self.naps_during(lambda: numbers.copy().sort(key=float)) for _ in range(3)), 8)

    def test_a_kernel(self):
        x = torch.ones(1600, 1600, dtype=torch.float64)
        self.free(lambda: x @ x)

    def test_a_pointwise_kernel(self):
        x = torch.full((8_000_000,), 1.5, dtype=torch.float64)
        self.free(lambda: torch.lgamma(x))

    def test_backward(self):
        x = torch.ones(1400, 1400, dtype=torch.float64, requires_grad=True)
        out = (x @ x).sum()
        self.free(lambda: out.backward(retain_graph=True))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "large.pt")
            value = torch.zeros(200_000_000, dtype=torch.uint8)
            self.free(lambda: torch.save(value, path))
            self.free(lambda: torch.load(path))


class Workers(unittest.TestCase):
    def test_tensors_that_end_on_a_worker_while_others_keep_their_objects(self):
        """They ask for the lock only where they keep an object themselves: its holder waits for the worker."""
        code = """\
            import cresset as torch
            torch.set_num_threads(4)
            x = torch.ones(3, requires_grad=True)
            x.grad = torch.ones(3)
            x.grad.mark = x.untyped_storage().mark = 1
            for m in (33, 64, 100):
                a, b = torch.randn(2, m, m // 2), torch.randn(2, m, 2)
                a[:, :, 1] = a[:, :, 0]
                for _ in range(20):
                    torch.linalg.lstsq(a, b, driver="gelsy")
            print(x.grad.mark + x.untyped_storage().mark)
        """
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.stdout, done.returncode), ("2\n", 0), done.stderr)


class Interrupt(unittest.TestCase):
    def interrupted(self, code, seconds=0.5):
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        time.sleep(seconds)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, -signal.SIGINT, err)
        self.assertEqual(err.splitlines().count("KeyboardInterrupt"), 1, err)
        return out

    def test_a_long_loop(self):
        self.interrupted("""\
            import cresset as torch
            x = torch.rand(200, 200, requires_grad=True)
            print("ready", flush=True)
            while True:
                (x @ x).relu().sum().backward()
        """)

    def test_a_loop_over_small_calls(self):
        self.interrupted("""\
            import cresset as torch
            x = torch.ones(1)
            print("ready", flush=True)
            while True:
                x.add_(1)
        """)

    def test_long_backward_with_hooks(self):
        self.interrupted("""\
            import time, cresset as torch
            x = y = torch.ones(1, requires_grad=True)
            for _ in range(5000):
                y = y * 1.0
                y.register_hook(lambda g: time.sleep(0.02))
            print("ready", flush=True)
            y.backward()
        """)

    def test_caught_and_gone_on(self):
        out = self.interrupted("""\
            import os, signal, cresset as torch
            x = torch.ones(10, requires_grad=True)
            print("ready", flush=True)
            try:
                while True:
                    (x * 2).sum().backward()
            except KeyboardInterrupt:
                x.grad = None
                (x * 2).sum().backward()
                print(x.grad.sum().item(), flush=True)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            raise KeyboardInterrupt
        """)
        self.assertEqual(out, "20.0\n")

    def test_worker_threads(self):
        self.interrupted("""\
            import time, cresset as torch
            class Data(torch.utils.data.IterableDataset):
                def __iter__(self):
                    while True:
                        time.sleep(0.01)
                        yield torch.ones(2)
            print("ready", flush=True)
            for batch in torch.utils.data.DataLoader(Data(), num_workers=2, multiprocessing_context="thread"):
                pass
        """)


if __name__ == "__main__":
    unittest.main()
