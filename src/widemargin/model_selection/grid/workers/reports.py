"""Evaluations on their way from worker processes to the process of the search, each as soon as it is finished.

The search listens at a socket in a private folder of this computer. A process that cannot reach it, since it is on
another computer, hands over its evaluations with the chain that they belong to. (So do the others, too: a message that
is lost delays what it says and changes nothing.) Messages are lines of JSON; nothing that is received is unpickled.
"""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import AuthenticationError, Pipe
from multiprocessing.connection import Client, Connection, Listener, wait
from types import TracebackType
from typing import Self

from widemargin.runtime import Lock
from widemargin.study.findings import Finding, as_record, from_record
from widemargin.study.lines import as_line, from_line

#: Workers that may knock at the same time.
BACKLOG = 128

#: Seconds that the end of a search waits for a worker that has begun to say something.
PATIENCE = 2.0


@dataclass(frozen=True)
class Address:
    """Where a search listens, and the key that it knows its workers by."""

    place: str
    key: bytes


class Reports:
    """Listens to the workers of a search.

    Parameters
    ----------
    finished : callable
        Gets every evaluation, in a thread of this object.

    Attributes
    ----------
    address : Address
        For the workers, as long as it listens.

    Raises
    ------
    OSError
        If there can be no socket in the folder for temporary files.

    Examples
    --------
    >>> from widemargin.runtime import Work
    >>> found = []
    >>> with Reports(found.append) as reports:
    ...     worker = Reporter.to(reports.address)
    ...     worker(Finding(3, 0.75, Work(trained=1)))
    >>> found[0].number, found[0].value
    (3, 0.75)
    """

    def __init__(self, finished: Callable[[Finding], None]) -> None:
        self._finished = finished
        self._connections: list[Connection] = []
        self._ending = False
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._accept, self._read)]

    def __enter__(self) -> Self:
        key = secrets.token_bytes(32)
        self._listener = Listener(backlog=BACKLOG, authkey=key)
        try:
            self.address = Address(str(self._listener.address), key)
            self._heard, self._wake = Pipe(duplex=False)
            for thread in self._threads:
                thread.start()
        except BaseException:
            self._listener.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Read what has arrived, then listen no more."""
        accepting, reading = self._threads
        self._ending = True
        try:
            with suppress(OSError), socket.socket(socket.AF_UNIX) as knock:  # wakes who waits for workers
                knock.connect(self.address.place)
            accepting.join(PATIENCE)
            self._wake.send_bytes(b"end")
            reading.join(PATIENCE)
        finally:  # of Ctrl-C, too
            self._listener.close()

    def _accept(self) -> None:
        while not self._ending:
            try:
                connection = self._listener.accept()
            except (AuthenticationError, EOFError, ConnectionError):  # who has gone, or is no worker of this search
                continue
            except OSError:  # nobody is to wait at a door that will not open
                self._listener.close()
                return
            self._connections.append(connection)
            with suppress(OSError):  # who took longer to come in than the end has patience
                self._wake.send_bytes(b"new")

    def _read(self) -> None:
        ended = False
        while True:
            ready = wait([self._heard, *self._connections], timeout=0 if ended else None)
            if ended and not ready:
                break
            for connection in ready:
                if connection is self._heard:
                    ended = self._heard.recv_bytes() == b"end" or ended
                    continue
                assert isinstance(connection, Connection)
                try:
                    one = from_record(from_line(connection.recv_bytes()))
                except (
                    EOFError,
                    OSError,
                    ValueError,
                    TypeError,
                    KeyError,
                ):  # a worker that has gone, or of another version
                    connection.close()
                    self._connections.remove(connection)
                else:
                    self._finished(one)
        for connection in (self._wake, self._heard, *self._connections):
            connection.close()


class Reporter:
    """Tells the process of a search of evaluations; to be called with each, from any thread.

    Parameters
    ----------
    connection : Connection
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = Lock()

    @classmethod
    def to(cls, address: Address) -> Reporter | None:
        """Reach a search; None if that is on another computer, or over."""
        try:
            return cls(Client(address.place, authkey=address.key))
        except (OSError, EOFError, AuthenticationError):
            return None

    def __call__(self, one: Finding) -> None:
        """Tell of an evaluation; it goes with its chain, too, which is enough where this does not work."""
        # A TypeError: scores that JSON has no words for, of which a journal tells better.
        with self._lock, suppress(OSError, TypeError):
            self._connection.send_bytes(as_line(as_record(one)))
