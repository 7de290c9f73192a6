"""Stand-ins for what a balanced consumer is given: a topic in memory, and a consumer inside that reads it.

What stands for SimpleConsumer writes down what happens to it, so that tests see in which order it does.
"""

import threading
import time
from types import SimpleNamespace

from barnabas.compat.pykafka.exceptions import ConsumerStoppedException


class Partition:
    def __init__(self, topic, id_, leader_id=7):
        self.topic = topic
        self.id = id_
        self.leader = SimpleNamespace(id=leader_id)

    def __hash__(self):
        return hash(self.id)

    def __eq__(self, other):
        return self.id == other.id


class Threads:
    Event = threading.Event
    RLock = staticmethod(threading.RLock)
    sleep = staticmethod(time.sleep)

    @staticmethod
    def spawn(target, name=None):
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        return thread


class MemoryTopic:
    """A topic with as many messages as anybody wants, and the offsets that its group committed."""

    def __init__(self, partitions=4, name=b"topic"):
        self.name = name
        self.partitions = {id_: Partition(self, id_) for id_ in range(partitions)}
        self.committed = {}
        self.history = []
        self.is_empty = threading.Event()
        self.waits = threading.Event()


class InnerConsumer:
    """What stands for SimpleConsumer."""

    def __init__(self, topic, cluster, *, partitions, auto_commit_enable, reset_offset_on_start, **settings):
        self._topic = topic
        self._running = False
        self._woken = threading.Event()
        self._auto_commit_enable = auto_commit_enable
        self.partitions = {partition.id: partition for partition in partitions}
        self.resets = reset_offset_on_start
        self.settings = settings
        self.consumer_id = b""
        self.held_offsets = {}
        self.turn = 0

    def start(self):
        self._running = True
        self.held_offsets = {id_: self._topic.committed.get(id_, 0) - 1 for id_ in self.partitions}
        self._topic.history.append(("start", self.consumer_id, sorted(self.partitions)))

    def stop(self):
        if self._running and self._auto_commit_enable:
            self.commit_offsets()
        self._running = False
        self._topic.history.append(("stop", self.consumer_id))

    def cleanup(self):
        self._woken.set()

    def consume(self, block=True, unblock_event=None):
        if not self._running:
            raise ConsumerStoppedException
        if self._topic.is_empty.is_set() or not self.partitions:
            self._topic.waits.set()
            if block:
                # As the real one, which looks at the event only when it is woken.
                assert self._woken.wait(30)
                assert unblock_event.is_set()
            return None
        ids = sorted(self.partitions)
        partition = ids[self.turn % len(ids)]
        self.turn += 1
        self.held_offsets[partition] += 1
        return SimpleNamespace(partition_id=partition, offset=self.held_offsets[partition])

    def commit_offsets(self, partition_offsets=None):
        self._topic.history.append(("commit", self.consumer_id))
        self._topic.committed.update({id_: held + 1 for id_, held in self.held_offsets.items()})

    def _move(self, offsets):
        self.held_offsets.update(offsets)
        self.turn = 0

    def reset_offsets(self, partition_offsets=None):
        for partition, offset in partition_offsets:
            self.held_offsets[partition.id] = offset


def cluster():
    return SimpleNamespace(handler=Threads())
