import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Runs Kafka's own assignors. A line of input is an assignor's name, topics with their partition counts,
 * members with their instance ids and their subscriptions in hexadecimal, as they are sent in JoinGroup, and the
 * racks of partitions' replicas. A line of output is each member with its assignment in hexadecimal, as it is sent in SyncGroup.
 */
public class Assignors {
    public static void main(String[] arguments) throws Exception {
        Map<String, AbstractPartitionAssignor> assignors = new HashMap<>();
        for (AbstractPartitionAssignor assignor : List.of(
                new RangeAssignor(), new RoundRobinAssignor(), new StickyAssignor(), new CooperativeStickyAssignor())) {
            assignors.put(assignor.name(), assignor);
        }
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            System.out.println(assign(assignors, line.split(";", -1)));
        }
    }

    static String assign(Map<String, AbstractPartitionAssignor> assignors, String[] parts) {
        Map<String, Node[]> replicas = new HashMap<>();
        for (String partition : words(parts[3])) {
            String[] nameAndRacks = partition.split("=", -1);
            List<Node> nodes = new ArrayList<>();
            for (String rack : nameAndRacks[1].split(",")) {
                nodes.add(new Node(nodes.size(), "host", 1, rack));
            }
            replicas.put(nameAndRacks[0], nodes.toArray(new Node[0]));
        }
        Map<String, List<PartitionInfo>> topics = new HashMap<>();
        for (String topic : words(parts[1])) {
            String[] nameAndCount = topic.split("=");
            List<PartitionInfo> partitions = new ArrayList<>();
            for (int number = 0; number < Integer.parseInt(nameAndCount[1]); number++) {
                Node[] nodes = replicas.getOrDefault(nameAndCount[0] + "-" + number, new Node[0]);
                partitions.add(new PartitionInfo(nameAndCount[0], number, Node.noNode(), nodes, nodes));
            }
            if (!partitions.isEmpty()) {
                topics.put(nameAndCount[0], partitions);
            }
        }
        Map<String, ConsumerPartitionAssignor.Subscription> members = new HashMap<>();
        for (String member : words(parts[2])) {
            String[] fields = member.split("=", -1);
            ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(fields[2]));
            ConsumerPartitionAssignor.Subscription subscription = ConsumerProtocol.deserializeSubscription(bytes);
            subscription.setGroupInstanceId(fields[1].isEmpty() ? Optional.empty() : Optional.of(fields[1]));
            members.put(fields[0], subscription);
        }
        StringBuilder output = new StringBuilder();
        Map<String, List<TopicPartition>> assignment = assignors.get(parts[0]).assignPartitions(topics, members);
        for (Map.Entry<String, List<TopicPartition>> entry : assignment.entrySet()) {
            ByteBuffer bytes = ConsumerProtocol.serializeAssignment(
                new ConsumerPartitionAssignor.Assignment(entry.getValue()));
            byte[] array = new byte[bytes.remaining()];
            bytes.get(array);
            output.append(entry.getKey()).append('=').append(HexFormat.of().formatHex(array)).append(' ');
        }
        return output.toString();
    }

    static List<String> words(String text) {
        return text.isEmpty() ? List.of() : List.of(text.split(" "));
    }
}
