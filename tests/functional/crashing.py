"""A feature for tests: a request with ``X-Crash: POINT NUMBER`` ends its process by SIGKILL at that point.

Points are ``staged`` (the file is on disk, under its first name), ``rename-before``, ``rename-after``,
``commit-before``, ``commit-after`` and ``answer``; the number says which of several in the request is meant.
"""

import os
import signal
import threading

from modhub.base.service_registry import find_service
from modhub.db import Databases


class Bomb(threading.local):
    """The point at which the request of this thread ends the process."""

    point = ""
    left = 0

    def arm(self, header):
        point, _, number = header.partition(" ")
        self.point, self.left = point, int(number or 1)

    def reached(self, point):
        if point == self.point:
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)


def includeme(config):
    bomb = Bomb()
    config.registry[Bomb] = bomb
    config.add_tween("crashing.tween_factory")
    fsync, rename = os.fsync, os.rename
    dialect = find_service(config.registry, Databases).write_engine.dialect
    commit = dialect.do_commit

    def wrapped_fsync(descriptor):
        fsync(descriptor)
        bomb.reached("staged")

    def wrapped_rename(*names, **options):
        bomb.reached("rename-before")
        rename(*names, **options)
        bomb.reached("rename-after")

    def wrapped_commit(connection):
        bomb.reached("commit-before")
        commit(connection)
        bomb.reached("commit-after")

    os.fsync, os.rename, dialect.do_commit = wrapped_fsync, wrapped_rename, wrapped_commit


def tween_factory(handler, registry):
    def tween(request):
        registry[Bomb].arm(request.headers.get("X-Crash", ""))
        response = handler(request)
        if response.status_int != 100:  # the application only says that it wants the body
            registry[Bomb].reached("answer")
        return response

    return tween
