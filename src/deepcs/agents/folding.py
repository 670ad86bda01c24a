"""Images cut into blocks of pixels (space to depth), which the first convolution reads in bfloat16.

A convolution of kernel k and stride b is one of kernel k/b and stride 1 over blocks of b × b
pixels: the same products, for which oneDNN is faster in bfloat16. (In float32 it is slower.)
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

WORD = 4  # bytes: a row of a block as wide as that is moved at once


def folded_shape(shape: tuple[int, ...], block: int) -> tuple[int, int, int]:
    """Of an image (channels, height, width): (height/b, width/b, channels·b²)."""
    channels, height, width = shape
    return height // block, width // block, channels * block**2


def fold_into(images: Tensor, block: int, out: Tensor) -> None:
    """Write images (N, channels, height, width) as (N, height/b, width/b, channels·b²).

    A block's numbers are in the order (channel, row, column).
    """
    count, channels, height, width = images.shape
    rows, columns = height // block, width // block
    if images.dtype == out.dtype == torch.uint8 and block == WORD and images.is_contiguous():
        words = images.numpy().view(np.int32).reshape(count, channels, rows, block, columns)
        blocks = out.numpy().view(np.int32).reshape(count, rows, columns, channels, block)
        np.copyto(blocks, words.transpose(0, 2, 4, 1, 3))
        return
    pixels = images.reshape(count, channels, rows, block, columns, block)
    out.view(count, rows, columns, channels, block, block).copy_(pixels.permute(0, 2, 4, 1, 3, 5))


def unfolded(folded: Tensor, block: int) -> Tensor:
    """Of what `fold_into` wrote, the images (N, channels, height, width)."""
    count, rows, columns, numbers = folded.shape
    channels = numbers // block**2
    if folded.dtype == torch.uint8 and block == WORD and folded.is_contiguous():
        blocks = folded.numpy().view(np.int32).reshape(count, rows, columns, channels, block)
        words = np.ascontiguousarray(blocks.transpose(0, 3, 1, 4, 2))
        return torch.from_numpy(words.view(np.uint8)).view(count, channels, rows * block, -1)
    pixels = folded.view(count, rows, columns, channels, block, block).permute(0, 3, 1, 4, 2, 5)
    return pixels.reshape(count, channels, rows * block, columns * block)


def folded_kernels(weight: Tensor, block: int) -> Tensor:
    """A view of kernels (out, k, k, channels) as (out, k/b, k/b, channels, b, b)."""
    out, size, _, channels = weight.shape
    over = size // block
    return weight.view(out, over, block, over, block, channels).permute(0, 1, 3, 5, 2, 4)
