"""`kafka.metrics` by itself: names, statistics at times that are given, sensors, quotas, reporters."""

from tests.compat.kafka.differential.played.script import on_kafka, script
from tests.compat.kafka.differential.played.stage import WAIT_SECONDS


def a_config(stage, **settings):
    return stage.module("metrics").MetricConfig(**settings)


def told_name(name):
    return (name.name, name.group, name.description, sorted((name.tags or {}).items()))


def tell_values(stage, label, stat, values, config, now, every_ms=1000):
    for index, value in enumerate(values):
        stat.record(config, value, index * every_ms)
    stage.record(label, stat.measure(config, now))


def a_reporter(stage, heard):
    class Reporter(stage.module("metrics.metrics_reporter").AbstractMetricsReporter):
        def init(self, metrics):
            heard.append(("init", [metric.metric_name.name for metric in metrics]))

        def metric_change(self, metric):
            heard.append(("change", metric.metric_name.name))

        def metric_removal(self, metric):
            heard.append(("removal", metric.metric_name.name))

        def configure(self, configs):
            heard.append(("configure", configs))

        def close(self):
            heard.append(("close",))

    return Reporter()


@script()
def names_of_metrics_are_equal_by_name_group_and_tags(kafka, stage):
    make = stage.module("metrics").MetricName
    name = make("size", "group", "what it is", {"a": "1", "b": "2"})
    stage.record("name", told_name(name))
    stage.record("as text", str(name))
    stage.record("another description", name == make("size", "group", "other", {"b": "2", "a": "1"}))
    stage.record("one hash", hash(name) == hash(make("size", "group", None, {"b": "2", "a": "1"})))
    stage.record("other tags", name == make("size", "group", "what it is", {"a": "1"}))
    stage.record("other group", name != make("size", "other", "what it is", {"a": "1", "b": "2"}))
    stage.record("none", name == None)  # noqa: E711
    stage.record("without tags", (make("a", "b").tags, make("a", "b").description))
    stage.record("without tags as text", str(make("a", "b")))


@script()
def what_makes_no_name_of_a_metric_is_refused(kafka, stage):
    make = stage.module("metrics").MetricName
    stage.attempt("no name", make, "", "group")
    stage.attempt("no group", make, "name", None)
    stage.attempt("tags", make, "name", "group", None, [("a", "1")])


@script()
def tags_of_a_name_are_a_copy(kafka, stage):
    tags = {"a": "1"}
    name = stage.module("metrics").MetricName("name", "group", tags=tags)
    tags["b"] = "2"
    name.tags["c"] = "3"
    stage.record("tags", name.tags)


@script()
def settings_of_metrics(kafka, stage):
    config = a_config(stage)
    stage.record("defaults", (config.quota, config.samples, config.time_window_ms, config.tags))
    config.samples = 5
    stage.record("samples", config.samples)
    stage.attempt("no samples", setattr, config, "samples", 0)
    stage.record("unchanged", config.samples)
    stage.record("not checked at first", a_config(stage, samples=0).samples)


@script()
def quotas_are_bounds(kafka, stage):
    quota = stage.module("metrics").Quota
    upper, lower = quota.upper_bound(5), quota.lower_bound(5)
    stage.record("upper", [upper.is_acceptable(value) for value in (4, 5, 5.1)])
    stage.record("lower", [lower.is_acceptable(value) for value in (4.9, 5, 6)])
    stage.record("kinds", (upper.is_upper_bound(), lower.is_upper_bound(), upper.bound))
    stage.record("equal", (upper == quota(5, True), upper == lower, upper != quota(6, True)))
    stage.record("one hash", hash(upper) == hash(quota(5, True)))


@script()
def simple_statistics_of_values(kafka, stage):
    stats, config = stage.module("metrics.stats"), a_config(stage)
    for name in ("Avg", "Count", "Max", "Min", "Total"):
        stage.record(f"{name} of nothing", getattr(stats, name)().measure(config, 0) > 1e9)
        tell_values(stage, name, getattr(stats, name)(), (3, 1.5, 12, -2), config, 5000)
    tell_values(stage, "Total from 10", stats.Total(10), (1, 2), config, 5000)


@script()
def statistics_of_nothing(kafka, stage):
    stats, config = stage.module("metrics.stats"), a_config(stage)
    for name in ("Avg", "Count", "Max", "Total"):
        stage.record(name, getattr(stats, name)().measure(config, 1000))


@script()
def old_samples_no_longer_count(kafka, stage):
    stats = stage.module("metrics.stats")
    config = a_config(stage, samples=2, time_window_ms=2000)
    for name in ("Avg", "Count", "Max"):
        tell_values(stage, name, getattr(stats, name)(), (9, 8, 7, 6, 5, 4), config, 5500)
        tell_values(stage, f"{name} later", getattr(stats, name)(), (9, 8, 7, 6), config, 7100)
        tell_values(stage, f"{name} much later", getattr(stats, name)(), (9, 8), config, 90000)


@script()
def samples_may_be_bounded_by_events(kafka, stage):
    stats = stage.module("metrics.stats")
    config = a_config(stage, samples=2, event_window=2)
    for name in ("Avg", "Count", "Max", "Min"):
        tell_values(stage, name, getattr(stats, name)(), (1, 2, 3, 4, 5), config, 6000)


@script()
def rates_are_by_the_time_of_all_samples(kafka, stage):
    stats = stage.module("metrics.stats")
    config = a_config(stage, samples=3, time_window_ms=1000)
    tell_values(stage, "sums", stats.Rate(), (10, 20, 30), config, 2500)
    tell_values(stage, "too short a time", stats.Rate(), (10,), config, 100)
    tell_values(stage, "counts", stats.Rate(sampled_stat=stats.Count()), (10, 20, 30), config, 2500)
    tell_values(stage, "after a pause", stats.Rate(), (10, 20, 30), config, 4500)
    rate = stats.Rate()
    rate.record(config, 1, 0)
    stage.record("window", rate.window_size(config, 1500))


@script()
def rates_have_units(kafka, stage):
    rates, config = stage.module("metrics.stats.rate"), a_config(stage)
    for unit in ("NANOSECONDS", "MICROSECONDS", "MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS"):
        tell_values(stage, unit, rates.Rate(getattr(rates.TimeUnit, unit)), (60, 60), config, 2000)
    stage.attempt("no unit", rates.Rate(9).convert, 5)
    stage.attempt("a name", rates.TimeUnit.get_name, "second")
    stage.attempt("a first value", rates.SampledTotal, 5)


@script()
def histograms_count_by_bins(kafka, stage):
    histograms = stage.module("metrics.stats").Histogram
    found = histograms(histograms.ConstantBinScheme(12, -5, 5))
    stage.record("of nothing", str(found.value(0.5)))
    for value in range(-6, 7):
        found.record(value)
    stage.record("counts", found.counts)
    stage.record("text", str(found))
    stage.record("values", [found.value(each / 10.0) for each in range(10)])
    linear = histograms.LinearBinScheme(10, 45)
    stage.record("linear", [linear.from_bin(each) for each in range(10)])
    stage.record("bins of values", [linear.to_bin(each) for each in (0, 0.5, 1, 10, 44, 45, 46)])
    stage.attempt("below zero", linear.to_bin, -1)
    stage.attempt("too few bins", histograms.ConstantBinScheme, 1, 0, 5)
    stage.record("number of bins", linear.bins)


@script()
def percentiles_are_several_metrics(kafka, stage):
    metrics, stats = stage.module("metrics"), stage.module("metrics.stats")
    registry = metrics.Metrics(a_config(stage, event_window=50, samples=2))
    names = [registry.metric_name(f"p{each}", "group") for each in (25, 50, 75)]
    wanted = [stats.Percentile(name, each) for name, each in zip(names, (25, 50, 75))]
    sensor = registry.sensor("sizes")
    sizing = stage.module("metrics.stats.percentiles").BucketSizing
    sensor.add_compound(stats.Percentiles(4 * 100, sizing.CONSTANT, 100.0, 0.0, wanted))
    stage.record("of nothing", [str(registry.metrics[name].value(0)) for name in names])
    for value in range(100):
        sensor.record(value, 1000)
    stage.record("values", [round(registry.metrics[name].value(1000)) for name in names])
    stage.record("metrics of the sensor", [metric.metric_name.name for metric in sensor.metrics])
    stage.attempt("no stat", sensor.add_compound, None)
    stage.record("one", (wanted[0].name is names[0], wanted[0].percentile))


@script("3")
def percentiles_may_be_of_linear_bins(kafka, stage):
    metrics, stats = stage.module("metrics"), stage.module("metrics.stats")
    sizing = stage.module("metrics.stats.percentiles").BucketSizing
    registry = metrics.Metrics()
    name = registry.metric_name("p50", "group")
    sensor = registry.sensor("sizes")
    sensor.add_compound(
        stats.Percentiles(400, sizing.LINEAR, 100.0, percentiles=[stats.Percentile(name, 50)])
    )
    for value in range(100):
        sensor.record(value, 1000)
    stage.record("median", round(registry.metrics[name].value(1000), 3))
    stage.attempt("from above zero", stats.Percentiles, 400, sizing.LINEAR, 100.0, 5.0)
    stage.attempt("no such bins", stats.Percentiles, 400, 7, 100.0)


@script()
def a_registry_has_metrics_by_name(kafka, stage):
    metrics = stage.module("metrics")
    registry = metrics.Metrics(a_config(stage, tags={"client": "c", "a": "1"}))
    name = registry.metric_name("size", "group", "what it is", {"a": "2"})
    stage.record("name", told_name(name))
    registry.add_metric(name, metrics.AnonMeasurable(lambda config, now: now * 2))
    stage.record("value", registry.metrics[name].value(21))
    stage.record("all", sorted(each.name for each in registry.metrics))
    stage.record(
        "count", [m.value() for n, m in registry.metrics.items() if n.group == "kafka-metrics-count"]
    )
    stage.record("count's name", [told_name(n) for n in registry.metrics if n.name == "count"])
    stage.attempt("twice", registry.add_metric, name, metrics.AnonMeasurable(lambda config, now: 1))
    stage.record("removed", registry.remove_metric(name).metric_name is name)
    stage.record("removed again", registry.remove_metric(name))


@script()
def a_metric_has_a_name_and_a_measurable(kafka, stage):
    metrics = stage.module("metrics")
    measurable = metrics.AnonMeasurable(lambda config, now: config)
    name = metrics.MetricName("a", "b")
    metric = metrics.KafkaMetric(name, measurable, 5)
    stage.record("value", metric.value(1))
    metric.config = 7
    stage.record("by other settings", (metric.value(1), metric.config))
    stage.record("parts", (metric.metric_name is name, metric.measurable is measurable))
    stage.attempt("no name", metrics.KafkaMetric, None, measurable, None)
    stage.attempt("no measurable", metrics.KafkaMetric, name, None, None)
    named = metrics.NamedMeasurable(name, measurable)
    stage.record("named", (named.name is name, named.stat is measurable))


@script()
def sensors_are_made_once_for_a_name(kafka, stage):
    registry = stage.module("metrics").Metrics()
    sensor = registry.sensor("a")
    stage.record("again", registry.sensor("a") is sensor)
    stage.record("got", (registry.get_sensor("a") is sensor, registry.get_sensor("b"), sensor.name))
    stage.attempt("no name to get", registry.get_sensor, "")
    stage.attempt("no name to make", registry.sensor, None)
    registry.remove_sensor("a")
    registry.remove_sensor("never made")
    stage.record("removed", registry.get_sensor("a"))


@script()
def parents_record_what_sensors_do(kafka, stage):
    metrics, stats = stage.module("metrics"), stage.module("metrics.stats")
    registry = metrics.Metrics()
    names = [registry.metric_name(each, "group") for each in ("parent", "child", "grandchild")]
    parent = registry.sensor("parent")
    parent.add(names[0], stats.Count())
    child = registry.sensor("child", parents=[parent])
    child.add(names[1], stats.Total())
    grandchild = registry.sensor("grandchild", parents=[child])
    grandchild.add(names[2], stats.Avg())
    grandchild.record(5)
    grandchild.record(7)
    child.record()
    stage.record("values", [registry.metrics[name].value() for name in names])
    registry.remove_sensor("child")
    stage.record("left", sorted(name.name for name in registry.metrics))
    stage.record("sensors left", [registry.get_sensor(each) is not None for each in ("parent", "grandchild")])
    stage.attempt("a parent twice", lambda: registry.sensor("x", parents=[parent, parent]))


@script()
def quotas_are_watched(kafka, stage):
    metrics, stats = stage.module("metrics"), stage.module("metrics.stats")
    registry = metrics.Metrics()
    sensor = registry.sensor("a")
    name = metrics.MetricName("total", "group", "", {"a": "1"})
    sensor.add(name, stats.Total(), a_config(stage, quota=metrics.Quota.upper_bound(5.5)))
    low = metrics.MetricName("least", "group", "", {})
    sensor.add(low, stats.Total(), a_config(stage, quota=metrics.Quota.lower_bound(0)))
    stage.attempt("within", sensor.record, 5)
    stage.attempt("beyond", sensor.record, 1.5)
    stage.record("counts all the same", registry.metrics[name].value())
    stage.attempt("below", sensor.record, -50)


@script()
def sensors_expire(kafka, stage):
    registry = stage.module("metrics").Metrics()
    registry.sensor("a", inactive_sensor_expiration_time_seconds=-1)
    registry.sensor("b")
    stage.record("expired", [registry.get_sensor(each).has_expired() for each in ("a", "b")])
    registry.ExpireSensorTask.run(registry)
    stage.record("left", [registry.get_sensor(each) is not None for each in ("a", "b")])


@script()
def reporters_hear_of_metrics(kafka, stage):
    metrics = stage.module("metrics")
    heard = []
    registry = metrics.Metrics(reporters=[a_reporter(stage, heard)])
    name = registry.metric_name("a", "group")
    registry.add_metric(name, metrics.AnonMeasurable(lambda config, now: 1))
    registry.sensor("s").add(registry.metric_name("b", "group"), stage.module("metrics.stats").Avg())
    registry.remove_metric(name)
    registry.remove_sensor("s")
    late = []
    registry.add_reporter(a_reporter(stage, late))
    registry.close()
    stage.record("heard", heard)
    stage.record("heard late", late)
    stage.record("metrics that are left", len(registry.metrics))


@script()
def a_reporter_keeps_metrics_by_category(kafka, stage):
    metrics = stage.module("metrics")
    for prefix in ("p", "", None):
        reporter = metrics.DictReporter(prefix)
        registry = metrics.Metrics(reporters=[reporter])
        name = registry.metric_name("a", "group", "", {"x": 1, "b": "2"})
        registry.add_metric(name, metrics.AnonMeasurable(lambda config, now: 4))
        stage.record("snapshot", reporter.snapshot())
        stage.record("category", reporter.get_category(registry.metrics[name]))
        stage.record("removed", reporter.metric_removal(registry.metrics[name]).metric_name is name)
        stage.record("not there", reporter.metric_removal(registry.metrics[name]))
        stage.record("left", reporter.snapshot())
        reporter.configure({})
        reporter.close()


@script("1.2", "3")
def bases_of_metrics_may_be_incomplete(kafka, stage):
    class Reporter(stage.module("metrics.metrics_reporter").AbstractMetricsReporter):
        def metric_change(self, metric):
            pass

    class Stat(stage.module("metrics.stat").AbstractStat):
        pass

    stage.raised("a reporter", Reporter)
    stage.raised("a statistic", Stat)


@script()
def a_program_may_have_statistics_of_its_own(kafka, stage):
    metrics = stage.module("metrics")

    class Last(stage.module("metrics.stats.sampled_stat").AbstractSampledStat):
        def __init__(self):
            super().__init__(-1.0)

        def update(self, sample, config, value, time_ms):
            sample.value = value

        def combine(self, samples, config, now):
            return samples[-1].value if samples else None

    registry = metrics.Metrics(a_config(stage, samples=2, event_window=2))
    sensor = registry.sensor("a")
    name = registry.metric_name("last", "group")
    sensor.add(name, Last())
    for value in (3, 4, 5):
        sensor.record(value, 100)
    stage.record("last", registry.metrics[name].value(100))
    stage.record("when all is old", registry.metrics[name].value(1e9))
    measurable_base = stage.module("metrics.measurable").AbstractMeasurable
    stage.record("is measurable", isinstance(registry.metrics[name].measurable, measurable_base))


def names_by_group(metrics, *left_out):
    return {
        group: sorted(names)
        for group, names in metrics.items()
        if not any(group.startswith(part) for part in left_out)
    }


def coordinators(metrics):
    return {group: sorted(names) for group, names in metrics.items() if "node-coordinator" in group}


@on_kafka("2", "3")
def a_producer_has_metrics_by_group_and_name(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(client_id="told")
    stage.record("at first", names_by_group(producer.metrics(), "producer-node-metrics"))
    for _ in range(3):
        producer.send(topic, b"x" * 100).get(WAIT_SECONDS)
    metrics = producer.metrics()
    stage.record("later", names_by_group(metrics, "producer-node-metrics"))
    stage.record("of the node", sorted(metrics["producer-node-metrics.node-1"]))
    found = metrics["producer-metrics"]
    for name in ("record-send-rate", "byte-rate", "request-rate", "outgoing-byte-rate", "incoming-byte-rate"):
        stage.record(f"{name} is more than 0", found[name] > 0)
    stage.record("batch sizes", (100 < found["batch-size-avg"] < 200, found["batch-size-max"] < 200))
    stage.record("records per request", found["records-per-request-avg"])
    stage.record("record errors", found["record-error-rate"])
    stage.record("requests in flight", found["requests-in-flight"])
    stage.record("connections", found["connection-count"])


@on_kafka("2", "3")
def a_coordinator_has_metrics_of_its_own(kafka, stage):
    topic = stage.topic()
    plain = stage.producer(client_id="told")
    plain.send(topic, b"x").get(WAIT_SECONDS)
    stage.record("without a coordinator", coordinators(plain.metrics()))
    producer = stage.producer(client_id="told", transactional_id=stage.name("identity"))
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"x").get(WAIT_SECONDS)
    producer.commit_transaction()
    stage.record("with one", coordinators(producer.metrics()))
    reader = stage.reader(topic)
    stage.poll(reader, 1)
    stage.record("of a reader without a group", coordinators(reader.metrics()))


@on_kafka("2", "3")
def raw_metrics_of_a_producer_are_by_their_names(kafka, stage):
    producer = stage.producer(client_id="told")
    raw = producer.metrics(raw=True)
    metrics = stage.module("metrics")
    name = metrics.MetricName("byte-rate", "producer-metrics", tags={"client-id": "told"})
    stage.record("there", name in raw)
    stage.record("class", isinstance(raw[name], metrics.KafkaMetric))
    stage.record("value", raw[name].value())
    stage.record("tags", raw[name].metric_name.tags)
    stage.record("config", (raw[name].config.samples, raw[name].config.time_window_ms))
    producer.close()
    stage.record("once closed", producer.metrics())


@on_kafka("2", "3")
def a_consumer_has_metrics_by_group_and_name(kafka, stage):
    topic = stage.filled_topic(*[b"x" * 100] * 5)
    consumer = stage.consumer(topic, client_id="told", group_id=stage.group())
    stage.record("at first", names_by_group(consumer.metrics(), "consumer-node-metrics"))
    stage.poll(consumer, 5)
    consumer.commit()
    metrics = consumer.metrics()
    stage.record("later", names_by_group(metrics, "consumer-node-metrics"))
    stage.record("of the node", sorted(metrics["consumer-node-metrics.node-1"]))
    stage.record("of the coordinator", sorted(metrics["consumer-node-metrics.node-coordinator-1"]))
    fetched = metrics["consumer-fetch-manager-metrics"]
    for name in ("bytes-consumed-rate", "records-consumed-rate", "fetch-rate", "fetch-latency-avg"):
        stage.record(f"{name} is more than 0", fetched[name] > 0)
    stage.record("lag", fetched["records-lag-max"])
    member = metrics["consumer-coordinator-metrics"]
    stage.record("assigned", member["assigned-partitions"])
    for name in ("commit-rate", "commit-latency-avg", "join-rate", "join-time-max"):
        stage.record(f"{name} is more than 0", member[name] > 0)
    tags = {"client-id": "told", "topic": topic}
    name = stage.module("metrics").MetricName(
        "records-consumed-rate", "consumer-fetch-manager-metrics", tags=tags
    )
    stage.record("of the topic", name in consumer.metrics(raw=True))


@on_kafka()
def a_consumers_reporters_hear_of_its_metrics(kafka, stage):
    heard = []
    topic = stage.filled_topic(b"a")

    class Reporter(stage.module("metrics.metrics_reporter").AbstractMetricsReporter):
        def init(self, metrics):
            heard.append(("init", len(metrics)))

        def metric_change(self, metric):
            heard.append((metric.metric_name.group, metric.metric_name.name))

        def metric_removal(self, metric):
            pass

        def configure(self, configs):
            pass

        def close(self):
            heard.append("close")

    consumer = stage.reader(topic, metric_reporters=[Reporter])
    stage.poll(consumer, 1)
    stage.record("first", heard[0])
    groups = ("kafka-metrics-count", "consumer-metrics", "consumer-fetch-manager-metrics")
    groups = (*groups, "consumer-coordinator-metrics")
    stage.until(lambda: heard.count((groups[2], "records-consumed-rate")) > 1)
    stage.record("metrics", sorted({each for each in heard if each[0] in groups}))
    consumer.close()
    stage.record("last", heard[-1])
    stage.record("closed", heard.count("close"))


@script("3")
def metrics_may_be_off(kafka, stage):
    producer = kafka.KafkaProducer(
        bootstrap_servers=stage.bootstrap, api_version=(2, 6), metrics_enabled=False
    )
    stage.record("producer", producer.metrics())
