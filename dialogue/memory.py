"""How a process that computes holds its memory."""

import contextlib
import ctypes


def keep_freed_memory() -> None:
    """Let this process keep the memory that it frees for its next arrays (glibc; elsewhere nothing happens).

    Else each large array is fetched from the system anew, page by page: a sixth of the time of an LSTM on CPU, and half
    of that of the careful model.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(-4, 0)  # M_MMAP_MAX: no array in pages of its own
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: give nothing back at the end of the heap
