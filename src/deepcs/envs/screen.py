"""From the emulator's screen to the 84x84 grey frame, working out only the rows that changed.

Most of a screen stays as it was from one step to the next. Above the first row that changed and
below the last, the frame is already there; the rows between are looked up, maximised and shrunk,
with the same result to the bit as for the whole screen at once.
"""

from __future__ import annotations

import cv2
import numpy as np

HEIGHT, WIDTH = 210, 160  # the emulator's screen
SIZE = 84  # pixels across and down of a frame
BAND, SHRUNK = 5, 2  # 5 rows of the screen make 2 of the frame, and no other row has a part in them
BAND_WORDS = BAND * WIDTH // 8  # of 8 pixels, which are compared at once

# The grey of each of the console's 128 colours (16 hues of 8 shades, NTSC), as the emulator's own
# grey screen has it. A colour's number is even: the lowest bit is not connected.
GREYS = bytes.fromhex(
    "004a6f8eaac0d6ec 405f7a94acc1d6e9 3f576e8396a7b8c7 3b556b8194a7b7c7"
    "2c445a6e8092a1b0 334a5f738495a4b2 273f556b7d8f9fae 16314960748899a9"
    "1129405568798999 203c556d8296a8ba 28455f788da2b6c8 2b4a657f97adc1d4"
    "2847627c93a9bdcf 294a68849db5cbdf 2f4f6b859db3c8dc 2f4f6b859db3c8dc"
)
GREY = np.frombuffer(GREYS, np.uint8).repeat(2)

cv2.setNumThreads(0)  # actors run one per core already


class Shrinker:
    """Keeps one 84x84 frame up to date with the screens it is made of."""

    def __init__(self) -> None:
        self._shown = np.zeros((2, HEIGHT, WIDTH), np.uint8)  # what the frame was made of
        self.forget()

    def forget(self) -> None:
        """Make the next frame whole."""
        self._shown[:] = 1  # no colour is odd, so every row will differ

    def shrink(self, screens: np.ndarray, frame: np.ndarray) -> None:
        """Make the frame from the lighter of two screens, given the frame made last.

        screens: colours, uint8 (2, 210, 160). frame: uint8 (84, 84), changed in place.
        """
        differs = screens.view(np.uint64) != self._shown.view(np.uint64)
        words = (differs[0] | differs[1]).tobytes()
        word = words.find(1)
        if word < 0:
            return
        first, end = word // BAND_WORDS, words.rfind(1) // BAND_WORDS + 1
        rows = slice(BAND * first, BAND * end)
        both = screens[:, rows]
        self._shown[:, rows] = both
        grey = cv2.max(cv2.LUT(both[0], GREY), cv2.LUT(both[1], GREY))
        part = frame[SHRUNK * first : SHRUNK * end]
        cv2.resize(grey, (SIZE, len(part)), dst=part, interpolation=cv2.INTER_AREA)
