"""BLAS stands at one thread while anybody is inside, and nothing remains afterwards."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import pytest

from overcast._threads import VARIABLES, Hold, ThreadHold, one_thread


class Library:
    """Stands for a BLAS library, and counts how often its number was set."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.calls = 0

    def get(self) -> int:
        return self.number

    def put(self, number: int) -> None:
        self.number = number
        self.calls += 1


class LibraryPerThread(threading.local):
    """Stands for a BLAS library with one number per calling thread."""

    number = 8

    def get(self) -> int:
        return self.number

    def put(self, number: int) -> None:
        self.number = number


@pytest.fixture
def libraries() -> Iterator[list[Library]]:
    libraries = [Library(8), Library(1), Library(3)]
    yield libraries
    assert [library.number for library in libraries] == [8, 1, 3]


@pytest.fixture
def hold(libraries: list[Library]) -> Hold:
    return Hold([(library.get, library.put) for library in libraries])


@pytest.fixture
def callers() -> Iterator[list[ThreadPoolExecutor]]:
    """Three callers with one thread each."""
    callers = [ThreadPoolExecutor(1) for _ in range(3)]
    yield callers
    for caller in callers:
        caller.shutdown()


def test_a_hold_nests_and_sets_only_what_is_not_one_already(hold: Hold, libraries: list[Library]) -> None:
    with hold:
        with hold:
            assert [library.number for library in libraries] == [1, 1, 1]
        assert [library.number for library in libraries] == [1, 1, 1]
    assert [library.calls for library in libraries] == [2, 0, 2]


def test_an_exception_restores_the_numbers(hold: Hold) -> None:
    with pytest.raises(ZeroDivisionError), hold, hold:
        1 / 0  # noqa: B018


def test_overlapping_callers_restore_the_numbers_in_any_order(
    hold: Hold, libraries: list[Library], callers: list[ThreadPoolExecutor]
) -> None:
    """All orders in which two or three threads enter and leave."""
    events = [(caller, step) for caller in callers for step in (hold.__enter__, hold.__exit__)]
    for order in permutations(events):
        if any(order.index(events[i]) > order.index(events[i + 1]) for i in (0, 2, 4)):
            continue
        inside = 0
        for caller, step in order:
            caller.submit(step).result()
            inside += 1 if step == hold.__enter__ else -1
            assert [library.number for library in libraries] == ([1, 1, 1] if inside else [8, 1, 3])


def test_eight_threads_at_random_leave_the_former_numbers(hold: Hold, libraries: list[Library]) -> None:
    seen: set[int] = set()

    def work() -> None:
        for _ in range(2000):
            with hold:
                seen.update(library.number for library in libraries)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {1}


def test_a_number_that_somebody_else_sets_meanwhile_stays(hold: Hold, libraries: list[Library]) -> None:
    with hold:
        libraries[0].number = 4
    assert libraries[0].number == 4
    libraries[0].number = 8


def test_a_library_with_a_number_per_thread_is_held_in_each_thread() -> None:
    library = LibraryPerThread()
    hold = ThreadHold([(library.get, library.put)])
    numbers: list[int] = []

    def work() -> None:
        with hold, hold:
            numbers.append(library.number)
        numbers.append(library.number)

    with hold:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert library.number == 1
    assert library.number == 8
    assert numbers == [1, 8]


SCRIPT = """
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

from threadpoolctl import ThreadpoolController, threadpool_limits

from overcast._threads import one_thread

held = one_thread()
libraries = ThreadpoolController().select(user_api="blas").lib_controllers


def numbers():
    return [library.num_threads for library in libraries]


default = numbers()
with one_thread():
    inside = numbers()
assert numbers() == default

callers = [ThreadPoolExecutor(1) for _ in range(3)]
with threadpool_limits(3):
    former = numbers()
    for entering in permutations(callers):
        for leaving in permutations(callers):
            for caller in entering:
                caller.submit(held.__enter__).result()
            for caller in leaving:
                inside += numbers()
                caller.submit(held.__exit__, None, None, None).result()
            assert numbers() == former
with threadpool_limits(2):
    assert set(numbers()) == {2}
assert numbers() == default
print(*set(inside))
"""


def _numbers_inside(**variables: str) -> set[int]:
    """Return the numbers that the libraries of this machine report inside; the script checks those after."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES} | variables
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return set(map(int, done.stdout.split()))


def test_the_libraries_of_this_machine_are_held_and_restored() -> None:
    assert _numbers_inside() == {1}


@pytest.mark.parametrize("variable", ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"])
def test_a_number_that_the_user_sets_by_variable_stays(variable: str) -> None:
    """Inside, the libraries keep the 3 threads that the script gives them."""
    assert 3 in _numbers_inside(**{variable: "2"})


FORK = """
import os
import signal

from overcast._threads import one_thread

one_thread()._lock.acquire()  # as another thread may, at the time of the fork
child = os.fork()
if child == 0:
    signal.alarm(30)
    with one_thread():
        os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not copy processes")
def test_a_copy_of_the_process_does_not_wait_for_threads_that_it_has_not() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    subprocess.run([sys.executable, "-c", FORK], env=environment, check=True)


def test_one_thread_is_built_once() -> None:
    assert one_thread() is one_thread()


ROUNDS = """
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_limits

import overcast as oc

libraries = ThreadpoolController().select(user_api="blas").lib_controllers
seen = set()


class Watched(oc.UCB):
    def scores(self, outlook, progress, rng):
        seen.update(library.num_threads for library in libraries)
        return super().scores(outlook, progress, rng)


kernel = oc.kernels.Product(oc.kernels.RBF(0.5), oc.kernels.RBF(1.0))
models = [oc.LinearModel(oc.features.Fourier(kernel, 100)), oc.KernelModel(kernel)]


def live(model):
    bandit = oc.Bandit(np.linspace(0, 1, 30)[:, None], model, Watched(1.0))
    for t in range(30):
        bandit.learn(bandit.decide(oc.Gaussian([t / 30], 0.1)), reward=0.1 * t, context=[t / 30] if t % 2 else None)
    bandit.estimate([0.5])


with threadpool_limits(3):
    former = [library.num_threads for library in libraries]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(live, 2 * models))
        env = oc.environments.CoinFlip()
        pool.submit(oc.simulate, env, oc.LinearModel(env.features), Watched(1.0), steps=20, trials=3).result()
    assert [library.num_threads for library in libraries] == former, "something remains"
print(*seen)
"""


def test_rounds_and_simulations_run_on_one_thread_and_leave_nothing_behind() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run([sys.executable, "-c", ROUNDS], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"]
