"""The open connections by peer, and which of them gives way when one more comes (T-D13).

A peer is an IPv4 address or the /64 of an IPv6 address. A trusted proxy or a unix socket has no limit: its connection
counts for the caller whom the head of the latest request names. For the loop's thread only.

A connection claims its place with the head of its first request, and a peer has as many places as the settings say.
Some more connections may wait, for their head and then for a place: so a request is read before it is refused, and a
health check, which needs no place, is answered even when every connection of its peer makes progress.
"""

import logging
import socket
from collections import deque
from collections.abc import Iterator
from ipaddress import IPv6Address, IPv6Network, ip_address
from operator import itemgetter
from typing import Final

from modhub.server.deadlines import DeadlineMixin
from modhub.server.settings import Settings

SETTLED_SECONDS = 1.0
"""A connection that has waited no longer than this gives way last: its request may be on the way."""
MOST_HEADS = 256
"""Connections beyond the limit that may wait for a head: four rounds of accepting, so that each is read in between."""
SEARCH_SECONDS = 0.05
"""How long it is believed that no connection can give way."""
TELL_SECONDS = 60.0

STALLED: Final = "stalled"
CLAIMED: Final = "claimed"
SETTLED: Final = "settled"

logger = logging.getLogger("modhub.server")


def network(address: str) -> str:
    """The peer of an address; what is no address stands for itself."""
    try:
        found = ip_address(address.partition("%")[0].strip("[]"))
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return str(found)
    return str(found.ipv4_mapped or IPv6Network((int(found) >> 64 << 64, 64)))


class Group:
    """The connections of one peer, or all of them."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.heads = min(limit, MOST_HEADS)
        self.members: set[DeadlineMixin] = set()
        self.claims = 0
        self.waiting: dict[str, deque[DeadlineMixin]] = {}
        self.searched: dict[str, float] = {}


class Peers:
    """All connections; see the module."""

    def __init__(self, adj: Settings) -> None:
        self._adj = adj
        self._groups: dict[str | None, Group] = {}
        self._all = Group(adj.connection_limit)
        self._told_at = -TELL_SECONDS
        self._closing: deque[socket.socket] = deque()
        self._older = 0

    def name(self, address: str, port: object) -> str | None:
        """The peer of a connection; None: a proxy that is trusted, or a unix socket (which has no port)."""
        return None if port is None or self._adj.trusted_proxy in {"*", address} else network(address)

    def admit(self, peer: str | None, now: float) -> bool:
        """Whether one more connection of ``peer`` may come in; another one closes where there is no room."""
        return all(self._admit(group, now) for group in self._bounding(peer))

    def claim(self, channel: DeadlineMixin, now: float) -> bool:
        """Give ``channel``, whose head is here, a place; False: there is none, and nobody could give way so far."""
        if channel.claimed:
            return True
        for group in self._bounding(channel.peer):
            if group.claims >= group.limit and not self._give_way(group, CLAIMED, now, channel):
                return False
        self._count(channel, 1)
        return True

    def add(self, channel: DeadlineMixin) -> None:
        """Count a new connection."""
        self._all.members.add(channel)
        self._group(channel.peer).members.add(channel)

    def remove(self, channel: DeadlineMixin) -> None:
        """Forget a closed connection."""
        if channel not in self._all.members:
            return
        if channel.claimed:
            self._count(channel, -1)
        self._all.members.discard(channel)
        self._leave(channel)

    def move(self, channel: DeadlineMixin, peer: str | None) -> None:
        """Count a proxy's connection for the caller of its present request."""
        if peer == channel.peer or channel not in self._all.members:
            return
        if channel.claimed:
            self._count(channel, -1)
        self._leave(channel)
        channel.peer = peer
        self._group(peer).members.add(channel)

    def check(self, now: float) -> None:
        """Once a second: no more connections than the limits say, no more unread answers than a peer may have."""
        for _ in range(min(self._older, len(self._closing))):
            self._closing.popleft().close()
        self._older = len(self._closing)
        for group in [self._all, *self._groups.values()]:
            group.waiting.clear()
            group.searched.clear()
            while len(group.members) > group.limit and self._give_way(group, SETTLED, now):
                pass
        for peer, group in list(self._groups.items()):
            if not group.members:
                del self._groups[peer]  # of a connection that was refused
            elif peer is not None:
                self._shed_unread(group, now)

    def close_later(self, sock: socket.socket) -> None:
        """Close in a second what gives way: otherwise a client that reconnects at once keeps the loop from its work."""
        self._closing.append(sock)
        if len(self._closing) > self._adj.connection_limit:
            self._closing.popleft().close()

    def close(self) -> None:
        """Close what was to be closed later."""
        while self._closing:
            self._closing.popleft().close()

    def _shed_unread(self, group: Group, now: float) -> None:
        unread = {channel: channel.unread_bytes for channel in group.members if channel.total_outbufs_len}
        left = sum(unread.values())
        if left <= self._adj.unread_bytes_per_peer:
            return
        for channel in self._ordered(group, SETTLED, now):
            if left > self._adj.unread_bytes_per_peer and unread.get(channel):
                left -= unread[channel]
                channel.handle_close()

    def _admit(self, group: Group, now: float) -> bool:
        if len(group.members) < group.limit:
            return True
        self._tell(group, now)
        if self._give_way(group, SETTLED, now) or len(group.members) < group.limit + group.heads:
            return True
        return self._give_way(group, STALLED, now)

    def _give_way(self, group: Group, kind: str, now: float, guest: DeadlineMixin | None = None) -> bool:
        """Close the connection that is longest without progress; whether there was one."""
        for searched in (False, True):
            if searched:
                if now - group.searched.get(kind, -SEARCH_SECONDS) < SEARCH_SECONDS:
                    return False
                group.waiting[kind] = deque(self._ordered(group, kind, now))
                if not group.waiting[kind]:
                    group.searched[kind] = now
            waiting = group.waiting.get(kind, ())
            while waiting:
                channel = waiting.popleft()
                if channel is not guest and channel in group.members and self._may_go(channel, kind, now):
                    channel.give_way()
                    return True
        return False

    def _may_go(self, channel: DeadlineMixin, kind: str, now: float) -> bool:
        if kind == STALLED:
            return channel.waiting_since(now) <= now
        if channel.held or (kind == CLAIMED and not channel.claimed):
            return False
        return channel.waiting_since(now) <= now - SETTLED_SECONDS

    def _ordered(self, group: Group, kind: str, now: float) -> list[DeadlineMixin]:
        """Who may give way, first whoever waits longest; of all peers first those with most connections."""
        found = [(channel.waiting_since(now), channel) for channel in group.members if self._may_go(channel, kind, now)]
        found.sort(key=itemgetter(0))
        if group is self._all:
            left = {peer: len(other.members) for peer, other in self._groups.items()}
            ranked = []
            for since, channel in found:
                ranked.append(((-left[channel.peer], since), channel))
                left[channel.peer] -= 1
            return [channel for _, channel in sorted(ranked, key=itemgetter(0))]
        return [channel for _, channel in found]

    def _bounding(self, peer: str | None) -> Iterator[Group]:
        if peer is not None:
            yield self._group(peer)
        yield self._all

    def _group(self, peer: str | None) -> Group:
        if peer not in self._groups:
            self._groups[peer] = Group(float("inf") if peer is None else self._adj.connections_per_peer)
        return self._groups[peer]

    def _leave(self, channel: DeadlineMixin) -> None:
        group = self._group(channel.peer)
        group.members.discard(channel)
        if not group.members:
            del self._groups[channel.peer]

    def _count(self, channel: DeadlineMixin, one: int) -> None:
        channel.claimed = one > 0
        self._all.claims += one
        self._group(channel.peer).claims += one

    def _tell(self, group: Group, now: float) -> None:
        if now - self._told_at < TELL_SECONDS:
            return
        self._told_at = now
        if group is self._all:
            logger.warning("connection_limit reached: %d connections", len(group.members))
        else:
            peer = next(iter(group.members)).peer
            logger.warning("connections_per_peer reached: %s has %d connections", peer, len(group.members))
