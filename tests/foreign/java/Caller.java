// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A client for tests: {@code call DIRECTORY SERVICE}. Reads lines {@code 'call|stream TIMEOUT_MS METHOD ARGUMENT…'}; an
 * argument is a number, {@code name=value}, {@code bytes:SIZE} or text. Prints the outcome of each.
 */
final class Caller {
    private Caller() {}

    static void run(String[] a) throws IOException {
        try (CallClient client = new CallClient(Path.of(a[1]), a[2])) {
            Peer.say("'ready'");
            for (String line = Peer.hear(); !line.equals("'close'"); line = Peer.hear()) {
                String[] words = line.substring(1, line.length() - 1).split(" ");
                List<Object> positional = new ArrayList<>();
                Map<String, Object> named = new LinkedHashMap<>();
                for (int k = 3; k < words.length; k++) {
                    int equals = words[k].indexOf('=');
                    if (equals > 0) {
                        named.put(words[k].substring(0, equals), argument(words[k].substring(equals + 1)));
                    } else {
                        positional.add(argument(words[k]));
                    }
                }
                long timeoutNs = Long.parseLong(words[1]) * 1_000_000;
                boolean streams = words[0].equals("stream");
                tell(streams
                        ? client.stream(words[2], positional, named, timeoutNs)
                        : client.call(words[2], positional, named, timeoutNs));
            }
        }
    }

    private static Object argument(String word) {
        if (word.startsWith("bytes:")) {
            byte[] bytes = new byte[Integer.parseInt(word.substring(6))];
            for (int k = 0; k < bytes.length; k++) {
                bytes[k] = (byte) (k * 7);
            }
            return bytes;
        }
        return word.matches("-?[0-9]+") ? (Object) Long.valueOf(word) : word;
    }

    private static void tell(CallClient.Outcome outcome) {
        String details = outcome.values().stream().map(bytes -> ", " + literal(Msgpack.decode(bytes))).collect(Collectors.joining());
        if (outcome.error() != null) {
            details = ", " + outcome.error().reason() + ", " + literal(outcome.error().type()) + ", " + literal(outcome.error().message());
        }
        Peer.say("('" + outcome.kind() + "'" + details + ",)");
    }

    /** As Python writes it. */
    static String literal(Object value) {
        if (value == null) {
            return "None";
        } else if (value instanceof Boolean truth) {
            return truth ? "True" : "False";
        } else if (value instanceof byte[] bytes) {
            return "b'" + HexFormat.of().withPrefix("\\x").formatHex(bytes) + "'";
        } else if (value instanceof List<?> list) {
            return list.stream().map(Caller::literal).collect(Collectors.joining(", ", "[", "]"));
        } else if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(entry -> literal(entry.getKey()) + ": " + literal(entry.getValue()))
                    .collect(Collectors.joining(", ", "{", "}"));
        } else if (value instanceof String text) {
            StringBuilder quoted = new StringBuilder("'");
            text.chars().forEach(c -> quoted.append(c == '\'' || c == '\\' || c < 32 || c > 126 ? String.format("\\u%04x", c) : (char) c));
            return quoted.append("'").toString();
        }
        return value.toString();
    }
}
