// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.zip.CRC32;

/**
 * A participant for tests, with the same command line and output as the C program (c/main.c).
 *
 * <pre>
 * publish DIRECTORY TOPIC SENDER COUNT LARGEST EVERY
 * subscribe DIRECTORY TOPIC lossy|reliable new|oldest each|sum|paused
 * schema DIRECTORY TOPIC
 * decode DIRECTORY TOPIC                                     of encoding msgpack: prints each message up to one of type "end"
 * call DIRECTORY SERVICE                                     (Caller.java)
 * </pre>
 */
final class Peer {
    private static final long PATIENCE_NS = 60_000_000_000L;
    private static final long WATCHDOG_MS = 300_000;
    private static final byte[] END = "end".getBytes(StandardCharsets.US_ASCII);
    private static final BufferedReader STDIN = new BufferedReader(new InputStreamReader(System.in));

    private Peer() {}

    static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    static String hear() throws IOException {
        String line = STDIN.readLine();
        if (line == null) {
            Runtime.getRuntime().halt(0); // the test went away
        }
        return line;
    }

    private static byte[] body(long number, long largest) {
        byte[] prefix = (number + " ").getBytes(StandardCharsets.US_ASCII);
        byte[] body = Arrays.copyOf(prefix, Math.max(prefix.length, (int) (number * 7919 % (largest + 1))));
        for (int k = prefix.length; k < body.length; k++) {
            body[k] = (byte) (number + k);
        }
        return body;
    }

    private static void publish(String[] a) throws IOException {
        Publisher publisher = new Publisher(new Topic(Path.of(a[1]), a[2], true), a[3]);
        long count = Long.parseLong(a[4]);
        long every = Long.parseLong(a[6]);
        say("'ready'");
        hear();
        for (long number = 0; number < count; number++) {
            long seq = publisher.send("type-" + number % 3, body(number, Long.parseLong(a[5])), PATIENCE_NS);
            if (number % every == 0 || number + 1 == count) {
                say("('sent', " + (number + 1) + ", " + seq + ")");
            }
        }
        publisher.detach();
    }

    private static void subscribe(String[] a) throws IOException {
        Topic topic = new Topic(Path.of(a[1]), a[2], false);
        Subscriber subscriber = new Subscriber(topic, a[3].equals("reliable"), a[4].equals("oldest"));
        CRC32 sum = new CRC32();
        HexFormat hex = HexFormat.of();
        say("('ready', " + subscriber.position + ")");
        if (a[5].equals("paused")) {
            hear();
        }
        Message m;
        do {
            m = subscriber.receive(PATIENCE_NS);
            if (m == null) {
                throw new Failure(Failure.FULL, "nothing came");
            }
            ByteBuffer numbers = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
            sum.update(numbers.putLong(m.seq()).putLong(m.timeNs()).array());
            sum.update(m.type());
            sum.update(m.sender());
            sum.update(m.body());
            if (a[5].equals("each")) {
                say(String.format("(%d, %d, '%s', '%s', '%s')", m.seq(), m.timeNs(),
                        hex.formatHex(m.sender()), hex.formatHex(m.type()), hex.formatHex(m.body())));
            }
        } while (!Arrays.equals(m.type(), END));
        subscriber.detach();
        say(String.format("('end', %d, %d, %d, %d)", subscriber.received, subscriber.lost, subscriber.position, sum.getValue()));
    }

    private static void schema(String[] a) throws IOException {
        byte[] bytes = new Topic(Path.of(a[1]), a[2], false).schema();
        say("('schema', " + (bytes == null ? "None" : "'" + HexFormat.of().formatHex(bytes) + "'") + ")");
    }

    /** A structure is a map with the names of its fields: docs/spec/schema.md, section 5.1. */
    private static void decode(String[] a) throws IOException {
        Topic topic = new Topic(Path.of(a[1]), a[2], false);
        byte[] schema = topic.schema();
        if (schema == null || !new String(schema, StandardCharsets.UTF_8).contains("\"encoding\":\"msgpack\"")) {
            throw new Failure(Failure.USAGE, "only topics of encoding msgpack are decoded");
        }
        Subscriber subscriber = new Subscriber(topic, false, true);
        Message m = subscriber.receive(PATIENCE_NS);
        while (m != null && !Arrays.equals(m.type(), END)) {
            say(Caller.literal(Msgpack.decode(m.body())));
            m = subscriber.receive(PATIENCE_NS);
        }
        subscriber.detach();
    }

    private static void watchdog() {
        try {
            Thread.sleep(WATCHDOG_MS);
        } catch (InterruptedException ended) {
            return;
        }
        Runtime.getRuntime().halt(99);
    }

    public static void main(String[] arguments) throws IOException {
        Thread watchdog = new Thread(Peer::watchdog);
        watchdog.setDaemon(true);
        watchdog.start();
        try {
            switch (arguments[0]) {
                case "publish" -> publish(arguments);
                case "subscribe" -> subscribe(arguments);
                case "schema" -> schema(arguments);
                case "decode" -> decode(arguments);
                case "call" -> Caller.run(arguments);
                default -> throw new Failure(Failure.USAGE, "see the head of Peer.java");
            }
        } catch (Failure failure) {
            System.err.println(failure.getMessage());
            System.err.flush();
            Runtime.getRuntime().halt(failure.code);
        }
    }
}
