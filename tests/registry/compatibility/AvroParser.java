import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.avro.Schema;
import com.fasterxml.jackson.databind.ObjectMapper;

/** Tells of each text in a file, a JSON array of texts, what Avro's parser makes of it: a line of JSON each. */
public class AvroParser {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        for (String text : json.readValue(Files.readString(Path.of(arguments[0])), String[].class)) {
            Map<String, String> told = new LinkedHashMap<>();
            try {
                told.put("schema", new Schema.Parser().parse(text).toString());
            } catch (RuntimeException error) {
                told.put("error", error.toString());
            }
            System.out.println(json.writeValueAsString(told));
        }
    }
}
