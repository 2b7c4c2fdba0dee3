import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.errors import LocalFleetError
from local import network, processes
from local.processes import Identity, StartRefused

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    processes.end(sorted(processes.marked(tmp_path)), grace=0)


def start(folder: Path, argv: list[str] = SLEEP) -> Identity:
    return processes.start(argv, log=folder / "log", environment=processes.environment(folder))


def test_a_started_process_is_nobodys_child_and_known_by_its_mark(folder: Path) -> None:
    identity = start(folder)
    assert identity.is_alive
    assert processes.parent(identity.pid) != os.getpid()
    assert processes.marked(folder) == {identity}
    assert processes.marked(folder / "other") == set()


def test_ending_ends_only_the_very_process(folder: Path) -> None:
    identity = start(folder)
    processes.end([Identity(identity.pid, identity.started + 1)], grace=0)
    assert identity.is_alive
    processes.end([identity])
    assert not identity.is_alive
    processes.end([identity])


def test_a_process_that_does_not_listen_is_ended_all_the_same(folder: Path) -> None:
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    )
    identity = start(folder, [sys.executable, "-c", deaf])
    deadline = time.monotonic() + 30
    while "deaf" not in (folder / "log").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    processes.end([identity], grace=0.1)
    assert not identity.is_alive


def test_a_process_that_ended_and_was_not_waited_for_is_dead() -> None:
    child = subprocess.Popen(SLEEP, stdout=subprocess.DEVNULL)
    identity = processes.identify(child.pid)
    assert identity
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not identity.is_alive
    child.wait()
    assert processes.identify(child.pid) is None


def test_what_cannot_be_executed_is_said(folder: Path) -> None:
    with pytest.raises(StartRefused, match="No such file"):
        start(folder, [str(folder / "nothing")])


def test_secrets_of_the_caller_do_not_reach_a_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "hidden")
    identity = start(folder)
    assert b"hidden" not in Path(f"/proc/{identity.pid}/environ").read_bytes()


def test_the_end_of_a_log_is_shown_indented(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("\n".join(str(n) for n in range(100)))
    assert processes.tail(tmp_path / "log", 2) == "  | 98\n  | 99"
    assert "empty" in processes.tail(tmp_path / "none")


def test_a_namespace_that_is_not_the_expected_one_is_not_entered(folder: Path) -> None:
    identity = start(folder)
    wrong = processes.Member(pid=identity.pid, inode=1)
    with pytest.raises(StartRefused, match="expected network namespace"):
        processes.start(SLEEP, log=folder / "log", environment=processes.environment(folder), namespace=wrong)


def test_ports_that_are_given_out_are_free_and_distinct() -> None:
    ports = network.choose_ports(20, taken={20_000})
    assert len(set(ports)) == 20
    assert 20_000 not in ports
    assert all(network.is_free("127.0.0.1", port) for port in ports)


def test_who_has_a_port_is_told() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert not network.is_free("127.0.0.1", port)
        found = network.owner("127.0.0.1", port)
        assert found is not None
        assert found[1] == os.getpid()
        assert network.is_listening(os.getpid(), "127.0.0.1", port)
    assert network.owner("127.0.0.1", port) is None
    assert not network.is_listening(os.getpid(), "127.0.0.1", port)


def test_whose_process_it_is_is_told(tmp_path: Path) -> None:
    sleeping = subprocess.Popen(["sleep", "60"], env=processes.environment(tmp_path))
    try:
        assert processes.fleet_of(sleeping.pid) == tmp_path
        assert processes.fleet_of(os.getpid()) is None
    finally:
        sleeping.kill()
        sleeping.wait()
    assert processes.fleet_of(sleeping.pid) is None


def test_errors_of_the_local_fleet_carry_its_codes() -> None:
    assert LocalFleetError("x").error_code == "MP500"
