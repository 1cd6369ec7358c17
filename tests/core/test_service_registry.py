"""Services: one object per kind, found by type; two registrations of a kind conflict."""

import pytest
from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationConflictError

from modhub.base.service_registry import add_service, find_optional_service, find_service


class Clock:
    pass


@pytest.fixture
def config() -> Configurator:
    made = Configurator()
    made.add_directive("add_service", add_service)
    return made


def test_a_service_is_found_by_its_kind_at_once_and_after_the_commit(config):
    clock = Clock()
    config.add_service(Clock, clock)
    assert find_service(config.registry, Clock) is clock
    config.commit()
    assert find_service(config.registry, Clock) is clock
    assert find_optional_service(config.registry, Clock) is clock


def test_a_kind_that_nobody_registers_is_named(config):
    with pytest.raises(LookupError, match="no package registers a service of the kind Clock"):
        find_service(config.registry, Clock)
    assert find_optional_service(config.registry, Clock) is None


def test_two_packages_that_register_one_kind_are_a_conflict(config):
    def first(config):
        config.add_service(Clock, Clock())

    def second(config):
        config.add_service(Clock, Clock())

    config.include(first)
    config.include(second)
    with pytest.raises(ConfigurationConflictError, match="modhub service"):
        config.commit()


def test_an_including_package_overrides_what_it_includes(config):
    inner, outer = Clock(), Clock()

    def includeme(config):
        config.add_service(Clock, inner)

    config.add_service(Clock, outer)
    config.include(includeme)
    config.commit()
    assert find_service(config.registry, Clock) is outer
