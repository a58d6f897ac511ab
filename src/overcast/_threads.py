"""Limit BLAS to one thread. Products of this package's size gain nothing from more, and lose much on busy cores."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

#: functions that get and set a library's number of threads
Library = tuple[Callable[[], int], Callable[[int], object]]

# The libraries read these when they load.
NAMES = ("OPENBLAS", "OPENBLAS_DEFAULT", "GOTO", "OMP", "MKL", "BLIS", "FLEXIBLAS")
VARIABLES = tuple(f"{name}_NUM_THREADS" for name in NAMES)
CHOSEN_BY_USER = any(os.environ.get(name) for name in VARIABLES)


class Hold:
    """A context manager that limits libraries to one thread until the last concurrent caller leaves."""

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
                    if get() == 1:  # otherwise another number was set meanwhile, which stays
                        put(number)


class ThreadHold(Hold, threading.local):
    """A `Hold` for the calling thread alone, as MKL, and OpenBLAS on OpenMP, have one number per thread.

    A library with one number per process is restored too, by the caller that changed it.
    """


_hold: AbstractContextManager[None] | None = None
_building = threading.Lock()


def one_thread() -> AbstractContextManager[None]:
    """Return a context manager that limits all BLAS libraries to one thread, and then restores their numbers.

    It does nothing if the user has set one of VARIABLES. It may be nested, and shared by threads. Most libraries have
    one number per process, which stays at one until the last caller of any thread has left.
    """
    global _hold
    if _hold is None:
        with _building:  # of two holds, the first to leave would restore the numbers under the other
            if _hold is None:
                _hold = _build()
    return _hold


def _build() -> AbstractContextManager[None]:
    if CHOSEN_BY_USER:
        return nullcontext()
    # NumPy and SciPy each bring a BLAS, which threadpoolctl finds once it is loaded.
    import scipy.linalg.blas
    import scipy.linalg.lapack  # noqa: F401
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    controllers = ThreadpoolController().select(user_api="blas").lib_controllers
    shared = all(library.internal_api == "openblas" and library.threading_layer != "openmp" for library in controllers)
    if shared:
        return Hold([_openblas(library) for library in controllers])
    return ThreadHold([(library.get_num_threads, library.set_num_threads) for library in controllers])


def _openblas(controller: Any) -> Library:
    """Return OpenBLAS's functions.

    The controller's set_num_threads does nothing in a second thread while the first one that called it lives. PyDLL
    keeps the interpreter lock: to get it back from a busy thread may take milliseconds.
    """
    library = ctypes.PyDLL(controller.filepath, handle=controller.dynlib._handle)
    name = next(name for name in controller.check_symbols if hasattr(library, name))
    return getattr(library, name), getattr(library, name.replace("get_num", "set_num"))


def _forget() -> None:
    """Discard the hold after a fork, as another thread may have held its lock."""
    global _hold, _building
    _hold, _building = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
