import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command-line classes one after another in one Java. A line of input is a class and its words, cut by
 * tabs; a line of output is the status and, in Base64, what the class printed.
 */
public final class Tools {
    private static final ByteArrayOutputStream printed = new ByteArrayOutputStream();
    private static Answer answer;

    /** What a class left when it asked to exit first: some catch what is thrown to end them, and print that. */
    private record Answer(int status, byte[] printed) {}

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        // One stream for all: Scala's console keeps the one that it finds first.
        PrintStream captured = new PrintStream(printed, true, StandardCharsets.UTF_8);
        System.setOut(captured);
        System.setErr(captured);
        Exit.setExitProcedure((status, message) -> {
            leave(status);
            throw new IllegalStateException("ended");
        });
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t");
            printed.reset();
            answer = null;
            run(words[0], Arrays.copyOfRange(words, 1, words.length));
            answers.println(answer.status() + " " + Base64.getEncoder().encodeToString(answer.printed()));
            answers.flush();
        }
    }

    private static void leave(int status) {
        System.out.flush();
        if (answer == null) {
            answer = new Answer(status, printed.toByteArray());
        }
    }

    private static void run(String name, String[] words) throws Exception {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) words);
            leave(0);
        } catch (InvocationTargetException error) {
            if (answer == null) {
                error.getCause().printStackTrace();
            }
            leave(1);
        }
    }
}
