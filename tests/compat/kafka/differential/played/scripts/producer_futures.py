"""Futures by themselves: their states, and the order of what they call."""

from tests.compat.kafka.differential.played.script import script


def told(future):
    return (future.is_done, future.succeeded(), future.failed(), future.retriable(), future.value)


@script()
def a_future_tells_how_it_stands(kafka, stage):
    futures = stage.module("future")
    future = futures.Future()
    stage.record("pending", told(future))
    stage.record("exception of a pending one", future.exception)
    stage.record("success gives the future", future.success(7) is future)
    stage.record("with a value", told(future))
    failed = futures.Future()
    stage.record("failure gives the future", failed.failure(ValueError("no")) is failed)
    stage.record("failed", told(failed))
    stage.record("its exception", failed.exception)
    empty = futures.Future().success(None)
    stage.record("with None", told(empty))


@script()
def a_failure_may_be_a_class(kafka, stage):
    futures = stage.module("future")
    future = futures.Future().failure(stage.module("errors").UnknownTopicOrPartitionError)
    stage.record("its exception", future.exception)
    stage.record("retriable", future.retriable())
    other = futures.Future().failure(stage.module("errors").MessageSizeTooLargeError("too large"))
    stage.record("not retriable", other.retriable())


@script()
def a_failure_is_an_exception(kafka, stage):
    future = stage.module("future").Future()
    stage.attempt("a text", future.failure, "it failed")


@script()
def callbacks_are_called_in_the_order_they_were_added(kafka, stage):
    future = stage.module("future").Future()
    stage.record("gives the future", future.add_callback(stage.callback("first")) is future)
    future.add_callback(stage.callback("second"), "before", named=1)
    future.add_errback(stage.callback("errback"))
    future.add_both(stage.callback("both"), "argument")
    future.success("value")
    future.add_callback(stage.callback("late"), 1, 2)
    future.add_errback(stage.callback("late errback"))
    future.add_both(stage.callback("late both"))


@script()
def errbacks_are_called_in_the_order_they_were_added(kafka, stage):
    future = stage.module("future").Future()
    future.add_errback(stage.callback("first"), "before", named=1)
    future.add_callback(stage.callback("callback"))
    future.add_both(stage.callback("both"))
    future.failure(KeyError("key"))
    future.add_errback(stage.callback("late"))
    future.add_callback(stage.callback("late callback"))


@script()
def a_future_is_done_when_its_callbacks_are_called(kafka, stage):
    future = stage.module("future").Future()
    future.add_callback(lambda value: stage.record("in the callback", told(future)))
    future.success(1)


@script()
def futures_are_chained(kafka, stage):
    futures = stage.module("future")
    for label, end in (
        ("a value", lambda one: one.success(5)),
        ("an error", lambda one: one.failure(KeyError(1))),
    ):
        one, other = futures.Future(), futures.Future()
        stage.record("gives the first", one.chain(other) is one)
        other.add_both(stage.callback("the other"))
        end(one)
        stage.record(label, told(other))
        third = futures.Future()
        one.chain(third)
        stage.record("chained late", told(third))


@script()
def callbacks_that_raise_are_logged(kafka, stage):
    stage.keep_log()
    future = stage.module("future").Future()
    future.add_callback(stage.callback("first", raises=ValueError("no")))
    future.add_callback(stage.callback("second"))
    stage.attempt("success", lambda: future.success(1).is_done)
    stage.record_log("callback", "Error processing callback")
    failed = stage.module("future").Future()
    failed.add_errback(stage.callback("errback", raises=ValueError("no")))
    stage.attempt("failure", lambda: failed.failure(KeyError()).is_done)
    stage.record_log("errback", "Error processing errback")


@script()
def a_future_may_raise_what_its_callbacks_raise(kafka, stage):
    class Strict(stage.module("future").Future):
        error_on_callbacks = True

    future = Strict()
    future.add_callback(stage.callback("first", raises=ValueError("no")))
    future.add_callback(stage.callback("second"))
    stage.attempt("success", future.success, 1)
    stage.record("is done", future.is_done)


@script("1.2", "2")
def a_future_is_completed_once(kafka, stage):
    future = stage.module("future").Future().success(1)
    stage.attempt("success again", future.success, 2)
    stage.attempt("failure after it", future.failure, KeyError())
    stage.record("value", future.value)


@script("3")
def a_future_may_be_completed_again(kafka, stage):
    future = stage.module("future").Future().success(1)
    future.add_callback(stage.callback("called"))
    stage.attempt("success again", lambda: future.success(2).value)
    future.add_callback(stage.callback("called after it"))


@script("3")
def a_future_can_be_awaited(kafka, stage):
    futures = stage.module("future")

    def drive(future):
        steps = future.__await__()
        stage.record("yields itself", next(steps, "nothing") is future)
        return steps

    pending = futures.Future()
    steps = drive(pending)
    pending.success("value")
    try:
        next(steps)
    except StopIteration as end:
        stage.record("value", end.value)
    failed = futures.Future()
    steps = drive(failed)
    failed.failure(KeyError("key"))
    stage.attempt("failed", next, steps)


@script()
def the_result_of_a_batch_is_waited_for(kafka, stage):
    module = stage.module("producer.future")
    result = module.FutureProduceResult(stage.partition("orders", 2))
    stage.record("its partition", result.topic_partition)
    stage.record("waits in vain", result.wait(0.01))
    result.success((5, -1, None))
    stage.record("waits no more", result.wait(0.01))
    stage.record("done", result.succeeded())


@script("2", "3")
def metadata_of_a_record_tell_of_its_place_and_sizes(kafka, stage):
    module = stage.module("producer.future")
    result = module.FutureProduceResult(stage.partition("orders", 2))
    record = module.FutureRecordMetadata(result, 3, 1234, None, -1, 10, -1)
    record.add_callback(stage.callback("callback"))
    stage.attempt("too early", record.get, timeout=0.01)
    result.success((100, -1, None))
    stage.attempt("metadata", record.get)
    stage.record("as a tuple", tuple(record.value))
    stage.record("fields", module.RecordMetadata._fields)
    stage.record("repr", repr(record.value))
    late = module.FutureProduceResult(stage.partition("orders", 2))
    stamped = module.FutureRecordMetadata(late, 3, 1234, None, 4, 10, 6)
    late.success((100, 9999, None))
    stage.attempt("stamped by the broker", stamped.get)
    unknown = module.FutureProduceResult(stage.partition("orders", 2))
    unnumbered = module.FutureRecordMetadata(unknown, 3, 1234, None, 4, 10, 6)
    unknown.success((-1, -1, None))
    stage.attempt("without an offset", unnumbered.get)
    failed = module.FutureProduceResult(stage.partition("orders", 2))
    refused = module.FutureRecordMetadata(failed, 3, 1234, None, 4, 10, 6)
    failed.success((-1, -1, lambda index: ValueError(f"record {index}")))
    stage.attempt("refused by itself", refused.get)


@script("1.2")
def metadata_of_a_record_of_1_tell_of_its_place(kafka, stage):
    module = stage.module("producer.future")
    result = module.FutureProduceResult(stage.partition("orders", 2))
    record = module.FutureRecordMetadata(result, 3, 1234)
    stage.record("its parts", (record.relative_offset, record.timestamp_ms))
    record.add_callback(stage.callback("callback"))
    stage.attempt("too early", record.get, timeout=0.01)
    result.success((100, None))
    stage.attempt("metadata", record.get)
    stage.record("as a tuple", tuple(record.value))
    stage.record("fields", module.RecordMetadata._fields)
    stage.record("texts", (str(record.value), repr(record.value)))
    stage.attempt("made by hand", module.RecordMetadata, stage.partition("orders", 2), 10, 1234)
    stage.attempt("with a relative offset", module.RecordMetadata, stage.partition("orders", 2), 10, 1234, 5)
    stage.attempt("without an offset", module.RecordMetadata, stage.partition("orders", 2), -1, 1234, 5)


@script()
def a_failed_record_raises_its_error(kafka, stage):
    module = stage.module("producer.future")
    result = module.FutureProduceResult(stage.partition("orders", 2))
    sizes = () if stage.generation == "1.2" else (None, -1, 10, -1)
    record = module.FutureRecordMetadata(result, 3, 1234, *sizes)
    result.failure(stage.module("errors").NotLeaderForPartitionError())
    stage.attempt("get", record.get, timeout=1)
    stage.record("done", (record.is_done, record.failed(), record.retriable()))
