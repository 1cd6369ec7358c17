"""The state of the service for systemd (units with ``Type=notify``)."""

import logging
import os
import socket

logger = logging.getLogger("modhub.server")


def notify_systemd_ready() -> None:
    """Send ``READY=1`` to the socket that systemd named; without one, do nothing."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):  # an abstract socket
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications:
            notifications.sendto(b"READY=1", address)
    except OSError as error:
        logger.warning("systemd cannot be notified: %s", error.strerror or error)
