import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.List;
import org.apache.kafka.common.security.kerberos.KerberosName;
import org.apache.kafka.common.security.kerberos.KerberosShortNamer;

/** Reads lines of a realm, rules and a principal, with tabs between; writes what Kafka calls each. */
class KerberosNames {
    public static void main(String[] arguments) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] parts = line.split("\t", -1);
            System.out.println(user(parts[0], parts[1], parts[2]));
        }
    }

    private static String user(String realm, String rules, String principal) {
        try {
            var namer = KerberosShortNamer.fromUnparsedRules(realm, List.of(rules.split(" ; ")));
            return "=" + namer.shortName(KerberosName.parse(principal));
        } catch (Exception refused) {
            return "refused";
        }
    }
}
