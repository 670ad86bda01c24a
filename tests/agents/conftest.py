"""Fixtures of the tests of learners."""

from __future__ import annotations

from collections.abc import Generator

import pytest
import torch


@pytest.fixture
def one_thread() -> Generator[None, None, None]:
    """As in a run; several wait for each other where cores are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
