
import java.lang.reflect.Field;
import java.lang.reflect.Method;

/**
 * Prints which versions of each API the brokers of a release offer: API key, lowest, highest; one a line, tabs
 * between. By reflection, since each release keeps them in another way.
 */
public final class DumpVersions {
    public static void main(String[] arguments) throws Exception {
        String listener = arguments[0];
        Class<?> keys = Class.forName("org.apache.kafka.common.protocol.ApiKeys");
        for (Object key : keys.getEnumConstants()) {
            short id = keys.getField("id").getShort(key);
            if (!isOffered(keys, key, listener)) {
                continue;
            }
            short lowest = number(keys, key, "oldestVersion", "MIN_VERSIONS", id);
            short highest = number(keys, key, "latestVersion", "CURR_VERSION", id);
            if (lowest <= highest) {
                System.out.println(id + "\t" + lowest + "\t" + highest);
            }
        }
    }

    /** Since KRaft, an API says which listeners have it. */
    private static boolean isOffered(Class<?> keys, Object key, String listener) throws Exception {
        for (Method method : keys.getMethods()) {
            if (method.getName().equals("inScope") && method.getParameterCount() == 1) {
                for (Object scope : method.getParameterTypes()[0].getEnumConstants()) {
                    if (scope.toString().equals(listener)) {
                        return (Boolean) method.invoke(key, scope);
                    }
                }
            }
        }
        return true;
    }

    private static short number(Class<?> keys, Object key, String method, String array, short id) throws Exception {
        try {
            return (Short) keys.getMethod(method, boolean.class).invoke(key, false);
        } catch (NoSuchMethodException older) {
            try {
                return (Short) keys.getMethod(method).invoke(key);
            } catch (NoSuchMethodException oldest) {
                Field field = Class.forName("org.apache.kafka.common.protocol.Protocol").getDeclaredField(array);
                field.setAccessible(true);
                return ((short[]) field.get(null))[id];
            }
        }
    }
}
