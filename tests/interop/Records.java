import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes or reads records by Kafka's own clients. A record is a line: timestamp, key, value, and headers, each a
 * name and a value; bytes in hexadecimal, null as a dash; where it was read, its offset and its timestamp's type
 * come first. Before records to write there is a line with their codec and what becomes of their transaction:
 * none, commit or abort. Further arguments of "write" are the producer's settings, name=value.
 */
public class Records {
    static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("write")) {
            write(arguments[1], arguments[2], Arrays.asList(arguments).subList(3, arguments.length));
        } else {
            read(arguments[1], arguments[2], Integer.parseInt(arguments[3]), arguments[4]);
        }
    }

    static void write(String servers, String topic, List<String> more) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<String> lines = input.lines().toList();
        for (int at = 0; at < lines.size(); ) {
            String[] words = lines.get(at++).split(" ");
            List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
            for (int end = at + Integer.parseInt(words[2]); at < end; at++) {
                records.add(parse(topic, lines.get(at)));
            }
            Map<String, Object> settings = new HashMap<>(
                    Map.of("bootstrap.servers", servers, "compression.type", words[0], "linger.ms", 20));
            more.forEach(setting -> settings.put(setting.split("=")[0], setting.split("=")[1]));
            if (!words[1].equals("none")) {
                settings.put("transactional.id", topic);
            }
            try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
                if (words[1].equals("none")) {
                    records.forEach(producer::send);
                    continue;
                }
                producer.initTransactions();
                producer.beginTransaction();
                records.forEach(producer::send);
                producer.flush();
                if (words[1].equals("commit")) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
        }
    }

    static void read(String servers, String topic, int count, String isolation) {
        Map<String, Object> settings = Map.of("bootstrap.servers", servers, "isolation.level", isolation);
        StringBuilder output = new StringBuilder();
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = List.of(new TopicPartition(topic, 0));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long deadline = System.currentTimeMillis() + 30_000;
            for (int seen = 0; seen < count && System.currentTimeMillis() < deadline; ) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    output.append(line(record)).append('\n');
                    seen++;
                }
            }
        }
        System.out.print(output);
    }

    static ProducerRecord<byte[], byte[]> parse(String topic, String line) {
        String[] words = line.split(" ", -1);
        List<Header> headers = new ArrayList<>();
        for (int at = 3; at < words.length; at += 2) {
            String name = new String(HEX.parseHex(words[at]), StandardCharsets.UTF_8);
            headers.add(new RecordHeader(name, bytes(words[at + 1])));
        }
        return new ProducerRecord<>(topic, 0, Long.valueOf(words[0]), bytes(words[1]), bytes(words[2]), headers);
    }

    static String line(ConsumerRecord<byte[], byte[]> record) {
        StringJoiner words = new StringJoiner(" ");
        words.add(Long.toString(record.offset())).add(Integer.toString(record.timestampType().id));
        words.add(Long.toString(record.timestamp())).add(text(record.key())).add(text(record.value()));
        for (Header header : record.headers()) {
            words.add(HEX.formatHex(header.key().getBytes(StandardCharsets.UTF_8))).add(text(header.value()));
        }
        return words.toString();
    }

    static byte[] bytes(String text) {
        return text.equals("-") ? null : HEX.parseHex(text);
    }

    static String text(byte[] bytes) {
        return bytes == null ? "-" : HEX.formatHex(bytes);
    }
}
