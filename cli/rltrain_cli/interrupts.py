"""Ctrl-C and SIGTERM during a run: the first asks it to stop at a step, the second ends it at once. Used by `run`."""

import os
import signal
import sys
import threading
from types import FrameType

_SHOW_CURSOR = "\x1b[?25h"


class Interrupts:
    """Handles both signals from its making on."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self._first: int | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._received)

    @property
    def exit_code(self) -> int:
        """128 plus the number of the signal that came, 0 if none did."""
        return 128 + self._first if self._first else 0

    def _received(self, number: int, _: FrameType | None) -> None:
        # A handler may interrupt a print: nothing here may use a lock, so everything is written to the descriptor.
        if self.stop.is_set():
            if sys.stderr.isatty():
                os.write(2, _SHOW_CURSOR.encode())
            os.write(2, b"\nEnded at once. What was logged is kept; continue from the last checkpoint with --resume.\n")
            # The watcher process ends everything else that the run started.
            os._exit(128 + number)
        self._first = number
        self.stop.set()
        os.write(2, b"\nFinishing this step, then a checkpoint. Once more to end at once.\n")
