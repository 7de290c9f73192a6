import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;

/** Prints the settings of Kafka's brokers as JSON, in the order of their names. */
public final class DumpBrokerSettings {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        ArrayNode settings = mapper.createArrayNode();
        Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        for (ConfigDef.ConfigKey key : new TreeMap<>(AbstractKafkaConfig.CONFIG_DEF.configKeys()).values()) {
            ObjectNode setting = settings.addObject();
            setting.put("name", key.name);
            setting.put("type", key.type.name());
            setting.put("default", key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
            setting.put("values", key.validator == null ? "" : key.validator.toString());
            setting.put("changes", modes.get(key.name));
            setting.put("internal", key.internalConfig);
            setting.put("documentation", key.documentation);
        }
        System.out.println(mapper.writeValueAsString(settings));
    }
}
