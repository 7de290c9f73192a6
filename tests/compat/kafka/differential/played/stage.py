"""What a script for kafka-python works with besides the package: see BareStage."""

from tests.compat.playing.played.stage import BareStage

# For calls that are to succeed: longer than a machine with much else to do takes.
WAIT_SECONDS = 30
# kafka-python 3 may never come out of a join that the end of a poll has interrupted.
LONG_POLL_MS = 10000


class Stage(BareStage):
    """One run of one script with kafka-python of one generation."""

    def __init__(self, kafka, generation, bootstrap, ask):
        super().__init__(kafka, bootstrap, ask)
        self.generation = generation
        self._kafka = kafka

    def partition(self, topic, number=0):
        """A TopicPartition of the package's."""
        return self.module("structs").TopicPartition(topic, number)

    # clients, closed after the script

    def producer(self, **settings):
        """A KafkaProducer, at the broker."""
        producer = self._kafka.KafkaProducer(**self._with_broker(settings))
        self.closing(lambda: producer.close(timeout=5))
        return producer

    def consumer(self, *topics, **settings):
        """A KafkaConsumer that reads from the beginning, in no group and committing nothing by itself, but
        for `settings`."""
        defaults = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "fetch_max_wait_ms": 50}
        consumer = self._kafka.KafkaConsumer(*topics, **self._with_broker(dict(defaults, **settings)))
        self.closing(consumer.close)
        return consumer

    def reader(self, topic, *partitions, **settings):
        """A consumer to which partitions are assigned, 0 where none is named."""
        consumer = self.consumer(**settings)
        consumer.assign([self.partition(topic, number) for number in partitions or (0,)])
        return consumer

    def simple_client(self, **settings):
        client = self._kafka.SimpleClient(self.bootstrap, **settings)
        self.closing(client.close)
        return client

    def admin(self, **settings):
        admin = self._kafka.KafkaAdminClient(**self._with_broker(settings))
        self.closing(admin.close)
        return admin

    def _with_broker(self, settings):
        return dict({"bootstrap_servers": self.bootstrap}, **settings)

    # waiting

    def poll(self, consumer, count):
        """The next `count` records, or more where they came together, in the order that `poll` gave them."""
        found = []

        def step():
            for records in consumer.poll(timeout_ms=LONG_POLL_MS).values():
                found.extend(records)

        self.until(lambda: len(found) >= count, step)
        return found

    def join(self, consumer, count):
        """Polls until so many partitions are assigned, in one of which there has to be a record."""
        self.until(
            lambda: len(consumer.assignment()) == count, lambda: consumer.poll(timeout_ms=LONG_POLL_MS)
        )

    def values(self, consumer, count):
        """Records the values of the next records."""
        self.record("values", [record.value for record in self.poll(consumer, count)])

    def poll_until(self, consumer, condition):
        """Polls, and records what comes, until `condition`."""

        def step():
            for partition, records in consumer.poll(timeout_ms=100).items():
                self.record("polled", {partition: [record.value for record in records]})

        self.until(condition, step)
