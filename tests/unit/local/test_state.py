import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from api.errors import LocalFleetError, LockHeld
from local import processes, state
from local.state import ClusterState, Part


def a_state(folder: Path) -> state.State:
    made = state.fresh(folder)
    made.clusters["east"] = ClusterState(index=1, ports={"etcdPort": 21000}, created=True)
    me = processes.identify(os.getpid())
    assert me
    made.parts["east/etcd"] = Part(pid=me.pid, started=me.started, address="127.0.0.1:21000", log="x.log")
    return made


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    made = a_state(tmp_path)
    state.save(made, tmp_path)
    assert state.load(tmp_path) == made
    assert (tmp_path / "state.json").stat().st_mode & 0o777 == 0o600
    assert made.parts["east/etcd"].identity.is_alive


def test_nothing_saved_is_no_state(tmp_path: Path) -> None:
    assert state.load(tmp_path) is None


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"version": 99}', '{"version": 1, "clusters": {}}'])
def test_a_file_that_cannot_be_used_is_named_with_a_way_out(tmp_path: Path, content: str) -> None:
    (tmp_path / "state.json").write_text(content)
    with pytest.raises(LocalFleetError) as refused:
        state.load(tmp_path)
    assert refused.value.error_code == "MP502"
    assert str(tmp_path / "state.json") in str(refused.value)
    assert "local down" in refused.value.hint


def test_after_a_restart_of_the_machine_every_part_is_dead(tmp_path: Path) -> None:
    state.save(a_state(tmp_path), tmp_path)
    content = json.loads((tmp_path / "state.json").read_text())
    (tmp_path / "state.json").write_text(json.dumps(content | {"boot": "another", "namespace": 7}))
    loaded = state.load(tmp_path)
    assert loaded
    assert not loaded.parts["east/etcd"].identity.is_alive
    assert loaded.namespace == 0
    assert loaded.clusters == a_state(tmp_path).clusters


def test_one_command_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "local"
    with state.locked(folder), pytest.raises(LockHeld), state.locked(folder):
        pass
    with state.locked(folder):
        assert (folder / ".gitignore").read_text() == "*\n"


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    code = f"""
import os
from pathlib import Path
from local import state

with state.locked(Path({str(tmp_path)!r})):
    os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **processes.python_path()})
    with state.locked(tmp_path):
        pass
