import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** Prints Kafka's table of errors: code, name, retriable, invalid metadata; one a line, tabs between. */
public final class DumpErrors {
    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            System.out.println(String.join("\t",
                Short.toString(error.code()),
                error.name(),
                Boolean.toString(error.exception() instanceof RetriableException),
                Boolean.toString(error.exception() instanceof InvalidMetadataException)));
        }
    }
}
