"""What both kinds of balanced consumers are: a consumer inside, which is another one after each rebalance.

Owns the order of a rebalance (commit, stop, give up, claim, start), and that nothing is handed out while the
partitions may be another's. How members find each other, and who gets what, is for subclasses to say.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from barnabas.client.cluster.lifetimes import Lifetime
from barnabas.compat.pykafka._balance.gate import RebalanceGate
from barnabas.compat.pykafka._balance.inner import (
    InnerConsumer,
    InnerSettings,
    consumer_class,
    is_running,
    stop_inner,
    untake,
)
from barnabas.compat.pykafka._network.ending import LastSteps, can_be_stopped, stop_dropped
from barnabas.compat.pykafka.exceptions import ConsumerStoppedException, KafkaException
from barnabas.compat.pykafka.utils.error_handlers import valid_int
from barnabas.fork import generation
from barnabas.loop_thread import Steps, loop_thread

__all__ = ["UNSURE_WAIT_SECONDS", "Callback", "RebalancingConsumer"]

log = logging.getLogger("pykafka.balancedconsumer")

UNSURE_WAIT_SECONDS = 0.1
"""How long a program that waits for a message sleeps before it looks whether claims are sure again."""

Callback = Callable[[Any, dict[int, int], dict[int, int]], Mapping[int, int] | None]


class RebalancingConsumer:
    """A member of a group that divides a topic's partitions."""

    def __init__(self, arguments: Mapping[str, Any], consumer_id: bytes, *, use_rdkafka: bool) -> None:
        """`arguments`: of the constructor, by their names. Raises: UnicodeException for a group's name that
        is not ASCII; TypeError or ValueError for what is no fit number."""
        settings = InnerSettings(arguments)
        self._running = False
        self._generation = generation()
        self._life: Lifetime | None = None
        self._last_steps = LastSteps(settings.consumer_group.decode(), 2)
        self._topic = arguments["topic"]
        self._cluster = arguments["cluster"]
        self._settings = settings
        self._consumer_group = settings.consumer_group
        self._consumer_timeout_ms: int = arguments["consumer_timeout_ms"]
        self._rebalance_max_retries = valid_int(arguments["rebalance_max_retries"], allow_zero=True)
        self._rebalance_backoff_ms = valid_int(arguments["rebalance_backoff_ms"])
        self._reset_offset_on_start: bool = arguments["reset_offset_on_start"]
        self._post_rebalance_callback: Callback | None = arguments["post_rebalance_callback"]
        self._membership_protocol = arguments["membership_protocol"]
        self._consumer_id = consumer_id
        self._generation_id = -1
        self._use_rdkafka = use_rdkafka
        self._consumer: InnerConsumer | None = None
        self._worker_exception: BaseException | None = None
        self._start_error: Exception | None = None
        self._gate = RebalanceGate(self._cluster.handler)
        self._stopping = self._cluster.handler.Event()

    # What each kind does in its own way

    def start(self) -> None:
        """Joins the group. What goes wrong is logged, and stops the consumer."""
        raise NotImplementedError

    def _leave(self) -> None:
        """Gives up its place in the group. Consumption is over by then: whoever is next is alone."""
        raise NotImplementedError

    def _leaving_at_exit(self) -> Steps:
        raise NotImplementedError

    def _give_up(self) -> None:
        """Lets the others have the partitions, after what cannot be mended."""
        raise NotImplementedError

    def _hurry(self) -> None:
        """Ends what a rebalance under way waits for, if it may be for long."""
        raise NotImplementedError

    def _update_member_assignment(self) -> None:
        """Has a consumer inside for what is this member's from now on."""
        raise NotImplementedError

    def _is_session_gone(self) -> bool:
        """Whether the partitions may be another's already."""
        raise NotImplementedError

    def _is_sure(self) -> bool:
        """Whether what is claimed is this consumer's at this moment."""
        raise NotImplementedError

    def __del__(self) -> None:
        if getattr(self, "_running", False) and can_be_stopped(self._generation):
            stop_dropped(self, log)

    def __repr__(self) -> str:
        name = f"pykafka.{type(self).__module__.rpartition('.')[2]}.{type(self).__name__}"
        return f"<{name} at {hex(id(self))} (consumer_group={self._consumer_group.decode()})>"

    @property
    def topic(self) -> Any:
        """The topic this consumer consumes"""
        return self._topic

    @property
    def partitions(self) -> dict[int, Any]:
        """The partitions that this consumer consumes, by their ids."""
        return self._consumer.partitions if self._consumer else {}

    @property
    def _partitions(self) -> set[Any]:
        return set(self.partitions.values())

    @property
    def held_offsets(self) -> dict[int, int] | None:
        """The last offset that was consumed of each partition; None before the first rebalance."""
        return self._consumer.held_offsets if self._consumer else None

    def stop(self) -> None:
        """Stops consuming, commits if commits are automatic, and gives up its place in the group."""
        self._running = False
        self._stopping.set()
        is_gone = self._is_session_gone()
        with self._gate.rebalance(self._let_go, self._hurry):
            if self._consumer is not None:
                self._halt_inner(commits=not is_gone)
        # Outside: who is waited for may wait for the gate.
        self._leave()
        if self._life is not None:
            self._life.end()
            self._life = None

    def _begin_life(self) -> None:
        """From now on the end of the interpreter has this consumer commit and leave."""
        if self._life is None:
            what = f"consumer of group {self._consumer_group.decode()!r}"
            self._life = Lifetime(self._steps_at_exit, what, loop_thread(), self._last_steps)

    def _steps_at_exit(self) -> Steps:
        """As `stop`, but without waiting for a rebalance under way, nor for anything else in this thread."""
        self._running = False
        self._stopping.set()
        if is_running(self._consumer):
            yield from self._consumer.steps_at_exit(commits=not self._is_session_gone())
        self._last_steps.done()
        yield from self._leaving_at_exit()
        self._last_steps.done()

    def _let_go(self) -> None:
        """Has a program that waits for a message look whether it may go on waiting."""
        consumer = self._consumer
        if is_running(consumer):
            consumer.cleanup()

    def _fail(self, error: Exception) -> None:
        """Ends consumption for good, and lets the others have the partitions."""
        if not self._running:
            return
        self._worker_exception = error
        with self._gate.rebalance(self._let_go):
            if self._consumer is not None:
                self._halt_inner(commits=False)
            self._give_up()

    def _rebalance_once(self) -> None:
        log.info('Rebalancing consumer "%s" for topic "%s".', self._consumer_id, self._topic.name)
        doubts = self._gate.doubts
        if self._consumer is not None and not self._is_session_gone():
            self._commit_before_rebalance()
        self._update_member_assignment()
        self._gate.trust(doubts)

    def _commit_before_rebalance(self) -> None:
        try:
            self.commit_offsets()
        except KafkaException:
            # Who consumes the partitions next begins where the last commit was: nothing is lost.
            log.exception("Offsets could not be committed before a rebalance")

    def _wait_to_retry(self, seconds: float) -> None:
        """Raises: ConsumerStoppedException if the consumer is stopped meanwhile."""
        if seconds > 0:
            self._stopping.wait(seconds)
        if self._stopping.is_set():
            raise ConsumerStoppedException

    def _setup_internal_consumer(self, partitions: Iterable[Any] | None = None, start: bool = True) -> bool:
        """Has a consumer inside for `partitions`; a new one, unless the one that there is has them already.

        Returns whether the program's callback went well.
        """
        wanted = set(partitions or ())
        if self._needs_another_inner(wanted):
            consumer = self._get_internal_consumer(list(wanted), start=start)
            if self._post_rebalance_callback is not None:
                before = (self._consumer.held_offsets if self._consumer else None) or {}
                try:
                    resets = self._post_rebalance_callback(self, before, consumer.held_offsets)
                except Exception as error:
                    log.exception("post rebalance callback threw an exception")
                    self._worker_exception = error
                    stop_inner(consumer, commits=False)
                    return False
                if resets:
                    consumer.reset_offsets(
                        partition_offsets=[
                            (consumer.partitions[id_], offset) for id_, offset in resets.items()
                        ]
                    )
            self._consumer = consumer
        self._gate.set_occupied(is_running(self._consumer))
        return True

    def _needs_another_inner(self, partitions: set[Any]) -> bool:
        """One that was halted is not used again; who never had a partition has no consumer inside."""
        is_halted = self._consumer is not None and not is_running(self._consumer)
        return is_halted or partitions != self._partitions

    def _get_internal_consumer(
        self, partitions: Iterable[Any] | None = None, start: bool = True
    ) -> InnerConsumer:
        """A new consumer for `partitions`; one that there is stops first."""
        # Only the first one begins anew: later ones go on where the group is.
        resets = self._reset_offset_on_start and self._consumer is None
        if is_running(self._consumer):
            self._halt_inner(commits=True)
        consumer = self._settings.consumer(
            consumer_class(use_rdkafka=self._use_rdkafka),
            self._topic,
            self._cluster,
            partitions or (),
            reset_offset_on_start=resets,
            generation_id=self._generation_id,
            consumer_id=self._consumer_id,
        )
        if start:
            consumer.start()
        return consumer

    def _halt_inner(self, *, commits: bool) -> None:
        """Stops the consumer inside, and hands nothing out until there is another."""
        assert self._consumer is not None
        self._gate.set_occupied(False)
        stop_inner(self._consumer, commits=commits)

    def _raise_worker_exceptions(self) -> None:
        """Raises what went wrong in a rebalance that the program did not ask for."""
        if self._worker_exception is not None:
            raise self._worker_exception

    def reset_offsets(self, partition_offsets: Sequence[tuple[Any, Any]] | None = None) -> None:
        """Goes to other offsets, or to where partitions were at a time; see SimpleConsumer."""
        self._raise_worker_exceptions()
        if not self._consumer:
            raise ConsumerStoppedException("Internal consumer is stopped")
        self._consumer.reset_offsets(partition_offsets=partition_offsets)

    def consume(self, block: bool = True) -> Any:
        """The next message; None when there is none, at once or within `consumer_timeout_ms`.

        Raises: ConsumerStoppedException; what went wrong in a rebalance.
        """
        timeout_ms = self._consumer_timeout_ms
        deadline = None if timeout_ms == -1 else time.monotonic() + timeout_ms / 1000
        while True:
            self._raise_worker_exceptions()
            if not self._running:
                raise ConsumerStoppedException from self._start_error
            message = None
            if self._gate.is_open:
                message = self._consume_inner(block)
            elif block:
                self._gate.wait_open(UNSURE_WAIT_SECONDS)
            if message is not None or not block:
                return message
            if deadline is not None and time.monotonic() >= deadline:
                return None

    def _consume_inner(self, block: bool) -> Any:
        with self._gate.lock:
            consumer = self._consumer
            if consumer is None or not self._gate.is_open:
                return None
            if not self._is_sure():
                self._stopping.wait(UNSURE_WAIT_SECONDS if block else 0)
                return None
            try:
                message = consumer.consume(block=block, unblock_event=self._gate.is_wanted)
            except ConsumerStoppedException:
                if not self._running:
                    raise
                return None
            if message is not None and not self._is_sure():
                # It was waited for while the process was stopped, or for longer than claims are sure.
                untake(consumer, message)
                return None
            return message

    def __iter__(self) -> Iterator[Any]:
        """Messages, until there is none within `consumer_timeout_ms`."""
        while (message := self.consume(block=True)) is not None:
            yield message

    def commit_offsets(self, partition_offsets: Sequence[tuple[Any, int]] | None = None) -> None:
        """Commits what was consumed, or these offsets of partitions."""
        self._raise_worker_exceptions()
        if not self._consumer:
            raise KafkaException("Cannot commit offsets - consumer not started")
        return self._consumer.commit_offsets(partition_offsets=partition_offsets)
