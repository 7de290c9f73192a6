"""Structs, errors and what else has no connection."""

import pickle

from tests.compat.kafka.differential.played.script import script


@script()
def topic_partitions_are_named_tuples(kafka, stage):
    structs = stage.module("structs")
    one = structs.TopicPartition("orders", 1)
    stage.record("itself", one)
    stage.record("repr", repr(one))
    stage.record("equal to a tuple", one == ("orders", 1))
    stage.record("hash", hash(one) == hash(("orders", 1)))
    stage.record("sorted", sorted([one, structs.TopicPartition("orders", 0)]))
    stage.record("replaced", one._replace(partition=5))
    stage.record("as a dict", dict(one._asdict()))
    stage.record("indexed", (one[0], one[1]))
    stage.record("pickled", pickle.loads(pickle.dumps(one)) == one)
    stage.attempt("too few arguments", structs.TopicPartition, "orders")
    stage.attempt("assigned", setattr, one, "partition", 3)
    stage.record("module", type(one).__module__)


@script("1.2")
def offsets_with_metadata_are_named_tuples_of_two(kafka, stage):
    structs = stage.module("structs")
    offset = structs.OffsetAndMetadata(10, "note")
    stage.record("itself", offset)
    stage.record("repr", repr(offset))
    stage.attempt("without metadata", structs.OffsetAndMetadata, 10)


@script("2", "3")
def offsets_with_metadata_know_an_epoch(kafka, stage):
    structs = stage.module("structs")
    stage.attempt("three", structs.OffsetAndMetadata, 10, "note", 4)
    stage.attempt("two", structs.OffsetAndMetadata, 10, "note")
    stage.attempt("one", structs.OffsetAndMetadata, 10)
    stage.attempt("none", structs.OffsetAndMetadata)


@script()
def every_error_of_a_code_is_found_by_it(kafka, stage):
    errors = stage.module("errors")
    for code in range(-3, 140):
        found = errors.kafka_errors.get(code)
        if found is not None:
            stage.record(f"code {code}", (found.__name__, found.message, found.errno))
    stage.record("an unknown code", errors.for_code(12345))


@script()
def errors_are_shown_with_their_codes_and_descriptions(kafka, stage):
    errors = stage.module("errors")
    for name in ("KafkaError", "UnknownTopicOrPartitionError", "KafkaTimeoutError", "RequestTimedOutError"):
        error = getattr(errors, name)
        stage.record(f"{name} without arguments", error())
        stage.record(f"{name} with one", error("it went wrong"))
        stage.record(f"{name} with two", error("it went wrong", 5))
        stage.record(f"{name}, repr", repr(error("it went wrong")))
