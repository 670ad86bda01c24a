"""From the emulator's screens to the 84x84 grey frame, processing only the rows that changed.

A frame is made of the last two screens of a step. Most of a screen does not change in a step: above
the first changed row and below the last, the frame is kept; the rows between are converted to grey,
maximised and shrunk, with bit-identical results to whole screens.
"""

from __future__ import annotations

import threading

import cv2
import numpy as np

HEIGHT, WIDTH = 210, 160  # the emulator's screen
PAIR = (2, HEIGHT, WIDTH)  # the screens that a frame is made of, uint8, in colours
SIZE = 84  # pixels across and down of a frame
STACK = 4  # frames that the network sees
BAND, SHRUNK = 5, 2  # 5 rows of the screen make 2 of the frame, and no other row has a part in them
BAND_WORDS = BAND * WIDTH // 8  # of 8 pixels, which are compared at once
NOTHING = 1  # no colour is odd, so that every row differs from a screen of these

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


class Scratch(threading.local):
    """Room for the last two screens: one for all actors of a thread, so that it stays in cache."""

    def __init__(self) -> None:
        self.pair = np.zeros(PAIR, np.uint8)


SCRATCH = Scratch()


def shrink(pair: np.ndarray, shown: np.ndarray, frame: np.ndarray) -> None:
    """Update a frame from the screens that it shows to a new pair, the lighter of each pixel.

    | argument | shape         | meaning                                           |
    | -------- | ------------- | ------------------------------------------------- |
    | `pair`   | (2, 210, 160) | the new screens                                   |
    | `shown`  | (2, 210, 160) | those that the frame was made of; then as `pair`  |
    | `frame`  | (84, 84)      | changed in place                                  |
    """
    differs = pair.view(np.uint64) != shown.view(np.uint64)
    words = (differs[0] | differs[1]).tobytes()
    word = words.find(1)
    if word < 0:
        return
    first, end = word // BAND_WORDS, words.rfind(1) // BAND_WORDS + 1
    rows = slice(BAND * first, BAND * end)
    both = pair[:, rows]
    shown[:, rows] = both
    grey = cv2.max(cv2.LUT(both[0], GREY), cv2.LUT(both[1], GREY))
    part = frame[SHRUNK * first : SHRUNK * end]
    cv2.resize(grey, (SIZE, len(part)), dst=part, interpolation=cv2.INTER_AREA)


def push_frame(observation: np.ndarray, pair: np.ndarray, shown: np.ndarray) -> None:
    """Push the frame of a pair of screens into the stack, whose newest is that of `shown`."""
    for older in range(STACK - 1):  # one by one: an overlapping copy would use a buffer
        observation[older] = observation[older + 1]
    shrink(pair, shown, observation[STACK - 1])
