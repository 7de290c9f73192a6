import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What RE2/J, by which Kafka's brokers match names, makes of each line: the places of names, or what is wrong. */
public class NamePatterns {
    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            try {
                Pattern pattern = Pattern.compile(line);
                List<String> matching = new ArrayList<>();
                for (int place = 1; place < arguments.length; place++) {
                    if (pattern.matcher(arguments[place]).matches()) {
                        matching.add(String.valueOf(place));
                    }
                }
                System.out.println("= " + String.join(" ", matching));
            } catch (PatternSyntaxException error) {
                System.out.println("! " + error.getDescription());
            }
        }
    }
}
