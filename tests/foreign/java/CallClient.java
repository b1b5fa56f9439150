// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;

/** A client of docs/spec/calls.md: one thread, one call at a time. */
final class CallClient implements AutoCloseable {
    private static final long REPLY_CAPACITY = 1 << 18;
    private static final long REPLY_SLOTS = 256;
    private static final long MAX_ANSWER = 1 << 26;
    private static final long LOOK_NS = 20_000_000; // how often to look whether the server lives
    private static final int WINDOW = 8;
    private static final int VERSION = 1;

    /** What came of a call: "result", "error", "timeout", "gone" (the server died) or "absent" (there is none). */
    record Outcome(String kind, List<byte[]> values, Envelope.Error error) {
        static Outcome of(String kind) {
            return new Outcome(kind, List.of(), null);
        }
    }

    private final Path directory;
    private final String service;
    private final String id = String.format("%016x", new SecureRandom().nextLong());
    private Topic presence;
    private Envelope.Hello hello;
    private Publisher calls;
    private Topic reply;
    private Subscriber answers;
    private long lastReqId;
    int dropped; // messages that were none, or of a kind that does not belong here

    CallClient(Path directory, String service) {
        this.directory = directory;
        this.service = service;
    }

    /** Section 3. False: there is no server. */
    private boolean connect() throws IOException {
        if (presence != null && serverLives()) {
            return true;
        }
        try {
            presence = new Topic(directory, service + ".server", false);
            hello = greeting();
            if (hello == null || !serverLives()) {
                return false;
            }
            if (calls == null || !calls.isThere()) {
                calls = new Publisher(new Topic(directory, service + ".calls", true), id);
            }
        } catch (Failure failure) {
            if (failure.code == Failure.ABSENT || failure.code == Failure.GONE) {
                return false;
            }
            throw failure;
        }
        if (reply == null) {
            var mode = Files.getPosixFilePermissions(directory.resolve(service + ".calls.ring"));
            NewTopic.create(directory, replyName(), REPLY_CAPACITY, REPLY_SLOTS, mode);
            reply = new Topic(directory, replyName(), true);
            answers = new Subscriber(reply, true, true);
        }
        return true;
    }

    private String replyName() {
        return service + ".reply." + id;
    }

    private Envelope.Hello greeting() {
        Message newest = Subscriber.newest(presence);
        if (newest == null) {
            return null;
        }
        try {
            Envelope envelope = Envelope.read(newest.body());
            Envelope.Hello found = envelope.kind == Envelope.HELLO ? envelope.hello() : null;
            return found != null && found.version() == VERSION && found.codec().equals("msgpack") ? found : null;
        } catch (Flat.Malformed none) {
            return null;
        }
    }

    /** Its presence, writer entry 0, has the incarnation of the Hello and is locked. */
    private boolean serverLives() {
        long state = presence.ring.get(presence.writer(0) + Layout.W_STATE);
        return hello != null
                && Layout.kind(state) == Layout.KIND_WRITER
                && state >>> 8 == hello.incarnation()
                && Topic.isLocked(presence.ringFile, presence.writer(0));
    }

    Outcome call(String method, List<Object> positional, Object named, long timeoutNs) throws IOException {
        return ask(method, Msgpack.encode(List.of(positional, named)), 0, timeoutNs);
    }

    /** All values of a stream; the time is for the whole of it. */
    Outcome stream(String method, List<Object> positional, Object named, long timeoutNs) throws IOException {
        return ask(method, Msgpack.encode(List.of(positional, named)), WINDOW, timeoutNs);
    }

    private Outcome ask(String method, byte[] arguments, int window, long timeoutNs) throws IOException {
        long deadline = System.nanoTime() + timeoutNs; // of HotSpot on Linux: CLOCK_MONOTONIC
        if (!connect()) {
            return Outcome.of("absent");
        }
        long reqId = ++lastReqId;
        try {
            calls.send("", Envelope.call(reqId, hello.instance(), deadline, MAX_ANSWER, window, method, arguments), timeoutNs);
        } catch (Failure failure) {
            if (failure.code == Failure.FULL) {
                return Outcome.of(serverLives() ? "timeout" : "gone");
            }
            if (failure.code == Failure.GONE) {
                return Outcome.of("gone");
            }
            throw failure;
        }
        return new Waiting(reqId, window).until(deadline);
    }

    private void cancel(long reqId) throws IOException {
        try {
            calls.send("", Envelope.cancel(reqId), 0);
        } catch (Failure noRoom) {
            dropped++; // the server finds out by the deadline
        }
    }

    /** One call under way: sections 4 and 5. */
    private final class Waiting {
        private final long reqId;
        private final int window;
        private final List<byte[]> values = new ArrayList<>();
        private final ByteArrayOutputStream pieces = new ByteArrayOutputStream();
        private int used; // of the window, since credit was given back

        Waiting(long reqId, int window) {
            this.reqId = reqId;
            this.window = window;
        }

        Outcome until(long deadline) throws IOException {
            while (true) {
                boolean lived = serverLives(); // checked first: an answer sent before the death counts
                long left = deadline - System.nanoTime();
                Message message = answers.receive(lived ? Math.max(0, Math.min(left, LOOK_NS)) : 0);
                if (message != null) {
                    Outcome outcome = take(message.body());
                    if (outcome != null) {
                        return outcome;
                    }
                } else if (!lived) {
                    return Outcome.of("gone");
                } else if (left <= 0) {
                    cancel(reqId);
                    return Outcome.of("timeout");
                }
            }
        }

        private Outcome take(byte[] body) throws IOException {
            try {
                Envelope envelope = Envelope.read(body);
                return envelope.reqId == reqId ? take(envelope) : null; // else a late answer, for nobody
            } catch (Flat.Malformed none) {
                dropped++;
                return null;
            }
        }

        private Outcome take(Envelope envelope) throws IOException {
            switch (envelope.kind) {
                case Envelope.RESULT -> {
                    values.add(whole(envelope.value()));
                    return new Outcome("result", values, null);
                }
                case Envelope.PART -> values.add(whole(envelope.value()));
                case Envelope.CHUNK -> {
                    byte[] data = envelope.chunkData();
                    if (Long.compareUnsigned(envelope.chunkTotal(), MAX_ANSWER) > 0
                            || pieces.size() + data.length > envelope.chunkTotal()) {
                        cancel(reqId);
                        return Outcome.of("malformed");
                    }
                    pieces.writeBytes(data);
                }
                case Envelope.END -> {
                    return new Outcome("result", values, null);
                }
                case Envelope.ERROR -> {
                    return new Outcome("error", List.of(), envelope.error());
                }
                default -> dropped++;
            }
            giveCredit();
            return null;
        }

        private byte[] whole(byte[] last) {
            pieces.writeBytes(last);
            byte[] whole = pieces.toByteArray();
            pieces.reset();
            return whole;
        }

        private void giveCredit() throws IOException {
            if (window > 0 && ++used * 2 >= window) {
                calls.send("", Envelope.credit(reqId, used), LOOK_NS);
                used = 0;
            }
        }
    }

    @Override
    public void close() throws IOException {
        if (reply != null) {
            NewTopic.remove(directory, replyName(), reply);
        }
        if (calls != null) {
            calls.detach();
        }
    }
}
