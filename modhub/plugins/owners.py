"""What features have a say in when owners upload and publish."""

from pyramid.config import Configurator

from modhub.base.operations import Refusal
from modhub.plugins.declarations import PublishCheck, UploadInspector
from modhub.plugins.features import find_declarations


def add_upload_inspector(config: Configurator, name: str, inspect: UploadInspector) -> None:
    """Let ``inspect(request)`` look at each file that a request stages: an `IUploadInspection`.

    It returns None for uploads that do not concern it. It is called once the body may be read, before the session's
    first statement, and may refuse the upload by raising :class:`modhub.base.errors.ApiError`.
    """

    def register() -> None:
        find_declarations(config).upload_inspectors[name] = inspect

    config.action(("modhub upload inspector", name), register)


def add_publish_check(config: Configurator, name: str, check: PublishCheck) -> None:
    """Call ``check(session, mod_id)`` before a draft is published; it raises the error for which it stays a draft.

    The mod is locked, and has a code file. A hidden mod is checked as well.
    """

    def register() -> None:
        find_declarations(config).publish_checks[name] = check

    config.action(("modhub publish check", name), register)


def add_refusals(config: Configurator, operation_id: str, *refusals: Refusal) -> None:
    """Describe errors that this package adds to a call of another one, by its id in the API's description."""

    def register() -> None:
        declared = find_declarations(config).refusals
        declared[operation_id] = (*declared.get(operation_id, ()), *refusals)

    config.action(("modhub refusals", operation_id, config.package_name), register)
