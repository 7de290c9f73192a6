import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;

/**
 * Answers questions about messages with Kafka's own generated classes, over standard input and output.
 *
 * A question is: one byte for its kind, the class's name, a version, a length and that many bytes. An answer
 * is: a byte, 0 for success; then bytes and text, each after its length. After a failure the text is its cause.
 */
public final class Oracle {
    private static final String[] PACKAGES = {
        "org.apache.kafka.common.message.",
        "org.apache.kafka.coordinator.group.generated.",
        "org.apache.kafka.coordinator.transaction.generated.",
        "org.apache.kafka.coordinator.share.generated.",
    };

    private record Answer(byte[] bytes, String text) { }

    public static void main(String[] arguments) throws IOException {
        DataInputStream input = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream output = new DataOutputStream(new BufferedOutputStream(System.out));
        while (true) {
            char kind;
            try {
                kind = (char) input.readByte();
            } catch (EOFException end) {
                return;
            }
            String name = input.readUTF();
            short version = input.readShort();
            byte[] bytes = input.readNBytes(input.readInt());
            Answer answer;
            boolean failed = false;
            try {
                answer = answer(kind, name, version, bytes);
            } catch (InvocationTargetException error) {
                failed = true;
                answer = new Answer(new byte[0], String.valueOf(error.getCause()));
            } catch (Exception error) {
                failed = true;
                answer = new Answer(new byte[0], error.toString());
            }
            output.writeByte(failed ? 1 : 0);
            output.writeInt(answer.bytes.length);
            output.write(answer.bytes);
            byte[] text = answer.text.getBytes(StandardCharsets.UTF_8);
            output.writeInt(text.length);
            output.write(text);
            output.flush();
        }
    }

    private static Answer answer(char kind, String name, short version, byte[] bytes) throws Exception {
        switch (kind) {
            case 'v':
                return new Answer(new byte[0], versions(find(name)));
            case 'h':
                ApiMessageType api = ApiMessageType.fromApiKey(Short.parseShort(name));
                return new Answer(new byte[0],
                    api.requestHeaderVersion(version) + " " + api.responseHeaderVersion(version));
            case 'r':
                return roundTrip(find(name), version, bytes);
            case 'd':
                return new Answer(new byte[0], defaults(name, version));
            default:
                throw new IllegalArgumentException("no question of kind " + kind);
        }
    }

    private static Class<?> find(String name) throws ClassNotFoundException {
        for (String prefix : PACKAGES) {
            for (String suffix : new String[] {"Data", ""}) {
                try {
                    return Class.forName(prefix + name + suffix);
                } catch (ClassNotFoundException error) {
                    // The next one may have it.
                }
            }
        }
        throw new ClassNotFoundException(name);
    }

    private static String versions(Class<?> type) throws Exception {
        return type.getField("LOWEST_SUPPORTED_VERSION").getShort(null)
            + " " + type.getField("HIGHEST_SUPPORTED_VERSION").getShort(null);
    }

    private static Answer roundTrip(Class<?> type, short version, byte[] bytes) throws Exception {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        Message message = (Message) type.getConstructor(Readable.class, short.class)
            .newInstance(new ByteBufferAccessor(buffer), version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException(buffer.remaining() + " bytes are left over");
        }
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer written = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(written), cache, version);
        Class<?> converter = Class.forName(type.getName() + "JsonConverter");
        JsonNode json = (JsonNode) converter.getMethod("write", type, short.class, boolean.class)
            .invoke(null, message, version, false);
        return new Answer(written.array(), json.toString());
    }

    /** The JSON of a new instance; `name` may be that of a nested struct: `FetchRequest$FetchTopic`. */
    private static String defaults(String name, short version) throws Exception {
        String[] names = name.split("\\$");
        Class<?> type = find(names[0]);
        String converterName = type.getName() + "JsonConverter";
        if (names.length == 2) {
            type = Class.forName(type.getName() + "$" + names[1]);
            converterName += "$" + names[1] + "JsonConverter";
        }
        Object instance = type.getConstructor().newInstance();
        JsonNode json = (JsonNode) Class.forName(converterName)
            .getMethod("write", type, short.class, boolean.class)
            .invoke(null, instance, version, false);
        return json.toString();
    }
}
