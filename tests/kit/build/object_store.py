"""An S3 server on this machine (moto's), which counts what it hands out and fails when it is told to."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from threading import Thread
from typing import TYPE_CHECKING, Any

import boto3
import fsspec
import pytest
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from workbench.core.storage import remote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class ObjectStore:
    """The server: ``read`` counts bytes of objects that were handed out; ``fail`` names how every ``each``-th GET ends.

    ``429`` and ``503`` are answers, ``cut`` half of one.
    """

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        self._numbers = count(1)
        self.read, self.gets, self.failed = 0, 0, 0
        self.fail, self.each = "", 60

    def __call__(self, environ: dict[str, Any], start: Any) -> Any:
        is_object = environ["REQUEST_METHOD"] == "GET" and environ["PATH_INFO"].count("/") > 1
        if not is_object:
            return self._app(environ, start)
        if self.fail and next(self._numbers) % self.each == 0:
            self.failed += 1
            if self.fail != "cut":
                start(f"{self.fail} Slow Down", [("Content-Type", "application/xml")])
                return [b"<Error><Code>SlowDown</Code><Message>wait</Message></Error>"]
            return self._cut(environ, start)
        data = b"".join(self._app(environ, start))
        self.gets, self.read = self.gets + 1, self.read + len(data)
        return [data]

    def _cut(self, environ: dict[str, Any], start: Any) -> Iterator[bytes]:
        data = b"".join(self._app(environ, start))
        yield data[: len(data) // 2]
        raise ConnectionAbortedError


@contextmanager
def serve() -> Iterator[tuple[ObjectStore, str]]:
    """Run a server in a thread; yields it and its address."""
    store = ObjectStore()
    server = make_server("127.0.0.1", 0, store, threaded=True)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield store, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serve_bucket(bucket: str) -> Iterator[tuple[ObjectStore, Any]]:
    """Run a server with an empty bucket; yields it and boto's client, credentials come as boto and fsspec take them."""
    with pytest.MonkeyPatch.context() as patch, serve() as (store, address):
        patch.setenv("AWS_ACCESS_KEY_ID", "me")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "hidden-secret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL", address)
        client = boto3.client("s3")
        client.create_bucket(Bucket=bucket)
        yield store, client
        client.close()
        fsspec.filesystem("s3").clear_instance_cache()
        remote._storage.cache_clear()


def upload(client: Any, bucket: str, name: str, tree: Path) -> str:
    """Put a tree into a bucket; returns its URL."""
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            key = f"{name}/{path.relative_to(tree).as_posix()}"
            client.put_object(Bucket=bucket, Key=key, Body=path.read_bytes())
    return f"s3://{bucket}/{name}"
