import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.telemetry.ClientTelemetryContext;
import org.apache.kafka.server.telemetry.ClientTelemetryExporter;
import org.apache.kafka.server.telemetry.ClientTelemetryExporterProvider;
import org.apache.kafka.server.telemetry.ClientTelemetryPayload;

/** A broker's plug-in that keeps what clients push (KIP-714): one file for each push. */
public class TelemetryReceiver
    implements MetricsReporter, ClientTelemetryExporterProvider, ClientTelemetryExporter {
    private static final AtomicInteger NUMBER = new AtomicInteger();
    private Path folder;

    /** As an agent this jar is on the broker's class path, which is all that is wanted of it. */
    public static void premain(String arguments, Instrumentation instrumentation) {
    }

    @Override
    public void configure(Map<String, ?> configs) {
        folder = Path.of((String) configs.get("telemetry.receiver.folder"));
    }

    @Override
    public ClientTelemetryExporter clientTelemetryExporter() {
        return this;
    }

    @Override
    public void exportMetrics(ClientTelemetryContext context, ClientTelemetryPayload payload) {
        String name = String.format("%06d_%s_%s_%s", NUMBER.incrementAndGet(), context.authorizableRequestContext().clientId(),
            toStandardForm(payload), payload.isTerminating() ? "last" : "more");
        ByteBuffer data = payload.data().duplicate();
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        try {
            Path unfinished = Files.write(folder.resolve("." + name), bytes);
            Files.move(unfinished, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException error) {
            throw new RuntimeException(error);
        }
    }

    private static String toStandardForm(ClientTelemetryPayload payload) {
        var id = payload.clientInstanceId();
        return new java.util.UUID(id.getMostSignificantBits(), id.getLeastSignificantBits()).toString();
    }

    @Override
    public void init(List<KafkaMetric> metrics) {
    }

    @Override
    public void metricChange(KafkaMetric metric) {
    }

    @Override
    public void metricRemoval(KafkaMetric metric) {
    }

    @Override
    public void close() {
    }
}
