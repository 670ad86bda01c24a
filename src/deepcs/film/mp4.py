"""MP4 files that browsers play."""

from __future__ import annotations

import warnings
from pathlib import Path

import av
import numpy as np
from av.codec import codecs_available
from av.video.reformatter import Colorspace

from deepcs.system.warning import DeepcsWarning

CODEC = "libx264"
OPTIONS = {"crf": "20", "preset": "veryfast"}  # near lossless to the eye; some 60 frames/s a core
FALLBACK, FALLBACK_OPTIONS = "mpeg4", {"qscale": "3"}
BT709 = 1  # FFmpeg's number of the colours of HD television, which browsers expect
LIMITED = 1  # and of its range of brightness


class Mp4:
    """A video being written; a context manager."""

    def __init__(self, path: Path, size: tuple[int, int], fps: int) -> None:
        """`size`: width and height, both even."""
        codec, options = CODEC, OPTIONS
        if CODEC not in codecs_available:
            codec, options = FALLBACK, FALLBACK_OPTIONS
            warnings.warn(
                f"This PyAV lacks {CODEC} (H.264), so the video is written as MPEG-4 Part 2, which "
                "browsers may not play; install PyAV from PyPI: pip install --force-reinstall av.",
                DeepcsWarning,
                stacklevel=3,
            )
        self._file = av.open(str(path), "w", format="mp4", options={"movflags": "faststart"})
        stream = self._file.add_stream(codec, rate=fps, options=options)
        assert isinstance(stream, av.VideoStream)
        self._stream = stream
        context = stream.codec_context
        context.width, context.height = size
        context.pix_fmt = "yuv420p"
        context.colorspace = context.color_primaries = context.color_trc = BT709
        context.color_range = LIMITED

    def add(self, picture: np.ndarray) -> None:
        """One more frame: uint8 (height, width, 3)."""
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
        frame = frame.reformat(format="yuv420p", dst_colorspace=Colorspace.ITU709)
        self._file.mux(self._stream.encode(frame))

    def __enter__(self) -> Mp4:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        try:
            if failed is None:
                self._file.mux(self._stream.encode(None))
        finally:
            self._file.close()
