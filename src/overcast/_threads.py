"""Hold BLAS at one thread. Products of this package's size gain nothing from more, and on busy cores lose much."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

#: functions that get and set the number of threads of one library
Library = tuple[Callable[[], int], Callable[[int], object]]

# The libraries read these when they load, so their values at import are the ones that count.
NAMES = ("OPENBLAS", "OPENBLAS_DEFAULT", "GOTO", "OMP", "MKL", "BLIS", "FLEXIBLAS")
VARIABLES = tuple(f"{name}_NUM_THREADS" for name in NAMES)
CHOSEN_BY_USER = any(os.environ.get(name) for name in VARIABLES)


class Hold:
    """Hold libraries at one thread from when the first caller enters until the last caller leaves."""

    def __init__(self, libraries: Sequence[Library]) -> None:
        self._libraries = libraries
        self._lock = threading.Lock()
        self._callers = 0
        self._former: list[tuple[Library, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._callers == 0:
                self._former = [(library, number) for library in self._libraries if (number := library[0]()) != 1]
                for (_, put), _ in self._former:
                    put(1)
            self._callers += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._callers -= 1
            if self._callers == 0:
                for (get, put), number in self._former:
                    if get() == 1:  # otherwise somebody else has set another number meanwhile, which stays
                        put(number)


class ThreadHold(Hold, threading.local):
    """Hold libraries for the calling thread alone. MKL, and OpenBLAS on OpenMP, keep one number per calling thread.

    A library with one number per process ends with its former number too: the caller that changed it restores it.
    """


_hold: AbstractContextManager[None] | None = None
_building = threading.Lock()


def one_thread() -> AbstractContextManager[None]:
    """Return a context manager that holds all BLAS libraries at one thread, and then restores their former numbers.

    It does nothing if the user has set one of VARIABLES. It may be nested, and shared by threads. The numbers of most
    libraries belong to the process: they stay at one until the last caller of any thread has left.
    """
    global _hold
    if _hold is None:
        with _building:  # with two holds, the one that leaves first would restore the numbers under the other
            if _hold is None:
                _hold = _build()
    return _hold


def _build() -> AbstractContextManager[None]:
    if CHOSEN_BY_USER:
        return nullcontext()
    # NumPy and SciPy each bring a BLAS. The search below finds a library only once it is loaded.
    import scipy.linalg.blas
    import scipy.linalg.lapack  # noqa: F401
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    shared = all(library.internal_api == "openblas" and library.threading_layer != "openmp" for library in found)
    if shared:
        return Hold([_openblas(library) for library in found])
    return ThreadHold([(library.get_num_threads, library.set_num_threads) for library in found])


def _openblas(controller: Any) -> Library:
    """Return OpenBLAS's own functions.

    The controller's set_num_threads does nothing in a second thread while the first one that called it lives. PyDLL
    keeps the interpreter lock: to get it back from a busy thread may take milliseconds.
    """
    library = ctypes.PyDLL(controller.filepath, handle=controller.dynlib._handle)
    name = next(name for name in controller.check_symbols if hasattr(library, name))
    return getattr(library, name), getattr(library, name.replace("get_num", "set_num"))


def _forget() -> None:
    """Build a new hold when it is needed: another thread may have held a lock while the process forked."""
    global _hold, _building
    _hold, _building = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
