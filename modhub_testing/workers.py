"""Rounds of background work, one by one: nothing runs by itself in a test."""

from typing import Any

from modhub.base.service_registry import find_service
from modhub.plugins.declarations import Declarations, Worker
from modhub.plugins.workers import Workers


def find_worker(registry: Any, name: str) -> Worker:
    """The worker that was declared as ``name``."""
    return next(worker for worker in find_service(registry, Declarations).workers if worker.name == name)


def run_worker(registry: Any, name: str) -> bool:
    """Run one round as the process of this application; False if it failed."""
    return find_service(registry, Workers).run_round(registry, find_worker(registry, name))
