"""The open connections by peer, and which of them is evicted when one more arrives (T-D13).

A peer is an IPv4 address or the /64 of an IPv6 address. A trusted proxy or a unix socket has no limit: its connection
counts for the caller named in the head of the latest request. For the loop's thread only.

A connection gets a slot once the head of its first request is complete; the settings limit the slots of a peer. Some
more connections may wait, for their head and then for a slot. So a request is read before it is rejected, and a health
check, which needs no slot, is answered even when every connection of its peer makes progress.
"""

import logging
import socket
from collections import deque
from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from modhub.base.peers import peer_of_address
from modhub.server.deadlines import DeadlineMixin
from modhub.server.settings import Settings

LONG_WAIT_SECONDS = 1.0
"""A connection that has waited no longer than this is evicted last: its request may be on the way."""
MAX_SPARE_CONNECTIONS = 256
"""Connections beyond the limit that may wait for a head: four rounds of accepting, so that each is read in between."""
SEARCH_SECONDS = 0.05
"""How long a search that found nothing to evict stays valid."""
LOG_AGAIN_SECONDS = 60.0

STALLED: Final = "stalled"
SLOT_HOLDER: Final = "slot_holder"
LONG_WAITING: Final = "long_waiting"

logger = logging.getLogger("modhub.server")


class Group:
    """The connections of one peer, or all of them."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spare = min(limit, MAX_SPARE_CONNECTIONS)
        self.members: set[DeadlineMixin] = set()
        self.slots_taken = 0
        self.candidates: dict[str, deque[DeadlineMixin]] = {}
        self.searched_at: dict[str, float] = {}


class Peers:
    """All connections; see the module's docstring."""

    def __init__(self, adj: Settings) -> None:
        self._adj = adj
        self._groups: dict[str | None, Group] = {}
        self._all = Group(adj.connection_limit)
        self._logged_at = -LOG_AGAIN_SECONDS
        self._closing: deque[socket.socket] = deque()
        self._due_to_close = 0

    @property
    def count(self) -> int:
        """The number of open connections."""
        return len(self._all.members)

    def peer_for(self, address: str, port: object) -> str | None:
        """The peer of a connection; None for a trusted proxy or a unix socket (which has no port)."""
        return None if port is None or self._adj.trusted_proxy in {"*", address} else peer_of_address(address)

    def admit(self, peer: str | None, now: float) -> bool:
        """Whether one more connection of ``peer`` may be accepted; evicts another one if necessary."""
        return all(self._admit(group, now) for group in self._groups_of(peer))

    def acquire_slot(self, channel: DeadlineMixin, now: float) -> bool:
        """Give ``channel``, whose head is complete, a slot; False if none is free and nothing could be evicted."""
        if channel.has_slot:
            return True
        for group in self._groups_of(channel.peer):
            if group.slots_taken >= group.limit and not self._evict_one(group, SLOT_HOLDER, now, channel):
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
        if channel.has_slot:
            self._count(channel, -1)
        self._all.members.discard(channel)
        self._remove_from_group(channel)

    def move(self, channel: DeadlineMixin, peer: str | None) -> None:
        """Count a proxy's connection for the caller of its current request."""
        if peer == channel.peer or channel not in self._all.members:
            return
        if channel.has_slot:
            self._count(channel, -1)
        self._remove_from_group(channel)
        channel.peer = peer
        self._group(peer).members.add(channel)

    def check(self, now: float) -> None:
        """Once a second: enforce the connection limits and the limit of unread responses per peer."""
        for _ in range(min(self._due_to_close, len(self._closing))):
            self._closing.popleft().close()
        self._due_to_close = len(self._closing)
        for group in [self._all, *self._groups.values()]:
            group.candidates.clear()
            group.searched_at.clear()
            while len(group.members) > group.limit and self._evict_one(group, LONG_WAITING, now):
                pass
        for peer, group in list(self._groups.items()):
            if not group.members:
                del self._groups[peer]  # left by a connection that was rejected
            elif peer is not None:
                self._evict_slow_readers(group, now)
        self._make_room_for_responses(now)

    def close_later(self, sock: socket.socket) -> None:
        """Close an evicted socket in a second: otherwise a client that reconnects at once keeps the loop busy."""
        self._closing.append(sock)
        if len(self._closing) > self._adj.connection_limit:
            self._closing.popleft().close()

    def close(self) -> None:
        """Close the sockets that were to be closed later."""
        while self._closing:
            self._closing.popleft().close()

    def _evict_slow_readers(self, group: Group, now: float) -> None:
        unread = {channel: channel.unread_bytes for channel in group.members if channel.total_outbufs_len}
        total = sum(unread.values())
        if total <= self._adj.unread_bytes_per_peer:
            return
        for channel in self._eviction_order(group, LONG_WAITING, now):
            if total > self._adj.unread_bytes_per_peer and unread.get(channel):
                total -= unread[channel]
                channel.handle_close()

    def _make_room_for_responses(self, now: float) -> None:
        """Where a large response was refused, close the readers of others that take nothing, the longest wait first."""
        budget = self._adj.response_budget
        for peer, used in budget.take_refused().items():
            group, enough = (
                (self._all, budget.limit / 2) if peer is None else (self._groups.get(peer), budget.per_peer / 2)
            )
            excess = used - enough
            for channel in [] if group is None else self._eviction_order(group, LONG_WAITING, now):
                size = budget.reserved_by(channel)
                if size and excess > 0 and channel.total_outbufs_len:
                    excess -= size
                    channel.handle_close()

    def _admit(self, group: Group, now: float) -> bool:
        if len(group.members) < group.limit:
            return True
        self._log_limit(group, now)
        if self._evict_one(group, LONG_WAITING, now) or len(group.members) < group.limit + group.spare:
            return True
        return self._evict_one(group, STALLED, now)

    def _evict_one(self, group: Group, kind: str, now: float, requester: DeadlineMixin | None = None) -> bool:
        """Evict the connection that has gone longest without progress; returns whether there was one."""
        for refresh in (False, True):
            if refresh:
                if now - group.searched_at.get(kind, -SEARCH_SECONDS) < SEARCH_SECONDS:
                    return False
                group.candidates[kind] = deque(self._eviction_order(group, kind, now))
                if not group.candidates[kind]:
                    group.searched_at[kind] = now
            candidates = group.candidates.get(kind, ())
            while candidates:
                channel = candidates.popleft()
                if channel is not requester and channel in group.members and self._is_evictable(channel, kind, now):
                    channel.evict()
                    return True
        return False

    def _is_evictable(self, channel: DeadlineMixin, kind: str, now: float) -> bool:
        if kind == STALLED:
            return channel.waiting_since(now) <= now
        if channel.awaits_slot or (kind == SLOT_HOLDER and not channel.has_slot):
            return False
        return channel.waiting_since(now) <= now - LONG_WAIT_SECONDS

    def _eviction_order(self, group: Group, kind: str, now: float) -> list[DeadlineMixin]:
        """The evictable connections, longest wait first; among all peers, those with most connections first."""
        members = (channel for channel in group.members if self._is_evictable(channel, kind, now))
        evictable = [(channel.waiting_since(now), channel) for channel in members]
        evictable.sort(key=itemgetter(0))
        if group is self._all:
            counts = {peer: len(counted.members) for peer, counted in self._groups.items()}
            ranked = []
            for since, channel in evictable:
                ranked.append(((-counts[channel.peer], since), channel))
                counts[channel.peer] -= 1
            return [channel for _, channel in sorted(ranked, key=itemgetter(0))]
        return [channel for _, channel in evictable]

    def _groups_of(self, peer: str | None) -> Iterator[Group]:
        if peer is not None:
            yield self._group(peer)
        yield self._all

    def _group(self, peer: str | None) -> Group:
        if peer not in self._groups:
            self._groups[peer] = Group(float("inf") if peer is None else self._adj.connections_per_peer)
        return self._groups[peer]

    def _remove_from_group(self, channel: DeadlineMixin) -> None:
        group = self._group(channel.peer)
        group.members.discard(channel)
        if not group.members:
            del self._groups[channel.peer]

    def _count(self, channel: DeadlineMixin, change: int) -> None:
        channel.has_slot = change > 0
        self._all.slots_taken += change
        self._group(channel.peer).slots_taken += change

    def _log_limit(self, group: Group, now: float) -> None:
        if now - self._logged_at < LOG_AGAIN_SECONDS:
            return
        self._logged_at = now
        if group is self._all:
            logger.warning("connection_limit reached: %d connections", len(group.members))
        else:
            peer = next(iter(group.members)).peer
            logger.warning("connections_per_peer reached: %s has %d connections", peer, len(group.members))
