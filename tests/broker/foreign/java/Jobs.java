import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The jobs of Kafka's own client on a broker. */
public class Jobs {
    static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    static final int PARTITIONS = 3, EACH_CODEC = 20, TOTAL = CODECS.size() * EACH_CODEC;
    static final long FIRST_TIME_MS = 1_700_000_000_000L;
    static String bootstrap, topic;

    static Map<String, Object> settings(String... more) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "auto.offset.reset", "earliest", "enable.auto.commit", "false",
            "isolation.level", "read_committed", "enable.metrics.push", "false"));
        for (int index = 0; index < more.length; index += 2) settings.put(more[index], more[index + 1]);
        return settings;
    }

    static KafkaConsumer<String, String> consumer(String group, String protocol) {
        Map<String, Object> settings = settings("group.id", group, "group.protocol", protocol);
        if (protocol.equals("classic")) settings.put("heartbeat.interval.ms", "100");
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    static KafkaProducer<String, String> producer(String... more) {
        return new KafkaProducer<>(settings(more), new StringSerializer(), new StringSerializer());
    }

    static String administrate(Admin admin) throws Exception {
        NewTopic made = new NewTopic(topic, PARTITIONS, (short) 1).configs(Map.of("retention.ms", "86400000"));
        admin.createTopics(List.of(made, new NewTopic(topic + "-copied", 1, (short) 1))).all().get();
        int partitions = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        String retention = admin.describeConfigs(List.of(resource)).all().get().get(resource).get("retention.ms").value();
        return "{\"partitions\": " + partitions + ", \"retention\": \"" + retention + "\"}";
    }

    static void produce(String codec) throws Exception {
        try (KafkaProducer<String, String> producer = producer("compression.type", codec)) {
            for (int index = 0; index < EACH_CODEC; index++) {
                RecordHeader header = new RecordHeader("codec", codec.getBytes());
                producer.send(new ProducerRecord<>(
                    topic, null, FIRST_TIME_MS + index, "key " + index, codec + " " + index, List.of(header)));
            }
        }
    }

    static long committed(Admin admin, String group) throws Exception {
        long total = 0;
        for (OffsetAndMetadata offset : admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().values())
            total += offset.offset();
        return total;
    }

    static List<ConsumerRecord<String, String>> readAll(KafkaConsumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        while (found.size() < count) consumer.poll(Duration.ofMillis(100)).forEach(found::add);
        return found;
    }

    static String consume(Admin admin, String group, String protocol) throws Exception {
        Map<String, Integer> read = new TreeMap<>();
        try (KafkaConsumer<String, String> consumer = consumer(group, protocol)) {
            consumer.subscribe(List.of(topic));
            for (ConsumerRecord<String, String> record : readAll(consumer, TOTAL)) {
                String codec = new String(record.headers().lastHeader("codec").value());
                long index = record.timestamp() - FIRST_TIME_MS;
                boolean isAsSent = record.key().equals("key " + index) && record.value().equals(codec + " " + index);
                read.merge(isAsSent ? codec : "strange: " + record.value(), 1, Integer::sum);
            }
            consumer.commitSync();
        }
        List<String> counts = new ArrayList<>();
        read.forEach((codec, count) -> counts.add("\"" + codec + "\": " + count));
        return "{\"read\": {" + String.join(", ", counts) + "}, \"committed\": " + committed(admin, group) + "}";
    }

    /** Polls in a thread of its own, and knows which partitions it has. */
    static class Member implements ConsumerRebalanceListener, Runnable {
        final KafkaConsumer<String, String> consumer;
        final Set<TopicPartition> owned = new HashSet<>();
        final Thread thread = new Thread(this);
        volatile boolean ends;

        Member(String group, String protocol) {
            consumer = consumer(group, protocol);
            thread.start();
        }

        public void run() {
            consumer.subscribe(List.of(topic), this);
            while (!ends) consumer.poll(Duration.ofMillis(20));
            consumer.close();
        }

        public synchronized void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            owned.addAll(partitions);
        }

        public synchronized void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            owned.removeAll(partitions);
        }

        synchronized int count() {
            return owned.size();
        }

        void leave() throws Exception {
            ends = true;
            thread.join();
        }
    }

    static void until(BooleanSupplier isSo) throws Exception {
        while (!isSo.getAsBoolean()) TimeUnit.MILLISECONDS.sleep(10);
    }

    static String rebalance(String group, String protocol) throws Exception {
        Member first = new Member(group, protocol);
        until(() -> first.count() == PARTITIONS);
        Member second = new Member(group, protocol);
        until(() -> first.count() + second.count() == PARTITIONS && second.count() > 0);
        String counts = List.of(
            Math.min(first.count(), second.count()), Math.max(first.count(), second.count())).toString();
        second.leave();
        until(() -> first.count() == PARTITIONS);
        first.leave();
        return counts;
    }

    static String transact(Admin admin) throws Exception {
        String group = topic + "-copying", copied = topic + "-copied";
        try (KafkaProducer<String, String> producer = producer("transactional.id", topic);
                KafkaConsumer<String, String> consumer = consumer(group, "classic")) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(copied, "never")).get();
            producer.abortTransaction();
            consumer.subscribe(List.of(topic));
            List<ConsumerRecord<String, String>> found = readAll(consumer, TOTAL);
            producer.beginTransaction();
            for (ConsumerRecord<String, String> record : found) producer.send(new ProducerRecord<>(copied, record.value()));
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (TopicPartition partition : consumer.assignment())
                offsets.put(partition, new OffsetAndMetadata(consumer.position(partition)));
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
        }
        int aborted = 0, read = 0;
        try (KafkaConsumer<String, String> consumer = consumer(topic, "classic")) {
            consumer.assign(List.of(new TopicPartition(copied, 0)));
            for (ConsumerRecord<String, String> record : readAll(consumer, TOTAL))
                if (record.value().equals("never")) aborted++; else read++;
        }
        return "{\"read\": " + read + ", \"aborted\": " + aborted + ", \"committed\": " + committed(admin, group) + "}";
    }

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        topic = arguments[1];
        List<String> results = new ArrayList<>();
        try (Admin admin = Admin.create(settings())) {
            results.add("\"admin\": " + administrate(admin));
            for (String codec : CODECS) produce(codec);
            results.add("\"group\": " + consume(admin, topic + "-classic", "classic"));
            results.add("\"rebalance\": " + rebalance(topic + "-classic-members", "classic"));
            results.add("\"consumer protocol group\": " + consume(admin, topic + "-consumer", "consumer"));
            results.add("\"consumer protocol rebalance\": " + rebalance(topic + "-consumer-members", "consumer"));
            results.add("\"transactions\": " + transact(admin));
        }
        System.out.println("{" + String.join(", ", results) + "}");
    }
}
