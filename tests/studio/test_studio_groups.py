"""A group of players: what is shown after what, and when its process ends."""

from __future__ import annotations

from serving import Address, page

FREEWAY = {"kind": "you", "name": "Freeway"}


def test_a_step_while_playing_slowly_is_the_last_that_is_shown(server: Address) -> None:
    with page(server) as opened:
        opened.open(FREEWAY)
        opened.say("speed", times=0.25)
        for _ in range(3):
            opened.say("play")
            opened.numbers()
            while opened.receive() is not None or opened.frames[-1].players:
                pass  # until a first picture of a step, whose numbers come with its last
            opened.frames.clear()
            opened.say("step")
            opened.until_silence(0.6)
            shown = [frame.players[0]["step"] for frame in opened.frames if frame.players]
            assert shown == sorted(shown)
            assert opened.frames[-1].players
            assert not opened.state["playing"]


def test_players_that_come_in_while_others_play_begin_at_the_beginning(server: Address) -> None:
    with page(server) as opened:
        opened.open(FREEWAY)
        opened.say("speed", times=0.25)
        for game in range(3):
            opened.say("play")
            opened.numbers()
            opened.open(FREEWAY, game=game)
            opened.until_silence(0.6)
            assert opened.frames[-1].players[0]["step"] == 0
