"""The 24 rooms of a level of MontezumaRevenge: a pyramid of four rows, numbered from the top."""

from __future__ import annotations

_ROWS = (range(3), range(3, 8), range(8, 15), range(15, 24))
ROWS = len(_ROWS)
COLUMNS = max(map(len, _ROWS))

PLACES: dict[int, tuple[int, int]] = {
    room: (row, (COLUMNS - len(rooms)) // 2 + place)
    for row, rooms in enumerate(_ROWS)
    for place, room in enumerate(rooms)
}
"""room number -> (row, column) on the map; each row is centred under the one above"""
