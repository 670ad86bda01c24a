"""A study on a Ray cluster: its driver told to stop, and killed; clusters that cannot take it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from ray_cluster import epochs, is_run, node_processes, patiently
from study_process import StudyProcess, run_study
from trainee import assert_same_run

import deepcs
from deepcs.studies.status import last_row

pytestmark = pytest.mark.cluster
cluster_utils = pytest.importorskip("ray.cluster_utils")

STUDY = """
[[experiments]]
worlds = ["KeyHallway"]
treatments = ["deepcs", "plain"]
seeds = 1
steps = "400k"
settings = { log_every = 1000, checkpoint_every = "10k" }
"""
NAMES = ("KeyHallway-deepcs-paper-seed0", "KeyHallway-plain-paper-seed0")
SHORT = STUDY.replace('"400k"', "2000").replace('"10k"', "1000").replace('"deepcs", ', "")
TOKEN = "0123456789abcdef" * 4


def start(nodes: int, **options: object) -> cluster_utils.Cluster:
    """A cluster on loopback, with nodes of two cores."""
    args = {"num_cpus": 2, "include_dashboard": False, **options}
    cluster = patiently(lambda: cluster_utils.Cluster(initialize_head=True, head_node_args=args))
    for _ in range(nodes - 1):
        patiently(lambda: cluster.add_node(num_cpus=2))
    return cluster


@pytest.fixture
def one_node() -> Iterator[cluster_utils.Cluster]:
    cluster = start(1)
    yield cluster
    cluster.shutdown()


def write_study(folder: Path, text: str) -> Path:
    file = folder / "mine.toml"
    file.write_text(text)
    return file


def on_ray(address: str, *more: str) -> tuple[str, ...]:
    return ("--engine", "ray", "--address", address, "--lease-seconds", "5", *more)


def refusal(file: Path, out: Path, *options: str) -> str:
    """What a study that is refused says in the end; it must be a sentence, and exit code 2."""
    with StudyProcess(file, out, *options) as study:
        code, _, complaint = study.finish()
    assert code == 2, complaint
    assert "Traceback" not in complaint
    return complaint.strip().splitlines()[-1]


def test_a_lost_node_and_a_stopped_and_a_killed_driver_lose_nothing(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    file, out = write_study(tmp_path, STUDY), tmp_path / "out"
    assert run_study(file, whole) == 0
    runs = [out / "runs" / name for name in NAMES]
    cluster = start(2)
    try:
        options = on_ray(cluster.address)
        with StudyProcess(file, out, *options) as study:
            study.wait_until(lambda: all(study.saved(name) for name in NAMES))
            (node,) = cluster.worker_nodes
            lost = node_processes(node)
            assert any(map(is_run, lost))
            for process in lost:
                process.kill()
            psutil.wait_procs(lost, timeout=20)
            # What that node ran goes on at the other.
            tried = [last_row(run).step for run in runs]
            study.wait_until(lambda: ["2"] in map(epochs, runs))
            study.wait_until(lambda: all(map(goes_on, runs, tried)))

            logged = [last_row(run).step for run in runs]
            study.popen.send_signal(signal.SIGTERM)
            code, said, complaint = study.finish()
        assert code == 128 + signal.SIGTERM, complaint
        assert f"Go on with: deepcs study run {file} --out {out} --engine ray" in said
        assert all(newest(study, name) >= step for name, step in zip(NAMES, logged, strict=True))

        begun = [last_row(run).step for run in runs]
        with StudyProcess(file, out, *options) as study:
            study.wait_until(lambda: all(map(goes_on, runs, begun)))
            logged = [last_row(run).step for run in runs]
            processes = [each for each in node_processes(cluster.head_node) if is_run(each)]
            study.popen.kill()
            _, alive = psutil.wait_procs(processes, timeout=60)
            assert not alive
            assert all(newest(study, n) >= step for n, step in zip(NAMES, logged, strict=True))
            assert all(newest(study, name) < 400_000 for name in NAMES)

        with StudyProcess(file, out, *options) as study:
            code, said, complaint = study.finish()
        assert code == 0, complaint
    finally:
        cluster.shutdown()
    for name in NAMES:
        assert_same_run(whole / "runs" / name, out / "runs" / name)


def goes_on(run: Path, step: int) -> bool:
    return last_row(run).step > step


def newest(study: StudyProcess, run: str) -> int:
    return study.saved(run)[-1]


def test_what_no_node_has_is_refused_at_once(
    one_node: cluster_utils.Cluster, tmp_path: Path
) -> None:
    file, out = write_study(tmp_path, SHORT), tmp_path / "out"
    assert refusal(file, out, *on_ray(one_node.address, "--cpus-per-run", "8")) == (
        "deepcs: Got --cpus-per-run 8, for which no node of the cluster has room (there are: 2 "
        "CPUs, 0 GPUs); give less, or add such a node first."
    )
    gpu = refusal(file, out, *on_ray(one_node.address, "--gpus-per-run", "0.5"))
    assert "--cpus-per-run 1 and --gpus-per-run 0.5, for which no node" in gpu


def test_a_study_whose_last_node_with_room_has_left_says_so(tmp_path: Path) -> None:
    file, out = write_study(tmp_path, STUDY.replace('"deepcs", ', "")), tmp_path / "out"
    cluster = start(2, num_cpus=1)
    try:
        options = on_ray(cluster.address, "--cpus-per-run", "2")
        with StudyProcess(file, out, *options) as study:
            study.wait_until(lambda: bool(study.saved(NAMES[1])))
            (node,) = cluster.worker_nodes
            lost = node_processes(node)
            for process in lost:
                process.kill()
            psutil.wait_procs(lost, timeout=20)
            assert study.popen.stderr is not None
            while "Runs wait" not in (line := study.popen.stderr.readline()):
                assert study.popen.poll() is None
            study.popen.send_signal(signal.SIGINT)
            code, _, _ = study.finish()
    finally:
        cluster.shutdown()
    assert code == 128 + signal.SIGINT
    assert line == (
        "deepcs: Runs wait with --cpus-per-run 2, for which no node of the cluster has room (there "
        "are: 1 CPUs, 0 GPUs); add such a node, or stop and give less.\n"
    )


def test_another_deepcs_on_a_node_and_another_ray_are_named(
    one_node: cluster_utils.Cluster, tmp_path: Path
) -> None:
    from ray._raylet import GcsClient

    file, out = write_study(tmp_path, SHORT), tmp_path / "out"
    other = tmp_path / "other"
    shutil.copytree(Path(deepcs.__file__).parent, other / "deepcs")
    (other / "deepcs" / "_version.py").write_text('__version__ = "9.9.9"\n')
    patiently(lambda: one_node.add_node(num_cpus=2, env_vars={"PYTHONPATH": str(other)}))
    assert " has another deepcs (9.9.9, sources " in refusal(file, out, *on_ray(one_node.address))

    where = {"namespace": b"cluster"}
    client = GcsClient(address=one_node.address)
    known = json.loads(client.internal_kv_get(b"CLUSTER_METADATA", **where))
    changed = json.dumps({**known, "ray_version": "2.0.0"}).encode()
    client.internal_kv_put(b"CLUSTER_METADATA", changed, True, **where)
    sentence = refusal(file, out, *on_ray(one_node.address))
    assert "has another Ray or Python (Version mismatch: The cluster was" in sentence
    assert "Ray: 2.0.0" in sentence


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def ray_start(**environment: str) -> Iterator[str]:
    """What the documents tell to do: `ray start --head`; the cluster's address."""
    head, port = patiently(lambda: _head({**os.environ, **environment}))
    try:
        yield f"127.0.0.1:{port}"
    finally:
        children = psutil.Process(head.pid).children(recursive=True)
        head.terminate()
        head.communicate()
        for child in psutil.wait_procs(children, timeout=20)[1]:
            child.kill()


def _head(environment: dict[str, str]) -> tuple[subprocess.Popen[str], int]:
    """A head that has started, and its port."""
    port = free_port()
    command = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block"]
    command += [f"--port={port}", "--num-cpus=2", "--include-dashboard=false"]
    command += ["--node-ip-address=127.0.0.1", "--disable-usage-stats"]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    head = subprocess.Popen(command, env=environment, **output)
    said = ""
    while "Ray runtime started" not in said:
        line = head.stdout.readline()
        if not line:
            head.wait()
            raise RuntimeError(said)
        said += line
    return head, port


def test_a_cluster_that_demands_a_token_takes_those_who_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = write_study(tmp_path, SHORT), tmp_path / "out"
    with ray_start(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=TOKEN) as address:
        monkeypatch.setenv("HOME", str(tmp_path))  # where there is no token
        sentence = refusal(file, out, *on_ray(address))
        assert f"The Ray cluster at {address} wants its token: ray get-auth-token" in sentence
        monkeypatch.setenv("RAY_AUTH_MODE", "token")
        assert "wants its token" in refusal(file, out, *on_ray(address))
        monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)
        with StudyProcess(file, out, *on_ray(address)) as study:
            code, said, complaint = study.finish()
        assert code == 0, complaint
        assert "1 of 1 runs done" in said
