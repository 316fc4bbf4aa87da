"""Where a gateway listens: at a port of its own, and, where several share an address, at theirs too.

The kernel gives each new connection to one of those who listen at a shared port (SO_REUSEPORT). So
gateways of one machine stand behind one address without a proxy, and each can be restarted by itself.
"""

from __future__ import annotations

import socket

from gateway.environment import SettingNotValid
from gateway.settings import Settings


def listen(settings: Settings) -> list[socket.socket] | None:
    """Bound sockets; None where the server binds the one port by itself. Raises `SettingNotValid`."""
    if not settings.shared_port:
        return None
    own = _bound(settings.host, settings.port, shared=False)
    try:
        return [own, _bound(settings.host, settings.shared_port, shared=True)]
    except SettingNotValid:
        own.close()
        raise


def _bound(host: str, port: int, *, shared: bool) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        name = "ONSALE_SHARED_PORT" if shared else "ONSALE_PORT"
        raise SettingNotValid(
            f"{name}: nobody can listen at {host}:{port} ({error.strerror}). Choose another port, or end who "
            "has it."
        ) from error
    return made
