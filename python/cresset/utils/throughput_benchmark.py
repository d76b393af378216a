"""How many calls a second a module serves from several threads."""

import threading
import time

__all__ = ["ExecutionStats", "ThroughputBenchmark", "format_time"]


def format_time(time_us=None, time_ms=None, time_s=None):
    """A time with a fitting unit. AssertionError unless one is given.

    >>> torch.utils.throughput_benchmark.format_time(time_ms=2)
    '2.000ms'
    """
    given = [t for t in (time_us, time_ms, time_s) if t is not None]
    if len(given) != 1:
        raise AssertionError(f"format_time: expected one time, got {len(given)}")
    us = time_us if time_us is not None else time_ms * 1e3 if time_ms is not None else time_s * 1e6
    return f"{us / 1e6:.3f}s" if us >= 1e6 else f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class ExecutionStats:
    """Result of a `ThroughputBenchmark`.

    >>> torch.utils.throughput_benchmark.ExecutionStats(0.5, 100, 2).iters_per_second
    200.0
    """

    def __init__(self, seconds, calls, threads):
        self._seconds, self._calls, self._threads = seconds, calls, threads

    @property
    def latency_avg_ms(self):
        """The average time of a call, in milliseconds."""
        return 1000 * self._seconds * self._threads / self._calls

    @property
    def num_iters(self):
        """How many calls there were."""
        return self._calls

    @property
    def iters_per_second(self):
        """Calls a second, of all threads together."""
        return self._calls / self._seconds

    @property
    def total_time_seconds(self):
        """How long it took."""
        return self._seconds

    def __repr__(self):
        return "\n".join([
            f"Average latency per example: {format_time(time_ms=self.latency_avg_ms)}", f"Total number of iterations: {self.num_iters}",
            f"Iterations per second, of all threads: {self.iters_per_second:.2f}",
            f"Total time: {format_time(time_s=self.total_time_seconds)}",
        ])  # fmt: skip


class ThroughputBenchmark:
    """Calls a module from several threads with inputs that were added before, and counts.

    >>> bench = torch.utils.ThroughputBenchmark(torch.nn.Linear(2, 2))
    >>> bench.add_input(torch.ones(1, 2))
    >>> bench.benchmark(num_calling_threads=2, num_warmup_iters=1, num_iters=10).num_iters
    10
    """

    def __init__(self, module):
        self._module, self._inputs = module, []

    def run_once(self, *args, **kwargs):
        """Calls the module."""
        return self._module(*args, **kwargs)

    def add_input(self, *args, **kwargs):
        """Adds arguments of a call."""
        self._inputs.append((args, kwargs))

    def benchmark(self, num_calling_threads=1, num_warmup_iters=10, num_iters=100, profiler_output_path=""):
        """`num_iters` calls by `num_calling_threads` threads, after `num_warmup_iters` of each that are not counted. Returns `ExecutionStats`.

        Errors: RuntimeError without inputs; ValueError for a path of profiles, which are not written.
        """
        if not self._inputs:
            raise RuntimeError("ThroughputBenchmark: there are no inputs; add_input adds one")
        if profiler_output_path:
            raise ValueError("ThroughputBenchmark: profiles are not written")
        taken, lock, errors = [0], threading.Lock(), []
        start = threading.Barrier(num_calling_threads + 1)

        def call(number):
            args, kwargs = self._inputs[number % len(self._inputs)]
            self._module(*args, **kwargs)

        def work():
            try:
                for i in range(num_warmup_iters):
                    call(i)
            except Exception as error:  # noqa: BLE001  raised by the caller
                errors.append(error)
            start.wait()
            try:
                while not errors:
                    with lock:
                        number = taken[0]
                        taken[0] += 1
                    if number >= num_iters:
                        return
                    call(number)
            except Exception as error:  # noqa: BLE001
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(num_calling_threads)]
        for thread in threads:
            thread.start()
        start.wait()
        begun = time.perf_counter()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return ExecutionStats(max(time.perf_counter() - begun, 1e-9), num_iters, num_calling_threads)
