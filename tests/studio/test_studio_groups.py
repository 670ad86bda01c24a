"""A group of players: what is shown after what, and when its process ends."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from browsing import kill_players, players
from serving import PATIENCE, Address, Page, page, serving
from websockets.exceptions import ConnectionClosed

from deepcs.studio.session import DONE, RESTS

FREEWAY = {"kind": "you", "name": "Freeway"}
SOON = 30.0  # seconds: half of what a game waits for its page


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


def attached(server: Address, group: str) -> str:
    """What the server says to a page that asks for this group: cast or gone."""
    with page(server) as back:
        back.say("attach", group=group)
        return str(back.hear("cast", "gone")["is"])


def test_a_page_that_says_it_will_not_come_back_ends_its_game_at_once(folder: Path) -> None:
    before = players()
    with serving(folder) as studio:
        with page(studio) as left, page(studio) as lost:
            left.open(FREEWAY)
            (ends,) = players() - before
            lost.open(FREEWAY)
            left.socket.close(DONE)
            lost.socket.close(1001)  # as a reload does
        ends.wait(SOON)
        assert attached(studio, left.state["group"]) == "gone"
        assert attached(studio, lost.state["group"]) == "cast"


def test_so_does_one_that_leaves_while_its_players_load(folder: Path) -> None:
    before = players()
    with serving(folder) as studio, page(studio) as opened:
        opened.open(FREEWAY)
        (ends,) = players() - before
        opened.say("open", players=[FREEWAY] * 4, game=0, greedy=False)
        opened.socket.close(DONE)
        ends.wait(SOON)


def says_open(opened: Page) -> None:
    opened.say("open", players=[FREEWAY], game=0, greedy=False)


def plays_soon(opened: Page) -> None:
    """Ask again and again, as long as there are too many games."""
    end = time.monotonic() + PATIENCE
    while True:
        says_open(opened)
        if opened.hear("cast", "refused")["is"] == "cast":
            return
        assert time.monotonic() < end
        time.sleep(0.2)


def test_pages_that_leave_while_their_first_players_load_make_room_for_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepcs.studio.session.MOST_GROUPS", 2)
    before = players()
    with serving(folder) as studio:
        for _ in range(3):
            with page(studio) as gone:
                says_open(gone)
                gone.socket.close(DONE)
        with page(studio) as opened:
            plays_soon(opened)
            end = time.monotonic() + PATIENCE
            while len(players() - before) > 1:
                assert time.monotonic() < end
                time.sleep(0.1)


def test_a_first_player_that_was_killed_makes_room_for_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepcs.studio.session.MOST_GROUPS", 1)
    before = players()
    with serving(folder) as studio, page(studio) as killed, page(studio) as opened:
        says_open(killed)
        while not players() - before:
            time.sleep(0.01)
        for player in players() - before:
            player.kill()
        assert "was killed" in killed.hear("failed")["sentence"]
        plays_soon(opened)


def test_two_that_open_at_once_get_one_place_between_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepcs.studio.session.MOST_GROUPS", 1)
    with serving(folder) as studio:
        with page(studio) as lost:
            lost.open(FREEWAY)
            lost.socket.close(1001)  # its game waits for it, as long as there is room
        with page(studio) as one, page(studio) as other:
            for each in (one, other):
                says_open(each)
            told = [each.hear("cast", "refused")["is"] for each in (one, other)]
            assert sorted(told) == ["cast", "refused"]


def test_a_page_comes_back_before_the_server_has_noticed_that_it_left(server: Address) -> None:
    with page(server) as before:
        before.open(FREEWAY)
        before.say("open", players=[FREEWAY] * 4, game=0, greedy=False)
    with page(server) as after:
        after.say("attach", group=before.state["group"])
        after.hear("state")
        assert after.step()[0]["step"] == 1


def test_a_page_that_stays_hidden_is_closed_and_one_that_is_shown_again_is_not(
    server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepcs.studio.session.HIDDEN_SECONDS", 0.5)
    with page(server) as opened:
        opened.open(FREEWAY)
        opened.say("hide")
        opened.say("show")
        opened.until_silence(1.0)
        opened.say("hide")
        with pytest.raises(ConnectionClosed) as closed:
            opened.receive()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == RESTS
    assert attached(server, opened.state["group"]) == "cast"  # for a minute, as after a reload


def test_hidden_pages_make_room_for_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepcs.studio.session.HIDDEN_SECONDS", 0.2)
    monkeypatch.setattr("deepcs.studio.session.MOST_GROUPS", 1)
    with serving(folder) as alone, page(alone) as hidden, page(alone) as seventh:
        hidden.open(FREEWAY)
        seventh.say("open", players=[FREEWAY], game=0, greedy=False)
        assert "Too many games" in seventh.hear("refused")["sentence"]
        hidden.say("hide")
        with pytest.raises(ConnectionClosed):
            hidden.receive()
        seventh.open(FREEWAY)


def test_a_player_that_was_killed_is_told_with_what_can_be_done(folder: Path) -> None:
    with serving(folder) as studio, page(studio) as opened:
        opened.open(FREEWAY)
        kill_players()
        opened.say("step")
        sentence = opened.hear("failed")["sentence"]
        assert sentence.endswith("was killed by SIGKILL; begin again.")
        with pytest.raises(ConnectionClosed):
            opened.receive()
