"""A study on a Ray cluster of two nodes, one of which is lost in the middle."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from ray_cluster import epochs, is_run, node_processes, patiently
from study_process import StudyProcess, run_study
from trainee import assert_same_run

from deepcs.runs.lease import holder
from deepcs.studies.study import load_study

pytestmark = pytest.mark.cluster
cluster_utils = pytest.importorskip("ray.cluster_utils")

STUDY = """
[[experiments]]
worlds = ["KeyHallway"]
treatments = ["deepcs", "plain"]
seeds = 2
steps = "120k"
settings = { log_every = "5k", checkpoint_every = "5k" }

[[experiments]]
worlds = ["Freeway"]
treatments = ["deepcs"]
seeds = 1
steps = 1600
settings = { log_every = 400, checkpoint_every = 400, max_frames = 400 }
"""
LEASE_SECONDS = 5.0


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study on the local engine."""
    folder = tmp_path_factory.mktemp("local")
    (folder / "mine.toml").write_text(STUDY)
    assert run_study(folder / "mine.toml", folder / "out") == 0
    return folder / "out"


@pytest.fixture
def cluster() -> Iterator[cluster_utils.Cluster]:
    """Two nodes on loopback, of one core each."""
    args = {"num_cpus": 1, "include_dashboard": False}
    nodes = patiently(lambda: cluster_utils.Cluster(initialize_head=True, head_node_args=args))
    patiently(lambda: nodes.add_node(num_cpus=1))
    yield nodes
    nodes.shutdown()


@pytest.mark.parametrize("writer", ["dies with its node", "sleeps, then wakes"])
def test_a_lost_node_loses_nothing_and_no_byte_differs_from_the_local_engine(
    writer: str, cluster: cluster_utils.Cluster, local: Path, tmp_path: Path
) -> None:
    file, out = tmp_path / "mine.toml", tmp_path / "out"
    file.write_text(STUDY)
    options = ("--engine", "ray", "--address", cluster.address)
    options += ("--lease-seconds", str(LEASE_SECONDS))
    (node,) = cluster.worker_nodes
    with StudyProcess(file, out, *options) as study:

        def there() -> tuple[str, psutil.Process] | None:
            """A run on that node that has saved something: its name and its process."""
            runs = {each.pid: each for each in node_processes(node) if is_run(each)}
            for path in (out / "runs").glob("*"):
                owner = holder(path)
                if owner is not None and owner.pid in runs and study.saved(path.name):
                    return path.name, runs[owner.pid]
            return None

        study.wait_until(lambda: there() is not None)
        name, run = there() or pytest.fail("it ended at once")
        lost = node_processes(node)
        if writer == "sleeps, then wakes":
            run.send_signal(signal.SIGSTOP)
            lost.remove(run)
        for process in lost:
            process.kill()
        psutil.wait_procs(lost, timeout=20)
        if writer == "sleeps, then wakes":
            study.wait_until(lambda: epochs(out / "runs" / name) == ["2"])
            run.send_signal(signal.SIGCONT)
            psutil.wait_procs([run], timeout=60)
            assert "was taken over by process" in (out / "logs" / f"{name}.log").read_text()
        code, said, complaint = study.finish()
        assert not run.is_running()
    assert code == 0, complaint
    assert "5 of 5 runs done" in said
    assert epochs(out / "runs" / name) == ["2"]
    for each in load_study(file).runs:
        assert_same_run(local / "runs" / each.name, out / "runs" / each.name)
