"""The paper's twelve games as data: where the player stands in RAM, what a room is, tiles.

Addresses are the paper's (0x80 to 0xFF). Every byte was checked on the emulator by replaying
games and by writing to RAM and looking at the screen; where that contradicts the paper's table,
`differences` holds the paper's value and the reason.
"""

from __future__ import annotations

from deepcs.curiosity.game import Difference, Game, Ram, Screen, at, byte
from deepcs.curiosity.tiles import Bounds, Room

AMIDAR_PLAYER = 0xD7  # where the player stands in the table of seven sprites sorted by height
AMIDAR_STATE = 0xD6  # low two bits: lives; next two: level modulo 4


def amidar_place(ram: Ram) -> tuple[int, int]:
    """The player is one of seven sprites kept sorted by height; 0xD7 is its index."""
    player = byte(ram, AMIDAR_PLAYER)
    if player > 6:
        return -1, -1
    return byte(ram, 0xC2 + player), byte(ram, 0xBB + player)


def amidar_level(ram: Ram) -> Room:
    return ((byte(ram, AMIDAR_STATE) >> 2) & 3,)


def amidar_lives(ram: Ram) -> int:
    """Lives left, the current one included: the two bits count those in reserve."""
    return (byte(ram, AMIDAR_STATE) & 3) + 1


def amidar_on_board(x: int, y: int, ram: Ram) -> bool:
    return 6 <= x <= 130 and 7 <= y <= 153


def alien_room(ram: Ram) -> Room:
    """(level, bonus round): 0x80 holds state flags, of which two mark the bonus round."""
    return byte(ram, 0xDC), byte(ram, 0x80) & 0x30


def alien_on_board(x: int, y: int, ram: Ram) -> bool:
    return not byte(ram, 0x80) & 0xC0


def gravitar_room(ram: Ram) -> Room:
    """(mode,) in the solar system, the reactor and the arena; (3, planet) on a planet."""
    mode = byte(ram, 0x81)
    return (mode, byte(ram, 0x82)) if mode == 3 else (mode,)


def gravitar_on_board(x: int, y: int, ram: Ram) -> bool:
    return byte(ram, 0x81) in (2, 3, 4, 5)


def kangaroo_on_board(x: int, y: int, ram: Ram) -> bool:
    return y < 20


def pitfall_on_board(x: int, y: int, ram: Ram) -> bool:
    return 21 <= y <= 86


def seaquest_on_board(x: int, y: int, ram: Ram) -> bool:
    return y >= 13


def wizard_on_board(x: int, y: int, ram: Ram) -> bool:
    return (x, y) != (0, 0)


def _origin(ours: str, reason: str = "smallest coordinate seen in play") -> Difference:
    return Difference("grid origin", "not given", ours, reason)


TWELVE = (
    Game(
        name="Alien",
        x=0xB4,
        y=0xAD,
        bounds=Bounds(0, 19, 120, 73),
        screen=Screen(1, 22.5, -2, 204),
        room=alien_room,
        room_is="(0xDC level, 0x80 & 0x30 bonus round)",
        on_board=alien_on_board,
        off_board_is="at game over (0x80 & 0xC0)",
        start=(60, 67),
        differences=(
            Difference(
                "axes",
                "X 0xAD, Y 0xB4, 73x120",
                "X 0xB4, Y 0xAD, 120x73",
                "0xAD moves the player up, 0xB4 to the right",
            ),
            Difference(
                "level",
                "0x80",
                "0xDC and 0x80 & 0x30",
                "0x80 holds state flags; 0xDC counts levels",
            ),
            _origin("(0, 19)"),
        ),
    ),
    Game(
        name="Amidar",
        x=0xC2,
        y=0xBB,
        bounds=Bounds(6, 7, 125, 147),
        screen=Screen(1, 12, 1, 11),
        room=amidar_level,
        room_is="changes of the level modulo 4 in 0xD6, counted",
        on_board=amidar_on_board,
        off_board_is="for one sample at reset and at game over",
        place=amidar_place,
        room_wraps=True,
        lives=amidar_lives,
        start=(130, 82),
        differences=(
            Difference(
                "level",
                "0xB6 oscillates",
                "(0xD6 >> 2) & 3, changes counted",
                "0xB6 is the maze's colour and also changes at game over",
            ),
            Difference(
                "lives",
                "not given",
                "(0xD6 & 3) + 1",
                "the emulator's count includes the level, and drops when level 2 is finished",
            ),
            _origin("(6, 7)"),
        ),
    ),
    Game(
        name="Freeway",
        x=None,
        y=0x8E,
        bounds=Bounds(0, 6, 1, 172),
        screen=Screen(8, 48, -1, 197),
        room=at(0xE7),
        room_is="0xE7 score: each crossing is a fresh grid",
        tile=20,
        start=(0, 6),
        flickers=False,
        differences=(_origin("(0, 6)"),),
    ),
    Game(
        name="Gravitar",
        x=0x9F,
        y=0xA0,
        bounds=Bounds(0, 1, 155, 157),
        screen=Screen(1, 5, 1, 31),
        room=gravitar_room,
        room_is="(0x81 mode,), on a planet (3, 0x82 planet)",
        tile=32,
        on_board=gravitar_on_board,
        off_board_is="in transitions (mode 1)",
        start=(70, 97),
        differences=(
            Difference(
                "room",
                "0x81 and 0x82",
                "0x82 on planets only",
                "elsewhere 0x82 holds flags that flicker",
            ),
            _origin(
                "(0, 1)", "what was seen in play, (2, 4) to (153, 157), inside the paper's size"
            ),
        ),
    ),
    Game(
        name="Kangaroo",
        x=0x91,
        y=0x90,
        bounds=Bounds(1, 0, 121, 23),
        screen=Screen(1, 19, 8, 16),
        room=at(0xA4),
        room_is="changes of the stage in 0xA4, counted",
        tile=3,
        on_board=kangaroo_on_board,
        off_board_is="falling after a death (y of 20 and more)",
        room_wraps=True,
        start=(8, 18),
        differences=(
            Difference("stage", "0xA4", "0xA4, changes counted", "the byte knows three layouts"),
            _origin("(1, 0)"),
        ),
    ),
    Game(
        name="MontezumaRevenge",
        x=0xAA,
        y=0xAB,
        bounds=Bounds(0, 134, 153, 122),
        screen=Screen(1, 3, -1, 318),
        room=at(0x83),
        room_is="0x83 room number, 1 at the start, in every level (the level's byte is unverified)",
        weight=0.25,
        start=(77, 235),
        differences=(
            _origin(
                "(0, 134)", "what was seen in play, (1, 134) to (152, 254), inside the paper's size"
            ),
        ),
    ),
    Game(
        name="Pitfall",
        x=0xE1,
        y=0xE9,
        bounds=Bounds(8, 21, 141, 66),
        screen=Screen(1, 5, 1, 82),
        room=at(0x81),
        room_is="0x81 scene, 196 at the start",
        on_board=pitfall_on_board,
        off_board_is="falling in after a death (y outside 21..86)",
        start=(16, 32),
        flickers=False,
        differences=(
            Difference("scene", "0xE1 and 0xE9", "0x81", "0xE1 and 0xE9 are the position"),
            Difference(
                "grid size",
                "141x224",
                "141x66",
                "play stays in y 21..86; 224 is the respawn's fall",
            ),
            _origin("(8, 21)"),
        ),
    ),
    Game(
        name="PrivateEye",
        x=0xBF,
        y=0xE1,
        bounds=Bounds(18, 0, 128, 100),
        screen=Screen(1, 4, -1, 162),
        room=at(0xDC),
        room_is="0xDC room, 0 to 31",
        start=(30, 0),
        flickers=False,
        differences=(
            Difference(
                "room", "0xBE", "0xDC", "0xBE is the type of scenery: 19 values for 29 rooms"
            ),
            _origin("(18, 0)"),
        ),
    ),
    Game(
        name="Seaquest",
        x=0xC6,
        y=0xE1,
        bounds=Bounds(21, 13, 114, 96),
        screen=Screen(1, 8, 1, 38),
        on_board=seaquest_on_board,
        off_board_is="at game over (y of 0)",
        start=(76, 13),
        flickers=False,
        differences=(_origin("(21, 13)"),),
    ),
    Game(
        name="Tutankham",
        x=0x87,
        y=0xC1,
        bounds=Bounds(4, 0, 145, 256),
        screen=Screen(1, 5, 4, 99),
        room=at(0xBB),
        room_is="0xBB level, 0 at the start",
        tile=20,
        window=(-15, 19),
        start=(132, 0),
        differences=(
            Difference(
                "level", "0xFB becomes 35", "0xBB", "0xFB is a stack byte that takes 13 values"
            ),
            Difference(
                "visible slice", "27 units", "35 units", "the screen shows units y-15 to y+19"
            ),
            _origin("(4, 0)"),
        ),
    ),
    Game(
        name="Venture",
        x=0xD5,
        y=0x9A,
        bounds=Bounds(1, 0, 160, 79),
        screen=Screen(1, 2, 2, 26),
        room=at(0xDA),
        room_is="0xDA room, 8 is the map",
        room_leads=True,
        start=(68, 76),
        differences=(
            Difference(
                "room",
                "0xBE",
                "0xDA",
                "0xBE is the offset of the room's data; one to one in level 1",
            ),
            _origin("(1, 0)"),
        ),
    ),
    Game(
        name="WizardOfWor",
        x=0xB7,
        y=0xAF,
        bounds=Bounds(19, 18, 121, 101),
        screen=Screen(1, 1, -1, 150),
        room=at(0x84),
        room_is="0x84 dungeon, 0 at the start",
        on_board=wizard_on_board,
        off_board_is="while no player is in the maze (0, 0)",
        room_leads=True,
        start=(139, 18),
        differences=(_origin("(19, 18)"),),
    ),
)
